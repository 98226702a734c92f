#![no_main]

#[path = "../../../crates/dbduel/tests/hostile/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::experiment_file(data));
