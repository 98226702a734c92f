//! Rows that every server must hold to, whatever its accounts, and what rows are made from.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpStream};

use anyhow::{Context, Result};
use driver::Admin;
use engine::PasswordSource;
use engine::target_url::{Around, ThisHost};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::home::Home;
use super::row::{DATABASE_URL, ODD_PASSWORD, PASSWORD, Row, WRONG_PASSWORD};
use crate::certificates::Certificates;
use crate::forwarder;
use crate::held::Held;

/// No server listens there.
pub const CLOSED_PORT: u16 = 1;

/// How a kind of server has these words.
pub struct Ways<'a> {
    pub scheme: &'static str,
    pub port: u16,
    pub database: &'a str,
    pub certificates: &'a Certificates,
    pub home: &'a Home,
    /// The names of the mode of encryption and of the file of roots.
    pub options: [&'static str; 2],
    pub require: &'static str,
    pub verify_ca: &'static str,
    pub verify: &'static str,
    pub denied: &'static str,
    pub denied_clear: &'static str,
    pub denied_without_password: &'static str,
    pub denied_without_certificate: &'static str,
}

impl Ways<'_> {
    /// By TCP, with these options behind a question mark.
    pub fn tcp(&self, user: &str, query: &str) -> String {
        self.at(user, &format!("127.0.0.1:{}", self.port), query)
    }

    fn at(&self, user: &str, place: &str, query: &str) -> String {
        format!("{}://{user}@{place}/{}{query}", self.scheme, self.database)
    }

    fn encrypted(&self) -> String {
        format!("?{}={}", self.options[0], self.require)
    }

    /// The options by which a client shows its certificate.
    pub fn shown(&self) -> String {
        let [chain, key] = if self.scheme == "postgres" { ["sslcert", "sslkey"] } else { ["ssl-cert", "ssl-key"] };
        let (client, client_key) = (self.certificates.client(), self.certificates.client_key());
        format!("{}&{chain}={}&{key}={}", self.encrypted(), client.display(), client_key.display())
    }

    /// A target that files of the user's home fill in, and how that is printed.
    pub fn filled_in(&self) -> [String; 2] {
        match self.scheme {
            "postgres" => [self.tcp("plain", ""), "password from ~/.pgpass".to_owned()],
            scheme => {
                [format!("{scheme}:///{}", self.database), "user, password, host and port from ~/.my.cnf".to_owned()]
            }
        }
    }

    /// The accounts are `plain`, `odd` with the password of odd letters, `secure`, which must be encrypted, and `shown`,
    /// which must have a certificate.
    pub fn of_every_server(&self) -> Result<Vec<Row>> {
        let mut rows = self.by_password();
        rows.extend(self.encrypted_ways()?);
        Ok(rows)
    }

    fn by_password(&self) -> Vec<Row> {
        let odd = utf8_percent_encode(ODD_PASSWORD, NON_ALPHANUMERIC).to_string();
        let plain = || self.tcp("plain", "");
        let (scheme, port, database) = (self.scheme, self.port, self.database);
        let jdbc = if scheme == "postgres" { "postgresql" } else { scheme };
        let rails = if scheme == "postgres" { "postgresql+psycopg2" } else { "mysql2" };
        let second = format!("127.0.0.1:{CLOSED_PORT},127.0.0.1:{port}");
        let database_url = format!("{rails}://plain:{PASSWORD}@127.0.0.1:{port}/{database}?pool=5");
        vec![
            Row::refuses("plain", "TCP, wrong password", self.denied, plain()).by(WRONG_PASSWORD),
            Row::refuses("plain", "TCP, no password", self.denied_without_password, plain()).by_itself(),
            Row::lets_in("password :/@#?% &'\"ü", "TCP, in the URL", "odd", self.tcp(&format!("odd:{odd}"), ""))
                .by_itself(),
            Row::lets_in("password :/@#?% &'\"ü", "TCP, DBDUEL_PASSWORD", "odd", self.tcp("odd", ""))
                .with(vec![("DBDUEL_PASSWORD", ODD_PASSWORD.to_owned())]),
            Row::lets_in("plain", "TCP, password_env", "plain", plain())
                .with(vec![("MINE", PASSWORD.to_owned()), ("DBDUEL_PASSWORD", WRONG_PASSWORD.to_owned())])
                .asking(PasswordSource::Variable("MINE".to_owned())),
            Row::lets_in("plain", "TCP, password_command", "plain", plain())
                .asking(PasswordSource::Command(format!("echo {PASSWORD}"))),
            Row::lets_in("plain", "DATABASE_URL", "plain", DATABASE_URL.to_owned())
                .with(vec![(DATABASE_URL, database_url)]),
            Row::lets_in(
                "plain",
                "JDBC",
                "plain",
                format!("jdbc:{jdbc}://127.0.0.1:{port}/{database}?user=plain&password={PASSWORD}&connectTimeout=5"),
            )
            .by_itself(),
            Row::lets_in("plain", "two hosts, the second answers", "plain", self.at("plain", &second, "")),
            Row::lets_in(
                "plain",
                "JDBC, two hosts",
                "plain",
                format!("jdbc:{jdbc}://{second}/{database}?user=plain&password={PASSWORD}"),
            )
            .by_itself(),
        ]
    }

    fn encrypted_ways(&self) -> Result<Vec<Row>> {
        let six = format!("[::1]:{}", forwarder::by_ipv6(self.port)?);
        let (root, other_root) = (self.certificates.root(), self.certificates.other_root());
        let [mode, ca] = self.options;
        let checked = |word: &str, root: &std::path::Path| format!("?{mode}={word}&{ca}={}", root.display());
        let verify = checked(self.verify, &root);
        let localhost = format!("localhost:{}", self.port);
        Ok(vec![
            Row::lets_in("plain", "IPv6", "plain", self.at("plain", &six, "")),
            Row::lets_in("plain", "TLS, its CA", "plain", self.tcp("plain", &checked(self.verify_ca, &root))),
            Row::refuses(
                "plain",
                "TLS, wrong CA",
                "the authority that signed it",
                self.tcp("plain", &checked(self.verify_ca, &other_root)),
            ),
            Row::lets_in("plain", "TLS, its CA and name", "plain", self.at("plain", &localhost, &verify)),
            Row::refuses(
                "plain",
                "TLS, another name",
                "a name that the certificate bears",
                self.at("plain", &six, &verify),
            ),
            Row::lets_in("TLS is required", "TLS", "secure", self.tcp("secure", &self.encrypted())),
            Row::refuses("TLS is required", "TCP in clear", self.denied_clear, self.tcp("secure", "")),
            Row::lets_in("certificate is required", "TLS with one", "shown", self.tcp("shown", &self.shown())),
            Row::refuses(
                "certificate is required",
                "TLS without one",
                self.denied_without_certificate,
                self.tcp("shown", &self.encrypted()),
            ),
        ])
    }
}

pub fn mysql_ways<'a>(server: &'a Held, certificates: &'a Certificates, home: &'a Home) -> Result<Ways<'a>> {
    ways_of_family("mysql", server, certificates, home)
}

pub fn mariadb_ways<'a>(server: &'a Held, certificates: &'a Certificates, home: &'a Home) -> Result<Ways<'a>> {
    ways_of_family("mariadb", server, certificates, home)
}

fn ways_of_family<'a>(
    scheme: &'static str,
    server: &'a Held,
    certificates: &'a Certificates,
    home: &'a Home,
) -> Result<Ways<'a>> {
    Ok(Ways {
        scheme,
        port: server.port()?,
        database: server.text("database")?,
        certificates,
        home,
        options: ["ssl-mode", "ssl-ca"],
        require: "REQUIRED",
        verify_ca: "VERIFY_CA",
        verify: "VERIFY_IDENTITY",
        denied: "1045",
        denied_clear: "1045",
        denied_without_password: "1045",
        denied_without_certificate: "1045",
    })
}

/// What a server of the family refuses to hosts. What is refused to all of them stands behind all other rows.
pub fn refused_hosts(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    let ways = mysql_ways(server, certificates, home)?;
    let port = forwarder::from_other_host(ways.port)?;
    let other = |query: &str| ways.at("plain", &format!("127.0.0.1:{port}"), query);
    admin.run("SET GLOBAL max_connect_errors = 1")?;
    for _ in 0..3 {
        break_off(port)?;
    }
    let everywhere = "SELECT GROUP_CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE host = '%'";
    let version = admin.value("SELECT VERSION()")?.unwrap_or_default();
    // Early releases of MariaDB have no code of their own for this, and MySQL 8.4 and later no FLUSH HOSTS.
    let clear = if version.starts_with("10.") { "1045" } else { "3159" };
    let is_mariadb = version.contains("MariaDB");
    let forget = if is_mariadb { "FLUSH HOSTS" } else { "TRUNCATE TABLE performance_schema.host_cache" };
    let accounts = admin.value(everywhere)?.context("no account may come from everywhere")?;
    Ok(vec![
        Row::refuses("plain", "other host, blocked", "1129", other("")),
        Row::lets_in("plain", "other host, let in again", "plain", other("")).behind(forget),
        Row::refuses("all encrypted", "TCP in clear", clear, ways.tcp("plain", ""))
            .behind("SET GLOBAL require_secure_transport = ON"),
        Row::lets_in("all encrypted", "TLS", "plain", ways.tcp("plain", "?ssl-mode=REQUIRED")),
        Row::refuses("no account of its host", "other host", "1130", other(""))
            .behind("SET GLOBAL require_secure_transport = OFF")
            .behind(&format!("DROP USER {accounts}"))
            .behind("FLUSH PRIVILEGES"),
    ])
}

/// A client that leaves when the server has greeted it.
fn break_off(port: u16) -> Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.read_exact(&mut [0]).context("no greeting")
}

/// What clients of MySQL and MariaDB read from option files.
pub fn by_option_files(ways: &Ways, socket: &str) -> Result<Vec<Row>> {
    let (scheme, port, database) = (ways.scheme, ways.port, ways.database);
    let client = |group: &str, more: &str| format!("[{group}]\nuser=plain\npassword=\"{PASSWORD}\"\n{more}");
    ways.home.hold(".my.cnf", &client("client", &format!("host=127.0.0.1\nport={port}\ndatabase={database}\n")))?;
    let file = ways.home.hold("other.cnf", &client("client", &format!("socket={socket}\n")))?;
    Ok(vec![
        Row::lets_in("plain", "~/.my.cnf", "plain", format!("{scheme}:///{database}")).with(vec![ways.home.variable()]),
        Row::lets_in(
            "plain",
            "defaults-file with a socket",
            "plain",
            format!("{scheme}:///{database}?defaults-file={}", file.display()),
        )
        .by_itself(),
    ])
}

/// An account of MySQL or MariaDB that may do anything.
pub fn create_account(admin: &mut Admin, user: &str, identified: &str) -> Result<()> {
    admin.run(&format!("CREATE USER {user} IDENTIFIED {identified}")).with_context(|| user.to_owned())?;
    admin.run(&format!("GRANT ALL ON *.* TO {user}")).map(drop).with_context(|| user.to_owned())
}

/// The accounts of [`Ways::of_every_server`]; `identified` makes the IDENTIFIED clause for a password.
pub fn create_accounts(admin: &mut Admin, identified: impl Fn(&str) -> String) -> Result<()> {
    for (user, password) in [("plain", PASSWORD), ("odd", ODD_PASSWORD), ("secure", PASSWORD), ("shown", PASSWORD)] {
        create_account(admin, &format!("'{user}'@'%'"), &identified(password))?;
    }
    admin.run("ALTER USER 'secure'@'%' REQUIRE SSL")?;
    admin.run("ALTER USER 'shown'@'%' REQUIRE X509")?;
    Ok(())
}

/// The user that this process runs as, whom the kernel vouches for on a socket.
pub fn account() -> Result<String> {
    ThisHost.account().context("this user has no name")
}

/// A text of SQL in quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
