//! Two packages of npm: one with the program of this platform, and one that starts it, which needs one of each platform.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use super::made::{Made, VERSION};
use super::pack::{compress, tar};
use super::tree::DOC;
use crate::files::{copy, copy_all, write};

pub fn make(made: &Made) -> Result<()> {
    let node = made.platform.node;
    let platform = format!("dbduel-linux-{node}");
    let about = |name: &str, mut about: Value| {
        about["name"] = name.into();
        about["version"] = VERSION.into();
        about["description"] = "Compares database servers in paired, interleaved trials".into();
        about["license"] = "MIT OR Apache-2.0".into();
        about
    };
    let program = made.scratch.join("program/package");
    copy_all(&made.tree.join("bin"), &program.join("bin"))?;
    copy_all(&made.tree.join(DOC), &program)?;
    let needs = json!({ "os": ["linux"], "cpu": [node], "preferUnplugged": true });
    pack(made, &platform, &about(&platform, needs))?;
    let starter = made.scratch.join("starter/package");
    copy(&made.root.join("xtask/release/dbduel.js"), &starter.join("dbduel.js"))?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        copy(&made.tree.join(DOC).join(name), &starter.join(name))?;
    }
    let every = ["x64", "arm64"].map(|node| (format!("dbduel-linux-{node}"), VERSION.into()));
    let every: serde_json::Map<String, Value> = every.into_iter().collect();
    let needs = json!({ "bin": { "dbduel": "dbduel.js" }, "os": ["linux"], "optionalDependencies": every });
    pack(made, "dbduel", &about("dbduel", needs))
}

fn pack(made: &Made, name: &str, about: &Value) -> Result<()> {
    let folder = made.scratch.join(if name == "dbduel" { "starter" } else { "program" });
    write(&folder.join("package/package.json"), format!("{about:#}\n"))?;
    let file = made.out.join(format!("{name}-{VERSION}.tar"));
    tar(made, &folder, &file)?;
    compress(&file, "gzip")?;
    Ok(fs::rename(file.with_extension("tar.gz"), file.with_extension("tgz"))?)
}
