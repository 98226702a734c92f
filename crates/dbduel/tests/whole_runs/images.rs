//! A server out of a container image, beside the same one of this machine.

#![expect(unsafe_code, reason = "asks the kernel for a version")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Place, text, wait_for};
use serde_json::{Value, json};

/// The files of the system's PostgreSQL, with all libraries of its programs and a shell.
fn files_of_postgres(place: &Place) -> Option<BTreeSet<PathBuf>> {
    place.installed("postgres")?;
    let engines: Vec<Value> = serde_json::from_str(&place.expect(0, &["list", "engines", "--json"]).0).unwrap();
    let mut server = engines.iter().rev().filter_map(|row| row["source"].as_str()?.strip_prefix("installed "));
    let programs = Path::new(server.find(|path| path.ends_with("/postgres"))?).parent()?;
    let version = programs.parent()?.file_name()?;
    let mut files: BTreeSet<PathBuf> = [programs.parent()?.to_owned(), "/usr/share/zoneinfo".into()].into();
    files.insert(Path::new("/usr/share/postgresql").join(version));
    files.insert("/bin/sh".into());
    for program in [programs.join("postgres"), programs.join("initdb"), "/bin/sh".into()] {
        let listed = Command::new("ldd").arg(program).output().unwrap();
        let listed = text(&listed.stdout);
        let paths = listed.split_whitespace().filter(|word| word.starts_with('/'));
        files.extend(paths.map(PathBuf::from));
    }
    Some(files)
}

/// A file's bytes as a blob of a layout: its size and digest.
fn blob(layout: &Path, file: &Path) -> (u64, String) {
    let (size, digest) = (fs::metadata(file).unwrap().len(), engine::sha256_of(file).unwrap());
    fs::rename(file, layout.join("blobs/sha256").join(&digest)).unwrap();
    (size, format!("sha256:{digest}"))
}

/// An OCI layout with one image, `server`, of these files of this machine.
fn image(layout: &Path, files: &BTreeSet<PathBuf>) {
    fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
    let file = layout.join("blob");
    let mut tar = Command::new("tar");
    tar.args(["--dereference", "--create", "--directory=/", "--file"]).arg(&file);
    tar.args(files.iter().map(|path| path.strip_prefix("/").unwrap()));
    assert!(tar.status().unwrap().success());
    let (layer_size, layer) = blob(layout, &file);
    let written = |value: Value| {
        fs::write(&file, value.to_string()).unwrap();
        blob(layout, &file)
    };
    let architecture = images::Platform::here().architecture;
    let (config_size, config) = written(json!({
        "os": "linux", "architecture": architecture, "created": "2031-05-04T10:15:00Z",
        "config": { "Env": ["PATH=/usr/bin", "MALLOC_ARENA_MAX=4", "POSTGRES_PASSWORD=never-used"] },
        "rootfs": { "type": "layers", "diff_ids": [layer] },
    }));
    let (size, digest) = written(json!({
        "schemaVersion": 2,
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "size": config_size, "digest": config },
        "layers": [{ "mediaType": "application/vnd.oci.image.layer.v1.tar", "size": layer_size, "digest": layer }],
    }));
    let index = json!({ "schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "size": size, "digest": digest,
        "annotations": { "org.opencontainers.image.ref.name": "server" },
    }] });
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
}

/// An experiment of the system's server and one out of an image of the same files.
fn duel(place: &Place, duration: &str) -> bool {
    let Some(files) = files_of_postgres(place) else { return false };
    image(&place.path().join("layout"), &files);
    place.write(
        "duel.toml",
        &format!(
            "contender = [{{ name = \"native\", engine = \"postgres@system\" }},\n\
             {{ name = \"image\", engine = \"postgres\", image = \"oci:layout:server\" }}]\n\
             workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 2 }}\n\
             method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"0s\", blocks = 1 }}\n"
        ),
    );
    true
}

#[test]
fn a_server_runs_out_of_an_image_and_the_run_knows_which_one_it_was() {
    let place = Place::new();
    if !duel(&place, "500ms") {
        return;
    }
    place.expect(0, &["run", "duel.toml", "--accept-noisy"]);
    place.assert_every_trial_ran_once();
    let trials = place.trials();
    assert!(trials.iter().all(|trial| trial["status"] == "ok"), "{trials:?}");
    let contenders = place.json("plan.json")["contenders"].clone();
    let image = &contenders[1]["image"];
    assert!(image["server"].as_str().unwrap().ends_with("/bin/postgres"), "{image}");
    assert!(image["reference"].as_str().unwrap().ends_with("/layout:server"), "{image}");
    assert_eq!(image["environment"], json!({ "MALLOC_ARENA_MAX": "4" }));
    assert_eq!(contenders[0]["version"], contenders[1]["version"]);
    let source = contenders[1]["source"].as_str().unwrap();
    assert!(
        source.contains(&format!("oci:layout:server (sha256:{:.12})", image["digest"].as_str().unwrap())),
        "{source}"
    );
    place.assert_nothing_is_left();

    // The cache has it: its files may go away.
    fs::remove_dir_all(place.path().join("layout")).unwrap();
    place.expect(0, &["run", "--resume", place.run().unwrap().to_str().unwrap()]);
}

#[test]
fn a_server_of_an_image_has_a_network_of_its_own_and_ends_with_a_killed_dbduel() {
    let place = Place::new();
    if !duel(&place, "30s") {
        return;
    }
    let mut running = place.start(&["run", "duel.toml", "--accept-noisy"]);
    // As it names itself inside; what stands around it names the image's folder.
    let is_server = |line: &str| line.starts_with("/usr/lib/postgresql/") && line.contains("/bin/postgres -D ");
    let in_image = || place.processes().into_iter().filter(|(_, line)| is_server(line)).map(|(process, _)| process);
    let network = |process: &Path| fs::read_link(process.join("ns/net")).ok();
    let is_apart = |process: &Path| network(process).is_some_and(|one| Some(one) != network(Path::new("/proc/self")));
    let is_apart = || in_image().any(|process| is_apart(&process));
    let (begun, mut found) = (Instant::now(), false);
    while !found && !running.has_ended() && begun.elapsed() < crate::support::LIMIT {
        std::thread::sleep(Duration::from_millis(5));
        found = is_apart();
    }
    let processes = place.processes();
    if !running.has_ended() {
        running.signal(libc::SIGKILL);
    }
    let said = text(&running.end().stderr);
    assert!(found, "no server of the image has a network of its own: {processes:?}\n{said}");
    wait_for("the end of all servers", Duration::from_secs(2), || place.servers().is_empty());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(place.path().to_str().unwrap()), "{mounts}");
}

/// Whether this kernel can refuse signals to processes outside: Landlock's sixth version.
fn has_borders_for_signals() -> bool {
    const ONLY_THE_VERSION: u32 = 1;
    // SAFETY: without a pointer and with this flag it reads and writes no memory.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ONLY_THE_VERSION) };
    version >= 6
}

#[test]
fn a_program_of_an_image_reaches_no_process_and_no_file_of_this_machine() {
    let place = Place::new();
    let (root, scratch) = (place.path().join("image"), place.path().join("scratch"));
    let sh = Path::new("/bin/sh");
    let mut files = vec![sh.to_owned(), PathBuf::from("/bin/cat")];
    for program in files.clone() {
        let listed = text(&Command::new("ldd").arg(program).output().unwrap().stdout);
        files.extend(listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    for file in files {
        let to = root.join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
    fs::create_dir_all(&scratch).unwrap();
    place.write("secret", "in no image");
    let secret = place.path().join("secret");
    let inside = |script: &str| {
        let mut words = vec!["__inside".into(), "--root".into(), root.clone().into_os_string()];
        words.extend([
            "--scratch".into(),
            scratch.clone().into(),
            "--place".into(),
            scratch.clone().into(),
            "--".into(),
        ]);
        words.extend([root.join("bin/sh").into_os_string(), "-c".into(), script.into()]);
        let output = Command::new(env!("CARGO_BIN_EXE_dbduel")).args(words).env("FROM_OUTSIDE", "1").output().unwrap();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let said = inside("echo here");
    if said.2.contains("needs namespaces") {
        return crate::support::print_skipped(said.2.trim());
    }
    assert_eq!((said.0, said.1.as_str()), (true, "here\n"), "{}", said.2);
    assert!(!inside(&format!("cat {}", secret.display())).0, "a file of this machine was read");
    let status = inside("cat /proc/self/status").1;
    assert!(status.contains("CapEff:\t0000000000000000\n"), "{status}");
    if !has_borders_for_signals() {
        return crate::support::print_skipped("this kernel has no borders for signals");
    }
    let own = std::process::id();
    assert!(inside("sh -c 'kill -0 $PPID'").0, "processes inside signal each other");
    assert!(!inside(&format!("kill -0 {own}")).0, "a process outside was signalled");
    let (_, environment, why) = inside(&format!("cat /proc/{own}/environ"));
    assert!(environment.is_empty() && why.contains("ermission denied"), "{environment} {why}");
}

#[test]
fn what_an_image_lacks_is_named() {
    let place = Place::new();
    let Some(mut files) = files_of_postgres(&place) else { return };
    let is_library = |path: &&PathBuf| path.to_string_lossy().contains("libxml2.so");
    let Some(library) = files.iter().find(is_library).cloned() else { return };
    files.remove(&library);
    image(&place.path().join("layout"), &files);
    let check = |contender: &str, status: i32, said: &str| {
        place.write("one.toml", &format!("contender = [{{ engine = \"sqlite\" }}, {{ name = \"i\", {contender} }}]\nworkload = \"oltp_point_select\"\n"));
        let (_, err) = place.expect(status, &["run", "one.toml", "--accept-noisy"]);
        assert!(err.contains(said), "{said}: {err}");
    };
    // Natively it would start with this machine's library, without a word.
    check("engine = \"postgres\", image = \"oci:layout:server\"", 4, "libxml2.so");
    check("engine = \"mysql\", image = \"oci:layout:server\"", 4, "holds no MySQL server (mysqld)");
    check("engine = \"postgres\", image = \"oci:layout:other\"", 2, "no image of that tag; its tags: server");
    let never = "image = \"registry.example/postgres:17\", pull = \"never\"";
    check(never, 4, "next: dbduel fetch --image registry.example/postgres:17");
    check("image = \"docker-daemon:postgres:17\", pull = \"never\"", 4, "is not in the cache");
    check(
        "engine = \"postgres\", image = \"oci:layout:server\", basedir = \"/opt\"",
        2,
        "`image` stands beside `basedir`",
    );
    check("engine = \"postgres@9.0\", image = \"oci:layout:server\"", 4, "libxml2.so");
    check("engine = \"postgres\", server = \"/usr/bin/postgres\"", 2, "`server` stands without `image`");
    check("engine = \"postgres\", image = \"oci:layout:server\", server = \"/no\"", 4, "the image has no file /no");
}
