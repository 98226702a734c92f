//! In which order the units of a log may begin.

/// What waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A unit begins when all units that ended before it began in the log have ended in the replay.
    Transaction,
    /// The same between units of which one writes a table that the other names.
    Conflict,
    /// Each session by itself.
    Session,
    /// One unit at a time, in the order of their ends in the log.
    Serial,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Order::Transaction => "transaction",
            Order::Conflict => "conflict",
            Order::Session => "session",
            Order::Serial => "serial",
        }
    }
}
