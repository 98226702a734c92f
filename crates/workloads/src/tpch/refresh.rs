//! The refresh functions (clause 2.5 to 2.7): new orders come in before the queries of a power run, and go out behind
//! them.
//!
//! As many as the specification asks for: 1,500 for each unit of the scale factor. Their keys lie in the gaps that the
//! population leaves between keys, and else they are copies of the first orders. RF2 takes out what RF1 has brought, so
//! that the tables are as they were and every later run finds the same ones.

use driver::{Dialect, Error};

use super::population::{hundredths, orders_with_lines};
use super::relation::{Kind, Relation};

pub const RF1: &str = "RF1";
pub const RF2: &str = "RF2";

const ORDERS_AT_ONE: f64 = 1500.0;
/// Of each 32 keys the population has the first eight.
const KEY_STEP: i64 = 8;

/// Transactions, a list of statements each.
pub struct NewOrders {
    adding: Vec<Vec<String>>,
    removing: Vec<Vec<String>>,
}

impl NewOrders {
    pub fn new(scale_factor: f64, dialect: Dialect) -> Result<NewOrders, Error> {
        let (mut adding, mut removing) = (Vec::new(), Vec::new());
        for (order, lines) in orders_with_lines(scale_factor, 0..(ORDERS_AT_ONE * scale_factor) as u64) {
            let key: i64 =
                order[0].parse().map_err(|_| Error::Protocol(format!("an order has the key {}", order[0])))?;
            let key = (key + KEY_STEP).to_string();
            let row = |relation: Relation, mut row: Vec<String>| {
                row[0].clone_from(&key);
                literals(relation, &row, dialect)
            };
            let lines: Vec<String> =
                lines.into_iter().map(|line| row(Relation::LineItem, line)).collect::<Result<_, _>>()?;
            adding.push(transaction([
                format!("INSERT INTO orders VALUES {}", row(Relation::Orders, order)?),
                format!("INSERT INTO lineitem VALUES {}", lines.join(", ")),
            ]));
            removing.push(transaction([
                format!("DELETE FROM lineitem WHERE l_orderkey = {key}"),
                format!("DELETE FROM orders WHERE o_orderkey = {key}"),
            ]));
        }
        Ok(NewOrders { adding, removing })
    }

    pub fn adding(&self) -> &[Vec<String>] {
        &self.adding
    }

    pub fn removing(&self) -> &[Vec<String>] {
        &self.removing
    }
}

fn transaction(statements: [String; 2]) -> Vec<String> {
    let [first, second] = statements;
    vec!["BEGIN".to_owned(), first, second, "COMMIT".to_owned()]
}

/// `(1, 'text', 12.30)`; the generator's words have no quotes.
fn literals(relation: Relation, row: &[String], dialect: Dialect) -> Result<String, Error> {
    let literal = |(value, (_, kind)): (&String, &(&str, Kind))| match kind {
        Kind::Text => Ok(format!("'{value}'")),
        Kind::Money if dialect == Dialect::Sqlite => {
            let units = hundredths(value).ok_or_else(|| Error::Protocol(format!("`{value}` is no amount")))?;
            Ok(units.to_string())
        }
        Kind::Integer | Kind::Money => Ok(value.clone()),
    };
    let values: Vec<String> = row.iter().zip(&relation.columns()).map(literal).collect::<Result<_, _>>()?;
    Ok(format!("({})", values.join(", ")))
}
