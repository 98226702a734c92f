mod engine;
mod experiment;
mod store;

use std::ffi::OsString;

fn main() {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        // Before anything else: the keeper must be a process with one thread and no ambitions.
        Some(first) if first == engine::keeper::SUBCOMMAND => engine::keeper::keeper_main(args),
        Some(first) if first == engine::hidden::SUBCOMMAND => engine::hidden::main(args.collect::<Vec<OsString>>()),
        _ => {}
    }
}
