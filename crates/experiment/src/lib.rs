//! What the user wrote.
//!
//! An [`Experiment`] is a checked experiment file: every name in it exists, every quantity has a
//! unit, and every default has been filled in. It holds nothing about order, time or disk (that is
//! `plan.rs`) and touches neither network nor server.
//!
//! What must stay true: no key of a file is ever ignored. A key is honoured, or it is a mistake that
//! names its file and line; the defaults come from `default-experiment.toml` and from nowhere else.

mod aa;
mod arrangements;
pub mod cluster;
mod contenders;
mod defaults;
mod error;
mod experiment;
mod gate;
pub mod keys;
mod labels;
mod ladder;
mod line;
mod mistakes;
mod new_file;
mod parse;
pub mod plan;
pub mod recovery;
pub mod releases;
mod schema;
mod section;
mod server_word;
mod set;
mod settings_file;
mod syntax;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod vocabulary;
mod workloads;

pub use cluster::{Cluster, Launcher};
pub use defaults::{DEFAULT_EXPERIMENT, preset_names};
pub use engine::CpuList;
pub use engine::request::{
    Archive, ImageSource, Origin, PageCache, Storage, TargetChoice, Transport, VersionRequest, WorkCopy,
};
pub use engine::target_url::{Place, TargetKind, TargetUrl, TlsMode};
pub use error::Error;
pub use experiment::{
    Contender, Crowds, Experiment, LedgerBeside, Method, NoisyHost, Recovery, Stop, Sweep, WorkloadChoice, resolve,
};
pub use keys::meant_by;
pub use labels::{Labels, label};
pub use line::Line;
pub use mistakes::{COMMAND_LINE, Mistakes};
pub use new_file::new_file;
pub use parse::Overrides;
pub use record::point::{CLIENTS, CORES, RATE};
pub use record::secrets::{MASK, is_secret_key};
pub use record::shell::{shell_path, shell_word};
pub use record::{plain_file, quantity};
pub use schema::schema;
pub use set::{Settings, setting};
pub use vocabulary::{Known, Needs, NullLoad};
