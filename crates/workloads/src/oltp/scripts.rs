//! The scripts of sysbench 1.0: what each is called, which options it has, and what they make of it.

use super::options::*;
use super::rules::Rules;
use super::schema::{ROWS_MAX, Schema};
use super::script::{ClassicWays, Mix, Oltp, Script};
use load::{OptionError, OptionSpec, Options, Workload, WorkloadKind};

/// The options that every script has, with its own in front.
macro_rules! script_options {
    ($($own:expr),* $(,)?) => {
        &[
            TABLES, ROWS, $($own,)* COMPAT_MODERN, RAND_TYPE, RAND_SPEC_ITER, RAND_SPEC_PCT, RAND_SPEC_RES,
            RAND_PARETO_H, RAND_ZIPFIAN_EXP, AUTO_INC, SECONDARY, CREATE_SECONDARY, MYSQL_STORAGE_ENGINE,
            CREATE_TABLE_OPTIONS, PGSQL_VARIANT, DB_PS_MODE,
        ]
    };
}

const READ_WRITE_OPTIONS: &[OptionSpec] = script_options![
    SKIP_TRX,
    RANGE_SIZE,
    RANGE_SELECTS,
    POINT_SELECTS,
    SIMPLE_RANGES,
    SUM_RANGES,
    ORDER_RANGES,
    DISTINCT_RANGES,
    INDEX_UPDATES,
    NON_INDEX_UPDATES,
    DELETE_INSERTS,
];

pub const POINT_SELECT: WorkloadKind = WorkloadKind {
    name: "oltp_point_select",
    description: "sysbench 1.0: one SELECT by primary key, autocommit",
    example: "name = \"oltp_point_select\"\nrows = 100_000",
    options: script_options![],
    build: |options| boxed(point_select(options)),
};

pub const READ_ONLY: WorkloadKind = WorkloadKind {
    name: "oltp_read_only",
    description: "sysbench 1.0: 10 point selects and 4 range selects in a transaction",
    example: "name = \"oltp_read_only\"\nrows = 100_000\ntables = 1",
    options: script_options![
        SKIP_TRX,
        RANGE_SIZE,
        RANGE_SELECTS,
        POINT_SELECTS,
        SIMPLE_RANGES,
        SUM_RANGES,
        ORDER_RANGES,
        DISTINCT_RANGES,
    ],
    build: |options| boxed(read_only(options)),
};

pub const WRITE_ONLY: WorkloadKind = WorkloadKind {
    name: "oltp_write_only",
    description: "sysbench 1.0: 2 updates, a delete and an insert in a transaction",
    example: "name = \"oltp_write_only\"\nrows = 100_000",
    options: script_options![SKIP_TRX, INDEX_UPDATES, NON_INDEX_UPDATES, DELETE_INSERTS],
    build: |options| boxed(write_only(options)),
};

pub const READ_WRITE: WorkloadKind = WorkloadKind {
    name: "oltp_read_write",
    description: "sysbench 1.0: the reads of oltp_read_only and the writes of oltp_write_only in a transaction",
    example: "name = \"oltp_read_write\"\nrows = 100_000\ntables = 1",
    options: READ_WRITE_OPTIONS,
    build: |options| boxed(read_write(options)),
};

pub const UPDATE_INDEX: WorkloadKind = WorkloadKind {
    name: "oltp_update_index",
    description: "sysbench 1.0: an update of an indexed column by primary key, autocommit",
    example: "name = \"oltp_update_index\"\nrows = 100_000",
    options: script_options![INDEX_UPDATES],
    build: |options| boxed(update_index(options)),
};

pub const UPDATE_NON_INDEX: WorkloadKind = WorkloadKind {
    name: "oltp_update_non_index",
    description: "sysbench 1.0: an update of a column without index by primary key, autocommit",
    example: "name = \"oltp_update_non_index\"\nrows = 100_000",
    options: script_options![NON_INDEX_UPDATES],
    build: |options| boxed(update_non_index(options)),
};

pub const DELETE: WorkloadKind = WorkloadKind {
    name: "oltp_delete",
    description: "sysbench 1.0: a delete by primary key, autocommit; the table drains",
    example: "name = \"oltp_delete\"\nrows = 1_000_000",
    options: script_options![],
    build: |options| boxed(delete(options)),
};

pub const INSERT: WorkloadKind = WorkloadKind {
    name: "oltp_insert",
    description: "sysbench 1.0: an insert as text, autocommit; with auto_inc = false into empty tables, by ids all over",
    example: "name = \"oltp_insert\"\nrows = 100_000",
    options: script_options![],
    build: |options| boxed(insert(options)),
};

pub const RANDOM_POINTS: WorkloadKind = WorkloadKind {
    name: "select_random_points",
    description: "sysbench 1.0: a select of 10 values of an indexed column, autocommit",
    example: "name = \"select_random_points\"\nrows = 100_000",
    options: script_options![super::options::RANDOM_POINTS],
    build: |options| boxed(random_points(options)),
};

pub const RANDOM_RANGES: WorkloadKind = WorkloadKind {
    name: "select_random_ranges",
    description: "sysbench 1.0: a count over 10 ranges of an indexed column, autocommit",
    example: "name = \"select_random_ranges\"\nrows = 100_000",
    options: script_options![NUMBER_OF_RANGES, DELTA],
    build: |options| boxed(random_ranges(options)),
};

/// A script, or 0.4's test, by its name.
pub(super) fn by_name(name: &str, options: &Options) -> Option<Result<Oltp, OptionError>> {
    let build = match name {
        "oltp_point_select" => point_select,
        "oltp_read_only" => read_only,
        "oltp_write_only" => write_only,
        "oltp_read_write" => read_write,
        "oltp_update_index" => update_index,
        "oltp_update_non_index" => update_non_index,
        "oltp_delete" => delete,
        "oltp_insert" => insert,
        "select_random_points" => random_points,
        "select_random_ranges" => random_ranges,
        "oltp" => super::classic::build,
        _ => return None,
    };
    Some(build(options))
}

fn boxed(oltp: Result<Oltp, OptionError>) -> Result<Box<dyn Workload>, OptionError> {
    Ok(Box::new(oltp?))
}

fn point_select(options: &Options) -> Result<Oltp, OptionError> {
    build(options, Script::Mix(Mix { point_selects: 1, ..Mix::default() }))
}

fn read_only(options: &Options) -> Result<Oltp, OptionError> {
    build(options, Script::Mix(script_reads(options, begun(options)?)?))
}

fn write_only(options: &Options) -> Result<Oltp, OptionError> {
    build(options, Script::Mix(script_writes(options, begun(options)?)?))
}

fn read_write(options: &Options) -> Result<Oltp, OptionError> {
    let mix = script_writes(options, script_reads(options, begun(options)?)?)?;
    Ok(Oltp { is_read_write: true, ..build(options, Script::Mix(mix))? })
}

fn update_index(options: &Options) -> Result<Oltp, OptionError> {
    let index_updates = statements(options, "index_updates")?;
    build(options, Script::Mix(Mix { index_updates, ..Mix::default() }))
}

fn update_non_index(options: &Options) -> Result<Oltp, OptionError> {
    let non_index_updates = statements(options, "non_index_updates")?;
    build(options, Script::Mix(Mix { non_index_updates, ..Mix::default() }))
}

fn delete(options: &Options) -> Result<Oltp, OptionError> {
    build(options, Script::Delete)
}

fn insert(options: &Options) -> Result<Oltp, OptionError> {
    build(options, Script::Insert)
}

fn random_points(options: &Options) -> Result<Oltp, OptionError> {
    let points = list_length(options, "random_points")?;
    one_table(build(options, Script::RandomPoints { points })?, options)
}

fn random_ranges(options: &Options) -> Result<Oltp, OptionError> {
    let ranges = list_length(options, "number_of_ranges")?;
    let delta = options.number("delta", 0, ROWS_MAX)?;
    one_table(build(options, Script::RandomRanges { ranges, delta })?, options)
}

fn begun(options: &Options) -> Result<Mix, OptionError> {
    Ok(Mix { transaction: transaction(options)?, ..Mix::default() })
}

fn script_reads(options: &Options, mix: Mix) -> Result<Mix, OptionError> {
    reads(options, options.flag("range_selects")?, mix)
}

fn script_writes(options: &Options, mix: Mix) -> Result<Mix, OptionError> {
    Ok(Mix {
        index_updates: statements(options, "index_updates")?,
        non_index_updates: statements(options, "non_index_updates")?,
        delete_inserts: statements(options, "delete_inserts")?,
        ..mix
    })
}

pub(super) fn rules(options: &Options) -> Result<Rules, OptionError> {
    let known = [Rules::Dbduel, Rules::Modern];
    options.choice("compat", &["none", "sysbench-1.0"]).map(|chosen| known[chosen])
}

fn build(options: &Options, script: Script) -> Result<Oltp, OptionError> {
    let ids = modern_distribution(options)?;
    let mut schema = Schema::modern(options, ids)?;
    schema.loaded = script != Script::Insert || schema.auto_inc;
    let script = match script {
        Script::Mix(mix) if schema.redshift => Script::Mix(Mix { delete_inserts: 0, ..mix }),
        other => other,
    };
    let has_ranges = matches!(script, Script::Mix(mix)
        if mix.simple_ranges + mix.sum_ranges + mix.order_ranges + mix.distinct_ranges > 0);
    Ok(Oltp {
        rules: rules(options)?,
        ids,
        range_size: if has_ranges { options.number("range_size", 1, ROWS_MAX)? } else { 0 },
        // This one script never prepares: parsing its text is the load.
        prepares: prepares(options)? && script != Script::Insert,
        schema,
        script,
        is_read_write: false,
        classic: ClassicWays::default(),
    })
}

fn one_table(oltp: Oltp, options: &Options) -> Result<Oltp, OptionError> {
    if oltp.schema.tables > 1 {
        return Err(options.error("tables", "this script reads one table; 1 was expected".to_owned()));
    }
    Ok(oltp)
}
