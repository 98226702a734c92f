use driver::{ChannelBinding, Endpoint, Secret};

use super::around::Made;
use super::*;

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp { host: host.to_owned(), port }
}

fn unix(path: &str) -> Endpoint {
    Endpoint::Unix(path.into())
}

fn parsed(text: &str) -> TargetUrl {
    TargetUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(text: &str, user: &str, password: Option<&str>, endpoint: Endpoint, database: &str) {
    let target = parsed(text);
    assert_eq!(target.user(), user, "{text}");
    assert_eq!(target.password.as_ref().map(Secret::expose), password, "{text}");
    assert_eq!(target.endpoint(), endpoint, "{text}");
    assert_eq!(target.database(), database, "{text}");
}

#[test]
fn every_form_is_read_with_its_defaults() {
    check("mysql://app@db.example:3307/bench", "app", None, tcp("db.example", 3307), "bench");
    check("mysql://", "sbtest", None, tcp("localhost", 3306), "sbtest");
    check("mariadb://app:pw@db", "app", Some("pw"), tcp("db", 3306), "sbtest");
    check("MySQL://db/x", "sbtest", None, tcp("db", 3306), "x");
    check("mysql://root@[::1]:33/x", "root", None, tcp("::1", 33), "x");
    check("mysql://root@localhost/x?socket=/run/my%20sql.sock", "root", None, unix("/run/my sql.sock"), "x");
    check("postgres://app@db/x", "app", None, tcp("db", 5432), "x");
    check("postgresql://db", "sbtest", None, tcp("db", 5432), "sbtest");
    check("postgres://app@/x?host=/run/pg", "app", None, unix("/run/pg/.s.PGSQL.5432"), "x");
    check("postgres://app@:6000/x?host=/run/pg", "app", None, unix("/run/pg/.s.PGSQL.6000"), "x");
    check("postgres:///x?host=/run/pg/.s.PGSQL.7", "sbtest", None, unix("/run/pg/.s.PGSQL.7"), "x");
    check("postgres:///x?host=other", "sbtest", None, tcp("other", 5432), "x");
    check("sqlite:///data/my%20file.db", "sbtest", None, Endpoint::File("/data/my file.db".into()), "/data/my file.db");
}

#[test]
fn names_and_passwords_may_hold_what_a_url_escapes() {
    check("mysql://a%40b:p%2F%3A%23%25@db/my%20db", "a@b", Some("p/:#%"), tcp("db", 3306), "my db");
    check("mysql://app:p@ss:w@db/x", "app", Some("p@ss:w"), tcp("db", 3306), "x");
    check("mysql://app:@db/x", "app", None, tcp("db", 3306), "x");
    check("postgres://app:%C3%BC%3F@db/a%2Fb", "app", Some("ü?"), tcp("db", 5432), "a/b");
}

#[test]
fn the_connection_strings_of_libpq_mean_what_they_mean_there() {
    check("postgres://app@localhost/db?host=/run/pg&port=5433", "app", None, unix("/run/pg/.s.PGSQL.5433"), "db");
    check("postgres://%2Frun%2Fpostgresql/db", "sbtest", None, unix("/run/postgresql/.s.PGSQL.5432"), "db");
    check("postgres://app@%2Frun%2Fpg:5433/db", "app", None, unix("/run/pg/.s.PGSQL.5433"), "db");
    check("postgres://h/?dbname=x&user=u&password=p%26q", "u", Some("p&q"), tcp("h", 5432), "x");
    check("host=/run/postgresql port=5433 dbname=x", "sbtest", None, unix("/run/postgresql/.s.PGSQL.5433"), "x");
    check("port=5433 host=db", "sbtest", None, tcp("db", 5433), "sbtest");
    check(r"user = 'a b'  password='it\'s \\' dbname=x\ y host=h", "a b", Some(r"it's \"), tcp("h", 5432), "x y");
    check("host='' dbname=x", "sbtest", None, tcp("localhost", 5432), "x");
    check("host=db hostaddr=192.0.2.7", "sbtest", None, tcp("192.0.2.7", 5432), "sbtest");
    check("host=[::1] dbname=x", "sbtest", None, tcp("::1", 5432), "x");
    let named = parsed("host=db hostaddr=::1 sslmode=verify-full").login();
    assert_eq!(named.certificates.server_name.as_deref(), Some("db"));
    assert_eq!(parsed("host=db sslmode=verify-full").login().certificates.server_name, None);
}

#[test]
fn only_the_brackets_of_an_address_are_no_part_of_a_host() {
    let host = |text: &str| parsed(&format!("host='{text}' dbname=d")).place.host;
    assert_eq!(host("[::1]").as_deref(), Some("::1"));
    for odd in ["[[[/kd", "[db]", "[/run:5]"] {
        assert_eq!(host(odd).as_deref(), Some(odd));
        let target = parsed(&format!("host='{odd}' dbname=d"));
        assert_eq!(parsed(&target.to_string()), target);
    }
}

#[test]
fn several_hosts_have_a_port_each_or_one_for_all() {
    let check = |text: &str, expected: &[(&str, u16)]| {
        let target = parsed(text);
        let targets = TargetUrl::completed(&target, &Made::default()).unwrap().targets;
        let endpoints: Vec<Endpoint> = targets.iter().map(TargetUrl::endpoint).collect();
        assert_eq!(endpoints, expected.iter().map(|(host, port)| tcp(host, *port)).collect::<Vec<_>>(), "{text}");
        assert_eq!(parsed(&target.to_string()), target, "{text}");
    };
    check("host=,", &[("localhost", 5432), ("localhost", 5432)]);
    check("postgres://,:7/x", &[("localhost", 5432), ("localhost", 7)]);
    check("postgres://h1:7,h2:8/x", &[("h1", 7), ("h2", 8)]);
    check("postgres://h1,h2:8/x", &[("h1", 5432), ("h2", 8)]);
    check("host=h1,h2 port=9", &[("h1", 9), ("h2", 9)]);
    check("host=h1,h2 port=9,", &[("h1", 9), ("h2", 5432)]);
    check("hostaddr=192.0.2.1,::1", &[("192.0.2.1", 5432), ("::1", 5432)]);
    check("mysql://h1,h2:8/x", &[("h1", 3306), ("h2", 8)]);
    let error = TargetUrl::parse("host=h1,h2 port=1,2,3").unwrap_err();
    assert!(error.contains("3 ports and 2 hosts"), "{error}");
}

#[test]
fn the_options_of_encryption_are_those_of_the_clients() {
    let mode = |text: &str, expected: TlsMode| assert_eq!(parsed(text).tls(), expected, "{text}");
    mode("mysql://db/x", TlsMode::Off);
    mode("mysql://db/x?tls=require", TlsMode::Require);
    mode("postgres://db/x?host=/run&tls=verify", TlsMode::Verify);
    mode("postgres://db/x?sslmode=disable", TlsMode::Off);
    mode("postgres://db/x?sslmode=require", TlsMode::Require);
    mode("postgres://db/x?sslmode=require&sslrootcert=/r", TlsMode::VerifyCa);
    mode("postgres://db/x?sslrootcert=system&sslmode=verify-full", TlsMode::Verify);
    mode("postgres://db/x?sslrootcert=system", TlsMode::Verify);
    mode("postgres://db/x?ssl=true", TlsMode::Require);
    mode("mysql://db/x?ssl-mode=REQUIRED", TlsMode::Require);
    mode("mysql://db/x?ssl_mode=VERIFY_CA&ssl_ca=/r", TlsMode::VerifyCa);
    mode("mariadb://db/x?ssl-mode=verify_identity", TlsMode::Verify);
    let login = parsed("postgres://db/x?sslmode=require&sslcert=/c&sslkey=/k&channel_binding=require").login();
    assert_eq!(login.certificates.chain, Some("/c".into()));
    assert_eq!(login.certificates.key, Some("/k".into()));
    assert_eq!(login.channel_binding, ChannelBinding::Require);
    let login = parsed("mysql://db/x?ssl-mode=required&ssl-cert=/c&ssl-key=/k").login();
    assert_eq!((login.certificates.chain, login.certificates.key), (Some("/c".into()), Some("/k".into())));
}

/// Every text is refused with this part of a reason, and none shows the password.
fn refused(text: &str, part: &str) {
    let target = TargetUrl::parse(text).and_then(|target| target.completed(&Made::default()));
    let error = target.expect_err(text);
    assert!(error.contains(part), "{text}: {error}");
    assert!(!error.contains("hunter2"), "{text}: {error}");
}

#[test]
fn an_option_that_would_change_the_measurement_or_protect_nothing_is_refused() {
    refused("postgres://db/x?sslmode=prefer", "changes what is measured");
    refused("mysql://db/x?ssl-mode=PREFERRED", "ssl-mode=disabled or ssl-mode=required");
    refused("postgres://db/x?sslmode=on", "sslmode is `on`");
    refused("postgres://db/x?options=-c%20work_mem%3D1", "ALTER ROLE");
    refused("postgres://db/x?sslrootcert=/r", "not encrypted");
    refused("postgres://db/x?sslmode=require&sslcert=/c", "sslkey beside it");
    refused("postgres://db/x?sslmode=require&sslrootcert=system", "expected sslmode=verify-full");
    refused("mysql://db/x?ssl-mode=required&ssl-key=/k", "ssl-cert beside it");
    refused("mysql://db/x?ssl-mode=required&ssl-ca=/r", "ssl-ca has no effect");
    refused("mysql://db/x?ssl-mode=required&ssl-cert=c&ssl-key=/k", "absolute path");
    refused("postgres://db/x?channel_binding=require", "needs encryption");
    refused("postgres://db/x?port=0", "port `0`");
    refused("host=a,b load_balance_hosts=random", "leaves to chance");
    refused("host=a replication=database", "takes no statements");
    refused("host=a require_auth=scram-sha-256", "does not check");
    refused("host=a client_encoding=LATIN1", "convert every text");
    refused("host=a target_session_attrs=master", "prefer-standby");
}

#[test]
fn a_mistake_is_named_with_the_expected_form_and_without_the_password() {
    let refused = |text: &str, part: &str| {
        refused(text, part);
        assert!(TargetUrl::parse(text).unwrap_err().contains("expected"), "{text}");
    };
    refused("db.example", "no URL");
    refused("oracle://app:hunter2@db/x", "`oracle://`");
    refused("mysql://app:hunter2@db:0x1/x", "port");
    refused("mysql://app:hunter2/3@db/x", "port");
    refused("mysql://app:12/hunter2@db/x", "%40");
    refused("mysql://app:hunter2#3@db/x", "%23");
    refused("mysql://app:hunter 2@db/x", "%20");
    refused("mysql://app:hunter2'x@db/x", "%27");
    refused("mysql://app:hunter2@db/x/y", "database name");
    refused("mysql://app:hunter2@::1/x", "port");
    refused("mysql://app:hunter2@db/x?tls=on", "`on`");
    refused("mysql://app:hunter2@db/x?socket=sock", "absolute path");
    refused("sqlite://file.db", "three slashes");
    refused("sqlite:///", "no file");
    refused("sqlite:///f?tls=off", "`tls`");
}

#[test]
fn a_word_of_a_connection_string_that_is_no_option_is_not_quoted() {
    refused("host=db password=my hunter2", "word 3 of the connection string has no `=`");
    refused("host=db password='hunter2", "not closed");
    refused("host=db pasword=hunter2", "did you mean `password`?");
}

#[test]
fn an_option_that_is_not_known_is_refused_with_the_nearest() {
    refused("postgres://db/x?sslmod=require", "did you mean `sslmode`?");
    refused("postgres://db/x?charset=utf8", "known are host, hostaddr, port, dbname");
    refused("postgres://db/x?socket=/run", "?host=/folder");
    refused("mysql://db/x?host=/run", "known are socket, port, user, password, tls, ssl-mode");
    refused("mysql://db/x?compression=zstd", "expected on or off");
}

#[test]
fn a_target_prints_as_a_url_of_the_same_target_without_its_password() {
    let check = |text: &str, expected: &str| {
        let target = parsed(text);
        assert_eq!(target.to_string(), expected);
        let bare = |target: TargetUrl| TargetUrl { password: None, idle: Vec::new(), ..target };
        assert_eq!(bare(parsed(expected)), bare(target));
    };
    check("mysql://app:hunter2@db/x?tls=require", "mysql://app:***@db/x?tls=require");
    check("postgresql://a%40b@/x?host=/run/pg&tls=verify", "postgres://a%40b@/x?host=/run/pg&tls=verify");
    check("mariadb://r@[::1]/my%20db?socket=/s", "mariadb://r@[::1]/my%20db?socket=/s");
    check("mysql://a%3Ab/x?tls=off", "mysql://a%3Ab/x?tls=off");
    check("mysql://r@db:7?compression=on&tls=verify&charset=latin1", "mysql://r@db:7/?tls=verify&compression=on");
    check(
        "postgres://r@db/x?sslmode=require&sslrootcert=/r&sslcert=/c%20c&sslkey=/k&channel_binding=require",
        "postgres://r@db/x?tls=verify-ca&sslrootcert=/r&sslcert=/c%20c&sslkey=/k&channel_binding=require",
    );
    check(
        "mariadb://r@db/x?ssl-mode=verify_identity&ssl-ca=/r&compression=on",
        "mariadb://r@db/x?tls=verify&ssl-ca=/r&compression=on",
    );
    check(
        "host=/run/pg,h2 port=1,2 target_session_attrs=primary",
        "postgres://:1,h2:2/?host=/run/pg,h2&target_session_attrs=primary",
    );
    check("service=prod passfile=/p host=h hostaddr=::1", "postgres://h/?hostaddr=%3A%3A1&service=prod&passfile=/p");
    check("postgres://:hunter2@h/?sslrootcert=system", "postgres://:***@h/?tls=verify&sslrootcert=system");
    check("sqlite:///a%20b/c", "sqlite:///a%20b/c");
    assert!(!format!("{:?}", TargetUrl::parse("mysql://app:hunter2@db/x")).contains("hunter2"));
}

/// The completed target, and what came from where.
fn completed(text: &str, around: &Made) -> (TargetUrl, String) {
    let completed = parsed(text).completed(around).unwrap_or_else(|error| panic!("{text}: {error}"));
    (completed.targets[0].clone(), completed.text().unwrap_or_default())
}

fn password(target: &TargetUrl) -> Option<&str> {
    target.password.as_ref().map(Secret::expose)
}

#[test]
fn the_environment_of_libpq_fills_in_what_is_left_open_and_nothing_else() {
    let around = Made {
        variables: vec![
            ("PGHOST", "db"),
            ("PGPORT", "7"),
            ("PGUSER", "bob"),
            ("PGDATABASE", "x"),
            ("PGPASSWORD", "hunter2"),
            ("PGSSLMODE", "require"),
            ("PGSSLROOTCERT", "/r"),
            ("PGOPTIONS", "-c jit=off"),
        ],
        ..Made::default()
    };
    let (target, text) = completed("postgres://", &around);
    assert_eq!(target.to_string(), "postgres://bob:***@db:7/x?tls=verify-ca&sslrootcert=/r");
    assert_eq!(password(&target), Some("hunter2"));
    assert_eq!(
        text,
        "host from PGHOST, port from PGPORT, user from PGUSER, dbname from PGDATABASE, password from PGPASSWORD, sslmode from PGSSLMODE, sslrootcert from PGSSLROOTCERT; PGOPTIONS is not taken: no report would show settings of sessions"
    );
    let (target, _) = completed(
        "postgres://ann:own@h:9/y?sslmode=disable",
        &Made { variables: around.variables[..6].to_vec(), ..Made::default() },
    );
    assert_eq!((target.to_string().as_str(), password(&target)), ("postgres://ann:***@h:9/y?tls=off", Some("own")));
    // Servers of another kind have nothing of it.
    assert_eq!(completed("mysql://", &around), (parsed("mysql://"), String::new()));
    let prefers = Made { variables: vec![("PGSSLMODE", "prefer")], ..Made::default() };
    let error = parsed("postgres://").completed(&prefers).unwrap_err();
    assert!(error.starts_with("PGSSLMODE: sslmode=prefer lets the server choose"), "{error}");
    assert_eq!(completed("postgres://h?sslmode=disable", &prefers).0.tls(), TlsMode::Off);
}

#[test]
fn without_anything_the_account_its_database_and_the_socket_are_meant() {
    let (target, text) = completed("postgres://", &Made::default());
    assert_eq!(target.to_string(), "postgres://ann@/ann");
    assert_eq!(text, "user from your account, dbname from the user");
    let around = Made { sockets: vec!["/tmp/.s.PGSQL.5432", "/var/run/postgresql/.s.PGSQL.5433"], ..Made::default() };
    assert_eq!(completed("postgres:///x", &around).0.endpoint(), unix("/tmp/.s.PGSQL.5432"));
    assert_eq!(completed("port=5433", &around).0.endpoint(), unix("/var/run/postgresql/.s.PGSQL.5433"));
    assert_eq!(completed("postgres://localhost", &around).0.endpoint(), tcp("localhost", 5432));
}

#[test]
fn a_service_goes_before_the_environment_and_behind_the_target() {
    let file = "# comment\n[other]\nhost=wrong\n[prod]\nhost=db\nport=7\nuser=bob\nuser=eve\napplication_name=x\n\n[prod]\nhost=late\n";
    let around = Made {
        variables: vec![("PGUSER", "env"), ("PGDATABASE", "base")],
        files: vec![("/home/ann/.pg_service.conf", 0o644, file)],
        ..Made::default()
    };
    let (target, text) = completed("service=prod port=9", &around);
    assert_eq!(target.to_string(), "postgres://bob@db:9/base?service=prod");
    assert_eq!(
        text,
        "host and user from the service `prod` of ~/.pg_service.conf, dbname from PGDATABASE; of no use here: `application_name`"
    );
    let by_variable = Made {
        variables: vec![("PGSERVICE", "prod"), ("PGSERVICEFILE", "/s")],
        files: vec![("/s", 0o644, file)],
        ..Made::default()
    };
    assert_eq!(completed("postgres://", &by_variable).0.to_string(), "postgres://bob@db:7/bob");
    let error = parsed("service=none").completed(&around).unwrap_err();
    assert!(error.contains("no service `none` in /home/ann/.pg_service.conf or /etc/postgresql-common"), "{error}");
    let nested = Made { files: vec![("/home/ann/.pg_service.conf", 0o644, "[a]\nservice=b\n")], ..Made::default() };
    assert!(parsed("service=a").completed(&nested).unwrap_err().contains("service inside of a service"));
}

#[test]
fn a_file_of_passwords_is_read_as_libpq_reads_it() {
    let file = "# db:*:*:*:no\nother:*:*:*:no\ndb:7:x:a\\:b:p\\:w\\\\:rest\nlocalhost:*:*:*:local\n/run/pg:*:*:*:folder\n*:*:*:*:any\n";
    let around = Made { files: vec![("/home/ann/.pgpass", 0o600, file)], ..Made::default() };
    let of = |text: &str| completed(text, &around).0.password.map(|password| password.expose().to_owned());
    assert_eq!(of("postgres://a%3Ab@db:7/x").as_deref(), Some("p:w\\:rest"));
    assert_eq!(of("postgres://b@db:7/x").as_deref(), Some("any"));
    assert_eq!(of("postgres://localhost").as_deref(), Some("local"));
    assert_eq!(of("host=/var/run/postgresql").as_deref(), Some("local"));
    assert_eq!(of("host=/run/pg").as_deref(), Some("folder"));
    assert_eq!(of("postgres://b:own@db/x").as_deref(), Some("own"));
    let (_, text) = completed("postgres://a%3Ab@db:7/x", &around);
    assert_eq!(text, "password from ~/.pgpass");
    let open = Made { files: vec![("/home/ann/.pgpass", 0o640, file)], ..Made::default() };
    let (target, text) = completed("postgres://b@db/x", &open);
    assert_eq!(password(&target), None);
    assert_eq!(text, "~/.pgpass is not read, because others may read it: its permissions are 0640 and must be 0600");
    // Each host has its own.
    let several = parsed("host=localhost,db user=b dbname=x").completed(&around).unwrap();
    assert_eq!(several.targets.iter().map(password).collect::<Vec<_>>(), [Some("local"), Some("any")]);
}

#[test]
fn an_encrypted_connection_takes_the_certificates_of_the_home_folder() {
    let files = ["root.crt", "postgresql.crt", "postgresql.key"];
    let paths = [
        "/home/ann/.postgresql/root.crt",
        "/home/ann/.postgresql/postgresql.crt",
        "/home/ann/.postgresql/postgresql.key",
    ];
    assert!(paths.iter().zip(files).all(|(path, file)| path.ends_with(file)));
    let around = Made { files: paths.map(|path| (path, 0o600, "")).to_vec(), ..Made::default() };
    let (target, text) = completed("postgres://a@db/x?sslmode=require", &around);
    assert_eq!(target.tls(), TlsMode::VerifyCa);
    assert_eq!(target.certificates.chain, Some(paths[1].into()));
    assert!(text.contains("sslrootcert from ~/.postgresql/root.crt"), "{text}");
    assert_eq!(completed("postgres://a@db/x", &around).0, parsed("postgres://a@db/x"));
}

#[test]
fn an_option_file_of_mysql_fills_in_what_is_left_open_and_nothing_else() {
    let file = "[client]\nuser=bob\npassword=hunter2\nhost=db\nport=7\nssl-mode=VERIFY_CA\nssl-ca=/r\n[mysql]\ndatabase=x\n\
                [client-mariadb]\nuser=maria\n[mysqld]\nport=9\n";
    let around = Made { files: vec![("/home/ann/.my.cnf", 0o600, file)], ..Made::default() };
    let (target, text) = completed("mysql://", &around);
    assert_eq!(target.to_string(), "mysql://bob:***@db:7/x?tls=verify-ca&ssl-ca=/r");
    assert_eq!(
        (password(&target), text.as_str()),
        (Some("hunter2"), "database, user, password, host, port, ssl-mode and ssl-ca from ~/.my.cnf")
    );
    assert_eq!(completed("mariadb://", &around).0.user(), "maria");
    let (target, text) = completed("mysql://eve@h:1/y?ssl-mode=disabled", &around);
    assert_eq!(target.to_string(), "mysql://eve@h:1/y?tls=off");
    assert_eq!(text, "the password in ~/.my.cnf is that of `bob` and not taken for `eve`");
    assert_eq!(password(&completed("mysql://bob@h/y", &around).0), Some("hunter2"));
    // Servers of another kind have nothing of it.
    assert!(!completed("postgres://h/x", &around).1.contains(".my.cnf"));
}

#[test]
fn a_socket_of_an_option_file_is_for_this_host_alone() {
    let socket = |file: &'static str| {
        let around = Made { files: vec![("/c", 0o600, file)], ..Made::default() };
        completed("mysql://a@/x?defaults-file=/c", &around).0.endpoint()
    };
    assert_eq!(socket("[client]\nsocket=/run/s\nport=7\n"), unix("/run/s"));
    assert_eq!(socket("[client]\nhost=localhost\nsocket=/run/s\n"), unix("/run/s"));
    assert_eq!(socket("[client]\nhost=db\nsocket=/run/s\n"), tcp("db", 3306));
    assert_eq!(socket("[client]\nprotocol=TCP\nsocket=/run/s\nport=7\n"), tcp("localhost", 7));
}

#[test]
fn the_encryption_of_an_option_file_is_decided_or_refused() {
    let mode = |file: &'static str| {
        let around = Made { files: vec![("/c", 0o600, file)], ..Made::default() };
        parsed("mariadb://a@db/x?defaults-file=/c").completed(&around).map(|completed| completed.targets[0].tls())
    };
    assert_eq!(mode("[client]\nssl\n"), Ok(TlsMode::Require));
    assert_eq!(mode("[client]\nssl=0\n"), Ok(TlsMode::Off));
    assert_eq!(mode("[client]\nskip-ssl\n"), Ok(TlsMode::Off));
    assert_eq!(mode("[client]\nssl-ca=/r\n"), Ok(TlsMode::VerifyCa));
    assert_eq!(mode("[client]\nssl_verify_server_cert\nssl_ca=/r\n"), Ok(TlsMode::Verify));
    let error = mode("[client]\nssl-mode=PREFERRED\n").unwrap_err();
    assert!(error.starts_with("/c: ssl-mode=PREFERRED lets the server choose"), "{error}");
    let missing = parsed("mysql://?defaults-file=/none").completed(&Made::default()).unwrap_err();
    assert!(missing.starts_with("there is no defaults-file /none"), "{missing}");
}

#[test]
fn urls_of_jdbc_name_the_same_server() {
    let check = |text: &str, expected: &str, idle: &[&str]| {
        let target = parsed(text);
        assert_eq!(target.to_string(), expected, "{text}");
        assert_eq!(target.idle, idle, "{text}");
    };
    check(
        "jdbc:mysql://db:3307/x?user=app&password=hunter2&useSSL=true&rewriteBatchedStatements=true&cacheprepstmts=true",
        "mysql://app:***@db:3307/x?tls=require",
        &["rewriteBatchedStatements", "cachePrepStmts"],
    );
    check("jdbc:mysql://db/x?useSSL=false&serverTimezone=UTC", "mysql://db/x?tls=off", &["serverTimezone"]);
    check("jdbc:mysql://db/x?useSSL=true&verifyServerCertificate=true", "mysql://db/x?tls=verify-ca", &[]);
    check("jdbc:mysql://db/x?sslMode=VERIFY_IDENTITY", "mysql://db/x?tls=verify", &[]);
    check("jdbc:mariadb://db/x?sslMode=trust&localSocket=/run/s", "mariadb://db/x?socket=/run/s&tls=require", &[]);
    check("jdbc:mariadb:sequential://a,b/x", "mariadb://a,b/x", &[]);
    check("jdbc:mysql://address=(host=a)(port=1),(host=b,port=2)/x", "mysql://a:1,b:2/x", &[]);
    check("jdbc:postgresql://db/x?ssl=true&prepareThreshold=0", "postgres://db/x?tls=verify", &["prepareThreshold"]);
    check("jdbc:postgresql://db/x?ssl=true&sslmode=require", "postgres://db/x?tls=require", &[]);
    check(
        "jdbc:postgresql://a:1,b:2/x?targetServerType=primary",
        "postgres://a:1,b:2/x?target_session_attrs=primary",
        &[],
    );
    refused("jdbc:mysql://db/x?sslMode=PREFERRED&password=hunter2", "lets the server choose");
    refused("jdbc:mysql://a,b/x?localSocket=/s", "several hosts");
    refused("jdbc:mysql://db/x?sessionVariables=a%3D1", "no report would show");
    refused("jdbc:mysql://db/x?trustCertificateKeyStoreUrl=file:/k", "key store of Java");
    refused("jdbc:mysql:loadbalance://a,b/x", "leaves open which server");
    refused("jdbc:postgresql://db/x?currentSchema=a", "no report would show");
    refused("jdbc:postgresql://db/x?loadBalanceHosts=true", "leaves to chance");
    refused("jdbc:postgresql:x", "names no host");
    refused("jdbc:oracle://db/x", "no kind of server");
    refused("jdbc:mysql://db/x?useSLL=true", "did you mean `useSSL`?");
}

#[test]
fn a_database_url_is_read_as_the_frameworks_spell_it() {
    let of = |text: &'static str, files: Vec<(&'static str, u32, &'static str)>| {
        let around = Made { variables: vec![("DATABASE_URL", text)], files, ..Made::default() };
        TargetUrl::of_database_url(&around).unwrap()
    };
    let check =
        |text: &'static str, expected: &str| assert_eq!(of(text, Vec::new()).unwrap().to_string(), expected, "{text}");
    check("postgres://a:pw@db/x", "postgres://a:***@db/x");
    check("postgresql+psycopg2://a@db/x?pool=5&sslmode=require", "postgres://a@db/x?tls=require");
    check("postgis://a@db/x", "postgres://a@db/x");
    check("mysql2://a:pw@db:7/x?encoding=utf8mb4&ssl_mode=required&reconnect=true", "mysql://a:***@db:7/x?tls=require");
    check("mysql2://a@db/x?ssl_mode=verify_ca&sslca=/r", "mysql://a@db/x?tls=verify-ca&ssl-ca=/r");
    check("trilogy://a@db/x", "mysql://a@db/x");
    check("sqlite:////data/a%20b.db", "sqlite:///data/a%20b.db");
    check("sqlite3:/data/x.db", "sqlite:///data/x.db");
    check("sqlite:///data/x.db", "sqlite:///data/x.db");
    check("host=db dbname=x", "postgres://db/x");
    check("jdbc:mysql://db/x", "mysql://db/x");
    assert_eq!(of("mysql2://a@db/x?pool=5", Vec::new()).unwrap().idle, ["pool"]);
    let of_a_pool = parsed("postgresql+asyncpg://a@db/x?pool=5&sslmode=require");
    assert_eq!(
        (of_a_pool.to_string().as_str(), of_a_pool.idle),
        ("postgres://a@db/x?tls=require", vec!["pool".into()])
    );
    let relative = of("sqlite:///db.sqlite3", vec![("db.sqlite3", 0o600, "")]).unwrap();
    assert_eq!(relative.database(), std::env::current_dir().unwrap().join("db.sqlite3").to_str().unwrap());
    let error = of("oracle://a:hunter2@db/x", Vec::new()).unwrap_err();
    assert!(error.starts_with("DATABASE_URL: `oracle://`") && !error.contains("hunter2"), "{error}");
    assert!(TargetUrl::of_database_url(&Made::default()).is_none());
}
