//! The keys of `[workload] name = "script"`, read into a [`Script`] with its files compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use driver::Dialect;
use load::{DataPlace, ITEMS, OptionError, OptionSpec, OptionValue, Options, OwnData, OwnDataForm, TABLE};

use crate::eval::Scalar;
use crate::fault::{Source, nearest};
use crate::parts::{Part, parts};
use crate::program::{Program, Protocol, Variables, compile};
use crate::rows::{GeneratedTable, column};
use crate::statement::plain;
use crate::workload::{Check, PlainSql, Script, Transaction, When};

/// Keys whose texts are files; the last three are another text for one engine.
const FILE_KEYS: [&str; 4] = ["path", "mysql", "postgres", "sqlite"];

const OF_ENGINES: [&str; 4] = ["mysql", "mariadb", "postgres", "sqlite"];

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "files",
        ITEMS,
        "one SQL file for each transaction: { path, weight, name, mysql, postgres, sqlite }",
    )
    .paths(&["files", "path", "mysql", "postgres", "sqlite"]),
    OptionSpec::new("variables", TABLE, "numbers and switches that scripts may use, such as { scale = 10 }"),
    OptionSpec::new(
        "protocol",
        "prepared",
        "prepared: once by each client; extended: parsed at each execution; simple: as text, with the values in it",
    ),
    OptionSpec::new("setup", ITEMS, "SQL files that make the tables")
        .paths(&["setup", "path", "mysql", "postgres", "sqlite"]),
    OptionSpec::new(
        "restore",
        ITEMS,
        "a dump in place of setup, fed to the engine's client: .sql, .sql.gz, .sql.zst, pg_dump -Fc; with several engines { mysql = \"...\", postgres = \"...\" }",
    )
    .paths(&["restore", "mysql", "mariadb", "postgres", "sqlite"])
    .for_servers(),
    OptionSpec::new(
        "data",
        ITEMS,
        "a stopped server's data directory, or a database file of SQLite, copied for each trial; with several engines { mysql = \"...\", postgres = \"...\" }",
    )
    .paths(&["data", "mysql", "mariadb", "postgres", "sqlite"])
    .for_servers(),
    OptionSpec::new(
        "accept_unclean",
        "false",
        "take data that were not shut down cleanly: recovery then runs once, on the copy",
    ),
    OptionSpec::new("after_load", ITEMS, "SQL files to run behind the rows: indexes, keys").paths(&[
        "after_load",
        "path",
        "mysql",
        "postgres",
        "sqlite",
    ]),
    OptionSpec::new("connect", ITEMS, "a SQL file that each client runs before it starts")
        .paths(&["connect", "path", "mysql", "postgres", "sqlite"]),
    OptionSpec::new("teardown", ITEMS, "SQL files that drop what setup made beside tables")
        .paths(&["teardown", "path", "mysql", "postgres", "sqlite"]),
    OptionSpec::new(
        "checks",
        ITEMS,
        "queries with what they have to bring: { sql, expect, when = load or after }; expect = \"= load\": what it was when loaded",
    ),
    OptionSpec::new("table", ITEMS, "tables whose rows are generated: { name, rows, columns }"),
    OptionSpec::new(
        "latency_limit",
        "off",
        "transactions above it, such as 50ms, are counted; with a rate, those that are later already are skipped",
    ),
    OptionSpec::new("max_tries", "0", "how often a transaction is tried at most; 0: until the trial's end"),
    OptionSpec::new("expect_failures", "0%", "transactions that may fail by a wrong answer, such as 0.1%"),
    OptionSpec::new("options", TABLE, "options of a Lua script, such as { tables = 4 }"),
    OptionSpec::new("writes", "false", "statements that read call functions that write"),
];

/// `0.1%`
fn share(options: &Options) -> Result<f64, OptionError> {
    let text = options.text("expect_failures")?;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.map(|percent| percent / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| OptionError::new("expect_failures", "\"0.1%\" was expected: 0% to 100%"))
}

type Entries = BTreeMap<String, OptionValue>;

/// What is wrong with the key that is being read.
type Read<T> = Result<T, Wrong>;

enum Wrong {
    Value(String),
    InFiles(Vec<String>),
}

impl From<String> for Wrong {
    fn from(expected: String) -> Wrong {
        Wrong::Value(expected)
    }
}

pub fn read(options: &Options) -> Result<Script, OptionError> {
    let protocol = Protocol::ALL[options.choice("protocol", &Protocol::ALL.map(Protocol::name))?];
    let at = |key: &'static str| {
        move |wrong: Wrong| match wrong {
            Wrong::Value(expected) => OptionError::new(key, expected),
            Wrong::InFiles(in_files) => OptionError { in_files, ..OptionError::new(key, "") },
        }
    };
    if *options.value("options") != OptionValue::Table(Entries::new()) {
        return Err(OptionError::new("options", "it belongs to Lua scripts; SQL files have `variables`"));
    }
    let given = variables(options.value("variables")).map_err(at("variables"))?;
    let names = Variables::new(&given);
    let sql = |key: &'static str| plain_files(options.value(key)).map_err(at(key));
    let setup = sql("setup")?;
    expect_one_origin(options)?;
    let tables = tables(options.value("table"), &names).map_err(at("table"))?;
    if !tables.is_empty() && setup.is_empty() {
        let expected = "setup = [\"schema.sql\"] is missing: rows are generated for tables that it makes";
        return Err(OptionError::new("table", expected));
    }
    let transactions = transactions(options.value("files"), &given, protocol).map_err(at("files"))?;
    let has_pipeline = |one: &Transaction| one.programs.iter().any(|(program, _)| program.has_pipeline());
    if protocol == Protocol::Simple && transactions.iter().any(has_pipeline) {
        let expected = "protocol simple has no pipelines: \"extended\" or \"prepared\" was expected";
        return Err(OptionError::new("protocol", expected));
    }
    Ok(Script {
        protocol,
        by_pgbench: false,
        watch: None,
        names: Arc::default(),
        texts: Arc::default(),
        transactions: transactions.into(),
        default_seed: match given.get("default_seed") {
            Some(Scalar::Int(seed)) => Some(*seed),
            _ => None,
        },
        setup,
        after_load: sql("after_load")?,
        connect: sql("connect")?,
        teardown: sql("teardown")?,
        checks: checks(options.value("checks")).map_err(at("checks"))?,
        writes: options.flag("writes")?,
        latency_limit: match options.value("latency_limit") {
            OptionValue::Text(text) if text == "off" => None,
            _ => Some(options.duration("latency_limit")?),
        },
        max_tries: options.number("max_tries", 0, u32::MAX.into())?,
        expect_failures: share(options)?,
        own_data: own_data(options).map_err(|(key, wrong)| at(key)(wrong))?,
        tables,
    })
}

/// Where tables come from; each excludes the others.
const ORIGINS: [&str; 3] = ["setup", "restore", "data"];

fn expect_one_origin(options: &Options) -> Result<(), OptionError> {
    let is_given = |key: &&str| *options.value(key) != OptionValue::Items(Vec::new());
    let given: Vec<&str> = ORIGINS.into_iter().filter(is_given).collect();
    if let [first, second, ..] = given[..] {
        let expected = format!("`{first}` and `{second}` cannot stand together: the tables come from one of them");
        return Err(OptionError::new(second, expected));
    }
    let beside = ["table", "after_load"].into_iter().find(is_given).zip(given.first().filter(|key| **key != "setup"));
    beside.map_or(Ok(()), |(key, origin)| {
        Err(OptionError::new(key, format!("`{key}` and `{origin}` cannot stand together: what is brought is complete")))
    })
}

fn own_data(options: &Options) -> Result<Option<OwnData>, (&'static str, Wrong)> {
    let accept_unclean =
        options.flag("accept_unclean").map_err(|error| ("accept_unclean", Wrong::Value(error.expected)))?;
    let forms = [OwnDataForm::Dump, OwnDataForm::Directory { accept_unclean }];
    let is_given = |form: &OwnDataForm| *options.value(form.key()) != OptionValue::Items(Vec::new());
    let Some(form) = forms.into_iter().find(is_given) else { return Ok(None) };
    let place = |engine: Option<&String>, value: &OptionValue| match value {
        OptionValue::File { path, text } => {
            Ok((engine.cloned(), DataPlace { path: path.into(), identity: text.clone() }))
        }
        other => Err(Wrong::from(format!("a path in quotes was expected, not {other}"))),
    };
    let places = match options.value(form.key()) {
        value @ OptionValue::Table(_) => entries(value, "{ mysql = \"...\" }", &OF_ENGINES, &[])
            .and_then(|entries| entries.iter().map(|(engine, value)| place(Some(engine), value)).collect()),
        value => place(None, value).map(|one| vec![one]),
    };
    places.map(|places| Some(OwnData { key: form.key(), form, places })).map_err(|wrong| (form.key(), wrong))
}

fn items(value: &OptionValue) -> &[OptionValue] {
    match value {
        OptionValue::Items(items) => items,
        single => std::slice::from_ref(single),
    }
}

fn entries<'a>(value: &'a OptionValue, example: &str, known: &[&str], later: &[&str]) -> Read<&'a Entries> {
    let OptionValue::Table(entries) = value else { return Err(format!("{example} was expected, not {value}").into()) };
    if let Some(key) = entries.keys().find(|key| !known.contains(&key.as_str())) {
        let why = match later.contains(&key.as_str()) {
            true => format!("key `{key}` is not built yet"),
            false => format!("unknown key `{key}`; {}", nearest(key, known.iter().copied())),
        };
        return Err(why.into());
    }
    Ok(entries)
}

fn variables(value: &OptionValue) -> Read<BTreeMap<String, Scalar>> {
    let OptionValue::Table(entries) = value else {
        return Err(format!("{{ scale = 10 }} was expected, not {value}").into());
    };
    let scalar = |(name, value): (&String, &OptionValue)| match value {
        OptionValue::Number(number) => Ok((name.clone(), Scalar::Int(*number))),
        OptionValue::Real(number) => Ok((name.clone(), Scalar::Double(*number))),
        OptionValue::Flag(flag) => Ok((name.clone(), Scalar::Bool(*flag))),
        other => Err(format!("`{name}` is {other}; a number, true or false was expected").into()),
    };
    entries.iter().map(scalar).collect()
}

/// The texts of a file and of its other forms for some engines.
fn sources(value: &OptionValue, keys: &[&str]) -> Read<[Source; 3]> {
    let source = |value: &OptionValue| match value {
        OptionValue::File { path, text } => Ok(Source { path: path.clone(), text: text.clone() }),
        other => Err(Wrong::from(format!("a path in quotes was expected, not {other}"))),
    };
    if !matches!(value, OptionValue::Table(_)) {
        return source(value).map(|one| [one.clone(), one.clone(), one]);
    }
    let entries = entries(value, "{ path = \"a.sql\" }", keys, &["mariadb"])?;
    let path = entries.get("path").ok_or("`path` is missing: { path = \"a.sql\" } was expected".to_owned())?;
    let path = source(path)?;
    let of = |dialect: Dialect| entries.get(dialect.name()).map_or_else(|| Ok(path.clone()), source);
    Ok([of(Dialect::MySql)?, of(Dialect::Postgres)?, of(Dialect::Sqlite)?])
}

fn plain_files(value: &OptionValue) -> Read<Vec<PlainSql>> {
    let mut files = Vec::new();
    for item in items(value) {
        let sources = sources(item, &FILE_KEYS)?;
        let cut = |source: &Source| plain(&source.text).map_err(|fault| Wrong::InFiles(vec![source.told(&fault)]));
        let [mysql, postgres, sqlite] = &sources;
        files.push(PlainSql([cut(mysql)?, cut(postgres)?, cut(sqlite)?]));
    }
    Ok(files)
}

const WEIGHT_MAX: i64 = 2_147_483_647;

fn transactions(value: &OptionValue, given: &BTreeMap<String, Scalar>, protocol: Protocol) -> Read<Vec<Transaction>> {
    let mut names = Variables::new(given);
    names.as_text = protocol == Protocol::Simple;
    let (mut found, mut faults) = (Vec::<Transaction>::new(), Vec::new());
    for item in items(value) {
        let sources = sources(item, &["path", "mysql", "postgres", "sqlite", "weight", "name"])?;
        let entry = |key: &str| if let OptionValue::Table(entries) = item { entries.get(key) } else { None };
        let weight = match entry("weight") {
            None => 1,
            Some(OptionValue::Number(weight)) if (0..=WEIGHT_MAX).contains(weight) => *weight as u64,
            Some(other) => return Err(format!("weight is {other}; 0 to {WEIGHT_MAX} was expected").into()),
        };
        let name = match entry("name") {
            None => None,
            Some(OptionValue::Text(name)) => Some(name.clone()),
            Some(other) => return Err(format!("name is {other}; a text was expected").into()),
        };
        for (name, weight, sources) in of_file(name, weight, sources)? {
            expect_new_name(&name, &found)?;
            let programs = compiled(&sources, &names, &mut faults);
            let paths = sources.map(|source| source.path);
            found.extend(programs.map(|programs| Transaction { name, weight, programs, paths }));
        }
    }
    if !faults.is_empty() {
        return Err(Wrong::InFiles(faults));
    }
    if found.is_empty() {
        return Err("files = [{ path = \"order.sql\" }] was expected: one file for each transaction".to_owned().into());
    }
    if found.iter().all(|one| one.weight == 0) {
        return Err("total script weight must not be zero".to_owned().into());
    }
    Ok(found)
}

/// The transactions of a file: itself, or those that its notes begin, which are the same in each of its texts.
fn of_file(name: Option<String>, weight: u64, sources: [Source; 3]) -> Read<Vec<(String, u64, [Source; 3])>> {
    let read = |source: &Source| parts(source).map_err(|fault| Wrong::InFiles(vec![source.told(&fault)]));
    let [mysql, postgres, sqlite] = [read(&sources[0])?, read(&sources[1])?, read(&sources[2])?];
    let titles = |parts: &[Part]| parts.iter().map(|part| (part.name.clone(), part.weight)).collect::<Vec<_>>();
    let path = &sources[0].path;
    if let Some(other) =
        [(&postgres, &sources[1]), (&sqlite, &sources[2])].iter().find(|(parts, _)| titles(parts) != titles(&mysql))
    {
        let other = &other.1.path;
        return Err(format!(
            "{path} and {other} have other transactions: the same `-- transaction:` notes were expected"
        )
        .into());
    }
    if mysql.is_empty() {
        return Ok(vec![(name.unwrap_or_else(|| name_of(path)), weight, sources)]);
    }
    if let Some(name) = name {
        return Err(format!("name = \"{name}\": {path} names its transactions by `-- transaction:`").into());
    }
    let parts = mysql.into_iter().zip(postgres).zip(sqlite);
    let one = |((mysql, postgres), sqlite): ((Part, Part), Part)| {
        (mysql.name, (weight * mysql.weight).min(WEIGHT_MAX as u64), [mysql.source, postgres.source, sqlite.source])
    };
    Ok(parts.map(one).collect())
}

fn expect_new_name(name: &str, found: &[Transaction]) -> Read<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is no name of a transaction: letters, digits and _ were expected").into());
    }
    match found.iter().any(|other| other.name == name) {
        true => Err(format!("two transactions have the name `{name}`: give one of them another `name`").into()),
        false => Ok(()),
    }
}

type Programs = [(Program, Vec<Scalar>); 3];

/// The text of each dialect, compiled; None where there are faults, which are kept.
fn compiled(sources: &[Source; 3], names: &Variables, faults: &mut Vec<String>) -> Option<Programs> {
    let compiled = |source: &Source| {
        let mut variables = names.clone();
        let program = compile(source, &mut variables);
        program.map(|program| (program, variables.initial)).map_err(|faults| faults.0)
    };
    match sources.each_ref().map(compiled) {
        [Ok(mysql), Ok(postgres), Ok(sqlite)] => Some([mysql, postgres, sqlite]),
        programs => {
            for fault in programs.into_iter().filter_map(Result::err).flatten() {
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
            None
        }
    }
}

/// The file's name without `.sql`, as it may stand in the name of a metric.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.strip_suffix(".sql").unwrap_or(file);
    stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn checks(value: &OptionValue) -> Read<Vec<Check>> {
    const EXAMPLE: &str = "{ sql = \"SELECT count(*) FROM customer\", expect = \"100000\", when = \"load\" }";
    let check = |item: &OptionValue| {
        let entries = entries(item, EXAMPLE, &["sql", "expect", "when"], &[])?;
        let text = |key: &str| match entries.get(key) {
            Some(OptionValue::Text(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Wrong::from(format!("{key} is {other}; a text in quotes was expected"))),
            None => Ok(None),
        };
        let (sql, expect) = (text("sql")?, text("expect")?);
        let (Some(sql), Some(expect)) = (sql, expect) else { return Err(format!("{EXAMPLE} was expected").into()) };
        let when = text("when")?;
        if expect == "= load" {
            return match when.as_deref() {
                None | Some("after") => Ok(Check::Kept { sql }),
                Some(_) => Err("expect = \"= load\" needs when = \"after\"".to_owned().into()),
            };
        }
        let when = match when.as_deref() {
            None | Some("after") => When::After,
            Some("load") => When::Load,
            Some(other) => return Err(format!("when is \"{other}\"; \"load\" or \"after\" was expected").into()),
        };
        Ok(Check::Value { sql, expect, when })
    };
    items(value).iter().map(check).collect()
}

fn tables(value: &OptionValue, names: &Variables) -> Read<Vec<GeneratedTable>> {
    items(value).iter().map(|item| table(item, names)).collect()
}

fn table(item: &OptionValue, names: &Variables) -> Read<GeneratedTable> {
    const EXAMPLE: &str = "{ name = \"customer\", rows = 1000, columns = { id = \"row\" } }";
    let entries = entries(item, EXAMPLE, &["name", "rows", "rows_per_scale", "columns"], &[])?;
    let Some(OptionValue::Text(name)) = entries.get("name") else {
        return Err(format!("{EXAMPLE} was expected").into());
    };
    let rows = match (entries.get("rows"), entries.get("rows_per_scale")) {
        (Some(OptionValue::Number(rows)), None) => Some(*rows),
        (None, Some(OptionValue::Number(rows))) => match names.find("scale").map(|slot| names.initial[slot]) {
            Some(Scalar::Int(scale)) => rows.checked_mul(scale),
            _ => None,
        },
        _ => None,
    };
    let rows = rows.and_then(|rows| u64::try_from(rows).ok()).filter(|rows| *rows > 0);
    let rows = rows.ok_or(format!("table `{name}`: rows = 1000, or rows_per_scale = 1000, was expected"))?;
    let Some(OptionValue::Table(columns)) = entries.get("columns") else {
        return Err(format!("table `{name}`: columns = {{ id = \"row\" }} was expected").into());
    };
    let column = |(key, value): (&String, &OptionValue)| {
        let OptionValue::Text(text) = value else {
            return Err(Wrong::from(format!("{name}.{key} is {value}; a generator in quotes was expected")));
        };
        let made = column(text, rows, names).map_err(|fault| {
            let shown = Source { path: format!("{name}.{key}"), text: text.clone() }.told(&fault);
            Wrong::from(shown.replace('\n', "\n  "))
        })?;
        Ok((key.clone(), made))
    };
    Ok(GeneratedTable { name: name.clone(), rows, columns: columns.iter().map(column).collect::<Read<_>>()? })
}
