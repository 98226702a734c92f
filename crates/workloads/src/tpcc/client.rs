//! One client: draws inputs, hands them to the chosen form, and counts what came of it.
//!
//! Where Deliveries are queued, a client's own part of one ends with its turn in the queue: nothing is sent. A
//! background slot draws the inputs of that same turn again, and runs it as it would have been run.

use std::sync::Arc;

use driver::{Connection, Error};

use super::batch::BatchForm;
use super::desk::{Counts, Desk, Progress};
use super::inputs::{Drawer, Inputs};
use super::options::{DEFERRED_DELIVERY, Tpcc};
use super::options::{Form, Pacing};
use super::pacing::{self, Pauses};
use super::procedures::ProceduresForm;
use super::rows::RowsForm;
use load::{Attempt, Client, Giver, Outcome, Slot, Turn};

/// Columns of the log for each deferred Delivery (clause 2.7.2.2 requires it in a file): the order that was
/// delivered in each district.
pub const JOURNAL: &[&str] = &[
    "w_id",
    "o_carrier_id",
    "o_id_d1",
    "o_id_d2",
    "o_id_d3",
    "o_id_d4",
    "o_id_d5",
    "o_id_d6",
    "o_id_d7",
    "o_id_d8",
    "o_id_d9",
    "o_id_d10",
];

/// What a client's inputs come from.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub input_seed: u64,
    pub data_seed: u64,
}

impl Parameter {
    pub fn of<K>(slot: &Slot<K>) -> Parameter {
        Parameter { input_seed: slot.input_seed, data_seed: slot.data_seed }
    }
}

/// What becomes of Deliveries here.
#[derive(Debug, Default)]
pub enum Duty {
    /// They are run like everything else.
    #[default]
    All,
    /// They are queued for others.
    Queues(Giver),
    /// They are what others have queued, and nothing else comes here.
    Deferred,
}

impl Duty {
    pub fn of<K>(slot: &mut Slot<K>) -> Duty {
        match slot.giver.take() {
            Some(giver) => Duty::Queues(giver),
            None if slot.is_in_background() => Duty::Deferred,
            None => Duty::All,
        }
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
    /// Rests between transactions, where the pacing has any.
    pauses: Option<Pauses>,
    input_seed: u64,
    duty: Duty,
    /// Of the last deferred Delivery.
    journal: [u32; JOURNAL.len()],
}

impl<C: Connection> TpccClient<C> {
    pub fn new(tpcc: Arc<Tpcc>, place: Parameter, mut connection: C) -> Result<TpccClient<C>, Error> {
        let forms = match tpcc.form {
            Form::Rows => Forms::Rows(RowsForm::prepare(&tpcc, &mut connection)?),
            Form::Batch => Forms::Batch(BatchForm::prepare(&tpcc, &mut connection)?),
            Form::Procedures => Forms::Procedures(ProceduresForm::prepare(&tpcc, &mut connection)?),
        };
        let drawer = Drawer::new(&tpcc, place.data_seed, place.input_seed);
        let pauses = (tpcc.pacing == Pacing::Spec).then(|| Pauses::new(place.input_seed));
        let (desk, input_seed) = (Desk::new(connection), place.input_seed);
        let journal = Default::default();
        Ok(TpccClient { desk, forms, drawer, pauses, input_seed, duty: Duty::All, journal })
    }

    pub fn with(self, duty: Duty) -> TpccClient<C> {
        TpccClient { duty, ..self }
    }

    /// Runs one try by the chosen form.
    pub async fn perform(&mut self, inputs: &Inputs, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let desk = &mut self.desk;
        match &mut self.forms {
            Forms::Rows(form) => match inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
            Forms::Batch(form) => match inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
            Forms::Procedures(form) => match inputs {
                Inputs::NewOrder(order) => form.new_order(desk, order, attempt).await,
                Inputs::Payment(payment) => form.payment(desk, payment, attempt).await,
                Inputs::OrderStatus(asked) => form.order_status(desk, asked, attempt).await,
                Inputs::Delivery(delivery) => form.delivery(desk, delivery, attempt).await,
                Inputs::StockLevel(asked) => form.stock_level(desk, asked, attempt).await,
            },
        }
    }
}

#[cfg(test)]
impl<C> TpccClient<C> {
    /// Leaves a Delivery where a failed try might have left it.
    pub fn progress_for_tests(&mut self, orders: &[Option<i64>]) {
        self.desk.progress = Progress::default();
        orders.iter().for_each(|order| self.desk.progress.pass(*order));
    }
}

impl<C: Connection> Client for TpccClient<C> {
    type Connection = C;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let inputs = self.drawer.draw(turn);
        attempt.kind = inputs.kind();
        self.desk.counts = Counts::default();
        if turn.retry == 0 {
            self.desk.progress = Progress::default();
        }
        match (&self.duty, &inputs) {
            // A user whose Delivery finds no room has asked in vain.
            (Duty::Queues(giver), Inputs::Delivery(_)) => {
                return Ok(if giver.put(turn) { Outcome::Committed } else { Outcome::Failed });
            }
            (Duty::Deferred, _) => attempt.kind = DEFERRED_DELIVERY,
            _ => {}
        }
        let outcome = self.perform(&inputs, attempt).await?;
        if let (Duty::Deferred, Inputs::Delivery(delivery)) = (&self.duty, &inputs) {
            self.journal[..2].copy_from_slice(&[delivery.w as u32, delivery.carrier as u32]);
            self.journal[2..].copy_from_slice(&self.desk.progress.orders);
        }
        Ok(outcome)
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

    fn pause_ns(&mut self, turn: Turn) -> u64 {
        self.pauses.as_ref().map_or(0, |pauses| pauses.before(turn, |turn| self.drawer.kind(turn)))
    }

    fn retry_pause_ns(&mut self, turn: Turn) -> Option<u64> {
        pacing::retry_pause_ns(self.input_seed, turn)
    }

    fn counts(&self) -> &[u64] {
        &self.desk.counts.0
    }

    fn journal(&self) -> &[u32] {
        if matches!(self.duty, Duty::Deferred) { &self.journal } else { &[] }
    }

    fn connection(&mut self) -> &mut C {
        &mut self.desk.connection
    }
}

/// One client on any connection, for measurements and tests without a server.
pub fn client_on<C: Connection>(
    given: &std::collections::BTreeMap<String, load::OptionValue>,
    connection: C,
) -> Result<impl Client<Connection = C> + use<C>, Error> {
    let options = load::Options::new(super::options::OPTIONS, given).expect("the caller's options are valid");
    let tpcc = super::options::read(&options).expect("the caller's options are valid");
    TpccClient::new(Arc::new(tpcc), Parameter { input_seed: 1, data_seed: 1 }, connection)
}
