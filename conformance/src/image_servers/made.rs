//! Images of this machine's servers, made by other programs: umoci writes them, skopeo carries them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::image_files::quiet;

/// Programs that scripts of servers call.
const TOOLS: [&str; 14] = [
    "basename", "cat", "chmod", "chown", "dirname", "hostname", "id", "ls", "mkdir", "rm", "sed", "touch", "tr",
    "uname",
];

/// A server of this machine that becomes an image.
pub struct Subject {
    /// The tag of its image.
    pub tag: &'static str,
    /// What `engine` says, and what runs natively beside it.
    pub engine: &'static str,
    pub native: &'static str,
    pub basedir: Option<PathBuf>,
    /// Programs whose libraries the image needs.
    programs: Vec<PathBuf>,
    /// Files and folders, at the same path in the image.
    files: Vec<PathBuf>,
    /// A folder that lies elsewhere in the image.
    moved: Option<(PathBuf, &'static str)>,
    /// The folder of its server in the image.
    path: PathBuf,
}

/// Those that are here: Debian's MariaDB and PostgreSQL, and MySQL out of the cache.
pub fn subjects(cache: &Path) -> Vec<Subject> {
    let postgres = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path()).max();
    let postgres = postgres.map(|folder| {
        let share = Path::new("/usr/share/postgresql").join(folder.file_name().unwrap_or_default());
        Subject {
            tag: "postgres",
            engine: "postgres",
            native: "postgres@system",
            basedir: Some(folder.clone()),
            programs: vec![folder.join("bin/postgres"), folder.join("bin/initdb")],
            path: folder.join("bin"),
            files: vec![folder, share],
            moved: None,
        }
    });
    let mariadb = Subject {
        tag: "mariadb",
        engine: "mariadb",
        native: "mariadb@system",
        basedir: Some("/usr".into()),
        programs: vec!["/usr/sbin/mariadbd".into(), "/usr/bin/my_print_defaults".into()],
        files: ["/usr/bin/mariadb-install-db", "/usr/bin/resolveip", "/usr/share/mysql", "/usr/share/mariadb"]
            .map(PathBuf::from)
            .to_vec(),
        moved: None,
        path: "/usr/sbin".into(),
    };
    let folder = cache.join("servers/mysql-8.0.31");
    let mysql = Subject {
        tag: "mysql",
        engine: "mysql",
        native: "mysql@8.0.31",
        basedir: Some(folder.clone()),
        programs: vec![folder.join("bin/mysqld")],
        files: Vec::new(),
        moved: Some((folder, "/usr/local/mysql")),
        path: "/usr/local/mysql/bin".into(),
    };
    let all = [Some(mariadb), postgres, Some(mysql)].into_iter().flatten();
    all.filter(|subject| subject.programs[0].is_file()).collect()
}

/// Writes `layout` with a tag for each subject: three layers, the first of them the same in all, the last one with
/// four whiteouts, a hard link and a symbolic link.
pub fn make(place: &Path, subjects: &[Subject]) -> Result<()> {
    quiet(place, "umoci", &["init", "--layout", "layout"])?;
    quiet(place, "umoci", &["new", "--image", "layout:base"])?;
    let tools = TOOLS.iter().map(|name| Path::new("/bin").join(name)).filter(|tool| tool.is_file());
    let tools: Vec<PathBuf> = tools.chain(["/bin/sh".into()]).collect();
    let mut base: BTreeSet<PathBuf> = ["/usr/share/zoneinfo/UTC".into()].into();
    for tool in tools {
        base.extend(libraries(&tool, None)?);
        base.insert(tool);
    }
    for subject in subjects {
        let own = subject.basedir.as_ref().map(|folder| folder.join("dbduel-libraries"));
        for program in subject.programs.iter().filter(|program| program.is_file()) {
            base.extend(libraries(program, own.as_deref())?);
        }
    }
    add_layer(place, "base", &base.iter().map(|file| same(file)).collect::<Vec<_>>())?;
    for subject in subjects {
        let image = format!("layout:{}", subject.tag);
        quiet(place, "umoci", &["tag", "--image", "layout:base", subject.tag])?;
        let mut files: Vec<(PathBuf, PathBuf)> = subject.files.iter().map(|file| same(file)).collect();
        match &subject.moved {
            Some((folder, at)) => files.push((folder.clone(), at.into())),
            None => files.extend(subject.programs.iter().map(|file| same(file))),
        }
        add_layer(place, subject.tag, &files)?;
        add_top_layer(place, subject.tag)?;
        let path = format!("PATH=/usr/bin:/bin:{}", subject.path.display());
        quiet(place, "umoci", &["config", "--image", &image, "--config.env", &path])?;
    }
    Ok(())
}

/// The libraries of a program that lie on this machine, its loader among them.
fn libraries(program: &Path, own: Option<&Path>) -> Result<Vec<PathBuf>> {
    let mut ldd = Command::new("ldd");
    ldd.arg(program);
    if let Some(own) = own {
        ldd.env("LD_LIBRARY_PATH", own);
    }
    let listed = ldd.output().context("cannot run ldd")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let paths = listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(paths.filter(|path| own.is_none_or(|own| !path.starts_with(own))).collect())
}

/// A file at the same path in the image.
fn same(file: &Path) -> (PathBuf, PathBuf) {
    (file.to_owned(), file.to_owned())
}

fn add_layer(place: &Path, tag: &str, files: &[(PathBuf, PathBuf)]) -> Result<()> {
    let staged = place.join(format!("staged-{tag}"));
    for (file, at) in files.iter().filter(|(file, _)| file.exists()) {
        let into = staged.join(at.strip_prefix("/")?);
        fs::create_dir_all(into.parent().context("a file has a folder")?)?;
        // Some packages bring links to nowhere.
        let links = if file.is_dir() { "--no-dereference" } else { "--dereference" };
        let copied = Command::new("cp").args(["-r", links, "--no-target-directory"]).arg(file).arg(&into).status()?;
        ensure!(copied.success(), "cannot copy {}", file.display());
        let libraries = into.join("dbduel-libraries");
        if libraries.is_dir() {
            let into = staged.join("usr/lib");
            fs::create_dir_all(&into)?;
            let copied = Command::new("cp").arg("-r").arg(libraries.join(".")).arg(into).status()?;
            ensure!(copied.success(), "cannot copy libraries");
        }
    }
    add_folder(place, tag, &staged)
}

fn add_folder(place: &Path, tag: &str, staged: &Path) -> Result<()> {
    let tar = place.join("layer.tar");
    let (tar, staged) = (tar.display().to_string(), staged.display().to_string());
    quiet(
        place,
        "tar",
        &["--create", "--sort=name", "--owner=999", "--group=999", "--file", &tar, "--directory", &staged, "."],
    )?;
    let image = format!("layout:{tag}");
    quiet(place, "umoci", &["raw", "add-layer", "--image", &image, &tar])?;
    fs::remove_dir_all(staged)?;
    Ok(fs::remove_file(tar)?)
}

fn add_top_layer(place: &Path, tag: &str) -> Result<()> {
    let staged = place.join(format!("staged-{tag}-top"));
    let folder = staged.join("usr/share/dbduel-test");
    fs::create_dir_all(&folder)?;
    for name in ["one", "two", "three", "four"] {
        fs::write(folder.join(format!(".wh.{name}")), "")?;
    }
    fs::write(folder.join("file"), tag)?;
    fs::hard_link(folder.join("file"), folder.join("same"))?;
    symlink("/usr/share", folder.join("link"))?;
    add_folder(place, tag, &staged)
}
