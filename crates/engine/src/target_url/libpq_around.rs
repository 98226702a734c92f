//! What libpq takes from its environment and its files where a connection string leaves something open: a service,
//! `PG…` variables, certificates in `~/.postgresql`, and `.pgpass`.
//!
//! The order is libpq's: the connection string, the service, the environment, the defaults. One default is not compiled
//! in as it is there: the folder of the socket is the first in which there is one, and without any it is `localhost`.

use std::path::{Path, PathBuf};

use driver::{Certificates, Secret};

use super::around::Around;
use super::libpq::{OPTIONS, ordered};
use super::model::{Place, TargetUrl, TlsMode, postgres_socket};
use super::option_word::take;
use super::sources::Sources;

/// Variables of libpq and their options; hosts go before ports.
const VARIABLES: [(&str, &str); 13] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGDATABASE", "dbname"),
    ("PGPASSWORD", "password"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGPASSFILE", "passfile"),
];
/// Where servers have their sockets: Debian's and others', and those of PostgreSQL's own make.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Where Debian's libpq has the services of the whole host.
const SYSTEM_FOLDER: &str = "/etc/postgresql-common";

/// Fills in what the target leaves open, but for passwords in files: those are of one place.
pub fn fill(target: &mut TargetUrl, around: &dyn Around, sources: &mut Sources) -> Result<(), String> {
    if let Some(service) = target.service.clone().or_else(|| around.variable("PGSERVICE")) {
        let (file, options) = service_options(&service, around)?;
        let source = format!("the service `{service}` of {}", around.shown(&file));
        for (key, value) in ordered(options) {
            fill_one(target, &key, &value, &source, sources)?;
        }
    }
    for (variable, key) in VARIABLES {
        if let Some(value) = around.variable(variable) {
            fill_one(target, key, &value, variable, sources)?;
        }
    }
    if around.variable("PGOPTIONS").is_some() {
        sources.remarks.push("PGOPTIONS is not taken: no report would show settings of sessions".to_owned());
    }
    if target.tls() != TlsMode::Off {
        fill_certificates(target, around, sources)?;
    }
    target.settle()
}

/// What libpq takes where nobody has given anything: the account of the system, a database of its name, and the server's
/// socket.
pub fn fill_defaults(target: &mut TargetUrl, around: &dyn Around, sources: &mut Sources) {
    if let (None, Some(account)) = (&target.user, around.account()) {
        target.user = Some(account);
        sources.note("user", "your account");
    }
    if target.database.is_none() {
        target.database = target.user.clone();
        sources.note("dbname", "the user");
    }
    let is_open = |place: &Place| *place == Place { port: place.port, ..Place::default() };
    let port = target.port();
    let is_there = |folder: &&str| around.is_socket(&postgres_socket(Path::new(folder), port));
    if target.places().iter().all(is_open)
        && let Some(folder) = SOCKET_FOLDERS.into_iter().find(is_there)
    {
        target.place.socket = Some(PathBuf::from(folder));
        sources.note("host", "the socket here");
    }
}

fn fill_one(target: &mut TargetUrl, key: &str, value: &str, source: &str, sources: &mut Sources) -> Result<(), String> {
    if !is_open(target, key) {
        return Ok(());
    }
    let idle = target.idle.len();
    take(target, OPTIONS, key, value).map_err(|error| format!("{source}: {error}"))?;
    if target.idle.len() == idle {
        sources.note(key, source);
    }
    Ok(())
}

/// Whether nobody has given this option yet.
fn is_open(target: &TargetUrl, key: &str) -> bool {
    let places = target.places();
    let Certificates { roots, chain, key: private, .. } = &target.certificates;
    match key {
        "host" => places.iter().all(|place| place.host.is_none() && place.socket.is_none()),
        "hostaddr" => places.iter().all(|place| place.address.is_none()),
        "port" => places.iter().all(|place| place.port.is_none()),
        "dbname" => target.database.is_none(),
        "user" => target.user.is_none(),
        "password" => target.password.is_none(),
        "sslmode" | "tls" => target.tls.is_none() && !target.system_roots,
        "sslrootcert" => roots.is_none() && !target.system_roots,
        "sslcert" => chain.is_none(),
        "sslkey" => private.is_none(),
        "channel_binding" => target.channel_binding.is_none(),
        "target_session_attrs" => target.session.is_none(),
        "passfile" => target.passfile.is_none(),
        _ => true,
    }
}

/// The file that has the service, and its options.
fn service_options(service: &str, around: &dyn Around) -> Result<(PathBuf, Vec<(String, String)>), String> {
    let own = around.variable("PGSERVICEFILE").map(PathBuf::from).or_else(|| around.in_home(".pg_service.conf"));
    let folder = around.variable("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_FOLDER.to_owned());
    let files: Vec<PathBuf> = own.into_iter().chain([Path::new(&folder).join("pg_service.conf")]).collect();
    for file in &files {
        let Some(found) = around.file(file)? else { continue };
        if let Some(options) = options_of(&found.text, service).map_err(|why| format!("{}: {why}", file.display()))? {
            return Ok((file.clone(), options));
        }
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Err(format!("there is no service `{service}` in {}; expected a group [{service}] there", files.join(" or ")))
}

/// The lines of one group; None where there is no such group. What stands first wins.
fn options_of(text: &str, service: &str) -> Result<Option<Vec<(String, String)>>, String> {
    let mut options: Option<Vec<(String, String)>> = None;
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            is_inside = options.is_none() && rest.split(']').next() == Some(service);
            options = if is_inside { Some(Vec::new()) } else { options };
            continue;
        }
        let Some(options) = options.as_mut().filter(|_| is_inside) else { continue };
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("line {number} has no `=`; expected key=value, and no directory of LDAP"));
        };
        if key == "service" {
            return Err(format!("line {number} names a service inside of a service; expected other options there"));
        }
        if !options.iter().any(|(known, _)| known == key) {
            options.push((key.to_owned(), value.to_owned()));
        }
    }
    Ok(options)
}

/// Roots, certificate and key that lie where libpq looks for them.
fn fill_certificates(target: &mut TargetUrl, around: &dyn Around, sources: &mut Sources) -> Result<(), String> {
    let there = |name: &str| -> Result<Option<PathBuf>, String> {
        let Some(path) = around.in_home(".postgresql").map(|folder| folder.join(name)) else { return Ok(None) };
        Ok(around.file(&path)?.map(|_| path))
    };
    if is_open(target, "sslrootcert")
        && let Some(roots) = there("root.crt")?
    {
        sources.note("sslrootcert", &around.shown(&roots));
        target.certificates.roots = Some(roots);
    }
    if is_open(target, "sslcert")
        && is_open(target, "sslkey")
        && let (Some(chain), Some(key)) = (there("postgresql.crt")?, there("postgresql.key")?)
    {
        sources.note("sslcert", &around.shown(&chain));
        sources.note("sslkey", &around.shown(&key));
        (target.certificates.chain, target.certificates.key) = (Some(chain), Some(key));
    }
    Ok(())
}

/// The password of a target with one place, from `.pgpass`.
pub fn fill_password(target: &mut TargetUrl, around: &dyn Around, sources: &mut Sources) -> Result<(), String> {
    let file = target.passfile.clone().or_else(|| around.in_home(".pgpass"));
    let Some(file) = file.filter(|_| target.password.is_none()) else { return Ok(()) };
    let Some(found) = around.file(&file)? else { return Ok(()) };
    if found.mode & 0o077 != 0 {
        sources.remarks.push(format!(
            "{} is not read, because others may read it: its permissions are {:04o} and must be 0600",
            around.shown(&file),
            found.mode
        ));
        return Ok(());
    }
    let password = found.text.lines().find_map(|line| password_in(line, target));
    if let Some(password) = password {
        target.password = Some(Secret::new(password));
        sources.note("password", &around.shown(&file));
    }
    Ok(())
}

/// `host:port:database:user:password`, where `*` is anything and a backslash takes a colon as it is.
fn password_in(line: &str, target: &TargetUrl) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let socket = target.place.socket.as_ref().map(|folder| folder.display().to_string());
    // The socket of a server of this host goes by this name.
    let is_usual = socket.as_ref().is_none_or(|folder| SOCKET_FOLDERS.contains(&folder.as_str()));
    let host = match (&target.place.host, target.place.address, &socket) {
        (_, _, Some(folder)) if !is_usual => folder.clone(),
        (Some(host), ..) => host.clone(),
        (None, Some(address), None) => address.to_string(),
        _ => "localhost".to_owned(),
    };
    let fields = fields(line);
    let [wanted @ .., password] = fields.as_slice() else { return None };
    let own = [host, target.port().to_string(), target.database().to_owned(), target.user().to_owned()];
    let fits = |(wanted, own): (&Field, &String)| wanted.is_star || wanted.text == *own;
    (wanted.len() == own.len() && wanted.iter().zip(&own).all(fits)).then(|| password.text.clone())
}

struct Field {
    text: String,
    is_star: bool,
}

/// Five fields; further colons belong to the last.
fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let (last, is_password) = (fields.len() - 1, fields.len() == 5);
        match letter {
            '\\' => fields[last].extend(letters.next()),
            ':' if !is_password => fields.push(String::new()),
            letter => fields[last].push(letter),
        }
    }
    fields.into_iter().map(|text| Field { is_star: text == "*", text }).collect()
}
