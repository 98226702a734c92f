//! Packages of a Debian suite, fetched by an apt of our own and unpacked; nothing is installed.
//!
//! The mirror, its keys and its proxies are the machine's: the source that serves this machine's own
//! release is asked for another suite or another architecture. It decides nothing about servers.
//! What must stay true: the machine's lists, its package states and its hooks are not touched, apt
//! checks every package against the suite's signed index, and no text leaves this module with the
//! mirror's name in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};

use super::cache::read_folder;
use super::keeper::Program;
use super::programs::{find_on_path, run_client};

/// Suites that a machine without a release name of its own follows.
const ROLLING: &[&str] = &["sid", "unstable", "testing"];
/// What of a source belongs to the trust in its mirror, and is kept.
const KEPT_FIELDS: &[&str] =
    &["signed-by", "trusted", "allow-insecure", "allow-weak", "check-valid-until", "check-date"];
/// What takes the mirror's place in a message.
const MIRROR: &str = "<the machine's mirror>";

/// An apt with its own configuration, lists and states, in a folder that goes with its owner.
pub struct Apt {
    folder: PathBuf,
    config: PathBuf,
    source: Source,
}

/// A package of the suite, as its index describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub version: String,
    section: String,
}

impl Apt {
    /// Reads the index of `suite` (of the machine's own release, where there is none) for one
    /// architecture.
    pub fn open(suite: Option<&str>, architecture: &str, folder: &Path) -> Result<Apt> {
        for tool in ["apt-get", "apt-cache", "dpkg-deb"] {
            ensure!(find_on_path(tool).is_some(), "this server comes from Debian's packages, and `{tool}` is not here");
        }
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let (source, own_suite) = machine_source(&machine_sources()?, codename(&release).as_deref())
            .context("no source in /etc/apt serves this machine's own release of Debian, so its mirror is not known")?;
        let apt = Apt { folder: folder.join("apt"), config: folder.join("apt/apt.conf"), source };
        for part in ["state/lists/partial", "cache/archives/partial", "debs"] {
            fs::create_dir_all(apt.folder.join(part))?;
        }
        fs::write(apt.folder.join("status"), "")?;
        // What a server needs is in the main part of any suite; the machine's own may be divided otherwise.
        let (suite, parts) = suite.map_or((own_suite.as_str(), None), |suite| (suite, Some("main")));
        fs::write(apt.folder.join("suite.sources"), apt.source.for_suite(suite, parts))?;
        fs::write(&apt.config, configuration(&apt.folder, architecture))?;
        let updated = apt.run("apt-get", &["-q", "update"]);
        updated.with_context(|| format!("cannot read the package index of {suite}"))?;
        Ok(apt)
    }

    /// A package and the libraries that it needs, directly or by another library, with their versions.
    pub fn with_libraries(&self, package: &str) -> Result<BTreeMap<String, Described>> {
        let no = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"]
            .map(|kind| format!("--no-{kind}"));
        let no: Vec<&str> = no.iter().map(String::as_str).collect();
        let depends = self.ask(&[&["depends", "--recurse"], &no[..], &[package]].concat())?;
        let depends = parse_depends(&depends);
        let names: Vec<&str> = depends.keys().map(String::as_str).collect();
        ensure!(!names.is_empty(), "the suite has no package {package}");
        let described = self.describe(&names)?;
        ensure!(described.contains_key(package), "the suite has no package {package}");
        let wanted = libraries_of(package, &depends, &described);
        Ok(described.into_iter().filter(|(name, _)| wanted.contains(name)).collect())
    }

    /// Packages in the index; those it does not have are absent.
    pub fn describe(&self, packages: &[&str]) -> Result<BTreeMap<String, Described>> {
        Ok(parse_show(&self.ask(&[&["show", "--no-all-versions"], packages].concat())?))
    }

    /// Downloads packages and unpacks them all into one tree.
    pub fn unpack<S: AsRef<str>>(&self, packages: &[S], root: &Path) -> Result<()> {
        let names: Vec<&str> = packages.iter().map(AsRef::as_ref).collect();
        let debs = self.folder.join("debs");
        self.run("apt-get", &[&["-q", "download"], &names[..]].concat())
            .with_context(|| format!("cannot download {}", names.join(", ")))?;
        let found = read_folder(&debs)?;
        let found: Vec<PathBuf> = found
            .iter()
            .map(fs::DirEntry::path)
            .filter(|path| path.extension().is_some_and(|end| end == "deb"))
            .collect();
        ensure!(found.len() == names.len(), "apt-get left {} of {} packages", found.len(), names.len());
        for deb in found {
            let unpack = Program::new("dpkg-deb", &self.folder.join("unpack.log")).arg("-x").arg(&deb).arg(root);
            run_client(unpack, &debs)?;
            fs::remove_file(deb)?;
        }
        Ok(())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let log = self.folder.join("client.log");
        let _ = fs::remove_file(&log);
        let program = Program::new(program, &log).arg("-c").arg(&self.config).args(arguments.iter().copied());
        run_client(program, &self.folder.join("debs"))
            .map_err(|error| anyhow!(self.source.unnamed(&format!("{error:#}"))))
    }

    /// What `apt-cache` answers.
    fn ask(&self, arguments: &[&str]) -> Result<String> {
        self.run("apt-cache", arguments)?;
        Ok(fs::read_to_string(self.folder.join("client.log"))?)
    }
}

/// The libraries below a package: from each library on, only libraries are followed, so that the
/// tools which a server's package also wants stay away.
fn libraries_of(
    package: &str,
    depends: &BTreeMap<String, Vec<String>>,
    described: &BTreeMap<String, Described>,
) -> BTreeSet<String> {
    let is_library = |name: &str| described.get(name).is_some_and(|package| package.section == "libs");
    let mut found = BTreeSet::from([package.to_owned()]);
    let mut open = VecDeque::from([package.to_owned()]);
    while let Some(name) = open.pop_front() {
        for needed in depends.get(&name).into_iter().flatten() {
            if is_library(needed) && found.insert(needed.clone()) {
                open.push_back(needed.clone());
            }
        }
    }
    found
}

/// `apt-cache depends --recurse`: a name at the margin, below it what it needs. A bar before a line
/// means that the next one is an alternative, which is left out.
fn parse_depends(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut package, mut is_alternative) = (String::new(), false);
    for line in text.lines() {
        if !line.starts_with(' ') {
            (package, is_alternative) = (line.trim().to_owned(), false);
            all.entry(package.clone()).or_default();
            continue;
        }
        let needed = ["Depends: ", "PreDepends: "]
            .iter()
            .find_map(|kind| line.trim_start_matches([' ', '|']).strip_prefix(kind));
        let Some(needed) = needed else { continue };
        if !is_alternative {
            all.entry(package.clone()).or_default().push(needed.trim().to_owned());
        }
        is_alternative = line.trim_start().starts_with('|');
    }
    all.retain(|name, _| !name.is_empty() && !name.starts_with('<'));
    all
}

fn parse_show(text: &str) -> BTreeMap<String, Described> {
    let described = parse_stanzas(text).into_iter().filter_map(|stanza| {
        let field = |name: &str| stanza.get(name).cloned();
        // `oldlibs` and `contrib/libs` are not what a server of the main archive needs.
        Some((
            field("package")?,
            Described { version: field("version")?, section: field("section").unwrap_or_default() },
        ))
    });
    described.collect()
}

/// One entry of apt's sources: field names in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source(BTreeMap<String, String>);

impl Source {
    fn words(&self, field: &str) -> impl Iterator<Item = &str> {
        self.0.get(field).into_iter().flat_map(|value| value.split_whitespace())
    }

    fn is_off(&self) -> bool {
        self.words("enabled").any(|word| ["no", "false", "0"].contains(&word))
    }

    /// The same mirror, trusted for the same reasons, with another suite; of its components as many as here.
    fn for_suite(&self, suite: &str, components: Option<&str>) -> String {
        let mut text = "Types: deb\n".to_owned();
        let uris: Vec<&str> = self.words("uris").collect();
        let components = components.or(self.0.get("components").map(String::as_str)).unwrap_or("main");
        text += &format!("URIs: {}\nSuites: {suite}\nComponents: {components}\n", uris.join(" "));
        for field in KEPT_FIELDS {
            if let Some(value) = self.0.get(*field) {
                text += &format!("{field}: {value}\n");
            }
        }
        text
    }

    /// A text without the mirror's addresses and names.
    fn unnamed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for uri in self.words("uris") {
            let host = uri.split("://").nth(1).unwrap_or(uri).split('/').next().unwrap_or(uri);
            let bare = host.rsplit('@').next().unwrap_or(host);
            for name in [uri, host, bare, bare.split(':').next().unwrap_or(bare)] {
                if !name.is_empty() {
                    text = text.replace(name, MIRROR);
                }
            }
        }
        text
    }
}

/// Every source that this machine's apt has, in both of its formats.
fn machine_sources() -> Result<Vec<Source>> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let parts = read_folder(Path::new("/etc/apt/sources.list.d"))?;
    let mut parts: Vec<PathBuf> = parts.iter().map(fs::DirEntry::path).collect();
    parts.sort();
    files.extend(parts);
    let mut sources = Vec::new();
    for file in files {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        match file.extension().and_then(|end| end.to_str()) {
            Some("list") => sources.extend(parse_list(&read(&file))),
            Some("sources") => sources.extend(parse_stanzas(&read(&file)).into_iter().map(Source)),
            _ => {}
        }
    }
    Ok(sources)
}

/// `VERSION_CODENAME` of /etc/os-release.
fn codename(release: &str) -> Option<String> {
    let line = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(line.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// The source that serves this machine's own release, and the name of that suite.
fn machine_source(sources: &[Source], codename: Option<&str>) -> Option<(Source, String)> {
    let wanted: Vec<&str> = codename.into_iter().chain(ROLLING.iter().copied()).collect();
    wanted.into_iter().find_map(|suite| {
        let serves = |source: &&Source| {
            !source.is_off()
                && source.words("types").any(|word| word == "deb")
                && source.words("suites").any(|word| word == suite)
                && source.words("components").any(|word| word == "main")
        };
        sources.iter().find(serves).map(|source| (source.clone(), suite.to_owned()))
    })
}

/// `deb [signed-by=/key trusted=yes] URI SUITE COMPONENT…`, one source on a line.
fn parse_list(text: &str) -> Vec<Source> {
    let parse = |line: &str| {
        let line = line.split('#').next().unwrap_or("").trim();
        let (kind, rest) = line.split_once(char::is_whitespace)?;
        let rest = rest.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let mut fields = BTreeMap::from([("types".to_owned(), kind.to_owned())]);
        fields.insert("uris".to_owned(), words.next()?.to_owned());
        fields.insert("suites".to_owned(), words.next()?.to_owned());
        fields.insert("components".to_owned(), words.collect::<Vec<_>>().join(" "));
        let options = options.split_whitespace().filter_map(|option| option.split_once('='));
        fields.extend(options.map(|(name, value)| (name.to_ascii_lowercase(), value.replace(',', " "))));
        Some(Source(fields))
    };
    text.lines().filter_map(parse).collect()
}

/// Stanzas of `Field: value`, as apt's sources and its index have them. A line that begins with a
/// space goes on with the value before, line break included: a key may stand there.
fn parse_stanzas(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut stanzas = vec![BTreeMap::new()];
    let mut last = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let stanza = stanzas.last_mut().expect("there is always one stanza open");
        if line.trim().is_empty() {
            stanzas.push(BTreeMap::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some(value) = stanza.get_mut(&last) {
                *value = format!("{value}\n{line}");
            }
        } else if let Some((name, value)) = line.split_once(':') {
            last = name.trim().to_ascii_lowercase();
            stanza.insert(last.clone(), value.trim().to_owned());
        }
    }
    stanzas.retain(|stanza| !stanza.is_empty());
    stanzas
}

/// What sets our apt apart from the machine's: everything else, proxies above all, is the machine's.
fn configuration(folder: &Path, architecture: &str) -> String {
    let folder = folder.display();
    // Hooks of the machine would refresh its own catalogues; preferences would choose other versions.
    format!(
        "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n\
         #clear APT::Architectures;\n#clear Acquire::IndexTargets::deb::DEP-11;\n\
         APT::Architecture \"{architecture}\";\nAPT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Default-Release \"\";\nAPT::Sandbox::User \"root\";\nAcquire::Languages \"none\";\n\
         Dir::Etc::SourceList \"{folder}/suite.sources\";\nDir::Etc::SourceParts \"-\";\n\
         Dir::Etc::Preferences \"/dev/null\";\nDir::Etc::PreferencesParts \"-\";\n\
         Dir::State \"{folder}/state\";\nDir::State::Lists \"{folder}/state/lists\";\n\
         Dir::State::status \"{folder}/status\";\nDir::Cache \"{folder}/cache\";\n\
         Dir::Cache::pkgcache \"pkgcache.bin\";\nDir::Cache::srcpkgcache \"srcpkgcache.bin\";\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "Types: deb deb-src\n# a comment\nURIs: http://mirror.test/debian\nSuites: bookworm bookworm-updates\n\
                          Components: main contrib\nSigned-By:\n -----BEGIN PGP-----\n .\n abc\n\n\
                          Types: deb\nURIs: http://mirror.test/security\nSuites: bookworm-security\nComponents: main\n";

    fn sources(text: &str) -> Vec<Source> {
        parse_stanzas(text).into_iter().map(Source).collect()
    }

    #[test]
    fn the_mirror_of_the_machines_own_release_is_asked_for_another_suite() {
        let (source, suite) = machine_source(&sources(DEB822), Some("bookworm")).unwrap();
        assert_eq!(suite, "bookworm");
        assert_eq!(
            source.for_suite("sid", Some("main")),
            "Types: deb\nURIs: http://mirror.test/debian\nSuites: sid\nComponents: main\n\
             signed-by: \n -----BEGIN PGP-----\n .\n abc\n"
        );
        assert_eq!(machine_source(&sources(DEB822), Some("noble")), None);
    }

    #[test]
    fn the_older_format_keeps_its_options_too() {
        let text = "# deb http://no.test/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k.gpg trusted=yes] http://mirror.test/debian bookworm main non-free # ours\n";
        let (source, _) = machine_source(&parse_list(text), Some("bookworm")).unwrap();
        assert_eq!(
            source.for_suite("bookworm", None),
            "Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\nComponents: main non-free\n\
             signed-by: /k.gpg\ntrusted: yes\n"
        );
    }

    #[test]
    fn a_source_that_is_switched_off_serves_nobody() {
        let off = format!("Enabled: no\n{DEB822}");
        assert_eq!(machine_source(&sources(&off), Some("bookworm")), None);
    }

    #[test]
    fn a_machine_without_a_release_name_follows_a_rolling_suite() {
        let rolling = DEB822.replace("Suites: bookworm ", "Suites: sid ");
        assert_eq!(machine_source(&sources(&rolling), None).unwrap().1, "sid");
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        assert_eq!(codename("ID=debian\n"), None);
    }

    #[test]
    fn no_message_names_the_mirror() {
        let source = &parse_list("deb http://user:pw@mirror.test:8080/debian sid main")[0];
        let message = "Err:1 http://user:pw@mirror.test:8080/debian sid: could not connect to mirror.test (1.2.3.4)";
        assert!(!source.unnamed(message).contains("mirror.test"), "{}", source.unnamed(message));
    }

    #[test]
    fn only_libraries_below_a_server_are_fetched_with_it() {
        let depends = "server\n  Depends: libone\n |Depends: liba\n  Depends: libb\n  Depends: perl\n  Depends: <virtual>\n\
                       libone\n  PreDepends: libc6\n  Depends: tool\nliba\nlibb\nlibc6\nperl\n  Depends: libperl\nlibperl\ntool\n<virtual>\n    liba\n";
        let depends = parse_depends(depends);
        assert_eq!(depends["server"], ["libone", "liba", "perl", "<virtual>"]);
        let stanza = |name: &str, section: &str| {
            format!("Package: {name}\nVersion: 1\nSection: {section}\nDescription: x\n y: z\n\n")
        };
        let shown = ["libone", "liba", "libb", "libc6", "libperl"].map(|name| stanza(name, "libs")).concat();
        let shown = shown + &stanza("server", "database") + &stanza("perl", "perl") + &stanza("tool", "utils");
        let found = libraries_of("server", &depends, &parse_show(&shown));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["liba", "libc6", "libone", "server"]);
    }
}
