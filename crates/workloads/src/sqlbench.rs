//! sql-bench reborn: eight programs of 86 operations, each a loop of simple statements by one client.
//!
//! A run is one pass over the chosen programs, from an empty database; there is nothing to load and no
//! interval to hold. Names, counts and loops are those of the classic suite (version 2.15), so that its
//! tables can be set beside ours; where the suite executes something else than it reports, both are reported.

mod asking;
mod bench;
mod ddl;
mod fast;
mod guess;
mod limits;
mod options;
mod packing;
mod plans;
mod programs;
mod scratch;
mod sequence;
mod session;

use std::sync::atomic::Ordering;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};

use self::bench::{Bench, Program, Stop};
use self::options::SqlBench;
use self::session::Session;
use load::{
    ClientFuture, Fatal, Gauge, HasPlans, Metric, OperationTally, OptionError, Options, Outcome, ProgramTally, Scratch,
    SinglePass, Slot, Table, Tally, Workload, WorkloadKind, WorkloadSpec, monotonic_ns,
};

pub const SQL_BENCH: WorkloadKind = WorkloadKind {
    name: "sql-bench",
    description: "the classic suite: eight programs, 86 operations, one client, each operation timed once through",
    example: "[workload]\nname = \"sql-bench\"\nprograms = [\"select\", \"insert\"]",
    options: options::OPTIONS,
    build: |options| build(options),
};

fn build(options: &Options) -> Result<Box<dyn Workload>, OptionError> {
    let programs = programs::chosen(options)?;
    programs::expect_operations(options, &programs)?;
    Ok(Box::new(Pass { programs, options: SqlBench::new(options)? }))
}

/// The workload: everything that is decided.
#[derive(Debug, Clone)]
struct Pass {
    programs: Vec<&'static Program>,
    options: SqlBench,
}

const SECONDS: Metric = Metric { name: "seconds", unit: "s", title: "time of all operations (s)" };

impl Workload for Pass {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            clients: Some(1),
            needs_answers: true,
            primary: SECONDS,
            scratch: Some(Scratch { title: SQL_BENCH.name, has: scratch::has }),
            ..WorkloadSpec::writing("nothing")
        }
    }

    fn tables(&self, _: Dialect) -> Vec<Table> {
        Vec::new()
    }

    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let pass = self.clone();
        Ok(Box::pin(async move { run(&pass, &slot, connection) }))
    }

    fn check(&self, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        // What operations answered wrongly is noted with them; the tables are gone.
        Ok(Vec::new())
    }

    fn single_pass(&self) -> Option<&dyn SinglePass> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }
}

impl SinglePass for Pass {
    fn parts(&self) -> Vec<&'static str> {
        self.programs.iter().map(|program| program.name).collect()
    }

    fn operations(&self) -> usize {
        let wanted = |name: &&&str| self.options.reports(name);
        let names = self.programs.iter().flat_map(|program| program.operations);
        names.filter(wanted).collect::<std::collections::BTreeSet<_>>().len()
    }

    fn expected_duration(&self) -> Duration {
        guess::pass(&self.options, &self.programs)
    }
}

/// The operations of one program, in the order they run; none for an unknown one.
pub fn sqlbench_operations(program: &str) -> &'static [&'static str] {
    programs::PROGRAMS.iter().find(|known| known.name == program).map_or(&[], |known| known.operations)
}

/// The whole pass. It never waits but for the server, so its future completes at the first poll.
fn run(pass: &Pass, slot: &Slot, connection: AnyConnection) -> Result<(), Fatal> {
    let mut session = Session::new(connection);
    let begun_ns = monotonic_ns();
    let (mut programs, mut broken_off) = (Vec::new(), None);
    for (part, program) in pass.programs.iter().enumerate() {
        slot.timeline.part.store(part, Ordering::Relaxed);
        let (tally, fatal) = run_program(&pass.options, program, &mut session, slot.gauge.as_ref());
        programs.push(tally);
        broken_off = fatal;
        if broken_off.is_some() {
            break;
        }
    }
    slot.timeline.ended.fetch_add(1, Ordering::Relaxed);
    let outcome = if broken_off.is_none() { Outcome::Committed } else { Outcome::Failed };
    slot.recorder.borrow_mut().pass(outcome, programs, session.seen().statements, monotonic_ns() - begun_ns);
    broken_off.map_or(Ok(()), Err)
}

/// One program, and what ended the whole pass in it.
fn run_program(
    options: &SqlBench,
    program: &Program,
    session: &mut Session,
    gauge: Option<&Gauge>,
) -> (ProgramTally, Option<Fatal>) {
    let begun_ns = monotonic_ns();
    let mut bench = Bench::new(options, session, gauge);
    let ended = (program.run)(&mut bench);
    let wall_ns = bench.program_ns(monotonic_ns() - begun_ns);
    let mut operations = bench.into_tallies();
    let (why, fatal) = match ended {
        Ok(()) => (None, None),
        Err(Stop::Program(why)) => (Some(why), None),
        Err(Stop::Pass(fatal)) => (Some(fatal.to_string()), Some(fatal)),
    };
    if let Some(why) = why {
        name_the_missing(options, program, &mut operations, &why);
    }
    (ProgramTally { name: program.name, wall_ns, operations }, fatal)
}

/// Operations that a program did not reach are gaps with a name.
fn name_the_missing(options: &SqlBench, program: &Program, operations: &mut Vec<OperationTally>, why: &str) {
    for name in program.operations.iter().copied().filter(|name| options.reports(name)) {
        if !operations.iter().any(|tally| tally.name == name) {
            let refused = Some(format!("not reached: {why}"));
            operations.push(OperationTally { name, refused, ..OperationTally::default() });
        }
    }
}
