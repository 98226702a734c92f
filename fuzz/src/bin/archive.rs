#![no_main]

use images::{Limits, unpack_archive};

// Whatever an archive contains, nothing appears beside its folder, and a refusal leaves none.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let archive = place.path().join("archive");
    std::fs::write(&archive, data).expect("a file can be written");
    let folder = place.path().join("folder");
    let is_unpacked = unpack_archive(&archive, None, &folder, Limits::default()).is_ok();
    assert_eq!(folder.exists(), is_unpacked);
    assert_eq!(std::fs::read_dir(place.path()).expect("the folder is there").count(), 1 + usize::from(is_unpacked));
});
