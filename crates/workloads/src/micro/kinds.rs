//! The kinds of statements that there are, each a file under `kinds/`, and the choice among them.

use std::sync::LazyLock;

use load::{OptionError, OptionValue, Options};

use super::kind::Kind;

/// Name and text of each file, by group.
macro_rules! files {
    ($($group:literal: $($name:literal)*;)*) => {
        &[$($((concat!($group, "/", $name), include_str!(concat!("kinds/", $group, "/", $name, ".sql")))),*),*]
    };
}

/// In the order in which they are listed.
const FILES: &[(&str, &str)] = files! {
    "point": "big-1m" "big-64k" "connect" "connect-tcp" "connect-tls" "in-10" "in-100" "in-1000" "pk" "pk-hot" "pk-in-transaction" "pk-missing" "pk-text" "round-trip" "secondary" "secondary-covered" "secondary-in-10";
    "range": "anti-join" "correlated" "cte" "cte-recursive" "in-subquery" "join-10" "join-1000" "like-prefix" "offset" "order-by-index" "pk-10" "pk-100" "pk-1000" "pk-10000" "pk-covered-1000" "scan" "scan-like" "secondary-10" "secondary-100" "secondary-1000" "secondary-10000" "secondary-covered-1000" "secondary-covered-10000" "semi-join" "sort-100" "sort-10000" "top-10" "window";
    "aggregate": "count-all" "count-distinct" "count-range" "distinct-100" "group-few" "group-join" "group-many" "json-filter" "json-group" "min-max" "random-ranges" "sum-100" "sum-1000" "sum-all";
    "write": "add-column" "add-column-default" "big-1m" "big-64k" "change-column" "commit" "create-drop-table" "create-index" "delete-insert" "delete-range-100" "drop-table" "insert" "insert-100" "insert-2-indexes" "insert-5-indexes" "insert-select-10000" "load-100000" "temporary-table" "transaction" "update-hot" "update-in-10" "update-index" "update-non-index" "update-range-100" "update-zipfian" "upsert";
};

/// All that come with dbduel. Read once: a plan asks for them again and again, and their names are kept for ever.
pub fn all() -> Vec<Kind> {
    static ALL: LazyLock<Vec<Kind>> = LazyLock::new(read);
    ALL.clone()
}

fn read() -> Vec<Kind> {
    let kind = |(name, text): &(&str, &str)| {
        let group = name.split('/').next();
        Kind::read(&format!("{name}.sql"), group, text).expect("the tests read every file")
    };
    FILES.iter().map(kind).collect()
}

/// Those that the options ask for, and the user's own.
pub fn chosen(options: &Options) -> Result<Vec<Kind>, OptionError> {
    let mut known = all();
    for own in own(options)? {
        if known.iter().any(|kind| kind.name == own.name) {
            return Err(OptionError::new(
                "files",
                format!("there is a kind `{}` already: give yours another name", own.name),
            ));
        }
        known.push(own);
    }
    let patterns = options.list("kinds")?;
    for pattern in &patterns {
        if !known.iter().any(|kind| fits(pattern, kind.name)) {
            return Err(OptionError::new("kinds", format!("no kind `{pattern}`; {}", nearest(pattern, &known))));
        }
    }
    let is_asked = |kind: &Kind| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, kind.name));
    Ok(known.into_iter().filter(is_asked).collect())
}

fn own(options: &Options) -> Result<Vec<Kind>, OptionError> {
    let given = options.value("files");
    let items = match given {
        OptionValue::Items(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let mut kinds = Vec::new();
    for item in items {
        let OptionValue::File { path, text } = item else {
            return Err(OptionError::new("files", format!("a path in quotes was expected, not {item}")));
        };
        let read = Kind::own(path, text);
        kinds.push(read.map_err(|why| OptionError { in_files: vec![why], ..OptionError::new("files", "") })?);
    }
    Ok(kinds)
}

/// Whether a name is what a pattern means, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(first) else { return false };
    (0..=left.len()).any(|at| left.is_char_boundary(at) && fits(rest, &left[at..]))
}

fn nearest(pattern: &str, known: &[Kind]) -> String {
    let apart = |kind: &Kind| {
        strsim::damerau_levenshtein(pattern, kind.name)
            .min(strsim::damerau_levenshtein(pattern, kind.name.split('/').next_back().unwrap_or_default()))
    };
    let near = known.iter().min_by_key(|kind| apart(kind)).filter(|kind| apart(kind) <= pattern.len() / 2 + 1);
    let listed = "`dbduel list kinds` has all";
    near.map_or_else(|| listed.to_owned(), |kind| format!("nearest is {}; {listed}", kind.name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::OPTIONS;
    use super::*;

    fn names(given: &[(&str, OptionValue)]) -> Result<Vec<&'static str>, OptionError> {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        Ok(chosen(&Options::new(OPTIONS, &given)?)?.into_iter().map(|kind| kind.name).collect())
    }

    fn list(patterns: &[&str]) -> OptionValue {
        OptionValue::List(patterns.iter().map(|pattern| (*pattern).to_owned()).collect())
    }

    #[test]
    fn every_file_of_the_folder_is_listed_and_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/micro/kinds");
        let mut files = BTreeSet::new();
        for group in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            for file in std::fs::read_dir(&group).unwrap().map(|entry| entry.unwrap().path()) {
                let part = |path: &std::path::Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
                files.insert(format!("{}/{}", part(&group), part(&file)));
            }
        }
        let broken: Vec<String> = all().iter().filter_map(|kind| kind.expect_complete().err()).collect();
        assert_eq!(broken, Vec::<String>::new());
        let listed: BTreeSet<String> = all().iter().map(|kind| kind.name.to_owned()).collect();
        assert_eq!((listed.len(), listed), (FILES.len(), files));
    }

    #[test]
    fn patterns_choose_and_an_unknown_one_has_a_neighbour() {
        let found = names(&[("kinds", list(&["write/commit", "*/pk-*0"]))]).unwrap();
        assert_eq!(
            found,
            ["range/pk-10", "range/pk-100", "range/pk-1000", "range/pk-10000", "range/pk-covered-1000", "write/commit"]
        );
        assert_eq!(names(&[]).unwrap().len(), FILES.len());
        let why = names(&[("kinds", list(&["write/comit"]))]).unwrap_err().expected;
        assert_eq!(why, "no kind `write/comit`; nearest is write/commit; `dbduel list kinds` has all");
    }

    #[test]
    fn own_kinds_stand_behind_the_others() {
        let file = |path: &str, text: &str| {
            let file = OptionValue::File { path: path.to_owned(), text: text.to_owned() };
            [("files", OptionValue::Items(vec![file])), ("kinds", list(&["mine/*", "point/pk"]))]
        };
        let text = "-- does: counts\n-- group: mine\n-- run:\n-- expect: 1 row\nSELECT count(*) AS n FROM sbtest1;";
        assert_eq!(names(&file("own/all.sql", text)).unwrap(), ["point/pk", "mine/all"]);
        let twin = text.replace("mine", "point");
        assert!(names(&file("pk.sql", &twin)).unwrap_err().expected.contains("a kind `point/pk` already"));
        assert!(
            names(&file("a.sql", "SELECT 1;")).unwrap_err().to_string().contains("a.sql:1: a statement in no section")
        );
    }
}
