#![no_main]

#[path = "../../../crates/engine/tests/parsers/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::connection_string(data));
