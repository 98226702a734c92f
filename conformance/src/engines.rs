//! `cargo xtask engines`: everything that needs a real server, on the servers found here.
//!
//! First dbduel's own check takes each release from package to clean stop; then each has one trial of
//! a workload, and the tests of the driver and of the single-shot commands run on one server of each
//! kind. What is not here is reported as skipped, and is no failure.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::certificates::Certificates;
use crate::held::{Held, Missing, dbduel};
use crate::one_trial::one_trial_each;
use crate::run;

#[derive(clap::Args)]
pub struct Engines {
    /// Only servers whose name begins so: mysql, postgres@17, mariadb@system [default: all]
    name: Option<String>,
    /// Download the servers that are not here yet
    #[arg(long)]
    fetch: bool,
}

/// A server that the driver's tests run on, with the arguments that start it.
struct Subject {
    name: &'static str,
    /// The module of `crates/driver/tests/servers.rs`.
    tests: &'static str,
    words: &'static [&'static str],
    encrypted: Encrypted,
}

/// The tests that need a server: of the driver, and of the single-shot commands, which share it and
/// so run one after the other.
const SUITES: [(&str, &str); 3] =
    [("dbduel-driver", "servers"), ("dbduel-driver", "advice"), ("dbduel", "bench_servers")];

/// The tests send and fetch rows of 17 MiB.
const LONG_ROWS: &str = "max_allowed_packet=64M";

/// With it, servers refuse functions of accounts without a special privilege.
const BINARY_LOG: &str = "log_bin=ON";

const SUBJECTS: [Subject; 7] = [
    Subject { name: "mariadb@system", tests: "mysql::", words: &[LONG_ROWS, BINARY_LOG], encrypted: Encrypted::No },
    Subject { name: "mysql@5.5.9", tests: "mysql::", words: &[LONG_ROWS, BINARY_LOG], encrypted: Encrypted::No },
    // By TCP as well: only there must a password be sealed.
    Subject {
        name: "mysql@8.0.31",
        tests: "mysql::",
        words: &["--tcp", LONG_ROWS, BINARY_LOG],
        encrypted: Encrypted::No,
    },
    Subject { name: "postgres@system", tests: "postgres::", words: &[], encrypted: Encrypted::No },
    Subject {
        name: "mariadb@system",
        tests: "mysql_tls::",
        words: &["--tcp", LONG_ROWS],
        encrypted: Encrypted::AsMySql,
    },
    Subject { name: "mysql@8.0.31", tests: "mysql_tls::", words: &["--tcp", LONG_ROWS], encrypted: Encrypted::AsMySql },
    Subject { name: "postgres@system", tests: "postgres_tls::", words: &["--tcp"], encrypted: Encrypted::AsPostgres },
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
    if let Err(error) = one_trial_each(wanted, &dbduel) {
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
    let certificates = Certificates::make()?;
    let encrypted = subject.encrypted.settings(&certificates);
    let mut words = subject.words.to_vec();
    words.extend(fetch.then_some("--fetch"));
    words.extend(encrypted.iter().map(String::as_str));
    let server = match Held::start(dbduel, subject.name, &words) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("skipped  driver on {}: {why}", subject.name);
            return Ok(());
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    println!("driver on {} {}: {}", subject.name, server.text("version")?, subject.tests);
    let roots = certificates.root().display().to_string();
    let environment = server.environment()?;
    let mut shown: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    shown.push(("SSL_CERT_FILE", &roots));
    // The server's certificate serves a client as well.
    let (chain, key) = (certificates.certificate().display().to_string(), certificates.key().display().to_string());
    shown.extend([("DBDUEL_TEST_CERTIFICATE", chain.as_str()), ("DBDUEL_TEST_KEY", key.as_str())]);
    let tested = SUITES.iter().try_for_each(|(package, test)| {
        // This package has no such test; named, it asks for the features that everything was built with before.
        let build = ["test", "--quiet", "--package", package, "--package", "conformance", "--test", test];
        let test = ["--", "--ignored", "--test-threads=1", "--nocapture", subject.tests];
        crate::run_quietly(root, "cargo", &[&build[..], &test].concat(), &shown)
    });
    server.stop()?;
    tested
}

/// The settings that make a server encrypt.
enum Encrypted {
    No,
    AsMySql,
    AsPostgres,
}

impl Encrypted {
    fn settings(&self, certificates: &Certificates) -> Vec<String> {
        let (certificate, key) = (certificates.certificate(), certificates.key());
        let (certificate, key) = (certificate.display(), key.display());
        let root = certificates.root();
        let root = root.display();
        match self {
            Encrypted::No => vec![],
            Encrypted::AsMySql => {
                vec![format!("ssl_ca={root}"), format!("ssl_cert={certificate}"), format!("ssl_key={key}")]
            }
            Encrypted::AsPostgres => {
                let on = "ssl=on".to_owned();
                vec![
                    on,
                    format!("ssl_ca_file={root}"),
                    format!("ssl_cert_file={certificate}"),
                    format!("ssl_key_file={key}"),
                ]
            }
        }
    }
}
