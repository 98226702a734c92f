//! One client of the OLTP workloads: the measured statements, in order.

use std::sync::Arc;

use driver::{Connection, Error, Statement, Value};

use super::sql::{KINDS, Kind};
use super::text::{self, C_BYTES, PAD_BYTES};
use super::{Oltp, Version};
use crate::rng::Rng;
use crate::workload::{Attempt, Client, Outcome, Turn};

pub struct OltpClient<C> {
    connection: C,
    workload: Arc<Oltp>,
    /// By kind, then by table; the kinds that the mix lacks have none.
    prepared: [Vec<Statement>; KINDS],
    /// BEGIN and COMMIT, where statements do not commit themselves.
    brackets: Option<(Statement, Statement)>,
    input_seed: u64,
    rng: Rng,
}

impl<C: Connection> OltpClient<C> {
    /// Prepares BEGIN and COMMIT once, and each kind of statement once per table, as sysbench does.
    pub fn new(workload: Arc<Oltp>, input_seed: u64, mut connection: C) -> Result<Self, Error> {
        let dialect = connection.dialect();
        let brackets = if workload.mix.transaction {
            let begin = if workload.mix.writes() { dialect.begin_write() } else { "BEGIN" };
            Some((connection.prepare(begin)?, connection.prepare("COMMIT")?))
        } else {
            None
        };
        let sql = workload.sql();
        let mut prepared: [Vec<Statement>; KINDS] = Default::default();
        for kind in workload.mix.kinds() {
            for table in 0..workload.tables {
                let text = sql.prepared(kind, &workload.table_name(table), dialect);
                prepared[kind as usize].push(connection.prepare(&text)?);
            }
        }
        Ok(OltpClient { connection, workload, prepared, brackets, input_seed, rng: Rng::stream(0, 0, 0) })
    }

    async fn statements(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        let mix = self.workload.mix;
        if let Some((begin, _)) = self.brackets {
            self.connection.execute(begin, &[]).await?;
            attempt.other += 1;
        }
        self.point_selects(mix.point_selects, attempt).await?;
        self.ranges(Kind::SimpleRange, mix.simple_ranges, attempt).await?;
        self.ranges(Kind::SumRange, mix.sum_ranges, attempt).await?;
        self.ranges(Kind::OrderRange, mix.order_ranges, attempt).await?;
        self.ranges(Kind::DistinctRange, mix.distinct_ranges, attempt).await?;
        self.index_updates(mix.index_updates, attempt).await?;
        self.non_index_updates(mix.non_index_updates, attempt).await?;
        self.delete_inserts(mix.delete_inserts, attempt).await?;
        if let Some((_, commit)) = self.brackets {
            attempt.committing = true;
            self.connection.execute(commit, &[]).await?;
            attempt.committing = false;
            attempt.other += 1;
        }
        Ok(())
    }

    /// One table per group of statements, drawn anew for each.
    fn draw_table(&mut self) -> usize {
        self.rng.below(self.workload.tables) as usize
    }

    fn draw_id(&mut self) -> i64 {
        self.workload.distribution.draw(&mut self.rng, self.workload.rows) as i64
    }

    async fn run(
        &mut self,
        kind: Kind,
        table: usize,
        parameters: &[Value<'_>],
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        // Outside a transaction a statement commits itself.
        attempt.committing = self.brackets.is_none() && !kind.is_read();
        self.connection.execute(self.prepared[kind as usize][table], parameters).await?;
        attempt.committing = false;
        if kind.is_read() {
            attempt.reads += 1;
        } else {
            attempt.writes += 1;
        }
        Ok(())
    }

    async fn point_selects(&mut self, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let id = self.draw_id();
            self.run(Kind::PointSelect, table, &[Value::Int(id)], attempt).await?;
        }
        Ok(())
    }

    async fn ranges(&mut self, kind: Kind, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let (low, high) = self.draw_range(kind);
            self.run(kind, table, &[Value::Int(low), Value::Int(high)], attempt).await?;
        }
        Ok(())
    }

    /// 1.0 lets a range run over the table's end; 0.4 moves it back inside, and its DISTINCT query
    /// covers one id more.
    fn draw_range(&mut self, kind: Kind) -> (i64, i64) {
        let (rows, size) = (self.workload.rows as i64, self.workload.range_size as i64);
        let low = self.draw_id();
        if self.workload.version == Version::Modern {
            return (low, low + size - 1);
        }
        let low = if low + size > rows { (rows - size).max(1) } else { low };
        (low, low + size - i64::from(kind != Kind::DistinctRange))
    }

    async fn index_updates(&mut self, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let id = self.draw_id();
            self.run(Kind::UpdateIndex, table, &[Value::Int(id)], attempt).await?;
        }
        Ok(())
    }

    async fn non_index_updates(&mut self, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let mut c = [0; C_BYTES];
            let length = match self.workload.version {
                Version::Modern => {
                    text::digit_groups(&mut self.rng, &mut c);
                    C_BYTES
                }
                Version::Classic => text::classic_numbers(&mut self.rng, &mut c),
            };
            let id = self.draw_id();
            self.run(Kind::UpdateNonIndex, table, &[Value::Text(&c[..length]), Value::Int(id)], attempt).await?;
        }
        Ok(())
    }

    async fn delete_inserts(&mut self, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let id = Value::Int(self.draw_id());
            if self.workload.mix.update_before_delete {
                self.run(Kind::UpdateIndex, table, &[id], attempt).await?;
            }
            if self.workload.version == Version::Classic {
                let row = [id, Value::Int(0), Value::Text(b" "), Value::Text(text::CLASSIC_INSERT_PAD)];
                self.run(Kind::Delete, table, &[id], attempt).await?;
                self.run(Kind::Insert, table, &row, attempt).await?;
                continue;
            }
            let k = Value::Int(self.draw_id());
            let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
            text::digit_groups(&mut self.rng, &mut c);
            text::digit_groups(&mut self.rng, &mut pad);
            self.run(Kind::Delete, table, &[id], attempt).await?;
            self.run(Kind::Insert, table, &[id, k, Value::Text(&c), Value::Text(&pad)], attempt).await?;
        }
        Ok(())
    }
}

impl<C: Connection> Client for OltpClient<C> {
    type Connection = C;

    /// Every try of a transaction runs the same inputs.
    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        self.rng = Rng::stream(self.input_seed, turn.series, turn.number);
        self.statements(attempt).await?;
        Ok(Outcome::Committed)
    }

    /// A failed statement leaves some servers inside a transaction and others outside; ROLLBACK is
    /// right in the first case and refused, or ignored, in the second.
    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        if self.brackets.is_none() {
            return Ok(());
        }
        match self.connection.query("ROLLBACK").await {
            Ok(_) | Err(Error::Refused { .. }) => {
                attempt.other += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn connection(&mut self) -> &mut C {
        &mut self.connection
    }
}
