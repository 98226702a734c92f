//! Debian's `docker-registry` on a loopback port, and what is put into it by `PUT` of a manifest.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::image_files::quiet;

pub const USER: &str = "bench";
/// The marker that must be found nowhere.
pub const PASSWORD: &str = "marker-password-of-the-bench";
/// bcrypt of it, as `htpasswd -B` writes it.
const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuJC70WmkjtavS4g4OIklgLdR.PTcXEna";

pub struct Registry {
    pub host: String,
    pub folder: PathBuf,
    process: Child,
}

impl Registry {
    pub fn start(folder: &Path, wants_login: bool) -> Result<Registry> {
        fs::create_dir_all(folder)?;
        let host = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let storage = folder.join("storage").display().to_string();
        let mut config = format!(
            "version: 0.1\nlog: {{ accesslog: {{ disabled: false }}, level: info }}\n\
             storage: {{ filesystem: {{ rootdirectory: {storage:?} }}, delete: {{ enabled: true }} }}\nhttp: {{ addr: {host:?} }}\n"
        );
        if wants_login {
            fs::write(folder.join("htpasswd"), format!("{USER}:{HASH}\n"))?;
            config += &format!("auth: {{ htpasswd: {{ realm: bench, path: {:?} }} }}\n", folder.join("htpasswd"));
        }
        fs::write(folder.join("config.yml"), config)?;
        let log = fs::File::create(folder.join("log"))?;
        let mut registry = Command::new("docker-registry");
        registry.arg("serve").arg(folder.join("config.yml")).stdout(log.try_clone()?).stderr(log).stdin(Stdio::null());
        let process = registry.spawn().context("cannot start docker-registry")?;
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(&host).is_err() {
            ensure!(Instant::now() < end, "docker-registry does not answer: {}", folder.join("log").display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Registry { host, folder: folder.to_owned(), process })
    }

    /// Copies a tag of the layout in `place` into the registry.
    pub fn push(&self, place: &Path, tag: &str, name: &str, login: bool) -> Result<()> {
        let destination = format!("docker://{}/{name}", self.host);
        let login = if login { format!("--dest-creds={USER}:{PASSWORD}") } else { "--dest-no-creds".to_owned() };
        quiet(place, "skopeo", &["copy", "--dest-tls-verify=false", &login, &format!("oci:layout:{tag}"), &destination])
    }

    /// Puts a manifest under a tag.
    pub fn put(&self, name: &str, tag: &str, media_type: &str, manifest: &[u8]) -> Result<()> {
        let mut stream = TcpStream::connect(&self.host)?;
        write!(
            stream,
            "PUT /v2/{name}/manifests/{tag} HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.host,
            manifest.len()
        )?;
        stream.write_all(manifest)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 201"), "the registry refuses a manifest: {answer}");
        Ok(())
    }

    /// How many requests it has answered.
    pub fn requests(&self) -> Result<usize> {
        Ok(fs::read_to_string(self.folder.join("log"))?.matches("\"GET /v2/").count())
    }

    /// Changes one byte of the file of a blob.
    pub fn damage(&self, digest: &str) -> Result<()> {
        let hex = digest.trim_start_matches("sha256:");
        let path = format!("storage/docker/registry/v2/blobs/sha256/{}/{hex}/data", &hex[..2]);
        let path = self.folder.join(path);
        let mut bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        Ok(fs::write(path, bytes)?)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
