//! The load on an embedded engine in a process of its own, which can be killed.
//!
//! dbduel starts itself once more, below a keeper; the arguments say where the database and the ledger are. The process
//! never ends by itself. What it acknowledges stands in the ledger, which survives it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use driver::{Dialect, Endpoint, Login, Target};
use load::{ErrorPolicy, KeepsLedger, Ledger, LedgerShape, Load, LoadOptions, OptionValue, Workload};

use super::Trial;
use engine::keeper::{Kept, Program};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__ledger";

/// Until the first commit.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);
/// A process that nobody kills ends after so long.
const LIFE: Duration = Duration::from_secs(24 * 3600);

pub struct LoadProcess {
    /// Asked for its end from one place at a time.
    kept: std::sync::Mutex<Kept>,
    log: PathBuf,
}

impl LoadProcess {
    pub fn start(trial: &Trial, keeps: &dyn KeepsLedger, target: &Target, ledger: &OwnLedger) -> Result<LoadProcess> {
        let Endpoint::File(database) = &target.endpoint else { bail!("this engine is not embedded") };
        let shape = ledger.ledger.shape();
        let log = trial.folder.join("load.log");
        let own = [
            ("database", database.as_os_str().to_owned()),
            ("ledger", ledger.file.as_os_str().to_owned()),
            ("clients", shape.clients.to_string().into()),
            ("numbers", shape.numbers.to_string().into()),
            ("seed", shape.seed.to_string().into()),
            ("data-seed", trial.data_seed.to_string().into()),
        ];
        let on_connect = target.login.on_connect.iter().map(|sql| ("on-connect", sql.into()));
        let options = keeps.options().into_iter().map(|(name, value)| ("option", format!("{name}={value}").into()));
        let words = own.into_iter().chain(on_connect).chain(options);
        let arguments = words.flat_map(|(name, value): (&str, OsString)| [name.into(), value]);
        let program = Program { cores: trial.client_cpus.cpus.clone(), ..Program::new("/proc/self/exe", &log) };
        let program = program.arg(SUBCOMMAND).args::<OsString>(arguments);
        Ok(LoadProcess { kept: Kept::start(&program)?.into(), log })
    }

    /// Fails where the process has ended by itself.
    pub fn expect_alive(&self) -> Result<()> {
        let exit = self.kept.lock().expect("no thread panics while holding the process").poll()?;
        let Some(exit) = exit else { return Ok(()) };
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        bail!("the process that runs the load {exit}: {}", log.trim());
    }

    /// Waits until the clients work, and returns when the first of them was answered.
    pub fn first_commit_ns(&self, ledger: &Ledger, interrupted: &AtomicBool) -> Result<u64> {
        let begun = Instant::now();
        loop {
            if let Some(first_ns) = ledger.acknowledged_ns().first() {
                return Ok(*first_ns);
            }
            self.expect_alive()?;
            ensure!(!interrupted.load(Ordering::Relaxed), super::Interrupted);
            ensure!(begun.elapsed() < BEGIN_LIMIT, "no client committed within {} s", BEGIN_LIMIT.as_secs());
            std::thread::sleep(POLL);
        }
    }
}

/// What the arguments say.
#[derive(Debug, Default)]
struct Orders {
    database: PathBuf,
    ledger: PathBuf,
    numbers: BTreeMap<String, u64>,
    on_connect: Vec<String>,
    options: BTreeMap<String, OptionValue>,
}

impl Orders {
    fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Orders> {
        let mut orders = Orders::default();
        let mut words = words.into_iter();
        while let Some(name) = words.next() {
            let value = words.next().context("an option without a value")?;
            let text = value.to_string_lossy().into_owned();
            match name.to_str().unwrap_or_default() {
                "database" => orders.database = value.into(),
                "ledger" => orders.ledger = value.into(),
                "on-connect" => orders.on_connect.push(text),
                "option" => {
                    let (name, number) = text.split_once('=').context("an option is NAME=NUMBER")?;
                    orders.options.insert(name.to_owned(), OptionValue::Number(number.parse()?));
                }
                number => drop(orders.numbers.insert(number.to_owned(), text.parse()?)),
            }
        }
        Ok(orders)
    }

    fn number(&self, name: &str) -> Result<u64> {
        self.numbers.get(name).copied().with_context(|| format!("no `{name}`"))
    }

    fn shape(&self) -> Result<LedgerShape> {
        let (clients, numbers, seed) = (self.number("clients")? as u32, self.number("numbers")?, self.number("seed")?);
        Ok(LedgerShape { first_client: 0, clients, numbers, seed })
    }
}

/// Is that process; `build` makes the workload from its options. It ends by being killed, or with an error.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    build: impl FnOnce(&BTreeMap<String, OptionValue>) -> Result<Arc<dyn Workload>>,
) -> ExitCode {
    match Orders::parse(words).and_then(|orders| run(&orders, build(&orders.options)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Into the log of the trial.
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(orders: &Orders, workload: Arc<dyn Workload>) -> Result<()> {
    let shape = orders.shape()?;
    let ledger = Ledger::open(&orders.ledger, shape).context("cannot open the ledger")?;
    let login = Login { on_connect: orders.on_connect.clone(), ..Login::default() };
    let target = Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(orders.database.clone()), login };
    let interrupted = AtomicBool::new(false);
    let options = LoadOptions {
        clients: shape.clients,
        input_seed: shape.seed,
        data_seed: orders.number("data-seed")?,
        ledger: Some(Arc::new(ledger)),
        policy: ErrorPolicy { ignored: workload.ignored_errors(target.dialect), ..ErrorPolicy::default() },
        ..LoadOptions::default()
    };
    let mut load = Load::prepare(&workload, &target, options, &interrupted)?;
    load.warm_up(LIFE, &mut |_| ()).context("the load failed")
}

/// Transactions of one client that a ledger has room for; what is not written takes no space.
pub(super) const NUMBERS: u64 = 1 << 20;

/// A ledger in a file that goes when the trial is over: what it shows is in the record then.
pub(super) struct OwnLedger {
    pub(crate) ledger: Arc<Ledger>,
    file: PathBuf,
}

impl OwnLedger {
    pub(crate) fn new(trial: &Trial, keeps: &dyn KeepsLedger, name: &str, first_client: u32) -> Result<OwnLedger> {
        let file = trial.folder.join(name);
        // An earlier session that was killed may have left it.
        engine::remove_tree(&file)?;
        let seed = trial.planned.input_seed;
        let clients = keeps.clients(trial.clients);
        let shape = LedgerShape { first_client, clients, numbers: NUMBERS, seed };
        let ledger = Ledger::create(&file, shape).with_context(|| format!("cannot make {}", file.display()))?;
        Ok(OwnLedger { ledger: Arc::new(ledger), file })
    }
}

impl Drop for OwnLedger {
    fn drop(&mut self) {
        let _ = engine::remove_tree(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_process_are_read_back() {
        let words = [
            "database",
            "/d/bench.db",
            "ledger",
            "/l",
            "clients",
            "4",
            "numbers",
            "10",
            "seed",
            "7",
            "data-seed",
            "1",
            "on-connect",
            "PRAGMA synchronous = FULL",
            "option",
            "accounts=50",
        ];
        let orders = Orders::parse(words.map(OsString::from)).unwrap();
        assert_eq!(orders.shape().unwrap(), LedgerShape { first_client: 0, clients: 4, numbers: 10, seed: 7 });
        assert_eq!((orders.database, orders.on_connect.len()), (PathBuf::from("/d/bench.db"), 1));
        assert_eq!(orders.options["accounts"], OptionValue::Number(50));
        assert!(Orders::parse(["clients"].map(OsString::from)).is_err());
    }
}
