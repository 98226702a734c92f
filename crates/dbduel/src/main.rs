mod engine;
mod experiment;
mod store;

fn main() {}
