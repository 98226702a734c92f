//! The table of options that belong to no workload: ours, and every other of sysbench 0.4 to 1.1.
//!
//! One row has an option's names, what it takes, its help line and what it does; help, parsing and
//! suggestions all read this table. Rows without a help line are understood for old command lines.

use driver::Secret;

use super::draft::Draft;
use super::request::{Arrivals, Compat, ForcedShutdown, Format, Reconnect};
use super::target::{LoginParts, only_one};
use super::values::{self, choice, count, percentile, seconds};
use super::words::{Takes, switch};
use engine::PasswordSource;
use experiment::{TargetKind, TargetUrl, TlsMode};

type Apply = fn(&mut Draft, &str) -> Result<(), String>;

pub struct Flag {
    pub name: &'static str,
    /// Other spellings, sysbench's first.
    pub aliases: &'static [&'static str],
    pub takes: Takes,
    /// How the value is called in the help.
    pub value: &'static str,
    /// What it does, with unit and default; empty for options of old command lines only.
    pub help: &'static str,
    pub apply: Apply,
}

/// Options of workloads that sysbench spelled in another way than by a prefix.
pub const RENAMED: &[(&str, &str)] = &[
    ("oltp-test-mode", "mode"),
    ("oltp-tables-count", "tables"),
    ("oltp-dist-type", "rand-type"),
    ("oltp-dist-iter", "rand-spec-iter"),
    ("oltp-dist-pct", "rand-spec-pct"),
    ("oltp-dist-res", "rand-spec-res"),
];

pub fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name || flag.aliases.contains(&name))
}

pub fn names() -> impl Iterator<Item = &'static str> {
    FLAGS.iter().flat_map(|flag| std::iter::once(flag.name).chain(flag.aliases.iter().copied()))
}

const fn value(
    name: &'static str,
    aliases: &'static [&'static str],
    value: &'static str,
    help: &'static str,
    apply: Apply,
) -> Flag {
    Flag { name, aliases, takes: Takes::Value, value, help, apply }
}

const fn flag(name: &'static str, aliases: &'static [&'static str], help: &'static str, apply: Apply) -> Flag {
    Flag { name, aliases, takes: Takes::Switch, value: "", help, apply }
}

/// An option of old command lines whose value needs no heeding; the reason goes to stderr.
macro_rules! noted {
    ($name:literal, $takes:ident, $why:literal) => {
        Flag {
            name: $name,
            aliases: &[],
            takes: Takes::$takes,
            value: "",
            help: "",
            apply: |draft, _| {
                draft.note(concat!("--", $name, " has no effect: ", $why));
                Ok(())
            },
        }
    };
}

/// An option of old command lines that would change the result if it were passed over.
macro_rules! refused {
    ($name:literal, $takes:ident, $harmless:expr, $why:literal) => {
        Flag {
            name: $name,
            aliases: &[],
            takes: Takes::$takes,
            value: "",
            help: "",
            apply: |_, text| {
                let harmless: &[&str] = &$harmless;
                if harmless.contains(&text.to_ascii_lowercase().as_str()) { Ok(()) } else { Err($why.to_owned()) }
            },
        }
    };
}

macro_rules! login {
    ($name:literal, $family:ident, $text:ident => $set:expr) => {
        Flag {
            name: $name,
            aliases: &[],
            takes: Takes::Value,
            value: "",
            help: "",
            apply: |draft, $text| {
                let set: fn(&mut LoginParts, &str) -> Result<(), String> = $set;
                set(&mut draft.target.$family, $text)
            },
        }
    };
}

pub static FLAGS: &[Flag] = &[
    value(
        "target",
        &["url"],
        "URL",
        "Reach the server here: mysql://user@host:port/db[?socket=/path], mariadb://, postgres://, sqlite:///path, or 'host=… dbname=…' of libpq",
        |draft, text| {
            draft.target.url = Some(TargetUrl::parse(text)?);
            Ok(())
        },
    ),
    value(
        "tls",
        &[],
        "MODE",
        "Encrypt connections: off, require (any certificate), verify (its certificate too) [default: off]",
        |draft, text| {
            draft.target.tls =
                Some([TlsMode::Off, TlsMode::Require, TlsMode::Verify][choice(text, &["off", "require", "verify"])?]);
            Ok(())
        },
    ),
    flag(
        "compression",
        &["mysql-compression"],
        "Deflate statements and answers, where the protocol can: MySQL and MariaDB",
        |draft, text| {
            draft.target.compressed = Some(switch(text)?);
            Ok(())
        },
    ),
    value(
        "password-file",
        &[],
        "FILE",
        "Read the password from the first line of this file; DBDUEL_PASSWORD holds one too",
        |draft, text| {
            draft.password = PasswordSource::File(text.into());
            Ok(())
        },
    ),
    value(
        "password-env",
        &[],
        "NAME",
        "Read the password from this environment variable instead of DBDUEL_PASSWORD",
        |draft, text| {
            draft.password = PasswordSource::Variable(text.to_owned());
            Ok(())
        },
    ),
    value(
        "password-command",
        &[],
        "COMMAND",
        "Read the password from the first line that this command of sh prints; it is asked again before connections are opened, never in measured time",
        |draft, text| {
            draft.password = PasswordSource::Command(text.to_owned());
            Ok(())
        },
    ),
    value(
        "clients",
        &["threads", "num-threads"],
        "N",
        "Run this many clients at once, a connection each [default: 1]",
        |draft, text| {
            draft.clients = Some(count(text, 1, 100_000)? as u32);
            Ok(())
        },
    ),
    value(
        "duration",
        &["time", "max-time"],
        "TIME",
        "Measure this long, in seconds unless a unit is given (60, 90s, 2m); 0 is no limit [default: 10]",
        |draft, text| {
            draft.duration = Some(seconds(text)?);
            Ok(())
        },
    ),
    value(
        "events",
        &["max-requests"],
        "N",
        "Stop after this many transactions, exactly; 0 is no limit [default: 0]",
        |draft, text| {
            draft.events = Some(count(text, 0, u64::MAX / 2)?);
            Ok(())
        },
    ),
    value(
        "rate",
        &[],
        "N",
        "Start this many transactions a second whatever the server does (open loop); 0 starts each when the last has ended [default: 0]",
        |draft, text| {
            draft.rate = values::rate(text)?;
            Ok(())
        },
    ),
    value(
        "arrivals",
        &[],
        "KIND",
        "Space the arrivals of --rate at random (poisson) or evenly (constant) [default: poisson]",
        |draft, text| {
            draft.arrivals = Some([Arrivals::Poisson, Arrivals::Constant][choice(text, &["poisson", "constant"])?]);
            Ok(())
        },
    ),
    value(
        "queue",
        &[],
        "N",
        "Let at most this many arrivals of --rate wait for a free client; more are skipped and counted [default: 131072]",
        |draft, text| {
            draft.queue = Some(count(text, 1, 100_000_000)? as u32);
            Ok(())
        },
    ),
    value("warmup", &["warmup-time"], "TIME", "Run this long before counting [default: 0]", |draft, text| {
        draft.warmup = Some(seconds(text)?);
        Ok(())
    }),
    value("report-interval", &[], "TIME", "Print a line every so often [default: 0, none]", |draft, text| {
        draft.report_interval = Some(seconds(text)?).filter(|every| !every.is_zero());
        Ok(())
    }),
    value(
        "checkpoints",
        &["report-checkpoints"],
        "LIST",
        "Print the whole report at these seconds and count from there anew",
        |draft, text| {
            draft.checkpoints = values::list(text, seconds)?;
            Ok(())
        },
    ),
    value(
        "percentiles",
        &["percentile"],
        "LIST",
        "Print these percentiles of the response time; 0 prints none [default: 50,95,99,99.9; 95 in sysbench's layouts]",
        |draft, text| {
            draft.percentiles = Some(if text == "0" { Vec::new() } else { values::list(text, percentile)? });
            Ok(())
        },
    ),
    flag("histogram", &[], "Print the histogram of response times", |draft, text| {
        draft.histogram = switch(text)?;
        Ok(())
    }),
    value(
        "rand-seed",
        &["seed-rng"],
        "N",
        "Draw data and inputs from this number; equal numbers give equal ones for any number of clients [default: 1 for data, a new one for inputs]",
        |draft, text| {
            draft.rand_seed = Some(count(text, 0, i64::MAX as u64)?).filter(|seed| *seed > 0);
            Ok(())
        },
    ),
    Flag {
        name: "reconnect",
        aliases: &[],
        takes: Takes::Switch,
        value: "HOW",
        help: "Open a lost connection again (on), end the run (off), or also connect anew after every N transactions of a client [default: on]",
        apply: |draft, text| {
            draft.reconnect = Some(reconnect(text)?);
            Ok(())
        },
    },
    value(
        "ignore-errors",
        &["mysql-ignore-errors"],
        "LIST",
        "Retry after these error codes instead of the workload's own, or after `all`",
        |draft, text| {
            draft.ignore_errors = Some(values::list(text, |code| Ok(code.to_owned()))?);
            Ok(())
        },
    ),
    value(
        "forced-shutdown",
        &[],
        "TIME",
        "Cut off what still runs this long after the end, in seconds or per cent of --duration; off waits on, up to --silence [default: 60]",
        |draft, text| {
            draft.forced_shutdown = Some(forced_shutdown(text)?);
            Ok(())
        },
    ),
    value(
        "silence",
        &[],
        "TIME",
        "End a run without a time limit when no transaction has ended for this long; the report is partial [default: 60]",
        |draft, text| {
            draft.silence = Some(seconds(text)?);
            Ok(())
        },
    ),
    flag(
        "dry-run",
        &["mysql-dry-run"],
        "Measure against the null server inside dbduel, which answers at once: the client's own cost",
        |draft, text| {
            draft.dry_run = switch(text)?;
            Ok(())
        },
    ),
    flag(
        "no-wait",
        &[],
        "Measure beside another measurement on this host, for a functional try: its figures are flagged",
        |draft, text| {
            draft.no_wait = switch(text)?;
            Ok(())
        },
    ),
    value(
        "workers",
        &[],
        "N",
        "Run the clients on this many threads [default: by the number of CPUs]",
        |draft, text| {
            draft.workers = Some(count(text, 1, 1_024)? as u32);
            Ok(())
        },
    ),
    value(
        "define",
        &["d"],
        "NAME=VALUE",
        "Give a variable of your own SQL its value, as -D of pgbench does; may be given more than once",
        |draft, text| {
            draft.give("define", "variables", text);
            Ok(())
        },
    ),
    value(
        "compat",
        &[],
        "VERSION",
        "Follow sysbench-1.0 or sysbench-0.4 in distribution, retries, counting and layout",
        |draft, text| {
            draft.compat = Some([Compat::Modern, Compat::Classic][choice(text, &Compat::WORDS)?]);
            Ok(())
        },
    ),
    value(
        "format",
        &[],
        "FORM",
        "Report in this form: text, json, sysbench-1.0, sysbench-0.4; tpcc also as dbt2, dbt2-compat [default: text]",
        |draft, text| {
            draft.format = Some(Format::WORDS[choice(text, &Format::WORDS.map(|(word, _)| word))?].1);
            Ok(())
        },
    ),
    flag("json", &[], "Print JSON on stdout, the same as --format json", |draft, text| {
        draft.format = if switch(text)? { Some(Format::Json) } else { draft.format };
        Ok(())
    }),
    value(
        "config-file",
        &[],
        "FILE",
        "Read options from this file first, `name=value` a line; the command line wins",
        |_, _| Ok(()),
    ),
    flag("help", &["h"], "Print help; behind a workload, its options too", |draft, text| {
        draft.help = switch(text)?;
        Ok(())
    }),
    value("test", &[], "", "", |draft, text| {
        draft.test = Some(text.to_owned());
        Ok(())
    }),
    value("tx-rate", &[], "", "", |draft, text| {
        draft.rate = values::rate(text)?;
        Ok(())
    }),
    value("db-driver", &[], "", "", |draft, text| {
        draft.target.driver = Some([TargetKind::Mysql, TargetKind::Postgres][choice(text, &["mysql", "pgsql"])?]);
        Ok(())
    }),
    flag("mysql-ssl", &[], "", |draft, text| {
        let off = ["off", "false", "no", "0", "disabled"].contains(&text.to_ascii_lowercase().as_str());
        let verify = text.to_ascii_lowercase().starts_with("verify");
        let required = text.eq_ignore_ascii_case("required") || switch(text) == Ok(true);
        draft.target.tls = Some(match (off, verify, required) {
            (true, ..) => TlsMode::Off,
            (_, true, _) => TlsMode::Verify,
            (.., true) => TlsMode::Require,
            _ => return Err(format!("on, off, required or verify_ca was expected, not `{text}`")),
        });
        Ok(())
    }),
    login!("mysql-host", mysql, text => |parts, text| { parts.hosts = values::list(text, |host| Ok(host.to_owned()))?; Ok(()) }),
    login!("mysql-port", mysql, text => |parts, text| { parts.ports = values::list(text, port)?; Ok(()) }),
    login!("mysql-socket", mysql, text => |parts, text| { parts.sockets = values::list(text, |socket| Ok(socket.into()))?; Ok(()) }),
    login!("mysql-user", mysql, text => |parts, text| { parts.user = Some(text.to_owned()); Ok(()) }),
    login!("mysql-password", mysql, text => |parts, text| { parts.password = secret(text); Ok(()) }),
    login!("mysql-db", mysql, text => |parts, text| { parts.database = Some(text.to_owned()); Ok(()) }),
    login!("pgsql-host", pgsql, text => |parts, text| { parts.hosts = vec![only_one(text)?.to_owned()]; Ok(()) }),
    login!("pgsql-port", pgsql, text => |parts, text| { parts.ports = vec![port(only_one(text)?)?]; Ok(()) }),
    login!("pgsql-user", pgsql, text => |parts, text| { parts.user = Some(text.to_owned()); Ok(()) }),
    login!("pgsql-password", pgsql, text => |parts, text| { parts.password = secret(text); Ok(()) }),
    login!("pgsql-db", pgsql, text => |parts, text| { parts.database = Some(text.to_owned()); Ok(()) }),
    noted!("verbosity", Value, "messages go to stderr, results to stdout"),
    noted!("debug", Switch, "there is no debugging output"),
    noted!("db-debug", Switch, "there is no debugging output"),
    noted!("mysql-debug", Switch, "there is no debugging output"),
    noted!("validate", Switch, "`dbduel check` verifies the data"),
    noted!("thread-stack-size", Value, "clients have no threads of their own"),
    noted!("thread-init-timeout", Value, "a connection may take 30 s"),
    noted!("init-rng", Switch, "inputs always follow from --rand-seed"),
    noted!("myisam-max-rows", Value, "MyISAM's row pointers are wide enough without it"),
    refused!("mysql-ssl-cipher", Value, [""], "the cipher cannot be chosen; leave it out"),
    refused!("mysql-ssl-ca", Value, [""], "name the file in SSL_CERT_FILE, and give --tls verify"),
    refused!("mysql-ssl-cert", Value, [""], "there are no client certificates; give the account a password"),
    refused!("mysql-ssl-key", Value, [""], "there are no client certificates; give the account a password"),
    noted!("oltp-connect-delay", Value, "nothing waits after a connect"),
    refused!(
        "oltp-point-select-mysql-handler",
        Switch,
        ["off", "false", "0"],
        "point selects use SELECT; leave it out"
    ),
    value("oltp-reconnect-mode", &[], "", "", |draft, text| match choice(text, &["session", "transaction"]) {
        Ok(0) => Ok(()),
        Ok(_) => {
            draft.reconnect = Some(Reconnect::Every(1));
            Ok(())
        }
        Err(why) => Err(format!("{why}; a connection lasts for one transaction at least")),
    }),
    refused!("tx-jitter", Value, ["0"], "arrivals are spaced by --arrivals poisson or constant"),
];

fn secret(text: &str) -> Option<Secret> {
    (!text.is_empty()).then(|| Secret::new(text))
}

fn port(text: &str) -> Result<u16, String> {
    count(only_one(text)?, 1, u64::from(u16::MAX)).map(|port| port as u16)
}

fn reconnect(text: &str) -> Result<Reconnect, String> {
    match text.parse::<u64>() {
        // sysbench 1.1's default: never on purpose.
        Ok(0) => Ok(Reconnect::On),
        Ok(transactions) => Ok(Reconnect::Every(transactions)),
        Err(_) => switch(text).map(|on| if on { Reconnect::On } else { Reconnect::Off }),
    }
}

/// Seconds, `n%` of the time limit, or nothing for sysbench's 5 %.
fn forced_shutdown(text: &str) -> Result<ForcedShutdown, String> {
    match text.strip_suffix('%') {
        _ if text.is_empty() => Ok(ForcedShutdown::Share(0.05)),
        _ if text == "off" => Ok(ForcedShutdown::Off),
        Some(percent) => percentile(percent).map(|percent| ForcedShutdown::Share(percent / 100.0)),
        None => seconds(text).map(ForcedShutdown::After),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_one_option() {
        let mut seen = std::collections::BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "--{name} stands twice");
            assert_eq!(name, super::super::words::normal(name));
        }
    }

    #[test]
    fn reconnecting_and_forced_shutdown_are_read() {
        assert_eq!((reconnect("on"), reconnect("0")), (Ok(Reconnect::On), Ok(Reconnect::On)));
        assert_eq!((reconnect("off"), reconnect("7")), (Ok(Reconnect::Off), Ok(Reconnect::Every(7))));
        assert!(reconnect("often").is_err());
        assert_eq!(forced_shutdown(""), Ok(ForcedShutdown::Share(0.05)));
        assert_eq!(forced_shutdown("20%"), Ok(ForcedShutdown::Share(0.2)));
        assert_eq!(forced_shutdown("3"), Ok(ForcedShutdown::After(std::time::Duration::from_secs(3))));
    }
}
