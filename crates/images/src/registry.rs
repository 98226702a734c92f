//! One repository of a registry, by the distribution protocol: manifests and blobs, asked for as often as it takes.
//!
//! What must stay true: a login goes to its own registry, and to the token server that this one names, over TLS, or to
//! this machine; no text of an error holds a login, a token or an address that was signed.

mod challenge;
pub mod credentials;
pub mod transport;

use credentials::DEFAULT_NAME;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RANGE, RETRY_AFTER, WWW_AUTHENTICATE};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

pub use self::challenge::Challenge;
use self::credentials::{Login, Logins};
use self::transport::{agent, cause, is_loopback};
use crate::background::Stop;
use crate::image::SMALL_BYTES_MAX;

const DEFAULT_HOST: &str = "registry-1.docker.io";
/// Waits before a request is sent again.
pub const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The longest wait that a registry may ask for.
const PATIENCE_MAX: Duration = Duration::from_secs(60);
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

pub struct Registry {
    /// As in `podman login NAME`.
    name: String,
    /// `https://registry.example:5000`
    base: String,
    repository: String,
    agent: Agent,
    logins: Logins,
    access: Mutex<Access>,
    stop: Stop,
}

/// How requests are authorised, once the registry has asked for it.
#[derive(Default)]
struct Access {
    authorization: Option<String>,
    /// The file that the login is from.
    file: Option<PathBuf>,
}

impl Registry {
    /// Asks nothing yet, but of this machine whether it speaks TLS.
    pub fn new(host: Option<&str>, repository: &str, logins: &Logins, stop: &Stop) -> Registry {
        let name = host.unwrap_or(DEFAULT_NAME);
        let host = if name == DEFAULT_NAME { DEFAULT_HOST } else { name };
        let agent = agent(host);
        let mut base = format!("https://{host}");
        if is_loopback(host) && agent.get(format!("{base}/v2/")).call().is_err() {
            base = format!("http://{host}");
        }
        Registry {
            name: name.to_owned(),
            base,
            repository: repository.to_owned(),
            agent,
            logins: logins.clone(),
            access: Mutex::default(),
            stop: stop.clone(),
        }
    }

    /// The bytes and the media type of a manifest, by tag or digest.
    pub fn manifest(&self, name: &str) -> Result<(Vec<u8>, String)> {
        let response = self.get(&format!("manifests/{name}"), MANIFESTS, 0)?;
        if response.status() != StatusCode::OK {
            return Err(self.no_manifest(name, response));
        }
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default().to_owned();
        let bytes = small(response).with_context(|| format!("{} breaks off a manifest", self.name))?;
        Ok((bytes, media_type))
    }

    /// A blob from a byte on; the answer 200 begins at the first one all the same.
    pub fn blob(&self, digest: &str, from: u64) -> Result<Response<Body>> {
        let response = self.get(&format!("blobs/{digest}"), "*/*", from)?;
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
            _ => Err(self.refusal(&response, &format!("does not send the blob {digest}"))),
        }
    }

    /// Waits before another attempt; None after the last one.
    pub fn wait(&self, attempt: usize) -> Result<Option<()>> {
        WAITS.get(attempt).map(|wait| self.stop.sleep(*wait)).transpose()
    }

    fn get(&self, path: &str, accept: &str, from: u64) -> Result<Response<Body>> {
        let url = format!("{}/v2/{}/{path}", self.base, self.repository);
        let (mut is_authorised, mut attempt) = (false, 0);
        loop {
            self.stop.check()?;
            let mut request = self.agent.get(&url).header(ACCEPT, accept);
            if from > 0 {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            if let Some(authorization) = self.access().authorization.clone() {
                request = request.header(AUTHORIZATION, authorization);
            }
            let wait = WAITS.get(attempt).copied();
            let wait = match request.call() {
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED && !is_authorised => {
                    self.authorise(&response)?;
                    is_authorised = true;
                    continue;
                }
                Ok(response) => match pause(&response, wait) {
                    Some(pause) => pause,
                    None => return Ok(response),
                },
                Err(error) => self.retry_after(&error, wait)?,
            };
            attempt += 1;
            self.stop.sleep(wait)?;
        }
    }

    /// How long to wait after a request without an answer, where another one is worth it.
    fn retry_after(&self, error: &ureq::Error, wait: Option<Duration>) -> Result<Duration> {
        let (why, is_temporary) = cause(error);
        let wait = wait.filter(|_| is_temporary);
        wait.ok_or_else(|| anyhow!("cannot reach the registry {}: {why}", self.base.split("://").last().unwrap_or("")))
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out what the registry wants to see with each request.
    fn authorise(&self, response: &Response<Body>) -> Result<()> {
        let headers = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenge = headers.filter_map(Challenge::parse).next();
        let challenge =
            challenge.with_context(|| format!("{} asks for a kind of login unknown to dbduel", self.name))?;
        let (login, file) = self.logins.find(&self.name, &self.repository)?.unzip();
        let authorization = match (challenge, login) {
            (Challenge::Basic, login) => {
                let login = login.and_then(|login| login.basic());
                login.ok_or_else(|| self.wants_login(None))?
            }
            (Challenge::Bearer { realm, service, scope }, login) => {
                let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.repository));
                let token =
                    self.token(&realm, &[("service", service.as_deref()), ("scope", Some(&scope))], login, &file);
                format!("Bearer {}", token?)
            }
        };
        *self.access() = Access { authorization: Some(authorization), file };
        Ok(())
    }

    /// A token for this repository, with a login where there is one.
    fn token(
        &self,
        realm: &str,
        parameters: &[(&str, Option<&str>)],
        login: Option<Login>,
        file: &Option<PathBuf>,
    ) -> Result<String> {
        let host = realm.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
        let is_safe = realm.starts_with("https://") || (realm.starts_with("http://") && is_loopback(host));
        ensure!(is_safe, "{} sends for tokens to `{host}`, which is not asked without encryption", self.name);
        let agent = agent(host);
        let given = parameters.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let answer = match &login {
            Some(Login::Identity(token)) => {
                let form = [("grant_type", "refresh_token"), ("client_id", "dbduel"), ("refresh_token", token)];
                agent.post(realm).send_form(given.chain(form))
            }
            _ => {
                let request = given.fold(agent.get(realm), |request, (name, value)| request.query(name, value));
                let basic = login.as_ref().and_then(Login::basic);
                basic.into_iter().fold(request, |request, basic| request.header(AUTHORIZATION, basic)).call()
            }
        };
        let response = answer.map_err(|error| anyhow!("cannot reach the token server {host}: {}", cause(&error).0))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.wants_login(file.as_deref())),
            _ => return Err(self.refusal(&response, "gives no token")),
        }
        let answer: Value = serde_json::from_slice(&small(response)?).unwrap_or_default();
        let token = answer["token"].as_str().or(answer["access_token"].as_str());
        token.map(str::to_owned).with_context(|| format!("the token server {host} gives no token"))
    }

    /// Why a manifest was not sent; a missing repository is another reason than a missing tag.
    fn no_manifest(&self, name: &str, response: Response<Body>) -> anyhow::Error {
        let status = response.status();
        if status == StatusCode::NOT_FOUND || status == StatusCode::FORBIDDEN {
            let tags = self.get("tags/list", "application/json", 0);
            if status == StatusCode::NOT_FOUND && tags.is_ok_and(|tags| tags.status() == StatusCode::OK) {
                let separator = if name.contains(':') { "@" } else { ":" };
                return anyhow!("{} has no {}{separator}{name}", self.name, self.repository);
            }
            let login = format!("or it needs a login: podman login {}", self.name);
            return anyhow!("{} has no {} ({login})", self.name, self.repository);
        }
        self.refusal(&response, &format!("does not send the manifest of {}", self.repository))
    }

    fn refusal(&self, response: &Response<Body>, what: &str) -> anyhow::Error {
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let file = self.access().file.clone();
                self.wants_login(file.as_deref())
            }
            StatusCode::TOO_MANY_REQUESTS => anyhow!(
                "{} allows no more pulls now (429)\n  next: log in with `podman login {}`, or try again {}",
                self.name,
                self.name,
                asked_wait(response)
                    .map_or("later".to_owned(), |wait| format!("in {} min", wait.as_secs().div_ceil(60)))
            ),
            status => anyhow!("{} {what}: it answers {}", self.name, status.as_u16()),
        }
    }

    fn wants_login(&self, file: Option<&Path>) -> anyhow::Error {
        let host = &self.name;
        let next = format!("next: `podman login {host}` or `docker login {host}`");
        match file {
            Some(file) => anyhow!("{host} refuses the login in {}\n  {next}", file.display()),
            None => {
                let files: Vec<String> = self.logins.files.iter().map(|file| file.display().to_string()).collect();
                anyhow!("{host} asks for a login, which none of these files has: {}\n  {next}", files.join(", "))
            }
        }
    }
}

/// How long to wait before asking again; None for an answer that counts.
pub fn pause(response: &Response<Body>, wait: Option<Duration>) -> Option<Duration> {
    let status = response.status();
    let wait = wait.filter(|_| status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS)?;
    let asked = asked_wait(response).unwrap_or(wait);
    (asked <= PATIENCE_MAX).then_some(asked)
}

/// How long the registry asks to wait.
fn asked_wait(response: &Response<Body>) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The body of an answer that is no blob.
fn small(response: Response<Body>) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    response.into_body().into_reader().take(SMALL_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SMALL_BYTES_MAX {
        bail!("it has more than {} MiB", SMALL_BYTES_MAX >> 20);
    }
    Ok(bytes)
}

/// Why the body of an answer broke off, for a reader.
pub fn why(error: std::io::Error) -> String {
    cause(&ureq::Error::from(error)).0
}
