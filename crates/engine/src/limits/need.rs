//! What a load needs of a server.

use std::time::Duration;

/// What a load needs of a server; of several loads, the most that one of them does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Need {
    /// Sessions of clients, and of those that run what clients defer.
    pub clients: u64,
    /// dbduel's own sessions, which watch and check.
    pub own_sessions: u64,
    /// Statements that all clients together prepare; None where that is not known before they run.
    pub prepared: Option<u64>,
    /// Clients prepare statements under names, or may.
    pub may_prepare: bool,
    /// The option with which nothing is prepared, as the user writes it.
    pub unprepared: Option<String>,
    /// The longest statement or row of parameters that is sent, where that is known.
    pub packet_bytes: Option<u64>,
    /// The longest wait of a client between two statements, where clients wait.
    pub idle: Option<Duration>,
    /// Tables are changed, by clients or before they come.
    pub writes: bool,
    /// Some transaction has several statements.
    pub transactions: bool,
    /// Tables that are made without a primary key.
    pub without_key: Vec<String>,
    /// What is loaded.
    pub data_bytes: u64,
}

impl Need {
    pub fn sessions(&self) -> u64 {
        self.clients + self.own_sessions
    }

    /// What both need at most.
    pub fn or(self, other: Need) -> Need {
        let mut without_key = self.without_key;
        without_key.extend(other.without_key);
        without_key.sort();
        without_key.dedup();
        Need {
            clients: self.clients.max(other.clients),
            own_sessions: self.own_sessions.max(other.own_sessions),
            prepared: self.prepared.max(other.prepared),
            may_prepare: self.may_prepare || other.may_prepare,
            unprepared: self.unprepared.or(other.unprepared),
            packet_bytes: self.packet_bytes.max(other.packet_bytes),
            idle: self.idle.max(other.idle),
            writes: self.writes || other.writes,
            transactions: self.transactions || other.transactions,
            without_key,
            data_bytes: self.data_bytes.max(other.data_bytes),
        }
    }

    /// `64 clients and 2 sessions of dbduel's own need 66 connections`.
    pub fn sessions_text(&self) -> String {
        let clients = counted(self.clients, "client");
        let need = if self.clients == 1 && self.own_sessions == 0 { "needs" } else { "need" };
        let own = match self.own_sessions {
            0 => String::new(),
            own => format!(" and {} of dbduel's own", counted(own, "session")),
        };
        format!("{clients}{own} {need} {}", counted(self.sessions(), "connection"))
    }
}

/// `, of which 3 are in use and 5 reserved for others`; empty where all are free.
pub fn taken(used: u64, reserved: u64) -> String {
    match (used, reserved) {
        (0, 0) => String::new(),
        (used, 0) => format!(", of which {used} are in use"),
        (0, reserved) => format!(", of which {reserved} are reserved for others"),
        (used, reserved) => format!(", of which {used} are in use and {reserved} reserved for others"),
    }
}

pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_loads_each_need_is_the_larger_one() {
        let some = Need { clients: 8, prepared: Some(90), idle: Some(Duration::from_secs(3)), ..Need::default() };
        let other = Need { clients: 64, own_sessions: 2, writes: true, ..Need::default() };
        let both = some.or(other);
        assert_eq!((both.clients, both.own_sessions, both.prepared), (64, 2, Some(90)));
        assert!(both.writes && both.idle == Some(Duration::from_secs(3)));
        assert_eq!(both.sessions_text(), "64 clients and 2 sessions of dbduel's own need 66 connections");
    }
}
