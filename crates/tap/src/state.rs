//! What was found on a server, on disk before anything is changed there: whoever has the file can put it back.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use driver::Dialect;
use engine::target_url::TargetUrl;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::log::Log;
use crate::mysql::is_own_log;
use crate::plan::{Change, Plan, back};
use crate::server::Tapped;

const FORM: u64 = 1;

/// The state of a capture: `shop.dbcap.settings`.
const ENDING: &str = "settings";

/// A file beside a capture, named after it.
pub fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

/// Settings as they were found, and of which server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// A URL without a password.
    pub target: String,
    pub dialect: Dialect,
    pub changes: Vec<Change>,
    /// A file that the server makes for the capture alone.
    pub log: Option<PathBuf>,
}

impl State {
    pub fn of(server: &Tapped, plan: &Plan) -> State {
        let log = match &plan.log {
            Log::Own { path } => Some(path.clone()),
            Log::Csv { .. } | Log::Stderr { .. } => None,
        };
        State { target: server.text(), dialect: plan.dialect, changes: plan.changes.clone(), log }
    }

    pub fn file_of(out: &Path) -> PathBuf {
        beside(out, ENDING)
    }

    /// Of a capture that is not made any more, where the file is within reach.
    pub fn remove_log(&self) {
        if let Some(log) = self.log.as_ref().filter(|log| is_own_log(log)) {
            let _ = std::fs::remove_file(log);
        }
    }

    /// Writes a new file, and does not return before it is on disk.
    pub fn write(&self, path: &Path) -> Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        let text = serde_json::to_string_pretty(&self.to_json())? + "\n";
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = file.with_context(cannot)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(cannot)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(cannot)
    }

    pub fn read(path: &Path) -> Result<State> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let value = serde_json::from_slice(&bytes).ok();
        value.as_ref().and_then(State::of_json).with_context(|| {
            format!(
                "{} holds no settings of a server\n  next: name the file FILE.dbcap.settings that a capture left",
                path.display()
            )
        })
    }

    pub fn statements_back(&self) -> Vec<String> {
        back(self.dialect, &self.changes)
    }

    pub fn url(&self) -> Result<TargetUrl> {
        let url = TargetUrl::parse(&self.target).map_err(anyhow::Error::msg)?;
        ensure!(url.kind.dialect() == self.dialect, "{} is another kind of server", self.target);
        Ok(url)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "form": FORM,
            "target": self.target,
            "is_postgres": self.dialect == Dialect::Postgres,
            "changes": self.changes,
            "log": self.log,
        })
    }

    pub(crate) fn of_json(value: &Value) -> Option<State> {
        let changes: Vec<Change> = Vec::deserialize(&value["changes"]).ok()?;
        let is_state = value["form"] == FORM && changes.iter().all(|change| is_name(&change.name));
        let target = value["target"].as_str()?.to_owned();
        let dialect = if value["is_postgres"].as_bool()? { Dialect::Postgres } else { Dialect::MySql };
        let log = value["log"].as_str().map(PathBuf::from);
        is_state.then_some(State { target, dialect, changes, log })
    }
}

/// It stands in statements as it is.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str) -> State {
        let change = |before: Option<&str>| Change {
            name: name.to_owned(),
            shown: "stderr".to_owned(),
            before: before.map(str::to_owned),
            after: "csvlog".to_owned(),
        };
        State {
            target: "postgres://app@127.0.0.1/shop".to_owned(),
            dialect: Dialect::Postgres,
            changes: vec![change(None), change(Some("it's"))],
            log: Some("/var/lib/mysql/dbduel-1-2.log".into()),
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_only_by_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = State::file_of(&folder.path().join("shop.dbcap"));
        let written = state("log_destination");
        written.write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(State::read(&path).unwrap(), written);
        assert!(written.write(&path).is_err(), "an older one is never written over");
        std::fs::write(&path, "{}").unwrap();
        assert!(State::read(&path).unwrap_err().to_string().contains("holds no settings"));
    }

    #[test]
    fn a_name_that_is_no_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.settings");
        state("log_destination = 'x'; DROP").write(&path).unwrap();
        assert!(State::read(&path).is_err());
    }
}
