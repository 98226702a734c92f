//! What is not dbduel's own is never touched: folders with a user's files are given to it as cache, work folder and
//! storage, and reached by links and planted names. Every command that opens the cache must leave them as they are,
//! to the byte; as this user, and where that is root, as an ordinary one too.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{print_skipped, text};

/// Every command that opens the cache.
const COMMANDS: &[&[&str]] = &[
    &["cache"],
    &["cache", "clear"],
    &["list", "engines"],
    &["fetch", "sqlite"],
    &["run", "duel.toml"],
    &["run", "clones.toml"],
    &["aa", "duel.toml"],
    &["bench", "oltp_read_only", "--target", "mysql://", "--dry-run", "--events", "1"],
    &["__engines", "check", "sqlite"],
    &["__engines", "hold", "sqlite"],
];

/// A place of one user, with the program in it and a folder of files that are the user's.
struct Home {
    folder: tempfile::TempDir,
    uid: u32,
}

/// This user; for root also an ordinary one, with an id that is not in use.
fn users() -> Vec<Home> {
    let own = nix::unistd::geteuid().as_raw();
    let mut homes = vec![Home::of(own)];
    match own {
        0 => homes.push(Home::of(1_000_000 + std::process::id())),
        _ => print_skipped("not root: other users' files cannot be made here"),
    }
    homes
}

impl Home {
    fn of(uid: u32) -> Home {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_dbduel"), folder.path().join("dbduel")).unwrap();
        let home = Home { folder, uid };
        for name in ["tmp", "theirs"] {
            fs::create_dir(home.path(name)).unwrap();
        }
        fill(&home.path("theirs"), &home.path("theirs"));
        home.write("duel.toml", "", "");
        home.write("clones.toml", "", "work_copy = \"reflink\", ");
        give(home.folder.path(), uid);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, contender: &str, method: &str) {
        let contender = |name: &str| format!("{{ name = \"{name}\", engine = \"sqlite\"{contender} }}");
        let method = format!("{method}preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 1");
        let text = format!(
            "contender = [{}, {}]\nworkload = {{ name = \"oltp_read_only\", rows = 100, clients = 1 }}\nmethod = {{ {method} }}\n",
            contender("one"),
            contender("two")
        );
        fs::write(self.path(name), text).unwrap();
        give(&self.path(name), self.uid);
    }

    fn dbduel(&self, arguments: &[&str], cache: &Path, work: Option<&Path>) -> Output {
        let mut command = Command::new(self.path("dbduel"));
        command.args(arguments).current_dir(self.path("")).stdin(Stdio::null()).uid(self.uid).gid(self.uid);
        command.env("DBDUEL_CACHE", cache).env("TMPDIR", self.path("tmp")).env("HOME", self.path(""));
        match work {
            Some(work) => command.env("DBDUEL_WORK", work),
            None => command.env_remove("DBDUEL_WORK"),
        };
        command.output().unwrap()
    }

    /// All commands fail with this text, and change nothing among the user's files.
    fn refuses(&self, cache: &Path, work: Option<&Path>, words: &str) {
        let before = listing(&self.path("theirs"));
        for arguments in COMMANDS {
            let output = self.dbduel(arguments, cache, work);
            let messages = text(&output.stdout) + &text(&output.stderr);
            assert!(!output.status.success() && messages.contains(words), "{arguments:?} as {}: {messages}", self.uid);
            assert!(messages.contains("next: "), "{arguments:?}: {messages}");
            assert_eq!(listing(&self.path("theirs")), before, "{arguments:?} as {}: {messages}", self.uid);
        }
    }
}

/// What a user may keep under the very names that dbduel uses.
fn fill(folder: &Path, named: &Path) {
    for inside in
        ["servers/mysql-5.5.9", "snapshots/k/data", "templates", "tmp/1-0", "locks", "1-0", "2-0/data", "work/3-0"]
    {
        fs::create_dir_all(folder.join(inside)).unwrap();
    }
    for file in
        ["letter", "servers/mysql-5.5.9/photo", "snapshots/k/data/photo", "tmp/1-0/lock", "1-0/lock", "1-0/photo"]
    {
        fs::write(folder.join(file), file).unwrap();
    }
    fs::write(folder.join("2-0/lock"), "").unwrap();
    fs::write(folder.join("2-0/short"), named.as_os_str().as_encoded_bytes()).unwrap();
    fs::write(folder.join("work/3-0/lock"), "").unwrap();
    symlink("letter", folder.join("link")).unwrap();
}

fn give(path: &Path, uid: u32) {
    if nix::unistd::geteuid().is_root() {
        for path in std::iter::once(path.to_owned()).chain(below(path)) {
            std::os::unix::fs::lchown(&path, Some(uid), Some(uid)).unwrap();
        }
    }
}

/// Everything below a folder, without following links.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if folder.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.extend(below(&path));
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Names, kinds, modes, owners, times and bytes.
fn listing(folder: &Path) -> Vec<String> {
    let line = |path: PathBuf| {
        let meta = path.symlink_metadata().unwrap();
        let bytes = match (meta.is_file(), meta.is_symlink()) {
            (true, _) => fs::read(&path).unwrap(),
            (_, true) => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            _ => Vec::new(),
        };
        let changed = (meta.ctime(), meta.ctime_nsec());
        format!("{} {:o} {} {changed:?} {:?}", path.display(), meta.mode(), meta.uid(), text(&bytes))
    };
    std::iter::once(folder.to_owned()).chain(below(folder)).map(line).collect()
}

const NOT_MADE: &str = "holds other files, and dbduel did not make it";

#[test]
fn a_folder_with_a_user_s_files_is_neither_cache_nor_work_folder() {
    for home in users() {
        let (cache, theirs) = (home.path("cache"), home.path("theirs"));
        home.refuses(&cache, Some(&theirs), NOT_MADE);
        assert!(!cache.exists(), "nothing is made beside it either");
        home.refuses(&theirs, None, NOT_MADE);
        home.refuses(&theirs, Some(&home.path("work")), NOT_MADE);
        home.refuses(&theirs.join("inside"), Some(&theirs), "lie within one another");
        let link = home.path("link");
        symlink(&theirs, &link).unwrap();
        home.refuses(&cache, Some(&link), NOT_MADE);
        home.refuses(&link, None, NOT_MADE);
    }
}

#[test]
fn links_and_names_inside_dbduel_s_own_folders_lead_nowhere() {
    for home in users() {
        let (cache, theirs) = (home.path("cache"), home.path("theirs"));
        let made = home.dbduel(&["cache"], &cache, None);
        assert!(made.status.success(), "{}", text(&made.stderr));
        for (part, words) in [
            ("servers", "is a symbolic link"),
            ("snapshots", "is a symbolic link"),
            ("tmp", "is a symbolic link"),
            ("work", NOT_MADE),
        ] {
            let folder = cache.join(part);
            fs::rename(&folder, home.path("aside")).unwrap();
            symlink(&theirs, &folder).unwrap();
            home.refuses(&cache, None, words);
            fs::remove_file(&folder).unwrap();
            fs::rename(home.path("aside"), &folder).unwrap();
        }
        // A work folder as a killed dbduel leaves it, with sockets that lie among the user's files.
        for name in ["servers/mysql-5.5.9", "work/7-0"] {
            fs::create_dir(cache.join(name)).unwrap();
        }
        symlink(&theirs, cache.join("work/8-0")).unwrap();
        symlink(&theirs, cache.join("servers/mysql-5.5.9/data")).unwrap();
        fs::write(cache.join("work/7-0/lock"), "").unwrap();
        fs::write(cache.join("work/7-0/short"), theirs.as_os_str().as_encoded_bytes()).unwrap();
        give(&cache, home.uid);
        let before = listing(&theirs);
        let cleared = home.dbduel(&["cache", "clear"], &cache, None);
        assert!(cleared.status.success(), "{}", text(&cleared.stderr));
        assert!(!cache.join("work/7-0").exists() && !cache.join("servers/mysql-5.5.9").exists());
        assert_eq!(listing(&theirs), before);
    }
}

#[test]
fn a_user_s_files_on_a_contender_s_storage_stay() {
    for home in users() {
        let (cache, theirs, disk) = (home.path("cache"), home.path("theirs"), home.path("disk"));
        fs::create_dir(&disk).unwrap();
        give(&disk, home.uid);
        let storage = format!(", storage = \"{}\"", disk.display());
        home.write("storage.toml", &storage, "");
        home.write("storage-clones.toml", &storage, "work_copy = \"reflink\", ");
        let refused = |words: &str| {
            let before = listing(&theirs);
            for file in ["storage.toml", "storage-clones.toml"] {
                let output = home.dbduel(&["run", file], &cache, None);
                let stderr = text(&output.stderr);
                assert!(!output.status.success() && stderr.contains(words), "{file} as {}: {stderr}", home.uid);
                assert_eq!(listing(&theirs), before, "{file} as {}: {stderr}", home.uid);
            }
        };
        symlink(&theirs, disk.join("dbduel-work")).unwrap();
        refused("is a symbolic link");
        fs::remove_file(disk.join("dbduel-work")).unwrap();
        fs::rename(&theirs, disk.join("dbduel-work")).unwrap();
        // The same files, seen by their new path.
        symlink("disk/dbduel-work", &theirs).unwrap();
        let before = listing(&disk);
        let stderr = text(&home.dbduel(&["run", "storage.toml"], &cache, None).stderr);
        assert!(stderr.contains(NOT_MADE), "{stderr}");
        assert_eq!(listing(&disk), before);
    }
}

/// A name that a test takes in a public folder; free again when the test ends, however it ends.
struct Planted(PathBuf);

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0).or_else(|_| fs::remove_file(&self.0));
    }
}

#[test]
fn names_that_another_user_took_in_public_folders_are_not_used() {
    let Some(home) = users().into_iter().find(|home| home.uid != 0) else { return };
    let (cache, theirs) = (home.path("cache"), home.path("theirs"));
    home.write("tmpfs.toml", ", storage = \"tmpfs\"", "");
    let planted = PathBuf::from(format!("/dev/shm/dbduel-{}", home.uid));
    if planted.symlink_metadata().is_ok() {
        return print_skipped(&format!("{} is in use", planted.display()));
    }
    let _free_again = Planted(planted.clone());
    let refused = |words: &str, watched: &Path| {
        let before = listing(watched);
        let output = home.dbduel(&["run", "tmpfs.toml"], &cache, None);
        let stderr = text(&output.stderr);
        assert!(!output.status.success() && stderr.contains(words), "{stderr}");
        assert_eq!(listing(watched), before);
    };
    symlink(&theirs, &planted).unwrap();
    refused("is a symbolic link", &theirs);
    fs::remove_file(&planted).unwrap();
    if nix::unistd::geteuid().is_root() {
        fs::create_dir(&planted).unwrap();
        fill(&planted, &theirs);
        refused("belongs to another user (uid 0)", &planted);
        chown(&planted, Some(home.uid), Some(home.uid)).unwrap();
        fs::set_permissions(&planted, fs::Permissions::from_mode(0o777)).unwrap();
        refused("can be written to by others", &planted);
        fs::remove_dir_all(&planted).unwrap();
    }
    let lock = home.path("tmp/dbduel-measuring.lock");
    fs::remove_file(&lock).unwrap();
    symlink(theirs.join("letter"), &lock).unwrap();
    refused("cannot open the lock for measuring", &theirs);
    fs::remove_file(&lock).unwrap();
    fs::hard_link(theirs.join("letter"), &lock).unwrap();
    refused("is no lock file that dbduel made", &theirs);
}
