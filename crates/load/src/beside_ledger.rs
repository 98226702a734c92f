//! Any workload with clients of a ledger beside its own, so that a crash under it shows which commits were kept.
//!
//! The first clients of a load are the ledger's, all others the workload's, numbered from 0 as they would be alone. Both
//! have their tables in one dataset.

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink};

use crate::client::{ClientFuture, Slot};
use crate::ledger::{Audit, Witnessed};
use crate::policy::{ErrorPolicy, Ignored};
use crate::recorder::Tally;
use crate::workload::{Background, DefersWork, KeepsLedger, Metric, ReusesTables, Table, Workload, WorkloadSpec};

pub struct BesideLedger {
    ledger: Box<dyn Workload>,
    ledger_clients: u32,
    /// It has the same number of them in every dialect.
    ledger_tables: usize,
    work: Box<dyn Workload>,
}

impl BesideLedger {
    /// Refused, with the reason, where no ledger can lie beside the workload.
    pub fn new(
        ledger: Box<dyn Workload>,
        ledger_clients: u32,
        work: Box<dyn Workload>,
    ) -> Result<BesideLedger, &'static str> {
        let why = match work.as_ref() {
            pass if pass.ends_itself() => Some("it runs once through, and a crash comes after a time"),
            program if program.commands().is_some() => {
                Some("its script makes its tables, and dbduel adds none to them")
            }
            own if own.spec().own_data.is_some() => Some("its data are yours, and dbduel adds no tables to them"),
            _ => None,
        };
        let ledger_tables = ledger.tables(Dialect::MySql).len();
        why.map_or(Ok(BesideLedger { ledger, ledger_clients, ledger_tables, work }), Err)
    }

    fn both(&self) -> [&dyn Workload; 2] {
        [self.ledger.as_ref(), self.work.as_ref()]
    }
}

impl Workload for BesideLedger {
    fn spec(&self) -> WorkloadSpec {
        let (ledger, work) = (self.ledger.spec(), self.work.spec());
        WorkloadSpec {
            data_key: format!("{} beside {}", work.data_key, ledger.data_key),
            writes: true,
            keeps_its_size: false,
            primary: Metric::TPS,
            // A crash is followed by no figures of single kinds.
            kinds: Vec::new(),
            ..work
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        self.both().iter().flat_map(|one| one.tables(dialect)).collect()
    }

    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        match table.checked_sub(self.ledger_tables) {
            None => self.ledger.rows(data_seed, table, unit, sink),
            Some(table) => self.work.rows(data_seed, table, unit, sink),
        }
    }

    fn client(&self, mut slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        if slot.client < self.ledger_clients {
            let ignored = self.ledger.ignored_errors(connection.dialect());
            slot.policy = ErrorPolicy { ignored, ..ErrorPolicy::default() }.into();
            slot.clients = self.ledger_clients;
            slot.giver = None;
            return self.ledger.client(slot, connection);
        }
        slot.client -= self.ledger_clients;
        slot.clients -= self.ledger_clients;
        slot.ledger = None;
        self.work.client(slot, connection)
    }

    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        let mut found = self.ledger.check(admin, ran)?;
        found.extend(self.work.check(admin, ran)?);
        Ok(found)
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        if dialect.is_embedded() {
            return Err("an embedded engine dies with its load, which is the ledger's alone".to_owned());
        }
        self.work.runs_on(dialect)
    }

    fn data_bytes(&self, dialect: Dialect) -> u64 {
        self.both().iter().map(|one| one.data_bytes(dialect)).sum()
    }

    fn ignored_errors(&self, dialect: Dialect) -> Ignored {
        self.work.ignored_errors(dialect)
    }

    fn lasting(&self, dialect: Dialect) -> Vec<String> {
        self.work.lasting(dialect)
    }

    fn timed_statements(&self, dialect: Dialect) -> Vec<String> {
        self.work.timed_statements(dialect)
    }

    fn defers_work(&self) -> Option<&dyn DefersWork> {
        self.work.defers_work().map(|_| self as &dyn DefersWork)
    }

    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        Some(self)
    }

    fn keeps_ledger(&self) -> Option<&dyn KeepsLedger> {
        Some(self)
    }
}

const IS_DEFERRING: &str = "asked only of a workload that defers work";

impl DefersWork for BesideLedger {
    fn background(&self, clients: u32) -> Background {
        self.work.defers_work().expect(IS_DEFERRING).background(clients - self.ledger_clients)
    }

    fn log_columns(&self) -> &'static [&'static str] {
        self.work.defers_work().expect(IS_DEFERRING).log_columns()
    }
}

impl ReusesTables for BesideLedger {
    fn recognise(&self, admin: &mut Admin, data_seed: u64) -> Result<Result<(), String>, Error> {
        for tables in self.both().iter().filter_map(|one| one.reuses_tables()) {
            if let Err(why) = tables.recognise(admin, data_seed)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    }

    fn prepare_run(&self, dialect: Dialect) -> Vec<String> {
        let tables = self.both().into_iter().filter_map(Workload::reuses_tables);
        tables.flat_map(|tables| tables.prepare_run(dialect)).collect()
    }
}

impl KeepsLedger for BesideLedger {
    fn clients(&self, _: u32) -> u32 {
        self.ledger_clients
    }

    fn options(&self) -> Vec<(&'static str, u64)> {
        self.of_ledger().options()
    }

    fn audit(&self, admin: &mut Admin, ledgers: &[Witnessed<'_>]) -> Result<Audit, Error> {
        self.of_ledger().audit(admin, ledgers)
    }
}

impl BesideLedger {
    fn of_ledger(&self) -> &dyn KeepsLedger {
        self.ledger.keeps_ledger().expect("it was given as one that keeps a ledger")
    }
}
