//! Inserts of many rows, as long as a statement may be.

/// One statement and the rows it inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub sql: String,
    pub rows: u64,
}

/// Puts rows, each with its brackets, behind `head` until the next one would make a statement longer than
/// `bytes_max`. A row that is longer by itself gets a statement of its own.
pub fn pack(head: &str, rows: impl Iterator<Item = String>, bytes_max: u64) -> Vec<Packed> {
    let mut packs: Vec<Packed> = Vec::new();
    for row in rows {
        match packs.last_mut() {
            Some(pack) if (pack.sql.len() + 1 + row.len()) as u64 <= bytes_max => {
                pack.sql.push(',');
                pack.sql.push_str(&row);
                pack.rows += 1;
            }
            _ => packs.push(Packed { sql: format!("{head}{row}"), rows: 1 }),
        }
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_rows_until_it_is_full() {
        let rows = ["(1)", "(2)", "(3)", "(44444444)", "(5)"].map(str::to_owned).into_iter();
        let packs: Vec<_> = pack("into t ", rows, 14).into_iter().map(|pack| (pack.sql, pack.rows)).collect();
        let expected = [("into t (1),(2)", 2), ("into t (3)", 1), ("into t (44444444)", 1), ("into t (5)", 1)];
        assert_eq!(packs, expected.map(|(sql, rows)| (sql.to_owned(), rows)));
    }
}
