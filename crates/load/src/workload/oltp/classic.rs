//! The built-in test of sysbench 0.4.12, `--test=oltp`, as articles before 2012 ran it.

use super::options::*;
use super::rules::Rules;
use super::schema::{ROWS_MAX, Schema};
use super::{Mix, Oltp, Script};
use crate::workload::options::COMPAT;
use crate::workload::{OptionError, OptionSpec, Options, WorkloadKind};

pub const CLASSIC: WorkloadKind = WorkloadKind {
    name: "oltp",
    description: "sysbench 0.4.12: --test=oltp in mode simple, complex or nontrx, as in articles before 2012",
    example: "name = \"oltp\"\ncompat = \"sysbench-0.4\"\nmode = \"complex\"\nrows = 100_000",
    options: &[
        ROWS,
        OptionSpec::new(COMPAT, "sysbench-0.4", "whose rules to follow; sysbench-0.4 is what `oltp` knows"),
        OptionSpec::new(
            "mode",
            "complex",
            "simple: one point select; complex: a transaction; nontrx: one statement of `nontrx_mode`",
        )
        .alias(&["test_mode"]),
        OptionSpec::new("nontrx_mode", "select", "select, update_key, update_nokey, insert or delete"),
        OptionSpec::new("read_only", "false", "complex without its writes"),
        OptionSpec::new("write_only", "false", "complex without its reads"),
        SKIP_TRX,
        RANGE_SIZE,
        POINT_SELECTS,
        SIMPLE_RANGES,
        SUM_RANGES,
        ORDER_RANGES,
        DISTINCT_RANGES,
        INDEX_UPDATES,
        NON_INDEX_UPDATES,
        OptionSpec::new("rand_type", "special", "distribution of ids: special, uniform or gaussian")
            .alias(&["dist_type"]),
        RAND_SPEC_ITER,
        RAND_SPEC_PCT,
        RAND_SPEC_RES,
        AUTO_INC,
        SECONDARY,
        OptionSpec::new("table_name", "sbtest", "name of the table"),
        MYSQL_STORAGE_ENGINE,
        DB_PS_MODE,
    ],
    build: |options| Ok(Box::new(build(options)?)),
};

pub(super) fn build(options: &Options) -> Result<Oltp, OptionError> {
    options.choice(COMPAT, &["sysbench-0.4"])?;
    Ok(Oltp {
        schema: Schema::classic(options)?,
        rules: Rules::Classic,
        ids: classic_distribution(options)?,
        range_size: options.number("range_size", 1, ROWS_MAX)?,
        prepares: prepares(options)?,
        script: script(options)?,
    })
}

fn script(options: &Options) -> Result<Script, OptionError> {
    let single = Mix::default();
    let nontrx = [
        Script::PadSelect,
        Script::Mix(Mix { index_updates: 1, ..single }),
        Script::Mix(Mix { non_index_updates: 1, ..single }),
        Script::FreshInsert,
        Script::UniqueDelete,
    ];
    let words = ["select", "update_key", "update_nokey", "insert", "delete"];
    let nontrx = nontrx[options.choice("nontrx_mode", &words)?];
    let modes = [Script::Mix(Mix { point_selects: 1, ..single }), Script::Mix(complex(options)?), nontrx];
    Ok(modes[options.choice("mode", &["simple", "complex", "nontrx"])?])
}

fn complex(options: &Options) -> Result<Mix, OptionError> {
    let (read_only, write_only) = (options.flag("read_only")?, options.flag("write_only")?);
    if read_only && write_only {
        return Err(options.error("write_only", "a transaction with reads or with writes was expected".to_owned()));
    }
    let mut mix = Mix { transaction: transaction(options)?, ..Mix::default() };
    if !write_only {
        mix = reads(options, true, mix)?;
    }
    if !read_only {
        mix.index_updates = statements(options, "index_updates")?;
        mix.non_index_updates = statements(options, "non_index_updates")?;
        mix.update_before_delete = true;
        mix.delete_inserts = 1;
    }
    Ok(mix)
}
