//! Which address gives what. No route changes anything.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::http::{Request, Response};
use super::{live, pages};
use record::RunDir;
use report::{Evidence, Options};

/// What is served, and under which names.
pub struct Site {
    runs: PathBuf,
    place: String,
    pub address: SocketAddr,
    hosts: Vec<String>,
}

pub enum Answer {
    Page(Response),
    /// The events of a run, until it ends.
    Events(RunDir),
}

/// Why there is no page.
enum Missing {
    Run(String),
    Page,
}

impl Site {
    pub fn new(runs: PathBuf, place: &str, address: SocketAddr) -> Site {
        let port = address.port();
        let hosts =
            [address.to_string(), format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        Site { runs, place: place.to_owned(), address, hosts: hosts.into() }
    }

    pub fn answer(&self, request: &Request) -> Answer {
        if !self.hosts.contains(&request.host) {
            return Answer::Page(Response::error(421, "this server answers to its own names alone, such as localhost"));
        }
        match self.route(request) {
            Ok(Ok(answer)) => answer,
            Ok(Err(missing)) => Answer::Page(not_found(&missing)),
            Err(error) => Answer::Page(Response {
                status: 500,
                ..Response::html(pages::message("This cannot be shown", &format!("{error:#}")))
            }),
        }
    }

    fn route(&self, request: &Request) -> Result<Result<Answer, Missing>> {
        let run = |field: &str| self.run(request.field(field).unwrap_or_default());
        let page = |html: String| Ok(Ok(Answer::Page(Response::html(html))));
        match request.path.as_str() {
            "/" => {
                page(pages::list(&RunDir::all(&self.runs)?, request.field("search").unwrap_or_default(), &self.place)?)
            }
            "/style.css" => Ok(Ok(Answer::Page(Response::of("text/css; charset=utf-8", pages::style())))),
            "/live.js" => Ok(Ok(Answer::Page(Response::of("text/javascript; charset=utf-8", live::SCRIPT.to_owned())))),
            "/report" => match run("run")? {
                Ok(run) => Ok(Ok(Answer::Page(report_page(&run)?))),
                Err(missing) => Ok(Err(missing)),
            },
            "/live" => match run("run")? {
                Ok(run) => page(pages::live(&run)?),
                Err(missing) => Ok(Err(missing)),
            },
            "/events" => Ok(run("run")?.map(Answer::Events)),
            "/compare" => match (run("first")?, run("second")?) {
                (Ok(first), Ok(second)) => page(pages::compare([&first, &second])?),
                (Err(missing), _) | (_, Err(missing)) => Ok(Err(missing)),
            },
            "/history" => {
                let name = request.field("name").unwrap_or_default();
                match report::history::of_runs(&self.runs, name)?.history {
                    Some(history) => {
                        Ok(Ok(Answer::Page(of_report(report::history::write(&history, "html", 0, false)?))))
                    }
                    None => Ok(Err(Missing::Run(name.to_owned()))),
                }
            }
            _ => Ok(Err(Missing::Page)),
        }
    }

    /// A run of this folder by its name. It is looked for among those that are there, so that no name is a path.
    fn run(&self, name: &str) -> Result<Result<RunDir, Missing>> {
        let found = RunDir::all(&self.runs)?.into_iter().find(|run| run.name() == name);
        Ok(found.ok_or_else(|| Missing::Run(name.to_owned())))
    }
}

fn not_found(missing: &Missing) -> Response {
    let message = match missing {
        Missing::Run(name) => format!("There is no run `{name}` here."),
        Missing::Page => "There is no such page.".to_owned(),
    };
    Response { status: 404, ..Response::html(pages::message("Not found", &message)) }
}

/// Made of the records anew: what lies beside them may come from elsewhere.
fn report_page(run: &RunDir) -> Result<Response> {
    let evidence = Evidence::gather(run).with_context(|| format!("run {} has no report yet", run.name()))?;
    Ok(of_report(report::find("html")?.write(&evidence, &Options::default())?))
}

/// Reports carry their own styles and one script, whose hash is allowed.
fn of_report(page: String) -> Response {
    let script = STANDARD.encode(Sha256::digest(report::inline_script()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    Response::html(page).with_policy(policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::{HOSTILE, stored_in};

    const HOST: &str = "127.0.0.1:7070";

    fn site(runs: &std::path::Path) -> Site {
        Site::new(runs.to_owned(), "runs", HOST.parse().unwrap())
    }

    fn page(site: &Site, host: &str, target: &str) -> Response {
        match site.answer(&Request::get(host, target)) {
            Answer::Page(response) => response,
            Answer::Events(_) => panic!("{target} is a stream"),
        }
    }

    #[test]
    fn only_its_own_names_are_answered() {
        let runs = tempfile::tempdir().unwrap();
        let site = site(runs.path());
        for host in [HOST, "localhost:7070", "[::1]:7070"] {
            assert_eq!(page(&site, host, "/").status, 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7070",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:7071",
            "localhost.evil.example:7070",
        ] {
            let refused = page(&site, host, "/");
            assert_eq!(refused.status, 421, "{host}");
        }
    }

    #[test]
    fn a_name_is_never_a_path() {
        let runs = tempfile::tempdir().unwrap();
        let inner = runs.path().join("inner");
        let run = stored_in(runs.path());
        let site = site(&inner);
        for name in [
            "..",
            "../",
            ".",
            "/etc/passwd",
            &run.name(),
            &format!("../{}", run.name()),
            &run.path().display().to_string(),
            "last",
            "",
        ] {
            let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
            for route in ["report", "live", "events"] {
                assert_eq!(page(&site, HOST, &format!("/{route}?run={name}")).status, 404, "{route} {name}");
            }
        }
        assert_eq!(page(&site, HOST, "/../etc/passwd").status, 404);
    }

    #[test]
    fn every_page_has_a_policy_without_a_door() {
        let runs = tempfile::tempdir().unwrap();
        let name = stored_in(runs.path()).name();
        let site = site(runs.path());
        let targets = [
            "/".into(),
            format!("/report?run={name}"),
            format!("/live?run={name}"),
            format!("/compare?first={name}&second={name}"),
            "/history?name=mysql-5.5-vs-5.6".into(),
            "/none".into(),
        ];
        for target in targets {
            let response = page(&site, HOST, &target);
            assert_eq!(response.status, if target == "/none" { 404 } else { 200 }, "{target}: {}", response.body);
            let policy = &response.policy;
            assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
            let scripts = policy.split(';').find(|part| part.trim().starts_with("script-src")).unwrap();
            assert!(!scripts.contains("unsafe"), "{policy}");
            assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let runs = tempfile::tempdir().unwrap();
        let name = stored_in(runs.path()).name();
        let site = site(runs.path());
        let encoded: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
        let targets = [
            "/".into(),
            format!("/?search={encoded}"),
            format!("/live?run={name}"),
            format!("/compare?first={name}&second={name}"),
            format!("/report?run={name}"),
            format!("/report?run={encoded}"),
            format!("/history?name={encoded}"),
        ];
        for target in targets {
            let body = page(&site, HOST, &target).body;
            assert!(!body.contains(HOSTILE), "{target}");
            // An empty query finds all, one that nothing holds finds none.
            assert!(
                body.contains("&lt;b&gt;") || body.contains("&lt;img") || target.contains("live"),
                "{target}: {body}"
            );
        }
    }
}
