//! References to images: Docker's and Podman's names, and the prefixes of containers-transports(5) for images in files.
//!
//! A reference is read without any network.

use std::fmt;
use std::path::PathBuf;

use crate::Digest;

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// In a registry; without a host in Docker's default one.
    Registry { host: Option<String>, repository: String, tag: Option<String>, digest: Option<Digest> },
    /// A folder with an OCI image layout.
    Layout { folder: PathBuf, tag: Option<String> },
    /// A tar of an OCI image layout.
    OciArchive { file: PathBuf, tag: Option<String> },
    /// What `docker save` writes.
    DockerArchive { file: PathBuf, name: Option<String> },
    /// In a store of this machine, which its own program reads.
    Stored { store: LocalStore, name: String },
}

/// The images that a container engine keeps on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalStore {
    Podman,
    Docker,
}

impl LocalStore {
    /// The program that saves its images, and its arguments in front of a file and a name.
    pub fn save(self) -> (&'static str, &'static [&'static str]) {
        match self {
            LocalStore::Podman => ("podman", &["save", "--quiet", "--format", "docker-archive", "--output"]),
            LocalStore::Docker => ("docker", &["save", "--output"]),
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            LocalStore::Podman => "containers-storage",
            LocalStore::Docker => "docker-daemon",
        }
    }
}

impl Reference {
    /// Reads a reference; the error is a fragment that the caller puts a place in front of.
    pub fn parse(text: &str) -> Result<Reference, String> {
        if text.is_empty() || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err("an image's name is empty or contains a space".to_owned());
        }
        let prefixed = text.split_once(':').map(|(prefix, rest)| (prefix, split_tag(rest)));
        match prefixed {
            Some(("oci", (folder, tag))) => Ok(Reference::Layout { folder: path(folder)?, tag }),
            Some(("oci-archive", (file, tag))) => Ok(Reference::OciArchive { file: path(file)?, tag }),
            Some(("docker-archive", (file, name))) => Ok(Reference::DockerArchive { file: path(file)?, name }),
            Some(("containers-storage", _)) => stored(LocalStore::Podman, text),
            Some(("docker-daemon", _)) => stored(LocalStore::Docker, text),
            _ if text.starts_with(['/', '.', '~']) => {
                Err(format!("`{text}` is a path: write oci-archive:{text} or docker-archive:{text}"))
            }
            _ => registry(text),
        }
    }
}

/// A path, and what stands behind its first colon.
fn split_tag(text: &str) -> (&str, Option<String>) {
    text.split_once(':').map_or((text, None), |(path, tag)| (path, Some(tag.to_owned())))
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the prefix has no path behind it".to_owned()) } else { Ok(PathBuf::from(text)) }
}

fn stored(store: LocalStore, text: &str) -> Result<Reference, String> {
    let name = text.split_once(':').map_or("", |(_, name)| name);
    // It is an argument of a program.
    if name.is_empty() || name.starts_with('-') {
        return Err(format!("`{text}` names no image behind its prefix"));
    }
    Ok(Reference::Stored { store, name: name.to_owned() })
}

fn registry(text: &str) -> Result<Reference, String> {
    let (name, digest) = match text.split_once('@') {
        Some((name, _)) if name.contains(':') && !name.contains('/') => {
            return registry_with_digest(text, name);
        }
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    with_digest(name, digest)
}

/// `user:password@host` looks like a tag and a digest.
fn registry_with_digest(text: &str, name: &str) -> Result<Reference, String> {
    let digest = &text[name.len() + 1..];
    if !digest.contains(':') || digest.contains('/') {
        return Err("an image's name contains a user and a password; use `podman login` or `docker login`".to_owned());
    }
    with_digest(name, Some(digest))
}

fn with_digest(name: &str, digest: Option<&str>) -> Result<Reference, String> {
    let digest = digest.map(str::parse).transpose()?;
    let (host, rest) = match name.split_once('/') {
        Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), rest),
        _ => (None, name),
    };
    let (repository, tag) = rest.split_once(':').map_or((rest, None), |(repository, tag)| (repository, Some(tag)));
    host.map_or(Ok(()), checked_host)?;
    repository.split('/').try_for_each(checked_component)?;
    tag.map_or(Ok(()), checked_tag)?;
    // Docker's registry keeps the images of its own library in a folder.
    let library = if host.is_none() && !repository.contains('/') { "library/" } else { "" };
    Ok(Reference::Registry {
        host: host.map(str::to_owned),
        repository: format!("{library}{repository}"),
        tag: tag.map(str::to_owned),
        digest,
    })
}

fn checked_host(host: &str) -> Result<(), String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if is_name && is_port { Ok(()) } else { Err(format!("`{host}` is no host of a registry")) }
}

fn checked_component(component: &str) -> Result<(), String> {
    if component.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(format!("`{component}` contains upper case letters, which a repository's name cannot have"));
    }
    let is_plain = component.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    if is_plain && is_edge(component.bytes().next()) && is_edge(component.bytes().next_back()) {
        return Ok(());
    }
    Err(format!(
        "`{component}` is no part of a repository's name: expected letters, digits, and `.`, `_`, `-` between them"
    ))
}

fn checked_tag(tag: &str) -> Result<(), String> {
    if tag.contains(':') {
        return Err(format!("`{tag}` holds two tags"));
    }
    let is_plain = tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let starts = tag.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain && starts && tag.len() <= 128 { Ok(()) } else { Err(format!("`{tag}` is no tag")) }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (start, behind) = match self {
            Reference::Registry { host, repository, tag, digest } => {
                let host = host.as_ref().map(|host| format!("{host}/")).unwrap_or_default();
                let digest = digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
                let tag = tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
                // The short name means something else where it has folders, or is that of a store.
                let short = repository.strip_prefix("library/").map(|short| format!("{short}{tag}{digest}"));
                return match short.filter(|short| host.is_empty() && Reference::parse(short).as_ref() == Ok(self)) {
                    Some(short) => out.write_str(&short),
                    None => write!(out, "{host}{repository}{tag}{digest}"),
                };
            }
            Reference::Layout { folder, tag } => (format!("oci:{}", folder.display()), tag),
            Reference::OciArchive { file, tag } => (format!("oci-archive:{}", file.display()), tag),
            Reference::DockerArchive { file, name } => (format!("docker-archive:{}", file.display()), name),
            Reference::Stored { store, name } => (format!("{}:{name}", store.prefix()), &None),
        };
        write!(out, "{start}{}", behind.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn in_registry(text: &str) -> (Option<String>, String, Option<String>, bool) {
        match Reference::parse(text) {
            Ok(Reference::Registry { host, repository, tag, digest }) => (host, repository, tag, digest.is_some()),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn names_are_read_as_docker_and_podman_read_them() {
        let check = |text: &str, host: Option<&str>, repository: &str, tag: Option<&str>, digest: bool| {
            let expected = (host.map(str::to_owned), repository.to_owned(), tag.map(str::to_owned), digest);
            assert_eq!(in_registry(text), expected, "{text}");
            assert_eq!(Reference::parse(text).unwrap().to_string(), text);
        };
        check("mysql", None, "library/mysql", None, false);
        check("mysql:8.4", None, "library/mysql", Some("8.4"), false);
        check("library/db/pg", None, "library/db/pg", None, false);
        check("library/oci:1", None, "library/oci", Some("1"), false);
        check("percona/percona-server:8.0", None, "percona/percona-server", Some("8.0"), false);
        check("registry.example:5000/db/pg:17", Some("registry.example:5000"), "db/pg", Some("17"), false);
        check("localhost/pg", Some("localhost"), "pg", None, false);
        check("[::1]:5000/pg:17", Some("[::1]:5000"), "pg", Some("17"), false);
        check(&format!("mysql:8.4@sha256:{HEX}"), None, "library/mysql", Some("8.4"), true);
        check(&format!("registry.example/db/pg@sha256:{HEX}"), Some("registry.example"), "db/pg", None, true);
    }

    #[test]
    fn prefixes_name_images_in_files() {
        let check = |text: &str, expected: Reference| {
            assert_eq!(Reference::parse(text).as_ref(), Ok(&expected), "{text}");
            assert_eq!(expected.to_string(), text);
        };
        check("oci:./layout:ma", Reference::Layout { folder: "./layout".into(), tag: Some("ma".into()) });
        check("oci:layout", Reference::Layout { folder: "layout".into(), tag: None });
        check("oci-archive:/a/b.tar", Reference::OciArchive { file: "/a/b.tar".into(), tag: None });
        let name = Some("db/pg:17".to_owned());
        check("docker-archive:a.tar:db/pg:17", Reference::DockerArchive { file: "a.tar".into(), name });
        let stored = |store| Reference::Stored { store, name: "localhost/pg:17".into() };
        check("containers-storage:localhost/pg:17", stored(LocalStore::Podman));
        check("docker-daemon:localhost/pg:17", stored(LocalStore::Docker));
    }

    #[test]
    fn what_is_no_reference_is_refused_with_the_reason() {
        let check = |text: &str, reason: &str| {
            let error = Reference::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        };
        check("", "empty");
        check("my sql", "space");
        check("MySQL:8.4", "upper case");
        check("mysql:8.4:9", "two tags");
        check("mysql@sha256:abc", "64 hexadecimal");
        check("user:secret@registry.example/pg", "podman login");
        check("user:secret@registry.example:5000/pg", "podman login");
        check("./img.tar", "oci-archive:./img.tar or docker-archive:./img.tar");
        check("a//b", "no part of a repository");
        check("registry.example:x/pg", "no host");
        check("oci:", "no path");
        check("mysql:-x", "no tag");
        check("docker-daemon:", "names no image");
        check("containers-storage:--output", "names no image");
        check("[::x]/pg", "no host");
    }
}
