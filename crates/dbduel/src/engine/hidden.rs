//! A hidden subcommand for the tests and for `xtask engines`; no user needs it.
//!
//! `__engines check [--fetch] [KIND[@VERSION]…]` takes servers from package to clean stop;
//! `__engines hold KIND[@VERSION|:FOLDER] [SETTING=VALUE…]` starts one, prints its pid, and waits until
//! standard input ends (or until somebody kills it, which is what its test does).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;

use anyhow::{Context, Result, bail};

use super::{Cache, Purpose, Resolved, Server, StartOptions, provision, resolve_request, selfcheck, template};
use crate::experiment::{Origin, Transport, VersionRequest};

pub const SUBCOMMAND: &str = "__engines";

pub fn main(args: Vec<OsString>) -> ! {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check", "--fetch", names @ ..] => check(names, true),
        ["check", names @ ..] => check(names, false),
        ["hold", name, settings @ ..] => hold(name, settings),
        _ => Err(anyhow::anyhow!("unknown words after {SUBCOMMAND}: {words:?}")),
    };
    match done {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::exit(1)
        }
    }
}

fn check(names: &[&str], fetch: bool) -> Result<()> {
    let cache = Cache::open()?;
    let names = if names.is_empty() { &[""] } else { names };
    let mut failed = 0;
    for name in names {
        for checked in selfcheck(name, fetch, &cache, &|line| eprintln!("{line}")) {
            let who = format!("{} {} ({})", checked.kind, checked.version, checked.source);
            match checked.outcome {
                Ok(Some(secs)) => println!("ok       {who}: {secs:.1} s"),
                Ok(None) => println!("skipped  {who}: not here; fetch it with --fetch"),
                Err(error) => {
                    failed += 1;
                    println!("FAILED   {who}: {error:#}");
                }
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of the servers do not work here");
    }
    Ok(())
}

fn hold(name: &str, settings: &[&str]) -> Result<()> {
    let pairs = settings.iter().map(|setting| setting.split_once('=').context("a setting is NAME=VALUE"));
    let settings = pairs.map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let settings: BTreeMap<String, String> = settings.collect::<Result<_>>()?;
    let resolved = resolve_name(name)?;
    let cache = Cache::open()?;
    let installation = provision(&resolved, &cache, &|line| eprintln!("{line}"))?;
    let work = cache.work()?;
    let (data, log) = (work.path().join("data"), work.path().join("server.log"));
    template(&cache, &work, &installation, &settings, &|line| eprintln!("{line}"))?.restore(&data)?;
    let options = StartOptions {
        settings: &settings,
        max_clients: 1,
        data: &data,
        log: &log,
        transport: Transport::Socket,
        nuisance_seed: 1,
        purpose: Purpose::Measure,
        cores: &[],
    };
    let server = Server::start(&installation, &options, &work)?;
    println!("{}", server.pid().context("this engine has no process")?);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop()
}

/// `KIND`, `KIND@VERSION`, or `KIND:FOLDER` for a server that somebody unpacked.
fn resolve_name(name: &str) -> Result<Resolved> {
    if let Some((kind, folder)) = name.split_once(':') {
        return resolve_request(kind, &VersionRequest::Newest, &Origin::Basedir(folder.into()));
    }
    match name.split_once('@') {
        Some((kind, version)) => resolve_request(kind, &VersionRequest::Series(version.to_owned()), &Origin::Managed),
        None => resolve_request(name, &VersionRequest::System, &Origin::Managed),
    }
}
