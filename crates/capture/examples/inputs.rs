//! Inputs of a seeded generator for the fuzz targets of logs: what `cargo xtask fuzz log_mysql_slow --runs N --seed S` runs.

use capture::fuzzing::TARGETS;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, runs, seed] = &arguments[..] else { panic!("usage: inputs TARGET RUNS SEED") };
    let target = TARGETS.into_iter().find(|target| target.name == name).expect("a target of this name");
    let (runs, seed): (u64, u64) = (runs.parse().expect("a number of runs"), seed.parse().expect("a seed"));
    (0..runs).for_each(|number| target.check(seed, number));
    println!("{name}: {runs} inputs of seed {seed}, no property is broken");
}
