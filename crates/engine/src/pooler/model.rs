//! A pooler, and what can come through it.

use anyhow::{Result, bail};
use driver::{Admin, Error};

use crate::limits::Need;

/// Opens another session as clients do, or in another database.
pub type Connect<'a> = &'a mut dyn FnMut(Option<&str>) -> Result<Admin, Error>;

/// How long a client keeps a session of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From its login on, as without a pooler.
    Session,
    Transaction,
    Statement,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Mode::Session => "session",
            Mode::Transaction => "transaction",
            Mode::Statement => "statement",
        }
    }
}

/// A pooler or a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pooler {
    /// `PgBouncer 1.18.0`, or what kind it is where it does not give its name.
    pub name: String,
    /// None where it cannot be seen.
    pub mode: Option<Mode>,
    /// Clients may prepare statements under names.
    pub prepares: bool,
}

impl Pooler {
    /// Clients share sessions of the server: what one of them leaves in its session is not there for its next
    /// transaction.
    pub fn is_shared(&self) -> bool {
        matches!(self.mode, Some(Mode::Transaction | Mode::Statement))
    }

    /// `PgBouncer 1.18.0 (transaction mode)`
    pub fn text(&self) -> String {
        match self.mode {
            Some(mode) => format!("{} ({} mode)", self.name, mode.word()),
            None => self.name.clone(),
        }
    }

    /// What a load needs of the server behind it. How many sessions that has is the pooler's to decide, as is what is
    /// prepared in them, and those that clients leave idle are not its sessions.
    pub fn leaves(&self, need: Need) -> Need {
        if self.is_shared() { Need { clients: 0, own_sessions: 0, prepared: None, idle: None, ..need } } else { need }
    }

    /// What a user should know of it beside figures that were measured through it.
    pub fn remark(&self) -> String {
        let counters = "counters are those of the server behind it";
        let sessions = if self.is_shared() { ", which has as many sessions as it gives" } else { "" };
        format!("{} stands before the server: {counters}{sessions}", self.text())
    }

    /// Fails for a load that cannot come through it.
    pub fn expect(&self, need: &Need) -> Result<()> {
        let name = self.text();
        if self.mode == Some(Mode::Statement) && need.transactions {
            bail!(
                "{name} stands before the server and lets no transaction of several statements through: the load has some\n  \
                 next: name the server itself, set pool_mode = transaction in the pooler, or take a workload of single statements (skip_trx)"
            );
        }
        if !self.prepares && need.may_prepare {
            let instead = match &need.unprepared {
                Some(option) => format!("send statements unprepared with {option}, or "),
                None => String::new(),
            };
            bail!(
                "{name} stands before the server and gives a client's transactions to several of its sessions: statements that clients prepare are not there\n  \
                 next: {instead}set max_prepared_statements in PgBouncer 1.21 or newer, or name the server itself"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pooler(mode: Mode, prepares: bool) -> Pooler {
        Pooler { name: "PgBouncer 1.18.0".to_owned(), mode: Some(mode), prepares }
    }

    fn refusal(pooler: &Pooler, need: &Need) -> String {
        pooler.expect(need).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn prepared_statements_need_a_session_of_their_own_or_a_pooler_that_keeps_them() {
        let prepares = Need {
            may_prepare: true,
            unprepared: Some("protocol = \"extended\" or protocol = \"simple\"".to_owned()),
            ..Need::default()
        };
        assert_eq!(
            refusal(&pooler(Mode::Transaction, false), &prepares),
            "PgBouncer 1.18.0 (transaction mode) stands before the server and gives a client's transactions to several of its sessions: statements that clients prepare are not there\n  \
             next: send statements unprepared with protocol = \"extended\" or protocol = \"simple\", or set max_prepared_statements in PgBouncer 1.21 or newer, or name the server itself"
        );
        for right in [pooler(Mode::Session, true), pooler(Mode::Transaction, true)] {
            assert_eq!(refusal(&right, &prepares), "");
        }
        assert_eq!(refusal(&pooler(Mode::Transaction, false), &Need::default()), "");
        let without_an_option = Need { unprepared: None, ..prepares };
        assert!(refusal(&pooler(Mode::Transaction, false), &without_an_option).contains("next: set max_prepared"));
    }

    #[test]
    fn no_transaction_comes_through_statement_mode() {
        let single = Need::default();
        assert_eq!(refusal(&pooler(Mode::Statement, false), &single), "");
        let several = Need { transactions: true, ..single };
        assert!(
            refusal(&pooler(Mode::Statement, false), &several).contains("no transaction of several statements through")
        );
        assert_eq!(refusal(&pooler(Mode::Transaction, false), &several), "");
    }

    #[test]
    fn clients_of_a_shared_server_are_not_its_sessions() {
        let need = Need { clients: 64, own_sessions: 2, ..Need::default() };
        assert_eq!(pooler(Mode::Transaction, false).leaves(need.clone()).sessions(), 0);
        assert_eq!(pooler(Mode::Session, true).leaves(need).sessions(), 66);
    }
}
