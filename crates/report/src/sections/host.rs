//! The host: what it is, what it did meanwhile, what it has shown before.

use analysis::{Watched, watched};
use record::metric::OF_SERVER;

use super::{Topic, stopped};
use crate::document::{Block, Column, Section, Table};
use crate::{Evidence, conditions, hardware, wording};

pub struct Host;

impl Topic for Host {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let host = &evidence.run.host;
        let facts = conditions::facts(host);
        let not_visible = conditions::not_visible(host).map(|names| format!("Not visible here: {names}"));
        let flags =
            wording::flags(&evidence.conclusions).map(|flags| format!("Trials with flags of the host: {flags}"));
        let of_servers = evidence.run.host_of_servers();
        let mut body = vec![Block::Table(hardware::block(of_servers, Some(evidence)))];
        if evidence.run.server_host.is_some() {
            let own = Block::Table(hardware::block(host, None));
            body = [Block::heading("The servers' host")].into_iter().chain(body).collect();
            body.extend([Block::heading("The host of dbduel"), own]);
        }
        let facts = (!facts.is_empty()).then(|| facts.join("; "));
        body.extend(Block::list(stopped(facts.into_iter().chain(flags).chain(not_visible).collect())));
        for of in [OF_SERVER, ""] {
            body.extend(Block::table(seen(evidence, of, false)).map(|table| Block::OnPage(vec![table])));
            body.extend(Block::table(seen(evidence, of, true)).map(|table| Block::OffPage(vec![table])));
        }
        let twins = Block::list(stopped(conditions::twins(&evidence.run)));
        body.extend(twins.into_iter().flat_map(|list| [Block::heading("Earlier A/A tests on this host"), list]));
        Section::of("host", "The host", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

/// What was seen in the trials, of the servers' own host or of this one and the servers. The worst second is not in the
/// records that a page carries.
fn seen(evidence: &Evidence, of: &str, with_seconds: bool) -> Table {
    let second = with_seconds.then(|| Column::number("worst second", 1));
    let title = if of.is_empty() { "during the trials" } else { "on the servers' host" };
    let columns = [Column::name(title, 0), Column::number("mean", 0), Column::number("worst trial", 0)];
    let columns = columns.into_iter().chain(second).chain([Column::number("trials", 2)]);
    let row = |seen: Watched| {
        let title = wording::watched(seen.metric.strip_prefix(of)?)?;
        let is_share = seen.metric.ends_with("_share");
        let figure = |value| if is_share { wording::percent(value) } else { wording::number(value) };
        let second = with_seconds.then(|| seen.worst_second.map_or("not known".to_owned(), figure));
        let front = [title.to_owned(), figure(seen.mean), figure(seen.worst_trial)];
        Some(front.into_iter().chain(second).chain([seen.trials.to_string()]).collect::<Vec<_>>())
    };
    let rows = watched(evidence.trials.measured(), &evidence.observed).into_iter().filter_map(row);
    Table::new(columns.collect::<Vec<_>>()).with_rows(rows)
}
