//! A workload outside the lists of dbduel: one table of points, which clients read and move by turns.

use std::borrow::Cow;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink, Statement, Value};
use load::{
    Attempt, Client, ClientFuture, DerivedMetrics, Metric, OptionSpec, Outcome, Slot, Table, Tally, TransactionKind,
    Turn, Workload, WorkloadKind, WorkloadSpec,
};

pub static POINTS: &[WorkloadKind] = &[WorkloadKind {
    name: "points",
    description: "looks at points, and moves them",
    example: "workload = \"points\"",
    options: &[OptionSpec::new("points", "1000", "rows of the table")],
    build: |options| Ok(Box::new(Points { points: options.number("points", 1, 1_000_000)? })),
}];

const RATE: Metric =
    Metric { name: "points_per_s", unit: "pps", title: "points looked at or moved per second (points_per_s)" };

const LOOK: TransactionKind =
    TransactionKind { name: Cow::Borrowed("look"), title: Cow::Borrowed("Look at a point"), p90_limit_s: Some(1.0) };
const MOVE: TransactionKind =
    TransactionKind { name: Cow::Borrowed("move"), title: Cow::Borrowed("Move a point"), p90_limit_s: None };

struct Points {
    points: u64,
}

impl Workload for Points {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            keeps_its_size: true,
            primary: RATE,
            kinds: vec![LOOK, MOVE],
            notes: vec!["A toy: its figures mean nothing".to_owned()],
            ..WorkloadSpec::writing(format!("points {}", self.points))
        }
    }

    fn tables(&self, _: Dialect) -> Vec<Table> {
        vec![Table {
            name: "points".to_owned(),
            create: vec!["CREATE TABLE points (id INTEGER NOT NULL PRIMARY KEY, place INTEGER NOT NULL)".to_owned()],
            columns: ["id", "place"].map(Into::into).into(),
            units: self.points,
            rows: self.points,
            finish: Vec::new(),
            link: Vec::new(),
            seals: false,
        }]
    }

    fn rows(&self, data_seed: u64, _: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        sink(&[Value::Int(unit as i64), Value::Int((unit ^ data_seed) as i64)])
    }

    fn client(&self, slot: Slot, mut connection: AnyConnection) -> Result<ClientFuture, Error> {
        let id = connection.dialect().placeholder(1);
        let look = format!("SELECT place FROM points WHERE id = {id}");
        let moved = format!("UPDATE points SET place = place + 1 WHERE id = {id}");
        let statements = [connection.prepare(&look)?, connection.prepare(&moved)?];
        Ok(slot.drive(Mover { points: self.points, connection, statements }))
    }

    fn check(&self, admin: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        let counted = admin.value("SELECT COUNT(*) FROM points")?.unwrap_or_default();
        let wrong = counted != self.points.to_string();
        Ok(wrong.then(|| format!("{counted} points, and {} were loaded", self.points)).into_iter().collect())
    }

    fn derived_metrics(&self) -> Option<&dyn DerivedMetrics> {
        Some(self)
    }
}

impl DerivedMetrics for Points {
    fn rates(&self, tally: &Tally) -> Vec<(&'static str, f64)> {
        let touched: u64 = tally.kinds.iter().map(|kind| kind.committed_inside).sum();
        vec![(RATE.name, touched as f64 * 1e9 / tally.interval_ns as f64)]
    }
}

struct Mover {
    points: u64,
    connection: AnyConnection,
    /// By kind.
    statements: [Statement; 2],
}

impl Client for Mover {
    type Connection = AnyConnection;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        attempt.kind = (turn.number % 2) as usize;
        let id = Value::Int((turn.number % self.points) as i64);
        attempt.committing = attempt.kind == 1;
        self.connection.execute(self.statements[attempt.kind], &[id]).await?;
        attempt.committing = false;
        (attempt.reads, attempt.writes) = if attempt.kind == 0 { (1, 0) } else { (0, 1) };
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        Ok(())
    }

    fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}
