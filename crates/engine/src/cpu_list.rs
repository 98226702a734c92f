//! A set of CPUs as the kernel writes it: `0-2,5`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Nobody has more, and a typing error may not ask for memory without end.
const CPU_MAX: usize = 4095;

/// CPUs by their numbers; never empty when it was read from a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<usize>);

impl CpuList {
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        CpuList(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let number = |text: &str| -> Result<usize, String> {
            let number = text.trim().parse().ok().filter(|cpu| *cpu <= CPU_MAX);
            number.ok_or_else(|| format!("`{}` is no number of a CPU", text.trim()))
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(format!("`{}` runs backwards", part.trim()));
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
        out.write_str(&ranges.into_iter().map(text).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_written_as_the_kernel_does() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(text.parse::<CpuList>().ok().map(|list| list.to_string()).as_deref(), expected, "{text:?}");
        };
        check("3", Some("3"));
        check("0-3", Some("0-3"));
        check(" 7, 0 - 2,8,5", Some("0-2,5,7-8"));
        check("0,1,2,2", Some("0-2"));
        for wrong in ["", "all", "1-", "-1", "3-1", "0,,1", "1 2", "0-99999", "0x1"] {
            check(wrong, None);
        }
    }
}
