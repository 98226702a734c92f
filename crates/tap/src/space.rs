//! Room for a log on the file system of its server.

use std::path::Path;

use nix::sys::statvfs::statvfs;

/// A log leaves so much of its file system free …
const FREE_SHARE_MIN: u64 = 10;
/// … or so many times the most that it may take, which is less on a large one.
const FREE_LOGS_MIN: u64 = 4;

/// What the file system of a log has free, and what has to stay so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub free: u64,
    pub needed: u64,
}

impl Space {
    /// None where it cannot be seen from here.
    pub(crate) fn of(folder: &Path, log_max: u64) -> Option<Space> {
        let system = statvfs(folder).ok()?;
        let whole = system.blocks() * system.fragment_size();
        let free = system.blocks_available() * system.fragment_size();
        Some(Space { free, needed: needed(whole, log_max) })
    }

    pub fn is_short(self) -> bool {
        self.free < self.needed
    }
}

fn needed(whole: u64, log_max: u64) -> u64 {
    (whole / FREE_SHARE_MIN).min(log_max.saturating_mul(FREE_LOGS_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_stays_free_of_a_small_file_system_and_four_logs_of_a_large_one() {
        let gib = 1 << 30;
        assert_eq!(needed(20 * gib, gib), 2 * gib);
        assert_eq!(needed(4000 * gib, gib), 4 * gib);
        assert_eq!(needed(20 * gib, u64::MAX), 2 * gib);
        let here = Space::of(Path::new("/"), 1).unwrap();
        assert_eq!((here.needed, here.is_short()), (4, here.free < 4));
        assert_eq!(Space::of(Path::new("/no/such/folder"), 1), None);
    }
}
