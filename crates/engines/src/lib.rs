//! The database servers that dbduel supports: MySQL, MariaDB, PostgreSQL and SQLite.
//!
//! A new engine is a file here, with its folder, and a line in [`ENGINES`]; a new version is a row in its engine's
//! catalogue.

mod json_text;
mod mariadb;
mod mysql;
mod mysql_family;
mod plan_text;
mod postgres;
mod sqlite;

use engine::Engine;
pub use plan_text::{PlanForm, read_any};

/// All engines, in the order `dbduel list engines` shows them.
pub static ENGINES: &[&dyn Engine] = &[&sqlite::Sqlite, &mysql::MYSQL, &mariadb::MARIADB, &postgres::Postgres];
