//! How much of what a server counted a log has.
//!
//! Servers count statements by digest all the time: PostgreSQL in `pg_stat_statements`, MySQL and MariaDB in
//! `events_statements_summary_by_digest`. A log is an hour of that at best. What it lacks would not be tested by a replay.

use std::collections::{BTreeSet, HashMap};

use crate::normal::digest_text;
use crate::tokens::Dialect;

/// Statements of a server by digest, as a table that its client wrote: separated by commas or tabs, with a head.
#[derive(Debug, Clone, Default)]
pub struct ServerTotals {
    rows: Vec<Total>,
}

/// One digest of the server, over all users and databases.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// As the server writes it.
    pub text: String,
    pub calls: u64,
    pub time_us: f64,
    key: Vec<u8>,
    /// The server kept its beginning.
    is_cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Coverage<'a> {
    /// Of the server's totals; what the log has, and all.
    pub calls: (u64, u64),
    pub time_us: (f64, f64),
    /// What the log does not have, most time first.
    pub missing: Vec<&'a Total>,
}

/// Columns of either server, the factor that makes microseconds of a time, and where its texts are from.
const TEXTS: [&str; 2] = ["query", "digest_text"];
const CALLS: [&str; 2] = ["calls", "count_star"];
const TIMES: [(&str, f64); 3] = [("total_exec_time", 1e3), ("total_time", 1e3), ("sum_timer_wait", 1e-6)];

const BEYOND: &str = "(digests beyond those that the server keeps)";

/// What to write the table with.
const NEXT: &str = "next: psql --csv -c \"SELECT query, calls, total_exec_time FROM pg_stat_statements\", or mysql --batch -e \
     \"SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_statements_summary_by_digest\"";

impl ServerTotals {
    pub fn read(table: &[u8]) -> Result<ServerTotals, String> {
        let head = table.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_tabbed = head.contains(&b'\t');
        let mut reader = csv::ReaderBuilder::new();
        reader.delimiter(if is_tabbed { b'\t' } else { b',' }).quoting(!is_tabbed).flexible(true);
        let mut reader = reader.from_reader(table);
        let head = reader.byte_headers().map_err(|error| format!("{error}\n  {NEXT}"))?.clone();
        let column = |names: &[&str]| {
            let is_named =
                |cell: &[u8]| names.iter().any(|name| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes()));
            let lacks = || format!("a column `{}` was expected in its first line\n  {NEXT}", names.join("` or `"));
            head.iter().position(is_named).ok_or_else(lacks)
        };
        let (text_at, calls_at) = (column(&TEXTS)?, column(&CALLS)?);
        let time_at = column(&TIMES.map(|(name, _)| name))?;
        let is_time = |(name, _): &&(&str, f64)| head[time_at].trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        let (name, unit) = TIMES.iter().find(is_time).expect("the column was found by this list");
        let dialect = if *name == "sum_timer_wait" { Dialect::MYSQL } else { Dialect::Postgres };
        let mut by_key: HashMap<Vec<u8>, Total> = HashMap::new();
        for (row, line) in reader.byte_records().zip(2..) {
            let row = row.map_err(|error| format!("{error}\n  {NEXT}"))?;
            let cell = |at: usize| String::from_utf8_lossy(row.get(at).unwrap_or_default()).into_owned();
            let number = |at: usize| {
                let text = cell(at);
                let number = text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
                number.ok_or_else(|| format!("line {line}: a number was expected in place of `{text}`\n  {NEXT}"))
            };
            let text = match cell(text_at) {
                // MySQL counts what is beyond its table together, without a text.
                none if none == "NULL" && dialect != Dialect::Postgres => BEYOND.to_owned(),
                text => text,
            };
            let (key, is_cut) = key_of_server(text.as_bytes(), dialect);
            let (calls, time_us) = (number(calls_at)? as u64, number(time_at)? * unit);
            let total = by_key.entry(key.clone()).or_insert(Total { text, calls: 0, time_us: 0.0, key, is_cut });
            total.calls += calls;
            total.time_us += time_us;
        }
        let mut rows: Vec<Total> = by_key.into_values().collect();
        rows.sort_by(|one, other| other.time_us.total_cmp(&one.time_us).then_with(|| one.key.cmp(&other.key)));
        Ok(ServerTotals { rows })
    }

    /// Calls of a digest of the log; of one that the server cut, of all that begin so.
    pub fn calls_of(&self, digest: &[u8]) -> u64 {
        let key = key(digest);
        let is_it = |total: &&Total| match total.is_cut {
            true => key.starts_with(&total.key),
            false => key == total.key,
        };
        self.rows.iter().find(is_it).map_or(0, |total| total.calls)
    }

    /// Of a log with these digests.
    pub fn covered_by<'a>(&self, digests: impl Iterator<Item = &'a [u8]>) -> Coverage<'_> {
        let keys: BTreeSet<Vec<u8>> = digests.map(key).collect();
        let has = |total: &Total| match total.is_cut {
            true => keys.range(total.key.clone()..).next().is_some_and(|known| known.starts_with(&total.key)),
            false => keys.contains(&total.key),
        };
        let (there, missing): (Vec<&Total>, Vec<&Total>) = self.rows.iter().partition(|total| has(total));
        let calls = |some: &[&Total]| some.iter().map(|total| total.calls).sum::<u64>();
        let time = |some: &[&Total]| some.iter().map(|total| total.time_us).sum::<f64>();
        Coverage {
            calls: (calls(&there), calls(&there) + calls(&missing)),
            time_us: (time(&there), time(&there) + time(&missing)),
            missing,
        }
    }
}

impl Coverage<'_> {
    /// Shares of calls and of time; none where nothing was counted.
    pub fn shares(&self) -> Option<[f64; 2]> {
        let shares = [self.calls.0 as f64 / self.calls.1 as f64, self.time_us.0 / self.time_us.1];
        shares.iter().all(|share| share.is_finite()).then_some(shares)
    }
}

/// What MySQL cut ends with dots; PostgreSQL has whole texts with `$1` for values.
fn key_of_server(text: &[u8], dialect: Dialect) -> (Vec<u8>, bool) {
    if dialect != Dialect::Postgres {
        let key = key(text);
        return key.strip_suffix(b"...").map(|cut| (cut.to_vec(), true)).unwrap_or((key, false));
    }
    (key(&digest_text(text, dialect)), false)
}

/// A digest text without what servers and dbduel write differently: case, blanks, quotes around names, the length of lists.
fn key(text: &[u8]) -> Vec<u8> {
    let mut key: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        // MySQL's note behind the first of several rows: `(...) /* , ... */`.
        let comment = behind.strip_prefix(b"*").filter(|comment| *byte == b'/' && !comment.starts_with(b"+"));
        if let Some(comment) = comment {
            let end = comment.windows(2).position(|two| two == b"*/");
            rest = end.map_or(&[][..], |end| &comment[end + 2..]);
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'`' | b'"' => continue,
            byte => key.push(byte.to_ascii_lowercase()),
        }
        shorten(&mut key);
    }
    while key.ends_with(b";") {
        key.pop();
    }
    key
}

/// Lists of values are one value, however many there were and whoever wrote that.
fn shorten(key: &mut Vec<u8>) {
    const SHORTER: [(&[u8], &[u8]); 7] = [
        (b"limit?,?", b"limit?offset?"),
        (b"limit?,...", b"limit?offset?"),
        (b"?,?", b"?"),
        (b"?,...", b"?"),
        (b"?+", b"?"),
        (b"(...)", b"(?)"),
        (b"(?),(?)", b"(?)"),
    ];
    while let Some((long, short)) = SHORTER.iter().find(|(long, _)| key.ends_with(long)) {
        key.truncate(key.len() - long.len());
        key.extend_from_slice(short);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str, dialect: Dialect) -> Vec<u8> {
        digest_text(text.as_bytes(), dialect)
    }

    #[test]
    fn a_statement_of_a_log_is_found_under_what_its_server_calls_it() {
        let my = |statement: &str, of_server: &str| {
            let (expected, is_cut) = key_of_server(of_server.as_bytes(), Dialect::MYSQL);
            assert_eq!((key(&digest(statement, Dialect::MYSQL)), is_cut), (expected, false), "{statement}");
        };
        my("SELECT c FROM sbtest1 WHERE id=5", "SELECT `c` FROM `sbtest1` WHERE `id` = ?");
        my("select c from t where id in (1,2,3)", "SELECT `c` FROM `t` WHERE `id` IN (...)");
        my("insert into t values (1,'a'),(2,'b')", "INSERT INTO `t` VALUES (...) /* , ... */");
        my("insert into t(a) values (1)", "INSERT INTO `t` ( `a` ) VALUES (?)");
        my("select f(1, 'x') limit 5, 10", "SELECT `f` (...) LIMIT ?, ...");
        let pg = |statement: &str, of_server: &str| {
            let expected = key_of_server(of_server.as_bytes(), Dialect::Postgres).0;
            assert_eq!(key(&digest(statement, Dialect::Postgres)), expected, "{statement}");
        };
        pg("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=$1");
        pg("SELECT c FROM t WHERE id in (5,6,7)", "SELECT c FROM t WHERE id in ($1 /*, ... */)");
        pg("SELECT c FROM t WHERE id in (5,6,7)", "SELECT c FROM t WHERE id in ($1,$2,$3)");
        assert_ne!(key(b"select a from t"), key(b"select b from t"));
    }

    #[test]
    fn what_a_log_lacks_is_named_with_the_most_time_first() {
        let table = "queryid,query,calls,total_exec_time,rows\n\
                     1,\"select a from t where id = $1\",900,100.5,900\n\
                     2,\"select b from t where id = $1\",60,400,1\n\
                     3,\"select a from t where id = $1\",40,99.5,40\n\
                     4,vacuum t,1,500,0\n";
        let totals = ServerTotals::read(table.as_bytes()).unwrap();
        let log = [digest("select a from t where id = 7", Dialect::Postgres)];
        let coverage = totals.covered_by(log.iter().map(Vec::as_slice));
        assert_eq!(coverage.calls, (940, 1001));
        assert_eq!(coverage.time_us, (200_000.0, 1_100_000.0));
        let missing: Vec<&str> = coverage.missing.iter().map(|total| total.text.as_str()).collect();
        assert_eq!(missing, ["vacuum t", "select b from t where id = $1"]);
        assert!(coverage.shares().unwrap()[0] > 0.93);
        assert_eq!([totals.calls_of(&log[0]), totals.calls_of(b"select ?")], [940, 0]);
        let empty = ServerTotals::read(b"query,calls,total_time\n").unwrap();
        assert_eq!(empty.covered_by(std::iter::empty()).shares(), None);
    }

    #[test]
    fn a_table_of_mysql_has_tabs_and_texts_that_were_cut() {
        let table = "SCHEMA_NAME\tDIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT\n\
                     shop\tSELECT `a` , `b` FROM `t` WHERE `a` IN (...) AND `long` ...\t10\t5000000000\n\
                     NULL\tNULL\t3\t1000000\n";
        let totals = ServerTotals::read(table.as_bytes()).unwrap();
        let log = [digest("select a, b from t where a in (1,2) and long_name = 5", Dialect::MYSQL)];
        let coverage = totals.covered_by(log.iter().map(Vec::as_slice));
        assert_eq!((coverage.calls, coverage.time_us.0), ((10, 13), 5000.0));
        assert_eq!(totals.calls_of(&log[0]), 10);
    }

    #[test]
    fn another_table_is_refused_with_the_column_that_it_lacks() {
        for (table, part) in [
            ("a,b\n1,2\n", "a column `query` or `digest_text`"),
            ("query,calls\nx,1\n", "a column `total_exec_time` or `total_time` or `sum_timer_wait`"),
            ("query,calls,total_time\nx,many,1\n", "line 2: a number was expected in place of `many`"),
        ] {
            let refused = ServerTotals::read(table.as_bytes()).unwrap_err();
            assert!(refused.contains(part) && refused.contains("next: psql --csv"), "{refused}");
        }
    }
}
