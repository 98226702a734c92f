#![no_main]

// A frame of either side is a message or none; none is a panic, and none asks for more memory than it has bytes.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = cluster::is_message(data);
});
