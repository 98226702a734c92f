//! Settings, a missing index and a slow way to a server that make known kinds slower.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::forwarder;
use crate::held::Held;
use crate::planted_operations::{Expected, Plant, Planted, Runs};

/// Of eight blocks each must agree: one that the host disturbed took a verdict away in three runs of twenty.
const PLANTED: Planted =
    Planted { workload: "name = \"micro\", rows = 20_000, seconds = \"100ms\"", key: "kinds", blocks: 12 };

const SETTINGS: [Plant; 4] = [
    Plant {
        name: "nothing",
        engine: "mariadb@system",
        sound: "",
        planted: "",
        expected: Expected {
            slower: &[],
            untouched: &[
                "point/pk",
                "point/connect",
                "range/pk-100",
                "range/join-10",
                "aggregate/sum-100",
                "write/update-index",
            ],
        },
    },
    Plant {
        name: "the log is flushed at each commit",
        engine: "mariadb@system",
        sound: "innodb_flush_log_at_trx_commit = 0",
        planted: "innodb_flush_log_at_trx_commit = 1",
        expected: Expected {
            slower: &["write/commit", "write/insert", "write/update-index"],
            untouched: &["point/pk", "range/pk-100", "aggregate/sum-1000"],
        },
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "",
        planted: "enable_indexscan = \"off\", enable_bitmapscan = \"off\", enable_indexonlyscan = \"off\"",
        expected: Expected {
            slower: &["point/pk", "point/secondary", "range/pk-100"],
            untouched: &["range/scan", "range/scan-like", "aggregate/sum-all"],
        },
    },
    Plant {
        name: "groups are sorted",
        engine: "postgres@system",
        sound: "",
        planted: "enable_hashagg = \"off\"",
        expected: Expected {
            slower: &["aggregate/group-many"],
            untouched: &["point/pk", "range/scan", "aggregate/sum-all"],
        },
    },
];

const INDEX: Expected = Expected {
    slower: &["point/secondary", "range/secondary-100"],
    untouched: &["point/pk", "range/pk-100", "range/scan"],
};
const CONNECT: Expected =
    Expected { slower: &["point/connect-tcp"], untouched: &["point/pk", "range/pk-100", "aggregate/sum-100"] };
/// About half of a login by way of a forwarder: what twelve blocks show of a tenth of it depends on the host.
const DELAY: Duration = Duration::from_micros(500);

/// What is wrong of each, a line each.
pub fn planted(runs: &Runs) -> Result<Vec<String>> {
    let mut wrong = PLANTED.settings(&SETTINGS, runs)?;
    let servers = [(); 2].map(|()| Held::start_or_fail(runs.dbduel, "mariadb@system", &["--tcp"]));
    let [sound, planted] = servers;
    let (sound, planted) = (sound?, planted?);
    let sides = [side(&sound, sound.port()?)?, side(&planted, planted.port()?)?];
    let has_ended = AtomicBool::new(false);
    wrong.extend(thread::scope(|scope| {
        let dropping = scope.spawn(|| keep_without_index(&planted, &has_ended));
        let judged = PLANTED.judged("a dropped index", &sides, INDEX, runs);
        has_ended.store(true, Ordering::Relaxed);
        dropping.join().expect("dropping an index does not panic")?;
        judged
    })?);
    let door = |server: &Held, delay| side(server, forwarder::slow_to_connect(server.port()?, delay)?);
    let sides = [door(&sound, Duration::ZERO)?, door(&planted, DELAY)?];
    wrong.extend(PLANTED.judged("a slow login", &sides, CONNECT, runs)?);
    sound.stop()?;
    planted.stop()?;
    Ok(wrong)
}

fn side(server: &Held, port: u16) -> Result<String> {
    let word = |key: &str| server.text(key);
    let (user, password, database) = (word("user")?, word("password")?, word("database")?);
    Ok(format!("target = \"mysql://{user}:{password}@127.0.0.1:{port}/{database}\""))
}

/// The tables are loaded when a run begins; before that there is nothing to drop.
fn keep_without_index(server: &Held, has_ended: &AtomicBool) -> Result<()> {
    let mut admin = server.admin(server.text("database")?)?;
    while !has_ended.load(Ordering::Relaxed) {
        let _ = admin.run("DROP INDEX micro_detail_place ON micro_detail");
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
