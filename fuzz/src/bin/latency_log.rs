#![no_main]

use analysis::latency_windows::{whole, windows};

// A log of response times is read or damaged, and both readers say the same of it.
libfuzzer_sys::fuzz_target!(|data: &str| {
    let windows = windows(data, None);
    let whole = whole(data);
    assert_eq!(windows.map(|windows| windows.len()), whole.map(|(_, count)| count));
});
