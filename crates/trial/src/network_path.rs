//! Whether the way between clients and server was the limit of a trial (method, section 4, item 6).
//!
//! A socket file and the loopback interface are measured, by streaming through them; a network interface reports
//! its own speed, or it is not visible. What the clients sent and received is counted by their
//! connections, before encryption; what others send through the same interface is not in it.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result};
use driver::{Endpoint, stream_loopback, stream_socket};
use load::Tally;

use engine::request::Transport;
use record::format::CheckRecord;

/// A way that carries more than this share of what it can is what limits a trial.
pub const SHARE_MAX: f64 = 0.70;
const STREAMING: Duration = Duration::from_millis(250);

/// Where the bytes of a contender's clients go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    Socket,
    Loopback,
    /// By its name; none where the way to a host does not show.
    Interface(Option<String>),
}

impl Way {
    /// To a server that dbduel starts.
    pub fn of_transport(transport: Transport) -> Way {
        match transport {
            Transport::Socket => Way::Socket,
            Transport::Tcp => Way::Loopback,
            // A pair of virtual interfaces has no speed of its own, and the way of other hosts is not ours.
            Transport::Namespace | Transport::Address(_) => Way::Interface(None),
        }
    }

    /// To a target; none to a file, which is no way.
    pub fn to(endpoint: &Endpoint, is_on_this_host: bool) -> Option<Way> {
        match endpoint {
            Endpoint::Unix(_) => Some(Way::Socket),
            Endpoint::Tcp { .. } if is_on_this_host => Some(Way::Loopback),
            Endpoint::Tcp { host, port } => {
                let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
                let address = address(host, *port);
                Some(Way::Interface(address.and_then(|address| interface(&routes, address))))
            }
            Endpoint::File(_) => None,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Way::Socket => "socket",
            Way::Loopback => "tcp",
            Way::Interface(name) => name.as_deref().unwrap_or("network"),
        }
    }

    /// What it can carry.
    pub fn measure(&self) -> Result<CheckRecord> {
        let (bytes_per_s, seen_by) = match self {
            Way::Socket => (Some(stream_socket(STREAMING)), CheckRecord::STREAMED),
            Way::Loopback => (Some(stream_loopback(STREAMING)), CheckRecord::STREAMED),
            Way::Interface(name) => (name.as_ref().and_then(|name| speed(name)).map(Ok), CheckRecord::SPEED),
        };
        let bytes_per_s = bytes_per_s.transpose().with_context(|| format!("cannot stream by {}", self.name()))?;
        let values: Vec<_> = bytes_per_s.map(|bytes| (CheckRecord::BYTES, bytes)).into_iter().collect();
        Ok(CheckRecord::new(CheckRecord::NETWORK_PATH, self.name(), seen_by, &values))
    }
}

fn address(host: &str, port: u16) -> Option<Ipv4Addr> {
    let mut addresses = (host, port).to_socket_addrs().ok()?;
    addresses.find_map(|address| match address.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    })
}

/// The interface of the narrowest route to an address, out of the kernel's table: name, destination, gateway,
/// flags, two counts, metric and mask, addresses as the hexadecimal of their bytes in memory.
fn interface(routes: &str, address: Ipv4Addr) -> Option<String> {
    let bits = u32::from_le_bytes(address.octets());
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let hexadecimal = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let (name, destination, mask) = (*fields.first()?, hexadecimal(1)?, hexadecimal(7)?);
        (bits & mask == destination).then(|| (mask.count_ones(), name.to_owned()))
    };
    let found = routes.lines().skip(1).filter_map(route);
    found.max_by_key(|(narrowness, _)| *narrowness).map(|(_, name)| name)
}

/// Bytes a second in each direction; an interface that has no speed of its own reports -1, or nothing.
fn speed(name: &str) -> Option<f64> {
    bytes_per_s(&std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?)
}

fn bytes_per_s(megabits: &str) -> Option<f64> {
    let megabits: f64 = megabits.trim().parse().ok()?;
    (megabits > 0.0).then_some(megabits * 1e6 / 8.0)
}

/// How much of what it can the way carried; nothing where either is not visible.
fn share(tally: &Tally, path: Option<&CheckRecord>) -> Option<f64> {
    let path = path?;
    let [sent, received] = bytes_each_s(tally)?;
    let carried = if path.seen_by == CheckRecord::STREAMED { sent + received } else { sent.max(received) };
    Some(carried / path.value(CheckRecord::BYTES)?)
}

fn bytes_each_s(tally: &Tally) -> Option<[f64; 2]> {
    let seconds = tally.interval_ns.max(1) as f64 / 1e9;
    let traffic = tally.traffic;
    (traffic.sent + traffic.received > 0).then(|| [traffic.sent, traffic.received].map(|bytes| bytes as f64 / seconds))
}

/// The remark of a trial whose network path was the limit; none of any other.
pub fn limit(tally: &Tally, path: Option<&CheckRecord>) -> Option<String> {
    let share = share(tally, path).filter(|share| *share > SHARE_MAX)?;
    Some(format!("the way to the server carried {:.0} % of what it can", share * 100.0))
}

/// Named as in the JSON report.
pub fn metrics(tally: &Tally, path: Option<&CheckRecord>) -> Vec<(String, f64)> {
    let Some([sent, received]) = bytes_each_s(tally) else { return Vec::new() };
    let share = share(tally, path).map(|share| ("client_path_share", share));
    let each = [("client_sent_bytes_per_s", sent), ("client_received_bytes_per_s", received)];
    each.into_iter().chain(share).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use driver::Traffic;

    use super::*;

    fn carried(sent: u64, received: u64) -> Tally {
        Tally { traffic: Traffic { sent, received }, interval_ns: 2_000_000_000, ..Tally::default() }
    }

    fn path(seen_by: &str, bytes_per_s: Option<f64>) -> CheckRecord {
        let values: Vec<_> = bytes_per_s.map(|bytes| (CheckRecord::BYTES, bytes)).into_iter().collect();
        CheckRecord::new(CheckRecord::NETWORK_PATH, "eth0", seen_by, &values)
    }

    #[test]
    fn both_directions_share_the_loopback_and_neither_shares_a_cable() {
        let tally = carried(800, 600);
        let check = |seen_by: &str, expected: Option<f64>| {
            assert_eq!(share(&tally, Some(&path(seen_by, Some(1000.0)))), expected, "{seen_by}");
        };
        check(CheckRecord::STREAMED, Some(0.7));
        check(CheckRecord::SPEED, Some(0.4));
        assert_eq!(share(&tally, Some(&path(CheckRecord::SPEED, None))), None, "not visible is not nothing");
        assert_eq!(share(&tally, None), None);
        assert_eq!(share(&carried(0, 0), Some(&path(CheckRecord::SPEED, Some(1.0)))), None);
    }

    #[test]
    fn a_way_is_the_limit_above_seven_tenths_of_what_it_carries() {
        let streamed = path(CheckRecord::STREAMED, Some(1000.0));
        assert_eq!(limit(&carried(1000, 400), Some(&streamed)), None);
        let message = limit(&carried(1000, 500), Some(&streamed)).unwrap();
        assert!(message.contains("75 %"), "{message}");
        let names: Vec<String> = metrics(&carried(2, 4), None).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["client_sent_bytes_per_s", "client_received_bytes_per_s"]);
        assert_eq!(metrics(&carried(1000, 500), Some(&streamed))[2], ("client_path_share".to_owned(), 0.75));
    }

    #[test]
    fn a_way_is_found_in_the_kernels_table() {
        let routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                      eth0 00000000 0102A8C0 0003 0 0 0 00000000 0 0 0\n\
                      eth1 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n\
                      half a line\n";
        let check = |address: [u8; 4], expected: Option<&str>| {
            assert_eq!(interface(routes, address.into()).as_deref(), expected, "{address:?}");
        };
        check([10, 1, 2, 3], Some("eth1"));
        check([192, 0, 2, 7], Some("eth0"));
        assert_eq!(interface("", [10, 1, 2, 3].into()), None);
        assert_eq!((bytes_per_s("10000\n"), bytes_per_s("-1\n"), bytes_per_s("")), (Some(1.25e9), None, None));
    }

    #[test]
    fn a_local_way_is_measured_and_an_unknown_one_is_not_visible() {
        let streamed = Way::of_transport(Transport::Tcp).measure().unwrap();
        assert_eq!((streamed.subject.as_str(), streamed.seen_by.as_str()), ("tcp", CheckRecord::STREAMED));
        assert!(streamed.value(CheckRecord::BYTES).unwrap() > 1e6);
        let unknown = Way::Interface(None).measure().unwrap();
        assert_eq!((unknown.subject.as_str(), unknown.value(CheckRecord::BYTES)), ("network", None));
        let local = Endpoint::Tcp { host: "localhost".to_owned(), port: 1 };
        assert_eq!(Way::to(&local, true), Some(Way::Loopback));
        assert_eq!(Way::to(&Endpoint::File("/x".into()), false), None);
    }
}
