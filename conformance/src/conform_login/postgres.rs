//! PostgreSQL's ways of logging in: accounts, and the rules by which the server lets them in.

use std::fs;

use anyhow::{Context, Result, ensure};
use driver::Admin;

use super::home::Home;
use super::row::{ODD_PASSWORD, PASSWORD, Row, WRONG_PASSWORD};
use super::shared::{CLOSED_PORT, Ways, account, quoted};
use crate::certificates::Certificates;
use crate::held::Held;

/// Above the server's own rules; the first that fits decides.
const RULES: &str = "\
local   all peer                 peer map=ours
host    all peer                 127.0.0.1/32 reject
host    all md5                  127.0.0.1/32 md5
host    all clear                127.0.0.1/32 password
hostssl all shown                127.0.0.1/32 cert
hostssl all secure               127.0.0.1/32 scram-sha-256
hostnossl all secure             127.0.0.1/32 reject
host    all plain,odd            127.0.0.1/32 scram-sha-256
";

pub fn rows(server: &Held, certificates: &Certificates, home: &Home, admin: &mut Admin) -> Result<Vec<Row>> {
    set_up(admin)?;
    let ways = ways(server, certificates, home)?;
    let mut rows = by_password(&ways);
    rows.extend(by_the_kernel(&ways, server.text("socket")?)?);
    rows.extend(by_files_of_libpq(&ways)?);
    rows.extend(of_several_hosts(&ways));
    rows.extend(ways.of_every_server()?);
    Ok(rows)
}

pub fn ways<'a>(server: &'a Held, certificates: &'a Certificates, home: &'a Home) -> Result<Ways<'a>> {
    Ok(Ways {
        scheme: "postgres",
        port: server.port()?,
        database: server.text("database")?,
        certificates,
        home,
        options: ["sslmode", "sslrootcert"],
        require: "require",
        verify_ca: "verify-ca",
        verify: "verify-full",
        denied: "28P01",
        denied_clear: "28000",
        denied_without_password: "password",
        denied_without_certificate: "28000",
    })
}

fn set_up(admin: &mut Admin) -> Result<()> {
    for user in ["plain", "secure", "clear"] {
        admin.run(&format!("CREATE ROLE {user} LOGIN PASSWORD {}", quoted(PASSWORD)))?;
    }
    admin.run(&format!("CREATE ROLE odd LOGIN PASSWORD {}", quoted(ODD_PASSWORD)))?;
    admin.run("CREATE ROLE shown LOGIN")?;
    admin.run("GRANT CREATE ON SCHEMA public TO plain, shown")?;
    admin.run("CREATE ROLE peer LOGIN")?;
    admin.run("SET password_encryption = 'md5'")?;
    admin.run(&format!("CREATE ROLE md5 LOGIN PASSWORD {}", quoted(PASSWORD)))?;
    let file = file_of(admin, "hba_file")?;
    let own = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    fs::write(&file, format!("{RULES}{own}"))?;
    fs::write(file_of(admin, "ident_file")?, format!("ours {} peer\n", account()?))?;
    admin.rows("SELECT pg_reload_conf()")?;
    let errors = admin.rows("SELECT error FROM pg_hba_file_rules WHERE error IS NOT NULL")?;
    ensure!(errors.is_empty(), "the rules cannot be read: {errors:?}");
    Ok(())
}

fn by_password(ways: &Ways) -> Vec<Row> {
    let tcp = |query: &str| ways.tcp("plain", query);
    let bound = "?sslmode=require&channel_binding=require";
    let (port, database) = (ways.port, ways.database);
    let root = ways.certificates.root();
    let keywords = format!(
        "host=localhost hostaddr=127.0.0.1 port={port} dbname={database} user=plain sslmode=verify-full sslrootcert={}",
        root.display()
    );
    vec![
        Row::lets_in("scram-sha-256", "TCP", "plain", tcp("")),
        Row::lets_in("scram-sha-256", "TLS", "plain", tcp("?sslmode=require")),
        Row::lets_in("scram-sha-256", "TLS, bound", "plain", tcp(bound)),
        Row::lets_in("scram-sha-256", "TLS, unbound", "plain", tcp("?sslmode=require&channel_binding=disable")),
        Row::lets_in("scram-sha-256", "TLS, hostaddr and the name of host", "plain", keywords),
        Row::lets_in("md5", "TCP", "md5", ways.tcp("md5", "")),
        Row::lets_in("md5", "TLS", "md5", ways.tcp("md5", "?sslmode=require")),
        Row::refuses("md5", "TLS, bound", "channel_binding", ways.tcp("md5", bound)),
        Row::lets_in("password", "TCP", "clear", ways.tcp("clear", "")),
    ]
}

/// The kernel vouches for the user on the server's socket.
fn by_the_kernel(ways: &Ways, socket: &str) -> Result<Vec<Row>> {
    let (folder, port) = socket.rsplit_once("/.s.PGSQL.").context("no socket of PostgreSQL")?;
    let database = ways.database;
    let peer = |way: &'static str, text: String| Row::lets_in("peer", way, "peer", text).by_itself();
    Ok(vec![
        peer("socket, no password", format!("postgres://peer@/{database}?host={folder}&port={port}")),
        peer("socket, keywords", format!("host={folder} port={port} dbname={database} user=peer")),
        peer("socket, %2F in the host", format!("postgres://peer@{}:{port}/{database}", folder.replace('/', "%2F"))),
        Row::refuses("peer", "TCP", "28000", ways.tcp("peer", "")),
    ])
}

fn by_files_of_libpq(ways: &Ways) -> Result<Vec<Row>> {
    let (port, database, home) = (ways.port, ways.database, ways.home);
    home.hold(".pgpass", &format!("127.0.0.1:{port}:{database}:plain:{PASSWORD}\n*:*:*:*:{WRONG_PASSWORD}\n"))?;
    let service = format!("[bench]\nhost=127.0.0.1\nport={port}\ndbname={database}\nuser=plain\npassword={PASSWORD}\n");
    home.hold(".pg_service.conf", &service)?;
    let variables = vec![
        ("PGHOST", "127.0.0.1".to_owned()),
        ("PGPORT", port.to_string()),
        ("PGUSER", "plain".to_owned()),
        ("PGPASSWORD", PASSWORD.to_owned()),
        ("PGDATABASE", database.to_owned()),
    ];
    Ok(vec![
        Row::lets_in("plain", "PGHOST, PGPORT, PGUSER, PGPASSWORD …", "plain", "postgres://".to_owned())
            .with(variables),
        Row::lets_in("plain", "~/.pgpass", "plain", ways.tcp("plain", "")).with(vec![home.variable()]),
        Row::lets_in("plain", "~/.pg_service.conf", "plain", "service=bench".to_owned()).with(vec![home.variable()]),
    ])
}

fn of_several_hosts(ways: &Ways) -> Vec<Row> {
    let (port, database) = (ways.port, ways.database);
    let hosts = |query: &str| format!("postgres://plain@127.0.0.1:{CLOSED_PORT},127.0.0.1:{port}/{database}{query}");
    vec![
        Row::lets_in("plain", "two hosts, a primary", "plain", hosts("?target_session_attrs=primary")),
        Row::refuses("plain", "two hosts, a standby", "is a standby", hosts("?target_session_attrs=standby")),
    ]
}

/// A file of the server, by the setting that names it.
fn file_of(admin: &mut Admin, setting: &str) -> Result<String> {
    let rows = admin.rows(&format!("SHOW {setting}"))?;
    rows.into_iter().flatten().flatten().next().with_context(|| format!("no {setting}"))
}
