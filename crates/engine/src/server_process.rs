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
use serde::{Deserialize, Serialize};

/// Where a server listens, and what its programs are called: enough to find its process on the host that it is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listening {
    addresses: Vec<SocketAddr>,
    programs: Vec<String>,
}

impl Listening {
    /// None of an endpoint that is no address.
    pub(super) fn at(endpoint: &Endpoint, programs: &[&str]) -> Option<Listening> {
        let Endpoint::Tcp { host, port } = endpoint else { return None };
        let addresses = (host.as_str(), *port).to_socket_addrs().map_or_else(|_| Vec::new(), Iterator::collect);
        Some(Listening { addresses, programs: programs.iter().map(|program| (*program).to_owned()).collect() })
    }

    /// Its process, if it is on this host and can be seen.
    pub fn pid(&self) -> Option<u32> {
        let programs: Vec<&str> = self.programs.iter().map(String::as_str).collect();
        listening_on(&own(&self.addresses), &programs).map(|process| process.pid as u32)
    }

    pub fn is_on_this_host(&self) -> bool {
        !own(&self.addresses).is_empty()
    }
}

/// The process behind an endpoint, where it runs one of these programs; none where it cannot be seen from here.
pub(super) fn listening(endpoint: &Endpoint, programs: &[&str]) -> Option<u32> {
    match endpoint {
        Endpoint::Unix(socket) => {
            let process = Some(listening_at(socket)?).filter(|process| is_named(process, programs));
            process.map(|process| process.pid as u32)
        }
        Endpoint::Tcp { .. } => Listening::at(endpoint, programs)?.pid(),
        Endpoint::File(_) => None,
    }
}

fn own(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    // Only an own address can be bound.
    let is_own = |address: &&SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
    addresses.iter().filter(is_own).copied().collect()
}

fn listening_at(socket: &Path) -> Option<Process> {
    let peer = getsockopt(&UnixStream::connect(socket).ok()?, PeerCredentials).ok()?;
    // It is 0 for a process that cannot be seen from here.
    Process::new(peer.pid()).ok()
}

fn listening_on(addresses: &[SocketAddr], programs: &[&str]) -> Option<Process> {
    let is_at = |local: SocketAddr, address: &SocketAddr| {
        let is_there = local.ip().is_unspecified() || local.ip().to_canonical() == address.ip().to_canonical();
        is_there && local.port() == address.port()
    };
    let listens = |entry: &TcpNetEntry| {
        entry.state == TcpState::Listen && addresses.iter().any(|address| is_at(entry.local_address, address))
    };
    let all = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().filter_map(Result::ok).flatten();
    let sockets: Vec<u64> = all.filter(listens).map(|entry| entry.inode).collect();
    let holds = |process: &Process| {
        let mut files = process.fd().into_iter().flatten().filter_map(Result::ok);
        files.any(|file| matches!(file.target, FDTarget::Socket(inode) if sockets.contains(&inode)))
    };
    let servers = all_processes().ok()?.filter_map(Result::ok).filter(|process| is_named(process, programs));
    // The first of them is the one that made the others.
    servers.filter(holds).min_by_key(|process| process.stat().map_or(u64::MAX, |stat| stat.starttime))
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
            let port = listener.local_addr().unwrap().port();
            check(&Endpoint::Tcp { host: "localhost".to_owned(), port });
            // A name may stand for addresses of both kinds, and the server listen at one.
            let both = ["::1", "127.0.0.1"].map(|ip| SocketAddr::new(ip.parse().unwrap(), port));
            let found = listening_on(&both, &[&own_name()]);
            assert_eq!(found.map(|process| process.pid as u32), Some(std::process::id()), "{address}");
        }
    }

    #[test]
    fn nothing_is_claimed_of_what_listens_nowhere_or_elsewhere() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let own_name = own_name();
        for (host, port) in [("127.0.0.1", closed), ("192.0.2.1", 3306)] {
            let endpoint = Endpoint::Tcp { host: host.to_owned(), port };
            assert_eq!(listening(&endpoint, &[&own_name]), None, "{endpoint}");
            let is_here = Listening::at(&endpoint, &[&own_name]).unwrap().is_on_this_host();
            assert_eq!(is_here, host == "127.0.0.1", "{endpoint}");
        }
    }
}
