//! Server logs in, sessions, transactions and statements out.
//!
//! Readers of logs turn bytes into entries without touching a file; `input` feeds them from files. Nothing here opens a
//! socket, and no byte of a log is decoded as text: digest texts and statements stay bytes.

mod bytes;
mod classes;
mod contents;
mod coverage;
mod digests;
mod event;
mod file;
mod format;
pub mod fuzzing;
mod input;
mod instance;
mod kinds;
mod making;
mod modes;
mod mysql_general;
mod mysql_slow;
mod normal;
mod pg_csv;
mod pg_json;
mod pg_message;
mod pg_stderr;
mod prepared;
mod private;
mod sessions;
mod sort;
mod times;
mod tokens;

pub use classes::Class;
pub use contents::Contents;
pub use coverage::{Coverage, ServerTotals, Total};
pub use digests::{Digest, Digests, Times};
pub use event::{Act, Code, Event, Found, Problem, Reader, What};
pub use file::{Capture, Chunk};
pub use format::{Format, Reading};
pub use input::{FileRead, Options, PROBLEMS_SHOWN, Refused, Summary, read_logs};
pub use instance::Instance;
pub use kinds::Skipped;
pub use making::{Making, capture};
pub use normal::digest_text;
pub use pg_message::{has_cut_value, parameters};
pub use pg_stderr::Prefix;
pub use prepared::{Bound, bound_values};
pub use private::{Mask, anonymise, quoted, statements_of_users, with_lengths};
pub use times::{Moment, offset_secs, utc};
pub use tokens::{Dialect, Kind, Token, Tokens};

use std::path::PathBuf;

/// What `dbduel digest` prints of.
#[derive(Debug)]
pub struct Profile {
    /// Most time first; where the log has no durations, most calls first.
    pub digests: Vec<Digest>,
    pub summary: Summary,
}

/// Reads logs and counts their statements by digest.
pub fn profile(paths: &[PathBuf], options: &Options) -> Result<Profile, Refused> {
    let mut digests = Digests::new(options.merge_numbered_names);
    let summary = read_logs(paths, options, &mut |event, _, dialect| {
        if event.act.is_statement() {
            digests.add(event, dialect);
        }
    })?;
    let mut digests = digests.rows;
    digests.sort_by(|one, other| (other.total_us, other.calls, one.id).cmp(&(one.total_us, one.calls, other.id)));
    Ok(Profile { digests, summary })
}
