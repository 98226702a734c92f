//! Calls and answers, seen by a connection that answers as the routines would.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use driver::{Answer, Code, Part, Rows};

use super::*;
use crate::tpcc::client::{Duty, Parameter, TpccClient};
use crate::tpcc::desk::COUNT_NAMES;
use crate::tpcc::inputs::{Drawer, Inputs};
use crate::tpcc::random::ITEMS;
use load::{Client, OptionValue, Options, Turn};

/// Rows of text, or an error.
type Reply = Result<Vec<Vec<String>>, Error>;
/// A routine and its values.
type Heard = (String, Vec<String>);
type Script = Rc<dyn Fn(&str, &[String], usize) -> Reply>;

/// Hears calls as `CALL tpcc_delivery(?, …) <- 1, 2`, and answers by a script of routine, values and the
/// number of the call.
#[derive(Clone)]
struct Server {
    dialect: Dialect,
    prepared: Vec<String>,
    heard: Rc<RefCell<Vec<Heard>>>,
    script: Script,
}

impl Connection for Server {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.prepared.push(sql.to_owned());
        Ok(Statement::numbered(self.prepared.len() - 1))
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        unreachable!("every call is answered with rows")
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        let values: Vec<String> = values.iter().map(shown).collect();
        let sql = &self.prepared[statement.number()];
        assert_eq!(sql.matches(['?', '$']).count(), values.len(), "a value for each place of {sql}");
        let routine = sql.split("tpcc_").nth(1).and_then(|rest| rest.split('(').next()).unwrap().to_owned();
        let number = self.heard.borrow().len();
        self.heard.borrow_mut().push((routine.clone(), values.clone()));
        for row in (self.script)(&routine, &values, number)? {
            rows.take_postgres(Part::Row(&data_row(&row))).unwrap();
        }
        Ok(Answer { rows: rows.len() as u64, returns_rows: true, ..Answer::default() })
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        unreachable!("the routines bracket themselves")
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Decimal { units, scale: 2 } => format!("{units} cents"),
        Value::Decimal { .. } | Value::Null => panic!("{value:?} is no input"),
    }
}

/// `columns:2 (length:4 bytes)…`; a cell without text is NULL.
fn data_row(cells: &[String]) -> Vec<u8> {
    let mut row = (cells.len() as u16).to_be_bytes().to_vec();
    for cell in cells {
        let length = if cell.is_empty() { -1 } else { cell.len() as i32 };
        row.extend_from_slice(&length.to_be_bytes());
        row.extend_from_slice(cell.as_bytes());
    }
    row
}

fn tpcc(warehouses: i64, delivery: &str) -> Tpcc {
    let text = |text: &str| OptionValue::Text(text.to_owned());
    let given: BTreeMap<String, OptionValue> = [
        ("warehouses".to_owned(), OptionValue::Number(warehouses)),
        ("form".to_owned(), text("procedures")),
        ("delivery".to_owned(), text(delivery)),
    ]
    .into();
    options::read(&Options::new(options::OPTIONS, &given).unwrap()).unwrap()
}

const PLACE: Parameter = Parameter { input_seed: 7, data_seed: 1 };

/// Turns whose inputs are as wanted.
fn turns<F: Fn(&Inputs) -> bool>(tpcc: &Tpcc, wanted: F) -> impl Iterator<Item = (Turn, Inputs)> + use<F> {
    let drawer = Drawer::new(tpcc, PLACE.data_seed, PLACE.input_seed);
    (0..20_000)
        .map(move |number| {
            let turn = Turn { series: 0, number, retry: 0 };
            (turn, drawer.draw(turn))
        })
        .filter(move |(_, inputs)| wanted(inputs))
}

fn orders(warehouses: i64) -> impl Iterator<Item = (Turn, NewOrder)> {
    turns(&tpcc(warehouses, "whole"), |_| true).filter_map(|(turn, inputs)| match inputs {
        Inputs::NewOrder(order) => Some((turn, order)),
        _ => None,
    })
}

/// What came of one try.
struct Tried {
    outcome: Result<Outcome, Error>,
    attempt: Attempt,
    counts: Vec<u64>,
    heard: Vec<(String, Vec<String>)>,
}

impl Tried {
    fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

fn client(
    dialect: Dialect,
    tpcc: Tpcc,
    script: impl Fn(&str, &[String], usize) -> Reply + 'static,
) -> (TpccClient<Server>, Server) {
    let server = Server { dialect, prepared: Vec::new(), heard: Rc::default(), script: Rc::new(script) };
    (TpccClient::new(Arc::new(tpcc), PLACE, server.clone()).unwrap(), server)
}

fn attempt((client, server): &mut (TpccClient<Server>, Server), turn: Turn) -> Tried {
    let mut attempt = Attempt::default();
    server.heard.borrow_mut().clear();
    let outcome = match pin!(client.attempt(turn, &mut attempt)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("nothing here waits"),
    };
    let counts = client.counts().to_vec();
    assert_eq!(counts.len(), COUNT_NAMES.len());
    Tried { outcome, attempt, counts, heard: server.heard.borrow().clone() }
}

fn attempt_once(dialect: Dialect, tpcc: Tpcc, turn: Turn, reply: Reply) -> Tried {
    attempt(&mut client(dialect, tpcc, move |_, _, _| reply.clone()), turn)
}

fn row(cells: &str) -> Vec<String> {
    cells.split('|').map(str::to_owned).collect()
}

fn order_row(status: &str, lines: usize) -> Reply {
    let lines = "thing,50,G,1.00,2.00;".repeat(lines);
    Ok(vec![row(&format!("{status}|3001|BARBARBAR|GC|0.1|0.1|0.1|12.34|{lines}"))])
}

const BOTH: [Dialect; 2] = [Dialect::MySql, Dialect::Postgres];

#[test]
fn every_routine_is_dropped_and_then_made() {
    for dialect in BOTH {
        let definitions = definitions(&tpcc(1, "whole"), dialect);
        assert_eq!(definitions.len(), 2 * ROUTINES.len());
        for (pair, routine) in definitions.chunks(2).zip(ROUTINES) {
            let name = format!(" tpcc_{}(", routine.replace('-', "_"));
            assert!(format!("{}(", pair[0]).contains(&name) && pair[0].starts_with("DROP "), "{}", pair[0]);
            assert!(pair[1].contains(&name) && pair[1].starts_with("CREATE "), "{}", pair[1]);
        }
    }
}

#[test]
fn both_ways_to_send_lines_hold_them_all_in_the_order_of_their_locks() {
    for (_, order) in orders(1_000_000).take(2_000).chain(orders(1).take(2_000)) {
        let packed = packed(&order);
        let number = |bytes: &[u8]| String::from_utf8_lossy(bytes).parse::<i64>().unwrap();
        let cut = |line: &[u8]| [&line[..2], &line[2..8], &line[8..15], &line[15..]].map(number);
        let lines: Vec<[i64; 4]> = packed.as_bytes().chunks(17).map(cut).collect();
        let arrays = arrays(&order).map(|array| {
            let text = String::from_utf8_lossy(array.as_bytes()).into_owned();
            let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap().to_owned();
            inner.split(',').map(|number| number.parse::<i64>().unwrap()).collect::<Vec<_>>()
        });
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(*line, std::array::from_fn(|field| arrays[field][at]), "{order:?}");
            let original = order.lines()[line[0] as usize - 1];
            assert_eq!(line[1..], [original.item, original.supply_w, original.quantity]);
        }
        let keys: Vec<(bool, i64, i64)> = lines.iter().map(|line| (line[1] > ITEMS, line[2], line[1])).collect();
        assert!(keys.is_sorted(), "{order:?}");
        let mut numbers: Vec<i64> = lines.iter().map(|line| line[0]).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=order.lines().len() as i64).collect::<Vec<_>>());
    }
}

#[test]
fn an_order_is_one_call_and_counts_its_lines() {
    for dialect in BOTH {
        let (turn, order) = orders(3).find(|(_, order)| !order.all_local()).unwrap();
        let tried = attempt_once(dialect, tpcc(3, "whole"), turn, order_row("0", order.lines().len()));
        assert_eq!(tried.outcome, Ok(Outcome::Committed));
        let (routine, values) = &tried.heard[0];
        assert_eq!((tried.heard.len(), routine.as_str()), (1, "new_order"));
        assert_eq!(values[..4], [order.w, order.d, order.c, 0].map(|number| number.to_string()));
        assert_eq!(tried.attempt, Attempt { writes: 1, ..Attempt::default() });
        assert_eq!(tried.count(Count::Lines), order.lines().len() as u64);
        assert_eq!(tried.count(Count::RemoteOrders), 1);
    }
}

#[test]
fn an_unknown_item_rolls_back_however_a_server_reports_it() {
    let (turn, order) = orders(1).find(|(_, order)| order.lines().iter().any(|line| line.item > ITEMS)).unwrap();
    let raised = Err(Error::Refused { code: Code::new(b"TPC01"), message: String::new() });
    let served = order_row("1", order.lines().len() - 1);
    for (dialect, reply) in [(Dialect::MySql, served), (Dialect::Postgres, raised)] {
        let tried = attempt_once(dialect, tpcc(1, "whole"), turn, reply);
        assert_eq!(tried.outcome, Ok(Outcome::RolledBack));
        assert!(!tried.attempt.committing, "{dialect:?}");
    }
}

#[test]
fn answers_that_no_routine_gives_end_the_load() {
    let (turn, order) = orders(1).next().unwrap();
    let check = |reply: Reply| {
        let tried = attempt_once(Dialect::MySql, tpcc(1, "whole"), turn, reply);
        assert!(matches!(tried.outcome, Err(Error::Protocol(_))), "{:?}", tried.outcome);
    };
    check(order_row("0", order.lines().len() - 1));
    check(order_row("2", order.lines().len()));
    check(Ok(vec![]));
}

#[test]
fn other_errors_reach_the_client_and_may_leave_a_commit_unknown() {
    let lost = || Error::lost("gone");
    let deadlock = || Error::Retryable { code: Code::number(1213) };
    for (error, is_unknown) in [(lost(), true), (deadlock(), false)] {
        for (kind, changes) in [(0, true), (1, true), (2, false), (3, true), (4, false)] {
            let (turn, _) = turns(&tpcc(1, "whole"), |inputs| inputs.kind() == kind).next().unwrap();
            let tried = attempt_once(Dialect::MySql, tpcc(1, "whole"), turn, Err(error.clone()));
            assert_eq!(
                (tried.outcome, tried.attempt.committing),
                (Err(error.clone()), changes && is_unknown),
                "kind {kind}"
            );
            assert_eq!((tried.attempt.writes, tried.attempt.reads), (u64::from(changes), u64::from(!changes)));
        }
    }
}

#[test]
fn a_payment_passes_the_customer_by_number_or_by_name() {
    let payment = |inputs: &Inputs| match inputs {
        Inputs::Payment(payment) => Some(*payment),
        _ => None,
    };
    for is_named in [false, true] {
        let wanted = |inputs: &Inputs| {
            payment(inputs).is_some_and(|p| matches!(p.customer, Customer::LastName(_)) == is_named && p.c_w != p.w)
        };
        let (turn, inputs) = turns(&tpcc(3, "whole"), wanted).next().unwrap();
        let drawn = payment(&inputs).unwrap();
        let reply = Ok(vec![row(&format!("BC|{}|17|-10.50", if is_named { 3 } else { 0 }))]);
        let tried = attempt_once(Dialect::MySql, tpcc(3, "whole"), turn, reply);
        assert_eq!(tried.outcome, Ok(Outcome::Committed));
        let (c, last) = match drawn.customer {
            Customer::Id(id) => (id, String::new()),
            Customer::LastName(name) => (0, String::from_utf8_lossy(name.as_bytes()).into_owned()),
        };
        let mut expected: Vec<String> =
            [drawn.w, drawn.d, drawn.c_w, drawn.c_d, c].map(|number| number.to_string()).to_vec();
        expected.extend([last, format!("{} cents", drawn.amount_cents)]);
        assert_eq!(tried.heard, [("payment".to_owned(), expected)]);
        assert_eq!(tried.count(Count::PaymentCents), drawn.amount_cents as u64);
        let counted = [Count::RemotePayments, Count::BadCreditPayments, Count::PaymentsByName, Count::PaymentNameRows];
        let by_name = u64::from(is_named);
        assert_eq!(counted.map(|count| tried.count(count)), [1, 1, by_name, 3 * by_name]);
    }
}

#[test]
fn a_payment_without_a_customer_ends_the_load() {
    let (turn, _) = turns(&tpcc(1, "whole"), |inputs| inputs.kind() == 1).next().unwrap();
    let tried = attempt_once(Dialect::MySql, tpcc(1, "whole"), turn, Ok(vec![row("|||")]));
    assert!(matches!(tried.outcome, Err(Error::Protocol(_))), "{:?}", tried.outcome);
}

#[test]
fn who_only_reads_counts_reads() {
    let check = |kind, reply: &str, count, expected| {
        let (turn, _) = turns(&tpcc(1, "whole"), |inputs| match inputs {
            Inputs::OrderStatus(asked) => kind == 2 && matches!(asked.customer, Customer::LastName(_)),
            inputs => inputs.kind() == kind,
        })
        .next()
        .unwrap();
        let tried = attempt_once(Dialect::Postgres, tpcc(1, "whole"), turn, Ok(vec![row(reply); 5]));
        assert_eq!(tried.outcome, Ok(Outcome::Committed));
        assert_eq!(tried.attempt, Attempt { reads: 1, kind, ..Attempt::default() });
        assert_eq!(tried.count(count), expected);
        let nothing = attempt_once(Dialect::Postgres, tpcc(1, "whole"), turn, Ok(vec![]));
        assert!(matches!(nothing.outcome, Err(Error::Protocol(_))), "{:?}", nothing.outcome);
    };
    check(2, "4|17|-10.00", Count::OrderStatusNameRows, 4);
    check(4, "3001|11", Count::LowStock, 11);
}

/// Delivers one order in every district but the third.
fn delivered(values: &[String]) -> Reply {
    let [first, last] = [2, 3].map(|at| values[at].parse::<i64>().unwrap());
    let skipped = i64::from((first..=last).contains(&3));
    let orders: String = (first..=last).filter(|d| *d != 3).map(|d| format!("{d}:{};", 2100 + d)).collect();
    Ok(vec![row(&format!("0|{}|{skipped}|70.00|{orders}", last - first + 1 - skipped))])
}

#[test]
fn a_delivery_is_one_call_or_one_per_district() {
    for (delivery, calls) in [("whole", 1), ("per-district", 10)] {
        let (turn, _) = turns(&tpcc(1, delivery), |inputs| inputs.kind() == 3).next().unwrap();
        let mut pair = client(Dialect::MySql, tpcc(1, delivery), |_, values, _| delivered(values));
        let tried = attempt(&mut pair, turn);
        assert_eq!(tried.outcome, Ok(Outcome::Committed));
        assert_eq!((tried.heard.len() as u64, tried.attempt.writes), (calls, calls));
        let districts: Vec<[&str; 2]> = tried.heard.iter().map(|(_, values)| [&*values[2], &*values[3]]).collect();
        assert_eq!((districts[0][0], districts[calls as usize - 1][1]), ("1", "10"));
        assert_eq!([Count::DeliveredOrders, Count::SkippedDistricts].map(|count| tried.count(count)), [9, 1]);
    }
}

#[test]
fn a_deferred_delivery_writes_down_the_orders_that_the_routine_names() {
    let tpcc = tpcc(3, "queued");
    let (turn, inputs) = turns(&tpcc, |inputs| inputs.kind() == 3).next().unwrap();
    let Inputs::Delivery(drawn) = inputs else { panic!("a Delivery") };
    let (client, server) = client(Dialect::MySql, tpcc, |_, values, _| delivered(values));
    let mut pair = (client.with(Duty::Deferred), server);
    assert_eq!(attempt(&mut pair, turn).outcome, Ok(Outcome::Committed));
    let expected = [drawn.w as u32, drawn.carrier as u32, 2101, 2102, 0, 2104, 2105, 2106, 2107, 2108, 2109, 2110];
    assert_eq!(pair.0.journal(), expected);
}

#[test]
fn a_delivery_that_names_other_orders_than_it_counts_is_no_answer() {
    let (turn, _) = turns(&tpcc(1, "whole"), |inputs| inputs.kind() == 3).next().unwrap();
    for reply in ["0|10|0|70.00|1:2101;", "0|1|9|70.00|1:2101;1:2102;", "0|0|10|70.00|11:2101;", "0|1|9|70.00|"] {
        let tried = attempt_once(Dialect::MySql, tpcc(1, "whole"), turn, Ok(vec![row(reply)]));
        assert!(matches!(tried.outcome, Err(Error::Protocol(_))), "{reply}: {:?}", tried.outcome);
    }
}

#[test]
fn a_delivery_that_is_sent_back_goes_on_behind_what_it_committed() {
    for (delivery, first_again) in [("whole", "1"), ("per-district", "4")] {
        let (turn, _) = turns(&tpcc(1, delivery), |inputs| inputs.kind() == 3).next().unwrap();
        let refused = Rc::new(RefCell::new(false));
        let mut pair = client(Dialect::MySql, tpcc(1, delivery), move |_, values, _| {
            if (values[2] == "4" || values[3] == "10") && !refused.replace(true) {
                return Err(Error::Retryable { code: Code::number(1213) });
            }
            delivered(values)
        });
        assert!(matches!(attempt(&mut pair, turn).outcome, Err(Error::Retryable { .. })));
        let again = attempt(&mut pair, Turn { retry: 1, ..turn });
        assert_eq!((again.outcome.clone(), again.heard[0].1[2].as_str()), (Ok(Outcome::Committed), first_again));
        assert_eq!([Count::DeliveredOrders, Count::SkippedDistricts].map(|count| again.count(count)), [9, 1]);
    }
}

#[test]
fn a_delivery_that_others_outran_is_tried_again() {
    let (turn, _) = turns(&tpcc(1, "whole"), |inputs| inputs.kind() == 3).next().unwrap();
    let tried = attempt_once(Dialect::MySql, tpcc(1, "whole"), turn, Ok(vec![row("1|3|0|70.00")]));
    assert!(matches!(tried.outcome, Err(Error::Retryable { .. })), "{:?}", tried.outcome);
}
