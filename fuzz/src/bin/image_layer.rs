#![no_main]

use images::{Limits, Unpacker};

// Whatever a layer contains, nothing appears beside the root.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let root = place.path().join("root");
    std::fs::create_dir(&root).expect("a folder can be made");
    let _ = Unpacker::new(&root, Limits::default()).and_then(|mut unpacker| unpacker.layer(data));
    assert_eq!(std::fs::read_dir(place.path()).expect("the folder is there").count(), 1);
});
