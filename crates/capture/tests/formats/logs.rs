//! Logs as servers write them.

use capture::{Format, Reading};

use super::properties;

pub fn reading(format: Format) -> Reading {
    properties::reading(format)
}

pub fn all() -> Vec<(Format, Vec<u8>)> {
    vec![
        (Format::MySqlSlow, SLOW_MARIADB.to_vec()),
        (Format::MySqlSlow, SLOW_MYSQL.to_vec()),
        (Format::MySqlGeneral, GENERAL_MARIADB.to_vec()),
        (Format::MySqlGeneral, GENERAL_MYSQL.to_vec()),
        (Format::PgCsv, csv()),
        (Format::PgJson, json()),
        (Format::PgStderr, stderr()),
    ]
}

/// MariaDB 10.11: a literal and comments that read like headers, quotes of all kinds, a zero byte and invalid UTF-8.
pub const SLOW_MARIADB: &[u8] = b"/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261123  4:41:17
# User@Host: u[u] @ localhost [127.0.0.1]
# Thread_id: 9  Schema: odd  QC_hit: No
# Query_time: 0.000123  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 60
use odd;
SET timestamp=1795408877;
select ';
# Query_time: 99' as x;
# User@Host: u[u] @ localhost [127.0.0.1]
# Thread_id: 9  Schema: odd  QC_hit: No
# Query_time: 0.000200  Lock_time: 0.000001  Rows_sent: 0  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 60
# Full_scan: Yes  Full_join: No  Tmp_table: No
# explain: id\tselect_type\ttable\ttype
# explain: 1\tSIMPLE\tt\tALL
SET timestamp=1795408877;
select a from t where a = 1
# Time: 261123  4:41:17
# User@Host: u[u] @ localhost []
 and b = 2;
# Time: 261123  4:41:18
# User@Host: u[u] @ localhost [127.0.0.1]
# Thread_id: 9  Schema: odd  QC_hit: No
# Query_time: 0.000300  Lock_time: 0.000001  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 3  Bytes_sent: 11
SET timestamp=1795408878;
insert into t values ('it''s', \"a;
\", 1);
# User@Host: u[u] @ localhost [127.0.0.1]
# Thread_id: 10  Schema:   QC_hit: No
# Query_time: 1.000000  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 60
SET last_insert_id=5,timestamp=1795408878;
select 'q\\'uo
te;
', NULL, 12.5 -- comment;
# User@Host: u[u] @ localhost [127.0.0.1]
# Thread_id: 10  Schema:   QC_hit: No
# Query_time: 0.000010  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 0
SET timestamp=1795408879;
select 'a\x00b\xff';
";

/// MySQL 8.0 with `log_slow_extra`.
pub const SLOW_MYSQL: &[u8] = b"/opt/mysql/bin/mysqld, Version: 8.0.31 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: mysql.sock
Time                 Id Command    Argument
# Time: 2026-11-23T04:41:47.487186Z
# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1 Thread_id: 9 Errno: 0 Killed: 0 Bytes_received: 13 Bytes_sent: 60
use odd;
SET timestamp=1795408907;
select 1;
# Time: 2026-11-23T04:41:47.488186Z
# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
# Query_time: 0.000223  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0 Thread_id: 9 Errno: 1146 Killed: 0 Bytes_received: 26 Bytes_sent: 60
SET timestamp=1795408907;
select * from nothing;
# Time: 2026-11-23T04:41:47.489186Z
# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
# Query_time: 0.000023  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795408907;
# administrator command: Prepare;
# Time: 2026-11-23T04:41:47.490186Z
# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
# Query_time: 0.000023  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
use shop;
SET timestamp=1795408907;
use shop;
# Time: 2026-11-23T04:41:47.491186Z
# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
# Query_time: 0.000003  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 7
SET timestamp=1795408907;
# administrator command: Quit;
";

pub const GENERAL_MARIADB: &[u8] = b"/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
261123  4:41:18\t     9 Connect\tu@localhost on odd using TCP/IP
\t\t     9 Query\tselect 1
from t
\t\t     9 Prepare\tinsert into t values (?)
\t\t     9 Execute\tinsert into t values (?)
\t\t     9 Query\tEXECUTE s1
\t\t     9 Execute\tselect 5
261123  4:41:19\t     9 Query\tuse shop
\t\t     9 Query\tselect 2
\t\t     9 Quit\t
";

pub const GENERAL_MYSQL: &[u8] = b"/opt/mysql/bin/mysqld, Version: 8.0.31 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: mysql.sock
Time                 Id Command    Argument
2026-11-23T04:41:47.487135Z\t    9 Query\tselect 1
2026-11-23T04:41:47.487235Z\t    9 Init DB\tshop
2026-11-23T04:41:47.487335Z\t    9 Query\tselect 2
";

/// Milliseconds after 04:41:47, severity, code, message, detail, statement.
type Message = (u32, &'static str, &'static str, &'static str, &'static str, &'static str);

const LIST: &str = "parameters: $1 = 'q''uo\nte'";
const POSTGRES: [Message; 8] = [
    (487, "LOG", "00000", "statement: select \"a\",\n'x'", "", ""),
    (487, "LOG", "00000", "duration: 0.083 ms", "", ""),
    (488, "LOG", "00000", "duration: 0.100 ms  parse <unnamed>: select $1", "", ""),
    (488, "LOG", "00000", "duration: 0.200 ms  bind <unnamed>: select $1", LIST, ""),
    (489, "LOG", "00000", "duration: 0.300 ms  execute <unnamed>: select $1", LIST, ""),
    (490, "ERROR", "42601", "syntax error at or near \"selec\"", "", "selec 1"),
    (491, "LOG", "00000", "duration: 0.200 ms  bind s1: select 1/$1", "parameters: $1 = '0'", ""),
    (492, "ERROR", "22012", "division by zero", "", "select 1/$1"),
];

pub fn csv() -> Vec<u8> {
    let row = |(number, (ms, severity, code, message, detail, statement)): (usize, &Message)| {
        let quoted =
            |text: &str| if text.is_empty() { String::new() } else { format!("\"{}\"", text.replace('"', "\"\"")) };
        format!(
            "2026-11-23 04:41:47.{ms} UTC,\"u\",\"odd\",77,\"127.0.0.1:5000\",c1.1,{},\"SELECT\",2026-11-23 04:41:40 UTC,3/1,0,\
             {severity},{code},{},{},,,,,{},,,\"psql\",\"client backend\",,0\n",
            number + 1,
            quoted(message),
            quoted(detail),
            quoted(statement),
        )
    };
    POSTGRES.iter().enumerate().map(row).collect::<String>().into_bytes()
}

pub fn json() -> Vec<u8> {
    let row = |(number, (ms, severity, code, message, detail, statement)): (usize, &Message)| {
        let quoted = |key: &str, text: &str| {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            if text.is_empty() { String::new() } else { format!(",\"{key}\":\"{text}\"") }
        };
        format!(
            "{{\"timestamp\":\"2026-11-23 04:41:47.{ms} UTC\",\"user\":\"u\",\"dbname\":\"odd\",\"pid\":77,\"session_id\":\"c1.1\",\
             \"line_num\":{},\"error_severity\":\"{severity}\",\"state_code\":\"{code}\"{}{}{},\"query_id\":0}}\n",
            number + 1,
            quoted("message", message),
            quoted("detail", detail),
            quoted("statement", statement),
        )
    };
    POSTGRES.iter().enumerate().map(row).collect::<String>().into_bytes()
}

pub fn stderr() -> Vec<u8> {
    let row = |(ms, severity, _, message, detail, statement): &Message| {
        let line = |label: &str, text: &str| {
            let text = text.replace('\n', "\n\t");
            if text.is_empty() {
                String::new()
            } else {
                format!("2026-11-23 04:41:47.{ms} UTC|u|odd|c1.1|{label}:  {text}\n")
            }
        };
        [line(severity, message), line("DETAIL", detail), line("STATEMENT", statement)].concat()
    };
    POSTGRES.iter().map(row).collect::<String>().into_bytes()
}
