//! Whether the tables that a run finds are those that its options ask for.

use anyhow::Context;
use driver::{Admin, Indexes, Isolation};
use load::{Setting, Table};

use crate::job::Job;

/// The workload's tables as they were asked for, and as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Of the table that holds least: its name, the rows asked for, and the greatest id that it has. None where
    /// rows have no ids of their own.
    pub least: Option<(String, u64, u64)>,
    /// The next table of a numbered series, where it is there although nobody asked for it.
    pub further: Option<String>,
    pub foreign_keys_asked: usize,
    pub foreign_keys: usize,
    /// Of the first table whose form differs: keys, indexes, storage engine. Empty where all are as asked for.
    pub differences: Vec<String>,
    /// Answers depend on both.
    pub setting: Setting,
}

/// Asks nothing that would read a whole table: a run is not to find in memory what it would not have.
pub fn find_tables(job: &Job, admin: &mut Admin) -> anyhow::Result<Tables> {
    let (mut least, mut further, mut foreign_keys_asked, mut foreign_keys) = (None, None, 0, 0);
    let mut differences = Vec::new();
    for table in job.workload.tables(job.target.dialect) {
        let name = &table.name;
        foreign_keys_asked += table.ddl().map(|sql| sql.matches("FOREIGN KEY").count()).sum::<usize>();
        let own_keys = admin.foreign_keys(name).with_context(|| format!("cannot read what {name} is"))?;
        foreign_keys += own_keys;
        if differences.is_empty() {
            let found = differences_of(&table, own_keys > 0, admin);
            differences = found.with_context(|| format!("cannot read what {name} is"))?;
        }
        if table.columns.first().is_some_and(|column| column == "id") && table.rows > 0 {
            let most = admin.value(&format!("SELECT MAX(id) FROM {name}"))?;
            let most = most.and_then(|id| id.parse().ok()).unwrap_or(0);
            if least.as_ref().is_none_or(|(_, _, known)| most < *known) {
                least = Some((name.clone(), table.rows, most));
            }
            further =
                next_in_series(name).filter(|next| admin.rows(&format!("SELECT 1 FROM {next} WHERE 1 = 0")).is_ok());
        }
    }
    // A server that does not name its level gives no more than the weakest.
    let isolation = admin.isolation().unwrap_or(Isolation::ReadUncommitted);
    Ok(Tables {
        least,
        further,
        foreign_keys_asked,
        foreign_keys,
        differences,
        setting: Setting { dialect: job.target.dialect, isolation },
    })
}

/// `sbtest2` behind `sbtest1`.
fn next_in_series(name: &str) -> Option<String> {
    let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number: u64 = name[stem.len()..].parse().ok()?;
    Some(format!("{stem}{}", number + 1))
}

/// Keys, indexes and storage engine of one table. A table that the user's own statements make is not looked at.
fn differences_of(table: &Table, has_foreign_keys: bool, admin: &mut Admin) -> Result<Vec<String>, driver::Error> {
    if table.create.is_empty() {
        return Ok(Vec::new());
    }
    let name = &table.name;
    let (asked, there) = (indexes_of(table.ddl()), admin.indexes(name)?);
    let mut differences: Vec<String> = match (asked.primary, there.primary) {
        (true, false) => vec![format!("{name} has no primary key")],
        (false, true) => vec![format!("{name} has a primary key that was not asked for")],
        _ => Vec::new(),
    };
    let missing = asked.others.difference(&there.others);
    differences.extend(missing.map(|columns| format!("{name} has no index on {columns}")));
    // MySQL makes an index for each foreign key that has none.
    if !has_foreign_keys {
        let further = there.others.difference(&asked.others);
        differences.extend(further.map(|columns| format!("{name} has an index on {columns} that was not asked for")));
    }
    let asked = table.create.iter().find_map(|sql| storage_engine(sql));
    let there = if asked.is_some() { storage_engine(&admin.show_table(name)?) } else { None };
    if let (Some(asked), Some(there)) = (asked, there)
        && asked != there
    {
        differences.push(format!("{name} is of the storage engine {there}, not {asked}"));
    }
    Ok(differences)
}

/// What our own statements make: `PRIMARY KEY`, `KEY name (columns)` in a line of its own, `CREATE INDEX`.
fn indexes_of<'a>(ddl: impl Iterator<Item = &'a str>) -> Indexes {
    let mut indexes = Indexes::default();
    for sql in ddl {
        indexes.primary |= sql.contains("PRIMARY KEY");
        let made = ["CREATE INDEX ", "CREATE UNIQUE INDEX "].iter().any(|verb| sql.starts_with(verb));
        let named = sql.lines().map(str::trim_start).filter(|line| line.starts_with("KEY "));
        indexes.others.extend(made.then_some(sql).into_iter().chain(named).filter_map(columns_of));
    }
    indexes
}

/// The columns between the first parentheses, without what says how each is compared.
fn columns_of(sql: &str) -> Option<String> {
    let (_, behind) = sql.split_once('(')?;
    let (columns, _) = behind.split_once(')')?;
    let first_words = columns.split(',').filter_map(|column| column.split_whitespace().next());
    Some(first_words.collect::<Vec<_>>().join(", "))
}

fn storage_engine(sql: &str) -> Option<String> {
    let sql = sql.to_lowercase();
    let (_, behind) = sql.split_once("engine")?;
    let name = behind.trim_start().strip_prefix('=')?.trim_start();
    Some(name.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect())
}

impl Tables {
    /// What is there, for the report.
    pub fn text(&self) -> String {
        let keys = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
        let rows = self.least.iter().map(|(name, asked, most)| {
            let part = if most > asked { ", so that a part of the table is used" } else { "" };
            format!("{asked} rows asked for, {name} has ids to {most}{part}; ")
        });
        let further = self.further.iter().map(|name| format!("{name} is there too and is not used; "));
        let differences = self.differences.iter().map(|difference| format!("{difference}; "));
        let asked = keys(self.foreign_keys_asked);
        rows.chain(further)
            .chain(differences)
            .chain([format!("foreign keys: {asked} asked for, {} there", keys(self.foreign_keys))])
            .collect()
    }

    /// Flags with their reasons, where tables differ from the options.
    pub fn flags(&self) -> Vec<(String, String)> {
        let mut flags = Vec::new();
        if let Some((name, asked, most)) = self.least.as_ref().filter(|(_, asked, most)| most < asked) {
            let why = format!("{asked} rows were asked for, and the greatest id of {name} is {most}");
            flags.push(("rows".to_owned(), why));
        }
        if self.foreign_keys != self.foreign_keys_asked {
            let (asked, there) = (self.foreign_keys_asked, self.foreign_keys);
            flags.push(("foreign-keys".to_owned(), format!("{asked} were asked for, {there} are there")));
        }
        if !self.differences.is_empty() {
            flags.push(("form-of-tables".to_owned(), self.differences.join("; ")));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_engines_are_read_from_our_own_statements() {
        let ddl = [
            "CREATE TABLE a (\n  id INTEGER,\n  PRIMARY KEY (id),\n  KEY xid (id)\n) ENGINE = InnoDB MAX_ROWS=9",
            "CREATE INDEX a_b ON a (b text_pattern_ops, c)",
            "CREATE UNIQUE INDEX a_d ON a(d)",
            "ANALYZE TABLE a",
        ];
        let found = indexes_of(ddl.into_iter());
        assert!(found.primary);
        assert_eq!(found.others.into_iter().collect::<Vec<_>>(), ["b, c", "d", "id"]);
        assert_eq!(storage_engine(ddl[0]).as_deref(), Some("innodb"));
        assert_eq!(storage_engine("CREATE TABLE a (id INTEGER)"), None);
    }
}
