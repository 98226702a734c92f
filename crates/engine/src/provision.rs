//! Fetches a release, checks it, unpacks it and makes sure that it can load its libraries.
//!
//! Package clients (Maven, npm, apt) do the transport, or `mirror` does, where one is named or a client is not here. What must stay true: nothing is unpacked before its SHA-256 matches the catalogue, a
//! folder below `servers` is either whole (it was renamed there with its marker inside) or absent, and is used
//! only while its files have the checksums that they were unpacked with,
//! and the machine itself is left as it was: libraries that are missing lie beside the server.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::apt::Apt;
use super::cache::Cache;
use super::folders::make_readable;
use super::keeper::Program;
use super::libraries::{is_32_bit, launch_privately, libraries_of, supply_32_bit, supply_libraries};
use super::package::{Client, Package, Plugins};
use super::programs::{find_on_path, run_client, sha256_of};
use super::request::Archive;
use super::{Surroundings, interruption, manifest, mirror};

/// How the server lies in its package.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// A zip with the whole server below this folder.
    ZipFolder(&'static str),
    /// A zip with this one tar file inside (`.tar.gz` or `.txz`), which is the server.
    TarInZip(&'static str),
    /// Connector/MXJ: a zip with the server binary, in a folder named by its platform, and two zips.
    ConnectorMxj { folder: &'static str, platform: &'static str },
    /// An npm tgz with `package/server/{mysqld,share,data}`.
    NpmServer,
    /// Debian packages in one tree; `usr/bin` gets a launcher for this server.
    Suite { server: &'static str },
}

/// One row of an engine's catalogue.
#[derive(Debug)]
pub struct Release {
    /// Ends in `.*` where the source rolls: the version is then the one that is found there.
    pub version: &'static str,
    pub package: Package,
    pub layout: Layout,
}

impl Layout {
    /// The folder that the server is built to run in.
    pub(super) fn basedir(self, folder: &Path) -> PathBuf {
        match self {
            Layout::Suite { .. } => folder.join("usr"),
            _ => folder.to_owned(),
        }
    }
}

/// The marker inside a finished folder. Its text is the checksum of the server binary.
const MARKER: &str = ".dbduel-complete";
/// Beside it: all files of the folder with their checksums.
const FILES: &str = ".dbduel-files";
/// Beside it, for a server out of a suite: its version, and below that its packages with theirs. For one out of a
/// vendor's archive: its version, and the archive's SHA-256.
const VERSIONS: &str = ".dbduel-packages";

/// The checksum of the server's binary if the folder is whole.
pub(super) fn marker(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(MARKER)).ok()
}

/// Whether a server is there, and as it was unpacked. What is damaged is reported; it is to be fetched again.
pub(super) fn is_sound(folder: &Path, progress: &dyn Fn(&str)) -> Result<bool> {
    if marker(folder).is_none() {
        return Ok(false);
    }
    let files = fs::read_to_string(folder.join(FILES)).unwrap_or_default();
    let Some(damage) = manifest::damage_at_first_use(folder, &files)? else { return Ok(true) };
    progress(&format!("the cached server {} is damaged ({damage}): it is fetched again", folder.display()));
    Ok(false)
}

/// The first two lines of `VERSIONS`: the version of a server, and that of its package or its archive's SHA-256, as they were when it was fetched.
pub(super) fn fetched_versions(folder: &Path) -> Option<(String, String)> {
    let text = fs::read_to_string(folder.join(VERSIONS)).ok()?;
    let mut lines = text.lines();
    Some((lines.next()?.to_owned(), lines.next()?.to_owned()))
}

/// What an engine defines about its unpacked servers.
pub(super) struct Knowledge<'a> {
    /// Finds the server binary below a folder.
    pub locate: &'a dyn Fn(&Path) -> Result<PathBuf>,
    /// Runs it, with what it needs around it, and gives its version, unless it is a wrong one.
    pub version: &'a dyn Fn(&Path, &Surroundings) -> Result<String>,
}

/// Fetches and unpacks a release into `target`, which appears whole or not at all.
pub(super) fn install(
    release: &Release,
    cache: &Cache,
    target: &Path,
    progress: &dyn Fn(&str),
    engine: &Knowledge,
) -> Result<()> {
    let package = &release.package;
    let scratch = cache.scratch()?;
    let root = scratch.path().join("root");
    progress(&format!("fetching {} ({} MB, {})", package.coordinates, package.megabytes, package.client.title()));
    let program = match (package.client, release.layout) {
        (Client::Apt { suite, plugins }, Layout::Suite { server }) => {
            let wanted = Wanted { package: package.coordinates, plugins, suite };
            install_suite(&wanted, Path::new(server), scratch.path(), engine)?
        }
        (_, layout) => {
            let file = fetch(package, cache, scratch.path(), progress)?;
            check_sum(package, &file)?;
            progress(&format!("unpacking {}", package.file));
            unpack(layout, &file, &root).with_context(|| format!("cannot unpack {}", package.file))?;
            make_readable(&root)?;
            let server = (engine.locate)(&root)?;
            let program = equip(&root, &server, scratch.path(), progress)?;
            (engine.version)(&server, &with_libraries(&root))?;
            program
        }
    };
    put_in_place(&root, &program, target)
}

/// Unpacks a vendor's archive into `target`, which appears whole or not at all.
pub(super) fn install_archive(
    archive: &Archive,
    cache: &Cache,
    target: &Path,
    progress: &dyn Fn(&str),
    engine: &Knowledge,
) -> Result<()> {
    let scratch = cache.scratch()?;
    let root = scratch.path().join("root");
    progress(&format!("unpacking {}", archive.file.display()));
    let expected = format!("sha256:{}", archive.sha256).parse().map_err(anyhow::Error::msg)?;
    let unpacked = scratch.path().join("unpacked");
    let (_, top) = images::unpack_archive(&archive.file, Some(&expected), &unpacked, images::Limits::default())?;
    fs::rename(&top, &root)?;
    let program = equip(&root, &(engine.locate)(&root)?, scratch.path(), progress)?;
    let version = (engine.version)(&(engine.locate)(&root)?, &with_libraries(&root))?;
    fs::write(root.join(VERSIONS), format!("{version}\n{}\n", archive.sha256))?;
    put_in_place(&root, &program, target)
}

pub(super) fn with_libraries(root: &Path) -> Surroundings {
    Surroundings { libraries: libraries_of(root), root: None }
}

/// Renames a server into the cache, once its folder is whole.
pub(super) fn put_in_place(root: &Path, program: &Path, target: &Path) -> Result<()> {
    finish(root, program)?;
    fs::rename(root, target).with_context(|| format!("cannot move the server to {}", target.display()))?;
    manifest::is_sound(target);
    Ok(())
}

/// Writes what makes a folder whole: its marker, and the list of its files.
fn finish(root: &Path, program: &Path) -> Result<()> {
    fs::write(root.join(MARKER), sha256_of(program)?)?;
    Ok(fs::write(root.join(FILES), manifest::list(root, FILES)?)?)
}

/// Gives a server the libraries that it lacks; returns the program itself, were it to be launched by
/// another one from now on.
fn equip(root: &Path, server: &Path, scratch: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    if is_32_bit(server)? {
        return supply_32_bit(root, server, scratch, progress);
    }
    supply_libraries(root, server, scratch, progress)?;
    Ok(server.to_owned())
}

/// A server's packages in a suite.
struct Wanted {
    package: &'static str,
    plugins: Option<Plugins>,
    suite: &'static str,
}

/// A server out of a suite that this machine does not run: with all its libraries and their loader.
fn install_suite(wanted: &Wanted, server: &Path, scratch: &Path, engine: &Knowledge) -> Result<PathBuf> {
    let root = scratch.join("root");
    let apt = Apt::open(Some(wanted.suite), "amd64", scratch)?;
    let mut packages = apt.with_libraries(wanted.package)?;
    let names: Vec<&String> = packages.keys().collect();
    apt.unpack(&names, &root)?;
    if let Some(plugins) = wanted.plugins {
        packages.extend(apt.describe(&[plugins.package])?);
        let all = scratch.join("plugins");
        apt.unpack(&[plugins.package], &all)?;
        let own = root.join(plugins.folder);
        fs::create_dir_all(own.parent().context("a folder has one above it")?)?;
        fs::rename(all.join(plugins.folder), own).with_context(|| format!("{} has no plugins", plugins.package))?;
    }
    let script = Path::new("usr/bin").join(server.file_name().context("a server has a name")?);
    launch_privately(&root, server, &script)?;
    let version = (engine.version)(&(engine.locate)(&root.join("usr"))?, &Surroundings::default())?;
    let listed = packages.iter().map(|(name, described)| format!("{name} {}\n", described.version));
    let own = &packages[wanted.package].version;
    fs::write(root.join(VERSIONS), format!("{version}\n{own}\n{}", listed.collect::<String>()))?;
    Ok(root.join(server))
}

/// Nothing of a package is read before this.
fn check_sum(package: &Package, file: &Path) -> Result<()> {
    let found = sha256_of(file)?;
    ensure!(
        found == package.sha256,
        "{} has a wrong checksum: expected {}, got {found}; nothing of it was unpacked",
        package.coordinates,
        package.sha256
    );
    Ok(())
}

fn fetch(package: &Package, cache: &Cache, scratch: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let client = package.client.program();
    let file = scratch.join(package.file);
    let is_here = find_on_path(client).is_some();
    // Who has the client has it set up, with logins that it alone can read.
    let mirror = mirror::of_this_user(package.client).filter(|mirror| mirror.is_own || !is_here);
    if let Some(mirror) = mirror {
        progress(&format!("from the address in {}", mirror.named_by));
        match mirror.fetch(package, file.clone(), progress) {
            Ok(()) => return Ok(file),
            Err(error) if is_here && !interruption::is_requested() => progress(&format!("{error:#}; asking {client}")),
            Err(error) => return Err(error),
        }
    }
    ensure!(
        is_here,
        "fetching {} needs the program `{client}`, which is not on PATH\n  next: {}",
        package.coordinates,
        package.client.next()
    );
    let command = Program::new(client, &scratch.join("fetch.log"));
    let command = match package.client {
        Client::Maven => command
            .args(["-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"])
            // A repository of our own: Maven keeps every jar it fetches, and ours go after use.
            .arg(format!("-Dmaven.repo.local={}", cache.root().join("maven").display()))
            .arg(format!("-Dartifact={}:jar", package.coordinates))
            .arg(format!("-DoutputDirectory={}", scratch.display())),
        Client::Npm => command
            .args(["pack", "--silent", "--ignore-scripts", package.coordinates, "--cache"])
            .arg(scratch.join("npm-cache")),
        Client::Apt { .. } => bail!("{} comes from a suite, not as a file", package.coordinates),
    };
    let fetched = run_client(command, scratch);
    if package.client == Client::Maven {
        forget_in_local_repository(cache, package.coordinates)?;
    }
    fetched.with_context(|| format!("cannot fetch {}", package.coordinates))?;
    ensure!(file.is_file(), "{client} ended well but left no {}", package.file);
    Ok(file)
}

fn forget_in_local_repository(cache: &Cache, coordinates: &str) -> Result<()> {
    let mut parts = coordinates.splitn(3, ':');
    if let (Some(group), Some(artifact), Some(version)) = (parts.next(), parts.next(), parts.next()) {
        let folder = cache.root().join("maven").join(group.replace('.', "/")).join(artifact).join(version);
        super::cache::remove_tree(&folder)?;
    }
    Ok(())
}

fn unpack(layout: Layout, package: &Path, root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    match layout {
        Layout::ZipFolder(folder) => unzip(File::open(package)?, folder, root),
        Layout::TarInZip(member) => {
            let mut zip = zip::ZipArchive::new(File::open(package)?)?;
            let tar = zip.by_name(member).with_context(|| format!("no {member} in the package"))?;
            if member.ends_with("xz") {
                untar(xz2::read::XzDecoder::new(tar), "", root)
            } else {
                untar(flate2::read::GzDecoder::new(tar), "", root)
            }
        }
        Layout::ConnectorMxj { folder, platform } => unpack_mxj(package, folder, platform, root),
        Layout::NpmServer => {
            untar(flate2::read::GzDecoder::new(File::open(package)?), "package/server", root)?;
            fs::create_dir_all(root.join("bin"))?;
            Ok(std::os::unix::fs::symlink("../mysqld", root.join("bin/mysqld"))?)
        }
        Layout::Suite { .. } => bail!("{} is one package of a suite", package.display()),
    }
}

/// `FOLDER/PLATFORM/mysqld`, `FOLDER/share_dir.jar`, `FOLDER/data_dir.jar` become
/// `bin/mysqld`, `share/` and `data/`, as in a distribution by the maker.
fn unpack_mxj(package: &Path, folder: &str, platform: &str, root: &Path) -> Result<()> {
    let platform = format!("{folder}/{platform}/");
    unzip(File::open(package)?, &platform, &root.join("bin"))?;
    let mut zip = zip::ZipArchive::new(File::open(package)?)?;
    for (jar, into) in [("share_dir.jar", root.to_owned()), ("data_dir.jar", root.join("data"))] {
        let mut bytes = Vec::new();
        zip.by_name(&format!("{folder}/{jar}")).with_context(|| format!("no {jar}"))?.read_to_end(&mut bytes)?;
        unzip(io::Cursor::new(bytes), "", &into)?;
        super::cache::remove_tree(&into.join("META-INF"))?;
    }
    Ok(())
}

/// Unpacks what lies below `folder` in a zip. Zips of this kind carry no Unix modes, so programs
/// are recognised by where they lie.
fn unzip<R: Read + io::Seek>(package: R, folder: &str, root: &Path) -> Result<()> {
    let mut zip = zip::ZipArchive::new(package)?;
    let mut files = 0;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let path = entry.enclosed_name().with_context(|| format!("{} points out of the package", entry.name()))?;
        let Ok(path) = path.strip_prefix(folder) else { continue };
        let target = root.join(path);
        if entry.is_dir() {
            fs::create_dir_all(&target)?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut entry, &mut File::create(&target)?)?;
        if is_program(&target) {
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755))?;
        }
        files += 1;
    }
    ensure!(files > 0, "nothing lies below {folder} in the package");
    Ok(())
}

fn is_program(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    ["bin", "sbin", "scripts", "libexec"].iter().any(|name| folder == *name)
}

/// Unpacks what lies below `folder` in a tar, modes and links included.
fn untar(tar: impl Read, folder: &str, root: &Path) -> Result<()> {
    let mut archive = tar::Archive::new(tar);
    let mut files = 0;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix("./").unwrap_or(&path);
        let Ok(path) = path.strip_prefix(folder) else { continue };
        if path.as_os_str().is_empty() {
            continue;
        }
        let plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        ensure!(plain, "{} points out of the package", path.display());
        let target = root.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        entry.unpack(&target).with_context(|| format!("cannot unpack {}", path.display()))?;
        files += 1;
    }
    ensure!(files > 0, "nothing lies below {folder:?} in the package");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::package::Processor;
    use super::*;

    fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn a_zip_without_modes_gives_programs_that_can_be_run() {
        let base = tempfile::tempdir().unwrap();
        let zip = zip_of(&[("a/linux/bin/mysqld", b"#!"), ("a/linux/share/x", b"x"), ("other/y", b"y")]);
        unzip(io::Cursor::new(zip), "a/linux/", base.path()).unwrap();
        let mode = |path: &str| fs::metadata(base.path().join(path)).unwrap().permissions().mode() & 0o111;
        assert_eq!(mode("bin/mysqld"), 0o111);
        assert_eq!(mode("share/x"), 0);
        assert!(!base.path().join("y").exists());
    }

    #[test]
    fn a_package_of_connector_mxj_becomes_a_server_folder() {
        let base = tempfile::tempdir().unwrap();
        let (share, data) = (zip_of(&[("share/english/errmsg.sys", b"e")]), zip_of(&[("mysql/user.frm", b"u")]));
        let package = base.path().join("package.jar");
        let files: &[(&str, &[u8])] =
            &[("5-5-9/Linux-x86_64/mysqld", b"elf"), ("5-5-9/share_dir.jar", &share), ("5-5-9/data_dir.jar", &data)];
        fs::write(&package, zip_of(files)).unwrap();
        let root = base.path().join("root");
        unpack(Layout::ConnectorMxj { folder: "5-5-9", platform: "Linux-x86_64" }, &package, &root).unwrap();
        for file in ["bin/mysqld", "share/english/errmsg.sys", "data/mysql/user.frm"] {
            assert!(root.join(file).is_file(), "{file}");
        }
    }

    #[test]
    fn a_zip_entry_that_points_outside_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let zip = zip_of(&[("../evil", b"x")]);
        assert!(unzip(io::Cursor::new(zip), "", base.path()).is_err());
    }

    #[test]
    fn a_package_with_a_wrong_checksum_is_refused_with_both() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let package = |sha256| Package {
            client: Client::Npm,
            processor: Processor::Any,
            coordinates: "x@1",
            file: "x.tgz",
            sha256,
            megabytes: 1,
        };
        check_sum(&package(right), file.path()).unwrap();
        let error = check_sum(&package("00"), file.path()).unwrap_err().to_string();
        assert!(error.contains("x@1") && error.contains("expected 00") && error.contains(right), "{error}");
    }

    #[test]
    fn a_server_with_a_changed_byte_is_reported_and_not_used() {
        let root = tempfile::tempdir().unwrap();
        let lines = std::cell::RefCell::new(Vec::new());
        let is_sound = || is_sound(root.path(), &|line| lines.borrow_mut().push(line.to_owned())).unwrap();
        assert!(!is_sound(), "nothing is there");
        let program = root.path().join("mysqld");
        fs::write(&program, "elf").unwrap();
        finish(root.path(), &program).unwrap();
        fs::write(&program, "elg").unwrap();
        assert!(!is_sound());
        assert_eq!(lines.borrow().len(), 1);
        assert!(lines.borrow()[0].contains("mysqld does not have its checksum"), "{lines:?}");
        fs::write(&program, "elf").unwrap();
        assert!(is_sound());
        fs::remove_file(root.path().join(MARKER)).unwrap();
        assert!(!is_sound());
    }

    #[test]
    fn the_sha_256_of_a_file_is_the_published_one_of_its_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(file.path()).unwrap(), expected);
    }
}
