//! Data that the user brings: what they are recognised by, and the copy that a server begins with.
//!
//! What must stay true: nothing is ever written to the original, and no file that another process has open is copied.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{FcntlArg, fcntl};
use sha2::{Digest, Sha256};

use super::cache::{make_entrance, read_folder, remove_tree};
use super::manifest::files_below;
use super::programs::{hex, sha256_of};
use super::{Account, Cache, Engine, Installation, Site, WorkFolder, template, version_numbers};

/// Why a server cannot begin with these files, and what to do.
pub fn refusal(
    engine: &dyn Engine,
    version: &str,
    place: &Path,
    accept_unclean: bool,
) -> Result<Option<(String, String)>> {
    let name = place.display();
    let Some(adopts) = engine.adopts() else {
        return Ok(Some((format!("{} begins with no files of yours", engine.title()), "use `restore`".to_owned())));
    };
    if let Some(series) = adopts.series_of(place)? {
        let expected = adopts.series(&version_numbers(version));
        if series != expected {
            let kind = engine.kind();
            let what = format!("{name} is of {} {series}, and the contender is {kind} {version}", engine.title());
            return Ok(Some((what, format!("take {kind}@{series}, or a dump: nothing is upgraded on the way"))));
        }
    }
    if let Some(user) = adopts.user_of(place)? {
        return Ok(Some((format!("{name} is in use by {user}"), "stop that server first, or use a copy".to_owned())));
    }
    if !accept_unclean && adopts.is_unclean(place)? {
        return Ok(Some(unclean(place)));
    }
    let is_link = |file: &std::path::PathBuf| file.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let link = if place.is_dir() { entries_below(place)?.into_iter().find(is_link) } else { None };
    Ok(link.map(|link| {
        let what = format!("{} is a link, so a server on a copy of {name} would write to the original", link.display());
        (what, "make a copy that follows links, such as by cp -rL".to_owned())
    }))
}

fn unclean(place: &Path) -> (String, String) {
    let what = format!("{} was not shut down cleanly", place.display());
    (
        what,
        "start and stop its server once, or give --accept-unclean (in the file: accept_unclean = true), which runs recovery once on the copy".to_owned(),
    )
}

/// Files, links and folders.
fn entries_below(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut entries = Vec::new();
    for entry in read_folder(folder)? {
        if entry.file_type()?.is_dir() {
            entries.extend(entries_below(&entry.path())?);
        }
        entries.push(entry.path());
    }
    Ok(entries)
}

/// A copy of the user's files for a server.
pub struct Adoption<'a> {
    pub installation: &'a Installation,
    pub settings: &'a BTreeMap<String, String>,
    pub place: &'a Path,
    pub accept_unclean: bool,
}

impl Adoption<'_> {
    /// Copies the files to `data` and makes them dbduel's to log in to.
    pub fn copy(&self, data: &Path, cache: &Cache, work: &WorkFolder, progress: &dyn Fn(&str)) -> Result<()> {
        let (engine, place) = (self.installation.engine(), self.place);
        if let Some((what, note)) = refusal(engine, &self.installation.version, place, self.accept_unclean)? {
            bail!("{what}\n  next: {note}");
        }
        let adopts = engine.adopts().expect("refused otherwise");
        progress(&format!("copying {}", place.display()));
        if let Some(file) = adopts.file() {
            fs::create_dir(data)?;
            return copy_file(place, file, data);
        }
        let account = engine.account()?;
        copy_folder(place, data, account)?;
        let scratch = work.path().join("adopt");
        remove_tree(&scratch)?;
        make_entrance(&scratch)?;
        let fresh = scratch.join("fresh");
        template(cache, work, self.installation, self.settings, progress)?.restore(&fresh)?;
        for name in adopts.configuration() {
            let to = data.join(name);
            fs::copy(fresh.join(name), &to).with_context(|| format!("cannot copy {name}"))?;
            own(&to, 0o600, account)?;
        }
        let adopted = adopts.give_account(&Site { installation: self.installation, data, scratch: &scratch });
        adopted.with_context(|| format!("cannot begin with {}", place.display()))?;
        let said = fs::read_to_string(scratch.join("initialise.log")).unwrap_or_default();
        remove_tree(&scratch)?;
        let recovered = adopts.recovery_marks().iter().any(|mark| said.contains(mark));
        let (what, note) = unclean(place);
        ensure!(self.accept_unclean || !recovered, "{what}\n  next: {note}");
        Ok(())
    }
}

/// A database file with what lies beside it of transactions that were not finished.
fn copy_file(place: &Path, name: &str, data: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-journal"] {
        let from = format!("{}{suffix}", place.display());
        if suffix.is_empty() || Path::new(&from).exists() {
            let to = data.join(format!("{name}{suffix}"));
            fs::copy(&from, &to).with_context(|| format!("cannot copy {from}"))?;
            own(&to, 0o600, None)?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path, account: Option<Account>) -> Result<()> {
    fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
    own(to, 0o700, account)?;
    for entry in read_folder(from)? {
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &to, account)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &to).with_context(|| format!("cannot copy {}", entry.path().display()))?;
            own(&to, 0o600, account)?;
        }
    }
    Ok(())
}

fn own(path: &Path, mode: u32, account: Option<Account>) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    let Some(account) = account else { return Ok(()) };
    Ok(std::os::unix::fs::chown(path, Some(account.uid), Some(account.gid))?)
}

/// The process that has locked a part of a file; None where nobody has, or the file is not there.
pub fn locked_by(path: &Path, start: i64, length: i64) -> Result<Option<String>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let (l_type, l_whence) = (libc::F_WRLCK as i16, libc::SEEK_SET as i16);
    let mut lock = libc::flock { l_type, l_whence, l_start: start, l_len: length, l_pid: 0 };
    let asked = fcntl(&file, FcntlArg::F_GETLK(&mut lock));
    asked.with_context(|| format!("cannot see whether {} is locked", path.display()))?;
    Ok((lock.l_type != libc::F_UNLCK as i16).then(|| format!("process {}", lock.l_pid)))
}

/// `4096 bytes, sha256 ...`: of a file its bytes, of a folder the names, sizes and times of its files, because it may
/// hold more than can be read at each plan.
pub fn identity(path: &Path) -> Result<String> {
    let meta = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !meta.is_dir() {
        return Ok(format!("{} bytes, sha256 {}", meta.len(), sha256_of(path)?));
    }
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for file in files_below(path)? {
        let meta = file.symlink_metadata()?;
        let modified = meta.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = file.strip_prefix(path).expect("the walk started here").display().to_string();
        hash.update(format!("{}:{name} {} {modified}\n", name.len(), meta.len()));
        bytes += meta.len();
    }
    Ok(format!("{bytes} bytes, sha256 {}", hex(&hash.finalize())))
}
