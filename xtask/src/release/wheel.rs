//! A wheel: a zip with a fixed layout, whose program goes to `bin` of an environment and its pages beside it.

use std::fs::{self, File};
use std::io::Write;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::made::{Made, VERSION};
use super::tree::DOC;
use crate::files::below;

/// A program without a shared library runs wherever the oldest of these does.
const SYSTEMS: [&str; 2] = ["manylinux_2_17", "musllinux_1_1"];

pub fn make(made: &Made) -> Result<()> {
    let tag = SYSTEMS.map(|system| format!("{system}_{}", made.platform.name)).join(".");
    let file = File::create(made.out.join(format!("dbduel-{VERSION}-py3-none-{tag}.whl")))?;
    let mut wheel = Wheel { zip: ZipWriter::new(file), record: String::new() };
    let (data, info) = (format!("dbduel-{VERSION}.data"), format!("dbduel-{VERSION}.dist-info"));
    for name in below(&made.tree)? {
        let to = match name.split_once('/') {
            Some(("bin", program)) => format!("{data}/scripts/{program}"),
            _ if name.starts_with(DOC) => name.replace(DOC, &format!("{info}/licenses")),
            Some(("share", _)) => format!("{data}/data/{name}"),
            _ => continue,
        };
        if !to.ends_with("README.md") {
            wheel.add(&to, &fs::read(made.tree.join(&name))?, if name.starts_with("bin/") { 0o755 } else { 0o644 })?;
        }
    }
    let readme = fs::read_to_string(made.root.join("README.md"))?;
    wheel.add(&format!("{info}/METADATA"), made.fill("METADATA", &[("README", &readme)])?.as_bytes(), 0o644)?;
    let tags: String = SYSTEMS.iter().map(|of| format!("Tag: py3-none-{of}_{}\n", made.platform.name)).collect();
    let about = format!("Wheel-Version: 1.0\nGenerator: cargo xtask release\nRoot-Is-Purelib: false\n{tags}");
    wheel.add(&format!("{info}/WHEEL"), about.as_bytes(), 0o644)?;
    let record = format!("{info}/RECORD");
    let lines = format!("{}{record},,\n", wheel.record);
    wheel.add(&record, lines.as_bytes(), 0o644)?;
    wheel.zip.finish()?;
    Ok(())
}

struct Wheel {
    zip: ZipWriter<File>,
    /// A line for each file so far.
    record: String,
}

impl Wheel {
    /// With the oldest time that a zip can hold.
    fn add(&mut self, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let options = SimpleFileOptions::default().unix_permissions(mode).last_modified_time(zip::DateTime::default());
        self.zip.start_file(name, options.compression_level(Some(9)))?;
        self.zip.write_all(bytes)?;
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        self.record.push_str(&format!("{name},sha256={digest},{}\n", bytes.len()));
        Ok(())
    }
}
