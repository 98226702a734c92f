//! Lean wire connections to database servers.
//!
//! One [`Connection`] uses one protocol over one socket (or calls one library) and reuses its
//! buffers: between [`Connection::prepare`] and the end of a trial it allocates nothing. Parsing
//! never touches a socket: `mysql::packet` and `postgres::message` turn bytes into answers and report
//! when they need more; `connection.rs` beside them does the I/O. What is not on the measured path
//! (administration, bulk loading) goes through the blocking [`Admin`].
//!
//! This crate does not depend on workloads, trials or engines' versions.

mod admin;
mod advice;
mod answers;
mod any;
mod as_text;
mod catalog;
mod closer;
mod compression;
mod connection;
mod deadline;
mod decimal;
mod dial;
mod dialect;
mod error;
mod isolation;
mod login;
pub mod mysql;
mod null;
pub mod postgres;
mod reactor;
mod rows;
mod socket;
pub mod sqlite;
mod stream;
mod target;
mod tls;
mod transport;

pub use admin::{Admin, ROWS_PER_INSERT, RowSink};
pub use advice::{Advice, advice_in, with_advice};
pub use any::AnyConnection;
pub use as_text::AsText;
pub use catalog::Indexes;
pub use closer::Closer;
pub use connection::{Answer, Connection, OnPart, Statement, Value};
pub use deadline::end_waits_on;
pub use dialect::Dialect;
pub use error::{Code, Error};
pub use isolation::Isolation;
pub use login::{Certificates, ChannelBinding, Endpoint, Login, Secret, Tls};
pub use null::{Delay, Honest, NullServer};
pub use reactor::{Reactor, Ready};
pub use rows::{Cell, Form, Part, Rows};
pub use stream::{stream_loopback, stream_socket};
pub use target::Target;
pub use transport::{Canceller, Traffic, complete, thread_traffic};
