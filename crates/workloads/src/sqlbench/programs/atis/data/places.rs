//! Airports, cities and states, and how to get from one to the other.

use super::row::{Row, row};

/// An airport: its code, and the state and time zone it lies in.
pub struct Airport {
    pub code: &'static str,
    state: &'static str,
    pub zone: &'static str,
}

const fn airport(code: &'static str, state: &'static str, zone: &'static str) -> Airport {
    Airport { code, state, zone }
}

pub const AIRPORTS: [Airport; 9] = [
    airport("ATL", "GA", "EST"),
    airport("BOS", "MA", "EST"),
    airport("BWI", "MD", "EST"),
    airport("DEN", "CO", "MST"),
    airport("DFW", "TX", "CST"),
    airport("OAK", "CA", "PST"),
    airport("PHL", "PA", "EST"),
    airport("PIT", "PA", "EST"),
    airport("SFO", "CA", "PST"),
];

/// Cities, their states, and the airport that gives them their time zone.
const CITIES: [(&str, &str, &str, &str); 11] = [
    ("MATL", "ATLANTA", "GA", "ATL"),
    ("BBOS", "BOSTON", "MA", "BOS"),
    ("DDFW", "DALLAS", "TX", "DFW"),
    ("FDFW", "FORT WORTH", "TX", "DFW"),
    ("DDEN", "DENVER", "CO", "DEN"),
    ("PPHL", "PHILADELPHIA", "PA", "PHL"),
    ("PPIT", "PITTSBURGH", "PA", "PIT"),
    ("SSFO", "SAN FRANCISCO", "CA", "SFO"),
    ("OOAK", "OAKLAND", "CA", "OAK"),
    ("WWAS", "WASHINGTON", "DC", "BWI"),
    ("BBWI", "BALTIMORE", "MD", "BWI"),
];

/// Which airport serves which city, and where it lies. Washington is the one city whose airport is in
/// another state, and San Francisco has two airports in one direction.
const SERVICES: [(&str, &str, &str); 13] = [
    ("MATL", "ATL", "S"),
    ("BBOS", "BOS", "NE"),
    ("DDFW", "DFW", "NW"),
    ("FDFW", "DFW", "E"),
    ("DDEN", "DEN", "NE"),
    ("PPHL", "PHL", "SW"),
    ("PPIT", "PIT", "W"),
    ("OOAK", "OAK", "SE"),
    ("OOAK", "SFO", "SW"),
    ("SSFO", "SFO", "SE"),
    ("SSFO", "OAK", "SE"),
    ("WWAS", "BWI", "NE"),
    ("BBWI", "BWI", "S"),
];

const STATES: [(&str, &str); 8] = [
    ("GA", "GEORGIA"),
    ("MA", "MASSACHUSETTS"),
    ("MD", "MARYLAND"),
    ("CO", "COLORADO"),
    ("TX", "TEXAS"),
    ("CA", "CALIFORNIA"),
    ("PA", "PENNSYLVANIA"),
    ("DC", "DISTRICT OF COLUMBIA"),
];

pub fn airports() -> Vec<Row> {
    let row = |airport: &Airport| {
        let city = CITIES.iter().find(|city| city.3 == airport.code).map_or("", |city| city.1);
        let name = format!("{city} INTERNATIONAL AIRPORT");
        let location = format!("outside the centre of {}", city.to_lowercase());
        row![airport.code, name, location, airport.state, "USA", airport.zone]
    };
    AIRPORTS.iter().map(row).collect()
}

pub fn cities() -> Vec<Row> {
    let zone = |code| AIRPORTS.iter().find(|airport| airport.code == code).map_or("", |airport| airport.zone);
    let row = |(code, name, state, airport): &(&str, &str, &str, &'static str)| {
        row![*code, *name, *state, "USA", zone(*airport)]
    };
    CITIES.iter().map(row).collect()
}

/// The eight states of our cities, and others without flights. The first 51 are in the USA.
pub fn states() -> Vec<Row> {
    const FIRST: [&str; 11] =
        ["NORTH", "EAST", "SOUTH", "WEST", "UPPER", "LOWER", "NEAR", "FAR", "OLD", "NEW", "GREAT"];
    const SECOND: [&str; 5] = ["VALE", "HAVEN", "FIELD", "SHORE", "MOOR"];
    let real = STATES.iter().map(|(code, name)| ((*code).to_owned(), (*name).to_owned()));
    let invented = (0..55).map(|number| {
        let (first, second) = (number % 11, number / 11);
        // Letters with which none of the real codes begins.
        let code = format!("{}{}", &"EFHIJKLNQRS"[first..=first], &"VHFSM"[second..=second]);
        (code, format!("{} {}", FIRST[first], SECOND[second]))
    });
    let country = |number| if number < 51 { "USA" } else { "CANADA" };
    real.chain(invented).zip(0..).map(|((code, name), number)| row![code, name, country(number)]).collect()
}

pub fn airport_services() -> Vec<Row> {
    let distance = |number: u64| 5 + 7 * number % 24;
    let row = |((city, airport, direction), number): (&(&str, &str, &str), u64)| {
        row![*city, *airport, distance(number), *direction, 15 + 2 * distance(number)]
    };
    let blank = row!["", "", 0, "", 0];
    SERVICES.iter().zip(0..).map(row).chain([blank]).collect()
}

/// By limousine for a fare everywhere; by other means for nothing, to fewer places.
pub fn ground_services() -> Vec<Row> {
    let by = |transport: &'static str, places: usize, paid: bool| {
        let fare = move |number: u64| if paid { 6 + number % 9 } else { 0 };
        let served = SERVICES.iter().take(places).zip(0..);
        served.map(move |((city, airport, _), number)| row![*city, *airport, transport, fare(number)])
    };
    let blank = row!["", "", "", 0];
    by("L", 13, true).chain(by("R", 11, false)).chain(by("A", 8, false)).chain([blank]).collect()
}

pub fn time_zones() -> Vec<Row> {
    let zones = [
        ("EST", "EASTERN STANDARD TIME"),
        ("EDT", "EASTERN DAYLIGHT TIME"),
        ("CST", "CENTRAL STANDARD TIME"),
        ("CDT", "CENTRAL DAYLIGHT TIME"),
        ("MST", "MOUNTAIN STANDARD TIME"),
        ("MDT", "MOUNTAIN DAYLIGHT TIME"),
        ("PST", "PACIFIC STANDARD TIME"),
        ("PDT", "PACIFIC DAYLIGHT TIME"),
        ("GMT", "GREENWICH MEAN TIME"),
    ];
    zones.map(|(code, name)| row![code, name]).to_vec()
}

pub fn transports() -> Vec<Row> {
    let transports = [("L", "LIMOUSINE"), ("R", "RENTAL CAR"), ("A", "AIR TAXI"), ("T", "TAXI")];
    transports.map(|(code, name)| row![code, name]).to_vec()
}
