//! Transactions that show after a crash which of them a server has kept: entries, moved money, and lists.
//!
//! Client `w` sends its transactions number 0, 1, 2 …. Each inserts an entry (w, number, hash), moves money from one
//! account to another, and appends (w, number) to a list. Everything in it follows from the seed, the client and the
//! number alone. Clients write what they send and what they are answered into a [`load::Ledger`], where the load has
//! one; `audit.rs` compares it with the tables.

mod audit;
mod client;
mod content;

use content::{BALANCE, Content, LedgerWorkload};
use driver::{Admin, AnyConnection, Dialect, Error, RowSink, Value};
use load::{
    Audit, ClientFuture, Ignored, KeepsLedger, OptionSpec, ReusesTables, Slot, Table, Tally, Witnessed, Workload,
    WorkloadKind, WorkloadSpec,
};

pub const LEDGER: WorkloadKind = WorkloadKind {
    name: "ledger",
    description: "transactions that show after a crash which of them were kept; for experiments with [recovery]",
    example: "workload = { name = \"ledger\", accounts = 10_000 }",
    options: &[
        OptionSpec::new("accounts", "10000", "rows of the table of accounts, each of about 120 bytes"),
        OptionSpec::new(
            "lists",
            "1000",
            "lists that transactions append to; few lists make clients wait for each other",
        ),
    ],
    build: |options| {
        let (accounts, lists) =
            (options.number("accounts", 2, 1_000_000_000)?, options.number("lists", 1, 10_000_000)?);
        Ok(Box::new(LedgerWorkload { accounts, lists }))
    },
};

/// Makes an account as long as a sysbench row's half, so that pages fill and dirty pages are many.
const FILLER: &[u8] = &[b'x'; 100];

/// Tables, in the order of [`Workload::tables`].
const ACCOUNTS: usize = 0;

impl Workload for LedgerWorkload {
    fn spec(&self) -> WorkloadSpec {
        let note = "Transactions of the ledger are made to be checked after a crash; their rate is comparable with \
                    nothing but itself";
        WorkloadSpec {
            notes: vec![note.to_owned()],
            ..WorkloadSpec::writing(format!("ledger accounts={} lists={}", self.accounts, self.lists))
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let table = |name: &str, columns: &[&'static str], definition: &str, rows: u64| Table {
            name: name.to_owned(),
            create: vec![format!("CREATE TABLE {name} ({definition}){}", dialect.table_options("InnoDB"))],
            columns: columns.iter().map(|column| (*column).into()).collect(),
            units: rows,
            rows,
            finish: Vec::new(),
            link: Vec::new(),
            seals: false,
        };
        vec![
            table(
                "ledger_account",
                &["id", "balance", "filler"],
                "id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, filler VARCHAR(100) NOT NULL",
                self.accounts,
            ),
            table("ledger_list", &["id", "items"], "id BIGINT NOT NULL PRIMARY KEY, items BIGINT NOT NULL", self.lists),
            table(
                "ledger_entry",
                &["client", "number"],
                "client BIGINT NOT NULL, number BIGINT NOT NULL, hash BIGINT NOT NULL, payer BIGINT NOT NULL, \
                 payee BIGINT NOT NULL, amount BIGINT NOT NULL, list_id BIGINT NOT NULL, PRIMARY KEY (client, number)",
                0,
            ),
            table(
                "ledger_item",
                &["list_id", "place"],
                "list_id BIGINT NOT NULL, place BIGINT NOT NULL, client BIGINT NOT NULL, number BIGINT NOT NULL, \
                 PRIMARY KEY (list_id, place)",
                0,
            ),
        ]
    }

    fn rows(&self, _: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        let id = Value::Int(unit as i64);
        if table == ACCOUNTS {
            return sink(&[id, Value::Int(BALANCE), Value::Text(FILLER)]);
        }
        sink(&[id, Value::Int(0)])
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let client = client::LedgerClient::new(*self, &slot, connection)?;
        Ok(slot.drive(client))
    }

    fn check(&self, admin: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        audit::contradictions(admin)
    }

    /// A key that is there already belongs to somebody else.
    fn ignored_errors(&self, _: Dialect) -> Ignored {
        Ignored::Conflicts
    }

    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        Some(self)
    }

    fn keeps_ledger(&self) -> Option<&dyn KeepsLedger> {
        Some(self)
    }
}

impl ReusesTables for LedgerWorkload {
    /// Clients number their transactions from 0, so the tables serve one load.
    fn recognise(&self, admin: &mut Admin, _: u64) -> Result<Result<(), String>, Error> {
        let used = admin.value("SELECT client FROM ledger_entry LIMIT 1")?.is_some();
        Ok(if used {
            Err("the ledger's tables hold entries of an earlier load; load them again".to_owned())
        } else {
            Ok(())
        })
    }

    fn prepare_run(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}

impl KeepsLedger for LedgerWorkload {
    fn options(&self) -> Vec<(&'static str, u64)> {
        vec![("accounts", self.accounts), ("lists", self.lists)]
    }

    fn audit(&self, admin: &mut Admin, ledgers: &[Witnessed<'_>]) -> Result<Audit, Error> {
        Ok(audit::judge(self, &audit::read(admin)?, ledgers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_follows_from_seed_client_and_number() {
        let workload = LedgerWorkload { accounts: 2, lists: 3 };
        for number in 0..200 {
            let content = workload.content(1, 2, number);
            assert_eq!(content, workload.content(1, 2, number));
            assert_ne!(content.hash, workload.content(2, 2, number).hash);
            assert_ne!(content.payer, content.payee);
            assert!((0..3).contains(&content.list) && (1..=100).contains(&content.amount), "{content:?}");
        }
    }
}
