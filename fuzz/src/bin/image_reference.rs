#![no_main]

use images::Reference;

// A reference that was read is written as one that reads the same.
libfuzzer_sys::fuzz_target!(|data: &str| {
    if let Ok(reference) = Reference::parse(data) {
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
    }
});
