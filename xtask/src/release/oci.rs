//! An image of containers, as the archive of an image layout: one layer with the program and nothing of a distribution.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use super::made::{Made, VERSION};
use super::pack::{compress, sha256, tar};
use crate::files::{copy_all, write};

pub fn make(made: &Made) -> Result<()> {
    let (root, layout) = (made.scratch.join("root"), made.scratch.join("layout"));
    copy_all(&made.tree, &root.join("usr"))?;
    // PostgreSQL out of another image does not run as root.
    let nobody = "nobody:x:65534:65534:nobody:/:/sbin/nologin\n";
    write(&root.join("etc/passwd"), format!("root:x:0:0:root:/root:/sbin/nologin\n{nobody}"))?;
    write(&root.join("etc/group"), "root:x:0:\nnogroup:x:65534:\n")?;
    // Runs and servers: where an image is run with a folder of the host, it is put here.
    fs::create_dir_all(root.join("work"))?;
    fs::create_dir_all(root.join("tmp"))?;
    let layer = made.scratch.join("layer.tar");
    tar(made, &root, &layer)?;
    let unpacked = format!("sha256:{}", sha256(&fs::read(&layer)?));
    compress(&layer, "gzip")?;
    let blob = |bytes: &[u8], kind: &str| -> Result<Value> {
        let digest = sha256(bytes);
        write(&layout.join("blobs/sha256").join(&digest), bytes)?;
        let kind = format!("application/vnd.oci.image.{kind}");
        Ok(json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len() }))
    };
    let layer = blob(&fs::read(layer.with_extension("tar.gz"))?, "layer.v1.tar+gzip")?;
    let platform = json!({ "architecture": made.platform.deb, "os": "linux" });
    let config = json!({
        "architecture": platform["architecture"],
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/dbduel"],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin", "HOME=/work"],
            "Labels": {
                "org.opencontainers.image.title": "dbduel",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
        "history": [{ "created_by": "cargo xtask release" }],
    });
    let config = blob(config.to_string().as_bytes(), "config.v1+json")?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({ "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer] });
    let mut manifest = blob(manifest.to_string().as_bytes(), "manifest.v1+json")?;
    manifest["platform"] = platform;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    write(&layout.join("index.json"), json!({ "schemaVersion": 2, "manifests": [manifest] }).to_string())?;
    write(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    tar(made, &layout, &made.out.join(format!("{}.oci.tar", made.name())))
}
