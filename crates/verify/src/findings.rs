//! What was checked, and what was not as it should be.

/// What was checked, and what was not as it should be.
#[derive(Debug, Default)]
pub struct Findings {
    pub(crate) checked: Vec<String>,
    pub(crate) differences: Vec<String>,
}

impl Findings {
    pub(crate) fn checked(&mut self, what: String) {
        self.checked.push(what);
    }

    pub(crate) fn differs(&mut self, what: String) {
        self.differences.push(what);
    }

    pub fn is_clean(&self) -> bool {
        self.differences.is_empty()
    }

    pub fn text(&self, subject: &str) -> String {
        let checked = self.checked.iter().map(|line| format!("checked: {line}"));
        let differences = self.differences.iter().map(|line| format!("differs: {line}"));
        let end = match self.differences.len() {
            0 => format!("{subject}: everything comes out as it is stored"),
            1 => format!("{subject}: 1 difference"),
            many => format!("{subject}: {many} differences"),
        };
        checked.chain(differences).chain([end]).collect::<Vec<String>>().join("\n") + "\n"
    }
}
