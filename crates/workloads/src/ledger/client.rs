//! One client of the ledger: its statements, and what it writes down about them.

use std::sync::Arc;

use driver::{AnyConnection, Connection, Error, Statement, Value};
use load::{Attempt, Client, Clock, Ledger, MonotonicClock, Outcome, Slot, Turn};

use super::{Content, LedgerWorkload};
use crate::sections::prepared;

const INSERT_ENTRY: &str =
    "INSERT INTO ledger_entry (client, number, hash, payer, payee, amount, list_id) VALUES (?, ?, ?, ?, ?, ?, ?)";
const MOVE: &str = "UPDATE ledger_account SET balance = balance + ? WHERE id = ?";
const LENGTHEN: &str = "UPDATE ledger_list SET items = items + 1 WHERE id = ?";
/// The list's row is locked by the statement before.
const LENGTH: &str = "(SELECT items FROM ledger_list WHERE id = ?)";

pub struct LedgerClient {
    workload: LedgerWorkload,
    /// Where the client stands in the ledger; none outside of crash experiments.
    ledger: Option<Arc<Ledger>>,
    place: u32,
    /// Its number in the tables.
    client: u32,
    seed: u64,
    clock: MonotonicClock,
    connection: AnyConnection,
    statements: Statements,
}

struct Statements {
    begin: Statement,
    insert_entry: Statement,
    move_money: Statement,
    lengthen: Statement,
    append: Statement,
    commit: Statement,
}

impl LedgerClient {
    pub fn new(workload: LedgerWorkload, slot: &Slot, mut connection: AnyConnection) -> Result<LedgerClient, Error> {
        let dialect = connection.dialect();
        let append = format!("INSERT INTO ledger_item (list_id, place, client, number) VALUES (?, {LENGTH}, ?, ?)");
        let mut statement = |sql: &str| connection.prepare(&prepared(sql, dialect));
        let statements = Statements {
            begin: statement(dialect.begin_write())?,
            insert_entry: statement(INSERT_ENTRY)?,
            move_money: statement(MOVE)?,
            lengthen: statement(LENGTHEN)?,
            append: statement(&append)?,
            commit: statement("COMMIT")?,
        };
        let ledger = slot.ledger.clone();
        let (first, seed) =
            ledger.as_ref().map_or((0, slot.input_seed), |ledger| (ledger.shape().first_client, ledger.shape().seed));
        let (place, clock) = (slot.client, slot.clock.clone());
        Ok(LedgerClient { workload, ledger, place, client: first + place, seed, clock, connection, statements })
    }

    async fn run(&mut self, statement: Statement, values: &[Value<'_>], attempt: &mut Attempt) -> Result<(), Error> {
        attempt.writes += 1;
        self.connection.execute(statement, values).await.map(drop)
    }

    /// All but COMMIT. Accounts are taken in the order of their ids, so that no two clients wait for each other.
    async fn change(&mut self, number: u64, content: &Content, attempt: &mut Attempt) -> Result<(), Error> {
        let Content { hash, payer, payee, amount, list } = *content;
        let (client, number) = (i64::from(self.client), number as i64);
        attempt.other += 1;
        self.connection.execute(self.statements.begin, &[]).await?;
        let entry = [client, number, hash, payer, payee, amount, list].map(Value::Int);
        self.run(self.statements.insert_entry, &entry, attempt).await?;
        let mut moves = [(payer, -amount), (payee, amount)];
        moves.sort_unstable();
        for (account, change) in moves {
            self.run(self.statements.move_money, &[Value::Int(change), Value::Int(account)], attempt).await?;
        }
        self.run(self.statements.lengthen, &[Value::Int(list)], attempt).await?;
        let item = [list, list, client, number].map(Value::Int);
        self.run(self.statements.append, &item, attempt).await
    }

    async fn commit(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.committing = true;
        attempt.other += 1;
        self.connection.execute(self.statements.commit, &[]).await?;
        attempt.committing = false;
        Ok(())
    }
}

impl Client for LedgerClient {
    type Connection = AnyConnection;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let number = turn.number;
        let content = self.workload.content(self.seed, self.client, number);
        if let Some(ledger) = &self.ledger
            && !ledger.intend(self.place, number, self.clock.now_ns())
        {
            return Err(Error::Protocol("the ledger has no room for another transaction".to_owned()));
        }
        let changed = self.change(number, &content, attempt).await;
        if let (Err(_), Some(ledger)) = (&changed, &self.ledger) {
            ledger.abort(self.place, number, self.clock.now_ns());
        }
        changed?;
        // Where this fails the outcome is unknown, and the ledger has the intent alone.
        self.commit(attempt).await?;
        if let Some(ledger) = &self.ledger {
            ledger.acknowledge(self.place, number, self.clock.now_ns());
        }
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.other += 1;
        self.connection.query("ROLLBACK").await.map(drop)
    }

    fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}
