//! What trials that share a time or a start cannot stand beside: `duet` and `fast_sweep`; and what workers cannot.
//!
//! The first two give up a part of the plain protocol (method, section 1, "Ordering" and "Duet mode"), and are
//! refused where that part is what the numbers would rest on.

use std::ops::Range;

use super::section::{Reader, Section};
use super::{CLIENTS, CORES, Contender, Experiment, Launcher, Origin, Transport};

const DUET: &str = "duet";
const FAST_SWEEP: &str = "fast_sweep";

/// Names everything in the file that the asked arrangement of trials cannot do.
pub fn refuse<'a>(reader: &mut Reader<'a>, top: &Section<'a>, experiment: &Experiment) {
    let (duet, fast_sweep) = (experiment.method.duet, experiment.method.fast_sweep);
    if !duet && !fast_sweep {
        return;
    }
    let method = top.value("method").and_then(|method| method.get_ref().as_table());
    let span = |key: &str| method.and_then(|method| method.get(key)).map_or(0..0, |value| value.span());
    if duet && fast_sweep {
        let what = "`duet` and `fast_sweep` in [method] cannot stand together: a duet starts both sides for each point";
        reader.reject(&span(FAST_SWEEP), what, "take one of the two out");
    } else if duet {
        reject_all(reader, &span(DUET), DUET, against_duet(experiment));
    } else {
        reject_all(reader, &span(FAST_SWEEP), FAST_SWEEP, against_fast_sweep(experiment));
    }
}

/// Why it cannot be, and what to do about it.
type Reason = (String, String);

fn reject_all(reader: &mut Reader, span: &Range<usize>, key: &str, reasons: Vec<Reason>) {
    for (why, next) in reasons {
        reader.reject(span, format!("`{key}` in [method] cannot be: {why}"), next);
    }
}

fn against_duet(experiment: &Experiment) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut refuse = |why: String, next: &str| reasons.push((why, next.to_owned()));
    let contenders = &experiment.contenders;
    if contenders.len() != 2 {
        refuse(
            format!("it is for exactly 2 contenders, and the file has {}", contenders.len()),
            "leave two in the file, or take `duet` out",
        );
    }
    let is_target = |one: &&Contender| matches!(one.origin, Origin::Target(_));
    if let Some(target) = contenders.iter().find(is_target) {
        refuse(
            format!("contender `{}` is a target, which dbduel cannot keep on half of the CPUs", target.name),
            "take `duet` out",
        );
    }
    if let Some(kept) = contenders.iter().find(|one| one.cores.is_some()) {
        refuse(
            format!("contender `{}` has `cores` of its own, and a duet shares the CPUs out by coin", kept.name),
            "take its `cores` out",
        );
    }
    if experiment.client_cores.is_some() {
        refuse("`cores` in [clients] are given, and in a duet each side has a generator".into(), "take these out");
    }
    if experiment.sweep.as_ref().is_some_and(|sweep| sweep.variable == CORES) {
        refuse("a sweep of `cores` claims what a server does alone on them".into(), "take `duet` or the sweep out");
    }
    if let Some(counted) = experiment.workloads.iter().find(|workload| workload.events.is_some()) {
        refuse(
            format!("a trial of `{}` ends by its transactions, and the slower one would end alone", counted.label),
            "take `duet` out, or `events`",
        );
    }
    if let Some(pass) = experiment.workloads.iter().find(|workload| workload.ends_itself()) {
        refuse(
            format!("a trial of `{}` is one pass, and the slower one would end alone", pass.label),
            "take `duet` out, or the workload",
        );
    }
    reasons
}

fn against_fast_sweep(experiment: &Experiment) -> Vec<Reason> {
    let mut reasons = Vec::new();
    match experiment.sweep.as_ref().map(|sweep| sweep.variable.as_str()) {
        Some(CLIENTS) => {}
        Some(variable) => reasons.push((
            format!("the sweep varies `{variable}`, which a server that runs cannot follow"),
            "sweep `clients`, or take `fast_sweep` out".to_owned(),
        )),
        None => reasons.push((
            "nothing varies, so a start has one point".to_owned(),
            "add [sweep] clients, or take `fast_sweep` out".to_owned(),
        )),
    }
    for workload in experiment.workloads.iter().filter(|workload| !workload.keeps_its_size) {
        reasons.push((
            format!(
                "the tables of `{}` change their size while it runs, so later points would find others",
                workload.label
            ),
            "take `fast_sweep` out, or choose a workload that reads or leaves as many rows as it finds".to_owned(),
        ));
    }
    reasons
}

/// Names what an experiment with workers cannot have beside them.
pub fn refuse_beside_workers<'a>(reader: &mut Reader<'a>, top: &Section<'a>, experiment: &Experiment) {
    let Some(cluster) = &experiment.cluster else { return };
    let table = |name: &str| top.value(name).and_then(|value| value.get_ref().as_table());
    let place = |name: &str, key: &str| table(name).and_then(|table| table.get(key)).map(|value| value.span());
    let whole = top.value("cluster").map_or(0..0, |value| value.span());
    let mut refuse = |span: Option<Range<usize>>, what: String, note: &str| {
        reader.reject(&span.unwrap_or_else(|| whole.clone()), what, note);
    };
    let most = experiment.clients_max();
    if cluster.workers() > most {
        let what =
            format!("`workers` in [cluster] are {}, and no trial has more than {most} clients", cluster.workers());
        refuse(place("cluster", "workers"), what, "use fewer workers");
    }
    if let Some(embedded) = experiment.contenders.iter().find(|one| one.kind.dialect().is_embedded()) {
        let what = format!("[cluster] cannot be: the engine of contender `{}` runs in the client", embedded.name);
        refuse(None, what, "take [cluster] or the contender out");
    }
    if let Some(pass) = experiment.workloads.iter().find(|workload| workload.one_pass) {
        let what = format!("[cluster] cannot be: a trial of `{}` is one pass of one client", pass.label);
        refuse(None, what, "take [cluster] or the workload out");
    }
    if let Some(log) = experiment.workloads.iter().find(|workload| workload.replays) {
        let what = format!("[cluster] cannot be: the sessions of `{}` wait for one another", log.label);
        refuse(None, what, "take [cluster] or the workload out");
    }
    if let Some(counted) = experiment.workloads.iter().find(|workload| workload.events.is_some()) {
        let what = format!(
            "[cluster] cannot be: a trial of `{}` ends by its transactions, which workers do not count together",
            counted.label
        );
        refuse(None, what, "take `events` out");
    }
    if experiment.method.duet {
        refuse(
            place("method", "duet"),
            "`duet` in [method] cannot stand beside [cluster]".to_owned(),
            "take one of the two out",
        );
    }
    if experiment.recovery.is_some() {
        refuse(None, "[recovery] cannot stand beside [cluster]".to_owned(), "take one of the two out");
    }
    let is_managed = |one: &&Contender| !matches!(one.origin, Origin::Target(_));
    let uses_socket = |one: &&Contender| is_managed(one) && experiment.transport_of(one) == Transport::Socket;
    let is_elsewhere = cluster.launcher != Launcher::Local;
    if let Some(managed) = experiment.contenders.iter().find(uses_socket).filter(|_| is_elsewhere) {
        let what = format!("workers on other hosts cannot use the socket of contender `{}`", managed.name);
        refuse(place("clients", "transport"), what, "write transport = \"tcp\" in [clients]");
    }
    if cluster.server_listen.is_some() && !experiment.contenders.iter().any(|one| is_managed(&one)) {
        refuse(
            place("cluster", "server_listen"),
            "`server_listen` in [cluster] has no use: all contenders are targets".to_owned(),
            "take it out",
        );
    }
    if cluster.observe_host.is_some() && experiment.contenders.iter().all(|one| is_managed(&one)) {
        refuse(
            place("cluster", "observe_host"),
            "`observe_host` in [cluster] has no use: no contender is a target".to_owned(),
            "take it out; what dbduel starts runs on this host, which is observed",
        );
    }
    if cluster.launcher == Launcher::Slurm && experiment.client_cores.is_some() {
        refuse(
            place("clients", "cores"),
            "`cores` in [clients] have no use: Slurm binds its tasks".to_owned(),
            "take them out",
        );
    }
}
