//! The header `WWW-Authenticate` of an answer 401: how a registry wants to be asked (RFC 7235, and the token protocol of
//! the registries of container images).

use std::collections::BTreeMap;

/// What a registry asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// A user and a password in each request.
    Basic,
    /// A token, which the server at `realm` gives.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Reads one header; None where it asks for neither.
    pub fn parse(header: &str) -> Option<Challenge> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Challenge::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut parameters = parameters(rest);
        let realm = parameters.remove("realm")?;
        Some(Challenge::Bearer { realm, service: parameters.remove("service"), scope: parameters.remove("scope") })
    }
}

/// `a="b",c=d`; a quoted value may contain commas, and a backslash makes the next character plain.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.chars().peekable();
    loop {
        let name: String = std::iter::from_fn(|| rest.next_if(|next| *next != '=')).collect();
        if rest.next().is_none() {
            return found;
        }
        let value: String = if rest.next_if_eq(&'"').is_some() {
            let quoted = std::iter::from_fn(|| match rest.next()? {
                '"' => None,
                '\\' => rest.next(),
                other => Some(other),
            });
            quoted.collect()
        } else {
            std::iter::from_fn(|| rest.next_if(|next| *next != ',')).collect()
        };
        found.insert(name.trim_matches([' ', ',', '\t']).to_ascii_lowercase(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let [service, scope] = [service, scope].map(|text| text.map(str::to_owned));
            Some(Challenge::Bearer { realm: realm.to_owned(), service, scope })
        };
        let check = |header: &str, expected| assert_eq!(Challenge::parse(header), expected, "{header}");
        check(
            r#"Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a:pull,push""#,
            bearer("https://auth.example/token", Some("registry.example"), Some("repository:a:pull,push")),
        );
        check(r#"bearer Realm=https://a/t , service="a\"b""#, bearer("https://a/t ", Some("a\"b"), None));
        check(r#"Basic realm="x""#, Some(Challenge::Basic));
        check("BASIC", Some(Challenge::Basic));
        for other in ["", "Negotiate", r#"Bearer service="a""#, "Bearer realm", "Bearer ="] {
            check(other, None);
        }
    }
}
