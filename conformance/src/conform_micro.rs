//! `cargo xtask conform-micro`: does every kind of statements run on real servers, rightly, and do all give the same
//! answers?
//!
//! Per server one pass of a moment for each kind; answers are checked by the workload itself. Then its queries are asked
//! of each server, and what they bring is compared with the first. It measures no time; `--planted` does.

mod planted;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use load::{Checksum, Load, LoadOptions, Loader, OptionValue, Workload};

use crate::held::dbduel;
use crate::place::Place;
use crate::planted_operations::Runs;

const DATA_SEED: u64 = 1;

#[derive(clap::Args)]
pub struct ConformMicro {
    /// A server, as mariadb@system or mysql@5.7.29, or sqlite; may be given several times
    #[arg(long = "engine", default_values = ["mariadb@system", "postgres@system", "sqlite"])]
    engines: Vec<String>,
    /// Plant differences in one side of a duel instead, and see that exactly the right kinds are slower; five minutes
    #[arg(long)]
    planted: bool,
    /// With --planted: runs of each; of twenty, one may be wrong
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// With --planted: only those with this word in their name
    #[arg(long)]
    plant: Option<String>,
}

#[derive(Default)]
struct Sheet {
    ran: usize,
    wrong: Vec<String>,
    /// What each query brought on the first server.
    first: BTreeMap<String, String>,
}

pub fn run(options: &ConformMicro, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    if options.planted {
        let wrong = planted::planted(&Runs { dbduel: &dbduel, of_each: options.runs, only: options.plant.as_deref() })?;
        ensure!(wrong.is_empty(), "not reported rightly: {}", wrong.join("; "));
        return Ok(());
    }
    let mut sheet = Sheet::default();
    for engine in &options.engines {
        let place = Place::start(&dbduel, engine)?;
        conform(engine, &place, &mut sheet).with_context(|| format!("on {engine}"))?;
        place.stop()?;
    }
    sheet.wrong.iter().for_each(|line| println!("WRONG {line}"));
    println!("{} kinds ran, {} queries compared, {} wrong", sheet.ran, sheet.first.len(), sheet.wrong.len());
    ensure!(sheet.wrong.is_empty(), "{} kinds are not what they should be", sheet.wrong.len());
    Ok(())
}

fn workload() -> Result<Arc<dyn Workload>> {
    let given = [("rows", OptionValue::Number(20_000)), ("seconds", OptionValue::Text("20ms".to_owned()))];
    let kind = workloads::workload_kind("micro").context("there is a workload micro")?;
    Ok(kind.with(&given.map(|(key, value)| (key.to_owned(), value)).into())?.into())
}

fn conform(engine: &str, place: &Place, sheet: &mut Sheet) -> Result<()> {
    let (workload, target, interrupted) = (workload()?, place.target()?, AtomicBool::new(false));
    Loader { target: &target, sessions: 1, interrupted: &interrupted }.load(&*workload, DATA_SEED, &mut |_| ())?;
    let mut admin = place.admin()?;
    let load = Load::prepare(&workload, &target, LoadOptions::default(), &interrupted)?;
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole()?;
    let violations = workload.check(&mut admin, Some(&tally))?;
    sheet.wrong.extend(violations.into_iter().map(|line| format!("{engine}: {line}")));
    let (mut ran, mut gaps) = (0, 0);
    for one in tally.programs.iter().flat_map(|program| &program.operations) {
        match (&one.refused, &one.wrong) {
            (Some(why), _) => {
                gaps += 1;
                println!("  {:<28} not on {engine}: {why}", one.name);
            }
            (None, Some(why)) => sheet.wrong.push(format!("{engine}, {}: {why}", one.name)),
            (None, None) => ran += 1,
        }
    }
    sheet.ran += ran;
    let plans = workload.has_plans().context("its queries are known")?;
    for query in plans.explained_statements(target.dialect) {
        let Ok(sum) = Checksum::of_query(&mut admin, &query.sql) else { continue };
        let sum = sum.to_string();
        let first = sheet.first.entry(query.name.clone()).or_insert_with(|| sum.clone());
        if *first != sum {
            sheet.wrong.push(format!("{engine}, {}: {sum} instead of {first} from `{}`", query.name, query.sql));
        }
    }
    println!("{engine} ({}): {ran} kinds, {gaps} gaps", admin.server_version());
    Ok(())
}
