//! Faults that a server makes for itself at each start, from a file of statements (`init_file`).
//!
//! When the server starts in order to be loaded there is no table yet, and nothing is done; every trial
//! starts on a copy of the loaded data, and there the trigger takes its place.

/// As many rows as clients get one of their own.
const ROWS: u32 = 64;

/// Every update of the table also counts in one row of another, which this expression picks.
pub fn counting_rows(id: &str) -> String {
    let rows = (0..ROWS).map(|id| format!("({id}, 0)")).collect::<Vec<_>>().join(", ");
    [
        FIND.to_owned(),
        with_table(
            "CREATE TABLE IF NOT EXISTS ', @place, '.counted (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE = InnoDB",
        ),
        with_table(&format!("INSERT IGNORE INTO ', @place, '.counted VALUES {rows}")),
        with_table(&format!("{TRIGGER} UPDATE ', @place, '.counted SET n = n + 1 WHERE id = {id}")),
    ]
    .concat()
}

/// Every update of the table computes so many times a useless value. Both branches are the column itself.
pub fn burning(rounds: u64) -> String {
    let burnt = format!("SET NEW.c = IF(BENCHMARK({rounds}, NEW.k + 1) = 0, NEW.c, NEW.c)");
    [FIND.to_owned(), with_table(&format!("{TRIGGER} {burnt}"))].concat()
}

const FIND: &str =
    "SET @place = (SELECT table_schema FROM information_schema.tables WHERE table_name = 'sbtest1' LIMIT 1);\n";
/// Nobody is logged in while the file is read, so the trigger is given an owner.
const TRIGGER: &str = "CREATE OR REPLACE DEFINER = root@localhost TRIGGER ', @place, '.planted BEFORE UPDATE ON ', @place, '.sbtest1 FOR EACH ROW";

/// One statement with the place of the table put in; none of it where there is no table.
fn with_table(statement: &str) -> String {
    format!("SET @told = IF(@place IS NULL, 'DO 0', CONCAT('{statement}'));\nPREPARE told FROM @told;\nEXECUTE told;\n")
}
