//! Packages of servers as catalogues name them, and the clients that they belong to.

/// A file that a package client can fetch.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub client: Client,
    pub processor: Processor,
    /// As the client names it: `group:artifact:version`, `name@version`, `name` of a Debian package.
    pub coordinates: &'static str,
    /// The name of the file the client leaves behind; empty for apt, which leaves many.
    pub file: &'static str,
    /// Empty for apt, which checks what it fetches against the suite's signed index.
    pub sha256: &'static str,
    pub megabytes: u32,
}

/// Which machines the programs of a package run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// The package client takes what this machine runs.
    Any,
    X86_64,
    Aarch64,
}

impl Processor {
    /// As compilers and kernels name it.
    pub fn name(self) -> &'static str {
        match self {
            Processor::Any => "any",
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        }
    }

    pub fn runs_on(self, machine: &str) -> bool {
        self == Processor::Any || self.name() == machine
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Maven,
    Npm,
    /// The packages of one suite of Debian.
    Apt {
        suite: &'static str,
        plugins: Option<Plugins>,
    },
}

/// Another package, of which a server gets its plugins and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plugins {
    pub package: &'static str,
    pub folder: &'static str,
}

impl Client {
    pub fn program(self) -> &'static str {
        match self {
            Client::Maven => "mvn",
            Client::Npm => "npm",
            Client::Apt { .. } => "apt-get",
        }
    }

    /// As a reader would search for it.
    pub fn title(self) -> &'static str {
        match self {
            Client::Maven => "Maven",
            Client::Npm => "npm",
            Client::Apt { .. } => "Debian",
        }
    }

    /// What to do where it is not here (Debian's names).
    pub(super) fn next(self) -> String {
        let install = match self {
            Client::Maven => "maven and default-jre-headless",
            Client::Npm => "npm",
            Client::Apt { .. } => "apt",
        };
        let mirror = self.mirror_variable().map(|name| format!(", or set {name} to the address of a repository"));
        format!("install {install}{}", mirror.unwrap_or_default())
    }

    /// What names a mirror of its packages for dbduel alone.
    pub(super) fn mirror_variable(self) -> Option<&'static str> {
        match self {
            Client::Maven => Some("DBDUEL_MAVEN_URL"),
            Client::Npm => Some("DBDUEL_NPM_URL"),
            Client::Apt { .. } => None,
        }
    }
}
