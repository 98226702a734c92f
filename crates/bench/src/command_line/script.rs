//! Paths of sysbench's scripts as names of workloads, where no such file is here.

/// sysbench 0.5 had its scripts under other names, and no built-in test that a `.lua` could mean.
const SCRIPTS_OF_0_5: [(&str, &str); 6] = [
    ("oltp.lua", "oltp_read_write"),
    ("select.lua", "oltp_point_select"),
    ("update_index.lua", "oltp_update_index"),
    ("update_non_index.lua", "oltp_update_non_index"),
    ("insert.lua", "oltp_insert"),
    ("delete.lua", "oltp_delete"),
];

/// A path or a name of one of sysbench's scripts: `/usr/share/sysbench/oltp_read_only.lua`.
pub fn name(word: &str) -> &str {
    let file = word.rsplit('/').next().unwrap_or(word);
    let old = SCRIPTS_OF_0_5.iter().find(|(old, _)| *old == file);
    old.map_or_else(|| file.strip_suffix(".lua").unwrap_or(file), |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_script_has_the_name_of_the_built_in() {
        let check = |word: &str, expected: &str| assert_eq!(name(word), expected);
        check("oltp_read_write", "oltp_read_write");
        check("/usr/share/sysbench/oltp_read_only.lua", "oltp_read_only");
        check("tests/db/oltp.lua", "oltp_read_write");
        check("oltp_read_write.lua", "oltp_read_write");
    }
}
