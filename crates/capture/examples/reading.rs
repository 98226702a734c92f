//! Reads logs for `cargo xtask bench-capture`: prints bytes of logs, statements, digests, and bytes of the capture.

use std::path::PathBuf;

use capture::{Making, Options, capture, profile};

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let out = arguments.next().expect("usage: reading CAPTURE|- LOG...");
    let logs: Vec<PathBuf> = arguments.collect();
    let (options, work) = (Options::default(), std::env::temp_dir());
    if out.as_os_str() == "-" {
        let profile = profile(&logs, &options).unwrap_or_else(|error| panic!("{error}"));
        let bytes: u64 = profile.summary.files.iter().map(|file| file.bytes).sum();
        println!("{bytes} {} {} 0", profile.summary.statements, profile.digests.len());
        return;
    }
    let making = Making { options, memory: 192 << 20, work, parameter_length_max: None };
    let (written, contents) = capture(&logs, &out, &making).unwrap_or_else(|error| panic!("{error}"));
    let bytes: u64 = contents.logs.iter().map(|(.., bytes)| bytes).sum();
    println!("{bytes} {} {} {written}", contents.statements, contents.sessions);
}
