//! Which part of a target came from where.

use std::collections::BTreeMap;

/// What others have filled in, and what a user should know of what they have not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The option, and who gave it.
    taken: Vec<(String, String)>,
    pub remarks: Vec<String>,
}

impl Sources {
    pub fn note(&mut self, option: &str, source: &str) {
        self.taken.push((option.to_owned(), source.to_owned()));
    }

    /// `host and port from the service db of ~/.pg_service.conf, password from ~/.pgpass`
    pub fn text(&self) -> Option<String> {
        let mut by_source: BTreeMap<usize, (&str, Vec<&str>)> = BTreeMap::new();
        for (option, source) in &self.taken {
            let first = self.taken.iter().position(|(_, other)| other == source).unwrap_or_default();
            by_source.entry(first).or_insert((source, Vec::new())).1.push(option);
        }
        let one = |(source, options): &(&str, Vec<&str>)| format!("{} from {source}", and(options));
        let taken: Vec<String> = by_source.values().map(one).collect();
        let taken = (!taken.is_empty()).then(|| taken.join(", "));
        let parts: Vec<String> = taken.into_iter().chain(self.remarks.iter().cloned()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// `a, b and c`
pub fn and<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}
