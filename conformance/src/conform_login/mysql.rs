//! MySQL's ways of logging in. What the server's cache of accounts holds decides between two of them.

use anyhow::{Context, Result};
use driver::Admin;

use super::home::Home;
use super::row::{PASSWORD, Row};
use super::shared::{account, by_option_files, create_account, create_accounts, mysql_ways, quoted};
use crate::certificates::Certificates;
use crate::held::Held;

/// It empties the cache of `caching_sha2_password`.
const EMPTY_CACHE: &str = "FLUSH PRIVILEGES";

fn by(plugin: &str, password: &str) -> String {
    format!("WITH {plugin} BY {}", quoted(password))
}

/// Of every release with `caching_sha2_password`.
fn rows_of_sha2(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    let sha2 = "caching_sha2_password";
    create_accounts(admin, |password| by(sha2, password))?;
    let ways = mysql_ways(server, certificates, home)?;
    let socket = server.text("socket")?;
    let tcp = |query: &str| ways.tcp("plain", query);
    let file = || format!("mysql://plain@localhost/{}?socket={socket}", ways.database);
    let tls = "?ssl-mode=REQUIRED";
    let mut rows = vec![
        Row::lets_in(sha2, "TCP, full", "plain", tcp("")).behind(EMPTY_CACHE),
        Row::lets_in(sha2, "TCP, cached", "plain", tcp("")),
        Row::lets_in(sha2, "TLS, full", "plain", tcp(tls)).behind(EMPTY_CACHE),
        Row::lets_in(sha2, "TLS, cached", "plain", tcp(tls)),
        Row::lets_in(sha2, "socket, full", "plain", file()).behind(EMPTY_CACHE),
        Row::lets_in(sha2, "socket, cached", "plain", file()),
    ];
    rows.extend(by_option_files(&ways, socket)?);
    rows.extend(ways.of_every_server()?);
    Ok(rows)
}

/// With the plugins that later releases have no more.
pub fn rows_of_8(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    create_account(admin, "'native'@'%'", &by("mysql_native_password", PASSWORD))?;
    create_account(admin, "'sha256'@'%'", &by("sha256_password", PASSWORD))?;
    let ways = mysql_ways(server, certificates, home)?;
    let mut rows = vec![
        Row::lets_in("mysql_native_password", "TCP", "native", ways.tcp("native", "")),
        Row::lets_in("sha256_password", "TCP", "sha256", ways.tcp("sha256", "")),
        Row::lets_in("sha256_password", "TLS", "sha256", ways.tcp("sha256", "?ssl-mode=REQUIRED")),
    ];
    rows.extend(rows_of_sha2(server, certificates, home, admin)?);
    Ok(rows)
}

/// With `auth_socket`, which the package of 8.0 does not have.
pub fn rows_of_9(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    admin.run("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'").context("no plugin auth_socket")?;
    create_account(admin, "'local'@'localhost'", &format!("WITH auth_socket AS {}", quoted(&account()?)))?;
    create_account(admin, "'other'@'localhost'", "WITH auth_socket AS 'nobody-at-all'")?;
    let (socket, database) = (server.text("socket")?, server.text("database")?);
    let file = |user: &str| format!("mysql://{user}@localhost/{database}?socket={socket}");
    let mut rows = vec![
        Row::lets_in("auth_socket", "socket, no password", "local", file("local")).by_itself(),
        Row::refuses("auth_socket", "socket, of another user", "1698", file("other")).by_itself(),
    ];
    rows.extend(rows_of_sha2(server, certificates, home, admin)?);
    Ok(rows)
}
