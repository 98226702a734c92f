//! The login of a registry, as the user's own client keeps it: the files of podman and docker, and their helpers.
//!
//! What must stay true: a login is read when a registry asks for one and at no other time; nothing of it is shown, and
//! it is kept in memory only.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Runs `docker-credential-NAME get` with a text for its standard input, and gives what it printed.
pub type RunHelper = fn(program: &str, input: &str) -> Result<String>;

/// Where the user's clients keep logins.
#[derive(Debug, Clone)]
pub struct Logins {
    /// In the order in which they are read.
    pub files: Vec<PathBuf>,
    pub run_helper: RunHelper,
}

/// More is no list of logins.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The key of Docker's default registry in its own files.
const DEFAULT_KEY: &str = "https://index.docker.io/v1/";
/// A helper gives a token in place of a password with this name.
const TOKEN_USER: &str = "<token>";

/// Not shown, not even by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    Password {
        user: String,
        password: String,
    },
    /// What a token server gives tokens for.
    Identity(String),
}

impl Login {
    /// The value of `Authorization` that names user and password.
    pub fn basic(&self) -> Option<String> {
        let Login::Password { user, password } = self else { return None };
        Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }
}

impl Logins {
    /// The files that podman and docker use in this environment.
    pub fn of_this_user(run_helper: RunHelper) -> Logins {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = folder("HOME");
        let below = |folder: Option<PathBuf>, path: &str| folder.map(|folder| folder.join(path));
        let files = [
            folder("REGISTRY_AUTH_FILE"),
            below(folder("XDG_RUNTIME_DIR"), "containers/auth.json"),
            below(home.clone(), ".config/containers/auth.json"),
            below(folder("DOCKER_CONFIG"), "config.json"),
            below(home, ".docker/config.json"),
        ];
        Logins { files: files.into_iter().flatten().collect(), run_helper }
    }

    /// The first login for a repository of a registry, with the file that it is from.
    pub fn find(&self, host: &str, repository: &str) -> Result<Option<(Login, PathBuf)>> {
        for file in &self.files {
            let Ok(text) = read(file) else { continue };
            let login = in_file(&text, host, repository, self.run_helper);
            let shown = || format!("cannot read the login of {host} from {}", file.display());
            if let Some(login) = login.with_context(shown)? {
                return Ok(Some((login, file.clone())));
            }
        }
        Ok(None)
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut text = Vec::new();
    std::fs::File::open(file)?.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// The login in the text of one file; helpers named for this registry come first, as in podman and docker.
pub fn in_file(text: &[u8], host: &str, repository: &str, run: RunHelper) -> Result<Option<Login>> {
    let Ok(file) = serde_json::from_slice::<Value>(text) else { anyhow::bail!("it is no JSON") };
    let keys = keys(host, repository);
    let of_registry = keys.iter().find_map(|key| file["credHelpers"][key].as_str());
    if let Some(helper) = of_registry {
        return from_helper(helper, &keys, run);
    }
    let entry = keys.iter().map(|key| &file["auths"][key]).find(|entry| entry.is_object());
    if let Some(login) = entry.and_then(in_entry) {
        return Ok(Some(login));
    }
    file["credsStore"].as_str().map_or(Ok(None), |helper| from_helper(helper, &keys, run))
}

/// How a registry may be called in a file: podman's keys may name a repository or the folders above it.
fn keys(host: &str, repository: &str) -> Vec<String> {
    let mut keys: Vec<String> = repository.match_indices('/').map(|(end, _)| repository[..end].to_owned()).collect();
    keys.push(repository.to_owned());
    keys.reverse();
    let mut keys: Vec<String> = keys.into_iter().map(|path| format!("{host}/{path}")).collect();
    keys.extend([host.to_owned(), format!("https://{host}"), format!("https://{host}/v1/"), format!("http://{host}")]);
    if host == DEFAULT_NAME {
        keys.extend([DEFAULT_KEY.to_owned(), "index.docker.io".to_owned()]);
    }
    keys
}

fn in_entry(entry: &Value) -> Option<Login> {
    if let Some(token) = entry["identitytoken"].as_str().filter(|token| !token.is_empty()) {
        return Some(Login::Identity(token.to_owned()));
    }
    let decoded = STANDARD.decode(entry["auth"].as_str()?.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (user, password) = text.trim_end_matches('\0').split_once(':')?;
    Some(Login::Password { user: user.to_owned(), password: password.to_owned() })
}

/// Asks a helper with the names that it may have stored the login under; it fails for those that it has not.
fn from_helper(helper: &str, keys: &[String], run: RunHelper) -> Result<Option<Login>> {
    let is_name =
        !helper.is_empty() && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    anyhow::ensure!(is_name, "`{}` is no name of a helper", helper.escape_debug());
    let program = format!("docker-credential-{helper}");
    let hosts = keys.iter().filter(|key| !key.contains('/') || key.starts_with("https://"));
    for host in hosts {
        let said = run(&program, host)?;
        let json = said.find('{').zip(said.rfind('}')).and_then(|(start, end)| said.get(start..=end));
        let Some(found) = json.and_then(|json| serde_json::from_str::<Value>(json).ok()) else { continue };
        let (Some(user), Some(secret)) = (found["Username"].as_str(), found["Secret"].as_str()) else { continue };
        return Ok(Some(match user {
            TOKEN_USER => Login::Identity(secret.to_owned()),
            user => Login::Password { user: user.to_owned(), password: secret.to_owned() },
        }));
    }
    Ok(None)
}

/// Docker's default registry: its name in references and logins, and the host that answers.
pub(super) const DEFAULT_NAME: &str = "docker.io";

#[cfg(test)]
mod tests {
    use super::*;

    fn no_helper(program: &str, _: &str) -> Result<String> {
        panic!("{program} is not asked")
    }

    fn a_helper(program: &str, host: &str) -> Result<String> {
        Ok(match (program, host) {
            ("docker-credential-keys", "https://registry.example") => {
                "{\"ServerURL\":\"x\",\"Username\":\"ann\",\"Secret\":\"from a helper\"}\n".to_owned()
            }
            ("docker-credential-tokens", _) => "{\"Username\":\"<token>\",\"Secret\":\"t\"}".to_owned(),
            _ => "credentials not found in native keychain".to_owned(),
        })
    }

    fn password(user: &str, password: &str) -> Option<Login> {
        Some(Login::Password { user: user.to_owned(), password: password.to_owned() })
    }

    fn check(text: &str, repository: &str, run: RunHelper, expected: Option<Login>) {
        let found = in_file(text.as_bytes(), "registry.example", repository, run).unwrap();
        assert!(found == expected, "{text}");
    }

    #[test]
    fn a_login_is_read_as_docker_and_podman_wrote_it() {
        let entry = |key: &str| format!(r#"{{"auths":{{"{key}":{{"auth":"YW5uOnNlOmNyZXQ="}}}}}}"#);
        for key in ["registry.example", "https://registry.example", "registry.example/db", "registry.example/db/pg"] {
            check(&entry(key), "db/pg", no_helper, password("ann", "se:cret"));
        }
        check(&entry("registry.example/db/pg"), "db/other", no_helper, None);
        check(&entry("other.example"), "db/pg", no_helper, None);
        let token = r#"{"auths":{"registry.example":{"auth":"YW5uOg==","identitytoken":"t"}}}"#;
        check(token, "pg", no_helper, Some(Login::Identity("t".to_owned())));
        let default = in_file(entry(DEFAULT_KEY).as_bytes(), DEFAULT_NAME, "library/mysql", no_helper).unwrap();
        assert!(default == password("ann", "se:cret"));
    }

    #[test]
    fn helpers_are_asked_where_a_file_names_one() {
        let from_helper = password("ann", "from a helper");
        check(r#"{"credsStore":"keys"}"#, "pg", a_helper, from_helper.clone());
        check(r#"{"credHelpers":{"registry.example":"keys"},"credsStore":"other"}"#, "pg", a_helper, from_helper);
        check(r#"{"credsStore":"tokens"}"#, "pg", a_helper, Some(Login::Identity("t".to_owned())));
        check(r#"{"credsStore":"empty"}"#, "pg", a_helper, None);
        check(r#"{"credHelpers":{"other.example":"keys"}}"#, "pg", no_helper, None);
    }

    #[test]
    fn what_is_no_file_of_logins_is_an_error_without_its_text() {
        let error = |text: &str| {
            let error = in_file(text.as_bytes(), "registry.example", "pg", no_helper).err().unwrap();
            format!("{error:#}")
        };
        assert_eq!(error("YW5uOnNlOmNyZXQ="), "it is no JSON");
        assert!(error(r#"{"credsStore":"../../bin/sh"}"#).contains("no name of a helper"));
        for harmless in ["[]", "{}", r#"{"auths":[]}"#, r#"{"auths":{"registry.example":{"auth":"%"}}}"#] {
            check(harmless, "pg", no_helper, None);
        }
    }

    #[test]
    fn the_first_file_with_a_login_counts() {
        let place = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = ["none", "a", "b"].map(|name| place.path().join(name)).to_vec();
        std::fs::write(&files[1], "{}").unwrap();
        std::fs::write(&files[2], r#"{"auths":{"registry.example":{"auth":"YW5uOnNlOmNyZXQ="}}}"#).unwrap();
        let logins = Logins { files: files.clone(), run_helper: no_helper };
        let (login, file) = logins.find("registry.example", "pg").unwrap().unwrap();
        assert!(Some(login) == password("ann", "se:cret") && file == files[2]);
    }
}
