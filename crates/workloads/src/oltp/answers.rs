//! What the answers to sysbench's statements have to bring.
//!
//! Tables hold every id once, so most kinds of statements find exactly what their values ask for. Where rows are
//! deleted and inserted again, others may read between the two; the reasons stand at [`Oltp::may_miss`].

use std::ops::RangeInclusive;

use driver::{Dialect, Isolation};

use super::brackets::TRANSACTIONAL;
use super::script::{Oltp, Script};
use super::sql::Kind;
use super::sql::Version;
use load::{Answers, Expected, Setting};

/// Of statements that may miss their rows, at least one in so many has to find them.
const MISSES_MAX: u64 = 10;
/// With fewer answers than this, chance alone may have missed all rows.
const ANSWERS_MIN: u64 = 100;

impl Oltp {
    pub fn expected(&self, seen: &[Answers], setting: &Setting) -> Vec<Expected> {
        let kinds = self.kinds().into_iter().filter(|kind| *kind != Kind::Procedure);
        kinds.filter_map(|kind| Some(self.expected_of(kind, *seen.get(kind as usize)?, setting))).collect()
    }

    fn expected_of(&self, kind: Kind, seen: Answers, setting: &Setting) -> Expected {
        let found = self.found(kind, seen, setting);
        let (rows, matched) = if kind.is_read() { (Some(found), None) } else { (Some(0..=0), Some(found)) };
        Expected { statement: kind.section(setting.dialect).into(), seen, rows, matched }
    }

    /// Rows that statements of this kind read or change, all answers together.
    fn found(&self, kind: Kind, seen: Answers, setting: &Setting) -> RangeInclusive<u64> {
        let Answers { count, wanted, .. } = seen;
        let size = self.range_size;
        let (least, most) = match kind {
            Kind::Insert | Kind::InsertNumbered | Kind::SumRange | Kind::RandomRanges => return count..=count,
            Kind::Delete if matches!(self.script, Script::Delete | Script::UniqueDelete) => return 0..=count,
            Kind::RandomPoints => return self.points(count),
            // All rows of 0.4 are loaded with one text.
            Kind::DistinctRange if self.schema.version == Version::Classic => (count, count * (size + 1)),
            // Two texts that are equal by chance are one.
            Kind::DistinctRange => (wanted - wanted / 10, count * size),
            Kind::SimpleRange | Kind::OrderRange => (wanted, count * size),
            _ => (count, count),
        };
        match self.may_miss(kind, setting) {
            false => least..=most,
            true if count < ANSWERS_MIN => 0..=u64::MAX,
            // Without a primary key an id may be there twice.
            true => least / MISSES_MAX..=if self.schema.secondary { u64::MAX } else { most },
        }
    }

    /// Whether statements of this kind may find fewer rows than there are ids, or other ones.
    fn may_miss(&self, kind: Kind, setting: &Setting) -> bool {
        let Script::Mix(mix) = self.script else { return false };
        let engine = self.schema.engine.to_ascii_lowercase();
        let has_transactions = setting.dialect != Dialect::MySql || TRANSACTIONAL.contains(&engine.as_str());
        mix.delete_inserts > 0
            && (!mix.transaction
                || !has_transactions
                || self.schema.secondary
                || setting.isolation == Isolation::ReadUncommitted
                // An UPDATE that has waited for a row that was deleted and inserted again does not find the new one.
                || (setting.dialect == Dialect::Postgres && !kind.is_read()))
    }

    /// Keys are drawn as they were loaded, so a value has one row on average, or more. Where each client has a
    /// slice of its own, some slices may be empty.
    fn points(&self, count: u64) -> RangeInclusive<u64> {
        let least = match (count >= ANSWERS_MIN, self.rules.slices_keys()) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => count / 2,
        };
        least..=u64::MAX
    }

    /// How many rows there have to be after a run on tables that were loaded for it, where statements only
    /// delete or only insert.
    pub fn rows_left(&self, seen: &[Answers]) -> Option<u64> {
        let matched = |kind: Kind| seen.get(kind as usize).map(|seen| seen.matched);
        let loaded = self.schema.tables * self.schema.loaded_rows();
        match self.script {
            Script::Delete | Script::UniqueDelete => loaded.checked_sub(matched(Kind::Delete)?),
            Script::Insert => Some(loaded + matched(Kind::Insert)? + matched(Kind::InsertNumbered)?),
            Script::FreshInsert => Some(matched(Kind::Insert)? + matched(Kind::InsertNumbered)?),
            _ => None,
        }
    }
}
