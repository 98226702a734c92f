//! How far a run is, what it does now and how long it takes; a [`Screen`] shows it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::budget::length;
use analysis::{SoFar, cause_test, headroom};
use experiment::plan::Plan;
use load::Live;
use record::format::figures;
use record::format::operations::{SHORT, flagged};
use record::format::{MetricRecord, PlannedTrial, Purpose, Status, TrialRecord, WorkloadRecord, point_text};
use stats::Basis;
use trial::Trial;

/// Where a run shows what happens.
pub trait Screen {
    /// Whether it shows what is under way, or lines alone.
    fn is_live(&self) -> bool;
    /// A line that stays.
    fn line(&self, text: &str);
    /// What is under way, in place of what was before.
    fn show(&self, state: State);
    /// Nothing is under way any more.
    fn finish(&self);
}

/// What is under way.
#[derive(Debug, Clone)]
pub struct State {
    /// `fetch`, `load`, `warm-up`, `measure` …
    pub phase: String,
    /// How much of the phase is over, where that is known.
    pub share: Option<f64>,
    /// `5.6 at 16 clients  2,488 tps  p95 11.2 ms`
    pub what: String,
    /// The block under way, and the last one.
    pub block: Option<(u32, u32)>,
    /// Share of the planned trials that are over.
    pub done: f64,
    pub begun: Instant,
    /// When it probably ends.
    pub ends: Option<Instant>,
    /// Flags of the trials so far, and from the first possible verdict on the interval of each candidate.
    pub notes: Vec<String>,
}

pub struct Progress {
    screen: Box<dyn Screen>,
    has_bar: bool,
    trials: usize,
    blocks: u32,
    /// Labels with the primary metric of each; a trial's line names one of several.
    workloads: Vec<(String, MetricRecord)>,
    expected: Expected,
    done: Cell<usize>,
    /// The block under way; none before the first and behind the last.
    block: Cell<Option<u32>>,
    /// How often trials carried each flag.
    flags: RefCell<BTreeMap<String, u32>>,
    /// The interval so far of each candidate.
    intervals: RefCell<Vec<String>>,
    /// Trials of an earlier start of this run, which took none of this one's time.
    skipped: usize,
    /// Time that the pilots have taken.
    pilots: Cell<Duration>,
    /// Probes that are over.
    probes: Cell<usize>,
    /// When the command began.
    begun: Instant,
    /// When the first trial since then began.
    measuring_since: Option<Instant>,
    /// The last line without a terminal.
    printed: Cell<Instant>,
}

impl Progress {
    pub fn new(plan: &Plan, screen: Box<dyn Screen>) -> Progress {
        let (record, now) = (&plan.record, Instant::now());
        let primary = |record: &WorkloadRecord| (record.label.clone(), record.primary());
        Progress {
            has_bar: screen.is_live(),
            screen,
            trials: record.trials.len(),
            blocks: record.method.blocks,
            workloads: record.workloads.iter().map(primary).collect(),
            expected: Expected::of(plan),
            done: Cell::new(0),
            block: Cell::new(None),
            flags: RefCell::default(),
            intervals: RefCell::default(),
            skipped: 0,
            pilots: Cell::new(Duration::ZERO),
            probes: Cell::new(0),
            begun: now,
            measuring_since: None,
            printed: Cell::new(now),
        }
    }

    /// Of trials whose number follows from their results: how many are left is not known.
    pub fn without_a_bar(plan: &Plan, screen: Box<dyn Screen>) -> Progress {
        let progress = Progress::new(plan, screen);
        progress.finish();
        Progress { has_bar: false, trials: 0, ..progress }
    }

    /// A line that stays.
    pub fn print(&self, line: &str) {
        self.printed.set(Instant::now());
        self.screen.line(line);
    }

    /// A phase without its own measure of how far it is.
    pub fn status(&self, phase: &str, what: &str) {
        self.phase(phase, None, what);
    }

    /// The phase under way. It changes all the time: without a terminal it is a line now and then.
    pub fn phase(&self, phase: &str, share: Option<f64>, what: &str) {
        if self.has_bar {
            self.screen.show(self.state(phase, share, what));
        } else if self.printed.get().elapsed() >= LINE_EVERY {
            let block = self.block.get().map_or_else(String::new, |block| format!("block {block}/{}, ", self.blocks));
            self.print(&format!("{phase}: {block}{what}; {}", self.times()));
        }
    }

    /// A trial with its load under way.
    pub fn live(&self, title: &str, trial: &Trial, now: &Live) {
        let parts = trial.workload.single_pass().map(|pass| pass.parts()).unwrap_or_default();
        let what = match parts.get(now.part) {
            _ if !now.has_load() => title.to_owned(),
            Some(part) => format!("{title}  {part}"),
            None => format!("{title}  {} tps{}", grouped(now.tps), p95(now)),
        };
        let of = if now.phase == Live::WARM_UP { trial.interval.warmup } else { trial.interval.measured };
        // How long a pass takes is a guess.
        let share = of
            .filter(|_| now.has_load() && parts.is_empty())
            .map(|of| now.elapsed.as_secs_f64() / of.as_secs_f64().max(1e-9));
        self.phase(now.phase, share, &what);
    }

    fn state(&self, phase: &str, share: Option<f64>, what: &str) -> State {
        let flags: Vec<String> = self.flags.borrow().iter().map(|(flag, times)| format!("{flag} {times}")).collect();
        let flags = (!flags.is_empty()).then(|| format!("flags: {}", flags.join(", ")));
        State {
            phase: phase.to_owned(),
            share,
            what: what.to_owned(),
            block: self.block.get().map(|block| (block, self.blocks)),
            done: self.done.get() as f64 / self.trials.max(1) as f64,
            begun: self.begun,
            ends: (self.trials > 0).then(|| Instant::now() + self.left()),
            notes: self.intervals.borrow().iter().cloned().chain(flags).collect(),
        }
    }

    /// Measuring begins; `skipped` trials were done in an earlier start of this run.
    pub fn begin(&mut self, skipped: usize) {
        self.skipped = skipped;
        self.done.set(skipped);
        self.measuring_since = Some(Instant::now());
    }

    pub fn block_begins(&self, block: u32) {
        self.block.set(Some(block));
    }

    /// A block is over: one line of it stays.
    pub fn block_ends(&self, so_far: &[SoFar]) {
        let Some(block) = self.block.take() else { return };
        *self.intervals.borrow_mut() = intervals(so_far);
        let state = self.state("", None, "");
        let notes: String = state.notes.iter().map(|note| format!("; {note}")).collect();
        self.print(&format!("block {block}/{}  {}{notes}", self.blocks, self.times()));
    }

    /// A probe is over.
    pub fn probe_done(&self, record: &TrialRecord) {
        match record.purpose {
            Purpose::Pilot => self.pilots.set(self.pilots.get() + length(record)),
            _ => self.probes.set(self.probes.get() + 1),
        }
    }

    /// `5.6 at 16 clients`, for what is under way.
    pub fn title(&self, planned: &PlannedTrial) -> String {
        let point =
            if planned.point.is_empty() { String::new() } else { format!(" at {}", point_text(&planned.point)) };
        let workload = if self.workloads.len() > 1 { format!("{}: ", planned.workload) } else { String::new() };
        format!("{workload}{}{point}", planned.contender)
    }

    pub fn trial(&self, planned: &PlannedTrial) -> String {
        let point = if planned.point.is_empty() { String::new() } else { format!("{}, ", point_text(&planned.point)) };
        let workload = if self.workloads.len() > 1 { format!("{}, ", planned.workload) } else { String::new() };
        let block = if planned.block > 0 { format!("block {}, ", planned.block) } else { String::new() };
        format!("{block}{workload}{point}{}", planned.contender)
    }

    /// What came of a trial, and where.
    pub fn outcome(&self, planned: &PlannedTrial, record: &TrialRecord) -> String {
        format!("{}: {}; {}", self.trial(planned), outcome(record, self.metric(planned)), self.times())
    }

    fn metric(&self, planned: &PlannedTrial) -> &MetricRecord {
        let found = self.workloads.iter().find(|(label, _)| *label == planned.workload);
        &found.expect("a plan has trials of its own workloads only").1
    }

    pub fn trial_done(&self, planned: &PlannedTrial, record: Option<&TrialRecord>) {
        // A repeat takes the place of a trial that is counted already.
        self.done.set(self.done.get() + usize::from(planned.purpose.repeats().is_none()));
        for flag in record.into_iter().flat_map(printed_flags) {
            *self.flags.borrow_mut().entry(flag.to_owned()).or_default() += 1;
        }
        let outcome = match record {
            None => "given up".to_owned(),
            Some(record) => outcome(record, self.metric(planned)),
        };
        let failed = record.is_none_or(|record| record.status == Status::Failed);
        if !self.has_bar || failed {
            let width = self.trials.to_string().len();
            let again = if planned.purpose.repeats().is_some() { ", again" } else { "" };
            let line =
                format!("[{:>width$}/{}] {}{again}: {outcome}", self.done.get(), self.trials, self.trial(planned));
            self.print(&format!("{line}; {}", self.times()));
        }
    }

    /// `5:10 elapsed, about 12:00 left`; the stopping rule may end the run earlier.
    fn times(&self) -> String {
        let left = (self.trials > 0).then(|| self.left());
        times(self.begun.elapsed(), left)
    }

    /// The plan's estimate of pilots, trials and probes, corrected by how long trials took; the
    /// stopping rule may end the run earlier.
    fn left(&self) -> Duration {
        let done = self.done.get().min(self.trials);
        let pilots = match self.measuring_since {
            Some(_) => Duration::ZERO,
            None => self.expected.pilots.saturating_sub(self.pilots.get()),
        };
        let probes = self.expected.probes.saturating_sub(self.probes.get());
        let trials = self.expected.between(done, self.trials) + self.expected.mean() * probes as u32;
        let seen = self.expected.between(self.skipped, done).as_secs_f64();
        let took = self.measuring_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        // Probes run when all trials are over: they take nothing of their time.
        let pace = if seen > 0.0 && self.probes.get() == 0 { took / seen } else { 1.0 };
        pilots + trials.mul_f64(pace)
    }

    pub fn finish(&self) {
        if self.has_bar {
            self.screen.finish();
        }
    }
}

/// Without a terminal something is printed at least so often while a phase goes on.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// What the plan expects.
struct Expected {
    pilots: Duration,
    /// When each trial begins, and when the last one ends.
    begins: Vec<Duration>,
    /// Probes, at most.
    probes: usize,
}

impl Expected {
    fn of(plan: &Plan) -> Expected {
        let (estimate, record) = (&plan.estimate, &plan.record);
        let pairs = headroom::due(record).count() * headroom::BLOCKS
            + if record.method.contrast { record.candidates().count() * cause_test::BLOCKS } else { 0 };
        let diagnostics = record.contenders.len() * record.workloads.len();
        let diagnostics = if record.method.diagnose { diagnostics } else { 0 };
        let begins = estimate.trial_starts.iter().copied().chain([estimate.run]).collect();
        Expected { pilots: estimate.pilots, begins, probes: pairs * 2 + diagnostics }
    }

    /// From the beginning of one trial to that of another.
    fn between(&self, from: usize, to: usize) -> Duration {
        self.begins[to].saturating_sub(self.begins[from])
    }

    fn mean(&self) -> Duration {
        let trials = self.begins.len() - 1;
        self.between(0, trials).checked_div(trials as u32).unwrap_or_default()
    }
}

fn outcome(record: &TrialRecord, metric: &MetricRecord) -> String {
    if let Some(failure) = &record.failure {
        return format!("failed at `{}`: {}", failure.step, failure.message);
    }
    if let Some(shown) = record.shows() {
        return shown;
    }
    let value = |name: &str| record.metrics.get(name).copied();
    // A rate is read in whole numbers; a time may be a fraction of a second.
    let digits = if metric.unit == "s" { 2 } else { 0 };
    let rate = value(&metric.name).map_or(String::new(), |rate| format!("{rate:.digits$} {}", metric.unit));
    let p95 = value("latency_ms_p95").map_or(String::new(), |ms| format!(", p95 {ms:.2} ms"));
    let flags: Vec<&str> = printed_flags(record).collect();
    let flags = if flags.is_empty() { String::new() } else { format!(" [{}]", flags.join(", ")) };
    format!("{rate}{p95}{flags}")
}

/// Of a pass many operations may be short, which is no news while it runs; the report marks each.
fn printed_flags(record: &TrialRecord) -> impl Iterator<Item = &str> {
    record.flags.iter().map(String::as_str).filter(|flag| flagged(flag, SHORT).is_none())
}

/// The interval of each candidate whose interval the rule allows by now, most important first.
fn intervals(so_far: &[SoFar]) -> Vec<String> {
    let several = so_far.iter().any(|one| one.workload != so_far[0].workload);
    let line = |SoFar { workload, candidate, overall }: &SoFar| {
        let bounds = overall.low.zip(overall.high).filter(|_| overall.basis != Basis::Plain);
        let ((low, high), ratio) = (bounds?, overall.ratio?);
        let workload = if several { format!("{workload}: ") } else { String::new() };
        Some(format!("{workload}{candidate} {ratio:.3}x so far (95 % CI {low:.3}–{high:.3})"))
    };
    so_far.iter().filter_map(line).take(INTERVALS_MAX).collect()
}

/// More candidates than this are for the report.
const INTERVALS_MAX: usize = 3;

/// Of the last window of response times that ended.
fn p95(now: &Live) -> String {
    let latest = now.latest.filter(|latest| latest.tells(0.95));
    latest.map_or_else(String::new, |latest| format!("  p95 {}", milliseconds(latest.quantile_ms(0.95))))
}

/// `0.84 ms`, `11.2 ms`, `214 ms`
fn milliseconds(ms: f64) -> String {
    let digits = if ms >= 100.0 { 0 } else { 1 + usize::from(ms < 10.0) };
    format!("{ms:.digits$} ms")
}

fn grouped(value: f64) -> String {
    figures::grouped(&format!("{value:.0}"))
}

/// `9:41 elapsed, about 6:20 left`
pub fn times(elapsed: Duration, left: Option<Duration>) -> String {
    let left = left.filter(|left| left.as_secs() > 0);
    let left = left.map_or_else(String::new, |left| format!(", about {} left", clock(left)));
    format!("{} elapsed{left}", clock(elapsed))
}

/// `0:08`, `9:41`, `1:02:30`
fn clock(time: Duration) -> String {
    let (seconds, minutes) = (time.as_secs() % 60, time.as_secs() / 60);
    match minutes {
        0..60 => format!("{minutes}:{seconds:02}"),
        _ => format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Shows nothing.
    pub struct Nowhere;

    impl Screen for Nowhere {
        fn is_live(&self) -> bool {
            false
        }
        fn line(&self, _: &str) {}
        fn show(&self, _: State) {}
        fn finish(&self) {}
    }

    use crate::planning::plan_experiment;
    use experiment::testing::known;
    use experiment::{Experiment, Overrides};

    fn progress(method: &str) -> (Progress, Plan) {
        let text = format!(
            "contender = [{{ name = \"a\", engine = \"mysql@8.0.31\" }}, {{ name = \"b\", engine = \"mysql@8.0.31\" }}]\n\
             workload = {{ name = \"oltp_read_write\", rows = 1000 }}\nmethod = {{ {method} }}\n"
        );
        let experiment = Experiment::parse(&text, "x.toml", &known(), &Overrides::default()).unwrap();
        let plan = plan_experiment(&experiment).unwrap();
        (Progress::new(&plan, Box::new(Nowhere)), plan)
    }

    fn is_near(seen: Duration, expected: Duration) {
        assert!(seen.abs_diff(expected) < Duration::from_secs(1), "{seen:?} {expected:?}");
    }

    #[test]
    fn what_is_left_holds_pilots_trials_and_what_runs_beside_them() {
        let (mut progress, plan) = progress("blocks = 8");
        let (run, pilots) = (plan.estimate.run, plan.estimate.pilots);
        let mean = (run - plan.estimate.trial_starts[0]) / plan.record.trials.len() as u32;
        let probes = mean * 8;
        assert!(pilots > Duration::ZERO);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + pilots + probes);
        let mut trial = fixtures::stored_run(&fixtures::Story::default()).trials.swap_remove(0);
        trial.steps = vec![("measure".to_owned(), pilots.as_secs_f64() / 2.0)];
        trial.purpose = Purpose::Pilot;
        progress.probe_done(&trial);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + pilots / 2 + probes);
        progress.begin(0);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + probes);
        progress.done.set(progress.trials);
        trial.purpose = Purpose::Profile;
        (0..8).for_each(|_| progress.probe_done(&trial));
        is_near(progress.left(), Duration::ZERO);
    }

    #[test]
    fn times_are_clocks_and_nothing_left_is_not_printed() {
        let seconds = Duration::from_secs;
        assert_eq!(times(seconds(581), Some(seconds(380))), "9:41 elapsed, about 6:20 left");
        assert_eq!(times(seconds(3750), Some(Duration::ZERO)), "1:02:30 elapsed");
        assert_eq!(
            (grouped(2487.6), grouped(12.0), milliseconds(11.24)),
            ("2,488".into(), "12".into(), "11.2 ms".into())
        );
    }

    #[test]
    fn the_interval_so_far_stands_only_where_the_rule_allows_one() {
        let stored = fixtures::stored_run(&fixtures::Story::default());
        let printed = |blocks: u32| {
            let trials: Vec<TrialRecord> =
                stored.trials.iter().filter(|trial| trial.block <= blocks).cloned().collect();
            intervals(&analysis::so_far(&stored.plan, &stored.run, &trials))
        };
        assert_eq!(printed(7), Vec::<String>::new());
        let [line] = &printed(8)[..] else { panic!("{:?}", printed(8)) };
        assert!(line.contains(" so far (95 % CI 0.8"), "{line}");
    }

    #[test]
    fn the_pace_of_trials_corrects_the_estimate_and_elapsed_begins_with_the_command() {
        let (mut progress, plan) = progress("preset = \"quick\", blocks = 8");
        let hour = Duration::from_secs(3600);
        let now = Instant::now();
        let Some(begun) = now.checked_sub(hour * 3) else { return };
        progress.begin(0);
        progress.begun = begun;
        let half = plan.record.trials.len() / 2;
        progress.done.set(half);
        // An hour for the first half leaves about an hour for the second.
        progress.measuring_since = now.checked_sub(hour);
        let left = progress.left().as_secs_f64();
        assert!((3000.0..4200.0).contains(&left), "{left}");
        assert!(progress.times().starts_with("3:00:0"), "{}", progress.times());
    }
}
