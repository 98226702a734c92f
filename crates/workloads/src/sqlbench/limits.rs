//! What the servers can do, as far as the programs ask.
//!
//! The suite's own tables of limits are of its time; `modern` is what the servers of today can do, so
//! that all columns of a table count the same statements. `classic` keeps the suite's, for comparisons
//! with old logs.

use driver::Dialect;

/// Which table of limits is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Modern,
    Classic,
}

impl Era {
    pub const WORDS: [&str; 2] = ["modern", "classic"];
    pub const ALL: [Era; 2] = [Era::Modern, Era::Classic];
}

/// The limits that programs ask for; every other gate of the suite is open on all our servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_columns: u64,
    pub max_conditions: u64,
    /// Indexes of a table, and columns of one of them.
    pub max_index: u64,
    pub max_index_parts: u64,
    pub max_tables: u64,
    /// Bytes of one statement.
    pub query_size: u64,
    pub max_text_size: u64,
    /// Several columns in one ALTER TABLE, to add and to drop.
    pub alter_multi_col: bool,
    /// Columns can be dropped at all.
    pub alter_drop_col: bool,
    pub insert_multi_value: bool,
    /// `std()`, or what stands for it.
    pub std: bool,
    /// `HAVING` of an alias; elsewhere the expression is written again.
    pub having_with_alias: bool,
    /// `HAVING` of an alias is asked for at all, in whichever form.
    pub having_alias_query: bool,
    /// Several tables in one DROP TABLE.
    pub multi_drop: bool,
    pub truncate_table: bool,
    pub lock_tables: bool,
    pub load_data_infile: bool,
    /// Text of any length can be stored and read back.
    pub working_blobs: bool,
    pub transactions: bool,
}

impl Limits {
    pub fn of(dialect: Dialect, era: Era) -> Limits {
        let modern = era == Era::Modern;
        let mysql = Limits {
            max_columns: 2000,
            max_conditions: 9999,
            max_index: 16,
            max_index_parts: 16,
            max_tables: 65_000,
            query_size: 1_000_000,
            max_text_size: 1_000_000,
            alter_multi_col: true,
            alter_drop_col: true,
            insert_multi_value: true,
            std: true,
            having_with_alias: true,
            having_alias_query: true,
            multi_drop: true,
            truncate_table: true,
            lock_tables: true,
            load_data_infile: true,
            working_blobs: true,
            transactions: modern,
        };
        match dialect {
            Dialect::MySql => mysql,
            // A statement may be longer there, but the packed ones would then be fewer than elsewhere.
            Dialect::Postgres => Limits {
                max_columns: if modern { 1600 } else { 1000 },
                max_index: if modern { 16 } else { 64 },
                max_tables: if modern { 65_000 } else { 5000 },
                query_size: if modern { 1_000_000 } else { 16_777_216 },
                max_text_size: if modern { 1_000_000 } else { 65_000 },
                alter_multi_col: modern,
                alter_drop_col: modern,
                insert_multi_value: modern,
                std: modern,
                having_with_alias: false,
                having_alias_query: modern,
                lock_tables: false,
                load_data_infile: false,
                transactions: true,
                ..mysql
            },
            Dialect::Sqlite => Limits {
                max_index: if modern { 16 } else { 64 },
                max_tables: if modern { 65_000 } else { 10_000 },
                alter_multi_col: false,
                std: false,
                multi_drop: false,
                truncate_table: false,
                lock_tables: false,
                load_data_infile: false,
                transactions: true,
                ..mysql
            },
        }
    }

    /// Columns of the widest table that programs make.
    pub fn field_count(&self) -> u64 {
        self.max_columns.min((self.query_size - 30) / 14).min(1000)
    }

    /// What a storage engine of MySQL's changes, as `create_options` names it.
    pub fn with_create_options(self, create_options: &str) -> Limits {
        let options = create_options.to_ascii_lowercase();
        let engine = |names: &[&str]| {
            names.iter().any(|name| {
                let spelled = [format!("engine={name}"), format!("type={name}")];
                spelled.iter().any(|spelled| options.replace(' ', "").contains(spelled))
            })
        };
        let without = engine(&["myisam", "aria", "heap", "memory", "archive", "csv"]);
        let transactions = !without && (self.transactions || engine(&["innodb", "bdb", "ndb", "gemini"]));
        let working_blobs = self.working_blobs && !engine(&["heap", "memory"]);
        let limits = Limits { transactions, working_blobs, ..self };
        if engine(&["ndb"]) { Limits { max_columns: 90, max_tables: 32, ..limits } } else { limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_engine_has_no_working_blobs_and_innodb_has_transactions() {
        let classic = Limits::of(Dialect::MySql, Era::Classic);
        assert!(!classic.transactions && classic.working_blobs);
        assert!(classic.with_create_options("ENGINE = InnoDB").transactions);
        assert!(!classic.with_create_options("engine=memory").working_blobs);
    }

    #[test]
    fn myisam_has_no_transactions_whatever_the_server_can_do() {
        let modern = Limits::of(Dialect::MySql, Era::Modern);
        assert!(modern.transactions);
        assert!(!modern.with_create_options("ENGINE=MyISAM").transactions);
    }

    #[test]
    fn modern_limits_give_every_server_the_same_loops() {
        let of = |dialect| Limits::of(dialect, Era::Modern);
        let loops = |limits: Limits| (limits.max_index, limits.max_tables, limits.query_size, limits.max_text_size);
        assert_eq!(loops(of(Dialect::Postgres)), loops(of(Dialect::MySql)));
        assert_eq!(loops(of(Dialect::Sqlite)), loops(of(Dialect::MySql)));
    }
}
