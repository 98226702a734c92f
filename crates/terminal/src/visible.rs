//! Control characters are shown, never sent: a server's message, a stored record or a name in a file could move
//! the cursor, rename the window or turn text around otherwise.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every control character but line breaks and tabs as `\u001b`, which JSON reads as the same character.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts_on_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match acts_on_a_terminal(letter) {
            true => write!(shown, "\\u{:04x}", u32::from(letter)).expect("a string takes everything"),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// C0, DEL, C1, and what turns the direction of writing or breaks lines unseen.
fn acts_on_a_terminal(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && letter != '\n' && letter != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_shown() {
        let check = |text: &str, expected: &str| assert_eq!(visible(text), expected);
        check("plain µs – text\n\tand tabs", "plain µs – text\n\tand tabs");
        check("\x1b[2J\x1b]0;title\x07", "\\u001b[2J\\u001b]0;title\\u0007");
        check("done\rfaster", "done\\u000dfaster");
        check("\u{9b}31m\u{7f}", "\\u009b31m\\u007f");
        check("a\u{202e}b\u{2066}c\u{200f}", "a\\u202eb\\u2066c\\u200f");
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({ "said": "\u{9b}\u{202e}\u{7f}\x1b" });
        let read: serde_json::Value = serde_json::from_str(&visible(&value.to_string())).unwrap();
        assert_eq!(read, value);
    }
}
