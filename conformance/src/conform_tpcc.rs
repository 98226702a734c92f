//! `cargo xtask conform-tpcc`: do the TPC-C-derived tables and transactions follow the specification?
//!
//! Per server: the population by its counts and distributions, then transactions by many clients in each
//! form, with Deliveries queued and not, with what they counted, all conditions, and the statements that the
//! server counted for each kind of transaction; corruptions, each of which must be caught; at last the tests of
//! isolation, and that each can fail. It measures no time. A line is one
//! figure, what it should be, and whether it is; one wrong line makes the command fail.

mod after_load;
mod after_run;
mod corruptions;
mod deferred;
mod forms;
mod isolation;
mod sheet;
mod statements;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};
use load::{Load, LoadOptions, Loader, Options, Tally, Workload};

use crate::held::dbduel;
use crate::place::Place;
pub use forms::ConformTpcc;
use forms::{FORMS, QUEUED, WHOLE, given};
use sheet::Sheet;

/// What the statements run with too (`client_on`).
const DATA_SEED: u64 = 1;
const LOADERS: usize = 4;

pub fn run(options: &ConformTpcc, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let mut sheet = Sheet::default();
    for engine in &options.engines {
        let place = Place::start(&dbduel, engine)?;
        conform(options, engine, &place, &mut sheet).with_context(|| format!("on {engine}"))?;
        place.stop()?;
    }
    ensure!(sheet.wrong == 0, "{} of the figures are not what they should be", sheet.wrong);
    Ok(())
}

fn build(options: &ConformTpcc, form: &str, delivery: &str) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("tpcc").context("there is a workload tpcc")?;
    Ok((kind.build)(&Options::new(kind.options, &given(options, form, delivery))?)?.into())
}

fn conform(options: &ConformTpcc, engine: &str, place: &Place, sheet: &mut Sheet) -> Result<()> {
    let (target, mut admin) = (place.target()?, place.admin()?);
    let workload = build(options, FORMS[0], WHOLE)?;
    let begun = Instant::now();
    let loader = Loader { target: &target, sessions: LOADERS, interrupted: &AtomicBool::new(false) };
    loader.load(&*workload, DATA_SEED, &mut |_| ()).context("cannot load the tables")?;
    sheet.title(&format!(
        "{engine} ({}): {} warehouses loaded in {:.1} s",
        admin.server_version(),
        options.warehouses,
        begun.elapsed().as_secs_f64()
    ));
    if !options.only_isolation {
        after_load::look(&mut admin, options.warehouses, sheet)?;
        check(&*workload, &mut admin, None, "conditions after the load", sheet)?;
        run_forms(options, place, &mut admin, sheet)?;
    }
    isolation::hold(options, place, sheet)?;
    check(&*workload, &mut admin, None, "conditions after all", sheet)?;
    isolation::bite(options, place, sheet)
}

fn run_forms(options: &ConformTpcc, place: &Place, admin: &mut Admin, sheet: &mut Sheet) -> Result<()> {
    let (mut ran, mut done): (Option<Tally>, usize) = (None, 0);
    let forms = || FORMS.into_iter().filter(|form| form.contains(options.form.as_str()));
    for delivery in [QUEUED, WHOLE] {
        for form in forms() {
            let workload = build(options, form, delivery)?;
            if let Err(why) = workload.runs_on(admin.dialect()) {
                sheet.title(&format!(" {form}: left out, because {why}"));
                continue;
            }
            let tally = run_form(options, form, delivery, &workload, place, admin, sheet)?;
            let ran = ran.get_or_insert_with(Tally::default);
            ran.add(&tally);
            done += 1;
            check(&*workload, admin, Some(ran), "conditions after the run", sheet)?;
        }
        if let Some(ran) = ran.as_ref().filter(|_| delivery == QUEUED && !options.no_corruptions) {
            deferred::corrupt(&*build(options, FORMS[0], QUEUED)?, admin, ran, sheet)?;
        }
    }
    after_run::check_tables(options, admin, done, ran.as_ref(), sheet)?;
    if !options.no_corruptions {
        corruptions::inject(&*build(options, FORMS[0], WHOLE)?, admin, ran.as_ref(), sheet)?;
    }
    for form in forms() {
        if build(options, form, WHOLE)?.runs_on(admin.dialect()).is_ok() {
            statements::count(options, form, place, sheet)?;
        }
    }
    Ok(())
}

fn check(workload: &dyn Workload, admin: &mut Admin, ran: Option<&Tally>, when: &str, sheet: &mut Sheet) -> Result<()> {
    let begun = Instant::now();
    let violations = workload.check(admin, ran)?;
    sheet.violations(&format!("{when} ({:.1} s)", begun.elapsed().as_secs_f64()), &violations);
    Ok(())
}

/// Other inputs for each run: the tables are not loaded again in between.
fn input_seed(form: &str, delivery: &str) -> u64 {
    let place = FORMS.iter().position(|known| *known == form).unwrap_or(0);
    let behind = if delivery == QUEUED { FORMS.len() } else { 0 };
    (1 + place + behind) as u64
}

fn run_form(
    options: &ConformTpcc,
    form: &str,
    delivery: &str,
    workload: &Arc<dyn Workload>,
    place: &Place,
    admin: &mut Admin,
    sheet: &mut Sheet,
) -> Result<Tally> {
    let target = place.target()?;
    for sql in workload.reuses_tables().map(|tables| tables.prepare_run(target.dialect)).unwrap_or_default() {
        admin.run(&sql).with_context(|| format!("`{sql}` failed"))?;
    }
    let load_options = LoadOptions {
        clients: options.clients,
        workers: 2,
        input_seed: input_seed(form, delivery),
        data_seed: DATA_SEED,
        transactions_max: Some(options.transactions),
        policy: load::ErrorPolicy { ignored: workload.ignored_errors(target.dialect), ..Default::default() },
        ..LoadOptions::default()
    };
    statements::report_own(admin)?;
    let connecting = statements::of_connecting(options, form, place)?;
    let before = statements::totals(place)?;
    let begun = Instant::now();
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(workload, &target, load_options, &interrupted)?;
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole()?;
    let rate = tally.ended as f64 / begun.elapsed().as_secs_f64();
    let (ended, clients) = (tally.ended, options.clients);
    sheet.title(&format!(" {form}, Deliveries {delivery}: {ended} transactions by {clients} clients, {rate:.0}/s"));
    after_run::look(options, &tally, sheet);
    if delivery == QUEUED {
        deferred::look(&tally, sheet);
    } else if target.dialect != Dialect::Sqlite {
        let seen = statements::Seen { before, after: statements::totals(place)?, connecting };
        statements::compare_totals(form, &seen, &tally, sheet);
    }
    Ok(tally)
}
