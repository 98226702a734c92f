//! Calendars, meals and abbreviations.

use super::row::{Row, row};

const DAYS: [&str; 7] = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

pub fn days() -> Vec<Row> {
    (1..).zip(DAYS).map(|(number, name)| row![number, name]).collect()
}

pub fn months() -> Vec<Row> {
    (1..).zip(MONTHS).map(|(number, name)| row![number, name]).collect()
}

/// Every choice of days that is not empty, with one row for each of its days.
pub fn flight_days() -> Vec<Row> {
    let days_of = |choice: u64| (1..=7u64).filter(move |day| choice >> (day - 1) & 1 == 1);
    let mask = |choice| days_of(choice).map(|day| day.to_string()).collect::<String>();
    let row = |choice, day: u64| row![mask(choice), day, DAYS[day as usize - 1]];
    (1..128).flat_map(|choice| days_of(choice).map(move |day| row(choice, day))).collect()
}

pub fn food_services() -> Vec<Row> {
    const CODES: [&str; 11] = ["B", "L", "D", "S", "BL", "LD", "SB", "SL", "SD", "DS", "BS"];
    const CLASSES: [&str; 4] = ["FIRST", "BUSINESS", "COACH", "THRIFT"];
    const MEALS: [&str; 4] = ["BREAKFAST", "LUNCH", "DINNER", "SNACK"];
    let row = |i: u64| {
        let within = i % 11;
        let meal = MEALS[((i / 11 + within / 4) % 4) as usize];
        row![CODES[(i / 11) as usize], 1 + within / 4, CLASSES[(within % 4) as usize], meal]
    };
    (0..121).map(row).collect()
}

pub fn time_intervals() -> Vec<Row> {
    let intervals = [
        ("BEFORE DAWN", 0, 500),
        ("EARLY MORNING", 500, 800),
        ("MORNING", 500, 1159),
        ("LATE MORNING", 1000, 1159),
        ("NOON", 1130, 1230),
        ("EARLY AFTERNOON", 1200, 1400),
        ("AFTERNOON", 1200, 1759),
        ("LATE AFTERNOON", 1600, 1759),
        ("EARLY EVENING", 1800, 1930),
        ("EVENING", 1800, 2159),
        ("NIGHT", 2200, 2359),
        ("DAYTIME", 700, 1900),
    ];
    intervals.map(|(period, begin, end)| row![period, begin, end]).to_vec()
}

pub fn code_descriptions() -> Vec<Row> {
    let codes = [
        ("F", "first class throughout the flight"),
        ("C", "business class, where the aircraft has one"),
        ("Y", "ordinary economy class"),
        ("N", "an ending: fares of flights by night"),
        ("X", "an ending: fares of days other than weekends"),
        ("W", "an ending: fares of weekends"),
        ("B", "breakfast is served"),
        ("L", "lunch is served"),
        ("D", "dinner is served"),
        ("S", "a snack is served"),
        ("AP", "fares to be booked in advance"),
        ("NS", "without a stop on the way"),
        ("CN", "with a change of aircraft"),
        ("RT", "there and back again"),
        ("OW", "one way only"),
    ];
    codes.map(|(code, description)| row![code, description]).to_vec()
}
