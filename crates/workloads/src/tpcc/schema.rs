//! Tables of the TPC-C-derived workload (clause 1.3), in each dialect.
//!
//! Some columns are wider than the specification asks, because counters of a long run at today's speed
//! outgrow its widths. SQLite, which has no exact decimals, keeps money in cents and rates in
//! ten-thousandths. Names are compared byte by byte everywhere: "the middle one by first name" must be the
//! same customer on every contender. MySQL gets its primary keys with the table, since InnoDB keeps rows in
//! their order; all else comes after the rows.

use driver::Dialect;

use super::options::Tpcc;
use super::random::{CUSTOMERS_PER_DISTRICT, DISTRICTS, ITEMS};
use crate::sections::find;
use load::Table;

/// Of the orders of a district, those that wait for their delivery are the last ones.
pub const NEW_ORDERS_PER_DISTRICT: i64 = 900;

const SCHEMA: &str = include_str!("schema.sql");

/// The tables, each before those that it refers to, so that they can be dropped in this order; that the big
/// ones come first also suits a load whose last steps run side by side.
pub const RELATIONS: [Relation; 10] = [
    Relation::OrderLine,
    Relation::Stock,
    Relation::Customer,
    Relation::Orders,
    Relation::History,
    Relation::NewOrder,
    Relation::District,
    Relation::Warehouse,
    Relation::Item,
    Relation::Meta,
];

/// Each has a random stream by its place here, so another order would make other rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    OrderLine,
    Stock,
    Customer,
    Orders,
    History,
    NewOrder,
    District,
    Warehouse,
    Item,
    /// One row that holds what the others were made of.
    Meta,
}

impl Relation {
    pub fn name(self) -> &'static str {
        match self {
            Relation::OrderLine => "order_line",
            Relation::Stock => "stock",
            Relation::Customer => "customer",
            Relation::Orders => "orders",
            Relation::History => "history",
            Relation::NewOrder => "new_order",
            Relation::District => "district",
            Relation::Warehouse => "warehouse",
            Relation::Item => "item",
            Relation::Meta => "tpcc_meta",
        }
    }

    /// Units and rows. A unit is a row, and where rows of a district belong together, the district.
    fn size(self, warehouses: u64) -> (u64, u64) {
        let districts = warehouses * DISTRICTS as u64;
        let customers = districts * CUSTOMERS_PER_DISTRICT as u64;
        match self {
            // Five to fifteen lines of an order, ten on average.
            Relation::OrderLine => (districts, customers * 10),
            Relation::Stock => (warehouses * ITEMS as u64, warehouses * ITEMS as u64),
            Relation::Customer | Relation::Orders | Relation::History => (districts, customers),
            Relation::NewOrder => (districts, districts * NEW_ORDERS_PER_DISTRICT as u64),
            Relation::District => (districts, districts),
            Relation::Warehouse => (warehouses, warehouses),
            Relation::Item => (ITEMS as u64, ITEMS as u64),
            Relation::Meta => (1, 1),
        }
    }
}

pub fn tables(tpcc: &Tpcc, dialect: Dialect) -> Vec<Table> {
    RELATIONS.iter().map(|relation| table(tpcc, *relation, dialect)).collect()
}

fn table(tpcc: &Tpcc, relation: Relation, dialect: Dialect) -> Table {
    let (units, rows) = relation.size(tpcc.warehouses);
    let create = create(tpcc, relation, dialect);
    Table {
        name: relation.name().to_owned(),
        columns: columns(relation, dialect).into_iter().map(Into::into).collect(),
        create: vec![create],
        units,
        rows,
        finish: finish(relation, dialect),
        link: if tpcc.foreign_keys { links(relation, dialect) } else { Vec::new() },
        seals: relation == Relation::Meta,
    }
}

fn create(tpcc: &Tpcc, relation: Relation, dialect: Dialect) -> String {
    let (tiny, date, bytewise, end) = match dialect {
        Dialect::MySql => (
            "TINYINT UNSIGNED",
            "DATETIME",
            "",
            format!(" ENGINE={} DEFAULT CHARSET=latin1 COLLATE=latin1_bin", tpcc.engine),
        ),
        Dialect::Postgres => ("SMALLINT", "TIMESTAMP", " COLLATE \"C\"", String::new()),
        Dialect::Sqlite => ("INTEGER", "TEXT", "", String::new()),
    };
    let key = match primary_key(relation, dialect) {
        Some(columns) if dialect != Dialect::Postgres => format!(",\n  PRIMARY KEY ({columns})"),
        _ => String::new(),
    };
    let text = text("create", relation, dialect).expect("every table can be created");
    let text = text.replace("{tiny}", tiny).replace("{date}", date).replace("{bytewise}", bytewise);
    text.replace("{key}", &key).replace("{end}", &end)
}

/// All columns, in their order in CREATE.
fn columns(relation: Relation, dialect: Dialect) -> Vec<&'static str> {
    let create = text("create", relation, dialect).expect("every table can be created");
    create.lines().filter(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next()).collect()
}

fn finish(relation: Relation, dialect: Dialect) -> Vec<String> {
    let name = relation.name();
    let mut finish = Vec::new();
    if let (Dialect::Postgres, Some(columns)) = (dialect, primary_key(relation, dialect)) {
        finish.push(format!("ALTER TABLE {name} ADD PRIMARY KEY ({columns})"));
    }
    finish.extend(text("index", relation, dialect).map(str::to_owned));
    finish.push(match dialect {
        Dialect::MySql => format!("ANALYZE TABLE {name}"),
        // Frozen, so that no run has to mark loaded rows as visible to all.
        Dialect::Postgres => format!("VACUUM (FREEZE, ANALYZE) {name}"),
        Dialect::Sqlite => format!("ANALYZE {name}"),
    });
    finish
}

fn links(relation: Relation, dialect: Dialect) -> Vec<String> {
    text("link", relation, dialect)
        .into_iter()
        .flat_map(|text| text.split(';'))
        .map(|sql| sql.trim().to_owned())
        .collect()
}

fn primary_key(relation: Relation, dialect: Dialect) -> Option<&'static str> {
    text("key", relation, dialect)
}

fn text(what: &str, relation: Relation, dialect: Dialect) -> Option<&'static str> {
    find(SCHEMA, &format!("{what}-{}", relation.name()), dialect)
}
