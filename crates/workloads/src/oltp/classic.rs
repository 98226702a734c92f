//! The built-in test of sysbench 0.4.12, `--test=oltp`, as articles before 2012 ran it.

use super::brackets::Brackets;
use super::options::*;
use super::rules::Rules;
use super::schema::{ROWS_MAX, Schema};
use super::script::{ClassicWays, Mix, Oltp, Script};
use load::{COMPAT, OptionError, OptionSpec, Options, WorkloadKind};

/// A user who rests for longer than a minute before a statement is none that a benchmark emulates.
const DELAY_US_MAX: u64 = 60_000_000;

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
            "simple: one point select; complex: a transaction; nontrx: one statement of `nontrx_mode`; sp: a call of \
             the procedure `sp_name`, with the client's number and how many there are",
        )
        .alias(&["test_mode"]),
        OptionSpec::new("nontrx_mode", "select", "select, update_key, update_nokey, insert or delete"),
        OptionSpec::new("read_only", "false", "complex without its writes"),
        OptionSpec::new("write_only", "false", "complex without its reads"),
        SKIP_TRX,
        RANGE_SIZE,
        POINT_SELECTS,
        OptionSpec::new("point_select_all_cols", "false", "point selects read all columns, and not only c"),
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
        OptionSpec::new("sp_name", "", "mode sp: the procedure, which takes two integers"),
        OptionSpec::new("user_delay_min", "0", "microseconds that the user rests at least before each statement"),
        OptionSpec::new("user_delay_max", "0", "and at most; 0 is no rest"),
        MYSQL_STORAGE_ENGINE,
        CREATE_TABLE_OPTIONS,
        OptionSpec::new(
            "mysql_engine_trx",
            "auto",
            "yes: transactions; no: LOCK TABLES instead of them; auto: as the table's storage engine wants it",
        ),
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
        is_read_write: false,
        classic: ways(options)?,
    })
}

fn ways(options: &Options) -> Result<ClassicWays, OptionError> {
    let brackets = [Brackets::ByEngine, Brackets::Transaction, Brackets::Locks];
    let is_call = options.text("mode")? == "sp";
    Ok(ClassicWays {
        brackets: brackets[options.choice("mysql_engine_trx", &["auto", "yes", "no"])?],
        procedure: if is_call { procedure(options)? } else { String::new() },
        delay_us: delay_us(options)?,
    })
}

fn procedure(options: &Options) -> Result<String, OptionError> {
    match options.text("sp_name")? {
        "" => Err(options.error("sp_name", "the procedure that mode \"sp\" calls was expected".to_owned())),
        _ => options.word("sp_name").map(str::to_owned),
    }
}

/// Least and most, where the user rests at all.
fn delay_us(options: &Options) -> Result<Option<(u64, u64)>, OptionError> {
    let delay = |name| options.number(name, 0, DELAY_US_MAX);
    let (least, most) = (delay("user_delay_min")?, delay("user_delay_max")?);
    if most == 0 && least > 0 {
        return Err(options.error("user_delay_max", format!("at least `user_delay_min`, {least}, was expected")));
    }
    if least > most {
        return Err(options.error("user_delay_min", format!("at most `user_delay_max`, {most}, was expected")));
    }
    Ok((most > 0).then_some((least, most)))
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
    let simple = Mix { point_selects: 1, whole_rows: options.flag("point_select_all_cols")?, ..single };
    let modes = [Script::Mix(simple), Script::Mix(complex(options)?), nontrx, Script::Procedure];
    Ok(modes[options.choice("mode", &["simple", "complex", "nontrx", "sp"])?])
}

fn complex(options: &Options) -> Result<Mix, OptionError> {
    let (read_only, write_only) = (options.flag("read_only")?, options.flag("write_only")?);
    if read_only && write_only {
        return Err(options.error("write_only", "a transaction with reads or with writes was expected".to_owned()));
    }
    let mut mix = Mix { transaction: transaction(options)?, ..Mix::default() };
    if !write_only {
        mix = reads(options, true, mix)?;
        mix.whole_rows = options.flag("point_select_all_cols")?;
    }
    if !read_only {
        mix.index_updates = statements(options, "index_updates")?;
        mix.non_index_updates = statements(options, "non_index_updates")?;
        mix.update_before_delete = true;
        mix.delete_inserts = 1;
    }
    Ok(mix)
}
