//! A way to a server by IPv6: servers under test listen at `127.0.0.1` alone.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

/// The port at `::1` that leads to this one at `127.0.0.1`, as long as the program runs.
pub fn to(port: u16) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, 0))?;
    let own = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                both_ways(client, server);
            }
        }
    });
    Ok(own)
}

fn both_ways(client: TcpStream, server: TcpStream) {
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || carry(client, server));
    thread::spawn(move || carry(server_again, client_again));
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
