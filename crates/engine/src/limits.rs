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
    pub fn expect(&self, asked: &Asked, need: &Need, whose: Whose) -> Result<Vec<String>> {
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
pub enum Whose {
    /// dbduel starts it, with settings of the experiment.
    Ours,
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
        /// That would do.
        value: String,
        /// The statement that sets it on a running server.
        statement: String,
        /// What else helps; empty where nothing does.
        otherwise: String,
    },
    /// No setting of a server that dbduel starts.
    Other(String),
}

impl Excess {
    pub fn refused(what: String, change: Change) -> Excess {
        Excess { weight: Weight::Refused, what, change }
    }

    pub fn remarked(what: String, change: Change) -> Excess {
        Excess { weight: Weight::Remarked, what, change }
    }

    pub fn text(&self, whose: Whose) -> String {
        let next = match (&self.change, whose) {
            (Change::Other(next), _) => next.clone(),
            (Change::Setting { name, value, otherwise, .. }, Whose::Ours) => {
                format!("give {name} = {value} in the contender's settings, or leave it out{}", or(otherwise))
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

    #[test]
    fn the_next_step_is_a_statement_for_a_users_server_and_a_setting_for_ours() {
        let excess = Excess::refused(
            "`max_connections` = 10".to_owned(),
            Change::Setting {
                name: "max_connections",
                value: "66".to_owned(),
                statement: "SET GLOBAL max_connections = 66".to_owned(),
                otherwise: "ask for fewer clients".to_owned(),
            },
        );
        assert_eq!(
            excess.text(Whose::Users),
            "`max_connections` = 10\n  next: SET GLOBAL max_connections = 66, or ask for fewer clients"
        );
        assert_eq!(
            excess.text(Whose::Ours),
            "`max_connections` = 10\n  next: give max_connections = 66 in the contender's settings, or leave it out, or ask for fewer clients"
        );
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
