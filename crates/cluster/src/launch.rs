//! What brings agents up and takes them down.
//!
//! A launcher is only asked to start, and to end what does not end itself; whether a worker is alive is never its word.

mod local;
mod slurm;
mod ssh;
mod started;

pub use started::Launcher;
use started::{POLITE, Plan, Started, ends_with_us};
use std::path::PathBuf;

use experiment::{Cluster, Launcher as Kind};

/// The launcher of a cluster whose program is `binary` on this host.
pub fn launcher(cluster: &Cluster, run: &str, binary: PathBuf) -> Box<dyn Launcher> {
    let plan = Plan { cluster: cluster.clone(), run: run.to_owned(), binary };
    match cluster.launcher {
        Kind::Local => Box::new(local::Local::new(plan)),
        Kind::Slurm => Box::new(slurm::Slurm::new(plan)),
        Kind::Ssh => Box::new(ssh::Ssh::new(plan)),
    }
}
