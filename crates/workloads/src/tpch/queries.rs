//! The 22 queries: a file for each, with what its answer's columns are and its text in each dialect.

use driver::Dialect;
use load::Rng;

use super::answer::{Column, Shape};
use super::parameters::{self, Parameters, Values};
use crate::sections::{named, section};

/// One of the 22.
#[derive(Debug, PartialEq, Eq)]
pub struct Query {
    pub number: usize,
    pub name: &'static str,
    file: &'static str,
}

macro_rules! queries {
    ($($number:literal)*) => {
        &[$(Query { number: $number, name: concat!("Q", $number), file: include_str!(concat!("q", $number, ".sql")) }),*]
    };
}

pub const QUERIES: &[Query] = queries!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22);

impl Query {
    /// The question that it answers.
    pub fn question(&self) -> &'static str {
        named(self.file, "question")
    }

    /// What its answer consists of.
    pub fn shape(&self) -> Shape {
        let mut words = named(self.file, "answer").split_whitespace();
        let ordered = words.next() == Some("ordered");
        Shape { ordered, columns: words.filter_map(Column::of).collect() }
    }

    pub fn sql(&self, dialect: Dialect, values: &Values) -> String {
        let text = section(self.file, "query", dialect).to_owned();
        values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    pub fn validation(&self, scale_factor: f64) -> Values {
        parameters::validation(self.number, scale_factor)
    }

    /// The values of a stream.
    pub fn values(&self, parameters: Parameters, scale_factor: f64, input_seed: u64, stream: u32) -> Values {
        match parameters {
            Parameters::Validation => self.validation(scale_factor),
            Parameters::Drawn => {
                let mut rng = Rng::stream(input_seed, u64::from(stream), self.number as u64);
                parameters::drawn(self.number, scale_factor, &mut rng)
            }
        }
    }
}

/// The orders of the streams (appendix A): 0 is that of power runs; those of throughput runs follow.
const ORDERS: [[usize; 22]; 21] = [
    [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12],
    [21, 3, 18, 5, 11, 7, 6, 20, 17, 12, 16, 15, 13, 10, 2, 8, 14, 19, 9, 22, 1, 4],
    [6, 17, 14, 16, 19, 10, 9, 2, 15, 8, 5, 22, 12, 7, 13, 18, 1, 4, 20, 3, 11, 21],
    [8, 5, 4, 6, 17, 7, 1, 18, 22, 14, 9, 10, 15, 11, 20, 2, 21, 19, 13, 16, 12, 3],
    [5, 21, 14, 19, 15, 17, 12, 6, 4, 9, 8, 16, 11, 2, 10, 18, 1, 13, 7, 22, 3, 20],
    [21, 15, 4, 6, 7, 16, 19, 18, 14, 22, 11, 13, 3, 1, 2, 5, 8, 20, 12, 17, 10, 9],
    [10, 3, 15, 13, 6, 8, 9, 7, 4, 11, 22, 18, 12, 1, 5, 16, 2, 14, 19, 20, 17, 21],
    [18, 8, 20, 21, 2, 4, 22, 17, 1, 11, 9, 19, 3, 13, 5, 7, 10, 16, 6, 14, 15, 12],
    [19, 1, 15, 17, 5, 8, 9, 12, 14, 7, 4, 3, 20, 16, 6, 22, 10, 13, 2, 21, 18, 11],
    [8, 13, 2, 20, 17, 3, 6, 21, 18, 11, 19, 10, 15, 4, 22, 1, 7, 12, 9, 14, 5, 16],
    [6, 15, 18, 17, 12, 1, 7, 2, 22, 13, 21, 10, 14, 9, 3, 16, 20, 19, 11, 4, 8, 5],
    [15, 14, 18, 17, 10, 20, 16, 11, 1, 8, 4, 22, 5, 12, 3, 9, 21, 2, 13, 6, 19, 7],
    [1, 7, 16, 17, 18, 22, 12, 6, 8, 9, 11, 4, 2, 5, 20, 21, 13, 10, 19, 3, 14, 15],
    [21, 17, 7, 3, 1, 10, 12, 22, 9, 16, 6, 11, 2, 4, 5, 14, 8, 20, 13, 18, 15, 19],
    [2, 9, 5, 4, 18, 1, 20, 15, 16, 17, 7, 21, 13, 14, 19, 8, 22, 11, 10, 3, 12, 6],
    [16, 9, 17, 8, 14, 11, 10, 12, 6, 21, 7, 3, 15, 5, 22, 20, 1, 13, 19, 2, 4, 18],
    [1, 3, 6, 5, 2, 16, 14, 22, 17, 20, 4, 9, 10, 11, 15, 8, 12, 19, 18, 13, 7, 21],
    [3, 16, 5, 11, 21, 9, 2, 15, 10, 18, 17, 7, 8, 19, 14, 13, 1, 4, 22, 20, 6, 12],
    [14, 4, 13, 5, 21, 11, 8, 6, 3, 17, 2, 20, 1, 19, 10, 9, 12, 18, 15, 7, 22, 16],
    [4, 12, 22, 14, 5, 15, 16, 2, 8, 10, 17, 9, 21, 7, 3, 6, 13, 18, 11, 20, 19, 1],
    [16, 15, 14, 13, 4, 22, 18, 19, 7, 1, 12, 17, 5, 10, 20, 3, 9, 21, 11, 2, 6, 8],
];

/// The chosen queries as a stream runs them; streams beyond the table have its orders again.
pub fn of_stream(chosen: &[&'static Query], stream: u32) -> Vec<&'static Query> {
    let numbers = ORDERS[stream as usize % ORDERS.len()];
    let find = |number: usize| chosen.iter().copied().find(|query| query.number == number);
    numbers.into_iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_every_query_once() {
        for mut order in ORDERS {
            order.sort_unstable();
            assert!(order.into_iter().eq(1..=22));
        }
    }

    #[test]
    fn every_query_has_its_values_in_it_in_every_dialect() {
        for (query, dialect) in QUERIES.iter().flat_map(|query| Dialect::ALL.iter().map(move |one| (query, *one))) {
            let values = query.validation(1.0);
            let sql = query.sql(dialect, &values);
            assert!(!sql.contains('{') && !sql.contains(';'), "{} {dialect:?}: {sql}", query.name);
            let text = section(query.file, "query", dialect);
            let used = values.iter().filter(|(name, _)| text.contains(&format!("{{{name}}}"))).count();
            assert!(used > 0 && !query.shape().columns.is_empty() && query.question().ends_with('?'), "{}", query.name);
        }
    }
}
