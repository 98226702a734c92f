//! One PostgreSQL connection: the messages of `message.rs` over a [`Transport`].

use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};

use super::end_point;
use super::message::{self, AnswerParser, Request, Step, begin_message, end_message, server_error, whole_message};
use crate::decimal::{DECIMAL_BYTES_MAX, decimal_text};
use crate::rows::TextRows;
use crate::tls::Session;
use crate::transport::{CALL_OFF_LIMIT, Transport, complete};
use crate::{
    Answer, ChannelBinding, Code, Connection, Dialect, Endpoint, Error, Login, OnPart, Part, Rows, Statement, Tls,
    Value,
};

const PROTOCOL_VERSION_3_0: i32 = 3 << 16;

/// Terminate: without it the server notes that the client vanished.
const FAREWELL: &[u8] = b"X\0\0\0\x04";

/// No message of a login is longer; what comes from another kind of server reads like a greater length.
const LOGIN_BYTES_MAX: usize = 64 << 10;

/// The kernel takes so much before the server has read any of it: a longer pipeline could wait for a server that
/// waits until its answers are read.
const PIPELINE_BYTES_MAX: usize = 64 << 10;

/// What asks to give up a statement in place of a protocol version.
const CANCEL_REQUEST: i32 = 80_877_102;

/// What asks for encryption in place of a protocol version.
const SSL_REQUEST: i32 = 80_877_103;

pub struct PostgresConnection {
    transport: Transport,
    /// Kept, as the statements' texts are, for a reconnect.
    login: Box<Login>,
    statements: Vec<Kept>,
    server_version: String,
    session: Option<u64>,
    /// Executions in the outbox that wait for [`Connection::send_queued`].
    queued: usize,
}

/// A statement's text, and when it is parsed.
struct Kept {
    sql: Box<[u8]>,
    parsed: Parsed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parsed {
    Once,
    /// Its text travels with each execution, and it has no name.
    EachTime,
    /// Its text travels with the next execution, under a name of this number.
    Next(usize),
    /// It was parsed by an execution, under the same name.
    AtFirstUse(usize),
}

/// Names behind an execution that failed differ from the ones before by this: which of its steps failed is not known.
const OTHER_NAME: usize = 1_000_000;

impl Kept {
    /// The number in its name, and whether its text travels with the next execution.
    fn next(&self, number: usize) -> (Option<usize>, bool) {
        match self.parsed {
            Parsed::Once => (Some(number), false),
            Parsed::EachTime => (None, true),
            Parsed::Next(name) => (Some(name), true),
            Parsed::AtFirstUse(name) => (Some(name), false),
        }
    }
}

/// `length:4 code:4 key`, in clear like every first message, and answered by nothing but the end.
fn cancel(endpoint: &Endpoint, key: &[u8]) -> Result<(), Error> {
    let mut transport = Transport::connect(endpoint, FAREWELL, CALL_OFF_LIMIT)?;
    let out = transport.outbox();
    out.extend_from_slice(&(8 + key.len() as i32).to_be_bytes());
    out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
    out.extend_from_slice(key);
    transport.send_on()?;
    match complete(transport.fill()) {
        Err(Error::Lost { .. }) => Ok(()),
        answered => answered,
    }
}

fn unbound(why: &str) -> Error {
    Error::Refused {
        code: Code::new(b"28000"),
        message: format!("channel_binding=require, but the login is not bound to its TLS session: {why}"),
    }
}

/// How results travel; the numbers are the protocol's.
#[derive(Clone, Copy)]
enum Format {
    Text = 0,
    Binary = 1,
}

impl PostgresConnection {
    pub fn connect(endpoint: &Endpoint, login: &Login, timeout: Duration) -> Result<PostgresConnection, Error> {
        let transport = Transport::connect(endpoint, FAREWELL, timeout)?;
        let login = Box::new(login.clone());
        let mut connection = PostgresConnection {
            transport,
            login,
            statements: Vec::new(),
            server_version: String::new(),
            session: None,
            queued: 0,
        };
        connection.set_up()?;
        Ok(connection)
    }

    /// From a fresh socket to where statements can be prepared.
    fn set_up(&mut self) -> Result<(), Error> {
        if self.login.tls != Tls::Off {
            complete(self.encrypt())?;
        }
        let key = complete(self.log_in())?;
        self.session = key.first_chunk().map(|number| u32::from_be_bytes(*number).into());
        self.transport.end_login(Arc::new(move |endpoint, _| cancel(endpoint, &key)));
        for at in 0..self.login.on_connect.len() {
            expect_idle(&mut self.transport)?;
            put_query(self.transport.outbox(), self.login.on_connect[at].as_bytes());
            self.transport.send()?;
            complete(read_answer(&mut self.transport, Request::Query))?;
        }
        Ok(())
    }

    fn restore(&mut self, timeout: Duration) -> Result<(), Error> {
        self.transport.reopen(timeout)?;
        self.set_up()?;
        for (number, kept) in self.statements.iter().enumerate().filter(|(_, kept)| kept.parsed == Parsed::Once) {
            expect_idle(&mut self.transport)?;
            put_parse(self.transport.outbox(), Some(number), &kept.sql);
            put_sync(self.transport.outbox());
            self.transport.send()?;
            complete(read_answer(&mut self.transport, Request::Parse))?;
        }
        for kept in &mut self.statements {
            if let Parsed::AtFirstUse(name) = kept.parsed {
                kept.parsed = Parsed::Next(name);
            }
        }
        Ok(())
    }

    /// `length:4=8 code:4`, answered by the one byte `S` or `N`.
    async fn encrypt(&mut self) -> Result<(), Error> {
        let out = self.transport.outbox();
        out.extend_from_slice(&8i32.to_be_bytes());
        out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
        self.transport.send_on()?;
        self.transport.fill().await?;
        let verdict = self.transport.unread()[0];
        self.transport.consume(1);
        match verdict {
            b'S' => self.transport.start_tls(self.login.tls, &self.login.certificates),
            b'N' => Err(Error::Refused {
                code: Code::new(b"08P01"),
                message: "this server does not encrypt here (on a socket file none does); set ssl = on and connect by TCP, or connect with tls off".to_owned(),
            }),
            _ => Err(protocol("a request to encrypt was answered with neither yes nor no")),
        }
    }

    /// The parameter `server_version`: `17.7`, `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The process that serves the session, as the login gave it.
    pub fn session_number(&self) -> Option<u64> {
        self.session
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn transport_mut(&mut self) -> &mut Transport {
        &mut self.transport
    }

    /// The key by which a statement of the session can be cancelled.
    async fn log_in(&mut self) -> Result<Vec<u8>, Error> {
        let login = &self.login;
        let out = self.transport.outbox();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&PROTOCOL_VERSION_3_0.to_be_bytes());
        for text in ["user", &login.user, "database", login.database.as_deref().unwrap_or(&login.user)] {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        out.push(0);
        end_message(out, 0);
        self.transport.send_on()?;
        let (user, password) = (login.user.clone(), login.password.clone());
        self.authenticate(&user, password.as_ref().map_or("", |p| p.expose())).await?;
        let mut key = Vec::new();
        loop {
            match self.read_message().await? {
                (b'S', body) => self.note_parameter(&body),
                (b'Z', _) => return Ok(key),
                (b'E', body) => return Err(server_error(&body)),
                (b'K', body) => key = body,
                (b'N' | b'A', _) => {}
                _ => return Err(protocol("unexpected message behind the login")),
            }
        }
    }

    fn note_parameter(&mut self, body: &[u8]) {
        let mut parts = body.split(|byte| *byte == 0);
        if let (Some(b"server_version"), Some(version)) = (parts.next(), parts.next()) {
            self.server_version = String::from_utf8_lossy(version).into_owned();
        }
    }

    async fn authenticate(&mut self, user: &str, password: &str) -> Result<(), Error> {
        let mut is_bound = false;
        loop {
            let (kind, body) = self.read_message().await?;
            if kind == b'E' {
                return Err(server_error(&body));
            }
            let method = body.get(..4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]));
            match (kind, method) {
                (b'R', Some(0)) if is_bound || self.login.channel_binding != ChannelBinding::Require => return Ok(()),
                (b'R', Some(0 | 3 | 5)) if self.login.channel_binding == ChannelBinding::Require => {
                    return Err(unbound("the server asked for a login without SCRAM"));
                }
                (b'R', Some(3)) => self.send_password(format!("{password}\0").as_bytes())?,
                (b'R', Some(5)) => {
                    let salt =
                        body.get(4..8).and_then(|salt| salt.try_into().ok()).ok_or_else(|| protocol("no md5 salt"))?;
                    let proof = md5_hash(user.as_bytes(), password.as_bytes(), salt);
                    self.send_password(format!("{proof}\0").as_bytes())?;
                }
                (b'R', Some(10)) => is_bound = self.scram(password, &body[4..]).await?,
                (b'R', Some(other)) => {
                    return Err(Error::Refused {
                        code: Code::new(b"28000"),
                        message: format!(
                            "the server wants authentication method {other}, and we speak trust, password, md5 and scram-sha-256; change its pg_hba.conf"
                        ),
                    });
                }
                (b'N', _) => {}
                _ => return Err(protocol("unexpected message during authentication")),
            }
        }
    }

    /// SASL with SCRAM-SHA-256 (RFC 5802, RFC 7677); the exchange itself is a library's. Whether the login is bound to
    /// the TLS session (RFC 5929, `tls-server-end-point`).
    async fn scram(&mut self, password: &str, mechanisms: &[u8]) -> Result<bool, Error> {
        let offers = |wanted: &str| mechanisms.split(|byte| *byte == 0).any(|name| name == wanted.as_bytes());
        let binding = self.login.channel_binding;
        let certificate = self.transport.encryption().and_then(Session::server_certificate);
        let hash = certificate.filter(|_| binding != ChannelBinding::Disable).and_then(end_point::hash);
        let (channel, mechanism) = match hash {
            Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
                (sasl::ChannelBinding::tls_server_end_point(hash), SCRAM_SHA_256_PLUS)
            }
            _ if binding == ChannelBinding::Require => {
                return Err(unbound("it needs tls, and a server that offers SCRAM-SHA-256-PLUS"));
            }
            // A server that had offered it would notice that somebody between took the offer away.
            Some(_) => (sasl::ChannelBinding::unrequested(), SCRAM_SHA_256),
            None => (sasl::ChannelBinding::unsupported(), SCRAM_SHA_256),
        };
        if !offers(mechanism) {
            return Err(protocol("the server offers no SCRAM-SHA-256"));
        }
        let mut scram = ScramSha256::new(password.as_bytes(), channel);
        let mut first = mechanism.as_bytes().to_vec();
        first.push(0);
        first.extend_from_slice(&(scram.message().len() as i32).to_be_bytes());
        first.extend_from_slice(scram.message());
        self.send_password(&first)?;
        let challenge = self.sasl_message(11).await?;
        scram.update(&challenge).map_err(|e| protocol(&e.to_string()))?;
        let proof = scram.message().to_vec();
        self.send_password(&proof)?;
        let verdict = self.sasl_message(12).await?;
        scram.finish(&verdict).map_err(|e| protocol(&e.to_string()))?;
        Ok(mechanism == SCRAM_SHA_256_PLUS)
    }

    async fn sasl_message(&mut self, expected: i32) -> Result<Vec<u8>, Error> {
        match self.read_message().await? {
            (b'E', body) => Err(server_error(&body)),
            (b'R', body) if body.get(..4) == Some(&expected.to_be_bytes()) => Ok(body[4..].to_vec()),
            _ => Err(protocol("the SCRAM exchange was interrupted")),
        }
    }

    fn send_password(&mut self, body: &[u8]) -> Result<(), Error> {
        let out = self.transport.outbox();
        let at = begin_message(out, b'p');
        out.extend_from_slice(body);
        end_message(out, at);
        self.transport.send_on()
    }

    /// One whole message, copied: for set-up only.
    async fn read_message(&mut self) -> Result<(u8, Vec<u8>), Error> {
        loop {
            let unread = self.transport.unread();
            if let Some((kind, body, size)) = whole_message(unread)? {
                let body = body.to_vec();
                self.transport.consume(size);
                return Ok((kind, body));
            }
            if message::announced_bytes(unread)?.is_some_and(|bytes| bytes > LOGIN_BYTES_MAX) {
                return Err(protocol("this is no PostgreSQL server: its message is longer than any here"));
            }
            self.transport.fill().await?;
        }
    }

    /// Shows the parts of a simple query's answer, for administration.
    pub(crate) fn each_part(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Part<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        expect_idle(&mut self.transport)?;
        put_query(self.transport.outbox(), sql.as_bytes());
        self.transport.send()?;
        let mut parser = AnswerParser::default();
        let mut broken = None;
        loop {
            complete(self.transport.fill())?;
            let mut on_part = |part: Part<'_>| {
                if let Err(error) = take(part) {
                    broken.get_or_insert(error);
                }
            };
            let step = step(&mut self.transport, &mut parser, Some(&mut on_part))?;
            self.transport.end_if(&mut broken)?;
            match step {
                Step::More => {}
                Step::Done(_) => return Ok(()),
                Step::WantsRows => return Err(protocol("the server asked for rows nobody offered")),
            }
        }
    }

    /// Rows of a simple query.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let mut rows = TextRows::default();
        self.each_part(sql, &mut |part| {
            if let Part::Row(body) = part {
                rows.push(message::text_row(body)?)?;
            }
            Ok(())
        })?;
        Ok(rows.rows)
    }

    /// Bind, Execute and Sync in one write; parameters as text, results in binary, as sysbench asks, or as
    /// text where they are shown.
    ///
    /// ```text
    /// B portal\0 statement\0 formats:2=0 parameters:2 (length:4 bytes)... result_formats:2=1 format:2
    /// E portal\0 row_limit:4=0
    /// S
    /// ```
    ///
    /// A statement that is parsed each time has no name, and its text comes before.
    fn put_execute(&mut self, statement: Statement, parameters: &[Value<'_>], results: Format) -> Result<(), Error> {
        expect_idle(&mut self.transport)?;
        self.put_bind(statement, parameters, results);
        put_run(self.transport.outbox());
        put_sync(self.transport.outbox());
        Ok(())
    }

    fn put_bind(&mut self, statement: Statement, parameters: &[Value<'_>], results: Format) {
        let out = self.transport.outbox();
        // One that was never kept has a name that the server does not know, and is refused.
        let kept = self.statements.get(statement.0);
        let (name, travels) = kept.map_or((Some(statement.0), false), |kept| kept.next(statement.0));
        kept.filter(|_| travels).into_iter().for_each(|kept| put_parse(out, name, &kept.sql));
        put_values(out, name, parameters, results);
    }

    /// What an execution of this statement asks for.
    fn request(&self, statement: Statement) -> Request {
        let travels = self.statements.get(statement.0).is_some_and(|kept| kept.next(statement.0).1);
        if travels { Request::ParseExecute } else { Request::Execute }
    }

    /// Notes whether a statement that its execution was to parse is known from here on.
    fn note_execution(&mut self, statement: Statement, is_answered: bool) {
        let Some(kept) = self.statements.get_mut(statement.0) else { return };
        if let Parsed::Next(name) = kept.parsed {
            kept.parsed = if is_answered { Parsed::AtFirstUse(name) } else { Parsed::Next(name + OTHER_NAME) };
        }
    }
}

/// The portal without a name is bound to a statement; `name` is its number, or it has none.
fn put_values(out: &mut Vec<u8>, name: Option<usize>, parameters: &[Value<'_>], results: Format) {
    let at = begin_message(out, b'B');
    out.push(0);
    put_name(out, name);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        match parameter {
            Value::Int(value) => put_decimal(out, *value, 0),
            Value::Text(text) => {
                out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                out.extend_from_slice(text);
            }
            Value::Decimal { units, scale } => put_decimal(out, *units, *scale),
            Value::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
        }
    }
    out.extend_from_slice(&[0, 1, 0, results as u8]);
    end_message(out, at);
}

/// What lies unread before a request belongs to no answer. Messages that may come at any time are passed over.
pub(super) fn expect_idle(transport: &mut Transport) -> Result<(), Error> {
    if transport.unread().is_empty() { Ok(()) } else { pass_over(transport) }
}

#[cold]
fn pass_over(transport: &mut Transport) -> Result<(), Error> {
    let unasked = loop {
        match whole_message(transport.unread()) {
            Ok(Some((kind, body, _))) if message::is_farewell(kind, body) => break message::farewell(body),
            Ok(Some((b'S' | b'N' | b'A', _, size))) => transport.consume(size),
            Ok(Some((b'E', body, _))) => break protocol(&format!("unasked: {}", message::server_error(body))),
            // The rest of a message comes with the next answer.
            Ok(None) if matches!(transport.unread().first(), None | Some(b'S' | b'N' | b'A')) => return Ok(()),
            Ok(_) => break protocol(&format!("{} bytes behind the end of an answer", transport.unread().len())),
            Err(error) => break error,
        }
    };
    transport.disconnect();
    Err(unasked)
}

pub(super) async fn read_answer(transport: &mut Transport, request: Request) -> Result<Answer, Error> {
    let mut parser = AnswerParser::to_request(request);
    loop {
        transport.fill().await?;
        match step(transport, &mut parser, None)? {
            Step::More => {}
            Step::Done(answer) => return Ok(answer),
            Step::WantsRows => return Err(protocol("the server asked for rows nobody offered")),
        }
    }
}

/// Reads one answer with its values.
async fn read_rows(transport: &mut Transport, request: Request, rows: &mut Rows) -> Result<Answer, Error> {
    let mut parser = AnswerParser::to_request(request).described(rows.keeps_names());
    let mut broken = None;
    loop {
        transport.fill().await?;
        let mut on_part = |part: Part<'_>| {
            if let Err(error) = rows.take_postgres(part) {
                broken.get_or_insert(error);
            }
        };
        let step = step(transport, &mut parser, Some(&mut on_part))?;
        transport.end_if(&mut broken)?;
        match step {
            Step::More => {}
            Step::Done(answer) => return Ok(answer),
            Step::WantsRows => return Err(protocol("the server asked for rows nobody offered")),
        }
    }
}

pub(super) fn step(
    transport: &mut Transport,
    parser: &mut AnswerParser,
    on_part: Option<OnPart<'_>>,
) -> Result<Step, Error> {
    match parser.feed(transport.unread(), on_part) {
        Ok((consumed, step)) => {
            transport.consume(consumed);
            Ok(step)
        }
        // Nothing can be understood behind what the protocol does not allow.
        Err(error @ Error::Protocol(_)) => {
            transport.disconnect();
            Err(error)
        }
        Err(error) => {
            transport.consume(parser.consumed());
            Err(error)
        }
    }
}

pub(super) fn put_query(out: &mut Vec<u8>, sql: &[u8]) {
    let at = begin_message(out, b'Q');
    out.extend_from_slice(sql);
    out.push(0);
    end_message(out, at);
}

fn put_parse(out: &mut Vec<u8>, number: Option<usize>, sql: &[u8]) {
    let at = begin_message(out, b'P');
    put_name(out, number);
    out.extend_from_slice(sql);
    out.extend_from_slice(&[0, 0, 0]);
    end_message(out, at);
}

/// Execute of the portal without a name, for all its rows.
fn put_run(out: &mut Vec<u8>) {
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

/// Describe of the portal without a name.
fn put_describe(out: &mut Vec<u8>) {
    out.extend_from_slice(b"D\0\0\0\x06P\0");
}

fn put_sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

impl Connection for PostgresConnection {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let number = self.statements.len();
        expect_idle(&mut self.transport)?;
        let before = self.transport.enter_set_up();
        put_parse(self.transport.outbox(), Some(number), sql.as_bytes());
        put_sync(self.transport.outbox());
        let sent = self.transport.send();
        let answer = sent.and_then(|()| complete(read_answer(&mut self.transport, Request::Parse)));
        self.transport.leave_set_up(before);
        answer?;
        self.statements.push(Kept { sql: sql.as_bytes().into(), parsed: Parsed::Once });
        Ok(Statement(number))
    }

    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        self.statements.push(Kept { sql: sql.as_bytes().into(), parsed: Parsed::EachTime });
        Ok(Statement(self.statements.len() - 1))
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        self.put_execute(statement, parameters, Format::Binary)?;
        self.transport.send()?;
        let request = self.request(statement);
        let answer = read_answer(&mut self.transport, request).await;
        if request == Request::ParseExecute {
            self.note_execution(statement, answer.is_ok());
        }
        answer
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        rows.clear();
        expect_idle(&mut self.transport)?;
        self.put_bind(statement, parameters, Format::Text);
        let out = self.transport.outbox();
        if rows.keeps_names() {
            put_describe(out);
        }
        put_run(out);
        put_sync(out);
        self.transport.send()?;
        let request = self.request(statement);
        let answer = read_rows(&mut self.transport, request, rows).await;
        if request == Request::ParseExecute {
            self.note_execution(statement, answer.is_ok());
        }
        answer
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.query_bytes(sql.as_bytes()).await
    }

    async fn query_bytes(&mut self, sql: &[u8]) -> Result<Answer, Error> {
        expect_idle(&mut self.transport)?;
        put_query(self.transport.outbox(), sql);
        self.transport.send()?;
        read_answer(&mut self.transport, Request::Query).await
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.query_bytes_into(sql.as_bytes(), rows).await
    }

    async fn query_bytes_into(&mut self, sql: &[u8], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        expect_idle(&mut self.transport)?;
        put_query(self.transport.outbox(), sql);
        self.transport.send()?;
        read_rows(&mut self.transport, Request::Query, rows).await
    }

    fn queue(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<(), Error> {
        if self.queued == 0 {
            expect_idle(&mut self.transport)?;
        }
        self.put_bind(statement, parameters, Format::Binary);
        put_run(self.transport.outbox());
        self.queued += 1;
        if self.transport.outbox().len() > PIPELINE_BYTES_MAX {
            self.drop_queued();
            let message = format!("a pipeline of more than {PIPELINE_BYTES_MAX} bytes");
            return Err(Error::Refused { code: Code::new(b"54000"), message });
        }
        Ok(())
    }

    async fn send_queued(&mut self) -> Result<Answer, Error> {
        self.queued = 0;
        put_sync(self.transport.outbox());
        self.transport.send()?;
        read_answer(&mut self.transport, Request::Pipeline).await
    }

    fn prepare_at_first_use(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        let number = self.statements.len();
        self.statements.push(Kept { sql: sql.into(), parsed: Parsed::Next(number) });
        Ok(Statement(number))
    }

    async fn execute_unnamed(&mut self, sql: &[u8], parameters: &[Value<'_>]) -> Result<Answer, Error> {
        expect_idle(&mut self.transport)?;
        let out = self.transport.outbox();
        put_parse(out, None, sql);
        put_values(out, None, parameters, Format::Binary);
        put_run(out);
        put_sync(out);
        self.transport.send()?;
        read_answer(&mut self.transport, Request::ParseExecute).await
    }

    async fn fetch_unnamed(&mut self, sql: &[u8], parameters: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        expect_idle(&mut self.transport)?;
        let out = self.transport.outbox();
        put_parse(out, None, sql);
        put_values(out, None, parameters, Format::Text);
        if rows.keeps_names() {
            put_describe(out);
        }
        put_run(out);
        put_sync(out);
        self.transport.send()?;
        read_rows(&mut self.transport, Request::ParseExecute, rows).await
    }

    fn forget_statements(&mut self) {
        self.statements.clear();
    }

    fn drop_queued(&mut self) {
        if std::mem::take(&mut self.queued) > 0 {
            self.transport.outbox().clear();
        }
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.transport.has_more() { pass_over(&mut self.transport) } else { Ok(()) }
    }

    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        let limit = self.transport.limit();
        let restored = self.restore(timeout);
        self.transport.settle(restored, limit)
    }
}

/// `s` and the statement's number: to make the name costs less than to read it from memory that other
/// connections have driven out of the CPU's caches.
fn put_name(out: &mut Vec<u8>, number: Option<usize>) {
    if let Some(number) = number {
        let mut room = [0; DECIMAL_BYTES_MAX];
        out.push(b's');
        out.extend_from_slice(decimal_text(number as i64, 0, &mut room));
    }
    out.push(0);
}

/// A length-prefixed decimal number.
fn put_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
    let mut room = [0; DECIMAL_BYTES_MAX];
    let digits = decimal_text(units, scale, &mut room);
    out.extend_from_slice(&(digits.len() as u32).to_be_bytes());
    out.extend_from_slice(digits);
}

pub(super) fn protocol(why: &str) -> Error {
    Error::Protocol(why.to_owned())
}
