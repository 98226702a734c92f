//! What flights cost, in which class, and for whom.

use super::flights::{FLIGHTS, ROUTES, Route, airline_code, flight_code};
use super::row::{Row, row};

const FARES: u64 = 534;
const RESTRICTIONS: u64 = 65;

/// How many fares carry each of the restrictions that are in use; the others are free of any.
const RESTRICTED_FARES: [u64; 8] = [118, 52, 50, 4, 4, 3, 3, 3];

/// Letters and endings of compound classes; those that flights use come first.
const BASES: [&str; 10] = ["F", "Y", "B", "M", "Q", "H", "V", "C", "K", "L"];
const ENDINGS: [&str; 15] = ["", "N", "W", "X", "E", "R", "S", "T", "Z", "D", "NW", "NX", "NR", "WX", "RX"];

fn class_code(class: u64) -> String {
    format!("{}{}", BASES[(class % 10) as usize], ENDINGS[(class / 10) as usize])
}

fn fare_code(fare: u64) -> String {
    (7_100_001 + fare).to_string()
}

fn restriction_code(restriction: u64) -> String {
    format!("AP/{:02}", 10 + restriction)
}

pub fn fares() -> Vec<Row> {
    (0..FARES).map(one_fare).collect()
}

/// The first sixteen are for San Francisco to Dallas, and ten of them have the cost of a query.
fn one_fare(i: u64) -> Row {
    const COSTS: [u64; 10] = [0, 100, 180, 250, 300, 450, 600, 900, 150, 990];
    let (route, cost) = match i {
        0..10 => (dearest_route(), 300 + 50 * i),
        10..16 => (dearest_route(), 150),
        _ => (other_route(i % (ROUTES - 1)), COSTS[(i % 10) as usize]),
    };
    let (from, to) = route.ends();
    let restriction = restriction_of_fare(i).map(restriction_code).unwrap_or_default();
    let class = class_code(i % 19);
    row![fare_code(i), from.code, to.code, class, airline_code(i % 9), restriction, cost, 2 * cost]
}

fn is_dearest(route: &Route) -> bool {
    let (from, to) = route.ends();
    (from.code, to.code) == ("SFO", "DFW")
}

fn dearest_route() -> Route {
    other_than(|route| !is_dearest(route)).next().expect("the route is one of the 72")
}

/// One of the 71 others.
fn other_route(number: u64) -> Route {
    other_than(is_dearest).nth(number as usize).expect("there are 71 other routes")
}

fn other_than(left_out: fn(&Route) -> bool) -> impl Iterator<Item = Route> {
    (0..ROUTES).map(Route::ranked).filter(move |route| !left_out(route))
}

/// Strewn over all fares: five has no divisor in common with their number.
fn restriction_of_fare(fare: u64) -> Option<u64> {
    let mut place = 5 * fare % FARES;
    for (restriction, fares) in (0..).zip(RESTRICTED_FARES) {
        if place < fares {
            return Some(restriction);
        }
        place -= fares;
    }
    None
}

pub fn flight_fares() -> Vec<Row> {
    (0..2998).map(|j| row![flight_code(j % FLIGHTS), fare_code(5 * j % FARES)]).collect()
}

pub fn compound_classes() -> Vec<Row> {
    (0..149).map(one_compound_class).collect()
}

fn one_compound_class(i: u64) -> Row {
    let (base, ending) = (BASES[(i % 10) as usize], ENDINGS[(i / 10) as usize]);
    let yes = |is: bool| if is { "YES" } else { "NO" };
    let kind = if base == "F" {
        "FIRST"
    } else if base == "C" {
        "BUSINESS"
    } else {
        "COACH"
    };
    let season = ["HIGH", "LOW", ""][(i % 3) as usize];
    let days = ["DAILY", "WEEKDAY", "WEEKEND"][(i / 10 % 3) as usize];
    row![
        class_code(i),
        base,
        kind,
        yes(kind == "FIRST"),
        yes(kind == "COACH"),
        yes(ending.contains('X')),
        yes(ending.contains('N')),
        season,
        days,
    ]
}

pub fn classes_of_service() -> Vec<Row> {
    let row = |i: u64| {
        let slots = ["wide seats in front", "seats with more room", "ordinary seats"][(i % 3) as usize];
        let description = format!("class {}: {slots}", class_code(i));
        row![class_code(i), i + 1, description]
    };
    (0..27).map(row).collect()
}

/// Airlines that a restriction is valid for. The restrictions of fares have 24 each, the first that four
/// fares carry has one more.
pub fn restricted_carriers() -> Vec<Row> {
    let carriers = |restriction: u64| match restriction {
        3 => 25,
        0..8 => 24,
        // The others share 419.
        _ => 7 + u64::from(restriction - 8 < 20),
    };
    let row = |k: u64, j: u64| row![restriction_code(k), airline_code((5 * k + j) % 118)];
    (0..RESTRICTIONS).flat_map(|k| (0..carriers(k)).map(move |j| row(k, j))).collect()
}

pub fn restricted_classes() -> Vec<Row> {
    (0..4).map(|i| row![restriction_code(i), class_code(10 + i)]).collect()
}

pub fn restrictions() -> Vec<Row> {
    let row = |i: u64| {
        let days = 3 + i % 7 * 4;
        let application = format!("to be booked {days} days before the flight");
        let no_discounts = if i.is_multiple_of(3) { "none for children or groups" } else { "" };
        let stopovers = if i.is_multiple_of(2) { "N" } else { "Y" };
        row![restriction_code(i), application, no_discounts, days, stopovers, i % 5, 30 + i % 4 * 30]
    };
    (0..RESTRICTIONS).map(row).collect()
}
