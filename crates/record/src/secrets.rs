//! Keeps passwords out of everything that is stored, printed or hashed.
//!
//! Works on the text of a file rather than on its parsed form, so that a password in a comment or in
//! a file with mistakes is masked too. It changes nothing else: line numbers stay as they are.

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Whether the value of this key must never be stored.
///
/// The name of a file that holds a password is no secret, nor is a policy about passwords.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
    ["password", "passwd", "passphrase", "secret"].iter().any(|ending| key.ends_with(ending))
}

/// The text with the values of secret keys and the passwords of URLs replaced by `***`.
pub fn mask(text: &str) -> String {
    text.split_inclusive('\n').map(|line| mask_urls(&mask_values(line))).collect()
}

/// Masks every quoted value in a line whose key is a secret one, and such values inside of a text: words of a connection
/// string, options of a URL.
fn mask_values(line: &str) -> String {
    mask_behind_keys(line, |before, rest| match enclosing(before) {
        Some((quote, start)) => (word_len(&letters_in(rest, quote), before[start..].contains('?')), MASK),
        None => (quoted_len(rest), " \"***\""),
    })
}

/// A word of a command line without the values of secret keys: `NAME=VALUE` alone, in the query of a contender or of a
/// URL, or among the words of a connection string.
pub fn mask_words(text: &str) -> String {
    mask_behind_keys(text, |before, rest| {
        let letters: Vec<(usize, char)> =
            rest.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter)).collect();
        (word_len(&letters, before.contains('?')), MASK)
    })
}

/// Puts masks in place of the values of secret keys. `value` gets what stands before a value, its equals sign included,
/// and all from there on; it gives how long the value is, and its mask.
fn mask_behind_keys(text: &str, value: impl Fn(&str, &str) -> (usize, &'static str)) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (key, behind) = rest.split_at(equals + 1);
        masked.push_str(key);
        rest = behind;
        if !is_secret_key(last_word(&key[..equals])) {
            continue;
        }
        let (value_len, mask) = value(&text[..text.len() - rest.len()], rest);
        if value_len > 0 {
            masked.push_str(mask);
            rest = &rest[value_len..];
        }
    }
    masked + rest
}

/// The quote of the text of TOML that `before` ends in, and where that text begins; none in a comment.
fn enclosing(before: &str) -> Option<(char, usize)> {
    let (mut open, mut escaped) = (None, false);
    for (at, letter) in before.char_indices() {
        match open {
            Some((quote, _)) => {
                if letter == quote && !escaped {
                    open = None;
                }
                escaped = letter == '\\' && quote == '"' && !escaped;
            }
            None if letter == '#' => return None,
            None if matches!(letter, '"' | '\'') => open = Some((letter, at)),
            None => {}
        }
    }
    open
}

/// The letters up to the quote that ends a text of TOML, each with the byte behind it.
fn letters_in(text: &str, quote: char) -> Vec<(usize, char)> {
    let mut letters = Vec::new();
    let mut all = text.char_indices();
    while let Some((at, letter)) = all.next() {
        match letter {
            '\n' => break,
            '\\' if quote == '"' => letters.extend(all.next().map(|(at, letter)| (at + letter.len_utf8(), letter))),
            letter if letter == quote => break,
            letter => letters.push((at + letter.len_utf8(), letter)),
        }
    }
    letters
}

/// Bytes of the value at the start of these letters: in quotes, or up to the next option of a URL or the next word that
/// is an option. A backslash takes the next letter as it is.
fn word_len(letters: &[(usize, char)], is_in_query: bool) -> usize {
    let letter = |at: usize| letters.get(at).map(|(_, letter)| *letter);
    let mut at = letters.iter().take_while(|(_, letter)| letter.is_whitespace()).count();
    let is_quoted = letter(at) == Some('\'');
    at += usize::from(is_quoted);
    while let Some(next) = letter(at) {
        match next {
            '\\' => at += 1,
            '\'' if is_quoted => {
                at += 1;
                break;
            }
            '&' if is_in_query && !is_quoted => break,
            next if next.is_whitespace() && !is_quoted && begins_with_option(&letters[at..]) => break,
            _ => {}
        }
        at += 1;
    }
    at.min(letters.len()).checked_sub(1).map_or(0, |last| letters[last].0)
}

/// White space, a name and an equals sign.
fn begins_with_option(letters: &[(usize, char)]) -> bool {
    let mut rest = letters.iter().map(|(_, letter)| *letter).skip_while(|letter| letter.is_whitespace()).peekable();
    let is_named = rest.next_if(|letter| *letter != '=').is_some();
    let mut rest =
        rest.skip_while(|letter| *letter != '=' && !letter.is_whitespace()).skip_while(|letter| letter.is_whitespace());
    is_named && rest.next() == Some('=')
}

/// The key that ends `text`: what follows the last separator of a TOML table, of a URL or of a connection string.
fn last_word(text: &str) -> &str {
    let text = text.trim_end().trim_end_matches(['"', '\'']);
    text.rsplit([' ', '\t', ',', '{', '.', '#', '?', '&', '(', ';', '=', '"', '\'']).next().unwrap_or("")
}

/// Bytes of the value at the start of `text`: up to its closing quote, or up to the end of a bare word.
fn quoted_len(text: &str) -> usize {
    let lead = text.len() - text.trim_start().len();
    let value = &text[lead..];
    let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        let bare = value.find([',', '}', '#', '\n']).unwrap_or(value.len());
        return if bare == 0 { 0 } else { lead + bare };
    };
    let mut escaped = false;
    for (at, letter) in value.char_indices().skip(1) {
        if letter == quote && !escaped {
            return lead + at + 1;
        }
        escaped = letter == '\\' && quote == '"' && !escaped;
    }
    text.trim_end_matches('\n').len()
}

/// A server's log without the quoted texts that stand behind the word for a password: a server that
/// logs statements logs those that set one. Lines without that word stay as they are, to the byte.
pub fn mask_log(log: &[u8]) -> Vec<u8> {
    let masked = |line: &[u8]| {
        let lower = line.to_ascii_lowercase();
        let word = |word: &[u8]| lower.windows(word.len()).position(|part| part == word).map(|at| at + word.len());
        let behind = [word(b"password"), word(b"identified"), word(b"passwd")].into_iter().flatten().min();
        let Some(behind) = behind else { return line.to_vec() };
        let (before, rest) = line.split_at(behind);
        [before, mask_quoted(rest).as_slice()].concat()
    };
    log.split_inclusive(|byte| *byte == b'\n').flat_map(masked).collect()
}

/// Everything from the first quote of a line to its last: which quotes are part of a text depends on the server.
fn mask_quoted(line: &[u8]) -> Vec<u8> {
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    let Some(first) = line.iter().position(is_quote) else { return line.to_vec() };
    let last = line.iter().rposition(is_quote).filter(|last| *last > first);
    let end = last.map_or(line.trim_ascii_end().len(), |last| last + 1);
    [&line[..first], b"'***'", &line[end..]].concat()
}

/// Masks `password` in every `scheme://user:password@host`.
pub fn mask_urls(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let authority_len = after.find(['/', '?', '"', '\'', ' ', '\n']).unwrap_or(after.len());
        let (authority, behind) = after.split_at(authority_len);
        masked.push_str(&mask_authority(authority));
        rest = behind;
    }
    masked + rest
}

fn mask_authority(authority: &str) -> String {
    match authority.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{user}:{MASK}@{host}"),
        None => authority.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_and_nothing_else_is() {
        let check = |text, expected| assert_eq!(mask(text), expected, "{text}");
        check("password = \"hunter2\"\n", "password = \"***\"\n");
        check("settings = { root_password = 'a b', x = 1 }", "settings = { root_password = \"***\", x = 1 }");
        check("password = \"a\\\"b\" # c", "password = \"***\" # c");
        check("# password = \"old\"", "# password = \"***\"");
        check("password_file = \"/etc/pw\"", "password_file = \"/etc/pw\"");
        check("default_password_lifetime = 0", "default_password_lifetime = 0");
        check("target = \"mysql://app:s3@cret@db:3306/x\"", "target = \"mysql://app:***@db:3306/x\"");
        check("target = \"mysql://app@db/x\"", "target = \"mysql://app@db/x\"");
        check("# see https://example.org/a?b=c", "# see https://example.org/a?b=c");
        check("\"password\" = 'x'", "\"password\" = \"***\"");
    }

    #[test]
    fn passwords_inside_of_a_connection_string_are_masked_and_the_text_stays_one() {
        let check = |text, expected| {
            assert_eq!(mask(text), expected, "{text}");
            assert_eq!(mask(expected), expected, "masked twice");
        };
        check("target = \"host=db password=hunter2 user=a\"\n", "target = \"host=db password=*** user=a\"\n");
        check("target = \"host=db password=hunter2\" # x", "target = \"host=db password=***\" # x");
        check("target = 'host=db password=hunter2'", "target = 'host=db password=***'");
        check("target = \"password = 'a b' user=c\"", "target = \"password =*** user=c\"");
        check(r#"target = "password='a\\' b' user=c""#, r#"target = "password=*** user=c""#);
        check(r#"target = "password=a\\ b\"c user=c""#, r#"target = "password=*** user=c""#);
        check("target = \"password='a b\"", "target = \"password=***\"");
        check("target = \"host=x password=\"\n", "target = \"host=x password=\"\n");
        check("target = \"password=a&b?c user=d\"", "target = \"password=*** user=d\"");
        check(
            "t = { target = \"jdbc:mysql://h/d?user=a&password=s3&x=1\", y = 1 }",
            "t = { target = \"jdbc:mysql://h/d?user=a&password=***&x=1\", y = 1 }",
        );
        check("# target = \"host=x password=hunter2\"", "# target = \"host=x password= \"***\"");
    }

    #[test]
    fn a_log_loses_the_passwords_of_statements_and_nothing_else() {
        let check = |line: &str, expected: &str| {
            let masked = mask_log(format!("a\n{line}\nb 'c'\n").as_bytes());
            assert_eq!(String::from_utf8(masked.clone()).unwrap(), format!("a\n{expected}\nb 'c'\n"));
            assert_eq!(mask_log(&masked), masked, "masked twice");
        };
        check("LOG:  statement: ALTER ROLE a PASSWORD 'b c'", "LOG:  statement: ALTER ROLE a PASSWORD '***'");
        check("CREATE USER 'u' IDENTIFIED BY \"pw\", 'v';", "CREATE USER 'u' IDENTIFIED BY '***';");
        check("set password = 'it''s \\' so'", "set password = '***'");
        check("set password for u = 'open", "set password for u = '***'");
        check("started 'quoted'", "started 'quoted'");
        assert_eq!(mask_log(b"\xff 'x'\n"), b"\xff 'x'\n");
    }

    #[test]
    fn line_numbers_survive_masking() {
        let text = "a = 1\npassword = \"x\"\n\nb = 2\n";
        assert_eq!(mask(text).lines().count(), text.lines().count());
    }
}
