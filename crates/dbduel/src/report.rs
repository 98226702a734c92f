//! How we say it.
