//! One file by its address, such as a package of a mirror; whether it is the right one, its checksum tells the caller.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use ureq::http::StatusCode;
use ureq::http::header::AUTHORIZATION;

use crate::background::{Stop, Watch, in_background};
use crate::registry::transport::{agent, cause, is_loopback};
use crate::registry::{WAITS, pause, why};

/// What is fetched, and into which file. What must stay true: an authorisation goes to the host of the address alone,
/// over TLS or to this machine, and no text of an error holds it.
pub struct Download {
    pub url: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    pub to: PathBuf,
}

impl Download {
    /// Fetches it, by the proxy of the environment where one is named; interrupted, it ends at once.
    pub fn fetch(self, watch: Watch) -> Result<()> {
        in_background(watch, move |stop, _| {
            let host = self.host()?.to_owned();
            let agent = agent(&host);
            let mut waits = WAITS.into_iter();
            loop {
                stop.check()?;
                let wait = waits.next();
                let mut request = agent.get(&self.url);
                if let Some(authorization) = &self.authorization {
                    request = request.header(AUTHORIZATION, authorization);
                }
                let (failure, wait) = match request.call() {
                    Ok(response) if response.status() == StatusCode::OK => {
                        match self.write(response.into_body().into_reader(), stop) {
                            Ok(()) => return Ok(()),
                            Err(error) => (error.context(format!("{host} breaks off")), wait),
                        }
                    }
                    Ok(response) => {
                        let status = response.status();
                        let hint = match status {
                            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ": it wants another login",
                            StatusCode::NOT_FOUND => ": it does not have the package",
                            _ => "",
                        };
                        (anyhow!("{host} answers {}{hint}", status.as_u16()), pause(&response, wait))
                    }
                    Err(error) => {
                        let (why, is_temporary) = cause(&error);
                        (anyhow!("cannot reach {host}: {why}"), wait.filter(|_| is_temporary))
                    }
                };
                stop.sleep(wait.ok_or(failure)?)?;
            }
        })
    }

    /// Its host, with the port, where it may be asked.
    fn host(&self) -> Result<&str> {
        let (scheme, rest) = self.url.split_once("://").context("an address begins with https://")?;
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        ensure!(!host.is_empty() && !host.contains('@'), "the address of a package names a host and no login");
        let is_safe = scheme == "https" || (scheme == "http" && is_loopback(host));
        ensure!(is_safe, "{host} is not asked without encryption: its address must begin with https://");
        Ok(host)
    }

    fn write(&self, mut body: impl Read, stop: &Stop) -> Result<()> {
        let mut file = File::create(&self.to).with_context(|| format!("cannot make {}", self.to.display()))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = body.read(&mut buffer).map_err(|error| anyhow!(why(error)))?;
            stop.check()?;
            if count == 0 {
                return Ok(());
            }
            file.write_all(&buffer[..count]).with_context(|| format!("cannot write {}", self.to.display()))?;
        }
    }
}
