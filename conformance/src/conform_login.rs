//! `cargo xtask conform-login`: the ways of logging in, by the connection strings that people have, on real servers.
//!
//! Each row names an account, how it is reached, and what must come out: a session of that account, or a refusal with its
//! reason. Servers that are not here are reported as skipped. What must stay true: a row that must be refused fails the
//! command when it is let in. Then dbduel's own commands log in, and the guide's first sessions are typed.

mod commands;
mod home;
mod mariadb;
mod mysql;
mod postgres;
mod row;
mod shared;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use driver::Admin;

use crate::certificates::Certificates;
use crate::held::{Held, Missing, dbduel};
use home::Home;
use row::{Row, print_table};
use shared::Ways;

#[derive(clap::Args)]
pub struct ConformLogin {
    /// Only servers whose name begins so: mysql, postgres, mariadb@11.8 [default: all]
    name: Option<String>,
    /// Download the servers that are not here yet
    #[arg(long)]
    fetch: bool,
}

type Rows = fn(&Held, &Certificates, &Home, &mut Admin) -> Result<Vec<Row>>;

/// A server of the matrix: how it is started, its accounts, and the rows.
struct Subject {
    name: &'static str,
    settings: fn(&Certificates) -> Vec<String>,
    rows: Rows,
    /// Rows that leave the server as no other one can use it.
    last: Option<Rows>,
    ways: for<'a> fn(&'a Held, &'a Certificates, &'a Home) -> Result<Ways<'a>>,
    /// The tests of first sessions with such a server.
    sessions: &'static [&'static str],
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "mariadb@system",
        settings: as_mysql,
        rows: mariadb::rows,
        last: Some(shared::refused_hosts),
        ways: shared::mariadb_ways,
        sessions: &[],
    },
    Subject {
        name: "mariadb@11.8",
        settings: as_mysql,
        rows: mariadb::rows_of_parsec,
        last: Some(shared::refused_hosts),
        ways: shared::mariadb_ways,
        sessions: &[],
    },
    Subject {
        name: "mysql@8.0.31",
        settings: as_mysql,
        rows: mysql::rows_of_8,
        last: Some(shared::refused_hosts),
        ways: shared::mysql_ways,
        sessions: &["a_dba_of_mysql_with_an_option_file"],
    },
    Subject {
        name: "mysql@9.7",
        settings: as_mysql,
        rows: mysql::rows_of_9,
        last: Some(shared::refused_hosts),
        ways: shared::mysql_ways,
        sessions: &[],
    },
    Subject {
        name: "postgres@17",
        settings: as_postgres,
        rows: postgres::rows,
        last: None,
        ways: postgres::ways,
        sessions: &["a_developer_with_a_database_url", "a_developer_whose_database_url_is_that_of_a_pooler"],
    },
];

fn as_mysql(certificates: &Certificates) -> Vec<String> {
    let (root, chain, key) = (certificates.root(), certificates.certificate(), certificates.key());
    let (root, chain, key) = (root.display(), chain.display(), key.display());
    vec![format!("ssl_ca={root}"), format!("ssl_cert={chain}"), format!("ssl_key={key}")]
}

fn as_postgres(certificates: &Certificates) -> Vec<String> {
    let (root, chain, key) = (certificates.root(), certificates.certificate(), certificates.key());
    let (root, chain, key) = (root.display(), chain.display(), key.display());
    vec![
        "ssl=on".to_owned(),
        format!("ssl_ca_file={root}"),
        format!("ssl_cert_file={chain}"),
        format!("ssl_key_file={key}"),
    ]
}

pub fn run(options: &ConformLogin, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let wanted = options.name.as_deref().unwrap_or_default();
    let mut failed = 0;
    for subject in SUBJECTS.iter().filter(|subject| subject.name.starts_with(wanted)) {
        failed += try_subject(subject, options.fetch, &dbduel, root).with_context(|| subject.name)?;
    }
    ensure!(failed == 0, "{failed} ways of logging in are not as they must be");
    Ok(())
}

/// How many rows are not as they must be.
fn try_subject(subject: &Subject, fetch: bool, dbduel: &Path, root: &Path) -> Result<usize> {
    let certificates = Certificates::make()?;
    let settings = (subject.settings)(&certificates);
    let mut words = vec!["--tcp"];
    words.extend(fetch.then_some("--fetch"));
    words.extend(settings.iter().map(String::as_str));
    let server = match Held::start(dbduel, subject.name, &words) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("skipped  {}: {why}", subject.name);
            return Ok(0);
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    let mut admin = server.admin(server.text("database")?)?;
    let home = Home::make()?;
    let rows = (subject.rows)(&server, &certificates, &home, &mut admin)?;
    println!("\n{} {}", subject.name, server.text("version")?);
    let mut broken = print_table(&rows, &mut admin);
    let ways = (subject.ways)(&server, &certificates, &home)?;
    let by_commands = commands::load_by_certificate(dbduel, &ways).and_then(|()| {
        let [target, sources] = ways.filled_in();
        commands::stored_sources(dbduel, &target, &[home.variable()], &sources)
    });
    for outcome in [by_commands, first_sessions(subject, &server, root)] {
        if let Err(error) = outcome {
            println!("FAILED: {error:#}");
            broken += 1;
        }
    }
    if let Some(last) = subject.last {
        broken += print_table(&last(&server, &certificates, &home, &mut admin)?, &mut admin);
    }
    server.stop()?;
    Ok(broken)
}

/// Types the commands of a page of the guide.
fn first_sessions(subject: &Subject, server: &Held, root: &Path) -> Result<()> {
    let environment = server.environment()?;
    let shown: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // This package has no such test; named, it asks for the features that everything was built with before.
    let build = ["test", "--quiet", "--package", "dbduel", "--package", "conformance", "--test", "first_sessions"];
    for test in subject.sessions {
        crate::run_quietly(root, "cargo", &[&build[..], &["--", "--ignored", "--exact", test]].concat(), &shown)?;
    }
    Ok(())
}
