//! The options of the TPC-H-derived workload.

use std::sync::Arc;
use std::time::Duration;

use load::{OptionError, OptionSpec, Options};

use super::answer::Known;
use super::parameters::Parameters;
use super::queries::{QUERIES, Query};

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("scale_factor", "0.1", "size of the data, 0.01 at least: 1 is about 1 GB, 8.7 million rows")
        .alias(&["scale"]),
    OptionSpec::new(
        "streams",
        "0",
        "0: a power run, one stream; else a throughput run of so many streams side by side",
    ),
    OptionSpec::new("queries", "[]", "queries to run, such as [\"Q1\", \"Q6\"]; empty for all 22"),
    OptionSpec::new(
        "parameters",
        "drawn",
        "drawn: by the specification's rules from the seed of the block; validation: the specification's own",
    ),
    OptionSpec::new("warm", "true", "each stream runs its queries once before they are measured"),
    OptionSpec::new(
        "refresh",
        "false",
        "power runs: new orders before the queries (RF1), and out again behind them (RF2)",
    ),
    OptionSpec::new("statement_limit", "60s", "a query that takes longer is ended, and stands as not within that time"),
    OptionSpec::new("mysql_storage_engine", "innodb", "storage engine of the tables on MySQL and MariaDB"),
];

const SCALE_FACTOR_MAX: f64 = 100_000.0;
pub const STREAMS_MAX: u64 = 1_000;

/// The workload with all options decided.
#[derive(Debug, Clone)]
pub struct Tpch {
    pub scale_factor: f64,
    /// 0 is a power run.
    pub streams: u32,
    /// By their numbers.
    pub queries: Vec<&'static Query>,
    pub parameters: Parameters,
    pub warm: bool,
    pub refresh: bool,
    pub statement_limit: Duration,
    /// Storage engine on MySQL and MariaDB.
    pub engine: String,
    /// What contenders have answered so far.
    pub known: Arc<Known>,
}

impl Tpch {
    pub fn new(options: &Options) -> Result<Tpch, OptionError> {
        let streams = options.number("streams", 0, STREAMS_MAX)? as u32;
        let refresh = options.flag("refresh")?;
        if refresh && streams > 0 {
            let expected = "refresh functions run in power runs only; leave out one of streams and refresh".to_owned();
            return Err(options.error("refresh", expected));
        }
        Ok(Tpch {
            scale_factor: options.real("scale_factor", 0.01, SCALE_FACTOR_MAX)?,
            streams,
            queries: chosen(options)?,
            parameters: [Parameters::Drawn, Parameters::Validation]
                [options.choice("parameters", &["drawn", "validation"])?],
            warm: options.flag("warm")?,
            refresh,
            statement_limit: options.duration("statement_limit")?,
            engine: options.word("mysql_storage_engine")?.to_owned(),
            known: Arc::default(),
        })
    }

    /// Clients: one for each stream.
    pub fn clients(&self) -> u32 {
        self.streams.max(1)
    }
}

fn chosen(options: &Options) -> Result<Vec<&'static Query>, OptionError> {
    let names = options.list("queries")?;
    let unknown = names.iter().find(|name| QUERIES.iter().all(|query| !query.name.eq_ignore_ascii_case(name)));
    if let Some(name) = unknown {
        return Err(options.error("queries", format!("there is no query `{name}`; Q1 to Q22 were expected")));
    }
    let is_chosen = |query: &&Query| names.is_empty() || names.iter().any(|name| query.name.eq_ignore_ascii_case(name));
    Ok(QUERIES.iter().filter(is_chosen).collect())
}
