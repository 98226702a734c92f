//! Agents on other hosts, each below an ssh of its own, whose channel carries the protocol.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use record::shell::shell_word;

use super::{Launcher, POLITE, Plan, Started};
use crate::channel::Channel;
use crate::message::{Boot, Hello};

/// How long the other host may take to end an agent.
const END_WITHIN: Duration = Duration::from_millis(1200);

pub struct Ssh {
    plan: Plan,
    children: Vec<Started>,
}

impl Ssh {
    pub fn new(plan: Plan) -> Ssh {
        Ssh { plan, children: Vec::new() }
    }

    /// Whether the other host has confirmed that the agent is gone.
    fn end_there(&self, agent: &Hello, worker: u32) -> bool {
        let words = self.plan.cluster.ssh_command(worker);
        let binary = self.plan.cluster.binary.as_ref().unwrap_or(&self.plan.binary).display().to_string();
        let order = format!("{} agent --end {}:{}", shell_word(&binary), agent.pid, agent.started);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("-oConnectTimeout=1").arg(order);
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = spawned else { return false };
        let mut started = Started { child, said: std::sync::Arc::default() };
        let ended = started.ended_within(END_WITHIN);
        started.kill();
        ended.is_some_and(|status| status.success())
    }
}

impl Launcher for Ssh {
    fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for worker in 0..self.plan.cluster.workers() {
            let boot = Boot { place: Some(worker), ..boot.clone() };
            let (child, pipes) = Started::begin(&self.plan.command(worker), |_| (), &boot)?;
            self.children.push(child);
            let peer = self.plan.cluster.host(worker).to_owned();
            channels.push(Channel { from: Box::new(pipes.stdout), to: Box::new(pipes.stdin), peer, session: None });
        }
        Ok(channels)
    }

    fn poll(&mut self) -> Option<String> {
        let hosts = (0..).map(|worker| self.plan.cluster.host(worker).to_owned()).take(self.children.len());
        let hosts: Vec<String> = hosts.collect();
        self.children.iter_mut().zip(hosts).find_map(|(child, host)| child.poll(&format!("ssh to {host}")))
    }

    fn said(&self) -> String {
        String::new()
    }

    /// An agent ends when its channel closes; where ssh itself ended well, it did.
    fn end(&mut self, agents: &[Hello]) -> Vec<String> {
        let mut children = std::mem::take(&mut self.children);
        let until = Instant::now() + POLITE;
        let mut doubtful = Vec::new();
        for (child, worker) in children.iter_mut().zip(0..) {
            let ended = child.ended_within(until.saturating_duration_since(Instant::now()));
            let is_over = ended.is_some_and(|status| status.code().is_some_and(|code| code != 255));
            child.kill();
            let agent = agents.iter().find(|agent| !is_over && agent.place == Some(worker));
            doubtful.extend(agent.map(|agent| (agent, worker)));
        }
        // All at once: a host that cannot be reached takes its time.
        let launcher = &*self;
        let there = std::thread::scope(|scope| {
            let ending = doubtful.iter().map(|(agent, worker)| scope.spawn(|| launcher.end_there(agent, *worker)));
            let ending: Vec<_> = ending.collect();
            ending.into_iter().map(|one| one.join().unwrap_or(false)).collect::<Vec<bool>>()
        });
        let orphans = doubtful.iter().zip(there).filter(|(_, is_gone)| !is_gone);
        orphans
            .map(|((agent, worker), _)| format!("process {} on {}", agent.pid, launcher.plan.cluster.host(*worker)))
            .collect()
    }
}
