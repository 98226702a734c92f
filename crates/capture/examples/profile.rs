//! Reads logs and prints how fast, and in how much memory: `cargo run --release -p dbduel-capture --example profile -- LOG…`

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let begun = Instant::now();
    let profile = capture::profile(&paths, &capture::Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let bytes: u64 = profile.summary.files.iter().map(|file| file.bytes).sum();
    let megabytes = bytes as f64 / 1e6;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "{megabytes:.0} MB, {:.0} MB/s, {} statements, {} digests, {peak}",
        megabytes / begun.elapsed().as_secs_f64(),
        profile.summary.statements,
        profile.digests.len()
    );
}
