//! Commands that are suggested to a user can be pasted as they stand.

use std::path::Path;

/// A word as a shell reads it: quoted where it holds anything that means something there.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=.,:/@+%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The same of a path.
pub fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        for word in
            ["runs/a-1", "my runs/x", "it's", "$HOME `id` $(id)", "a\"b\\c", "", "*", "~x", "#1", "x;y&z|", "tab\tend"]
        {
            let echo = Command::new("sh").args(["-c", &format!("printf %s {}", shell_word(word))]).output().unwrap();
            assert_eq!(String::from_utf8(echo.stdout).unwrap(), word);
        }
        assert_eq!(shell_word("mysql@5.6.24"), "mysql@5.6.24");
        assert_eq!(shell_path(Path::new("my runs/x")), "'my runs/x'");
    }
}
