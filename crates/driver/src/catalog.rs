//! Which tables a database has, and how it describes them.

use std::collections::BTreeSet;

use crate::{Admin, Dialect, Error};

/// The keys of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indexes {
    pub primary: bool,
    /// The columns of each other index, as in `a, b`; those of expressions are left out.
    pub others: BTreeSet<String>,
}

impl Admin {
    /// The names of all tables and views of this session's database.
    pub fn table_names(&mut self) -> Result<Vec<String>, Error> {
        let rows = self.rows(match self.dialect() {
            Dialect::MySql => "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
            Dialect::Postgres => {
                "SELECT table_name FROM information_schema.tables WHERE table_schema = ANY (current_schemas(false))"
            }
            Dialect::Sqlite => "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
        })?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    /// Whether the database has a table (or a view) of this name.
    pub fn has_table(&mut self, table: &str) -> Result<bool, Error> {
        let sql = match self.dialect() {
            Dialect::MySql => format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{table}'"
            ),
            Dialect::Postgres => format!("SELECT COUNT(to_regclass('{table}'))"),
            Dialect::Sqlite => format!("SELECT COUNT(*) FROM sqlite_schema WHERE name = '{table}'"),
        };
        Ok(self.value(&sql)?.is_some_and(|count| count != "0"))
    }

    /// One table as its server describes it: CREATE statements, or the nearest that it offers.
    pub fn show_table(&mut self, table: &str) -> Result<String, Error> {
        match self.dialect() {
            Dialect::MySql => {
                let rows = self.rows(&format!("SHOW CREATE TABLE {table}"))?;
                let ddl = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
                ddl.ok_or_else(|| Error::Protocol(format!("SHOW CREATE TABLE {table} gave nothing")))
            }
            Dialect::Sqlite => self
                .joined(&format!("SELECT sql FROM sqlite_schema WHERE tbl_name = '{table}' ORDER BY type DESC"), ";\n"),
            Dialect::Postgres => {
                let columns = format!(
                    "SELECT '  ' || attname || ' ' || format_type(atttypid, atttypmod) \
                     || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END \
                     || COALESCE(' DEFAULT ' || pg_get_expr(adbin, adrelid), '') \
                     FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
                     WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
                );
                let columns = self.joined(&columns, ",\n")?;
                let indexes = format!("SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' ORDER BY indexname");
                Ok(format!("CREATE TABLE {table} (\n{columns}\n);\n{}", self.joined(&indexes, ";\n")?))
            }
        }
    }

    /// How many foreign keys a table has. Those that MySQL ignores, because of the table's engine, it does not show
    /// either.
    pub fn foreign_keys(&mut self, table: &str) -> Result<usize, Error> {
        let sql = match self.dialect() {
            Dialect::MySql => return Ok(self.show_table(table)?.to_uppercase().matches("FOREIGN KEY").count()),
            Dialect::Postgres => {
                format!("SELECT COUNT(*) FROM pg_constraint WHERE contype = 'f' AND conrelid = '{table}'::regclass")
            }
            // A column may name its parent without FOREIGN KEY.
            Dialect::Sqlite => format!("SELECT COUNT(DISTINCT id) FROM pragma_foreign_key_list('{table}')"),
        };
        Ok(self.value(&sql)?.and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    /// The primary key and the indexes of a table.
    pub fn indexes(&mut self, table: &str) -> Result<Indexes, Error> {
        let entries: Vec<(bool, String, String)> = match self.dialect() {
            // Table, Non_unique, Key_name, Seq_in_index, Column_name, in the order of their columns.
            Dialect::MySql => {
                let rows = self.rows(&format!("SHOW INDEX FROM {table}"))?;
                let entry = |row: Vec<Option<String>>| {
                    let (name, column) = (row.get(2)?.clone()?, row.get(4)?.clone()?);
                    Some((name == "PRIMARY", name, column))
                };
                rows.into_iter().filter_map(entry).collect()
            }
            Dialect::Postgres => self.index_entries(&format!(
                "SELECT indisprimary::int, indexrelid, attname FROM pg_index \
                 CROSS JOIN LATERAL unnest(indkey) WITH ORDINALITY AS key (number, place) \
                 JOIN pg_attribute ON attrelid = indrelid AND attnum = number \
                 WHERE indrelid = '{table}'::regclass ORDER BY indexrelid, place"
            ))?,
            // A primary key that is the rowid has no index.
            Dialect::Sqlite => {
                let primary = format!("SELECT 1, 'primary', name FROM pragma_table_info('{table}') WHERE pk > 0");
                let others = format!(
                    "SELECT 0, list.name, info.name FROM pragma_index_list('{table}') AS list \
                     JOIN pragma_index_info(list.name) AS info WHERE list.origin <> 'pk' AND info.name IS NOT NULL \
                     ORDER BY list.name, info.seqno"
                );
                let mut entries = self.index_entries(&primary)?;
                entries.extend(self.index_entries(&others)?);
                entries
            }
        };
        let primary = entries.iter().any(|(primary, ..)| *primary);
        let of_others: Vec<_> = entries.into_iter().filter(|(primary, ..)| !primary).collect();
        let columns = |columns: &[(bool, String, String)]| {
            columns.iter().map(|(_, _, column)| column.as_str()).collect::<Vec<_>>().join(", ")
        };
        Ok(Indexes { primary, others: of_others.chunk_by(|one, next| one.1 == next.1).map(columns).collect() })
    }

    /// Rows of whether it is the primary key, the index and a column.
    fn index_entries(&mut self, sql: &str) -> Result<Vec<(bool, String, String)>, Error> {
        let entry = |row: Vec<Option<String>>| {
            let [primary, index, column] = <[_; 3]>::try_from(row).ok()?;
            Some((primary? == "1", index?, column?))
        };
        Ok(self.rows(sql)?.into_iter().filter_map(entry).collect())
    }

    fn joined(&mut self, sql: &str, separator: &str) -> Result<String, Error> {
        let lines: Vec<String> = self.rows(sql)?.into_iter().flatten().flatten().collect();
        Ok(lines.join(separator))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Endpoint, Login};

    #[test]
    fn tables_and_their_foreign_keys_are_found() {
        let file = Endpoint::File(":memory:".into());
        let mut admin = Admin::connect(Dialect::Sqlite, &file, &Login::default(), Duration::from_secs(1)).unwrap();
        admin.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)").unwrap();
        admin.run("CREATE TABLE child (id INTEGER REFERENCES parent)").unwrap();
        admin.run("CREATE VIEW both_of_them AS SELECT * FROM parent").unwrap();
        assert_eq!(admin.table_names().unwrap(), ["parent", "child", "both_of_them"]);
        assert!(admin.has_table("child").unwrap() && !admin.has_table("stranger").unwrap());
        assert_eq!(["child", "parent"].map(|table| admin.foreign_keys(table).unwrap()), [1, 0]);
        admin.run("CREATE TABLE wide (a INTEGER, b INTEGER, c INTEGER UNIQUE, PRIMARY KEY (a, b))").unwrap();
        admin.run("CREATE INDEX cb ON wide (c, b)").unwrap();
        let others = ["c", "c, b"].map(str::to_owned).into();
        assert_eq!(admin.indexes("wide").unwrap(), Indexes { primary: true, others });
        assert_eq!(admin.indexes("parent").unwrap(), Indexes { primary: true, others: BTreeSet::new() });
        assert_eq!(admin.indexes("child").unwrap(), Indexes::default());
        assert_eq!(admin.show_table("parent").unwrap(), "CREATE TABLE parent (id INTEGER PRIMARY KEY)");
    }
}
