//! What memory MySQL and MariaDB take.

use engine::memory_need::{CONNECTION_BYTES, Given, PROGRAM, Parts};
use engine::tunable::{KIB, MIB};

pub fn memory(is_mariadb: bool, version: &[u32], given: &Given) -> Option<Parts> {
    let since = |first: &[u32]| version >= first;
    let pool = if is_mariadb || since(&[5, 5]) { 128 * MIB } else { 8 * MIB };
    let log_buffer = match version {
        _ if !is_mariadb && since(&[8, 4]) => 64 * MIB,
        _ if is_mariadb || since(&[5, 7]) => 16 * MIB,
        _ if since(&[5, 5]) => 8 * MIB,
        _ => MIB,
    };
    let watches_itself = given.switch("performance_schema", !is_mariadb && since(&[5, 6]));
    let shared = vec![
        ("innodb_buffer_pool_size", given.mysql("innodb_buffer_pool_size", pool)?),
        ("innodb_log_buffer_size", given.mysql("innodb_log_buffer_size", log_buffer)?),
        // Without tables of MyISAM these stay empty, unless they are set.
        ("key_buffer_size", given.mysql("key_buffer_size", 0)?),
        ("query_cache_size", given.mysql("query_cache_size", 0)?),
        ("performance_schema", if watches_itself { performance_schema_bytes(is_mariadb, version) } else { 0 }),
        (PROGRAM, mysql_program_bytes(is_mariadb, version)),
    ];
    let sort = if is_mariadb || !since(&[5, 6]) { 2 * MIB } else { 256 * KIB };
    let join = if !is_mariadb && !since(&[5, 6]) { 128 * KIB } else { 256 * KIB };
    let stack = match version {
        _ if is_mariadb => 292 * KIB,
        _ if since(&[9]) => MIB,
        _ if since(&[8]) => 280 * KIB,
        _ => 256 * KIB,
    };
    let per_connection = [
        ("sort_buffer_size", sort),
        ("join_buffer_size", join),
        ("read_buffer_size", 128 * KIB),
        ("read_rnd_buffer_size", 256 * KIB),
        ("thread_stack", stack),
    ];
    let mut each = CONNECTION_BYTES;
    for (name, default) in per_connection {
        each += given.mysql(name, default)?;
    }
    Some((shared, each))
}

/// What an idle server takes besides its buffers, as it was seen with a pool of 16 MB on x86-64.
fn mysql_program_bytes(is_mariadb: bool, version: &[u32]) -> u64 {
    let mib = match version {
        _ if is_mariadb => 90,
        [5, 0, ..] => 15,
        [5, 5, ..] => 25,
        [5, 6, ..] => 30,
        [5, 7, ..] => 40,
        [8, ..] => 140,
        _ => 210,
    };
    mib * MIB
}

/// Seen as above. Until 5.6 it takes the memory for everything it might count when the server starts; later
/// versions take more as they need it.
fn performance_schema_bytes(is_mariadb: bool, version: &[u32]) -> u64 {
    let mib = match version {
        _ if is_mariadb => 100,
        [5, 5, ..] => 380,
        [5, 6, ..] => 430,
        [5, 7, ..] => 135,
        _ => 240,
    };
    mib * MIB
}
