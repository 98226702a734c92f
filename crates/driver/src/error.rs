//! What can go wrong with one statement, and the server's codes of it.

use std::fmt;

use crate::login::Endpoint;

/// A server's error code: a number, or five characters of SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    text: [u8; 5],
    length: u8,
}

impl Code {
    /// Keeps the first five bytes of `text`.
    pub fn new(text: &[u8]) -> Code {
        let length = text.len().min(5);
        let mut code = Code { text: [0; 5], length: length as u8 };
        code.text[..length].copy_from_slice(&text[..length]);
        code
    }

    pub fn number(number: u16) -> Code {
        let mut digits = [0; 5];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return Code::new(&digits[at..]);
            }
        }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or("?")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What can go wrong with one statement; the variants are what callers branch on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server asks for the transaction to be tried again (deadlock, lock wait, serialisation).
    /// It happens in measured time, so it carries no text that would have to be allocated.
    #[error("server error {code}: try the transaction again")]
    Retryable { code: Code },
    /// A key exists already; like `Retryable`, part of normal life.
    #[error("server error {code}: duplicate key")]
    Duplicate { code: Code },
    /// The server understood and refused.
    #[error("server error {code}: {message}")]
    Refused { code: Code, message: String },
    /// The connection is gone, by itself or by the server's farewell, which then has a code, or never came about. It
    /// takes [`crate::Connection::reconnect`] to go on.
    #[error("{why}")]
    Lost { code: Option<Code>, why: String },
    /// The server sent something that its protocol does not allow.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// The client's own program has failed: no server is at fault, and no other try mends it.
    #[error("{0}")]
    Client(String),
}

impl Error {
    /// A connection that is gone without a farewell.
    pub fn lost(why: impl Into<String>) -> Error {
        Error::Lost { code: None, why: format!("connection lost: {}", why.into()) }
    }

    /// A connection that did not come about.
    pub(crate) fn unreachable(endpoint: &Endpoint, error: &std::io::Error) -> Error {
        let why = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => format!("nothing listens at {endpoint} (connection refused)"),
            std::io::ErrorKind::NotFound if matches!(endpoint, Endpoint::Unix(_)) => {
                format!("there is no socket {endpoint}")
            }
            _ => format!("{endpoint} cannot be reached: {error}"),
        };
        Error::Lost { code: None, why }
    }

    pub(crate) fn farewell(code: Code, message: &str) -> Error {
        Error::Lost { code: Some(code), why: format!("connection lost: server error {code}: {message}") }
    }
}
