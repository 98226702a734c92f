//! The tables that a statement names, by its digest text: what it reads and what it writes.
//!
//! It sees names and no grammar, and errs towards too many: whatever is not known to keep to the tables that it names, such as
//! DDL, CALL, or a function of the user's own, may touch any.

use std::collections::BTreeSet;

use capture::{Dialect, Kind, Tokens};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    Any,
    /// Names in lower case, without quotes, databases and schemas.
    These {
        read: Vec<String>,
        written: Vec<String>,
    },
}

impl Touched {
    pub fn by(digest: &str, is_mysql: bool) -> Touched {
        let dialect = match is_mysql {
            // Literals are out of a digest: what stands in double quotes there is a name.
            true => Dialect::MySql { ansi_quotes: true, no_backslash_escapes: true },
            false => Dialect::Postgres,
        };
        let word = |token: capture::Token| Word { kind: token.kind, text: &digest[token.start..token.end] };
        let words: Vec<Word<'_>> = Tokens::new(digest.as_bytes(), dialect).map(word).collect();
        let mut found = Names::default();
        if !words.split(|word| word.text == ";").all(|statement| found.take(statement)) {
            return Touched::Any;
        }
        let read = found.read.difference(&found.written).cloned().collect();
        Touched::These { read, written: found.written.into_iter().collect() }
    }
}

#[derive(Clone, Copy)]
struct Word<'a> {
    kind: Kind,
    text: &'a str,
}

impl Word<'_> {
    fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::QuotedName) && !self.text.starts_with('@')
    }

    fn is(&self, words: &str) -> bool {
        self.kind == Kind::Word && is_among(words, self.text)
    }
}

#[derive(Default)]
struct Names {
    read: BTreeSet<String>,
    written: BTreeSet<String>,
}

/// Statements that touch the tables they name, and those that touch none.
const KNOWN: &str = "select with insert replace update delete merge values explain describe desc show declare fetch \
    move close begin start commit end rollback abort savepoint release set reset use prepare deallocate discard \
    listen unlisten notify unlock xa help checkpoint";
/// Words between a verb and the name of its table.
const BEFORE_NAMES: &str = "only lateral ignore low_priority high_priority delayed quick into from";
/// Behind these no list of tables goes on.
const ENDS_OF_LISTS: &str = "where set group order having limit values select union returning window when except \
    intersect offset fetch do value";

/// Where the reader is within one pair of parentheses.
#[derive(Default, Clone, Copy)]
struct Level {
    /// A comma is followed by a table.
    is_list: bool,
    /// Its tables are written.
    writes: bool,
}

impl Names {
    /// Takes the names of one statement; false where it may touch any table.
    fn take(&mut self, words: &[Word<'_>]) -> bool {
        let Some(first) = words.iter().find(|word| word.text != "(") else { return true };
        if !first.is(KNOWN) {
            return false;
        }
        let mut levels = vec![Level::default()];
        // Whether a table follows that is written, or one that is read.
        let mut expected: Option<bool> = None;
        let mut at = 0;
        while at < words.len() {
            let word = words[at];
            let level = levels.last_mut().expect("one level is never closed");
            let before = at.checked_sub(1).map(|before| words[before]);
            let opens = words.get(at + 1).is_some_and(|next| next.text == "(");
            at += 1;
            match (word.kind, word.text) {
                (Kind::Unfinished, _) => return false,
                (Kind::Hint, text) if !text.starts_with("/*+") => return false,
                (_, "(") => {
                    let inner = if expected.is_some() { *level } else { Level::default() };
                    levels.push(inner);
                }
                (_, ")") => {
                    expected = None;
                    if levels.len() > 1 {
                        levels.pop();
                    }
                }
                (_, ",") => expected = level.is_list.then_some(level.writes),
                _ if expected.is_some() && word.is_name() && !word.is(BEFORE_NAMES) && !word.is(ENDS_OF_LISTS) => {
                    let (name, next) = last_part(words, at - 1);
                    at = next;
                    let is_called = words.get(next).is_some_and(|next| next.text == "(");
                    match expected.take() {
                        Some(true) => drop(self.written.insert(name)),
                        _ if !is_called => drop(self.read.insert(name)),
                        _ if !is_known_function(&name) => return false,
                        _ => {}
                    }
                }
                _ if opens && word.is_name() => {
                    let is_alias = before.is_some_and(|word| word.is("as with recursive"));
                    let schema = at.checked_sub(3).filter(|_| before.is_some_and(|word| word.text == "."));
                    let is_foreign = schema.is_some_and(|schema| words[schema].text != "pg_catalog");
                    if !is_alias && (is_foreign || !is_known_function(word.text)) {
                        return false;
                    }
                    // Behind these, columns and arguments stand in parentheses.
                    if !word.is("insert replace using") {
                        begin(word, before, level, &mut expected);
                    }
                }
                (Kind::Word, _) => begin(word, before, level, &mut expected),
                _ => {}
            }
        }
        true
    }
}

/// What a keyword says of the tables behind it.
fn begin(word: Word<'_>, before: Option<Word<'_>>, level: &mut Level, expected: &mut Option<bool>) {
    match word.text {
        // `for update` and `on duplicate key update` name none.
        "update" if before.is_some_and(|before| before.is("for key")) => {}
        "update" => {
            *level = Level { is_list: true, writes: true };
            *expected = Some(true);
        }
        "insert" | "replace" | "into" => *expected = Some(true),
        "delete" => level.writes = true,
        "using" => {
            *level = Level { is_list: true, writes: false };
            *expected = Some(false);
        }
        "from" | "join" | "straight_join" => {
            level.is_list = true;
            *expected = Some(level.writes);
        }
        word if word.starts_with('@') => *expected = None,
        word if is_among(ENDS_OF_LISTS, word) => {
            *level = Level::default();
            *expected = None;
        }
        _ => {}
    }
}

/// The last part of a name with dots that begins at a place, and the place behind it.
fn last_part(words: &[Word<'_>], first: usize) -> (String, usize) {
    let mut last = first;
    while words.get(last + 1).is_some_and(|word| word.text == ".") && words.get(last + 2).is_some_and(Word::is_name) {
        last += 2;
    }
    (words[last].text.trim_matches(['`', '"']).to_lowercase(), last + 1)
}

fn is_known_function(name: &str) -> bool {
    is_among(OPENED, name) || is_among(FUNCTIONS, name)
}

fn is_among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Keywords and types that stand before parentheses.
const OPENED: &str = "all and any array as between bigint binary by case char character conflict decimal delete distinct else except \
    exists filter float for from group having in index inner insert int integer intersect into is join key left like \
    limit materialized not numeric offset on or over partition returning right row select set signed some then time \
    timestamp union unsigned using values varchar when where";
/// Functions of the servers that touch no table.
const FUNCTIONS: &str = "abs age array_agg array_length array_to_string ascii avg bit_and bit_length bit_or bit_xor bool_and bool_or btrim \
    cast ceil ceiling char_length character_length chr clock_timestamp coalesce concat concat_ws connection_id conv \
    convert cos count crc32 cume_dist curdate current_date current_time current_timestamp curtime currval database date \
    date_add date_format date_part date_sub date_trunc datediff day dayname dayofmonth dayofweek dayofyear decode \
    dense_rank elt encode every exp extract field find_in_set first_value floor format found_rows from_days \
    from_unixtime gen_random_uuid generate_series greatest group_concat grouping hex hour if ifnull inet_aton inet_ntoa \
    initcap instr interval isnull json_agg json_array json_arrayagg json_build_object json_contains json_extract \
    json_length json_object json_objectagg json_set json_table json_unquote json_value jsonb_agg jsonb_array_elements \
    jsonb_build_object jsonb_set lag last_day last_insert_id last_value lastval lcase lead least length ln localtime \
    localtimestamp locate log log10 lower lpad ltrim max md5 mid min minute mod month monthname nextval now nth_value \
    ntile nullif octet_length ord overlay percent_rank percentile_cont percentile_disc pg_backend_pid position pow power \
    quarter rand random rank regexp_matches regexp_replace repeat replace reverse round row_number row_to_json rpad \
    rtrim second sha1 sha2 sign sqrt std stddev str_to_date string_agg strpos substr substring substring_index sum \
    timestampdiff to_char to_date to_number to_timestamp trim truncate ucase unix_timestamp unnest upper user uuid \
    values variance version week year";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(digest: &str, read: &[&str], written: &[&str]) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = Touched::These { read: owned(read), written: owned(written) };
        for is_mysql in [true, false] {
            assert_eq!(Touched::by(digest, is_mysql), expected, "{digest}");
        }
    }

    #[test]
    fn reads_name_what_they_read() {
        check("select ?", &[], &[]);
        check("select a, b from t where c in (?+)", &["t"], &[]);
        check("select * from t as x, u left join v on x.a = coalesce(v.a, ?), w", &["t", "u", "v", "w"], &[]);
        check("select * from (t join u using (id)) where a = ?", &["t", "u"], &[]);
        check("select * from (select a from t) as x, shop.u", &["t", "u"], &[]);
        check("select a from t where exists (select ? from u where u.a = t.a) for update", &["t", "u"], &[]);
        check("with x as (select a from t) select * from x union all (select b from u)", &["t", "u", "x"], &[]);
        check("select sum(a) over (partition by b order by c) from t", &["t"], &[]);
        check("select * from generate_series(?, ?) as n(a)", &[], &[]);
        check("declare c cursor for select a from t", &["t"], &[]);
    }

    #[test]
    fn writes_name_what_they_write() {
        check("insert into t(a, b) values (?+)", &[], &["t"]);
        check("insert into t select a from u where b = ?", &["u"], &["t"]);
        check("insert into t values (?+) on conflict (a) do update set b = ?", &[], &["t"]);
        check("update t set a = (select max(a) from u) where b = ?", &["u"], &["t"]);
        check("delete from t where a in (select a from u)", &["u"], &["t"]);
        check("delete from t using u where t.a = u.a", &["u"], &["t"]);
        check(
            "merge into t using u on t.a = u.a when matched then update set b = ? when not matched then insert (a) values (?)",
            &["u"],
            &["t"],
        );
        check("with gone as (delete from t returning a) insert into u select a from gone", &["gone"], &["t", "u"]);
        check("begin; update t set a = ?; select a from u; commit", &["u"], &["t"]);
    }

    #[test]
    fn statements_of_mysql_alone_are_known() {
        let my = |digest: &str| Touched::by(digest, true);
        let these = |read: &[&str], written: &[&str]| Touched::These {
            read: read.iter().map(|name| (*name).to_owned()).collect(),
            written: written.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(my("insert ignore t values (?+) on duplicate key update b = ?"), these(&[], &["t"]));
        assert_eq!(my("replace into `T One` values (?+)"), these(&[], &["t one"]));
        assert_eq!(my("update t join u on t.a = u.a set b = ?"), these(&[], &["t", "u"]));
        assert_eq!(my("delete t from t join u on t.a = u.a where b = ?"), these(&[], &["t", "u"]));
        assert_eq!(my("select a into @v from t"), these(&["t"], &[]));
        assert_eq!(my("select replace(a, ?, ?) from t use index (a)"), these(&["t"], &[]));
    }

    #[test]
    fn what_is_not_known_may_touch_any_table() {
        for digest in [
            "call p(?)",
            "create table t (a int)",
            "truncate t",
            "do release_lock(?)",
            "select mine(?)",
            "select a from theirs(?)",
            "select get_lock(?, ?)",
            "select shop.lower(a) from t",
            "lock tables t write",
            "execute s1(?)",
            "(other)",
            "(not parsed) select",
            "select ?; call p()",
            "",
        ] {
            let expected =
                if digest.is_empty() { Touched::These { read: vec![], written: vec![] } } else { Touched::Any };
            assert_eq!(Touched::by(digest, true), expected, "{digest}");
        }
        assert_eq!(Touched::by("/*!40000 alter table t disable keys */", true), Touched::Any);
    }
}
