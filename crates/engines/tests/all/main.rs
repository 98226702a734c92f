//! What every engine has to hold, asked of the list of all engines.

mod another_path;
mod archive;
mod catalogue;
mod memory_need;
mod monitor;
mod reserved;
mod settings;
mod snapshot;
mod tunables;
mod user_server;

use engine::{Engine, Engines};
use engines::ENGINES;

fn engine(kind: &str) -> &'static dyn Engine {
    Engines(ENGINES).find(kind).unwrap()
}
