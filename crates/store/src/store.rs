//! A session in a store, and what it finds there: the runs, one a line.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use driver::{Admin, Rows, Value};

use crate::{StoreUrl, schema};

/// Purposes of trials that may be judged; the others are probes.
const MEASURED: &str = "('compare', 'repeat', 'alone', 'crash')";
pub const ENDED: &str = "ended";

/// A session in a store.
pub struct Store {
    pub(crate) admin: Admin,
    pub(crate) url: StoreUrl,
    /// What the store had of the run that is being pushed, as this session has seen and changed it.
    pub(crate) followed: Option<Known>,
}

/// What a store has of a run: checksums by trial and by file.
#[derive(Debug, Default)]
pub struct Known {
    pub(crate) run_id: String,
    pub(crate) state: String,
    pub(crate) record: String,
    pub(crate) trials: HashMap<u32, String>,
    pub(crate) files: HashMap<String, String>,
    /// Lines of `trials.ndjson` that are stored without a gap; of a run that this session follows.
    pub(crate) lines: usize,
}

impl Known {
    pub(crate) fn has_ended(&self) -> bool {
        self.state == ENDED
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

pub fn text(rows: &Rows, row: usize, column: usize) -> String {
    String::from_utf8_lossy(rows.text(row, column)).into_owned()
}
