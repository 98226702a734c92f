//! Servers out of vendors' archives.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::request::{Archive, Origin, VersionRequest};
use engine::{Cache, Installation, provision, resolve, sha256_of};

use crate::engine;

/// A tar of one folder with a server that answers `--version`, and nothing else.
fn archive(place: &Path, answer: &str) -> PathBuf {
    let (server, file) = (place.join("mysql-8.0/bin/mysqld"), place.join("mysql-8.0.tar.gz"));
    fs::create_dir_all(server.parent().unwrap()).unwrap();
    fs::write(&server, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let packed = Command::new("tar").arg("-C").arg(place).arg("-czf").arg(&file).arg("mysql-8.0").status().unwrap();
    assert!(packed.success());
    file
}

fn unpacked(kind: &str, archive: &Archive, cache: &Cache) -> Result<Installation, String> {
    let resolved = resolve(engine(kind), &VersionRequest::Newest, &Origin::Archive(archive.clone())).unwrap();
    assert!(!resolved.has_version(), "the user's cache has none of this test");
    provision(&resolved, cache, &|_| {}).map_err(|error| format!("{error:#}"))
}

const ANSWER: &str = "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)";

#[test]
fn a_server_out_of_an_archive_outlives_its_file_in_the_cache() {
    let place = tempfile::tempdir().unwrap();
    let cache = Cache::at(&place.path().join("cache"), &place.path().join("work")).unwrap();
    let file = archive(place.path(), ANSWER);
    let archive = Archive { sha256: sha256_of(&file).unwrap(), file };
    let first = unpacked("mysql", &archive, &cache).unwrap();
    let source = format!("archive mysql-8.0.tar.gz (sha256:{:.12})", archive.sha256);
    assert_eq!((first.version.as_str(), first.source.as_str()), ("8.0.36", source.as_str()));
    let folder = cache.servers().join(format!("archive-{:.16}", archive.sha256));
    assert_eq!(first.server, folder.join("bin/mysqld"));
    fs::remove_file(&archive.file).unwrap();
    let again = unpacked("mysql", &archive, &cache).unwrap();
    assert_eq!((again.version, again.fingerprint), (first.version, first.fingerprint));
    let error = unpacked("postgres", &archive, &cache).unwrap_err();
    assert!(error.contains("no PostgreSQL server in"), "{error}");
}

#[test]
fn a_changed_archive_and_one_without_the_server_leave_nothing_in_the_cache() {
    let place = tempfile::tempdir().unwrap();
    let cache = Cache::at(&place.path().join("cache"), &place.path().join("work")).unwrap();
    let check = |kind: &str, archive: &Archive, reason: &str| {
        let error = unpacked(kind, archive, &cache).unwrap_err();
        assert!(error.contains(reason) && error.contains("mysql-8.0.tar.gz"), "{error}");
        assert_eq!(fs::read_dir(cache.servers()).unwrap().count(), 0);
    };
    let file = archive(place.path(), ANSWER);
    let before = Archive { sha256: sha256_of(&file).unwrap(), file };
    let file = archive(place.path(), "mariadbd  Ver 10.11.5-MariaDB for Linux on x86_64");
    check("mysql", &before, "nothing was unpacked");
    let after = Archive { sha256: sha256_of(&file).unwrap(), file };
    check("mysql", &after, "is no mysql");
    check("postgres", &after, "no PostgreSQL server in");
}
