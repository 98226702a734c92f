//! Why something did not begin or broke off: the user's mistake, or something else.

use std::fmt;

#[derive(Debug)]
pub enum Error {
    /// The command line or the experiment file is at fault.
    Mistake(anyhow::Error),
    Broke(anyhow::Error),
}

impl Error {
    pub fn mistake(error: impl Into<anyhow::Error>) -> Error {
        Error::Mistake(error.into())
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Error {
        Error::Broke(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Mistake(error) | Error::Broke(error)) = self;
        write!(f, "{error:#}")
    }
}
