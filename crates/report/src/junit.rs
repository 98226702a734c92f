//! The gate as a JUnit report, for what collects test results: one test case for each condition.
//!
//! A condition that is proven beyond its limit is a failure. One that is not decided is an error where the gate waits
//! for it, because a pipeline must not take it for a pass, and skipped where it does not.

use std::fmt::Write;

use analysis::gate::{Answer, Condition, Gate, OtherAnswers, SlowerDigest};
use anyhow::Result;
use record::format::point_text;

use super::render::svg::escape;
use super::sections::gate::{FEW, answers, asked, digest, interval, sentence};
use super::{Evidence, Options, Report};

pub const JUNIT: Report = Report::new(
    "junit",
    "the gate as JUnit XML, one test case for each condition, for CI",
    "dbduel report last --format junit --out gate.xml",
    write,
);

fn write(evidence: &Evidence, _: &Options) -> Result<String> {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Neither the race of a search nor an A/A test has a gate.
    let none = Gate {
        answer: Answer::Passed,
        level: 0.0,
        conditions: vec![],
        weaker: vec![],
        other_answers: vec![],
        slower_digests: vec![],
    };
    let gate = evidence.gate().unwrap_or(none);
    let others = gate.other_answers.iter().map(case_of_answers).chain(gate.slower_digests.iter().map(case_of_digest));
    let others: Vec<String> = others.collect();
    let counted = |kind: Kind| gate.conditions.iter().filter(|one| self::kind(one) == kind).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        gate.conditions.len() + others.len(),
        counted(Kind::Failure) + others.len(),
        counted(Kind::Error),
        counted(Kind::Skipped),
        evidence.conclusions.tally.minutes * 60.0
    );
    let name = attribute(&evidence.plan.name);
    writeln!(xml, "<testsuites name=\"dbduel\" {counts}>")?;
    writeln!(xml, "  <testsuite name=\"{name}\" {counts} timestamp=\"{}\">", attribute(timestamp(evidence)))?;
    xml += &properties(evidence);
    gate.conditions.iter().for_each(|one| xml += &case(one));
    xml += &others.concat();
    xml += "  </testsuite>\n</testsuites>\n";
    Ok(xml)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn kind(one: &Condition) -> Kind {
    match one.answer {
        Answer::Passed => Kind::Passed,
        Answer::Failed => Kind::Failure,
        Answer::NotDecided if one.is_required => Kind::Error,
        Answer::NotDecided => Kind::Skipped,
    }
}

/// What the schema takes: without fractions and zone.
fn timestamp(evidence: &Evidence) -> &str {
    evidence.run.started_at.get(..19).unwrap_or(&evidence.run.started_at)
}

/// What tells runs apart.
fn properties(evidence: &Evidence) -> String {
    let known = [("plan_hash", evidence.plan.plan_hash.as_str()), ("dbduel_version", &evidence.run.dbduel_version)];
    let labels = evidence.run.labels.iter().map(|(name, value)| (format!("label.{name}"), value.as_str()));
    let all = known.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(labels);
    let lines: String = all
        .map(|(name, value)| {
            format!("      <property name=\"{}\" value=\"{}\"/>\n", attribute(&name), attribute(value))
        })
        .collect();
    format!("    <properties>\n{lines}    </properties>\n")
}

fn case(one: &Condition) -> String {
    let place = one.point.as_ref().map_or_else(|| "overall".to_owned(), point_text);
    let name = format!("{} against {}, {place}: {}", one.candidate, one.baseline, asked(one));
    let begin =
        format!("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"", attribute(&one.workload), attribute(&name));
    let element = match kind(one) {
        Kind::Passed => return begin + "/>\n",
        Kind::Failure => "failure type=\"slower\"",
        Kind::Error => "error type=\"not decided\"",
        Kind::Skipped => "skipped",
    };
    let figures = interval(one).map(|interval| format!("ratio {interval}"));
    let figures = figures.unwrap_or_else(|| FEW.to_owned());
    let message = sentence(one).unwrap_or_else(|| format!("not decided; the gate does not wait for it: {figures}"));
    format!("{begin}>\n      <{element} message=\"{}\"/>\n    </testcase>\n", attribute(&message.replace('`', "")))
}

fn case_of_answers(one: &OtherAnswers) -> String {
    let name = format!("{} against {}: answers", one.candidate, one.baseline);
    failed_case(&one.workload, &name, "other answers", &answers(one))
}

fn case_of_digest(one: &SlowerDigest) -> String {
    let name = format!("{} against {}: statement {}", one.candidate, one.baseline, one.digest);
    failed_case(&one.workload, &name, "slower", &digest(one))
}

fn failed_case(workload: &str, name: &str, kind: &str, message: &str) -> String {
    let (class, name) = (attribute(workload), attribute(name));
    let message = attribute(&message.replace('`', ""));
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">\n      <failure type=\"{kind}\" message=\"{message}\"/>\n    </testcase>\n"
    )
}

/// Text inside quotes, on one line; XML has no room for two characters that are no control characters.
fn attribute(text: &str) -> String {
    escape(text).replace(['\n', '\t'], " ").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{CANDIDATE, StoredRun, Story, stored_run};
    use record::format::gate::GateRecord;

    fn written(stored: StoredRun) -> String {
        JUNIT.write(&evidence_of(stored), &Options::default()).unwrap()
    }

    /// Names and attributes of each element, and how many of them there are.
    fn elements(xml: &str, name: &str) -> Vec<Vec<(String, String)>> {
        let document = roxmltree::Document::parse(xml).unwrap();
        let found = document.descendants().filter(|node| node.has_tag_name(name));
        let attributes = |node: roxmltree::Node| {
            node.attributes().map(|one| (one.name().to_owned(), one.value().to_owned())).collect()
        };
        found.map(attributes).collect()
    }

    #[test]
    fn a_slower_digest_is_a_failed_case_with_its_statement() {
        let mut stored = fixtures::statements_run(&Story { ratios: [1.3; 4], spread: 0.005, ..Story::default() });
        stored.plan.workloads[0].options.insert("gate_digests".to_owned(), true.into());
        let xml = written(stored);
        assert!(xml.contains("statement browse.sold") && xml.contains("failures=\"1\""), "{xml}");
    }

    #[test]
    fn each_condition_is_a_case_and_the_suite_counts_them() {
        let xml = written(stored_run(&Story { ratios: [1.2, 1.2, 1.2, 0.8], ..Story::default() }));
        let (cases, failures) = (elements(&xml, "testcase"), elements(&xml, "failure"));
        assert_eq!((cases.len(), failures.len()), (5, 1), "{xml}");
        assert_eq!(failures[0][0], ("type".to_owned(), "slower".to_owned()));
        assert!(failures[0][1].1.contains("is slower than 5.5 at 64 clients"), "{xml}");
        for suite in [elements(&xml, "testsuites"), elements(&xml, "testsuite")] {
            let value = |name: &str| suite[0].iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str());
            assert_eq!((value("tests"), value("failures"), value("errors")), (Some("5"), Some("1"), value("errors")));
        }
    }

    #[test]
    fn what_is_not_decided_is_an_error_and_at_a_level_alone_skipped() {
        let open = || stored_run(&Story { ratios: [1.0; 4], spread: 0.06, ..Story::default() });
        let xml = written(open());
        assert_eq!((elements(&xml, "error").len(), elements(&xml, "skipped").len()), (1, 4), "{xml}");
        let mut stored = open();
        stored.plan.gate = Some(GateRecord { max_slowdown: Some(0.5), latency: None });
        let xml = written(stored);
        assert!(elements(&xml, "error").is_empty() && xml.contains("tps at most 50 % lower"), "{xml}");
    }

    #[test]
    fn names_stay_text_and_labels_are_properties() {
        let mut stored = stored_run(&Story::default());
        stored.run.labels = [("commit".to_owned(), "\"<&'\u{1}\n]]>".to_owned())].into();
        let xml = written(stored);
        let properties = elements(&xml, "property");
        let label = properties.iter().find(|one| one[0].1 == "label.commit").unwrap();
        assert_eq!(label[1].1, "\"<&'\\u0001 ]]>");
        assert!(elements(&xml, "testcase")[0].iter().any(|(_, value)| value.contains(CANDIDATE)), "{xml}");
    }
}
