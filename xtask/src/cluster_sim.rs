//! `cargo xtask cluster-sim`: what the coordinator of many workers needs, by the real protocol, against its bars.
//!
//! The workers are threads of a second process of this program, so that CPU and memory are the coordinator's alone.

use anyhow::{Result, ensure};
use cluster::simulation::{Size, coordinate, serve};

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
    /// The workers' side, which the coordinator starts
    #[arg(long, hide = true)]
    serve: bool,
}

const BYTES_PER_S_MAX: f64 = 500_000.0;
const RESIDENT_MIB_MAX: f64 = 64.0;
const CORES_MAX: f64 = 0.10;

pub fn run(options: &ClusterSim) -> Result<()> {
    let ClusterSim { workers, clients, seconds, transactions_per_s, serve: is_served } = *options;
    let size = Size { workers, clients, seconds, transactions_per_s };
    if is_served {
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
        "all clocks compared              {:.2} s, edge error at most {:.3} ms",
        seen.clocks.as_secs_f64(),
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
    ensure!(bytes_per_s <= BYTES_PER_S_MAX, "too much traffic");
    ensure!(seen.cores <= CORES_MAX, "too much CPU");
    ensure!(resident <= RESIDENT_MIB_MAX, "too much memory");
    Ok(())
}
