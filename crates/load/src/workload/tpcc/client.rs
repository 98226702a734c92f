//! One client: draws inputs, hands them to the chosen form, and counts what came of it.

use std::sync::Arc;

use driver::{Connection, Error, Rows};

use super::Tpcc;
use super::batch::BatchForm;
use super::inputs::{Drawer, Inputs};
use super::options::Form;
use super::procedures::ProceduresForm;
use super::rows::RowsForm;
use crate::workload::{Attempt, Client, Outcome, Seat, Turn};

/// What clients count beside statements, of committed transactions.
pub const COUNT_NAMES: &[&str] = &[
    "lines",
    "quantity",
    "remote_lines",
    "remote_orders",
    "repeated_item_orders",
    "payment_cents",
    "remote_payments",
    "payments_by_name",
    "payment_name_rows",
    "bad_credit_payments",
    "order_statuses_by_name",
    "order_status_name_rows",
    "delivered_orders",
    "skipped_districts",
    "low_stock",
];

/// Places in [`COUNT_NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Lines,
    Quantity,
    RemoteLines,
    RemoteOrders,
    RepeatedItemOrders,
    PaymentCents,
    RemotePayments,
    PaymentsByName,
    PaymentNameRows,
    BadCreditPayments,
    OrderStatusesByName,
    OrderStatusNameRows,
    DeliveredOrders,
    SkippedDistricts,
    LowStock,
}

/// The counts of one try.
#[derive(Debug, Clone, Default)]
pub struct Counts([u64; COUNT_NAMES.len()]);

impl Counts {
    pub fn add(&mut self, count: Count, by: u64) {
        self.0[count as usize] += by;
    }
}

/// Which client this is, and what its inputs come from.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub client: u32,
    pub input_seed: u64,
    pub data_seed: u64,
}

impl Place {
    pub fn of<K>(seat: &Seat<K>) -> Place {
        Place { client: seat.client, input_seed: seat.input_seed, data_seed: seat.data_seed }
    }
}

/// What a form works with: the connection, room for rows, and the counts of this try.
pub struct Desk<C> {
    pub connection: C,
    pub rows: Rows,
    pub counts: Counts,
}

impl<C> Desk<C> {
    fn new(connection: C) -> Desk<C> {
        Desk { connection, rows: Rows::default(), counts: Counts::default() }
    }
}

/// The statements of one form, prepared on one connection.
enum Forms {
    Rows(RowsForm),
    Batch(BatchForm),
    Procedures(ProceduresForm),
}

pub struct TpccClient<C> {
    desk: Desk<C>,
    forms: Forms,
    drawer: Drawer,
}

impl<C: Connection> TpccClient<C> {
    pub fn new(tpcc: Arc<Tpcc>, place: Place, mut connection: C) -> Result<TpccClient<C>, Error> {
        let forms = match tpcc.form {
            Form::Rows => Forms::Rows(RowsForm::prepare(&tpcc, &mut connection)?),
            Form::Batch => Forms::Batch(BatchForm::prepare(&tpcc, &mut connection)?),
            Form::Procedures => Forms::Procedures(ProceduresForm::prepare(&tpcc, &mut connection)?),
        };
        let drawer = Drawer::new(&tpcc, place.data_seed, place.input_seed);
        Ok(TpccClient { desk: Desk::new(connection), forms, drawer })
    }
}

impl<C: Connection> Client for TpccClient<C> {
    type Connection = C;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let inputs = self.drawer.draw(turn);
        attempt.kind = inputs.kind();
        self.desk.counts = Counts::default();
        let desk = &mut self.desk;
        match &mut self.forms {
            Forms::Rows(form) => match &inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
            Forms::Batch(form) => match &inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
            Forms::Procedures(form) => match &inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
        }
    }

    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        match self.desk.connection.query("ROLLBACK").await {
            Ok(_) | Err(Error::Refused { .. }) => {
                attempt.other += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn counts(&self) -> &[u64] {
        &self.desk.counts.0
    }

    fn connection(&mut self) -> &mut C {
        &mut self.desk.connection
    }
}

/// One client on any connection, for measurements and tests without a server.
pub fn client_on<C: Connection>(
    given: &std::collections::BTreeMap<String, crate::workload::OptionValue>,
    connection: C,
) -> Result<impl Client<Connection = C> + use<C>, Error> {
    let options =
        crate::workload::Options::new(super::options::OPTIONS, given).expect("the caller's options are valid");
    let tpcc = super::options::read(&options).expect("the caller's options are valid");
    TpccClient::new(Arc::new(tpcc), Place { client: 0, input_seed: 1, data_seed: 1 }, connection)
}
