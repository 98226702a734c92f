#![no_main]

use images::{Challenge, login_in_file};

// Files of logins and the headers of registries: none of them is a panic.
libfuzzer_sys::fuzz_target!(|data: &str| {
    let _ = Challenge::parse(data);
    let _ = login_in_file(data.as_bytes(), "registry.example", "db/pg", |_, _| Ok(String::new()));
});
