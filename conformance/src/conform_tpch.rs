//! `cargo xtask conform-tpch`: are the rows of `tpch` those of TPC-H's generator, and do all engines answer its 22 queries
//! rightly?
//!
//! The oracle is DuckDB, from a wheel of PyPI that has a port of dbgen in it. Its rows are compared with ours in both
//! directions, without addresses and comments: its port draws those otherwise than dbgen. Its answers, over our rows and
//! by its own texts of the queries, are compared with those of each engine, with the validation parameters. Q11's share
//! of the stock, which DuckDB leaves at that of scale factor 1, is put to what the specification asks for. Rows are
//! compared in any order, since DuckDB's texts leave ties; that engines agree on the order is for runs.
//!
//! `--published` holds rows, comments included, to dbgen itself: at scale factor 1 the answers that come with TPC's tools
//! have to come out of them.

mod planted;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use driver::{Dialect, Value};
use load::{Checksum, Loader, OptionValue, Table, Workload};
use workloads::tpch::by_hand::{ValidationQuery, validation_queries};

use crate::held::dbduel;
use crate::place::Place;
use crate::planted_operations::Runs;
use crate::programs::run as run_program;

/// The last releases of it with the extension in the wheel.
const DUCKDB: &str = "duckdb==1.1.3";
const SESSIONS: usize = 2;
const DATA_SEED: u64 = 1;

/// Generates, compares each table with the file of ours beside it, and answers over ours: a line of JSON for each.
const ORACLE: &str = r#"
import sys, json, duckdb
scale, folder = float(sys.argv[1]), sys.argv[2]
db = duckdb.connect()
db.execute("SET enable_progress_bar = false")
db.execute("LOAD tpch")
db.execute(f"CALL dbgen(sf={scale})")
db.execute("CREATE SCHEMA ours")
for table in ["lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"]:
    db.execute(f"CREATE TABLE ours.{table} AS SELECT * FROM main.{table} LIMIT 0")
    db.execute(f"COPY ours.{table} FROM '{folder}/{table}' (DELIMITER '|', HEADER false, QUOTE '', ESCAPE '', NULLSTR '@')")
    columns = [row[0] for row in db.execute(f"DESCRIBE main.{table}").fetchall()]
    columns = ", ".join(name for name in columns if not name.endswith(("_comment", "_address")))
    count = lambda sql: db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0]
    one, other = (f"SELECT {columns} FROM {schema}.{table}" for schema in ("main", "ours"))
    missing, more = count(f"{one} EXCEPT ALL {other}"), count(f"{other} EXCEPT ALL {one}")
    print(json.dumps({"table": table, "rows": count(one), "missing": missing, "more": more}))
def text(value):
    return value if value is None else f"{value:.12f}" if isinstance(value, float) else str(value)
queries = db.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr").fetchall()
db.execute("USE ours")
for number, query in queries:
    query = query.replace("0.0001000000", f"{0.0001 / scale:.10f}")
    rows = [[text(value) for value in row] for row in db.execute(query).fetchall()]
    print(json.dumps({"query": f"Q{number}", "rows": rows}))
"#;

#[derive(clap::Args)]
pub struct ConformTpch {
    /// A server, as mariadb@system or mysql@5.7.29, or sqlite; may be given several times
    #[arg(
        long = "engine",
        default_values = ["mariadb@system", "postgres@system", "mysql@8.0.31", "sqlite"]
    )]
    engines: Vec<String>,
    /// Scale factors
    #[arg(long = "scale-factor", default_values = ["0.01", "0.1"])]
    scale_factors: Vec<f64>,
    /// Compare DuckDB's answers over our rows at scale factor 1 with those of TPC's tools instead
    #[arg(long)]
    published: bool,
    /// Plant differences in one side of a duel instead, and see that exactly the right queries are slower; ten minutes
    #[arg(long)]
    planted: bool,
    /// With --planted: runs of each; of twenty, one may be wrong
    #[arg(long, default_value_t = 1, requires = "planted", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// With --planted: only those with this word in their name
    #[arg(long, value_name = "WORD", requires = "planted")]
    plant: Option<String>,
    /// A Python with duckdb and its extension tpch; by default one is made below target/
    #[arg(long)]
    python: Option<PathBuf>,
}

pub fn run(options: &ConformTpch, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    if options.planted {
        let runs = Runs { dbduel: &dbduel, of_each: options.runs, only: options.plant.as_deref() };
        let mut wrong = planted::PLANTED.settings(&planted::PLANTS, &runs)?;
        wrong.extend(planted::PLANTED.sabotages(&planted::SABOTAGES, &runs)?);
        return judge(&wrong);
    }
    let python = match &options.python {
        Some(python) => python.clone(),
        None => own_python(root)?,
    };
    let mut wrong = Vec::new();
    if options.published {
        published(&python, &mut wrong)?;
        return judge(&wrong);
    }
    for scale_factor in &options.scale_factors {
        println!("scale factor {scale_factor}");
        let expected = oracle(&python, *scale_factor, &mut wrong)?;
        let mut equal: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for engine in &options.engines {
            let place = Place::start(&dbduel, engine)?;
            let found = conform(engine, &place, *scale_factor, &mut wrong).with_context(|| format!("on {engine}"))?;
            place.stop()?;
            for (name, rows) in found {
                let is_equal = expected.get(name) == Some(&rows);
                equal.entry(name).or_default().push(is_equal);
                if !is_equal {
                    wrong.push(difference(engine, name, expected.get(name), &rows));
                }
            }
        }
        table(options, &equal);
    }
    judge(&wrong)
}

fn judge(wrong: &[String]) -> Result<()> {
    wrong.iter().for_each(|line| println!("WRONG {line}"));
    ensure!(wrong.is_empty(), "{} things are not what they should be", wrong.len());
    Ok(())
}

/// The answers that come with TPC's tools, out of our rows.
fn published(python: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let ours = oracle(python, 1.0, wrong)?;
    let queries = validation_queries(1.0, Dialect::Postgres);
    let mut equal = 0;
    for (query, number) in queries.iter().zip(1..) {
        let text = tpchgen::q_and_a::answers_sf1::answer(number).context("every query has an answer")?;
        let cells = |line: &str| line.split('|').map(|cell| Some(trimmed(cell))).collect::<Vec<_>>();
        let lines = text.trim_matches('\n').lines().skip(1);
        let mut rows: Vec<String> = lines.map(|line| query.text_of(&cells(line))).collect();
        rows.sort_unstable();
        let found = ours.get(query.name).map_or(&[][..], Vec::as_slice);
        match are_as_published(query.name, &rows, found) {
            true => equal += 1,
            false => wrong.push(difference("DuckDB over our rows", query.name, Some(&rows), found)),
        }
    }
    println!("  {equal} of {} answers are those of TPC's tools", queries.len());
    Ok(())
}

/// Texts are equal, and numbers to six digits: sums of dozens of lines are rounded otherwise there.
fn are_as_published(name: &str, published: &[String], found: &[String]) -> bool {
    let is_alike = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 1e-6 * one.abs().max(1.0),
        _ => one == other,
    };
    // Keys of parts have lost digits in that list; their values are whole.
    let skipped = usize::from(name == "Q11");
    let values = |row: &String| row.split('|').skip(skipped).map(str::to_owned).collect::<Vec<_>>();
    let sorted = |rows: &[String]| {
        let mut rows: Vec<Vec<String>> = rows.iter().map(values).collect();
        rows.sort_unstable();
        rows
    };
    let (published, found) = (sorted(published), sorted(found));
    published.len() == found.len()
        && published.iter().flatten().zip(found.iter().flatten()).all(|(one, other)| is_alike(one, other))
}

/// A value without what fills its column: numbers stand on the right, texts on the left.
fn trimmed(cell: &str) -> String {
    let number = cell.trim();
    if number.parse::<f64>().is_ok() { number.to_owned() } else { cell.trim_end().to_owned() }
}

/// A virtual environment that is kept.
fn own_python(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target/conform-tpch");
    let python = folder.join("bin/python");
    if !python.exists() {
        run_program(root, "python3", &["-m", "venv", &folder.to_string_lossy()], &[])?;
        run_program(root, &python.to_string_lossy(), &["-m", "pip", "install", "--quiet", DUCKDB], &[])?;
    }
    Ok(python)
}

fn workload(scale_factor: f64) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("tpch").context("there is a workload tpch")?;
    Ok(kind.with(&[("scale_factor".to_owned(), OptionValue::Real(scale_factor))].into())?.into())
}

/// The answers of DuckDB, as texts in any order; compares the rows on the way.
fn oracle(python: &Path, scale_factor: f64, wrong: &mut Vec<String>) -> Result<BTreeMap<String, Vec<String>>> {
    let folder = tempfile::tempdir()?;
    let workload = workload(scale_factor)?;
    // A dialect with decimals: the file has them as DuckDB reads them.
    for (index, table) in workload.tables(Dialect::Postgres).iter().enumerate() {
        write_table(folder.path(), workload.as_ref(), index, table)?;
    }
    let output = Command::new(python)
        .args(["-c", ORACLE, &scale_factor.to_string()])
        .arg(folder.path())
        .output()
        .with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(
        output.status.success(),
        "DuckDB did not run: {}\n  next: python3 -m venv duck; duck/bin/pip install {DUCKDB}; then --python duck/bin/python",
        String::from_utf8_lossy(&output.stderr)
    );
    let queries = validation_queries(scale_factor, Dialect::Postgres);
    let (mut answers, mut tables) = (BTreeMap::new(), 0);
    for line in String::from_utf8(output.stdout)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        if let Some(table) = line["table"].as_str() {
            let [rows, missing, more] = ["rows", "missing", "more"].map(|key| line[key].as_u64().unwrap_or(u64::MAX));
            println!("  {table:<10} {rows:>9} rows of DuckDB's generator, {missing} missing here, {more} more here");
            tables += 1;
            if missing > 0 || more > 0 {
                wrong.push(format!("{table} at {scale_factor}: {missing} rows are missing, {more} are more"));
            }
            continue;
        }
        let of = queries.iter().find(|one| line["query"] == one.name).context("DuckDB has our queries")?;
        let cell = |cell: &serde_json::Value| cell.as_str().map(str::to_owned);
        let cells = |row: &serde_json::Value| row.as_array().into_iter().flatten().map(cell).collect::<Vec<_>>();
        let rows = line["rows"].as_array().context("an answer has rows")?;
        let mut texts: Vec<String> = rows.iter().map(|row| of.text_of(&cells(row))).collect();
        texts.sort_unstable();
        answers.insert(of.name.to_owned(), texts);
    }
    ensure!(tables == 8 && answers.len() == 22, "DuckDB had {tables} tables and {} answers", answers.len());
    Ok(answers)
}

fn write_table(folder: &Path, workload: &dyn Workload, index: usize, table: &Table) -> Result<()> {
    let mut file = BufWriter::new(File::create(folder.join(&table.name))?);
    for unit in 0..table.units {
        workload.rows(DATA_SEED, index, unit, &mut |row| {
            let values: Vec<String> = row.iter().map(shown).collect();
            writeln!(file, "{}", values.join("|")).map_err(|error| driver::Error::lost(error.to_string()))
        })?;
    }
    Ok(file.flush()?)
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "@".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Decimal { units, scale } => {
            let sign = if *units < 0 { "-" } else { "" };
            let power = 10_u64.pow(u32::from(*scale));
            format!(
                "{sign}{}.{:0width$}",
                units.unsigned_abs() / power,
                units.unsigned_abs() % power,
                width = usize::from(*scale)
            )
        }
    }
}

/// Loads, compares what arrived with what was made, and asks.
fn conform(
    engine: &str,
    place: &Place,
    scale_factor: f64,
    wrong: &mut Vec<String>,
) -> Result<Vec<(&'static str, Vec<String>)>> {
    let (workload, target, interrupted) = (workload(scale_factor)?, place.target()?, AtomicBool::new(false));
    Loader { target: &target, sessions: SESSIONS, interrupted: &interrupted }.load(
        &*workload,
        DATA_SEED,
        &mut |_| (),
    )?;
    let (mut admin, before) = (place.admin()?, wrong.len());
    let violations = workload.check(&mut admin, None)?;
    wrong.extend(violations.into_iter().map(|line| format!("{engine}: {line}")));
    for (index, table) in workload.tables(target.dialect).iter().enumerate() {
        let expected = Checksum::expected(&*workload, DATA_SEED, index, table)?;
        let found = Checksum::found(&mut admin, &*workload, index, table)?;
        if found != expected {
            wrong.push(format!("{engine}, {}: {found} instead of {expected}", table.name));
        }
    }
    let state = if wrong.len() == before { "every row as it was made" } else { "rows differ" };
    println!("  {engine} ({}): loaded, {state}", admin.server_version());
    let answer = |query: ValidationQuery| {
        let mut rows = query.rows(&mut admin).with_context(|| query.name)?;
        rows.sort_unstable();
        Ok((query.name, rows))
    };
    validation_queries(scale_factor, target.dialect).into_iter().map(answer).collect()
}

fn difference(engine: &str, name: &str, expected: Option<&Vec<String>>, found: &[String]) -> String {
    let expected = expected.map_or(&[][..], Vec::as_slice);
    let first = expected.iter().zip(found).find(|(one, other)| one != other);
    let first = first.map_or(String::new(), |(one, other)| format!("; the first that differ: {one} and {other}"));
    format!("{engine}, {name}: {} rows instead of {}{first}", found.len(), expected.len())
}

fn table(options: &ConformTpch, equal: &BTreeMap<&str, Vec<bool>>) {
    println!("  {:<16} equal to DuckDB", "");
    for (place, engine) in options.engines.iter().enumerate() {
        let ours = equal.values().filter(|all| all.get(place) == Some(&true)).count();
        println!("  {engine:<16} {ours} of {} queries", equal.len());
    }
}
