//! What the clients of MySQL and MariaDB take from their option files where a URL leaves something open.
//!
//! Only what says where a server is and who logs in is taken; the files hold options of many programs.

use std::collections::BTreeMap;

use driver::{Certificates, Secret};

use super::around::Around;
use super::model::{Place, TargetKind, TargetUrl, TlsMode};
use super::option_file;
use super::sources::Sources;
use super::written::port_of;

/// The last value of each option; None where it stands alone.
type Given = BTreeMap<String, Option<String>>;

fn groups(kind: TargetKind) -> &'static [&'static str] {
    match kind {
        TargetKind::Mariadb => &["client", "client-server", "client-mariadb", "mysql", "mariadb-client"],
        _ => &["client", "mysql"],
    }
}

/// Fills in what the target leaves open from its `defaults-file`, else from `~/.my.cnf`.
pub fn fill(target: &mut TargetUrl, around: &dyn Around, sources: &mut Sources) -> Result<(), String> {
    let Some(file) = target.defaults_file.clone().or_else(|| around.in_home(".my.cnf")) else { return Ok(()) };
    let Some(options) = option_file::read(&file, groups(target.kind), around)? else {
        return match target.defaults_file {
            Some(_) => Err(format!("there is no defaults-file {}; look at its path", file.display())),
            None => Ok(()),
        };
    };
    sources.remarks.extend(options.remarks);
    let given: Given = options.given.into_iter().map(|one| (one.key, one.value)).collect();
    let source = around.shown(&file);
    let mut add = |option: &str| sources.note(option, &source);
    fill_login(target, &given, &mut add);
    if let Some(remark) = fill_password(target, &given, &source, &mut add) {
        sources.remarks.push(remark);
    }
    let mut add = |option: &str| sources.note(option, &source);
    fill_place(target, &given, &mut add)
        .and_then(|()| fill_encryption(target, &given, &mut add))
        .map_err(|why| format!("{source}: {why}"))?;
    target.settle()
}

/// The value of an option, where it has one.
fn text<'a>(given: &'a Given, key: &str) -> Option<&'a str> {
    given.get(key)?.as_deref().filter(|value| !value.is_empty())
}

fn fill_login(target: &mut TargetUrl, given: &Given, add: &mut dyn FnMut(&str)) {
    if let (None, Some(database)) = (&target.database, text(given, "database")) {
        target.database = Some(database.to_owned());
        add("database");
    }
    if let (None, Some(user)) = (&target.user, text(given, "user")) {
        target.user = Some(user.to_owned());
        add("user");
    }
}

/// A password belongs to the account that stands beside it.
fn fill_password(target: &mut TargetUrl, given: &Given, source: &str, add: &mut dyn FnMut(&str)) -> Option<String> {
    let password = text(given, "password").filter(|_| target.password.is_none())?;
    match text(given, "user") {
        Some(user) if user != target.user() => {
            Some(format!("the password in {source} is that of `{user}` and not taken for `{}`", target.user()))
        }
        _ => {
            target.password = Some(Secret::new(password));
            add("password");
            None
        }
    }
}

/// As with the clients themselves a socket is for `localhost`, and not with `protocol=tcp`.
fn fill_place(target: &mut TargetUrl, given: &Given, add: &mut dyn FnMut(&str)) -> Result<(), String> {
    let is_open = |place: &Place| place.host.is_none() && place.socket.is_none();
    if target.others.is_empty() && is_open(&target.place) {
        let host = text(given, "host");
        let is_by_socket = host.is_none_or(|host| host == "localhost")
            && !text(given, "protocol").is_some_and(|protocol| protocol.eq_ignore_ascii_case("tcp"));
        match (text(given, "socket").filter(|_| is_by_socket), host) {
            (Some(socket), _) => {
                target.place.socket = Some(socket.into());
                add("socket");
            }
            (None, Some(host)) => {
                target.place.host = Some(host.to_owned());
                add("host");
            }
            (None, None) => {}
        }
    }
    let is_by_port = target.place.socket.is_none() && target.places().iter().all(|place| place.port.is_none());
    if let Some(port) = text(given, "port").filter(|_| is_by_port) {
        let port = port_of(port).ok_or_else(|| format!("the port `{port}` is no number; expected 1 to 65535"))?;
        let places = target.places().into_iter().map(|place| Place { port: Some(port), ..place }).collect();
        target.set_places(places);
        add("port");
    }
    Ok(())
}

fn fill_encryption(target: &mut TargetUrl, given: &Given, add: &mut dyn FnMut(&str)) -> Result<(), String> {
    if target.tls.is_none()
        && let Some((key, mode)) = mode_of(given)?
    {
        target.tls = Some(mode);
        add(key);
    }
    if target.tls() == TlsMode::Off {
        return Ok(());
    }
    let Certificates { roots, chain, key, .. } = &mut target.certificates;
    for (name, file) in [("ssl-ca", roots), ("ssl-cert", chain), ("ssl-key", key)] {
        // Roots without a check would have no effect.
        let is_of_use = name != "ssl-ca" || target.tls != Some(TlsMode::Require);
        if let Some(path) = text(given, name).filter(|_| file.is_none() && is_of_use) {
            *file = Some(path.into());
            add(name);
        }
    }
    Ok(())
}

/// What the options of a file make of encryption, with the option that decides it.
fn mode_of(given: &Given) -> Result<Option<(&'static str, TlsMode)>, String> {
    let is_on = |key: &str| given.get(key).is_some_and(|value| !value.as_deref().is_some_and(is_no));
    let is_off = |key: &str| given.get(key).is_some_and(|value| value.as_deref().is_some_and(is_no));
    if let Some(mode) = text(given, "ssl-mode") {
        return Ok(Some(("ssl-mode", TlsMode::of_client("ssl-mode", mode)?)));
    }
    Ok(if is_on("skip-ssl") || is_on("disable-ssl") || is_off("ssl") {
        Some(("skip-ssl", TlsMode::Off))
    } else if is_on("ssl-verify-server-cert") {
        Some(("ssl-verify-server-cert", TlsMode::Verify))
    } else if given.contains_key("ssl-ca") {
        Some(("ssl-ca", TlsMode::VerifyCa))
    } else if is_on("ssl") || given.contains_key("ssl-cert") {
        Some(("ssl", TlsMode::Require))
    } else {
        None
    })
}

fn is_no(value: &str) -> bool {
    ["0", "off", "false"].contains(&value.to_ascii_lowercase().as_str())
}
