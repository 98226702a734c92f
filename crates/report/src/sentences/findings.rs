use analysis::Finding;

use super::Said;

pub fn said(finding: &Finding) -> Said {
    let Finding { kind, grade, text, evidence } = finding.clone();
    Said { kind, grade, text, evidence }
}
