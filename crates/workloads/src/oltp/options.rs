//! The options of the OLTP workloads, under sysbench's names.

use super::script::Mix;
use load::{COMPAT, Distribution, NO_COMPAT, OptionError, OptionSpec, Options, Special};

pub const COMPAT_MODERN: OptionSpec = OptionSpec::new(
    COMPAT,
    NO_COMPAT,
    "sysbench-1.0: its distribution, its counting by result, and its retries with new values; none: dbduel's own",
);
/// The options that shape tables, and `compat`, which every script of a version has.
pub const OF_TABLES: &[OptionSpec] = &[
    TABLES,
    ROWS,
    COMPAT_MODERN,
    AUTO_INC,
    SECONDARY,
    CREATE_SECONDARY,
    MYSQL_STORAGE_ENGINE,
    CREATE_TABLE_OPTIONS,
    PGSQL_VARIANT,
];
pub const TABLES: OptionSpec = OptionSpec::new("tables", "1", "number of tables");
pub const ROWS: OptionSpec = OptionSpec::new("rows", "100000", "rows per table").alias(&["table_size"]);
pub const RAND_TYPE: OptionSpec = OptionSpec::new(
    "rand_type",
    "uniform",
    "distribution of ids, in the load and in the run: uniform, gaussian, special, pareto or zipfian. The default of \
     sysbench, special, sends 75 % of the draws to 1 % of the rows, so it measures a cache, and every version defined \
     it differently; compat brings it",
)
.beside_compat("special");
pub const RAND_SPEC_ITER: OptionSpec =
    OptionSpec::new("rand_spec_iter", "12", "uniform draws whose mean is one draw of gaussian, also inside special")
        .alias(&["dist_iter"]);
pub const RAND_SPEC_PCT: OptionSpec =
    OptionSpec::new("rand_spec_pct", "1", "special: width of the preferred middle, in percent of the rows")
        .alias(&["dist_pct"]);
pub const RAND_SPEC_RES: OptionSpec =
    OptionSpec::new("rand_spec_res", "75", "special: percentage of draws that go to the middle").alias(&["dist_res"]);
pub const RAND_PARETO_H: OptionSpec =
    OptionSpec::new("rand_pareto_h", "0.2", "pareto: this share of the ids takes the rest of the draws");
pub const RAND_ZIPFIAN_EXP: OptionSpec =
    OptionSpec::new("rand_zipfian_exp", "0.8", "zipfian: the m-th id is drawn in proportion to m to the minus this");
pub const AUTO_INC: OptionSpec =
    OptionSpec::new("auto_inc", "true", "the server numbers rows; false: plain ids that the clients choose");
pub const SECONDARY: OptionSpec =
    OptionSpec::new("secondary", "false", "an index on id that is not unique, in place of the primary key");
pub const CREATE_SECONDARY: OptionSpec = OptionSpec::new("create_secondary", "true", "an index on k");
pub const MYSQL_STORAGE_ENGINE: OptionSpec =
    OptionSpec::new("mysql_storage_engine", "innodb", "storage engine of the tables on MySQL and MariaDB")
        .alias(&["mysql_table_engine"]);
pub const CREATE_TABLE_OPTIONS: OptionSpec =
    OptionSpec::new("create_table_options", "", "SQL behind CREATE TABLE, such as ROW_FORMAT=COMPRESSED")
        .alias(&["mysql_table_options"]);
pub const PGSQL_VARIANT: OptionSpec =
    OptionSpec::new("pgsql_variant", "", "redshift: no index on k, and no delete with insert in a transaction");
pub const DB_PS_MODE: OptionSpec =
    OptionSpec::new("db_ps_mode", "auto", "auto: prepared statements; disable: statements as text");
pub const SKIP_TRX: OptionSpec =
    OptionSpec::new("skip_trx", "false", "no BEGIN and COMMIT: every statement commits itself");
pub const RANGE_SIZE: OptionSpec = OptionSpec::new("range_size", "100", "ids in a range select");
pub const RANGE_SELECTS: OptionSpec =
    OptionSpec::new("range_selects", "true", "false leaves out all four kinds of range selects");
pub const POINT_SELECTS: OptionSpec = count("point_selects", "10");
pub const SIMPLE_RANGES: OptionSpec = count("simple_ranges", "1");
pub const SUM_RANGES: OptionSpec = count("sum_ranges", "1");
pub const ORDER_RANGES: OptionSpec = count("order_ranges", "1");
pub const DISTINCT_RANGES: OptionSpec = count("distinct_ranges", "1");
pub const INDEX_UPDATES: OptionSpec = count("index_updates", "1");
pub const NON_INDEX_UPDATES: OptionSpec = count("non_index_updates", "1");
pub const DELETE_INSERTS: OptionSpec = count("delete_inserts", "1");
pub const RANDOM_POINTS: OptionSpec = OptionSpec::new("random_points", "10", "values in the list of a select");
pub const NUMBER_OF_RANGES: OptionSpec = OptionSpec::new("number_of_ranges", "10", "ranges in a select");
pub const DELTA: OptionSpec = OptionSpec::new("delta", "5", "distance of a range's ends");

const fn count(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec::new(name, default, "statements of this kind per transaction")
}

/// Most statements of one kind in a transaction, and most values in a list.
const COUNT_MAX: u64 = 10_000;

/// How many statements of one kind a transaction has.
pub fn statements(options: &Options, name: &str) -> Result<u64, OptionError> {
    options.number(name, 0, COUNT_MAX)
}

/// How many values a list has; PostgreSQL takes 65,535 parameters at most.
pub fn list_length(options: &Options, name: &str) -> Result<usize, OptionError> {
    options.number(name, 1, COUNT_MAX).map(|length| length as usize)
}

pub fn transaction(options: &Options) -> Result<bool, OptionError> {
    options.flag("skip_trx").map(|skip| !skip)
}

/// The reads of a transaction; 0.4 has no option that leaves out all ranges at once.
pub fn reads(options: &Options, ranges: bool, mix: Mix) -> Result<Mix, OptionError> {
    let count = |name| statements(options, name);
    let ranges = u64::from(ranges);
    Ok(Mix {
        point_selects: count("point_selects")?,
        simple_ranges: count("simple_ranges")? * ranges,
        sum_ranges: count("sum_ranges")? * ranges,
        order_ranges: count("order_ranges")? * ranges,
        distinct_ranges: count("distinct_ranges")? * ranges,
        ..mix
    })
}

pub fn prepares(options: &Options) -> Result<bool, OptionError> {
    options.choice("db_ps_mode", &["auto", "disable"]).map(|chosen| chosen == 0)
}

fn special(options: &Options, reserved_max: u64) -> Result<Special, OptionError> {
    Ok(Special {
        iterations: options.number("rand_spec_iter", 1, 1000)?,
        percent: options.number("rand_spec_pct", 0, 100)?,
        reserved: options.number("rand_spec_res", 0, reserved_max)?,
    })
}

pub fn modern_distribution(options: &Options) -> Result<Distribution, OptionError> {
    let special = special(options, 100)?;
    let h = options.real("rand_pareto_h", 0.000_001, 0.999_999)?;
    let exponent = options.real("rand_zipfian_exp", 0.0, 100.0)?;
    let chosen = [
        Distribution::Uniform,
        Distribution::Gaussian { iterations: special.iterations },
        Distribution::Special(special),
        Distribution::pareto(h),
        Distribution::Zipfian { exponent },
    ];
    Ok(chosen[options.choice("rand_type", &["uniform", "gaussian", "special", "pareto", "zipfian"])?])
}

pub fn classic_distribution(options: &Options) -> Result<Distribution, OptionError> {
    // Its formula divides by what is not reserved.
    let special = special(options, 99)?;
    let chosen = [
        Distribution::SpecialClassic(special),
        Distribution::Uniform,
        Distribution::GaussianClassic { iterations: special.iterations },
    ];
    Ok(chosen[options.choice("rand_type", &["special", "uniform", "gaussian"])?])
}
