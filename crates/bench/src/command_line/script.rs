//! Paths of sysbench's scripts as names of workloads. dbduel runs no Lua: a file that was edited has no meaning here.

use sha2::{Digest, Sha256};

/// sysbench 0.5 had its scripts under other names, and no built-in test that a `.lua` could mean.
const SCRIPTS_OF_0_5: [(&str, &str); 6] = [
    ("oltp.lua", "oltp_read_write"),
    ("select.lua", "oltp_point_select"),
    ("update_index.lua", "oltp_update_index"),
    ("update_non_index.lua", "oltp_update_non_index"),
    ("insert.lua", "oltp_insert"),
    ("delete.lua", "oltp_delete"),
];
/// SHA-256 of the files of sysbench 1.0.20, as Debian installs them.
const STOCK: &[(&str, &str)] = &[
    ("oltp_common.lua", "710c3b38027668c83e46f3c0814dc7cfd67cc8c4012df6cab461e46d62b5996a"),
    ("oltp_delete.lua", "11dc20862684615384145641e0114c1ea76b80d7c9ba8c755e0fd9ad0fe62711"),
    ("oltp_insert.lua", "46d250ef3be841b1a349b23e6390d6f7adfb2435a239802ef4ceed9873d1cd68"),
    ("oltp_point_select.lua", "5002f6d702e1099fff451cfba06b03b77fc6a3110144c9a1102bfdb5de14b83d"),
    ("oltp_read_only.lua", "25eeb32f5877c254c7fceb5f0bc23a2da9ed708a9f07df5b95f0a9fdfe4817eb"),
    ("oltp_read_write.lua", "d3d68413ecce348242308cf693d5db7a320292e1def93ecc9cb080b2b4f32b45"),
    ("oltp_update_index.lua", "b79f401177f44f02dacf88175327e5bfd9410c54c75faf347b9458ae638fd21a"),
    ("oltp_update_non_index.lua", "5c6c923cc000bb6d4a535dd2dafbd3c4da2003c411ad8e585f146be4d713b984"),
    ("oltp_write_only.lua", "fcb462e264097d93c1d8cd0f7b55151c42261a5ab84ce553e41d6bd8bec8d690"),
    ("select_random_points.lua", "028832d7ce71e1bd615eaa61149ef1652d828ccfe2dec8d5c39fe35075f06c54"),
    ("select_random_ranges.lua", "be269a98a901e1305e69653c5fc977299a97487e5ef673051bcacee3c16dfaa0"),
];
/// What the others are built on, in the same folder.
const COMMON: &str = "oltp_common.lua";

/// A path or a name of one of sysbench's scripts: `/usr/share/sysbench/oltp_read_only.lua`.
pub fn name(word: &str) -> &str {
    let file = word.rsplit('/').next().unwrap_or(word);
    let old = SCRIPTS_OF_0_5.iter().find(|(old, _)| *old == file);
    old.map_or_else(|| file.strip_suffix(".lua").unwrap_or(file), |(_, name)| name)
}

/// Refuses a script that is there and is not known to be sysbench's own, alone or through what it is built on. A
/// path to no file comes from a command line of another machine, and means the name.
pub fn expect_stock(word: &str, read_file: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
    if !word.contains('/') && !word.ends_with(".lua") {
        return Ok(());
    }
    let Ok(text) = read_file(word) else { return Ok(()) };
    let (folder, file) =
        word.rsplit_once('/').map_or((String::new(), word), |(folder, file)| (format!("{folder}/"), file));
    let common = format!("{folder}{COMMON}");
    let of_others = read_file(&common).ok().filter(|_| file != COMMON);
    if !is_stock(file, &text) {
        return Err(refusal(word, word));
    }
    if of_others.is_some_and(|text| !is_stock(COMMON, &text)) { Err(refusal(word, &common)) } else { Ok(()) }
}

fn is_stock(file: &str, text: &str) -> bool {
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    STOCK.iter().any(|(name, sha256)| *name == file && *sha256 == digest)
}

fn refusal(word: &str, edited: &str) -> String {
    format!(
        "{edited} is a file, and not the unchanged script of sysbench 1.0.20: dbduel runs no Lua, and what was changed in it would have no effect\n  next: write `{}` for the built-in workload, whose options `dbduel list workloads` and --help show",
        name(word)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, files: &[(&str, &str)], expected: Option<&str>) {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
            found.ok_or_else(|| "no such file".to_owned())
        };
        let refused = expect_stock(word, &read).err();
        match expected {
            None => assert_eq!(refused, None, "{word}"),
            Some(part) => assert!(refused.as_ref().is_some_and(|why| why.contains(part)), "{word}: {refused:?}"),
        }
    }

    #[test]
    fn an_edited_script_is_refused_with_the_name_of_the_built_in() {
        let mine =
            [("./my/oltp_read_write.lua", "-- mine"), ("oltp_insert.lua", "-- mine"), ("my/oltp.lua", "-- mine")];
        check("./my/oltp_read_write.lua", &mine, Some("next: write `oltp_read_write` for the built-in workload"));
        check("oltp_insert.lua", &mine, Some("oltp_insert.lua is a file, and not the unchanged script"));
        check("my/oltp.lua", &mine, Some("write `oltp_read_write`"));
    }

    #[test]
    fn a_name_or_a_path_to_no_file_is_the_built_in() {
        check("oltp_read_write", &[("oltp_read_write", "-- mine")], None);
        check("/usr/share/sysbench/oltp_read_only.lua", &[], None);
        check("tests/db/oltp.lua", &[], None);
        check("oltp_read_write.lua", &[], None);
    }

    #[test]
    fn the_script_that_is_installed_is_the_built_in_unless_what_it_is_built_on_was_edited() {
        let Ok(stock) = std::fs::read_to_string("/usr/share/sysbench/oltp_read_write.lua") else {
            eprintln!("skipped: sysbench 1.0.20 is not installed here");
            return;
        };
        check("s/oltp_read_write.lua", &[("s/oltp_read_write.lua", &stock)], None);
        let edited = [("s/oltp_read_write.lua", stock.as_str()), ("s/oltp_common.lua", "-- mine")];
        check("s/oltp_read_write.lua", &edited, Some("s/oltp_common.lua is a file"));
        check("s/oltp_write_only.lua", &[("s/oltp_write_only.lua", &stock)], Some("write `oltp_write_only`"));
    }
}
