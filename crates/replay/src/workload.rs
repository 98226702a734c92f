//! The workload that `dbduel list` shows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use capture::{Class, Coverage, ServerTotals, Total};
use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink, Rows};
use load::{
    AnswerLog, Answering, Asked, Bells, ClientFuture, Compared, DerivedMetrics, HasPlans, LoggedDigest, Metric,
    NamedStatement, OptionError, Options, OwnData, Replays, Slot, Table, Tally, Workload, WorkloadKind, WorkloadSpec,
};

use crate::client::{COUNTS, Client, Count, Noting};
use crate::digest::About;
use crate::options::{OPTIONS, Pacing, Settings, StatementLimit, charset, own_data, settings, source, summary};
use crate::order::Order;
use crate::plans;
use crate::run::Run;
use crate::schedule::{Portable, SLOWER_MAX, STATEMENT_LIMIT_MIN, Schedule};
use crate::shown::shown;
use crate::source::schedule;
use crate::waits::Waits;

pub const REPLAY: WorkloadKind = WorkloadKind {
    name: "replay",
    description: "statements of a server's log, in the order and at the times of production",
    example: "name = \"replay\"\nlog = [\"slow.log\"]\ndata = { dump = \"shop.sql.zst\" }",
    options: OPTIONS,
    build: |options| Ok(Box::new(Replay::of(options)?)),
};

/// Without `warmup` so much of the log warms up.
const WARM_UP_SHARE: f64 = 0.1;
const WARM_UP: std::ops::RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);
/// A short statement, where the log has no durations.
const STATEMENT_US: u64 = 200;
/// A digest with fewer calls in the measured part, or a smaller share of the time of the log, has no verdict.
const JUDGED_CALLS_MIN: u64 = 30;
const JUDGED_SHARE_MIN: f64 = 0.001;
/// Statements that the log lacks and a note names, and letters of each.
const NAMED: usize = 3;
const NAMED_LETTERS: usize = 60;
/// Of the sessions' time, spent waiting for the order.
const ORDER_BOUND: f64 = 0.2;
/// Of the time of the log, for a verdict between two kinds of servers.
const PORTABLE_MIN: f64 = 0.5;
const QUIET: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
struct Replay {
    schedule: Arc<Schedule>,
    settings: Settings,
    own_data: Option<OwnData>,
    /// Of sessions that set none.
    charset: Option<Arc<str>>,
    /// Calls on the log's server of what is timed, where the total is of these.
    weights: Option<Arc<[u64]>>,
    /// How much of its server's work the log has.
    coverage: Option<String>,
    /// Of one load, for each time that the sessions are replayed at once; none before.
    runs: Vec<Arc<Run>>,
    /// Where its answers are kept.
    answers: Option<(Arc<AnswerLog>, Noting)>,
}

impl Replay {
    fn of(options: &Options) -> Result<Replay, OptionError> {
        let settings = settings(options)?;
        let source = source(options)?;
        let own_data = own_data(options)?;
        let schedule = schedule(&source)?;
        let texts = || schedule.digests.iter().map(|about| about.text.as_bytes());
        let totals = summary(options)?;
        let weights = match (options.choice("weights", &["log", "summary"])?, &totals) {
            (0, _) => None,
            (_, Some(totals)) => Some(weights(&schedule, totals)?.into()),
            (_, None) => return Err(options.error("weights", "`summary` was expected beside it".to_owned())),
        };
        let coverage = totals.and_then(|totals| covered(&totals.covered_by(texts())));
        let charset = charset(options)?.map(Arc::from);
        let (runs, answers) = (Vec::new(), None);
        let replay = Replay { schedule, settings, charset, weights, coverage, own_data, runs, answers };
        let writes = replay.schedule.facts.writes.as_ref().filter(|_| replay.settings.amplify > 1);
        if let Some(writes) = writes {
            let expected = format!("a log that only reads was expected beside it: this one has {writes}");
            return Err(options.error("amplify", expected));
        }
        let span = Duration::from_micros(replay.schedule.facts.span_us);
        if replay.settings.warmup.is_some_and(|warmup| warmup >= span) {
            let expected = format!("less than the length of the log was expected, {:.1} s", span.as_secs_f64());
            return Err(options.error("warmup", expected));
        }
        Ok(replay)
    }

    /// The part of the log that warms up; of a short one no more than half.
    fn warm_until(&self) -> Duration {
        let span = Duration::from_micros(self.schedule.facts.span_us);
        let usual = || span.mul_f64(WARM_UP_SHARE).clamp(*WARM_UP.start(), *WARM_UP.end()).min(span / 2);
        self.settings.warmup.unwrap_or_else(usual)
    }

    /// A time of the log as it is replayed.
    fn paced(&self, time: Duration) -> Duration {
        match self.settings.pacing {
            Pacing::Due(speed) => time.div_f64(speed),
            Pacing::Fast => time,
        }
    }

    /// A `USE` of each database of the log; where it has one only, of the one that the target is in.
    fn uses(&self, connection: &mut AnyConnection) -> Result<Vec<Vec<u8>>, Error> {
        let mut names = self.schedule.databases.clone();
        if let [only] = names.as_mut_slice() {
            *only = connection.ask("SELECT DATABASE()")?.into_iter().flatten().flatten().next().unwrap_or_default();
        }
        Ok(names.iter().map(|name| format!("USE `{}`", name.replace('`', "``")).into_bytes()).collect())
    }

    fn notes(&self) -> Vec<String> {
        let Schedule { facts, clients, sessions, transactions, .. } = self.schedule.as_ref();
        let mut notes: Vec<String> = self.schedule.facts.portable.map(scope).into_iter().collect();
        notes.push(format!(
            "{} in {} of {}, at most {} at once, in {:.1} s",
            counted(facts.statements as usize, "statement"),
            counted(transactions.len(), "transaction"),
            counted(sessions.len(), "session"),
            clients.len(),
            facts.span_us as f64 / 1e6,
        ));
        let sharing = |(sharing, all)| format!("{sharing} of {} share connections", counted(all, "session"));
        notes.extend(facts.sharing.map(sharing));
        if let Some(prepared) = facts.prepared {
            let all = counted(facts.statements as usize, "statement");
            notes.push(format!("{prepared} of {all} prepared again, as far as the log shows what was prepared"));
        }
        if facts.cut_us > 0 {
            notes.push(format!("{:.1} s without statements are cut", facts.cut_us as f64 / 1e6));
        }
        if let Some(older_us) = facts.data_are_older_us {
            let minutes = older_us as f64 / 60e6;
            notes.push(format!("data older than log: what changed in the {minutes:.1} min between them is missing"));
        }
        if self.settings.amplify > 1 {
            notes.push(format!("each session {} times at once", self.settings.amplify));
        }
        notes.extend(self.coverage.clone());
        let left_out = |(kind, count, why): &(String, u64, String)| format!("not replayed: {count} {kind} ({why})");
        notes.extend(facts.left_out.iter().map(left_out));
        if facts.is_coarse && self.settings.pacing != Pacing::Fast {
            notes.push(
                "coarse log times: stamps are whole seconds, so statements of one second are spread over it; response times below 1 s mean nothing, service times do"
                    .to_owned(),
            );
        }
        notes
    }
}

/// What of the log is replayed, where it is replayed on two kinds of servers.
fn scope(portable: Portable) -> String {
    let [calls, time] = portable.shares().map(|share| share.map(|share| format!("{:.1} %", 100.0 * share)));
    let of = [calls.map(|share| format!("{share} of the calls")), time.map(|share| format!("{share} of the time"))];
    let shares = of.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    format!("only {shares} of the log are replayed: what MySQL and PostgreSQL read alike")
}

/// The total of `weights = "summary"`.
const WEIGHTED: &str = "weighted_seconds";

/// Calls on the log's server of each place that is timed.
fn weights(schedule: &Schedule, totals: &ServerTotals) -> Result<Vec<u64>, OptionError> {
    // What databases have alike is counted once by the server.
    let mut alike: HashMap<&str, u64> = HashMap::new();
    schedule.digests.iter().for_each(|about| *alike.entry(&about.text).or_default() += 1);
    let mut weights = vec![0; schedule.timed_names().len()];
    for (at, about) in schedule.digests.iter().enumerate() {
        let calls = totals.calls_of(about.text.as_bytes()) / alike[about.text.as_str()];
        weights.get_mut(schedule.timed_as(at as u32)).into_iter().for_each(|weight| *weight += calls);
    }
    if weights.iter().all(|calls| *calls == 0) {
        let expected = "the totals of the log's server were expected: none of the log's statements is in `summary`";
        return Err(OptionError::new("weights", expected));
    }
    Ok(weights)
}

fn weighted_seconds(tally: &Tally, weights: &[u64]) -> f64 {
    let timed = tally.statements.iter().zip(weights).filter(|(one, _)| one.count > 0);
    timed.map(|(one, calls)| one.latency.mean_ms() / 1e3 * *calls as f64).sum()
}

/// `the log has 93.9 % of the calls and 18.2 % of the time that its server counted; most of what it lacks: vacuum t (45.5 %)`
fn covered(coverage: &Coverage) -> Option<String> {
    let [calls, time] = coverage.shares()?.map(|share| 100.0 * share);
    let of_time = |total: &&Total| {
        let text: String =
            total.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAMED_LETTERS).collect();
        format!("{text} ({:.1} %)", 100.0 * total.time_us / coverage.time_us.1)
    };
    let missing: Vec<String> = coverage.missing.iter().take(NAMED).map(of_time).collect();
    let most =
        if missing.is_empty() { String::new() } else { format!("; most of what it lacks: {}", missing.join(", ")) };
    Some(format!("the log has {calls:.1} % of the calls and {time:.1} % of the time that its server counted{most}"))
}

/// The statement that gives a session a character set.
fn opening(charset: &str, is_mysql: bool) -> String {
    match charset {
        _ if is_mysql => format!("SET NAMES {charset}"),
        "utf8mb4" => "SET client_encoding = 'UTF8'".to_owned(),
        _ => format!("SET client_encoding = '{charset}'"),
    }
}

/// What its data are recognised by: the log is no part of them.
fn data_key(own: &OwnData) -> String {
    let places = own.places.iter().map(|(engine, place)| (engine.as_deref(), place.identity.as_str()));
    format!("{:?} {:?}", own.form, places.collect::<Vec<_>>())
}

/// `1 session`, `2 sessions`
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Workload for Replay {
    fn spec(&self) -> WorkloadSpec {
        let writes = self.schedule.facts.writes.is_some();
        let (name, title) = match self.settings.pacing {
            _ if self.weights.is_some() => {
                (WEIGHTED, "service times of statements, each as often as production called it")
            }
            Pacing::Due(_) => ("response_seconds", "response times of all statements together"),
            Pacing::Fast => ("seconds", "time of the measured part"),
        };
        WorkloadSpec {
            writes,
            keeps_its_size: !writes,
            clients: Some(self.schedule.clients.len() as u32 * self.settings.amplify),
            needs_answers: true,
            // Every session does, at least for as long as nothing at all was sent.
            rests: Some(self.paced(Duration::from_micros(self.schedule.facts.quiet_us))),
            primary: Metric { name, unit: "s", title },
            counts: COUNTS,
            own_data: self.own_data.clone(),
            notes: self.notes(),
            scope: self.schedule.facts.portable.map(scope),
            ..WorkloadSpec::reading(self.own_data.as_ref().map_or_else(String::new, data_key))
        }
    }

    fn tables(&self, _: Dialect) -> Vec<Table> {
        Vec::new()
    }

    fn data_bytes(&self, _: Dialect) -> u64 {
        let places = self.own_data.iter().flat_map(|own| own.places.iter().map(|(_, place)| own.form.grows_to(place)));
        places.max().unwrap_or(0)
    }

    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn client(&self, slot: Slot, mut connection: AnyConnection) -> Result<ClientFuture, Error> {
        let clients = (self.schedule.clients.len() as u32).max(1);
        let is_first = slot.client < clients;
        let run = self.runs.get((slot.client / clients) as usize).map(Arc::clone);
        let run = run.ok_or_else(|| Error::Client("a replay needs a load".to_owned()))?;
        let schedule = self.schedule.for_kind(connection.dialect() == Dialect::MySql);
        let schedule = Arc::clone(schedule.ok_or_else(|| Error::Client("the log is of other servers".to_owned()))?);
        let uses = if schedule.is_mysql { self.uses(&mut connection)? } else { Vec::new() };
        let client = Client {
            opening: self.charset.as_ref().map(|charset| opening(charset, schedule.is_mysql).into()),
            schedule,
            run,
            number: slot.client % clients,
            settings: self.settings,
            warm_until_us: self.warm_until().as_micros() as u64,
            slot,
            connection,
            uses,
            prepared: Vec::new(),
            // Of sessions that are replayed several times at once, the first.
            answers: self.answers.clone().filter(|_| is_first),
            rows: Rows::with_names(),
            second: None,
        };
        Ok(Box::pin(client.replay()))
    }

    fn timed_statements(&self, _: Dialect) -> Vec<String> {
        self.schedule.timed_names()
    }

    fn check(&self, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        let kinds = [(Dialect::MySql, "MySQL or MariaDB"), (Dialect::Postgres, "PostgreSQL")];
        let [(of_log, server), (of_other, other)] = if self.schedule.is_mysql { kinds } else { [kinds[1], kinds[0]] };
        let [calls, time] = self.schedule.facts.portable.map_or([None; 2], |portable| portable.shares());
        match time.or(calls) {
            _ if dialect == of_log => Ok(()),
            _ if dialect != of_other => Err(format!("the log is of {server}, and SQLite has no log to replay")),
            None => Err(format!("the log is of {server}: with portable = \"strict\" {other} is sent what both read")),
            Some(share) if share < PORTABLE_MIN => Err(format!(
                "the log is of {server}, and statements that {other} reads too make up {:.0} % of its time: a verdict on less than {:.0} % would be one on another work",
                100.0 * share,
                100.0 * PORTABLE_MIN
            )),
            Some(_) => Ok(()),
        }
    }

    fn replays(&self) -> Option<&dyn Replays> {
        Some(self)
    }

    fn derived_metrics(&self) -> Option<&dyn DerivedMetrics> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }
}

impl HasPlans for Replay {
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let Some(schedule) = self.schedule.for_kind(dialect == Dialect::MySql) else { return Vec::new() };
        let digests = self.digests();
        let is_judged = |name: &str| digests.iter().any(|digest| digest.is_judged && digest.id == name);
        plans::statements(schedule, &is_judged)
    }

    fn before_explaining(&self, statement: &NamedStatement, _: Dialect) -> Vec<String> {
        plans::opening(&self.schedule, &statement.name).into_iter().collect()
    }

    fn are_private(&self) -> bool {
        true
    }
}

impl Replays for Replay {
    fn for_load(&self, bells: Arc<Bells>) -> Arc<dyn Workload> {
        let waits = Arc::new(Waits::of(self.settings.order, &self.schedule));
        let clients = self.schedule.clients.len();
        let run = |_| Arc::new(Run::new(Arc::clone(&waits), clients, Arc::clone(&bells)));
        let runs: Vec<Arc<Run>> = (0..self.settings.amplify).map(run).collect();
        if self.settings.statement_limit != StatementLimit::Off {
            runs.iter().for_each(Run::watch);
        }
        Arc::new(Replay { runs, ..self.clone() })
    }

    fn has_due_times(&self) -> bool {
        self.settings.pacing != Pacing::Fast
    }

    fn pacing(&self) -> String {
        let pacing = match self.settings.pacing {
            Pacing::Due(1.0) => "original pace".to_owned(),
            Pacing::Due(speed) => format!("speed {speed}"),
            Pacing::Fast => "as fast as answered".to_owned(),
        };
        format!("{pacing}, order {}", self.settings.order.name())
    }

    fn digests(&self) -> Vec<LoggedDigest> {
        let schedule = &self.schedule;
        let warm_until_us = self.warm_until().as_micros() as u64;
        let mut calls = vec![0; schedule.digests.len()];
        let measured = schedule.transactions.iter().filter(|one| schedule.begin_us(one) >= warm_until_us);
        let counted = measured.flat_map(|one| schedule.statements_of(one)).filter(|one| one.is_counted);
        counted.for_each(|one| calls[one.digest as usize] += u64::from(self.settings.amplify));
        let all_us: u64 = schedule.digests.iter().map(|about| about.total_us).sum();
        let least_us = (all_us as f64 * JUDGED_SHARE_MIN) as u64;
        let names = schedule.timed_names();
        let timed = schedule.digests.iter().zip(calls).filter(|(about, _)| names.contains(&about.name));
        let digest = |(about, calls): (&About, u64)| LoggedDigest {
            id: about.name.clone(),
            text: about.text.clone(),
            calls,
            is_judged: calls >= JUDGED_CALLS_MIN && about.total_us >= least_us,
        };
        timed.map(digest).collect()
    }

    fn remarks(&self, tally: &Tally) -> Vec<(String, String)> {
        let sessions_s = f64::from(tally.clients) * tally.interval_ns as f64 / 1e9;
        let share = count(tally, Count::OrderWaitUs) / 1e6 / sessions_s.max(1e-9);
        let is_bound = self.settings.pacing != Pacing::Fast && share > ORDER_BOUND;
        let percent = 100.0 * share;
        let bound = format!("sessions waited {percent:.0} % of their time for transactions that come before theirs");
        let broken = count(tally, Count::OrderBroken);
        let limit_s = self.settings.stall_limit.as_secs_f64();
        let why = format!("{broken} transactions began before their turn, behind {limit_s} s without an answer");
        let cancelled = count(tally, Count::Cancelled);
        let longer = format!("{} cancelled, beyond statement_limit", counted(cancelled as usize, "statement"));
        let all = [
            (is_bound, "order-bound", bound),
            (broken > 0.0, "order-broken", why),
            (cancelled > 0.0, "cancelled", longer),
        ];
        all.into_iter().filter(|(is_so, ..)| *is_so).map(|(_, what, why)| (what.to_owned(), why)).collect()
    }

    fn answering(&self) -> Option<&dyn Answering> {
        self.settings.compares_answers.then_some(self)
    }

    fn writes(&self) -> Option<String> {
        self.schedule.facts.writes.clone()
    }

    fn warm_up(&self) -> Duration {
        self.paced(self.warm_until())
    }

    fn expected_duration(&self) -> Duration {
        self.paced(Duration::from_micros(self.schedule.facts.span_us))
    }

    fn silence_max(&self) -> Duration {
        let facts = &self.schedule.facts;
        let longest = Duration::from_micros(facts.longest_us) * SLOWER_MAX;
        let limit = match self.settings.statement_limit {
            StatementLimit::Of(limit) => limit,
            StatementLimit::ByLog => STATEMENT_LIMIT_MIN,
            StatementLimit::Off => Duration::ZERO,
        };
        QUIET + self.paced(Duration::from_micros(facts.quiet_us)) + longest.max(limit)
    }
}

/// What clients counted, of the measured part.
fn count(tally: &Tally, what: Count) -> f64 {
    tally.counts.get(what as usize).copied().unwrap_or(0) as f64
}

impl Answering for Replay {
    fn statements(&self) -> usize {
        self.schedule.statements.len()
    }

    fn asked(&self, statement: usize) -> Option<Asked<'_>> {
        let schedule = &self.schedule;
        let one = schedule.statements.get(statement).filter(|one| one.is_counted)?;
        let about = &schedule.digests[one.digest as usize];
        Some(Asked {
            digest: &about.name,
            class: if about.is_collated && about.class == Class::Plain { "collation" } else { about.class.name() },
            compared: compared(about.class, schedule.is_mysql && schedule.facts.portable.is_none()),
            is_ordered: about.is_ordered,
            is_limited: about.is_limited,
            log: schedule.logs.get(one.log as usize).map_or("", String::as_str),
            line: one.line,
            error: one.error,
            knows_errors: !schedule.is_mysql,
            rows: one.rows.map(u64::from),
            // It counts rows that a change left as they were, or does not.
            affected: one.affected.filter(|_| schedule.facts.portable.is_none()).map(u64::from),
        })
    }

    fn shown(&self, statement: usize) -> String {
        let statement = self.schedule.statements.get(statement);
        statement.map_or_else(String::new, |one| shown(&self.schedule, one, self.settings.shows_literals))
    }

    fn expected_duration(&self) -> Duration {
        let in_log_us: u64 = self.schedule.digests.iter().map(|about| about.total_us).sum();
        Duration::from_micros(in_log_us.max(self.schedule.facts.statements * STATEMENT_US))
    }

    fn noting(&self, log: Arc<AnswerLog>) -> Arc<dyn Workload> {
        let settings = Settings { pacing: Pacing::Fast, order: Order::Serial, amplify: 1, ..self.settings };
        Arc::new(Replay { settings, answers: Some((log, Noting::Pass)), ..self.clone() })
    }

    fn keeps_trials(&self) -> bool {
        self.settings.notes_trials
    }

    fn noting_trial(&self, log: Arc<AnswerLog>) -> Arc<dyn Workload> {
        Arc::new(Replay { answers: Some((log, Noting::Trial)), ..self.clone() })
    }
}

/// How far answers of a class follow from the data. The clock of a session can be set in MySQL alone.
fn compared(class: Class, is_mysql: bool) -> Compared {
    match class {
        Class::Plain => Compared::Values,
        Class::Clock if is_mysql => Compared::Values,
        Class::Clock | Class::Session | Class::ArbitraryRows | Class::OrderOfAggregate => Compared::Rows,
        Class::Server => Compared::Apart,
        Class::Random => Compared::Never,
    }
}

impl DerivedMetrics for Replay {
    fn rates(&self, tally: &Tally) -> Vec<(&'static str, f64)> {
        let response = ("response_seconds", tally.response.sum_ms() / 1e3);
        let seconds = ("seconds", tally.interval_ns as f64 / 1e9);
        let primary = match self.settings.pacing {
            Pacing::Due(_) => [response, seconds],
            Pacing::Fast => [seconds, response],
        };
        let weighted = self.weights.as_ref().map(|weights| (WEIGHTED, weighted_seconds(tally, weights)));
        let waited = ("order_wait_s", count(tally, Count::OrderWaitUs) / 1e6);
        let hashing = ("hashing_s", count(tally, Count::HashingUs) / 1e6);
        let hashing = self.settings.notes_trials.then_some(hashing);
        weighted.into_iter().chain(primary).chain([waited]).chain(hashing).collect()
    }
}

#[cfg(test)]
mod tests {
    use load::StatementTally;

    use super::*;
    use crate::schedule::tests::timed_schedule;

    #[test]
    fn the_total_by_production_has_each_statement_as_often_as_production_called_it() {
        let table = "query,calls,total_exec_time\nselect a from t,900,1\nselect b from t,100,1\n";
        let totals = ServerTotals::read(table.as_bytes()).unwrap();
        let schedule = timed_schedule(&["select a from t", "select b from t", "commit"]);
        let weights = weights(&schedule, &totals).unwrap();
        assert_eq!(weights, [900, 100, 0]);
        let mut tally = Tally { statements: vec![StatementTally::default(); 3], ..Tally::default() };
        for (statement, ms) in tally.statements.iter_mut().zip([1, 10, 1_000]) {
            statement.count = 1;
            statement.latency.record(ms * 1_000_000);
        }
        let seconds = weighted_seconds(&tally, &weights);
        assert!((seconds - 1.9).abs() < 0.06, "{seconds}");
        let unknown = self::weights(&timed_schedule(&["commit"]), &totals);
        assert!(unknown.unwrap_err().expected.contains("none of the log's statements"));
    }
}
