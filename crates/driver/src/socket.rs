//! Sending to a socket and receiving from it.

#![expect(unsafe_code, reason = "one system call a message, without the cancellation points of the C library")]

use std::io;
use std::os::fd::RawFd;

use crate::deadline::Deadline;

/// Sends as much as there is room for, and waits for room.
pub(crate) fn send_some(socket: RawFd, bytes: &[u8], deadline: Option<Deadline>) -> io::Result<usize> {
    let Some(deadline) = deadline else {
        // SAFETY: the socket is a transport's own; without one the call fails and touches nothing.
        return count(unsafe { send(socket, bytes, libc::MSG_NOSIGNAL) });
    };
    loop {
        // SAFETY: as above.
        match count(unsafe { send(socket, bytes, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) }) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => deadline.wait(socket, libc::POLLOUT)?,
            sent => return sent,
        }
    }
}

pub(crate) fn count(returned: libc::c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// # Safety
/// `socket` must be an open descriptor.
unsafe fn send(socket: RawFd, bytes: &[u8], flags: libc::c_int) -> libc::c_long {
    // SAFETY: pointer and length describe the live slice `bytes`.
    unsafe { libc::syscall(libc::SYS_sendto, socket, bytes.as_ptr(), bytes.len(), flags, 0usize, 0usize) }
}

/// # Safety
/// `socket` must be an open descriptor.
pub(crate) unsafe fn receive(socket: RawFd, room: &mut [u8], flags: libc::c_int) -> libc::c_long {
    // SAFETY: pointer and length describe the live slice `room`.
    unsafe { libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, 0usize, 0usize) }
}
