//! Two settings that each help alone and hardly together: does the ablation of a ladder show it?
//!
//! MariaDB reads its data past the page cache. With a buffer pool smaller than them, a statement waits for the
//! disk; a larger pool ends that, and so does reading by way of the page cache, where the data lie. Both keep
//! what a commit promises. A ladder credits the whole of it to whichever comes first, and only leaving that one
//! out of the final configuration shows that it was not needed there.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub const MARIADB: &str = "mariadb@system";

/// What dbduel found of a plant, and what of it is wrong.
pub struct Judged {
    pub lines: Vec<String>,
    pub wrong: Vec<String>,
}

/// The rungs, in their order.
const POOL: &str = "larger pool";
const PAGE_CACHE: &str = "by the page cache";
/// So dbduel calls the highest rung without the first one.
const WITHOUT_POOL: &str = "all but larger pool";
const BASE: &str = "small pool";

/// What each must bring alone to be worth planting.
const ALONE_LEAST: f64 = 1.5;

pub fn experiment(blocks: u32, seconds: f64) -> String {
    let rung = |name: &str, setting: &str| format!("[[ladder]]\nname = \"{name}\"\nsettings = {{ {setting} }}\n\n");
    format!(
        "name = \"planted\"\nworkload = {{ name = \"oltp_point_select\", rows = 400_000 }}\nsweep.clients = [4]\n\
         method = {{ preset = \"quick\", blocks = {}, duration = \"{}ms\", warmup = \"500ms\", ablation = true }}\n\n\
         [[contender]]\nname = \"{BASE}\"\nengine = \"{MARIADB}\"\nsettings = {{ innodb_buffer_pool_size = \"8M\" }}\n\n{}{}",
        blocks,
        (seconds * 1000.0).round(),
        rung(POOL, "innodb_buffer_pool_size = \"512M\""),
        rung(PAGE_CACHE, "innodb_flush_method = \"fsync\""),
    )
}

/// Climbs the ladder and reads the report in each of the forms in which a user gets it.
pub fn judged(dbduel: &Path, folder: &Path, file: &Path) -> Result<Judged> {
    let runs = folder.join("runs");
    let printed = |words: &[&str]| -> Result<String> {
        let mut command = Command::new(dbduel);
        let output = command.args(words).arg("--runs").arg(&runs).stdin(Stdio::null()).output();
        let output = output.context("cannot start dbduel")?;
        if !output.status.success() {
            bail!("dbduel {} failed ({})\n{}", words[0], output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let file = file.to_str().context("a temporary folder has a name that can be read")?;
    let report = serde_json::from_str(&printed(&["run", "--json", "--accept-noisy", file])?)?;
    let mut judged = judge(&report);
    for format in ["text", "html"] {
        let page = plain(&printed(&["report", "last", "--format", format])?);
        if !finding(&report).is_some_and(|sentence| page.contains(&plain(sentence))) {
            judged.wrong.push(format!("the {format} report does not show that the order matters"));
        }
    }
    Ok(judged)
}

/// Text with each gap as one space, and without marks that differ between forms of the report.
fn plain(text: &str) -> String {
    let words = text.replace("<code>", "`").replace("</code>", "`").replace("&#x2b;", "+").replace("&#x60;", "`");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentence about the first rung.
fn finding(report: &Value) -> Option<&str> {
    let findings = report["findings"].as_array()?.iter();
    let mut ours = findings.filter(|one| one["kind"] == "order matters").filter_map(|one| one["text"].as_str());
    ours.find(|text| text.starts_with(&format!("order matters: `{POOL}` is credited ")))
}

/// A ratio with its interval; the interval of few blocks is a plain one, and shows nothing.
#[derive(Clone, Copy)]
struct Ratio {
    ratio: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    fn read(gain: &Value) -> Option<Ratio> {
        let number = |key: &str| gain[key].as_f64();
        Some(Ratio { ratio: number("ratio")?, low: number("low")?, high: number("high")? })
    }

    fn text(self) -> String {
        format!("{:.2}x ({:.2}..{:.2})", self.ratio, self.low, self.high)
    }

    /// Far enough above nothing to be worth planting, by its interval too.
    fn helps(self) -> bool {
        self.low > 1.0 && self.ratio >= ALONE_LEAST
    }

    /// Less than half of the other one, as logarithms.
    fn is_far_below(self, other: Ratio) -> bool {
        self.ratio.ln() < other.ratio.ln() / 2.0
    }
}

/// The second change on the base, which is no rung, so it is in the report's trials but not in its figures. From the
/// least block to the best one.
fn alone(report: &Value) -> Option<Ratio> {
    let trials = report["trials"].as_array()?;
    let tps = |contender: &str, block: &Value| {
        let is_ours = |one: &&Value| one["contender"] == contender && one["block"] == *block && one["status"] == "ok";
        trials.iter().find(is_ours)?["metrics"]["tps"].as_f64().filter(|tps| *tps > 0.0)
    };
    let of_base = trials.iter().filter(|one| one["contender"] == BASE).map(|one| &one["block"]);
    let logs: Vec<f64> =
        of_base.filter_map(|block| Some((tps(WITHOUT_POOL, block)? / tps(BASE, block)?).ln())).collect();
    let low = logs.iter().copied().reduce(f64::min)?;
    let high = logs.iter().copied().reduce(f64::max)?;
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    Some(Ratio { ratio: mean.exp(), low: low.exp(), high: high.exp() })
}

/// Holds a report to what was planted.
fn judge(report: &Value) -> Judged {
    let mut judged = Judged { lines: Vec::new(), wrong: Vec::new() };
    let ladder = &report["ladders"][0];
    let dropped = ladder["ablation"].as_array().into_iter().flatten().find(|one| one["step"] == POOL);
    let dropped = dropped.unwrap_or(&Value::Null);
    let rung = |name: &str| {
        let rungs = ladder["rungs"].as_array().into_iter().flatten();
        rungs.filter(|rung| rung["contender"] == name).find_map(|rung| Ratio::read(&rung["gain"]))
    };
    let parts = [
        (format!("`{POOL}` on its rung"), rung(POOL)),
        (format!("`{PAGE_CACHE}` alone, from the slowest block to the fastest"), alone(report)),
        (format!("`{PAGE_CACHE}` on its rung"), rung(PAGE_CACHE)),
        (format!("`{POOL}` in the final configuration"), Ratio::read(&dropped["in_final_configuration"])),
        ("the second of these over the first".to_owned(), Ratio::read(&dropped["interaction"])),
    ];
    for (what, ratio) in &parts {
        judged.lines.push(format!("{what}: {}", ratio.map_or("absent".to_owned(), Ratio::text)));
    }
    let [Some(first), Some(second), Some(second_on_top), Some(first_at_last), Some(interaction)] =
        parts.map(|(_, ratio)| ratio)
    else {
        judged.wrong.push("a figure of the ladder or of its ablation is missing".to_owned());
        return judged;
    };
    let mut expect = |holds: bool, wrong: &str| {
        if !holds {
            judged.wrong.push(wrong.to_owned());
        }
    };
    expect(first.helps() && second.helps(), "the plant: both must help alone, or there is nothing to find here");
    expect(second_on_top.is_far_below(second), "the second rung is credited with what the first one had brought");
    expect(first_at_last.is_far_below(first), "the first one is worth as much in the final configuration");
    expect(interaction.high < 1.0, "the interval of the interaction does not exclude that there is none");
    expect(dropped["order_matters"] == true, "the ablation does not show that the order matters");
    expect(finding(report).is_some(), "no finding shows that the order matters");
    judged.lines.extend(finding(report).map(str::to_owned));
    judged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ratio(ratio: f64) -> Value {
        json!({ "ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1 })
    }

    fn trial(contender: &str, tps: f64) -> Value {
        json!({ "block": 1, "contender": contender, "status": "ok", "metrics": { "tps": tps } })
    }

    /// What each brings on its rung, and the first one at last; alone the second brings what the first does.
    fn report(first: f64, second_on_top: f64, first_at_last: f64) -> Value {
        let order_matters = first_at_last / first * 1.1 < 1.0;
        let text =
            format!("order matters: `{POOL}` is credited +100.0 % in the ladder, +1.0 % in the final configuration");
        json!({
            "ladders": [{
                "rungs": [
                    { "contender": POOL, "gain": ratio(first) },
                    { "contender": PAGE_CACHE, "gain": ratio(second_on_top) },
                ],
                "ablation": [{
                    "step": POOL, "order_matters": order_matters, "interaction": ratio(first_at_last / first),
                    "in_ladder": ratio(first), "in_final_configuration": ratio(first_at_last),
                }],
            }],
            "trials": [trial(BASE, 100.0), trial(WITHOUT_POOL, 100.0 * first)],
            "findings": if order_matters { json!([{ "kind": "order matters", "text": text }]) } else { json!([]) },
        })
    }

    #[test]
    fn settings_that_help_alone_and_not_together_must_be_reported() {
        let check = |report: Value, expected: &[&str]| {
            let wrong = judge(&report).wrong;
            assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
            for (wrong, expected) in wrong.iter().zip(expected) {
                assert!(wrong.contains(expected), "{wrong}");
            }
        };
        check(report(3.0, 1.0, 1.1), &[]);
        check(report(1.3, 1.0, 1.0), &["the plant"]);
        check(report(3.0, 2.9, 1.1), &["the second rung"]);
        check(report(3.0, 1.0, 3.0), &["worth as much", "does not exclude", "does not show", "no finding"]);
        let mut silent = report(3.0, 1.0, 1.1);
        silent["findings"] = json!([]);
        check(silent, &["no finding"]);
        check(json!({}), &["missing"]);
    }

    #[test]
    fn a_sentence_is_found_in_whatever_form() {
        assert_eq!(plain("<code>a</code>\n   is\tcredited &#x2b;3 %"), "`a` is credited +3 %");
    }
}
