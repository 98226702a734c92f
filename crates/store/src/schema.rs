//! The tables of a store, and how an older store gets those of today.
//!
//! Each step takes a store from one version to the next; the first makes it. What must stay true: all steps that are
//! missing are taken in one transaction under a lock, so that of several who come first one takes them; and a store that a newer dbduel
//! has changed is refused.

use anyhow::{Context, Result, bail};
use driver::{Admin, Error, Value};

use crate::StoreUrl;

/// Never changed once released: what is new gets a step of its own.
pub const STEPS: &[&str] = &[include_str!("schema-1.sql")];

/// Distinguishes dbduel's locks from those of others in the same database.
const LOCK_CLASS: i32 = 0x6462_6475;
const SCHEMA_IS_THERE: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)";
const TABLE_IS_THERE: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS schema \
                              ON schema.oid = relnamespace WHERE nspname = $1 AND relname = 'format')";
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// All statements that make a store, for a role that may run them.
pub fn sql(url: &StoreUrl) -> String {
    let schema = url.quoted_schema();
    format!(
        "BEGIN;\nCREATE SCHEMA IF NOT EXISTS {schema};\nSET LOCAL search_path = {schema};\n\n{}\n{}\nCOMMIT;\n",
        STEPS.join("\n"),
        version_sql(STEPS.len())
    )
}

fn version_sql(version: usize) -> String {
    format!("DELETE FROM format; INSERT INTO format (version) VALUES ({version});")
}

/// The version of the store in this schema; 0 where there is none.
fn version(admin: &mut Admin, url: &StoreUrl) -> Result<usize> {
    if !is_there(admin, TABLE_IS_THERE, url)? {
        return Ok(0);
    }
    let version = admin.value("SELECT version FROM format")?;
    version
        .and_then(|text| text.parse().ok())
        .with_context(|| format!("{url} has no version: it is no store of dbduel"))
}

/// Asks the catalogue itself: `to_regclass` may answer from a cache that is older than a lock that was waited for.
fn is_there(admin: &mut Admin, sql: &str, url: &StoreUrl) -> Result<bool> {
    Ok(admin.fetch(sql, &[Value::Text(url.schema().as_bytes())])?.text(0, 0) == b"t")
}

/// Refuses what cannot be read as it is; whether steps are missing, or nothing is there at all.
fn missing(found: usize, steps: &[&str], url: &StoreUrl) -> Result<bool> {
    let newest = steps.len();
    if found > newest {
        bail!("the store {url} has version {found}, and this dbduel writes {newest}\n  next: use a newer dbduel");
    }
    Ok(found < newest)
}

/// For readers: there must be a store. One of an older version gets its missing steps.
pub fn expect(admin: &mut Admin, url: &StoreUrl, note: &dyn Fn(&str)) -> Result<()> {
    match version(admin, url)? {
        0 => bail!(
            "there is no store of dbduel in schema `{}` of {url}\n  next: `dbduel push last --store {url}` makes it",
            url.schema()
        ),
        _ => prepare(admin, url, STEPS, note),
    }
}

/// For writers: takes the steps that are missing, if any.
pub fn prepare(admin: &mut Admin, url: &StoreUrl, steps: &[&str], note: &dyn Fn(&str)) -> Result<()> {
    if !missing(version(admin, url)?, steps, url)? {
        return Ok(());
    }
    let taken = in_transaction(admin, |admin| take_missing(admin, url, steps, note));
    match taken {
        Err(error) if is_not_allowed(&error) => Err(error.context(format!(
            "this role may not make the tables of a store\n  next: `dbduel runs --store {url} --schema-sql` prints the SQL for a role that may"
        ))),
        taken => taken.with_context(|| format!("cannot make the tables of a store in {url}")),
    }
}

fn take_missing(admin: &mut Admin, url: &StoreUrl, steps: &[&str], note: &dyn Fn(&str)) -> Result<()> {
    let schema = url.schema().as_bytes();
    let class = i64::from(LOCK_CLASS);
    admin
        .fetch("SELECT pg_advisory_xact_lock($1::integer, hashtext($2))", &[Value::Int(class), Value::Text(schema)])?;
    let found = version(admin, url)?;
    if !missing(found, steps, url)? {
        return Ok(());
    }
    let encoding = admin.value("SHOW server_encoding")?.unwrap_or_default();
    if encoding != "UTF8" {
        bail!(
            "the database of the store has the encoding {encoding}\n  next: give one with encoding UTF8, since names may hold any letter"
        );
    }
    match found {
        0 => {
            note(&format!("making the tables of a store in schema `{}` of {url}", url.schema()));
            if !is_there(admin, SCHEMA_IS_THERE, url)? {
                admin.run(&format!("CREATE SCHEMA {}", url.quoted_schema()))?;
            }
        }
        found => note(&format!("taking the store {url} from version {found} to {}", steps.len())),
    }
    for step in &steps[found..] {
        admin.run(step)?;
    }
    admin.run(&version_sql(steps.len()))?;
    Ok(())
}

fn is_not_allowed(error: &anyhow::Error) -> bool {
    let is_code =
        |error: &Error| matches!(error, Error::Refused { code, .. } if code.as_str() == INSUFFICIENT_PRIVILEGE);
    error.chain().any(|cause| cause.downcast_ref::<Error>().is_some_and(is_code))
}

/// All of some work, or nothing of it.
pub fn in_transaction<T>(admin: &mut Admin, work: impl FnOnce(&mut Admin) -> Result<T>) -> Result<T> {
    admin.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")?;
    let done = work(admin).and_then(|done| {
        admin.run("COMMIT")?;
        Ok(done)
    });
    if done.is_err() {
        // What failed is in the error; a connection that is gone takes nothing back, and the server does.
        let _ = admin.run("ROLLBACK");
    }
    done
}
