//! What one transaction of the ledger does, from its number alone.

use load::Rng;

/// Of each account when it is loaded.
pub(crate) const BALANCE: i64 = 1_000;

pub(crate) const AMOUNT_MAX: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LedgerWorkload {
    pub(crate) accounts: u64,
    pub(crate) lists: u64,
}

/// What one transaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) hash: i64,
    pub(crate) payer: i64,
    pub(crate) payee: i64,
    pub(crate) amount: i64,
    pub(crate) list: i64,
}

impl LedgerWorkload {
    /// Ids count from 0. A payer is never its own payee.
    pub(crate) fn content(&self, seed: u64, client: u32, number: u64) -> Content {
        let mut rng = Rng::stream(seed, u64::from(client), number);
        let payer = rng.below(self.accounts);
        let payee = (payer + 1 + rng.below(self.accounts - 1)) % self.accounts;
        Content {
            hash: (rng.next_u64() >> 1) as i64,
            payer: payer as i64,
            payee: payee as i64,
            amount: 1 + rng.below(AMOUNT_MAX) as i64,
            list: rng.below(self.lists) as i64,
        }
    }
}
