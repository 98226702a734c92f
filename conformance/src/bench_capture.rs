//! `cargo xtask bench-capture`: how fast logs are read, and in how much memory.
//!
//! The logs are made up: sysbench's statements by eight sessions, the same block with moved times as often as it takes.
//! Each reading is a process of its own, for its CPU time and its largest resident memory.

#![expect(unsafe_code, reason = "memory and CPU of one child, which nix does not report")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

#[derive(clap::Args)]
pub struct BenchCapture {
    /// Bytes of each log in MB
    #[arg(long, default_value_t = 1_000)]
    megabytes: u64,
}

const MEGABYTES_A_SECOND_MIN: f64 = 80.0;
const PEAK_MIB_MAX: f64 = 300.0;

pub fn run(options: &BenchCapture, root: &Path) -> Result<()> {
    crate::run(root, "cargo", &["build", "--quiet", "--release", "-p", "dbduel-capture", "--example", "reading"], &[])?;
    let program = root.join("target/release/examples/reading");
    let folder = tempfile::tempdir()?;
    let mut missed = Vec::new();
    for (name, entry) in [("slow.log", slow as fn(u64) -> String), ("pg.csv", csv)] {
        let log = folder.path().join(name);
        written(&log, options.megabytes * 1_000_000, entry)?;
        let out = folder.path().join(format!("{name}.dbcap"));
        for (what, capture) in [("digest", PathBuf::from("-")), ("capture", out)] {
            let read = read(&program, &capture, &log)?;
            println!(
                "{name:<9} {what:<8} {:>6.0} MB  {:>5.0} MB/s of CPU  {:>4.0} MiB at most  {} statements{}",
                read.megabytes,
                read.megabytes / read.cpu_secs,
                read.peak_mib,
                read.statements,
                if read.written > 0.0 {
                    format!("  capture {:.1} % of the log", 100.0 * read.written / read.megabytes)
                } else {
                    String::new()
                },
            );
            if read.megabytes / read.cpu_secs < MEGABYTES_A_SECOND_MIN || read.peak_mib > PEAK_MIB_MAX {
                missed.push(format!("{name} {what}"));
            }
        }
        std::fs::remove_file(&log)?;
    }
    ensure!(
        missed.is_empty(),
        "below {MEGABYTES_A_SECOND_MIN} MB/s or above {PEAK_MIB_MAX} MiB: {}",
        missed.join(", ")
    );
    Ok(())
}

struct Read {
    megabytes: f64,
    written: f64,
    statements: u64,
    cpu_secs: f64,
    peak_mib: f64,
}

fn read(program: &Path, capture: &Path, log: &Path) -> Result<Read> {
    let mut child = Command::new(program)
        .arg(capture)
        .arg(log)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the reading")?;
    let mut output = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().context("standard output is a pipe")?, &mut output)?;
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child was started above and not waited for; both pointers are to values that live longer than the call.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    ensure!(
        waited > 0 && std::process::ExitStatus::from_raw(status).success(),
        "the reading of {} failed",
        log.display()
    );
    // SAFETY: wait4 has filled it, and zeros are valid values too.
    let usage = unsafe { usage.assume_init() };
    let secs = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let figures: Vec<u64> = output.split_ascii_whitespace().filter_map(|figure| figure.parse().ok()).collect();
    let [bytes, statements, _, written] = figures[..] else { anyhow::bail!("the reading printed {output:?}") };
    Ok(Read {
        megabytes: bytes as f64 / 1e6,
        written: written as f64 / 1e6,
        statements,
        cpu_secs: secs(usage.ru_utime) + secs(usage.ru_stime),
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
    })
}

fn written(path: &Path, bytes: u64, entry: fn(u64) -> String) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut number, mut length) = (0, 0);
    while length < bytes {
        let text = entry(number);
        out.write_all(text.as_bytes())?;
        length += text.len() as u64;
        number += 1;
    }
    Ok(out.flush()?)
}

/// The mix of sysbench's read_write, with ids from a fixed sequence.
fn statement(number: u64) -> String {
    let id = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 47;
    let table = number % 4 + 1;
    let mut text = String::new();
    let _ = match number % 20 {
        0 => write!(text, "BEGIN"),
        19 => write!(text, "COMMIT"),
        1..=10 => write!(text, "SELECT c FROM sbtest{table} WHERE id={id}"),
        11..=12 => write!(text, "SELECT c FROM sbtest{table} WHERE id BETWEEN {id} AND {}", id + 99),
        13..=14 => {
            write!(text, "SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN {id} AND {} ORDER BY c", id + 99)
        }
        15..=16 => write!(text, "UPDATE sbtest{table} SET k=k+1 WHERE id={id}"),
        17 => write!(text, "DELETE FROM sbtest{table} WHERE id={id}"),
        _ => write!(
            text,
            "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, 5021, '{0:011}-{0:011}-{0:011}-{0:011}', '{0:011}-{0:011}')",
            id
        ),
    };
    text
}

fn slow(number: u64) -> String {
    let secs = 1_795_408_877 + number / 20_000;
    let session = 8 + number / 20 % 8;
    format!(
        "# User@Host: sbtest[sbtest] @ localhost [127.0.0.1]\n# Thread_id: {session}  Schema: sbtest  QC_hit: No\n\
         # Query_time: 0.{:06}  Lock_time: 0.000011  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 192\n\
         SET timestamp={secs};\n{};\n",
        50 + number % 900,
        statement(number)
    )
}

fn csv(number: u64) -> String {
    let (session, millis) = (8 + number / 20 % 8, number / 20);
    let (day, hour, minute, second) =
        (1 + millis / 86_400_000 % 28, millis / 3_600_000 % 24, millis / 60_000 % 60, millis / 1000 % 60);
    format!(
        "2026-11-{day:02} {hour:02}:{minute:02}:{second:02}.{:03} UTC,\"sbtest\",\"sbtest\",77{session},\"127.0.0.1:5000\",\
         6743f1c1.{session},{},\"SELECT\",2026-11-01 00:00:00 UTC,3/1,0,LOG,00000,\"duration: 0.{:03} ms  statement: {}\",,,,,,,,,\
         \"pgbench\",\"client backend\",,0\n",
        millis % 1000,
        number / 160 * 20 + number % 20 + 1,
        50 + number % 900,
        statement(number)
    )
}
