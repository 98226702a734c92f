//! The experiments that come with dbduel: their names and questions, for who has no file yet.

/// Needs no server, and takes less than two minutes.
pub const FIRST: &str = "quickstart";

/// Experiments that run by name, from any folder.
pub const BY_NAME: &[(&str, &str)] = &[(FIRST, SHIPPED[0].1), ("upgrade", SHIPPED[1].1)];

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../experiments/", $name)))),+]
    };
}

/// Files under `experiments/`, those that run by name in front.
const SHIPPED: &[(&str, &str)] = shipped![
    "quickstart.toml",
    "upgrade.toml",
    "analytic.toml",
    "compressed-tables.toml",
    "cpu-efficiency.toml",
    "dbt2-innodb-builds.toml",
    "flush-policy.toml",
    "hosted-iops.toml",
    "hosted-vs-local.toml",
    "ladder-mysql.toml",
    "ladder-mysql-recovery.toml",
    "ladder-postgresql.toml",
    "mysql-5.5-vs-5.6.toml",
    "mysql-vs-postgresql-oltp.toml",
    "own-sql.toml",
    "point-selects-mariadb.toml",
    "point-selects-mysql.toml",
    "point-selects-postgresql.toml",
    "postgresql-synchronous-commit.toml",
    "recovery-log-size.toml",
    "shootout-tuned.toml",
    "sql-bench-5.5-5.6-ps-off-mariadb.toml",
    "sqlite-synchronous.toml",
    "threads-5.0-5.5.toml",
    "threads-5.5-5.6.toml",
    "tpcc-mysql-vs-postgresql-warehouses.toml",
    "tpcc-procedures-vs-rows.toml",
];

/// `dbduel plan` without a file.
pub fn list() -> String {
    let entry = |(name, text): &(&str, &str)| format!("  experiments/{name}\n      {}\n", question(text));
    let entries: String = SHIPPED.iter().map(entry).collect();
    let inside = "`quickstart` and `upgrade` are inside the program and need no file";
    format!("Experiments that come with the source of dbduel; {inside}:\n{entries}\nnext: dbduel plan {FIRST}\n")
}

fn question(text: &str) -> String {
    let file: toml::Table = text.parse().unwrap_or_default();
    file.get("question").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_listed_with_its_question() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
        let mut listed: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        names.sort();
        listed.sort_unstable();
        assert_eq!(names, listed);
        for (name, text) in SHIPPED {
            assert!(!question(text).is_empty(), "{name}");
        }
    }
}
