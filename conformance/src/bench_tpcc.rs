//! `cargo xtask bench-tpcc`: what a TPC-C-derived transaction costs the client, and how fast warehouses are
//! loaded, beside go-tpc.
//!
//! Both run by turns against one MariaDB, as processes of their own; the figure is the whole process's CPU
//! (user + system) per transaction, and per statement as the server counts them. go-tpc reads the items and the
//! stock of an order at once and inserts its lines at once, which is our form `batch`; the form `rows` sends
//! twice as many statements. Bars hold per transaction all the same. Each connects as it does by default: dbduel
//! by the socket file, go-tpc by TCP on loopback, since it has no socket files; what dbduel costs by TCP
//! stands beside, without a bar.
//! go-tpc is built by the user of this command, from its public source, and found on the PATH or named by
//! `--go-tpc`; it logs in without a password, with an account made for it, so none stands in its arguments.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use driver::{Dialect, Endpoint, Login, Target};
use load::{Load, LoadOptions, Loader, OptionValue, Options, Workload};

use crate::bench::{Spread, done_in_release, warn_if_busy};
use crate::client_programs::run_to_end;
use crate::held::{Held, dbduel};

/// What runs: a form by a transport, and the most that a transaction of it may cost, as a share of what one
/// costs go-tpc.
const OURS: [(&str, Transport, Option<f64>); 5] = [
    ("procedures", Transport::Socket, Some(0.05)),
    ("batch", Transport::Socket, Some(0.3)),
    ("rows", Transport::Socket, Some(0.3)),
    ("procedures", Transport::Tcp, None),
    ("rows", Transport::Tcp, None),
];

/// What one transaction took in one run.
#[derive(Debug, Clone, Copy)]
struct Cost {
    us: f64,
    statements: f64,
}

impl Cost {
    fn us_per_statement(&self) -> f64 {
        self.us / self.statements
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Socket,
    Tcp,
}

/// At least so many times as fast a load, per warehouse.
const LOAD_BAR: f64 = 20.0;
/// One connection loads a warehouse into PostgreSQL in at most so many seconds, indexes included.
const POSTGRES_BAR_SECS: f64 = 3.0;
/// Enough for one connection to be busy, and not for a coffee.
const POSTGRES_WAREHOUSES: i64 = 3;
/// Sessions that load into MariaDB, as in a trial.
const SESSIONS: usize = 4;
/// go-tpc's tables have names that are ours too, so they live in a database of their own.
const THEIR_DATABASE: &str = "gotpc";
/// An account without a password, on a server that listens on loopback and for this benchmark only.
const USER: &str = "bench";

#[derive(clap::Args)]
pub struct BenchTpcc {
    /// The program of go-tpc.
    #[arg(long, default_value = "go-tpc")]
    go_tpc: PathBuf,
    /// Rounds of all generators.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds per run; short ones measure how programs start.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Clients of each run.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Compare the loads instead: so many warehouses of ours with one of go-tpc's, at the server's own durability;
    /// then load into PostgreSQL by one connection.
    #[arg(long, value_name = "WAREHOUSES")]
    load: Option<i64>,
}

pub fn run(options: &BenchTpcc, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let dbduel = dbduel(root)?;
    match options.load {
        Some(warehouses) => compare_loads(options, &dbduel, warehouses),
        None => compare_transactions(options, &dbduel),
    }
}

fn compare_transactions(options: &BenchTpcc, dbduel: &Path) -> Result<()> {
    // A commit that need not wait for the disk: it is the client that is measured.
    let server =
        Held::start_or_fail(dbduel, "mariadb@system", &["--tcp", "innodb_flush_log_at_trx_commit=2", BUFFER_POOL])?;
    make_account(&server)?;
    println!("loading a warehouse for each program; go-tpc needs some minutes");
    let target = target(&server)?;
    load(&target, 1, SESSIONS)?;
    prepare_theirs(options, &server, 1)?;
    println!(
        "client CPU per transaction (user + system), {} clients, by turns, {} rounds",
        options.clients, options.pairs
    );
    let mut costs: [Vec<Cost>; OURS.len() + 1] = Default::default();
    for round in 0..options.pairs as usize {
        for turn in 0..costs.len() {
            let place = (turn + round) % costs.len();
            let before = statements(&server)?;
            let (cpu_us, transactions) = match OURS.get(place) {
                Some((form, transport, _)) => run_ours(options, &server, form, *transport)?,
                None => run_theirs(options, &server)?,
            };
            let sent = statements(&server)? - before;
            costs[place].push(Cost { us: cpu_us / transactions, statements: sent / transactions });
        }
    }
    server.stop()?;
    let mut missed = Vec::new();
    let go_tpc = &costs[OURS.len()];
    println!("go-tpc, tcp: {}", line(go_tpc));
    for ((form, transport, bar), ours) in OURS.iter().zip(&costs) {
        let ratio = |figure: fn(&Cost) -> f64| {
            Spread::of(ours.iter().zip(go_tpc).map(|(ours, theirs)| figure(ours) / figure(theirs)).collect())
        };
        let (by_transaction, by_statement) = (ratio(|cost| cost.us), ratio(Cost::us_per_statement));
        let held = bar.is_none_or(|bar| by_transaction.median <= bar);
        let verdict = match bar {
            Some(bar) => format!(", bar <= {bar} {}", if held { "held" } else { "MISSED" }),
            None => String::new(),
        };
        let transport = if *transport == Transport::Tcp { "tcp" } else { "socket" };
        println!("dbduel, {form}, {transport}: {}", line(ours));
        println!("    of go-tpc's: per statement {by_statement:.3}, per transaction {by_transaction:.3}{verdict}");
        missed.extend((!held).then_some(*form));
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

fn line(costs: &[Cost]) -> String {
    let spread = |figure: fn(&Cost) -> f64| Spread::of(costs.iter().map(figure).collect());
    let statements = spread(|cost| cost.statements).median;
    let (transaction, statement) = (spread(|cost| cost.us), spread(Cost::us_per_statement));
    format!("{transaction:.1} us per transaction, {statements:.1} statements of {statement:.1} us")
}

/// How many statements clients have sent so far; ours are a few, a program's tens of thousands.
fn statements(server: &Held) -> Result<f64> {
    let mut admin = server.admin(server.text("database")?)?;
    let rows = admin.rows("SHOW GLOBAL STATUS LIKE 'Questions'")?;
    let count = rows.first().and_then(|row| row.last()?.as_ref()?.parse().ok());
    count.context("the server counts no questions")
}

/// Holds ten warehouses, so that neither program waits for pages.
const BUFFER_POOL: &str = "innodb_buffer_pool_size=2147483648";

fn compare_loads(options: &BenchTpcc, dbduel: &Path, warehouses: i64) -> Result<()> {
    let server = Held::start_or_fail(dbduel, "mariadb@system", &["--tcp", BUFFER_POOL])?;
    make_account(&server)?;
    let begun = Instant::now();
    load(&target(&server)?, warehouses, SESSIONS)?;
    let ours = begun.elapsed().as_secs_f64() / warehouses as f64;
    println!("dbduel: {ours:.2} s per warehouse ({warehouses} warehouses)");
    let begun = Instant::now();
    prepare_theirs(options, &server, 1)?;
    let theirs = begun.elapsed().as_secs_f64();
    server.stop()?;
    let ratio = theirs / ours;
    println!("go-tpc prepare: {theirs:.1} s per warehouse (1 warehouse, 2 threads)");
    println!("ratio {ratio:.1}, bar >= {LOAD_BAR} {}", if ratio >= LOAD_BAR { "held" } else { "MISSED" });
    let postgres_secs = postgres_secs(dbduel)?;
    ensure!(ratio >= LOAD_BAR && postgres_secs <= POSTGRES_BAR_SECS, "missed: load");
    Ok(())
}

/// Seconds per warehouse that one connection takes.
fn postgres_secs(dbduel: &Path) -> Result<f64> {
    let server = Held::start_or_fail(dbduel, "postgres@system", &[])?;
    let begun = Instant::now();
    load(&server.target()?, POSTGRES_WAREHOUSES, 1)?;
    let secs = begun.elapsed().as_secs_f64() / POSTGRES_WAREHOUSES as f64;
    server.stop()?;
    let verdict = if secs <= POSTGRES_BAR_SECS { "held" } else { "MISSED" };
    println!("PostgreSQL, one connection: {secs:.2} s per warehouse, bar <= {POSTGRES_BAR_SECS} {verdict}");
    Ok(secs)
}

fn make_account(server: &Held) -> Result<()> {
    let ours = server.text("database")?.to_owned();
    let mut admin = server.admin(&ours)?;
    for sql in [
        format!("CREATE USER {USER}@'127.0.0.1', {USER}@localhost"),
        format!("CREATE DATABASE {THEIR_DATABASE}"),
        format!("GRANT ALL ON {THEIR_DATABASE}.* TO {USER}@'127.0.0.1'"),
        format!("GRANT ALL ON {ours}.* TO {USER}@'127.0.0.1', {USER}@localhost"),
    ] {
        admin.run(&sql).with_context(|| format!("`{sql}` failed"))?;
    }
    Ok(())
}

fn target(server: &Held) -> Result<Target> {
    Ok(Target {
        dialect: Dialect::MySql,
        endpoint: Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: server.port()? },
        login: Login { user: USER.to_owned(), database: Some(server.text("database")?.to_owned()), ..Login::default() },
    })
}

fn workload(form: &str, warehouses: i64) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("tpcc").context("tpcc is a workload")?;
    let given = [
        ("form".to_owned(), OptionValue::Text(form.to_owned())),
        ("warehouses".to_owned(), OptionValue::Number(warehouses)),
        // go-tpc draws from weights too.
        ("mix".to_owned(), OptionValue::Text("weighted".to_owned())),
    ];
    Ok((kind.build)(&Options::new(kind.options, &given.into())?)?.into())
}

fn load(target: &Target, warehouses: i64, sessions: usize) -> Result<()> {
    let loader = Loader { target, sessions, interrupted: &AtomicBool::new(false) };
    loader.load(&*workload("rows", warehouses)?, 1, &mut |_| ()).context("cannot load the tables")
}

fn prepare_theirs(options: &BenchTpcc, server: &Held, warehouses: u32) -> Result<()> {
    let mut command = go_tpc(options, server)?;
    command.args(["prepare", "-T", "2", "--warehouses", &warehouses.to_string()]);
    let status = command.stdout(Stdio::null()).status().with_context(|| cannot_start(&options.go_tpc))?;
    ensure!(status.success(), "go-tpc prepare failed: {status}");
    Ok(())
}

fn go_tpc(options: &BenchTpcc, server: &Held) -> Result<Command> {
    let mut command = Command::new(&options.go_tpc);
    command.args(["tpcc", "-H", "127.0.0.1", "-P", &server.port()?.to_string(), "-U", USER, "-D", THEIR_DATABASE]);
    Ok(command)
}

fn cannot_start(program: &Path) -> String {
    format!("cannot start {}; build go-tpc from its public source and name it with --go-tpc", program.display())
}

/// CPU and transactions of go-tpc, which prints a line per kind: `[Summary] PAYMENT - Takes(s): 9.9, Count: 12, …`.
fn run_theirs(options: &BenchTpcc, server: &Held) -> Result<(f64, f64)> {
    let mut command = go_tpc(options, server)?;
    command.args(["run", "--warehouses", "1", "-T", &options.clients.to_string()]);
    command.args(["--time", &format!("{}s", options.seconds)]);
    let (output, cpu_us) = run_to_end(&mut command).with_context(|| cannot_start(&options.go_tpc))?;
    let count = |line: &str| line.split_once("Count: ")?.1.split(',').next()?.trim().parse::<f64>().ok();
    let transactions: f64 =
        output.lines().filter(|line| line.starts_with("[Summary]") && !line.contains("_ERR")).filter_map(count).sum();
    ensure!(transactions > 0.0, "go-tpc printed no counts:\n{output}");
    Ok((cpu_us, transactions))
}

fn run_ours(options: &BenchTpcc, server: &Held, form: &str, transport: Transport) -> Result<(f64, f64)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["tpcc-worker", "--database", server.text("database")?]);
    match transport {
        Transport::Socket => command.args(["--socket", server.text("socket")?]),
        Transport::Tcp => command.args(["--port", &server.port()?.to_string()]),
    };
    command.args(["--form", form, "--clients", &options.clients.to_string()]);
    command.args(["--seconds", &options.seconds.to_string()]);
    let (output, cpu_us) = run_to_end(&mut command)?;
    let transactions = output.trim().strip_prefix("transactions: ").and_then(|count| count.parse::<f64>().ok());
    let Some(transactions) = transactions.filter(|count| *count > 0.0) else { bail!("no transactions:\n{output}") };
    Ok((cpu_us, transactions))
}

/// The measuring end of dbduel in a process of its own.
#[derive(clap::Args)]
pub struct TpccWorker {
    #[arg(long, required_unless_present = "port")]
    socket: Option<PathBuf>,
    #[arg(long)]
    port: Option<u16>,
    #[arg(long)]
    database: String,
    #[arg(long)]
    form: String,
    #[arg(long)]
    clients: u32,
    #[arg(long)]
    seconds: u32,
}

pub fn run_worker(worker: &TpccWorker) -> Result<()> {
    let endpoint = match (&worker.socket, worker.port) {
        (Some(socket), _) => Endpoint::Unix(socket.clone()),
        (None, port) => Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: port.context("neither socket nor port")? },
    };
    let target = Target {
        dialect: Dialect::MySql,
        endpoint,
        login: Login { user: USER.to_owned(), database: Some(worker.database.clone()), ..Login::default() },
    };
    let workload = workload(&worker.form, 1)?;
    make_ready(&target, &*workload)?;
    let seconds = Duration::from_secs(worker.seconds.into());
    let options = LoadOptions {
        clients: worker.clients,
        interval_max: seconds,
        // A deck of its own for each run: inputs that repeat would write what is there already.
        input_seed: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs(),
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(&workload, &target, options, &interrupted)?;
    let tally = load.measure(Some(seconds), &mut |_| (), &mut || ()).whole()?;
    println!("transactions: {}", tally.committed + tally.rolled_back);
    Ok(())
}

fn make_ready(target: &Target, workload: &dyn Workload) -> Result<()> {
    let mut admin = driver::Admin::connect(target.dialect, &target.endpoint, &target.login, Duration::from_secs(30))?;
    let statements = workload.reuses_tables().map(|tables| tables.prepare_run(target.dialect)).unwrap_or_default();
    statements.iter().try_for_each(|sql| admin.run(sql).map(drop))?;
    Ok(())
}
