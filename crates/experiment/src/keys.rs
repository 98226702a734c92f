//! The keys of an experiment file that could stand in the wrong table, and where they belong.

pub const TOP_KEYS: &[&str] = &[
    "name",
    "question",
    "baseline",
    "contender",
    "ladder",
    "workload",
    "sweep",
    "method",
    "clients",
    "labels",
    "gate",
];
pub const CONTENDER_KEYS: &[&str] =
    &["name", "engine", "settings", "storage", "cores", "memory", "basedir", "target", "overwrite", "password_file"];
pub const RUNG_KEYS: &[&str] = &["name", "on", "engine", "settings", "storage", "cores", "memory"];
pub const METHOD_KEYS: &[&str] = &[
    "preset",
    "duration",
    "warmup",
    "pilot",
    "blocks",
    "margin",
    "budget",
    "seed",
    "stop",
    "noisy_host",
    "page_cache",
    "steady_state",
    "wait_for_deferred_work",
    "repeats",
    "headroom_check",
    "test_causes",
    "profile",
    "rule",
    "work_copy",
    "duet",
    "fast_sweep",
    "ablation",
];

/// Words of earlier drafts of the file format, and what to write in their place.
const REMOVED: &[(&str, &str)] = &[
    ("watch", "write rule = \"exact\", and `blocks` = the most that the run may take"),
    ("contrast", "write test_causes"),
    ("diagnose", "write profile"),
    ("doubling", "write headroom_check"),
    ("drain", "write wait_for_deferred_work"),
    ("clone", "write work_copy"),
    ("shapley", "write ablation = true: it measures the highest rung without each of its steps"),
];

/// Words of other tools, the keys that mean the same here, and where they stand.
const OTHER_TOOLS: &[(&[&str], &[&str], &str)] = &[
    (&["threads", "users", "vus", "num_threads"], &["clients"], "in [workload] or [sweep]"),
    (&["repetitions", "iterations"], &["blocks"], "in [method]"),
    (&["time", "max_time"], &["duration"], "in [method]"),
    (&["scale", "scale_factor", "table_size"], &["rows", "warehouses"], "in [workload]"),
];

/// The keys that a word of another tool may mean, the likeliest first, and where in an experiment file they stand.
pub fn meant_by(word: &str) -> Option<(&'static [&'static str], &'static str)> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    let found = OTHER_TOOLS.iter().find(|(words, ..)| words.contains(&word.as_str()));
    found.map(|(_, keys, place)| (*keys, *place))
}

/// The key of this table that a word of another tool means, else where it stands.
pub fn in_our_words(word: &str, known: &[&str], is_top: bool) -> Option<String> {
    let (keys, place) = meant_by(word)?;
    // The top of the file has a table of the name `clients`, which is not their number.
    let here = keys.iter().find(|key| known.contains(key) && !is_top);
    Some(match here {
        Some(key) => format!("did you mean `{key}`?"),
        None => format!("here this is `{}`, {place}", keys[0]),
    })
}

/// What to write in place of a key or a value that the file format no longer has.
pub fn in_place_of(word: &str) -> Option<&'static str> {
    REMOVED.iter().find(|(removed, _)| *removed == word).map(|(_, instead)| *instead)
}

/// Where in the file a key belongs that stands in the wrong table: in TOML, a key belongs to the last
/// table before it, which is easily forgotten.
pub fn home_of(key: &str) -> Option<&'static str> {
    if TOP_KEYS.contains(&key) {
        Some("at the top of the file, before the first table")
    } else if METHOD_KEYS.contains(&key) {
        Some("in [method]")
    } else if CONTENDER_KEYS.contains(&key) {
        Some("in a [[contender]]")
    } else if RUNG_KEYS.contains(&key) {
        Some("in a [[ladder]]")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_mean_keys_of_ours() {
        let check = |word: &str, known: &[&str], is_top: bool, expected: &str| {
            assert_eq!(in_our_words(word, known, is_top).as_deref(), Some(expected), "{word}");
        };
        for word in ["threads", "users", "vus", "VUs"] {
            check(word, &["clients", "rows"], false, "did you mean `clients`?");
        }
        check("threads", TOP_KEYS, true, "here this is `clients`, in [workload] or [sweep]");
        check("repetitions", METHOD_KEYS, false, "did you mean `blocks`?");
        check("iterations", &["rows"], false, "here this is `blocks`, in [method]");
        check("time", METHOD_KEYS, false, "did you mean `duration`?");
        check("scale", &["rows"], false, "did you mean `rows`?");
        check("table-size", &["warehouses"], false, "did you mean `warehouses`?");
        assert_eq!(in_our_words("rows", METHOD_KEYS, false), None);
    }

    #[test]
    fn a_renamed_key_is_no_key_any_more_and_its_note_names_one() {
        for old in ["contrast", "diagnose", "doubling", "drain", "clone"] {
            let new = in_place_of(old).and_then(|note| note.strip_prefix("write ")).unwrap();
            assert!(METHOD_KEYS.contains(&new) && !METHOD_KEYS.contains(&old), "{old}");
        }
    }
}
