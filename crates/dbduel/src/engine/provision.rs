//! Fetches a release, checks it, unpacks it and makes sure that it can load its libraries.
//!
//! Package clients (Maven, npm, apt) do the transport; this module never speaks to a server
//! itself. What must stay true: nothing is unpacked before its SHA-256 matches the catalogue, a
//! folder below `servers` is either whole (it was renamed there with its marker inside) or absent,
//! and the machine itself is left as it was: libraries that are missing lie beside the server.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::cache::{Cache, read_folder};
use super::keeper::Program;
use super::log_tail;

/// A file that a package client can fetch.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub client: Client,
    /// As the client names it: `group:artifact:version`, `name@version`.
    pub coordinates: &'static str,
    /// The name of the file the client leaves behind.
    pub file: &'static str,
    pub sha256: &'static str,
    pub megabytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Maven,
    Npm,
}

/// How the server lies in its package.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// A zip with the whole server below this folder.
    ZipFolder(&'static str),
    /// A zip with this one tar file inside (`.tar.gz` or `.txz`), which is the server.
    TarInZip(&'static str),
    /// Connector/MXJ: a zip with the server binary and two zips, in a folder named by the version.
    ConnectorMxj(&'static str),
    /// An npm tgz with `package/server/{mysqld,share,data}`.
    NpmServer,
}

/// The marker inside a finished folder. Its text is the checksum of the server binary.
const MARKER: &str = ".dbduel-complete";
/// Libraries that a plain machine may lack, and the Debian packages that hold them, by age.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("libaio.so.1", &["libaio1", "libaio1t64"]),
    ("libnuma.so.1", &["libnuma1"]),
    ("libatomic.so.1", &["libatomic1"]),
    ("libncurses.so.5", &["libncurses5"]),
    ("libtinfo.so.5", &["libtinfo5"]),
    ("libcrypt.so.1", &["libcrypt1"]),
    ("libsystemd.so.0", &["libsystemd0"]),
    ("liblzma.so.5", &["liblzma5"]),
    ("liblz4.so.1", &["liblz4-1"]),
    ("libgcc_s.so.1", &["libgcc-s1"]),
    ("libstdc++.so.6", &["libstdc++6"]),
    ("libz.so.1", &["zlib1g"]),
    ("libpcre2-8.so.0", &["libpcre2-8-0"]),
];
const FETCH_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The checksum of the server's binary if the folder is whole.
pub(super) fn marker(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(MARKER)).ok()
}

/// Fetches and unpacks a package into `target`, which appears whole or not at all. `locate` finds
/// the server binary in the unpacked tree; `check` runs it, with these folders of libraries.
pub(super) fn install(
    package: &Package,
    layout: Layout,
    cache: &Cache,
    target: &Path,
    progress: &dyn Fn(&str),
    locate: &dyn Fn(&Path) -> Result<PathBuf>,
    check: &dyn Fn(&Path, &[PathBuf]) -> Result<()>,
) -> Result<()> {
    let scratch = cache.scratch()?;
    progress(&format!("fetching {} ({} MB, {})", package.coordinates, package.megabytes, package.client.program()));
    let file = fetch(package, cache, scratch.path())?;
    check_sum(package, &file)?;
    progress(&format!("unpacking {}", package.file));
    let root = scratch.path().join("root");
    unpack(layout, &file, &root).with_context(|| format!("cannot unpack {}", package.file))?;
    make_readable(&root)?;
    let server = locate(&root)?;
    supply_libraries(&root, &server, scratch.path(), progress)?;
    check(&server, &libraries_of(&root))?;
    fs::write(root.join(MARKER), sha256_of(&server)?)?;
    fs::rename(&root, target).with_context(|| format!("cannot move the server to {}", target.display()))
}

/// Nothing of a package is looked at before this.
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

impl Client {
    pub fn program(self) -> &'static str {
        match self {
            Client::Maven => "mvn",
            Client::Npm => "npm",
        }
    }

    /// As a reader would look it up.
    pub fn title(self) -> &'static str {
        match self {
            Client::Maven => "Maven",
            Client::Npm => "npm",
        }
    }

    /// What to install to have it (Debian's names).
    fn needs(self) -> &'static str {
        match self {
            Client::Maven => "maven and default-jre-headless",
            Client::Npm => "npm",
        }
    }
}

fn fetch(package: &Package, cache: &Cache, scratch: &Path) -> Result<PathBuf> {
    let client = package.client.program();
    ensure!(
        find_on_path(client).is_some(),
        "fetching {} needs the program `{client}`, which is not on PATH; install {}",
        package.coordinates,
        package.client.needs()
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
    };
    let fetched = run_client(command, scratch);
    if package.client == Client::Maven {
        forget_in_local_repository(cache, package.coordinates)?;
    }
    fetched.with_context(|| format!("cannot fetch {}", package.coordinates))?;
    let file = scratch.join(package.file);
    ensure!(file.is_file(), "{client} ended well but left no {}", package.file);
    Ok(file)
}

/// Runs a client in `folder`; its last words are part of the error.
fn run_client(program: Program, folder: &Path) -> Result<()> {
    let program = Program { directory: Some(folder.to_owned()), ..program };
    let exit = program.run(FETCH_LIMIT)?;
    if exit != super::keeper::Exit::Status(0) {
        bail!("{} {exit}\nit said: {}", program.path.display(), log_tail(&program.log, 0).join("\n         "));
    }
    Ok(())
}

fn forget_in_local_repository(cache: &Cache, coordinates: &str) -> Result<()> {
    let mut parts = coordinates.splitn(3, ':');
    if let (Some(group), Some(artifact), Some(version)) = (parts.next(), parts.next(), parts.next()) {
        let folder = cache.root().join("maven").join(group.replace('.', "/")).join(artifact).join(version);
        super::cache::remove_tree(&folder)?;
    }
    Ok(())
}

/// A program's path, as the shell would find it.
pub(super) fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    io::copy(&mut BufReader::with_capacity(1 << 20, opened), &mut hash)?;
    Ok(hex(&hash.finalize()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
        Layout::ConnectorMxj(folder) => unpack_mxj(package, folder, root),
        Layout::NpmServer => {
            untar(flate2::read::GzDecoder::new(File::open(package)?), "package/server", root)?;
            fs::create_dir_all(root.join("bin"))?;
            Ok(std::os::unix::fs::symlink("../mysqld", root.join("bin/mysqld"))?)
        }
    }
}

/// `FOLDER/Linux-x86_64/mysqld`, `FOLDER/share_dir.jar`, `FOLDER/data_dir.jar` become
/// `bin/mysqld`, `share/` and `data/`, as in a distribution by the maker.
fn unpack_mxj(package: &Path, folder: &str, root: &Path) -> Result<()> {
    let platform = format!("{folder}/Linux-x86_64/");
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

/// Lets every account read the tree: a server may run under another user than dbduel.
fn make_readable(path: &Path) -> Result<()> {
    let meta = path.symlink_metadata()?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode() & 0o777;
    let wanted = if meta.is_dir() || mode & 0o100 != 0 { mode | 0o755 } else { mode | 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
    if meta.is_dir() {
        for entry in read_folder(path)? {
            make_readable(&entry.path())?;
        }
    }
    Ok(())
}

/// The folder beside a server that holds the libraries this machine lacks.
fn library_folder(root: &Path) -> PathBuf {
    root.join("dbduel-libraries")
}

/// What `LD_LIBRARY_PATH` must name for a server of this cache.
pub(super) fn libraries_of(root: &Path) -> Vec<PathBuf> {
    Some(library_folder(root)).into_iter().filter(|folder| folder.is_dir()).collect()
}

/// Puts every library that the loader does not find beside the server.
fn supply_libraries(root: &Path, server: &Path, scratch: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let folder = library_folder(root);
    for name in missing_libraries(server, &[])? {
        fs::create_dir_all(&folder)?;
        match find_below(root, &name)? {
            // Some packages bring a library but no way to find it.
            Some(own) => drop(fs::copy(own, folder.join(&name))?),
            None => fetch_library(&name, &folder, scratch, progress)?,
        }
    }
    let missing = missing_libraries(server, &libraries_of(root))?;
    ensure!(
        missing.is_empty(),
        "{} still lacks {}; install the packages that hold them",
        server.display(),
        missing.join(", ")
    );
    Ok(())
}

fn missing_libraries(server: &Path, libraries: &[PathBuf]) -> Result<Vec<String>> {
    let mut command = Command::new("ldd");
    command.arg(server).env("LC_ALL", "C");
    if !libraries.is_empty() {
        command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries)?);
    }
    let output = command.output().context("cannot run `ldd`; install libc-bin")?;
    Ok(parse_missing(&String::from_utf8_lossy(&output.stdout)))
}

/// The names in lines such as `libaio.so.1 => not found`.
fn parse_missing(ldd: &str) -> Vec<String> {
    let mut names: Vec<String> = ldd
        .lines()
        .filter_map(|line| line.trim().strip_suffix("=> not found"))
        .map(|name| name.trim().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The first Debian package of the list that exists is fetched and unpacked, never installed.
fn fetch_library(name: &str, folder: &Path, scratch: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let packages = LIBRARIES.iter().find(|(library, _)| *library == name).map(|(_, packages)| *packages);
    let packages = packages.with_context(|| format!("the server needs {name}; install the package that holds it"))?;
    for tool in ["apt-get", "dpkg"] {
        ensure!(find_on_path(tool).is_some(), "the server needs {name}, and `{tool}` is not here; install {name}");
    }
    let mut failures = Vec::new();
    for package in packages {
        progress(&format!("fetching {package} for {name} (apt)"));
        match fetch_deb(package, scratch) {
            Ok(unpacked) => return adopt_library(name, &unpacked, folder),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    bail!("cannot fetch {name}; install {}\n{}", packages.join(" or "), failures.join("\n"))
}

fn fetch_deb(package: &str, scratch: &Path) -> Result<PathBuf> {
    let folder = scratch.join(format!("deb-{package}"));
    fs::create_dir_all(&folder)?;
    let log = folder.join("fetch.log");
    // apt's own sandbox account cannot write here; as root it would warn on every fetch.
    let download = Program::new("apt-get", &log).args(["-q", "-o", "APT::Sandbox::User=root", "download", package]);
    run_client(download, &folder)?;
    let debs = read_folder(&folder)?;
    let deb = debs.iter().map(fs::DirEntry::path).find(|path| path.extension().is_some_and(|e| e == "deb"));
    let deb = deb.with_context(|| format!("apt-get left no {package} package"))?;
    let unpacked = folder.join("root");
    run_client(Program::new("dpkg", &log).arg("-x").arg(deb).arg(&unpacked), &folder)?;
    Ok(unpacked)
}

/// Takes a library out of an unpacked package under the name the server asks for. Newer Debian
/// calls libaio `libaio.so.1t64`; the functions the servers use did not change.
fn adopt_library(name: &str, unpacked: &Path, folder: &Path) -> Result<()> {
    let renamed = format!("{name}t64");
    let file = match find_below(unpacked, name)? {
        Some(file) => Some(file),
        None => find_below(unpacked, &renamed)?,
    };
    let file = file.with_context(|| format!("the package holds no {name}"))?;
    fs::copy(file, folder.join(name))?;
    make_readable(folder)
}

fn find_below(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    for entry in read_folder(folder)? {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if let Some(found) = find_below(&path, name)? {
                return Ok(Some(found));
            }
        } else if entry.file_name() == name && path.is_file() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_what_the_loader_misses_is_named() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibaio.so.1 => not found\n\
                   \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x1)\n\tlibnuma.so.1 => not found\n\
                   \tlibaio.so.1 => not found\n";
        assert_eq!(parse_missing(ldd), ["libaio.so.1", "libnuma.so.1"]);
        assert!(parse_missing("\tstatically linked\n").is_empty());
    }

    #[test]
    fn a_library_with_the_newer_name_is_adopted_under_the_old_one() {
        let base = tempfile::tempdir().unwrap();
        let (unpacked, folder) = (base.path().join("deb/usr/lib"), base.path().join("lib"));
        fs::create_dir_all(&unpacked).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(unpacked.join("libaio.so.1t64"), "elf").unwrap();
        adopt_library("libaio.so.1", &base.path().join("deb"), &folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join("libaio.so.1")).unwrap(), "elf");
    }

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
        unpack(Layout::ConnectorMxj("5-5-9"), &package, &root).unwrap();
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
        let package = |sha256| Package { client: Client::Npm, coordinates: "x@1", file: "x.tgz", sha256, megabytes: 1 };
        check_sum(&package(right), file.path()).unwrap();
        let error = check_sum(&package("00"), file.path()).unwrap_err().to_string();
        assert!(error.contains("x@1") && error.contains("expected 00") && error.contains(right), "{error}");
    }

    #[test]
    fn the_sha_256_of_a_file_is_the_published_one_of_its_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(file.path()).unwrap(), expected);
    }
}
