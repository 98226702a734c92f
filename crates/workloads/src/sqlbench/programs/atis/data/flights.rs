//! Aircraft, airlines, and the flights that they make.

use super::places::{AIRPORTS, Airport};
use super::row::{Row, row};

pub const FLIGHTS: u64 = 579;
const CONNECTIONS: u64 = 164;
/// Flights use the first airlines and aircraft only, in 44 combinations.
const AIRLINES_USED: u64 = 9;
const AIRCRAFT_USED: u64 = 22;
/// Routes between two of the nine airports; a group of as many flights serves each route once.
pub const ROUTES: u64 = 72;

/// The last departure of the day: from here, most flights arrive on the next one.
const LATE_MINUTE: u64 = 1395;

/// The zones between which one group of flights leaves late.
const LATE_ZONES: [(&str, &str); 7] =
    [("PST", "EST"), ("PST", "CST"), ("PST", "MST"), ("MST", "EST"), ("MST", "CST"), ("CST", "EST"), ("EST", "EST")];

/// Two airports, the first of which is left for the second.
pub struct Route {
    from: u64,
    to: u64,
}

impl Route {
    /// All 72, ordered by both ends.
    pub fn ranked(rank: u64) -> Route {
        let (from, other) = (rank / 8, rank % 8);
        Route { from, to: if other < from { other } else { other + 1 } }
    }

    fn of_flight(flight: u64) -> Route {
        Route { from: flight % 9, to: (flight + 1 + flight / 9 % 8) % 9 }
    }

    pub fn rank(&self) -> u64 {
        8 * self.from + if self.to < self.from { self.to } else { self.to - 1 }
    }

    pub fn ends(&self) -> (&'static Airport, &'static Airport) {
        (&AIRPORTS[self.from as usize], &AIRPORTS[self.to as usize])
    }
}

pub fn flight_code(flight: u64) -> u64 {
    101_908 + 74 * flight
}

pub fn airline_code(airline: u64) -> String {
    let letter = |number: u64| char::from(b'A' + (number % 26) as u8);
    format!("{}{}", letter(7 * airline + airline / 26), letter(11 * airline + 3))
}

fn aircraft_code(aircraft: u64) -> String {
    let maker = b"KHRTAVNSM"[(aircraft % 9) as usize];
    format!("{}{:02}", char::from(maker), 10 + 3 * (aircraft / 9))
}

/// Hours and minutes as one number.
fn clock(minutes: u64) -> u64 {
    minutes / 60 * 100 + minutes % 60
}

pub fn aircraft() -> Vec<Row> {
    (0..135).map(one_aircraft).collect()
}

fn one_aircraft(i: u64) -> Row {
    const MAKERS: [&str; 9] =
        ["KESTREL", "HARRIER", "REDWING", "TERN", "AVOCET", "VIREO", "NIGHTJAR", "SWIFT", "MERLIN"];
    const CATEGORIES: [&str; 6] = ["JET", "TURBOPROP", "PROPELLER", "HELICOPTER", "AMPHIBIAN", ""];
    // Of two engines there are seven jets, nineteen turboprops and seventeen propeller aircraft.
    let (category, engines) = match i {
        5 | 15 | 16 => ("TURBOPROP", 2 + i % 3),
        0..22 => ("JET", 2 + i % 3),
        22..57 => (if i.is_multiple_of(2) { "TURBOPROP" } else { "PROPELLER" }, 2),
        _ => (CATEGORIES[(i % 6) as usize], [0, 1, 3, 4][(i % 4) as usize]),
    };
    let kind = format!("{} {}00 SERIES {}", MAKERS[(i % 9) as usize], 1 + i / 9, 1 + i % 9);
    let pay_load = if i.is_multiple_of(3) { 0 } else { 500 * i };
    // A group by range and a filter of zero both read it.
    let range_miles = if i == 3 || i == 20 { 0 } else { 300 + 100 * (i / 4) };
    let wide = if engines > 2 { "YES" } else { "NO" };
    let pressurized = if category == "JET" { "YES" } else { "NO" };
    row![
        aircraft_code(i),
        kind,
        engines,
        category,
        wide,
        40 + i,
        45 + 2 * i,
        9000 + 700 * i,
        19 + 3 * i,
        pay_load,
        250 + 4 * i,
        range_miles,
        pressurized,
    ]
}

pub fn airlines() -> Vec<Row> {
    const FIRST: [&str; 20] = [
        "NORTHERN",
        "HARBOUR",
        "PRAIRIE",
        "SUMMIT",
        "COASTAL",
        "MERIDIAN",
        "CANYON",
        "LAKELAND",
        "EVERGREEN",
        "DELTA BAY",
        "GRANITE",
        "HORIZON HILL",
        "SILVER",
        "TIMBER",
        "VALLEY",
        "ISLAND",
        "DESERT",
        "RIVER",
        "COPPER",
        "MORNING",
    ];
    const SECOND: [&str; 16] = [
        "AIR",
        "AIRLINES",
        "AIRWAYS",
        "AVIATION",
        "EXPRESS",
        "FLYERS",
        "AIR LINES",
        "AIR SERVICE",
        "COMMUTER",
        "SHUTTLE",
        "CHARTER",
        "AIR CARGO",
        "SKYWAYS",
        "AIR TAXI",
        "WINGS",
        "AIR LINK",
    ];
    let row = |i: u64| {
        let name = format!("{} {}", FIRST[(i % 20) as usize], SECOND[(i / 20) as usize]);
        let notes = if i < AIRLINES_USED { "flies between the nine airports" } else { "" };
        row![airline_code(i), name, notes]
    };
    (0..314).map(row).collect()
}

pub fn flights() -> Vec<Row> {
    (0..FLIGHTS).map(one_flight).collect()
}

fn one_flight(i: u64) -> Row {
    const DAYS: [&str; 5] = ["1234567", "12345", "67", "135", "1234567"];
    const MEALS: [&str; 6] = ["", "B", "L", "D", "S", "SB"];
    let route = Route::of_flight(i);
    let (from, to) = route.ends();
    let (departure, arrival, elapsed) = times(i, &route);
    row![
        flight_code(i),
        DAYS[(i % 5) as usize],
        from.code,
        to.code,
        clock(departure),
        clock(arrival),
        airline_code(i % 44 % AIRLINES_USED),
        1 + i % 430,
        classes(i).concat(),
        aircraft_code(i % 44 % AIRCRAFT_USED),
        MEALS[(i % 6) as usize],
        stop_count(i),
        if i.is_multiple_of(19) { "Y" } else { "" },
        elapsed,
    ]
}

/// Departure and arrival in minutes of each airport's own day, and the minutes between them.
fn times(i: u64, route: &Route) -> (u64, u64, u64) {
    let (from, to) = route.ends();
    let group = i / ROUTES;
    let apart = u64::from(i == 144 || i == 145);
    let elapsed = 60 + 37 * route.rank() % 240 + 5 * (group % 2) + apart;
    let late = group == 1 && LATE_ZONES.contains(&(from.zone, to.zone));
    let departure = if late { LATE_MINUTE } else { 360 + 41 * i % 540 };
    let arrival = departure + elapsed + 60 * behind_utc(from.zone) - 60 * behind_utc(to.zone);
    (departure, arrival % 1440, elapsed)
}

/// Hours.
fn behind_utc(zone: &str) -> u64 {
    match zone {
        "EST" => 5,
        "CST" => 6,
        "MST" => 7,
        _ => 8,
    }
}

fn stop_count(flight: u64) -> u64 {
    match flight {
        3 => 2,
        _ => u64::from(flight % 17 == 3),
    }
}

fn classes(flight: u64) -> [&'static str; 5] {
    match flight % 4 {
        0 => ["F", "Y", "B", "M", "Q"],
        1 => ["F", "Y", "B", "H", "Q"],
        2 => ["F", "Y", "B", "M", "V"],
        _ => ["FN", "YN", "BN", "M", "Q"],
    }
}

pub fn flight_classes() -> Vec<Row> {
    (0..FLIGHTS).flat_map(|i| classes(i).map(|class| row![flight_code(i), class])).collect()
}

/// The parts of a flight that stops on its way.
pub fn stops() -> Vec<Row> {
    let part = |i: u64, number: u64| row![flight_code(i), number, flight_code((i + 100 * number) % FLIGHTS)];
    let parts = |i: u64| if stop_count(i) == 0 { 0 } else { stop_count(i) + 1 };
    (0..FLIGHTS).flat_map(|i| (1..=parts(i)).map(move |number| part(i, number))).collect()
}

fn connection_code(connection: u64) -> u64 {
    300_014 + 26 * connection
}

fn legs(connection: u64) -> u64 {
    if connection < 23 { 3 } else { 2 }
}

pub fn connections() -> Vec<Row> {
    let row = |c: u64| {
        let (from, to) = Route::ranked(5 * c % ROUTES).ends();
        let (departure, elapsed) = (330 + 13 * c % 480, 180 + 11 * c % 300);
        let arrival = (departure + elapsed) % 1440;
        let (departure, arrival) = (clock(departure), clock(arrival));
        row![connection_code(c), from.code, to.code, departure, arrival, "1234567", c % 2, legs(c) - 1, elapsed]
    };
    (0..CONNECTIONS).map(row).collect()
}

pub fn connection_legs() -> Vec<Row> {
    let row = |c: u64, leg: u64| row![connection_code(c), leg, flight_code((7 * c + 190 * leg) % FLIGHTS)];
    (0..CONNECTIONS).flat_map(|c| (1..=legs(c)).map(move |leg| row(c, leg))).collect()
}

/// Ranges of flight numbers that one airline flies for another.
pub fn dual_carriers() -> Vec<Row> {
    let row = |i: u64| {
        let low = 2000 + 25 * i;
        let name = format!("{} CONNECTION {}", airline_code(i % AIRLINES_USED), 1 + i / AIRLINES_USED);
        row![airline_code(i % AIRLINES_USED), airline_code(20 + i), low, low + 24, name]
    };
    (0..114).map(row).collect()
}
