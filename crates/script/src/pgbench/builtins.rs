//! pgbench's builtin scripts as workloads of an experiment.

use driver::Dialect;
use load::{OptionError, OptionSpec, Options, Workload, WorkloadKind};

use super::tables::PgbenchTables;
use super::workload::{File, Pgbench, Rules};
use crate::program::Protocol;

/// A script that pgbench brings along.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    /// As reports of pgbench call it.
    pub title: &'static str,
    pub text: &'static str,
}

pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "tpcb-like", title: "<builtin: TPC-B (sort of)>", text: include_str!("builtins/tpcb_like.sql") },
    Builtin {
        name: "simple-update",
        title: "<builtin: simple update>",
        text: include_str!("builtins/simple_update.sql"),
    },
    Builtin { name: "select-only", title: "<builtin: select only>", text: include_str!("builtins/select_only.sql") },
];

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("scale", "1", "branches; each has 10 tellers and 100,000 accounts"),
    OptionSpec::new("protocol", "prepared", "prepared, simple (values in the text) or, on PostgreSQL, extended"),
];

pub const TPCB_LIKE: WorkloadKind = WorkloadKind {
    name: "tpcb-like",
    description: "pgbench's default: three updates, a select and an insert in one transaction",
    example: "name = \"tpcb-like\"\nscale = 10",
    options: OPTIONS,
    build: |options| build(&BUILTINS[0], options),
};

pub const SIMPLE_UPDATE: WorkloadKind = WorkloadKind {
    name: "simple-update",
    description: "pgbench -N: tpcb-like without the updates of tellers and branches",
    example: "name = \"simple-update\"\nscale = 10",
    options: OPTIONS,
    build: |options| build(&BUILTINS[1], options),
};

pub const SELECT_ONLY: WorkloadKind = WorkloadKind {
    name: "select-only",
    description: "pgbench -S: one account by its primary key",
    example: "name = \"select-only\"\nscale = 10",
    options: OPTIONS,
    build: |options| build(&BUILTINS[2], options),
};

const SCALE_MAX: u64 = 1_000_000;

fn build(builtin: &Builtin, options: &Options) -> Result<Box<dyn Workload>, OptionError> {
    let tables = PgbenchTables::new(options.number("scale", 1, SCALE_MAX)?);
    let names = Protocol::ALL.map(Protocol::name);
    let protocol = Protocol::ALL[options.choice("protocol", &names)?];
    let rules = Rules { protocol, ..Rules::default() };
    let made = Pgbench::new(&[builtin.file()], tables, &rules);
    Ok(Box::new(made.expect("a builtin script compiles").with_checks()))
}

impl Builtin {
    /// As `pgbench --show-script` prints it.
    pub fn shown(&self) -> String {
        format!("-- {}: {}\n{}\n", self.name, self.title, self.text)
    }

    pub fn file(&self) -> File {
        File { title: self.title.to_owned(), text: self.text.to_owned(), weight: 1, is_builtin: true }
    }
}

impl File {
    /// MySQL does not take END for COMMIT.
    pub fn text_for(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::MySql if self.is_builtin => self.text.replace("\nEND;", "\nCOMMIT;"),
            _ => self.text.clone(),
        }
    }
}
