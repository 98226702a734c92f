//! What pgbench's `--debug` and `--verbose-errors` print while scripts run. It costs time inside the measured interval,
//! which is what the user asks for by these options; without them nothing is printed here.

/// Which lines are printed, and by what.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    pub print: fn(&str),
    /// A line for each script, command and statement.
    pub commands: bool,
    /// A line for each error after which a transaction may be tried again, and one for what became of it.
    pub errors: bool,
}

impl Watch {
    pub fn command(&self, client: u32, what: &str) {
        if self.commands {
            (self.print)(&format!("client {client} {what}"));
        }
    }

    /// `try_number` of `max_tries`, of which 0 is any number.
    pub fn ended_try(&self, client: u32, is_repeated: bool, try_number: u64, max_tries: u64) {
        let what = if is_repeated { "repeats the transaction after the error" } else { "ends the failed transaction" };
        let of = if max_tries > 0 { format!("/{max_tries}") } else { String::new() };
        (self.print)(&format!("client {client} {what} (try {try_number}{of})"));
    }
}
