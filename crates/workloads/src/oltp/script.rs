//! What one script does: its mix of statements, and the ways of the older versions.

use super::brackets::{BracketTexts, Brackets, TRANSACTIONAL};
use super::rules::Rules;
use super::schema::{Rows, Schema};
use super::sql::{Kind, Statements};
use driver::{Dialect, Error, Value};
use load::Distribution;
use load::NamedStatement;

/// How many statements of each kind a transaction has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mix {
    pub(super) transaction: bool,
    pub(super) point_selects: u64,
    /// Point selects read all columns, and not only `c`.
    pub(super) whole_rows: bool,
    pub(super) simple_ranges: u64,
    pub(super) sum_ranges: u64,
    pub(super) order_ranges: u64,
    pub(super) distinct_ranges: u64,
    pub(super) index_updates: u64,
    pub(super) non_index_updates: u64,
    /// sysbench 0.4.12 updates the row once more that it then deletes and inserts.
    pub(super) update_before_delete: bool,
    pub(super) delete_inserts: u64,
}

impl Mix {
    /// The kinds of statements it needs, in the order it runs them.
    fn kinds(&self) -> Vec<Kind> {
        [
            (self.point_kind(), self.point_selects),
            (Kind::SimpleRange, self.simple_ranges),
            (Kind::SumRange, self.sum_ranges),
            (Kind::OrderRange, self.order_ranges),
            (Kind::DistinctRange, self.distinct_ranges),
            (Kind::UpdateIndex, self.index_updates + u64::from(self.update_before_delete)),
            (Kind::UpdateNonIndex, self.non_index_updates),
            (Kind::Delete, self.delete_inserts),
            (Kind::Insert, self.delete_inserts),
        ]
        .into_iter()
        .filter_map(|(kind, count)| (count > 0).then_some(kind))
        .collect()
    }

    pub(crate) fn point_kind(&self) -> Kind {
        if self.whole_rows { Kind::RowSelect } else { Kind::PointSelect }
    }

    /// There are point selects, and nothing else.
    pub(crate) fn is_points_only(&self) -> bool {
        *self == Mix { point_selects: self.point_selects, whole_rows: self.whole_rows, ..Mix::default() }
    }
}

/// What one transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Mix(Mix),
    /// A delete without an insert behind it: the table drains.
    Delete,
    Insert,
    RandomPoints {
        points: usize,
    },
    RandomRanges {
        ranges: usize,
        delta: u64,
    },
    /// 0.4, `nontrx`: a select of the other text column.
    PadSelect,
    /// 0.4, `nontrx`: a delete of an id that was not deleted before.
    UniqueDelete,
    /// 0.4, `nontrx`: an insert into the table that was emptied when the run began.
    FreshInsert,
    /// 0.4, `sp`: a call of the user's own procedure.
    Procedure,
}

/// What only 0.4 has.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassicWays {
    pub(super) brackets: Brackets,
    /// The user's own, for mode `sp`.
    pub(super) procedure: String,
    /// The user's rest before each statement but BEGIN and COMMIT, inside the request: least and most.
    pub(super) delay_us: Option<(u64, u64)>,
}

type TextRows = Vec<Vec<Option<String>>>;

#[derive(Debug, Clone)]
pub(crate) struct Oltp {
    pub(super) schema: Schema,
    pub(super) rules: Rules,
    pub(super) ids: Distribution,
    pub(super) range_size: u64,
    /// Whether statements are prepared, or sent as text with their values in it.
    pub(super) prepares: bool,
    pub(super) script: Script,
    /// The script that has every statement, and whose other mix is one with the reads alone.
    pub(super) is_read_write: bool,
    pub(super) classic: ClassicWays,
}

impl Oltp {
    /// The kinds of statements its transactions have.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let insert = if self.schema.auto_inc { Kind::InsertNumbered } else { Kind::Insert };
        match self.script {
            Script::Mix(mix) => mix.kinds(),
            Script::Delete | Script::UniqueDelete => vec![Kind::Delete],
            Script::Insert | Script::FreshInsert => vec![insert],
            Script::RandomPoints { .. } => vec![Kind::RandomPoints],
            Script::RandomRanges { .. } => vec![Kind::RandomRanges],
            Script::PadSelect => vec![Kind::PadSelect],
            Script::Procedure => vec![Kind::Procedure],
        }
    }

    /// How many values stand in the lists of `select_random_*`.
    pub(crate) fn list_values(&self) -> usize {
        match self.script {
            Script::RandomPoints { points } => points,
            Script::RandomRanges { ranges, .. } => 2 * ranges,
            _ => 0,
        }
    }

    /// What a kind's statement names: a table, but for a procedure.
    pub(crate) fn subject(&self, kind: Kind, table: u64) -> String {
        match kind {
            Kind::Procedure => self.classic.procedure.clone(),
            _ => self.schema.table_name(table),
        }
    }

    pub(crate) fn changes_rows(&self) -> bool {
        self.kinds().into_iter().any(|kind| !kind.is_read())
    }

    /// A statement about the row in the middle of the first table, where most distributions draw.
    pub(crate) fn explained(&self, kind: Kind, dialect: Dialect) -> NamedStatement {
        let id = (self.schema.rows / 2).max(1) as i64;
        let end = id + self.range_size as i64 - 1;
        let values = match kind {
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                vec![Value::Int(id), Value::Int(end)]
            }
            Kind::UpdateNonIndex => vec![Value::Text(b"12-34"), Value::Int(id)],
            Kind::RandomPoints => (0..self.list_values() as i64).map(|place| Value::Int(id + place)).collect(),
            Kind::RandomRanges => {
                let delta = if let Script::RandomRanges { delta, .. } = self.script { delta as i64 } else { 0 };
                let range = |place: i64| [Value::Int(id + place), Value::Int(id + place + delta)];
                (0..self.list_values() as i64 / 2).flat_map(range).collect()
            }
            _ => vec![Value::Int(id)],
        };
        let sql = Statements::of(self.schema.version);
        let template = sql.template(kind, &self.subject(kind, 0), dialect, self.list_values());
        let mut text = String::new();
        template.fill(&values, &mut text);
        NamedStatement { name: kind.section(dialect).to_owned(), sql: text }
    }

    pub(crate) fn transaction(&self) -> bool {
        matches!(self.script, Script::Mix(mix) if mix.transaction)
    }

    pub(crate) fn rows_after(&self) -> Rows {
        match self.script {
            // A delete that committed alone, and whose insert was then refused, is not repeated.
            Script::Mix(mix) if !mix.transaction && self.rules == Rules::Modern => Rows::Drain,
            Script::Mix(_) | Script::RandomPoints { .. } | Script::RandomRanges { .. } | Script::PadSelect => {
                Rows::Stay
            }
            Script::Delete | Script::UniqueDelete => Rows::Drain,
            Script::Insert if self.schema.auto_inc => Rows::Grow,
            Script::Insert => Rows::Scatter,
            Script::FreshInsert => Rows::Restart,
            Script::Procedure => Rows::Unknown,
        }
    }

    /// `Brackets::ByEngine` decided by the table that is there; `ask` runs a query on the server.
    pub fn brackets(
        &self,
        dialect: Dialect,
        ask: impl FnOnce(&str) -> Result<TextRows, Error>,
    ) -> Result<Brackets, Error> {
        let chosen = self.classic.brackets;
        if dialect != Dialect::MySql || !self.transaction() {
            return Ok(Brackets::Transaction);
        }
        if chosen != Brackets::ByEngine {
            return Ok(chosen);
        }
        let name = self.schema.table_name(0);
        let status = ask(&format!("SHOW TABLE STATUS LIKE '{name}'"))?;
        // An underscore of the name stands for any letter in LIKE.
        let row = status.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name.as_str()));
        let engine = row.and_then(|row| row.get(1)?.as_deref()).unwrap_or_default().to_ascii_lowercase();
        let has_none = !engine.is_empty() && !TRANSACTIONAL.contains(&engine.as_str());
        Ok(if has_none { Brackets::Locks } else { Brackets::Transaction })
    }

    pub fn bracket_texts(&self, brackets: Brackets, dialect: Dialect) -> BracketTexts {
        let writes = self.changes_rows();
        if brackets != Brackets::Locks {
            let open = if writes { dialect.begin_write() } else { "BEGIN" };
            return BracketTexts { open: open.to_owned(), close: "COMMIT".to_owned() };
        }
        let (sql, name) = (Statements::of(self.schema.version), self.schema.table_name(0));
        let lock = if writes { "WRITE" } else { "READ" };
        BracketTexts {
            open: sql.text("lock-tables", &name).replace("{lock}", lock),
            close: sql.text("unlock-tables", &name),
        }
    }
}
