//! Loading a workload's tables, and showing them as the server has them.

use driver::{Admin, Dialect, Error};

use crate::workload::{Table, Workload};

/// Part of a snapshot's key: raise it when the same options no longer give the same bytes.
pub const LOADER_VERSION: u32 = 1;

/// Makes and fills the tables; indexes come after the rows. `progress` hears of rows loaded so far.
pub fn load_tables(
    workload: &dyn Workload,
    data_seed: u64,
    admin: &mut Admin,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let mut loaded = 0u64;
    for (index, table) in workload.tables(admin.dialect()).iter().enumerate() {
        for sql in &table.create {
            admin.run(sql)?;
        }
        let mut row = 0;
        let count = admin.load(&table.name, &table.columns, &mut |sink| {
            if row == table.rows {
                return Ok(false);
            }
            workload.row(data_seed, index, row, sink)?;
            row += 1;
            loaded += 1;
            if loaded.is_multiple_of(10_000) {
                progress(loaded);
            }
            Ok(true)
        })?;
        if count != table.rows {
            return Err(Error::Protocol(format!("{} of {} rows arrived in {}", count, table.rows, table.name)));
        }
        for sql in &table.finish {
            admin.run(sql)?;
        }
        expect_engine(admin, table)?;
    }
    progress(loaded);
    Ok(())
}

/// MySQL 5.0 makes a MyISAM table for `ENGINE=InnoDB` when InnoDB could not start, without an error.
fn expect_engine(admin: &mut Admin, table: &Table) -> Result<(), Error> {
    let Some(asked) = table.create.iter().find_map(|sql| engine_of(sql)) else { return Ok(()) };
    let ddl = show_table(admin, &table.name)?;
    if !engine_of(&ddl).is_some_and(|made| made.eq_ignore_ascii_case(asked)) {
        let name = &table.name;
        return Err(Error::Protocol(format!("the server made {name} without the engine {asked}: {ddl}")));
    }
    Ok(())
}

/// The word behind `ENGINE=`, which only MySQL's dialect has.
fn engine_of(sql: &str) -> Option<&str> {
    sql.split_once("ENGINE=")?.1.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()
}

/// One table as its server describes it: CREATE statements, or the nearest that it offers.
pub fn show_table(admin: &mut Admin, table: &str) -> Result<String, Error> {
    match admin.dialect() {
        Dialect::MySql => {
            let rows = admin.rows(&format!("SHOW CREATE TABLE {table}"))?;
            let ddl = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
            ddl.ok_or_else(|| Error::Protocol(format!("SHOW CREATE TABLE {table} gave nothing")))
        }
        Dialect::Sqlite => joined(
            admin,
            &format!("SELECT sql FROM sqlite_schema WHERE tbl_name = '{table}' ORDER BY type DESC"),
            ";\n",
        ),
        Dialect::Postgres => {
            let columns = format!(
                "SELECT '  ' || attname || ' ' || format_type(atttypid, atttypmod) \
                 || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END \
                 || COALESCE(' DEFAULT ' || pg_get_expr(adbin, adrelid), '') \
                 FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
                 WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            );
            let columns = joined(admin, &columns, ",\n")?;
            let indexes = format!("SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' ORDER BY indexname");
            Ok(format!("CREATE TABLE {table} (\n{columns}\n);\n{}", joined(admin, &indexes, ";\n")?))
        }
    }
}

fn joined(admin: &mut Admin, sql: &str, separator: &str) -> Result<String, Error> {
    let lines: Vec<String> = admin.rows(sql)?.into_iter().flatten().flatten().collect();
    Ok(lines.join(separator))
}
