//! The table of digests: what each kind of statement costs, in bounded memory.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::kinds::Skipped;
use crate::normal::normalise;
use crate::tokens::Dialect;

/// Digests beyond this many are counted together.
pub const DIGESTS_MAX: usize = 10_000;

/// Bytes of a digest text that are kept and shown.
const SHOWN_MAX: usize = 8 * 1024;

/// A longer digest text is looked up by its hash.
const KEY_MAX: usize = 1024;

pub const OTHER: &[u8] = b"(other)";

/// Statements that differ in literals only, in one database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// The first 64 bits of a SHA-256: the same in every run and version of dbduel.
    pub id: u64,
    pub database: Vec<u8>,
    pub text: Vec<u8>,
    pub skipped: Option<Skipped>,
    pub calls: u64,
    /// Calls whose duration the log has.
    pub timed: u64,
    pub total_us: u64,
    pub times: Times,
    /// Calls whose rows the log has, and these rows.
    pub with_rows: u64,
    pub rows: u64,
    pub errors: u64,
    /// Values of `IN` lists and rows of `VALUES`, of all calls.
    pub list_length: u64,
}

impl Digest {
    pub fn mean_us(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.total_us as f64 / self.timed as f64)
    }

    pub fn rows_a_call(&self) -> Option<f64> {
        (self.with_rows > 0).then(|| self.rows as f64 / self.with_rows as f64)
    }

    fn add(&mut self, event: &Event<'_>, list_length: u32) {
        self.calls += 1;
        self.errors += u64::from(event.error.is_some());
        self.list_length += u64::from(list_length);
        if let Some(duration_us) = event.duration_us {
            self.timed += 1;
            self.total_us += duration_us;
            self.times.add(duration_us);
        }
        if let Some(rows) = event.rows() {
            self.with_rows += 1;
            self.rows += rows;
        }
    }
}

/// A histogram in as little memory as its values take: 32 buckets from one power of two to the next, 3 % wide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Sorted by bucket.
    pub(crate) buckets: Vec<(u16, u64)>,
    pub max_us: u64,
}

impl Times {
    pub fn add(&mut self, us: u64) {
        let bucket = bucket_of(us);
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => self.buckets[at].1 += 1,
            Err(at) => self.buckets.insert(at, (bucket, 1)),
        }
        self.max_us = self.max_us.max(us);
    }

    /// The upper end of each bucket, and how many times are in it.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets.iter().map(|(bucket, count)| (top_of(*bucket), *count))
    }

    /// The upper end of the bucket that holds the quantile; none without values.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().map(|(_, count)| count).sum();
        let rank = (total as f64 * quantile).ceil() as u64;
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map(|(bucket, _)| top_of(*bucket).min(self.max_us))
    }
}

fn bucket_of(us: u64) -> u16 {
    if us < 32 {
        return us as u16;
    }
    let exponent = 63 - us.leading_zeros();
    ((exponent - 4) << 5) as u16 | ((us >> (exponent - 5)) & 31) as u16
}

fn top_of(bucket: u16) -> u64 {
    if bucket < 32 {
        return u64::from(bucket);
    }
    let shift = u32::from(bucket >> 5) - 1;
    let low = (32 | u64::from(bucket & 31)) << shift;
    low + (1 << shift) - 1
}

/// All digests of a log.
#[derive(Debug, Default)]
pub struct Digests {
    by_key: HashMap<Box<[u8]>, u32>,
    pub rows: Vec<Digest>,
    other: Option<u32>,
    /// Database, a zero byte, digest text.
    key: Vec<u8>,
    pub merge_numbered_names: bool,
}

impl Digests {
    pub fn new(merge_numbered_names: bool) -> Digests {
        Digests { merge_numbered_names, ..Digests::default() }
    }

    /// Counts a statement, and gives the place of its digest.
    pub fn add(&mut self, event: &Event<'_>, dialect: Dialect) -> u32 {
        self.key.clear();
        self.key.extend_from_slice(event.database);
        self.key.push(0);
        let list_length = normalise(event.text, dialect, self.merge_numbered_names, &mut self.key);
        let index = self.index(dialect, event.database.len() + 1);
        self.rows[index as usize].add(event, list_length);
        index
    }

    fn index(&mut self, dialect: Dialect, text_at: usize) -> u32 {
        let hashed: [u8; 32];
        let key = if self.key.len() > KEY_MAX {
            hashed = Sha256::digest(&self.key).into();
            &hashed[..]
        } else {
            &self.key[..]
        };
        if let Some(index) = self.by_key.get(key) {
            return *index;
        }
        if self.by_key.len() >= DIGESTS_MAX {
            return self.other();
        }
        let index = self.rows.len() as u32;
        self.by_key.insert(key.into(), index);
        let (database, text) = (&self.key[..text_at - 1], &self.key[text_at..]);
        self.rows.push(Digest {
            id: id_of(dialect, database, text),
            database: database.to_vec(),
            text: text[..text.len().min(SHOWN_MAX)].to_vec(),
            skipped: Skipped::of(text, dialect.is_mysql()),
            ..Digest::default()
        });
        index
    }

    fn other(&mut self) -> u32 {
        *self.other.get_or_insert_with(|| {
            self.rows.push(Digest { text: OTHER.to_vec(), ..Digest::default() });
            self.rows.len() as u32 - 1
        })
    }
}

/// A change of this hash is a change of every stored digest.
fn id_of(dialect: Dialect, database: &[u8], text: &[u8]) -> u64 {
    let dialect: &[u8] = if dialect.is_mysql() { b"mysql" } else { b"postgres" };
    let hash = Sha256::new().chain_update(dialect).chain_update([0]).chain_update(database).chain_update([0]);
    let hash = hash.chain_update(text).finalize();
    u64::from_be_bytes(std::array::from_fn(|at| hash[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &'static str) -> Event<'static> {
        Event {
            text: text.as_bytes(),
            database: b"shop",
            duration_us: Some(100),
            rows_sent: Some(2),
            ..Event::default()
        }
    }

    #[test]
    fn statements_that_differ_in_literals_share_a_digest() {
        let mut digests = Digests::new(false);
        let first = digests.add(&event("select a from t where b = 1"), Dialect::MYSQL);
        assert_eq!(digests.add(&event("SELECT a FROM t WHERE b = 'x'"), Dialect::MYSQL), first);
        assert_ne!(digests.add(&event("select b from t where b = 1"), Dialect::MYSQL), first);
        let digest = &digests.rows[first as usize];
        assert_eq!((digest.calls, digest.total_us, digest.rows), (2, 200, 4));
    }

    /// Stored captures hold ids: this one was computed by `printf 'mysql\0shop\0select ?' | sha256sum`.
    #[test]
    fn an_id_never_changes() {
        assert_eq!(format!("{:016x}", id_of(Dialect::MYSQL, b"shop", b"select ?")), "9a8b76531ea450dd");
    }

    #[test]
    fn a_database_has_digests_of_its_own() {
        let mut digests = Digests::new(false);
        let first = digests.add(&event("select 1"), Dialect::MYSQL);
        let other = Event { database: b"crm", ..event("select 1") };
        assert_ne!(digests.add(&other, Dialect::MYSQL), first);
    }

    #[test]
    fn digests_beyond_the_limit_are_counted_together() {
        let mut digests = Digests::new(false);
        for number in 0..DIGESTS_MAX + 5 {
            let text = format!("select a from t{number}");
            digests.add(&Event { text: text.as_bytes(), ..Event::default() }, Dialect::MYSQL);
        }
        assert_eq!(digests.rows.len(), DIGESTS_MAX + 1);
        let other = digests.rows.last().unwrap();
        assert_eq!((other.text.as_slice(), other.calls), (OTHER, 5));
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut times = Times::default();
        (1..=1000).for_each(|us| times.add(us * 10));
        for (quantile, exact) in [(0.5, 5_000.0), (0.95, 9_500.0), (1.0, 10_000.0)] {
            let found = times.quantile_us(quantile).unwrap() as f64;
            assert!((exact..=exact * 1.033).contains(&found), "{quantile}: {found}");
        }
        assert_eq!(Times::default().quantile_us(0.5), None);
    }
}
