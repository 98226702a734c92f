//! Packages of Maven and npm without their clients: the user's configuration says where they are, and one file is fetched
//! from there by its address.
//!
//! No host is known here. What must stay true: a login of the configuration is sent to the host that it is for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use images::{Download, Watch};

use super::interruption;
use super::package::{Client, Package};

/// Where packages of one client are.
#[derive(Debug, PartialEq, Eq)]
pub struct Mirror {
    base: String,
    authorization: Option<String>,
    /// What names it, for a reader.
    pub named_by: String,
    /// Set for dbduel, and not for the client.
    pub is_own: bool,
}

/// The environment whose configuration is read.
struct Configured<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The mirror that this user's environment or files name.
pub fn of_this_user(client: Client) -> Option<Mirror> {
    Configured { variable: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()) }.mirror(client)
}

impl Mirror {
    /// The address of a package's file.
    fn url(&self, package: &Package) -> Option<String> {
        let folder = match package.client {
            Client::Maven => {
                let mut parts = package.coordinates.split(':');
                let group = parts.next()?.replace('.', "/");
                format!("{group}/{}/{}", parts.next()?, parts.next()?)
            }
            Client::Npm => format!("{}/-", package.coordinates.rsplit_once('@')?.0),
            Client::Apt { .. } => return None,
        };
        Some(format!("{}/{folder}/{}", self.base.trim_end_matches('/'), package.file))
    }

    /// Fetches a package's file; its checksum is still to be compared.
    pub fn fetch(&self, package: &Package, to: PathBuf, progress: &dyn Fn(&str)) -> Result<()> {
        let url = self.url(package).with_context(|| format!("{} has no address", package.coordinates))?;
        let watch = Watch { progress, is_interrupted: &interruption::is_requested };
        let download = Download { url, authorization: self.authorization.clone(), to };
        let fetched = download.fetch(watch);
        fetched.with_context(|| format!("cannot fetch {} from the host in {}", package.coordinates, self.named_by))
    }
}

impl Configured<'_> {
    fn mirror(&self, client: Client) -> Option<Mirror> {
        let own = client.mirror_variable()?;
        if let Some(url) = (self.variable)(own) {
            return Some(mirror(&url, None, own.to_owned(), true));
        }
        match client {
            Client::Maven => self.maven(),
            Client::Npm => self.npm(),
            Client::Apt { .. } => None,
        }
    }

    /// The mirror of all repositories, or of the central one, in `~/.m2/settings.xml`.
    fn maven(&self) -> Option<Mirror> {
        let file = self.home()?.join(".m2/settings.xml");
        let text = without_comments(&std::fs::read_to_string(&file).ok()?);
        let value = |element: &str, name: &str| Some(self.filled(&unescaped(elements(element, name).next()?.trim())));
        let is_ours = |of: &String| of.split(',').any(|of| ["*", "central", "external:*"].contains(&of.trim()));
        let found =
            elements(&text, "mirror").find(|mirror| value(mirror, "mirrorOf").is_some_and(|of| is_ours(&of)))?;
        let id = value(found, "id");
        let server = elements(&text, "server").find(|server| id.is_some() && value(server, "id") == id);
        let login = server.and_then(|server| Some((value(server, "username")?, value(server, "password")?)));
        // A password in braces is one that only Maven can read.
        let login = login.filter(|(_, password)| !password.starts_with('{'));
        let authorization = login.map(|(user, password)| basic(&format!("{user}:{password}")));
        Some(mirror(&value(found, "url")?, authorization, file.display().to_string(), false))
    }

    /// `registry` as npm reads it: its variable, then the user's `.npmrc`, then the machine's.
    fn npm(&self) -> Option<Mirror> {
        let own = (self.variable)("NPM_CONFIG_USERCONFIG").or_else(|| (self.variable)("npm_config_userconfig"));
        let user = own.map(PathBuf::from).or_else(|| Some(self.home()?.join(".npmrc")));
        let mut settings = BTreeMap::new();
        let mut named_by = None;
        for file in [Some(PathBuf::from("/etc/npmrc")), user].into_iter().flatten() {
            for (key, value) in std::fs::read_to_string(&file).iter().flat_map(|text| self.npmrc(text)) {
                if key == "registry" {
                    named_by = Some(file.display().to_string());
                }
                settings.insert(key, value);
            }
        }
        for name in ["NPM_CONFIG_REGISTRY", "npm_config_registry"] {
            if let Some(url) = (self.variable)(name) {
                named_by = Some(name.to_owned());
                settings.insert("registry".to_owned(), url);
            }
        }
        let url = settings.get("registry")?;
        // `//host/path/:_authToken`
        let place = url.split_once(':')?.1.trim_end_matches('/');
        let of =
            |key: &str| settings.get(&format!("{place}/:{key}")).or_else(|| settings.get(&format!("{place}:{key}")));
        let token = of("_authToken").map(|token| format!("Bearer {token}"));
        let authorization = token.or_else(|| Some(format!("Basic {}", of("_auth")?)));
        Some(mirror(url, authorization, named_by?, false))
    }

    fn npmrc(&self, text: &str) -> Vec<(String, String)> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with([';', '#']));
        let pairs = lines.filter_map(|line| line.split_once('='));
        let plain = |value: &str| self.filled(value.trim().trim_matches(['"', '\'']));
        pairs.map(|(key, value)| (key.trim().to_owned(), plain(value))).collect()
    }

    fn home(&self) -> Option<PathBuf> {
        (self.variable)("HOME").map(PathBuf::from)
    }

    /// With the values of variables: `${NAME}` as npm writes it, `${env.NAME}` as Maven does.
    fn filled(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once("${") else { return text.to_owned() };
        let Some((name, after)) = rest.split_once('}') else { return text.to_owned() };
        let value = (self.variable)(name.strip_prefix("env.").unwrap_or(name)).unwrap_or_default();
        format!("{before}{value}{}", self.filled(after))
    }
}

/// A login in the address itself becomes the authorisation.
fn mirror(url: &str, authorization: Option<String>, named_by: String, is_own: bool) -> Mirror {
    let login = url.split_once("://").and_then(|(scheme, rest)| {
        let (login, rest) = rest.split_once('@').filter(|(login, _)| !login.contains('/'))?;
        let login = percent_encoding::percent_decode_str(login).decode_utf8_lossy().into_owned();
        Some((format!("{scheme}://{rest}"), basic(&login)))
    });
    match login {
        Some((base, login)) => Mirror { base, authorization: Some(login), named_by, is_own },
        None => Mirror { base: url.to_owned(), authorization, named_by, is_own },
    }
}

fn basic(login: &str) -> String {
    format!("Basic {}", STANDARD.encode(login))
}

/// What stands between the tags of a name, each time it does.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, inside) = rest.split_once(&open)?;
        let (inside, after) = inside.split_once(&close)?;
        rest = after;
        Some(inside)
    })
}

fn without_comments(text: &str) -> String {
    let Some((before, rest)) = text.split_once("<!--") else { return text.to_owned() };
    let after = rest.split_once("-->").map_or("", |(_, after)| after);
    format!("{before}{}", without_comments(after))
}

fn unescaped(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::super::package::Processor;
    use super::*;

    const MAVEN: Package = Package {
        client: Client::Maven,
        processor: Processor::Any,
        coordinates: "org.example:server-parts:5.7.1-2",
        file: "server-parts-5.7.1-2.jar",
        sha256: "",
        megabytes: 1,
    };
    const NPM: Package = Package {
        client: Client::Npm,
        processor: Processor::Any,
        coordinates: "server-linux@1.0.0",
        file: "server-linux-1.0.0.tgz",
        sha256: "",
        megabytes: 1,
    };

    /// The mirror of a user with these files below the home folder, and these variables.
    fn found(client: Client, files: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<Mirror> {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let variable = |name: &str| match name {
            "HOME" => Some(home.path().display().to_string()),
            _ => variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
        };
        Configured { variable: &variable }.mirror(client)
    }

    #[test]
    fn a_variable_of_its_own_comes_first_and_may_hold_a_login() {
        let npmrc = [(".npmrc", "registry=https://other.example/")];
        let mirror = found(Client::Npm, &npmrc, &[("DBDUEL_NPM_URL", "https://me:p%40ss@npm.example/repo/")]).unwrap();
        assert_eq!(mirror.url(&NPM).unwrap(), "https://npm.example/repo/server-linux/-/server-linux-1.0.0.tgz");
        assert_eq!(mirror.authorization, Some(basic("me:p@ss")));
        assert!(mirror.is_own && mirror.named_by == "DBDUEL_NPM_URL");
    }

    #[test]
    fn settings_of_maven_name_a_mirror_and_its_login_from_the_environment() {
        let settings = "<settings><!-- <mirror><mirrorOf>*</mirrorOf><url>https://no.example</url></mirror> -->
            <servers><server><id>other</id><username>x</username><password>y</password></server>
            <server><id>ours</id><username>me</username><password>${env.WORD}</password></server></servers>
            <mirrors><mirror><id>some</id><mirrorOf>snapshots</mirrorOf><url>https://some.example</url></mirror>
            <mirror><id>ours</id><mirrorOf>*</mirrorOf><url>https://${env.HOST}/maven?a=1&amp;b</url></mirror></mirrors>";
        let variables = [("WORD", "secret"), ("HOST", "maven.example")];
        let mirror = found(Client::Maven, &[(".m2/settings.xml", settings)], &variables).unwrap();
        assert_eq!(mirror.base, "https://maven.example/maven?a=1&b");
        assert_eq!(mirror.authorization, Some(basic("me:secret")));
        assert!(!mirror.is_own);
    }

    #[test]
    fn a_file_of_maven_lies_below_its_group() {
        let mirror = found(Client::Maven, &[], &[("DBDUEL_MAVEN_URL", "https://maven.example/m2")]).unwrap();
        let expected = "https://maven.example/m2/org/example/server-parts/5.7.1-2/server-parts-5.7.1-2.jar";
        assert_eq!(mirror.url(&MAVEN).unwrap(), expected);
    }

    #[test]
    fn npm_takes_its_variable_before_its_file_and_the_token_of_that_place() {
        let npmrc = "; ours\nregistry = \"https://npm.example/repo/\"\n//npm.example/repo/:_authToken=${TOKEN}\n\
                     //other.example/:_authToken=no\n";
        let files = [(".npmrc", npmrc)];
        let mirror = found(Client::Npm, &files, &[("TOKEN", "abc")]).unwrap();
        assert_eq!(mirror.base, "https://npm.example/repo/");
        assert_eq!(mirror.authorization.as_deref(), Some("Bearer abc"));
        assert!(mirror.named_by.ends_with(".npmrc"));
        let mirror = found(Client::Npm, &files, &[("npm_config_registry", "https://env.example")]).unwrap();
        assert_eq!((mirror.base.as_str(), mirror.authorization), ("https://env.example", None));
    }

    #[test]
    fn without_configuration_there_is_no_mirror_of_maven() {
        assert_eq!(found(Client::Maven, &[], &[]), None);
        assert_eq!(found(Client::Maven, &[(".m2/settings.xml", "<settings/>")], &[]), None);
    }

    /// Answers one request after the other with these; gives the address, and the heads that it was sent.
    fn serve(answers: Vec<&'static str>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let answer = |answer: &str| {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                stream.write_all(answer.as_bytes()).unwrap();
                head.join("\n")
            };
            answers.into_iter().map(answer).collect()
        });
        (address, served)
    }

    fn fetched(answers: Vec<&'static str>) -> (Result<String>, Vec<String>) {
        let (address, served) = serve(answers);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("package");
        let address = address.replace("http://", "http://me:secret@");
        let mirror = found(Client::Npm, &[], &[("DBDUEL_NPM_URL", &address)]).unwrap();
        let result = mirror.fetch(&NPM, file.clone(), &|_| {});
        (result.map(|()| std::fs::read_to_string(&file).unwrap()), served.join().unwrap())
    }

    #[test]
    fn a_package_is_fetched_with_the_login_and_again_after_an_error_of_the_host() {
        let answers = vec![
            "HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        ];
        let (result, heads) = fetched(answers);
        assert_eq!(result.unwrap(), "abc");
        for head in heads {
            let head = head.to_lowercase();
            assert!(head.starts_with("get /server-linux/-/server-linux-1.0.0.tgz "), "{head}");
            assert!(head.contains(&format!("authorization: {}", basic("me:secret").to_lowercase())), "{head}");
        }
    }

    #[test]
    fn an_absent_package_is_an_error_with_the_place_and_without_the_login() {
        let (result, _) = fetched(vec!["HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"]);
        let error = format!("{:#}", result.unwrap_err());
        assert!(error.contains("server-linux@1.0.0 from the host in DBDUEL_NPM_URL"), "{error}");
        assert!(error.contains("answers 404: it does not have the package") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn another_machine_is_not_asked_without_encryption() {
        let mirror = found(Client::Npm, &[], &[("DBDUEL_NPM_URL", "http://npm.example")]).unwrap();
        let error = format!("{:#}", mirror.fetch(&NPM, PathBuf::from("/nowhere/x"), &|_| {}).unwrap_err());
        assert!(error.contains("npm.example is not asked without encryption"), "{error}");
    }
}
