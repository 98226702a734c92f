//! Progress on stderr: a bar on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::note;
use crate::analysis::primary_metric;
use crate::report::{unit, visible};
use crate::store::format::pass::{SHORT, flagged};
use crate::store::format::{PlanRecord, PlannedTrial, Status, TrialRecord, WorkloadRecord, point_text};

pub struct Progress {
    /// None without a terminal.
    bar: Option<ProgressBar>,
    trials: usize,
    /// Labels with what the words about each come from; a trial's line names one of several.
    workloads: Vec<(String, &'static str)>,
    done: Cell<usize>,
    /// Trials of earlier sittings, which took none of this one's time.
    skipped: usize,
    begun: Instant,
}

impl Progress {
    pub fn new(plan: &PlanRecord) -> Progress {
        let trials = plan.trials.len();
        let bar = std::io::stderr().is_terminal().then(|| bar(trials));
        let primary = |record: &WorkloadRecord| (record.label.clone(), primary_metric(&record.name));
        let workloads = plan.workloads.iter().map(primary).collect();
        Progress { bar, trials, workloads, done: Cell::new(0), skipped: 0, begun: Instant::now() }
    }

    /// Of trials whose number follows from their results: no bar knows how far it is.
    pub fn without_a_bar(plan: &PlanRecord) -> Progress {
        let progress = Progress::new(plan);
        progress.finish();
        Progress { bar: None, ..progress }
    }

    /// A line that stays.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(line)),
            None => note(line),
        }
    }

    /// What is going on right now; shown on a terminal only, since it changes all the time.
    pub fn status(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(visible(text).into_owned());
            bar.tick();
        }
    }

    /// Measuring begins; `skipped` trials were done in an earlier sitting.
    pub fn begin(&mut self, skipped: usize) {
        self.skipped = skipped;
        self.done.set(skipped);
        self.begun = Instant::now();
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_position(skipped as u64);
            bar.reset_eta();
        }
    }

    pub fn trial(&self, planned: &PlannedTrial) -> String {
        let point = if planned.point.is_empty() { String::new() } else { format!("{}, ", point_text(&planned.point)) };
        let workload = if self.workloads.len() > 1 { format!("{}, ", planned.workload) } else { String::new() };
        format!("block {}, {workload}{point}{}", planned.block, planned.contender)
    }

    fn metric(&self, planned: &PlannedTrial) -> &'static str {
        let found = self.workloads.iter().find(|(label, _)| *label == planned.workload);
        found.expect("a plan has trials of its own workloads only").1
    }

    pub fn trial_done(&self, planned: &PlannedTrial, record: Option<&TrialRecord>) {
        // A repeat takes the place of a trial that is counted already.
        self.done.set(self.done.get() + usize::from(planned.repeats.is_none()));
        if let Some(bar) = &self.bar {
            bar.set_position(self.done.get() as u64);
        }
        let outcome = match record {
            None => "given up".to_owned(),
            Some(record) => outcome(record, self.metric(planned)),
        };
        let failed = record.is_none_or(|record| record.status == Status::Failed);
        if self.bar.is_none() || failed {
            let width = self.trials.to_string().len();
            let again = if planned.repeats.is_some() { ", again" } else { "" };
            let line =
                format!("[{:>width$}/{}] {}{again}: {outcome}", self.done.get(), self.trials, self.trial(planned));
            self.say(&format!("{line}{}", self.left().map_or(String::new(), |left| format!("; {left} left at most"))));
        }
    }

    /// From the mean time of the trials so far; the stopping rule may end the run earlier.
    fn left(&self) -> Option<String> {
        let done = (self.done.get() - self.skipped) as u32;
        let each = self.begun.elapsed().checked_div(done)?;
        Some(brief(each * (self.trials - self.done.get()) as u32))
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(trials: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:24} {pos}/{len} trials, {elapsed} gone, {eta} left at most  {wide_msg}");
    let bar = ProgressBar::new(trials as u64).with_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn outcome(record: &TrialRecord, metric: &str) -> String {
    if let Some(failure) = &record.failure {
        return format!("failed at `{}`: {}", failure.step, failure.message);
    }
    let value = |name: &str| record.metrics.get(name).copied();
    // A rate is read in whole numbers; a time may be a fraction of a second.
    let digits = if unit(metric) == "s" { 2 } else { 0 };
    let rate = value(metric).map_or(String::new(), |rate| format!("{rate:.digits$} {}", unit(metric)));
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
