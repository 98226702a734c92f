//! Whether a server leaves room for a load: what it is asked, what the load needs, and what does not fit.
//!
//! Each engine has a table of its limits. A row of it looks at answers and needs, and at nothing else: it holds for a
//! server that answers, and for the settings of one that has not been started. What a version or an account does not
//! show is absent from the answers, and nothing is claimed about it.

mod asked;
mod need;

use anyhow::{Result, bail};
use driver::{Admin, Error};

pub use asked::{Asked, unless_refused};
pub use need::{Need, counted, taken};

/// The limits of one kind of server.
pub struct Limits {
    /// Asks a server for all that the table looks at.
    pub ask: fn(&mut Admin) -> Result<Asked, Error>,
    pub table: &'static [Limit],
}

impl Limits {
    /// Of an engine that limits nothing.
    pub const NONE: Limits = Limits { ask: |_| Ok(Asked::default()), table: &[] };

    /// What does not fit, in the order of the table.
    pub fn exceeded(&self, asked: &Asked, need: &Need) -> Vec<Excess> {
        self.table.iter().filter_map(|limit| limit(asked, need)).collect()
    }

    /// Fails where the load cannot work; returns what may disturb it.
    pub fn expect(&self, asked: &Asked, need: &Need, whose: Whose<'_>) -> Result<Vec<String>> {
        let (refused, remarks): (Vec<Excess>, Vec<Excess>) =
            self.exceeded(asked, need).into_iter().partition(|one| one.weight == Weight::Refused);
        let lines = |all: &[Excess]| all.iter().map(|one| one.text(whose)).collect::<Vec<_>>();
        if refused.is_empty() {
            return Ok(lines(&remarks));
        }
        bail!("{}", lines(&refused).join("\n"))
    }
}

/// A row of a table: what of the answers is less than the load needs.
pub type Limit = fn(&Asked, &Need) -> Option<Excess>;

/// Who decides about a server's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// dbduel starts it, with these settings of the experiment.
    Ours(&'a Asked),
    Users,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The load cannot work.
    Refused,
    /// It works, and may be disturbed.
    Remarked,
}

/// What a load needs and a server does not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excess {
    pub weight: Weight,
    /// The setting with its value, and what is needed.
    pub what: String,
    pub change: Change,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Setting {
        name: &'static str,
        value: Value,
        /// The statement that sets it on a running server.
        statement: String,
        /// What else helps; empty where nothing does.
        otherwise: String,
    },
    /// No setting of a server that dbduel starts.
    Other(String),
}

/// A value that would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Every version has it by itself.
    Usual(&'static str),
    /// So much or more; every version has at least `usual` by itself.
    AtLeast { least: u64, usual: u64 },
}

impl Value {
    /// For a contender's settings, which may have one already.
    fn next_step(&self, name: &str, is_given: bool) -> String {
        let leave_out = format!("leave {name} out of the contender's settings");
        match self {
            Value::Usual(_) if is_given => leave_out,
            Value::Usual(value) => format!("give {name} = {value} in the contender's settings"),
            Value::AtLeast { least, usual } if is_given && least <= usual => {
                format!("{leave_out}, or give at least {name} = {least}")
            }
            Value::AtLeast { least, .. } => format!("give at least {name} = {least} in the contender's settings"),
        }
    }
}

impl Excess {
    pub fn refused(what: String, change: Change) -> Excess {
        Excess { weight: Weight::Refused, what, change }
    }

    pub fn remarked(what: String, change: Change) -> Excess {
        Excess { weight: Weight::Remarked, what, change }
    }

    pub fn text(&self, whose: Whose<'_>) -> String {
        let next = match (&self.change, whose) {
            (Change::Other(next), _) => next.clone(),
            (Change::Setting { name, value, otherwise, .. }, Whose::Ours(given)) => {
                format!("{}{}", value.next_step(name, given.text(name).is_some()), or(otherwise))
            }
            (Change::Setting { statement, otherwise, .. }, Whose::Users) => format!("{statement}{}", or(otherwise)),
        };
        format!("{}\n  next: {next}", self.what)
    }
}

fn or(otherwise: &str) -> String {
    if otherwise.is_empty() { String::new() } else { format!(", or {otherwise}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(name: &'static str, value: Value) -> Excess {
        let (statement, otherwise) = (format!("SET GLOBAL {name} = 66"), "ask for fewer clients".to_owned());
        Excess::refused("it is low".to_owned(), Change::Setting { name, value, statement, otherwise })
    }

    #[test]
    fn the_next_step_is_a_statement_for_a_users_server_and_a_setting_for_ours() {
        let check = |value: Value, whose: Whose, expected: &str| {
            assert_eq!(
                excess("limit", value).text(whose),
                format!("it is low\n  next: {expected}, or ask for fewer clients")
            );
        };
        let (given, none) = (Asked::of([("Limit", "10")]), Asked::default());
        let enough = Value::AtLeast { least: 66, usual: 100 };
        let more_than_usual = Value::AtLeast { least: 166, usual: 100 };
        let out = "leave limit out of the contender's settings";
        check(enough.clone(), Whose::Users, "SET GLOBAL limit = 66");
        check(enough, Whose::Ours(&given), &format!("{out}, or give at least limit = 66"));
        check(more_than_usual.clone(), Whose::Ours(&given), "give at least limit = 166 in the contender's settings");
        check(more_than_usual, Whose::Ours(&none), "give at least limit = 166 in the contender's settings");
        check(Value::Usual("OFF"), Whose::Ours(&given), out);
        check(Value::Usual("OFF"), Whose::Ours(&none), "give limit = OFF in the contender's settings");
    }

    #[test]
    fn what_only_disturbs_is_returned_and_what_cannot_work_fails() {
        const LIMITS: Limits = Limits {
            ask: |_| Ok(Asked::default()),
            table: &[
                |asked, _| {
                    let change = Change::Other("wait".to_owned());
                    asked.has("replica", "ON").then(|| Excess::remarked("a replica".to_owned(), change))
                },
                |asked, need| {
                    let change = Change::Other("name another server".to_owned());
                    (need.writes && asked.is_on("read_only"))
                        .then(|| Excess::refused("`read_only` = ON".to_owned(), change))
                },
            ],
        };
        let asked = Asked::of([("replica", "ON"), ("read_only", "1")]);
        let reads = Need::default();
        let writes = Need { writes: true, ..Need::default() };
        assert_eq!(LIMITS.expect(&asked, &reads, Whose::Users).unwrap(), ["a replica\n  next: wait"]);
        let refused = LIMITS.expect(&asked, &writes, Whose::Users).unwrap_err().to_string();
        assert_eq!(refused, "`read_only` = ON\n  next: name another server");
        assert!(LIMITS.expect(&Asked::default(), &writes, Whose::Users).unwrap().is_empty(), "absent is no limit");
    }
}
