//! Interval lines and checkpoints while the load runs, read from its board.
//!
//! It only reads: it runs on the coordinator's thread, not on the clients'.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use load::{Board, Live, Reported, Reporter};

use super::figures::{self, Mark};
use crate::command_line::{Format, Request};
use crate::report::BenchInterval;
use ::report::sysbench::{IntervalFigures, Layout};
use terminal::{note, print};

pub struct LiveReport<'a> {
    request: &'a Request,
    layout: Option<Layout>,
    board: Option<Arc<Board>>,
    bar: Option<ProgressBar>,
    /// What prints instead, where the workload has figures printed by its own functions.
    reporter: Option<Box<dyn Reporter>>,
    /// What the workload goes through, where it runs once.
    parts: Vec<&'static str>,
    /// Intervals already printed.
    printed: u32,
    /// Where the interval under way began, and the part since the last checkpoint.
    interval: Mark,
    pub checkpoint: Mark,
    /// Checkpoints still to come, in order.
    checkpoints: Vec<Duration>,
    pub intervals: Vec<BenchInterval>,
}

impl<'a> LiveReport<'a> {
    /// Begins to count from here; `board` must be there when intervals or checkpoints are asked for.
    pub fn new(
        request: &'a Request,
        layout: Option<Layout>,
        board: Option<Arc<Board>>,
        parts: Vec<&'static str>,
        reporter: Option<Box<dyn Reporter>>,
    ) -> LiveReport<'a> {
        let begin = Mark { at: Duration::ZERO, counted: board.as_ref().map(|board| board.read()).unwrap_or_default() };
        if let Some(board) = &board {
            board.take_extremes_ns();
        }
        let mut checkpoints = request.checkpoints.clone();
        checkpoints.sort_unstable();
        LiveReport {
            request,
            layout,
            board,
            bar: bar(request),
            reporter,
            parts,
            printed: 0,
            interval: begin.clone(),
            checkpoint: begin,
            checkpoints,
            intervals: Vec::new(),
        }
    }

    /// Looks on; called several times a second.
    pub fn update(&mut self, live: Live<'_>) {
        if let Some(bar) = &self.bar {
            bar.set_position(live.elapsed.as_millis() as u64);
            let now =
                self.parts.get(live.part).map_or_else(|| format!("{:.0} tps", live.tps), |part| (*part).to_owned());
            bar.set_message(format!("{:.0} s, {now}", live.elapsed.as_secs_f64()));
        }
        let Some(board) = self.board.clone() else { return };
        let interval_due = self.request.report_interval.is_some_and(|every| live.elapsed >= every * (self.printed + 1));
        let checkpoint_due = self.checkpoints.first().is_some_and(|at| live.elapsed >= *at);
        if !interval_due && !checkpoint_due {
            return;
        }
        let now = Mark { at: live.elapsed, counted: board.read() };
        if checkpoint_due {
            self.checkpoints.remove(0);
            self.print_checkpoint(&board, &live, &now);
        }
        if interval_due {
            self.print_interval(&board, &live, now);
        }
    }

    pub fn end(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(Err(error)) = self.reporter.as_mut().map(|reporter| reporter.end_intervals()) {
            note(&format!("error: {error}"));
        }
    }

    /// Whether functions of the workload have printed it; what they cannot print is printed by us.
    pub fn is_reported(&mut self, part: Reported, figures: &[(&str, f64)]) -> bool {
        let Some(reporter) = &mut self.reporter else { return false };
        reporter.report(part, figures).unwrap_or_else(|error| {
            note(&format!("error: {error}"));
            false
        })
    }

    fn print_interval(&mut self, board: &Board, live: &Live<'_>, now: Mark) {
        let every = self.request.report_interval.unwrap_or(Duration::MAX).as_secs_f64();
        // A machine that was held up for several intervals prints them as one.
        self.printed = (now.at.as_secs_f64() / every + 1e-6) as u32;
        let (interval, figures) = self.read_interval(board, live, &self.interval, &now);
        let layout = self.layout;
        match layout {
            Some(_) if self.is_reported(Reported::Interval, &figures::of_interval(&figures)) => {}
            Some(layout) => out(&layout.interval(&figures)),
            None if self.request.format == Format::Json => note(&interval.text()),
            None => out(&(interval.text() + "\n")),
        }
        self.intervals.push(interval);
        self.interval = now;
    }

    fn print_checkpoint(&mut self, board: &Board, live: &Live<'_>, now: &Mark) {
        let figures = figures::part(self.request, &self.checkpoint, now, board.take_extremes_ns());
        match self.layout {
            Some(layout) => {
                out(&layout.checkpoint(now.at.as_secs_f64()));
                if !self.is_reported(Reported::Whole, &figures::of_block(&figures, self.request.clients)) {
                    out(&layout.block(&figures));
                }
            }
            None => {
                let (interval, _) = self.read_interval(board, live, &self.checkpoint, now);
                let interval = BenchInterval { checkpoint: true, ..interval };
                let text = interval.text();
                if self.request.format == Format::Json {
                    note(&text)
                } else {
                    out(&(text + "\n"))
                }
                self.intervals.push(interval);
            }
        }
        self.checkpoint = now.clone();
    }

    /// What happened between two moments, in both forms.
    fn read_interval(
        &self,
        board: &Board,
        live: &Live<'_>,
        from: &Mark,
        to: &Mark,
    ) -> (BenchInterval, IntervalFigures) {
        let seen = to.counted.since(&from.counted);
        let (running, since_ns) = board.running();
        let waiting = live.arrivals.map(|arrivals| arrivals.waiting(live.now_ns));
        let oldest_ms = since_ns.map(|since_ns| live.now_ns.saturating_sub(since_ns) as f64 / 1e6);
        let figures = IntervalFigures {
            elapsed_s: to.at.as_secs_f64(),
            interval_s: (to.at - from.at).as_secs_f64(),
            clients: self.request.clients,
            transactions: seen.committed + seen.rolled_back,
            reads: seen.reads,
            writes: seen.writes,
            other: seen.other,
            ignored_errors: seen.retries + seen.failed,
            reconnects: seen.reconnects,
            percentile: figures::interval_percentile(self.request, &seen, oldest_ms),
            queue: waiting.map(|waiting| (waiting, u64::from(running))),
        };
        let interval = BenchInterval {
            from_s: from.at.as_secs_f64(),
            to_s: to.at.as_secs_f64(),
            checkpoint: false,
            committed: seen.committed,
            queries: seen.reads + seen.writes + seen.other,
            retries: seen.retries,
            failed: seen.failed,
            skipped: seen.skipped,
            reconnects: seen.reconnects,
            percentiles: figures::percentiles(&seen.latencies_ms(), &self.request.percentiles),
            oldest_ms,
            waiting,
        };
        (interval, figures)
    }
}

/// A bar for who waits at a terminal and asked for no lines.
fn bar(request: &Request) -> Option<ProgressBar> {
    if request.report_interval.is_some() || !std::io::stderr().is_terminal() {
        return None;
    }
    let length_ms = request.duration.map(|duration| duration.as_millis() as u64);
    let template = if length_ms.is_some() { "{bar:24} {msg}" } else { "{spinner} {msg}" };
    let bar = length_ms.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    Some(bar.with_style(ProgressStyle::with_template(template).expect("the template is valid")))
}

/// A reader who has gone away does not end a run; writing the report fails in that case.
fn out(text: &str) {
    let _ = print(text);
}
