//! Images in files: an OCI image layout, a tar of one, or what `docker save` writes.
//!
//! A manifest is read as the JSON that it is; only what dbduel needs of it is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::compression::decompressed;
pub(crate) use crate::store::SMALL_BYTES_MAX;
use crate::store::Store;
use crate::unpack::{Limits, Unpacked, Unpacker};
use crate::{Digest, Hashing, Reference};

const LAYERS_MAX: usize = 127;
/// Of all layers, as they are stored.
const COMPRESSED_BYTES_MAX: u64 = 4 << 30;
pub(crate) const TAG: &str = "org.opencontainers.image.ref.name";

/// An operating system and an architecture, as images name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
}

impl Platform {
    /// This machine's.
    pub fn here() -> Platform {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Platform { os: "linux".to_owned(), architecture: architecture.to_owned() }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{}/{}", self.os, self.architecture)
    }
}

/// An image whose manifest and configuration have been read and checked; its layers have not.
pub struct Image {
    /// Of the manifest; of the configuration where there is no manifest, as in what `docker save` writes.
    pub digest: Digest,
    /// Of the index that the manifest was chosen from.
    pub index_digest: Option<Digest>,
    pub config_digest: Digest,
    pub created: Option<String>,
    pub platform: Platform,
    /// Variables that the image sets.
    pub environment: BTreeMap<String, String>,
    store: Store,
    layers: Vec<Layer>,
    /// Its layers had their digests when they came here.
    pub(crate) is_verified: bool,
}

struct Layer {
    name: String,
    /// As it is stored; `docker save` records none.
    stored: Option<Descriptor>,
    /// Of the uncompressed tar.
    diff_id: Digest,
}

#[derive(Debug, Clone)]
pub(crate) struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
}

impl Descriptor {
    fn of(value: &Value) -> Result<Descriptor> {
        let digest = value["digest"].as_str().context("a descriptor has no digest")?;
        Ok(Descriptor {
            media_type: value["mediaType"].as_str().unwrap_or_default().to_owned(),
            digest: digest.parse().map_err(anyhow::Error::msg)?,
            size: value["size"].as_u64().context("a descriptor has no size")?,
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("blobs/sha256/{}", self.digest.hex())
    }

    pub(crate) fn is_index(&self) -> bool {
        self.media_type.contains("image.index") || self.media_type.contains("manifest.list")
    }
}

/// Opens an image that lies in files.
pub fn open(reference: &Reference, platform: &Platform) -> Result<Image> {
    let image = match reference {
        Reference::Layout { folder, tag } => layout(Store::Folder(folder.clone()), tag.as_deref(), platform),
        Reference::OciArchive { file, tag } => layout(Store::tar(file)?, tag.as_deref(), platform),
        Reference::DockerArchive { file, name } => docker(Store::tar(file)?, name.as_deref()),
        Reference::Registry { .. } | Reference::Stored { .. } => bail!("it does not lie in files"),
    };
    let image = image.with_context(|| format!("cannot read the image {reference}"))?;
    expect_platform(reference, &image, platform)?;
    Ok(image)
}

pub(crate) fn expect_platform(reference: &Reference, image: &Image, platform: &Platform) -> Result<()> {
    ensure!(image.platform == *platform, "{reference} is for {}; this machine is {platform}", image.platform);
    Ok(())
}

fn layout(store: Store, tag: Option<&str>, platform: &Platform) -> Result<Image> {
    let index = json(&store.read("index.json")?)?;
    let mut descriptor = tagged(&index, tag)?;
    let mut index_digest = None;
    if descriptor.is_index() {
        let index = json(&blob(&store, &descriptor)?)?;
        index_digest = Some(std::mem::replace(&mut descriptor, for_platform(&index, platform)?).digest);
    }
    ensure!(!descriptor.is_index(), "an index names another index");
    of_manifest(store, &descriptor, index_digest)
}

/// The image of a manifest that lies in a layout.
pub(crate) fn of_manifest(store: Store, manifest: &Descriptor, index_digest: Option<Digest>) -> Result<Image> {
    let Parts { config, layers } = Parts::of(&blob(&store, manifest)?)?;
    let contents = blob(&store, &config)?;
    let stored = layers.into_iter().map(|layer| (layer.name(), Some(layer))).collect();
    image(store, manifest.digest.clone(), index_digest, &contents, stored)
}

/// What a manifest lists.
pub(crate) struct Parts {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

impl Parts {
    /// Reads a manifest; fails where dbduel would not unpack the image, before any layer is asked for.
    pub(crate) fn of(manifest: &[u8]) -> Result<Parts> {
        let manifest = json(manifest)?;
        ensure!(manifest["schemaVersion"] != 1, "its manifest is of schema 1, which dbduel does not read");
        let config = Descriptor::of(&manifest["config"])?;
        let layers = list(&manifest, "layers")?.iter().map(Descriptor::of).collect::<Result<Vec<_>>>()?;
        layers.iter().try_for_each(expect_tar)?;
        ensure!((1..=LAYERS_MAX).contains(&layers.len()), "it has {} layers; expected 1 to {LAYERS_MAX}", layers.len());
        let bytes: u64 = layers.iter().map(|layer| layer.size.min(COMPRESSED_BYTES_MAX + 1)).sum();
        ensure!(bytes <= COMPRESSED_BYTES_MAX, "its layers have more than 4 GiB");
        Ok(Parts { config, layers })
    }
}

/// The manifest of a tag; without one, the only manifest.
fn tagged(index: &Value, tag: Option<&str>) -> Result<Descriptor> {
    let manifests = list(index, "manifests")?;
    let tag_of = |manifest: &Value| manifest["annotations"][TAG].as_str().map(str::to_owned);
    let fits = |manifest: &&Value| tag.is_none() || tag_of(manifest).as_deref() == tag;
    match manifests.iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [one] => Descriptor::of(one),
        found => {
            let tags: Vec<String> = manifests.iter().filter_map(tag_of).collect();
            let count = if found.is_empty() { "no image of that tag" } else { "several images" };
            bail!("it holds {count}; its tags: {}", tags.join(", "))
        }
    }
}

pub(crate) fn for_platform(index: &Value, platform: &Platform) -> Result<Descriptor> {
    let manifests = list(index, "manifests")?;
    let of = |manifest: &Value| Platform {
        os: manifest["platform"]["os"].as_str().unwrap_or_default().to_owned(),
        architecture: manifest["platform"]["architecture"].as_str().unwrap_or_default().to_owned(),
    };
    match manifests.iter().find(|manifest| of(manifest) == *platform) {
        Some(manifest) => Descriptor::of(manifest),
        None => {
            // Attestations stand in an index as images of no platform.
            let others = manifests.iter().map(|manifest| of(manifest).to_string());
            let others: Vec<String> = others.filter(|other| other != "unknown/unknown").collect();
            bail!("it is for {}; this machine is {platform}", others.join(", "))
        }
    }
}

fn expect_tar(layer: &Descriptor) -> Result<()> {
    let media_type = &layer.media_type;
    let is_foreign = media_type.contains("foreign") || media_type.contains("nondistributable");
    ensure!(!is_foreign, "the layer {} is of the type {media_type}, whose bytes are elsewhere", layer.digest);
    ensure!(media_type.contains(".tar"), "the layer {} is of the type {media_type}, which is no tar", layer.digest);
    Ok(())
}

fn docker(store: Store, name: Option<&str>) -> Result<Image> {
    let manifest = json(&store.read("manifest.json")?)?;
    let images = manifest.as_array().context("manifest.json is no list")?;
    let names = |image: &Value| texts(&image["RepoTags"]);
    // Some programs write the name of the default registry in front, where its user wrote none.
    let is_name = |found: &str, name: &str| {
        found
            .strip_prefix("docker.io/")
            .is_some_and(|short| short == name || short.strip_prefix("library/") == Some(name))
            || found == name
    };
    let fits = |image: &&Value| name.is_none_or(|name| names(image).iter().any(|found| is_name(found, name)));
    let found: Vec<&Value> = images.iter().filter(fits).collect();
    let [found] = found.as_slice() else {
        let all: Vec<String> = images.iter().flat_map(names).collect();
        bail!("it holds {} such images; its names: {}", found.len(), all.join(", "));
    };
    let contents = store.read(found["Config"].as_str().context("manifest.json names no configuration")?)?;
    let layers = texts(&found["Layers"]).into_iter().map(|layer| (layer, None)).collect();
    image(store, Digest::of(&contents), None, &contents, layers)
}

fn image(
    store: Store,
    digest: Digest,
    index_digest: Option<Digest>,
    contents: &[u8],
    stored: Vec<(String, Option<Descriptor>)>,
) -> Result<Image> {
    let config = json(contents)?;
    let diff_ids = texts(&config["rootfs"]["diff_ids"]);
    ensure!(diff_ids.len() == stored.len(), "it has {} layers and {} digests of them", stored.len(), diff_ids.len());
    ensure!((1..=LAYERS_MAX).contains(&stored.len()), "it has {} layers; expected 1 to {LAYERS_MAX}", stored.len());
    let layer = |((name, stored), diff_id): ((String, Option<Descriptor>), String)| {
        Ok(Layer { name, stored, diff_id: diff_id.parse().map_err(anyhow::Error::msg)? })
    };
    let text = |key: &str| config[key].as_str().unwrap_or_default().to_owned();
    let variables = texts(&config["config"]["Env"]);
    let pair = |variable: &String| variable.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Image {
        digest,
        index_digest,
        config_digest: Digest::of(contents),
        created: config["created"].as_str().map(str::to_owned),
        platform: Platform { os: text("os"), architecture: text("architecture") },
        environment: variables.iter().filter_map(pair).collect(),
        store,
        is_verified: false,
        layers: stored.into_iter().zip(diff_ids).map(layer).collect::<Result<_>>()?,
    })
}

/// How many layers a manifest lists; fails as a fetch of its image would.
pub fn layers_of(manifest: &[u8]) -> Result<usize> {
    Ok(Parts::of(manifest)?.layers.len())
}

pub(crate) fn json(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).context("not readable as JSON")
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("it has no `{key}`"))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// A small blob, whose digest is right.
fn blob(store: &Store, descriptor: &Descriptor) -> Result<Vec<u8>> {
    let bytes = store.read(&descriptor.name())?;
    expect_digest("the blob", &descriptor.digest, &Digest::of(&bytes))?;
    Ok(bytes)
}

pub(crate) fn expect_digest(what: &str, expected: &Digest, found: &Digest) -> Result<()> {
    ensure!(expected == found, "{what} is damaged: expected {expected}, got {found}; nothing was unpacked");
    Ok(())
}

/// Unpacks the layers into a new folder, after all of them have been verified; a failure leaves no folder.
pub fn unpack_image(image: &Image, folder: &Path, limits: Limits) -> Result<Unpacked> {
    if !image.is_verified {
        image.layers.iter().enumerate().try_for_each(|(number, layer)| verify(image, number, layer))?;
    }
    fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let unpacked = unpack_layers(image, folder, limits);
    if unpacked.is_err() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    unpacked
}

fn verify(image: &Image, number: usize, layer: &Layer) -> Result<()> {
    let Some(stored) = &layer.stored else { return Ok(()) };
    let (digest, size) = Hashing::new(image.store.open(&layer.name)?.0).finish()?;
    let what = format!("layer {}", number + 1);
    expect_digest(&what, &stored.digest, &digest)?;
    ensure!(size == stored.size, "{what} has {size} bytes instead of {}; nothing was unpacked", stored.size);
    Ok(())
}

fn unpack_layers(image: &Image, folder: &Path, limits: Limits) -> Result<Unpacked> {
    let mut unpacker = Unpacker::new(folder, limits)?;
    for (number, layer) in image.layers.iter().enumerate() {
        let what = format!("layer {}", number + 1);
        let (stored, _) = image.store.open(&layer.name)?;
        let mut tar = Hashing::new(decompressed(stored)?);
        unpacker.layer(&mut tar).with_context(|| what.clone())?;
        let (digest, _) = tar.finish().with_context(|| what.clone())?;
        ensure!(digest == layer.diff_id, "{what}, uncompressed, is {digest} instead of {}", layer.diff_id);
    }
    Ok(unpacker.done())
}

#[cfg(test)]
mod tests;
