//! Tables of the TPC-H-derived workload (clause 1.4), in each dialect, with the keys and indexes that clause 1.5 allows:
//! primary keys, what refers to them, and two dates.
//!
//! SQLite, which has no exact decimals, keeps money and quantities in hundredths. Texts are compared byte by byte
//! everywhere. MySQL and SQLite get their primary keys with the table, since rows lie in their order there; all else
//! comes after the rows.

use driver::Dialect;
use load::Table;

use super::options::Tpch;
use super::relation::{RELATIONS, Relation};

pub fn tables(tpch: &Tpch, dialect: Dialect) -> Vec<Table> {
    let table = |relation: Relation| {
        let (units, rows) = super::population::size(tpch.scale_factor, relation);
        Table {
            name: relation.name().to_owned(),
            columns: relation.columns().into_iter().map(|(name, _)| name.into()).collect(),
            create: vec![create(tpch, relation, dialect)],
            units,
            rows,
            finish: finish(relation, dialect),
            link: Vec::new(),
            seals: false,
        }
    };
    RELATIONS.into_iter().map(table).collect()
}

fn create(tpch: &Tpch, relation: Relation, dialect: Dialect) -> String {
    let primary = format!(",\n  PRIMARY KEY ({})", relation.primary_key());
    let is_single = !relation.primary_key().contains(',');
    let (key, money, date, bytewise, primary, end) = match dialect {
        Dialect::MySql => (
            "BIGINT",
            "DECIMAL(15,2)",
            "DATE",
            "",
            primary,
            format!(" ENGINE={} DEFAULT CHARSET=latin1 COLLATE=latin1_bin", tpch.engine),
        ),
        Dialect::Postgres => ("BIGINT", "DECIMAL(15,2)", "DATE", " COLLATE \"C\"", String::new(), String::new()),
        // A single key of this type is the row's own number.
        Dialect::Sqlite => {
            ("INTEGER", "INTEGER", "TEXT", "", primary, (if is_single { "" } else { " WITHOUT ROWID" }).to_owned())
        }
    };
    let text = relation.create();
    [("{key}", key), ("{money}", money), ("{date}", date), ("{bytewise}", bytewise), ("{primary}", &primary)]
        .into_iter()
        .fold(text.to_owned(), |text, (place, word)| text.replace(place, word))
        .replace("{end}", &end)
}

fn finish(relation: Relation, dialect: Dialect) -> Vec<String> {
    let name = relation.name();
    let mut finish = Vec::new();
    if dialect == Dialect::Postgres {
        finish.push(format!("ALTER TABLE {name} ADD PRIMARY KEY ({})", relation.primary_key()));
    }
    let index = |(index, columns): (&str, &str)| format!("CREATE INDEX {index} ON {name} ({columns})");
    finish.extend(relation.indexes().into_iter().map(index));
    finish.push(match dialect {
        Dialect::MySql => format!("ANALYZE TABLE {name}"),
        // Frozen, so that no run has to mark loaded rows as visible to all.
        Dialect::Postgres => format!("VACUUM (FREEZE, ANALYZE) {name}"),
        Dialect::Sqlite => format!("ANALYZE {name}"),
    });
    finish
}
