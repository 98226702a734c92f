//! What a server answered about its limits.

use std::collections::BTreeMap;

use driver::{Admin, Error};
use record::setting_value::{parse_size, parse_switch, plain};

/// Answers by name: settings under their own, other facts under names that no setting has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked(BTreeMap<String, String>);

impl Asked {
    pub fn of<'a>(answers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Asked {
        let mut asked = Asked::default();
        answers.into_iter().for_each(|(name, value)| asked.note(name, value));
        asked
    }

    pub fn note(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(plain(name), value.into());
    }

    /// Takes rows of name and value. A query that the server refuses gives none; another failure is one.
    pub fn note_rows(&mut self, admin: &mut Admin, sql: &str) -> Result<(), Error> {
        for row in unless_refused(admin.rows(sql))?.unwrap_or_default() {
            let mut cells = row.into_iter();
            if let (Some(Some(name)), Some(Some(value))) = (cells.next(), cells.next()) {
                self.note(&name, value);
            }
        }
        Ok(())
    }

    /// Takes the first row under these names; one of another shape is no answer.
    pub fn note_row(&mut self, admin: &mut Admin, names: &[&str], sql: &str) -> Result<(), Error> {
        let rows = unless_refused(admin.rows(sql))?.unwrap_or_default();
        let cells = rows.into_iter().next().filter(|cells| cells.len() == names.len()).unwrap_or_default();
        names.iter().zip(cells).for_each(|(name, cell)| cell.into_iter().for_each(|value| self.note(name, value)));
        Ok(())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn has(&self, name: &str, value: &str) -> bool {
        self.text(name).is_some_and(|own| own.eq_ignore_ascii_case(value))
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.text(name).and_then(parse_switch) == Some(true)
    }

    pub fn is_off(&self, name: &str) -> bool {
        self.text(name).and_then(parse_switch) == Some(false)
    }

    /// A whole number, which may have a unit of size.
    pub fn number(&self, name: &str) -> Option<u64> {
        parse_size(self.text(name)?).and_then(|number| u64::try_from(number).ok())
    }

    pub fn real(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }
}

/// An account may lack the right to ask.
pub fn unless_refused<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_by_any_spelling_of_their_name() {
        let asked = Asked::of([("Max-Connections", "1k"), ("read_only", "ON"), ("wait_timeout", "28800")]);
        assert_eq!(asked.number("max_connections"), Some(1024));
        assert_eq!(asked.number("wait_timeout"), Some(28_800));
        assert!(asked.is_on("read_only") && !asked.is_off("read_only"));
        assert_eq!(asked.number("max_user_connections"), None, "absent is not zero");
        assert!(!asked.is_on("super_read_only") && !asked.is_off("super_read_only"));
    }
}
