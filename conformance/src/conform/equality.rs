//! Do all servers get the same rows?

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use driver::{Admin, Dialect, Endpoint, Login, Target};

use super::script::{STATEMENT_LIMIT, Script, load_afresh};
use crate::held::Held;

const fn script(title: &'static str, workload: &'static str, options: &'static [(&str, &str)]) -> Script {
    Script { title, workload, options, sysbench: None }
}

const SCRIPTS: &[Script] = &[
    script("oltp_read_write", "oltp_read_write", &[]),
    script("oltp_read_write, as sysbench", "oltp_read_write", &[("compat", "sysbench-1.0")]),
    script("oltp_read_write, zipfian", "oltp_read_write", &[("rand_type", "zipfian")]),
    script("oltp_read_write, secondary", "oltp_read_write", &[("secondary", "true")]),
    script("oltp_read_write, auto_inc=off", "oltp_read_write", &[("auto_inc", "false")]),
    script("oltp_read_write, 3 tables", "oltp_read_write", &[("tables", "3")]),
    script("oltp", "oltp", &[]),
];

/// Loads the same workload everywhere and compares every row; returns how many servers differ.
pub fn run(mariadb: &Held, postgres: &Held) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    let mut wrong = 0;
    for script in SCRIPTS {
        let workload = script.build()?;
        let mut digests = Vec::new();
        for target in [mariadb.target()?, postgres.target()?, sqlite(folder.path())] {
            load_afresh(&*workload, &target)?;
            let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, STATEMENT_LIMIT)?;
            let violations = workload.check(&mut admin, None)?;
            violations.iter().for_each(|violation| println!("{}: {violation}", script.title));
            wrong += violations.len();
            let tables = workload.tables(admin.dialect());
            digests.push(digest(&mut admin, tables.iter().map(|table| table.name.as_str()))?);
        }
        let names = ["MariaDB", "PostgreSQL", "SQLite"];
        for (name, (rows, digest)) in names.iter().zip(&digests) {
            let same = (*rows, *digest) == digests[0];
            wrong += usize::from(!same);
            let verdict = if same { "ok" } else { "WRONG" };
            println!("rows of {}: {name:<12} {rows} rows, {digest:016x}  {verdict}", script.title);
        }
    }
    Ok(wrong)
}

pub fn sqlite(folder: &std::path::Path) -> Target {
    let login =
        Login { user: String::new(), password: None, database: None, on_connect: Vec::new(), ..Login::default() };
    Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(folder.join("equality.db")), login }
}

/// Number and digest of all rows. PostgreSQL shows a CHAR with the spaces that fill it and MySQL
/// without, so spaces at the end do not count.
fn digest<'a>(admin: &mut Admin, tables: impl Iterator<Item = &'a str>) -> Result<(usize, u64)> {
    let (mut count, mut hasher) = (0, DefaultHasher::new());
    for table in tables {
        let rows = admin.rows(&format!("SELECT id, k, c, pad FROM {table} ORDER BY id"))?;
        count += rows.len();
        for row in &rows {
            row.iter().for_each(|cell| cell.as_deref().map(str::trim_end).hash(&mut hasher));
        }
    }
    Ok((count, hasher.finish()))
}
