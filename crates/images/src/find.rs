//! Programs in the root file system of an image, by their paths inside it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Where servers lie in images, beside the folders of their `PATH`. A `*` stands for any name.
const USUAL_FOLDERS: [&str; 10] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/libexec",
    "/usr/local/*/bin",
    "/opt/*/bin",
    "/opt/*/*/bin",
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
];
const LINKS_MAX: usize = 40;

/// The programs of these names, as absolute paths inside; scripts are none, and links to one file are one.
pub fn find_programs(root: &Path, path: Option<&str>, names: &[&str]) -> Vec<PathBuf> {
    let folders = path.into_iter().flat_map(|path| path.split(':')).chain(USUAL_FOLDERS);
    let folders = folders.filter(|folder| folder.starts_with('/')).flat_map(|folder| matching(root, folder));
    let mut found = Vec::new();
    for folder in folders {
        for file in names.iter().filter_map(|name| resolve_inside(root, &folder.join(name))) {
            if is_program(&root.join(relative(&file))) && !found.contains(&file) {
                found.push(file);
            }
        }
    }
    found
}

/// Where a path leads inside a root, with its links followed as if the root were `/`; None where there is nothing.
pub fn resolve_inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut left: Vec<PathBuf> = parts(path);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let outside = root.join(relative(&next));
        if fs::symlink_metadata(&outside).ok()?.is_symlink() {
            links += 1;
            let target = fs::read_link(&outside).ok().filter(|_| links <= LINKS_MAX)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&target));
        } else {
            at = next;
        }
    }
    Some(at)
}

/// Names and `..`, last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = named.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}

fn relative(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// The folders inside that a pattern means.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Some(start) = part.strip_suffix('*') else {
            found.iter_mut().for_each(|folder| folder.push(part));
            continue;
        };
        let below = |folder: &PathBuf| {
            let inside = resolve_inside(root, folder).map(|folder| root.join(relative(&folder)));
            let entries = inside.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
            names.sort();
            names.into_iter().map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    found
}

fn is_program(file: &Path) -> bool {
    let mut start = [0; 4];
    File::open(file).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn servers_are_found_behind_the_links_of_an_image_and_never_outside() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for folder in ["usr/bin", "usr/lib/postgresql/16/bin", "usr/lib/postgresql/17/bin", "opt/a/bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let elf = |file: &str| fs::write(root.join(file), b"\x7fELF\x02").unwrap();
        elf("usr/bin/mariadbd");
        elf("usr/lib/postgresql/16/bin/postgres");
        elf("usr/lib/postgresql/17/bin/postgres");
        symlink("bin", root.join("usr/sbin")).unwrap();
        symlink("/usr/bin/mariadbd", root.join("usr/bin/mysqld")).unwrap();
        symlink("../../../../../../bin/sh", root.join("opt/a/bin/mysqld")).unwrap();
        fs::write(root.join("usr/bin/postgres"), "#!/bin/sh").unwrap();
        let found = |path: Option<&str>, names: &[&str]| find_programs(root, path, names);
        assert_eq!(found(None, &["mysqld", "mariadbd"]), [Path::new("/usr/bin/mariadbd")]);
        let both = ["/usr/lib/postgresql/16/bin/postgres", "/usr/lib/postgresql/17/bin/postgres"].map(PathBuf::from);
        assert_eq!(found(None, &["postgres"]), both);
        assert_eq!(found(Some("/usr/lib/postgresql/17/bin:/usr/bin"), &["postgres"])[0], both[1]);
        assert_eq!(resolve_inside(root, Path::new("/opt/a/bin/mysqld")), None);
        symlink("loop", root.join("usr/bin/loop")).unwrap();
        assert_eq!(resolve_inside(root, Path::new("/usr/bin/loop")), None);
    }
}
