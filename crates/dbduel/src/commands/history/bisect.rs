//! `dbduel history bisect`: which of many builds or releases changed the speed, by few duels.
//!
//! The ends duel first. Each later duel asks whether the contender in the middle is like the faster or like the slower
//! end: the limit lies midway between their ratios. What must stay true: a side that is not proven is never taken.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail, ensure};
use toml::{Table, Value};

use super::super::run::{failed, keep_reports, run};
use super::super::{Failure, note, print};
use crate::KNOWN;
use crate::cli::{HistoryBisectArgs, MethodArgs, RunArgs, SubjectArgs, exit};
use crate::progress_bar::Stderr;
use analysis::gate::{Answer, gate};
use analysis::{EndReason, Verdict, conclude};
use campaign::planning::{plan_experiment, unpack_sources};
use campaign::{ActiveRun, carry_out, with_what_is_kept};
use experiment::{Experiment, releases, shell_path};
use record::RunDir;
use record::format::point_text;
use record::quantity::percent_text;
use report::history::{count, figure};
use trial::Interrupted;

/// What `git bisect run` takes for a commit that cannot be tested.
const SKIP: u8 = 125;
/// The least that makes it give up.
const GIVE_UP: u8 = 128;

/// `git bisect run` asks about the commit that is checked out: the file's `[gate]` answers.
pub fn step(file: &Path, runs: &Path, method: &MethodArgs) -> Result<u8, Failure> {
    let args = RunArgs { subject: SubjectArgs::of_file(file), gate: true, ..RunArgs::of(runs, method) };
    match run(&args) {
        Err(failure) => Err(Failure { status: for_git(failure.status), ..failure }),
        Ok(status) => Ok(for_git(status)),
    }
}

fn for_git(status: u8) -> u8 {
    match status {
        exit::DONE | exit::GATE_SLOWER => status,
        exit::GATE_INCONCLUSIVE | exit::NOT_MEASURED => SKIP,
        other => other.max(GIVE_UP),
    }
}

pub fn bisect(args: &HistoryBisectArgs) -> Result<u8, Failure> {
    let interrupted = &engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let (file, contenders) = read(args).map_err(Failure::usage)?;
    let search = Search { args, file, contenders, interrupted };
    match search.found() {
        Ok((text, status)) => {
            print(&text)?;
            Ok(status)
        }
        Err(failure) if failure.error.is::<Interrupted>() => {
            note("interrupted; the same command goes on behind the duels that are stored");
            Ok(exit::INTERRUPTED)
        }
        Err(failure) => Err(failure),
    }
}

/// The experiment without its contenders, and those, in order.
fn read(args: &HistoryBisectArgs) -> Result<(Table, Vec<Table>)> {
    let path = args.file.display();
    let source = std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {path}"))?;
    let mut file: Table = source.parse().with_context(|| format!("{path} is not readable as TOML"))?;
    let contenders = match &args.versions {
        Some(wanted) => releases::contenders(&file, &releases::releases(&KNOWN, wanted)?),
        None => contenders_of(&file),
    };
    ensure!(
        contenders.len() >= 3,
        "{path}: {} contenders, and a search needs three\n  next: write all builds as [[contender]], from the one before \
         the change to the one behind it, or name releases with --versions",
        contenders.len()
    );
    ["contender", "ladder", "baseline", "gate"].iter().for_each(|key| drop(file.remove(*key)));
    Ok((file, contenders))
}

fn contenders_of(file: &Table) -> Vec<Table> {
    let tables = file.get("contender").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table);
    tables.cloned().collect()
}

struct Search<'a> {
    args: &'a HistoryBisectArgs,
    file: Table,
    contenders: Vec<Table>,
    interrupted: &'a AtomicBool,
}

/// What a duel said of its candidate.
struct Said {
    run: String,
    verdict: Verdict,
    ratio: f64,
    /// The ratio with its interval.
    figure: String,
    answer: Answer,
    /// The gate's own words.
    lines: Vec<String>,
}

impl Search<'_> {
    /// What there is to say at the end, and the exit status.
    fn found(&self) -> Result<(String, u8), Failure> {
        let last = self.contenders.len() - 1;
        let ends = self.duel(0, last, None)?;
        let (first, other) = (self.name(0), self.name(last));
        if !matches!(ends.verdict, Verdict::Faster | Verdict::Slower) {
            let text = format!(
                "nothing to search for: `{other}` against `{first}` is {}, {}\n  next: more blocks, or ends that lie farther \
                 apart\n",
                ends.verdict.as_str(),
                ends.figure
            );
            return Ok((text, exit::GATE_INCONCLUSIVE));
        }
        // The faster end is the baseline of every later duel, so that a limit is always a slowdown.
        let fast = if ends.verdict == Verdict::Slower { 0 } else { last };
        let gap = ends.ratio.min(1.0 / ends.ratio);
        let limit = 1.0 - gap.sqrt();
        note(&format!(
            "`{other}` against `{first}`: {}, {}; the limit is {} slower than `{}`",
            ends.verdict.as_str(),
            ends.figure,
            percent_text(limit),
            self.name(fast)
        ));
        let mut said = vec![ends];
        let range = narrowed((0, last), |middle| -> Result<_, Failure> {
            let one = self.duel(fast, middle, Some(limit))?;
            let is_fast = is_like_the_fast(one.answer);
            note(&format!("{}: {}", self.name(middle), side(&one, self.name(fast), limit)));
            if is_fast.is_none() {
                one.lines.iter().for_each(|line| note(line));
            }
            said.push(one);
            Ok(is_fast.map(|is_fast| is_fast == (fast == 0)))
        })?;
        Ok(self.conclusion(range, &said))
    }

    fn conclusion(&self, range: (usize, usize), said: &[Said]) -> (String, u8) {
        let (before, behind) = (self.name(range.0), self.name(range.1));
        let duels = count(said.len(), "duel");
        let runs: String = said.iter().map(|one| format!("  {}\n", one.run)).collect();
        if range.1 - range.0 > 1 {
            let text = format!(
                "not decided: the change lies behind `{before}`, and at `{behind}` at the latest ({duels})\n{runs}  next: \
                 more blocks or longer trials, then the same command again\n"
            );
            return (text, exit::GATE_INCONCLUSIVE);
        }
        let text = format!("the speed changed at `{behind}`: `{before}` is still as it was ({duels})\n{runs}");
        (text, exit::DONE)
    }

    fn name(&self, place: usize) -> &str {
        let text = |key: &str| self.contenders[place].get(key).and_then(Value::as_str);
        text("name").or_else(|| text("engine")).unwrap_or("a contender without a name")
    }

    /// Two of the contenders, measured now or stored.
    fn duel(&self, baseline: usize, candidate: usize, limit: Option<f64>) -> Result<Said, Failure> {
        if self.interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(anyhow::Error::from(Interrupted).into());
        }
        let (text, path) = (self.text(baseline, candidate, limit)?, self.args.file.display().to_string());
        let mut experiment =
            Experiment::parse(&text, &path, &KNOWN, &self.args.method.overrides()).map_err(Failure::usage)?;
        unpack_sources(&mut experiment, &note)?;
        let plan = plan_experiment(&experiment).map_err(Failure::usage)?;
        expect_one_question(&plan.record).map_err(Failure::usage)?;
        let is_stored = |run: &RunDir| is_finished(run, &plan.record.plan_hash);
        let stored = RunDir::all(&self.args.runs).unwrap_or_default().into_iter().find(is_stored);
        // A folder's build may be another one since.
        let may_be_taken = [baseline, candidate].iter().all(|place| !self.contenders[*place].contains_key("basedir"));
        if let Some(run) = stored.filter(|_| may_be_taken) {
            note(&format!("{} is stored already: {}", self.name(candidate), run.name()));
            return Ok(said(&run)?);
        }
        let active_run =
            ActiveRun::of(&KNOWN, experiment, plan, &self.args.runs, &self.args.file, None).map_err(failed)?;
        let run = active_run.run_dir();
        let ended = carry_out(&active_run, Stderr::boxed(), self.interrupted);
        let ended = ended.map_err(|error| with_what_is_kept(error, run, "run"))?;
        if ended.reason == EndReason::Interrupted {
            return Err(anyhow::Error::from(Interrupted).into());
        }
        keep_reports(run)?;
        Ok(said(run)?)
    }

    /// The experiment of a duel.
    fn text(&self, baseline: usize, candidate: usize, limit: Option<f64>) -> Result<String> {
        let mut file = self.file.clone();
        let pair = [baseline, candidate].map(|place| Value::Table(self.contenders[place].clone()));
        file.insert("contender".into(), pair.to_vec().into());
        if let Some(limit) = limit {
            let most = format!("{:.2}%", limit * 100.0);
            file.insert("gate".into(), Table::from_iter([("max_slowdown".to_owned(), Value::from(most))]).into());
            // Whether the middle is a little faster than its end as well is not asked.
            let method = file.entry("method").or_insert_with(|| Table::new().into());
            method.as_table_mut().map(|method| method.insert("stop".into(), "gate".into()));
        }
        Ok(toml::to_string(&file)?)
    }
}

/// Halves a range until its ends are neighbours, or a side is not known: the last place that is like the first one, and
/// the first that is like the last one.
fn narrowed(
    ends: (usize, usize),
    mut is_like_the_first: impl FnMut(usize) -> Result<Option<bool>, Failure>,
) -> Result<(usize, usize), Failure> {
    let (mut before, mut behind) = ends;
    while behind - before > 1 {
        let middle = before.midpoint(behind);
        match is_like_the_first(middle)? {
            Some(true) => before = middle,
            Some(false) => behind = middle,
            None => break,
        }
    }
    Ok((before, behind))
}

fn is_like_the_fast(answer: Answer) -> Option<bool> {
    match answer {
        Answer::Passed => Some(true),
        Answer::Failed => Some(false),
        Answer::NotDecided => None,
    }
}

fn side(said: &Said, fast: &str, limit: f64) -> String {
    let what = match is_like_the_fast(said.answer) {
        Some(true) => format!("as fast as `{fast}`"),
        Some(false) => "slower".to_owned(),
        None => "not decided".to_owned(),
    };
    format!("{what}: {}, limit {:.3}x", said.figure, 1.0 - limit)
}

fn expect_one_question(plan: &record::format::PlanRecord) -> Result<()> {
    let points: BTreeSet<String> = plan.trials.iter().map(|trial| point_text(&trial.point)).collect();
    if plan.workloads.len() == 1 && points.len() == 1 {
        return Ok(());
    }
    bail!(
        "a search follows one workload at one load level, and this file has {} and {}\n  next: keep the workload and the \
         level at which the ends differ most",
        count(plan.workloads.len(), "workload"),
        count(points.len(), "level")
    )
}

fn is_finished(run: &RunDir, plan_hash: &str) -> bool {
    let is_ours = run.plan().is_ok_and(|plan| plan.plan_hash == plan_hash);
    let finished = [EndReason::Decided, EndReason::Blocks].map(EndReason::as_str);
    is_ours && run.run_record().is_ok_and(|run| run.ended_by.is_some_and(|reason| finished.contains(&reason.as_str())))
}

/// From stored records, like any verdict.
fn said(run: &RunDir) -> Result<Said> {
    let (plan, record, trials) = (run.plan()?, run.run_record()?, run.trials()?.all());
    let gate = gate(&plan, &record, &trials);
    let conclusions = conclude(&plan, &record, &trials);
    let duel = conclusions.workloads.first().and_then(|workload| workload.duels.first());
    let overall = duel.map(|duel| &duel.overall);
    let next = || {
        anyhow!(
            "{} has no whole pair of trials\n  next: its trials say why: dbduel report {}",
            run.name(),
            shell_path(run.path())
        )
    };
    let (overall, condition) = overall.zip(gate.conditions.first()).ok_or_else(next)?;
    let ratio = overall.ratio.ok_or_else(next)?;
    let figure = figure(ratio, condition.low.zip(condition.high));
    Ok(Said {
        run: run.name(),
        verdict: overall.verdict,
        ratio,
        figure,
        answer: gate.answer,
        lines: report::gate::lines(&gate),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_duels_find_the_change_among_sixteen_wherever_it_is() {
        for change in 1..16 {
            let mut asked = 0;
            let found = narrowed((0, 15), |place| {
                asked += 1;
                Ok(Some(place < change))
            });
            assert_eq!(found.ok(), Some((change - 1, change)));
            assert!(asked <= 4, "{asked} duels for {change}");
        }
    }

    #[test]
    fn a_side_that_is_not_known_ends_the_search_with_what_is_known() {
        let found = narrowed((0, 15), |place| Ok((place != 11).then_some(place < 9)));
        assert_eq!(found.ok(), Some((7, 15)));
    }

    #[test]
    fn git_skips_what_is_not_decided_and_gives_up_where_the_command_is_wrong() {
        let told = [exit::DONE, exit::GATE_SLOWER, exit::GATE_INCONCLUSIVE, exit::NOT_MEASURED, exit::USAGE];
        assert_eq!(told.map(for_git), [0, 1, SKIP, SKIP, GIVE_UP]);
        assert_eq!(for_git(exit::INTERRUPTED), exit::INTERRUPTED);
    }
}
