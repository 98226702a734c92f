//! Proxies of MySQL and MariaDB.

use driver::Error;

use super::model::{Connect, Mode, Pooler};
use super::sessions::{session_behind, shares};
use crate::limits::unless_refused;

/// Proxies answer `SELECT CONNECTION_ID()` by themselves, and pass this on.
const QUESTION: &str = "SELECT CONNECTION_ID() + 0";
/// The first question of MySQL's own client. ProxySQL answers it by itself when it is put in these letters.
const COMMENT: &str = "select @@version_comment limit 1";

pub fn recognise(connect: Connect) -> Result<Option<Pooler>, Error> {
    let mut first = connect(None)?;
    let (own, version) = (first.session_number(), first.server_version().to_owned());
    let behind = unless_refused(session_behind(&mut first, QUESTION))?.flatten();
    let comment = unless_refused(first.value(COMMENT))?.flatten().unwrap_or_default();
    let is_another = behind.is_some() && own.is_some() && behind != own;
    let Some(name) = name(&version, &comment, is_another) else { return Ok(None) };
    let mode = match behind {
        None => None,
        Some(_) if shares(&mut first, &mut connect(None)?, QUESTION)? => Some(Mode::Transaction),
        Some(_) => Some(Mode::Session),
    };
    Ok(Some(Pooler { name, mode, prepares: true }))
}

/// Words by which proxies give themselves away in their version.
const PROXIES: [(&str, &str); 3] = [("proxysql", "ProxySQL"), ("maxscale", "MaxScale"), ("-router", "MySQL Router")];

/// What a version, its comment and the number of a session show. All these proxies keep statements that clients
/// prepare.
fn name(version: &str, comment: &str, is_another_session: bool) -> Option<String> {
    let words = format!("{version} {comment}").to_ascii_lowercase();
    let known = PROXIES.iter().find(|(word, _)| words.contains(word)).map(|(_, name)| (*name).to_owned());
    known.or_else(|| is_another_session.then(|| "a proxy".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_known_by_its_version_or_by_another_number_of_the_session() {
        let check = |version: &str, comment: &str, is_another, expected: Option<&str>| {
            assert_eq!(name(version, comment, is_another).as_deref(), expected, "{version} {comment}");
        };
        check("8.0.36", "MySQL Community Server - GPL", false, None);
        check("10.11.6-MariaDB-0+deb12u1", "Debian 12", false, None);
        // Its version is whatever it is set to.
        check("10.11.6", "(ProxySQL)", true, Some("ProxySQL"));
        check("10.6.12 22.08.4-maxscale", "MariaDB Server", true, Some("MaxScale"));
        check("8.0.36", "MySQL Community Server - GPL", true, Some("a proxy"));
    }
}
