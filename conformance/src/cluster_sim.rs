//! `cargo xtask cluster-sim`: what the coordinator of many workers needs, by the real protocol, against its bars.
//!
//! The workers are threads of a second process of this program, so that CPU and memory are the coordinator's alone.

use std::time::Duration;

use anyhow::{Result, ensure};
use cluster::simulation::{Path, Size, coordinate, serve};

#[derive(clap::Args)]
pub struct ClusterSim {
    #[arg(long, default_value_t = 100)]
    workers: u32,
    /// Clients of each worker
    #[arg(long, default_value_t = 1000)]
    clients: u32,
    /// Length of the interval
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Of each client: how full the histograms are
    #[arg(long, default_value_t = 10)]
    transactions_per_s: u64,
    /// Time that messages of the workers are under way
    #[arg(long, default_value_t = 0)]
    there_ms: u64,
    /// Time that messages to the workers are under way
    #[arg(long, default_value_t = 0)]
    back_ms: u64,
    /// At most this much more, drawn anew for whatever is sent at once
    #[arg(long, default_value_t = 0)]
    jitter_ms: u64,
    /// The workers' side, which the coordinator starts
    #[arg(long, hide = true)]
    serve: bool,
}

const BYTES_PER_S_MAX: f64 = 500_000.0;
const RESIDENT_MIB_MAX: f64 = 64.0;
const CORES_MAX: f64 = 0.10;

pub fn run(options: &ClusterSim) -> Result<()> {
    let ClusterSim { workers, clients, seconds, transactions_per_s, .. } = *options;
    let [there, back, jitter] = [options.there_ms, options.back_ms, options.jitter_ms].map(Duration::from_millis);
    let path = Path { there, back, jitter };
    let path = [there, back, jitter].iter().any(|one| !one.is_zero()).then_some(path);
    let size = Size { workers, clients, seconds, transactions_per_s, path };
    if options.serve {
        return serve(&size);
    }
    let mut agents = std::process::Command::new(std::env::current_exe()?);
    agents.args(["cluster-sim", "--serve"]);
    for (option, value) in [
        ("--workers", u64::from(workers)),
        ("--clients", u64::from(clients)),
        ("--seconds", seconds),
        ("--transactions-per-s", transactions_per_s),
    ] {
        agents.args([option, &value.to_string()]);
    }
    let seen = coordinate(&size, agents)?;
    let (bytes_per_s, resident) = (seen.bytes_per_s(&size), seen.resident_bytes_max as f64 / f64::from(1 << 20));
    println!("{workers} workers of {clients} clients, {seconds} s, {} transactions", seen.transactions);
    println!("all workers in, TLS and proofs   {:.2} s", seen.all_in.as_secs_f64());
    println!(
        "all clocks compared              {:.2} s, wrong by at most {:.3} ms, edge error at most {:.3} ms",
        seen.clocks.as_secs_f64(),
        seen.clock_error_ns_max as f64 / 1e6,
        seen.edge_ns_max as f64 / 1e6
    );
    println!("a beat, a second, a tally        {}, {}, {} bytes", seen.beat_bytes, seen.second_bytes, seen.tally_bytes);
    println!("traffic while the interval runs  {:.3} MB/s (bar {:.1})", bytes_per_s / 1e6, BYTES_PER_S_MAX / 1e6);
    println!("coordinator's CPU meanwhile      {:.3} cores (bar {CORES_MAX:.2})", seen.cores);
    println!(
        "all tallies, {:.1} MB, made one    {:.2} s, {:.2} s of CPU",
        f64::from(workers) * seen.tally_bytes as f64 / 1e6,
        seen.gathered.as_secs_f64(),
        seen.gathering_cpu.as_secs_f64()
    );
    println!("coordinator's memory             {resident:.0} MiB (bar {RESIDENT_MIB_MAX:.0})");
    let expected = u64::from(workers) * (u64::from(clients) * seconds * transactions_per_s);
    ensure!(
        seen.transactions.abs_diff(expected) <= expected / 100,
        "{} transactions in place of {expected}",
        seen.transactions
    );
    ensure!(seen.beyond_its_bound_ns_max <= 0, "a clock was wrong by more than its edge error");
    ensure!(bytes_per_s <= BYTES_PER_S_MAX, "too much traffic");
    ensure!(seen.cores <= CORES_MAX, "too much CPU");
    ensure!(resident <= RESIDENT_MIB_MAX, "too much memory");
    Ok(())
}
