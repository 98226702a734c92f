//! Whether the kernel took memory away from the generator: what it reads back from disk it waits for.

use nix::sys::resource::{UsageWho, getrusage};

/// What was read back so far, and what is away now.
pub struct Paging {
    major_faults: u64,
    swapped_bytes: u64,
}

impl Paging {
    /// What cannot be seen counts as none.
    pub fn now() -> Paging {
        let faults = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.major_page_faults());
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Paging { major_faults: faults.max(0) as u64, swapped_bytes: swapped_bytes(&status) }
    }

    /// Pages read since; none as long as nothing was away, because files are read by the page too.
    pub fn since(&self, before: &Paging) -> u64 {
        let was_away = self.swapped_bytes.max(before.swapped_bytes) > 0;
        if was_away { self.major_faults.saturating_sub(before.major_faults) } else { 0 }
    }
}

fn swapped_bytes(status: &str) -> u64 {
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmSwap:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_only_while_something_is_swapped_out() {
        let seen = |major_faults, swapped_bytes| Paging { major_faults, swapped_bytes };
        assert_eq!(seen(9, 0).since(&seen(2, 0)), 0);
        assert_eq!((seen(9, 4096).since(&seen(2, 0)), seen(9, 0).since(&seen(2, 4096))), (7, 7));
        assert_eq!(swapped_bytes("VmRSS:\t 5 kB\nVmSwap:\t      12 kB\nThreads: 1\n"), 12 * 1024);
        assert_eq!(swapped_bytes("Threads: 1\n"), 0);
    }
}
