//! Settings as servers and people write them: names, switches, sizes, quantities with a unit.

/// A setting's name as all engines read it.
pub fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// ON, TRUE, YES and 1, and their opposites.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A whole number with MySQL's suffixes: `1G` is 1073741824, and so is `1GB`, of which the servers read one letter.
pub fn parse_size(text: &str) -> Option<i128> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_uppercase();
    let letter = ["IB", "B"].iter().find_map(|end| unit.strip_suffix(end).filter(|rest| !rest.is_empty()));
    let shift = match letter.unwrap_or(&unit) {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    digits.parse::<i128>().ok()?.checked_mul(1 << shift)
}

/// A number with PostgreSQL's units, in bytes or in microseconds; one without a unit is in `default`.
///
/// `default` is the unit the server shows (`8kB`, `ms`, or nothing).
pub fn parse_quantity(text: &str, default: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..split].trim().parse().ok()?;
    let unit = text[split..].trim();
    Some(number * unit_size(if unit.is_empty() { default } else { unit })?)
}

/// How many bytes or microseconds a unit has; `8kB` and `16MB` are units, too.
pub fn unit_size(unit: &str) -> Option<f64> {
    let split = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(unit.len());
    let count = if split == 0 { 1.0 } else { unit[..split].parse().ok()? };
    let base = match &unit[split..] {
        "" | "B" | "us" => 1.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        "h" => 3600e6,
        "d" => 86_400e6,
        _ => return None,
    };
    Some(count * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for text in ["256M", "256MB", "256mb", "256MiB", "262144kB", "268435456"] {
            assert_eq!(parse_size(text), Some(256 << 20), "{text}");
        }
        for (text, expected) in
            [("1G", Some(1 << 30)), ("512k", Some(512 << 10)), ("-1", Some(-1)), ("16M", Some(16 << 20))]
        {
            assert_eq!(parse_size(text), expected, "{text}");
        }
        assert_eq!((parse_size("1B"), parse_size("1 parsec"), parse_size("1iB")), (None, None, None));
        assert_eq!(parse_size("O_DIRECT"), None);
    }

    #[test]
    fn quantities_count_in_the_servers_unit_when_they_have_none() {
        assert_eq!(parse_quantity("128MB", "8kB"), Some(134_217_728.0));
        assert_eq!(parse_quantity("16384", "8kB"), Some(134_217_728.0));
        assert_eq!(parse_quantity("5min", "s"), Some(300e6));
        assert_eq!(parse_quantity("0.5 GB", "kB"), Some(536_870_912.0));
        assert_eq!(parse_quantity("2", ""), Some(2.0));
        assert_eq!(parse_quantity("1 parsec", "ms"), None);
    }
}
