//! What an error leads to: another try, a new connection, or the end.
//!
//! It is the same for every workload. Whether there is still time for another try is the measured
//! loop's business, not decided here.

use driver::{Code, Error};

/// Which errors are worth another try.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ignored {
    /// Deadlocks, lock waits and serialisation failures, and duplicate keys: two clients that replace
    /// the same row may both have deleted it before either inserts.
    #[default]
    Usual,
    /// The same without duplicate keys.
    Conflicts,
    /// These and no others, as `--mysql-ignore-errors` does.
    Codes(Vec<Code>),
    All,
}

/// What clients do about errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPolicy {
    pub ignored: Ignored,
    /// A lost connection is opened again; otherwise it ends the load.
    pub reconnect: bool,
    /// Also opens a new connection after every so many transactions of a client.
    pub reconnect_every: Option<u64>,
    /// A client that meets an error which nothing mends leaves alone, and the others go on; otherwise it ends the load.
    pub leaves_alone: bool,
    /// A transaction of an open loop that begins later than this is skipped, and none is tried again behind it.
    pub latency_limit_ns: Option<u64>,
}

impl Default for ErrorPolicy {
    /// What an experiment does: a server that goes away has failed its trial.
    fn default() -> ErrorPolicy {
        ErrorPolicy {
            ignored: Ignored::Usual,
            reconnect: false,
            reconnect_every: None,
            leaves_alone: false,
            latency_limit_ns: None,
        }
    }
}

/// What follows from one error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    TryAgain,
    Reconnect,
    Fatal,
}

impl ErrorPolicy {
    /// Whether an error ends the load.
    pub fn is_fatal(&self, error: &Error) -> bool {
        self.verdict(error) == Verdict::Fatal
    }

    /// Whether so much time behind its due time is too much for a transaction.
    pub fn is_too_late(&self, behind_ns: u64) -> bool {
        self.latency_limit_ns.is_some_and(|limit_ns| behind_ns > limit_ns)
    }

    pub fn verdict(&self, error: &Error) -> Verdict {
        match error {
            Error::Lost { .. } if self.reconnect => Verdict::Reconnect,
            Error::Lost { .. } | Error::Protocol(_) | Error::Client(_) => Verdict::Fatal,
            Error::Retryable { code } => self.of_code(code, &[Ignored::Usual, Ignored::Conflicts]),
            Error::Duplicate { code } => self.of_code(code, &[Ignored::Usual]),
            Error::Refused { code, .. } => self.of_code(code, &[]),
        }
    }

    /// `words` are the names that mean this kind of error.
    fn of_code(&self, code: &Code, words: &[Ignored]) -> Verdict {
        let ignored = match &self.ignored {
            word @ (Ignored::Usual | Ignored::Conflicts) => words.contains(word),
            Ignored::Codes(codes) => codes.contains(code),
            Ignored::All => true,
        };
        if ignored { Verdict::TryAgain } else { Verdict::Fatal }
    }
}

/// The code that errors are counted under; a connection that was lost has none of the server's.
pub fn code_of(error: &Error) -> Code {
    match error {
        Error::Retryable { code } | Error::Duplicate { code } | Error::Refused { code, .. } => *code,
        Error::Lost { code, .. } => code.unwrap_or(Code::new(b"lost")),
        Error::Protocol(_) => Code::new(b"proto"),
        Error::Client(_) => Code::new(b"own"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &ErrorPolicy, error: Error, expected: Verdict) {
        assert_eq!(policy.verdict(&error), expected, "{policy:?} on {error:?}");
    }

    #[test]
    fn deadlocks_and_duplicates_are_tried_again_unless_a_list_excludes_them() {
        let usual = ErrorPolicy::default();
        let listed = ErrorPolicy { ignored: Ignored::Codes(vec![Code::number(1213)]), ..usual.clone() };
        let all = ErrorPolicy { ignored: Ignored::All, ..usual.clone() };
        let deadlock = || Error::Retryable { code: Code::number(1213) };
        let duplicate = || Error::Duplicate { code: Code::number(1062) };
        let syntax = || Error::Refused { code: Code::number(1064), message: "no".to_owned() };
        check(&usual, deadlock(), Verdict::TryAgain);
        check(&usual, duplicate(), Verdict::TryAgain);
        check(&usual, syntax(), Verdict::Fatal);
        check(&listed, deadlock(), Verdict::TryAgain);
        check(&listed, duplicate(), Verdict::Fatal);
        check(&all, syntax(), Verdict::TryAgain);
        let conflicts = ErrorPolicy { ignored: Ignored::Conflicts, ..usual.clone() };
        check(&conflicts, deadlock(), Verdict::TryAgain);
        check(&conflicts, duplicate(), Verdict::Fatal);
        check(&conflicts, syntax(), Verdict::Fatal);
        check(&usual, syntax(), Verdict::Fatal);
    }

    #[test]
    fn a_lost_connection_is_opened_again_only_when_asked_for() {
        let lost = || Error::lost("gone");
        check(&ErrorPolicy::default(), lost(), Verdict::Fatal);
        check(&ErrorPolicy { reconnect: true, ..ErrorPolicy::default() }, lost(), Verdict::Reconnect);
    }

    #[test]
    fn only_what_is_behind_the_limit_is_too_late() {
        let limited = ErrorPolicy { latency_limit_ns: Some(5), ..ErrorPolicy::default() };
        assert_eq!((limited.is_too_late(5), limited.is_too_late(6)), (false, true));
        assert!(!ErrorPolicy::default().is_too_late(u64::MAX));
    }

    #[test]
    fn what_the_protocol_does_not_allow_is_never_ignored() {
        let policy = ErrorPolicy { ignored: Ignored::All, reconnect: true, ..ErrorPolicy::default() };
        check(&policy, Error::Protocol("odd".to_owned()), Verdict::Fatal);
    }
}
