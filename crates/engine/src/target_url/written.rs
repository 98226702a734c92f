//! A URL, taken apart into its pieces of text, whose `%XX` are read.
//!
//! It follows what libpq and MySQL's clients take: several hosts behind commas, a host that is a folder with its slashes
//! as `%2F`, and no host at all. What must stay true: no message quotes a piece that may belong to a password.

use percent_encoding::percent_decode_str;

pub const EXPECTED: &str = "expected mysql://user@host[:port]/database, mariadb://, postgres://, or sqlite:///path";

/// The pieces of `scheme://user:password@host:port,host:port/path?key=value`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub user: Option<String>,
    pub password: Option<String>,
    /// Each host with its port; one without a name, where the URL has none.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Behind the first slash, with its `%XX`; None where nothing follows the hosts.
    path: Option<String>,
    pub options: Vec<(String, String)>,
}

impl Written {
    /// Takes apart what follows `scheme://`.
    pub fn of(text: &str) -> Result<Written, String> {
        // These end a URL in a line of text, and what is masked there must be the whole password.
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control() || "\"'".contains(letter)) {
            return Err(format!("a space or a quote stands in the target, written %20, %22 or %27 there; {EXPECTED}"));
        }
        if text.contains('#') {
            return Err(format!("a `#` in the target ends it; inside a name or a password write %23; {EXPECTED}"));
        }
        let (before, query) = text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)));
        let (authority, path) = before.split_once('/').map_or((before, None), |(hosts, path)| (hosts, Some(path)));
        let (login, hosts) =
            authority.rsplit_once('@').map_or((None, authority), |(login, hosts)| (Some(login), hosts));
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => (given(user, "user")?, given(password, "password")?),
            None => (None, None),
        };
        let hosts = hosts.split(',').map(host).collect::<Result<_, _>>()?;
        let options = query.map_or(Ok(Vec::new()), options)?;
        Ok(Written { user, password, hosts, path: path.map(str::to_owned), options })
    }

    /// The path as the name of a database.
    pub fn database(&self) -> Result<Option<String>, String> {
        let path = self.path.as_deref().unwrap_or_default().trim_start_matches('/');
        if path.contains(['/', '@']) {
            return Err(format!(
                "the database name holds `/` or `@`; in a name or a password these are written %2F and %40; {EXPECTED}"
            ));
        }
        given(path, "database")
    }

    /// The path as that of a file.
    pub fn file(&self) -> Result<String, String> {
        Ok(format!("/{}", decoded(self.path.as_deref().unwrap_or_default(), "path")?))
    }
}

fn given(text: &str, part: &str) -> Result<Option<String>, String> {
    if text.is_empty() { Ok(None) } else { decoded(text, part).map(Some) }
}

fn host(text: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, behind)) => (address, Some(behind.strip_prefix(':').ok_or_else(bad_port)?)),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.filter(|port| !port.is_empty()).map(|port| port_of(port).ok_or_else(bad_port)).transpose()?;
    Ok((decoded(host, "host")?, port))
}

/// From 1 to 65535.
pub fn port_of(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

fn bad_port() -> String {
    format!(
        "the port of the target is no number from 1 to 65535 (a `/`, `@`, `:` or `#` in a password is written %2F, %40, %3A, %23); {EXPECTED}"
    )
}

fn options(query: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(key, value)| Ok((decoded(key, "options")?, decoded(value, "options")?))).collect()
}

pub fn decoded(text: &str, part: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| format!("the {part} of the target is no UTF-8 once its %XX are read; {EXPECTED}"))?;
    if text.contains('\0') {
        return Err(format!("the {part} of the target holds a zero byte; {EXPECTED}"));
    }
    Ok(text.into_owned())
}
