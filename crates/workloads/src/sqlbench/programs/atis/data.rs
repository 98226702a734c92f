//! The 9768 rows of `ATIS`: invented flights, fares and places, in which every query finds as many rows as in
//! the data of the classic suite.
//!
//! Numbers come from small formulas, so that there is nothing to draw and nothing to keep. Which of them a
//! query depends on is reported where they stand.

mod fares;
mod flights;
mod places;
mod row;
mod words;

pub use row::{Field, Row};

/// All rows of a table.
pub fn rows(table: &str) -> Vec<Row> {
    match table {
        "aircraft" => flights::aircraft(),
        "airline" => flights::airlines(),
        "airport" => places::airports(),
        "airport_service" => places::airport_services(),
        "city" => places::cities(),
        "class_of_service" => fares::classes_of_service(),
        "code_description" => words::code_descriptions(),
        "compound_class" => fares::compound_classes(),
        "connect_leg" => flights::connection_legs(),
        "fconnection" => flights::connections(),
        "day_name" => words::days(),
        "dual_carrier" => flights::dual_carriers(),
        "fare" => fares::fares(),
        "flight" => flights::flights(),
        "flight_class" => flights::flight_classes(),
        "flight_day" => words::flight_days(),
        "flight_fare" => fares::flight_fares(),
        "food_service" => words::food_services(),
        "ground_service" => places::ground_services(),
        "time_interval" => words::time_intervals(),
        "month_name" => words::months(),
        "restrict_carrier" => fares::restricted_carriers(),
        "restrict_class" => fares::restricted_classes(),
        "restriction" => fares::restrictions(),
        "state" => places::states(),
        "stop1" => flights::stops(),
        "time_zone" => places::time_zones(),
        "transport" => places::transports(),
        _ => unreachable!("no rows were written for the table `{table}`"),
    }
}

/// The rows of a table as they stand behind VALUES.
pub fn values(table: &str) -> Vec<String> {
    let text = |row: &Row| row.iter().map(Field::to_string).collect::<Vec<_>>().join(",");
    rows(table).iter().map(|row| format!("({})", text(row))).collect()
}

#[cfg(test)]
mod tests;
