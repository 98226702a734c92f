use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use super::*;

/// A layout in a folder: layers of one file each.
struct Layout {
    folder: tempfile::TempDir,
    manifests: Vec<Value>,
}

fn tar(name: &str, text: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn here() -> Platform {
    Platform { os: "linux".into(), architecture: "amd64".into() }
}

fn config(architecture: &str, layers: &[Vec<u8>]) -> Value {
    let diff_ids: Vec<String> = layers.iter().map(|layer| Digest::of(layer).to_string()).collect();
    json!({ "os": "linux", "architecture": architecture, "created": "2026-10-02T00:00:00Z",
        "config": { "Env": ["PATH=/usr/bin", "LD_PRELOAD=/usr/lib/libjemalloc.so"] },
        "rootfs": { "type": "layers", "diff_ids": diff_ids } })
}

impl Layout {
    fn new() -> Layout {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("layout/blobs/sha256")).unwrap();
        Layout { folder, manifests: Vec::new() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("layout")
    }

    fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = Digest::of(bytes);
        fs::write(self.path().join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        json!({ "mediaType": media_type, "digest": digest.to_string(), "size": bytes.len() })
    }

    fn manifest(&self, architecture: &str, layers: &[Vec<u8>], media_type: &str) -> Value {
        let config =
            self.blob("application/vnd.oci.image.config.v1+json", config(architecture, layers).to_string().as_bytes());
        let layers: Vec<Value> = layers.iter().map(|layer| self.blob(media_type, &gzip(layer))).collect();
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        self.blob("application/vnd.oci.image.manifest.v1+json", manifest.to_string().as_bytes())
    }

    fn add(&mut self, mut descriptor: Value, tag: &str) {
        descriptor["annotations"] = json!({ TAG: tag });
        self.manifests.push(descriptor);
        let index = json!({ "schemaVersion": 2, "manifests": self.manifests });
        fs::write(self.path().join("index.json"), index.to_string()).unwrap();
    }

    fn of(layers: &[Vec<u8>]) -> Layout {
        let mut layout = Layout::new();
        let manifest = layout.manifest("amd64", layers, GZIP);
        layout.add(manifest, "ma");
        layout
    }

    fn open(&self, tag: Option<&str>) -> Result<Image> {
        open(&Reference::Layout { folder: self.path(), tag: tag.map(str::to_owned) }, &here())
    }

    fn unpack(&self, image: &Image) -> Result<PathBuf> {
        let root = self.folder.path().join("root");
        unpack_image(image, &root, Limits::default()).map(|_| root)
    }
}

const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn error<T>(result: Result<T>) -> String {
    format!("{:#}", result.err().expect("it is refused"))
}

#[test]
fn a_layout_is_read_verified_and_unpacked() {
    let layout = Layout::of(&[tar("usr/sbin/mysqld", "one"), tar("usr/sbin/mysqld", "two")]);
    let image = layout.open(Some("ma")).unwrap();
    assert_eq!(image.digest.to_string(), layout.manifests[0]["digest"].as_str().unwrap());
    assert_eq!((image.index_digest.as_ref(), image.created.as_deref()), (None, Some("2026-10-02T00:00:00Z")));
    assert_eq!(image.environment["LD_PRELOAD"], "/usr/lib/libjemalloc.so");
    let root = layout.unpack(&image).unwrap();
    assert_eq!(fs::read_to_string(root.join("usr/sbin/mysqld")).unwrap(), "two");
}

#[test]
fn the_tag_may_be_left_out_where_there_is_one_image() {
    let mut layout = Layout::of(&[tar("a", "1")]);
    assert!(layout.open(None).is_ok());
    let other = layout.manifest("amd64", &[tar("a", "2")], GZIP);
    layout.add(other, "other");
    assert!(error(layout.open(None)).contains("several images; its tags: ma, other"));
    assert!(error(layout.open(Some("third"))).contains("no image of that tag; its tags: ma, other"));
    assert!(layout.open(Some("other")).is_ok());
}

#[test]
fn an_index_gives_the_image_of_this_machine() {
    let mut layout = Layout::new();
    let of = |architecture: &str, layout: &Layout| {
        let mut descriptor = layout.manifest(architecture, &[tar("a", architecture)], GZIP);
        descriptor["platform"] = json!({ "os": "linux", "architecture": architecture });
        descriptor
    };
    let mut attestation = of("arm64", &layout);
    attestation["platform"] = json!({ "os": "unknown", "architecture": "unknown" });
    let both = json!({ "manifests": [attestation.clone(), of("arm64", &layout), of("amd64", &layout)] });
    let both = layout.blob("application/vnd.oci.image.index.v1+json", both.to_string().as_bytes());
    layout.add(both.clone(), "both");
    let image = layout.open(Some("both")).unwrap();
    assert_eq!(image.index_digest.as_ref().unwrap().to_string(), both["digest"].as_str().unwrap());
    let root = layout.unpack(&image).unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "amd64");
    let arm = json!({ "manifests": [attestation, of("arm64", &layout)] });
    let arm = layout.blob("application/vnd.docker.distribution.manifest.list.v2+json", arm.to_string().as_bytes());
    layout.add(arm, "arm");
    assert!(error(layout.open(Some("arm"))).contains("it is for linux/arm64; this machine is linux/amd64"));
    let alone = of("arm64", &layout);
    layout.add(alone, "alone");
    assert!(error(layout.open(Some("alone"))).contains("is for linux/arm64; this machine is linux/amd64"));
}

/// One changed byte in any blob.
#[test]
fn a_damaged_blob_is_named_and_nothing_is_unpacked() {
    let layout = Layout::of(&[tar("a", "1"), tar("b", "2")]);
    let blobs = fs::read_dir(layout.path().join("blobs/sha256")).unwrap();
    for blob in blobs.map(|entry| entry.unwrap().path()) {
        let whole = fs::read(&blob).unwrap();
        for damaged in [[&whole[..9], b"!", &whole[10..]].concat(), whole[..whole.len() - 1].to_vec()] {
            fs::write(&blob, damaged).unwrap();
            let found = error(layout.open(None).and_then(|image| layout.unpack(&image)));
            assert!(
                found.contains("is damaged: expected sha256:") && found.contains("nothing was unpacked"),
                "{found}"
            );
            assert!(!layout.folder.path().join("root").exists());
        }
        fs::write(&blob, whole).unwrap();
    }
    layout.unpack(&layout.open(None).unwrap()).unwrap();
}

#[test]
fn a_layer_that_is_another_when_uncompressed_leaves_nothing() {
    let mut layout = Layout::new();
    let (one, other) = (tar("a", "1"), tar("a", "2"));
    let config =
        layout.blob("application/vnd.oci.image.config.v1+json", config("amd64", &[other]).to_string().as_bytes());
    let manifest = json!({ "config": config, "layers": [layout.blob(GZIP, &gzip(&one))] });
    let manifest = layout.blob("application/vnd.oci.image.manifest.v1+json", manifest.to_string().as_bytes());
    layout.add(manifest, "x");
    let found = error(layout.unpack(&layout.open(None).unwrap()));
    assert!(found.contains("layer 1, uncompressed, is sha256:"), "{found}");
    assert!(!layout.folder.path().join("root").exists());
}

#[test]
fn layers_whose_bytes_are_elsewhere_are_refused() {
    let mut layout = Layout::new();
    let foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
    let manifest = layout.manifest("amd64", &[tar("a", "1")], foreign);
    layout.add(manifest, "x");
    assert!(error(layout.open(None)).contains("whose bytes are elsewhere"));
}

#[test]
fn archives_of_layouts_and_of_docker_are_read_where_they_lie() {
    let layout = Layout::of(&[tar("a", "1")]);
    let file = layout.folder.path().join("layout.tar");
    let mut archive = tar::Builder::new(fs::File::create(&file).unwrap());
    archive.append_dir_all(".", layout.path()).unwrap();
    archive.into_inner().unwrap();
    let image = open(&Reference::OciArchive { file, tag: Some("ma".into()) }, &here()).unwrap();
    assert_eq!(image.digest, layout.open(None).unwrap().digest);
    let saved = layout.folder.path().join("saved.tar");
    fs::write(&saved, docker_save()).unwrap();
    let image = |name: &str| open(&Reference::DockerArchive { file: saved.clone(), name: Some(name.into()) }, &here());
    let root = layout.unpack(&image("db/pg:17").unwrap()).unwrap();
    assert_eq!((root.join("a").is_file(), root.join("b").is_file()), (true, true));
    // The default registry stands in front where a program writes names in full.
    assert!(image("pg:17").is_ok() && image("docker.io/library/pg:17").is_ok());
    assert!(error(image("db/pg:18")).contains("its names: docker.io/library/pg:17, db/pg:17"));
    assert!(error(image("library:17")).contains("holds 0 such images"));
}

/// The second layer is a link, as `docker save` once wrote layers that it had already.
fn docker_save() -> Vec<u8> {
    let layers = [tar("a", "1"), tar("b", "2")];
    let manifest = json!([{ "Config": "config.json", "RepoTags": ["docker.io/library/pg:17", "db/pg:17"], "Layers": ["x/layer.tar", "y/layer.tar"] }]);
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes).unwrap();
    };
    add("x/layer.tar", &layers[0]);
    add("z/layer.tar", &layers[1]);
    add("config.json", config("amd64", &layers).to_string().as_bytes());
    add("manifest.json", manifest.to_string().as_bytes());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    archive.append_link(&mut header, "y/layer.tar", "../z/layer.tar").unwrap();
    archive.into_inner().unwrap()
}
