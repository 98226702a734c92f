//! A server reached by another path, for the second side of an A/A test.

use std::fs;
use std::path::Path;

use engine::{Found, Installation, Resolved, already_here};

use crate::engine;

fn installation(found: Found) -> Installation {
    already_here(&Resolved::here(engine("mysql"), found)).unwrap().unwrap()
}

#[test]
fn the_other_path_leads_to_the_same_file_and_has_another_length() {
    let folder = tempfile::tempdir().unwrap();
    let (basedir, work) = (folder.path().join("mysql"), folder.path().join("work"));
    fs::create_dir_all(basedir.join("bin")).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(basedir.join("bin/mysqld"), "").unwrap();
    let found = |basedir: Option<&Path>| Found {
        version: "5.6.24".into(),
        server: folder.path().join("mysql/bin/mysqld"),
        basedir: basedir.map(Path::to_owned),
    };
    let renamed = installation(found(Some(&basedir))).by_another_path(&work).unwrap();
    assert_eq!(fs::canonicalize(&renamed.server).unwrap(), fs::canonicalize(basedir.join("bin/mysqld")).unwrap());
    assert_ne!(renamed.server.as_os_str().len(), basedir.join("bin/mysqld").as_os_str().len());
    let compiled_in = installation(found(None)).by_another_path(&work).unwrap();
    assert_eq!(compiled_in.server, basedir.join("bin/mysqld"));
}
