//! The root that a program out of an image sees, mount by mount.
//!
//! The new root is a small tmpfs into which the image's folders are bound, read-only. Where a folder of this machine must
//! show at a path that the image lacks, the image's folders on the way are taken apart: each is made anew in the tmpfs,
//! and what lies in it is bound one by one. So nothing is ever written to the image, which others use as well.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::orders::Orders;

/// What every program expects in `/dev`, bound from this machine.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// Folders that programs write to, and what they are in the program's own folder.
const WRITABLE: [(&str, &str); 4] = [("/tmp", "tmp"), ("/var/tmp", "var-tmp"), ("/run", "run"), ("/var/run", "run")];
const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost\n";

/// What shows at a path inside.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shown {
    /// A file or folder of this machine.
    Bound {
        from: PathBuf,
        read_only: bool,
    },
    /// With all that is mounted below it.
    Whole(PathBuf),
    Tmpfs(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Absolute.
    at: PathBuf,
    shown: Shown,
}

/// Makes what the mounts need: the folders that are written to, and the files that name the account.
pub fn prepare(orders: &Orders, uid: u32, gid: u32) -> Result<PathBuf> {
    let own = orders.scratch.join("root");
    let make = || -> Result<()> {
        fs::create_dir_all(own.join("new"))?;
        for (_, name) in WRITABLE {
            fs::create_dir_all(own.join(name))?;
            fs::set_permissions(own.join(name), fs::Permissions::from_mode(0o1777))?;
        }
        fs::write(own.join("hosts"), HOSTS)?;
        let etc = orders.root.join("etc");
        let with = |file: &str, lines: [String; 2]| {
            let known = fs::read_to_string(etc.join(file)).unwrap_or_default();
            fs::write(own.join(file), lines.iter().fold(known, |known, line| with_id(known, line)))
        };
        let account = format!("dbduel:x:{uid}:{gid}:dbduel:/:/bin/false");
        with("passwd", ["root:x:0:0:root:/:/bin/false".to_owned(), account])?;
        with("group", ["root:x:0:".to_owned(), format!("dbduel:x:{gid}:")])?;
        Ok(())
    };
    make().with_context(|| format!("cannot prepare {}", own.display()))?;
    Ok(own)
}

/// A file of accounts or groups, with a line for an id that it lacks.
fn with_id(mut known: String, line: &str) -> String {
    let id = |line: &str| line.split(':').nth(2).map(str::to_owned);
    if !known.lines().any(|one| id(one) == id(line)) {
        if !known.is_empty() && !known.ends_with('\n') {
            known.push('\n');
        }
        known += line;
        known.push('\n');
    }
    known
}

/// Mounts everything, and makes it this process's root.
pub fn enter(orders: &Orders, own: &Path) -> Result<()> {
    let (image, new) = (&orders.root, own.join("new"));
    let mounts = mounts(orders, own);
    let apart = taken_apart(image, &mounts)?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).context("cannot leave this machine's mounts")?;
    tmpfs(&new, "mode=755")?;
    graft(image, &new, Path::new("/"), &apart)?;
    for one in &mounts {
        let at = new.join(inside(&one.at));
        show(&one.shown, &at).with_context(|| format!("cannot show {} inside the image", one.at.display()))?;
        if one.at == Path::new("/dev") {
            devices(&at)?;
        }
    }
    remount_read_only(&new)?;
    std::env::set_current_dir(&new)?;
    nix::unistd::pivot_root(".", ".").context("cannot change the root")?;
    umount2(".", MntFlags::MNT_DETACH).context("cannot leave the old root")?;
    std::env::set_current_dir("/").context("cannot enter the new root")
}

/// All mounts beside the image's own folders; those that others are mounted below stand first.
fn mounts(orders: &Orders, own: &Path) -> Vec<Mount> {
    let image = &orders.root;
    let bound = |at: &str, from: PathBuf, read_only| Mount { at: at.into(), shown: Shown::Bound { from, read_only } };
    let is_link = |at: &str| image.join(inside(Path::new(at))).is_symlink();
    let writable = WRITABLE.iter().filter(|(at, _)| !is_link(at));
    let mut mounts: Vec<Mount> = writable.map(|(at, name)| bound(at, own.join(name), false)).collect();
    mounts.extend(["passwd", "group", "hosts"].map(|file| bound(&format!("/etc/{file}"), own.join(file), true)));
    mounts.extend(["/proc", "/sys"].map(|at| Mount { at: at.into(), shown: Shown::Whole(at.into()) }));
    mounts.push(Mount { at: "/dev".into(), shown: Shown::Tmpfs("mode=755") });
    // Without a limit: it counts to the memory of the contender.
    mounts.push(Mount { at: "/dev/shm".into(), shown: Shown::Tmpfs("mode=1777,size=0") });
    // So that the path of a file of the image is the same inside and outside.
    mounts.push(Mount { at: image.clone(), shown: Shown::Bound { from: image.clone(), read_only: true } });
    let place =
        |place: &PathBuf| Mount { at: place.clone(), shown: Shown::Bound { from: place.clone(), read_only: false } };
    mounts.extend(orders.places.iter().map(place));
    mounts.sort_by_key(|one| one.at.components().count());
    mounts
}

/// A path inside the root, relative to it.
fn inside(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// The folders of the image, as absolute paths inside, in which mounts need a name that is not there.
fn taken_apart(image: &Path, mounts: &[Mount]) -> Result<BTreeSet<PathBuf>> {
    let mut apart = BTreeSet::from([PathBuf::from("/")]);
    for (number, one) in mounts.iter().enumerate() {
        let is_below = |other: &Mount| one.at.starts_with(&other.at);
        if mounts[..number].iter().any(is_below) || image.join(inside(&one.at)).exists() {
            continue;
        }
        let mut folder = PathBuf::from("/");
        for part in inside(&one.at).components() {
            let kind = fs::symlink_metadata(image.join(inside(&folder)));
            match kind {
                Ok(kind) if kind.is_dir() => drop(apart.insert(folder.clone())),
                Ok(_) => bail!(
                    "the image has a link or a file at {}, and {} must be seen inside\n  next: name other folders with \
                     DBDUEL_WORK and DBDUEL_CACHE",
                    folder.display(),
                    one.at.display()
                ),
                Err(_) => break,
            }
            folder.push(part);
        }
    }
    Ok(apart)
}

/// Fills a folder of the tmpfs with what a folder of the image holds.
fn graft(image: &Path, new: &Path, folder: &Path, apart: &BTreeSet<PathBuf>) -> Result<()> {
    let from = image.join(inside(folder));
    for entry in fs::read_dir(&from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let at = new.join(inside(&path));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &at)?;
        } else if kind.is_dir() && apart.contains(&path) {
            fs::create_dir(&at)?;
            graft(image, new, &path, apart)?;
        } else {
            show(&Shown::Bound { from: entry.path(), read_only: true }, &at)
                .with_context(|| format!("cannot show {} of the image", path.display()))?;
        }
    }
    Ok(())
}

fn show(shown: &Shown, at: &Path) -> Result<()> {
    match shown {
        Shown::Tmpfs(options) => {
            fs::create_dir_all(at)?;
            tmpfs(at, options)
        }
        Shown::Whole(from) => {
            fs::create_dir_all(at)?;
            bind(from, at, MsFlags::MS_BIND | MsFlags::MS_REC)
        }
        Shown::Bound { from, read_only } => {
            if from.is_dir() {
                fs::create_dir_all(at)?;
            } else if !at.exists() {
                fs::create_dir_all(at.parent().context("a file lies in a folder")?)?;
                File::create(at)?;
            }
            bind(from, at, MsFlags::MS_BIND)?;
            if *read_only { remount_read_only(at) } else { Ok(()) }
        }
    }
}

fn bind(from: &Path, at: &Path, flags: MsFlags) -> Result<()> {
    Ok(mount(Some(from), at, None::<&str>, flags, None::<&str>)?)
}

fn tmpfs(at: &Path, options: &str) -> Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let mounted = mount(Some("dbduel"), at, Some("tmpfs"), flags, Some(options));
    mounted.with_context(|| format!("cannot mount a tmpfs at {}", at.display()))
}

/// In a user namespace what a mount forbids must stay forbidden, so its flags are given again. How access times are
/// kept, the kernel leaves as it is where nothing is said of them.
fn remount_read_only(at: &Path) -> Result<()> {
    let kept = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
    ];
    let has = statvfs(at)?.flags();
    let kept = kept.into_iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| flag);
    let flags = kept.fold(MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY, MsFlags::union);
    let mounted = mount(None::<&str>, at, None::<&str>, flags, None::<&str>);
    mounted.with_context(|| format!("cannot make {} read-only", at.display()))
}

fn devices(at: &Path) -> Result<()> {
    for name in DEVICES {
        let (from, at) = (Path::new("/dev").join(name), at.join(name));
        if from.exists() {
            File::create(&at)?;
            bind(&from, &at, MsFlags::MS_BIND)?;
        }
    }
    for (name, to) in DEVICE_LINKS {
        symlink(to, at.join(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> tempfile::TempDir {
        let image = tempfile::tempdir().unwrap();
        for folder in ["usr/bin", "var/lib", "home", "etc", "proc"] {
            fs::create_dir_all(image.path().join(folder)).unwrap();
        }
        fs::write(image.path().join("etc/passwd"), "root:x:0:0::/:/bin/sh").unwrap();
        symlink("usr/lib", image.path().join("lib")).unwrap();
        symlink("/run", image.path().join("var/run")).unwrap();
        image
    }

    fn orders(image: &Path, places: &[&str]) -> Orders {
        Orders { root: image.to_owned(), places: places.iter().map(Into::into).collect(), ..Orders::default() }
    }

    fn below(folder: &str) -> String {
        format!("{folder}/data")
    }

    #[test]
    fn only_folders_on_the_way_to_what_an_image_lacks_are_taken_apart() {
        let image = image();
        let check = |places: &[&str], expected: &[&str]| {
            let mounts = mounts(&orders(image.path(), places), Path::new("/own"));
            // The image's own path is in a temporary folder, which is mounted anyway.
            let mounts: Vec<Mount> = mounts.into_iter().filter(|one| one.at != image.path()).collect();
            let found = taken_apart(image.path(), &mounts).unwrap();
            assert_eq!(found, expected.iter().map(PathBuf::from).collect(), "{places:?}");
        };
        // `/var/tmp`, `/etc/group` and `/etc/hosts` are what it lacks by itself.
        check(&[], &["/", "/etc", "/var"]);
        check(&[&below(WRITABLE[0].0)], &["/", "/etc", "/var"]);
        check(&["/home/me/data", "/data"], &["/", "/etc", "/home", "/var"]);
        check(&["/usr/bin"], &["/", "/etc", "/var"]);
    }

    #[test]
    fn a_folder_behind_a_link_of_the_image_is_refused() {
        let image = image();
        let mounts = mounts(&orders(image.path(), &["/lib/data"]), Path::new("/own"));
        let error = taken_apart(image.path(), &mounts).unwrap_err().to_string();
        assert!(error.contains("/lib, and /lib/data must be seen"), "{error}");
    }

    #[test]
    fn parents_are_mounted_before_what_lies_below_them() {
        let image = image();
        let folders = ["/dev/shm", WRITABLE[1].0].map(|folder| (folder, below(folder)));
        let mounts =
            mounts(&orders(image.path(), &folders.each_ref().map(|(_, data)| data.as_str())), Path::new("/own"));
        let place = |at: &str| mounts.iter().position(|one| one.at == Path::new(at));
        assert!(place("/dev") < place("/dev/shm"), "{mounts:?}");
        for (folder, data) in &folders {
            assert!(place(folder).is_some() && place(folder) < place(data), "{data}: {mounts:?}");
        }
        assert_eq!(place("/var/run"), None, "a link of the image leads to /run");
    }

    #[test]
    fn an_account_that_an_image_lacks_gets_a_line() {
        assert_eq!(with_id("a:x:0:0".to_owned(), "d:x:7:7"), "a:x:0:0\nd:x:7:7\n");
        assert_eq!(with_id("a:x:7:0\n".to_owned(), "d:x:7:7"), "a:x:7:0\n");
        assert_eq!(with_id(String::new(), "d:x:7:"), "d:x:7:\n");
    }
}
