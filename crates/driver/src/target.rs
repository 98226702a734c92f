//! Where clients connect to.

use crate::{Dialect, Endpoint, Login};

/// Where the clients connect to.
#[derive(Debug, Clone)]
pub struct Target {
    pub dialect: Dialect,
    pub endpoint: Endpoint,
    pub login: Login,
}
