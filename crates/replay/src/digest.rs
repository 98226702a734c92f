//! What a statement does, by its digest text: whether it reads, how it ends a transaction, and the locks that it takes
//! or releases for its session.

use capture::{Class, Digest};

use crate::tables::Touched;

/// A statement as it is counted; those behind do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It changes no data: begin and end of transactions, settings of the session.
    Other,
    Read,
    Write,
}

/// What a statement does to the locks that outlive a transaction of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Locks {
    pub taken: u32,
    pub released: u32,
    pub releases_all: bool,
}

/// Facts of a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The id of the digest, as `dbduel digest` prints it.
    pub name: String,
    /// Literals taken out.
    pub text: String,
    /// The time of all its calls in the log.
    pub total_us: u64,
    /// Of its longest call that is replayed.
    pub longest_us: u64,
    pub kind: Kind,
    pub locks: Locks,
    pub rolls_back: bool,
    /// `USE name`, which changes the database of the session.
    pub is_use: bool,
    pub class: Class,
    /// Its rows come in an order that it asks for, or only some of them.
    pub is_ordered: bool,
    pub is_limited: bool,
    /// It adds up numbers, whose sum may depend on their order where they are inexact.
    pub has_sums: bool,
    /// It compares or sorts texts, as far as `portable` has looked.
    pub is_collated: bool,
    pub tables: Touched,
}

impl About {
    pub fn of(digest: &Digest, is_mysql: bool) -> About {
        let text = digest.text.as_slice();
        let first = first_word(text);
        let shown = String::from_utf8_lossy(text).into_owned();
        About {
            name: format!("{:016x}", digest.id),
            tables: Touched::by(&shown, is_mysql),
            text: shown,
            total_us: digest.total_us,
            longest_us: 0,
            kind: if digest.skipped.is_some() { Kind::Write } else { kind_of(text) },
            locks: if is_mysql { locks_of_mysql(text) } else { locks_of_postgres(text) },
            rolls_back: matches!(first, b"rollback" | b"abort") && !has(text, b" to "),
            is_use: is_mysql && first == b"use",
            class: Class::of(text),
            is_ordered: has_outermost(text, b" order by "),
            is_limited: has_outermost(text, b" limit ?") || has_outermost(text, b" fetch "),
            is_collated: false,
            has_sums: [&b"sum("[..], b"avg(", b"stddev", b"variance("].iter().any(|name| has(text, name)),
        }
    }
}

fn first_word(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"(").unwrap_or(text);
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next().unwrap_or_default()
}

fn has(text: &[u8], part: &[u8]) -> bool {
    count(text, part) > 0
}

fn count(text: &[u8], part: &[u8]) -> u32 {
    text.windows(part.len()).filter(|window| *window == part).count() as u32
}

/// Whether a part stands outside of all parentheses.
fn has_outermost(text: &[u8], part: &[u8]) -> bool {
    let mut depth = 0i32;
    text.iter().enumerate().any(|(at, byte)| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth == 0 && text[at..].starts_with(part)
    })
}

/// The kind of a statement; one that is not known may write. Of several in one string the one that does most.
fn kind_of(digest: &[u8]) -> Kind {
    let kinds = digest.split(|byte| *byte == b';').map(|one| kind_of_one(one.trim_ascii()));
    kinds.max().unwrap_or(Kind::Other)
}

const CHANGES: [&[u8]; 4] = [b"insert ", b"update ", b"delete ", b"merge "];

fn kind_of_one(text: &[u8]) -> Kind {
    match first_word(text) {
        b"select" | b"values" | b"table" => {
            // A table made of the answer; a variable is no data.
            let into = has(text, b" into ") && !has(text, b" into @");
            let calls = [&b"nextval("[..], b"setval("].iter().any(|name| has(text, name));
            if into || calls { Kind::Write } else { Kind::Read }
        }
        b"with" if CHANGES.iter().any(|word| has(text, word)) => Kind::Write,
        b"explain" if has(text, b"analyze") && CHANGES.iter().any(|word| has(text, word)) => Kind::Write,
        b"with" | b"show" | b"describe" | b"desc" | b"explain" | b"fetch" | b"help" => Kind::Read,
        b"declare" | b"close" | b"move" => Kind::Other,
        b"copy" if has(text, b" to stdout") => Kind::Read,
        b"" | b"begin" | b"start" | b"commit" | b"rollback" | b"end" | b"abort" | b"savepoint" | b"release"
        | b"set" | b"reset" | b"use" | b"discard" | b"deallocate" | b"prepare" | b"listen" | b"unlisten" | b"lock"
        | b"unlock" | b"xa" => Kind::Other,
        _ => Kind::Write,
    }
}

fn locks_of_mysql(text: &[u8]) -> Locks {
    let first = first_word(text);
    Locks {
        taken: count(text, b"get_lock(") + u32::from(text.starts_with(b"lock table")),
        // `begin` would end a LOCK TABLES too: then the unit is longer than the lock, which costs order and no time.
        released: count(text, b"release_lock(") + u32::from(first == b"unlock"),
        releases_all: has(text, b"release_all_locks("),
    }
}

fn locks_of_postgres(text: &[u8]) -> Locks {
    let names = [
        &b"pg_advisory_lock("[..],
        b"pg_advisory_lock_shared(",
        b"pg_try_advisory_lock(",
        b"pg_try_advisory_lock_shared(",
    ];
    let taken: u32 = names.iter().map(|name| count(text, name)).sum();
    let is_prepared = text.starts_with(b"prepare transaction");
    let ends_prepared = text.starts_with(b"commit prepared") || text.starts_with(b"rollback prepared");
    Locks {
        taken: taken + u32::from(is_prepared),
        released: count(text, b"pg_advisory_unlock(")
            + count(text, b"pg_advisory_unlock_shared(")
            + u32::from(ends_prepared),
        releases_all: has(text, b"pg_advisory_unlock_all(") || text.starts_with(b"discard all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_select_orders_the_answer() {
        let check = |text: &str, expected| {
            assert_eq!(has_outermost(text.as_bytes(), b" order by "), expected, "{text}");
        };
        check("select a from t order by a limit ?", true);
        check("select a from (select a from t order by a) as s", false);
        check("(select a from t order by a) union select b from u", false);
        check("(select a from t) union (select b from u) order by a", true);
        check("select row_number() over (partition by a order by b) from t", false);
    }

    #[test]
    fn what_is_not_known_to_read_may_write() {
        for (text, expected) in [
            ("select a from t where b = ?", Kind::Read),
            ("select a from t for update", Kind::Read),
            ("select a into b from t", Kind::Write),
            ("select a into @b from t", Kind::Read),
            ("select nextval(?)", Kind::Write),
            ("with x as (select ?) select * from x", Kind::Read),
            ("with x as (delete from t returning a) select * from x", Kind::Write),
            ("copy t to stdout", Kind::Read),
            ("begin", Kind::Other),
            ("set names utf8mb4", Kind::Other),
            ("update t set a = ?", Kind::Write),
            ("call p(?)", Kind::Write),
            ("execute s1(?)", Kind::Write),
            ("begin; update t set a = ?; commit", Kind::Write),
            ("begin; select ?; commit", Kind::Read),
        ] {
            assert_eq!(kind_of(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn locks_of_a_session_are_counted_and_those_of_a_transaction_are_not() {
        let my = |text: &str| locks_of_mysql(text.as_bytes());
        assert_eq!((my("select get_lock(?, ?)").taken, my("do release_lock(?)").released), (1, 1));
        assert!(my("select release_all_locks()").releases_all);
        assert_eq!((my("lock tables t write").taken, my("unlock tables").released), (1, 1));
        let pg = |text: &str| locks_of_postgres(text.as_bytes());
        assert_eq!((pg("select pg_advisory_lock(?)").taken, pg("select pg_advisory_unlock(?)").released), (1, 1));
        assert_eq!(pg("select pg_advisory_xact_lock(?)"), Locks::default());
        assert!(pg("discard all").releases_all);
        assert_eq!((pg("prepare transaction ?").taken, pg("commit prepared ?").released), (1, 1));
    }
}
