//! Where the real server of a test is: `cargo xtask engines` starts each server that is on this machine and passes where
//! to connect in the environment. The administrator's account is used for set-up only.

use std::env;
use std::time::Duration;

use driver::{Dialect, Endpoint, Login, Secret};

pub const LIMIT: Duration = Duration::from_secs(20);

pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run this by `cargo xtask engines`"))
}

pub fn socket() -> Endpoint {
    Endpoint::Unix(variable("DBDUEL_TEST_SOCKET").into())
}

pub fn login(user: &str, password: &str) -> Login {
    Login {
        user: user.to_owned(),
        password: (!password.is_empty()).then(|| Secret::new(password)),
        database: Some(variable("DBDUEL_TEST_DATABASE")),
        ..Login::default()
    }
}

pub fn administrator(dialect: Dialect) -> Login {
    // PostgreSQL's administrator needs no password on the socket, and must not be asked for one.
    let password = if dialect == Dialect::MySql { variable("DBDUEL_TEST_PASSWORD") } else { String::new() };
    login(&variable("DBDUEL_TEST_USER"), &password)
}
