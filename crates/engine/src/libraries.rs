//! The shared libraries of a fetched server: what the machine lacks lies beside it.
//!
//! A server whose libraries are merely missing gets them in a folder for `LD_LIBRARY_PATH`. One that
//! this machine's loader cannot load at all (32-bit, or built for a newer libc) gets a loader of its
//! own, and a launcher in its place: a script that runs the server by that loader, in the same
//! process. What must stay true: nothing is installed, and the launcher works wherever its tree is
//! moved to.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::apt::Apt;
use super::cache::read_folder;
use super::folders::make_readable;

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

/// The folder beside a server that holds the libraries this machine lacks.
fn library_folder(root: &Path) -> PathBuf {
    root.join("dbduel-libraries")
}

/// What `LD_LIBRARY_PATH` must name for a server of this cache.
pub(super) fn libraries_of(root: &Path) -> Vec<PathBuf> {
    Some(library_folder(root)).into_iter().filter(|folder| folder.is_dir()).collect()
}

/// Puts every library that the loader does not find beside the server.
pub(super) fn supply_libraries(root: &Path, server: &Path, scratch: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let folder = library_folder(root);
    let unpacked = scratch.join("libraries");
    let mut apt = None;
    for name in missing_libraries(server, &[])? {
        fs::create_dir_all(&folder)?;
        if let Some(own) = find_below(root, &name)? {
            // Some packages bring a library but no way to find it.
            fs::copy(own, folder.join(&name))?;
            continue;
        }
        let apt = match &mut apt {
            Some(apt) => apt,
            None => apt.insert(Apt::open(None, "amd64", scratch).with_context(|| format!("the server needs {name}"))?),
        };
        unpack_package_with(&name, apt, &unpacked, progress)?;
        adopt_library(&name, &unpacked, &folder)?;
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

/// The names in lines such as `libz.so.1 => /usr/lib/libz.so.1 (0x7f)` whose file lies outside of a folder, links followed.
fn parse_foreign(ldd: &str, root: &Path) -> Vec<String> {
    let is_inside = |path: &str| fs::canonicalize(path).is_ok_and(|path| path.starts_with(root));
    let found = ldd.lines().filter_map(|line| {
        let (name, path) = line.trim().split_once(" => ")?;
        let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
        // The loader is the one that was started, whatever path a program asks for.
        let is_library = !name.starts_with('/') && path != "not found";
        (is_library && !is_inside(path)).then(|| name.to_owned())
    });
    found.collect()
}

/// The Debian packages that may hold a library, by age.
fn packages_with(name: &str) -> Result<&'static [&'static str]> {
    let packages = LIBRARIES.iter().find(|(library, _)| *library == name).map(|(_, packages)| *packages);
    packages.with_context(|| format!("the server needs {name}; install the package that holds it"))
}

/// The first Debian package of the list that the suite has is unpacked, never installed.
fn unpack_package_with(name: &str, apt: &Apt, into: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let packages = packages_with(name)?;
    let found = packages.iter().find(|package| apt.describe(&[package]).is_ok_and(|described| !described.is_empty()));
    let package = found.with_context(|| {
        format!("this machine's release has no {} for {name}; install the package that holds it", packages.join(" or "))
    })?;
    progress(&format!("fetching {package} for {name} (apt)"));
    apt.unpack(&[package], into)
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

/// Where a 32-bit server's loader and libraries lie, below its folder.
const PRIVATE_ROOT: &str = "i386";
/// The names of the loaders that a private tree may bring.
const LOADERS: &[&str] = &["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux.so.2"];

/// A server that is run by a loader of its own. All paths are relative to the server's folder.
struct Launcher<'a> {
    root: &'a Path,
    /// The real server.
    program: &'a Path,
    /// The script that stands for it.
    script: &'a Path,
    /// The tree with the loader and the libraries.
    libraries: &'a Path,
}

/// Whether a program is one for 32-bit processors, by its fifth byte.
pub(super) fn is_32_bit(program: &Path) -> Result<bool> {
    let mut start = [0; 5];
    File::open(program)?.read_exact(&mut start).with_context(|| format!("{} is no program", program.display()))?;
    Ok(start == *b"\x7fELF\x01")
}

/// Gives a 32-bit server its loader and libraries, from this machine's own release. `server` is a
/// launcher afterwards; the path returned is the server itself.
pub(super) fn supply_32_bit(root: &Path, server: &Path, scratch: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    progress("fetching 32-bit libraries (apt)");
    let apt = Apt::open(None, "i386", scratch)?;
    let private = root.join(PRIVATE_ROOT);
    // With what it depends on: it opens `libgcc_s.so.1` when a thread ends, which no loader foresees.
    let basic = apt.with_libraries("libc6")?;
    apt.unpack(&basic.keys().collect::<Vec<_>>(), &private)?;
    let program = private.join(server.file_name().context("a server has a name")?);
    fs::rename(server, &program)?;
    let inside = |path: &Path| path.strip_prefix(root).map(Path::to_owned).context("the server lies in its folder");
    let (program_inside, script) = (inside(&program)?, inside(server)?);
    let launcher = Launcher { root, program: &program_inside, script: &script, libraries: Path::new(PRIVATE_ROOT) };
    for name in launcher.missing()? {
        unpack_package_with(&name, &apt, &private, progress)?;
    }
    launcher.finish()?;
    Ok(program)
}

/// Makes a server that came with its own loader and libraries run by them.
pub(super) fn launch_privately(root: &Path, program: &Path, script: &Path) -> Result<()> {
    Launcher { root, program, script, libraries: Path::new("usr") }.finish()
}

impl Launcher<'_> {
    /// Writes the script, once nothing is missing.
    fn finish(&self) -> Result<()> {
        let missing = self.missing()?;
        ensure!(missing.is_empty(), "{} still lacks {}", self.program.display(), missing.join(", "));
        let script = self.root.join(self.script);
        fs::write(&script, self.text()?)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        make_readable(self.root)
    }

    fn text(&self) -> Result<String> {
        let up = "/..".repeat(self.script.components().count() - 1);
        let place = |path: &Path| format!("$root/{}", path.display());
        let libraries: Vec<String> = self.folders()?.iter().map(|folder| place(folder)).collect();
        // `exec`: the process that was started is the server itself.
        Ok(format!(
            "#!/bin/sh\n# Made by dbduel: runs the server by the loader and the libraries beside it.\n\
             root=\"${{0%/*}}{up}\"\nexec \"{}\" --library-path \"{}\" \"{}\" \"$@\"\n",
            place(&self.loader()?),
            libraries.join(":"),
            place(self.program)
        ))
    }

    fn loader(&self) -> Result<PathBuf> {
        let found = self.folders()?.into_iter().flat_map(|folder| LOADERS.iter().map(move |name| folder.join(name)));
        let found = found.into_iter().find(|loader| self.root.join(loader).is_file());
        found.with_context(|| format!("no loader lies below {}", self.root.join(self.libraries).display()))
    }

    /// The folders where Debian's packages put libraries, those of a processor first.
    fn folders(&self) -> Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for part in ["lib", "usr/lib", "lib64"].map(|part| self.libraries.join(part)) {
            let inside = read_folder(&self.root.join(&part))?.into_iter().map(|entry| part.join(entry.file_name()));
            folders.extend(inside.filter(|folder| folder.to_string_lossy().ends_with("-linux-gnu")));
            folders.push(part);
        }
        folders.retain(|folder| self.root.join(folder).is_dir());
        Ok(folders)
    }

    /// The libraries that the private loader does not find beside the server. It would take one of this machine without a
    /// word, and what runs then were no longer the vendor's build.
    fn missing(&self) -> Result<Vec<String>> {
        let folders = self.folders()?.into_iter().map(|folder| self.root.join(folder));
        let mut command = Command::new(self.root.join(self.loader()?));
        command.arg("--library-path").arg(std::env::join_paths(folders)?).arg(self.root.join(self.program));
        // As `ldd` does it; the loader's own `--list` stops at the first library that is missing.
        command.env("LD_TRACE_LOADED_OBJECTS", "1");
        let output = command.env_remove("LD_LIBRARY_PATH").output();
        let output =
            output.context("this machine cannot run the server's own loader; its kernel may lack 32-bit support")?;
        let listing = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut names = parse_missing(&listing);
        names.extend(parse_foreign(&listing, &fs::canonicalize(self.root)?));
        // It also fails where a library is found and lacks something, which no other package cures.
        ensure!(
            output.status.success() || !names.is_empty(),
            "the server's own loader cannot load {}: {}",
            self.program.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
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
    fn a_library_of_this_machine_is_missing_beside_a_server_with_its_own_loader() {
        let base = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(base.path()).unwrap().join("root");
        let outside = base.path().join("libz.so.1");
        fs::create_dir_all(root.join("lib")).unwrap();
        for file in [&outside, &root.join("lib/libc.so.6")] {
            fs::write(file, "elf").unwrap();
        }
        std::os::unix::fs::symlink(&outside, root.join("lib/libm.so.6")).unwrap();
        let listing = format!(
            "\tlinux-vdso.so.1 (0x1)\n\tlibz.so.1 => {} (0x2)\n\tlibc.so.6 => {root}/lib/libc.so.6 (0x3)\n\
             \tlibm.so.6 => {root}/lib/../lib/libm.so.6 (0x4)\n\t/lib64/ld-linux-x86-64.so.2 => /ld.so (0x5)\n\
             \tlibaio.so.1 => not found\n",
            outside.display(),
            root = root.display()
        );
        assert_eq!(parse_foreign(&listing, &root), ["libz.so.1", "libm.so.6"]);
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

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_launcher_runs_its_server_by_the_loader_beside_it_wherever_it_lies() {
        let base = tempfile::tempdir().unwrap();
        let (root, libraries) = (base.path().join("server"), base.path().join("server/usr/lib/x86_64-linux-gnu"));
        for folder in [root.join("usr/bin"), root.join("usr/sbin"), libraries.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::copy("/bin/echo", root.join("usr/sbin/mysqld")).unwrap();
        let listing = Command::new("ldd").arg("/bin/echo").output().unwrap().stdout;
        let listing = String::from_utf8(listing).unwrap();
        let copy = |path: &str| fs::copy(path, libraries.join(Path::new(path).file_name().unwrap())).unwrap();
        let paths: Vec<&str> = listing.split_whitespace().filter(|word| word.starts_with('/')).collect();
        let launch = || launch_privately(&root, Path::new("usr/sbin/mysqld"), Path::new("usr/bin/mysqld"));
        paths.iter().filter(|path| path.contains("ld-linux")).for_each(|path| _ = copy(path));
        // This machine has it, and the loader would take it.
        assert!(launch().unwrap_err().to_string().contains("still lacks libc.so.6"));
        paths.iter().for_each(|path| _ = copy(path));
        launch().unwrap();
        let moved = base.path().join("moved");
        fs::rename(&root, &moved).unwrap();
        let output = Command::new(moved.join("usr/bin/mysqld")).args(["--a", "b"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "--a b\n");
        let text = fs::read_to_string(moved.join("usr/bin/mysqld")).unwrap();
        assert!(text.contains("--library-path \"$root/usr/lib/x86_64-linux-gnu:$root/usr/lib\""), "{text}");
    }

    #[test]
    fn a_32_bit_program_is_recognised_by_its_header() {
        let base = tempfile::tempdir().unwrap();
        let check = |bytes: &[u8], expected| {
            fs::write(base.path().join("p"), bytes).unwrap();
            assert_eq!(is_32_bit(&base.path().join("p")).unwrap(), expected);
        };
        check(b"\x7fELF\x01\x01", true);
        check(b"\x7fELF\x02\x01", false);
        check(b"#!/bin/sh", false);
    }
}
