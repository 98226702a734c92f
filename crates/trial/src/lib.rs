//! One trial from start to end (`run.rs` has its steps in order), what observes it, and the facts and the lock of this host.

mod core_use;
mod crash;
pub mod dataset;
mod deferred_log;
mod deferred_work;
pub mod durability;
mod environment;
mod fresh_server;
mod generator;
pub mod generator_limit;
pub mod host;
pub mod latency;
pub mod loading;
mod meeting;
mod metrics;
pub mod need;
pub mod network_path;
pub mod null_server;
pub mod observe;
mod operations;
mod paired;
pub mod recovery;
mod run;
mod script;
pub mod target_tables;
mod trial;

pub use environment::{DataFolder, Environment, RunningServer};
pub use generator::{Generated, Made, OfWorkers};
pub use host::{ClientCpus, Interrupted};
pub use meeting::Meeting;
pub use metrics::metrics;
pub use operations::remarks;
pub use paired::run_duet;
pub use run::{Finished, Rehearsed, absent, rehearse, run_in_one_start, run_trial, try_out};
pub use script::remarks as remarks_of_script;
pub use trial::{Conditions, Generator, Interval, Limits, Sessions, ThisProcess, Trial};
