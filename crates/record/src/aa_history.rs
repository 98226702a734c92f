//! A/A results of this host: one file of records beside the cache's servers, which only grows.
//!
//! It outlives runs, because later ones quote it. A record is on the disk when `keep` returns.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::format::AaRecord;
use crate::run_folder::{append_line, read_lines};

/// The file of all records.
#[derive(Debug, Clone)]
pub struct AaHistory {
    path: PathBuf,
}

impl AaHistory {
    pub fn at(path: &Path) -> AaHistory {
        AaHistory { path: path.to_owned() }
    }

    /// All records, the oldest first.
    pub fn all(&self) -> Result<Vec<AaRecord>> {
        let (records, _) = read_lines(&self.path, "A/A record")
            .context("the A/A results of this host cannot be read; move that file away to begin anew")?;
        Ok(records)
    }

    /// Adds the records of a run, once, however often the run is reported; returns how many are new.
    pub fn keep(&self, records: &[AaRecord]) -> Result<usize> {
        let known = self.all()?;
        let same = |one: &AaRecord, other: &AaRecord| {
            (&one.at, &one.plan_hash, &one.workload, &one.point)
                == (&other.at, &other.plan_hash, &other.workload, &other.point)
        };
        let new: Vec<&AaRecord> =
            records.iter().filter(|record| !known.iter().any(|known| same(known, record))).collect();
        for record in &new {
            append_line(&self.path, record, &|_| true)
                .with_context(|| format!("cannot add to {}", self.path.display()))?;
        }
        Ok(new.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;
    use crate::format::Point;

    fn record(at: &str) -> AaRecord {
        AaRecord {
            at: at.to_owned(),
            plan_hash: "9f2c".into(),
            host: "a host".into(),
            engine: "sqlite".into(),
            version: "3.46.0".into(),
            workload: "oltp_read_only; rows=1000, clients=1".into(),
            arrangement: None,
            point: Point::from([("clients".into(), 1)]),
            blocks: 8,
            verdict: "inconclusive".into(),
            ratio: 1.01,
            low: 0.98,
            high: 1.03,
            sd: 0.02,
            block_s: 2.5,
            trial_s: Some(0.5),
            best_trial_s: None,
            order_effect: Some([0.01, -0.02, 0.04]),
            flagged_share: 0.0,
            sd_between_trials: None,
            sd_of_a_second: None,
            autocorrelation: None,
        }
    }

    #[test]
    fn records_survive_half_a_line_and_are_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let twins = AaHistory::at(&folder.path().join("twins.ndjson"));
        assert_eq!(twins.all().unwrap(), []);
        assert_eq!(twins.keep(&[record("2031-05-04T10:15:00Z")]).unwrap(), 1);
        let mut file = OpenOptions::new().append(true).open(folder.path().join("twins.ndjson")).unwrap();
        file.write_all(b"{\"at\":\"2031").unwrap();
        assert_eq!(twins.all().unwrap().len(), 1);
        let both = [record("2031-05-04T10:15:00Z"), record("2031-05-05T10:15:00Z")];
        assert_eq!(twins.keep(&both).unwrap(), 1);
        assert_eq!(twins.all().unwrap(), both);
    }
}
