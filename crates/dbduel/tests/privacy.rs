//! What may leave the house holds nothing of what production's users sent: a thousand marked values and two passwords in a
//! log of each format, and none of them in what is written or printed of it.

mod support;

use std::fmt::Write;
use std::path::Path;

use capture::{Capture, Format};
use support::Place;

const VALUES: usize = 1000;
const PASSWORDS: [&str; 2] = ["sekretOfTheRoot", "sekretOfTheShop"];

/// A value that occurs once: every other one is a number.
fn value(number: usize) -> String {
    if number.is_multiple_of(2) { format!("Mk{number:04}Qzw") } else { format!("73{number:07}") }
}

/// A statement with two values, in one of the places where values stand.
fn statement(number: usize, is_mysql: bool) -> String {
    let (text, digits) = (value(number), value(number + 1));
    match (number / 2 % 8, is_mysql) {
        (0, _) => format!("select a from t where b = '{text}' and c = {digits}"),
        (1, _) => format!("insert into t values ('it''s {text}', -{digits}), (NULL, 0.{digits})"),
        (2, _) => format!("select a from t where b like '%{text}\\_%' and c in (1, {digits}) limit 10"),
        (3, true) => format!("select /*!50000 \"{text}\", {digits} */ 1"),
        (3, false) => format!("do $body$ begin perform '{text}', {digits}; end $body$"),
        (4, true) => format!("update t set a = _utf8mb4'\\'{text}' where b = x'{digits}0'"),
        (4, false) => format!("update t set a = E'\\'{text}' where b = '{{{digits}}}'::int[]"),
        (5, _) => format!("select 1 /* by {text} */ -- {digits}\n from t"),
        (6, _) => format!("call p('{text} and more', '2026-11-23 10:00:00', {digits})"),
        _ => format!("select '{text}', {digits} from t limit 10"),
    }
}

/// The log of all statements, and of two that set passwords.
fn log(format: Format) -> String {
    let is_mysql = format.is_mysql();
    let statements = (0..VALUES).step_by(2).map(|number| statement(number, is_mysql));
    let passwords = match is_mysql {
        true => PASSWORDS.map(|password| format!("alter user u identified by '{password}'")),
        false => PASSWORDS.map(|password| format!("alter role u with password '{password}'")),
    };
    let mut log = String::new();
    for (number, text) in statements.chain(passwords).enumerate() {
        entry(&mut log, format, number, &text).unwrap();
    }
    log
}

/// Every other statement of PostgreSQL has its first value bound.
fn entry(log: &mut String, format: Format, number: usize, text: &str) -> std::fmt::Result {
    let stamp = format!("2026-11-23 04:41:{:02}.{:03}", number / 1000, number % 1000);
    let bound = value(number * 2);
    let (message, detail) = match text.contains(&format!("'{bound}'")) {
        true => {
            let text = text.replace(&format!("'{bound}'"), "$1");
            (format!("duration: 2.000 ms  execute s{number}: {text}"), format!("parameters: $1 = '{bound}'"))
        }
        false => (format!("duration: 2.000 ms  statement: {text}"), String::new()),
    };
    match format {
        Format::MySqlSlow => writeln!(
            log,
            "# Time: {}Z\n# User@Host: shopkeeper[shopkeeper] @ web7.example [10.1.2.3]  Id:  7\n\
             # Query_time: 0.000100  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795408907;\n{text};",
            stamp.replace(' ', "T") + "000"
        ),
        Format::MySqlGeneral => {
            let stamp = stamp.replace(' ', "T") + "000Z";
            if number == 0 {
                writeln!(log, "{stamp}\t    7 Connect\tshopkeeper@web7.example on shop using TCP/IP")?;
            }
            writeln!(log, "{stamp}\t    7 Query\t{text}")
        }
        Format::PgCsv => {
            let quoted = |text: &str| text.replace('"', "\"\"");
            writeln!(
                log,
                "{stamp} UTC,\"shopkeeper\",\"shop\",77,\"web7.example:5000\",c1.1,{},\"SELECT\",2026-11-23 04:41:40 UTC,3/1,0,LOG,\
                 00000,\"{}\",\"{}\",,,,,,,,\"app\",\"client backend\",,0",
                number + 1,
                quoted(&message),
                quoted(&detail)
            )
        }
        Format::PgJson => writeln!(
            log,
            "{}",
            // The reader knows the log by its first key.
            format!("{{\"timestamp\":\"{stamp} UTC\",") + serde_json::json!({
                "user": "shopkeeper", "dbname": "shop", "remote_host": "web7.example", "session_id": "c1.1",
                "line_num": number + 1, "error_severity": "LOG", "state_code": "00000", "message": message, "detail": detail,
            }).to_string().strip_prefix('{').unwrap()
        ),
        Format::PgStderr => {
            let line = |label: &str, text: &str| match text {
                "" => String::new(),
                text => format!("{stamp} UTC|shopkeeper|shop|c1.1|{label}:  {}\n", text.replace('\n', "\n\t")),
            };
            write!(log, "{}{}", line("LOG", &message), line("DETAIL", &detail))
        }
    }
}

/// Which marked values and names are in some bytes.
fn found(bytes: &[u8], names: &[&str]) -> Vec<String> {
    let bytes = String::from_utf8_lossy(bytes);
    let values = (0..VALUES).map(value);
    let marked = values.chain(PASSWORDS.iter().chain(names).map(|name| (*name).to_owned()));
    marked.filter(|marked| bytes.contains(&**marked)).collect()
}

/// Everything that a capture holds, as bytes.
fn held(path: &Path) -> Vec<u8> {
    let mut capture = Capture::open(path).unwrap();
    let mut bytes = format!("{:?}", capture.contents).into_bytes();
    capture.digests.iter().for_each(|digest| bytes.extend([&digest.database[..], b"\n", &digest.text].concat()));
    let take = &mut |one: &capture::Instance<'_>| {
        [one.text, one.parameters, one.prepared_as, one.user, one.host, one.application, b"\n"]
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        true
    };
    capture.instances_from(i64::MIN, take).unwrap();
    bytes
}

#[test]
fn nothing_that_users_sent_is_in_what_may_leave_the_house() {
    for format in Format::ALL {
        let place = Place::new();
        let name = format.name();
        place.write("the.log", &log(format));
        place.write("key", "a key of the tests, long enough");
        let make = |words: &[&str]| place.expect(0, &[&["capture", "--from", "the.log"], words].concat());
        // The plain capture has every value but the passwords and what stood in comments: the search finds what there is.
        make(&["--out", "whole.dbcap"]);
        let whole = held(&place.path().join("whole.dbcap"));
        assert!(found(&whole, &[]).len() == VALUES, "{name}: {:?}", found(&whole, &[]).len());
        let privacy = ["--key", "key", "--anonymize", "literals"];
        let (printed, _) = make(&[&["--out", "without.dbcap"][..], &privacy].concat());
        assert!(printed.contains("anonymised"), "{name}: {printed}");
        make(&["--out", "digests.json", "--key", "key", "--digest-only"]);
        let (digests, _) = place.expect(0, &["digest", "the.log", "--top", "10000"]);
        let (json, _) = place.expect(0, &["digest", "the.log", "--top", "10000", "--json"]);
        let alone = std::fs::read_to_string(place.path().join("digests.json")).unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&alone).unwrap();
        assert_eq!(parsed["statements"], VALUES / 2 + 2, "{name}");
        assert_eq!(parsed["statements_by_user"].as_object().unwrap().len(), 1, "{name}");
        let anonymised = held(&place.path().join("without.dbcap"));
        let names = ["shopkeeper", "web7", "10.1.2.3"];
        for (what, bytes, names) in [
            ("anonymised", &anonymised, &names[..]),
            ("--digest-only", &alone.into_bytes(), &names),
            ("printed of the capture", &printed.into_bytes(), &names),
            ("digest", &digests.into_bytes(), &[]),
            ("digest --json", &json.into_bytes(), &[]),
        ] {
            assert_eq!(found(bytes, names), [""; 0], "{name}: {what}");
        }
        // The same key gives the same file, of the capture too.
        place.expect(0, &[&["capture", "--from", "whole.dbcap", "--out", "again.dbcap"][..], &privacy].concat());
        assert_eq!(held(&place.path().join("again.dbcap")), anonymised, "{name}");
    }
}

#[test]
fn an_anonymised_capture_is_replayed_on_data_with_its_values_only() {
    let place = Place::new();
    place.write("the.log", &log(Format::PgCsv));
    place.write("shop.sql", "");
    place.expect(0, &["capture", "--from", "the.log", "--out", "a.dbcap", "--anonymize", "literals"]);
    let (info, _) = place.expect(0, &["capture", "--info", "a.dbcap"]);
    assert!(info.contains("anonymised    values are not those of the logs"), "{info}");
    let planned = |log: &str, data: &str, status: i32| {
        let file = format!(
            "name = \"a\"\ncontender = [{{ engine = \"postgres@13\" }}, {{ engine = \"postgres@17\" }}]\n\
             [workload]\nname = \"replay\"\nlog = [\"{log}\"]\ndata = {{ dump = \"shop.sql\"{data} }}\nwarmup = \"1ms\"\npartial_log = true\n"
        );
        place.write("a.toml", &file);
        place.expect(status, &["plan", "a.toml"]).1
    };
    let refused = planned("a.dbcap", "", 2);
    assert!(refused.contains("this one is anonymised") && refused.contains("anonymized = true"), "{refused}");
    planned("a.dbcap", ", anonymized = true", 0);
    let refused = planned("the.log", ", anonymized = true", 2);
    assert!(refused.contains("with an anonymised capture only"), "{refused}");
}

#[test]
fn a_plan_says_how_much_of_production_its_log_has_and_weights_by_it() {
    let place = Place::new();
    place.write("the.log", &log(Format::PgCsv));
    place.write("shop.sql", "");
    place.write("production.csv", "query,calls,total_exec_time\nvacuum t,1,500\n");
    let plan = |weights: &str, status: i32| {
        let file = format!(
            "name = \"a\"\ncontender = [{{ engine = \"postgres@13\" }}, {{ engine = \"postgres@17\" }}]\n\
             [workload]\nname = \"replay\"\nlog = [\"the.log\"]\ndata = {{ dump = \"shop.sql\" }}\nwarmup = \"1ms\"\n\
             partial_log = true\nsummary = \"production.csv\"\n{weights}"
        );
        place.write("a.toml", &file);
        place.expect(status, &["plan", "a.toml"])
    };
    let (out, _) = plan("", 0);
    for part in
        ["statements in", "the log has 0.0 % of the calls", "vacuum t (100.0 %)", "timed digests can have a verdict"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, err) = plan("weights = \"summary\"\n", 2);
    assert!(err.contains("a.toml:10") && err.contains("none of the log's statements is in `summary`"), "{err}");
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = Place::new();
    place.write("the.log", &log(Format::PgCsv));
    place.write("short", "1234");
    place.expect(0, &["capture", "--from", "the.log", "--out", "a.dbcap"]);
    for (words, expected) in [
        (&["--from", "a.dbcap", "--out", "b.dbcap"][..], "is a capture already"),
        (&["--from", "a.dbcap", "the.log", "--out", "b.dbcap", "--digest-only"], "is a capture already"),
        (&["--from", "the.log", "--out", "b.dbcap", "--key", "short"], "required"),
        (&["--from", "the.log", "--out", "b.dbcap", "--digest-only", "--key", "short"], "shorter than 16 bytes"),
        (&["--from", "the.log", "--out", "b.dbcap", "--digest-only", "--key", "none"], "cannot read the key"),
        (&["--from", "the.log", "--out", "a.dbcap", "--digest-only"], "is there already"),
    ] {
        let (_, err) = place.expect(2, &[&["capture"], words].concat());
        assert!(err.contains(expected), "{words:?}: {err}");
    }
}
