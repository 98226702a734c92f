//! Reports as a browser shows them: a headless Chromium, driven through its DevTools protocol, and made-up runs of
//! every kind.
//!
//! Only tests use it, so that the product depends on no browser.

mod browser;
mod runs;

pub use browser::{Media, Page};
pub use runs::{evidence, html, runs};
