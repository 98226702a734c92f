//! Statements and parameters of one transaction, seen by a connection that only listens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use driver::{Answer, Code, Connection, Statement};

use super::*;
use crate::workload::{Attempt, Client, Outcome, Turn, workload_kind};

#[derive(Clone, Default)]
struct Listener {
    prepared: Rc<RefCell<Vec<String>>>,
    heard: Rc<RefCell<Vec<String>>>,
    /// How many times the third statement is answered with a deadlock.
    deadlocks: Rc<RefCell<u32>>,
}

impl Connection for Listener {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.prepared.borrow_mut().push(sql.to_owned());
        Ok(Statement::numbered(self.prepared.borrow().len() - 1))
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        let sql = self.prepared.borrow()[statement.number()].clone();
        let shown: Vec<String> = parameters
            .iter()
            .map(|value| match value {
                Value::Int(number) => number.to_string(),
                Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            })
            .collect();
        self.heard.borrow_mut().push(format!("{sql} <- {}", shown.join(", ")));
        if self.heard.borrow().len().is_multiple_of(3) && *self.deadlocks.borrow() > 0 {
            *self.deadlocks.borrow_mut() -= 1;
            return Err(Error::Retryable { code: Code::number(1213) });
        }
        Ok(Answer::default())
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.heard.borrow_mut().push(sql.to_owned());
        Ok(Answer::default())
    }
}

fn oltp(name: &str, given: &[(&str, OptionValue)]) -> Oltp {
    let kind = workload_kind(name).unwrap();
    let given: BTreeMap<String, OptionValue> =
        given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let options = Options::new(kind.options, &given).unwrap();
    // The same path as in production, but with the concrete type.
    let mix = match name {
        "oltp_point_select" => Mix { point_selects: 1, ..Mix::default() },
        "oltp_read_only" => reads(&options).unwrap(),
        "oltp_write_only" => {
            writes(&options, Mix { transaction: transaction(&options).unwrap(), ..Mix::default() }).unwrap()
        }
        "oltp_update_index" => Mix { index_updates: statements(&options, "index_updates").unwrap(), ..Mix::default() },
        "oltp_update_non_index" => {
            Mix { non_index_updates: statements(&options, "non_index_updates").unwrap(), ..Mix::default() }
        }
        "oltp_read_write" => writes(&options, reads(&options).unwrap()).unwrap(),
        _ => return classic_oltp(&options).unwrap(),
    };
    modern_oltp(&options, mix).unwrap()
}

use crate::workload::OptionValue;

/// Runs transaction `number` of `client` to its end and returns what the connection heard.
fn hear(workload: &Oltp, client: u64, number: u64, deadlocks: u32) -> (Vec<String>, Attempt) {
    let listener = Listener { deadlocks: Rc::new(RefCell::new(deadlocks)), ..Listener::default() };
    let (series, mut attempt) = (client, Attempt::default());
    let mut client = OltpClient::new(Arc::new(workload.clone()), 1, listener.clone()).unwrap();
    for retry in 0.. {
        match complete(client.attempt(Turn { series, number, retry }, &mut attempt)) {
            Ok(outcome) => {
                assert_eq!(outcome, Outcome::Committed);
                break;
            }
            Err(error) => assert_eq!(error, Error::Retryable { code: Code::number(1213) }),
        }
        complete(client.roll_back(&mut attempt)).unwrap();
    }
    (listener.heard.take(), attempt)
}

fn complete<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the listener answers at once"),
    }
}

fn verbs(heard: &[String]) -> Vec<&str> {
    heard.iter().map(|line| line.split(" <-").next().unwrap()).collect()
}

#[test]
fn a_read_write_transaction_has_sysbench_s_statements_in_sysbench_s_order() {
    let (heard, attempt) = hear(&oltp("oltp_read_write", &[]), 0, 0, 0);
    let expected = [
        &["BEGIN"][..],
        &["SELECT c FROM sbtest1 WHERE id=?"; 10],
        &[
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "UPDATE sbtest1 SET k=k+1 WHERE id=?",
            "UPDATE sbtest1 SET c=? WHERE id=?",
            "DELETE FROM sbtest1 WHERE id=?",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            "COMMIT",
        ],
    ]
    .concat();
    assert_eq!(verbs(&heard), expected);
    assert_eq!(attempt, Attempt { reads: 14, writes: 4, other: 2, ..Attempt::default() });
}

#[test]
fn each_script_counts_what_sysbench_counts() {
    let off = |name| (name, OptionValue::Flag(false));
    let on = |name| (name, OptionValue::Flag(true));
    let check = |name, options: &[(&str, OptionValue)], reads, writes, other| {
        let (_, attempt) = hear(&oltp(name, options), 0, 0, 0);
        assert_eq!(attempt, Attempt { reads, writes, other, ..Attempt::default() }, "{name} {options:?}");
    };
    check("oltp_point_select", &[], 1, 0, 0);
    check("oltp_read_only", &[], 14, 0, 2);
    check("oltp_write_only", &[], 0, 4, 2);
    check("oltp_update_index", &[], 0, 1, 0);
    check("oltp_update_index", &[("index_updates", OptionValue::Number(5))], 0, 5, 0);
    check("oltp_update_non_index", &[], 0, 1, 0);
    check("oltp_read_write", &[on("skip_trx")], 14, 4, 0);
    check("oltp_read_write", &[off("range_selects")], 10, 4, 2);
    // sysbench 0.4.12: 33698 transactions gave read 471772, write 168490, other 67396.
    check("oltp", &[], 14, 5, 2);
    check("oltp", &[on("read_only")], 14, 0, 2);
    check("oltp", &[("mode", OptionValue::Text("simple".to_owned()))], 1, 0, 0);
}

#[test]
fn a_delete_and_its_insert_share_the_id() {
    let (heard, _) = hear(&oltp("oltp_write_only", &[]), 3, 9, 0);
    let id = |line: &str| line.split("<- ").nth(1).unwrap().split(", ").next().unwrap().to_owned();
    assert_eq!(id(&heard[3]), id(&heard[4]));
}

#[test]
fn statements_are_prepared_once_per_table() {
    let listener = Listener::default();
    let four = oltp("oltp_read_write", &[("tables", OptionValue::Number(4))]);
    OltpClient::new(Arc::new(four), 1, listener.clone()).unwrap();
    assert_eq!(listener.prepared.borrow().len(), 2 + 9 * 4);
}

#[test]
fn inputs_depend_on_seed_client_and_number_only() {
    let workload = oltp("oltp_read_write", &[]);
    assert_eq!(hear(&workload, 1, 5, 0), hear(&workload, 1, 5, 0));
    assert_ne!(hear(&workload, 1, 5, 0).0, hear(&workload, 2, 5, 0).0);
    assert_ne!(hear(&workload, 1, 5, 0).0, hear(&workload, 1, 6, 0).0);
}

#[test]
fn a_deadlock_is_rolled_back_and_tried_again_with_the_same_inputs() {
    let workload = oltp("oltp_write_only", &[]);
    let (quiet, _) = hear(&workload, 0, 0, 0);
    let (heard, _) = hear(&workload, 0, 0, 1);
    assert_eq!(heard[..4], [quiet[0].clone(), quiet[1].clone(), quiet[2].clone(), "ROLLBACK".to_owned()]);
    assert_eq!(heard[4..], quiet);
}

#[test]
fn classic_ranges_stay_inside_the_table_and_the_distinct_one_is_longer() {
    let workload = oltp("oltp", &[("rows", OptionValue::Number(150))]);
    for number in 0..200 {
        let (heard, _) = hear(&workload, 0, number, 0);
        let ranges: Vec<(i64, i64)> = heard[11..15]
            .iter()
            .map(|line| {
                let (low, high) = line.split("<- ").nth(1).unwrap().split_once(", ").unwrap();
                (low.parse().unwrap(), high.parse().unwrap())
            })
            .collect();
        assert!(ranges.iter().all(|(low, _)| (1..=51).contains(low)), "{ranges:?}");
        let lengths: Vec<i64> = ranges.iter().map(|(low, high)| high - low + 1).collect();
        assert_eq!(lengths, [100, 100, 100, 101]);
    }
}

#[test]
fn rows_have_sysbench_s_shape_and_follow_from_the_seed() {
    let workload = oltp("oltp_read_write", &[]);
    let row = |seed, row| {
        let mut shown = String::new();
        workload
            .row(seed, 0, row, &mut |values| {
                shown = format!("{values:?}");
                if let [Value::Int(id), Value::Int(k), Value::Text(c), Value::Text(pad)] = values {
                    assert_eq!(*id, row as i64 + 1);
                    assert!((1..=100_000).contains(k));
                    for (text, groups) in [(c, 10), (pad, 5)] {
                        let parts: Vec<&[u8]> = text.split(|byte| *byte == b'-').collect();
                        assert_eq!(parts.len(), groups);
                        assert!(parts.iter().all(|part| part.len() == 11 && part.iter().all(u8::is_ascii_digit)));
                    }
                } else {
                    panic!("four columns expected, not {values:?}");
                }
                Ok(())
            })
            .unwrap();
        shown
    };
    assert_eq!(row(1, 7), row(1, 7));
    assert_ne!(row(1, 7), row(2, 7));
    assert_ne!(row(1, 7), row(1, 8));
}

#[test]
fn a_wrong_option_says_what_was_expected() {
    let kind = workload_kind("oltp_read_write").unwrap();
    let given = BTreeMap::from([("rows".to_owned(), OptionValue::Text("many".to_owned()))]);
    let options = Options::new(kind.options, &given).unwrap();
    let Err(error) = (kind.build)(&options) else { panic!("rows = many is no number") };
    assert_eq!(error.to_string(), "`rows`: a whole number from 1 to 2147483647 was expected, not \"many\"");
}
