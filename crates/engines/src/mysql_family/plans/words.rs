//! Words of MySQL and MariaDB for one thing, as one word.

use record::format::PlanNode;

/// How a table is read, in words; what is not known stays the server's word.
pub(super) fn access(word: &str) -> String {
    let words = match word {
        "ALL" => "full scan",
        "index" => "full index scan",
        "index_merge" => "index merge",
        other => other,
    };
    words.to_owned()
}

/// What stands for rows that are kept in a table of the server's own, whatever a release calls it and its key.
pub(super) fn own_table(name: &str) -> Option<&'static str> {
    ["<derived", "<subquery", "<union"]
        .into_iter()
        .zip(["<derived>", "<subquery>", "<union>"])
        .find(|(start, _)| name.starts_with(start))
        .map(|(_, table)| table)
}

/// How a table is joined by what the server calls its join buffer; none is a plain nested loop.
pub(super) fn join(buffer: &str) -> &'static str {
    let has = |part: &str| buffer.contains(part);
    match () {
        () if has("hash") || has("BNLH") || has("BKAH") => "hash join",
        () if has("Batched Key Access") || has("BKA") => "batched key access",
        () => "block nested loop",
    }
}

/// The indexes of `union(a,intersect(b,c))`, or of `a,b,c`.
pub(super) fn merged(key: &str) -> String {
    let parts = key.split(',').map(|part| part.rsplit('(').next().unwrap_or(part).trim_matches([')', ' ']));
    parts.collect::<Vec<_>>().join(",")
}

/// A table that an INSERT adds rows to.
pub(super) const INSERT: &str = "insert";
/// Where the server needs no row, or knows that there is none.
pub(super) const NO_TABLE: &str = "no table is read";
pub(super) const SUBQUERY: &str = "subquery";
pub(super) const UNION: &str = "union";

/// Subqueries below the whole statement, by their numbers: rows do not show which part of it asks for them.
pub(super) fn with_subqueries(mut root: PlanNode, mut subqueries: Vec<(u64, PlanNode)>) -> PlanNode {
    subqueries.sort_by_key(|(number, _)| *number);
    root.children.extend(subqueries.into_iter().map(|(_, block)| PlanNode { operator: SUBQUERY.to_owned(), ..block }));
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_releases_mean_the_same() {
        for (buffer, expected) in [
            ("Using join buffer", "block nested loop"),
            ("Using join buffer (Block Nested Loop)", "block nested loop"),
            ("flat, BNL join", "block nested loop"),
            ("flat, BNLH join", "hash join"),
            ("hash join", "hash join"),
            ("incremental, BKA join", "batched key access"),
        ] {
            assert_eq!(join(buffer), expected, "{buffer}");
        }
        assert_eq!(merged("union(a,intersect(b,c))"), "a,b,c");
        assert_eq!(merged("a,b"), "a,b");
        assert_eq!([own_table("<derived12>"), own_table("d")], [Some("<derived>"), None]);
    }
}
