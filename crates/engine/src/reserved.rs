//! Settings that dbduel owns: where a server keeps its files, how it is reached, and what it starts besides.
//!
//! A server that took one of these from a file could run on another server's data or write outside the work
//! folder. The lists stand beside each engine; here is how a name and its value are compared with them, in every
//! spelling that a server takes. Nothing here depends on an engine.

use record::setting_value::plain;

/// Why a setting cannot stand in a file, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub next: &'static str,
}

/// What of an engine's settings belongs to dbduel. Names are in lower case, with underscores.
#[derive(Debug, Default)]
pub struct Reserved {
    /// With any value; a name that ends in `*` stands for all that begin so.
    pub always: &'static [&'static str],
    /// With a value that leads out of the data directory. A name that is the beginning of another one and a setting
    /// of its own stands here, too, so that it is not taken for an abbreviation.
    pub paths: &'static [&'static str],
    /// With a value that is a command other than one that does nothing.
    pub commands: &'static [&'static str],
    /// What the server takes in front of any name.
    pub prefixes: &'static [&'static str],
    /// The server takes the unambiguous beginning of a name for the whole.
    pub abbreviates: bool,
}

/// Commands that do nothing, as people write them.
const NO_COMMANDS: &[&str] = &["", "true", "/bin/true", "/usr/bin/true", "exit 0", "(disabled)"];
const WHY_OWNED: &str = "dbduel decides where a server keeps its files, how it starts and how it is reached";
const TAKE_OUT: &str = "next: take it out; `storage` says where the data lie, `basedir` which server runs, `transport` in [clients] how it is reached";

impl Reserved {
    /// Whether a setting is dbduel's, or no setting at all.
    pub fn refusal(&self, name: &str, value: &str) -> Option<Refusal> {
        if !is_name(name) {
            let what = format!("{name:?} is not the name of a setting");
            return Some(Refusal { what, next: "expected letters, digits, `_`, `-` and `.`, and a letter first" });
        }
        self.spellings(name).iter().find_map(|spelling| self.refused(name, spelling, value))
    }

    /// The name as the server reads it: whole, and without each prefix that may stand before it.
    fn spellings(&self, name: &str) -> Vec<String> {
        let mut spellings = vec![plain(name)];
        let mut at = 0;
        while let Some(spelling) = spellings.get(at).cloned() {
            let shorter = self.prefixes.iter().filter_map(|prefix| spelling.strip_prefix(prefix));
            spellings.extend(shorter.filter(|rest| !rest.is_empty()).map(str::to_owned));
            at += 1;
        }
        spellings
    }

    fn refused(&self, name: &str, spelling: &str, value: &str) -> Option<Refusal> {
        if let Some(owned) = self.owner(spelling, self.always) {
            let meant = if owned == name { String::new() } else { format!(" (`{owned}`)") };
            let what = format!("setting `{name}`{meant} cannot be given: {WHY_OWNED}");
            return Some(Refusal { what, next: TAKE_OUT });
        }
        if self.owner(spelling, self.paths).is_some() && value.contains('/') {
            let what = format!("setting `{name}` = \"{value}\" leads out of the server's own data directory");
            return Some(Refusal { what, next: "next: give a name without `/`, or take it out" });
        }
        if self.owner(spelling, self.commands).is_some() && !NO_COMMANDS.contains(&value.trim()) {
            let what = format!("setting `{name}` = \"{value}\" would run a command outside the server");
            return Some(Refusal { what, next: "next: take it out, or give \"/bin/true\", which does nothing" });
        }
        None
    }

    /// The entry of a list that a name means.
    fn owner(&self, spelling: &str, list: &[&'static str]) -> Option<&'static str> {
        let begins = |entry: &str| entry.strip_suffix('*').is_some_and(|start| spelling.starts_with(start));
        if let Some(entry) = list.iter().find(|entry| **entry == spelling || begins(entry)) {
            return Some(entry);
        }
        let is_whole = [self.always, self.paths, self.commands].iter().any(|names| names.contains(&spelling));
        let abbreviated = |entry: &&&str| entry.starts_with(spelling) && !entry.ends_with('*');
        list.iter().find(abbreviated).filter(|_| self.abbreviates && !is_whole).copied()
    }
}

fn is_name(name: &str) -> bool {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.chars().all(inside)
}
