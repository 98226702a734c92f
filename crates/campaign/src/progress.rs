//! How far a run is, what it waits for and how long it takes at most; a [`Screen`] shows it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::budget::length;
use analysis::{cause_test, headroom};
use experiment::plan::Plan;
use record::format::operations::{SHORT, flagged};
use record::format::{MetricRecord, PlannedTrial, Purpose, Status, TrialRecord, WorkloadRecord, point_text};

/// Where a run shows what happens.
pub trait Screen {
    /// Whether it shows a bar and the phase under way, or lines alone.
    fn is_live(&self) -> bool;
    /// A line that stays.
    fn line(&self, text: &str);
    /// So many trials are done of so many.
    fn trials(&self, done: usize, of: usize);
    /// The phase under way, and what is left.
    fn phase(&self, text: &str, left: &str);
    /// The bar is needed no more.
    fn finish(&self);
}

pub struct Progress {
    screen: Box<dyn Screen>,
    has_bar: bool,
    trials: usize,
    /// Labels with the primary metric of each; a trial's line names one of several.
    workloads: Vec<(String, MetricRecord)>,
    expected: Expected,
    done: Cell<usize>,
    /// Trials of earlier sittings, which took none of this one's time.
    skipped: usize,
    /// Time that the pilots have taken.
    pilots: Cell<Duration>,
    /// Trials beside the plan that are over.
    beside: Cell<usize>,
    /// When the command began.
    begun: Instant,
    /// When the first trial of this sitting began.
    measuring_since: Option<Instant>,
    /// The last line without a terminal.
    told: Cell<Instant>,
}

impl Progress {
    pub fn new(plan: &Plan, screen: Box<dyn Screen>) -> Progress {
        let (record, now) = (&plan.record, Instant::now());
        let trials = record.trials.len();
        let has_bar = screen.is_live();
        if has_bar {
            screen.trials(0, trials);
        }
        let primary = |record: &WorkloadRecord| (record.label.clone(), record.primary());
        Progress {
            screen,
            has_bar,
            trials,
            workloads: record.workloads.iter().map(primary).collect(),
            expected: Expected::of(plan),
            done: Cell::new(0),
            skipped: 0,
            pilots: Cell::new(Duration::ZERO),
            beside: Cell::new(0),
            begun: now,
            measuring_since: None,
            told: Cell::new(now),
        }
    }

    /// Of trials whose number follows from their results: no bar knows how far it is.
    pub fn without_a_bar(plan: &Plan, screen: Box<dyn Screen>) -> Progress {
        let progress = Progress::new(plan, screen);
        progress.finish();
        Progress { has_bar: false, trials: 0, ..progress }
    }

    /// A line that stays.
    pub fn say(&self, line: &str) {
        self.told.set(Instant::now());
        self.screen.line(line);
    }

    /// The phase under way and how far it is. It changes all the time: without a terminal it is a line now and then.
    pub fn status(&self, text: &str) {
        if self.has_bar {
            self.screen.phase(text, &self.left_text().unwrap_or_default());
        } else if self.told.get().elapsed() >= LINE_EVERY {
            self.say(&format!("{text}; {}", self.times()));
        }
    }

    /// Measuring begins; `skipped` trials were done in an earlier sitting.
    pub fn begin(&mut self, skipped: usize) {
        self.skipped = skipped;
        self.done.set(skipped);
        self.measuring_since = Some(Instant::now());
        self.show_done();
    }

    /// A trial beside the plan is over.
    pub fn probe_done(&self, record: &TrialRecord) {
        match record.purpose {
            Purpose::Pilot => self.pilots.set(self.pilots.get() + length(record)),
            _ => self.beside.set(self.beside.get() + 1),
        }
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
        self.show_done();
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
            self.say(&format!("{line}; {}", self.times()));
        }
    }

    /// `5 min 10 s elapsed, 12 min 00 s left at most`.
    fn times(&self) -> String {
        let elapsed = format!("{} elapsed", brief(self.begun.elapsed()));
        self.left_text().map_or_else(|| elapsed.clone(), |left| format!("{elapsed}, {left}"))
    }

    fn left_text(&self) -> Option<String> {
        (self.trials > 0).then(|| format!("{} left at most", brief(self.left())))
    }

    /// The plan's estimate of pilots, trials and what runs beside them, corrected by how long trials took; the
    /// stopping rule may end the run earlier.
    fn left(&self) -> Duration {
        let done = self.done.get().min(self.trials);
        let pilots = match self.measuring_since {
            Some(_) => Duration::ZERO,
            None => self.expected.pilots.saturating_sub(self.pilots.get()),
        };
        let beside = self.expected.beside.saturating_sub(self.beside.get());
        let trials = self.expected.between(done, self.trials) + self.expected.mean() * beside as u32;
        let seen = self.expected.between(self.skipped, done).as_secs_f64();
        let took = self.measuring_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        // What runs beside the plan runs when all trials are over: it takes nothing of their time.
        let pace = if seen > 0.0 && self.beside.get() == 0 { took / seen } else { 1.0 };
        pilots + trials.mul_f64(pace)
    }

    fn show_done(&self) {
        if self.has_bar {
            self.screen.trials(self.done.get(), self.trials);
        }
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
    /// Trials beside the plan, at most.
    beside: usize,
}

impl Expected {
    fn of(plan: &Plan) -> Expected {
        let (estimate, record) = (&plan.estimate, &plan.record);
        let pairs = headroom::due(record).count() * headroom::BLOCKS
            + if record.method.contrast { record.candidates().count() * cause_test::BLOCKS } else { 0 };
        let diagnostics = record.contenders.len() * record.workloads.len();
        let diagnostics = if record.method.diagnose { diagnostics } else { 0 };
        let begins = estimate.trial_starts.iter().copied().chain([estimate.run]).collect();
        Expected { pilots: estimate.pilots, begins, beside: pairs * 2 + diagnostics }
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
    if let Some(shown) = record.purpose.shows(&record.metrics) {
        return shown;
    }
    let value = |name: &str| record.metrics.get(name).copied();
    // A rate is read in whole numbers; a time may be a fraction of a second.
    let digits = if metric.unit == "s" { 2 } else { 0 };
    let rate = value(&metric.name).map_or(String::new(), |rate| format!("{rate:.digits$} {}", metric.unit));
    let p95 = value("latency_ms_p95").map_or(String::new(), |ms| format!(", p95 {ms:.2} ms"));
    // Of a pass many operations may be short, which is no news while it runs; the report marks each.
    let told: Vec<&str> =
        record.flags.iter().map(String::as_str).filter(|flag| flagged(flag, SHORT).is_none()).collect();
    let flags = if told.is_empty() { String::new() } else { format!(" [{}]", told.join(", ")) };
    format!("{rate}{p95}{flags}")
}

fn brief(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
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
        fn trials(&self, _: usize, _: usize) {}
        fn phase(&self, _: &str, _: &str) {}
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
        let beside = mean * 8;
        assert!(pilots > Duration::ZERO);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + pilots + beside);
        let mut trial = fixtures::tell(&fixtures::Story::default()).trials.swap_remove(0);
        trial.steps = vec![("measure".to_owned(), pilots.as_secs_f64() / 2.0)];
        trial.purpose = Purpose::Pilot;
        progress.probe_done(&trial);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + pilots / 2 + beside);
        progress.begin(0);
        is_near(progress.left(), run - plan.estimate.trial_starts[0] + beside);
        progress.done.set(progress.trials);
        trial.purpose = Purpose::Profile;
        (0..8).for_each(|_| progress.probe_done(&trial));
        is_near(progress.left(), Duration::ZERO);
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
        assert!(progress.times().starts_with("180 min 0"), "{}", progress.times());
    }
}
