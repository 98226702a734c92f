//! Load from several processes and hosts: one coordinator, and agents that each run a part of what a trial without
//! them would run.
//!
//! The coordinator makes no load. Agents are started once a run by what people have (their own processes, Slurm, ssh)
//! and prepared anew for each trial. What must stay true: a worker that is late, lost or failed makes the trial a
//! failed one, never a number from the others; liveness comes from our own channel, never from a launcher; nothing of
//! the measured loop is here.

pub mod agent;
mod channel;
mod clock;
mod coordinator;
mod fleet;
mod frame;
mod gather;
mod launch;
mod message;
mod process;
mod remote;
mod server_host;
pub mod simulation;
mod trust;

pub use agent::agent_main;
pub use coordinator::Coordinator;
pub use frame::is_message;
