//! `cargo xtask images`, second part: servers out of images, from a real registry into a run.
//!
//! umoci makes the images, skopeo puts them into Debian's `docker-registry`, so that no code of ours makes what ours
//! reads. Everything is done as root and as an ordinary user, each with a cache of its own.

mod made;
mod registry;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use self::made::{Subject, make, subjects};
use self::registry::{PASSWORD, Registry, USER};
use crate::held::dbduel;
use crate::image_files::{contents, quiet};
use crate::traces::{Traces, below, is_running};

/// nobody
const ORDINARY: u32 = 65_534;

/// Who runs dbduel.
struct Who {
    name: &'static str,
    uid: Option<u32>,
    program: PathBuf,
    folder: PathBuf,
}

impl Who {
    fn new(name: &'static str, uid: Option<u32>, program: &Path, place: &Path) -> Result<Who> {
        let folder = place.join(name);
        fs::create_dir_all(&folder)?;
        chown(&folder, uid, uid)?;
        Ok(Who { name, uid, program: program.to_owned(), folder })
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.uid {
            Some(uid) => {
                let mut setpriv = Command::new("setpriv");
                setpriv.args([format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".into()]);
                setpriv.arg(&self.program);
                setpriv
            }
            None => Command::new(&self.program),
        };
        for name in ["XDG_RUNTIME_DIR", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "DBDUEL_WORK"] {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("HOME", &self.folder).env("DBDUEL_CACHE", self.cache());
        command
    }

    /// Runs dbduel, which must end with this status; gives its standard output and error.
    fn expect(&self, status: i32, arguments: &[&str]) -> Result<(String, String)> {
        let output = self.command(arguments).output()?;
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let line = format!("dbduel {} ({}): {:?}\n{out}{err}", arguments.join(" "), self.name, output.status);
        ensure!(output.status.code() == Some(status), "{line}");
        ensure!(!format!("{out}{err}").contains(PASSWORD), "a password is printed by {line}");
        Ok((out, err))
    }

    /// Runs dbduel, which must fail for this reason.
    fn expect_refusal(&self, status: i32, arguments: &[&str], reasons: &[&str]) -> Result<()> {
        let (_, err) = self.expect(status, arguments)?;
        for reason in reasons {
            ensure!(err.contains(reason), "{}: `{reason}` is not said:\n{err}", arguments.join(" "));
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, text)?;
        chown(&path, self.uid, self.uid)?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?)
    }

    /// The folder of an image in the cache, by its reference.
    fn root_of(&self, reference: &str) -> Result<PathBuf> {
        for entry in fs::read_dir(self.cache().join("servers"))? {
            let folder = entry?.path();
            let facts = fs::read(folder.join("image.json")).unwrap_or_default();
            let facts: Value = serde_json::from_slice(&facts).unwrap_or_default();
            if facts["reference"] == reference {
                return Ok(folder.join("root"));
            }
        }
        anyhow::bail!("the cache has no image {reference}")
    }
}

pub fn run(root: &Path, kills: u64, native_cache: &Path) -> Result<()> {
    for program in ["docker-registry", "umoci", "skopeo", "setpriv", "ldd"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: images with servers: {program} is not installed");
            return Ok(());
        }
    }
    let place = tempfile::Builder::new().prefix("dbduel-images-").tempdir()?;
    let place = place.path();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755))?;
    let program = place.join("dbduel");
    fs::copy(dbduel(root)?, &program)?;
    let subjects = subjects(native_cache);
    for missing in ["mariadb", "postgres", "mysql"].iter().filter(|tag| subjects.iter().all(|one| one.tag != **tag)) {
        println!("skipped: {missing}: it is not installed here (mysql: `dbduel fetch mysql@8.0.31`)");
    }
    make(place, &subjects)?;
    let registry = Registry::start(&place.join("registry"), false)?;
    for subject in &subjects {
        registry.push(place, subject.tag, &format!("db/{}:1", subject.tag), false)?;
    }
    let is_root = nix_is_root();
    let whos = [Who::new("root", None, &program, place)?, Who::new("user", Some(ORDINARY), &program, place)?];
    for who in whos.iter().filter(|_| is_root) {
        each(who, place, &registry, &subjects)?;
    }
    let who = &whos[0];
    sources(who, place, &subjects)?;
    refusals(who, place, &registry, &subjects)?;
    logins(who, place, &subjects)?;
    time(who, place, &registry, &subjects)?;
    without_namespaces(who, &registry, &subjects)?;
    killed(who, &registry, &subjects, kills)?;
    moved_tag(who, place, &registry, &subjects)
}

fn nix_is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        println!("skipped: root and an ordinary user beside one another: this needs root");
    }
    is_root
}

/// Fetches every image, compares its files with umoci's, and runs it beside the same server of this machine.
fn each(who: &Who, place: &Path, registry: &Registry, subjects: &[Subject]) -> Result<()> {
    for subject in subjects {
        let reference = format!("{}/db/{}:1", registry.host, subject.tag);
        let (out, _) = who.expect(0, &["fetch", "--image", &reference])?;
        ensure!(out.contains(&format!("  {} ", subject.engine)), "{out}");
        let (again, _) = who.expect(0, &["fetch", "--image", &reference])?;
        ensure!(again.contains("here already: "), "{again}");
        let files = same_as_umoci(place, subject.tag, &who.root_of(&reference)?)?;
        println!("{}: {}; {files} files, the same as umoci", who.name, out.trim());
        let native = match &subject.basedir {
            Some(folder) if subject.tag == "mysql" => format!("basedir = \"{}\"", folder.display()),
            _ => String::new(),
        };
        let engine = if native.is_empty() { subject.native } else { subject.engine };
        who.write(
            "duel.toml",
            &format!(
                "contender = [{{ name = \"native\", engine = \"{engine}\"{}{native} }},\n\
                 {{ name = \"image\", image = \"{reference}\" }}]\n\
                 workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 2 }}\n\
                 method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 1 }}\n",
                if native.is_empty() { "" } else { ", " }
            ),
        )?;
        let asked = registry.requests()?;
        who.expect(0, &["run", "duel.toml", "--accept-noisy"])?;
        ensure!(registry.requests()? == asked, "the registry was asked although the cache has the image");
        let (report, _) = who.expect(0, &["report", "last", "--format", "json"])?;
        let report: Value = serde_json::from_str(&report)?;
        let image = &report["contenders"][1]["image"];
        ensure!(image["reference"] == *reference, "the report lacks the image: {}", report["contenders"]);
        println!("{}: {} natively and out of its image: one run, no request", who.name, subject.native);
    }
    let (list, _) = who.expect(0, &["list", "engines"])?;
    let (cache, _) = who.expect(0, &["cache"])?;
    for subject in subjects {
        let name = format!("image {}/db/{}:1 (sha256:", registry.host, subject.tag);
        ensure!(
            list.contains(&name) && cache.contains(&name),
            "`list engines` or `cache` lacks {name}:\n{list}\n{cache}"
        );
    }
    Ok(())
}

fn same_as_umoci(place: &Path, tag: &str, root: &Path) -> Result<usize> {
    let bundle = place.join(format!("bundle-{tag}"));
    if !bundle.exists() {
        let bundle = bundle.display().to_string();
        quiet(place, "umoci", &["unpack", "--rootless", "--image", &format!("layout:{tag}"), &bundle])?;
    }
    let (expected, mut found) = (contents(&bundle.join("rootfs"))?, contents(root)?);
    // Mount points that a slim image lacks.
    found.retain(|path, what| expected.contains_key(path) || what != "folder");
    let differing: Vec<_> = expected.iter().filter(|(path, what)| found.get(*path) != Some(what)).take(3).collect();
    ensure!(found == expected, "{tag}: {} paths instead of {}: {differing:?}", found.len(), expected.len());
    Ok(expected.len())
}

/// The same image out of files and out of a local store: the digest decides.
fn sources(who: &Who, place: &Path, subjects: &[Subject]) -> Result<()> {
    for subject in subjects {
        let tag = subject.tag;
        quiet(
            place,
            "skopeo",
            &["copy", &format!("oci:layout:{tag}"), &format!("docker-archive:{tag}.tar:db/{tag}:1")],
        )?;
        let layout = format!("oci:{}:{tag}", place.join("layout").display());
        let archive = format!("docker-archive:{}:db/{tag}:1", place.join(format!("{tag}.tar")).display());
        let mut references = vec![layout, archive];
        if Command::new("podman").arg("--version").output().is_ok() {
            let store = format!("containers-storage:localhost/db/{tag}:1");
            quiet(place, "skopeo", &["copy", &format!("oci:layout:{tag}"), &store])?;
            references.push(store);
        } else {
            println!("skipped: containers-storage: podman is not installed");
        }
        for reference in references {
            let (out, _) = who.expect(0, &["fetch", "--image", &reference])?;
            ensure!(out.contains(subject.engine), "{out}");
            who.expect(0, &["cache", "clear", "--image", &reference])?;
        }
        quiet(place, "podman", &["rmi", "--force", &format!("localhost/db/{tag}:1")]).ok();
    }
    println!("the same servers out of oci:, docker-archive: and containers-storage:");
    if Command::new("docker").arg("--version").output().is_err() {
        who.expect_refusal(4, &["fetch", "--image", "docker-daemon:x"], &["not on PATH", "docker-archive:FILE"])?;
    }
    Ok(())
}

/// What a registry may answer, as a user is shown it.
fn refusals(who: &Who, place: &Path, registry: &Registry, subjects: &[Subject]) -> Result<()> {
    let (host, subject) = (&registry.host, &subjects[0]);
    let fetch = |reference: &str, reasons: &[&str]| who.expect_refusal(4, &["fetch", "--image", reference], reasons);
    fetch(&format!("{host}/db/{}:99", subject.tag), &[&format!("{host} has no db/{}:99", subject.tag)])?;
    fetch(&format!("{host}/db/nosuch:1"), &[&format!("has no db/nosuch (or it needs a login: podman login {host})")])?;
    fetch("localhost:1/db/x", &["cannot reach the registry localhost:1: nothing listens there"])?;
    let manifest = manifest(place, subject.tag)?;
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = serde_json::json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": manifest.0, "size": manifest.1.len(),
        "platform": { "os": "linux", "architecture": "s390x" } }] });
    registry.put(&format!("db/{}", subject.tag), "s390x", media_type, index.to_string().as_bytes())?;
    fetch(&format!("{host}/db/{}:s390x", subject.tag), &["it is for linux/s390x; this machine is linux/"])?;
    let damaged = Registry::start(&registry.folder.join("damaged"), false)?;
    damaged.push(place, subject.tag, "db/damaged:1", false)?;
    let parts: Value = serde_json::from_slice(&manifest.1)?;
    let digest = parts["layers"][1]["digest"].as_str().context("a layer has a digest")?;
    damaged.damage(digest)?;
    let reasons = ["layer 2 is damaged: expected", digest, "nothing was unpacked"];
    fetch(&format!("{}/db/damaged:1", damaged.host), &reasons)?;
    let usage: [(&str, &str); 4] = [
        ("MySQL:8", "upper case"),
        ("a:1:2", "two tags"),
        ("u:p@registry.example/mysql", "user and a password"),
        ("./x.tar", "docker-archive:./x.tar"),
    ];
    for (reference, reason) in usage {
        who.expect_refusal(2, &["fetch", "--image", reference], &[reason])?;
    }
    nothing_half(who)?;
    println!(
        "unknown tag, unknown repository, no registry, other platform, damaged layer, malformed references: refused"
    );
    Ok(())
}

/// The digest and the bytes of the manifest of a tag in the layout.
fn manifest(place: &Path, tag: &str) -> Result<(String, Vec<u8>)> {
    let index: Value = serde_json::from_slice(&fs::read(place.join("layout/index.json"))?)?;
    let is_tag = |entry: &&Value| entry["annotations"]["org.opencontainers.image.ref.name"] == *tag;
    let entry = index["manifests"].as_array().into_iter().flatten().find(is_tag).context("the layout has the tag")?;
    let digest = entry["digest"].as_str().context("a manifest has a digest")?.to_owned();
    let bytes = fs::read(place.join("layout/blobs/sha256").join(digest.trim_start_matches("sha256:")))?;
    Ok((digest, bytes))
}

/// Nothing of a fetch that failed is in the cache.
fn nothing_half(who: &Who) -> Result<()> {
    let left = fs::read_dir(who.cache().join("tmp"))?.flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().as_bytes()[0].is_ascii_digit()).collect();
    ensure!(left.is_empty(), "scratch folders are left: {left:?}");
    for entry in fs::read_dir(who.cache().join("servers"))?.flatten() {
        ensure!(entry.path().join(".dbduel-complete").is_file(), "{} is no whole server", entry.path().display());
    }
    Ok(())
}

/// A registry that wants a login: none, a wrong one, that of a file, that of a helper; the password is found nowhere.
fn logins(who: &Who, place: &Path, subjects: &[Subject]) -> Result<()> {
    let registry = Registry::start(&place.join("registry-with-login"), true)?;
    let host = &registry.host;
    registry.push(place, subjects[0].tag, "private/db:1", true)?;
    let reference = format!("{host}/private/db:1");
    let fetch = ["fetch", "--image", &reference];
    who.expect_refusal(4, &fetch, &["asks for a login", ".docker/config.json", &format!("podman login {host}")])?;
    let auth = |password: &str| {
        let output = Command::new("sh")
            .args(["-c", "printf %s \"$TEXT\" | base64 -w0"])
            .env("TEXT", format!("{USER}:{password}"))
            .output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let file = |auth: String| format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"{auth}\"}}}}}}");
    who.write(".docker/config.json", &file(auth("wrong")?))?;
    who.expect_refusal(4, &fetch, &["refuses the login in", ".docker/config.json"])?;
    who.write(".docker/config.json", &file(auth(PASSWORD)?))?;
    let mut command = who.command(&fetch);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut seen = 0;
    while child.try_wait()?.is_none() {
        for part in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{}/{part}", child.id())).unwrap_or_default();
            ensure!(!has(&text, PASSWORD.as_bytes()), "the password is in {part} of dbduel");
            seen += 1;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    ensure!(child.wait()?.success() && seen > 0, "a login in a file was not taken");
    who.write("duel.toml", &format!(
        "contender = [{{ engine = \"sqlite\" }}, {{ name = \"image\", engine = \"{}\", image = \"{reference}\" }}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 100, clients = 1 }}\n\
         method = {{ preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1 }}\n", subjects[0].engine))?;
    who.expect(0, &["run", "duel.toml", "--accept-noisy"])?;
    fs::remove_file(who.folder.join(".docker/config.json"))?;
    who.expect(0, &["cache", "clear", "--image", &reference])?;
    let found = files_with(&who.folder, PASSWORD.as_bytes())?;
    ensure!(found.is_empty(), "the password is in {found:?}");
    helper(who, place, &reference, host)?;
    println!("no login, a wrong one, one of a file, one of a helper; the password is in no file, argument or variable");
    Ok(())
}

fn helper(who: &Who, place: &Path, reference: &str, host: &str) -> Result<()> {
    let folder = place.join("helpers");
    fs::create_dir_all(&folder)?;
    let program = folder.join("docker-credential-bench");
    let answer = format!("{{\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}");
    fs::write(&program, format!("#!/bin/sh\nread host; [ \"$host\" = {host} ] || exit 1\necho '{answer}'\n"))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    who.write(".docker/config.json", "{\"credsStore\":\"bench\"}")?;
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let output = who.command(&["fetch", "--image", reference]).env("PATH", path).output()?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success() && !err.contains(PASSWORD), "a login of a helper was not taken: {err}");
    fs::remove_file(who.folder.join(".docker/config.json"))?;
    let found = files_with(&who.folder, PASSWORD.as_bytes())?;
    ensure!(found.is_empty(), "the password of a helper is in {found:?}");
    Ok(())
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Files below a folder that contain some bytes; files of images are left out.
fn files_with(folder: &Path, part: &[u8]) -> Result<Vec<PathBuf>> {
    let output = Command::new("grep").args(["-rlF", "-e", std::str::from_utf8(part)?]).arg(folder).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}

/// How long a fetch takes beside skopeo's copy of the same image into a layout.
fn time(who: &Who, place: &Path, registry: &Registry, subjects: &[Subject]) -> Result<()> {
    let subject = &subjects[0];
    let reference = format!("{}/db/{}:1", registry.host, subject.tag);
    let mut turns: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for turn in 0..3 {
        let folder = place.join(format!("copied-{turn}")).display().to_string();
        let start = Instant::now();
        let source = format!("docker://{reference}");
        quiet(
            place,
            "skopeo",
            &["copy", "--src-tls-verify=false", "--src-no-creds", &source, &format!("oci:{folder}:x")],
        )?;
        turns.entry("skopeo copy").or_default().push(start.elapsed().as_secs_f64());
        who.expect(0, &["cache", "clear", "--image", &reference])?;
        let start = Instant::now();
        who.expect(0, &["fetch", "--image", &reference])?;
        turns.entry("dbduel fetch, unpacked and checked").or_default().push(start.elapsed().as_secs_f64());
    }
    for (what, mut seconds) in turns {
        seconds.sort_by(f64::total_cmp);
        println!("{what}: {} of {}, median of 3: {:.2} s", subject.tag, registry.host, seconds[1]);
    }
    Ok(())
}

/// In a user namespace whose own limit of user namespaces is 0, without any capability.
const WITHOUT: &str =
    "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all \"$@\"";

fn without_namespaces(who: &Who, registry: &Registry, subjects: &[Subject]) -> Result<()> {
    let reference = format!("{}/db/{}:1", registry.host, subjects[0].tag);
    who.write(
        "off.toml",
        &format!(
            "contender = [{{ engine = \"sqlite\" }}, {{ name = \"image\", image = \"{reference}\" }}]\n\
             workload = \"oltp_point_select\"\n"
        ),
    )?;
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "sh", "-c", WITHOUT, "sh"]).arg(&who.program);
    unshare.args(["run", "off.toml", "--accept-noisy"]).current_dir(&who.folder);
    let output = unshare.env("HOME", &who.folder).env("DBDUEL_CACHE", who.cache()).stdin(Stdio::null()).output()?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let reasons = ["user namespaces are switched off here", "set the sysctl user.max_user_namespaces"];
    let is_said = reasons.iter().all(|reason| err.contains(reason));
    ensure!(output.status.code() == Some(4) && is_said, "{:?} {err}", output.status);
    println!("user namespaces off: exit 4, with the setting to change");
    Ok(())
}

/// `kill -9` of dbduel, its keeper or its server at random moments from the fetch to the measurement.
fn killed(who: &Who, registry: &Registry, subjects: &[Subject], kills: u64) -> Result<()> {
    let subject = subjects.iter().find(|subject| subject.tag == "postgres").unwrap_or(&subjects[0]);
    let reference = format!("{}/db/{}:1", registry.host, subject.tag);
    who.write(
        "kill.toml",
        &format!(
            "contender = [{{ engine = \"sqlite\" }}, {{ name = \"image\", image = \"{reference}\" }}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 2 }}\n\
         method = {{ preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1 }}\n"
        ),
    )?;
    who.expect(0, &["run", "kill.toml", "--accept-noisy"])?;
    let before = Traces::now()?;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut hit: BTreeMap<&str, u32> = BTreeMap::new();
    for turn in 0..kills {
        // Half of the kills meet a server, the other half a fetch.
        if turn % 2 == 0 {
            who.command(&["cache", "clear", "--image", &reference]).output()?;
        }
        let mut child =
            who.command(&["run", "kill.toml", "--accept-noisy"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let end = Instant::now() + Duration::from_secs(60);
        while turn % 2 == 1 && below(child.id()).len() < 2 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(random.random_range(5..1_500)));
        let below = below(child.id());
        let victims =
            [("dbduel", Some(child.id())), ("keeper", below.first().copied()), ("server", below.last().copied())];
        let (name, victim) = victims[random.random_range(0..3)];
        let (name, victim) = victim.map_or(("dbduel", child.id()), |victim| (name, victim));
        _ = kill(Pid::from_raw(victim as i32), Signal::SIGKILL);
        *hit.entry(name).or_default() += 1;
        child.wait()?;
        let end = Instant::now() + Duration::from_secs(5);
        while below.iter().any(|pid| is_running(*pid)) || Traces::now()? != before {
            ensure!(
                Instant::now() < end,
                "after a kill of {name}: processes {below:?}, or {:?} beside {before:?}",
                Traces::now()?
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        for entry in fs::read_dir(who.cache().join("servers"))?.flatten() {
            ensure!(entry.path().join(".dbduel-complete").is_file(), "{} is no whole server", entry.path().display());
        }
    }
    who.expect(0, &["run", "kill.toml", "--accept-noisy"])?;
    nothing_half(who)?;
    println!(
        "{kills} kills ({hit:?}): no process, mount, shared memory or half server is left, and the next run goes on"
    );
    Ok(())
}

/// All processes below one, the eldest first.
/// A tag that moves while a run is interrupted, and a registry that has gone.
fn moved_tag(who: &Who, place: &Path, registry: &Registry, subjects: &[Subject]) -> Result<()> {
    let own = Registry::start(&registry.folder.join("moving"), false)?;
    let (first, subject) = (format!("{}/db/moving:1", own.host), &subjects[0]);
    own.push(place, subject.tag, "db/moving:1", false)?;
    let file = |pull: &str| {
        format!(
            "contender = [{{ engine = \"sqlite\" }}, {{ name = \"image\", engine = \"{}\", image = \"{first}\", pull = \"{pull}\" }}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 100, clients = 1 }}\n\
         method = {{ preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1 }}\n",
            subject.engine
        )
    };
    who.write("moving.toml", &file("never"))?;
    who.expect_refusal(
        4,
        &["run", "moving.toml", "--accept-noisy"],
        &["is not in the cache", &format!("dbduel fetch --image {first}")],
    )?;
    let (_, plan) = who.expect(0, &["plan", "moving.toml"])?;
    ensure!(plan.contains("not final: the hash and the estimates"), "{plan}");
    who.write("moving.toml", &file("always"))?;
    who.expect(0, &["run", "moving.toml", "--accept-noisy"])?;
    let runs = fs::read_dir(who.folder.join("runs"))?.flatten().map(|entry| entry.file_name().into_string());
    let name = runs.flatten().find(|name| name.starts_with("moving")).context("a run is stored")?;
    // Another image under the same tag.
    quiet(place, "umoci", &["tag", "--image", &format!("layout:{}", subject.tag), "moved"])?;
    quiet(place, "umoci", &["config", "--image", "layout:moved", "--config.env", "MALLOC_ARENA_MAX=2"])?;
    own.push(place, "moved", "db/moving:1", false)?;
    who.expect_refusal(
        2,
        &["run", "--resume", &name, "moving.toml", "--accept-noisy"],
        &["today, this run measured sha256:"],
    )?;
    // The cache has the image under the name that it was fetched by first.
    who.expect(0, &["cache", "clear", "--image", &format!("{}/db/{}:1", registry.host, subject.tag)])?;
    let tag_asked = || fs::read_to_string(own.folder.join("log")).map(|log| log.matches("manifests/1 HTTP").count());
    let (asked, tag_before) = (own.requests()?, tag_asked()?);
    who.expect(0, &["run", "--resume", &name])?;
    ensure!(own.requests()? > asked && tag_asked()? == tag_before, "a run that goes on asked for its tag");
    drop(own);
    who.expect(0, &["run", "--resume", &name])?;
    who.expect_refusal(4, &["run", "moving.toml", "--accept-noisy"], &["nothing listens there", "pull = \"missing\""])?;
    who.write("moving.toml", &file("missing"))?;
    who.expect(0, &["run", "moving.toml", "--accept-noisy"])?;
    println!(
        "a tag that moved: refused beside the file, by digest without it; a registry that has gone: named, and not needed"
    );
    Ok(())
}
