//! Options of a script and of sysbench itself: what there is, and what a command line or an experiment makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use load::{OptionValue, Special};
use mlua::{Function, Table, Value};

use crate::random::Shapes;

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
}

/// As on a command line.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Flag(flag) => f.write_str(if *flag { "on" } else { "off" }),
            Setting::Number(number) => write!(f, "{number}"),
            Setting::Text(text) => f.write_str(text),
            Setting::List(words) => f.write_str(&words.join(",")),
        }
    }
}

/// What sysbench's constants `ARG_BOOL` to `ARG_FILE` ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flag,
    /// A whole number.
    Int,
    /// With `K`, `M`, `G`.
    Size,
    Number,
    Text,
    List,
    File,
}

impl Kind {
    const IN_ORDER: [Kind; 7] = [Kind::Flag, Kind::Int, Kind::Size, Kind::Number, Kind::Text, Kind::List, Kind::File];

    fn of_default(default: Option<&Setting>) -> Kind {
        match default {
            Some(Setting::Flag(_)) => Kind::Flag,
            Some(Setting::Number(_)) => Kind::Number,
            Some(Setting::List(_)) => Kind::List,
            Some(Setting::Text(_)) | None => Kind::Text,
        }
    }

    /// What stands behind an option's name in a help text.
    fn form(self) -> &'static str {
        match self {
            Kind::Flag => "[=on|off]",
            Kind::Int | Kind::Number => "=N",
            Kind::Size => "=SIZE",
            Kind::Text => "=STRING",
            Kind::List => "=[LIST,...]",
            Kind::File => "=FILENAME",
        }
    }

    fn empty(self) -> Setting {
        match self {
            Kind::Flag => Setting::Flag(false),
            Kind::Int | Kind::Size | Kind::Number => Setting::Number(0.0),
            Kind::List => Setting::List(Vec::new()),
            Kind::Text | Kind::File => Setting::Text(String::new()),
        }
    }
}

/// By names with `_`.
pub type Values = BTreeMap<String, Setting>;

/// An option that a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub name: String,
    pub text: String,
    /// None where it has none; it is then a text.
    pub default: Option<Setting>,
    pub kind: Kind,
}

/// Defaults of sysbench's own options that are no empty text; an item each of its lists.
const NUMBERS: [(&str, f64); 17] = [
    ("events", 0.0),
    ("max_requests", 0.0),
    ("max_time", 0.0),
    ("num_threads", 1.0),
    ("percentile", 95.0),
    ("pgsql_port", 5432.0),
    ("rand_pareto_h", 0.2),
    ("rand_seed", 0.0),
    ("rand_spec_iter", 12.0),
    ("rand_spec_pct", 1.0),
    ("rand_spec_res", 75.0),
    ("rand_zipfian_exp", 0.8),
    ("rate", 0.0),
    ("report_interval", 0.0),
    ("thread_stack_size", 65_536.0),
    ("time", 10.0),
    ("tx_rate", 0.0),
];
const FLAGS: [&str; 8] =
    ["db_debug", "debug", "histogram", "mysql_compression", "mysql_debug", "mysql_dry_run", "mysql_ssl", "validate"];
const TEXTS: [(&str, &str); 13] = [
    ("db_driver", "mysql"),
    ("db_ps_mode", "auto"),
    ("forced_shutdown", "off"),
    ("mysql_db", "sbtest"),
    ("mysql_password", ""),
    ("mysql_ssl_cipher", ""),
    ("mysql_user", "sbtest"),
    ("pgsql_db", "sbtest"),
    ("pgsql_host", "localhost"),
    ("pgsql_password", ""),
    ("pgsql_user", "sbtest"),
    ("rand_type", "special"),
    ("config_file", ""),
];
const LISTS: [(&str, &[&str]); 5] = [
    ("mysql_host", &["localhost"]),
    ("mysql_ignore_errors", &["1213", "1020", "1205"]),
    ("mysql_port", &["3306"]),
    ("mysql_socket", &[]),
    ("report_checkpoints", &[]),
];

/// sysbench's own options with their defaults.
pub fn program() -> Values {
    let numbers = NUMBERS.iter().map(|(name, default)| (*name, Setting::Number(*default)));
    let flags = FLAGS.iter().map(|name| (*name, Setting::Flag(false)));
    let texts = TEXTS.iter().map(|(name, default)| (*name, Setting::Text((*default).to_owned())));
    let list = |words: &[&str]| Setting::List(words.iter().map(|word| (*word).to_owned()).collect());
    let lists = LISTS.iter().map(|(name, words)| (*name, list(words)));
    let more = [("threads", Setting::Number(1.0)), ("verbosity", Setting::Number(3.0))];
    let all = numbers.chain(flags).chain(texts).chain(lists).chain(more);
    all.map(|(name, setting)| (name.to_owned(), setting)).collect()
}

/// What `sysbench.cmdline.options` declares, in the order of names.
pub fn declared(options: &Table) -> Result<Vec<Declared>, String> {
    let mut found = Vec::new();
    for pair in options.pairs::<String, Table>() {
        let wrong = "sysbench.cmdline.options: name = { \"text\", default } was expected";
        let (name, entry) = pair.map_err(|_| wrong.to_owned())?;
        let text = entry.get(1).map_err(|_| wrong.to_owned())?;
        let default = match entry.get::<Value>(2).map_err(|_| wrong.to_owned())? {
            Value::Nil => None,
            Value::Boolean(flag) => Some(Setting::Flag(flag)),
            Value::Table(words) => Some(Setting::List(words.sequence_values().filter_map(Result::ok).collect())),
            Value::String(text) => Some(Setting::Text(text.to_string_lossy())),
            Value::Integer(number) => Some(Setting::Number(number as f64)),
            other => match other.as_f64() {
                Some(number) => Some(Setting::Number(number)),
                None => return Err(format!("sysbench.cmdline.options: `{name}` has a default of no known kind")),
            },
        };
        let kind = match entry.get::<Option<usize>>(3) {
            Ok(None) => Some(Kind::of_default(default.as_ref())),
            Ok(Some(kind)) => kind.checked_sub(1).and_then(|at| Kind::IN_ORDER.get(at)).copied(),
            Err(_) => None,
        };
        let kind = kind.ok_or_else(|| format!("sysbench.cmdline.options: `{name}` has a type of no known kind"))?;
        if entry.get::<Option<Function>>(4).is_err() {
            return Err(format!("sysbench.cmdline.options: the check of `{name}` is no function"));
        }
        // A default may be written as it would be given.
        let default = match default {
            Some(default) if Kind::of_default(Some(&default)) != Kind::of_default(Some(&kind.empty())) => {
                let given = OptionValue::Text(default.to_string());
                Some(
                    setting(&given, &kind.empty())
                        .map_err(|expected| format!("sysbench.cmdline.options: `{name}`: {expected}"))?,
                )
            }
            default => default,
        };
        found.push(Declared { name: name.replace('-', "_"), text, default, kind });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The given options over all defaults. A script that declares none takes any, as sysbench 0.5 did.
pub fn resolve(given: &BTreeMap<String, OptionValue>, declared: Option<&[Declared]>) -> Result<Values, String> {
    let (mut values, mut whole) = (program(), BTreeSet::new());
    for option in declared.into_iter().flatten() {
        values.insert(option.name.clone(), option.default.clone().unwrap_or(Setting::Text(String::new())));
        if option.kind == Kind::Int {
            whole.insert(option.name.as_str());
        }
    }
    for (name, value) in given {
        let name = name.replace('-', "_");
        let setting = match values.get(&name) {
            Some(_) if whole.contains(name.as_str()) => {
                whole_number(value).map_err(|expected| format!("--{name}: {expected}"))?
            }
            Some(default) => setting(value, default).map_err(|expected| format!("--{name}: {expected}"))?,
            None if declared.is_none() => setting(value, &Setting::Text(String::new()))?,
            None => return Err(unknown(&name, value, &values)),
        };
        values.insert(name, setting);
    }
    Ok(values)
}

fn unknown(name: &str, value: &OptionValue, values: &Values) -> String {
    let near = values.keys().map(|known| (strsim::jaro_winkler(name, known), known));
    let near = near.filter(|(likeness, _)| *likeness > 0.8).max_by(|one, other| one.0.total_cmp(&other.0));
    let near = near.map_or(String::new(), |(_, known)| format!("; did you mean --{known}?"));
    let value = value.to_string();
    format!("invalid option: --{name}={}{near}", value.trim_matches('"'))
}

/// A value in the kind of the default.
fn setting(value: &OptionValue, default: &Setting) -> Result<Setting, String> {
    let text = match value {
        OptionValue::Text(text) => text.clone(),
        OptionValue::List(words) => words.join(","),
        other => other.to_string(),
    };
    match default {
        Setting::Flag(_) => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" | "yes" => Ok(Setting::Flag(true)),
            "off" | "false" | "0" | "no" => Ok(Setting::Flag(false)),
            _ => Err(format!("on or off was expected, not `{text}`")),
        },
        Setting::Number(_) => number(&text).map(Setting::Number),
        Setting::Text(_) => Ok(Setting::Text(text)),
        Setting::List(_) => {
            Ok(Setting::List(text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()))
        }
    }
}

/// Of options that the script declares as `ARG_INT`.
fn whole_number(value: &OptionValue) -> Result<Setting, String> {
    let text = value.to_string();
    let number = text.trim_matches('"').parse::<i64>();
    number.map(|number| Setting::Number(number as f64)).map_err(|_| format!("a whole number was expected, not {text}"))
}

/// `10K`, `5M` and `1G` are multiples of 1024, as sysbench reads numbers.
fn number(text: &str) -> Result<f64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1024.0),
        Some((at, 'm' | 'M')) => (&text[..at], 1024.0 * 1024.0),
        Some((at, 'g' | 'G')) => (&text[..at], 1024.0 * 1024.0 * 1024.0),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(|number| number * factor).ok_or_else(|| format!("a number was expected, not `{text}`"))
}

/// The distributions of `sysbench.rand`.
pub fn shapes(values: &Values) -> Result<Shapes, String> {
    let number = |name: &str, least: f64, most: f64| match values.get(name) {
        Some(Setting::Number(number)) if (least..=most).contains(number) => Ok(*number),
        _ => Err(format!("--{name}: a number from {least} to {most} was expected")),
    };
    let Some(Setting::Text(name)) = values.get("rand_type") else { unreachable!("sysbench has the option") };
    let default = Shapes::NAMES.iter().position(|known| known == name);
    let expected = || format!("--rand-type: one of {} was expected, not `{name}`", Shapes::NAMES.join(", "));
    Ok(Shapes {
        special: Special {
            iterations: number("rand_spec_iter", 1.0, 1e6)? as u64,
            percent: number("rand_spec_pct", 0.0, 100.0)? as u64,
            reserved: number("rand_spec_res", 0.0, 100.0)? as u64,
        },
        pareto_h: number("rand_pareto_h", 0.000_001, 0.999_999)?,
        zipfian_exponent: number("rand_zipfian_exp", 0.0, 100.0)?,
        default: default.ok_or_else(expected)?,
    })
}

/// As sysbench lists them.
pub fn help(path: &str, declared: &[Declared]) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = if name == path { name } else { name.strip_suffix(".lua").unwrap_or(name) };
    let words = declared.iter().map(|option| {
        let default = option.default.as_ref().map_or(String::new(), |default| format!(" [{default}]"));
        let form = option.kind.form();
        (format!("--{}{form}", option.name), format!("{}{default}", option.text))
    });
    let words: Vec<(String, String)> = words.collect();
    let width = words.iter().map(|(option, _)| option.len()).max().unwrap_or(0);
    let lines = words.iter().map(|(option, text)| format!("  {option:width$} {text}\n"));
    format!("{name} options:\n{}\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<Declared> {
        let declared = |name: &str, default: Option<Setting>| Declared {
            name: name.to_owned(),
            text: "a text".to_owned(),
            kind: Kind::of_default(default.as_ref()),
            default,
        };
        vec![
            declared("f", Some(Setting::Flag(false))),
            declared("l", Some(Setting::List(vec!["a".to_owned(), "b".to_owned()]))),
            declared("n", Some(Setting::Number(3.0))),
            declared("u", None),
        ]
    }

    #[test]
    fn values_have_the_kind_of_their_default() {
        let check = |name: &str, text: &str, expected: Result<Setting, &str>| {
            let given = BTreeMap::from([(name.to_owned(), OptionValue::Text(text.to_owned()))]);
            match (resolve(&given, Some(&options())), expected) {
                (Ok(values), Ok(expected)) => assert_eq!(values[&name.replace('-', "_")], expected, "{name}={text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{name}={text}: {why}"),
                other => panic!("{name}={text}: {other:?}"),
            }
        };
        check("f", "on", Ok(Setting::Flag(true)));
        check("f", "maybe", Err("--f: on or off was expected"));
        check("n", "4.5", Ok(Setting::Number(4.5)));
        check("n", "2K", Ok(Setting::Number(2048.0)));
        check("n", "many", Err("--n: a number was expected, not `many`"));
        check("l", "x,y", Ok(Setting::List(vec!["x".to_owned(), "y".to_owned()])));
        check("u", "7", Ok(Setting::Text("7".to_owned())));
        check("rand-spec-pct", "5", Ok(Setting::Number(5.0)));
        check("bad", "1", Err("invalid option: --bad=1"));
        check("thread", "1", Err("did you mean --threads?"));
    }

    #[test]
    fn a_script_without_options_takes_any() {
        let given = BTreeMap::from([("oltp-table-size".to_owned(), OptionValue::Text("5".to_owned()))]);
        assert_eq!(resolve(&given, None).unwrap()["oltp_table_size"], Setting::Text("5".to_owned()));
        assert!(resolve(&given, Some(&[])).is_err());
    }

    #[test]
    fn help_is_in_sysbenchs_layout() {
        let expected = "\
h.lua options:
  --f[=on|off]   a text [off]
  --l=[LIST,...] a text [a,b]
  --n=N          a text [3]
  --u=STRING     a text

";
        assert_eq!(help("h.lua", &options()), expected);
    }

    #[test]
    fn distributions_follow_the_options() {
        let mut values = program();
        assert_eq!(shapes(&values).unwrap().default, 2);
        values.insert("rand_type".to_owned(), Setting::Text("pareto".to_owned()));
        assert_eq!(shapes(&values).unwrap().default, 3);
        values.insert("rand_type".to_owned(), Setting::Text("normal".to_owned()));
        assert!(shapes(&values).unwrap_err().contains("--rand-type: one of uniform, gaussian"));
    }
}
