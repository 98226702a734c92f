//! Does every server that dbduel offers work on this machine?
//!
//! Takes each release from the package to a clean stop, on both transports, and reads its settings
//! back. It measures nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Endpoint, Login};

use crate::departed::contradicted;
use crate::request::Transport;
use crate::{Cache, Engines, Installation, Resolved, ScratchServer, Server, provision, version_numbers};

/// What became of one release.
#[derive(Debug)]
pub struct Checked {
    pub kind: &'static str,
    pub version: String,
    pub source: String,
    /// Seconds it took; none where the release is not here and was not to be fetched.
    pub outcome: Result<Option<f64>>,
}

/// Checks the releases whose engine is `kind` or whose `kind@version` begins with it (all when it
/// is empty). One that is not here is fetched or, without `fetch`, reported as skipped.
pub fn selfcheck(engines: Engines, kind: &str, fetch: bool, cache: &Cache, progress: &dyn Fn(&str)) -> Vec<Checked> {
    let checked = |resolved: Resolved| {
        let wanted = fetch || resolved.is_here(cache);
        let outcome = if wanted { check(&resolved, cache, progress).map(Some) } else { Ok(None) };
        let source = resolved.source_text();
        Checked { kind: resolved.kind, version: resolved.version, source, outcome }
    };
    engines.called(kind).into_iter().map(checked).collect()
}

fn check(resolved: &Resolved, cache: &Cache, progress: &dyn Fn(&str)) -> Result<f64> {
    let started = Instant::now();
    let installation = provision(resolved, cache, progress)?;
    for transport in [Transport::Socket, Transport::Tcp] {
        let way = if transport == Transport::Tcp { "TCP" } else { "the socket" };
        start_and_stop(&installation, transport, cache, progress).with_context(|| format!("on {way}"))?;
    }
    Ok(started.elapsed().as_secs_f64())
}

fn start_and_stop(
    installation: &Installation,
    transport: Transport,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let work = cache.work()?;
    let (settings, data, log) = (&BTreeMap::new(), &work.path().join("data"), &work.path().join("server.log"));
    let scratch = ScratchServer { settings, max_clients: 4, transport, data, log };
    let server = scratch.start(installation, cache, &work, progress)?;
    server.create_database()?;
    let mut load = Admin::connect(server.dialect(), server.endpoint(), server.login(), Duration::from_secs(10))
        .context("the load cannot connect")?;
    load.run("CREATE TABLE probe (id INTEGER)").context("the load cannot make a table")?;
    load.run("INSERT INTO probe VALUES (7)")?;
    ensure!(load.value("SELECT id FROM probe")?.as_deref() == Some("7"), "what was written was not read back");
    drop(load);
    if transport == Transport::Tcp {
        refuse_without_password(&server)?;
    }
    ensure!(
        server.version().contains(&installation.version),
        "the server says it is {}, not {}",
        server.version(),
        installation.version
    );
    ensure!(!server.effective_settings().is_empty(), "the server showed no settings");
    let wrong = contradicted(
        installation.engine().departures(),
        &version_numbers(&installation.version),
        server.effective_settings(),
    );
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    server.settle()?;
    server.stop()
}

/// Everybody on the machine can reach a loopback port.
fn refuse_without_password(server: &Server) -> Result<()> {
    let Endpoint::Tcp { .. } = server.endpoint() else { return Ok(()) };
    for user in [server.login().user.as_str(), "", "nobody"] {
        let login = Login { user: user.to_owned(), password: None, ..server.login().clone() };
        let admin = Admin::connect(server.dialect(), server.endpoint(), &login, Duration::from_secs(10));
        ensure!(admin.is_err(), "the account `{user}` gets in by TCP without a password");
    }
    Ok(())
}
