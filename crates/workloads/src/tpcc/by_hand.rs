//! One transaction at a time, with given inputs: for tests that lead transactions past each other.
//!
//! It is the client's own code from the inputs on; what a run adds before and behind (draws, retries, counts)
//! is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use driver::{Connection, Error};

use super::client::{Parameter, TpccClient};
use super::options;
use load::{Attempt, Client, OptionValue, Options, Outcome};

pub use super::inputs::{Customer, Delivery, Inputs, Line, NewOrder, OrderStatus, Payment};
pub use super::random::ITEMS;

pub struct ByHand<C>(TpccClient<C>);

impl<C: Connection> ByHand<C> {
    /// The statements of these options' form, prepared on `connection`.
    pub fn new(given: &BTreeMap<String, OptionValue>, connection: C) -> Result<ByHand<C>, Error> {
        let options = Options::new(options::OPTIONS, given).expect("the caller's options are valid");
        let tpcc = options::read(&options).expect("the caller's options are valid");
        TpccClient::new(Arc::new(tpcc), Parameter { input_seed: 1, data_seed: 1 }, connection).map(ByHand)
    }

    /// Tries once; where the server refuses, its transaction is rolled back before the refusal is reported.
    pub async fn run(&mut self, asked: &Inputs) -> Result<Outcome, Error> {
        let mut attempt = Attempt::default();
        let tried = self.0.perform(asked, &mut attempt).await;
        if matches!(tried, Err(Error::Retryable { .. } | Error::Duplicate { .. } | Error::Refused { .. })) {
            self.0.roll_back(&mut attempt).await?;
        }
        tried
    }
}
