//! What `dbduel plan` can check before anything starts: what this host, its servers and the targets
//! would refuse.
//!
//! It loads, fetches and writes nothing: servers that are here are asked for their settings, targets are logged in to.

use anyhow::{Context, Error, Result, anyhow};

use super::limits;
use super::placement::Placement;
use super::refusals::{expect_memory, expect_what_it_rests_on};
use engine::request::PullPolicy;
use engine::{UserServer, already_here, expect_known_settings};
use experiment::{Contender, Experiment, Origin, resolve};

/// What was found out.
#[derive(Default)]
pub struct Preflight {
    /// Contenders that a run would refuse, by name.
    refused: Vec<(String, Error)>,
    /// What the run needs of this host, and cannot have.
    host: Option<Error>,
    /// What could not be checked, and why, what targets take from elsewhere, and what else of them is to be known.
    pub remarks: Vec<String>,
}

impl Preflight {
    pub fn of(experiment: &Experiment) -> Preflight {
        let mut found = Preflight { host: Placement::on_this_host(experiment).err(), ..Preflight::default() };
        for contender in &experiment.contenders {
            let is_refused = |name: &str| found.refused.iter().any(|(one, _)| one == name);
            let stands = expect_what_it_rests_on(experiment, &contender.name, is_refused);
            match stands.and_then(|()| refuse_here(experiment, contender)) {
                Ok(remarks) => found.remarks.extend(remarks),
                Err(error) => found.refused.push((contender.name.clone(), error)),
            }
        }
        found
    }

    /// What would be refused after a wait for the host; fails where nothing would be left to measure.
    pub fn before_a_wait(self, contenders: usize, warn: &dyn Fn(&str)) -> Result<()> {
        if self.host.is_some() || self.refused.len() == contenders {
            return self.expect_nothing_refused();
        }
        self.refused.iter().for_each(|(name, error)| warn(&format!("warning: contender `{name}`: {error:#}")));
        Ok(())
    }

    /// Fails where `dbduel run` would.
    pub fn expect_nothing_refused(self) -> Result<()> {
        let of_host = self.host.map(|error| format!("\n{error:#}"));
        let of_contender = |(name, error): &(String, Error)| format!("\ncontender `{name}`: {error:#}");
        let refused: String = of_host.into_iter().chain(self.refused.iter().map(of_contender)).collect();
        if refused.is_empty() { Ok(()) } else { Err(anyhow!("`dbduel run` would refuse this here{refused}")) }
    }
}

/// What of a contender is not known before it is fetched, where the parts of a target come from, and what a user should
/// know of it; an error where it would be refused.
fn refuse_here(experiment: &Experiment, contender: &Contender) -> Result<Vec<String>> {
    if let Origin::Target(target) = &contender.origin {
        let target = UserServer::reach(contender.kind, target)?;
        let known = limits::expect_target(experiment, contender, &target)?;
        let remarks = target.sources().map(str::to_owned).into_iter().chain(known);
        return Ok(remarks.map(|text| format!("contender `{}`: {text}", contender.name)).collect());
    }
    limits::expect_settings(experiment, contender, &contender.settings)?;
    refuse_managed(contender, experiment.clients_max()).map(|remark| remark.into_iter().collect())
}

/// The same of a contender that is started here.
fn refuse_managed(contender: &Contender, clients: u32) -> Result<Option<String>> {
    if let Origin::Image(_) = &contender.origin {
        engine::inside::expect_roots()?;
    }
    let resolved = resolve(contender)?;
    if !resolved.has_version() {
        let name = &contender.name;
        return Ok(Some(format!(
            "not final: the hash and the estimates, because the files of `{name}` are not here yet; `dbduel run` fetches and unpacks them first"
        )));
    }
    expect_memory(contender, &resolved.version, clients)?;
    if contender.settings.is_empty() {
        return Ok(of_a_tag(contender));
    }
    match already_here(&resolved)? {
        Some(installation) => {
            let known = expect_known_settings(&installation, &contender.settings);
            known.with_context(|| format!("{} {} refuses its settings", resolved.kind, installation.version))?;
            Ok(of_a_tag(contender))
        }
        None => Ok(Some(format!(
            "not checked: the settings of `{}`, because {} {} is not fetched yet",
            contender.name, resolved.kind, resolved.version
        ))),
    }
}

/// What a run asks again, and may find changed.
fn of_a_tag(contender: &Contender) -> Option<String> {
    let Origin::Image(image) = &contender.origin else { return None };
    (image.pull == PullPolicy::Always).then(|| {
        format!(
            "not final: the hash, because `dbduel run` asks again which image {} is (pull = \"always\")",
            image.reference
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::PasswordSource;
    use engine::tunable::GIB;
    use experiment::testing::experiment;
    use experiment::{TargetChoice, TargetUrl};

    fn refusal(experiment: &Experiment) -> String {
        Preflight::of(experiment).expect_nothing_refused().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn memory_above_the_hosts_is_refused_before_anything_starts() {
        let mut experiment = experiment(&["a", "b"], &[], 8, 1);
        experiment.contenders[0].memory_bytes = Some(1 << 50);
        experiment.contenders[1].memory_bytes = Some(2 * GIB);
        let refusal = refusal(&experiment);
        assert!(refusal.contains("contender `a`: `memory` = 1048576.0 GiB is more than this host has ("), "{refusal}");
        assert!(!refusal.contains("contender `b`"), "{refusal}");
    }

    #[test]
    fn a_setting_that_the_server_lacks_is_refused_and_a_target_that_is_not_there() {
        let mut experiment = experiment(&["a", "b"], &[], 8, 1);
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.db");
        let url = TargetUrl::parse(&format!("sqlite://{}", missing.display())).unwrap();
        experiment.contenders[1].origin =
            Origin::Target(Box::new(TargetChoice { url, overwrite: false, password: PasswordSource::Unnamed }));
        let sqlite = experiment::testing::known().engine("sqlite").unwrap();
        experiment.contenders.iter_mut().for_each(|one| one.kind = sqlite);
        experiment.contenders[0].version = experiment::VersionRequest::Newest;
        experiment.contenders[0].settings = [("cache_sice".to_owned(), "100".to_owned())].into();
        let refusal = refusal(&experiment);
        assert!(refusal.contains("contender `a`") && refusal.contains("did you mean `cache_size`"), "{refusal}");
        assert!(refusal.contains("contender `b`") && refusal.contains("there is no database file"), "{refusal}");
        assert!(!missing.exists());
    }
}
