//! A workload derived from TPC-H (revision 3): analytic queries over a wholesale supplier's orders.
//!
//! Schema, population, queries, their parameters and their order are the specification's. Results are not TPC-H results:
//! nothing here was audited, SQL is written for each dialect, rows that ORDER BY leaves equal are put in one order, and
//! no metric of the specification is computed.

mod answer;
pub mod by_hand;
mod options;
mod parameters;
mod pass;
mod population;
mod queries;
mod refresh;
mod relation;
mod schema;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};
use load::{
    ClientFuture, DerivedMetrics, HasPlans, Metric, NamedStatement, SinglePass, Slot, Table, Tally, Workload,
    WorkloadKind, WorkloadSpec,
};

use self::options::Tpch;
use self::refresh::NewOrders;
use self::relation::RELATIONS;

pub const TPCH: WorkloadKind = WorkloadKind {
    name: "tpch",
    description: "TPC-H-derived: 22 analytic queries, each timed and judged, in one stream or in several",
    example: "[workload]\nname = \"tpch\"\nscale_factor = 0.1",
    options: options::OPTIONS,
    build: |options| Ok(Box::new(Tpch::new(options)?)),
};

const SECONDS: Metric = Metric { name: "seconds", unit: "s", title: "time of all queries (s)" };
/// Of all streams, from the first query to the last answer.
const QUERIES_PER_HOUR: Metric =
    Metric { name: "queries_per_h", unit: "/h", title: "queries of all streams per hour (1/h)" };

const DISCLAIMER: &str =
    "TPC-H-derived, not a TPC-H result: it was not audited, and published TPC-H results are no measure for it";

/// Bytes of a row with its indexes, over all tables; more than any of the servers needs.
const ROW_BYTES: u64 = 330;

impl Workload for Tpch {
    fn spec(&self) -> WorkloadSpec {
        let key = population::data_key(self.scale_factor);
        let facts = if self.refresh { WorkloadSpec::writing(key) } else { WorkloadSpec::reading(key) };
        let state = if self.warm { "each stream runs its queries once before" } else { "the first execution of each" };
        WorkloadSpec {
            clients: Some(self.clients()),
            needs_answers: true,
            keeps_its_size: true,
            primary: if self.streams == 0 { SECONDS } else { QUERIES_PER_HOUR },
            notes: vec![DISCLAIMER.to_owned(), format!("scale factor {}; measured: {state}", self.scale_factor)],
            ..facts
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        schema::tables(self, dialect)
    }

    fn rows(&self, _: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        population::rows(self.scale_factor, RELATIONS[table], unit, sink)
    }

    fn data_bytes(&self, dialect: Dialect) -> u64 {
        self.tables(dialect).iter().map(|table| table.rows * ROW_BYTES).sum()
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        use driver::Connection;
        let orders = self.refresh.then(|| NewOrders::new(self.scale_factor, connection.dialect())).transpose()?;
        population::release_words();
        let tpch = self.clone();
        Ok(Box::pin(async move { pass::run(&tpch, &slot, connection, orders).await }))
    }

    fn check(&self, admin: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        let mut violations = Vec::new();
        for relation in RELATIONS {
            let (sql, rows) =
                (format!("SELECT COUNT(*) FROM {}", relation.name()), population::rows_of(self.scale_factor, relation));
            let found = admin.value(&sql)?.unwrap_or_default();
            if found != rows.to_string() {
                violations.push(format!("{sql}: {rows} was expected, {found} found"));
            }
        }
        Ok(violations)
    }

    fn checked_bytes(&self, dialect: Dialect) -> u64 {
        self.data_bytes(dialect)
    }

    fn single_pass(&self) -> Option<&dyn SinglePass> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }

    fn derived_metrics(&self) -> Option<&dyn DerivedMetrics> {
        (self.streams > 0).then_some(self as &dyn DerivedMetrics)
    }
}

impl SinglePass for Tpch {
    fn parts(&self) -> Vec<&'static str> {
        pass::PARTS.to_vec()
    }

    fn operations(&self) -> usize {
        self.queries.len() + if self.refresh { 2 } else { 0 }
    }

    fn expected_duration(&self) -> Duration {
        pass::guess(self)
    }

    fn warm_up(&self) -> Option<Duration> {
        self.warm.then(|| pass::guess(self) / 2)
    }
}

impl HasPlans for Tpch {
    /// With the parameters that answers are validated by.
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let statement = |query: &&queries::Query| {
            let sql = query.sql(dialect, &query.validation(self.scale_factor));
            NamedStatement { name: query.name.to_owned(), sql }
        };
        self.queries.iter().map(statement).collect()
    }

    fn compared_queries(&self, dialect: Dialect) -> Vec<NamedStatement> {
        self.explained_statements(dialect)
    }

    /// A query that is not answered within the limit is compared with nothing: its trials show it.
    fn answers(
        &self,
        connect: &mut dyn FnMut() -> Result<Admin, Error>,
        dialect: Dialect,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        by_hand::answers(self, connect, dialect).map(Some)
    }
}

impl DerivedMetrics for Tpch {
    fn rates(&self, tally: &Tally) -> Vec<(&'static str, f64)> {
        let queries: usize = tally.programs.iter().map(|program| program.operations.len()).sum();
        let longest = tally.programs.iter().map(|program| program.wall_ns).max().unwrap_or(0);
        let rate = (longest > 0).then(|| queries as f64 * 3600.0 / (longest as f64 / 1e9));
        rate.map(|rate| (QUERIES_PER_HOUR.name, rate)).into_iter().collect()
    }
}
