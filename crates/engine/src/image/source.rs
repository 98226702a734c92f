//! Which image a contender means, and how its files come here: out of files, out of a store of this machine, or out of
//! a registry.
//!
//! What must stay true: a registry or a store is asked only where the policy of the contender says so, and a digest
//! that is known is never asked for again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use images::{Image, LocalStore, Logins, Platform, Pull, Reference, Resolved, Watch};
use record::format::ImageRecord;

use crate::cache::read_folder;
use crate::keeper::{Exit, Program};
use crate::programs::find_on_path;
use crate::provision::marker;
use crate::request::{ImageSource, PullPolicy};
use crate::{Cache, interruption, log_tail};

/// Beside the folder of its files: what is known of the image.
pub(super) const FACTS: &str = "image.json";
const SAVE_LIMIT: Duration = Duration::from_secs(30 * 60);
const HELPER_LIMIT: Duration = Duration::from_secs(10);

/// Reads a reference without any network; whether its image lies in files.
pub fn expect_image(reference: &str) -> Result<bool, String> {
    Ok(is_in_files(&Reference::parse(reference)?))
}

/// The digest of an image in files, in hexadecimal; its layers are not read.
pub fn image_digest(reference: &str) -> Result<String> {
    Ok(images::open(&parsed(reference)?, &Platform::here())?.digest.hex().to_owned())
}

/// Fails where this machine does not run programs of a platform: `linux/amd64`, or with a variant behind it.
pub fn expect_platform(text: &str) -> Result<(), String> {
    let here = Platform::here().to_string();
    let is_here = text.strip_prefix(&here).is_some_and(|variant| variant.is_empty() || variant.starts_with('/'));
    if is_here { Ok(()) } else { Err(here) }
}

fn parsed(reference: &str) -> Result<Reference> {
    Reference::parse(reference).map_err(anyhow::Error::msg)
}

fn is_in_files(reference: &Reference) -> bool {
    !matches!(reference, Reference::Registry { .. } | Reference::Stored { .. })
}

impl ImageSource {
    /// For a reader: the reference without folders, and what it means.
    pub(crate) fn source_text(&self) -> String {
        let digest = match &self.digest {
            Some(digest) => format!("sha256:{digest:.12}"),
            None => "not fetched yet".to_owned(),
        };
        let (prefix, path) = self.reference.split_once(':').unwrap_or(("", &self.reference));
        let shown = match parsed(&self.reference) {
            Ok(reference) if is_in_files(&reference) => {
                format!("{prefix}:{}", Path::new(path).file_name().unwrap_or_default().to_string_lossy())
            }
            _ => self.reference.clone(),
        };
        format!("image {shown} ({digest})")
    }

    /// Its folder in the cache.
    pub(crate) fn folder(&self, cache: &Cache) -> PathBuf {
        cache.servers().join(format!("image-{:.16}", self.digest.as_deref().unwrap_or("of-no-digest")))
    }

    fn with_digest(&self, digest: String) -> ImageSource {
        ImageSource { digest: Some(digest), ..self.clone() }
    }

    /// As far as the cache can say: its name may mean an image there.
    pub(crate) fn as_cached(&self, cache: &Cache) -> ImageSource {
        if self.digest.is_some() {
            return self.clone();
        }
        let named = names(cache).remove(&self.reference).map(|digest| self.with_digest(digest));
        let named = named.filter(|image| marker(&image.folder(cache)).is_some());
        // A name that means another image now may not have been fetched again.
        let earlier = || Some(self.with_digest(earlier(cache, &self.reference)?));
        named.or_else(earlier).unwrap_or_else(|| self.clone())
    }

    /// Finds out which image is meant, asking for it where its policy says so.
    pub(crate) fn settled(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<ImageSource> {
        let cached = self.as_cached(cache);
        let is_pinned = matches!(parsed(&self.reference)?, Reference::Registry { digest: Some(_), .. });
        let is_known = self.digest.is_some() || (cached.digest.is_some() && is_pinned);
        match (self.pull, &cached.digest) {
            (_, Some(_)) if is_known => return Ok(cached),
            (PullPolicy::Missing | PullPolicy::Never, Some(_)) => return Ok(cached),
            (PullPolicy::Never, None) => bail!(
                "{} is not in the cache, and `pull` is \"never\"\n  next: dbduel fetch --image {}",
                self.reference,
                self.reference
            ),
            (PullPolicy::Missing | PullPolicy::Always, _) => {}
        }
        let asked = self.asked(cache, progress);
        let asked = asked.and_then(|asked| asked.remember(cache).map(|()| asked));
        let Some(earlier) = cached.digest else { return asked };
        asked.with_context(|| {
            format!("the cache has {} as sha256:{earlier:.12}, which pull = \"missing\" takes", self.reference)
        })
    }

    fn asked(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<ImageSource> {
        let reference = parsed(&self.reference)?;
        match &reference {
            Reference::Stored { store, name } => {
                let saved = saved(*store, name, cache, progress)?;
                Ok(self.with_digest(images::open(&saved, &Platform::here())?.digest.hex().to_owned()))
            }
            Reference::Registry { .. } => {
                let Resolved { digest, index_digest } = pull(reference, cache)?.resolve(watch(progress))?;
                let index_digest = index_digest.map(|digest| digest.hex().to_owned());
                Ok(ImageSource { index_digest, ..self.with_digest(digest.hex().to_owned()) })
            }
            _ => Ok(self.with_digest(image_digest(&self.reference)?)),
        }
    }

    /// The image, with its layers beside it.
    pub(crate) fn opened(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Image> {
        let reference = parsed(&self.reference)?;
        let digest = self.digest.as_deref().context("nobody has asked which image is meant")?;
        let image = match &reference {
            Reference::Stored { store, name } => {
                images::open(&saved(*store, name, cache, progress)?, &Platform::here())
            }
            Reference::Registry { .. } => {
                let hex = |digest: &str| format!("sha256:{digest}").parse().map_err(anyhow::Error::msg);
                let index_digest = self.index_digest.as_deref().map(hex).transpose()?;
                pull(reference, cache)?.fetch(&Resolved { digest: hex(digest)?, index_digest }, watch(progress))
            }
            files => images::open(files, &Platform::here()),
        }?;
        let found = image.digest.hex();
        ensure!(found == digest, "it is sha256:{found} now; the experiment means sha256:{digest}");
        Ok(image)
    }

    /// Keeps which image its name means, for the next time without asking.
    fn remember(&self, cache: &Cache) -> Result<()> {
        let Some(digest) = self.digest.clone().filter(|_| parsed(&self.reference).is_ok_and(|one| !is_in_files(&one)))
        else {
            return Ok(());
        };
        let _lock = cache.lock("image-names", &|_| {})?;
        let mut names = names(cache);
        if names.insert(self.reference.clone(), digest.clone()) == Some(digest) {
            return Ok(());
        }
        let scratch = cache.scratch()?;
        let file = scratch.path().join("names");
        fs::write(&file, serde_json::to_string_pretty(&names)?)?;
        fs::rename(&file, cache.image_names()).context("cannot keep the names of images")
    }
}

/// The image that was fetched last under a name, of those that are here.
fn earlier(cache: &Cache, reference: &str) -> Option<String> {
    let folders = read_folder(&cache.servers()).ok()?.into_iter().map(|entry| entry.path());
    let fetched = folders.filter(|folder| marker(folder).is_some()).filter_map(|folder| {
        let facts = facts(&folder).ok().filter(|facts| facts.reference == reference)?;
        Some((fs::metadata(&folder).and_then(|meta| meta.modified()).ok()?, facts.digest))
    });
    fetched.max().map(|(_, digest)| digest)
}

pub(super) fn names(cache: &Cache) -> BTreeMap<String, String> {
    let text = fs::read(cache.image_names()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn watch<'a>(progress: &'a dyn Fn(&str)) -> Watch<'a> {
    Watch { progress, is_interrupted: &interruption::is_requested }
}

fn pull(reference: Reference, cache: &Cache) -> Result<Pull> {
    let layout = cache.layers()?;
    Ok(Pull { reference, platform: Platform::here(), layout, logins: Logins::of_this_user(run_helper) })
}

/// A file with an image of a local store; saved once for each handle of the cache.
fn saved(store: LocalStore, name: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Reference> {
    let (program, arguments) = store.save();
    ensure!(
        find_on_path(program).is_some(),
        "reading {name} needs the program `{program}`, which is not on PATH\n  next: save the image where it is, and \
         name that file: docker-archive:FILE"
    );
    let folder = cache.layers()?;
    let file = folder.join(format!("{program}-{}.tar", images::Digest::of(name.as_bytes()).hex()));
    let reference = Reference::DockerArchive { file: file.clone(), name: None };
    if file.is_file() {
        return Ok(reference);
    }
    progress(&format!("{name}  saving ({program})"));
    let (partial, log) = (file.with_extension("partial"), folder.join("save.log"));
    let save = Program::new(program, &log).args(arguments).arg(&partial).arg(name);
    match save.run(SAVE_LIMIT)? {
        Exit::Status(0) => fs::rename(partial, file)?,
        exit => bail!(
            "{program} does not save {name}: it {exit}\nit said: {}\n  next: name a file that has it: docker-archive:FILE",
            log_tail(&log, 0).join("\n         ")
        ),
    }
    Ok(reference)
}

/// Asks a credential helper. What it prints stays in memory: standard input and output are files without a name.
fn run_helper(program: &str, input: &str) -> Result<String> {
    ensure!(find_on_path(program).is_some(), "the program `{program}` is not on PATH");
    let memory = |name: &std::ffi::CStr| {
        let file = nix::sys::memfd::memfd_create(name, nix::sys::memfd::MFdFlags::MFD_CLOEXEC);
        file.map(fs::File::from).context("cannot make a file in memory")
    };
    let (mut stdin, mut stdout) = (memory(c"dbduel-host")?, memory(c"dbduel-login")?);
    stdin.write_all(input.as_bytes())?;
    let path = |file: &fs::File| PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    let helper = Program { stdin: Some(path(&stdin)), ..Program::new(program, &path(&stdout)).arg("get") };
    // One that has no such login fails, and says so on standard output.
    helper.run(HELPER_LIMIT).map_err(|error| anyhow!("`{program}` gives no login: {error}"))?;
    let mut said = String::new();
    stdout.rewind()?;
    stdout.read_to_string(&mut said).map_err(|_| anyhow!("`{program}` gives no text"))?;
    Ok(said)
}

pub(super) fn facts(folder: &Path) -> Result<ImageRecord> {
    let file = folder.join(FACTS);
    let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged\n  next: dbduel cache clear", file.display()))
}
