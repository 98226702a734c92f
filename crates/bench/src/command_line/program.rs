//! A script of sysbench on the command line: a file that is there, and the options that are meant for it.

use std::collections::BTreeMap;

use load::{Commands, OptionValue, Owner, Workload, WorkloadKind};
use workloads::workload_kind;

use super::words::{Given, Word};

/// The workload of the user's own transactions, and its keys for a script.
const KIND: &str = "script";
const FILES: &str = "files";
const OPTIONS: &str = "options";

pub struct Program {
    pub path: String,
    pub kind: &'static WorkloadKind,
    /// With no option given: what it declares, and its commands.
    declared: Box<dyn Workload>,
    files: OptionValue,
    given: BTreeMap<String, OptionValue>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}

impl Program {
    /// The script among the words. A path to no file comes from a command line of another machine, and means the
    /// built-in workload of its name.
    pub fn among(
        words: &[Word],
        read_file: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Option<Program>, String> {
        let path = words.iter().find_map(|word| match word {
            Word::Plain(path) => Some(path).filter(|path| path.ends_with(".lua")),
            Word::Option(given) => Some(&given.value).filter(|path| given.name == "test" && path.ends_with(".lua")),
        });
        let Some((path, text)) = path.and_then(|path| Some((path.clone(), read_file(path).ok()?))) else {
            return Ok(None);
        };
        let file = OptionValue::File { path: path.clone(), text };
        let files = OptionValue::Items(vec![OptionValue::Table([("path".to_owned(), file)].into())]);
        let kind = workload_kind(KIND).expect("the user's own transactions are a workload");
        let declared = kind.with(&[(FILES.to_owned(), files.clone())].into()).map_err(|error| error.to_string())?;
        Ok(Some(Program { path, kind, declared, files, given: BTreeMap::new() }))
    }

    pub fn commands(&self) -> &dyn Commands {
        self.declared.commands().expect("a script has commands")
    }

    /// Takes an option that is the script's, or sysbench's; whether it is nobody else's. `is_ours`: it is dbduel's too.
    pub fn keeps(&mut self, given: &Given, is_ours: bool) -> bool {
        let owner = self.commands().owner(&given.name);
        if owner.is_some() || !is_ours {
            self.given.insert(given.name.replace('-', "_"), OptionValue::Text(given.value.clone()));
        }
        owner == Some(Owner::Workload) || !is_ours
    }

    pub fn options(self) -> BTreeMap<String, OptionValue> {
        [(FILES.to_owned(), self.files), (OPTIONS.to_owned(), OptionValue::Table(self.given))].into()
    }
}
