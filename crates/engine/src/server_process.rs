//! Finds the process of a server on this host that dbduel did not start.
//!
//! Of a socket file the kernel tells who listens there; of a port, which socket does, and that one is looked for
//! among the files of the server's programs. A process of another name is none: what only passes connections on to a server
//! does none of its work.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;

use driver::Endpoint;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};

/// The process behind an endpoint, where it runs one of these programs; none where it cannot be seen from here.
pub fn listening(endpoint: &Endpoint, programs: &[&str]) -> Option<u32> {
    let pid = match endpoint {
        Endpoint::Unix(socket) => listening_at(socket)?,
        Endpoint::Tcp { host, port } => listening_on(*own_addresses(host, *port).first()?, programs)?,
        Endpoint::File(_) => return None,
    };
    is_named(&Process::new(pid).ok()?, programs).then_some(pid as u32)
}

/// Whether this host itself has the address.
pub fn is_own(host: &str, port: u16) -> bool {
    !own_addresses(host, port).is_empty()
}

fn own_addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    // Only an own address can be bound.
    let is_own = |address: &SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
    (host, port).to_socket_addrs().map_or_else(|_| Vec::new(), |all| all.filter(is_own).collect())
}

fn listening_at(socket: &Path) -> Option<i32> {
    let peer = getsockopt(&UnixStream::connect(socket).ok()?, PeerCredentials).ok()?;
    (peer.pid() > 0).then_some(peer.pid())
}

fn listening_on(address: SocketAddr, programs: &[&str]) -> Option<i32> {
    let listens = |entry: &TcpNetEntry| {
        let local = entry.local_address;
        let is_there = local.ip().is_unspecified() || local.ip().to_canonical() == address.ip().to_canonical();
        entry.state == TcpState::Listen && local.port() == address.port() && is_there
    };
    let all = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().filter_map(Result::ok).flatten();
    let sockets: Vec<u64> = all.filter(listens).map(|entry| entry.inode).collect();
    let holds = |process: &Process| {
        let mut files = process.fd().into_iter().flatten().filter_map(Result::ok);
        files.any(|file| matches!(file.target, FDTarget::Socket(inode) if sockets.contains(&inode)))
    };
    let servers = all_processes().ok()?.filter_map(Result::ok).filter(|process| is_named(process, programs));
    // The first of them is the one that made the others.
    servers
        .filter(holds)
        .min_by_key(|process| process.stat().map_or(u64::MAX, |stat| stat.starttime))
        .map(|one| one.pid)
}

fn is_named(process: &Process, programs: &[&str]) -> bool {
    process.stat().is_ok_and(|stat| programs.contains(&stat.comm.as_str()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What the kernel calls this process.
    fn own_name() -> String {
        Process::myself().unwrap().stat().unwrap().comm
    }

    fn check(endpoint: &Endpoint) {
        assert_eq!(listening(endpoint, &["another", &own_name()]), Some(std::process::id()), "{endpoint}");
        assert_eq!(listening(endpoint, &["another"]), None, "{endpoint} of a process that runs something else");
    }

    #[test]
    fn the_process_behind_a_socket_or_a_port_of_this_host_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        check(&Endpoint::Unix(socket));
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            check(&Endpoint::Tcp { host: "localhost".to_owned(), port: listener.local_addr().unwrap().port() });
        }
    }

    #[test]
    fn nothing_is_claimed_of_what_listens_nowhere_or_elsewhere() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let own_name = own_name();
        for (host, port) in [("127.0.0.1", closed), ("192.0.2.1", 3306)] {
            let endpoint = Endpoint::Tcp { host: host.to_owned(), port };
            assert_eq!(listening(&endpoint, &[&own_name]), None, "{endpoint}");
        }
        assert!(is_own("127.0.0.1", 1) && !is_own("192.0.2.1", 1));
    }
}
