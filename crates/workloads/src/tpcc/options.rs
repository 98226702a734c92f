//! The options of the TPC-C-derived workload, and the profiles that choose several at once.

use load::TransactionKind;
use load::{OptionError, OptionSpec, Options};
use std::borrow::Cow;

/// What a profile decides unless the option is given beside it.
const AUTO: &str = "auto";

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("warehouses", "1", "scale: each warehouse has half a million rows, about 100 MB").alias(&["scale"]),
    OptionSpec::new("clients", "0", "terminals of all warehouses together, a connection each").alias(&["terminals"]),
    OptionSpec::new(
        "terminals_per_warehouse",
        "0",
        "terminals that grow with the warehouses; 0: as clients says, or 10 with pacing spec",
    ),
    OptionSpec::new(
        "form",
        "rows",
        "rows: a statement per row; batch: a statement per set of rows; procedures: one call per transaction",
    ),
    OptionSpec::new(
        "profile",
        "nothink",
        "nothink: closed loop, fixed home, deck of 23; spec: keying and think times; dbt2: weighted mix; hammerdb: home \
         drawn at connect, cards drawn alone; tpcc-mysql: home drawn for each transaction",
    ),
    OptionSpec::new("pacing", AUTO, "none: no rest between transactions; spec: keying and think times"),
    OptionSpec::new(
        "mix",
        AUTO,
        "deck: 10, 10, 1, 1, 1 of each 23 shuffled; weighted: 45, 43, 4, 4, 4 %; cards: any of the 23",
    ),
    OptionSpec::new(
        "home",
        AUTO,
        "fixed: client i at warehouse 1 + i mod W; drawn: at connect; random: anew for each transaction",
    ),
    OptionSpec::new(
        "delivery",
        "whole",
        "whole: ten districts in one transaction; per-district: a commit for each; queued: clients only queue them, and \
         one connection more per 10 clients (10 at most) runs them in the background, whole; a trial keeps what each \
         delivered in deferred.csv",
    ),
    OptionSpec::new("db_ps_mode", "auto", "auto: prepared statements; disable: statements as text"),
    OptionSpec::new("fk", "false", "foreign keys, made after the load"),
    OptionSpec::new("mysql_storage_engine", "innodb", "storage engine of the tables on MySQL and MariaDB"),
];

/// More than any machine that runs this can hold.
const WAREHOUSES_MAX: u64 = 1_000_000;
const TERMINALS_MAX: u64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Rows,
    Batch,
    Procedures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    None,
    /// Keying and think times of clause 5.2.5.
    Spec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Every 23 transactions of a client hold 10, 10, 1, 1 and 1, shuffled.
    Deck,
    /// Each is drawn with 45, 43, 4, 4 and 4 percent.
    Weighted,
    /// Each is drawn from the 23 cards alone.
    Cards,
}

/// Where a client is at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    Fixed,
    /// Once for the whole run.
    Drawn,
    Random,
}

/// What a Delivery commits at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    PerDistrict,
    /// Clients queue, and background slots run them, whole (clause 2.7.2).
    Queued,
}

const FORMS: [Form; 3] = [Form::Rows, Form::Batch, Form::Procedures];
const DELIVERIES: [Delivery; 3] = [Delivery::Whole, Delivery::PerDistrict, Delivery::Queued];
const PROFILES: [&str; 5] = ["nothink", "spec", "dbt2", "hammerdb", "tpcc-mysql"];

pub fn read(options: &Options) -> Result<Tpcc, OptionError> {
    let profile = PROFILES[options.choice("profile", &PROFILES)?];
    let pacing = match options.choice("pacing", &[AUTO, "none", "spec"])? {
        0 if profile == "spec" => Pacing::Spec,
        0 | 1 => Pacing::None,
        _ => Pacing::Spec,
    };
    let mix = match options.choice("mix", &[AUTO, "deck", "weighted", "cards"])? {
        0 if profile == "dbt2" => Mix::Weighted,
        0 if profile == "hammerdb" => Mix::Cards,
        0 | 1 => Mix::Deck,
        2 => Mix::Weighted,
        _ => Mix::Cards,
    };
    let home = match options.choice("home", &[AUTO, "fixed", "drawn", "random"])? {
        0 if profile == "hammerdb" => Home::Drawn,
        0 if profile == "tpcc-mysql" => Home::Random,
        0 | 1 => Home::Fixed,
        2 => Home::Drawn,
        _ => Home::Random,
    };
    let terminals_per_warehouse = options.number("terminals_per_warehouse", 0, TERMINALS_MAX)?;
    let clients = options.number("clients", 0, TERMINALS_MAX)?;
    if terminals_per_warehouse > 0 && clients > 0 {
        let expected = "the number of clients is given already; one of both was expected".to_owned();
        return Err(options.error("terminals_per_warehouse", expected));
    }
    Ok(Tpcc {
        clients,
        terminals_per_warehouse,
        warehouses: options.number("warehouses", 1, WAREHOUSES_MAX)?,
        form: FORMS[options.choice("form", &["rows", "batch", "procedures"])?],
        pacing,
        mix,
        home,
        delivery: DELIVERIES[options.choice("delivery", &["whole", "per-district", "queued"])?],
        as_text: options.choice("db_ps_mode", &["auto", "disable"])? == 1,
        foreign_keys: options.flag("fk")?,
        engine: options.word("mysql_storage_engine")?.to_owned(),
        manner: manner(options, pacing),
    })
}

fn manner(options: &Options, pacing: Pacing) -> String {
    let of = |name: &str| options.text(name).unwrap_or_default();
    let mut text = format!("form {}", of("form"));
    if of("form") == "procedures" {
        text += " (written in SQL for MySQL and MariaDB, in PL/pgSQL for PostgreSQL)";
    }
    if of("db_ps_mode") == "disable" {
        text += ", statements as text";
    }
    text += &format!(", profile {}", of("profile"));
    let chosen = ["pacing", "mix", "home", "delivery"].map(|name| (name, of(name)));
    for (name, value) in chosen.into_iter().filter(|(_, value)| !["", AUTO, "whole"].contains(value)) {
        text += &format!(", {name} {value}");
    }
    let rests = pacing == Pacing::Spec;
    let rest = if rests { "keying and think times as specified" } else { "no keying and no think times" };
    format!("{text}; {rest}")
}

/// The kinds of transactions, as they are counted, with the limits of clause 5.2.5.7. With queued Deliveries
/// `delivery` is the queueing, and the last one what was queued.
pub const KINDS: &[TransactionKind] = &[
    kind("new_order", "New-Order", 5.0),
    kind("payment", "Payment", 5.0),
    kind("order_status", "Order-Status", 5.0),
    kind("delivery", "Delivery", 5.0),
    kind("stock_level", "Stock-Level", 20.0),
    kind("deferred_delivery", "Delivery, deferred", 80.0),
];

pub(super) const fn kind(name: &'static str, title: &'static str, limit_s: f64) -> TransactionKind {
    TransactionKind { name: Cow::Borrowed(name), title: Cow::Borrowed(title), p90_limit_s: Some(limit_s) }
}

/// How many of them are a client's, which are all that there are unless Deliveries are queued.
pub(super) const KINDS_OF_CLIENTS: usize = KINDS.len() - 1;

pub(super) const DEFERRED_DELIVERY: usize = KINDS_OF_CLIENTS;

/// The workload with all options decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tpcc {
    pub warehouses: u64,
    /// Clients as given; 0 where they were not.
    pub clients: u64,
    /// Clients grow with the warehouses; 0 where they do not.
    pub terminals_per_warehouse: u64,
    pub form: Form,
    pub pacing: Pacing,
    pub mix: Mix,
    pub home: Home,
    pub delivery: Delivery,
    /// Statements travel with their values in them, and nothing is prepared.
    pub as_text: bool,
    pub foreign_keys: bool,
    /// Storage engine on MySQL and MariaDB.
    pub engine: String,
    /// How the transactions are sent and when, for a reader.
    pub manner: String,
}

impl Tpcc {
    pub(crate) fn new(options: &Options) -> Result<Tpcc, OptionError> {
        read(options)
    }
}
