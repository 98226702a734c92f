#![no_main]

// A manifest that is read asks for a bounded number of layers; none is a panic.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(layers) = images::layers_of(data) {
        assert!((1..=127).contains(&layers));
    }
});
