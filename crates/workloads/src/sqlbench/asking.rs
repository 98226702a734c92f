//! What stands in the place of a clock while a pass measures nothing: it hands over the queries of each operation while their
//! tables are there, so that the server can be asked how it would run them. Nothing of an operation is sent but what fills
//! tables.

use std::collections::BTreeMap;
use std::time::Instant;

use driver::Error;
use load::NamedStatement;

use super::session::Session;

/// What fills tables that are read, and drops them. Rows that are changed or deleted afterwards stay as they are.
const FILLING: [&str; 3] = ["create_table", "insert", "drop_table"];

/// Takes what is handed over.
pub struct Asking<'a> {
    pub until: Instant,
    pub found: &'a mut dyn FnMut(NamedStatement),
    /// Queries of each operation so far, whose names several programs share.
    pub counts: &'a mut BTreeMap<&'static str, usize>,
}

impl Asking<'_> {
    /// From here on nothing is run; what is found is still handed over, and named as not explained.
    pub fn is_over(&self) -> bool {
        Instant::now() > self.until
    }

    /// Whether an operation runs as it does in a pass.
    pub fn runs(&self, operation: &str) -> bool {
        FILLING.contains(&operation) && !self.is_over()
    }

    /// Goes through so many turns of an operation without running them.
    pub fn ask<S>(
        &mut self,
        session: &mut Session,
        (operation, turns): (&'static str, u64),
        state: &mut S,
        turn: &mut impl FnMut(&mut Session, &mut S, u64) -> Result<(), Error>,
    ) {
        session.note();
        // A turn that needs an answer ends here, as do all behind it.
        let _ = (0..turns).try_for_each(|number| turn(session, state, number));
        for sql in session.noted() {
            let count = self.counts.entry(operation).or_default();
            *count += 1;
            let name = if *count == 1 { operation.to_owned() } else { format!("{operation} ({count})") };
            (self.found)(NamedStatement { name, sql });
        }
    }
}
