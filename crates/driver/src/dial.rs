//! Opens sockets within a deadline.
//!
//! The standard library's connect waits on a socket file for as long as the server's queue is full, and on a
//! name for as long as its resolution takes; neither notices an interruption.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, UnixAddr, connect, getsockopt, setsockopt, socket, sockopt,
};

use crate::deadline::Deadline;

/// A stream to the socket file, which blocks.
pub(crate) fn unix(path: &Path, deadline: Deadline) -> io::Result<OwnedFd> {
    let address = UnixAddr::new(path)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket file"))?;
    let socket = stream(AddressFamily::Unix)?;
    // A full queue is an error here, and no wait.
    while let Err(error) = connect(socket.as_raw_fd(), &address) {
        if error != Errno::EAGAIN {
            return Err(error.into());
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
    let socket = stream(if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 })?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Err(Errno::EINPROGRESS) => {
            deadline.wait(socket.as_raw_fd(), libc::POLLOUT)?;
            match getsockopt(&socket, sockopt::SocketError)? {
                0 => {}
                code => return Err(io::Error::from_raw_os_error(code)),
            }
        }
        begun => begun?,
    }
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    blocking(socket)
}

fn stream(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)?)
}

fn blocking(socket: OwnedFd) -> io::Result<OwnedFd> {
    fcntl(&socket, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use nix::sys::socket::{Backlog, bind, listen};

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
        let server = stream(AddressFamily::Unix).unwrap();
        bind(server.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        listen(&server, Backlog::new(0).unwrap()).unwrap();
        let connect = || unix(&path, Deadline::after(Duration::from_millis(100)));
        let _first = connect().unwrap();
        assert_eq!(connect().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
