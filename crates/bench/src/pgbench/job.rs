//! One request with everything it needs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use driver::Admin;
use experiment::TargetUrl;

use super::options::Request;

/// No statement before the run takes longer, but for those that make tables.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

pub struct Job {
    pub request: Request,
    pub place: TargetUrl,
    pub target: driver::Target,
    pub interrupted: Arc<AtomicBool>,
}

impl Job {
    pub fn admin(&self) -> anyhow::Result<Admin> {
        let driver::Target { dialect, endpoint, login } = &self.target;
        let admin = Admin::connect(*dialect, endpoint, login, STATEMENT_LIMIT);
        admin.with_context(|| format!("connection to {} failed", self.place))
    }
}
