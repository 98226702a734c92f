//! The statements of scripts with values in them, to ask a server how it would run them: what the first execution of each
//! transaction sends. As far as no value comes from an answer, no server is needed for it; the others are found by running
//! the transaction once, and taking back what it changed.

use std::time::Instant;

use driver::{AnyConnection, Connection, Dialect, Error, complete};
use load::{
    Attempt, Client, HasPlans, MonotonicClock, NamedStatement, Recorder, Slot, Timeline, Turn, Window, Workload as _,
};

use crate::client::ScriptClient;
use crate::program::{Op, Program, Protocol};
use crate::recording::Recording;
use crate::workload::{Script, Transaction};

/// What a server explains.
const EXPLAINED: &[&str] = &["select", "with", "insert", "update", "delete", "replace", "merge", "values"];
/// The fixed draw: the same values for every server, in every run.
const SEED: u64 = 1;

impl HasPlans for Script {
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        self.transactions.iter().flat_map(|one| self.sent_without_server(one, dialect)).collect()
    }

    fn before_explaining(&self, _: &NamedStatement, dialect: Dialect) -> Vec<String> {
        self.on_connect(dialect).cloned().collect()
    }

    fn finds_statements(&self) -> bool {
        let is_one = |one: &Transaction| one.programs.iter().any(|(program, _)| program.has_values_of_answers());
        self.transactions.iter().any(is_one)
    }

    fn find_statements(
        &self,
        connect: &mut dyn FnMut() -> Result<AnyConnection, Error>,
        until: Instant,
        found: &mut dyn FnMut(NamedStatement),
    ) -> Result<(), Error> {
        for one in self.transactions.iter() {
            let connection = connect()?;
            let dialect = connection.dialect();
            if !one.program(dialect).has_values_of_answers() || Instant::now() > until {
                continue;
            }
            let known = self.sent_without_server(one, dialect);
            let sent = self.sent_by(one, Recording::before(connection))?;
            sent.into_iter().filter(|sent| !known.iter().any(|one| one.name == sent.name)).for_each(&mut *found);
        }
        Ok(())
    }
}

impl Script {
    fn sent_without_server(&self, transaction: &Transaction, dialect: Dialect) -> Vec<NamedStatement> {
        self.sent_by(transaction, Recording::new(dialect)).unwrap_or_default()
    }

    /// What the first execution sends that servers explain.
    fn sent_by(&self, transaction: &Transaction, recording: Recording) -> Result<Vec<NamedStatement>, Error> {
        let mut one = transaction.clone();
        if one.programs.iter_mut().any(|(program, _)| !without_waits(program)) {
            return Ok(Vec::new());
        }
        let dialect = recording.dialect();
        let alone = Script { transactions: vec![one].into(), protocol: Protocol::Simple, ..self.clone() };
        let timeline = Timeline::default();
        timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
        let names = alone.timed_statements(dialect);
        let recorder = Recorder::new(0, false).with_statements(names.clone());
        let slot = Slot { input_seed: SEED, ..Slot::alone(MonotonicClock::sleeping(), timeline, recorder) };
        let mut client = ScriptClient::new(alone.clone(), recording, &slot)?;
        client.connection().sent.clear();
        if let Some(server) = &mut client.connection().server {
            server.begins = true;
        }
        // It ends at the first value that an answer does not bring.
        let _ = complete(client.attempt(Turn { series: 0, number: 0, retry: 0 }, &mut Attempt::default()));
        client.connection().server.as_mut().map_or(Ok(()), |server| server.take_back())?;
        let mut sent = std::mem::take(&mut client.connection().sent);
        let tallies = &slot.recorder.borrow().tally.statements;
        let program = alone.transactions[0].program(dialect);
        let called = names.into_iter().zip(&program.statements).zip(tallies);
        let called: Vec<(String, bool)> = called
            .filter(|(_, tally)| tally.count + tally.failed > 0)
            .map(|((name, statement), _)| (name, statement.is_joined))
            .collect();
        // A transaction that a missing value ends is rolled back.
        if sent.len() == called.len() + 1 {
            sent.pop_if(|last| last.eq_ignore_ascii_case("rollback"));
        }
        if called.len() != sent.len() {
            return Ok(Vec::new());
        }
        let all = called.into_iter().zip(sent);
        // Behind the first of several statements in one text the others would be run.
        Ok(all
            .filter(|((_, is_joined), sql)| !is_joined && is_explained(sql))
            .map(|((name, _), sql)| NamedStatement { name, sql })
            .collect())
    }
}

impl Program {
    /// Whether values of its statements come from answers (`\gset`).
    fn has_values_of_answers(&self) -> bool {
        self.statements.iter().any(|statement| statement.gather.is_some())
    }
}

/// Whether servers explain such a statement.
pub fn is_explained(sql: &str) -> bool {
    let word: String = sql.trim_start_matches(['(', ' ', '\n']).chars().take_while(char::is_ascii_alphabetic).collect();
    EXPLAINED.contains(&word.to_ascii_lowercase().as_str())
}

/// Takes out what waits and what asks for rows; false where a value comes from another program.
fn without_waits(program: &mut Program) -> bool {
    for (at, op) in program.ops.iter_mut().enumerate() {
        match op {
            Op::Sleep { .. } | Op::Shell { keep: None, .. } => *op = Op::Jump(at + 1),
            Op::Shell { .. } | Op::Queue(_) | Op::EndPipeline(_) => return false,
            Op::Set { .. } | Op::JumpUnless { .. } | Op::Jump(_) | Op::Run(_) => {}
        }
    }
    program.statements.iter_mut().for_each(|statement| statement.expectations.clear());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{OptionValue, Options};

    fn explained(text: &str, dialect: Dialect) -> Vec<(String, String)> {
        let file = OptionValue::File { path: "a.sql".to_owned(), text: text.to_owned() };
        let table = OptionValue::Table([("path".to_owned(), file)].into_iter().collect());
        let given = [("files".to_owned(), OptionValue::Items(vec![table]))].into_iter().collect();
        let options = Options::new(crate::options::OPTIONS, &given).unwrap();
        let script = crate::options::read(&options).unwrap();
        let name = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        script.explained_statements(dialect).into_iter().map(|one| (name(&one.name), one.sql)).collect()
    }

    #[test]
    fn what_a_first_execution_sends_is_named_as_its_times_are() {
        let text = "\\set id random(7, 7)\nBEGIN;\n-- expect: 1 row\nSELECT a FROM t WHERE id = :id;\n\\sleep 1 s\n\
                    UPDATE t SET a = 1 WHERE id = :id;\nEND;\n";
        let expected = [("4", "SELECT a FROM t WHERE id = 7"), ("6", "UPDATE t SET a = 1 WHERE id = 7")];
        let expected = expected.map(|(name, sql)| (name.to_owned(), sql.to_owned()));
        assert_eq!(explained(text, Dialect::Postgres), expected);
        assert_eq!(explained(text, Dialect::MySql), expected);
    }

    #[test]
    fn what_would_run_or_needs_an_answer_is_left_out() {
        let text = "SELECT a FROM t \\gset\nSELECT b FROM t WHERE a = :a;\n";
        assert_eq!(explained(text, Dialect::Postgres), [("1".to_owned(), "SELECT a FROM t".to_owned())]);
        let text = "BEGIN;\nSELECT a FROM t \\gset\nSELECT b FROM t WHERE a = :a;\nEND;\n";
        assert_eq!(explained(text, Dialect::Sqlite), [("2".to_owned(), "SELECT a FROM t".to_owned())]);
        assert!(is_explained("(SELECT 1) UNION (SELECT 2)") && !is_explained("CALL p()") && !is_explained("COMMIT"));
    }
}
