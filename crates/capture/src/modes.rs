//! Which rules of quotes hold in a session of a log.

use std::collections::HashMap;

use crate::event::Act;
use crate::tokens::Dialect;

/// How the sessions of a log read quotes: as their server does, unless they have set another `sql_mode`.
#[derive(Debug)]
pub(crate) struct Modes {
    of_server: Dialect,
    of_sessions: HashMap<u64, Dialect>,
}

impl Modes {
    pub fn new(of_server: Dialect) -> Modes {
        Modes { of_server, of_sessions: HashMap::new() }
    }

    pub fn of_session(&self, session: u64) -> Dialect {
        self.of_sessions.get(&session).copied().unwrap_or(self.of_server)
    }

    /// Takes what a session does: the numbers of those that have ended are given again.
    pub fn note(&mut self, act: Act, session: u64, text: &[u8]) {
        match act {
            Act::Restart => self.of_sessions.clear(),
            Act::Connect | Act::Quit => drop(self.of_sessions.remove(&session)),
            _ if self.of_server.is_mysql() && sets_sql_mode(text) => {
                self.of_sessions.insert(session, Dialect::of_sql_mode(text));
            }
            _ => {}
        }
    }
}

/// `set … sql_mode …`, in any case, but not that of the server.
fn sets_sql_mode(text: &[u8]) -> bool {
    let has = |part: &[u8]| text.windows(part.len()).any(|word| word.eq_ignore_ascii_case(part));
    let is_set = text.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"set "));
    is_set && has(b"sql_mode") && !has(b"global")
}
