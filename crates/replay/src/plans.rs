//! Executions of a log that servers are asked to explain: of each digest that has a verdict or takes much of the time, the
//! one with the median time in the log, the one at 95 % and the longest.

use std::collections::BTreeMap;

use capture::{Dialect, Kind, Tokens, quoted};
use load::NamedStatement;

use crate::schedule::{Raw, Sample, Schedule};

/// Digests without a verdict that take most of the time.
const DIGESTS_MAX: usize = 50;
/// Longer texts are lists of rows, whose plan says nothing.
const TEXT_MAX: u32 = 256 * 1024;
const EXPLAINED: &[&[u8]] = &[b"select", b"with", b"insert", b"update", b"delete", b"replace", b"merge", b"values"];

/// Those that succeeded in production. Executions with one text are one.
pub fn samples(all: &[Raw], schedule: &Schedule) -> Vec<Sample> {
    let mut by_digest: BTreeMap<u32, Vec<&Raw>> = BTreeMap::new();
    let mut several = false;
    for one in all.iter().filter(|one| one.statement.is_counted && one.statement.error.is_none()) {
        several |= one.database > 1;
        if is_explained(schedule.bytes(one.statement.text), schedule.dialect()) {
            by_digest.entry(one.statement.digest).or_default().push(one);
        }
    }
    let of_digest = |(digest, mut executions): (u32, Vec<&Raw>)| {
        executions.sort_by_key(|one| one.duration_us);
        let last = executions.len() - 1;
        let places = [("", last / 2), ("p95", last * 95 / 100), ("longest", last)];
        let mut found: Vec<Sample> = Vec::new();
        for (which, at) in places {
            let Raw { statement, database, .. } = executions[at];
            let database = database.checked_sub(1).filter(|_| several);
            let sample = Sample { digest, which, text: statement.text, values: statement.apart(), database };
            if !found.iter().any(|known| (known.text, known.values) == (sample.text, sample.values)) {
                found.push(sample);
            }
        }
        found
    };
    by_digest.into_iter().flat_map(of_digest).collect()
}

/// One statement that servers explain, alone in its text: what stands behind it would be run.
fn is_explained(text: &[u8], dialect: Dialect) -> bool {
    let mut tokens = Tokens::new(text, dialect).peekable();
    let opens = |token: &capture::Token| &text[token.start..token.end] == b"(";
    while tokens.next_if(opens).is_some() {}
    let Some(first) = tokens.next() else { return false };
    let word = text[first.start..first.end].to_ascii_lowercase();
    if !EXPLAINED.contains(&word.as_slice()) || text.len() > TEXT_MAX as usize {
        return false;
    }
    let mut rest = tokens.skip_while(|token| &text[token.start..token.end] != b";").skip(1);
    rest.next().is_none()
}

/// By the names of their digests; with which it is behind those that are not the median.
pub fn statements(schedule: &Schedule, is_judged: &dyn Fn(&str) -> bool) -> Vec<NamedStatement> {
    let mut order: Vec<usize> = (0..schedule.digests.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(schedule.digests[*at].total_us));
    order.truncate(DIGESTS_MAX);
    let is_asked = |sample: &&Sample| {
        let at = sample.digest as usize;
        order.contains(&at) || is_judged(&schedule.digests[at].name)
    };
    let statement =
        |sample: &Sample| Some(NamedStatement { name: name(schedule, sample), sql: with_values(schedule, sample)? });
    schedule.samples.iter().filter(is_asked).filter_map(statement).collect()
}

fn name(schedule: &Schedule, sample: &Sample) -> String {
    let digest = &schedule.digests[sample.digest as usize].name;
    if sample.which.is_empty() { digest.clone() } else { format!("{digest} ({})", sample.which) }
}

/// Makes the database of a sample the session's, where the log has several.
pub fn opening(schedule: &Schedule, named: &str) -> Option<String> {
    let sample = schedule.samples.iter().find(|sample| name(schedule, sample) == named)?;
    let database = schedule.databases.get(sample.database? as usize)?;
    schedule.is_mysql.then(|| format!("USE `{}`", database.replace('`', "``")))
}

/// The text with its parameters as literals; none where it is no UTF-8.
fn with_values(schedule: &Schedule, sample: &Sample) -> Option<String> {
    let text = schedule.bytes(sample.text);
    let (first, count) = (sample.values.0 as usize, usize::from(sample.values.1));
    let values = schedule.values.get(first..first + count)?;
    let end = text.trim_ascii_end();
    let text = end.strip_suffix(b";").unwrap_or(end);
    if values.is_empty() {
        return std::str::from_utf8(text).ok().map(str::to_owned);
    }
    let (mut found, mut at) = (Vec::new(), 0);
    for token in Tokens::new(text, Dialect::Postgres).filter(|token| token.kind == Kind::Parameter) {
        let number: usize = std::str::from_utf8(text.get(token.start + 1..token.end)?).ok()?.parse().ok()?;
        found.extend_from_slice(&text[at..token.start]);
        // Without a type of its own, as a parameter that is sent as text has none.
        let value = values.get(number.checked_sub(1)?)?.text().map(|value| quoted(schedule.bytes(value), false));
        found.extend(value.unwrap_or_else(|| b"NULL".to_vec()));
        at = token.end;
    }
    found.extend_from_slice(&text[at..]);
    String::from_utf8(found).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Parameter, Text};

    #[test]
    fn only_one_statement_that_servers_explain_is_asked_about() {
        let check = |text: &str, expected: bool| {
            assert_eq!(is_explained(text.as_bytes(), Dialect::Postgres), expected, "{text}");
        };
        check("select 1;", true);
        check("(select 1) union (select 2)", true);
        check("/* c */ UPDATE t SET a = ';'", true);
        check("select 1; delete from t", false);
        check("call p()", false);
        check("explain select 1", false);
        check("begin", false);
        check("", false);
    }

    #[test]
    fn parameters_become_literals_and_nothing_else_does() {
        let mut schedule = Schedule::default();
        let mut text = |text: &str| {
            let start = schedule.texts.len() as u64;
            schedule.texts.extend_from_slice(text.as_bytes());
            Text { start, length: text.len() as u32 }
        };
        let sql = text("select '$1', $2, $1 from t where a = $3;");
        let values = vec![Parameter::Text(text("it's")), Parameter::Text(text("7")), Parameter::Null];
        schedule.values = values;
        let sample = Sample { digest: 0, which: "", text: sql, values: (0, 3), database: None };
        let expected = "select '$1', '7', 'it''s' from t where a = NULL";
        assert_eq!(with_values(&schedule, &sample).as_deref(), Some(expected));
        assert_eq!(with_values(&schedule, &Sample { values: (0, 1), ..sample }), None);
    }
}
