//! Advice as an experiment file: the defaults, and on top of them each rung with its reason.

use std::collections::BTreeMap;

use anyhow::Result;
use load::OptionValue;

use crate::advice::{Advice, Rung};
use crate::wrapped;
use experiment::Known;
use experiment::quantity::bytes_text;

const COMMENT_WIDTH: usize = 98;

pub fn experiment(advice: &Advice, engine_words: &str, known: &Known) -> Result<String> {
    let scale = scale(advice, known)?;
    let version = advice.version.trim_end_matches(".*");
    let title = format!("{} {version}", advice.engine.kind());
    let mut text = comment(&format!(
        "A tuning ladder for {title} on a machine with {} of memory, {} cores and {} of data, as `dbduel advise` gave it. \
         These are rules of thumb: which rungs matter on your machine is what this experiment measures. Each rung stands on \
         those below it; take out what does not suit you.",
        bytes_text(advice.machine.memory_bytes),
        advice.machine.cores,
        bytes_text(advice.machine.data_bytes)
    ));
    text += &line("name", &format!("ladder-{}-{version}", advice.engine.kind()));
    text += &line("question", &format!("Which settings make {title} faster here, and by how much?"));
    text += "\n[[contender]]\n";
    text += &line("name", "defaults");
    text += &line("engine", engine_words);
    for rung in &advice.rungs {
        text += &ladder_table(rung);
    }
    text += "\n[workload]\n";
    text += &line("name", known.advised.kind.name);
    let data = format!("# about {} in {}'s files", bytes_text(advice.machine.data_bytes), advice.engine.kind());
    text += &format!("{} = {scale:<8} {data}\n", known.advised.scale);
    text += &format!("clients = {}\n", advice.clients);
    text += "\n[method]\npreset = \"standard\"   # \"quick\" for a first look\n";
    text += &comment(
        "A ladder of many rungs takes hours. `dbduel plan` says how long; `--budget 2h` ends it after the last whole block.",
    );
    text += RECOVERY;
    Ok(text)
}

/// What the ladder costs at a crash is measured by the same file.
const RECOVERY: &str = "\n\
    # What each rung costs at a crash: in a copy of this file with the next lines, every trial ends in a crash, and the\n\
    # ladder has the measured class and the time to the first commit of each rung.\n\
    # [recovery]\n\
    # kills = 12        # of each rung\n\
    # crash = \"both\"    # \"kill\" without root\n";

fn ladder_table(rung: &Rung) -> String {
    let mut text = format!("\n{}", comment(&rung.reason));
    if let Some(trade) = rung.trade {
        text += &comment(&format!("TRADE ({}): {trade}.", rung.promise));
    }
    text += &comment(&format!("Source: {}", rung.source));
    let settings = rung.settings.iter().map(|(name, value)| format!("{name} = {}", quoted(value)));
    let settings = settings.collect::<Vec<_>>().join(", ");
    text + "[[ladder]]\n" + &line("name", &rung.name) + &format!("settings = {{ {settings} }}\n")
}

fn comment(text: &str) -> String {
    wrapped(text, COMMENT_WIDTH).into_iter().map(|line| format!("# {line}\n")).collect()
}

fn line(key: &str, value: &str) -> String {
    format!("{key} = {}\n", quoted(value))
}

fn quoted(value: &str) -> String {
    toml::Value::String(value.to_owned()).to_string()
}

/// As many as make the data that were asked for, one at least. The workload computes how large they are.
fn scale(advice: &Advice, known: &Known) -> Result<u64> {
    let dialect = advice.engine.dialect();
    let bytes = |scale: i64| -> Result<u64> {
        let given = BTreeMap::from([(known.advised.scale.to_owned(), OptionValue::Number(scale))]);
        Ok(known.advised.kind.with(&given)?.data_bytes(dialect))
    };
    let (one, two) = (bytes(1)?, bytes(2)?);
    let (each, beside) = (two - one, one.saturating_sub(two - one));
    Ok((advice.machine.data_bytes.saturating_sub(beside) / each).max(1))
}
