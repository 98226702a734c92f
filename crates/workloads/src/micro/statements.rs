//! The queries of a kind as they are sent, with values in them: to ask a server how it would run them, and to compare
//! what servers answer.

use driver::{Dialect, complete};
use load::{Attempt, Client, MonotonicClock, NamedStatement, OptionValue, Recorder, Slot, Timeline, Turn};

use super::kind::Kind;

/// Beside queries, what changes nothing; an execution that ends at its first query is taken back.
const BRACKETS: [&str; 3] = ["BEGIN", "COMMIT", "ROLLBACK"];

/// The query of a kind; nothing of one that changes something, whose query may be of what it has made.
pub fn queries(kind: &Kind, dialect: Dialect, rows: u64) -> Vec<NamedStatement> {
    let sent = sent(kind, dialect, rows);
    if sent.iter().any(|sql| !is_query(sql) && !BRACKETS.contains(&sql.as_str())) {
        return Vec::new();
    }
    first_of(kind, sent, is_query)
}

/// The first statement of a kind that servers explain, on tables as they were loaded.
pub fn explained(kind: &Kind, dialect: Dialect, rows: u64) -> Vec<NamedStatement> {
    let sent = sent(kind, dialect, rows);
    if sent.iter().any(|sql| !script::is_explained(sql) && !BRACKETS.contains(&sql.as_str())) {
        return Vec::new();
    }
    first_of(kind, sent, script::is_explained)
}

fn first_of(kind: &Kind, sent: Vec<String>, is_it: fn(&str) -> bool) -> Vec<NamedStatement> {
    let first = sent.into_iter().find(|sql| is_it(sql));
    first.map(|sql| NamedStatement { name: kind.name.to_owned(), sql }).into_iter().collect()
}

/// What a first execution of a kind sends; nothing of a kind that makes tables of its own first.
fn sent(kind: &Kind, dialect: Dialect, rows: u64) -> Vec<String> {
    if kind.lacks(dialect).is_some() || !kind.before(dialect).is_empty() {
        return Vec::new();
    }
    let mut options = kind.options(dialect, rows);
    options.insert("protocol".to_owned(), OptionValue::Text("simple".to_owned()));
    let slot = Slot::alone(MonotonicClock::sleeping(), Timeline::default(), Recorder::new(0, false));
    let Ok(mut client) = script::client_on(&options, script::Recording::new(dialect), &slot) else { return Vec::new() };
    // It is answered with no rows, which may end it at its first query.
    let _ = complete(client.attempt(Turn { series: 0, number: 0, retry: 0 }, &mut Attempt::default()));
    std::mem::take(&mut client.connection().sent)
}

fn is_query(sql: &str) -> bool {
    ["SELECT", "WITH"].iter().any(|word| sql.starts_with(word))
}

/// Whether the oldest release can read a query.
pub fn is_old(query: &NamedStatement) -> bool {
    query.sql.starts_with("SELECT") && !query.sql.contains(" OVER (")
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;

    #[test]
    fn a_query_has_its_values_in_it() {
        let all = kinds::all();
        let of = |name: &str| queries(all.iter().find(|kind| kind.name == name).unwrap(), Dialect::Postgres, 10_000);
        assert!(of("point/pk")[0].sql.starts_with("SELECT c FROM sbtest1 WHERE id = "), "{:?}", of("point/pk"));
        assert_eq!(of("aggregate/count-all")[0].sql, "SELECT count(*) AS n FROM sbtest1");
        assert!(of("range/cte")[0].sql.starts_with("WITH part AS") && !is_old(&of("range/cte")[0]));
        assert!(of("aggregate/json-filter").is_empty() && of("write/update-index").is_empty());
        let changes =
            |name: &str| explained(all.iter().find(|kind| kind.name == name).unwrap(), Dialect::MySql, 10_000);
        assert!(
            changes("write/update-index")[0].sql.starts_with("UPDATE sbtest2 SET"),
            "{:?}",
            changes("write/update-index")
        );
        assert_eq!((changes("write/create-drop-table"), changes("point/pk").len()), (Vec::new(), 1));
        assert!(of("write/temporary-table").is_empty() && of("point/pk-in-transaction").len() == 1);
    }
}
