//! What coordinator and agents send each other.
//!
//! Both ends are the same build, which the handshake checks, so these types are no promise to anybody.

use std::collections::BTreeMap;
use std::path::PathBuf;

use driver::{Certificates, ChannelBinding, Dialect, Endpoint, Login, Secret, Target, Tls};
use engine::Listening;
use load::{Interarrival, OptionValue, Rate, Tally};
use record::format::{HostRecord, Series};
use serde::{Deserialize, Serialize};

/// Both ends have the same.
pub const PROTOCOL: u32 = 1;

/// What an agent is started with: one line of JSON on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Boot {
    pub protocol: u32,
    pub run: String,
    /// The agent's place among the workers, where its launcher starts each of them apart.
    pub place: Option<u32>,
    pub connect: Connect,
    pub lost_after_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// Frames follow on standard input and output.
    Stdio,
    /// SHA-256 of the coordinator's certificate and the launch's token, both in hexadecimal.
    Tls { address: String, certificate: String, token: String },
    /// The boot line stands in this file, which only its owner may read.
    File { path: PathBuf },
}

/// The first message of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: String,
    pub binary_sha256: String,
    pub place: Option<u32>,
    /// HMAC-SHA256 with the token, of bytes that only this TLS session has.
    pub proof: Option<String>,
    pub pid: i32,
    /// When the process was started, in the kernel's ticks since its own start.
    pub started: u64,
    pub host: String,
    pub boot_id: String,
    pub cpus: Vec<usize>,
    pub kernel: String,
    pub clock_source: String,
    pub wall_ms: i64,
    /// `JOB.STEP` below Slurm.
    pub step: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToAgent {
    Welcome {
        worker: u32,
    },
    Refuse {
        reason: String,
    },
    Time {
        number: u32,
    },
    Beat {
        now_ns: u64,
    },
    Ceiling {
        dialect: String,
        clients: u32,
        threads: u32,
        cpus: Vec<usize>,
    },
    Prepare(Box<Task>),
    Go {
        start_ns: u64,
    },
    Open {
        start_ns: u64,
        end_ns: u64,
    },
    /// The interval's end has been observed: clients may go.
    LetGo,
    /// What its host is, and whether the server can be seen there.
    Describe(Listening),
    /// An interval begins: the server and its host are observed until it is asked what was seen.
    Watch(Listening),
    Look,
    Stop {
        reason: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToCoordinator {
    Hello(Box<Hello>),
    Time {
        number: u32,
        now_ns: u64,
    },
    Beat {
        now_ns: u64,
    },
    Ceiling {
        statements_per_s: f64,
    },
    Ready,
    /// It could not start its clients.
    Fail {
        message: String,
    },
    /// How long before its time an instruction was there; below 0 behind it.
    Reached {
        what: String,
        ahead_ns: i64,
    },
    /// When its first client began.
    Began {
        at_ns: u64,
    },
    Second {
        tps: f64,
    },
    /// Response times in nanoseconds, little endian, in base64.
    Raw {
        values: String,
    },
    Tally {
        tally: Box<Tally>,
        failure: Option<String>,
    },
    /// What it was to do was stopped before its clients ran.
    Stopped,
    Host {
        server_pid: Option<u32>,
        host: Box<HostRecord>,
    },
    Watching,
    /// What observers saw of the server and its host.
    Seen {
        values: BTreeMap<String, f64>,
        seconds: Series,
    },
}

/// A worker's part of a trial's load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub workload: String,
    pub options: BTreeMap<String, OptionValue>,
    pub dialect: String,
    pub at: Where,
    pub login: WireLogin,
    pub input_seed: u64,
    pub data_seed: u64,
    /// Of the whole load.
    pub clients: u32,
    pub own: Vec<u32>,
    /// This worker's place among the weights.
    pub place: u32,
    pub weights: Vec<u32>,
    /// Its queue is this worker's part, its rate that of the whole load.
    pub rate: Option<WireRate>,
    pub interval_ms: u64,
    pub drain_ms: u64,
    pub window_ms: Option<u64>,
    pub threads: u32,
    pub cpus: Vec<usize>,
    pub keep_raw: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WireLogin {
    pub user: String,
    pub password: Option<String>,
    pub database: Option<String>,
    pub on_connect: Vec<String>,
    pub tls: String,
    pub certificates: WireCertificates,
    pub binding: String,
    pub compressed: bool,
}

/// Paths of files on the worker's own host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WireCertificates {
    pub roots: Option<PathBuf>,
    pub chain: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub server_name: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct WireRate {
    pub per_sec: f64,
    pub is_constant: bool,
    pub queue_max: u64,
}

impl WireRate {
    pub fn new(rate: Rate, queue_max: u64) -> WireRate {
        WireRate { per_sec: rate.per_sec, is_constant: rate.gaps == Interarrival::Constant, queue_max }
    }

    pub fn rate(self) -> Rate {
        let gaps = if self.is_constant { Interarrival::Constant } else { Interarrival::Poisson };
        Rate { per_sec: self.per_sec, gaps, queue_max: self.queue_max }
    }
}

impl Where {
    /// None of an embedded engine, which has no server to reach.
    pub fn of(endpoint: &Endpoint) -> Option<Where> {
        match endpoint {
            Endpoint::Unix(path) => Some(Where::Unix(path.clone())),
            Endpoint::Tcp { host, port } => Some(Where::Tcp { host: host.clone(), port: *port }),
            Endpoint::File(_) => None,
        }
    }
}

const TLS: [(&str, Tls); 4] =
    [("off", Tls::Off), ("require", Tls::Require), ("verify-ca", Tls::VerifyCa), ("verify", Tls::Verify)];
const BINDING: [(&str, ChannelBinding); 3] =
    [("disable", ChannelBinding::Disable), ("prefer", ChannelBinding::Prefer), ("require", ChannelBinding::Require)];

impl WireLogin {
    pub fn of(login: &Login) -> WireLogin {
        WireLogin {
            user: login.user.clone(),
            password: login.password.as_ref().map(|password| password.expose().to_owned()),
            database: login.database.clone(),
            on_connect: login.on_connect.clone(),
            tls: word_of(&TLS, login.tls).to_owned(),
            certificates: WireCertificates {
                roots: login.certificates.roots.clone(),
                chain: login.certificates.chain.clone(),
                key: login.certificates.key.clone(),
                server_name: login.certificates.server_name.clone(),
            },
            binding: word_of(&BINDING, login.channel_binding).to_owned(),
            compressed: login.compressed,
        }
    }
}

fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

impl Task {
    /// None where a word is unknown, which both ends being the same build excludes.
    pub fn target(&self) -> Option<Target> {
        let endpoint = match &self.at {
            Where::Unix(path) => Endpoint::Unix(path.clone()),
            Where::Tcp { host, port } => Endpoint::Tcp { host: host.clone(), port: *port },
        };
        let login = &self.login;
        let login = Login {
            user: login.user.clone(),
            password: login.password.clone().map(Secret::new),
            database: login.database.clone(),
            on_connect: login.on_connect.clone(),
            tls: TLS.iter().find(|(word, _)| *word == login.tls)?.1,
            certificates: Certificates {
                roots: login.certificates.roots.clone(),
                chain: login.certificates.chain.clone(),
                key: login.certificates.key.clone(),
                server_name: login.certificates.server_name.clone(),
            },
            channel_binding: BINDING.iter().find(|(word, _)| *word == login.binding)?.1,
            compressed: login.compressed,
        };
        Some(Target { dialect: dialect(&self.dialect)?, endpoint, login })
    }
}

pub fn dialect(name: &str) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
}
