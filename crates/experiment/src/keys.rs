//! The keys of an experiment file, table by table: how each is written, its default, and what it means.
//!
//! The list drives the reader, its messages and the reference documentation. Defaults that are values stand in
//! `default-experiment.toml` alone; the text here is for keys that have none.

use super::{CLIENTS, CORES, RATE};

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// How a value is written.
    pub value: &'static str,
    /// What is in force without it, where `default-experiment.toml` has no value.
    pub default: &'static str,
    pub meaning: &'static str,
}

const fn key(name: &'static str, value: &'static str, default: &'static str, meaning: &'static str) -> Key {
    Key { name, value, default, meaning }
}

/// A table of the file.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// As a file has it: `[method]`; empty for the top of the file.
    pub title: &'static str,
    /// Its name in `default-experiment.toml`.
    pub name: &'static str,
    pub meaning: &'static str,
    pub keys: &'static [Key],
}

/// Every table, in the order of a file.
pub const TABLES: &[Table] = &[
    Table { title: "", name: "", meaning: "The top of the file, before the first table.", keys: TOP_KEYS },
    Table {
        title: "[[contender]]",
        name: "contender",
        meaning: "One table for each server that is compared.",
        keys: CONTENDER_KEYS,
    },
    Table {
        title: "[workload]",
        name: "workload",
        meaning: "What the clients do; `[[workload]]` for several. These keys are understood by every workload; its \
                  own options stand beside them.",
        keys: WORKLOAD_KEYS,
    },
    Table {
        title: "[sweep]",
        name: "sweep",
        meaning: "The one number that varies. Values are a list, `[1, 2, 4]`, or a range, `{ from = 25, to = 650, \
                  step = 25 }`. Only `clients` may stand beside `cores`.",
        keys: SWEEP_KEYS,
    },
    Table { title: "[method]", name: "method", meaning: "How it is measured and judged.", keys: METHOD_KEYS },
    Table { title: "[clients]", name: "clients", meaning: "Where the load comes from.", keys: CLIENTS_KEYS },
    Table {
        title: "[cluster]",
        name: "cluster",
        meaning: "Workers in other processes and on other hosts make the load; without the table, dbduel itself does.",
        keys: CLUSTER_KEYS,
    },
    Table {
        title: "[gate]",
        name: "gate",
        meaning: "Limits of `--gate`. They are part of the plan, and the run goes on until they are decided.",
        keys: GATE_KEYS,
    },
    Table {
        title: "[gate.latency]",
        name: "gate.latency",
        meaning: "A limit of response times; `latency = { quantile = 99, max_slowdown = \"10%\" }` in `[gate]` is the \
                  short form.",
        keys: LATENCY_KEYS,
    },
    Table {
        title: "[recovery]",
        name: "recovery",
        meaning: "A durability and recovery experiment: every trial ends in a crash, and its tables are compared with \
                  what was acknowledged. The workload is `ledger`, or any other with clients of a ledger beside its \
                  own; `duration` in `[method]` is the time over which crashes are spread, behind `warmup`.",
        keys: RECOVERY_KEYS,
    },
    Table {
        title: "[[ladder]]",
        name: "ladder",
        meaning: "One rung of a tuning ladder: a contender that is made of the rung below and the changes of this \
                  table.",
        keys: RUNG_KEYS,
    },
];

pub const TOP_KEYS: &[Key] = &[
    key("name", "text", "the name of the file", "name of the experiment; run folders begin with it"),
    key("question", "text", "none", "free text, printed on top of the report"),
    key("baseline", "name of a contender", "the first contender", "the contender that all others are compared with"),
    key("contender", "tables", "required", "the servers that are compared"),
    key("ladder", "tables", "none", "rungs of a tuning ladder"),
    key(
        "workload",
        "table, tables or name",
        "required",
        "what the clients do; `workload = \"sql-bench\"` is the short form",
    ),
    key("sweep", "table", "nothing varies", "the number that varies"),
    key("method", "table", "preset standard", "how it is measured and judged"),
    key("clients", "table", "see [clients]", "where the load comes from"),
    key("cluster", "table", "none: dbduel itself makes the load", "workers that make the load"),
    key("gate", "table", "none: the verdict decides", "how much slower a candidate may be before `--gate` fails"),
    key("recovery", "table", "none: throughput is measured", "crashes instead of measured intervals"),
    key(
        "preset",
        "tables with the names of presets",
        "none",
        "what this file sets otherwise where the command line asks for another preset: `[preset.quick]`, with keys as `--set` has them, such as `\"method.blocks\" = 8`",
    ),
    key("labels", "table of short texts", "none", "what runs are found and joined by, such as commit = \"4f2a91c\""),
];

const TRANSPORT_MEANING: &str = "how clients connect to managed servers: `tcp` by loopback, `namespace` by TCP to a server in a network namespace \
                                 with an address of its own, which needs root and `ip`";

pub const CONTENDER_KEYS: &[Key] = &[
    key("name", "text", "the engine string", "name in reports; unique"),
    key(
        "engine",
        "text",
        "required",
        "engine and version: `mysql@5.6.24`, `postgres@17`, `mariadb@10.11.*`, `mariadb@system` for the installed one, \
         `mysql` for the newest",
    ),
    key(
        "settings",
        "table of the server's own settings, its file such as `\"@my.cnf\"`, or a list of both",
        "none",
        "settings of the server; each is read back. Of a file, what dbduel decides by itself and what the version no \
         longer has is left out and named; the run keeps what was in it",
    ),
    key(
        "storage",
        "`disk`, `tmpfs` or an existing folder",
        "",
        "where the data directory lies; `disk` is the work folder",
    ),
    key("transport", "`socket`, `tcp` or `namespace`", "that of [clients]", TRANSPORT_MEANING),
    key("cores", "CPU list such as `\"0-3\"`", "all CPUs that are not the client's", "CPUs that the server may use"),
    key("memory", "size such as `\"8GiB\"`", "all memory of the host", "memory limit, by a control group"),
    key("basedir", "folder", "none", "a server that you unpacked; a version in `engine` must be the one it has"),
    key(
        "archive",
        "file",
        "none",
        "a vendor's archive of a server (`.tar`, also with gzip, xz or zstd, or `.zip`), from the experiment's folder; \
         a version in `engine` must be the one it has",
    ),
    key("sha256", "text", "none", "with `archive`: the checksum that the file must have, in hexadecimal"),
    key(
        "image",
        "image such as `\"mysql:8.4\"`",
        "none",
        "a container image, as docker and podman name it; or one in an OCI layout (`oci:FOLDER:TAG`), a tar of one \
         (`oci-archive:`), what `docker save` writes (`docker-archive:`), or the local store of podman \
         (`containers-storage:NAME`) or docker (`docker-daemon:NAME`); the server runs in the image's own root file \
         system; `engine` is needed where the name does not show it",
    ),
    key(
        "pull",
        "`missing`, `always` or `never`",
        "`missing`",
        "with `image`: when a registry is asked what a tag means; a reference with a digest is never asked for twice",
    ),
    key(
        "platform",
        "text",
        "this machine's",
        "with `image`: `linux/amd64`; no other platform than this machine's runs",
    ),
    key("server", "path", "the only one", "with `image`: the path inside of the server, where there are several"),
    key(
        "target",
        "URL",
        "none",
        "a server that dbduel does not manage: no restart, no settings; what it counts is observed, and its processes where it runs on this host",
    ),
    key("overwrite", "true or false", "false", "with `target`: drop tables that dbduel did not make"),
    key("password_file", "file", "none", "with `target`: the file that holds the password"),
    key(
        "password_env",
        "variable",
        "DBDUEL_PASSWORD",
        "with `target`: the environment variable that holds the password",
    ),
    key(
        "password_command",
        "command",
        "none",
        "with `target`: a command of `sh` that prints the password, asked again when connections are opened, never while a load is measured",
    ),
];

pub const RUNG_KEYS: &[Key] = &[
    key("name", "text", "required", "name of the rung in reports; unique"),
    key(
        "on",
        "name of a contender",
        "that of the table before, else the baseline",
        "the contender that the ladder starts from",
    ),
    key("engine", "text", "that of the rung below", "another engine or version"),
    key("image", "image such as `\"mysql:8.4\"`", "that of the rung below", "another server, out of a container image"),
    key("pull", "`missing`, `always` or `never`", "`missing`", "with `image`, as in `[[contender]]`"),
    key("platform", "text", "this machine's", "with `image`, as in `[[contender]]`"),
    key("server", "path", "the only one", "with `image`, as in `[[contender]]`"),
    key("archive", "file", "that of the rung below", "another server, out of a vendor's archive"),
    key("sha256", "text", "none", "with `archive`, as in `[[contender]]`"),
    key("basedir", "folder", "that of the rung below", "another server, that you unpacked"),
    key(
        "settings",
        "table of the server's own settings, its file such as `\"@my.cnf\"`, or a list of both",
        "those of the rung below",
        "settings that this rung adds or changes",
    ),
    key(
        "storage",
        "`disk`, `tmpfs` or an existing folder",
        "that of the rung below",
        "another place for the data directory",
    ),
    key("cores", "CPU list such as `\"0-3\"`", "those of the rung below", "other CPUs"),
    key("memory", "size such as `\"8GiB\"`", "that of the rung below", "another memory limit"),
];

pub const WORKLOAD_KEYS: &[Key] = &[
    key("name", "name of a workload", "required", "what the clients do; `dbduel list workloads` has the names"),
    key("label", "text", "the name of the workload", "name in reports; needed where a workload stands twice"),
    key(
        "isolation",
        "`read uncommitted`, `read committed`, `repeatable read` or `serializable`",
        "each server's own",
        "one isolation level for all contenders",
    ),
    key(
        RATE,
        "transactions per second",
        "none: a closed loop",
        "open loop: transactions arrive at this rate, whatever the server does; response time counts from when each was due",
    ),
    key("arrivals", "`poisson` or `constant`", "", "how the arrivals of `rate` are spaced"),
    key(
        "events",
        "whole number",
        "none: a trial takes `duration`",
        "a trial ends when so many transactions have ended, or after `duration`, whichever comes first; throughput is of the time until the last of them",
    ),
    key("max_requests", "whole number", "none", "`events` by its name in sysbench 0.4"),
    key("data_seed", "whole number", "", "seed of the rows; another one loads other data"),
    key(CLIENTS, "whole number", "", "number of clients, where no sweep varies it"),
    key(
        KILLS,
        "0 to 100",
        "0",
        "before the first block each server is killed so often under this workload, and the time to its next commit is reported; [recovery] shows more",
    ),
    key(
        LOADS,
        "0 to 100",
        "0",
        "before the first block its tables are loaded so often into an empty server of each contender, and the time is reported",
    ),
];
/// Trials before the first block that a workload asks for.
pub const KILLS: &str = "kills";
pub const LOADS: &str = "loads";

pub const SWEEP_KEYS: &[Key] = &[
    key(CORES, "list or range", "none", "cores of the server; the best number of clients for each is reported"),
    key(
        CLIENTS,
        "list, range, `per-core` or `cores`",
        "none",
        "number of clients; beside `cores` also `per-core` (1, 2, 4 and 8 for each core) and `cores` (1 for each core), alone or in the list",
    ),
    key(RATE, "list or range", "none", "arrivals per second of an open loop"),
    key("warehouses", "list or range", "none", "data size of the TPC-C-derived workload"),
    key("speed", "list or range", "none", "with pacing = \"speed\", what the times of a replayed log are divided by"),
];

pub const CLIENTS_KEYS: &[Key] = &[
    key("transport", "`socket`, `tcp` or `namespace`", "", TRANSPORT_MEANING),
    key(
        CORES,
        "CPU list such as `\"3\"`",
        "the last quarter of the CPUs; all of them with fewer than 4",
        "CPUs of the load generator",
    ),
];

pub const CLUSTER_KEYS: &[Key] = &[
    key("launcher", "`local`, `slurm` or `ssh`", "required", "what starts the workers: dbduel itself, srun, or ssh"),
    key("workers", "1 to 256", "ssh: one for each host; local: 1", "processes that make the load together"),
    key("hosts", "list of texts", "none", "ssh: hosts by the names that your ssh has; workers are dealt out in turn"),
    key("weights", "list of whole numbers", "all equal", "shares of clients and rate, one for each worker"),
    key("slurm", "list of texts", "none", "options for srun, handed on as they are"),
    key("ssh", "list of texts", "none", "options for ssh, handed on as they are"),
    key("binary", "path", "the path of this one", "where dbduel lies on the other hosts; it must be the same program"),
    key(
        "secret",
        "text such as `\"stdin\"`",
        "stdin",
        "slurm: how workers get their boot line; `file:PATH` for a file (0600) that all hosts have",
    ),
    key(
        "listen",
        "text such as `\"10.0.0.2:0\"`",
        "the address of this host's name",
        "slurm: where workers connect to",
    ),
    key(
        "server_listen",
        "text such as `\"10.0.0.5\"`",
        "loopback",
        "the one address of this host that managed servers listen on, for workers on other hosts",
    ),
    key(
        "observe_host",
        "text such as `\"db1\"`",
        "none",
        "the host of the targets, by the name that your ssh has: an agent there shows what the servers and their host do",
    ),
    key("allow_public", "true or false", "false", "`server_listen` may be a public address"),
    key("launch_timeout", "time", "", "within this time all workers must have come"),
    key("lost_after", "time", "", "a worker that is silent for so long is lost, and its trial has failed"),
    key("keep_raw", "true or false", "", "keep every response time of each worker, in `trials/N/raw-W.bin`"),
];

pub const GATE_KEYS: &[Key] = &[
    key(
        "max_slowdown",
        "percentage such as `\"3%\"`",
        "none: the verdict decides",
        "throughput may be this much lower, or a pass this much longer; takes the place of the verdict",
    ),
    key("latency", "table", "none", "limit of a quantile of response times"),
];

pub const RECOVERY_KEYS: &[Key] = &[
    key("kills", "1 to 10000", "", "crashes of each contender, of each kind"),
    key(
        "crash",
        "`kill`, `os` or `both`",
        "",
        "what crashes: all processes of the server, the file system of its data (needs root), or one and the other in \
         turn",
    ),
    key(
        "full_rate_within",
        "time",
        "",
        "how long the load goes on after the restart until the throughput is back; `0s` ends it with the first commits",
    ),
    key(
        "ledger_clients",
        "1 to 1000",
        "",
        "clients of the ledger beside those of a workload that keeps none: their commits are looked up after the crash",
    ),
];

pub const LATENCY_KEYS: &[Key] = &[
    key("quantile", "`50`, `95`, `99` or `99.9`", "required", "the quantile, in percent"),
    key("max_slowdown", "percentage such as `\"10%\"`", "required", "it may be this much longer"),
];

pub const METHOD_KEYS: &[Key] = &[
    key("preset", "`quick`, `standard` or `strict`", "", "the values of keys that the file does not set"),
    key("duration", "time such as `\"60s\"`", "", "length of the measured part of a trial"),
    key("warmup", "time or `auto`", "", "load before the measured part; `auto` takes it from a pilot run"),
    key("pilot", "time such as `\"300s\"`", "", "length of the pilot run of each contender, with `warmup = \"auto\"`"),
    key("blocks", "1 to 1000", "", "blocks at most; a verdict needs 8"),
    key(
        "margin",
        "percentage such as `\"1%\"`",
        "",
        "smallest difference that matters: below it contenders count as equal",
    ),
    key("budget", "time such as `\"20m\"`", "none", "end the run after the last whole block that fits this time"),
    key("seed", "whole number", "", "seed of the order of trials and of the clients' inputs"),
    key(
        "stop",
        "`overall`, `points`, `gate` or `never`",
        "",
        "end the run when the overall verdicts are decided, when those of all points are, when the limits of `[gate]` are, or after all blocks",
    ),
    key(
        "noisy_host",
        "`refuse` or `stamp`",
        "",
        "what to do when other processes use more than 10 % of the CPU: refuse to start, or measure with the caveat `noisy host`",
    ),
    key(
        "page_cache",
        "`warm`, `cold` or `direct`",
        "",
        "data files before a trial: read once, dropped from the page cache, or opened without it",
    ),
    key("steady_state", "true or false", "", "check whether throughput still rises or falls inside trials"),
    key(
        "wait_for_deferred_work",
        "true or false",
        "",
        "wait after a trial until the server has flushed what it put off, and charge the time",
    ),
    key("repeats", "true or false", "", "measure pairs again in which the host was disturbed"),
    key(
        "headroom_check",
        "true or false",
        "",
        "repeat the peak with twice the generator's threads: is the generator the limit?",
    ),
    key("test_causes", "true or false", "", "test reported causes by four more blocks without them"),
    key("profile", "true or false", "", "profile one more trial of each contender; never part of a verdict"),
    key("rule", "`exact` or `t`", "", "the test behind verdicts: exact signed ranks, or Student's t"),
    key("work_copy", "`copy` or `reflink`", "", "how each trial gets its fresh data files"),
    key("duet", "true or false", "", "run both contenders at the same time, each on half of the CPUs"),
    key("fast_sweep", "true or false", "", "start each server once in a block and run all points on it"),
    key("ablation", "true or false", "false", "with a ladder: measure the highest rung without each of its steps"),
];

/// The names of keys, in their order.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

fn has(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}

/// What a key of a table means.
pub fn meaning(title: &str, name: &str) -> Option<&'static str> {
    let table = TABLES.iter().find(|table| table.title == title)?;
    table.keys.iter().find(|key| key.name == name).map(|key| key.meaning)
}

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
    (
        &["threads", "users", "vus", "num_threads", "jobs", "connections", "concurrency"],
        &["clients"],
        "in [workload] or [sweep]",
    ),
    (&["repetitions", "iterations", "runs", "trials"], &["blocks"], "in [method]"),
    (&["time", "max_time", "runtime"], &["duration"], "in [method]"),
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
    if has(TOP_KEYS, key) {
        Some("at the top of the file, before the first table")
    } else if has(METHOD_KEYS, key) {
        Some("in [method]")
    } else if has(CONTENDER_KEYS, key) {
        Some("in a [[contender]]")
    } else if has(RUNG_KEYS, key) {
        Some("in a [[ladder]]")
    } else if has(CLUSTER_KEYS, key) {
        Some("in [cluster]")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defaults::{NOISY_HOST_WORDS, RULES, STOP_WORDS};
    use engine::request::{PAGE_CACHE_WORDS, PULL_WORDS, TRANSPORT_WORDS, WORK_COPY_WORDS};

    #[test]
    fn words_of_other_tools_mean_keys_of_ours() {
        let check = |word: &str, known: &[&str], is_top: bool, expected: &str| {
            assert_eq!(in_our_words(word, known, is_top).as_deref(), Some(expected), "{word}");
        };
        for word in ["threads", "users", "vus", "VUs"] {
            check(word, &["clients", "rows"], false, "did you mean `clients`?");
        }
        check("threads", &names(TOP_KEYS), true, "here this is `clients`, in [workload] or [sweep]");
        check("repetitions", &names(METHOD_KEYS), false, "did you mean `blocks`?");
        check("iterations", &["rows"], false, "here this is `blocks`, in [method]");
        check("time", &names(METHOD_KEYS), false, "did you mean `duration`?");
        check("scale", &["rows"], false, "did you mean `rows`?");
        check("table-size", &["warehouses"], false, "did you mean `warehouses`?");
        assert_eq!(in_our_words("rows", &names(METHOD_KEYS), false), None);
    }

    #[test]
    fn a_renamed_key_is_no_key_any_more_and_its_note_names_one() {
        for old in ["contrast", "diagnose", "doubling", "drain", "clone"] {
            let new = in_place_of(old).and_then(|note| note.strip_prefix("write ")).unwrap();
            assert!(has(METHOD_KEYS, new) && !has(METHOD_KEYS, old), "{old}");
        }
    }

    #[test]
    fn every_word_of_a_choice_stands_with_its_key() {
        let key = |keys: &'static [Key], name: &str| keys.iter().find(|key| key.name == name).unwrap();
        let check = |keys, name: &str, words: &[&str]| {
            let value = key(keys, name).value;
            assert_eq!(value.matches('`').count(), words.len() * 2, "{name}: {value}");
            words.iter().for_each(|word| assert!(value.contains(&format!("`{word}`")), "{name}: {word}"));
        };
        let presets = crate::preset_names();
        check(METHOD_KEYS, "preset", &presets.iter().map(String::as_str).collect::<Vec<_>>());
        check(METHOD_KEYS, "stop", &words(STOP_WORDS));
        check(METHOD_KEYS, "noisy_host", &words(NOISY_HOST_WORDS));
        check(METHOD_KEYS, "rule", &RULES.map(|rule| rule.as_str()));
        check(CONTENDER_KEYS, "pull", &words(PULL_WORDS));
        check(METHOD_KEYS, "page_cache", &words(PAGE_CACHE_WORDS));
        check(METHOD_KEYS, "work_copy", &words(WORK_COPY_WORDS));
        check(CLIENTS_KEYS, "transport", &words(TRANSPORT_WORDS));
        check(CLUSTER_KEYS, "launcher", &words(crate::cluster::LAUNCHER_WORDS));
        check(WORKLOAD_KEYS, "isolation", &driver::Isolation::ALL.map(|level| level.as_str()));
    }

    fn words<T>(choice: &[(&'static str, Option<T>)]) -> Vec<&'static str> {
        choice.iter().map(|(word, _)| *word).collect()
    }
}
