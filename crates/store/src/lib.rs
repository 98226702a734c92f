//! Runs of a team in PostgreSQL: pushed, listed and copied back, over dbduel's own driver.
//!
//! A store is a copy. The run folder stays what a run is written to and what is reported: a stored run is read by
//! copying it into a folder. What must stay true: what is stored of a run does not change once the run has ended, and
//! texts are kept to the byte, so that a copy's reports are those of the folder.

mod pull;
mod push;
pub mod schema;
mod url;

use anyhow::{Context, Result, bail};
use driver::{Admin, Rows, Value};
use record::format::{PlanRecord, RunRecord};
use sha2::{Digest, Sha256};

pub use pull::Copied;
pub use push::{Moment, Pushed, as_stored};
pub use url::StoreUrl;

/// Purposes of trials that may be judged; the others are probes.
const MEASURED: &str = "('compare', 'repeat', 'alone', 'crash')";

/// A session in a store.
pub struct Store {
    admin: Admin,
    url: StoreUrl,
    /// What the store had of the run that is being pushed, as this session has seen and changed it.
    followed: Option<push::Known>,
}

/// What is stored is not what should be.
#[derive(Debug, thiserror::Error)]
pub enum Violation {
    #[error(
        "{what} of {run} is not what the store has under the same run: SHA-256 here {here}, there {there}\n  next: `dbduel pull {run} --runs OTHER` copies what is stored, to compare the two"
    )]
    Differs { what: String, run: String, here: String, there: String },
    #[error("{what} of {run} is damaged in the store: SHA-256 {found}, and it was pushed with {pushed}")]
    Damaged { what: String, run: String, found: String, pushed: String },
}

impl Violation {
    fn differs(run: &str, what: &str, here: &str, there: &str) -> Violation {
        let [run, what, here, there] = [run, what, here, there].map(str::to_owned);
        Violation::Differs { what, run, here, there }
    }

    /// Fails where a file of a folder is not the one of the store.
    pub fn expect_same(run: &str, path: &str, here: &[u8], there: &[u8]) -> Result<(), Violation> {
        let (here, there) = (sha256(here), sha256(there));
        if here == there { Ok(()) } else { Err(Violation::differs(run, path, &here, &there)) }
    }
}

/// A stored run in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub run_id: String,
    /// Of the run's folder.
    pub name: String,
    /// UTC, RFC 3339, to the microsecond.
    pub started: String,
    /// `running`, `interrupted`, `abandoned` or `ended`, when it was last pushed.
    pub state: String,
    pub ended_by: Option<String>,
    pub trials: u64,
    pub planned: u64,
    pub contenders: String,
    /// A JSON object.
    pub labels: String,
    pub pushed: String,
    pub pushed_by: String,
}

impl Store {
    /// A store that is there, to read.
    pub fn open(url: &StoreUrl, note: &dyn Fn(&str)) -> Result<Store> {
        let mut admin = url.connect()?;
        schema::expect(&mut admin, url, note)?;
        Ok(Store { admin, url: url.clone(), followed: None })
    }

    /// A store to write to, made where there is none.
    pub fn open_or_make(url: &StoreUrl, note: &dyn Fn(&str)) -> Result<Store> {
        let mut admin = url.connect()?;
        schema::prepare(&mut admin, url, schema::STEPS, note)?;
        // The last transaction of a push waits until all before it are on the disk.
        admin.run("SET synchronous_commit = off")?;
        Ok(Store { admin, url: url.clone(), followed: None })
    }

    /// All runs, the latest first.
    pub fn runs(&mut self) -> Result<Vec<Stored>> {
        self.listed("true", "")
    }

    /// A run by its name, its id or its experiment, or `last`.
    pub fn find(&mut self, run: &str) -> Result<Stored> {
        if run == "last" {
            let last =
                self.listed("run_id = (SELECT run_id FROM run ORDER BY started_at DESC, name DESC LIMIT 1)", "")?;
            return last.into_iter().next().with_context(|| format!("no run is stored in {}", self.url));
        }
        let mut found = self.listed("name = $1 OR run_id::text = lower($1)", run)?;
        if found.is_empty() {
            found = self.listed("experiment = $1", run)?;
        }
        match found.len() {
            0 => bail!(
                "there is no run `{run}` in {0}\n  next: `dbduel runs --store {0}` lists those that are there",
                self.url
            ),
            1 => Ok(found.swap_remove(0)),
            many => {
                let one = |one: &Stored| format!("  {}  {}, pushed by {}", one.run_id, one.name, one.pushed_by);
                let all: Vec<String> = found.iter().map(one).collect();
                bail!("{many} runs are called `{run}`:\n{}\n  next: name one by its id", all.join("\n"))
            }
        }
    }

    fn listed(&mut self, condition: &str, run: &str) -> Result<Vec<Stored>> {
        let time = |column: &str| format!("to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
        let sql = format!(
            "SELECT run_id, name, {}, state, ended_by,
                 (SELECT count(*) FROM trial WHERE trial.run_id = run.run_id AND purpose IN {MEASURED}),
                 jsonb_array_length(plan -> 'trials'),
                 (SELECT string_agg(entry ->> 'name', ', ') FROM jsonb_array_elements(plan -> 'contenders') AS entries (entry)),
                 labels, {}, pushed_by
             FROM run WHERE ($1::text IS NOT NULL) AND ({condition}) ORDER BY started_at DESC, name DESC",
            time("started_at"),
            time("pushed_at")
        );
        let rows = self.admin.fetch(&sql, &[Value::Text(run.as_bytes())])?;
        (0..rows.len()).map(|row| Stored::of(&rows, row)).collect()
    }
}

impl Stored {
    fn of(rows: &Rows, row: usize) -> Result<Stored> {
        let text = |column: usize| text(rows, row, column);
        Ok(Stored {
            run_id: text(0),
            name: text(1),
            started: text(2),
            state: text(3),
            ended_by: Some(text(4)).filter(|why| !why.is_empty()),
            trials: rows.int(row, 5)? as u64,
            planned: rows.int(row, 6)? as u64,
            contenders: text(7),
            labels: text(8),
            pushed: text(9),
            pushed_by: text(10),
        })
    }
}

/// The id of a run: a UUID made of what it began with, so that every copy of the run has the same, also of one that
/// was stored before there were ids.
pub fn run_id(plan: &PlanRecord, run: &RunRecord) -> String {
    let mut digest = Sha256::digest(format!("dbduel run\n{}\n{}\n", plan.plan_hash, run.started_at));
    // RFC 9562: version 8, whose bits mean what their maker says, and the variant.
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let hex = hex(&digest[..16]);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(rows: &Rows, row: usize, column: usize) -> String {
    String::from_utf8_lossy(rows.text(row, column)).into_owned()
}

/// All of some work, or nothing of it.
fn in_transaction<T>(admin: &mut Admin, work: impl FnOnce(&mut Admin) -> Result<T>) -> Result<T> {
    admin.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")?;
    let done = work(admin).and_then(|done| {
        admin.run("COMMIT")?;
        Ok(done)
    });
    if done.is_err() {
        // What failed is in the error; a connection that is gone takes nothing back, and the server does.
        let _ = admin.run("ROLLBACK");
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_two_digits_each() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
    }
}
