//! Options in URLs of MySQL and MariaDB, with the names of their clients' own.

use super::model::{Place, TargetKind, TargetUrl, TlsMode};
use super::option_word::{OptionWord, absolute, idle, password, take, taken, tls, user};
use super::written::{Written, port_of};
use driver::Secret;

pub const OPTIONS: &[OptionWord] = &[
    taken("socket", |target, value| {
        target.place.socket = absolute("socket", value)?;
        Ok(())
    }),
    taken("port", |target, value| {
        let port = port_of(value).ok_or_else(|| format!("the port `{value}` is no number; expected 1 to 65535"))?;
        target.place.port = Some(port);
        Ok(())
    }),
    taken("user", user),
    taken("password", password),
    taken("tls", tls),
    taken("ssl-mode", |target, value| {
        target.tls = Some(TlsMode::of_client("ssl-mode", value)?);
        Ok(())
    }),
    taken("ssl-ca", |target, value| {
        target.certificates.roots = absolute("ssl-ca", value)?;
        Ok(())
    }),
    taken("ssl-cert", |target, value| {
        target.certificates.chain = absolute("ssl-cert", value)?;
        Ok(())
    }),
    taken("ssl-key", |target, value| {
        target.certificates.key = absolute("ssl-key", value)?;
        Ok(())
    }),
    taken("defaults-file", |target, value| {
        target.defaults_file = absolute("defaults-file", value)?;
        Ok(())
    }),
    taken("compression", |target, value| {
        target.compressed = match value {
            "on" => true,
            "off" => false,
            _ => return Err(format!("compression is `{value}`; expected on or off")),
        };
        Ok(())
    }),
    idle("charset"),
    idle("default-character-set"),
    idle("connect-timeout"),
];

/// Names are the same with `-` and with `_`.
pub fn of_url(kind: TargetKind, written: Written) -> Result<TargetUrl, String> {
    let database = written.database()?;
    let places = written.hosts.into_iter().map(|(host, port)| Place {
        host: (!host.is_empty()).then_some(host),
        port,
        ..Place::default()
    });
    let mut target = TargetUrl {
        user: written.user,
        password: written.password.map(Secret::new),
        database,
        ..TargetUrl::open(kind)
    };
    target.set_places(places.collect());
    for (key, value) in written.options {
        take(&mut target, OPTIONS, &key.replace('_', "-"), &value)?;
    }
    checked(target)
}

/// The target, if its parts agree with each other.
pub fn checked(mut target: TargetUrl) -> Result<TargetUrl, String> {
    if target.place.socket.is_some() && !target.others.is_empty() {
        return Err("a socket is one place, and the target has several hosts; expected one of the two".to_owned());
    }
    // Encryption that is not decided here may be decided by an option file.
    if target.tls.is_some() {
        target.settle()?;
    }
    Ok(target)
}
