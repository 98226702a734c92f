//! Servers out of container images: unpacked into the cache, found in their root, asked for their version there.
//!
//! What must stay true: a folder of the cache holds one image, by its digest; which server of it is meant is a
//! contender's choice.

pub mod cached;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use images::Limits;
use record::format::ImageRecord;

use super::inside::{Root, Surroundings};
use super::provision::put_in_place;
use super::request::ImageSource;
use super::{Cache, Engine, Found, interruption};

use source::{FACTS, facts};
pub use source::{expect_image, expect_platform, image_digest};

const ROOT: &str = "root";
/// Variables that change how a program runs; all others are for the image's own entry point.
const VARIABLES: [&str; 5] = ["LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_CONF", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"];
const PATH: &str = "PATH";

/// Unpacks an image into `target`, which appears whole or not at all.
pub(super) fn install(
    source: &ImageSource,
    cache: &Cache,
    target: &Path,
    progress: &dyn Fn(&str),
    expect_server: &dyn Fn(&Path) -> Result<()>,
) -> Result<()> {
    super::inside::expect_roots()?;
    let image = source.opened(cache, progress)?;
    progress(&format!("{}  unpacking", source.reference));
    let scratch = cache.scratch()?;
    let folder = scratch.path().join("image");
    fs::create_dir(&folder)?;
    let limits = Limits { is_interrupted: interruption::is_requested, ..Limits::default() };
    images::unpack_image(&image, &folder.join(ROOT), limits)?;
    let kept = |(name, _): &(&String, &String)| name.as_str() == PATH || VARIABLES.contains(&name.as_str());
    let facts = ImageRecord {
        reference: source.reference.clone(),
        digest: image.digest.hex().to_owned(),
        index_digest: image.index_digest.as_ref().map(|digest| digest.hex().to_owned()),
        config_digest: image.config_digest.hex().to_owned(),
        created: image.created.clone(),
        platform: image.platform.to_string(),
        server: String::new(),
        environment: image.environment.iter().filter(kept).map(|(name, value)| (name.clone(), value.clone())).collect(),
    };
    fs::write(folder.join(FACTS), serde_json::to_string_pretty(&facts)?)?;
    // One that holds no such server is not kept.
    expect_server(&folder)?;
    put_in_place(&folder, &folder.join(FACTS), target)
}

/// What is around the programs of an image in the cache.
pub(super) fn surroundings(folder: &Path) -> Result<Surroundings> {
    let variables = facts(folder)?.environment.into_iter().filter(|(name, _)| name != PATH).collect();
    Ok(Surroundings { libraries: Vec::new(), root: Some(Root { folder: folder.join(ROOT), variables }) })
}

/// Paths inside, with the version of the server there.
type Servers = Vec<(PathBuf, String)>;

/// The servers of a kind in an image, or the one of a path, and what the first other candidate failed with.
fn servers(engine: &dyn Engine, folder: &Path, only: Option<&Path>) -> Result<(Servers, Option<anyhow::Error>)> {
    let (root, facts, around) = (folder.join(ROOT), facts(folder)?, surroundings(folder)?);
    let candidates = match only {
        Some(server) => {
            let there = images::resolve_inside(&root, server).filter(|server| outside(&root, server).is_file());
            vec![there.with_context(|| format!("the image has no file {}", server.display()))?]
        }
        None => images::find_programs(&root, facts.environment.get(PATH).map(String::as_str), engine.binaries()),
    };
    let mut servers = Vec::new();
    let mut refused = None;
    for inside in candidates {
        match engine.version_of(&outside(&root, &inside), &around) {
            Ok(version) => servers.push((inside, version)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Ok((servers, refused))
}

/// A path inside as it is in the cache.
fn outside(root: &Path, inside: &Path) -> PathBuf {
    root.join(inside.strip_prefix("/").unwrap_or(inside))
}

/// The server that is meant, with its version, and its path as it is in the cache.
pub(super) fn server(engine: &dyn Engine, source: &ImageSource, folder: &Path) -> Result<Found> {
    let (root, (servers, refused)) = (folder.join(ROOT), servers(engine, folder, source.server.as_deref())?);
    match (servers.as_slice(), refused) {
        ([(inside, version)], _) => Ok(Found {
            version: version.clone(),
            server: outside(&root, inside),
            basedir: inside.parent().and_then(Path::parent).map(|folder| outside(&root, folder)),
        }),
        ([], Some(error)) => Err(error),
        ([], None) => bail!("the image holds no {} server ({})", engine.title(), engine.binaries().join(", ")),
        (several, _) => {
            let lines: String =
                several.iter().map(|(path, version)| format!("\n  {} ({version})", path.display())).collect();
            bail!(
                "the image holds several servers{lines}\n  next: say which one, such as server = \"{}\"",
                several[0].0.display()
            )
        }
    }
}

/// All that is known of an image in the cache, for the record of a run.
pub(super) fn record(engine: &dyn Engine, source: &ImageSource, folder: &Path) -> Result<ImageRecord> {
    let root = folder.join(ROOT);
    let server = server(engine, source, folder)?.server;
    let inside: PathBuf = Path::new("/").join(server.strip_prefix(&root).unwrap_or(&server));
    let facts = facts(folder)?;
    let environment: BTreeMap<_, _> = facts.environment.into_iter().filter(|(name, _)| name != PATH).collect();
    Ok(ImageRecord { reference: source.reference.clone(), server: inside.display().to_string(), environment, ..facts })
}
