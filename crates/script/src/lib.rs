//! The user's own SQL as a workload.
//!
//! A script is written in pgbench's language, compiled once when the plan is made, and run by every client: between
//! the barriers of a trial nothing is parsed, looked up by name or allocated. Notes in its comments tell what answers
//! have to bring. Tables may come from the user's SQL, with rows that are generated here.

mod client;
mod eval;
mod expression;
mod fault;
mod files;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod mistakes;
mod options;
mod parts;
pub mod pgbench;
mod plans;
mod program;
mod random;
mod recording;
mod rows;
mod statement;
#[cfg(test)]
mod tests;
mod try_out;
mod watch;
mod workload;

use std::collections::BTreeMap;

use driver::Connection;
pub use plans::is_explained;
pub use recording::Recording;

use load::{Client, Clock, OptionValue, Options, Recorder, Slot, Workload, WorkloadKind};

pub const SCRIPT: WorkloadKind = WorkloadKind {
    name: "script",
    description: "your own SQL: files in pgbench's language, each a transaction, over tables of your own",
    example: "name = \"script\"\nsetup = [\"schema.sql\"]\nfiles = [{ path = \"order.sql\", weight = 3 }]",
    options: options::OPTIONS,
    build: |options| Ok(Box::new(options::read(options)?)),
};

/// One client on any connection, as real as those of a trial: it is how our own code is measured and tested without a
/// server. The options must be valid; the slot's recorder gets the statements.
pub fn client_on<C: Connection, K: Clock + Clone>(
    given: &BTreeMap<String, OptionValue>,
    connection: C,
    slot: &Slot<K>,
) -> Result<impl Client<Connection = C> + use<C, K>, driver::Error> {
    let options = Options::new(options::OPTIONS, given).expect("the caller's options are known");
    let script = options::read(&options).expect("the caller's options are valid");
    let names = script.timed_statements(connection.dialect());
    slot.recorder.replace_with(|recorder: &mut Recorder| std::mem::take(recorder).with_statements(names));
    client::ScriptClient::new(script, connection, slot)
}

/// The statements of a text of plain SQL, without variables and commands; what is wrong has its place.
pub fn plain_statements(path: &str, text: &str) -> Result<Vec<String>, String> {
    let source = fault::Source { path: path.to_owned(), text: text.to_owned() };
    statement::plain(text).map_err(|fault| source.told(&fault))
}
