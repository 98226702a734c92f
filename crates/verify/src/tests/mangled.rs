//! Stored runs, pages and RUN files that were mangled: readers refuse them or read them, and never panic.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::*;
use fixtures::{Story, passes_run, stored_run};
use report::{REPORTS, sqlbench};

const RUN_FILE: &str = "Benchmark DBD suite: 2.15\nServer version:      MySQL 5.5.30\n\nselect: Total time: 4 wallclock secs\n\n\
    Totals per operation:\nOperation             seconds     usr     sys     cpu   tests\n\
    count                                  1.50    1.00    0.50    1.50     10 +?\n\
    TOTALS                                 1.50    1.00    0.50    1.50     10\n";

struct Mangler(ChaCha8Rng);

impl Mangler {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }

    /// A value in place of another one.
    fn odd_value(&mut self) -> Value {
        let odd = [
            json!(null),
            json!(0),
            json!(-1),
            json!(1e308),
            json!(-0.0),
            json!(u64::MAX),
            json!(""),
            json!("\u{1b}[2J"),
            json!("ä".repeat(70)),
            json!([]),
            json!({}),
            json!([[]]),
            json!(true),
            json!(5_000),
        ];
        odd[self.below(odd.len())].clone()
    }

    /// Changes one place in a JSON value: another value there, a key or an element gone, or one twice.
    fn spoil(&mut self, value: &mut Value) {
        let goes_on = self.below(8) > 0;
        match value {
            Value::Object(fields) if goes_on && !fields.is_empty() => {
                let key = fields.keys().nth(self.below(fields.len())).cloned().expect("there are so many keys");
                if self.below(12) == 0 {
                    fields.remove(&key);
                } else {
                    self.spoil(&mut fields[&key]);
                }
            }
            Value::Array(items) if goes_on && !items.is_empty() => {
                let at = self.below(items.len());
                match self.below(12) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => self.spoil(&mut items[at]),
                }
            }
            value => *value = self.odd_value(),
        }
    }

    /// Changes bytes of a text: one is another, some are gone, some come twice.
    fn garble(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        let from = self.below(bytes.len());
        let to = (from + 1 + self.below(40)).min(bytes.len());
        match self.below(4) {
            0 => bytes[from] = self.0.next_u32() as u8,
            1 => drop(bytes.drain(from..to)),
            2 => bytes.truncate(from),
            _ => bytes.splice(from..from, text.as_bytes()[from..to].to_vec()).for_each(drop),
        }
        bytes
    }

    /// One line of JSON, or the whole file where it is one value, spoilt; now and then plain bytes.
    fn mangle(&mut self, text: &str) -> Vec<u8> {
        if self.below(5) == 0 {
            return self.garble(text);
        }
        if let Ok(mut whole) = serde_json::from_str::<Value>(text) {
            self.spoil(&mut whole);
            return whole.to_string().into_bytes();
        }
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = self.below(lines.len());
        match serde_json::from_str::<Value>(&lines[at]) {
            Ok(mut record) => {
                self.spoil(&mut record);
                lines[at] = record.to_string();
                (lines.join("\n") + "\n").into_bytes()
            }
            Err(_) => self.garble(text),
        }
    }
}

/// Reads a run in every way there is.
fn read_in_every_way(run: &RunDir) {
    let options = Options::default();
    for report in REPORTS {
        let _ = report::write(run, report.name(), &options);
    }
    let _ = of_run(run);
    let _ = RunDir::open(run.path().parent().unwrap(), &run.name());
}

fn mangled_files(files: &[&str], run: &RunDir, times: u64) {
    for file in files {
        let path = run.path().join(file);
        let whole = std::fs::read_to_string(&path).unwrap();
        for seed in 0..times {
            eprintln!("{file}, seed {seed}");
            std::fs::write(&path, Mangler(ChaCha8Rng::seed_from_u64(seed)).mangle(&whole)).unwrap();
            read_in_every_way(run);
        }
        std::fs::write(&path, whole).unwrap();
    }
}

#[test]
fn no_mangled_run_makes_a_reader_panic() {
    let runs = tempfile::tempdir().unwrap();
    let story = Story { blocks: 2, ..Story::default() };
    let run = run_folder(runs.path(), passes_run(&story));
    mangled_files(&["plan.json", "run.json", "trials.ndjson"], &run, 40);
    let run = run_folder(runs.path(), stored_run(&story));
    mangled_files(&["plan.json", "run.json", "trials.ndjson"], &run, 40);
}

#[test]
fn no_mangled_page_or_run_file_makes_a_reader_panic() {
    let runs = tempfile::tempdir().unwrap();
    let run = run_folder(runs.path(), stored_run(&Story { blocks: 2, ..Story::default() }));
    let page = run.path().join("report.html");
    let whole = std::fs::read_to_string(&page).unwrap();
    for seed in 0..30 {
        eprintln!("page, seed {seed}");
        std::fs::write(&page, Mangler(ChaCha8Rng::seed_from_u64(seed)).garble(&whole)).unwrap();
        let _ = of_page(&page);
    }
    let path = runs.path().join("RUN-x");
    std::fs::write(&path, RUN_FILE).unwrap();
    assert!(sqlbench::read_log(&path).is_ok());
    for seed in 0..500 {
        std::fs::write(&path, Mangler(ChaCha8Rng::seed_from_u64(seed)).garble(RUN_FILE)).unwrap();
        if let Ok(column) = sqlbench::read_log(&path) {
            let _ = report::compare::columns(&[column.clone(), column], &sqlbench::Layout::default(), 80);
        }
    }
}
