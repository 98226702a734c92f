//! sysbench's Lua scripts as a workload: an embedded LuaJIT with the API of sysbench 1.0.
//!
//! A script is a program and runs with the user's rights. Each client has a Lua state of its own, in which `event`
//! runs as a coroutine: a statement suspends it, so that one worker carries many clients. Unlike all other
//! workloads, a script allocates in the measured time: Lua owns its heap.
//!
//! `api.lua` is what scripts see; `host.rs` is what it calls. What must stay true: what is not there is refused by its
//! name, and nothing but files that the user names, or that these load, is ever run.

mod arguments;
mod client;
mod host;
mod random;
mod script;
mod session;
mod stop;
#[cfg(test)]
mod tests;

pub use script::{LuaScript, Source};
