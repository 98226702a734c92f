//! What the cache holds of images, whoever asks: `dbduel fetch`, `list` and `cache`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use record::format::ImageRecord;

use super::source::facts;
use super::{install, servers};
use crate::cache::{files_bytes, read_folder, remove_folders_in};
use crate::provision::marker;
use crate::request::{Archive, ImageSource};
use crate::resolved::kept;
use crate::{Cache, Engine, Engines, Listed, Resolved, by_version, provision, sha256_of};

/// A server, its path inside, and its version.
type Held = (&'static dyn Engine, PathBuf, String);

impl Engines {
    /// Fetches an image as its policy says; gives what it is now, and in words which servers it holds.
    pub fn fetch_image(
        self,
        image: &ImageSource,
        cache: &Cache,
        progress: &dyn Fn(&str),
    ) -> Result<(ImageSource, String)> {
        let image = image.settled(cache, progress)?;
        let folder = image.folder(cache);
        let is_here = marker(&folder).is_some();
        kept(folder.clone(), cache, progress, &|folder| {
            let expect_server = |folder: &Path| {
                let (held, refused) = self.servers_in(folder)?;
                match refused.filter(|_| held.is_empty()) {
                    Some(error) => Err(error),
                    None => {
                        let known = self.binaries().join(", ");
                        ensure!(!held.is_empty(), "the image holds no server that dbduel knows ({known})");
                        Ok(())
                    }
                }
            };
            install(&image, cache, folder, progress, &expect_server)
        })?;
        let digest = image.digest.as_deref().unwrap_or_default();
        let shown = |(engine, path, version): Held| {
            format!("{} {version} (sha256:{digest:.12}), {}", engine.kind(), path.display())
        };
        let held: Vec<String> = self.servers_in(&folder)?.0.into_iter().map(shown).collect();
        let megabytes = files_bytes(&folder)? / 1_000_000;
        let here = if is_here { "here already: " } else { "" };
        Ok((image, format!("{here}{}, {megabytes} MB", held.join("; "))))
    }

    /// Unpacks an archive into the cache; gives in words which server it holds.
    pub fn fetch_archive(self, file: &Path, cache: &Cache, progress: &dyn Fn(&str)) -> Result<String> {
        let sha256 = sha256_of(file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let engines = self.named_in(&name).map_or_else(|| self.0.to_vec(), |engine| vec![engine]);
        let mut refused = None;
        for engine in engines.into_iter().filter(|engine| !engine.binaries().is_empty()) {
            let archive = Archive { file: std::path::absolute(file)?, sha256: sha256.clone() };
            let resolved = Resolved::in_archive(engine, &archive)?;
            match provision(&resolved, cache, progress) {
                Ok(found) => return Ok(format!("{} {} (sha256:{sha256:.12})", found.kind, found.version)),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.context("dbduel has no engine that it could be of")?)
    }

    fn binaries(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.0.iter().flat_map(|engine| engine.binaries()).copied().collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The servers of all kinds in an image of the cache, and what the first other candidate failed with.
    fn servers_in(self, folder: &Path) -> Result<(Vec<Held>, Option<anyhow::Error>)> {
        let (mut found, mut refused) = (Vec::new(), None);
        for engine in self.0 {
            let (held, other) = servers(*engine, folder, None)?;
            found.extend(held.into_iter().map(|(path, version)| (*engine, path, version)));
            refused = refused.or(other);
        }
        Ok((found, refused))
    }

    /// Servers out of images and archives that the cache holds, by version.
    pub(crate) fn listed_sources(self, cache: &Cache) -> Vec<Listed> {
        let folders = read_folder(&cache.servers()).unwrap_or_default();
        let folders: Vec<PathBuf> =
            folders.iter().map(|entry| entry.path()).filter(|path| marker(path).is_some()).collect();
        let mut listed: Vec<Listed> = folders.iter().flat_map(|folder| self.listed_in(folder, cache)).collect();
        listed.sort_by(|one, other| one.kind.cmp(other.kind).then(by_version(&one.version, &other.version)));
        listed
    }

    fn listed_in(self, folder: &Path, cache: &Cache) -> Vec<Listed> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("image-") {
            let Ok(facts) = facts(folder) else { return Vec::new() };
            let servers = self.servers_in(folder).map(|(held, _)| held).unwrap_or_default().into_iter();
            let row = |(engine, path, version): Held| Listed {
                kind: engine.kind(),
                version,
                source: source_of(&facts),
                here: true,
                download_bytes: 0,
                image: Some(ImageRecord { server: path.display().to_string(), ..facts.clone() }),
            };
            return servers.map(row).collect();
        }
        let archive = name.starts_with("archive-").then(|| provision::fetched_versions(folder)).flatten();
        let Some((_, sha256)) = archive else { return Vec::new() };
        let file = PathBuf::from("archive");
        let engine = self.0.iter().find(|engine| engine.locate(folder).is_ok());
        let resolved = engine.and_then(|engine| Resolved::in_archive(*engine, &Archive { file, sha256 }).ok());
        resolved.iter().map(|resolved| resolved.listed(cache)).collect()
    }
}

/// As [`ImageSource::source_text`], of an image that is here.
fn source_of(facts: &ImageRecord) -> String {
    let image = ImageSource {
        reference: facts.reference.clone(),
        digest: Some(facts.digest.clone()),
        index_digest: None,
        server: None,
        pull: crate::request::PullPolicy::Missing,
    };
    image.source_text()
}

/// What a folder of the cache is, where it is an image's.
pub fn image_in_cache(cache: &Cache, folder: &str) -> Option<String> {
    facts(&cache.servers().join(folder)).ok().map(|facts| source_of(&facts))
}

/// Removes the files of an image, and its names; gives the bytes that this freed. Another dbduel that uses the cache is
/// waited for.
pub fn clear_image(cache: &Cache, reference: &str, progress: &dyn Fn(&str)) -> Result<u64> {
    // Of an image in files its digest counts: the cache may have it under another name.
    let named = super::source::names(cache).remove(reference).or_else(|| super::image_digest(reference).ok());
    let is_meant = |folder: &PathBuf| {
        facts(folder).is_ok_and(|facts| facts.reference == reference || Some(&facts.digest) == named.as_ref())
    };
    let folders = read_folder(&cache.servers())?.into_iter().map(|entry| entry.path());
    let folders: Vec<PathBuf> = folders.filter(is_meant).collect();
    if folders.is_empty() {
        bail!("the cache has no image {reference}\n  next: `dbduel cache` lists those that it has");
    }
    let removed = cache.scratch()?;
    cache.without_others(progress, || {
        folders.iter().try_for_each(|folder| {
            let into = removed.path().join(folder.file_name().context("a folder has a name")?);
            fs::rename(folder, into).with_context(|| format!("cannot remove {}", folder.display()))
        })
    })?;
    remove_folders_in(removed.path())
}
