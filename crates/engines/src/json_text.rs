//! JSON as servers write their plans: in its order, and with every entry of an object, because old releases of MariaDB use
//! one name for several tables.
//!
//! Nothing here trusts the text: it may end anywhere, and may not be nested deeper than [`DEPTH_MAX`].

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Deeper than plans that people read. What is read from it can still be stored: a record may be nested 128 deep, and takes
/// two of that for a step of a plan.
const DEPTH_MAX: usize = 84;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
    Text(String),
    Number(f64),
    Bool(bool),
    Null,
}

impl Json {
    /// None of a text that is not JSON.
    pub fn read(text: &str) -> Option<Json> {
        // Servers put statements into their texts as they are, where JSON allows no control characters; elsewhere they are
        // blanks.
        let text = text.replace(|letter: char| letter < ' ', " ");
        let mut reader = serde_json::Deserializer::from_str(&text);
        let value = At(0).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(value)
    }

    pub fn entries(&self) -> &[(String, Json)] {
        if let Json::Object(entries) = self { entries } else { &[] }
    }

    pub fn items(&self) -> &[Json] {
        if let Json::List(items) = self { items } else { &[] }
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        self.entries().iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    /// A number, also as text: MySQL writes costs so.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            Json::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// `true`, or a number other than 0, as MariaDB writes it.
    pub fn is_true(&self) -> bool {
        matches!(self, Json::Bool(true)) || matches!(self, Json::Number(number) if *number != 0.0)
    }
}

/// A value that is nested so deep.
struct At(usize);

impl<'de> DeserializeSeed<'de> for At {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        if self.0 > DEPTH_MAX {
            return Err(D::Error::custom("nested too deep"));
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(At(self.0 + 1))? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = object.next_key()? {
            entries.push((name, object.next_value_seed(At(self.0 + 1))?));
        }
        Ok(Json::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_name_are_all_kept_in_their_order() {
        let read = Json::read(r#" {"table": {"a": 1}, "table": {"a": "2.5"}, "x": [true, null, -1e2]} "#).unwrap();
        let names: Vec<&str> = read.entries().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["table", "table", "x"]);
        assert_eq!(read.entries()[1].1.get("a").and_then(Json::number), Some(2.5));
        assert_eq!(read.get("x").unwrap().items(), [Json::Bool(true), Json::Null, Json::Number(-100.0)]);
    }

    #[test]
    fn escapes_are_read_and_what_is_no_json_is_none() {
        assert_eq!(Json::read(r#""a\"\u00e4\n""#), Some(Json::Text("a\"ä\n".into())));
        assert_eq!(Json::read("\"a\nb\""), Some(Json::Text("a b".into())));
        for wrong in ["", "{", "[1,]", "{\"a\" 1}", "1 2", "\"\\x\"", "\"\\u12", "nul", "--", "{\"a\":1,}", "1e999"] {
            assert_eq!(Json::read(wrong), None, "{wrong}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::read(&deep(DEPTH_MAX)).is_some() && Json::read(&deep(1_000_000)).is_none());
    }
}
