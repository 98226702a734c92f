// Nothing calls these until the commands are wired up.
#[allow(dead_code)]
mod analysis;
mod engine;
mod experiment;
#[allow(dead_code)]
mod report;
#[allow(dead_code)]
mod store;

fn main() {}
