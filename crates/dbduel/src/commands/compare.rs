//! `dbduel compare`: stored runs, and files of the classic sql-bench, side by side.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Failure, print, stored};
use crate::cli::{CompareArgs, TableArgs, exit};
use report::sqlbench::{self, Column, Layout};
use report::{Evidence, compare as side_by_side};

/// One thing to compare.
enum Given {
    Run(Box<Evidence>),
    File(Box<Column>),
}

pub fn compare(args: &CompareArgs) -> Result<u8, Failure> {
    let given = args.results.iter().map(|name| open(args, name)).collect::<Result<Vec<Given>, Failure>>()?;
    let width = terminal::width();
    let text = match given.as_slice() {
        [Given::Run(first), Given::Run(second)] if !all_passes(&[first, second]) => {
            side_by_side::runs([&args.results[0], &args.results[1]], [first, second], width)
        }
        given => {
            let columns = columns(&args.results, given)?;
            side_by_side::columns(&columns, &layout(&args.table), width)
        }
    };
    print(&text)?;
    Ok(exit::DONE)
}

pub fn layout(args: &TableArgs) -> Layout {
    let TableArgs { relative, verbose, skip_count, no_bars } = *args;
    Layout { relative, verbose, skip_count, no_bars }
}

/// A file of that name, or else a run.
fn open(args: &CompareArgs, name: &str) -> Result<Given, Failure> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Given::File(Box::new(sqlbench::read_log(path)?)));
    }
    let run = stored::open(&args.store, &args.runs, name).map_err(|failure| Failure {
        error: failure.error.context(format!("{name} is neither a stored run nor a RUN file of the classic sql-bench")),
        ..failure
    })?;
    Ok(Given::Run(Box::new(Evidence::gather(&run)?)))
}

fn all_passes(runs: &[&Evidence]) -> bool {
    runs.iter().all(|run| run.plan.is_all_passes())
}

/// Everything as columns of sql-bench; what has none is named.
fn columns(names: &[String], given: &[Given]) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for (name, given) in names.iter().zip(given) {
        match given {
            Given::File(column) => columns.push((**column).clone()),
            Given::Run(evidence) => {
                let own = sqlbench::columns(evidence);
                ensure!(
                    !own.is_empty(),
                    "{name} has no trial of sql-bench; more than two results, or a RUN file, can be compared by that workload only"
                );
                columns.extend(own);
            }
        }
    }
    sqlbench::expect_to_fit(&columns)?;
    Ok(columns)
}
