//! Agents as children of this process.

use std::process::Command;

use anyhow::Result;

use super::{Launcher, POLITE, Plan, Started, ends_with_us};
use crate::channel::Channel;
use crate::message::{Boot, Hello};

/// What an agent may have of this process's environment; passwords of databases are not among it.
const ENVIRONMENT: [&str; 6] = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "SSL_CERT_FILE"];

pub struct Local {
    plan: Plan,
    children: Vec<Started>,
}

impl Local {
    pub fn new(plan: Plan) -> Local {
        Local { plan, children: Vec::new() }
    }
}

impl Launcher for Local {
    fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for worker in 0..self.plan.cluster.workers() {
            let boot = Boot { place: Some(worker), ..boot.clone() };
            let (child, pipes) = Started::begin(&self.plan.command(worker), contained, &boot)?;
            let peer = format!("process {}", child.child.id());
            self.children.push(child);
            channels.push(Channel { from: Box::new(pipes.stdout), to: Box::new(pipes.stdin), peer, session: None });
        }
        Ok(channels)
    }

    fn poll(&mut self) -> Option<String> {
        self.children.iter_mut().find_map(|child| child.poll("an agent"))
    }

    fn said(&self) -> String {
        String::new()
    }

    fn end(&mut self, _: &[Hello]) -> Vec<String> {
        for child in &mut self.children {
            if child.ended_within(POLITE).is_none() {
                child.kill();
            }
        }
        self.children.clear();
        Vec::new()
    }
}

/// An agent has a small environment, and ends with the process that started it.
fn contained(command: &mut Command) {
    let kept = ENVIRONMENT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    command.env_clear().envs(kept);
    ends_with_us(command, libc::SIGKILL);
}
