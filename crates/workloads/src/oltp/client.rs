//! One client of the OLTP workloads: the measured statements, in order.

use std::sync::Arc;

use driver::{Connection, Error, Value};

use super::rest::Habit;
use super::script::{Mix, Oltp, Script};
use super::session::Session;
use super::sql::Kind;
use super::sql::Version;
use super::text::{self, C_BYTES, PAD_BYTES};
use load::{Answers, Attempt, Client, Outcome, Rng, Turn, unique};

/// Which client this is, and of how many.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub client: u32,
    pub clients: u32,
    pub input_seed: u64,
}

pub struct OltpClient<C, H> {
    session: Session<C, H>,
    workload: Arc<Oltp>,
    place: Parameter,
    rng: Rng,
    /// The values of a list, for `select_random_*`.
    list: Vec<Value<'static>>,
}

impl<C: Connection, H: Habit> OltpClient<C, H> {
    pub fn new(workload: Arc<Oltp>, place: Parameter, connection: C, habit: H) -> Result<Self, Error> {
        let session = Session::new(&workload, connection, habit)?;
        let list = vec![Value::Int(0); workload.list_values()];
        Ok(OltpClient { session, workload, place, rng: Rng::stream(0, 0, 0), list })
    }

    async fn script(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<(), Error> {
        match self.workload.script {
            // The same statements as below, without walking through the groups that are empty.
            Script::Mix(mix) if mix.is_points_only() => self.by_id(mix.point_kind(), mix.point_selects, attempt).await,
            Script::Mix(mix) => self.transaction(mix, attempt).await,
            Script::Delete => self.by_id(Kind::Delete, 1, attempt).await,
            Script::PadSelect => self.by_id(Kind::PadSelect, 1, attempt).await,
            Script::Insert | Script::FreshInsert => self.insert(turn, attempt).await,
            Script::RandomPoints { .. } => self.random_points(turn, attempt).await,
            Script::RandomRanges { delta, .. } => self.random_ranges(turn, delta as i64, attempt).await,
            Script::Procedure => {
                let place = [i64::from(self.place.client), i64::from(self.place.clients)].map(Value::Int);
                self.session.run(Kind::Procedure, 0, &place, attempt).await
            }
            Script::UniqueDelete => {
                let id = unique::classic(self.unique_place(turn), self.workload.schema.rows);
                self.session.run(Kind::Delete, 0, &[Value::Int(id)], attempt).await
            }
        }
    }

    async fn transaction(&mut self, mix: Mix, attempt: &mut Attempt) -> Result<(), Error> {
        self.session.begin(attempt).await?;
        self.by_id(mix.point_kind(), mix.point_selects, attempt).await?;
        self.ranges(Kind::SimpleRange, mix.simple_ranges, attempt).await?;
        self.ranges(Kind::SumRange, mix.sum_ranges, attempt).await?;
        self.ranges(Kind::OrderRange, mix.order_ranges, attempt).await?;
        self.ranges(Kind::DistinctRange, mix.distinct_ranges, attempt).await?;
        self.by_id(Kind::UpdateIndex, mix.index_updates, attempt).await?;
        self.non_index_updates(mix.non_index_updates, attempt).await?;
        self.delete_inserts(mix, attempt).await?;
        self.session.commit(attempt).await
    }

    /// One table per group of statements, drawn anew for each.
    fn draw_table(&mut self) -> usize {
        self.rng.below(self.workload.schema.tables) as usize
    }

    fn draw_id(&mut self) -> i64 {
        self.workload.ids.draw(&mut self.rng, self.workload.schema.rows) as i64
    }

    fn unique_place(&self, turn: Turn) -> u64 {
        unique::place(turn, self.place.client, self.place.clients)
    }

    /// Statements whose only value is an id.
    async fn by_id(&mut self, kind: Kind, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let id = self.draw_id();
            self.session.run(kind, table, &[Value::Int(id)], attempt).await?;
        }
        Ok(())
    }

    async fn ranges(&mut self, kind: Kind, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let (low, high) = self.draw_range(kind);
            self.session.run(kind, table, &[Value::Int(low), Value::Int(high)], attempt).await?;
            let last = high.min(self.workload.schema.rows as i64);
            self.session.answers[kind as usize].wanted += (last - low + 1) as u64;
        }
        Ok(())
    }

    /// 1.0 lets a range run over the table's end; 0.4 moves it back inside, and its DISTINCT query
    /// covers one id more.
    fn draw_range(&mut self, kind: Kind) -> (i64, i64) {
        let (rows, size) = (self.workload.schema.rows as i64, self.workload.range_size as i64);
        let low = self.draw_id();
        if self.workload.schema.version == Version::Modern {
            return (low, low + size - 1);
        }
        let low = if low + size > rows { (rows - size).max(1) } else { low };
        (low, low + size - i64::from(kind != Kind::DistinctRange))
    }

    async fn non_index_updates(&mut self, count: u64, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..count {
            let mut c = [0; C_BYTES];
            let length = self.draw_text(10, &mut c);
            let id = self.draw_id();
            let values = [Value::Text(&c[..length]), Value::Int(id)];
            self.session.run(Kind::UpdateNonIndex, table, &values, attempt).await?;
        }
        Ok(())
    }

    /// A string of so many numbers, in the version's form; returns its length.
    fn draw_text(&mut self, numbers: usize, out: &mut [u8]) -> usize {
        match self.workload.schema.version {
            Version::Modern => {
                text::digit_groups(&mut self.rng, out);
                out.len()
            }
            Version::Classic => text::classic_numbers(&mut self.rng, numbers, out),
        }
    }

    async fn delete_inserts(&mut self, mix: Mix, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        for _ in 0..mix.delete_inserts {
            let id = Value::Int(self.draw_id());
            if mix.update_before_delete {
                self.session.run(Kind::UpdateIndex, table, &[id], attempt).await?;
            }
            if self.workload.schema.version == Version::Classic {
                let row = [id, Value::Int(0), Value::Text(b" "), Value::Text(text::CLASSIC_INSERT_PAD)];
                self.session.run(Kind::Delete, table, &[id], attempt).await?;
                self.session.run(Kind::Insert, table, &row, attempt).await?;
                continue;
            }
            let k = Value::Int(self.draw_id());
            let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
            text::digit_groups(&mut self.rng, &mut c);
            text::digit_groups(&mut self.rng, &mut pad);
            self.session.run(Kind::Delete, table, &[id], attempt).await?;
            self.session.run(Kind::Insert, table, &[id, k, Value::Text(&c), Value::Text(&pad)], attempt).await?;
        }
        Ok(())
    }

    /// A row without an id where the server numbers rows, else one with an id that no other client takes.
    async fn insert(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<(), Error> {
        let table = self.draw_table();
        let k = Value::Int(self.draw_id());
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        let (c_length, pad_length) = (self.draw_text(10, &mut c), self.draw_text(5, &mut pad));
        let (c, pad) = (Value::Text(&c[..c_length]), Value::Text(&pad[..pad_length]));
        if self.workload.schema.auto_inc {
            return self.session.run(Kind::InsertNumbered, table, &[k, c, pad], attempt).await;
        }
        let place = self.unique_place(turn);
        let id = match self.workload.schema.version {
            Version::Modern => unique::scattered(place, self.place.input_seed),
            Version::Classic => unique::classic(place, self.workload.schema.rows),
        };
        self.session.run(Kind::Insert, table, &[Value::Int(id), k, c, pad], attempt).await
    }

    /// The keys that a transaction of `select_random_*` draws from: each client's own slice of them,
    /// as in sysbench, or all, so that the inputs do not depend on how many clients there are.
    fn key_slice(&self, turn: Turn) -> (u64, u64) {
        let (rows, clients) = (self.workload.schema.rows, u64::from(self.place.clients));
        if !self.workload.rules.slices_keys() {
            return (0, rows);
        }
        let slice = self.unique_place(turn) % clients;
        (slice * rows / clients, (slice + 1) * rows / clients)
    }

    async fn random_points(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<(), Error> {
        let (low, high) = self.key_slice(turn);
        for value in &mut self.list {
            *value = Value::Int(self.workload.ids.draw_between(&mut self.rng, low, high) as i64);
        }
        self.session.run(Kind::RandomPoints, 0, &self.list, attempt).await
    }

    async fn random_ranges(&mut self, turn: Turn, delta: i64, attempt: &mut Attempt) -> Result<(), Error> {
        let (low, high) = self.key_slice(turn);
        for range in self.list.chunks_exact_mut(2) {
            let from = self.workload.ids.draw_between(&mut self.rng, low, high) as i64;
            range.copy_from_slice(&[Value::Int(from), Value::Int(from + delta)]);
        }
        self.session.run(Kind::RandomRanges, 0, &self.list, attempt).await
    }
}

impl<C: Connection, H: Habit> Client for OltpClient<C, H> {
    type Connection = C;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        self.rng = self.workload.rules.stream(self.place.input_seed, turn);
        self.script(turn, attempt).await?;
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        self.session.roll_back(attempt).await
    }

    fn answers(&self) -> &[Answers] {
        &self.session.answers
    }

    fn connection(&mut self) -> &mut C {
        &mut self.session.connection
    }
}
