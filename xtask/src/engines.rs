//! `cargo xtask engines`: everything that needs a real server, on the servers found here.
//!
//! First dbduel's own check takes each release from package to clean stop; then the tests of the driver
//! and of the single-shot commands run on one server of each kind. What is not here is reported as skipped, and is no failure.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::held::{Held, Missing, dbduel};
use crate::run;

#[derive(clap::Args)]
pub struct Engines {
    /// Only servers whose name begins so: mysql, postgres@17, mariadb@system [default: all]
    name: Option<String>,
    /// Download the servers that are not here yet
    #[arg(long)]
    fetch: bool,
}

/// A server that the driver's tests run on, with the words that start it.
struct Subject {
    name: &'static str,
    /// The module of `crates/driver/tests/servers.rs`.
    tests: &'static str,
    words: &'static [&'static str],
}

/// The tests that want a server: of the driver, and of the single-shot commands, which share it and
/// so run one after the other.
const SUITES: [(&str, &str); 2] = [("dbduel-driver", "servers"), ("dbduel", "bench_servers")];

/// The tests send and fetch rows of 17 MiB.
const LONG_ROWS: &str = "max_allowed_packet=64M";

const SUBJECTS: [Subject; 4] = [
    Subject { name: "mariadb@system", tests: "mysql::", words: &[LONG_ROWS] },
    Subject { name: "mysql@5.5.9", tests: "mysql::", words: &[LONG_ROWS] },
    // By TCP as well: only there must a password be sealed.
    Subject { name: "mysql@8.0.31", tests: "mysql::", words: &["--tcp", LONG_ROWS, "local_infile=ON"] },
    Subject { name: "postgres@system", tests: "postgres::", words: &[] },
];

pub fn engines(options: &Engines, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let wanted = options.name.as_deref().unwrap_or_default();
    let mut failed = Vec::new();
    let mut check = vec!["__engines", "check"];
    check.extend(options.fetch.then_some("--fetch"));
    check.extend(options.name.as_deref());
    if let Err(error) = run(root, &dbduel.to_string_lossy(), &check, &[]) {
        failed.push(format!("{error:#}"));
    }
    for subject in SUBJECTS.iter().filter(|subject| subject.name.starts_with(wanted)) {
        if let Err(error) = test_driver(subject, options.fetch, &dbduel, root) {
            failed.push(format!("{}: {error:#}", subject.name));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn test_driver(subject: &Subject, fetch: bool, dbduel: &Path, root: &Path) -> Result<()> {
    let mut words = subject.words.to_vec();
    words.extend(fetch.then_some("--fetch"));
    let server = match Held::start(dbduel, subject.name, &words) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("skipped  driver on {}: {why}", subject.name);
            return Ok(());
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    println!("driver on {} {}", subject.name, server.text("version")?);
    let environment = server.environment()?;
    let shown: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let tested = SUITES.iter().try_for_each(|(package, test)| {
        let test = ["test", "--quiet", "--package", package, "--test", test, "--", "--ignored", "--test-threads=1"];
        crate::run_quietly(root, "cargo", &[&test[..], &["--nocapture", subject.tests]].concat(), &shown)
    });
    server.stop()?;
    tested
}
