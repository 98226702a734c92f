//! `[cluster]`: workers in other processes and on other hosts make the load.
//!
//! Only how they are started and what each gets is decided here; nothing is started.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::dealt;
use record::format::ClusterRecord;
use record::shell::shell_word;

use super::keys::{CLUSTER_KEYS, names};
use super::section::{Reader, Section, Value, integer};

pub const LAUNCHER_WORDS: &[(&str, Option<Launcher>)] =
    &[("local", Some(Launcher::Local)), ("slurm", Some(Launcher::Slurm)), ("ssh", Some(Launcher::Ssh))];
const WORKERS_MAX: u64 = 256;
/// Some runs are said to have a host of twice the size, hardly one of a thousand times.
const WEIGHT_MAX: i128 = 1000;
/// Agents show four times a second that they are there.
const LEAST_LOST_AFTER: Duration = Duration::from_millis(500);
/// Keys of the table that this version cannot honour.
const LATER: &[&str] = &["server_host", "deploy"];

/// The program that starts agents and takes them down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    Local,
    Slurm,
    Ssh,
}

impl Launcher {
    pub fn word(self) -> &'static str {
        LAUNCHER_WORDS.iter().find(|(_, one)| *one == Some(self)).map_or("", |(word, _)| word)
    }
}

/// A `[cluster]` table, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    pub launcher: Launcher,
    /// One for each worker; all are 1 where the file gives none.
    pub weights: Vec<u32>,
    /// Of ssh; workers are dealt out in turn.
    pub hosts: Vec<String>,
    /// Handed to srun and ssh as they stand.
    pub slurm: Vec<String>,
    pub ssh: Vec<String>,
    /// Where dbduel lies on the other hosts; none for the path of this one.
    pub binary: Option<PathBuf>,
    /// The file that the boot line lies in; none where it goes to standard input.
    pub secret_file: Option<PathBuf>,
    /// Where workers that connect by themselves find the coordinator.
    pub listen: Option<String>,
    /// The address of this host that managed servers listen on; none for loopback.
    pub server_listen: Option<Ipv4Addr>,
    /// The host of the targets, by the name that ssh has; an agent there observes it.
    pub observe_host: Option<String>,
    pub launch_timeout: Duration,
    pub lost_after: Duration,
    pub keep_raw: bool,
}

/// What is in force where the file is silent.
#[derive(Debug, Clone, Copy)]
pub struct ClusterDefaults {
    pub launch_timeout: Duration,
    pub lost_after: Duration,
    pub keep_raw: bool,
}

impl Cluster {
    pub fn workers(&self) -> u32 {
        self.weights.len() as u32
    }

    /// The host of an ssh worker.
    pub fn host(&self, worker: u32) -> &str {
        self.hosts.get(worker as usize % self.hosts.len().max(1)).map_or("", String::as_str)
    }

    pub fn record(&self) -> ClusterRecord {
        let is_even = self.weights.iter().all(|weight| *weight == self.weights[0]);
        let weights = if is_even { Vec::new() } else { self.weights.clone() };
        let observe_host = self.observe_host.clone();
        ClusterRecord { launcher: self.launcher.word().to_owned(), workers: self.workers(), weights, observe_host }
    }

    /// The one agent on the host that is observed.
    pub fn observer(&self) -> Option<Cluster> {
        let hosts = vec![self.observe_host.clone()?];
        let (launcher, weights, secret_file) = (Launcher::Ssh, vec![1], None);
        Some(Cluster { launcher, weights, hosts, secret_file, ..self.clone() })
    }

    /// `4+4+4+4`: the clients of each worker.
    pub fn division(&self, clients: u32) -> String {
        let parts = dealt(clients, &self.weights);
        parts.iter().map(|part| part.len().to_string()).collect::<Vec<_>>().join("+")
    }

    /// The command that starts a worker, or all of them.
    pub fn command(&self, worker: u32, run: &str, binary: &Path, inside_a_step: bool) -> Vec<String> {
        let binary = self.binary.as_deref().unwrap_or(binary).display().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        match self.launcher {
            Launcher::Local => vec![binary, "agent".to_owned()],
            Launcher::Slurm => {
                let mut command = words(&["srun", "-n", &self.workers().to_string(), "--export=NONE", "-u", "-K1"]);
                command.extend(words(&["--wait=0", "-J", &format!("dbduel-{run}")]));
                if inside_a_step {
                    command.push("--overlap".to_owned());
                }
                command.extend(self.slurm.iter().cloned());
                command.extend([binary, "agent".to_owned()]);
                command
            }
            Launcher::Ssh => {
                let mut command = self.ssh_command(worker);
                command.push(format!("{} agent", shell_word(&binary)));
                command
            }
        }
    }

    /// How a command is run on the host of a worker.
    pub fn ssh_command(&self, worker: u32) -> Vec<String> {
        let own = ["ssh", "-T", "-oBatchMode=yes", "-oServerAliveInterval=1", "-oServerAliveCountMax=2"];
        let own = own.map(str::to_owned).into_iter();
        own.chain(self.ssh.iter().cloned()).chain([self.host(worker).to_owned()]).collect()
    }
}

/// The defaults, of which the table of the defaults' own file has all.
pub fn read_defaults<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<ClusterDefaults> {
    Some(ClusterDefaults {
        launch_timeout: reader.duration(section, "launch_timeout", Duration::from_secs(1))?,
        lost_after: reader.duration(section, "lost_after", LEAST_LOST_AFTER)?,
        keep_raw: reader.flag(section, "keep_raw")?,
    })
}

pub fn read_cluster<'a>(reader: &mut Reader<'a>, top: &Section<'a>, defaults: ClusterDefaults) -> Option<Cluster> {
    let section = reader.table(top, "cluster")?;
    reader.check_keys(&section, &names(CLUSTER_KEYS), LATER);
    let launcher = reader.choice(&section, "launcher", LAUNCHER_WORDS);
    if section.value("launcher").is_none() {
        reader.reject(&section.span, "`launcher` is missing in [cluster]", "expected \"local\", \"slurm\" or \"ssh\"");
    }
    let hosts = texts(reader, &section, "hosts");
    let workers = reader.whole(&section, "workers", 1..=WORKERS_MAX).map(|workers| workers as usize);
    let launcher = launcher?;
    let workers = workers.or_else(|| match launcher {
        Launcher::Local => Some(1),
        Launcher::Ssh => Some(hosts.len().max(1)),
        Launcher::Slurm => None,
    });
    if workers.is_none() {
        let note = "expected the number of workers, such as the tasks of the allocation: workers = 4";
        reader.reject(&section.span, "`workers` is missing in [cluster] with launcher = \"slurm\"", note);
    }
    refuse_hosts(reader, &section, launcher, &hosts);
    let workers = workers?;
    let weights = read_weights(reader, &section, workers);
    Some(Cluster {
        launcher,
        weights,
        hosts,
        slurm: texts(reader, &section, "slurm"),
        ssh: texts(reader, &section, "ssh"),
        binary: reader.text(&section, "binary").map(PathBuf::from),
        secret_file: read_secret(reader, &section),
        listen: reader.text(&section, "listen"),
        server_listen: read_server_listen(reader, &section),
        observe_host: reader.text(&section, "observe_host"),
        launch_timeout: reader
            .duration(&section, "launch_timeout", Duration::from_secs(1))
            .unwrap_or(defaults.launch_timeout),
        lost_after: reader.duration(&section, "lost_after", LEAST_LOST_AFTER).unwrap_or(defaults.lost_after),
        keep_raw: reader.flag(&section, "keep_raw").unwrap_or(defaults.keep_raw),
    })
}

fn refuse_hosts<'a>(reader: &mut Reader<'a>, section: &Section<'a>, launcher: Launcher, hosts: &[String]) {
    match (section.value("hosts"), launcher) {
        (Some(value), Launcher::Ssh) if hosts.is_empty() => {
            reader.reject(&value.span(), "`hosts` in [cluster] is empty", "expected names as your ssh has them");
        }
        (Some(_), Launcher::Ssh) => {}
        (Some(value), _) => {
            let what = format!("`hosts` in [cluster] has no use with launcher = \"{}\"", launcher.word());
            reader.reject(&value.span(), what, "write launcher = \"ssh\", or take `hosts` out");
        }
        (None, Launcher::Ssh) => {
            let note = "expected names as your ssh has them: hosts = [\"load1\", \"load2\"]";
            reader.reject(&section.span, "`hosts` is missing in [cluster] with launcher = \"ssh\"", note);
        }
        (None, _) => {}
    }
}

fn read_weights<'a>(reader: &mut Reader<'a>, section: &Section<'a>, workers: usize) -> Vec<u32> {
    let Some(value) = section.value("weights") else { return vec![1; workers] };
    let expected = format!("whole numbers from 1 to {WEIGHT_MAX}, one for each of {workers} workers: weights = [2, 1]");
    let weight =
        |value: &Value| integer(value).filter(|weight| (1..=WEIGHT_MAX).contains(weight)).map(|one| one as u32);
    let items = value.get_ref().as_array();
    let weights: Option<Vec<u32>> = items.and_then(|items| items.iter().map(weight).collect());
    match weights.filter(|weights| weights.len() == workers) {
        Some(weights) => weights,
        None => {
            reader.reject(
                &value.span(),
                "`weights` in [cluster] are not what they divide by",
                format!("expected {expected}"),
            );
            vec![1; workers]
        }
    }
}

fn read_secret<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<PathBuf> {
    let (value, text) = (section.value("secret")?, reader.text(section, "secret")?);
    match text.strip_prefix("file:") {
        Some(path) if Path::new(path).is_absolute() => return Some(PathBuf::from(path)),
        None if text == "stdin" => {}
        _ => {
            let what = format!("`secret` in [cluster] is \"{text}\"");
            reader.reject(&value.span(), what, "expected \"stdin\", or \"file:\" and an absolute path");
        }
    }
    None
}

/// Who can reach a server by a public address may try passwords, so the file has to say that this is meant.
fn read_server_listen<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Ipv4Addr> {
    let is_public_allowed = reader.flag(section, "allow_public").unwrap_or(false);
    let (value, text) = (section.value("server_listen")?, reader.text(section, "server_listen")?);
    let address = text.parse::<Ipv4Addr>().ok().filter(|address| !address.is_unspecified() && !address.is_broadcast());
    let Some(address) = address else {
        let what = format!("`server_listen` in [cluster] is \"{text}\"");
        reader.reject(
            &value.span(),
            what,
            "expected the one IPv4 address of this host that workers reach: \"10.0.0.5\"",
        );
        return None;
    };
    if !is_public_allowed && !is_private(address) {
        let what = format!("`server_listen` in [cluster] is a public address: {address}");
        reader.reject(&value.span(), what, "give a private one, or write allow_public = true beside it");
    }
    Some(address)
}

/// Networks of RFC 1918 and 6598, link-local, loopback, and those set apart for benchmarks (RFC 2544).
fn is_private(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    let is_shared = a == 100 && b & 0b1100_0000 == 64;
    let is_for_benchmarks = a == 198 && b & 0b1111_1110 == 18;
    address.is_private() || address.is_link_local() || address.is_loopback() || is_shared || is_for_benchmarks
}

/// A list of texts, such as the words of a command.
fn texts<'a>(reader: &mut Reader<'a>, section: &Section<'a>, key: &str) -> Vec<String> {
    let Some(value) = section.value(key) else { return Vec::new() };
    let items = value.get_ref().as_array();
    let texts: Option<Vec<String>> =
        items.and_then(|items| items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect());
    if texts.is_none() {
        reader.wrong_type(section, key, value, &format!("a list of texts: {key} = [\"...\"]"));
    }
    texts.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::known;
    use crate::{Experiment, Overrides, Transport};

    const FILE: &str = "contender = [{ target = \"mysql://u@db1/a\" }, { target = \"postgres://u@db1/b\" }]\n\
        workload = \"oltp_read_write\"\nsweep.clients = [2, 16]\n";

    fn read(table: &str) -> Result<Experiment, String> {
        let read = Experiment::parse(&format!("{FILE}{table}"), "a.toml", &known(), &Overrides::default());
        read.map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn clients_are_divided_point_by_point_and_the_command_is_shown() {
        let experiment =
            read("[cluster]\nlauncher = \"ssh\"\nhosts = [\"l1\", \"l2\"]\nssh = [\"-F\", \"my config\"]\n").unwrap();
        let lines = experiment.worker_lines(Path::new("/opt/dbduel"), false);
        assert_eq!(lines[..2], ["2 clients = 1+1 on 2 workers", "16 clients = 8+8 on 2 workers"]);
        assert!(lines[2].starts_with("started by: ssh -T") && lines[2].contains("-F 'my config' l1"), "{}", lines[2]);
        let observed = "[cluster]\nlauncher = \"local\"\nobserve_host = \"db1\"\n";
        let lines = read(observed).unwrap().worker_lines(Path::new("/opt/dbduel"), false);
        assert!(
            lines[3].starts_with("observed by: ssh -T") && lines[3].ends_with("db1 '/opt/dbduel agent'"),
            "{lines:?}"
        );
        let slurm =
            "[cluster]\nlauncher = \"slurm\"\nworkers = 4\nweights = [2, 1, 1, 1]\nslurm = [\"--partition=load\"]\n";
        let lines = read(slurm).unwrap().worker_lines(Path::new("/opt/dbduel"), false);
        assert_eq!(lines[1], "16 clients = 7+3+3+3 on 4 workers");
        assert!(
            lines[2].contains("srun -n 4 --export=NONE -u -K1 --wait=0")
                && lines[2].ends_with("--partition=load /opt/dbduel agent"),
            "{}",
            lines[2]
        );
    }

    #[test]
    fn mistakes_name_key_cause_and_cure() {
        let check = |table: &str, expected: &[&str]| {
            let mistakes = read(table).unwrap_err();
            expected.iter().for_each(|part| assert!(mistakes.contains(part), "{part} in {mistakes}"));
        };
        let local = "[cluster]\nlauncher = \"local\"\n";
        check("[cluster]\nworkers = 2\n", &["`launcher` is missing", "\"local\", \"slurm\" or \"ssh\""]);
        check(&format!("{local}workers = 300\n"), &["workers", "256"]);
        check(
            &format!("{local}workers = 17\n"),
            &["are 17, and no trial has more than 16 clients", "use fewer workers"],
        );
        check(&format!("{local}hosts = [\"a\"]\n"), &["no use with launcher = \"local\"", "write launcher = \"ssh\""]);
        check(&format!("{local}workers = 2\nweights = [1]\n"), &["`weights`", "one for each of 2 workers"]);
        check(&format!("{local}workers = 2\nweights = [1, 0]\n"), &["whole numbers from 1"]);
        check(&format!("{local}server_host = \"db1\"\n"), &["server_host", "not supported by this version yet"]);
        check(&format!("{local}server_listen = \"db1\"\n"), &["server_listen", "the one IPv4 address of this host"]);
        check(&format!("{local}server_listen = \"0.0.0.0\"\n"), &["the one IPv4 address"]);
        check(&format!("{local}server_listen = \"8.8.8.8\"\n"), &["public address: 8.8.8.8", "allow_public = true"]);
        check(&format!("{local}server_listen = \"10.0.0.5\"\n"), &["has no use: all contenders are targets"]);
        let file = "contender = [{ name = \"a\", engine = \"mysql@8.0.31\" }, { name = \"b\", engine = \"mysql@5.7\" }]\n\
            workload = \"oltp_read_write\"\nclients.transport = \"tcp\"\n[cluster]\nlauncher = \"local\"\nobserve_host = \"db1\"\n";
        let mistakes = Experiment::parse(file, "a.toml", &known(), &Overrides::default()).unwrap_err().to_string();
        assert!(mistakes.contains("`observe_host` in [cluster] has no use: no contender is a target"), "{mistakes}");
        check(&format!("{local}secret = \"paper\"\n"), &["`secret` in [cluster] is \"paper\"", "absolute path"]);
        check("[cluster]\nlauncher = \"ssh\"\n", &["`hosts` is missing"]);
        check("[cluster]\nlauncher = \"slurm\"\n", &["`workers` is missing"]);
        check("[cluster]\nlauncher = \"slurm\"\nworkers = 2\n[clients]\ncores = \"0\"\n", &["Slurm binds"]);
        check(&format!("{local}[method]\nduet = true\n"), &["`duet` in [method] cannot stand beside [cluster]"]);
        check("[clients]\nlauncher = \"local\"\n", &["launcher", "[cluster]"]);
    }

    #[test]
    fn managed_servers_listen_at_the_address_that_workers_reach() {
        let file = "contender = [{ name = \"a\", engine = \"mysql@8.0.31\" }, { target = \"mysql://u@db1/a\" }]\n\
            workload = \"oltp_read_write\"\nclients.transport = \"tcp\"\n[cluster]\nlauncher = \"local\"\n";
        let read = |more: &str| {
            Experiment::parse(&format!("{file}{more}"), "a.toml", &known(), &Overrides::default()).unwrap()
        };
        let (without, with) = (read(""), read("server_listen = \"203.0.113.5\"\nallow_public = true\n"));
        assert_eq!(without.transport_of(&without.contenders[0]), Transport::Tcp);
        let expected = Transport::Address("203.0.113.5".parse().unwrap());
        assert_eq!(with.transport_of(&with.contenders[0]), expected);
        assert_eq!(expected.word(), "tcp");
    }

    #[test]
    fn an_engine_in_the_client_and_a_pass_have_no_workers() {
        let text = "contender = [{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }]\n\
            workload = \"oltp_read_write\"\n[cluster]\nlauncher = \"local\"\n";
        let mistakes = Experiment::parse(text, "a.toml", &known(), &Overrides::default()).unwrap_err().to_string();
        assert!(mistakes.contains("the engine of contender `a` runs in the client"), "{mistakes}");
    }
}
