#![no_main]

#[path = "../../../crates/driver/tests/parsers/properties.rs"]
#[allow(dead_code, reason = "each target feeds one of the properties")]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::postgres_text_row(data));
