//! Where and how the kernel runs the calling thread. A kernel that refuses leaves it as it is.

#![expect(unsafe_code, reason = "policy and slice of a thread, which nix does not set")]

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;

/// Keeps this thread on `cpus`, where there are any.
pub fn confine_to(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| _ = set.set(*cpu));
    _ = sched_setaffinity(Pid::from_raw(0), &set);
}

/// Makes this thread one that others are not interrupted for: an answer then does not stop the server thread
/// that sent it, and several are read at one waking. Where a CPU is idle, as always at low load, the thread
/// starts at once as before.
///
/// Measured with a bare loop (point selects on MariaDB, 2 cores for both, server of another session, by
/// turns): at 64 connections 6.9 us of CPU per query before and 4.8 after, 1.2 and 1.8 answers per waking,
/// and a 99th percentile of 10 ms before and 3.4 ms after, since with fewer interruptions all connections
/// have their turn; at 8 connections 8.9 us before and 5.4 after. Throughput and median latency stay what
/// they were, within noise. A kernel that refuses leaves the thread as it is, which costs CPU and nothing else.
pub fn be_woken_less_often() {
    schedule_as(libc::SCHED_BATCH);
    end_timers_in_time();
}

/// Makes this thread one that others are interrupted for: what is due is sent then, and not when a server thread that
/// shares its CPU has used up its slice, which is three milliseconds; an answer is read when it is there, and not when that
/// thread has tidied up behind it. Linux 6.12 and later go by a slice that is asked for; older kernels leave the usual one.
///
/// A log with a statement of 2 ms, 80 transactions a second on 2 cores for both: sent 1.2 to 1.9 ms late at the 99th
/// percentile before, and 0.1 to 0.6 after. A thread with short statements alone gains nothing: point selects of an open loop
/// at 12,000 a second are 0.2 ms late either way, for 31 us of CPU before and 36 after.
pub fn be_woken_in_time() {
    // SAFETY: plain numbers, all of which may be zero; 0 is this thread.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_policy = libc::SCHED_OTHER as u32;
        attributes.sched_nice = libc::getpriority(libc::PRIO_PROCESS, 0);
        attributes.sched_runtime = SLICE_NS;
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
    end_timers_in_time();
}

/// The shortest that the kernel takes.
const SLICE_NS: u64 = 100_000;
/// Beyond its time a wait may last this much longer, instead of 50 us.
const TIMER_SLACK_NS: libc::c_ulong = 1_000;

fn end_timers_in_time() {
    _ = set_timerslack(TIMER_SLACK_NS);
}

/// `SCHED_BATCH` or `SCHED_IDLE`. By the system call itself, since musl's function refuses whatever is asked.
pub fn schedule_as(policy: libc::c_int) {
    let priority: libc::c_int = 0;
    // SAFETY: 0 is this thread, and the number, which is all of the kernel's `sched_param`, is live.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_interrupts_is_no_batch() {
        // SAFETY: a number of the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        std::thread::spawn(move || {
            be_woken_less_often();
            assert_eq!(policy(), libc::SCHED_BATCH);
            be_woken_in_time();
            assert_eq!(policy(), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }
}
