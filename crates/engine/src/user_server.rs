//! A server that dbduel does not manage: reached by its URL, never started, stopped or configured.
//!
//! It has the way to the server and what the server reports about itself; its tables are the
//! business of `trial/target_tables.rs`. What must stay true: nothing here changes the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use driver::{Admin, Dialect, Endpoint, Error, Secret};

use super::keeper::PASSWORD_VARIABLE;
use super::server_process::{self, Listening};
use super::storage::{Storage, class_in, storage_of};
use super::{Engine, NOT_KNOWN};
use record::secrets::MASK;

use crate::limits::counted;
use crate::password::{PasswordSource, Renewal};
use crate::pooler::{Pooler, recognise};
use crate::request::TargetChoice;
use crate::target_url::{Around, Session, TargetUrl, ThisHost};

const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest answer to a question that any server answers at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// No statement of a load or a check may take longer.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);

/// A target that has answered.
pub struct UserServer {
    engine: &'static dyn Engine,
    /// With its password, which nothing prints.
    url: Box<TargetUrl>,
    /// Its password, where that may expire.
    renewal: Renewal,
    /// Tables that dbduel did not make may be dropped.
    pub overwrite: bool,
    version: String,
    settings: BTreeMap<String, String>,
    pid: Option<u32>,
    /// None where it is on this host, or a file.
    elsewhere: Option<Listening>,
    is_on_this_host: bool,
    /// What of its URL came from where.
    sources: Option<String>,
}

impl UserServer {
    /// Logs in to a target of this engine and asks the server what it is.
    pub fn reach(engine: &'static dyn Engine, choice: &TargetChoice) -> Result<UserServer> {
        let Located { url, sources } = Candidates::of(&choice.url, &choice.password, &ThisHost)?.located()?;
        if let Endpoint::File(file) = url.endpoint() {
            // A login would make an empty one.
            ensure!(file.is_file(), "there is no database file {}; make it first", file.display());
        }
        let endpoint = url.endpoint();
        let listening = Listening::at(&endpoint, engine.binaries());
        let is_here = |listening: &Listening| listening.is_on_this_host();
        let mut user_server = UserServer {
            engine,
            overwrite: choice.overwrite,
            version: String::new(),
            settings: BTreeMap::new(),
            pid: server_process::listening(&endpoint, engine.binaries()),
            is_on_this_host: matches!(endpoint, Endpoint::Unix(_)) || listening.as_ref().is_some_and(is_here),
            elsewhere: listening.filter(|listening| !is_here(listening)),
            renewal: Renewal::new(choice.password.clone(), url.password.clone()),
            url: Box::new(url),
            sources,
        };
        let mut admin = user_server.session()?;
        user_server.version = admin.server_version().to_owned();
        // An account may lack the right to read them; then nothing is claimed about them.
        match engine.read_settings(&mut admin) {
            Ok(effective) => user_server.settings = effective.values,
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(error).with_context(|| format!("{} does not show its settings", user_server.url)),
        }
        Ok(user_server)
    }

    pub fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    pub fn dialect(&self) -> Dialect {
        self.url.kind.dialect()
    }

    /// Where the load connects. A password that cannot be had again stays what it was: sessions report why.
    pub fn target(&self) -> driver::Target {
        let renewed = self.renewal.password().ok().flatten();
        let mut target = self.url.target();
        target.login.password = renewed.or(target.login.password);
        target
    }

    /// What of its URL came from where, as a line for the user.
    pub fn sources(&self) -> Option<&str> {
        self.sources.as_deref()
    }

    /// A blocking session in the target's database, for short questions.
    pub fn session(&self) -> Result<Admin> {
        let renewed = self.renewal.password().with_context(|| format!("no password for {}", self.url))?;
        let url = TargetUrl { password: renewed.or_else(|| self.url.password.clone()), ..(*self.url).clone() };
        let mut admin = log_in(&url).map_err(|error| login_failure(&url, &error))?;
        admin.set_timeout(Some(ANSWER_LIMIT))?;
        Ok(admin)
    }

    /// The same for statements that take as long as the tables are large.
    pub fn long_session(&self) -> Result<Admin> {
        let mut admin = self.session()?;
        admin.set_timeout(Some(STATEMENT_LIMIT))?;
        Ok(admin)
    }

    /// What stands between this host and the server.
    pub fn pooler(&self) -> Result<Option<Pooler>> {
        let found = recognise(&self.target(), ANSWER_LIMIT);
        found.with_context(|| format!("cannot see whether a pooler stands before {}", self.url))
    }

    /// As the server reports at login.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The settings as the server shows them; empty where the account may not see them.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// What a commit promises by the settings that can be seen, and by where the data lie if that can be seen.
    pub fn durability_class(&self) -> &'static str {
        if self.settings.is_empty() {
            return NOT_KNOWN;
        }
        let by_settings = self.engine.durability_class(&self.settings);
        self.folder().map_or(by_settings, |folder| class_in(&folder, by_settings))
    }

    /// Where the data lie, of a database that is a file here.
    pub fn storage(&self) -> Option<Storage> {
        storage_of(&self.folder()?)
    }

    fn folder(&self) -> Option<PathBuf> {
        let Endpoint::File(file) = self.url.endpoint() else { return None };
        Some(file.canonicalize().ok()?.parent()?.to_owned())
    }

    /// The engine lives inside dbduel; its work is the client's.
    pub fn is_embedded(&self) -> bool {
        matches!(self.url.endpoint(), Endpoint::File(_))
    }

    /// Its process, where it runs on this host and can be seen.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Its processes are on this host, among others that are none of dbduel's business.
    pub fn is_on_this_host(&self) -> bool {
        self.is_on_this_host
    }

    /// How its process is found on the other host that it is on.
    pub fn elsewhere(&self) -> Option<&Listening> {
        self.elsewhere.as_ref()
    }
}

fn log_in(url: &TargetUrl) -> Result<Admin, Error> {
    Admin::connect(url.kind.dialect(), &url.endpoint(), &url.login(), LOGIN_LIMIT)
}

/// One server, whose URL has everything that a login needs.
#[derive(Debug)]
pub struct Located {
    pub url: TargetUrl,
    /// What of it came from where, as a line for the user.
    pub sources: Option<String>,
}

/// The servers that a URL may mean, with everything that a login needs.
#[derive(Debug)]
pub struct Candidates {
    targets: Vec<TargetUrl>,
    text: Option<String>,
}

impl Candidates {
    /// Fills in what a URL leaves open; nothing is connected to.
    pub fn of(url: &TargetUrl, password: &PasswordSource, around: &dyn Around) -> Result<Candidates> {
        let own = password.ask(around).with_context(|| format!("no password for {url}"))?;
        let was_masked = own.is_none() && is_masked(url);
        let password = own.or_else(|| url.password.clone().filter(|_| !was_masked));
        let completed = TargetUrl { password, ..url.clone() }.completed(around);
        let completed = completed.map_err(|why| anyhow!("the target {url}: {why}"))?;
        let (text, mut targets) = (completed.text(), completed.targets);
        for target in &mut targets {
            target.password = target.password.take().or_else(|| around.variable(PASSWORD_VARIABLE).map(Secret::new));
            ensure!(!was_masked || target.password.is_some(), masked_out(url, PASSWORD_VARIABLE));
        }
        Ok(Candidates { targets, text })
    }

    /// The first that answers.
    pub fn located(self) -> Result<Located> {
        let (url, chosen) = first_that_suits(self.targets)?;
        let parts: Vec<String> = self.text.into_iter().chain(chosen).collect();
        let sources = (!parts.is_empty()).then(|| format!("{url}: {}", parts.join("; ")));
        Ok(Located { url, sources })
    }
}

/// The first target that answers and is what `target_session_attrs` asks for; a single one is not asked. As with libpq, a
/// server that refuses the login ends the search.
fn first_that_suits(targets: Vec<TargetUrl>) -> Result<(TargetUrl, Option<String>)> {
    let session = targets[0].session.unwrap_or_default();
    if let ([only], Session::Any) = (targets.as_slice(), session) {
        return Ok((only.clone(), None));
    }
    let rounds: &[Session] =
        if session == Session::PreferStandby { &[Session::Standby, Session::Any] } else { &[session] };
    let mut failed = Vec::new();
    for (round, target) in rounds.iter().flat_map(|round| targets.iter().map(move |target| (round, target))) {
        match log_in(target).and_then(|mut admin| suits(&mut admin, *round)) {
            Ok(true) => {
                let chosen = format!("the first of {} that {}", host_count(&targets), wanted(*round));
                return Ok((target.clone(), Some(chosen)));
            }
            Ok(false) => failed.push(format!("{} is not one that {}", target.endpoint(), wanted(*round))),
            Err(error @ Error::Refused { .. }) if !is_for_a_while(&error) => return Err(login_failure(target, &error)),
            Err(error) => failed.push(error.to_string()),
        }
    }
    Err(anyhow!(
        "none of {} {}: {}\n  next: look whether the servers run and listen there",
        host_count(&targets),
        wanted(session),
        failed.join("; ")
    ))
}

fn host_count(targets: &[TargetUrl]) -> String {
    counted(targets.len() as u64, "host")
}

/// PostgreSQL is starting, or has too many sessions; MySQL has too many sessions, or is stopping.
const FOR_A_WHILE: [&str; 4] = ["57P03", "53300", "1040", "1053"];

fn is_for_a_while(error: &Error) -> bool {
    matches!(error, Error::Refused { code, .. } if FOR_A_WHILE.contains(&code.as_str()))
}

fn wanted(session: Session) -> &'static str {
    match session {
        Session::Any => "answers",
        Session::ReadWrite => "takes writes",
        Session::ReadOnly => "takes reads only",
        Session::Primary => "is a primary",
        Session::Standby | Session::PreferStandby => "is a standby",
    }
}

/// Whether a server is what is wanted, by libpq's own questions.
fn suits(admin: &mut Admin, session: Session) -> Result<bool, Error> {
    let (question, answer) = match session {
        Session::Any => return Ok(true),
        Session::ReadWrite => ("SHOW transaction_read_only", "off"),
        Session::ReadOnly => ("SHOW transaction_read_only", "on"),
        Session::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", "f"),
        Session::Standby | Session::PreferStandby => ("SELECT pg_catalog.pg_is_in_recovery()", "t"),
    };
    let rows = admin.rows(question)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(Option::as_deref) == Some(answer))
}

/// Codes of a login that was refused for the account or its password.
const ACCESS_DENIED: [&str; 3] = ["1045", "28P01", "28000"];

/// Why a session with a target did not come about, and what to do.
pub fn login_failure(url: &TargetUrl, error: &Error) -> anyhow::Error {
    let failed = if matches!(error, Error::Refused { .. }) { "log in to" } else { "reach" };
    let next = match error {
        Error::Refused { code, .. } if ACCESS_DENIED.contains(&code.as_str()) && url.password.is_none() => {
            "give the password in DBDUEL_PASSWORD or in a file (`password_file` of a contender, --password-file); \
             `password_env` and `password_command` are others"
        }
        // What the error means as a rule comes with its own next step.
        _ if driver::advice_in(&error.to_string()).is_some() => return anyhow!("cannot {failed} {url}: {error}"),
        Error::Refused { .. } => "look at user, password and database of the target",
        _ => "look whether the server runs and listens there",
    };
    anyhow!("cannot {failed} {url}: {error}\n  next: {next}")
}

/// The server understood and refused; anything else is a server that should not be measured.
fn is_refusal(error: &anyhow::Error) -> bool {
    let breaks = |error: &Error| matches!(error, Error::Lost { .. } | Error::Protocol(_));
    !error.chain().any(|cause| cause.downcast_ref::<Error>().is_some_and(breaks))
}

/// The password of a target: of its file, of its URL, or of this variable of the environment, in this order.
pub fn password(url: &TargetUrl, file: Option<&Path>, variable: &str) -> Result<Option<Secret>> {
    if let Some(file) = file {
        return PasswordSource::File(file.to_owned()).ask(&ThisHost);
    }
    let given = url.password.clone().filter(|_| !is_masked(url));
    let found = given.or_else(|| ThisHost.variable(variable).map(Secret::new));
    ensure!(found.is_some() || url.password.is_none(), masked_out(url, variable));
    Ok(found)
}

/// Whether a mask stands where the password was.
fn is_masked(url: &TargetUrl) -> bool {
    url.password.as_ref().is_some_and(|password| password.expose() == MASK)
}

fn masked_out(url: &TargetUrl, variable: &str) -> String {
    format!("the password of {url} was taken out when this was stored; give it in {variable} or in a password_file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_url::Made;

    #[test]
    fn a_password_file_goes_first_and_its_line_break_is_no_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pw");
        std::fs::write(&file, "from file\n").unwrap();
        let url = TargetUrl::parse("mysql://app:inline@db/x").unwrap();
        assert_eq!(password(&url, Some(&file), PASSWORD_VARIABLE).unwrap().unwrap().expose(), "from file");
        assert_eq!(password(&url, None, PASSWORD_VARIABLE).unwrap().unwrap().expose(), "inline");
    }

    #[test]
    fn each_target_has_its_own_password_and_the_default_comes_last() {
        let variables = vec![("DBDUEL_PASSWORD", "of all"), ("SECOND", "of the second"), ("PGPASSWORD", "of libpq")];
        let around = Made { variables, ..Made::default() };
        let of = |url: &str, source: PasswordSource| {
            let candidates = Candidates::of(&TargetUrl::parse(url).unwrap(), &source, &around).unwrap();
            candidates.targets[0].password.as_ref().map(|password| password.expose().to_owned()).unwrap()
        };
        assert_eq!(of("mysql://a@db/x", PasswordSource::Unnamed), "of all");
        assert_eq!(of("mysql://a@db/x", PasswordSource::Variable("SECOND".into())), "of the second");
        assert_eq!(of("mysql://a:own@db/x", PasswordSource::Unnamed), "own");
        assert_eq!(of("postgres://a@db/x", PasswordSource::Unnamed), "of libpq");
        assert_eq!(of("postgres://a@db/x", PasswordSource::Command("echo told".into())), "told");
    }

    #[test]
    fn a_password_that_was_masked_is_asked_for_again() {
        let error = password(&TargetUrl::parse("mysql://app:***@db/x").unwrap(), None, PASSWORD_VARIABLE)
            .unwrap_err()
            .to_string();
        assert!(error.contains(PASSWORD_VARIABLE) && error.contains("password_file"), "{error}");
    }
}
