//! Options of libpq and its connection strings: `host=/run/postgresql port=5433 dbname=x`.
//!
//! The rules are those of the manual of libpq, section "Connection Strings". The libraries that read such strings take
//! no service, no file of passwords and none of the options without use, so they are read here. What must stay true: no
//! message quotes a word that may belong to a password.

use std::net::IpAddr;

use driver::ChannelBinding;

use super::model::{Place, SESSIONS, TargetKind, TargetUrl, TlsMode};
use super::option_word::{OptionWord, absolute, idle, note_idle, password, refused, take, taken, tls, user};
use super::written::{Written, port_of};

pub const OPTIONS: &[OptionWord] = &[
    taken("host", hosts),
    taken("hostaddr", addresses),
    taken("port", ports),
    taken("dbname", |target, value| {
        target.database = (!value.is_empty()).then(|| value.to_owned());
        Ok(())
    }),
    taken("user", user),
    taken("password", password),
    taken("tls", tls),
    taken("sslmode", |target, value| {
        target.tls = Some(TlsMode::of_client("sslmode", value)?);
        Ok(())
    }),
    taken("sslrootcert", |target, value| {
        target.system_roots = value == "system";
        target.certificates.roots = if target.system_roots { None } else { absolute("sslrootcert", value)? };
        Ok(())
    }),
    taken("sslcert", |target, value| {
        target.certificates.chain = absolute("sslcert", value)?;
        Ok(())
    }),
    taken("sslkey", |target, value| {
        target.certificates.key = absolute("sslkey", value)?;
        Ok(())
    }),
    taken("channel_binding", |target, value| {
        target.channel_binding = Some(match value {
            "disable" => ChannelBinding::Disable,
            "prefer" => ChannelBinding::Prefer,
            "require" => ChannelBinding::Require,
            _ => return Err(format!("channel_binding is `{value}`; expected disable, prefer or require")),
        });
        Ok(())
    }),
    taken("target_session_attrs", |target, value| {
        let found = SESSIONS.iter().find(|(word, _)| *word == value).map(|(_, session)| *session);
        let words = SESSIONS.map(|(word, _)| word).join(", ");
        target.session =
            Some(found.ok_or_else(|| format!("target_session_attrs is `{value}`; expected one of {words}"))?);
        Ok(())
    }),
    taken("service", |target, value| {
        target.service = (!value.is_empty()).then(|| value.to_owned());
        Ok(())
    }),
    taken("passfile", |target, value| {
        target.passfile = absolute("passfile", value)?;
        Ok(())
    }),
    idle("application_name"),
    idle("fallback_application_name"),
    idle("connect_timeout"),
    idle("keepalives"),
    idle("keepalives_idle"),
    idle("keepalives_interval"),
    idle("keepalives_count"),
    idle("tcp_user_timeout"),
    idle("krbsrvname"),
    idle("gsslib"),
    idle("gssdelegation"),
    idle("sslsni"),
    idle("sslcertmode"),
    taken("client_encoding", |target, value| {
        only(
            target,
            "client_encoding",
            value,
            &["", "auto", "UTF8", "utf8", "UTF-8", "utf-8"],
            "has the server convert every text",
        )
    }),
    taken("gssencmode", |target, value| {
        only(target, "gssencmode", value, &["disable", "prefer"], "encrypts by a way that dbduel does not have")
    }),
    taken("sslnegotiation", |target, value| {
        only(target, "sslnegotiation", value, &["postgres"], "opens connections by a way that dbduel does not have")
    }),
    taken("sslcompression", |target, value| {
        only(target, "sslcompression", value, &["0"], "compresses by a way that servers have given up")
    }),
    taken("ssl_min_protocol_version", |target, value| {
        let known = ["", "TLSv1", "TLSv1.1", "TLSv1.2"];
        only(
            target,
            "ssl_min_protocol_version",
            value,
            &known,
            "asks for more than dbduel holds to, which is TLS 1.2 or 1.3",
        )
    }),
    taken("ssl_max_protocol_version", |target, value| {
        only(
            target,
            "ssl_max_protocol_version",
            value,
            &["", "TLSv1.3"],
            "asks for less than dbduel offers, which is TLS 1.3",
        )
    }),
    taken("load_balance_hosts", |target, value| {
        only(target, "load_balance_hosts", value, &["disable"], "leaves to chance which server is measured")
    }),
    refused(
        "options",
        "changes settings of the sessions, which no report would show; expected them on the server: ALTER ROLE … SET",
    ),
    refused("replication", "opens a session that takes no statements of a load; leave it out"),
    refused(
        "sslpassword",
        "is the passphrase of a key, and dbduel reads keys without one; expected an sslkey without a passphrase",
    ),
    refused("sslcrl", "names certificates that are revoked, which dbduel does not check; leave it out"),
    refused("sslcrldir", "names certificates that are revoked, which dbduel does not check; leave it out"),
    refused("require_auth", "promises a way of authentication that dbduel does not check; leave it out"),
    refused("requirepeer", "promises an owner of the socket that dbduel does not check; leave it out"),
    refused("socket", "is MySQL's word; a PostgreSQL target names its socket's folder: ?host=/folder"),
];

/// Values that change nothing; every other one would.
fn only(target: &mut TargetUrl, key: &str, value: &str, known: &[&str], why: &str) -> Result<(), String> {
    if !known.contains(&value) {
        return Err(format!("{key}={value} {why}; leave it out"));
    }
    note_idle(target, key);
    Ok(())
}

fn hosts(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    let before = target.places();
    let port = |at: usize| before.get(at).or(before.first().filter(|_| before.len() == 1)).and_then(|place| place.port);
    let places = value.split(',').enumerate().map(|(at, host)| Place { port: port(at), ..Place::of_host(host) });
    target.set_places(places.collect());
    Ok(())
}

fn addresses(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    let read = |text: &str| match text {
        "" => Ok(None),
        text => text
            .parse::<IpAddr>()
            .map(Some)
            .map_err(|_| "hostaddr is no address; expected such as 192.0.2.7".to_owned()),
    };
    let addresses = value.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
    let mut places = target.places();
    if places == [Place::default()] {
        places = vec![Place::default(); addresses.len()];
    }
    expect_as_many(addresses.len(), places.len(), "addresses")?;
    places.iter_mut().zip(addresses).for_each(|(place, address)| place.address = address);
    target.set_places(places);
    Ok(())
}

/// One port is that of every host.
fn ports(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    let read = |text: &str| match text {
        "" => Ok(None),
        text => port_of(text).map(Some).ok_or_else(|| format!("the port `{text}` is no number; expected 1 to 65535")),
    };
    let ports = value.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
    let mut places = target.places();
    if ports.len() > 1 {
        expect_as_many(ports.len(), places.len(), "ports")?;
    }
    places.iter_mut().zip(ports.iter().cycle()).for_each(|(place, port)| place.port = *port);
    target.set_places(places);
    Ok(())
}

fn expect_as_many(count: usize, hosts: usize, what: &str) -> Result<(), String> {
    if count == hosts {
        return Ok(());
    }
    Err(format!("the target has {count} {what} and {hosts} hosts; expected one for each host, in the same order"))
}

/// Options in the order in which they can be taken: a port belongs to a host.
pub fn ordered(mut options: Vec<(String, String)>) -> Vec<(String, String)> {
    let rank = |key: &str| ["host", "hostaddr", "port"].iter().position(|first| *first == key).unwrap_or(3);
    options.sort_by_key(|(key, _)| rank(key));
    options
}

/// A target of these options.
fn target_of(options: Vec<(String, String)>) -> Result<TargetUrl, String> {
    let mut target = TargetUrl::open(TargetKind::Postgres);
    for (key, value) in ordered(options) {
        // A word of drivers for Java, which libpq takes in URIs.
        let (key, value) = if (key.as_str(), value.as_str()) == ("ssl", "true") {
            ("sslmode", "require")
        } else {
            (key.as_str(), value.as_str())
        };
        take(&mut target, OPTIONS, key, value)?;
    }
    // Encryption that is not decided here may be decided by the environment or a service.
    if target.tls.is_some() || target.system_roots {
        target.settle()?;
    }
    Ok(target)
}

/// A URI: its own parts, and the options that stand for the same go before them.
pub fn of_uri(written: Written) -> Result<TargetUrl, String> {
    let mut options = Vec::new();
    let mut add = |key: &str, value: String| options.push((key.to_owned(), value));
    if written.hosts.len() > 1 || written.hosts.iter().any(|(host, _)| !host.is_empty()) {
        add("host", written.hosts.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>().join(","));
    }
    let port = |port: &Option<u16>| port.map_or_else(String::new, |port| port.to_string());
    if written.hosts.iter().any(|(_, port)| port.is_some()) {
        add("port", written.hosts.iter().map(|(_, one)| port(one)).collect::<Vec<_>>().join(","));
    }
    let database = written.database()?;
    for (key, value) in [("user", written.user), ("password", written.password), ("dbname", database)] {
        value.into_iter().for_each(|value| add(key, value));
    }
    options.extend(written.options);
    target_of(options)
}

/// Whether a text is a connection string: it begins with one of libpq's keywords and an equals sign, and no URL is named
/// so.
pub fn is_keywords(text: &str) -> bool {
    let Some((key, rest)) = text.split_once('=') else { return false };
    let key = key.trim();
    let is_name = rest.split_whitespace().next().is_some_and(|value| value.contains("://"));
    !is_name && key != "tls" && key != "socket" && OPTIONS.iter().any(|word| word.name == key)
}

/// A connection string of keywords and values.
pub fn of_keywords(text: &str) -> Result<TargetUrl, String> {
    target_of(pairs(text)?)
}

/// `key = value`, apart by white space. Quotes hold spaces; a backslash takes the next character as it is.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut letters = text.chars().peekable();
    let mut pairs = Vec::new();
    loop {
        skip_spaces(&mut letters);
        if letters.peek().is_none() {
            return Ok(pairs);
        }
        let mut key = String::new();
        while let Some(letter) = letters.next_if(|letter| *letter != '=' && !letter.is_whitespace()) {
            key.push(letter);
        }
        skip_spaces(&mut letters);
        if letters.next() != Some('=') {
            return Err(format!(
                "word {} of the connection string has no `=`; a value with spaces stands in quotes: host=… dbname='my db'",
                pairs.len() + 1
            ));
        }
        skip_spaces(&mut letters);
        let value = value(&mut letters)?;
        if value.contains('\0') || key.contains('\0') {
            return Err("the connection string holds a zero byte; leave it out".to_owned());
        }
        pairs.push((key, value));
    }
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_spaces(letters: &mut Letters) {
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
}

fn value(letters: &mut Letters) -> Result<String, String> {
    let mut value = String::new();
    let is_quoted = letters.next_if_eq(&'\'').is_some();
    while let Some(letter) = letters.next_if(|letter| is_quoted || !letter.is_whitespace()) {
        match letter {
            '\'' if is_quoted => return Ok(value),
            '\\' => value.extend(letters.next()),
            letter => value.push(letter),
        }
    }
    if is_quoted {
        return Err("a quote of the connection string is not closed; inside one write \\' for a quote".to_owned());
    }
    Ok(value)
}
