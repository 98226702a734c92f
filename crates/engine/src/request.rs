//! What may be asked of an engine: a version, where the server comes from, and where its data lie.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::password::PasswordSource;
use crate::target_url::TargetUrl;

/// Which release of an engine was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionRequest {
    /// No version: the newest release that the catalogue or this machine has.
    Newest,
    /// `@system`: whatever is installed on this machine.
    System,
    /// A full version, or the beginning of one: `5.6.24`, `17`, `10.11` (from `10.11.*`).
    Series(String),
}

/// Where a contender's server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Provisioned into the cache, or found on this machine.
    Managed,
    /// A server the user unpacked.
    Basedir(PathBuf),
    /// A vendor's archive, unpacked into the cache.
    Archive(Archive),
    /// A container image, as a source of files.
    Image(ImageSource),
    /// A server that runs anyway, and that dbduel does not manage.
    Target(Box<TargetChoice>),
}

/// A vendor's archive of a server. Its bytes are what counts: the file may have gone once they are in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub file: PathBuf,
    /// In hexadecimal.
    pub sha256: String,
}

/// A container image. Its digest is what counts: a tag may move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSource {
    /// As an experiment file has it, with the absolute path of a file.
    pub reference: String,
    /// Of its manifest, in hexadecimal; None until a registry or a store has been asked what the reference means.
    pub digest: Option<String>,
    /// Of the index that the manifest was chosen from, where that is known.
    pub index_digest: Option<String>,
    pub pull: PullPolicy,
    /// The path inside of the server that is meant, where there are several.
    pub server: Option<PathBuf>,
}

/// When a registry or a store is asked what a name means: the key `pull`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// Where the cache has nothing of that name.
    Missing,
    /// Once a run.
    Always,
    Never,
}

/// A server that dbduel does not manage, and what it may do there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetChoice {
    pub url: TargetUrl,
    /// Tables that dbduel did not make may be dropped.
    pub overwrite: bool,
    pub password: PasswordSource,
}

/// Where a contender's data directory lies while a trial runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    Disk,
    Tmpfs,
    Directory(PathBuf),
}

impl Storage {
    /// As it stands in an experiment file.
    pub fn word(&self) -> String {
        match self {
            Storage::Disk => "disk".to_owned(),
            Storage::Tmpfs => "tmpfs".to_owned(),
            Storage::Directory(path) => path.display().to_string(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCache {
    Warm,
    Cold,
    Direct,
}

/// How a trial comes by its data directory: the key `work_copy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkCopy {
    /// Every byte of it.
    Full,
    /// The file system lets it share blocks with the snapshot until they are written.
    Reflink,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Socket,
    Tcp,
    /// TCP to this address of this host, for clients on others: `server_listen` in `[cluster]`.
    Address(Ipv4Addr),
    /// TCP to a server in a network namespace of its own.
    Namespace,
}

pub const PAGE_CACHE_WORDS: &[(&str, Option<PageCache>)] =
    &[("warm", Some(PageCache::Warm)), ("cold", Some(PageCache::Cold)), ("direct", Some(PageCache::Direct))];
pub const WORK_COPY_WORDS: &[(&str, Option<WorkCopy>)] =
    &[("copy", Some(WorkCopy::Full)), ("reflink", Some(WorkCopy::Reflink))];
pub const PULL_WORDS: &[(&str, Option<PullPolicy>)] =
    &[("missing", Some(PullPolicy::Missing)), ("always", Some(PullPolicy::Always)), ("never", Some(PullPolicy::Never))];
pub const TRANSPORT_WORDS: &[(&str, Option<Transport>)] =
    &[("socket", Some(Transport::Socket)), ("tcp", Some(Transport::Tcp)), ("namespace", Some(Transport::Namespace))];

/// The name of a value in a file, from the same list that reads it.
pub fn word_of<T: Copy + PartialEq>(words: &[(&'static str, Option<T>)], value: T) -> &'static str {
    let found = words.iter().find(|(_, meaning)| *meaning == Some(value));
    found.map(|(word, _)| *word).expect("every value of a choice has its word")
}

impl PageCache {
    /// As it stands in an experiment file.
    pub fn word(self) -> &'static str {
        word_of(PAGE_CACHE_WORDS, self)
    }
}

impl WorkCopy {
    /// As it stands in an experiment file.
    pub fn word(self) -> &'static str {
        word_of(WORK_COPY_WORDS, self)
    }
}

impl Transport {
    /// As it stands in an experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Transport::Address(_) => Transport::Tcp.word(),
            own => word_of(TRANSPORT_WORDS, own),
        }
    }
}
