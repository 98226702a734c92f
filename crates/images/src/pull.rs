//! Fetches an image from a registry into an image layout, blob by blob, and opens it there.
//!
//! What must stay true: a file has the name of its digest only when its bytes have that digest, so that pulls may
//! share a layout and a broken one leaves nothing that another would trust.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};
use ureq::http::StatusCode;

use crate::background::{Stop, Watch, in_background};
use crate::image::{self, Descriptor, Image, Parts, Platform, expect_platform, for_platform, json};
use crate::registry::Registry;
use crate::registry::credentials::Logins;
use crate::store::Store;
use crate::{Digest, Reference};

/// Layers that are fetched at a time.
const TOGETHER: usize = 3;
/// Room for the compressed layers and what they unpack to.
const ROOM: u64 = 4;
const PROGRESS: Duration = Duration::from_secs(5);

/// An image of a registry, and the layout that it is fetched into.
#[derive(Clone)]
pub struct Pull {
    pub reference: Reference,
    pub platform: Platform,
    pub layout: PathBuf,
    pub logins: Logins,
}

/// What a reference means now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Of this machine's manifest.
    pub digest: Digest,
    pub index_digest: Option<Digest>,
}

impl Pull {
    /// Asks the registry which image the reference means; no layer is fetched.
    pub fn resolve(&self, watch: Watch) -> Result<Resolved> {
        let pull = self.clone();
        in_background(watch, move |stop, lines| {
            let (registry, name) = pull.registry(stop)?;
            let _ = lines.send(format!("{}  resolving", pull.reference));
            let named = pull.manifest(&registry, &name)?;
            if !named.is_index() {
                return Ok(Resolved { digest: named.digest, index_digest: None });
            }
            let index = json(&fs::read(pull.path(&named.digest))?)?;
            let chosen = for_platform(&index, &pull.platform).with_context(|| pull.reference.to_string())?;
            Ok(Resolved { digest: chosen.digest, index_digest: Some(named.digest) })
        })
    }

    /// Fetches what is not in the layout yet, and opens the image.
    pub fn fetch(&self, resolved: &Resolved, watch: Watch) -> Result<Image> {
        let (pull, resolved) = (self.clone(), resolved.clone());
        in_background(watch, move |stop, lines| {
            let (registry, _) = pull.registry(stop)?;
            let manifest = pull.manifest(&registry, &resolved.digest.to_string())?;
            ensure!(!manifest.is_index(), "{} is an index of images, not an image", resolved.digest);
            let parts =
                Parts::of(&fs::read(pull.path(&manifest.digest))?).with_context(|| pull.reference.to_string())?;
            pull.blobs(&registry, parts, stop, lines).with_context(|| format!("cannot fetch {}", pull.reference))?;
            let store = Store::Folder(pull.layout.clone());
            let mut image = image::of_manifest(store, &manifest, resolved.index_digest)?;
            expect_platform(&pull.reference, &image, &pull.platform)?;
            image.is_verified = true;
            Ok(image)
        })
    }

    /// The registry, and what its repository calls the image.
    fn registry(&self, stop: &Stop) -> Result<(Registry, String)> {
        let Reference::Registry { host, repository, tag, digest } = &self.reference else {
            bail!("{} is in no registry", self.reference);
        };
        let tag = tag.clone().unwrap_or_else(|| "latest".to_owned());
        let name = digest.as_ref().map_or(tag, Digest::to_string);
        fs::create_dir_all(self.layout.join("blobs/sha256")).context("cannot make a folder for the image")?;
        Ok((Registry::new(host.as_deref(), repository, &self.logins, stop), name))
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.layout.join("blobs/sha256").join(digest.hex())
    }

    /// A manifest or an index, by tag or digest; it lies in the layout afterwards.
    fn manifest(&self, registry: &Registry, name: &str) -> Result<Descriptor> {
        let asked: Option<Digest> = name.parse().ok();
        let here = asked.as_ref().and_then(|digest| fs::read(self.path(digest)).ok());
        let (bytes, media_type) = match here {
            Some(bytes) => (bytes, String::new()),
            None => registry.manifest(name)?,
        };
        let digest = Digest::of(&bytes);
        if let Some(asked) = asked.filter(|asked| *asked != digest) {
            bail!(
                "the manifest of {} is damaged: expected {asked}, got {digest}; nothing was unpacked",
                self.reference
            );
        }
        let manifest = json(&bytes).with_context(|| format!("the manifest of {}", self.reference))?;
        let media_type = manifest["mediaType"].as_str().unwrap_or(&media_type).to_owned();
        let size = bytes.len() as u64;
        let path = self.path(&digest);
        fs::write(path.with_extension("manifest"), bytes)?;
        fs::rename(path.with_extension("manifest"), path)?;
        Ok(Descriptor { media_type, digest, size })
    }

    /// The configuration and all layers.
    fn blobs(&self, registry: &Registry, parts: Parts, stop: &Stop, lines: &Sender<String>) -> Result<()> {
        let bytes: u64 = parts.layers.iter().map(|layer| layer.size).sum();
        let layers = parts.layers.iter().enumerate().map(|(number, layer)| {
            let blob = Blob { what: format!("layer {}", number + 1), descriptor: layer.clone() };
            (layer.digest.clone(), blob)
        });
        // Equal layers are one blob.
        let mut missing: BTreeMap<Digest, Blob> = layers.collect();
        missing.retain(|digest, _| !self.path(digest).is_file());
        let layers = parts.layers.len();
        let _ = lines.send(format!(
            "{}  {layers} layers, {}: {} here, {} to fetch",
            self.reference,
            megabytes(bytes),
            layers - missing.len().min(layers),
            missing.len()
        ));
        expect_room(&self.layout, missing.values().map(|blob| blob.descriptor.size).sum())?;
        let config = Blob { what: "the configuration".to_owned(), descriptor: parts.config };
        ensure!(config.descriptor.size <= image::SMALL_BYTES_MAX, "its configuration has more than 4 MiB");
        if !self.path(&config.descriptor.digest).is_file() {
            missing.insert(config.descriptor.digest.clone(), config);
        }
        self.together(registry, missing.into_values().collect(), stop, lines)
    }

    /// Fetches several blobs at a time; the first failure ends all.
    fn together(&self, registry: &Registry, blobs: Vec<Blob>, stop: &Stop, lines: &Sender<String>) -> Result<()> {
        let total: u64 = blobs.iter().map(|blob| blob.descriptor.size).sum();
        let (left, done) = (Mutex::new(blobs), Arc::new(AtomicU64::new(0)));
        let (ended, ends) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..TOGETHER {
                let (ended, left, done) = (ended.clone(), &left, &done);
                scope.spawn(move || {
                    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let fetched = std::iter::from_fn(next).try_for_each(|blob| {
                        let transfer =
                            Transfer { registry, path: self.path(&blob.descriptor.digest), blob, done, stop };
                        transfer.run()
                    });
                    let _ = ended.send(fetched);
                });
            }
            drop(ended);
            let mut outcome = Ok(());
            loop {
                match ends.recv_timeout(PROGRESS) {
                    Ok(fetched) if outcome.is_ok() => {
                        if fetched.is_err() {
                            left.lock().unwrap_or_else(PoisonError::into_inner).clear();
                        }
                        outcome = fetched;
                    }
                    Ok(_) => {}
                    Err(RecvTimeoutError::Disconnected) => return outcome,
                    Err(RecvTimeoutError::Timeout) => {
                        let so_far = megabytes(done.load(Ordering::Relaxed));
                        let _ = lines.send(format!("{}  {so_far} of {}", self.reference, megabytes(total)));
                    }
                }
            }
        })
    }
}

/// A file of an image, and what a reader calls it.
struct Blob {
    what: String,
    descriptor: Descriptor,
}

/// One blob on its way to its file.
struct Transfer<'a> {
    registry: &'a Registry,
    blob: Blob,
    path: PathBuf,
    /// Bytes of all blobs.
    done: &'a AtomicU64,
    stop: &'a Stop,
}

impl Transfer<'_> {
    fn run(&self) -> Result<()> {
        let partial = self.path.with_extension("partial");
        let mut state = (File::create(&partial).context("cannot write the image")?, Sha256::new(), 0);
        let mut attempt = 0;
        while let Err(why) = self.go_on(&mut state)? {
            if self.registry.wait(attempt)?.is_none() {
                let Blob { what, descriptor } = &self.blob;
                bail!("{what} breaks off after {} of {} bytes ({why}); nothing was unpacked", state.2, descriptor.size);
            }
            attempt += 1;
        }
        let (_, hash, _) = state;
        let found = Digest::from_hash(hash);
        image::expect_digest(&self.blob.what, &self.blob.descriptor.digest, &found)?;
        Ok(fs::rename(partial, &self.path)?)
    }

    /// Fetches from where the file ends; what broke off is the inner error, and worth another attempt.
    fn go_on(&self, (file, hash, at): &mut (File, Sha256, u64)) -> Result<Result<(), String>> {
        let Descriptor { digest, size, .. } = &self.blob.descriptor;
        if at == size && *at > 0 {
            return Ok(Ok(()));
        }
        let response = self.registry.blob(&digest.to_string(), *at)?;
        if *at > 0 && response.status() != StatusCode::PARTIAL_CONTENT {
            // It sends no part: all over again.
            use std::io::Seek;
            file.set_len(0)?;
            file.rewind()?;
            self.done.fetch_sub(*at, Ordering::Relaxed);
            (*hash, *at) = (Sha256::new(), 0);
        }
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 64 << 10];
        loop {
            self.stop.check()?;
            let length = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) => return Ok(Err(crate::registry::why(error))),
            };
            *at += length as u64;
            ensure!(*at <= *size, "{} has more than {size} bytes; nothing was unpacked", self.blob.what);
            hash.update(&buffer[..length]);
            file.write_all(&buffer[..length]).context("cannot write the image")?;
            self.done.fetch_add(length as u64, Ordering::Relaxed);
        }
        Ok(if at == size { Ok(()) } else { Err("the registry closed the connection".to_owned()) })
    }
}

/// Fails where a file system has no room for what is to be fetched and unpacked.
fn expect_room(folder: &Path, bytes: u64) -> Result<()> {
    let found = nix::sys::statvfs::statvfs(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let free = found.blocks_available() * found.fragment_size();
    let needed = bytes.saturating_mul(ROOM);
    ensure!(
        free >= needed,
        "the image needs {} and {} has {} free\n  next: `dbduel cache clear`, or DBDUEL_CACHE on another disk",
        megabytes(needed),
        folder.display(),
        megabytes(free)
    );
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests;
