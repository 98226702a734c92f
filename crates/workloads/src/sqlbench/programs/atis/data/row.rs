//! Rows of the ATIS tables.

use std::fmt;

/// One value, shown as it stands behind VALUES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Number(u64),
    Text(String),
}

pub type Row = Vec<Field>;

impl From<u64> for Field {
    fn from(number: u64) -> Field {
        Field::Number(number)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Number(number) => write!(f, "{number}"),
            // No text of ours has a quote in it; a test holds us to that.
            Field::Text(text) => write!(f, "'{text}'"),
        }
    }
}

/// A row of numbers and texts.
macro_rules! row {
    ($($field:expr),+ $(,)?) => {
        vec![$($crate::sqlbench::programs::atis::data::row::Field::from($field)),+]
    };
}

pub(super) use row;
