//! A file system of dbduel's own that can crash: ext4 on a file, by a loop device.
//!
//! A crash is the kernel's own shutdown of a file system: from then on nothing is written any more, and what was in the
//! page cache or in the journal's memory is gone, as if the kernel had stopped. What the backing file has counts as on
//! the disk: a volatile cache of the device is not part of the model. What must stay true: whoever made a volume
//! removes it, and after a kill its guard does. Where that was killed too, the next start finds it below a work folder that is
//! dbduel's own and removes it there.

#![expect(unsafe_code, reason = "an ioctl, and a sync that no preloaded library answers")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::mount::umount;

use super::cache::remove_tree;

/// The hidden subcommand; `main` hands it to [`guard_main`].
pub const SUBCOMMAND: &str = "__volume-guard";
/// The file and the mount point in a work folder.
const IMAGE: &str = "volume.img";
const MOUNT: &str = "volume";
/// `EXT4_IOC_SHUTDOWN` and `XFS_IOC_GOINGDOWN`: `_IOR('X', 125, u32)`.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;
/// The journal is not flushed first.
const NO_LOG_FLUSH: u32 = 2;
/// A server that was killed a moment ago may still hold its files.
const BUSY_MAX: Duration = Duration::from_secs(10);
const BUSY_POLL: Duration = Duration::from_millis(20);
/// Enough for the test of the model.
const PROBE_BYTES: u64 = 64 << 20;

/// A mounted file system on a file in a work folder. Dropping it removes both.
#[derive(Debug)]
pub struct Volume {
    image: PathBuf,
    mount: PathBuf,
    /// Waits for the end of its standard input, which comes with the end of this process.
    guard: Option<Child>,
}

impl Volume {
    /// Where the volume of a work folder is mounted.
    pub fn mount_point(work: &Path) -> PathBuf {
        work.join(MOUNT)
    }

    /// An empty one of so many bytes, which take space only as they are written.
    pub fn make(work: &Path, bytes: u64) -> Result<Volume> {
        release(work)?;
        let guard = Some(start_guard(work)?);
        let volume = Volume { image: work.join(IMAGE), mount: Volume::mount_point(work), guard };
        let made = File::create(&volume.image).and_then(|image| image.set_len(bytes));
        made.with_context(|| format!("cannot make {}", volume.image.display()))?;
        fs::create_dir_all(&volume.mount)?;
        run("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), "-m".as_ref(), "0".as_ref(), volume.image.as_os_str()])?;
        volume.attach()?;
        Ok(volume)
    }

    pub fn path(&self) -> &Path {
        &self.mount
    }

    fn attach(&self) -> Result<()> {
        run("mount", &["-o".as_ref(), "loop".as_ref(), self.image.as_os_str(), self.mount.as_os_str()])
    }

    /// Brings everything that was written so far to the disk.
    pub fn sync(&self) -> Result<()> {
        let root = File::open(&self.mount)?;
        nix::unistd::syncfs(&root).context("cannot sync")
    }

    /// Shuts the file system down, without a flush of its journal.
    pub fn crash(&self) -> Result<()> {
        let (root, how) = (File::open(&self.mount)?, NO_LOG_FLUSH);
        // SAFETY: the request reads one u32 that is alive; the descriptor is open.
        let done = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN as _, &raw const how) };
        ensure!(done == 0, "cannot shut the file system down: {}", std::io::Error::last_os_error());
        Ok(())
    }

    /// Behind a crash: the journal is replayed, and what was synced is there again. Nothing may use it any more.
    pub fn mount_again(&self) -> Result<()> {
        unmount(&self.mount)?;
        self.attach()
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // What stays is removed with the work folder, or at the next start.
        let _ = unmount(&self.mount);
        let _ = remove_tree(&self.image);
        let _ = fs::remove_dir(&self.mount);
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// In a process group of its own: what a terminal sends is not for it.
fn start_guard(work: &Path) -> Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(SUBCOMMAND).arg(work).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start the guard of a file system")
}

/// Outlives whoever made a volume, and unmounts what that has left. Never returns.
pub fn guard_main(mut arguments: impl Iterator<Item = OsString>) -> ! {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let released = arguments.next().map_or(Ok(()), |work| release(Path::new(&work)));
    std::process::exit(if released.is_ok() { 0 } else { 1 });
}

/// Fails where a shutdown does not lose what was never synced, or loses what was: an OS crash cannot be modelled there.
pub fn expect_crash_model(work: &Path) -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "an OS crash is made by shutting down a mounted file system, which only root may do"
    );
    crash_keeps_its_word(work).context("an OS crash cannot be modelled on this host")
}

/// A: written and synced, then overwritten without a sync. B: written, and never synced.
fn crash_keeps_its_word(work: &Path) -> Result<()> {
    let (synced, lost) = (b"synced".repeat(512), b"unsynced".repeat(512));
    let volume = Volume::make(work, PROBE_BYTES)?;
    let (a, b) = (volume.path().join("a"), volume.path().join("b"));
    let mut file = File::create(&a)?;
    file.write_all(&synced)?;
    sync(&file)?;
    drop(file);
    sync(&File::open(volume.path())?)?;
    OpenOptions::new().write(true).open(&a)?.write_all(&lost[..synced.len()])?;
    File::create(&b)?.write_all(&lost)?;
    volume.crash()?;
    volume.mount_again()?;
    let mut kept = Vec::new();
    File::open(&a).context("a file that was synced is gone after the crash")?.read_to_end(&mut kept)?;
    ensure!(kept == synced, "a file that was synced has other contents after the crash");
    let stayed = fs::read(&b).is_ok_and(|bytes| bytes.iter().any(|byte| *byte != 0));
    ensure!(!stayed, "a file that was never synced has survived the crash");
    Ok(())
}

/// Asked of the kernel itself: a library that was loaded in front of the C library may answer in its place.
fn sync(file: &File) -> Result<()> {
    // SAFETY: a plain call on an open descriptor.
    let done = unsafe { libc::syscall(libc::SYS_fsync, file.as_raw_fd()) };
    ensure!(done == 0, "cannot sync: {}", std::io::Error::last_os_error());
    Ok(())
}

/// Unmounts what a killed dbduel has left in its work folder. Only a mount below the folder is touched whose device is
/// a loop on a file in the same folder; the kernel frees the loop device with its mount.
pub(super) fn release(work: &Path) -> Result<()> {
    for mount in own_mounts(work)? {
        unmount(&mount)?;
    }
    Ok(())
}

fn own_mounts(work: &Path) -> Result<Vec<PathBuf>> {
    let Ok(work) = work.canonicalize() else { return Ok(Vec::new()) };
    let mounts = procfs::process::Process::myself().and_then(|own| own.mountinfo()).context("cannot list mounts")?;
    let is_own = |mount: &procfs::process::MountInfo| {
        let device = mount.mount_source.as_deref().and_then(|device| Path::new(device).file_name());
        let backing = device.map(|name| Path::new("/sys/class/block").join(name).join("loop/backing_file"));
        let backing = backing.and_then(|file| fs::read_to_string(file).ok());
        mount.mount_point.starts_with(&work)
            && backing.is_some_and(|file| Path::new(file.trim_end()).starts_with(&work))
    };
    // What was mounted last goes first.
    Ok(mounts.into_iter().filter(is_own).map(|mount| mount.mount_point).rev().collect())
}

/// Waits for those who still use it; not mounted is as good.
fn unmount(mount: &Path) -> Result<()> {
    let begun = Instant::now();
    loop {
        match umount(mount) {
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(Errno::EBUSY) if begun.elapsed() < BUSY_MAX => std::thread::sleep(BUSY_POLL),
            Err(error) => return Err(error).with_context(|| format!("cannot unmount {}", mount.display())),
        }
    }
}

/// Runs a program of the system; its message is the error.
fn run(program: &str, arguments: &[&std::ffi::OsStr]) -> Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        bail!("`{program}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_mount() -> bool {
        nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists()
    }

    /// Where it cannot be, the reason is one sentence; where it can, nothing is left.
    #[test]
    fn the_model_of_an_os_crash_holds_or_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let held = expect_crash_model(work.path()).map_err(|error| format!("{error:#}"));
        match can_mount() {
            true => assert_eq!(held, Ok(())),
            false => assert!(held.is_err_and(|why| why.contains("only root") || why.contains("this host"))),
        }
        assert!(own_mounts(work.path()).unwrap().is_empty());
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_process_has_mounted_is_removed_and_no_other_mount() {
        if !can_mount() {
            assert!(expect_crash_model(Path::new("/")).is_err());
            return;
        }
        let (work, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let left = Volume::make(work.path(), PROBE_BYTES).unwrap();
        // A mount in the folder whose file lies elsewhere is not provably its own.
        let foreign = Volume { image: elsewhere.path().join(IMAGE), mount: work.path().join("foreign"), guard: None };
        fs::copy(&left.image, &foreign.image).unwrap();
        fs::create_dir(&foreign.mount).unwrap();
        foreign.attach().unwrap();
        assert_eq!(own_mounts(work.path()).unwrap(), [left.mount.canonicalize().unwrap()]);
        std::mem::forget(left);
        release(work.path()).unwrap();
        assert!(own_mounts(work.path()).unwrap().is_empty());
        assert!(foreign.mount.join("lost+found").exists(), "a mount of somebody else's stays");
    }
}
