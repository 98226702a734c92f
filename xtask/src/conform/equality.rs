//! Do all servers get the same rows?

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use anyhow::Result;
use driver::{Admin, Dialect, Endpoint, Login};
use load::Target;

use super::expected::MARIADB;
use super::load_afresh;
use crate::held::Held;

/// Loads the same workload everywhere and compares every row; returns how many servers differ.
pub fn run(mariadb: &Held, postgres: &Held) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    let mut wrong = 0;
    for title in ["oltp_read_write", "oltp_read_write, uniform", "0.4 complex"] {
        let row = MARIADB.iter().find(|row| row.script.title == title).expect("the title is in the table");
        let workload = row.script.build()?;
        let mut digests = Vec::new();
        for target in [mariadb.target()?, postgres.target()?, sqlite(folder.path())] {
            load_afresh(&*workload, &target)?;
            let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, Duration::from_secs(30))?;
            let table = workload.tables(admin.dialect()).remove(0).name;
            digests.push(digest(&mut admin, &table)?);
        }
        let names = ["MariaDB", "PostgreSQL", "SQLite"];
        for (name, (rows, digest)) in names.iter().zip(&digests) {
            let same = (*rows, *digest) == digests[0];
            wrong += usize::from(!same);
            let verdict = if same { "ok" } else { "WRONG" };
            println!("rows of {title}: {name:<12} {rows} rows, {digest:016x}  {verdict}");
        }
    }
    Ok(wrong)
}

fn sqlite(folder: &std::path::Path) -> Target {
    let login =
        Login { user: String::new(), password: None, database: None, on_connect: Vec::new(), ..Login::default() };
    Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(folder.join("equality.db")), login }
}

/// Number and digest of all rows. PostgreSQL shows a CHAR with the spaces that fill it and MySQL
/// without, so spaces at the end say nothing.
fn digest(admin: &mut Admin, table: &str) -> Result<(usize, u64)> {
    let rows = admin.rows(&format!("SELECT id, k, c, pad FROM {table} ORDER BY id"))?;
    let mut hasher = DefaultHasher::new();
    for row in &rows {
        row.iter().for_each(|cell| cell.as_deref().map(str::trim_end).hash(&mut hasher));
    }
    Ok((rows.len(), hasher.finish()))
}
