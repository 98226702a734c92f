//! `prepare`, `bench`, `check` and `cleanup`: from arguments to a [`Request`].
//!
//! Two forms are read by one table of options: our own, `dbduel bench oltp_read_write --target URL`,
//! and sysbench's, `dbduel bench oltp_read_write --mysql-socket=… run`, old spellings included. A line
//! in sysbench's form follows sysbench's rules (see [`Compat`]). What must stay true: an option that
//! is known but cannot be honoured is refused when it would change the result, and noted when it
//! would not; none is passed over in silence.

mod complete;
mod draft;
mod help;
mod options;
mod program;
mod request;
mod script;
mod target;
mod values;
mod words;
mod workload_options;

pub use help::command_help;
pub use request::{Action, Arrivals, Asked, Compat, DefaultTarget, ForcedShutdown, Format, Reconnect, Request, Verb};

/// Reads the arguments behind the command. `read_file` gives the text of a `--config-file`.
pub fn read(
    verb: Verb,
    words: &[String],
    read_file: &dyn Fn(&str) -> Result<String, String>,
    default: DefaultTarget,
) -> Result<Asked, String> {
    let mut draft = draft::Draft::read(verb, words, read_file)?;
    draft.default = default;
    draft.finish()
}

#[cfg(test)]
mod tests;
