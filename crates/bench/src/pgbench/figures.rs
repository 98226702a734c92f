//! From what was measured to the figures of pgbench's report.

use ::report::pgbench::{
    Command, Connections, Counts, Figures, Lag, Latency, Length, Limit, ScriptFigures, Show, Spread,
};
use driver::{Admin, Dialect};
use load::{ErrorCounts, KindTally, Tally};
use script::pgbench::{Listed, Pgbench};

use super::job::Job;

/// SQLSTATE of a deadlock; every other failure that may be tried again is one of serialization.
pub const DEADLOCKS: [&str; 2] = ["40P01", "1213"];

/// A run that has ended, one way or another.
pub struct Run<'a> {
    pub job: &'a Job,
    pub scripts: &'a Pgbench,
    pub tally: &'a Tally,
    pub scale: u64,
    pub partitions: Option<(String, u64)>,
    pub connect_ms: f64,
}

impl Run<'_> {
    pub fn figures(&self) -> Figures {
        let (request, tally) = (&self.job.request, self.tally);
        let seconds = tally.interval_ns as f64 / 1e9;
        let total = self.total();
        let ended = (total.committed + total.failed()).max(1);
        let is_measured = request.rate.is_some() || request.progress.is_some() || request.limit_ms.is_some();
        let latencies = without(&tally.response.latencies_ms(), &tally.unanswered.latencies_ms());
        Figures {
            program: format!("dbduel {}, layout of pgbench 15", env!("CARGO_PKG_VERSION")),
            scripts: self.scripts(seconds),
            scale: self.scale,
            partitions: self.partitions.clone(),
            query_mode: request.protocol.name(),
            clients: request.clients,
            threads: request.jobs,
            tries_max: request.max_tries as u32,
            length: match (request.transactions, request.duration) {
                (Some(each), None) => Length::PerClient(each),
                (_, duration) => Length::Seconds(duration.map_or(0, |duration| duration.as_secs())),
            },
            total,
            latency: match is_measured {
                true => Latency::Measured(spread(&latencies)),
                false => Latency::Derived { average_ms: seconds * 1e3 * f64::from(request.clients) / ended as f64 },
            },
            limit: request.limit_ms.map(|ms| Limit { ms, above: above(&latencies, ms) }),
            lag: request.rate.map(|_| Lag {
                average_ms: tally.lag_ns as f64 / 1e6 / ended as f64,
                max_ms: Some(tally.lag_ns_max as f64 / 1e6),
            }),
            connections: match request.connect_each {
                true => {
                    Connections::Each { average_ms: tally.connect_ns as f64 / 1e6 / tally.reconnects.max(1) as f64 }
                }
                false => Connections::Initial { ms: self.connect_ms },
            },
            tps: if seconds > 0.0 { total.committed as f64 / seconds } else { 0.0 },
            show: Show { failures_by_kind: request.failures_detailed, commands: request.per_command },
        }
    }

    fn total(&self) -> Counts {
        let tally = self.tally;
        let deadlock_failures = deadlocks(&tally.failures);
        Counts {
            committed: tally.committed,
            serialization_failures: tally.failed - deadlock_failures.min(tally.failed),
            deadlock_failures,
            retried: tally.retried,
            retries: tally.retries,
            skipped: tally.skipped,
        }
    }

    /// Those of one of several scripts; which one a skipped transaction would have run is not drawn.
    fn of_kind(kind: &KindTally) -> Counts {
        let deadlock_failures = deadlocks(&kind.failures);
        Counts {
            committed: kind.committed,
            serialization_failures: kind.failed - deadlock_failures.min(kind.failed),
            deadlock_failures,
            retried: kind.retried,
            retries: kind.retries,
            skipped: 0,
        }
    }

    fn scripts(&self, seconds: f64) -> Vec<ScriptFigures> {
        let listed = self.scripts.listed(self.job.target.dialect);
        let files = self.job.request.files.iter().zip(listed).enumerate();
        let script = |(at, (file, listed)): (usize, (&script::pgbench::File, Vec<Listed>))| {
            let kind = self.tally.kinds.get(at);
            let counts = kind.map_or_else(|| self.total(), Self::of_kind);
            let committed = counts.committed;
            ScriptFigures {
                title: file.title.clone(),
                weight: file.weight,
                counts,
                latency: kind.and_then(|kind| spread(&kind.response.latencies_ms())),
                tps: if seconds > 0.0 { committed as f64 / seconds } else { 0.0 },
                commands: listed.into_iter().map(|one| self.command(one)).collect(),
            }
        };
        files.map(script).collect()
    }

    /// Commands of our own have no time: they are not timed one by one.
    fn command(&self, listed: Listed) -> Command {
        let tally = listed.statement.and_then(|at| self.tally.statements.get(at));
        Command {
            text: listed.text,
            average_ms: tally.map(|tally| if tally.count > 0 { tally.latency.mean_ms() } else { 0.0 }),
            failures: tally.map_or(0, |tally| tally.failed),
            retries: tally.map_or(0, |tally| tally.retries),
        }
    }
}

/// Transactions that failed by a deadlock.
fn deadlocks(failures: &ErrorCounts) -> u64 {
    failures.iter().filter(|(code, _)| DEADLOCKS.contains(&code.as_str())).map(|(_, count)| count).sum()
}

/// Values with their counts, without those of transactions that were skipped.
fn without(all: &[(f64, u64)], skipped: &[(f64, u64)]) -> Vec<(f64, u64)> {
    let left = |(ms, count): &(f64, u64)| {
        let out: u64 = skipped.iter().filter(|(skipped, _)| skipped == ms).map(|(_, count)| count).sum();
        (*ms, count.saturating_sub(out))
    };
    all.iter().map(left).filter(|(_, count)| *count > 0).collect()
}

/// Mean and standard deviation of values with their counts.
pub fn spread(latencies_ms: &[(f64, u64)]) -> Option<Spread> {
    let count: u64 = latencies_ms.iter().map(|(_, count)| count).sum();
    if count == 0 {
        return None;
    }
    let mean = |of: &dyn Fn(f64) -> f64| {
        latencies_ms.iter().map(|(ms, times)| of(*ms) * *times as f64).sum::<f64>() / count as f64
    };
    let average_ms = mean(&|ms| ms);
    Some(Spread { average_ms, stddev_ms: mean(&|ms| (ms - average_ms).powi(2)).sqrt() })
}

fn above(latencies_ms: &[(f64, u64)], limit_ms: f64) -> u64 {
    latencies_ms.iter().filter(|(ms, _)| *ms > limit_ms).map(|(_, count)| count).sum()
}

/// How the accounts are partitioned, if they are.
pub fn partitions(admin: &mut Admin) -> Option<(String, u64)> {
    if admin.dialect() != Dialect::Postgres {
        return None;
    }
    let rows = admin.rows(
        "select p.partstrat, count(i.inhparent) from pg_class c join pg_partitioned_table p on p.partrelid = c.oid \
         left join pg_inherits i on c.oid = i.inhparent where c.oid = to_regclass('pgbench_accounts') group by 1",
    );
    let rows = rows.ok()?;
    let [Some(method), Some(count)] = rows.first()?.as_slice() else { return None };
    let method = if method == "h" { "hash" } else { "range" };
    Some((method.to_owned(), count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_all_values() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[(2.0, 3)]), Some(Spread { average_ms: 2.0, stddev_ms: 0.0 }));
        assert_eq!(spread(&[(1.0, 2), (3.0, 2)]), Some(Spread { average_ms: 2.0, stddev_ms: 1.0 }));
        assert_eq!(without(&[(1.0, 2), (3.0, 5)], &[(1.0, 2), (3.0, 1)]), [(3.0, 4)]);
        assert_eq!(above(&[(1.0, 2), (3.0, 5)], 2.5), 5);
    }
}
