//! What a trial's record states about its host and its server's CPU, against the samples of each second.

use super::Findings;
use record::format::{Series, Status, TrialRecord};
use report::Evidence;
use trial::COMMITTED_MIN;
use trial::observe::{MHZ, flags_of_host, is_flag_of_host};

/// A rate and its count are rounded differently.
const ROUNDING: f64 = 1e-6;
/// Samples and edges are read one after the other, on a host that may be busy: so many seconds lie between them.
const EDGES_S: f64 = 0.3;
/// Shares and sums may differ by so much beside.
const SLACK: f64 = 0.05;
/// The kernel counts CPU time in these steps, and each of two readings is up to one of them off.
const TICK_S: f64 = 0.01;
/// Events that raise a flag, which the edges of the interval count at least as often as its seconds.
const EVENTS: [&str; 4] = ["host_swapped_pages", "host_oom_kills", "host_throttled_periods", "host_thermal_throttles"];
const STEAL: &str = "host_steal_share";
const SERVER_CPU: [&str; 2] = ["server_cpu_user_s", "server_cpu_system_s"];
const SERVER_THREADS: &str = "server_threads";
const SERVER_CORES: [&str; 2] = ["server_user_cores", "server_system_cores"];

/// Flags follow from what was seen of the host, and cost from what was seen of the server; and both from seconds.
pub fn against_samples(evidence: &Evidence, findings: &mut Findings) {
    let (mut flags, mut costs, mut sampled) = (0, 0, 0);
    for (number, trial) in evidence.trials.measured().iter().enumerate().filter(|(_, trial)| trial.status == Status::Ok)
    {
        let mut differs = |what: String| findings.differs(format!("trial {}: {what}", trial.trial));
        flags += usize::from(host_flags(&evidence.trials.measured()[..number], trial, &mut differs));
        costs += usize::from(cost(trial, &mut differs));
        if let Some(seconds) = evidence.observed.get(&trial.trial).filter(|seconds| seconds.rows.len() > 1) {
            let samples = Samples::of(trial, seconds);
            let tick = TICK_S / (samples.measured_s * f64::from(evidence.run.host.cores));
            sampled += usize::from(against(&samples, trial, tick, &mut differs));
        }
    }
    if flags + costs + sampled > 0 {
        findings.checked(format!(
            "host flags of {flags} trials, CPU per transaction of {costs}, and both against the samples of {sampled}"
        ));
    }
}

fn host_flags(earlier: &[TrialRecord], trial: &TrialRecord, differs: &mut impl FnMut(String)) -> bool {
    let mut again = flags_of_host(earlier, trial);
    let mut stored: Vec<String> = trial.flags.iter().filter(|flag| is_flag_of_host(flag)).cloned().collect();
    again.sort();
    stored.sort();
    if again != stored {
        let list = |flags: &[String]| if flags.is_empty() { "none".to_owned() } else { flags.join(", ") };
        differs(format!("flags of the host are {}, its metrics give {}", list(&stored), list(&again)));
    }
    trial.metrics.keys().any(|name| name.starts_with("host_"))
}

fn cost(trial: &TrialRecord, differs: &mut impl FnMut(String)) -> bool {
    let Some(cpu_s) = server_cpu_s(trial) else { return false };
    let value = |name: &str| trial.metrics.get(name).copied();
    let (Some(stored), Some(committed)) = (value("cpu_us_per_tx"), value("transactions.committed")) else {
        return false;
    };
    let again = cpu_s * 1e6 / committed.max(COMMITTED_MIN);
    if (again / stored - 1.0).abs() > ROUNDING {
        differs(format!("cpu_us_per_tx is {stored}, {cpu_s} s for {committed} transactions give {again}"));
    }
    true
}

fn server_cpu_s(trial: &TrialRecord) -> Option<f64> {
    SERVER_CPU.iter().map(|name| trial.metrics.get(*name).copied()).sum()
}

/// `tick` is the share of all CPUs that the kernel cannot tell from nothing.
fn against(samples: &Samples, trial: &TrialRecord, tick: f64, differs: &mut impl FnMut(String)) -> bool {
    let mut is_seen = false;
    for name in EVENTS {
        let (Some(stored), Some(seen)) = (trial.metrics.get(name), samples.sum(name)) else { continue };
        is_seen = true;
        if seen > *stored {
            differs(format!("{name} is {stored}, its seconds hold {seen}"));
        }
    }
    let edges = EDGES_S / samples.measured_s;
    if let (Some(stored), Some(seen)) = (trial.metrics.get(STEAL), samples.integral(&[STEAL])) {
        is_seen = true;
        let seen = seen / samples.measured_s;
        if samples.end_with_a_second && shares_differ(*stored, seen, edges, tick) {
            differs(format!("{STEAL} is {stored}, its seconds give {seen}"));
        }
    }
    if let (Some(stored), Some(seen)) = (trial.metrics.get(MHZ), samples.mean(MHZ)) {
        is_seen = true;
        if (seen / stored - 1.0).abs() > ROUNDING {
            differs(format!("{MHZ} is {stored}, its seconds give {seen}"));
        }
    }
    if let (Some(stored), Some(seen)) = (server_cpu_s(trial), samples.integral(&SERVER_CORES)) {
        is_seen = true;
        let slack = EDGES_S * (seen / samples.measured_s).max(1.0) + SLACK * seen;
        // What processes took that have ended is in the sum and in no second.
        let is_all_seen = samples.has_the_same_threads() && samples.end_with_a_second;
        if seen > stored + slack || is_all_seen && stored > seen + slack {
            differs(format!("the server's CPU time is {stored} s, its seconds give {seen} s"));
        }
    }
    is_seen
}

/// The edges lie outside the seconds: what was taken there is in the stored share only.
fn shares_differ(stored: f64, seen: f64, edges: f64, tick: f64) -> bool {
    seen > stored * (1.0 + edges) + SLACK * seen + 2.0 * tick || stored > seen * (1.0 + SLACK) + edges + 2.0 * tick
}

/// The seconds of a trial, each with its length.
struct Samples<'a> {
    seconds: &'a Series,
    lengths: Vec<f64>,
    measured_s: f64,
    /// Not so in a trial that ends by its events: what its last second holds was read before the end.
    end_with_a_second: bool,
}

impl Samples<'_> {
    /// A row reaches to the next one: where a second has none, the row behind it holds both.
    fn of<'a>(trial: &TrialRecord, seconds: &'a Series) -> Samples<'a> {
        let step = trial.steps.iter().find(|(name, _)| name == "measure").map_or(0.0, |(_, seconds)| *seconds);
        let value = |name: &str| trial.metrics.get(name).copied();
        let committed = value("transactions.committed").zip(value("tps").filter(|tps| *tps > 0.0));
        let measured_s = committed.map_or(step, |(committed, tps)| committed / tps);
        let begins: Vec<f64> = seconds.rows.iter().filter_map(|row| row.first().copied()).collect();
        let ends: Vec<f64> = begins.iter().map(|begin| (begin + 1.0).min(measured_s.max(*begin))).collect();
        let before = std::iter::once(0.0).chain(ends.iter().copied());
        let lengths = ends.iter().zip(before).map(|(end, before)| end - before).collect();
        let end_with_a_second = !trial.metrics.contains_key(TrialRecord::INTERVAL);
        Samples { seconds, lengths, measured_s, end_with_a_second }
    }

    fn column(&self, name: &str) -> Option<impl Iterator<Item = (f64, f64)>> {
        let column = self.seconds.columns.iter().position(|known| known == name)?;
        let values = self.seconds.rows.iter().map(move |row| row.get(column).copied().unwrap_or(f64::NAN));
        Some(values.zip(self.lengths.iter().copied()).filter(|(value, _)| !value.is_nan()))
    }

    fn has_the_same_threads(&self) -> bool {
        let threads: Vec<f64> = self.column(SERVER_THREADS).into_iter().flatten().map(|(threads, _)| threads).collect();
        threads.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// All but the last row, which is read while others read the edge.
    fn sum(&self, name: &str) -> Option<f64> {
        let rows: Vec<f64> = self.column(name)?.map(|(count, _)| count).collect();
        Some(rows.split_last().map_or(0.0, |(_, rest)| rest.iter().sum()))
    }

    /// Of a level, over the seconds in which it could be seen.
    fn mean(&self, name: &str) -> Option<f64> {
        stats::mean(&self.column(name)?.map(|(level, _)| level).collect::<Vec<f64>>())
    }

    /// Rates and shares over their time; none unless all of these are there.
    fn integral(&self, names: &[&str]) -> Option<f64> {
        let of_column = |name: &&str| Some(self.column(name)?.map(|(rate, length)| rate * length).sum::<f64>());
        names.iter().map(of_column).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_single_ticks_is_not_compared_finer_than_the_kernel_counts() {
        let tick = TICK_S / (1.8 * 2.0);
        // One tick of 510 at the edges, one of 356 in the seconds.
        assert!(!shares_differ(1.0 / 510.0, 1.0 / 356.0, 0.17, tick));
        assert!(shares_differ(0.0, 0.02, 0.17, tick));
        assert!(shares_differ(0.5, 0.02, 0.17, tick));
    }
}
