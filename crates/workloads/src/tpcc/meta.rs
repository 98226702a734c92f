//! The description that loaded tables carry, and whether a run may use them.
//!
//! The table `tpcc_meta` has one row, and it is written when all other tables are finished: tables of a
//! load that was cut off have none.

use driver::{Admin, Error};

use super::options::Tpcc;
use super::random::c_last_of_load;
use super::schema::RELATIONS;

/// Raise it whenever the same options and seed no longer give the same tables.
pub const FORMAT_VERSION: i64 = 1;

/// The row of `tpcc_meta`, in the order of its columns.
pub fn row(tpcc: &Tpcc, data_seed: u64) -> [i64; 4] {
    // A column has no room for the upper half of all seeds but as negative numbers.
    [FORMAT_VERSION, tpcc.warehouses as i64, data_seed as i64, c_last_of_load(data_seed)]
}

pub fn recognise(tpcc: &Tpcc, admin: &mut Admin, data_seed: u64) -> Result<Result<(), String>, Error> {
    for relation in RELATIONS {
        let name = relation.name();
        match admin.rows(&format!("SELECT 1 FROM {name} WHERE 1 = 0")) {
            Ok(_) => {}
            Err(error) if is_missing_table(&error) => {
                return Ok(Err(format!("the table {name} is not there: load the tables with `dbduel prepare tpcc`")));
            }
            Err(error) => return Err(error),
        }
    }
    let found = admin.rows("SELECT format_version, warehouses, data_seed, c_last_load FROM tpcc_meta")?;
    let found: Vec<Option<i64>> = found.concat().iter().map(|cell| cell.as_deref()?.parse().ok()).collect();
    Ok(compare(&found, row(tpcc, data_seed)))
}

const AGAIN: &str = "drop the tables with `dbduel cleanup tpcc` and load them with `dbduel prepare tpcc`";

/// The cells of all rows found, against the one row that there should be.
fn compare(found: &[Option<i64>], expected: [i64; 4]) -> Result<(), String> {
    let [format, warehouses, seed, c_last] = match *found {
        [Some(format), Some(warehouses), Some(seed), Some(c_last)] => [format, warehouses, seed, c_last],
        [] => return Err(format!("tpcc_meta is empty, so the load did not come to its end: {AGAIN}")),
        _ => return Err(format!("tpcc_meta holds something else than one row of four numbers: {AGAIN}")),
    };
    if format != expected[0] {
        let expected = expected[0];
        return Err(format!("the tables have format {format}, made by another dbduel, and not {expected}: {AGAIN}"));
    }
    if warehouses != expected[1] {
        let expected = expected[1];
        return Err(format!(
            "the tables were loaded with warehouses = {warehouses} and not {expected}: give the same number, or {AGAIN}"
        ));
    }
    if (seed, c_last) != (expected[2], expected[3]) {
        let (seed, expected) = (seed as u64, expected[2] as u64);
        return Err(format!("the tables were drawn from the seed {seed} and not {expected}: {AGAIN}"));
    }
    Ok(())
}

fn is_missing_table(error: &Error) -> bool {
    let Error::Refused { code, message } = error else { return false };
    // SQLite has one code for all that is wrong with a statement.
    matches!(code.as_str(), "1146" | "42P01") || message.starts_with("no such table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_another_format_scale_or_seed_are_refused_with_what_was_found() {
        let check = |found: &[i64], words: &str| {
            let found: Vec<_> = found.iter().map(|cell| Some(*cell)).collect();
            let message = compare(&found, [1, 5, -1, 77]).unwrap_err();
            assert!(message.contains(words) && message.contains("dbduel prepare tpcc"), "{message}");
        };
        check(&[2, 5, -1, 77], "format 2, made by another dbduel, and not 1");
        check(&[1, 10, -1, 77], "warehouses = 10 and not 5");
        check(&[1, 5, 3, 77], "seed 3 and not 18446744073709551615");
        check(&[1, 5, -1, 78], "drawn from the seed");
        check(&[], "did not come to its end");
        check(&[1, 5, -1, 77, 1, 5, -1, 77], "one row");
        let right = [Some(1), Some(5), Some(-1), Some(77)];
        assert_eq!(compare(&right, [1, 5, -1, 77]), Ok(()));
    }
}
