//! Requests and responses of HTTP/1.1, as much as pages need: one request a connection, no body.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use url::form_urlencoded;

/// A browser's request of a page has half a kilobyte.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// For the whole request, however slowly it comes.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Of pages without anything inline: styles, script and events come from here.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub is_head: bool,
    pub path: String,
    query: Vec<(String, String)>,
    pub host: String,
}

impl Request {
    /// Reads the head of a request, or gives what to refuse it with.
    pub fn read(mut stream: &TcpStream) -> std::io::Result<Result<Request, Response>> {
        let begun = Instant::now();
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            let left = READ_TIMEOUT.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(Err(Response::error(408, "the request did not come to its end")));
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes.extend_from_slice(&part[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            match Request::parse(&bytes) {
                Ok(Some(request)) => return Ok(Ok(request)),
                Ok(None) if bytes.len() < HEAD_BYTES_MAX => {}
                Ok(None) => return Ok(Err(Response::error(431, "the request is too long"))),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    /// Nothing while the head is incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<Request>, Response> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        let parsed =
            head.parse(bytes).map_err(|error| Response::error(400, &format!("this is no HTTP request: {error}")))?;
        if parsed.is_partial() {
            return Ok(None);
        }
        let is_head = match head.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => return Err(Response::error(405, "nothing can be changed here: only GET and HEAD are answered")),
        };
        let mut hosts = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => String::from_utf8_lossy(host.value).trim().to_ascii_lowercase(),
            _ => return Err(Response::error(400, "the request names no host, or several")),
        };
        let target = head.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Ok(Some(Request { is_head, path: path.to_owned(), query, host }))
    }

    /// The value of a field of the query.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[cfg(test)]
    pub fn get(host: &str, target: &str) -> Request {
        Request::parse(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).unwrap().unwrap()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub policy: String,
    pub body: String,
}

impl Response {
    pub fn html(body: String) -> Response {
        Response::of("text/html; charset=utf-8", body)
    }

    /// Another page than ours, with a policy of its own.
    pub fn with_policy(self, policy: String) -> Response {
        Response { policy, ..self }
    }

    pub fn of(kind: &'static str, body: String) -> Response {
        Response { status: 200, kind, policy: POLICY.to_owned(), body }
    }

    /// A line of text; a page that fails has a page of its own.
    pub fn error(status: u16, message: &str) -> Response {
        Response { status, ..Response::of("text/plain; charset=utf-8", format!("{message}\n")) }
    }

    pub fn send(&self, mut stream: &TcpStream, is_head: bool) -> std::io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let length = format!("content-length: {}\r\n", self.body.len());
        let allow = if self.status == 405 { "allow: GET, HEAD\r\n" } else { "" };
        let mut text = head(self.status, self.kind, &self.policy, &(length + allow));
        if !is_head {
            text += &self.body;
        }
        stream.write_all(text.as_bytes())
    }

    /// What stands before a stream of events, which has no length.
    pub fn events_head(mut stream: &TcpStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        stream.write_all(head(200, "text/event-stream; charset=utf-8", POLICY, "").as_bytes())
    }
}

fn head(status: u16, kind: &str, policy: &str, further: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-security-policy: {policy}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-frame-options: DENY\r\n\
         referrer-policy: no-referrer\r\ncross-origin-opener-policy: same-origin\r\n\
         cross-origin-resource-policy: same-origin\r\nconnection: close\r\n{further}\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Option<u16> {
        Request::parse(text.as_bytes()).err().map(|refusal| refusal.status)
    }

    #[test]
    fn a_request_has_a_path_a_query_and_one_host() {
        let request = Request::get("Localhost:7070", "/compare?first=a%20b&second=%3Cb%3E");
        assert_eq!((request.path.as_str(), request.host.as_str()), ("/compare", "localhost:7070"));
        assert_eq!((request.field("first"), request.field("second")), (Some("a b"), Some("<b>")));
        assert_eq!(request.field("third"), None);
        assert_eq!(Request::parse(b"GET / HTTP/1.1\r\nhost: a\r\n"), Ok(None));
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), Some(400));
        assert_eq!(status("GET / HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n"), Some(400));
        assert_eq!(status("\x16\x03\x01 TLS\r\n\r\n"), Some(400));
    }

    #[test]
    fn nothing_but_get_and_head_is_answered() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"] {
            assert_eq!(status(&format!("{method} / HTTP/1.1\r\nhost: a\r\n\r\n")), Some(405), "{method}");
        }
    }
}
