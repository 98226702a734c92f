//! The one program of a release: without a shared library, and the same bytes from any folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::files::as_text;
use crate::programs::{printed, run};

/// A processor, in the words of every kind of package.
#[derive(Debug)]
pub struct Platform {
    pub name: &'static str,
    /// Its C library is the one of a build from source, inside of the program. That of musl cost SQLite a fifth more CPU
    /// in range selects, and its functions are not LuaJIT's to call.
    pub target: &'static str,
    pub deb: &'static str,
    /// For npm, and for an image of containers.
    pub node: &'static str,
    pub brew: &'static str,
    /// What the names of the compiler and its tools begin with.
    pub tools: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        name: "x86_64",
        target: "x86_64-unknown-linux-gnu",
        deb: "amd64",
        node: "x64",
        brew: "x86_64",
        tools: "x86_64-linux-gnu-",
    },
    Platform {
        name: "aarch64",
        target: "aarch64-unknown-linux-gnu",
        deb: "arm64",
        node: "arm64",
        brew: "arm64",
        tools: "aarch64-linux-gnu-",
    },
];

impl Platform {
    pub fn named(name: &str) -> Result<&'static Platform, String> {
        let found = PLATFORMS.iter().find(|platform| platform.name == name);
        found.ok_or_else(|| format!("there are: {}", PLATFORMS.map(|platform| platform.name).join(", ")))
    }

    fn is_here(&self) -> bool {
        self.name == std::env::consts::ARCH
    }

    /// What the program prints; on another processor than its own by way of an emulator.
    pub fn printed(&self, program: &Path, arguments: &[&str]) -> Result<String> {
        let program = as_text(program)?;
        if self.is_here() {
            return printed(Path::new("/"), &program, arguments);
        }
        let emulator = format!("qemu-{}-static", self.name);
        printed(Path::new("/"), &emulator, &[&[program.as_str()], arguments].concat())
    }
}

/// Where a program lies, and apart from it what debuggers and profilers read.
pub struct Built {
    pub program: PathBuf,
    pub debug: PathBuf,
}

/// The commit and its time; a `+` behind it stands for changes that are not committed.
pub fn commit(root: &Path) -> Result<(String, String)> {
    let line = printed(root, "git", &["log", "-1", "--abbrev=12", "--format=%h %ct"])?;
    let (commit, time) = line.trim().split_once(' ').context("git knows no commit here")?;
    let changed = printed(root, "git", &["status", "--porcelain", "--untracked-files=no"])?;
    Ok((format!("{commit}{}", if changed.is_empty() { "" } else { "+" }), time.to_owned()))
}

pub fn build(root: &Path, platform: &Platform, commit: &str) -> Result<Built> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    let home = home.context("neither CARGO_HOME nor HOME says where crates lie")?;
    let places = [(as_text(root)?, "/dbduel"), (home, "/cargo")];
    let remap = |option: &str, separator: &str| -> String {
        places.iter().map(|(from, to)| format!("{separator}{option}={from}={to}")).collect()
    };
    let rust = format!("-Ctarget-feature=+crt-static{}", remap("--remap-path-prefix", "\x1f"));
    let name = platform.target.to_uppercase().replace('-', "_");
    let linker = format!("CARGO_TARGET_{name}_LINKER");
    // The loops of LuaJIT check for hooks, as in every build; with the compiler of the target.
    let c = format!("{}gcc{}", platform.tools, remap("-ffile-prefix-map", " "));
    let lua = format!("{c} -DLUAJIT_ENABLE_CHECKHOOK");
    let gcc = format!("{}gcc", platform.tools);
    let flags = remap("-ffile-prefix-map", " ");
    let environment = [
        ("CARGO_ENCODED_RUSTFLAGS", rust.as_str()),
        (&linker, &gcc),
        ("CFLAGS", flags.trim()),
        ("STATIC_CC", &lua),
        ("DBDUEL_COMMIT", commit),
        // Checks of the source are for other builds.
        ("RUSTC_WORKSPACE_WRAPPER", ""),
    ];
    let words = ["build", "--locked", "--profile", "dist", "--package", "dbduel", "--target", platform.target];
    run(root, "cargo", &words, &environment)?;
    let folder = root.join("target").join(platform.target).join("dist");
    let [built, program, debug] =
        [folder.join("dbduel"), folder.join("stripped/dbduel"), folder.join("stripped/dbduel.debug")];
    std::fs::create_dir_all(folder.join("stripped"))?;
    let [from, to, names] = [as_text(&built)?, as_text(&program)?, as_text(&debug)?];
    let objcopy = format!("{}objcopy", platform.tools);
    run(root, &objcopy, &["--only-keep-debug", &from, &names], &[])?;
    // The link holds the other file's name and checksum.
    run(root, &objcopy, &["--strip-all", &format!("--add-gnu-debuglink={names}"), &from, &to], &[])?;
    Ok(Built { program, debug })
}
