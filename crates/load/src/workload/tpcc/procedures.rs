//! STUB on this branch: the procedures form.

use driver::{Connection, Dialect, Error};

use super::Tpcc;
use super::client::Desk;
use super::inputs::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::workload::{Attempt, Outcome};

/// SQL that makes the procedures anew.
pub fn definitions(_: &Tpcc, _: Dialect) -> Vec<String> {
    Vec::new()
}

pub struct ProceduresForm {}

impl ProceduresForm {
    pub fn prepare<C: Connection>(_: &Tpcc, _: &mut C) -> Result<ProceduresForm, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }

    pub async fn new_order<C: Connection>(
        &mut self,
        _: &mut Desk<C>,
        _: &NewOrder,
        _: &mut Attempt,
    ) -> Result<Outcome, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }

    pub async fn payment<C: Connection>(
        &mut self,
        _: &mut Desk<C>,
        _: &Payment,
        _: &mut Attempt,
    ) -> Result<Outcome, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }

    pub async fn order_status<C: Connection>(
        &mut self,
        _: &mut Desk<C>,
        _: &OrderStatus,
        _: &mut Attempt,
    ) -> Result<Outcome, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }

    pub async fn delivery<C: Connection>(
        &mut self,
        _: &mut Desk<C>,
        _: &Delivery,
        _: &mut Attempt,
    ) -> Result<Outcome, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }

    pub async fn stock_level<C: Connection>(
        &mut self,
        _: &mut Desk<C>,
        _: &StockLevel,
        _: &mut Attempt,
    ) -> Result<Outcome, Error> {
        Err(Error::Protocol("stub".to_owned()))
    }
}
