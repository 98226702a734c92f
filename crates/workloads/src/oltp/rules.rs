//! Whose rules clients follow where dbduel and the versions of sysbench differ: how statements are
//! counted, what another try runs, and which errors deserve one.

use driver::{Answer, Dialect};

use super::sql::Kind;
use load::{Attempt, Ignored, Rng, Turn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Statements count by their kind; another try rolls back and runs the same inputs, so that the
    /// work done does not depend on how often a server refuses it.
    Dbduel,
    /// sysbench 1.0: statements count by their result, and another try is another transaction.
    Modern,
    /// sysbench 0.4: statements count by their kind when they are sent, and are sent again.
    Classic,
}

/// How a client leaves a transaction that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollBack {
    /// With a ROLLBACK, which counts as a statement.
    Counted,
    Uncounted,
    /// The next BEGIN does it.
    Unsaid,
}

const MYSQL_CODES: &[&str] = &["1213", "1020", "1205"];
const POSTGRES_CODES: &[&str] = &["40P01", "40001", "23505"];
/// Busy and locked, and what a shared cache or a snapshot adds to them.
const SQLITE_CODES: &[&str] = &["5", "6", "262", "517"];

impl Rules {
    /// The random stream of one try.
    pub fn stream(self, input_seed: u64, turn: Turn) -> Rng {
        let mut first = Rng::stream(input_seed, turn.series, turn.number);
        match self {
            Rules::Modern if turn.retry > 0 => Rng::stream(first.next_u64(), turn.series, turn.retry),
            _ => first,
        }
    }

    /// Counts a statement that is about to be sent.
    pub fn count_sent(self, kind: Option<Kind>, attempt: &mut Attempt) {
        if self == Rules::Classic {
            *counter_of_kind(kind, attempt) += 1;
        }
    }

    /// Counts a statement that was answered; BEGIN and COMMIT are of no kind.
    pub fn count_answered(self, kind: Option<Kind>, answer: Answer, attempt: &mut Attempt) {
        match self {
            Rules::Dbduel => *counter_of_kind(kind, attempt) += 1,
            Rules::Modern if answer.returns_rows => attempt.reads += 1,
            Rules::Modern if answer.affected > 0 => attempt.writes += 1,
            Rules::Modern => attempt.other += 1,
            Rules::Classic => {}
        }
    }

    /// Whether `select_random_*` gives each client its own part of the keys.
    pub fn slices_keys(self) -> bool {
        self == Rules::Modern
    }

    pub fn roll_back(self, dialect: Dialect) -> RollBack {
        match (self, dialect) {
            (Rules::Dbduel, _) => RollBack::Counted,
            (_, Dialect::MySql) => RollBack::Unsaid,
            (_, Dialect::Postgres | Dialect::Sqlite) => RollBack::Uncounted,
        }
    }

    /// sysbench has no SQLite; there, what is usual.
    pub fn ignored_errors(self, dialect: Dialect) -> Ignored {
        let codes = match (self, dialect) {
            (Rules::Dbduel, _) | (_, Dialect::Sqlite) => return Ignored::Usual,
            (_, Dialect::MySql) => MYSQL_CODES,
            (_, Dialect::Postgres) => POSTGRES_CODES,
        };
        listed(codes)
    }

    /// For inserts of ids that are never drawn again: a duplicate would be one at every try.
    pub fn errors_without_duplicates(dialect: Dialect) -> Ignored {
        listed(match dialect {
            Dialect::MySql => MYSQL_CODES,
            Dialect::Postgres => &POSTGRES_CODES[..2],
            Dialect::Sqlite => SQLITE_CODES,
        })
    }
}

fn listed(codes: &[&str]) -> Ignored {
    Ignored::Codes(codes.iter().map(|code| driver::Code::new(code.as_bytes())).collect())
}

fn counter_of_kind(kind: Option<Kind>, attempt: &mut Attempt) -> &mut u64 {
    match kind {
        None | Some(Kind::Procedure) => &mut attempt.other,
        Some(kind) if kind.is_read() => &mut attempt.reads,
        Some(_) => &mut attempt.writes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbench_1_0_counts_by_result_and_the_others_by_kind() {
        let check = |rules: Rules, kind, (rows, affected), expected| {
            let mut attempt = Attempt::default();
            rules.count_sent(kind, &mut attempt);
            rules.count_answered(kind, Answer { affected, returns_rows: rows, ..Answer::default() }, &mut attempt);
            assert_eq!((attempt.reads, attempt.writes, attempt.other), expected, "{rules:?} {kind:?}");
        };
        for (kind, answer, by_result, by_kind) in [
            (Some(Kind::SumRange), (true, 0), (1, 0, 0), (1, 0, 0)),
            (Some(Kind::Delete), (false, 1), (0, 1, 0), (0, 1, 0)),
            (Some(Kind::Delete), (false, 0), (0, 0, 1), (0, 1, 0)),
            (None, (false, 0), (0, 0, 1), (0, 0, 1)),
            (Some(Kind::Procedure), (true, 0), (1, 0, 0), (0, 0, 1)),
        ] {
            check(Rules::Modern, kind, answer, by_result);
            check(Rules::Dbduel, kind, answer, by_kind);
            check(Rules::Classic, kind, answer, by_kind);
        }
    }

    #[test]
    fn only_sysbench_1_0_draws_anew_for_another_try() {
        let draw = |rules: Rules, retry| rules.stream(7, Turn { series: 1, number: 2, retry }).next_u64();
        for rules in [Rules::Dbduel, Rules::Classic] {
            assert_eq!(draw(rules, 0), draw(rules, 1));
        }
        assert_eq!(draw(Rules::Modern, 0), draw(Rules::Dbduel, 0));
        assert_ne!(draw(Rules::Modern, 0), draw(Rules::Modern, 1));
        assert_ne!(draw(Rules::Modern, 1), draw(Rules::Modern, 2));
    }

    #[test]
    fn sysbench_tries_again_after_its_own_list_of_errors_only() {
        let duplicate = driver::Code::number(1062);
        let listed = |ignored: Ignored| match ignored {
            Ignored::Codes(codes) => (codes.contains(&driver::Code::number(1213)), codes.contains(&duplicate)),
            other => panic!("{other:?}"),
        };
        assert_eq!(listed(Rules::Modern.ignored_errors(Dialect::MySql)), (true, false));
        assert_eq!(Rules::Dbduel.ignored_errors(Dialect::MySql), Ignored::Usual);
    }
}
