//! The programs, in the order the suite runs them.

mod alter_table;
mod atis;
mod big_tables;
mod connect;
mod create;
mod insert;
mod select;
mod tables;
mod transactions;
mod wisconsin;

use load::{OptionError, Options};

use super::bench::Program;

/// Every program there is, in the suite's order: by name, upper and lower case alike.
pub static PROGRAMS: &[Program] = &[
    alter_table::ALTER_TABLE,
    atis::ATIS,
    big_tables::BIG_TABLES,
    connect::CONNECT,
    create::CREATE,
    insert::INSERT,
    select::SELECT,
    transactions::TRANSACTIONS,
    wisconsin::WISCONSIN,
];

/// In the suite's order, whatever the order they are named in.
pub fn chosen(options: &Options) -> Result<Vec<&'static Program>, OptionError> {
    let named = options.list("programs")?;
    if let Some(unknown) = named.iter().find(|name| !PROGRAMS.iter().any(|program| program.name == **name)) {
        let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        return Err(options.error("programs", format!("no program `{unknown}`; there are {}", known.join(", "))));
    }
    let wanted = |program: &&Program| {
        if named.is_empty() { program.classic } else { named.iter().any(|name| name == program.name) }
    };
    Ok(PROGRAMS.iter().filter(wanted).collect())
}

/// Fails on an operation that none of these programs has.
pub fn expect_operations(options: &Options, programs: &[&'static Program]) -> Result<(), OptionError> {
    let named = options.list("operations")?;
    let known = |name: &String| programs.iter().any(|program| program.operations.contains(&name.as_str()));
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        let of: Vec<&str> = programs.iter().map(|program| program.name).collect();
        return Err(options.error("operations", format!("no operation `{unknown}` in {}", of.join(", "))));
    }
    Ok(())
}
