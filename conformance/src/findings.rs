//! The causes in a report of dbduel.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub kind: String,
    pub grade: String,
    pub text: String,
}

/// In their order.
pub fn findings(report: &Value) -> Vec<Finding> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().into_iter().flatten();
    findings
        .map(|one| Finding { kind: text(one, "kind"), grade: text(one, "grade"), text: text(one, "text") })
        .collect()
}
