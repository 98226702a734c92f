//! Which server a contender means, and how it gets ready to start.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use record::format::ImageRecord;

use crate::cache::{Cache, remove_tree};
use crate::engine::{Engine, Found, Installation, connections_for};
use crate::image;
use crate::inside::Surroundings;
use crate::package::{Client, Package};
use crate::programs::sha256_of;
use crate::provision::{self, Knowledge, Release};
use crate::request::{Archive, ImageSource, Origin, VersionRequest};
use crate::version::{by_version, in_series, may_roll_to, rolls, version_numbers};

/// The version of a target, until it has answered.
const AS_IT_RUNS: &str = "as it runs";

/// The version of a server in an archive that is not in the cache yet.
const NOT_UNPACKED: &str = "(version not known before it is unpacked)";

/// A contender's engine and version, decided; nothing has been fetched yet.
#[derive(Clone)]
pub struct Resolved {
    engine: &'static dyn Engine,
    pub kind: &'static str,
    /// Ends in `.*` until the release of a rolling source has been looked up.
    pub version: String,
    place: SourceKind,
    /// The version or series that was asked for, if any.
    wanted: Option<String>,
}

#[derive(Debug, Clone)]
enum SourceKind {
    Catalogue(&'static Release),
    Archive(Archive),
    Image(ImageSource),
    Here(Found),
    /// A server that dbduel does not manage, by its URL without the password.
    Target(String),
}

/// One line of `dbduel list engines`.
#[derive(Debug, Clone)]
pub struct Listed {
    pub kind: &'static str,
    /// Of a rolling source: the version that was fetched, once it was.
    pub version: String,
    pub source: String,
    pub here: bool,
    pub download_bytes: u64,
    /// The image that it is from.
    pub image: Option<ImageRecord>,
}

/// The engines that may be asked for, in the order in which they are listed.
#[derive(Debug, Clone, Copy)]
pub struct Engines(pub &'static [&'static dyn Engine]);

impl Engines {
    /// The engine of a name before the `@`; the error lists what there is.
    pub fn find(self, kind: &str) -> Result<&'static dyn Engine> {
        let known = || self.names().collect::<Vec<_>>().join(", ");
        let found = self.0.iter().find(|engine| engine.kind() == kind);
        let meant = || self.meant_by(kind).map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
        found.copied().with_context(|| format!("no engine `{kind}`; {}known are {}", meant(), known()))
    }

    /// The engine that an image or an archive is named after: `mysql:8.4`, `percona-server-8.0.tar.xz`.
    pub fn named_in(self, name: &str) -> Option<&'static dyn Engine> {
        let name = name.to_ascii_lowercase();
        let is_kind = |engine: &&&'static dyn Engine| name.contains(engine.kind());
        let is_maker = |engine: &&&'static dyn Engine| engine.makers().iter().any(|maker| name.contains(maker));
        self.0.iter().find(is_kind).or(self.0.iter().find(is_maker)).copied()
    }

    /// Whose name other tools write in another way: `postgresql`, or `mysql:8.0` as images have it.
    pub fn meant_by(self, name: &str) -> Option<String> {
        let (kind, version) = name.split_once(['@', ':']).map_or((name, None), |(kind, version)| (kind, Some(version)));
        let kind = match kind.to_ascii_lowercase().as_str() {
            "postgresql" | "pgsql" | "pg" => "postgres".to_owned(),
            other => other.to_owned(),
        };
        if !self.names().any(|known| known == kind) {
            return None;
        }
        // A version that does not exist is no better under the right name.
        let whole = version.map(|version| format!("{kind}@{version}"));
        Some(whole.filter(|name| !self.called(name).is_empty()).unwrap_or(kind))
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.iter().map(|engine| engine.kind())
    }

    /// Decides which server a request means, by the name of its engine.
    pub fn resolve(self, kind: &str, request: &VersionRequest, origin: &Origin) -> Result<Resolved> {
        resolve(self.find(kind)?, request, origin)
    }

    /// The servers whose `kind@version` begins with `name`, in the catalogue and on this machine; `kind@system`
    /// are those on this machine.
    pub fn called(self, name: &str) -> Vec<Resolved> {
        let all = self.0.iter().flat_map(|engine| known(*engine));
        let is_called = |server: &Resolved| {
            let system = matches!(server.place, SourceKind::Here(_)) && name == format!("{}@system", server.kind);
            system || format!("{}@{}", server.kind, server.version).starts_with(name)
        };
        all.filter(is_called).collect()
    }

    /// Every server that could be had, by engine and version.
    pub fn list(self, cache: &Cache) -> Vec<Listed> {
        let known = self.0.iter().flat_map(|engine| listed(*engine, cache));
        known.chain(self.listed_sources(cache)).collect()
    }
}

/// Decides which server a request means. Asks installed binaries for their version; fetches nothing.
pub fn resolve(engine: &'static dyn Engine, request: &VersionRequest, origin: &Origin) -> Result<Resolved> {
    let kind = engine.kind();
    if let Origin::Target(target) = origin {
        // What it is will be known when it has answered.
        return Ok(Resolved::new(engine, AS_IT_RUNS.to_owned(), SourceKind::Target(target.url.to_string())));
    }
    if let Origin::Basedir(folder) = origin {
        let found = find_in(engine, folder)?;
        if let VersionRequest::Series(wanted) = request
            && !in_series(&found.version, wanted)
        {
            bail!("{} holds {kind} {}, not {wanted}", folder.display(), found.version);
        }
        return Ok(Resolved::here(engine, found));
    }
    if let Origin::Archive(archive) = origin {
        return Resolved::in_archive(engine, archive)?.wanting(request).expect_wanted();
    }
    if let Origin::Image(image) = origin {
        return Resolved::in_image(engine, image)?.wanting(request).expect_wanted();
    }
    choose(engine, engine.installed(), request, ARCH)
}

fn find_in(engine: &dyn Engine, folder: &Path) -> Result<Found> {
    // The server runs in its data directory, where a relative path would mean something else.
    let basedir = std::fs::canonicalize(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let server = engine.locate(&basedir)?;
    Ok(Found { version: engine.version_of(&server, &Surroundings::default())?, server, basedir: Some(basedir) })
}

/// What the catalogue of an engine has for a machine with this processor.
fn catalogue(engine: &'static dyn Engine, machine: &str) -> impl Iterator<Item = (String, SourceKind)> {
    let here = engine.releases().iter().filter(move |release| release.package.processor.runs_on(machine));
    here.map(|release| (release.version.to_owned(), SourceKind::Catalogue(release)))
}

/// The newest of a catalogue and of what is installed that fits a request, on a machine with this processor.
pub fn choose(
    engine: &'static dyn Engine,
    installed: Vec<Found>,
    request: &VersionRequest,
    machine: &str,
) -> Result<Resolved> {
    let here = installed.into_iter().map(|found| (found.version.clone(), SourceKind::Here(found)));
    let known: Vec<(String, SourceKind)> = catalogue(engine, machine).chain(here).collect();
    let fits = |version: &str, place: &SourceKind| match request {
        VersionRequest::Newest => true,
        VersionRequest::System => matches!(place, SourceKind::Here(_)),
        VersionRequest::Series(wanted) => in_series(version, wanted) || may_roll_to(version, wanted),
    };
    // Of equals the last one wins: the installed one, which needs no download.
    let best = known.iter().filter(|(version, place)| fits(version, place)).max_by(|a, b| by_version(&a.0, &b.0));
    match best {
        Some((version, place)) => Ok(Resolved::new(engine, version.clone(), place.clone()).wanting(request)),
        None => Err(unknown_version(engine, request, &known, machine)),
    }
}

fn unknown_version(
    engine: &dyn Engine,
    request: &VersionRequest,
    known: &[(String, SourceKind)],
    machine: &str,
) -> anyhow::Error {
    let mut versions: Vec<&str> = known.iter().map(|(version, _)| version.as_str()).collect();
    versions.sort_by(|a, b| by_version(a, b));
    versions.dedup();
    let versions = if versions.is_empty() { "none".to_owned() } else { versions.join(", ") };
    let kind = engine.kind();
    match request {
        VersionRequest::Series(wanted) => {
            let elsewhere = engine.releases().iter().find(|release| in_series(release.version, wanted));
            let fact = elsewhere.map_or("is neither in the catalogue nor installed here".to_owned(), |release| {
                let processor = release.package.processor.name();
                format!("can be fetched for {processor} only, this machine is {machine}, and none is installed here")
            });
            anyhow::anyhow!("{kind} {wanted} {fact}; known versions of {kind}: {versions}")
        }
        _ => anyhow::anyhow!("no {kind} is installed here; known versions of {kind}: {versions}"),
    }
}

/// Every server of an engine: those of its catalogue, then those on this machine.
fn known(engine: &'static dyn Engine) -> impl Iterator<Item = Resolved> {
    let catalogue = catalogue(engine, ARCH).map(move |(version, place)| Resolved::new(engine, version, place));
    catalogue.chain(engine.installed().into_iter().map(move |found| Resolved::here(engine, found)))
}

/// Every server of an engine that could be had, by version.
fn listed(engine: &'static dyn Engine, cache: &Cache) -> Vec<Listed> {
    let mut known: Vec<Resolved> = known(engine).collect();
    known.sort_by(|a, b| by_version(&a.version, &b.version));
    known.iter().map(|resolved| resolved.listed(cache)).collect()
}

impl Resolved {
    fn new(engine: &'static dyn Engine, version: String, place: SourceKind) -> Resolved {
        Resolved { engine, kind: engine.kind(), version, place, wanted: None }
    }

    pub fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    /// A server on this machine.
    pub fn here(engine: &'static dyn Engine, found: Found) -> Resolved {
        Resolved::new(engine, found.version.clone(), SourceKind::Here(found))
    }

    /// A server in an archive. Only the cache can have its version: nothing is unpacked to find it out.
    pub(crate) fn in_archive(engine: &'static dyn Engine, archive: &Archive) -> Result<Resolved> {
        let resolved = Resolved::new(engine, NOT_UNPACKED.to_owned(), SourceKind::Archive(archive.clone()));
        let unpacked = Cache::existing()?.and_then(|cache| provision::fetched_versions(&resolved.folder(&cache)));
        Ok(unpacked.map_or(resolved.clone(), |(version, _)| Resolved { version, ..resolved }))
    }

    /// A server in an image; its version is known once that is in the cache.
    fn in_image(engine: &'static dyn Engine, image: &ImageSource) -> Result<Resolved> {
        let cache = Cache::existing()?;
        let image = cache.as_ref().map_or_else(|| image.clone(), |cache| image.as_cached(cache));
        let resolved = Resolved::new(engine, NOT_UNPACKED.to_owned(), SourceKind::Image(image.clone()));
        let Some(cache) = cache.filter(|cache| resolved.is_here(cache)) else { return Ok(resolved) };
        let found = image::server(engine, &image, &resolved.folder(&cache))?;
        Ok(Resolved { version: found.version, ..resolved })
    }

    /// What is known of its image, once that is in the cache.
    pub fn image(&self) -> Result<Option<ImageRecord>> {
        let SourceKind::Image(image) = &self.place else { return Ok(None) };
        let Some(cache) = Cache::existing()?.filter(|cache| self.is_here(cache)) else { return Ok(None) };
        image::record(self.engine, image, &self.folder(&cache)).map(Some)
    }

    /// Whether its version is known; that of an archive or an image is not before it is unpacked.
    pub fn has_version(&self) -> bool {
        self.version != NOT_UNPACKED
    }

    /// Fails where a server that was not chosen by its version has another one than was asked for.
    fn expect_wanted(self) -> Result<Resolved> {
        let wanted = self.wanted.iter().find(|wanted| self.has_version() && !in_series(&self.version, wanted));
        if let Some(wanted) = wanted {
            bail!("{} holds {} {}, not {wanted}", self.source_text(), self.kind, self.version);
        }
        Ok(self)
    }

    fn wanting(self, request: &VersionRequest) -> Resolved {
        let VersionRequest::Series(wanted) = request else { return self };
        Resolved { wanted: Some(wanted.clone()), ..self }
    }

    /// Where the server comes from, for a reader.
    pub fn source_text(&self) -> String {
        match &self.place {
            SourceKind::Catalogue(Release { package, .. }) => match package.client {
                Client::Apt { suite, .. } => format!("{} {suite} {}", package.client.title(), package.coordinates),
                client => format!("{} {}", client.title(), package.coordinates),
            },
            SourceKind::Archive(archive) => archive.source_text(),
            SourceKind::Image(image) => image.source_text(),
            SourceKind::Target(url) => format!("target {url}"),
            SourceKind::Here(found) if found.server.as_os_str().is_empty() => "compiled into dbduel".to_owned(),
            SourceKind::Here(found) => match &found.basedir {
                Some(basedir) => format!("folder {}", basedir.display()),
                None => format!("installed {}", found.server.display()),
            },
        }
    }

    pub(crate) fn listed(&self, cache: &Cache) -> Listed {
        let fetched =
            provision::fetched_versions(&self.folder(cache)).filter(|_| matches!(self.place, SourceKind::Catalogue(_)));
        let source = self.source_text();
        Listed {
            kind: self.kind,
            here: self.is_here(cache),
            download_bytes: self.download_bytes(),
            image: None,
            source: fetched.as_ref().map_or(source.clone(), |(_, package)| format!("{source} {package}")),
            version: fetched.map_or_else(|| self.version.clone(), |(version, _)| version),
        }
    }

    /// Whether it can be started without fetching anything.
    pub fn is_here(&self, cache: &Cache) -> bool {
        match &self.place {
            SourceKind::Catalogue(_) | SourceKind::Archive(_) | SourceKind::Image(_) => {
                provision::marker(&self.folder(cache)).is_some()
            }
            SourceKind::Here(_) | SourceKind::Target(_) => true,
        }
    }

    /// What has to be downloaded if it is not here yet.
    pub fn download_bytes(&self) -> u64 {
        match &self.place {
            SourceKind::Catalogue(release) => u64::from(release.package.megabytes) * 1_000_000,
            SourceKind::Archive(_) | SourceKind::Image(_) | SourceKind::Here(_) | SourceKind::Target(_) => 0,
        }
    }

    /// What dbduel would set by itself, for the plan; `max_clients` as in [`StartOptions`].
    pub fn own_settings(&self, settings: &BTreeMap<String, String>, max_clients: u32) -> BTreeMap<String, String> {
        if matches!(self.place, SourceKind::Target(_)) || !self.has_version() {
            return BTreeMap::new();
        }
        let connections = connections_for(max_clients);
        self.engine.own_settings(&version_numbers(&self.version), settings, connections)
    }

    fn folder(&self, cache: &Cache) -> PathBuf {
        let version = match &self.place {
            SourceKind::Archive(archive) => return cache.servers().join(format!("archive-{:.16}", archive.sha256)),
            SourceKind::Image(image) => return image.folder(cache),
            SourceKind::Catalogue(Release { package: Package { client: Client::Apt { suite, .. }, .. }, .. }) => *suite,
            _ => &self.version,
        };
        cache.servers().join(format!("{}-{version}", self.kind))
    }
}

/// A server that can be started without fetching it; None where it is in no cache yet, which is not made either.
pub fn already_here(resolved: &Resolved) -> Result<Option<Installation>> {
    if let SourceKind::Here(found) = &resolved.place {
        return resolved.installed(found).map(Some);
    }
    let cache = Cache::existing()?.filter(|cache| resolved.is_here(cache));
    cache.map(|cache| provision(resolved, &cache, &|_| ())).transpose()
}

/// Makes a resolved server ready to start: fetches it into the cache where it is not here yet.
pub fn provision(resolved: &Resolved, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Installation> {
    match &resolved.place {
        SourceKind::Here(found) => resolved.installed(found),
        SourceKind::Target(url) => bail!("{url} is a server that dbduel does not manage"),
        SourceKind::Catalogue(release) => provision_release(resolved, release, cache, progress)
            .with_context(|| format!("cannot provision {} {}", resolved.kind, resolved.version)),
        SourceKind::Archive(archive) => provision_archive(resolved, archive, cache, progress)
            .with_context(|| format!("cannot take {} from {}", resolved.kind, archive.file.display())),
        SourceKind::Image(image) => provision_image(resolved, image, cache, progress)
            .with_context(|| format!("cannot take {} from the image {}", resolved.kind, image.reference)),
    }
}

fn provision_release(
    resolved: &Resolved,
    release: &Release,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Installation> {
    let version = |server: &Path, around: &Surroundings| {
        let found = resolved.engine.version_of(server, around)?;
        check_version(&found, release.version)?;
        Ok(found)
    };
    let knowledge = Knowledge { locate: &|root| resolved.engine.locate(root), version: &version };
    let install = |folder: &Path| provision::install(release, cache, folder, progress, &knowledge);
    let folder = kept(resolved.folder(cache), cache, progress, &install)?;
    let fetched = provision::fetched_versions(&folder);
    let version = fetched.as_ref().map_or(release.version, |(version, _)| version).to_owned();
    check_wanted(resolved, &version)?;
    let source = fetched.map_or(resolved.source_text(), |(_, package)| format!("{} {package}", resolved.source_text()));
    Ok(Installation { source, ..resolved.in_cache(&folder, release.layout.basedir(&folder), version)? })
}

fn provision_archive(
    resolved: &Resolved,
    archive: &Archive,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Installation> {
    let engine = resolved.engine;
    let knowledge =
        Knowledge { locate: &|root| engine.locate(root), version: &|server, around| engine.version_of(server, around) };
    let install = |folder: &Path| provision::install_archive(archive, cache, folder, progress, &knowledge);
    let folder = kept(resolved.folder(cache), cache, progress, &install)?;
    let (version, sha256) = provision::fetched_versions(&folder).context("the server folder vanished")?;
    anyhow::ensure!(sha256 == archive.sha256, "{} holds another archive, with SHA-256 {sha256}", folder.display());
    Resolved { version: version.clone(), ..resolved.clone() }.expect_wanted()?;
    resolved.in_cache(&folder, folder.clone(), version)
}

/// Finds out which image a contender means; the cache, its registry or its store is asked as it says.
pub fn settle_image(source: &ImageSource, cache: &Cache, progress: &dyn Fn(&str)) -> Result<ImageSource> {
    source.settled(cache, progress)
}

fn provision_image(
    resolved: &Resolved,
    source: &ImageSource,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Installation> {
    let engine = resolved.engine;
    let source = &source.settled(cache, progress)?;
    let resolved = &Resolved { place: SourceKind::Image(source.clone()), ..resolved.clone() };
    let expect_server = |folder: &Path| image::server(engine, source, folder).map(drop);
    let install = |folder: &Path| image::install(source, cache, folder, progress, &expect_server);
    let folder = kept(resolved.folder(cache), cache, progress, &install)?;
    let found = image::server(engine, source, &folder)?;
    let around = image::surroundings(&folder)?;
    let checksum = sha256_of(&found.server)?;
    let resolved = Resolved { version: found.version.clone(), ..resolved.clone() }.expect_wanted()?;
    Ok(resolved.installation(found, around, &format!("{checksum} {}", source.digest.as_deref().unwrap_or_default())))
}

/// A rolling source may have moved on since it was fetched, or never have had what is asked for.
pub fn check_wanted(resolved: &Resolved, version: &str) -> Result<()> {
    let Some(wanted) = resolved.wanted.as_ref().filter(|wanted| !in_series(version, wanted)) else { return Ok(()) };
    bail!(
        "{} has {} {version}, not {wanted}; ask for {}@{version}, or, if {wanted} is newer, for a fresh copy after `dbduel cache clear`",
        resolved.source_text(),
        resolved.kind,
        resolved.kind
    )
}

fn check_version(found: &str, expected: &str) -> Result<()> {
    anyhow::ensure!(found == expected || rolls(expected), "the package holds version {found}, not {expected}");
    Ok(())
}

impl Archive {
    fn source_text(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        format!("archive {name} (sha256:{:.12})", self.sha256)
    }
}

/// A folder of the cache, whole: made by `install` where it is not.
pub(crate) fn kept(
    folder: PathBuf,
    cache: &Cache,
    progress: &dyn Fn(&str),
    install: &dyn Fn(&Path) -> Result<()>,
) -> Result<PathBuf> {
    if !provision::is_sound(&folder, &|_| {})? {
        let _lock = cache.lock("servers", progress)?;
        // Another dbduel may have fetched it while this one waited.
        if !provision::is_sound(&folder, progress)? {
            remove_tree(&folder)?;
            install(&folder)?;
        }
    }
    Ok(folder)
}

impl Resolved {
    /// The server of a whole folder in the cache.
    fn in_cache(&self, folder: &Path, basedir: PathBuf, version: String) -> Result<Installation> {
        let checksum = provision::marker(folder).context("the server folder vanished; was the cache cleared?")?;
        let server = self.engine.locate(&basedir)?;
        let found = Found { version: version.clone(), server, basedir: Some(basedir) };
        let resolved = Resolved { version, ..self.clone() };
        let around = provision::with_libraries(folder);
        Ok(resolved.installation(found, around, &checksum))
    }

    fn installed(&self, found: &Found) -> Result<Installation> {
        let checksum = match found.server.is_file() {
            true => sha256_of(&found.server)?,
            false => "embedded".to_owned(),
        };
        Ok(self.installation(found.clone(), Surroundings::default(), &checksum))
    }

    fn installation(&self, found: Found, around: Surroundings, checksum: &str) -> Installation {
        Installation {
            engine: self.engine,
            kind: self.kind,
            version: self.version.clone(),
            source: self.source_text(),
            server: found.server,
            basedir: found.basedir,
            around,
            fingerprint: format!("{} {} {checksum}", self.kind, self.version),
        }
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.version, self.source_text())
    }
}
