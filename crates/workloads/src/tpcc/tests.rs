//! The forms against an engine without tables: which statements they send, in which order, and what they do when
//! an answer is not the usual one; and the inputs against the specification's shares.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Value};

use super::client::{Duty, Parameter, TpccClient};
use super::desk::Count;
use super::inputs::{Customer, Drawer, Inputs};
use super::null::NullEngine;
use super::options::{self, Delivery, Form, Mix};
use super::random::ITEMS;
use super::*;
use load::{Attempt, Backlog, Client, Options, Outcome, Turn};

const DIALECTS: [Dialect; 3] = [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite];

fn tpcc(warehouses: u64, form: Form) -> Tpcc {
    let options = Options::new(options::OPTIONS, &Default::default()).unwrap();
    Tpcc { warehouses, form, ..options::read(&options).unwrap() }
}

fn complete<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// A statement that was sent, and its whole numbers.
type Sent = (String, Vec<i64>);

/// Writes down what is sent, and lets a test spoil the first answers to some statements.
struct Watched {
    engine: NullEngine,
    texts: Vec<String>,
    sent: Rc<RefCell<Vec<Sent>>>,
    spoilt: &'static str,
    spoils: Rc<Cell<u32>>,
}

impl Watched {
    fn note(&self, statement: Statement, values: &[Value<'_>]) -> bool {
        let text = &self.texts[statement.number()];
        let numbers =
            values.iter().filter_map(|value| if let Value::Int(number) = value { Some(*number) } else { None });
        self.sent.borrow_mut().push((text.clone(), numbers.collect()));
        let is_spoilt = !self.spoilt.is_empty() && text.starts_with(self.spoilt) && self.spoils.get() > 0;
        self.spoils.set(self.spoils.get() - u32::from(is_spoilt));
        is_spoilt
    }
}

impl Connection for Watched {
    fn dialect(&self) -> Dialect {
        self.engine.dialect()
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.texts.push(sql.to_owned());
        self.engine.prepare(sql)
    }

    async fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Answer, Error> {
        if self.note(statement, values) {
            return Ok(Answer::default());
        }
        self.engine.execute(statement, values).await
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        if self.note(statement, values) {
            rows.clear();
            return Ok(Answer::default());
        }
        self.engine.fetch(statement, values, rows).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.sent.borrow_mut().push((sql.to_owned(), Vec::new()));
        Ok(Answer::default())
    }
}

struct Bench {
    client: TpccClient<Watched>,
    drawer: Drawer,
    sent: Rc<RefCell<Vec<Sent>>>,
}

impl Bench {
    fn new(tpcc: Tpcc, dialect: Dialect) -> Bench {
        Bench::spoiling(tpcc, dialect, "", 0)
    }

    fn spoiling(tpcc: Tpcc, dialect: Dialect, spoilt: &'static str, times: u32) -> Bench {
        let sent = Rc::<RefCell<Vec<Sent>>>::default();
        let connection = Watched {
            engine: NullEngine::new(dialect),
            texts: Vec::new(),
            sent: Rc::clone(&sent),
            spoilt,
            spoils: Rc::new(Cell::new(times)),
        };
        let drawer = Drawer::new(&tpcc, 1, 1);
        let place = Parameter { input_seed: 1, data_seed: 1 };
        Bench { client: TpccClient::new(Arc::new(tpcc), place, connection).unwrap(), drawer, sent }
    }

    fn turns<T: Fn(&Inputs) -> bool>(&self, wanted: T) -> impl Iterator<Item = (Turn, Inputs)> + use<T> {
        let drawer = self.drawer.clone();
        let turn = |number| Turn { series: 0, number, retry: 0 };
        (0..).map(move |number| (turn(number), drawer.draw(turn(number)))).filter(move |(_, inputs)| wanted(inputs))
    }

    /// Runs a turn; its outcome, its counts, and what it sent.
    fn run(&mut self, turn: Turn) -> (Result<Outcome, Error>, Attempt, Vec<Sent>) {
        self.sent.borrow_mut().clear();
        let mut attempt = Attempt::default();
        let outcome = complete(self.client.attempt(turn, &mut attempt));
        (outcome, attempt, self.sent.take())
    }

    fn count(&self, count: Count) -> u64 {
        self.client.counts()[count as usize]
    }
}

fn is_whole(inputs: &Inputs) -> bool {
    !matches!(inputs, Inputs::NewOrder(order) if order.lines().iter().any(|line| line.item > ITEMS))
}

/// Statements without BEGIN and COMMIT, as the sheet and the modules' comments have them.
fn expected(form: Form, dialect: Dialect, inputs: &Inputs) -> u64 {
    let by_name = |customer: &Customer| u64::from(matches!(customer, Customer::LastName(_)));
    let returning = u64::from(dialect == Dialect::Postgres);
    match (form, inputs) {
        (Form::Rows, Inputs::NewOrder(order)) => 5 + 4 * order.lines().len() as u64 - returning,
        (Form::Rows, Inputs::Payment(payment)) => 7 + by_name(&payment.customer) - 2 * returning,
        (Form::Rows, Inputs::OrderStatus(asked)) => 3 + by_name(&asked.customer),
        (Form::Rows, Inputs::Delivery(_)) => 70 - 10 * returning,
        (Form::Rows, Inputs::StockLevel(_)) => 2,
        (_, Inputs::NewOrder(order)) => {
            let mut keys: Vec<_> = order.lines().iter().map(|line| (line.supply_w, line.item)).collect();
            keys.sort_unstable();
            keys.dedup();
            if returning == 1 { 8 } else { 8 + keys.len() as u64 }
        }
        (_, Inputs::Payment(payment)) => 6 + by_name(&payment.customer) - 2 * returning,
        (_, Inputs::OrderStatus(_)) => 2,
        (_, Inputs::Delivery(_)) => 25 - 20 * returning,
        (_, Inputs::StockLevel(_)) => 1,
    }
}

#[test]
fn every_type_takes_the_statements_of_the_sheet() {
    for form in [Form::Rows, Form::Batch] {
        for dialect in DIALECTS {
            let mut bench = Bench::new(tpcc(3, form), dialect);
            for (turn, inputs) in bench.turns(is_whole).take(500) {
                let (outcome, attempt, sent) = bench.run(turn);
                assert_eq!(outcome, Ok(Outcome::Committed), "{inputs:?}");
                let expected = expected(form, dialect, &inputs);
                assert_eq!(attempt.reads + attempt.writes, expected, "{form:?} {dialect:?} {inputs:?} {sent:#?}");
                assert_eq!((attempt.other, sent.len() as u64), (2, expected + 2));
                assert!(!attempt.committing);
            }
        }
    }
}

#[test]
fn reads_and_writes_are_counted_apart() {
    let mut bench = Bench::new(tpcc(1, Form::Rows), Dialect::MySql);
    let mut sums = [[0, 0]; 5];
    for (turn, inputs) in bench.turns(is_whole).take(1_000) {
        let (_, attempt, sent) = bench.run(turn);
        let selects = sent.iter().filter(|(text, _)| text.starts_with("SELECT")).count() as u64;
        assert_eq!(attempt.reads, selects);
        let of_lines = if let Inputs::NewOrder(order) = &inputs { order.lines().len() as u64 } else { 0 };
        sums[inputs.kind()][0] += attempt.reads.saturating_sub(2 * of_lines);
        sums[inputs.kind()][1] += attempt.writes.saturating_sub(2 * of_lines);
    }
    assert_eq!((sums[0][0] * 3, sums[3][0]), (sums[0][1] * 2, sums[3][1] * 3 / 4), "2 and 3 beside lines; 30 and 40");
}

#[test]
fn stock_is_locked_in_one_order_and_lines_keep_their_numbers() {
    let mut bench = Bench::new(tpcc(5, Form::Rows), Dialect::MySql);
    for (turn, inputs) in bench.turns(|inputs| matches!(inputs, Inputs::NewOrder(_))).take(300) {
        let Inputs::NewOrder(order) = inputs else { unreachable!() };
        let (outcome, _, sent) = bench.run(turn);
        let locks: Vec<_> = sent.iter().filter(|(text, _)| text.contains("FROM stock")).map(|(_, keys)| keys).collect();
        assert!(locks.is_sorted(), "{locks:?}");
        let rows = sent.iter().filter(|(text, _)| text.starts_with("INSERT INTO order_line"));
        for (_, row) in rows.clone() {
            let line = order.lines()[row[3] as usize - 1];
            assert_eq!((row[4], row[5], row[6]), (line.item, line.supply_w, line.quantity));
        }
        let is_whole = is_whole(&inputs);
        assert_eq!(outcome, Ok(if is_whole { Outcome::Committed } else { Outcome::RolledBack }));
        assert_eq!(rows.count(), order.lines().len() - usize::from(!is_whole), "the valid lines are worked on first");
        assert_eq!(sent.last().unwrap().0, if is_whole { "COMMIT" } else { "ROLLBACK" });
    }
}

#[test]
fn an_unknown_item_rolls_back_behind_the_work_of_the_others() {
    for form in [Form::Rows, Form::Batch] {
        for dialect in DIALECTS {
            let mut bench = Bench::new(tpcc(1, form), dialect);
            for (turn, _) in bench.turns(|inputs| !is_whole(inputs)).take(5) {
                let (outcome, attempt, sent) = bench.run(turn);
                assert_eq!(outcome, Ok(Outcome::RolledBack));
                assert_eq!(attempt.other, 2);
                assert!(
                    sent.iter().any(|(text, _)| text.starts_with("INSERT INTO order_line")),
                    "{form:?} {dialect:?}"
                );
                assert_eq!(sent.last().unwrap().0, "ROLLBACK");
            }
        }
    }
}

#[test]
fn rows_of_a_payment_are_locked_from_warehouse_to_customer() {
    for form in [Form::Rows, Form::Batch] {
        for dialect in DIALECTS {
            let mut bench = Bench::new(tpcc(2, form), dialect);
            let (turn, _) = bench.turns(|inputs| matches!(inputs, Inputs::Payment(_))).next().unwrap();
            let (_, _, sent) = bench.run(turn);
            let place = |verb: &str| sent.iter().position(|(text, _)| text.starts_with(verb)).unwrap();
            let order = ["BEGIN", "UPDATE warehouse", "UPDATE district", "UPDATE customer", "INSERT INTO history"];
            assert!(order.map(place).is_sorted(), "{form:?} {dialect:?} {sent:?}");
        }
    }
}

#[test]
fn only_writers_take_sqlite_s_write_lock_at_once() {
    for form in [Form::Rows, Form::Batch] {
        let mut bench = Bench::new(tpcc(1, form), Dialect::Sqlite);
        for (turn, inputs) in bench.turns(|_| true).take(100) {
            let writes = matches!(inputs.kind(), 0 | 1 | 3);
            assert_eq!(bench.run(turn).2[0].0, if writes { "BEGIN IMMEDIATE" } else { "BEGIN" });
        }
    }
}

#[test]
fn after_losing_an_order_a_delivery_queries_again() {
    let deliveries = |inputs: &Inputs| matches!(inputs, Inputs::Delivery(_));
    let check = |form, dialect, spoilt, times, expected: Option<(u64, u64)>| {
        let mut bench = Bench::spoiling(tpcc(1, form), dialect, spoilt, times);
        let (turn, _) = bench.turns(deliveries).next().unwrap();
        let (outcome, attempt, _) = bench.run(turn);
        match expected {
            Some((statements, delivered)) => {
                assert_eq!(outcome, Ok(Outcome::Committed));
                assert_eq!(attempt.reads + attempt.writes, statements, "{form:?} {dialect:?} {spoilt}");
                assert_eq!(bench.count(Count::DeliveredOrders), delivered);
                assert_eq!(bench.count(Count::SkippedDistricts), 10 - delivered);
            }
            None => assert!(matches!(outcome, Err(Error::Retryable { .. })), "{outcome:?}"),
        }
    };
    const TAKE: &str = "DELETE FROM new_order";
    const OLDEST: &str = "SELECT no_o_id";
    check(Form::Rows, Dialect::MySql, TAKE, 2, Some((74, 10)));
    check(Form::Rows, Dialect::MySql, TAKE, 1_000, None);
    // An empty answer to a locking read is the truth on MySQL; PostgreSQL is asked again without a lock.
    check(Form::Rows, Dialect::MySql, OLDEST, 1, Some((64, 9)));
    check(Form::Rows, Dialect::Postgres, OLDEST, 1, Some((62, 10)));
    check(Form::Rows, Dialect::Postgres, OLDEST, 2, Some((56, 9)));
    check(Form::Batch, Dialect::Postgres, TAKE, 2, Some((9, 10)));
    check(Form::Batch, Dialect::Postgres, TAKE, 1_000, None);
    check(Form::Batch, Dialect::MySql, TAKE, 1, None);
}

/// A server that acknowledges and does nothing, or finds nothing: once is enough.
#[test]
fn a_statement_without_effect_ends_the_run_with_its_name() {
    let check = |form: Form, dialect: Dialect, spoilt: &'static str, expected: &str| {
        let mut bench = Bench::spoiling(tpcc(2, form), dialect, spoilt, 1);
        let turns: Vec<Turn> = bench.turns(is_whole).take(200).map(|(turn, _)| turn).collect();
        let error = turns.into_iter().find_map(|turn| bench.run(turn).0.err());
        let Some(Error::Protocol(why)) = error else { panic!("{form:?} {dialect:?} {spoilt}: {error:?}") };
        assert!(why.contains(expected), "{form:?} {dialect:?} {spoilt}: {why}");
    };
    let writes = [
        ("INSERT INTO orders", "insert-order: 1 matched rows expected, 0 seen"),
        ("INSERT INTO new_order", "insert-new-order: 1 "),
        ("INSERT INTO history", "insert-history: 1 "),
        ("INSERT INTO order_line", "insert-line"),
        ("UPDATE stock", "change-stock: "),
        ("SELECT i_", "every item is not in the tables"),
    ];
    for dialect in [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite] {
        for (spoilt, expected) in writes {
            check(Form::Rows, dialect, spoilt, expected);
            check(Form::Batch, dialect, spoilt, expected);
        }
        check(Form::Rows, dialect, "UPDATE order_line", "deliver-lines: 5 to 15 matched rows expected, 0 seen");
        check(Form::Rows, dialect, "UPDATE customer SET c_balance = c_balance +", "bill-customer: 1 ");
        check(Form::Rows, dialect, "UPDATE customer SET c_balance = c_balance -", "pay-");
    }
    for dialect in [Dialect::MySql, Dialect::Sqlite] {
        check(Form::Batch, dialect, "UPDATE orders", "carry-orders: 10 ");
        check(Form::Batch, dialect, "UPDATE order_line", "deliver-lines: 50 to 150 ");
        check(Form::Rows, dialect, "UPDATE warehouse", "pay-warehouse: 1 ");
        check(Form::Rows, dialect, "UPDATE district SET d_next", "number-order: 1 ");
    }
    check(Form::Batch, Dialect::Postgres, "UPDATE customer SET c_balance = c_balance +", "bill-customers: 10 ");
}

#[test]
fn districts_committed_alone_are_not_delivered_twice_by_another_try() {
    for form in [Form::Rows, Form::Batch] {
        let alone = Tpcc { delivery: Delivery::PerDistrict, ..tpcc(1, form) };
        let mut bench = Bench::spoiling(alone, Dialect::Sqlite, "COMMIT", 0);
        let (turn, _) = bench.turns(|inputs| matches!(inputs, Inputs::Delivery(_))).next().unwrap();
        if form == Form::Rows {
            let (outcome, attempt, _) = bench.run(turn);
            assert_eq!((outcome, attempt.other), (Ok(Outcome::Committed), 20));
            assert_eq!(bench.count(Count::DeliveredOrders), 10);
        }
        // Nothing is left to do for a later try of a turn that came to its end.
        bench.client.progress_for_tests(&[Some(2101), None, Some(2101), Some(2101)]);
        let (_, attempt, sent) = bench.run(Turn { retry: 1, ..turn });
        assert_eq!(sent[1].1[1], 5, "the fifth district comes next");
        if form == Form::Rows {
            assert_eq!((attempt.other, bench.count(Count::DeliveredOrders)), (12, 9));
        }
    }
}

#[test]
fn a_queued_delivery_sends_nothing_and_is_run_in_the_background_as_it_was_drawn() {
    for (form, dialect) in
        [(Form::Rows, Dialect::Sqlite), (Form::Rows, Dialect::MySql), (Form::Batch, Dialect::Postgres)]
    {
        let queued = || Tpcc { delivery: Delivery::Queued, ..tpcc(3, form) };
        let backlog = Arc::new(Backlog::with_capacity(1));
        let (mut client, mut slot) = (Bench::new(queued(), dialect), Bench::new(queued(), dialect));
        client.client = client.client.with(Duty::Queues(backlog.giver()));
        slot.client = slot.client.with(Duty::Deferred);
        let mut turns = client.turns(|inputs| matches!(inputs, Inputs::Delivery(_)));
        let (turn, _) = turns.next().unwrap();
        let (outcome, attempt, sent) = client.run(turn);
        assert_eq!(
            (outcome.unwrap(), attempt, sent),
            (Outcome::Committed, Attempt { kind: 3, ..Attempt::default() }, vec![])
        );
        assert_eq!(client.count(Count::DeliveredOrders), 0);
        assert_eq!(client.run(turns.next().unwrap().0).0.unwrap(), Outcome::Failed, "the queue is full");
        let deferred = backlog.take().unwrap();
        let (outcome, attempt, sent) = slot.run(Turn { series: deferred.series, number: deferred.number, retry: 0 });
        assert_eq!((outcome.unwrap(), attempt.kind), (Outcome::Committed, DEFERRED_DELIVERY));
        assert_eq!(slot.count(Count::DeliveredOrders), 10);
        let Inputs::Delivery(drawn) = slot.drawer.draw(turn) else { panic!("a Delivery") };
        assert_eq!(slot.client.journal()[..2], [drawn.w as u32, drawn.carrier as u32]);
        assert_eq!((&slot.client.journal()[2..], client.client.journal()), (&[3001; 10][..], &[][..]));
        let mut itself = Bench::new(tpcc(3, form), dialect);
        assert_eq!(numbers(&itself.run(turn).2), numbers(&sent), "{form:?} on {dialect:?}");
    }
}

/// All whole numbers that were sent: keys, carrier and orders, without the time of day.
fn numbers(sent: &[Sent]) -> Vec<i64> {
    sent.iter().flat_map(|(_, numbers)| numbers.iter().copied()).collect()
}

#[test]
fn lines_of_one_stock_row_take_from_it_one_after_the_other() {
    let repeats = |inputs: &Inputs| match inputs {
        Inputs::NewOrder(order) => {
            let mut items: Vec<_> = order.lines().iter().map(|line| (line.supply_w, line.item)).collect();
            items.sort_unstable();
            items.windows(2).any(|pair| pair[0] == pair[1]) && is_whole(inputs)
        }
        _ => false,
    };
    let mut bench = Bench::new(tpcc(1, Form::Batch), Dialect::Sqlite);
    for (turn, inputs) in bench.turns(repeats).take(10) {
        let Inputs::NewOrder(order) = inputs else { unreachable!() };
        let (_, _, sent) = bench.run(turn);
        for (_, change) in sent.iter().filter(|(text, _)| text.starts_with("UPDATE stock")) {
            let [left, quantity, lines, remote, w, item] = change[..] else { panic!("{change:?}") };
            let taking: Vec<i64> =
                order.lines().iter().filter(|line| line.item == item).map(|line| line.quantity).collect();
            let expected = taking.iter().fold(50, |stock, taken| super::statements::stock_after(stock, *taken));
            assert_eq!((left, quantity, lines), (expected, taking.iter().sum(), taking.len() as i64));
            assert_eq!((remote, w), (0, 1));
        }
        assert_eq!(bench.count(Count::RepeatedItemOrders), 1);
    }
}

/// The share, with four standard deviations to each side.
fn is_share(part: u64, whole: u64, expected: f64, what: &str) {
    let (share, whole) = (part as f64 / whole as f64, whole as f64);
    let deviation = (expected * (1.0 - expected) / whole).sqrt();
    assert!((share - expected).abs() <= 4.0 * deviation + 1e-12, "{what}: {share}, not {expected}, of {whole}");
}

fn draws(tpcc: &Tpcc, series: u64, count: u64) -> Vec<Inputs> {
    let drawer = Drawer::new(tpcc, 3, 4);
    (0..count).map(|number| drawer.draw(Turn { series, number, retry: 0 })).collect()
}

#[test]
fn a_deck_is_exact_and_weights_are_met() {
    for deck in draws(&tpcc(1, Form::Rows), 5, 23 * 40).chunks(23) {
        let of = |kind| deck.iter().filter(|inputs| inputs.kind() == kind).count();
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], [10, 10, 1, 1, 1]);
    }
    let check = |mix, shares: [f64; 5]| {
        let drawn = draws(&Tpcc { mix, ..tpcc(1, Form::Rows) }, 5, 100_000);
        for (kind, share) in shares.into_iter().enumerate() {
            let count = drawn.iter().filter(|inputs| inputs.kind() == kind).count() as u64;
            is_share(count, 100_000, share, &KINDS[kind].name);
        }
    };
    check(Mix::Weighted, [0.45, 0.43, 0.04, 0.04, 0.04]);
    check(Mix::Cards, [10.0 / 23.0, 10.0 / 23.0, 1.0 / 23.0, 1.0 / 23.0, 1.0 / 23.0]);
}

#[test]
fn orders_have_the_shares_of_the_sheet() {
    for (warehouses, remote_share, remote_orders) in [(1, 0.0, 0.0), (4, 0.01, 0.0954)] {
        let drawn = draws(&tpcc(warehouses, Form::Rows), 1, 200_000);
        let orders: Vec<_> = drawn
            .iter()
            .filter_map(|inputs| if let Inputs::NewOrder(order) = inputs { Some(order) } else { None })
            .collect();
        let count = orders.len() as u64;
        let lines: Vec<_> = orders.iter().flat_map(|order| order.lines().iter().map(|line| (order.w, line))).collect();
        let invalid = orders.iter().filter(|order| order.lines().iter().any(|line| line.item > ITEMS)).count();
        is_share(invalid as u64, count, 0.01, "rollbacks");
        for length in 5..=15 {
            let of_length = orders.iter().filter(|order| order.lines().len() == length).count();
            is_share(of_length as u64, count, 1.0 / 11.0, "lines of an order");
        }
        for quantity in 1..=10 {
            let of_quantity = lines.iter().filter(|(_, line)| line.quantity == quantity).count();
            is_share(of_quantity as u64, lines.len() as u64, 0.1, "quantity");
        }
        let remote = lines.iter().filter(|(w, line)| line.supply_w != *w).count();
        is_share(remote as u64, lines.len() as u64, remote_share, "remote lines");
        let some_remote = orders.iter().filter(|order| !order.all_local()).count() as f64 / count as f64;
        assert!((some_remote - remote_orders).abs() < 0.005, "{some_remote} of the orders have a remote line");
        let mut hit: Vec<i64> = lines.iter().map(|(_, line)| line.supply_w).collect();
        hit.sort_unstable();
        hit.dedup();
        assert_eq!(hit, (1..=warehouses as i64).collect::<Vec<_>>(), "every warehouse supplies, home is 2");
    }
}

#[test]
fn payments_have_the_shares_of_the_sheet() {
    for (warehouses, remote_share) in [(1, 0.0), (5, 0.15)] {
        let drawn = draws(&tpcc(warehouses, Form::Rows), 2, 200_000);
        let payments: Vec<_> = drawn
            .iter()
            .filter_map(|inputs| if let Inputs::Payment(payment) = inputs { Some(payment) } else { None })
            .collect();
        let count = payments.len() as u64;
        let remote: Vec<_> = payments.iter().filter(|payment| payment.c_w != payment.w).collect();
        is_share(remote.len() as u64, count, remote_share, "remote payments");
        for w in (1..=warehouses as i64).filter(|w| warehouses > 1 && *w != payments[0].w) {
            let hits = remote.iter().filter(|payment| payment.c_w == w).count();
            is_share(hits as u64, remote.len() as u64, 1.0 / (warehouses - 1) as f64, "each other warehouse");
        }
        assert!(payments.iter().all(|payment| payment.c_w != payment.w || payment.c_d == payment.d));
        let by_name = payments.iter().filter(|payment| matches!(payment.customer, Customer::LastName(_))).count();
        is_share(by_name as u64, count, 0.6, "payments by name");
        let mean = payments.iter().map(|payment| payment.amount_cents as f64).sum::<f64>() / count as f64;
        assert!((mean - 250_050.0).abs() < 4.0 * 144_309.0 / (count as f64).sqrt(), "{mean} cents");
        assert!(payments.iter().all(|payment| (100..=500_000).contains(&payment.amount_cents)));
    }
    let drawn = draws(&tpcc(1, Form::Rows), 2, 400_000);
    let asked =
        drawn.iter().filter_map(|inputs| if let Inputs::OrderStatus(asked) = inputs { Some(asked) } else { None });
    let by_name = asked.clone().filter(|asked| matches!(asked.customer, Customer::LastName(_))).count();
    is_share(by_name as u64, asked.count() as u64, 0.6, "order-statuses by name");
}
