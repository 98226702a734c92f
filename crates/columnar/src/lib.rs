//! Stored runs as Parquet tables, for pandas, DuckDB, R and their like: only what was measured, no conclusions.
//!
//! Of the trials that verdicts come from, one row each, or one for each of their seconds. Columns are named as in the
//! JSON report and carry their unit. Every row names its run, plan and labels, so that tables of several runs can be
//! read as one. It is a crate of its own because only the program needs it, and the format's crate is the slowest to build.

mod file;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use file::{Column, Table};
use record::RunDir;
use record::format::{PlanRecord, Point, Purpose, RunRecord, Series, Status, TrialRecord};

pub const NAME: &str = "parquet";
pub const DESCRIPTION: &str = "one row per trial, or per trial and second, for pandas, DuckDB and R";
pub const EXAMPLE: &str = "dbduel report last --format parquet --table seconds --out seconds.parquet";

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Trials,
    Seconds,
}

/// The bytes of a Parquet file.
pub fn write(run: &RunDir, rows: Rows) -> Result<Vec<u8>> {
    let (plan, record, trials) = (run.plan()?, run.run_record()?, run.trials()?);
    let of = Run { folder: run.name(), plan, record };
    match rows {
        Rows::Trials => of.trials(trials.measured()).bytes("trials"),
        Rows::Seconds => of.seconds(&seconds(run, trials.measured())?).bytes("seconds"),
    }
}

/// Each second of a trial, with the columns that are there of it.
type Second<'a> = (&'a TrialRecord, f64, BTreeMap<String, f64>);

/// What clients counted, and beside it what observers saw in the same second.
fn seconds<'a>(run: &RunDir, trials: &'a [TrialRecord]) -> Result<Vec<Second<'a>>> {
    let mut all = Vec::new();
    for trial in trials {
        let mut by_second: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
        for series in [run.series(trial.trial)?, run.observed(trial.trial)?].into_iter().flatten() {
            add_seconds(&mut by_second, &series);
        }
        all.extend(by_second.into_iter().map(|(second, values)| (trial, second as f64, values)));
    }
    Ok(all)
}

/// `second` stands first in both.
fn add_seconds(by_second: &mut BTreeMap<u64, BTreeMap<String, f64>>, series: &Series) {
    for row in series.rows.iter().filter(|row| row.first().is_some_and(|second| *second >= 0.0)) {
        let named = series.columns.iter().zip(row).skip(1).filter(|(_, value)| !value.is_nan());
        by_second.entry(row[0] as u64).or_default().extend(named.map(|(name, value)| (name.clone(), *value)));
    }
}

/// What all rows of a table have in common.
struct Run {
    folder: String,
    plan: PlanRecord,
    record: RunRecord,
}

impl Run {
    fn trials(&self, trials: &[TrialRecord]) -> Table {
        let all: Vec<&TrialRecord> = trials.iter().collect();
        let mut table = self.table(&all);
        let text = |of: fn(&TrialRecord) -> Option<String>| Column::Text(all.iter().map(|one| of(one)).collect());
        let time = |of: fn(&TrialRecord) -> &str| Column::Time(all.iter().map(|one| micros(of(one))).collect());
        table.push("status", text(|one| Some(status(one).to_owned())));
        table.push("flags", Column::Texts(all.iter().map(|one| one.flags.clone()).collect()));
        table.push("failure_step", text(|one| Some(one.failure.as_ref()?.step.clone())));
        table.push("failure", text(|one| Some(one.failure.as_ref()?.message.clone())));
        table.push("started_at", time(|one| &one.started_at));
        table.push("finished_at", time(|one| &one.finished_at));
        let metrics: BTreeSet<&String> = all.iter().flat_map(|trial| trial.metrics.keys()).collect();
        for metric in metrics {
            let values = all.iter().map(|trial| trial.metrics.get(metric).copied());
            table.push(metric, Column::Number(values.collect()));
        }
        table
    }

    fn seconds(&self, seconds: &[Second]) -> Table {
        let mut table = self.table(&seconds.iter().map(|(trial, ..)| *trial).collect::<Vec<_>>());
        table.push("second", Column::Number(seconds.iter().map(|(_, second, _)| Some(*second)).collect()));
        let names: BTreeSet<&String> = seconds.iter().flat_map(|(.., values)| values.keys()).collect();
        for name in names {
            let values = seconds.iter().map(|(.., values)| values.get(name).copied());
            table.push(name, Column::Number(values.collect()));
        }
        table
    }

    /// A row for each of these trials: where it belongs.
    fn table(&self, trials: &[&TrialRecord]) -> Table {
        let mut table = Table::default();
        let same = |value: &str| Column::Text(vec![Some(value.to_owned()); trials.len()]);
        let text = |of: fn(&TrialRecord) -> String| Column::Text(trials.iter().map(|one| Some(of(one))).collect());
        let whole = |of: fn(&TrialRecord) -> Option<u32>| {
            Column::Whole(trials.iter().map(|one| of(one).map(i64::from)).collect())
        };
        table.push("run", same(&self.folder));
        table.push("name", same(&self.plan.name));
        table.push("plan_hash", same(&self.plan.plan_hash));
        for (name, value) in &self.record.labels {
            table.push(&format!("label.{name}"), same(value));
        }
        table.push("trial", whole(|one| Some(one.trial)));
        table.push("workload", text(|one| one.workload.clone()));
        table.push("contender", text(|one| one.contender.clone()));
        table.push("engine", self.of_contender(trials, engine));
        table.push("version", self.of_contender(trials, |_, contender| self.version(contender)));
        let variables: BTreeSet<&String> = self.plan.trials.iter().flat_map(|trial| trial.point.keys()).collect();
        for variable in variables {
            table.push(variable, Column::Whole(trials.iter().map(|one| value(&one.point, variable)).collect()));
        }
        table.push("block", whole(|one| Some(one.block)));
        table.push("order", whole(|one| Some(one.order)));
        table.push("purpose", text(|one| purpose(&one.purpose).to_owned()));
        table.push("repeats", whole(|one| one.purpose.repeats()));
        table
    }

    fn of_contender(&self, trials: &[&TrialRecord], of: impl Fn(&PlanRecord, &str) -> Option<String>) -> Column {
        Column::Text(trials.iter().map(|one| of(&self.plan, &one.contender)).collect())
    }

    /// As the server itself has it, else as the plan has it.
    fn version(&self, contender: &str) -> Option<String> {
        let planned = self.plan.contenders.iter().find(|one| one.name == contender);
        let known = self.record.contenders.get(contender).map(|facts| facts.version.clone());
        known.or_else(|| planned.map(|one| one.version.clone()))
    }
}

fn engine(plan: &PlanRecord, contender: &str) -> Option<String> {
    plan.contenders.iter().find(|one| one.name == contender).map(|one| one.kind.clone())
}

fn value(point: &Point, variable: &str) -> Option<i64> {
    point.get(variable).and_then(|value| i64::try_from(*value).ok())
}

fn status(trial: &TrialRecord) -> &'static str {
    if trial.status == Status::Ok { "ok" } else { "failed" }
}

/// Of the trials that verdicts come from.
fn purpose(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Repeat { .. } => "repeat",
        Purpose::Alone => "alone",
        _ => "compare",
    }
}

/// Since 1970, in UTC.
fn micros(time: &str) -> Option<i64> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use fixtures::{StoredRun, Story, stored_run};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};

    /// A run with a failed trial, labels, and a series of the first one.
    fn stored(folder: &std::path::Path) -> RunDir {
        let StoredRun { plan, run, trials } = stored_run(&Story { blocks: 10, trouble: true, ..Story::default() });
        let stored = RunDir::create(folder, &plan.name, "2031-05-04T10:15:00Z".parse().unwrap()).unwrap();
        stored.write_plan(&plan).unwrap();
        let labels = [("commit".to_owned(), "4f2a91c".to_owned()), ("host.class".to_owned(), "small µ".to_owned())];
        stored.write_run(&RunRecord { labels: labels.into(), ..run }).unwrap();
        trials.iter().for_each(|trial| stored.append(trial).unwrap());
        let series = |columns: &[&str], rows: Vec<Vec<f64>>| Series {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        };
        let clients = series(&["second", "committed"], vec![vec![0.0, 10.0], vec![1.0, 20.0]]);
        stored.write_series(1, &clients).unwrap();
        let observed = series(&["second", "host_steal_share"], vec![vec![1.0, f64::NAN], vec![2.0, 0.25]]);
        stored.write_observed(1, &observed).unwrap();
        stored
    }

    fn rows_of(run: &RunDir, rows: Rows) -> (Vec<String>, Vec<Row>) {
        let reader = SerializedFileReader::new(Bytes::from(write(run, rows).unwrap())).unwrap();
        let schema = reader.metadata().file_metadata().schema().clone();
        let names = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        (names, reader.get_row_iter(None).unwrap().map(Result::unwrap).collect())
    }

    fn cell(row: &Row, name: &str) -> Field {
        row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field.clone()).unwrap()
    }

    #[test]
    fn every_value_of_every_trial_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let run = stored(folder.path());
        let trials = run.trials().unwrap();
        let (names, rows) = rows_of(&run, Rows::Trials);
        assert_eq!(rows.len(), trials.measured().len());
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no name stands twice: {names:?}");
        for (row, trial) in rows.iter().zip(trials.measured()) {
            assert_eq!(cell(row, "trial"), Field::Long(i64::from(trial.trial)));
            assert_eq!(cell(row, "contender"), Field::Str(trial.contender.clone()));
            assert_eq!(cell(row, "clients"), Field::Long(trial.point["clients"] as i64));
            assert_eq!(cell(row, "status"), Field::Str(status(trial).to_owned()));
            assert_eq!(cell(row, "label.commit"), Field::Str("4f2a91c".into()));
            assert_eq!(cell(row, "label.host.class"), Field::Str("small µ".into()));
            let Field::ListInternal(flags) = cell(row, "flags") else { panic!("a list of flags") };
            let flags: Vec<Field> = flags.elements().to_vec();
            assert_eq!(flags, trial.flags.iter().map(|flag| Field::Str(flag.clone())).collect::<Vec<_>>());
            let started: jiff::Timestamp = trial.started_at.parse().unwrap();
            assert_eq!(cell(row, "started_at"), Field::TimestampMicros(started.as_microsecond()));
            for metric in trials.measured().iter().flat_map(|one| one.metrics.keys()) {
                let expected = trial.metrics.get(metric).map_or(Field::Null, |value| Field::Double(*value));
                assert_eq!(cell(row, metric), expected, "{metric} of trial {}", trial.trial);
            }
        }
        assert!(rows.iter().any(|row| cell(row, "failure_step") == Field::Str("start".into())));
        assert!(rows.iter().any(|row| cell(row, "failure_step") == Field::Null));
    }

    #[test]
    fn a_second_holds_what_clients_and_observers_have_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (_, rows) = rows_of(&stored(folder.path()), Rows::Seconds);
        let seen = |row: &Row| [cell(row, "second"), cell(row, "committed"), cell(row, "host_steal_share")];
        let number = Field::Double;
        assert_eq!(
            rows.iter().map(seen).collect::<Vec<_>>(),
            [
                [number(0.0), number(10.0), Field::Null],
                [number(1.0), number(20.0), Field::Null],
                [number(2.0), Field::Null, number(0.25)],
            ]
        );
        assert!(rows.iter().all(|row| cell(row, "trial") == Field::Long(1)));
    }

    #[test]
    fn a_run_without_a_trial_is_a_table_without_rows() {
        let StoredRun { plan, run, .. } = stored_run(&Story::default());
        let folder = tempfile::tempdir().unwrap();
        let stored = RunDir::create(folder.path(), "empty", "2031-05-04T10:15:00Z".parse().unwrap()).unwrap();
        stored.write_plan(&plan).unwrap();
        stored.write_run(&run).unwrap();
        let (names, rows) = rows_of(&stored, Rows::Trials);
        assert!(rows.is_empty() && names.contains(&"contender".to_owned()));
        assert!(rows_of(&stored, Rows::Seconds).1.is_empty());
    }
}
