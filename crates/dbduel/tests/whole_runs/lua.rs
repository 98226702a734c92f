//! Scripts of sysbench in experiments, on SQLite, which needs no server.

use crate::support::{Place, text};

const SCRIPT: &str = "sysbench.cmdline.options = { rows = { 'rows of the table', 10 } }
function prepare()
   local con = sysbench.sql.driver():connect()
   con:query('CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER)')
   con:bulk_insert_init('INSERT INTO t (id, k) VALUES')
   for id = 1, sysbench.opt.rows do con:bulk_insert_next('(' .. id .. ', 0)') end
   con:bulk_insert_done()
   con:disconnect()
end
function thread_init()
   con = sysbench.sql.driver():connect()
   update = con:prepare('UPDATE t SET k = k + 1 WHERE id = ?')
   id = update:bind_create(sysbench.sql.type.INT)
   update:bind_param(id)
end
function event()
   assert(con:query_row('SELECT count(*) FROM t') == tostring(sysbench.opt.rows))
   id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   update:execute()
end
";

fn experiment(contenders: &str, files: &str, more: &str) -> String {
    format!(
        "contender = [{contenders}]\nworkload = {{ name = \"script\", files = {files}{more} }}\nsweep.clients = [2]\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2 }}\n"
    )
}

const CONTENDERS: &str = "{ engine = \"sqlite\" }, { engine = \"sqlite\", name = \"other\" }";

#[test]
fn a_script_prepares_once_and_runs_in_every_trial() {
    let place = Place::new();
    place.write("my.lua", SCRIPT);
    place.write("try.toml", &experiment(CONTENDERS, "[{ path = \"my.lua\" }]", ", options = { rows = 25 }"));
    place.expect(0, &["run", "try.toml", "--accept-noisy"]);
    place.assert_every_trial_ran_once();
    for trial in place.trials() {
        assert_eq!(trial["status"], "ok", "{trial}");
        let metric = |name: &str| trial["metrics"][name].as_f64().unwrap();
        let committed = metric("transactions.committed");
        assert!(committed > 0.0, "{trial}");
        assert!((metric("queries.read") - committed).abs() < 4.0 && metric("queries.write") > 0.0, "{trial}");
    }
}

#[test]
fn what_a_script_cannot_have_is_refused_before_anything_starts() {
    let place = Place::new();
    place.write("my.lua", SCRIPT);
    place.write("bad.lua", "function event()\n  x = = 1\nend\n");
    place.write("a.sql", "SELECT 1;");
    let one = "[{ path = \"my.lua\" }]";
    let refused = |files: &str, more: &str, expected: &str| {
        place.write("try.toml", &experiment(CONTENDERS, files, more));
        let (_, error) = place.expect(2, &["plan", "try.toml"]);
        assert!(error.contains(expected), "{files}{more}: {error}");
    };
    refused("[{ path = \"bad.lua\" }]", "", "bad.lua:2: unexpected symbol near '='");
    refused("[{ path = \"my.lua\" }, { path = \"a.sql\" }]", "", "one Lua script and nothing beside it");
    refused("[{ path = \"my.lua\", weight = 3 }]", "", "`weight` has no meaning for a Lua script");
    refused(one, ", variables = { scale = 3 }", "it belongs to SQL files, and my.lua is a Lua script");
    refused(one, ", options = { rowz = 3 }", "invalid option: --rowz=3; did you mean --rows?");
    refused(one, ", options = { rows = \"many\" }", "--rows: a number was expected, not `many`");
    refused("[{ path = \"a.sql\" }]", ", options = { rows = 3 }", "it belongs to Lua scripts");
}

#[test]
fn a_script_is_refused_on_a_target_whose_tables_dbduel_would_not_know() {
    let place = Place::new();
    place.write("my.lua", SCRIPT);
    let target = format!("{{ name = \"mine\", target = \"sqlite://{}/mine.db\" }}", place.path().display());
    rusqlite::Connection::open(place.path().join("mine.db")).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let contenders = format!("{{ engine = \"sqlite\" }}, {target}");
    place.write("try.toml", &experiment(&contenders, "[{ path = \"my.lua\" }]", ""));
    let output = place.dbduel(&["run", "try.toml", "--accept-noisy"]);
    let told = text(&output.stderr) + &text(&output.stdout);
    assert!(told.contains("a Lua script makes tables that dbduel does not know"), "{told}");
}

#[test]
fn hooks_and_histograms_print_in_sysbenchs_layouts() {
    let place = Place::new();
    let script = "function event() end
function sysbench.hooks.report_cumulative(s)
   s.time_interval, s.time_total, s.latency_pct = 2, 2, 0.0125
   sysbench.report_default(s)
   sysbench.report_csv(s)
   local h = sysbench.histogram.new(1024, 0.001, 100000)
   for at = 1, 3 do h:update(1.5) end
   h:update(1e9)
   h:print()
   sysbench.report_json(s)
end
";
    place.write("my.lua", script);
    rusqlite::Connection::open(place.path().join("mine.db")).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let target = format!("--target=sqlite://{}/mine.db", place.path().display());
    let (printed, _) = place.expect(0, &["bench", "my.lua", &target, "--threads=2", "--events=8", "--time=0", "run"]);
    let expected = "\
[ 2s ] thds: 0 tps: 4.00 qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 12.50 err/s 0.00 reconn/s: 0.00
2,0,4.00,0.00,0.00,0.00,0.00,12.50,0.00,0.00
       value  ------------- distribution ------------- count
       1.496 |**************************************** 3
  100000.000 |*************                            1
[
  {
    \"time\":    2,
    \"threads\": 0,
    \"tps\": 4.00,
    \"qps\": {
      \"total\": 0.00,
      \"reads\": 0.00,
      \"writes\": 0.00,
      \"other\": 0.00
    },
    \"latency\": 12.50,
    \"errors\": 0.00,
    \"reconnects\": 0.00
  }";
    assert!(printed.contains(expected), "{printed}");
    assert!(!printed.contains("SQL statistics"), "the hook prints instead:\n{printed}");
}

#[test]
fn a_script_that_goes_wrong_leaves_a_record() {
    let prepare = "local con = sysbench.sql.driver():connect() con:query('CREATE TABLE t (id INTEGER)')";
    let event = |body: &str| format!("function event() {body} end function prepare() {prepare} end\n");
    let cases = [
        (event("error('boom')"), "my.lua:1: boom"),
        (event("os.exit(3)"), "my.lua:1: os.exit(3) was called"),
        (event("local x = string.rep('x', 2 ^ 30)"), "not enough memory"),
    ];
    for (script, expected) in cases {
        let place = Place::new();
        place.write("my.lua", &script);
        place.write("try.toml", &experiment(CONTENDERS, "[{ path = \"my.lua\" }]", ""));
        let output = place.dbduel(&["run", "try.toml", "--accept-noisy"]);
        let trials = place.trials();
        let messages: Vec<String> = trials.iter().map(|trial| trial["failure"]["message"].to_string()).collect();
        assert!(trials.iter().all(|trial| trial["status"] == "failed"), "{script}: {trials:?}");
        assert!(messages.iter().all(|message| message.contains(expected)), "{script}: {messages:?}");
        assert!(!trials.is_empty(), "{script}: no record: {}", text(&output.stderr));
    }
}
