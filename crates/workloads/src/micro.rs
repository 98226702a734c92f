//! Kinds of statements, each measured by itself: how fast a server is at each kind of work.
//!
//! A kind is a file under `kinds/`. A trial is one pass over the chosen kinds by one client, in an order that the
//! seed of the block gives: a kind runs for a time, or so many times over where each execution is long, and its rate is
//! what is compared. Kinds leave the data as they were, so that one start of the server serves all of them.

mod kind;
mod kinds;
mod pass;
mod statements;
mod tables;
mod template;

use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};
use load::{
    ClientFuture, HasPlans, Metric, NamedStatement, OptionError, OptionSpec, Options, Scratch, SinglePass, Slot, Table,
    Tally, Workload, WorkloadKind, WorkloadSpec,
};

use self::kind::Kind;
use self::pass::Micro;
use self::tables::{MOST_ROWS, ROWS_MIN, Tables};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("rows", "100000", "rows of each of the three tables; 10,000 at least").alias(&["table_size"]),
    OptionSpec::new("kinds", "[]", "kinds to run, such as [\"point/*\", \"write/commit\"]; empty for all"),
    OptionSpec::new("files", load::ITEMS, "SQL files with kinds of your own, in the form of dbduel's")
        .paths(&["files"]),
    OptionSpec::new("seconds", "1s", "how long each kind is measured; kinds of long executions are counted instead"),
];

pub const MICRO: WorkloadKind = WorkloadKind {
    name: "micro",
    description: "kinds of statements (points, ranges, aggregates, writes), each with a rate and a verdict of its own",
    example: "[workload]\nname = \"micro\"\nkinds = [\"point/*\", \"write/commit\"]",
    options: OPTIONS,
    build: |options| Ok(Box::new(Micro::new(options)?)),
};

/// One of dbduel's kinds, for a list of them.
#[derive(Debug, Clone)]
pub struct ListedKind {
    pub group: &'static str,
    pub name: &'static str,
    pub does: String,
    pub sysbench: Option<String>,
    /// Dialects that cannot run it, each with the reason.
    pub not_on: Vec<(Dialect, String)>,
}

pub fn listed() -> Vec<ListedKind> {
    let kind = |kind: Kind| ListedKind {
        group: kind.group(),
        name: kind.name,
        not_on: Dialect::ALL.iter().filter_map(|one| Some((*one, kind.lacks(*one)?.to_owned()))).collect(),
        does: kind.does,
        sysbench: kind.sysbench,
    };
    kinds::all().into_iter().map(kind).collect()
}

const RATE: Metric =
    Metric { name: "geomean_per_s", unit: "/s", title: "geometric mean of the rates of all kinds (1/s)" };

impl Micro {
    fn new(options: &Options) -> Result<Micro, OptionError> {
        let rows = options.number("rows", ROWS_MIN, MOST_ROWS)?;
        let seconds = options.duration("seconds")?;
        Ok(Micro { kinds: kinds::chosen(options)?.into(), rows, seconds, tables: Tables::new(rows) })
    }
}

impl Workload for Micro {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            clients: Some(1),
            needs_answers: true,
            keeps_its_size: true,
            primary: RATE,
            scratch: Some(Scratch {
                title: MICRO.name,
                has: |table| ["micro_scratch", "micro_temporary"].contains(&table),
            }),
            ..WorkloadSpec::writing(self.tables.data_key())
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        self.tables.all(dialect)
    }

    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        self.tables.row(data_seed, table, unit, sink)
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let micro = self.clone();
        Ok(Box::pin(async move { pass::run(&micro, &slot, connection) }))
    }

    fn check(&self, admin: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        self.tables.check(admin)
    }

    fn single_pass(&self) -> Option<&dyn SinglePass> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }
}

impl HasPlans for Micro {
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        self.kinds.iter().flat_map(|kind| statements::explained(kind, dialect, self.rows)).collect()
    }

    fn compared_queries(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let all = self.kinds.iter().flat_map(|kind| statements::queries(kind, dialect, self.rows));
        all.filter(statements::is_old).collect()
    }
}

impl SinglePass for Micro {
    fn parts(&self) -> Vec<&'static str> {
        self.groups()
    }

    fn operations(&self) -> usize {
        self.kinds.len()
    }

    fn expected_duration(&self) -> Duration {
        // With what warms a kind up, and makes what it needs.
        self.seconds.mul_f64(1.15) * self.kinds.len() as u32
    }
}
