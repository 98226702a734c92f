//! pgbench's options: one table, which reads them, refuses them and prints the help.

use std::time::Duration;

use experiment::TargetUrl;
use record::plain_file;
use script::pgbench::{BUILTINS, Builtin, File, Partitions, Protocol};

use super::words::{Spelling, Word, take_apart};

/// What pgbench's own limits are.
const WEIGHT_MAX: u64 = 2_147_483_647;
const CLIENTS_MAX: u64 = 65_536;
const PARTITIONS_MAX: u64 = 65_536;

pub enum Asked {
    Help,
    /// A builtin script, or the list of them.
    Show(String),
    Do(Box<Request>),
}

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub init: Option<Init>,
    pub files: Vec<File>,
    pub clients: u32,
    pub jobs: u32,
    /// Of each client; None where a time is given.
    pub transactions: Option<u64>,
    pub duration: Option<Duration>,
    pub scale: Option<u64>,
    pub defines: Vec<(String, String)>,
    pub protocol: Protocol,
    pub progress: Option<Duration>,
    pub progress_timestamp: bool,
    pub per_command: bool,
    pub rate: Option<f64>,
    pub limit_ms: Option<f64>,
    pub no_vacuum: bool,
    pub vacuum_all: bool,
    pub max_tries: u64,
    /// A connection for each transaction.
    pub connect_each: bool,
    pub failures_detailed: bool,
    /// Print each command, and each error after which a transaction may be tried again.
    pub debug: bool,
    pub verbose_errors: bool,
    pub allow_shell: bool,
    pub log: Option<Logging>,
    pub seed: Option<u64>,
    pub target: Option<TargetUrl>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub user: Option<String>,
    pub database: Option<String>,
    pub notes: Vec<String>,
}

/// What is written down of transactions, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Logging {
    pub prefix: String,
    /// The share of transactions that get a line.
    pub sampling: Option<f64>,
    /// Seconds of an interval that gets a line instead.
    pub interval_s: Option<u64>,
}

/// What `-i` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    pub quiet: bool,
    pub fillfactor: u64,
    pub unlogged: bool,
    pub foreign_keys: bool,
    pub vacuum: bool,
    pub primary_keys: bool,
    pub partitions: Option<Partitions>,
    pub tablespace: Option<String>,
    pub index_tablespace: Option<String>,
}

/// What has been read so far.
#[derive(Default)]
struct Draft {
    request: Request,
    is_init: bool,
    help: bool,
    show: Option<String>,
    no_vacuum: bool,
    quiet: bool,
    steps: Option<String>,
    fillfactor: Option<u64>,
    unlogged: bool,
    foreign_keys: bool,
    partitions: Option<u64>,
    by_hash: Option<bool>,
    tablespace: Option<String>,
    index_tablespace: Option<String>,
    max_tries: Option<u64>,
    has_log: bool,
    log_prefix: Option<String>,
    sampling: Option<f64>,
    interval_s: Option<u64>,
    plain: Vec<String>,
    /// Names that belong to one of the two modes.
    of_init: Vec<&'static str>,
    of_run: Vec<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Init,
    Run,
    Both,
}

type Apply = fn(&mut Draft, &str) -> Result<(), String>;

struct Flag {
    letter: Option<char>,
    name: &'static str,
    /// How the help names its value; empty where it has none.
    value: &'static str,
    mode: Mode,
    help: &'static str,
    apply: Apply,
}

const fn flag(
    letter: Option<char>,
    name: &'static str,
    value: &'static str,
    mode: Mode,
    help: &'static str,
    apply: Apply,
) -> Flag {
    Flag { letter, name, value, mode, help, apply }
}

const FLAGS: &[Flag] = &[
    flag(Some('i'), "initialize", "", Mode::Both, "make the tables, filled", |draft, _| set(&mut draft.is_init)),
    flag(
        Some('I'),
        "init-steps",
        "STEPS",
        Mode::Init,
        "of dtg, v, p and f in this order (default dtgvp)",
        |draft, value| {
            draft.steps = Some(value.to_owned());
            Ok(())
        },
    ),
    flag(
        Some('F'),
        "fillfactor",
        "NUM",
        Mode::Init,
        "fill pages so far, per cent (PostgreSQL, default 100)",
        |draft, value| number(value, 10, 100).map(|number| draft.fillfactor = Some(number)),
    ),
    flag(
        Some('q'),
        "quiet",
        "",
        Mode::Init,
        "print less while the tables are filled",
        |draft, _| set(&mut draft.quiet),
    ),
    flag(None, "unlogged-tables", "", Mode::Init, "make tables that PostgreSQL does not log", |draft, _| {
        set(&mut draft.unlogged)
    }),
    flag(
        None,
        "foreign-keys",
        "",
        Mode::Init,
        "add foreign keys (PostgreSQL)",
        |draft, _| set(&mut draft.foreign_keys),
    ),
    flag(
        None,
        "partitions",
        "NUM",
        Mode::Init,
        "spread accounts over so many partitions (PostgreSQL)",
        |draft, value| number(value, 0, PARTITIONS_MAX).map(|count| draft.partitions = Some(count)),
    ),
    flag(None, "partition-method", "NAME", Mode::Init, "range or hash (default range)", |draft, value| {
        draft.by_hash = Some(match value {
            "range" => false,
            "hash" => true,
            _ => return Err(format!("invalid partition method `{value}`: range or hash was expected")),
        });
        Ok(())
    }),
    flag(None, "tablespace", "NAME", Mode::Init, "make the tables there (PostgreSQL)", |draft, value| {
        draft.tablespace = Some(value.to_owned());
        Ok(())
    }),
    flag(None, "index-tablespace", "NAME", Mode::Init, "make the primary keys there (PostgreSQL)", |draft, value| {
        draft.index_tablespace = Some(value.to_owned());
        Ok(())
    }),
    flag(
        Some('s'),
        "scale",
        "NUM",
        Mode::Both,
        "branches to make, or the value of :scale (default 1)",
        |draft, value| number(value, 1, 1_000_000).map(|scale| draft.request.scale = Some(scale)),
    ),
    flag(Some('n'), "no-vacuum", "", Mode::Both, "do not vacuum before the run or behind the rows", |draft, _| {
        set(&mut draft.no_vacuum)
    }),
    flag(Some('f'), "file", "FILE[@W]", Mode::Run, "add a script with a weight (default 1)", add_file),
    flag(Some('b'), "builtin", "NAME[@W]", Mode::Run, "add a builtin script (`list` lists them)", add_builtin),
    flag(Some('S'), "select-only", "", Mode::Run, "the same as -b select-only", |draft, _| {
        add_builtin(draft, "select-only")
    }),
    flag(Some('N'), "skip-some-updates", "", Mode::Run, "the same as -b simple-update", |draft, _| {
        add_builtin(draft, "simple-update")
    }),
    flag(Some('c'), "client", "NUM", Mode::Run, "clients (default 1)", |draft, value| {
        number(value, 1, CLIENTS_MAX).map(|clients| draft.request.clients = clients as u32)
    }),
    flag(Some('j'), "jobs", "NUM", Mode::Run, "threads, at most one for each client (default 1)", |draft, value| {
        number(value, 1, CLIENTS_MAX).map(|jobs| draft.request.jobs = jobs as u32)
    }),
    flag(Some('t'), "transactions", "NUM", Mode::Run, "transactions of each client (default 10)", |draft, value| {
        number(value, 1, WEIGHT_MAX).map(|count| draft.request.transactions = Some(count))
    }),
    flag(Some('T'), "time", "NUM", Mode::Run, "run for so many seconds", |draft, value| {
        number(value, 1, WEIGHT_MAX).map(|secs| draft.request.duration = Some(Duration::from_secs(secs)))
    }),
    flag(Some('D'), "define", "NAME=VALUE", Mode::Run, "give a variable a value", define),
    flag(Some('M'), "protocol", "MODE", Mode::Run, "simple, extended or prepared (default simple)", |draft, value| {
        let found = Protocol::ALL.into_iter().find(|one| one.name() == value);
        found
            .map(|protocol| draft.request.protocol = protocol)
            .ok_or_else(|| format!("invalid query mode `{value}`: simple, extended or prepared was expected"))
    }),
    flag(Some('P'), "progress", "NUM", Mode::Run, "print a line every so many seconds", |draft, value| {
        number(value, 1, WEIGHT_MAX).map(|secs| draft.request.progress = Some(Duration::from_secs(secs)))
    }),
    flag(None, "progress-timestamp", "", Mode::Run, "with the time since 1970 in it", |draft, _| {
        set(&mut draft.request.progress_timestamp)
    }),
    flag(Some('r'), "report-per-command", "", Mode::Run, "print latency and failures of each command", |draft, _| {
        set(&mut draft.request.per_command)
    }),
    flag(
        Some('R'),
        "rate",
        "NUM",
        Mode::Run,
        "start so many transactions a second, at random times",
        |draft, value| real(value).map(|rate| draft.request.rate = Some(rate)),
    ),
    flag(Some('L'), "latency-limit", "MS", Mode::Run, "count transactions above this latency", |draft, value| {
        real(value).map(|limit| draft.request.limit_ms = Some(limit))
    }),
    flag(Some('C'), "connect", "", Mode::Run, "open a new connection for each transaction", |draft, _| {
        set(&mut draft.request.connect_each)
    }),
    flag(Some('l'), "log", "", Mode::Run, "write a line of each transaction to a file for each thread", |draft, _| {
        set(&mut draft.has_log)
    }),
    flag(None, "log-prefix", "PREFIX", Mode::Run, "begin the names of these files so (pgbench_log)", |draft, value| {
        draft.log_prefix = Some(value.to_owned());
        Ok(())
    }),
    flag(
        None,
        "sampling-rate",
        "NUM",
        Mode::Run,
        "write down this share of transactions (0.01 for 1%)",
        |draft, value| {
            let share = real(value).ok().filter(|share| *share <= 1.0);
            let share = share.ok_or_else(|| format!("invalid sampling rate: \"{value}\""))?;
            draft.sampling = Some(share);
            Ok(())
        },
    ),
    flag(
        None,
        "aggregate-interval",
        "NUM",
        Mode::Run,
        "write a line of each so many seconds instead",
        |draft, value| number(value, 1, WEIGHT_MAX).map(|seconds| draft.interval_s = Some(seconds)),
    ),
    flag(Some('v'), "vacuum-all", "", Mode::Run, "vacuum all tables before the run", |draft, _| {
        set(&mut draft.request.vacuum_all)
    }),
    flag(
        None,
        "max-tries",
        "NUM",
        Mode::Run,
        "try a transaction so often; 0: until the end (default 1)",
        |draft, value| number(value, 0, WEIGHT_MAX).map(|tries| draft.max_tries = Some(tries)),
    ),
    flag(None, "failures-detailed", "", Mode::Run, "count serialization failures and deadlocks apart", |draft, _| {
        set(&mut draft.request.failures_detailed)
    }),
    flag(None, "random-seed", "SEED", Mode::Run, "a number, `time` or `rand`", |draft, value| match value {
        "time" | "rand" => Ok(()),
        _ => number(value, 0, u64::MAX).map(|seed| draft.request.seed = Some(seed)),
    }),
    flag(None, "show-script", "NAME", Mode::Run, "print a builtin script", |draft, value| {
        draft.show = Some(builtin(value)?.shown());
        Ok(())
    }),
    flag(Some('h'), "host", "HOST", Mode::Both, "the server, or its socket's folder ($PGHOST)", |draft, value| {
        draft.request.host = Some(value.to_owned());
        Ok(())
    }),
    flag(Some('p'), "port", "PORT", Mode::Both, "the server's port ($PGPORT)", |draft, value| {
        number(value, 1, 65_535).map(|port| draft.request.port = Some(port as u16))
    }),
    flag(Some('U'), "username", "USER", Mode::Both, "who connects ($PGUSER)", |draft, value| {
        draft.request.user = Some(value.to_owned());
        Ok(())
    }),
    flag(
        None,
        "target",
        "URL",
        Mode::Both,
        "a server of any kind: mysql://, mariadb://, postgres://, sqlite:///",
        |draft, value| TargetUrl::parse(value).map(|url| draft.request.target = Some(url)),
    ),
    flag(Some('?'), "help", "", Mode::Both, "print this text", |draft, _| set(&mut draft.help)),
    flag(
        Some('d'),
        "debug",
        "",
        Mode::Both,
        "print each command while it runs, inside the measured time",
        |draft, _| set(&mut draft.request.debug),
    ),
    flag(
        None,
        "verbose-errors",
        "",
        Mode::Run,
        "print each serialization failure and deadlock, inside the measured time",
        |draft, _| set(&mut draft.request.verbose_errors),
    ),
    flag(
        None,
        "allow-shell",
        "",
        Mode::Run,
        "let \\shell and \\setshell run programs, inside the measured time",
        |draft, _| set(&mut draft.request.allow_shell),
    ),
];

fn set(flag: &mut bool) -> Result<(), String> {
    *flag = true;
    Ok(())
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let found = text.parse().ok().filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| format!("`{text}` is not in range {least}..{most}"))
}

fn real(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    found.ok_or_else(|| format!("`{text}`: a number above 0 was expected"))
}

/// A name with its weight behind `@`.
fn weighted(text: &str) -> Result<(&str, u64), String> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let weight = number(weight, 0, WEIGHT_MAX);
    weight.map(|weight| (name, weight)).map_err(|why| format!("weight specification: {why}"))
}

fn add_file(draft: &mut Draft, value: &str) -> Result<(), String> {
    let (path, weight) = weighted(value)?;
    let text = plain_file::read_text(path.as_ref(), plain_file::TEXT_BYTES_MAX);
    let text = text.map_err(|error| format!("{path}: {error}"))?;
    draft.request.files.push(File { title: path.to_owned(), text, weight, is_builtin: false });
    Ok(())
}

fn add_builtin(draft: &mut Draft, value: &str) -> Result<(), String> {
    let (name, weight) = weighted(value)?;
    if name == "list" {
        let names = BUILTINS.iter().map(|one| format!("  {:>13}: {}\n", one.name, one.title));
        draft.show = Some(format!("Available builtin scripts:\n{}", names.collect::<String>()));
        return Ok(());
    }
    draft.request.files.push(File { weight, ..builtin(name)?.file() });
    Ok(())
}

/// The builtin script whose name begins so.
fn builtin(name: &str) -> Result<&'static Builtin, String> {
    let found: Vec<&Builtin> = BUILTINS.iter().filter(|one| one.name.starts_with(name)).collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err(format!("no builtin script found for name \"{name}\"; `-b list` lists them")),
        _ => Err(format!("ambiguous builtin name: {} builtin scripts found for prefix \"{name}\"", found.len())),
    }
}

fn define(draft: &mut Draft, value: &str) -> Result<(), String> {
    let (name, text) = value
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("invalid variable definition: \"{value}\"; NAME=VALUE was expected"))?;
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        return Err(format!("`{name}` is no name of a variable: letters, digits and _, without a digit in front"));
    }
    draft.request.defines.push((name.to_owned(), text.to_owned()));
    Ok(())
}

pub fn read(words: &[String]) -> Result<Asked, String> {
    let spellings: Vec<Spelling> = FLAGS
        .iter()
        .map(|flag| Spelling { letter: flag.letter, name: flag.name, has_value: !flag.value.is_empty() })
        .collect();
    let mut draft = Draft::default();
    draft.request.protocol = Protocol::Simple;
    for word in take_apart(words, &spellings)? {
        match word {
            Word::Plain(word) => draft.plain.push(word),
            Word::Option { name, value } => draft.take(name, &value)?,
        }
    }
    if draft.help {
        return Ok(Asked::Help);
    }
    if let Some(text) = draft.show {
        return Ok(Asked::Show(text));
    }
    draft.finish().map(|request| Asked::Do(Box::new(request)))
}

impl Draft {
    fn take(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        let flag = FLAGS.iter().find(|flag| flag.name == name).expect("the name is from the table");
        match flag.mode {
            Mode::Init => self.of_init.push(name),
            Mode::Run => self.of_run.push(name),
            Mode::Both => {}
        }
        (flag.apply)(self, value).map_err(|why| format!("--{name}: {why}"))
    }

    fn finish(mut self) -> Result<Request, String> {
        if let [_, second, ..] = self.plain.as_slice() {
            return Err(format!("too many command-line arguments (first is \"{second}\")"));
        }
        self.request.database = self.plain.pop();
        if self.is_init { self.finish_init() } else { self.finish_run() }
    }

    fn finish_init(mut self) -> Result<Request, String> {
        if let Some(name) = self.of_run.first() {
            return Err(format!("some of the specified options cannot be used in initialization (-i) mode: --{name}"));
        }
        let steps = self.steps.as_deref().unwrap_or("dtgvp").replace(' ', "");
        let further =
            steps.strip_prefix("dtg").filter(|rest| ["", "v", "p", "f", "vp", "vf", "pf", "vpf"].contains(rest));
        let further = further.ok_or_else(|| {
            format!("-I {steps}: dtg and behind it v, p and f are built, in this order; G is the same as g here")
        })?;
        let partitions = match (self.partitions.filter(|count| *count > 0), self.by_hash) {
            (None, Some(_)) => return Err("--partition-method requires greater than zero --partitions".to_owned()),
            (None, None) => None,
            (Some(count), Some(true)) => Some(Partitions::Hash(count)),
            (Some(count), _) => Some(Partitions::Range(count)),
        };
        self.request.init = Some(Init {
            quiet: self.quiet,
            fillfactor: self.fillfactor.unwrap_or(100),
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys || further.contains('f'),
            vacuum: further.contains('v') && !self.no_vacuum,
            primary_keys: further.contains('p'),
            partitions,
            tablespace: self.tablespace,
            index_tablespace: self.index_tablespace,
        });
        Ok(self.request)
    }

    /// What is to be logged, by pgbench's rules of what goes together.
    fn logging(&self) -> Result<Option<Logging>, String> {
        let (sampling, interval_s) = (self.sampling, self.interval_s);
        let duration = self.request.duration.map(|duration| duration.as_secs());
        if !self.has_log {
            return match () {
                () if sampling.is_some() => {
                    Err("log sampling (--sampling-rate) is allowed only when logging transactions (-l)".to_owned())
                }
                () if interval_s.is_some() => {
                    Err("log aggregation is allowed only when actually logging transactions".to_owned())
                }
                () if self.log_prefix.is_some() => {
                    Err("log file prefix (--log-prefix) is allowed only when logging transactions (-l)".to_owned())
                }
                () => Ok(None),
            };
        }
        if sampling.is_some() && interval_s.is_some() {
            return Err(
                "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time"
                    .to_owned(),
            );
        }
        if let (Some(duration), Some(interval)) = (duration, interval_s) {
            if interval > duration {
                return Err(format!(
                    "number of seconds for aggregation ({interval}) must not be higher than test duration ({duration})"
                ));
            }
            if !duration.is_multiple_of(interval) {
                return Err(format!("duration ({duration}) must be a multiple of aggregation interval ({interval})"));
            }
        }
        let prefix = self.log_prefix.clone().unwrap_or_else(|| "pgbench_log".to_owned());
        Ok(Some(Logging { prefix, sampling, interval_s }))
    }

    fn finish_run(mut self) -> Result<Request, String> {
        self.request.log = self.logging()?;
        if let Some(name) = self.of_init.first() {
            return Err(format!("some of the specified options cannot be used in benchmarking mode: --{name}"));
        }
        let request = &mut self.request;
        if request.transactions.is_some() && request.duration.is_some() {
            return Err("specify either a number of transactions (-t) or a duration (-T), not both".to_owned());
        }
        if request.duration.is_none() {
            request.transactions.get_or_insert(10);
        }
        if request.files.is_empty() {
            request.files.push(BUILTINS[0].file());
        }
        if request.files.iter().all(|file| file.weight == 0) {
            return Err("total script weight must not be zero".to_owned());
        }
        request.max_tries = self.max_tries.unwrap_or(1);
        if request.max_tries == 0 && request.duration.is_none() && request.limit_ms.is_none() {
            return Err(
                "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)"
                    .to_owned(),
            );
        }
        if request.progress_timestamp && request.progress.is_none() {
            return Err("--progress-timestamp is allowed only under --progress".to_owned());
        }
        request.no_vacuum = self.no_vacuum;
        request.clients = request.clients.max(1);
        request.jobs = request.jobs.clamp(1, request.clients);
        Ok(self.request)
    }
}

/// The text of `--help`, from the table.
pub fn help() -> String {
    let line = |flag: &Flag| {
        let letter = flag.letter.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let value = if flag.value.is_empty() { String::new() } else { format!("={}", flag.value) };
        format!("  {letter}{:<28} {}\n", format!("--{}{value}", flag.name), flag.help)
    };
    let lines = |keep: &dyn Fn(&&Flag) -> bool| FLAGS.iter().filter(keep).map(line).collect::<String>();
    let of = |mode: Mode| lines(&|flag| flag.mode == mode);
    format!(
        "Run pgbench's scripts by pgbench's rules, and report in its layout\n\n\
         Usage: dbduel pgbench [OPTIONS] [DATABASE]\n\n\
         Options:\n{}\nInitialization:\n{}\nA run:\n{}",
        of(Mode::Both),
        of(Mode::Init),
        of(Mode::Run)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Result<Request, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read(&words).map(|asked| match asked {
            Asked::Do(request) => *request,
            Asked::Help | Asked::Show(_) => panic!("a request was expected"),
        })
    }

    #[test]
    fn an_old_command_line_is_read_as_pgbench_reads_it() {
        let found =
            request(&["-c", "8", "-j4", "-T", "60", "-M", "prepared", "-P1", "-rS", "-D", "a=1", "bench"]).unwrap();
        assert_eq!((found.clients, found.jobs, found.duration), (8, 4, Some(Duration::from_secs(60))));
        assert_eq!((found.protocol, found.per_command, found.max_tries), (Protocol::Prepared, true, 1));
        assert_eq!(found.files[0].title, "<builtin: select only>");
        assert_eq!((found.database.as_deref(), found.defines.len()), (Some("bench"), 1));
        let found = request(&[]).unwrap();
        assert_eq!((found.transactions, found.clients, found.jobs), (Some(10), 1, 1));
        assert_eq!((found.protocol, found.files[0].title.as_str()), (Protocol::Simple, "<builtin: TPC-B (sort of)>"));
        assert_eq!(request(&["-c2", "-j4"]).unwrap().jobs, 2);
        let found = request(&["-b", "tpcb@3", "-b", "sel@0", "-N"]).unwrap();
        assert_eq!(found.files.iter().map(|file| file.weight).collect::<Vec<_>>(), [3, 0, 1]);
        let found = request(&["-i", "-s", "5", "-F90", "-I", "dtgp"]).unwrap();
        let init = found.init.unwrap();
        assert_eq!((found.scale, init.fillfactor, init.vacuum, init.primary_keys), (Some(5), 90, false, true));
        let found = request(&["-i", "--partitions=4", "--partition-method=hash", "--tablespace=fast"]).unwrap();
        let init = found.init.unwrap();
        assert_eq!((init.partitions, init.tablespace.as_deref()), (Some(Partitions::Hash(4)), Some("fast")));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        for (words, expected) in [
            (&["--sampling-rate=0.5"][..], "is allowed only when logging transactions (-l)"),
            (&["-l", "--sampling-rate=2"], "invalid sampling rate: \"2\""),
            (&["-l", "--sampling-rate=0.5", "--aggregate-interval=5"], "cannot be used at the same time"),
            (
                &["-l", "-T", "7", "--aggregate-interval=5"],
                "duration (7) must be a multiple of aggregation interval (5)",
            ),
            (&["-l", "-T", "3", "--aggregate-interval=5"], "must not be higher than test duration (3)"),
            (&["-i", "--partition-method=hash"], "--partition-method requires greater than zero --partitions"),
            (&["-i", "--partitions=2", "--partition-method=list"], "invalid partition method `list`"),
            (&["-b", "s"], "ambiguous builtin name: 2 builtin scripts found for prefix \"s\""),
            (&["-b", "x"], "no builtin script found for name \"x\""),
            (&["-S@0"], "unknown option -@"),
            (&["-b", "sel@0"], "total script weight must not be zero"),
            (&["-b", "sel@-1"], "weight specification: `-1` is not in range 0..2147483647"),
            (&["-t", "1", "-T", "1"], "specify either a number of transactions (-t) or a duration (-T), not both"),
            (&["-i", "-c", "1"], "some of the specified options cannot be used in initialization (-i) mode: --client"),
            (&["-F", "90"], "some of the specified options cannot be used in benchmarking mode: --fillfactor"),
            (&["-c", "0"], "--client: `0` is not in range 1..65536"),
            (&["-M", "binary"], "invalid query mode `binary`"),
            (&["-D", "a"], "invalid variable definition"),
            (&["-D", "1a=2"], "`1a` is no name of a variable"),
            (&["-f", "no-such-file.sql"], "--file: no-such-file.sql: "),
            (&["--max-tries=0"], "an unlimited number of transaction tries"),
            (&["a", "b"], "too many command-line arguments (first is \"b\")"),
        ] {
            let found = request(words).unwrap_err();
            assert!(found.contains(expected), "{words:?}: {found}");
        }
    }
}
