//! Sessions and their transactions, from the statements that begin and end them.

use std::collections::HashMap;

use crate::event::{Act, Event};

/// What a statement does to the transaction of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Begin,
    End,
    /// `COMMIT AND CHAIN`
    EndAndBegin,
    /// `SET autocommit`: the value is a literal, which the digest does not have.
    Autocommit,
    /// Most DDL of MySQL ends the open transaction and is one of its own.
    Alone,
    Inside,
}

/// By the digest text; of several statements in one string, what is left at its end.
pub(crate) fn effect_of(digest: &[u8], is_mysql: bool) -> Effect {
    let mut effect = Effect::Inside;
    for statement in digest.split(|byte| *byte == b';') {
        effect = match (effect, effect_of_one(statement.trim_ascii(), is_mysql)) {
            (before, Effect::Inside) => before,
            // Begun and ended in one string.
            (Effect::Begin, Effect::End) => Effect::Inside,
            (_, next) => next,
        };
    }
    effect
}

fn effect_of_one(statement: &[u8], is_mysql: bool) -> Effect {
    let mut words = statement.split(|byte| *byte == b' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let goes_on = statement.ends_with(b" and chain") && !statement.ends_with(b" no chain");
    match (first, second) {
        (b"begin", _) | (b"start", b"transaction") | (b"xa", b"start" | b"begin") => Effect::Begin,
        (b"rollback", b"to") => Effect::Inside,
        (b"rollback", b"work" | b"transaction") if words.next() == Some(b"to") => Effect::Inside,
        (b"commit" | b"rollback", _) if goes_on => Effect::EndAndBegin,
        (b"commit" | b"rollback", b"prepared") => Effect::Inside,
        (b"commit" | b"rollback", _) | (b"xa", b"commit" | b"rollback") => Effect::End,
        (b"end" | b"abort", _) | (b"prepare", b"transaction") if !is_mysql => Effect::End,
        (b"set", b"autocommit" | b"@@autocommit" | b"@@session.autocommit") if is_mysql => Effect::Autocommit,
        (b"create" | b"drop", b"temporary") => Effect::Inside,
        (b"create" | b"alter" | b"drop" | b"truncate" | b"rename" | b"lock" | b"grant" | b"revoke", _) if is_mysql => {
            Effect::Alone
        }
        _ => Effect::Inside,
    }
}

/// A session of the log.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub number: u64,
    pub transaction: u64,
    is_open: bool,
    is_autocommit_off: bool,
    /// Starts in one session do not go back, whatever rounding made of them.
    last_start_us: i64,
}

impl Session {
    /// The transaction of the next statement, and whether it ends with it.
    pub fn step(&mut self, effect: Effect, text: &[u8]) -> (u64, bool) {
        match effect {
            Effect::Begin => {
                self.transaction += 1;
                self.is_open = true;
            }
            Effect::End | Effect::EndAndBegin => {
                self.transaction += u64::from(!self.is_open);
                let ended = self.transaction;
                self.is_open = effect == Effect::EndAndBegin;
                self.transaction += u64::from(self.is_open);
                return (ended, true);
            }
            Effect::Autocommit => {
                self.is_autocommit_off = sets_off(text);
                self.is_open &= self.is_autocommit_off;
                self.transaction += u64::from(!self.is_open);
            }
            Effect::Alone => {
                self.is_open = false;
                self.transaction += 1;
            }
            Effect::Inside if self.is_open => {}
            Effect::Inside => {
                self.transaction += 1;
                self.is_open = self.is_autocommit_off;
            }
        }
        (self.transaction, !self.is_open)
    }

    pub fn start(&mut self, start_us: i64) -> i64 {
        self.last_start_us = self.last_start_us.max(start_us);
        self.last_start_us
    }
}

/// `SET autocommit = 0`, or OFF
fn sets_off(text: &[u8]) -> bool {
    let value = text.rsplit(|byte| *byte == b'=').next().unwrap_or_default();
    let value = value.trim_ascii();
    value.first() == Some(&b'0') || value.to_ascii_lowercase().windows(3).any(|part| part == b"off")
}

/// All sessions that are open.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub open: HashMap<u64, Session>,
    pub count: u64,
    pub most_at_once: u64,
    /// Begins of sessions in the log.
    pub connects: u64,
}

impl Sessions {
    /// The session of an event, and whether it is met for the first time. None where every session has ended.
    pub fn of(&mut self, event: &Event<'_>) -> Option<(&mut Session, bool)> {
        match event.act {
            Act::Restart => {
                self.open.clear();
                return None;
            }
            Act::Connect => {
                self.connects += 1;
                // The number of an earlier connection, given again.
                self.open.remove(&event.session);
            }
            _ => {}
        }
        let before = self.open.len() as u64;
        let session = self.open.entry(event.session).or_default();
        let is_new = session.number == 0;
        if is_new {
            self.count += 1;
            *session = Session { number: self.count, last_start_us: i64::MIN, ..Session::default() };
            self.most_at_once = self.most_at_once.max(before + 1);
        }
        Some((session, is_new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, digest_text};

    fn check(dialect: Dialect, texts: &[&str], expected: &[(u64, bool)]) {
        let mut session = Session::default();
        let found: Vec<(u64, bool)> = texts
            .iter()
            .map(|text| {
                let digest = digest_text(text.as_bytes(), dialect);
                session.step(effect_of(&digest, dialect.is_mysql()), text.as_bytes())
            })
            .collect();
        assert_eq!(found, expected, "{texts:?}");
    }

    #[test]
    fn statements_between_begin_and_commit_are_one_transaction() {
        let texts = ["select 1", "BEGIN", "update t set a = 1", "savepoint s", "rollback to s", "COMMIT", "select 2"];
        let expected = [(1, true), (2, false), (2, false), (2, false), (2, false), (2, true), (3, true)];
        check(Dialect::MYSQL, &texts, &expected);
        check(Dialect::Postgres, &texts, &expected);
    }

    #[test]
    fn autocommit_off_keeps_a_transaction_open() {
        check(
            Dialect::MYSQL,
            &["SET autocommit=0", "select 1", "insert into t values (1)", "commit", "set autocommit = ON", "select 1"],
            &[(1, true), (2, false), (2, false), (2, true), (3, true), (4, true)],
        );
    }

    #[test]
    fn ddl_of_mysql_ends_the_transaction_and_that_of_postgres_does_not() {
        let texts = ["begin", "create table t (a int)", "select 1"];
        check(Dialect::MYSQL, &texts, &[(1, false), (2, true), (3, true)]);
        check(Dialect::Postgres, &texts, &[(1, false), (1, false), (1, false)]);
    }

    #[test]
    fn a_string_of_several_statements_is_what_is_left_at_its_end() {
        check(
            Dialect::Postgres,
            &["begin; select 1; commit", "begin; select 1", "end"],
            &[(1, true), (2, false), (2, true)],
        );
        check(Dialect::Postgres, &["begin", "commit and chain", "commit"], &[(1, false), (1, true), (2, true)]);
    }
}
