#![no_main]

#[path = "../../../crates/report/tests/hostile/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::stored_run(data));
