//! A server that dbduel does not manage, as it is named: `mysql://app@db.example:3306/bench`, and the connection strings
//! of its own clients.
//!
//! It is read here for the experiment file and for the command line alike. Nothing is connected to, and what the
//! environment and files of this host add is asked for by [`TargetUrl::completed`] alone. What must stay true: no message
//! and no text made here holds a password, and a part that cannot be honoured is a mistake, or is named.

mod around;
mod frameworks;
mod jdbc;
mod jdbc_hosts;
mod libpq;
mod libpq_around;
mod model;
mod mysql_around;
mod mysql_options;
pub(crate) mod option_file;
mod option_word;
mod sources;
mod written;

use written::{EXPECTED, Written};

#[cfg(test)]
pub(crate) use around::Made;
pub use around::{Around, Found, ThisHost};
pub use model::{Place, Session, TargetKind, TargetUrl, TlsMode};
pub use sources::Sources;

/// A target with what was around it.
#[derive(Debug, PartialEq, Eq)]
pub struct Completed {
    /// One for each place, in the order in which they are tried; each names one.
    pub targets: Vec<TargetUrl>,
    sources: Sources,
}

impl Completed {
    /// What came from where, without a password.
    pub fn text(&self) -> Option<String> {
        let idle: Vec<String> = self.targets[0].idle.iter().map(|key| format!("`{key}`")).collect();
        let idle = (!idle.is_empty()).then(|| format!("of no use here: {}", sources::and(&idle)));
        let parts: Vec<String> = self.sources.text().into_iter().chain(idle).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Where applications have the URL of their database.
const DATABASE_URL: &str = "DATABASE_URL";

impl TargetUrl {
    /// Whether a word names a server that runs: by a URL, or by a connection string of libpq.
    pub fn is_target(text: &str) -> bool {
        libpq::is_keywords(text) || text.contains("://") || text.starts_with("jdbc:")
    }

    /// Takes a URL or a connection string apart. The error names what is wrong with it and never quotes a password.
    pub fn parse(text: &str) -> Result<TargetUrl, String> {
        if libpq::is_keywords(text) {
            return libpq::of_keywords(text);
        }
        if let Some(url) = text.strip_prefix("jdbc:") {
            return jdbc::of_url(url);
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(format!("the target is no URL; {EXPECTED}"));
        };
        let (scheme, rest, idle) = frameworks::respelt(scheme, rest);
        let Some(kind) = TargetKind::of_scheme(&scheme) else {
            return Err(format!("`{scheme}://` is no kind of server that dbduel knows; {EXPECTED}"));
        };
        let written = Written::of(&rest)?;
        let mut target = match kind {
            TargetKind::Sqlite => file(written),
            TargetKind::Postgres => libpq::of_uri(written),
            TargetKind::Mysql | TargetKind::Mariadb => mysql_options::of_url(kind, written),
        }?;
        target.idle.extend(idle);
        Ok(target)
    }

    /// The target that `DATABASE_URL` names; None where it is not set.
    pub fn of_database_url(around: &dyn Around) -> Option<Result<TargetUrl, String>> {
        let text = around.variable(DATABASE_URL)?;
        let file = frameworks::file_of(&text, around);
        Some(file.unwrap_or_else(|| TargetUrl::parse(&text)).map_err(|why| format!("{DATABASE_URL}: {why}")))
    }

    /// The target with what it leaves open from where its kind's own clients take it.
    pub fn completed(&self, around: &dyn Around) -> Result<Completed, String> {
        let (mut target, mut sources) = (self.clone(), Sources::default());
        match target.kind {
            TargetKind::Postgres => {
                libpq_around::fill(&mut target, around, &mut sources)?;
                libpq_around::fill_defaults(&mut target, around, &mut sources);
            }
            TargetKind::Mysql | TargetKind::Mariadb => mysql_around::fill(&mut target, around, &mut sources)?,
            TargetKind::Sqlite => {}
        }
        let mut targets = Vec::new();
        for place in target.places() {
            let mut one = TargetUrl { place, others: Vec::new(), ..target.clone() };
            if one.kind == TargetKind::Postgres {
                libpq_around::fill_password(&mut one, around, &mut sources)?;
            }
            targets.push(one);
        }
        sources.remarks.dedup();
        Ok(Completed { targets, sources })
    }
}

fn file(written: Written) -> Result<TargetUrl, String> {
    if written.hosts.iter().any(|(host, port)| !host.is_empty() || port.is_some()) {
        return Err("a SQLite target has no host; expected three slashes before the path: sqlite:///path".to_owned());
    }
    if let Some((key, _)) = written.options.first() {
        return Err(format!("`{key}` means nothing to a SQLite target; expected sqlite:///path"));
    }
    let path = written.file()?;
    if path.ends_with('/') {
        return Err("the SQLite target names no file; expected sqlite:///path".to_owned());
    }
    Ok(TargetUrl { database: Some(path), ..TargetUrl::open(TargetKind::Sqlite) })
}

#[cfg(test)]
mod tests;
