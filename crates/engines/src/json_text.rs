//! JSON as servers write their plans: in its order, and with every entry of an object, because old releases of MariaDB use
//! one name for several tables.
//!
//! Nothing here trusts the text: it may end anywhere, and may not be nested deeper than [`DEPTH_MAX`].

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
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_blanks();
        (reader.at == text.len()).then_some(value)
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

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_ascii_start().len();
    }

    fn take(&mut self, part: &str) -> Option<()> {
        self.skip_blanks();
        self.rest().starts_with(part).then(|| self.at += part.len())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.skip_blanks();
        match self.rest().as_bytes().first()? {
            _ if depth > DEPTH_MAX => None,
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'n' => self.take("null").map(|()| Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take("{")?;
        let mut entries = Vec::new();
        while self.take("}").is_none() {
            if !entries.is_empty() {
                self.take(",")?;
            }
            self.skip_blanks();
            let name = self.string()?;
            self.take(":")?;
            entries.push((name, self.value(depth + 1)?));
        }
        Some(Json::Object(entries))
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.take("[")?;
        let mut items = Vec::new();
        while self.take("]").is_none() {
            if !items.is_empty() {
                self.take(",")?;
            }
            items.push(self.value(depth + 1)?);
        }
        Some(Json::List(items))
    }

    fn number(&mut self) -> Option<Json> {
        let rest = self.rest();
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        self.at += end;
        number.is_finite().then_some(Json::Number(number))
    }

    /// Control characters may stand as they are: servers put statements into their texts.
    fn string(&mut self) -> Option<String> {
        self.rest().starts_with('"').then(|| self.at += 1)?;
        let mut found = String::new();
        loop {
            let mut letters = self.rest().chars();
            let letter = letters.next()?;
            self.at += letter.len_utf8();
            match letter {
                '"' => return Some(found),
                '\\' => {
                    let escaped = letters.next()?;
                    self.at += escaped.len_utf8();
                    found.push(self.escaped(escaped)?);
                }
                letter => found.push(letter),
            }
        }
    }

    fn escaped(&mut self, letter: char) -> Option<char> {
        match letter {
            '"' | '\\' | '/' => Some(letter),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let digits = self.rest().get(..4)?;
                let code = u32::from_str_radix(digits, 16).ok()?;
                self.at += 4;
                // Halves of a pair have no meaning alone; no name of a table needs them.
                Some(char::from_u32(code).unwrap_or('\u{fffd}'))
            }
            _ => None,
        }
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
        assert_eq!(Json::read(r#""a\"\u00e4\n\ud800""#), Some(Json::Text("a\"ä\n\u{fffd}".into())));
        for wrong in ["", "{", "[1,]", "{\"a\" 1}", "1 2", "\"\\x\"", "\"\\u12", "nul", "--", "{\"a\":1,}", "1e999"] {
            assert_eq!(Json::read(wrong), None, "{wrong}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::read(&deep(DEPTH_MAX)).is_some() && Json::read(&deep(1_000_000)).is_none());
    }
}
