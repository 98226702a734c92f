//! The keys of an experiment file that could stand in the wrong table, and where they belong.

pub const TOP_KEYS: &[&str] =
    &["name", "question", "baseline", "contender", "ladder", "workload", "sweep", "method", "clients"];
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
    fn a_renamed_key_is_no_key_any_more_and_its_note_names_one() {
        for old in ["contrast", "diagnose", "doubling", "drain", "clone"] {
            let new = in_place_of(old).and_then(|note| note.strip_prefix("write ")).unwrap();
            assert!(METHOD_KEYS.contains(&new) && !METHOD_KEYS.contains(&old), "{old}");
        }
    }
}
