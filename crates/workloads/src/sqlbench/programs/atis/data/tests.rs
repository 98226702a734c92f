//! The facts that the queries depend on, held against the rows themselves.

use std::collections::BTreeSet;

use driver::Dialect;

use super::*;
use crate::sqlbench::ddl::Type;
use crate::sqlbench::programs::atis::schema::shapes;

/// Rows of each table, in the order of the schema.
const COUNTS: [usize; 28] = [
    135, 314, 9, 14, 11, 27, 15, 149, 351, 164, 7, 114, 534, 579, 2895, 448, 2998, 121, 33, 12, 12, 612, 4, 65, 63, 69,
    9, 4,
];

fn distinct(rows: &[Row], columns: &[usize]) -> usize {
    let key = |row: &Row| columns.iter().map(|column| row[*column].to_string()).collect::<Vec<_>>();
    rows.iter().map(key).collect::<BTreeSet<_>>().len()
}

/// How many rows have `field` in `column`.
fn having(rows: &[Row], column: usize, field: impl Into<Field>) -> usize {
    let field = field.into();
    rows.iter().filter(|row| row[column] == field).count()
}

#[test]
fn tables_hold_9768_rows() {
    let counts: Vec<usize> = shapes(Dialect::Sqlite).iter().map(|table| rows(&table.name).len()).collect();
    assert_eq!(counts, COUNTS);
    assert_eq!(counts.iter().sum::<usize>(), 9768);
}

#[test]
fn every_row_fits_its_columns() {
    for table in shapes(Dialect::MySql) {
        for row in rows(&table.name) {
            assert_eq!(row.len(), table.columns.len(), "{}", table.name);
            for (field, column) in row.iter().zip(&table.columns) {
                let fits = match (field, column.kind) {
                    (Field::Text(text), Type::Char(length)) => {
                        text.len() <= usize::from(length) && !text.contains('\'') && !text.ends_with(' ')
                    }
                    (Field::Number(number), Type::TinyInt) => *number < 128,
                    (Field::Number(number), Type::SmallInt) => *number < 32_768,
                    (Field::Number(number), Type::MediumInt) => *number < 8_388_608,
                    (Field::Number(number), Type::Int | Type::Float) => *number < 1 << 31,
                    _ => false,
                };
                assert!(fits, "{field} in {}.{}", table.name, column.name);
            }
        }
    }
}

#[test]
fn primary_keys_are_unique() {
    for table in shapes(Dialect::Sqlite) {
        let key = table.primary_key.as_ref().unwrap();
        let place = |name| table.columns.iter().position(|column| column.name == name).unwrap();
        let columns: Vec<usize> = key.split(',').map(place).collect();
        let rows = rows(&table.name);
        assert_eq!(distinct(&rows, &columns), rows.len(), "{}", table.name);
    }
}

#[test]
fn flights_use_nine_airlines_and_22_aircraft_in_44_pairs() {
    let flights = rows("flight");
    assert_eq!((distinct(&flights, &[6]), distinct(&flights, &[9]), distinct(&flights, &[6, 9])), (9, 22, 44));
    assert_eq!((distinct(&flights, &[2]), distinct(&flights, &[2, 3])), (9, 72));
    assert!(flights.iter().all(|flight| flight[2] != flight[3]));
    assert_eq!((having(&flights, 11, 1), having(&flights, 11, 2)), (33, 1));
}

#[test]
fn times_of_flights_are_times_of_day() {
    for flight in rows("flight") {
        for time in [&flight[4], &flight[5]] {
            assert!(matches!(time, Field::Number(time) if time / 100 < 24 && time % 100 < 60), "{time}");
        }
    }
}

#[test]
fn each_flight_has_five_classes_and_every_class_is_a_compound_one() {
    assert_eq!(distinct(&rows("flight_class"), &[0]), 579);
    let known = rows("compound_class");
    let used = rows("flight_class").into_iter().map(|row| row[1].clone());
    let used: Vec<Field> = used.chain(rows("fare").into_iter().map(|fare| fare[3].clone())).collect();
    assert!(used.iter().all(|class| having(&known, 0, class.clone()) == 1));
    assert_eq!(distinct(&rows("fare"), &[3]), 19);
}

#[test]
fn restricted_fares_and_their_carriers_make_5692_pairs() {
    let (fares, carriers) = (rows("fare"), rows("restrict_carrier"));
    assert_eq!(having(&fares, 5, ""), 297);
    assert_eq!(fares.iter().map(|fare| having(&carriers, 0, fare[5].clone())).sum::<usize>(), 5692);
}

#[test]
fn ten_fares_of_one_route_are_in_the_range_that_is_asked_for() {
    let asked = |fare: &Row| matches!(fare[6], Field::Number(280..=825));
    let route = |fare: &Row| fare[1] == Field::from("SFO") && fare[2] == Field::from("DFW");
    let fares = rows("fare");
    assert_eq!(fares.iter().filter(|fare| route(fare)).count(), 16);
    assert_eq!(fares.iter().filter(|fare| route(fare) && asked(fare)).count(), 10);
    assert_eq!(distinct(&fares, &[1, 2]), 72);
}

#[test]
fn aircraft_have_six_categories_and_three_of_them_two_engines() {
    let aircraft = rows("aircraft");
    assert_eq!(distinct(&aircraft, &[3]), 6);
    let two_engined: Vec<Row> = aircraft.into_iter().filter(|one| one[2] == Field::from(2)).collect();
    let counts = ["JET", "TURBOPROP", "PROPELLER"].map(|category| having(&two_engined, 3, category));
    assert_eq!((counts, two_engined.len()), ([7, 19, 17], 43));
}

#[test]
fn states_lie_in_two_countries() {
    let states = rows("state");
    assert_eq!((having(&states, 2, "USA"), having(&states, 2, "CANADA")), (51, 12));
    assert!(rows("city").iter().all(|city| having(&states, 0, city[2].clone()) == 1));
}

#[test]
fn every_choice_of_days_has_a_row_for_each_of_its_days() {
    let days = rows("flight_day");
    assert_eq!(distinct(&days, &[0]), 127);
    assert!((1..=7u64).all(|day| having(&days, 1, day) == 64));
}

#[test]
fn descriptions_are_of_the_length_that_they_have_in_the_suite() {
    let mean = |table: &str, column: usize| {
        let lengths: Vec<usize> = rows(table).iter().map(|row| row[column].to_string().len() - 2).collect();
        lengths.iter().sum::<usize>() / lengths.len()
    };
    assert!((20..=45).contains(&mean("class_of_service", 2)));
    assert!((20..=45).contains(&mean("code_description", 1)));
    assert!((20..=45).contains(&mean("restriction", 1)));
}
