//! Whether the CPU's own counters can be read here: virtual machines often have none.

#![expect(unsafe_code, reason = "a system call that nix lacks")]

use std::os::fd::{FromRawFd, OwnedFd};

/// The first version of the kernel's `perf_event_attr`, which every later one takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;
/// Bits 5 and 6: leave out the kernel and the hypervisor, which may need privileges.
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 0b11 << 5;

/// Opens a counter of this thread's instructions and closes it again.
pub fn counters_are_visible() -> bool {
    let attributes = Attributes {
        kind: HARDWARE,
        size: size_of::<Attributes>() as u32,
        config: INSTRUCTIONS,
        flags: EXCLUDE_KERNEL_AND_HYPERVISOR,
        ..Attributes::default()
    };
    // SAFETY: the attributes are live and of the given length; a descriptor that comes back is ours alone.
    unsafe {
        let opened = libc::syscall(libc::SYS_perf_event_open, &attributes, 0, -1, -1, 0);
        opened >= 0 && {
            drop(OwnedFd::from_raw_fd(opened as i32));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_of_the_attributes_has_64_bytes() {
        assert_eq!(size_of::<Attributes>(), 64);
        // The result is the same at both times, whatever this machine allows.
        assert_eq!(counters_are_visible(), counters_are_visible());
    }
}
