//! Which answers of a statement may be compared between two servers, by its digest text.
//!
//! It sees names and no grammar: a function of the user's own is taken as one whose answer follows from the data.

use memchr::memmem;

use crate::tokens::is_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The answer follows from the data.
    Plain,
    Clock,
    Random,
    Session,
    Server,
    /// `LIMIT` without `ORDER BY`.
    ArbitraryRows,
    OrderOfAggregate,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Plain => "plain",
            Class::Clock => "clock",
            Class::Random => "random",
            Class::Session => "session",
            Class::Server => "server",
            Class::ArbitraryRows => "arbitrary rows",
            Class::OrderOfAggregate => "order-dependent aggregate",
        }
    }

    /// The first of the classes that fits: random answers are compared least.
    pub fn of(digest: &[u8]) -> Class {
        let fits = |names: &str| names.split_ascii_whitespace().any(|name| has_word(digest, name.as_bytes()));
        let has = |part: &str| memmem::find(digest, part.as_bytes()).is_some();
        if fits(RANDOM) {
            Class::Random
        } else if fits(SERVER) || digest.starts_with(b"show ") || digest.starts_with(b"explain ") || has("@@") {
            Class::Server
        } else if fits(SESSION) || has("@") {
            Class::Session
        } else if fits(CLOCK) {
            Class::Clock
        } else if fits(AGGREGATES) && !has("order by") {
            Class::OrderOfAggregate
        } else if digest.starts_with(b"select ") && has(" limit ?") && !has("order by") {
            Class::ArbitraryRows
        } else {
            Class::Plain
        }
    }
}

const RANDOM: &str = "rand( random( uuid( uuid_short( gen_random_uuid( uuid_generate_v4( sleep( tablesample";
const SERVER: &str = "version( information_schema performance_schema pg_catalog pg_stat_activity current_user session_user \
    user( pg_relation_size(";
const SESSION: &str = "last_insert_id( currval( lastval( connection_id( pg_backend_pid( found_rows( row_count( \
    txid_current( pg_temp";
const CLOCK: &str = "now( curdate( curtime( sysdate( unix_timestamp() utc_timestamp( utc_date( localtime localtimestamp \
    current_date current_time current_timestamp clock_timestamp( statement_timestamp( transaction_timestamp(";
const AGGREGATES: &str = "group_concat( string_agg( array_agg( json_agg( jsonb_agg( json_arrayagg( json_objectagg( \
    first_value(";

/// Whether a name stands in the text, not as a part of another one.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    memmem::find_iter(text, word).any(|at| {
        let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
        let after = text.get(at + word.len()).copied().unwrap_or(b' ');
        !is_name(before) && (word.ends_with(b"(") || !is_name(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_follows_from_names_in_the_digest() {
        for (digest, expected) in [
            ("select a from t where b = ?", Class::Plain),
            ("select a from t where b < now()", Class::Clock),
            ("select a from t order by rand() limit ?", Class::Random),
            ("select brand(a) from t", Class::Plain),
            ("select last_insert_id()", Class::Session),
            ("select @a", Class::Session),
            ("select @@version", Class::Server),
            ("show tables", Class::Server),
            ("select a from t limit ?", Class::ArbitraryRows),
            ("select a from t order by a limit ?", Class::Plain),
            ("select group_concat(a) from t", Class::OrderOfAggregate),
        ] {
            assert_eq!(Class::of(digest.as_bytes()), expected, "{digest}");
        }
    }
}
