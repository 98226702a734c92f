//! Settings, a missing index and a slow way to a server that make known kinds slower.

use std::time::Duration;

use anyhow::Result;

use crate::forwarder;
use crate::held::Held;
use crate::planted_operations::{Cause, Expected, Plant, Planted, Runs, Sabotage, side};

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
            cause: Cause::None,
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
            cause: Cause::None,
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
            cause: Cause::OtherPlan,
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
            cause: Cause::OtherPlan,
        },
    },
];

const SABOTAGES: [Sabotage; 1] = [Sabotage {
    name: "a dropped index",
    engine: "mariadb@system",
    settings: &[],
    statements: &["DROP INDEX micro_detail_place ON micro_detail"],
    expected: Expected {
        slower: &["point/secondary", "range/secondary-100"],
        untouched: &["point/pk", "range/pk-100", "range/scan"],
        cause: Cause::OtherPlan,
    },
}];
const SLOW_LOGIN: &str = "a slow login";
const CONNECT: Expected = Expected {
    slower: &["point/connect-tcp"],
    untouched: &["point/pk", "range/pk-100", "aggregate/sum-100"],
    cause: Cause::None,
};
/// Twice a login by way of a forwarder. On a busy host twelve blocks decide about half of one in 11 runs of 20.
const DELAY: Duration = Duration::from_millis(2);

/// What is wrong of each, a line each.
pub fn planted(runs: &Runs) -> Result<Vec<String>> {
    let mut wrong = PLANTED.settings(&SETTINGS, runs)?;
    wrong.extend(PLANTED.sabotages(&SABOTAGES, runs)?);
    if runs.includes(SLOW_LOGIN) {
        wrong.extend(slow_login(runs)?);
    }
    Ok(wrong)
}

fn slow_login(runs: &Runs) -> Result<Option<String>> {
    let server = Held::start_or_fail(runs.dbduel, "mariadb@system", &["--tcp"])?;
    let other = Held::start_or_fail(runs.dbduel, "mariadb@system", &["--tcp"])?;
    let door = |server: &Held, delay| side(server, forwarder::slow_to_connect(server.port()?, delay)?);
    let sides = [door(&server, Duration::ZERO)?, door(&other, DELAY)?];
    let wrong = PLANTED.judged(SLOW_LOGIN, &sides, CONNECT, runs)?;
    server.stop()?;
    other.stop()?;
    Ok(wrong)
}
