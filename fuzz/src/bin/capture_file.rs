#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| capture::fuzzing::run("capture_file", data));
