//! How a server runs the statements of a workload, asked when the interval of a trial is over: on the data that the load
//! has left, and before the server stops. What must stay true: nothing here runs a statement on a user's data, takes much
//! longer than its limit, or makes a trial fail.

use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use driver::{Admin, AnyConnection, Target};
use engine::Observe;
use load::{HasPlans, NamedStatement};
use record::format::StatementPlan;

use super::environment::RunningServer;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explaining {
    /// Each behind what is sent before it.
    pub statements: Vec<(Vec<String>, NamedStatement)>,
    /// Their values are not kept, nor what may repeat them.
    pub are_private: bool,
    /// For all of them together.
    pub limit: Duration,
}

/// A workload some of whose statements come up only while it runs, and where its clients connect.
pub type Running<'a> = (&'a dyn HasPlans, Target);

/// An answer for each statement; one that has none gives the reason.
pub fn explain(server: &RunningServer, explaining: &Explaining, running: Option<Running>) -> Vec<StatementPlan> {
    let mut asked = Asked {
        session: open(server),
        until: Instant::now() + explaining.limit,
        explaining,
        plans: Vec::with_capacity(explaining.statements.len()),
    };
    for (before, one) in &explaining.statements {
        asked.ask(before, one);
    }
    if let Some(running) = running {
        find(&running, &mut asked);
    }
    asked.plans
}

fn find((plans, target): &Running, asked: &mut Asked) {
    let until = asked.until;
    let mut connect = || {
        let opened = AnyConnection::connect(target.dialect, &target.endpoint, &target.login, left(until));
        opened.and_then(|mut connection| connection.set_timeout(Some(left(until))).map(|()| connection))
    };
    let mut found = |one: NamedStatement| asked.ask(&plans.before_explaining(&one, target.dialect), &one);
    // What was found until a failure is explained; the load itself is what fails a trial.
    let _ = plans.find_statements(&mut connect, until, &mut found);
}

struct Asked<'a> {
    session: Result<(&'static dyn Observe, Admin)>,
    until: Instant,
    explaining: &'a Explaining,
    plans: Vec<StatementPlan>,
}

impl Asked<'_> {
    fn ask(&mut self, before: &[String], one: &NamedStatement) {
        let Explaining { limit, are_private, .. } = *self.explaining;
        let answer = match &mut self.session {
            _ if Instant::now() > self.until => {
                Err(Error::msg(format!("explaining may take {} ms in all", limit.as_millis())))
            }
            Ok((observe, admin)) => {
                // What waits longer ends its session, and what comes after it is refused.
                let opened = admin.set_timeout(Some(left(self.until)));
                let opened = opened.and_then(|()| before.iter().try_for_each(|sql| admin.run(sql).map(drop)));
                opened.map_err(Error::from).and_then(|()| observe.explain(admin, &one.sql))
            }
            Err(error) => Err(Error::msg(format!("{error:#}"))),
        };
        self.plans.push(plan(one, answer, are_private));
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).max(Duration::from_millis(50))
}

fn open(server: &RunningServer) -> Result<(&'static dyn Observe, Admin)> {
    let observe = server.engine().observe().ok_or_else(|| Error::msg("this engine explains nothing"))?;
    Ok((observe, server.session()?))
}

fn plan(one: &NamedStatement, asked: Result<engine::Explained>, is_private: bool) -> StatementPlan {
    let (lines, tree, refused) = match asked {
        Ok(engine::Explained { lines, tree }) => {
            let why = tree.as_ref().err().cloned();
            (lines, tree.ok(), why)
        }
        Err(error) => (Vec::new(), None, Some(if is_private { without_values(&error) } else { format!("{error:#}") })),
    };
    StatementPlan {
        statement: one.name.clone(),
        sql: if is_private { String::new() } else { one.sql.clone() },
        // Conditions stand in them.
        lines: if is_private { Vec::new() } else { lines },
        shape: Vec::new(),
        tree,
        refused,
    }
}

/// Servers repeat parts of a statement in their messages.
fn without_values(error: &Error) -> String {
    match error.downcast_ref::<driver::Error>() {
        Some(driver::Error::Refused { code, .. }) => format!("server error {code}"),
        Some(driver::Error::Lost { .. }) => "the session ended".to_owned(),
        _ => "the server did not explain it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driver::Code;
    use engine::Explained;
    use record::format::PlanNode;

    #[test]
    fn of_private_statements_nothing_is_kept_that_may_hold_a_value() {
        let one = NamedStatement { name: "1a".into(), sql: "SELECT 'marked'".into() };
        let answer = || Ok(Explained { lines: vec!["= 'marked'".into()], tree: Ok(PlanNode::of("range")) });
        let message = "near 'marked'".to_owned();
        let refused =
            || Err(Error::from(driver::Error::Refused { code: Code::number(1064), message: message.clone() }));
        for kept in [plan(&one, answer(), true), plan(&one, refused(), true)] {
            assert!(!format!("{kept:?}").contains("marked"), "{kept:?}");
        }
        assert_eq!(plan(&one, refused(), true).refused.as_deref(), Some("server error 1064"));
        let public = plan(&one, answer(), false);
        assert_eq!((public.sql.as_str(), public.lines.len(), public.tree.is_some()), ("SELECT 'marked'", 1, true));
    }
}
