//! What may be worth setting: ladders of advice for one server on one machine, and the search over settings.
//!
//! It uses the public faces of the other crates and nothing else. It measures nothing: advice becomes an experiment,
//! and `campaign` runs a search.

pub mod advice;
pub mod check_tables;
pub mod draft;
pub mod file;
pub mod json;
mod search_space;
pub mod text;
pub mod try_values;
pub mod tuning;
mod values;

/// Clients that advice is for by default.
pub const ADVISED_CLIENTS: u32 = 16;

/// A text in lines of at most so many characters; a verdict that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
pub mod tests {
    use engine::tunable::{GIB, MIB, Machine};
    use experiment::Known;
    use load::Workloads;

    use super::*;
    use crate::advice::{Advice, Subject, advise as advice_for};

    pub fn known() -> Known {
        Known {
            workloads: Workloads(workloads::WORKLOADS),
            advised: workloads::ADVISED,
            ..experiment::testing::known()
        }
    }

    fn advice(kind: &'static str, version: &str) -> Advice {
        let machine = Machine { memory_bytes: 8 * GIB, cores: 4, data_bytes: 4 * GIB };
        advice_for(&Subject { engine: known().engines.find(kind).unwrap(), version, machine, clients: 16 }).unwrap()
    }

    #[test]
    fn the_file_holds_the_ladder_rung_by_rung_and_data_of_the_size_that_was_asked_for() {
        for (kind, version, engine) in [
            ("mysql", "5.5.9", "mysql@5.5.9"),
            ("mariadb", "10.11.19", "mariadb@system"),
            ("postgres", "17.7", "postgres@17"),
            ("sqlite", "3.50.2", "sqlite"),
        ] {
            let advice = advice(kind, version);
            let text = file::experiment(&advice, engine, &known()).unwrap();
            let file: toml::Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(file["contender"][0]["engine"].as_str(), Some(engine));
            let rungs = file["ladder"].as_array().unwrap();
            assert_eq!(rungs.len(), advice.rungs.len());
            for (written, rung) in rungs.iter().zip(&advice.rungs) {
                assert_eq!(written["name"].as_str(), Some(rung.name.as_str()));
                for (name, value) in &rung.settings {
                    assert_eq!(written["settings"][name].as_str(), Some(value.as_str()), "{name}");
                }
            }
            let warehouses = file["workload"]["warehouses"].as_integer().unwrap() as u64;
            assert!((warehouses * 70 * MIB..warehouses * 110 * MIB).contains(&(4 * GIB)), "{kind}: {warehouses}");
            assert_eq!(file["workload"]["clients"].as_integer(), Some(16));
            assert!(text.contains("TRADE"), "{text}");
        }
    }

    #[test]
    fn lines_are_as_long_as_they_may_be() {
        assert_eq!(wrapped("a bb  ccc\ndddddd e", 5), ["a bb", "ccc", "dddddd", "e"]);
        assert!(wrapped("", 5).is_empty());
    }
}
