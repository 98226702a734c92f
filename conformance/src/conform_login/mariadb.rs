//! MariaDB's ways of logging in.

use anyhow::{Context, Result};
use driver::Admin;

use super::home::Home;
use super::row::{PASSWORD, Row, WRONG_PASSWORD};
use super::shared::{account, by_option_files, create_account, create_accounts, mariadb_ways, quoted};
use crate::certificates::Certificates;
use crate::held::Held;

pub fn rows(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    let native = |password: &str| format!("VIA mysql_native_password USING PASSWORD({})", quoted(password));
    create_accounts(admin, native)?;
    admin.run("INSTALL SONAME 'auth_ed25519'").context("no plugin ed25519")?;
    create_account(admin, "'ed'@'%'", &format!("VIA ed25519 USING PASSWORD({})", quoted(PASSWORD)))?;
    let own = account()?;
    let account_of_own = format!("{}@'localhost'", quoted(&own));
    if own == server.text("user")? {
        // The administrator's account, which keeps its password.
        admin
            .run(&format!("ALTER USER {account_of_own} IDENTIFIED {} OR unix_socket", native(&password_of(server)?)))?;
    } else {
        create_account(admin, &account_of_own, "VIA unix_socket")?;
    }
    create_account(admin, "'nobody-at-all'@'localhost'", "VIA unix_socket")?;
    let ways = mariadb_ways(server, certificates, home)?;
    let (socket, database) = (server.text("socket")?, ways.database);
    let file = |user: &str| format!("mariadb://{user}@localhost/{database}?socket={socket}");
    let mut rows = vec![
        Row::lets_in("mysql_native_password", "TCP", "plain", ways.tcp("plain", "")),
        Row::lets_in("mysql_native_password", "socket", "plain", file("plain")),
        Row::lets_in("ed25519", "TCP", "ed", ways.tcp("ed", "")),
        Row::lets_in("ed25519", "TLS", "ed", ways.tcp("ed", "?ssl-mode=REQUIRED")),
        Row::lets_in("ed25519", "socket", "ed", file("ed")),
        Row::refuses("ed25519", "TCP, wrong password", "1045", ways.tcp("ed", "")).by(WRONG_PASSWORD),
        Row::lets_in("unix_socket", "socket, no password", &own, file(&own)).by_itself(),
        Row::refuses("unix_socket", "socket, of another user", "1698", file("nobody-at-all")).by_itself(),
    ];
    rows.extend(by_option_files(&ways, socket)?);
    rows.extend(ways.of_every_server()?);
    Ok(rows)
}

/// Of the administrator.
fn password_of(server: &Held) -> Result<String> {
    let password = server.target()?.login.password;
    Ok(password.map(|password| password.expose().to_owned()).unwrap_or_default())
}

/// Of MariaDB 11.6 and later.
pub fn rows_of_parsec(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    admin.run("INSTALL SONAME 'auth_parsec'").context("no plugin parsec")?;
    create_accounts(admin, |password| format!("VIA parsec USING PASSWORD({})", quoted(password)))?;
    let ways = mariadb_ways(server, certificates, home)?;
    let socket = server.text("socket")?;
    let mut rows = vec![
        Row::lets_in("parsec", "TCP", "plain", ways.tcp("plain", "")),
        Row::lets_in("parsec", "TLS", "plain", ways.tcp("plain", "?ssl-mode=REQUIRED")),
        Row::lets_in("parsec", "socket", "plain", format!("mariadb://plain@/{}?socket={socket}", ways.database)),
        Row::refuses("parsec", "TCP, wrong password", "1045", ways.tcp("plain", "")).by(WRONG_PASSWORD),
    ];
    rows.extend(by_option_files(&ways, socket)?);
    rows.extend(ways.of_every_server()?);
    Ok(rows)
}
