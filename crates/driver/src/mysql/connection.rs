//! One MySQL connection: the packets of `packet.rs` over a [`Transport`].

use std::sync::Arc;
use std::time::Duration;

use super::auth;
use super::packet::{
    self, AnswerParser, CLIENT_PLUGIN_AUTH, CLIENT_SECURE_CONNECTION, Greeting, Step, begin_packet, end_packet,
    last_sequence, put_lenenc, server_error,
};
use crate::decimal::{DECIMAL_BYTES_MAX, decimal_text};
use crate::rows::TextRows;
use crate::transport::{CALL_OFF_LIMIT, Ended, Transport, complete};
use crate::{Answer, Code, Connection, Dialect, Endpoint, Error, Login, OnPart, Part, Rows, Statement, Tls, Value};

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_LONG_FLAG: u32 = 1 << 2;
const CLIENT_CONNECT_WITH_DB: u32 = 1 << 3;
const CLIENT_COMPRESS: u32 = 1 << 5;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
const CLIENT_SSL: u32 = 1 << 11;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
/// A text may hold several statements; it changes nothing for those that hold one.
const CLIENT_MULTI_STATEMENTS: u32 = 1 << 16;
const CLIENT_MULTI_RESULTS: u32 = 1 << 17;
const CLIENT_PS_MULTI_RESULTS: u32 = 1 << 18;

/// The largest packet that we announce to take.
const PACKET_BYTES_MAX: u32 = 16 << 20;

/// COM_QUIT: without it the server counts the connection as aborted.
const FAREWELL: &[u8] = &[1, 0, 0, 0, 0x01];
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

const TYPE_LONGLONG: u8 = 0x08;
const TYPE_NULL: u8 = 0x06;
const TYPE_NEWDECIMAL: u8 = 0xf6;
const TYPE_VAR_STRING: u8 = 0xfd;

/// No packet of a login is longer; what comes from another kind of server reads like a greater length.
const LOGIN_BYTES_MAX: usize = 64 << 10;
/// No packet that describes a prepared statement is longer.
const PREPARE_BYTES_MAX: usize = 1 << 20;

/// The client's own code for what cannot be done with this server.
const CR_NOT_IMPLEMENTED: u16 = 2054;

/// ER_UNSUPPORTED_PS: "This command is not supported in the prepared statement protocol yet".
const ER_UNSUPPORTED_PS: &str = "1295";

pub struct MySqlConnection {
    transport: Transport,
    /// Kept, as the statements' texts are, for a reconnect.
    login: Box<Login>,
    statements: Vec<Prepared>,
    server_version: String,
    session: u32,
    /// Number of the last packet that we or the server sent.
    sequence: u8,
}

fn kill(endpoint: &Endpoint, login: &Login, session: u32, ended: Ended) -> Result<(), Error> {
    let mut other = MySqlConnection::connect(endpoint, login, CALL_OFF_LIMIT)?;
    let what = if ended == Ended::Session { "" } else { "QUERY " };
    complete(other.query(&format!("KILL {what}{session}"))).map(drop)
}

struct Prepared {
    sql: Box<[u8]>,
    way: Way,
    when: When,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// When it is asked for, and again behind a reconnect.
    Now,
    /// Before its first execution on a connection.
    AtFirstUse,
    /// Before each execution, and closed behind it.
    EachTime,
}

enum Way {
    /// Not prepared yet.
    Later,
    Binary {
        id: u32,
        parameters: u16,
        types_sent: bool,
    },
    /// A statement that this server refuses to prepare (MySQL: BEGIN) goes as text.
    Text,
}

impl MySqlConnection {
    pub fn connect(endpoint: &Endpoint, login: &Login, timeout: Duration) -> Result<MySqlConnection, Error> {
        let transport = Transport::connect(endpoint, FAREWELL, timeout)?;
        let login = Box::new(login.clone());
        let (statements, server_version) = (Vec::new(), String::new());
        let mut connection = MySqlConnection { transport, login, statements, server_version, session: 0, sequence: 0 };
        connection.set_up()?;
        Ok(connection)
    }

    /// From a fresh socket to where statements can be prepared.
    fn set_up(&mut self) -> Result<(), Error> {
        let session = complete(self.log_in())?;
        self.session = session;
        let login = Login { database: None, on_connect: Vec::new(), ..(*self.login).clone() };
        self.transport.end_login(Arc::new(move |endpoint, ended| kill(endpoint, &login, session, ended)));
        for at in 0..self.login.on_connect.len() {
            self.expect_idle()?;
            put_query(self.transport.outbox(), self.login.on_connect[at].as_bytes());
            self.send()?;
            complete(self.read_answer(false))?;
        }
        Ok(())
    }

    fn restore(&mut self, timeout: Duration) -> Result<(), Error> {
        self.transport.reopen(timeout)?;
        self.set_up()?;
        for at in 0..self.statements.len() {
            match self.statements[at].when {
                When::Now => complete(self.prepare_again(at))?,
                When::AtFirstUse => self.statements[at].way = Way::Later,
                When::EachTime => {}
            }
        }
        Ok(())
    }

    async fn prepare_again(&mut self, at: usize) -> Result<(), Error> {
        let sql = std::mem::take(&mut self.statements[at].sql);
        let prepared = self.prepare_text(&sql).await;
        self.statements[at].sql = sql;
        self.statements[at].way = prepared?;
        Ok(())
    }

    /// A statement that is parsed each time, and not as a text, or for the first time, is parsed now.
    async fn parse_if_due(&mut self, statement: Statement) -> Result<(), Error> {
        match &self.statements[statement.0] {
            Prepared { when: When::EachTime, way: Way::Binary { .. }, .. } | Prepared { way: Way::Later, .. } => {
                self.prepare_again(statement.0).await
            }
            _ => Ok(()),
        }
    }

    /// Behind its answer the server may forget such a statement; it does not reply.
    fn close_each_time(&mut self, statement: Statement) -> Result<(), Error> {
        let Prepared { when: When::EachTime, way: Way::Binary { id, .. }, .. } = self.statements[statement.0] else {
            return Ok(());
        };
        let out = self.transport.outbox();
        let at = begin_packet(out, 0);
        out.push(COM_STMT_CLOSE);
        out.extend_from_slice(&id.to_le_bytes());
        end_packet(out, at);
        self.transport.send_on()
    }

    /// Bytes that lie unread before a request belong to no answer.
    fn expect_idle(&mut self) -> Result<(), Error> {
        if self.transport.unread().is_empty() { Ok(()) } else { Err(self.unasked()) }
    }

    #[cold]
    fn unasked(&mut self) -> Error {
        let unread = self.transport.unread();
        let farewell = packet::whole_packet(unread)
            .filter(|(payload, ..)| payload.first() == Some(&0xff))
            .map(|(payload, ..)| server_error(payload))
            .filter(|error| matches!(error, Error::Lost { .. }));
        let unasked = || Error::Protocol(format!("{} bytes behind the end of an answer", unread.len()));
        let error = farewell.unwrap_or_else(unasked);
        self.transport.disconnect();
        error
    }

    /// Sends a command, which begins a new series of packet numbers.
    fn send(&mut self) -> Result<(), Error> {
        self.sequence = last_sequence(self.transport.outbox().len());
        self.transport.send()
    }

    /// As in the server's greeting, without the `5.5.5-` that MariaDB once put in front.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// As in the server's greeting.
    pub fn session_number(&self) -> u64 {
        self.session.into()
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn transport_mut(&mut self) -> &mut Transport {
        &mut self.transport
    }

    /// The number by which the session can be ended.
    async fn log_in(&mut self) -> Result<u32, Error> {
        self.sequence = u8::MAX;
        let payload = self.read_packet(LOGIN_BYTES_MAX).await?;
        let greeting = Greeting::parse(&payload)?;
        self.server_version = greeting.version.strip_prefix("5.5.5-").unwrap_or(&greeting.version).to_owned();
        if self.login.compressed && greeting.capabilities & CLIENT_COMPRESS == 0 {
            return Err(Error::Refused {
                code: Code::number(CR_NOT_IMPLEMENTED),
                message: format!(
                    "this server ({}) does not compress; connect without compression",
                    self.server_version
                ),
            });
        }
        if self.login.tls != Tls::Off {
            self.encrypt(&greeting)?;
        }
        let password = self.login.password.clone();
        let password = password.as_ref().map_or("", |p| p.expose());
        let plugin = greeting.plugin.clone().unwrap_or_else(|| "mysql_native_password".to_owned());
        // An unknown plugin is answered with nothing; the server then asks to switch.
        let proof = self.proof(&plugin, password, &greeting.scramble)?.unwrap_or_default();
        self.put_handshake_response(&greeting, &plugin, &proof);
        self.transport.send_on()?;
        self.finish_login(&plugin, password, greeting.scramble).await?;
        if self.login.compressed {
            self.transport.start_compression()?;
        }
        Ok(greeting.session)
    }

    fn capabilities(&self, greeting: &Greeting) -> u32 {
        let always = CLIENT_LONG_PASSWORD
            | CLIENT_LONG_FLAG
            | CLIENT_PROTOCOL_41
            | CLIENT_TRANSACTIONS
            | CLIENT_SECURE_CONNECTION
            | CLIENT_MULTI_STATEMENTS
            | CLIENT_MULTI_RESULTS
            | CLIENT_PS_MULTI_RESULTS;
        let database = if self.login.database.is_some() { CLIENT_CONNECT_WITH_DB } else { 0 };
        let tls = if self.login.tls == Tls::Off { 0 } else { CLIENT_SSL };
        let compression = if self.login.compressed { CLIENT_COMPRESS } else { 0 };
        always | database | tls | compression | greeting.capabilities & CLIENT_PLUGIN_AUTH
    }

    /// The first half of the handshake response in clear, then everything encrypted.
    ///
    /// ```text
    /// capabilities:4 max_packet:4 charset:1 zero:23
    /// ```
    fn encrypt(&mut self, greeting: &Greeting) -> Result<(), Error> {
        if greeting.capabilities & CLIENT_SSL == 0 {
            return Err(Error::Refused {
                code: Code::number(2026),
                message: format!(
                    "this server ({}) does not encrypt; give it ssl_cert and ssl_key, or connect with tls off",
                    self.server_version
                ),
            });
        }
        let (capabilities, sequence) = (self.capabilities(greeting), self.next_sequence());
        let out = self.transport.outbox();
        let at = begin_packet(out, sequence);
        put_client_flags(out, capabilities, greeting.charset);
        end_packet(out, at);
        self.transport.send_on()?;
        self.transport.start_tls(self.login.tls, &self.login.certificates)
    }

    /// ```text
    /// capabilities:4 max_packet:4 charset:1 zero:23 user\0 proof_length:1 proof [database\0] [plugin\0]
    /// ```
    fn put_handshake_response(&mut self, greeting: &Greeting, plugin: &str, proof: &[u8]) {
        let (capabilities, sequence) = (self.capabilities(greeting), self.next_sequence());
        let login = &self.login;
        let out = self.transport.outbox();
        let at = begin_packet(out, sequence);
        put_client_flags(out, capabilities, greeting.charset);
        out.extend_from_slice(login.user.as_bytes());
        out.push(0);
        out.push(proof.len() as u8);
        out.extend_from_slice(proof);
        if let Some(database) = &login.database {
            out.extend_from_slice(database.as_bytes());
            out.push(0);
        }
        if capabilities & CLIENT_PLUGIN_AUTH != 0 {
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
        }
        end_packet(out, at);
    }

    async fn finish_login(&mut self, plugin: &str, password: &str, mut scramble: Vec<u8>) -> Result<(), Error> {
        let mut plugin = plugin.to_owned();
        loop {
            let payload = self.read_packet(LOGIN_BYTES_MAX).await?;
            match payload.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(server_error(&payload)),
                Some(0xfe) => {
                    (plugin, scramble) = switch_request(&payload)?;
                    let proof = self.proof(&plugin, password, &scramble)?.ok_or_else(|| unknown_plugin(&plugin))?;
                    self.send_packet(&proof)?;
                }
                _ => {
                    let more = payload.strip_prefix(&[0x01]).unwrap_or(&payload);
                    let answer = self.continued(&plugin, password, &scramble, more)?;
                    answer.map_or(Ok(()), |answer| self.send_packet(&answer))?;
                }
            }
        }
    }

    /// The first answer to a plugin; None where there is no such plugin here.
    fn proof(&self, plugin: &str, password: &str, scramble: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(Some(match plugin {
            "mysql_native_password" => auth::native(password, scramble),
            "caching_sha2_password" => auth::caching_sha2(password, scramble),
            "client_ed25519" => auth::ed25519(password, scramble),
            // The kernel vouches for the account.
            "auth_socket" | "unix_socket" => Vec::new(),
            // Asks for the account's salt.
            "parsec" => Vec::new(),
            // This one holds a socket file for no safer than a network.
            "sha256_password" if self.transport.encryption().is_some() => terminated(password),
            "sha256_password" if password.is_empty() => vec![0],
            // Asks for the public key.
            "sha256_password" => vec![0x01],
            _ => return Ok(None),
        }))
    }

    /// The answer to what a plugin sends next, if it expects one.
    fn continued(&self, plugin: &str, password: &str, scramble: &[u8], more: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match (plugin, more) {
            (_, []) => Err(Error::Protocol("empty authentication data".to_owned())),
            // Known to the server's cache: an OK follows.
            ("caching_sha2_password", [0x03]) => Ok(None),
            ("caching_sha2_password", [0x04]) if self.transport.is_private() => Ok(Some(terminated(password))),
            // Asks for the public key.
            ("caching_sha2_password", [0x04]) => Ok(Some(vec![0x02])),
            ("parsec", salted) => auth::parsec(password, scramble, salted).map(Some),
            ("caching_sha2_password" | "sha256_password", key) => auth::sealed(password, scramble, key).map(Some),
            _ => Err(unknown_plugin(plugin)),
        }
    }

    /// The number of our next packet of a login.
    fn next_sequence(&mut self) -> u8 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    fn send_packet(&mut self, payload: &[u8]) -> Result<(), Error> {
        let sequence = self.next_sequence();
        let out = self.transport.outbox();
        let at = begin_packet(out, sequence);
        out.extend_from_slice(payload);
        end_packet(out, at);
        self.transport.send_on()
    }

    /// One whole packet of at most so many bytes, copied: for set-up only.
    async fn read_packet(&mut self, bytes_max: usize) -> Result<Vec<u8>, Error> {
        self.take_packet(bytes_max, <[u8]>::to_vec).await
    }

    /// Shows one whole packet of at most so many bytes.
    async fn take_packet<T>(&mut self, bytes_max: usize, take: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let expected = self.sequence.wrapping_add(1);
        loop {
            let unread = self.transport.unread();
            if let Some((payload, sequence, size)) = packet::whole_packet(unread) {
                // Servers number an error as they please when they refuse a connection.
                if sequence != expected && payload.first() != Some(&0xff) {
                    return Err(Error::Protocol(format!("packet number {sequence} where number {expected} was due")));
                }
                let taken = take(payload);
                self.sequence = sequence;
                self.transport.consume(size);
                return Ok(taken);
            }
            if packet::announced_bytes(unread).is_some_and(|bytes| bytes > bytes_max) {
                return Err(Error::Protocol("this is no MySQL server: its packet is longer than any here".to_owned()));
            }
            self.transport.fill().await?;
        }
    }

    fn parser(&self, binary: bool) -> AnswerParser {
        let parser = AnswerParser::to_request(self.sequence, binary);
        if self.login.compressed { parser.unnumbered() } else { parser }
    }

    async fn read_answer(&mut self, binary: bool) -> Result<Answer, Error> {
        let mut parser = self.parser(binary);
        loop {
            self.transport.fill().await?;
            match self.step(&mut parser, None)? {
                Step::More => {}
                Step::Done(answer) => return Ok(answer),
            }
        }
    }

    fn step(&mut self, parser: &mut AnswerParser, on_part: Option<OnPart<'_>>) -> Result<Step, Error> {
        match parser.feed(self.transport.unread(), on_part) {
            Ok((consumed, step)) => {
                self.transport.consume(consumed);
                Ok(step)
            }
            // Nothing can be understood behind what the protocol does not allow.
            Err(error @ Error::Protocol(_)) => {
                self.transport.disconnect();
                Err(error)
            }
            Err(error) => {
                self.transport.consume(parser.consumed());
                Err(error)
            }
        }
    }

    /// Shows the parts of a text query's answer, for administration.
    pub(crate) fn each_part(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Part<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.expect_idle()?;
        put_query(self.transport.outbox(), sql.as_bytes());
        self.send()?;
        let mut parser = self.parser(false);
        let mut broken = None;
        loop {
            complete(self.transport.fill())?;
            let mut on_part = |part: Part<'_>| {
                if let Err(error) = take(part) {
                    broken.get_or_insert(error);
                }
            };
            let step = self.step(&mut parser, Some(&mut on_part))?;
            self.transport.end_if(&mut broken)?;
            if let Step::Done(_) = step {
                return Ok(());
            }
        }
    }

    /// Rows of a text query.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let mut rows = TextRows::default();
        self.each_part(sql, &mut |part| {
            if let Part::Row(payload) = part {
                rows.push(packet::text_row(payload)?)?;
            }
            Ok(())
        })?;
        Ok(rows.rows)
    }

    /// Reads one answer with its values.
    async fn read_rows(&mut self, binary: bool, rows: &mut Rows) -> Result<Answer, Error> {
        let mut parser = self.parser(binary);
        let mut broken = None;
        loop {
            self.transport.fill().await?;
            let mut on_part = |part: Part<'_>| {
                if let Err(error) = rows.take_mysql(part, binary) {
                    broken.get_or_insert(error);
                }
            };
            let step = self.step(&mut parser, Some(&mut on_part))?;
            self.transport.end_if(&mut broken)?;
            if let Step::Done(answer) = step {
                return Ok(answer);
            }
        }
    }

    /// Answered by `00 statement:4 columns:2 parameters:2 00 warnings:2`, then a packet per
    /// parameter and EOF, then a packet per column and EOF.
    async fn prepare_text(&mut self, sql: &[u8]) -> Result<Way, Error> {
        self.expect_idle()?;
        let out = self.transport.outbox();
        let at = begin_packet(out, 0);
        out.push(COM_STMT_PREPARE);
        out.extend_from_slice(sql);
        end_packet(out, at);
        self.send()?;
        let (id, columns, parameters) = match self.take_packet(PREPARE_BYTES_MAX, prepared).await? {
            Err(Error::Refused { code, .. }) if code.as_str() == ER_UNSUPPORTED_PS => return Ok(Way::Text),
            prepared => prepared?,
        };
        self.read_definitions(parameters).await?;
        self.read_definitions(columns).await?;
        Ok(Way::Binary { id, parameters, types_sent: false })
    }

    /// As many definitions as there are, and the EOF behind them.
    async fn read_definitions(&mut self, count: u16) -> Result<(), Error> {
        for left in (0..=count).rev().take_while(|_| count > 0) {
            let is_end = |payload: &[u8]| match payload.first() {
                Some(0xff) => {
                    let error = server_error(payload);
                    Err(Error::Protocol(format!("where a statement was to be described: {error}")))
                }
                first => Ok(first == Some(&0xfe) && payload.len() < 9),
            };
            let is_end = self.take_packet(PREPARE_BYTES_MAX, is_end).await??;
            if is_end != (left == 0) {
                return Err(Error::Protocol("more or fewer definitions than a prepared statement has".to_owned()));
            }
        }
        Ok(())
    }

    /// ```text
    /// 17 statement:4 flags:1 iterations:4 null_bitmap:(n+7)/8 types_follow:1 [type:2 ...] values
    /// ```
    fn put_execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<bool, Error> {
        self.expect_idle()?;
        let out = self.transport.outbox();
        let at = begin_packet(out, 0);
        let Prepared { sql, way, when } = &mut self.statements[statement.0];
        match way {
            Way::Later => return Err(Error::Protocol("a statement was executed before it was prepared".to_owned())),
            Way::Text => {
                out.push(COM_QUERY);
                out.extend_from_slice(sql);
            }
            Way::Binary { id, parameters: expected, types_sent } => {
                debug_assert_eq!(usize::from(*expected), parameters.len(), "a statement gets all its parameters");
                out.push(COM_STMT_EXECUTE);
                out.extend_from_slice(&id.to_le_bytes());
                out.extend_from_slice(&[0, 1, 0, 0, 0]);
                // What is prepared at its first use need not have values of the same types each time.
                *types_sent &= *when != When::AtFirstUse;
                if !parameters.is_empty() {
                    put_parameters(out, parameters, types_sent);
                }
            }
        }
        end_packet(out, at);
        Ok(matches!(way, Way::Binary { .. }))
    }
}

/// The number of a prepared statement, of its columns and of its parameters.
fn prepared(payload: &[u8]) -> Result<(u32, u16, u16), Error> {
    if payload.first() == Some(&0xff) {
        return Err(server_error(payload));
    }
    let fixed = payload.get(..9).filter(|fixed| fixed[0] == 0);
    let fixed = fixed.ok_or_else(|| Error::Protocol("no answer to a prepare".to_owned()))?;
    let id = u32::from_le_bytes([fixed[1], fixed[2], fixed[3], fixed[4]]);
    Ok((id, u16::from_le_bytes([fixed[5], fixed[6]]), u16::from_le_bytes([fixed[7], fixed[8]])))
}

/// The server remembers the types of a statement's parameters, so they travel once; those with a NULL
/// among them travel along with it, since a NULL has no type that its place could keep.
fn put_parameters(out: &mut Vec<u8>, parameters: &[Value<'_>], types_sent: &mut bool) {
    let bitmap = out.len();
    out.resize(bitmap + parameters.len().div_ceil(8), 0);
    let mut any_null = false;
    for (at, parameter) in parameters.iter().enumerate() {
        if matches!(parameter, Value::Null) {
            out[bitmap + at / 8] |= 1 << (at % 8);
            any_null = true;
        }
    }
    let types_follow = any_null || !*types_sent;
    *types_sent = !any_null;
    out.push(u8::from(types_follow));
    if types_follow {
        for parameter in parameters {
            let kind = match parameter {
                Value::Int(_) => TYPE_LONGLONG,
                Value::Text(_) => TYPE_VAR_STRING,
                Value::Decimal { .. } => TYPE_NEWDECIMAL,
                Value::Null => TYPE_NULL,
            };
            out.extend_from_slice(&[kind, 0]);
        }
    }
    for parameter in parameters {
        match parameter {
            Value::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Text(text) => {
                put_lenenc(out, text.len() as u64);
                out.extend_from_slice(text);
            }
            Value::Decimal { units, scale } => {
                let mut room = [0; DECIMAL_BYTES_MAX];
                let digits = decimal_text(*units, *scale, &mut room);
                put_lenenc(out, digits.len() as u64);
                out.extend_from_slice(digits);
            }
            Value::Null => {}
        }
    }
}

impl Connection for MySqlConnection {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let before = self.transport.enter_set_up();
        let prepared = complete(self.prepare_text(sql.as_bytes()));
        self.transport.leave_set_up(before);
        self.statements.push(Prepared { sql: sql.as_bytes().into(), way: prepared?, when: When::Now });
        Ok(Statement(self.statements.len() - 1))
    }

    fn prepare_at_first_use(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        self.statements.push(Prepared { sql: sql.into(), way: Way::Later, when: When::AtFirstUse });
        Ok(Statement(self.statements.len() - 1))
    }

    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        // Whether the server prepares it at all is known from here on.
        let statement = self.prepare(sql)?;
        self.statements[statement.0].when = When::EachTime;
        self.close_each_time(statement)?;
        Ok(statement)
    }

    fn forget_statements(&mut self) {
        self.statements.clear();
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        self.parse_if_due(statement).await?;
        let binary = self.put_execute(statement, parameters)?;
        self.send()?;
        let answer = self.read_answer(binary).await;
        let closed = self.close_each_time(statement);
        answer.and_then(|answer| closed.map(|()| answer))
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        rows.clear();
        self.parse_if_due(statement).await?;
        let binary = self.put_execute(statement, parameters)?;
        self.send()?;
        let answer = self.read_rows(binary, rows).await;
        let closed = self.close_each_time(statement);
        answer.and_then(|answer| closed.map(|()| answer))
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.query_bytes(sql.as_bytes()).await
    }

    async fn query_bytes(&mut self, sql: &[u8]) -> Result<Answer, Error> {
        self.expect_idle()?;
        put_query(self.transport.outbox(), sql);
        self.send()?;
        self.read_answer(false).await
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.query_bytes_into(sql.as_bytes(), rows).await
    }

    async fn query_bytes_into(&mut self, sql: &[u8], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        self.expect_idle()?;
        put_query(self.transport.outbox(), sql);
        self.send()?;
        self.read_rows(false, rows).await
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.transport.has_more() { Err(self.unasked()) } else { Ok(()) }
    }

    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        let limit = self.transport.limit();
        let restored = self.restore(timeout);
        self.transport.settle(restored, limit)
    }
}

fn put_query(out: &mut Vec<u8>, sql: &[u8]) {
    let at = begin_packet(out, 0);
    out.push(COM_QUERY);
    out.extend_from_slice(sql);
    end_packet(out, at);
}

/// What a handshake response and the request to encrypt begin with.
fn put_client_flags(out: &mut Vec<u8>, capabilities: u32, charset: u8) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    // The server's own default character set, so that no version has to convert.
    out.push(charset);
    out.extend_from_slice(&[0; 23]);
}

fn terminated(password: &str) -> Vec<u8> {
    password.bytes().chain([0]).collect()
}

/// `fe plugin\0 scramble [00]`
fn switch_request(payload: &[u8]) -> Result<(String, Vec<u8>), Error> {
    let rest = &payload[1..];
    let end = rest.iter().position(|b| *b == 0).ok_or_else(|| unknown_plugin("mysql_old_password"))?;
    let scramble = &rest[end + 1..];
    // Only the scramble of 20 bytes is terminated; the last of 32 may be zero by chance.
    let scramble = scramble.strip_suffix(&[0]).filter(|scramble| scramble.len() == 20).unwrap_or(scramble);
    Ok((String::from_utf8_lossy(&rest[..end]).into_owned(), scramble.to_vec()))
}

fn unknown_plugin(plugin: &str) -> Error {
    Error::Refused {
        code: Code::number(2059),
        message: format!(
            "the server wants authentication by {plugin}, and we speak mysql_native_password, caching_sha2_password, sha256_password, ed25519, parsec and unix_socket; give the account one of these"
        ),
    }
}
