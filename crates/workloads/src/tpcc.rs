//! A workload derived from TPC-C (revision 5.11): an order-entry business of so many warehouses.
//!
//! Schema, population, the five transactions and the consistency conditions are the specification's;
//! pacing, mix and where a client is at home are choices (`profile`). Results are not TPC-C results:
//! nothing here was audited, and a closed loop without think times is not what the specification
//! measures. Inputs are drawn by the client, so that every contender gets the same.

mod batch;
pub mod by_hand;
mod check;
mod client;
mod desk;
mod inputs;
mod meta;
mod null;
mod options;
mod pacing;
mod population;
mod procedures;
mod random;
mod rows;
mod samples;
mod scale;
mod schema;
mod stamp;
mod statements;
#[cfg(test)]
mod tests;
mod text;

use options::{DEFERRED_DELIVERY, KINDS_OF_CLIENTS};
pub use options::{KINDS, Tpcc};
use std::sync::Arc;

use driver::{Admin, AnyConnection, AsText, Dialect, Error, RowSink};

use self::client::TpccClient;
pub use self::client::client_on;
pub use self::desk::COUNT_NAMES;
pub use self::null::NullEngine;
use self::options::{Delivery, Form, Pacing};
use load::{
    Background, ClientFuture, CrashWitness, DefersWork, DerivedMetrics, HasPlans, Ignored, Metric, NamedStatement,
    OptionValue, OtherMix, Preparing, ReusesTables, Slot, Table, Tally, Workload, WorkloadKind, WorkloadSpec, queries,
};

pub const TPCC: WorkloadKind = WorkloadKind {
    name: "tpcc",
    description: "TPC-C-derived: New-Order, Payment, Order-Status, Delivery and Stock-Level over warehouses",
    example: "[workload]\nname = \"tpcc\"\nwarehouses = 5",
    options: options::OPTIONS,
    build: |options| Ok(Box::new(Tpcc::new(options)?)),
};

/// The option with which nothing is prepared.
const UNPREPARED: (&str, &[&str]) = ("db_ps_mode", &["disable"]);

const NOPM: Metric = Metric { name: "nopm", unit: "NOPM", title: "committed New-Orders per minute (NOPM)" };

const DISCLAIMER: &str =
    "TPC-C-derived, not a TPC-C result: it was not audited, and published TPC-C results are no measure for it";

impl Workload for Tpcc {
    fn spec(&self) -> WorkloadSpec {
        let kinds = if self.delivery == Delivery::Queued { KINDS } else { &KINDS[..KINDS_OF_CLIENTS] };
        WorkloadSpec {
            clients: scale::clients(self),
            needs_answers: true,
            rests: (self.pacing == Pacing::Spec).then_some(pacing::REST_MAX),
            primary: NOPM,
            kinds: kinds.to_vec(),
            counts: COUNT_NAMES,
            notes: vec![DISCLAIMER.to_owned(), self.manner.clone()],
            ..WorkloadSpec::writing(population::data_key(self))
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        schema::tables(self, dialect)
    }

    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        population::rows(self, data_seed, table, unit, sink)
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        match (self.form, dialect) {
            (Form::Procedures, Dialect::Sqlite) => {
                Err("SQLite has no stored procedures, so form = \"procedures\" cannot run there; use rows or batch"
                    .to_owned())
            }
            // It takes foreign keys in CREATE only, and enforces them only for connections that ask for it.
            (_, Dialect::Sqlite) if self.foreign_keys => {
                Err("SQLite cannot add foreign keys to loaded tables, so fk = true cannot run there; leave it out"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }

    fn data_bytes(&self, dialect: Dialect) -> u64 {
        scale::data_bytes(self, dialect)
    }

    fn preparing(&self, dialect: Dialect) -> Preparing {
        if self.as_text {
            return Preparing::Nothing;
        }
        let place = client::Parameter { input_seed: 1, data_seed: 1 };
        let tpcc = Arc::new(self.clone());
        Preparing::counted(dialect, UNPREPARED, |counted| TpccClient::new(tpcc, place, counted))
    }

    /// The consistency conditions are about all tables.
    fn checked_bytes(&self, dialect: Dialect) -> u64 {
        scale::data_bytes(self, dialect)
    }

    fn remains(&self, admin: &mut Admin) -> Result<Vec<(String, String)>, Error> {
        procedures::remains(admin)
    }

    /// Not a duplicate key: no transaction meets one unless something is wrong.
    fn ignored_errors(&self, _: Dialect) -> Ignored {
        Ignored::Conflicts
    }

    fn client(&self, mut slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let place = client::Parameter::of(&slot);
        let duty = client::Duty::of(&mut slot);
        let tpcc = Arc::new(self.clone());
        if self.as_text {
            return Ok(slot.drive(TpccClient::new(tpcc, place, AsText::new(connection))?.with(duty)));
        }
        Ok(slot.drive(TpccClient::new(tpcc, place, connection)?.with(duty)))
    }

    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        check::check(self, admin, ran)
    }

    fn other_mix(&self) -> Option<OtherMix> {
        let form = if self.form == Form::Rows { "batch" } else { "rows" };
        Some(OtherMix {
            workload: TPCC.name,
            label: Some(format!("{}, {form}", TPCC.name)),
            keeps: None,
            set: vec![("form", OptionValue::Text(form.to_owned()))],
        })
    }

    fn defers_work(&self) -> Option<&dyn DefersWork> {
        (self.delivery == Delivery::Queued).then_some(self)
    }

    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }

    fn crash_witness(&self) -> Option<&dyn CrashWitness> {
        Some(self)
    }

    fn derived_metrics(&self) -> Option<&dyn DerivedMetrics> {
        Some(self)
    }
}

impl DefersWork for Tpcc {
    fn background(&self, clients: u32) -> Background {
        scale::background(clients)
    }

    fn log_columns(&self) -> &'static [&'static str] {
        client::JOURNAL
    }
}

impl ReusesTables for Tpcc {
    fn recognise(&self, admin: &mut Admin, data_seed: u64) -> Result<Result<(), String>, Error> {
        meta::recognise(self, admin, data_seed)
    }

    fn prepare_run(&self, dialect: Dialect) -> Vec<String> {
        if self.form == Form::Procedures { procedures::definitions(self, dialect) } else { Vec::new() }
    }
}

impl HasPlans for Tpcc {
    /// Lists of rows and procedures do the same by statements that depend on what is drawn.
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        if self.form == Form::Rows { samples::statements(dialect) } else { Vec::new() }
    }

    /// Every form reads the same tables.
    fn compared_queries(&self, dialect: Dialect) -> Vec<NamedStatement> {
        queries(samples::statements(dialect))
    }
}

impl DerivedMetrics for Tpcc {
    fn rates(&self, tally: &Tally) -> Vec<(&'static str, f64)> {
        scale::rates(self, tally)
    }
}

impl CrashWitness for Tpcc {
    fn after_crash(&self, admin: &mut Admin, ran: &Tally) -> Result<String, Error> {
        check::after_crash(self, admin, ran)
    }
}
