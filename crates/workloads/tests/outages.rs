//! A server that goes away, or falls silent, in the middle of a load: what was counted until then is no rate.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use driver::{Dialect, Login, NullServer, Target};
use load::{ErrorPolicy, Failure, Load, LoadOptions, Measured, Options, Workload};

fn workload() -> Arc<dyn Workload> {
    let kind = workloads::workload_kind("oltp_point_select").unwrap();
    (kind.build)(&Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap().into()
}

fn target(dialect: Dialect, server: &NullServer) -> Target {
    let login = Login { user: "nobody".to_owned(), database: Some("nothing".to_owned()), ..Login::default() };
    Target { dialect, endpoint: server.endpoint(), login }
}

/// Loads until `interval` is over, and calls `at_200` once 200 transactions have ended.
fn load(target: &Target, options: LoadOptions, interval: Option<Duration>, mut at_200: impl FnMut()) -> Measured {
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let interrupted = AtomicBool::new(false);
    let options = LoadOptions { board: true, policy, ..options };
    let load = Load::prepare(&workload(), target, options, &interrupted).unwrap();
    let mut seen = false;
    let mut live = |live: load::Live<'_>| {
        let ended = live.board.map_or(0, |board| board.read().committed);
        if ended >= 200 && !std::mem::replace(&mut seen, true) {
            at_200();
        }
    };
    load.measure(interval, &mut live, &mut || ())
}

#[test]
fn a_server_that_dies_and_stays_dead_makes_a_load_partial() {
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        let folder = tempfile::tempdir().unwrap();
        let server = NullServer::start(dialect, &folder.path().join("null.sock")).unwrap();
        let target = target(dialect, &server);
        let mut server = Some(server);
        let options = LoadOptions { clients: 4, ..LoadOptions::default() };
        let measured = load(&target, options, Some(Duration::from_secs(3)), || drop(server.take()));
        assert!(measured.tally.committed >= 200);
        let Some(Failure::Gone { secs, clients }) = measured.failure else { panic!("{:?}", measured.failure) };
        assert_eq!(clients, 4);
        assert!((0.1..=3.0).contains(&secs), "{secs}");
    }
}

/// Lets answers go, or holds them back.
#[derive(Default)]
struct Valve {
    is_shut: Mutex<bool>,
    changed: Condvar,
}

impl Valve {
    fn set(&self, is_shut: bool) {
        *self.is_shut.lock().unwrap() = is_shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        drop(self.changed.wait_while(self.is_shut.lock().unwrap(), |is_shut| *is_shut).unwrap());
    }
}

#[test]
fn a_server_that_falls_silent_ends_a_load_that_nothing_else_would_end() {
    for (dialect, interval) in
        [(Dialect::MySql, None), (Dialect::Postgres, None), (Dialect::MySql, Some(Duration::from_secs(2)))]
    {
        let folder = tempfile::tempdir().unwrap();
        let valve = Arc::new(Valve::default());
        let held = Arc::clone(&valve);
        let delay = Box::new(move || {
            held.pass();
            Duration::ZERO
        });
        let server = NullServer::start_delayed(dialect, &folder.path().join("null.sock"), delay).unwrap();
        let limits = (Duration::from_secs(86_400), Duration::from_secs(1));
        let options = LoadOptions { clients: 4, drain_max: limits.0, silence_max: limits.1, ..LoadOptions::default() };
        let fell_silent = AtomicBool::new(false);
        let measured = load(&target(dialect, &server), options, interval, || {
            valve.set(true);
            fell_silent.store(true, Ordering::Relaxed);
        });
        valve.set(false);
        assert!(fell_silent.load(Ordering::Relaxed));
        match measured.failure {
            Some(Failure::Silence { secs }) if interval.is_none() => assert!(secs >= 1.0, "{secs}"),
            Some(Failure::Drain { clients: 4, .. }) if interval.is_some() => {}
            failure => panic!("{failure:?}"),
        }
    }
}
