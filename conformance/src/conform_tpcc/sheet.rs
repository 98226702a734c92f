//! The report: a line for each figure.

/// Lines of the report, and how many of them are wrong.
#[derive(Default)]
pub struct Sheet {
    pub wrong: usize,
}

impl Sheet {
    pub fn title(&self, title: &str) {
        println!("{title}");
    }

    pub fn line(&mut self, what: &str, found: impl std::fmt::Display, expected: &str, holds: bool) {
        self.wrong += usize::from(!holds);
        println!("  {what:<44} {found:>14}  {expected:<28} {}", if holds { "ok" } else { "WRONG" });
    }

    pub fn exactly(&mut self, what: &str, found: f64, expected: f64) {
        self.line(what, found, &format!("{expected}"), found == expected);
    }

    pub fn within(&mut self, what: &str, found: f64, low: f64, high: f64) {
        let holds = (low..=high).contains(&found);
        self.line(what, format!("{found:.4}"), &format!("{low:.4} to {high:.4}"), holds);
    }

    /// The result of a check: nothing, or a line for each violation.
    pub fn violations(&mut self, when: &str, violations: &[String]) {
        self.line(when, violations.len(), "0 violations", violations.is_empty());
        violations.iter().for_each(|violation| println!("    {violation}"));
    }
}
