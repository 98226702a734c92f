//! What follows from the number of warehouses: bytes, terminals and rates.
//!
//! Rates are made from counts of one interval; latencies and counts by kind are the recorder's.

use driver::Dialect;

use super::options::Pacing;
use super::options::{DEFERRED_DELIVERY, KINDS_OF_CLIENTS, Tpcc};
use load::{Background, KindTally, Tally};

const MIB: u64 = 1 << 20;

/// Terminals of a warehouse in the specification (clause 4.2.2).
const SPEC_TERMINALS: u64 = 10;

/// Files right after the load, measured with four warehouses: the indexes are in, nothing is bloated.
pub fn data_bytes(tpcc: &Tpcc, dialect: Dialect) -> u64 {
    let (warehouse_mib, items_mib) = match dialect {
        Dialect::MySql => (91, 10),
        Dialect::Postgres => (99, 12),
        Dialect::Sqlite => (75, 8),
    };
    tpcc.warehouses.saturating_mul(warehouse_mib).saturating_add(items_mib).saturating_mul(MIB)
}

/// Terminals as given, or growing with the warehouses. Without think times ten for each are not needed.
pub fn clients(tpcc: &Tpcc) -> Option<u32> {
    let clients = match (tpcc.clients, tpcc.terminals_per_warehouse, tpcc.pacing) {
        (0, 0, Pacing::None) => return None,
        (0, 0, Pacing::Spec) => tpcc.warehouses.saturating_mul(SPEC_TERMINALS),
        (0, each, _) => tpcc.warehouses.saturating_mul(each),
        (clients, _, _) => clients,
    };
    Some(u32::try_from(clients).unwrap_or(u32::MAX))
}

/// Clients for which a background slot runs Deliveries.
const CLIENTS_PER_SLOT: u32 = 10;
/// Servers have twenty connections to spare, and others need some of them. A slot does nothing but Deliveries,
/// one after the other, so ten keep up with any number of clients that one server can.
const SLOTS_MAX: u32 = 10;

/// Who runs what clients queue.
pub fn background(clients: u32) -> Background {
    Background { slots: (clients / CLIENTS_PER_SLOT).clamp(1, SLOTS_MAX), kind: DEFERRED_DELIVERY }
}

/// Rates a minute, over the real length of the interval.
///
/// A transaction counts where it ended. `nopm` are committed New-Orders; the intended rollbacks, which
/// the specification counts as completed, are in `nopm_with_rollbacks`, and in `tpm`, which is all
/// five types. A Delivery that was queued counts as the client's transaction, and not once more when it ran.
pub fn rates(tpcc: &Tpcc, tally: &Tally) -> Vec<(&'static str, f64)> {
    let minutes = tally.interval_ns as f64 / 60e9;
    let per_minute = |count: u64| if minutes > 0.0 { count as f64 / minutes } else { 0.0 };
    let completed = |kind: &KindTally| kind.committed_inside + kind.rolled_back_inside;
    let Some(new_orders) = tally.kinds.first() else { return Vec::new() };
    let nopm = per_minute(new_orders.committed_inside);
    vec![
        ("nopm", nopm),
        ("nopm_with_rollbacks", per_minute(completed(new_orders))),
        ("nopm_per_warehouse", nopm / tpcc.warehouses as f64),
        ("tpm", per_minute(tally.kinds.iter().take(KINDS_OF_CLIENTS).map(completed).sum())),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use load::{OptionValue, Options, Workload};

    fn tpcc(given: &[(&str, OptionValue)]) -> Tpcc {
        let given: BTreeMap<String, OptionValue> =
            given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        super::super::options::read(&Options::new(super::super::options::OPTIONS, &given).unwrap()).unwrap()
    }

    #[test]
    fn terminals_grow_with_the_warehouses_where_they_are_asked_to() {
        let five = ("warehouses", OptionValue::Number(5));
        assert_eq!(clients(&tpcc(std::slice::from_ref(&five))), None);
        assert_eq!(clients(&tpcc(&[five.clone(), ("terminals_per_warehouse", OptionValue::Number(40))])), Some(200));
        let given = [five.clone(), ("clients", OptionValue::Number(7)), ("pacing", OptionValue::Text("spec".into()))];
        assert_eq!(clients(&tpcc(&given)), Some(7));
        assert_eq!(clients(&tpcc(&[five, ("pacing", OptionValue::Text("spec".into()))])), Some(50));
    }

    #[test]
    fn queued_deliveries_get_a_slot_for_each_ten_clients_within_limits() {
        let queued = tpcc(&[("delivery", OptionValue::Text("queued".into()))]);
        let work = queued.defers_work().unwrap();
        assert_eq!([1, 19, 20, 95, 5_000].map(|clients| work.background(clients).slots), [1, 1, 2, 9, 10]);
        assert!(tpcc(&[]).defers_work().is_none());
    }

    #[test]
    fn rates_count_what_ended_inside_a_minute() {
        let kind = |committed_inside, rolled_back_inside| KindTally {
            committed_inside,
            rolled_back_inside,
            committed: 1_000_000,
            ..KindTally::default()
        };
        // The last are Deliveries that were counted when they were queued.
        let kinds = vec![kind(495, 5), kind(430, 0), kind(40, 0), kind(40, 0), kind(40, 0), kind(39, 0)];
        let tally = Tally { kinds, interval_ns: 30_000_000_000, ..Tally::default() };
        let found: BTreeMap<&str, f64> =
            rates(&tpcc(&[("warehouses", OptionValue::Number(2))]), &tally).into_iter().collect();
        assert_eq!((found["nopm"], found["nopm_with_rollbacks"], found["tpm"]), (990.0, 1000.0, 2100.0));
        assert_eq!(found["nopm_per_warehouse"], 495.0);
    }
}
