//! What the null server answers, whatever the protocol.

use crate::Error;

/// One connection's answers, as bytes; it remembers what was prepared on it.
pub(crate) trait Answers: Send {
    /// What is sent before any request.
    fn greet(&mut self, out: &mut Vec<u8>);
    /// Answers the whole requests in `input`, and returns how many bytes of it they had.
    fn answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Error>;
}

/// What a statement comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    /// One row.
    Rows,
    /// One changed row.
    #[default]
    Change,
    Nothing,
}

/// As far as the statement's first word shows.
pub(crate) fn effect(sql: &[u8]) -> Effect {
    let sql = sql.trim_ascii_start();
    let begins = |words: &[&str]| {
        let is_first =
            |word: &&str| sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
        words.iter().any(is_first)
    };
    match () {
        () if begins(&["select", "show", "with", "values"]) => Effect::Rows,
        () if begins(&["begin", "start", "commit", "rollback", "lock", "unlock", "set"]) => Effect::Nothing,
        () => Effect::Change,
    }
}
