//! Opens sockets within a deadline.
//!
//! The standard library's connect waits on a socket file for as long as the server's queue is full, and on a
//! name for as long as its resolution takes; neither notices an interruption.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};

use crate::deadline::Deadline;

/// A stream to the socket file, which blocks.
pub(crate) fn unix(path: &Path, deadline: Deadline) -> io::Result<OwnedFd> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: an all-zero address is a valid value of the type.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if bytes.len() >= address.sun_path.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket file"));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    address.sun_path.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from as libc::c_char);
    let socket = stream(libc::AF_UNIX)?;
    // A full queue is an error here, and no wait.
    while let Err(error) = connect(&socket, &address) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        deadline.pause()?;
    }
    blocking(socket)
}

/// A stream to the first of the host's addresses that answers; it blocks, and sends what is there at once.
pub(crate) fn tcp(host: &str, port: u16, deadline: Deadline) -> io::Result<OwnedFd> {
    let mut last = io::Error::other(format!("{host} has no address"));
    for address in addresses(host, port, deadline)? {
        match one(address, deadline) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
        }
    }
    Err(last)
}

/// Resolving a name cannot be ended, so it has a thread of its own, which is left alone when it takes
/// too long.
fn addresses(host: &str, port: u16, deadline: Deadline) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (found, finds) = mpsc::channel();
    let name = host.to_owned();
    let look_up = move || found.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect)).unwrap_or(());
    std::thread::Builder::new().name("look-up".to_owned()).spawn(look_up)?;
    loop {
        match finds.recv_timeout(deadline.slice().map_err(|error| about(host, &error))?) {
            Ok(found) => return found.map_err(|error| about(host, &error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the look-up of the host ended")),
        }
    }
}

fn about(host: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{host}: {error}"))
}

fn one(address: SocketAddr, deadline: Deadline) -> io::Result<OwnedFd> {
    let socket = stream(if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 })?;
    let begun = match address {
        SocketAddr::V4(v4) => connect(
            &socket,
            &libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            },
        ),
        SocketAddr::V6(v6) => connect(
            &socket,
            &libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            },
        ),
    };
    match begun {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
            deadline.wait(socket.as_raw_fd(), libc::POLLOUT)?;
            outcome(socket.as_raw_fd())?;
        }
        begun => begun?,
    }
    set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    blocking(socket)
}

fn stream(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are involved; a valid descriptor is owned from here on.
    match unsafe { libc::socket(family, kind, 0) } {
        -1 => Err(io::Error::last_os_error()),
        socket => Ok(unsafe { OwnedFd::from_raw_fd(socket) }),
    }
}

/// `A` is one of the kinds of socket addresses.
fn connect<A>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    let length = size_of::<A>() as libc::socklen_t;
    // SAFETY: pointer and length describe the live address.
    match unsafe { libc::connect(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), length) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// How a connect ended that went on in the background.
fn outcome(socket: RawFd) -> io::Result<()> {
    let (mut error, mut length) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the option is an int, whose address and size are those passed.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast::<libc::c_void>(),
            &raw mut length,
        )
    };
    match (status, error) {
        (-1, _) => Err(io::Error::last_os_error()),
        (_, 0) => Ok(()),
        (_, code) => Err(io::Error::from_raw_os_error(code)),
    }
}

fn set_option(socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the option is an int, whose address and size are those passed.
    let status = unsafe {
        libc::setsockopt(socket, level, option, (&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn blocking(socket: OwnedFd) -> io::Result<OwnedFd> {
    let mut no: libc::c_int = 0;
    // SAFETY: FIONBIO reads the int that the pointer leads to.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONBIO, &raw mut no) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(socket),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stream_reaches_a_listener_by_address_and_by_name() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost"] {
            tcp(host, port, Deadline::after(Duration::from_secs(10))).unwrap();
            listener.accept().unwrap();
        }
        drop(listener);
        let refused = tcp("127.0.0.1", port, Deadline::after(Duration::from_secs(10))).unwrap_err();
        assert!(refused.to_string().starts_with("127.0.0.1:"), "{refused}");
    }

    #[test]
    fn a_full_queue_of_a_socket_file_ends_with_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full");
        let server = stream(libc::AF_UNIX).unwrap();
        // SAFETY: an all-zero address is a valid value of the type.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let bytes = path.as_os_str().as_bytes();
        address.sun_path.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from as libc::c_char);
        // SAFETY: pointer and length describe the live address.
        unsafe {
            libc::bind(server.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
            libc::listen(server.as_raw_fd(), 0);
        }
        let connect = || unix(&path, Deadline::after(Duration::from_millis(100)));
        let _first = connect().unwrap();
        assert_eq!(connect().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
