//! What the answers to statements brought, and what they had to bring.
//!
//! Clients count while they run: additions in place, and nothing else. Whether that is what the statements ask
//! for is judged once the load is over, by what the workload declares.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use driver::{Answer, Dialect, Isolation};
use serde::{Deserialize, Serialize};

use crate::transaction::{ARRIVALS, Turn};

/// The answers to one kind of statement, since the clients started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    pub count: u64,
    pub rows: u64,
    /// Rows that changes found, whether their values were new or not.
    pub matched: u64,
    /// Rows that the values sent ask for, where that differs from one statement to the next.
    pub wanted: u64,
    /// Answers that are not what the workload expects of each one.
    pub wrong: u64,
    /// The first transaction of a client that ended by such an answer.
    pub first_wrong: Option<Turn>,
}

impl Answers {
    #[inline]
    pub fn take(&mut self, answer: Answer) {
        self.count += 1;
        self.rows += answer.rows;
        // A server may send any number, and one that wraps is as wrong as it was.
        self.matched = self.matched.wrapping_add(answer.matched());
    }

    pub fn add(&mut self, other: &Answers) {
        self.count += other.count;
        self.rows += other.rows;
        self.matched = self.matched.wrapping_add(other.matched);
        self.wanted += other.wanted;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.or(other.first_wrong);
    }
}

/// Where statements ran, as far as answers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub dialect: Dialect,
    pub isolation: Isolation,
}

/// What the answers to one kind of statement had to bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The kind of statement.
    pub statement: Cow<'static, str>,
    pub seen: Answers,
    /// None where any number is right.
    pub rows: Option<RangeInclusive<u64>>,
    pub matched: Option<RangeInclusive<u64>>,
}

impl Expected {
    /// What does not hold, as text; the kind, what was expected and what was seen.
    pub fn violations(&self) -> impl Iterator<Item = String> {
        let counted = [("rows", &self.rows, self.seen.rows), ("matched rows", &self.matched, self.seen.matched)];
        let Answers { count, wrong, .. } = self.seen;
        let first = self.seen.first_wrong.map_or_else(String::new, |turn| match turn.series {
            ARRIVALS => format!(", first in arrival {}", turn.number),
            client => format!(", first in transaction {} of client {client}", turn.number),
        });
        let each = (wrong > 0).then(|| format!("{}: {wrong} of {count} answers were wrong{first}", self.statement));
        let sums = counted.into_iter().filter_map(|(what, expected, seen)| {
            let expected = expected.as_ref().filter(|expected| !expected.contains(&seen))?;
            let Expected { statement, seen: Answers { count, .. }, .. } = self;
            Some(format!("{statement}: {} {what} expected in {count} answers, {seen} seen", words(expected)))
        });
        each.into_iter().chain(sums)
    }
}

fn words(expected: &RangeInclusive<u64>) -> String {
    match (*expected.start(), *expected.end()) {
        (least, most) if least == most => least.to_string(),
        (least, u64::MAX) => format!("at least {least}"),
        (0, most) => format!("at most {most}"),
        (least, most) => format!("{least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_the_kind_what_was_expected_and_what_was_seen() {
        let check = |expected: RangeInclusive<u64>, rows: u64, violation: Option<&str>| {
            let seen = Answers { count: 7, rows, ..Answers::default() };
            let one = Expected { statement: "point-select".into(), seen, rows: Some(expected), matched: None };
            assert_eq!(one.violations().collect::<Vec<_>>(), violation.into_iter().collect::<Vec<_>>());
        };
        check(7..=7, 7, None);
        check(7..=7, 0, Some("point-select: 7 rows expected in 7 answers, 0 seen"));
        check(3..=u64::MAX, 2, Some("point-select: at least 3 rows expected in 7 answers, 2 seen"));
        check(0..=7, 8, Some("point-select: at most 7 rows expected in 7 answers, 8 seen"));
        let seen = Answers { count: 7, wrong: 2, ..Answers::default() };
        let one = |seen| Expected { statement: "order.sql:3".into(), seen, rows: None, matched: None };
        assert!(one(seen).violations().eq(["order.sql:3: 2 of 7 answers were wrong"]));
        let first = |series| Answers { first_wrong: Some(Turn { series, number: 17, retry: 0 }), ..seen };
        let named = "order.sql:3: 2 of 7 answers were wrong, first in transaction 17 of client 3";
        assert!(one(first(3)).violations().eq([named]));
        assert!(one(first(ARRIVALS)).violations().eq(["order.sql:3: 2 of 7 answers were wrong, first in arrival 17"]));
        check(60..=70, 59, Some("point-select: 60 to 70 rows expected in 7 answers, 59 seen"));
    }
}
