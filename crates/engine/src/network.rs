//! Where a server is reached: on loopback, at an address of this host, or in a network namespace of its own behind a
//! pair of virtual interfaces.
//!
//! In a namespace a server has an address of its own, and what clients send goes through the kernel's network stack as
//! to another host: no loopback, no socket. The keeper makes the namespace before it starts the server and stays in it,
//! so that the kernel takes namespace and interfaces away when the last of both ends, however that happens. What must
//! stay true: nothing but the pair of interfaces leads into it, so that only this host reaches the server.

#![expect(unsafe_code, reason = "an ioctl")]

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::getppid;

/// How the clients come to a server that listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Loopback,
    /// An address of this host, for clients on others.
    Address(Ipv4Addr),
    /// The number of the pair of interfaces on this host, below [`LINKS`].
    Namespace(u16),
}

/// So many networks of four addresses has 198.18.0.0/15, which is set apart for benchmarks (RFC 2544).
pub const LINKS: u16 = 1 << 15;
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// The server's own end, by its name inside.
const INSIDE: &str = "duel0";

impl Link {
    /// The address that the server listens on.
    pub fn server(self) -> Ipv4Addr {
        self.address(2)
    }

    /// The address that the server sees its clients at; none where they may come from any.
    pub fn client(self) -> Option<Ipv4Addr> {
        match self {
            Link::Address(_) => None,
            link => Some(link.address(1)),
        }
    }

    fn address(self, place: u32) -> Ipv4Addr {
        match self {
            Link::Loopback => Ipv4Addr::LOCALHOST,
            Link::Address(own) => own,
            Link::Namespace(number) => Ipv4Addr::from(u32::from(FIRST) + 4 * u32::from(number) + place),
        }
    }
}

/// Of a network namespace that has nothing else: some servers send themselves messages by it.
pub fn bring_up_loopback() -> Result<()> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).context("cannot make a socket")?;
    // SAFETY: all bytes may be zero in it.
    let mut loopback: libc::ifreq = unsafe { std::mem::zeroed() };
    loopback.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    loopback.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the kernel reads the name and flags that it is given; the socket is open.
    let set = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const loopback) };
    Errno::result(set).map(drop).context("cannot have a loopback of its own")
}

/// Moves this thread into a new network namespace that the link leads into. Its parent is on the other side.
pub fn enter(number: u16) -> Result<()> {
    let link = Link::Namespace(number);
    let (server, client) = (link.address(2), link.address(1));
    let outside = namespace()?;
    unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace, which takes root")?;
    let inside = namespace()?;
    let (peer, parent) = (format!("duel{number}"), getppid().to_string());
    ip(&["link", "add", INSIDE, "type", "veth", "peer", "name", &peer, "netns", &parent])?;
    bring_up(INSIDE, server)?;
    ip(&["link", "set", "lo", "up"])?;
    setns(&outside, CloneFlags::CLONE_NEWNET).context("cannot go back to the host's network")?;
    bring_up(&peer, client)?;
    setns(&inside, CloneFlags::CLONE_NEWNET).context("cannot go back into the network namespace")
}

fn namespace() -> Result<File> {
    File::open("/proc/self/ns/net").context("this kernel has no network namespaces")
}

fn bring_up(interface: &str, address: Ipv4Addr) -> Result<()> {
    ip(&["addr", "add", &format!("{address}/30"), "dev", interface])?;
    ip(&["link", "set", interface, "up"])
}

fn ip(arguments: &[&str]) -> Result<()> {
    let line = arguments.join(" ");
    let output = Command::new("ip").args(arguments).output();
    let output = output.with_context(|| format!("cannot run `ip {line}`; install iproute2"))?;
    ensure!(output.status.success(), "`ip {line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_has_two_addresses_of_its_own_among_those_for_benchmarks() {
        let check = |number, client: &str, server: &str| {
            let link = Link::Namespace(number);
            assert_eq!((link.client().unwrap().to_string(), link.server().to_string()), (client.into(), server.into()));
        };
        check(0, "198.18.0.1", "198.18.0.2");
        check(64, "198.18.1.1", "198.18.1.2");
        check(LINKS - 1, "198.19.255.253", "198.19.255.254");
        assert!(Link::Loopback.server().is_loopback() && Link::Loopback.client().unwrap().is_loopback());
        let own = Ipv4Addr::new(10, 0, 0, 5);
        assert_eq!((Link::Address(own).server(), Link::Address(own).client()), (own, None));
    }
}
