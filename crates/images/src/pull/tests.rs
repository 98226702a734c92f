use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use base64::Engine as _;
use serde_json::{Value, json};

use super::*;

/// A request as the registry received it.
struct Request {
    path: String,
    authorization: Option<String>,
    range: Option<String>,
}

#[derive(Default)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// The connection breaks off after so many bytes of the body.
    cut: Option<usize>,
}

fn ok(body: impl Into<Vec<u8>>) -> Answer {
    Answer { status: 200, body: body.into(), ..Answer::default() }
}

fn status(status: u16) -> Answer {
    Answer { status, ..Answer::default() }
}

/// Answers every request of the test, without encryption; gives its host and port.
fn serve(answer: impl Fn(&Request) -> Answer + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|stream| respond(stream, &answer));
        }
    });
    host
}

fn respond(mut stream: TcpStream, answer: &impl Fn(&Request) -> Answer) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?);
    // Whoever begins TLS is turned away.
    if lines.fill_buf()?.first() == Some(&0x16) {
        return Ok(());
    }
    let mut head = Vec::new();
    for line in lines.lines() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let header = |name: &str| {
        let found =
            head.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let path = head[0].split(' ').nth(1).unwrap().to_owned();
    let request = Request { path, authorization: header("authorization"), range: header("range") };
    let Answer { status, headers, body, cut } = answer(&request);
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n", body.len())?;
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    stream.write_all(&body[..cut.unwrap_or(body.len())])
}

/// One image of two layers, by the paths of its files in a registry.
struct Files {
    blobs: BTreeMap<String, Vec<u8>>,
    manifest: Vec<u8>,
}

impl Files {
    fn new() -> Files {
        let layers = [tar("usr/sbin/mysqld", &"one".repeat(5000)), tar("etc/a", "two")];
        let diff_ids: Vec<String> = layers.iter().map(|layer| Digest::of(layer).to_string()).collect();
        let config = json!({ "os": "linux", "architecture": "amd64", "rootfs": { "diff_ids": diff_ids } }).to_string();
        let mut blobs = BTreeMap::new();
        let mut keep = |bytes: &[u8], media_type: &str| {
            let digest = Digest::of(bytes).to_string();
            blobs.insert(digest.clone(), bytes.to_owned());
            json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
        };
        let config = keep(config.as_bytes(), "application/vnd.oci.image.config.v1+json");
        let layers: Vec<Value> =
            layers.iter().map(|layer| keep(layer, "application/vnd.oci.image.layer.v1.tar")).collect();
        let manifest = json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config, "layers": layers });
        Files { blobs, manifest: manifest.to_string().into_bytes() }
    }

    /// The answer of a registry that has it as `db/mysql:8`.
    fn answer(&self, request: &Request) -> Answer {
        let digest = Digest::of(&self.manifest).to_string();
        match request.path.strip_prefix("/v2/db/mysql/") {
            Some("manifests/8") => ok(&*self.manifest),
            Some(path) if path == format!("manifests/{digest}") => ok(&*self.manifest),
            Some("tags/list") => ok("{}"),
            Some(path) => match path.strip_prefix("blobs/").and_then(|digest| self.blobs.get(digest)) {
                Some(blob) => ok(&**blob),
                None => status(404),
            },
            None => status(404),
        }
    }

    /// The digest of the first layer.
    fn layer(&self) -> String {
        serde_json::from_slice::<Value>(&self.manifest).unwrap()["layers"][0]["digest"].as_str().unwrap().to_owned()
    }
}

fn tar(name: &str, text: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o755);
    tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    tar.into_inner().unwrap()
}

struct Place {
    folder: tempfile::TempDir,
    pull: Pull,
}

fn no_helper(program: &str, _: &str) -> Result<String> {
    panic!("{program} is not asked")
}

fn place(reference: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let pull = Pull {
        reference: Reference::parse(reference).unwrap(),
        platform: Platform { os: "linux".into(), architecture: "amd64".into() },
        layout: folder.path().join("layout"),
        logins: Logins { files: vec![folder.path().join("auth.json")], run_helper: no_helper },
    };
    Place { folder, pull }
}

const PASSWORD: &str = "se:cret-marker";

impl Place {
    fn log_in(&self, host: &str) {
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("ann:{PASSWORD}"));
        let text = json!({ "auths": { host: { "auth": auth } } }).to_string();
        fs::write(self.folder.path().join("auth.json"), text).unwrap();
    }

    fn get(&self) -> Result<Image> {
        let watch = Watch { progress: &|_| (), is_interrupted: &|| false };
        self.pull.fetch(&self.pull.resolve(watch)?, watch)
    }

    fn error(&self) -> String {
        let error = format!("{:#}", self.get().err().expect("it cannot be fetched"));
        assert!(!error.contains(PASSWORD), "{error}");
        error
    }
}

fn expect_whole(place: &Place) {
    let image = place.get().unwrap();
    let root = place.folder.path().join("root");
    image::unpack_image(&image, &root, crate::Limits::default()).unwrap();
    assert_eq!(fs::read_to_string(root.join("usr/sbin/mysqld")).unwrap(), "one".repeat(5000));
    let names = fs::read_dir(place.pull.layout.join("blobs/sha256")).unwrap();
    assert!(names.flatten().all(|name| name.path().extension().is_none()), "parts are left");
}

#[test]
fn an_image_is_fetched_from_a_registry_that_asks_for_nothing() {
    let files = Files::new();
    let host = serve(move |request| files.answer(request));
    expect_whole(&place(&format!("{host}/db/mysql:8")));
}

#[test]
fn a_token_is_fetched_with_the_login_of_the_user_and_without_one_where_there_is_none() {
    for (is_logged_in, expected) in [(true, Some("Basic ")), (false, None)] {
        let files = Files::new();
        let (own, own_host) = mpsc::channel::<String>();
        let own_host = Mutex::new((own_host, None::<String>));
        let host = serve(move |request| {
            let mut known = own_host.lock().unwrap();
            if known.1.is_none() {
                known.1 = known.0.recv().ok();
            }
            let host = known.1.clone().unwrap();
            let authorization = request.authorization.as_deref();
            if request.path.starts_with("/token?") {
                assert!(request.path.contains("service=a%20b") && request.path.contains("scope=repository"));
                assert_eq!(authorization.map(|text| &text[..6]), expected);
                return ok(r#"{"token":"the-token"}"#);
            }
            if authorization == Some("Bearer the-token") {
                return files.answer(request);
            }
            let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"a b\"");
            Answer { headers: vec![("WWW-Authenticate", challenge)], ..status(401) }
        });
        own.send(host.clone()).unwrap();
        let place = place(&format!("{host}/db/mysql:8"));
        if is_logged_in {
            place.log_in(&host);
        }
        expect_whole(&place);
    }
}

#[test]
fn a_login_is_sent_to_its_registry_and_not_where_that_redirects_to() {
    let files = Arc::new(Files::new());
    let storage = serve({
        let files = Arc::clone(&files);
        move |request| {
            assert_eq!(request.authorization, None, "{}", request.path);
            files.answer(request)
        }
    });
    let host = serve(move |request| {
        let Some(authorization) = &request.authorization else {
            return Answer { headers: vec![("WWW-Authenticate", "Basic realm=\"x\"".into())], ..status(401) };
        };
        assert!(authorization.starts_with("Basic "));
        if request.path.contains("/blobs/") {
            return Answer { headers: vec![("Location", format!("http://{storage}{}", request.path))], ..status(307) };
        }
        files.answer(request)
    });
    let place = place(&format!("{host}/db/mysql:8"));
    let error = place.error();
    assert!(
        error.contains("asks for a login, which none of these files has: ") && error.contains("auth.json"),
        "{error}"
    );
    assert!(error.contains(&format!("podman login {host}")), "{error}");
    place.log_in(&host);
    expect_whole(&place);
}

#[test]
fn a_login_that_is_refused_is_named_by_its_file() {
    let host = serve(|_| Answer { headers: vec![("WWW-Authenticate", "Basic realm=\"x\"".into())], ..status(401) });
    let place = place(&format!("{host}/db/mysql:8"));
    place.log_in(&host);
    let error = place.error();
    assert!(error.contains("refuses the login in ") && error.contains("auth.json"), "{error}");
}

#[test]
fn a_blob_that_breaks_off_goes_on_where_it_ended_or_begins_again() {
    for has_ranges in [true, false] {
        let files = Files::new();
        let layer = files.layer();
        let asked = AtomicU64::new(0);
        let host = serve(move |request| {
            let answer = files.answer(request);
            if !request.path.ends_with(&layer) {
                return answer;
            }
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Answer { cut: Some(1000), ..answer },
                _ => {
                    let range = request.range.as_deref().unwrap();
                    let from: usize = range.strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap();
                    assert_eq!(from, 1000);
                    if has_ranges { Answer { status: 206, ..ok(&answer.body[from..]) } } else { answer }
                }
            }
        });
        expect_whole(&place(&format!("{host}/db/mysql:8")));
    }
}

#[test]
fn what_is_damaged_is_named_with_both_digests_and_kept_nowhere() {
    let files = Files::new();
    let layer = files.layer();
    let expected = layer.clone();
    let host = serve(move |request| {
        let mut answer = files.answer(request);
        if request.path.ends_with(&layer) {
            answer.body[700] ^= 1;
        }
        answer
    });
    let place = place(&format!("{host}/db/mysql:8"));
    let error = place.error();
    assert!(error.contains("layer 1 is damaged") && error.contains("nothing was unpacked"), "{error}");
    assert!(error.contains(&expected), "{error}");
    assert!(!place.pull.path(&expected.parse().unwrap()).exists());
}

#[test]
fn what_a_registry_does_not_have_is_said() {
    let files = Files::new();
    let host = serve(move |request| files.answer(request));
    let check = |name: &str, said: &str| {
        let error = place(&format!("{host}/{name}")).error();
        assert!(error.contains(said), "{error}");
    };
    check("db/mysql:99", &format!("{host} has no db/mysql:99"));
    check("db/nosuch:1", &format!("{host} has no db/nosuch (or it needs a login: podman login {host})"));
    check(&format!("db/mysql@sha256:{:064}", 1), "has no db/mysql@sha256:0000");
}

#[test]
fn an_index_gives_the_manifest_of_this_machine_and_names_the_others() {
    let files = Files::new();
    let manifest = Digest::of(&files.manifest).to_string();
    let size = files.manifest.len();
    let index = |architecture: &str| {
        let entry = |architecture: &str| {
            json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": manifest, "size": size,
                "platform": { "os": "linux", "architecture": architecture } })
        };
        json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [entry("s390x"), entry(architecture)] })
    };
    let indexes = [index("amd64").to_string(), index("arm64").to_string()];
    let digest = Digest::of(indexes[0].as_bytes());
    let host = serve(move |request| match request.path.as_str() {
        "/v2/db/mysql/manifests/many" => ok(indexes[0].as_bytes()),
        "/v2/db/mysql/manifests/others" => ok(indexes[1].as_bytes()),
        _ => files.answer(request),
    });
    let many = place(&format!("{host}/db/mysql:many"));
    assert_eq!(many.get().unwrap().index_digest, Some(digest));
    let error = place(&format!("{host}/db/mysql:others")).error();
    assert!(error.contains("it is for linux/s390x, linux/arm64; this machine is linux/amd64"), "{error}");
}

#[test]
fn a_registry_that_is_not_there_or_wants_no_more_requests_is_told_apart() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = place(&format!("{unused}/db/mysql:8")).error();
    assert!(error.contains(&format!("cannot reach the registry {unused}: nothing listens there")), "{error}");
    let host = serve(|_| Answer { headers: vec![("Retry-After", "2100".into())], ..status(429) });
    let error = place(&format!("{host}/db/mysql:8")).error();
    assert!(error.contains("allows no more pulls now (429)") && error.contains("try again in 35 min"), "{error}");
}

#[test]
fn an_interruption_ends_a_pull_that_waits_within_a_second() {
    let (began, begins) = mpsc::channel();
    let host = serve(move |_| {
        let _ = began.send(());
        std::thread::sleep(Duration::from_secs(60));
        status(404)
    });
    let place = place(&format!("{host}/db/mysql:8"));
    let start = std::cell::Cell::new(None);
    let is_interrupted = || {
        if begins.try_recv().is_ok() {
            start.set(Some(Instant::now()));
        }
        start.get().is_some()
    };
    let error = place.pull.resolve(Watch { progress: &|_| (), is_interrupted: &is_interrupted }).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    assert!(start.get().unwrap().elapsed() < Duration::from_secs(1));
}

proptest::proptest! {
    #[test]
    fn no_text_of_a_registry_or_a_login_is_a_panic(text in ".{0,200}", json in "[\\[\\]{}\":,a-z0-9]{0,80}") {
        for text in [text.as_str(), json.as_str(), &format!("Bearer {text}"), &format!("{{\"auths\":{json}}}")] {
            let _ = crate::Challenge::parse(text);
            let _ = crate::login_in_file(text.as_bytes(), "registry.example", "pg", |_, _| Ok(String::new()));
            let _ = crate::layers_of(text.as_bytes());
        }
        let manifest = format!("{{\"config\":{json},\"layers\":[{json}]}}");
        let _ = crate::layers_of(manifest.as_bytes());
    }
}
