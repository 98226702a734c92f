//! What the command line asks for, and the forms of the transactions.

use std::collections::BTreeMap;

use load::OptionValue;

#[derive(clap::Args)]
pub struct ConformTpcc {
    /// A server, as mariadb@system or mysql@5.5.9, or sqlite; may be given several times
    #[arg(long = "engine", default_values = ["mariadb@system", "postgres@system", "sqlite"])]
    pub engines: Vec<String>,
    /// Transactions of each form
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub transactions: u64,
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub clients: u32,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(i64).range(1..))]
    pub warehouses: i64,
    /// Run only this form: rows, batch or procedures
    #[arg(long, default_value = "")]
    pub form: String,
    /// Send statements as text; those that are counted one by one are prepared all the same
    #[arg(long)]
    pub as_text: bool,
    /// Leave out the corruptions, which take a check each
    #[arg(long)]
    pub no_corruptions: bool,
    /// Load, and run nothing but the tests of isolation
    #[arg(long)]
    pub only_isolation: bool,
}

pub const FORMS: [&str; 3] = ["rows", "batch", "procedures"];
/// How Deliveries are run. Queued ones come first: what is in their log is then all that was delivered.
pub const QUEUED: &str = "queued";
pub const WHOLE: &str = "whole";

/// The options of one form, as an experiment would give them.
pub fn given(options: &ConformTpcc, form: &str, delivery: &str) -> BTreeMap<String, OptionValue> {
    let sent = if options.as_text { "disable" } else { "auto" };
    let words = [("form", form), ("delivery", delivery), ("db_ps_mode", sent)];
    let words = words.map(|(name, word)| (name.to_owned(), OptionValue::Text(word.to_owned())));
    let warehouses = ("warehouses".to_owned(), OptionValue::Number(options.warehouses));
    words.into_iter().chain([warehouses]).collect()
}
