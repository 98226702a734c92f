use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

use super::*;

/// One entry of a made-up layer.
#[derive(Debug, Clone)]
enum Item {
    File(String, String),
    Folder(String),
    Symlink(String, String),
    HardLink(String, String),
    Device(String),
}
use Item::{Device, File, Folder, HardLink, Symlink};

fn file(path: &str, text: &str) -> Item {
    File(path.into(), text.into())
}
fn folder(path: &str) -> Item {
    Folder(path.into())
}
fn symlink(path: &str, target: &str) -> Item {
    Symlink(path.into(), target.into())
}
fn hard_link(path: &str, target: &str) -> Item {
    HardLink(path.into(), target.into())
}

/// Headers are filled by hand: the `tar` crate refuses to write what hostile layers contain.
fn tar_of(items: &[Item]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for item in items {
        let (path, kind, link, data) = match item {
            File(path, text) => (path, EntryType::Regular, "", text.as_bytes()),
            Folder(path) => (path, EntryType::Directory, "", &b""[..]),
            Symlink(path, target) => (path, EntryType::Symlink, target.as_str(), &b""[..]),
            HardLink(path, target) => (path, EntryType::Link, target.as_str(), &b""[..]),
            Device(path) => (path, EntryType::Block, "", &b""[..]),
        };
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o6777);
        header.set_mtime(1_000_000_000);
        header.set_size(data.len() as u64);
        let old = header.as_old_mut();
        old.name[..path.len()].copy_from_slice(path.as_bytes());
        old.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        tar.append(&header, data).unwrap();
    }
    tar.into_inner().unwrap()
}

/// A folder with a root, and a file beside it that no layer may reach.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("outside"), "untouched").unwrap();
        Place { folder }
    }

    fn unpack(&self, layers: &[Vec<Item>]) -> Result<Unpacked> {
        self.unpack_within(layers, Limits::default())
    }

    fn unpack_within(&self, layers: &[Vec<Item>], limits: Limits) -> Result<Unpacked> {
        let mut unpacker = Unpacker::new(&self.folder.path().join("root"), limits)?;
        layers.iter().try_for_each(|layer| unpacker.layer(&tar_of(layer)[..]))?;
        Ok(unpacker.done())
    }

    fn refuse(&self, layers: &[Vec<Item>], reason: &str) {
        let error = format!("{:#}", self.unpack(layers).unwrap_err());
        assert!(error.contains(reason), "{error}");
        self.assert_nothing_outside();
    }

    /// The root's contents, sorted: `a/`, `b=text`, `c->target`.
    fn contents(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.list(&self.folder.path().join("root"), "", &mut found);
        found.sort();
        found
    }

    fn list(&self, folder: &Path, prefix: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_str().unwrap()));
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                found.push(format!("{name}/"));
                self.list(&path, &format!("{name}/"), found);
            } else if kind.is_symlink() {
                found.push(format!("{name}->{}", fs::read_link(&path).unwrap().display()));
            } else {
                found.push(format!("{name}={}", fs::read_to_string(&path).unwrap()));
            }
        }
    }

    fn assert_nothing_outside(&self) {
        let mut names: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["outside", "root"]);
        assert_eq!(fs::read_to_string(self.folder.path().join("outside")).unwrap(), "untouched");
    }
}

fn check(layers: &[Vec<Item>], expected: &[&str]) {
    let place = Place::new();
    place.unpack(layers).unwrap();
    assert_eq!(place.contents(), expected, "{layers:?}");
    place.assert_nothing_outside();
}

#[test]
fn whiteouts_remove_what_lower_layers_made_and_nothing_of_their_own_layer() {
    let lower = vec![file("a/one", "1"), file("a/two", "2"), folder("b"), file("b/c/d", "3"), symlink("l", "a/one")];
    check(&[lower.clone(), vec![file("a/.wh.one", ""), file(".wh.b", ""), file(".wh.l", "")]], &["a/", "a/two=2"]);
    // The order inside of a layer does not matter.
    let made = file("b/new", "4");
    check(
        &[lower.clone(), vec![made.clone(), file(".wh.b", "")]],
        &["a/", "a/one=1", "a/two=2", "b/", "b/new=4", "l->a/one"],
    );
    check(&[lower.clone(), vec![file(".wh.b", ""), made]], &["a/", "a/one=1", "a/two=2", "b/", "b/new=4", "l->a/one"]);
    check(
        &[lower.clone(), vec![file("a/new", "5"), file("a/.wh..wh..opq", "")]],
        &["a/", "a/new=5", "b/", "b/c/", "b/c/d=3", "l->a/one"],
    );
    check(&[vec![file("x", "")], vec![file(".wh..wh.plnk", ""), file(".wh.nothing", "")]], &["x="]);
    for name in [".wh.", ".wh..", ".wh..."] {
        Place::new().refuse(&[vec![file(name, "")]], "a whiteout without a name");
    }
}

#[test]
fn a_later_entry_of_another_type_replaces_an_earlier_one() {
    check(&[vec![file("a/b", "1")], vec![file("a", "2")]], &["a=2"]);
    check(&[vec![file("a", "1")], vec![folder("a"), file("a/b", "2")]], &["a/", "a/b=2"]);
    check(&[vec![file("a/b", "1")], vec![folder("a")]], &["a/", "a/b=1"]);
    check(&[vec![symlink("a", "/outside")], vec![file("a", "2")]], &["a=2"]);
    check(&[vec![file("a", "1")], vec![symlink("a", "b")]], &["a->b"]);
}

#[test]
fn links_are_resolved_as_in_a_chroot() {
    let expected = ["lib->/usr/lib", "usr/", "usr/lib/", "usr/lib/libx.so=x"];
    check(&[vec![folder("usr/lib"), symlink("lib", "/usr/lib"), file("lib/libx.so", "x")]], &expected);
    // The link comes before the folder that it names.
    check(&[vec![symlink("lib", "/usr/lib"), file("lib/libx.so", "x")]], &expected);
    check(&[vec![symlink("up", "../../.."), file("up/outside", "inside")]], &["outside=inside", "up->../../.."]);
    check(&[vec![file("one", "1"), hard_link("sub/two", "/one")]], &["one=1", "sub/", "sub/two=1"]);
    check(&[vec![symlink("s", "nowhere"), hard_link("t", "s")]], &["s->nowhere", "t->nowhere"]);
    check(&[vec![file("one", "1"), hard_link("one", "one")]], &["one=1"]);
}

#[test]
fn what_leads_out_of_the_root_is_refused_or_stays_inside() {
    for path in ["../x", "a/../../x", "/../x"] {
        Place::new().refuse(&[vec![file(path, "")]], "`..` in a path");
    }
    check(&[vec![file("/etc/passwd", "p"), file("./a", "1")]], &["a=1", "etc/", "etc/passwd=p"]);
    Place::new().refuse(&[vec![symlink("o", "../outside"), hard_link("x", "o/y")]], "which is not there");
    Place::new().refuse(&[vec![hard_link("x", "../outside")]], "`..` in a path");
    Place::new().refuse(&[vec![hard_link("x", "/outside")]], "which is not there");
    Place::new().refuse(&[vec![folder("d"), hard_link("x", "d")]], "neither a file nor a symbolic link");
    Place::new().refuse(&[vec![symlink("a", "b"), symlink("b", "a"), file("a/x", "")]], "more than 40 links");
    Place::new().refuse(&[vec![file("a", ""), file("a/x", "")]], "part of a path and no folder");
    Place::new().refuse(&[vec![file("", "")]], "no name");
    Place::new().refuse(&[vec![file(".", "")]], "an entry other than a folder stands for the root");
}

#[test]
fn a_file_behind_a_hard_link_of_a_lower_layer_is_made_anew() {
    let layers = [vec![file("one", "1"), hard_link("two", "one")], vec![file("one", "new")]];
    check(&layers, &["one=new", "two=1"]);
}

#[test]
fn modes_lose_their_special_bits_times_stay_and_devices_are_counted() {
    let place = Place::new();
    let unpacked = place.unpack(&[vec![folder("d"), file("d/f", "x"), Device("dev/sda".into())]]).unwrap();
    assert_eq!((unpacked.entries, unpacked.skipped), (3, 1));
    for name in ["d", "d/f"] {
        let found = fs::metadata(place.folder.path().join("root").join(name)).unwrap();
        assert_eq!((found.permissions().mode() & 0o7777, found.mtime()), (0o755, 1_000_000_000), "{name}");
    }
}

#[test]
fn unpacking_ends_where_a_limit_ends() {
    let layers = [vec![file("a", &"x".repeat(5000)), file("b", "y")]];
    let place = Place::new();
    let error = place.unpack_within(&layers, Limits { bytes: 4096, ..Limits::default() }).unwrap_err();
    assert!(format!("{error:#}").contains("more bytes than dbduel unpacks"), "{error:#}");
    let error = Place::new().unpack_within(&layers, Limits { entries: 1, ..Limits::default() }).unwrap_err();
    assert!(format!("{error:#}").contains("more than 1 entries"), "{error:#}");
}

#[test]
fn long_names_are_understood_and_huge_ones_refused() {
    let long = format!("{}/{}", "d".repeat(150), "f".repeat(150));
    let mut tar = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    tar.append_data(&mut header, &long, &b"x"[..]).unwrap();
    tar.append_pax_extensions([("path", "other/name".as_bytes())]).unwrap();
    let mut header = Header::new_ustar();
    header.set_path("short").unwrap();
    header.set_size(1);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append(&header, &b"y"[..]).unwrap();
    let place = Place::new();
    Unpacker::new(&place.folder.path().join("root"), Limits::default())
        .unwrap()
        .layer(&tar.into_inner().unwrap()[..])
        .unwrap();
    let folder = "d".repeat(150);
    assert_eq!(place.contents(), [format!("{folder}/"), format!("{long}=x"), "other/".into(), "other/name=y".into()]);
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(2 << 30);
    header.set_mode(0);
    header.set_cksum();
    let mut unpacker = Unpacker::new(&place.folder.path().join("root"), Limits::default()).unwrap();
    let error = unpacker.layer(&header.as_bytes()[..]).unwrap_err();
    assert!(format!("{error:#}").contains("an extended header of 2147483648 bytes"), "{error:#}");
}

/// Names that collide, climb and lead through links as often as possible.
fn hostile_path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "l", "..", ".", "", ".wh.a", ".wh..wh..opq", "outside"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn hostile_item() -> impl Strategy<Value = Item> {
    let target =
        prop::sample::select(vec!["/", "..", "../..", "../outside", "/a", "a", "b/../..", "l", "../../outside"]);
    (hostile_path(), target, 0..5u8).prop_map(|(path, target, kind)| match kind {
        0 => file(&path, "x"),
        1 => folder(&path),
        2 => symlink(&path, target),
        3 => hard_link(&path, target),
        _ => Device(path),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_layer_changes_anything_outside_of_the_root(items in prop::collection::vec(hostile_item(), 1..12)) {
        let place = Place::new();
        // Entry by entry, so that what follows a refused one is tried as well.
        let mut unpacker = Unpacker::new(&place.folder.path().join("root"), Limits::default()).unwrap();
        for item in items {
            let _ = unpacker.layer(&tar_of(&[item])[..]);
        }
        place.assert_nothing_outside();
    }

    #[test]
    fn arbitrary_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let place = Place::new();
        let _ = Unpacker::new(&place.folder.path().join("root"), Limits::default()).unwrap().layer(&bytes[..]);
        place.assert_nothing_outside();
    }
}
