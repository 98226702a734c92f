//! Which mischief meets which command, at which step, and within which time the command has to end.

use std::time::Duration;

use driver::Dialect;

use super::mischief::{ALL, Kind, Mischief};
use super::server::Plan;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Prepare,
    Bench,
    Check,
    Cleanup,
    Run,
    Aa,
}

impl Command {
    const ALL: [Command; 6] =
        [Command::Prepare, Command::Bench, Command::Check, Command::Cleanup, Command::Run, Command::Aa];

    pub fn takes_a_file(self) -> bool {
        matches!(self, Command::Run | Command::Aa)
    }

    /// Statements that it prepares and executes.
    fn executes(self) -> bool {
        matches!(self, Command::Prepare | Command::Bench)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub command: Command,
    pub dialect: Dialect,
    pub mischief: Mischief,
    pub at: Kind,
    /// A signal is sent once the server has fallen silent.
    pub interrupted: bool,
}

/// Answers of the load that are correct, so that there is something that a rate could be made of.
const EXECUTED_BEFORE: usize = 50;

impl Case {
    pub fn name(&self) -> String {
        let how = if self.interrupted { "-interrupted" } else { "" };
        format!("{:?}-{:?}-{:?}-{:?}{how}", self.dialect, self.command, self.at, self.mischief).to_lowercase()
    }

    pub fn plan(&self) -> Plan {
        let is_load = self.at == Kind::Execute && self.command == Command::Bench;
        let from = if is_load { EXECUTED_BEFORE } else { 0 };
        Plan { mischief: self.mischief, at: self.at, from, is_empty: self.command == Command::Prepare }
    }

    /// How long the command may take: the limit of the step, and what a busy machine adds to it.
    pub fn limit(&self) -> Duration {
        let waits = matches!(
            self.mischief,
            Mischief::Silent | Mischief::Stall | Mischief::Drip | Mischief::Endless | Mischief::Garbage
        );
        let step_s = match self.at {
            _ if self.interrupted || !waits => 0,
            Kind::Greeting | Kind::Login => 10,
            Kind::Execute if self.command == Command::Bench => 5,
            // Both contenders have this server.
            _ if self.command == Command::Aa => 60,
            _ => 30,
        };
        Duration::from_secs(step_s + 30)
    }

    /// A mischief that this step does not have: nothing is expected of it.
    fn is_possible(&self) -> bool {
        let is_mysql = self.dialect == Dialect::MySql;
        match (self.at, self.mischief) {
            (Kind::Greeting, _) if !is_mysql => false,
            (Kind::Greeting, Mischief::ErrorInside) => false,
            (Kind::Prepare | Kind::Execute, _) if !self.command.executes() => false,
            // A load goes to PostgreSQL by COPY, and the first of its answers to a COPY is a text's.
            (Kind::Prepare | Kind::Execute, _) if !is_mysql && self.command == Command::Prepare => false,
            // An insert of which the answer to the first statement is missing waits as long as a load may take.
            (Kind::Execute, mischief) if self.command == Command::Prepare => {
                !matches!(mischief, Mischief::Silent | Mischief::Stall | Mischief::Drip | Mischief::Endless)
            }
            // Deadlocks are part of a load.
            (Kind::Execute, Mischief::Error) => false,
            _ => true,
        }
    }
}

pub fn all(short: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        for command in Command::ALL {
            for at in [Kind::Greeting, Kind::Login, Kind::Text, Kind::Prepare, Kind::Execute] {
                let case = |mischief| Case { command, dialect, mischief, at, interrupted: false };
                cases.extend(ALL.into_iter().map(case));
                cases.push(Case { interrupted: true, ..case(Mischief::Silent) });
            }
        }
        let step = if short { 11 } else { 1 };
        let lengths = (1..LENGTHS).step_by(step).flat_map(|bytes| {
            [Kind::Greeting, Kind::Login, Kind::Text].map(|at| Case {
                command: Command::Check,
                dialect,
                mischief: Mischief::CutAt(bytes),
                at,
                interrupted: false,
            })
        });
        cases.extend(lengths);
    }
    cases.retain(|case| case.is_possible() && (!short || is_short(case)));
    // Those that wait longest begin first.
    cases.sort_by_key(|case| std::cmp::Reverse(case.limit()));
    cases
}

/// The longest correct answer of a login has fewer bytes.
const LENGTHS: usize = 100;

/// All of `bench`, since it measures; of each other command what it does alone.
fn is_short(case: &Case) -> bool {
    match case.command {
        Command::Bench | Command::Prepare => true,
        Command::Check => matches!(case.mischief, Mischief::CutAt(_)) || case.at == Kind::Text,
        Command::Cleanup => case.at == Kind::Text && case.mischief == Mischief::Silent,
        Command::Aa => case.at == Kind::Text && case.mischief == Mischief::Close,
        Command::Run => case.interrupted || (case.at == Kind::Text && case.mischief != Mischief::Drip),
    }
}
