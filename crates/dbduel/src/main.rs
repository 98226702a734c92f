mod analysis;
mod engine;
mod experiment;
mod report;
mod store;

fn main() {}
