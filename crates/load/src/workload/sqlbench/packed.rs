//! Rows packed into INSERT statements as long as a server takes them: how `fast` loads.

/// INSERTs of all `rows` (each `(1,'a')`), in order, none longer than `query_size` unless one row is.
pub fn packed_inserts(table: &str, rows: &[String], query_size: u64) -> Vec<String> {
    let begin = format!("insert into {table} values ");
    let mut statements: Vec<String> = Vec::new();
    for row in rows {
        match statements.last_mut() {
            Some(last) if (last.len() + 1 + row.len()) as u64 <= query_size => {
                last.push(',');
                last.push_str(row);
            }
            _ => statements.push(format!("{begin}{row}")),
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_statements_up_to_their_size() {
        let rows = ["(1)", "(2)", "(3)"].map(str::to_owned);
        let of = |query_size| packed_inserts("t", &rows, query_size);
        let whole = "insert into t values (1),(2),(3)";
        assert_eq!(of(whole.len() as u64), [whole]);
        assert_eq!(of(whole.len() as u64 - 1), ["insert into t values (1),(2)", "insert into t values (3)"]);
        assert_eq!(of(1).len(), 3);
    }
}
