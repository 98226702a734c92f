//! Execution plans of MySQL and MariaDB: as JSON where the release writes it, else a row for each table. Both are read into
//! the same tree, so that releases of either form can be compared.

mod json;
mod rows;
mod words;

use anyhow::{Result, ensure};
use driver::Admin;
use engine::{Explained, PlanSwitch, version_numbers};
use record::format::PlanNode;

pub use json::read as read_json;
pub use rows::read as read_rows;

/// The first MySQL with JSON and with plans of statements that change rows.
const MYSQL_WITH_JSON: &[u32] = &[5, 6, 5];
const MARIADB_WITH_JSON: &[u32] = &[10, 1, 2];
/// From here on JSON has another form by default, which has no names for what is compared.
const MYSQL_WITH_OTHER_JSON: &[u32] = &[8, 3];

const fn flag(off: &'static str, instead_of: &'static str, step: fn(&PlanNode) -> bool) -> PlanSwitch {
    PlanSwitch { setting: "optimizer_switch", off, step, instead_of }
}

/// How tables are read is no setting's choice. MySQL 8.0.20 and later have a hash join where they had blocks before, by the
/// same flag; MariaDB has levels.
pub const SWITCHES: &[PlanSwitch] = &[
    flag("block_nested_loop=off", "join", has_buffer),
    PlanSwitch { setting: "join_cache_level", off: "0", step: has_buffer, instead_of: "join" },
    flag("join_cache_hashed=off", "join", |node| node.join.as_deref() == Some("hash join")),
    flag("batched_key_access=off", "join", |node| node.join.as_deref() == Some("batched key access")),
    flag("index_merge=off", "merge", |node| node.operator == "index merge"),
    flag("materialization=off", "subquery", |node| node.table.as_deref() == Some("<subquery>")),
];

fn has_buffer(node: &PlanNode) -> bool {
    node.join.as_deref().is_some_and(|join| ["block nested loop", "hash join"].contains(&join))
}

pub fn explain(admin: &mut Admin, sql: &str) -> Result<Explained> {
    let version = admin.server_version().to_owned();
    let is_mariadb = version.contains("MariaDB");
    let numbers = version_numbers(version.strip_prefix("5.5.5-").unwrap_or(&version));
    let has_json = numbers.as_slice() >= if is_mariadb { MARIADB_WITH_JSON } else { MYSQL_WITH_JSON };
    if !has_json {
        ensure!(is_mariadb || is_select(sql), "MySQL {version} explains only SELECT");
        let answer = admin.rows(&format!("EXPLAIN {sql}"))?;
        return Ok(Explained { lines: rows::lines(&answer), tree: read_rows(&answer) });
    }
    if !is_mariadb && numbers.as_slice() >= MYSQL_WITH_OTHER_JSON {
        admin.run("SET explain_json_format_version = 1")?;
    }
    let text = admin.value(&format!("EXPLAIN FORMAT=JSON {sql}"))?.unwrap_or_default();
    Ok(Explained { lines: text.lines().map(str::to_owned).collect(), tree: read_json(&text) })
}

fn is_select(sql: &str) -> bool {
    let sql = sql.trim_start_matches(|letter: char| letter == '(' || letter.is_whitespace());
    sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_select_is_one() {
        assert!(is_select(" ( SELECT 1)") && is_select("select 1") && !is_select("DELETE FROM t"));
    }
}
