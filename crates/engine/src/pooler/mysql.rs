//! Proxies of MySQL and MariaDB.

use driver::{Admin, Error};

use super::model::{Connect, Pooler};
use crate::limits::unless_refused;

pub fn recognise(connect: Connect) -> Result<Option<Pooler>, Error> {
    let mut admin = connect(None)?;
    let own = admin.session_number();
    let version = admin.server_version().to_owned();
    let behind = number(&mut admin, "SELECT CONNECTION_ID()")?;
    let comment = unless_refused(admin.value("SELECT @@version_comment"))?.flatten().unwrap_or_default();
    let is_another = behind.is_some() && own.is_some() && behind != own;
    Ok(name(&version, &comment, is_another).map(|name| Pooler { name, mode: None, prepares: true }))
}

fn number(admin: &mut Admin, sql: &str) -> Result<Option<u64>, Error> {
    Ok(unless_refused(admin.value(sql))?.flatten().and_then(|number| number.parse().ok()))
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
        check("8.0.11 (ProxySQL)", "(ProxySQL)", false, Some("ProxySQL"));
        check("10.6.12 22.08.4-maxscale", "MariaDB Server", true, Some("MaxScale"));
        check("8.0.36", "MySQL Community Server - GPL", true, Some("a proxy"));
    }
}
