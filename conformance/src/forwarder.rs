//! Other ways to a server under test, which listens at `127.0.0.1` alone.

#![expect(unsafe_code, reason = "binds and connects by the calls themselves")]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// The port at `::1` that leads to this one at `127.0.0.1`, as long as the program runs.
pub fn by_ipv6(port: u16) -> io::Result<u16> {
    forward((Ipv6Addr::LOCALHOST, 0).into(), move || TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
}

/// The port at `127.0.0.1` whose clients the server takes for those of another host, [`OTHER_HOST`].
pub fn from_other_host(port: u16) -> io::Result<u16> {
    forward((Ipv4Addr::LOCALHOST, 0).into(), move || {
        let server: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        place(&server, libc::bind, OTHER_HOST, 0)?;
        place(&server, libc::connect, Ipv4Addr::LOCALHOST, port)?;
        Ok(server.into())
    })
}

/// The port at `127.0.0.1` where each connection comes about so much later.
pub fn slow_to_connect(port: u16, delay: Duration) -> io::Result<u16> {
    forward((Ipv4Addr::LOCALHOST, 0).into(), move || {
        let began = Instant::now();
        // A sleep of microseconds ends when the kernel likes.
        while began.elapsed() < delay {
            std::hint::spin_loop();
        }
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
    })
}

type Place = unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int;

fn place(socket: &OwnedFd, place: Place, host: Ipv4Addr, port: u16) -> io::Result<()> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(host).to_be() },
        sin_zero: [0; 8],
    };
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: both calls read an address of this size, and the descriptor is open.
    let done = unsafe { place(socket.as_raw_fd(), (&raw const address).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Servers have no exceptions for it as they have for `127.0.0.1`.
const OTHER_HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn forward(at: SocketAddr, server: impl Fn() -> io::Result<TcpStream> + Send + 'static) -> io::Result<u16> {
    let listener = TcpListener::bind(at)?;
    let own = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if let Ok(server) = server() {
                both_ways(client, server);
            }
        }
    });
    Ok(own)
}

fn both_ways(client: TcpStream, server: TcpStream) {
    // A proxy that waits for more to send would be what is measured.
    let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || carry(client, server));
    thread::spawn(move || carry(server_again, client_again));
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
