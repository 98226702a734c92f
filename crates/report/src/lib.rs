//! Reports of stored runs, in several formats.
//!
//! Reports read stored records and what the analysis made of them; they compute no statistic and see no live state, so
//! every old run can be reported again. A number reaches a reader only with its unit, its sample size or its interval.
//! Text, page and Markdown come from one document (`document.rs`): topics in `sections/` build it, renderers in
//! `render/` write it.

pub mod compare;
mod conditions;
mod csv;
pub mod dbt2;
mod document;
mod evidence;
mod format;
pub mod hardware;
pub mod history;
pub mod json;
mod junit;
pub mod kinds;
mod page;
pub mod pgbench;
mod probes;
mod relative;
mod render;
mod reports;
mod sections;
pub mod sentences;
pub mod sqlbench;
pub mod sysbench;
mod text;
pub mod tpcc;
mod verdict;
mod wording;

pub use evidence::Evidence;
pub use format::{Options, Report};
pub use page::{inline_script, page_style, unpacked};
pub use record::metric::unit;
pub use render::text::wrapped;
pub use reports::{REPORTS, find, write, write_evidence};
pub use sections::gate;
pub use sections::profile::flame_graphs;
use sections::{scaling, settings_and_plans};
pub use terminal::visible;

#[cfg(test)]
mod golden;
