//! `[gate]`: how much slower a candidate may be before `--gate` fails.

use super::WorkloadChoice;
use super::keys::{GATE_KEYS, LATENCY_KEYS, names};
use super::section::{Reader, Section, real};
use record::format::gate::{GateRecord, LatencyLimit, QUANTILES};

const EXAMPLE: &str = "expected limits: max_slowdown = \"3%\", latency = { quantile = 99, max_slowdown = \"10%\" }";

pub fn read_gate<'a>(reader: &mut Reader<'a>, top: &Section<'a>, workloads: &[WorkloadChoice]) -> Option<GateRecord> {
    let section = reader.table(top, "gate")?;
    reader.check_keys(&section, &names(GATE_KEYS), &[]);
    if !GATE_KEYS.iter().any(|key| section.value(key.name).is_some()) {
        reader.reject(&section.span, "[gate] has no limit", EXAMPLE);
    }
    let max_slowdown = reader.percent(&section, "max_slowdown");
    let latency = read_latency(reader, &section);
    if let Some(value) = section.value("latency")
        && !workloads.is_empty()
        && workloads.iter().all(|workload| workload.one_pass)
    {
        let what = "`latency` in [gate] has no use: a trial of these workloads is one pass, without latencies";
        reader.reject(&value.span(), what, "take it out; max_slowdown limits how much longer a pass may take");
    }
    Some(GateRecord { max_slowdown, latency })
}

fn read_latency<'a>(reader: &mut Reader<'a>, gate: &Section<'a>) -> Option<LatencyLimit> {
    let section = Section { title: "[gate.latency]".to_owned(), ..reader.table(gate, "latency")? };
    reader.check_keys(&section, &names(LATENCY_KEYS), &[]);
    if let Some(missing) = names(LATENCY_KEYS).into_iter().find(|key| section.value(key).is_none()) {
        reader.reject(&section.span, format!("`latency` in [gate] has no `{missing}`"), EXAMPLE);
    }
    let quantile = read_quantile(reader, &section);
    let max_slowdown = reader.percent(&section, "max_slowdown");
    Some(LatencyLimit { quantile: quantile?, max_slowdown: max_slowdown? })
}

/// One of those that trials have.
fn read_quantile<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<f64> {
    let value = section.value("quantile")?;
    let known = QUANTILES.map(|(quantile, _)| quantile.to_string()).join(", ");
    let Some(quantile) = real(value) else {
        reader.wrong_type(section, "quantile", value, &format!("one of {known}"));
        return None;
    };
    if !QUANTILES.iter().any(|(known, _)| *known == quantile) {
        let what = format!("`quantile` in [gate.latency] is {quantile}, which no trial stores");
        reader.reject(&value.span(), what, format!("expected one of {known}, in percent"));
        return None;
    }
    Some(quantile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tests::{parse, parsed};

    const DUEL: &str = "workload = \"oltp_read_write\"\ncontender = [{ engine = \"mysql@5.7.29\" }]\n";

    #[test]
    fn limits_are_shares_of_throughput_and_of_a_quantile() {
        let read = |gate: &str| parsed(&format!("{DUEL}{gate}")).gate;
        assert_eq!(read(""), None);
        let throughput = GateRecord { max_slowdown: Some(0.03), latency: None };
        assert_eq!(read("[gate]\nmax_slowdown = \"3 %\"\n"), Some(throughput));
        let latency = Some(LatencyLimit { quantile: 99.9, max_slowdown: 0.1 });
        let file = "gate.latency = { quantile = 99.9, max_slowdown = \"10%\" }\n";
        assert_eq!(read(file), Some(GateRecord { max_slowdown: None, latency }));
    }

    #[test]
    fn a_limit_that_cannot_be_held_to_is_refused_at_its_line() {
        let check = |gate: &str, line: usize, what: &str| {
            let mistakes = parse(&format!("{DUEL}{gate}")).unwrap_err();
            assert_eq!((mistakes.list.len(), mistakes.list[0].line), (1, Some(line)), "{mistakes}");
            assert!(mistakes.to_string().contains(what), "{mistakes}");
        };
        check("[gate]\n", 3, "[gate] has no limit");
        check("method.stop = \"gate\"\n", 3, "there is no [gate]");
        check("[gate]\nmax_slowdown = 3\n", 4, "a number without its unit");
        check("[gate]\nmax_slowdwon = \"3%\"\nlatency = { quantile = 99, max_slowdown = \"3%\" }\n", 4, "max_slowdown");
        check("[gate]\nlatency = { quantile = 99 }\n", 4, "`latency` in [gate] has no `max_slowdown`");
        check("[gate]\nlatency = { quantile = 98, max_slowdown = \"3%\" }\n", 4, "one of 50, 95, 99, 99.9");
        let pass = DUEL.replace("oltp_read_write", "sql-bench");
        let mistakes =
            parse(&format!("{pass}gate.latency = {{ quantile = 99, max_slowdown = \"3%\" }}\n")).unwrap_err();
        assert!(mistakes.to_string().contains("one pass, without latencies"), "{mistakes}");
    }
}
