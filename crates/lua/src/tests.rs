//! Scripts of our own against a server that does nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use driver::{Dialect, Login, NullServer, Target};
use load::{Commands, Failure, Load, LoadOptions, OptionValue, Reported, Tally, Workload};

use crate::script::{LuaScript, Source};

fn source(text: &str) -> Source {
    Source { path: "t.lua".to_owned(), text: text.to_owned() }
}

fn script(text: &str, given: &[(&str, &str)]) -> Result<LuaScript, Vec<String>> {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Text((*value).to_owned())));
    LuaScript::new(source(text), &given.collect())
}

/// A server that does nothing, and how it is reached.
struct Nothing {
    target: Target,
    _server: NullServer,
    _folder: tempfile::TempDir,
}

fn nothing(dialect: Dialect) -> Nothing {
    let folder = tempfile::tempdir().unwrap();
    let server = NullServer::start(dialect, &folder.path().join("null.sock")).unwrap();
    let login = Login { user: "nobody".to_owned(), database: Some("nothing".to_owned()), ..Login::default() };
    Nothing { target: Target { dialect, endpoint: server.endpoint(), login }, _server: server, _folder: folder }
}

/// Runs so many events with so many clients on one worker.
fn ran(text: &str, given: &[(&str, &str)], dialect: Dialect, clients: u32, events: u64) -> Result<Tally, Failure> {
    let workload: Arc<dyn Workload> = Arc::new(script(text, given).unwrap());
    let nothing = nothing(dialect);
    let interrupted = AtomicBool::new(false);
    let options = LoadOptions { clients, transactions_max: Some(events), ..LoadOptions::default() };
    let load = Load::prepare(&workload, &nothing.target, options, &interrupted)?;
    load.measure(None, &mut |_| {}, &mut || {}).whole()
}

/// A script whose client has a connection.
fn with_connection(rest: &str) -> String {
    format!("function thread_init() con = sysbench.sql.driver():connect() end\n{rest}")
}

#[test]
fn statements_count_by_what_they_bring() {
    let event = with_connection(
        "function event()
            con:query('BEGIN'); con:query('select 1'); con:query('insert into t values (1)'); con:query('COMMIT')
         end",
    );
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        for clients in [1, 5] {
            let tally = ran(&event, &[], dialect, clients, 20).unwrap();
            let counted = (tally.committed, tally.reads, tally.writes, tally.other);
            assert_eq!(counted, (20, 20, 20, 40), "{dialect:?}, {clients} clients");
        }
    }
}

#[test]
fn prepared_statements_take_values_of_all_kinds_in_both_modes() {
    let event = with_connection(
        "function event()
            local t = sysbench.sql.type
            if stmt == nil then
               stmt = con:prepare('UPDATE t SET c = ? WHERE a = ? AND b = ? AND d = ?')
               p = { stmt:bind_create(t.CHAR, 3), stmt:bind_create(t.INT), stmt:bind_create(t.DOUBLE), stmt:bind_create(t.VARCHAR, 9) }
               stmt:bind_param(unpack(p))
            end
            p[1]:set('too long'); p[2]:set(8.9); p[3]:set(1.5); p[4]:set(nil)
            assert(p[1].value == 'too' and p[2].value == 8)
            stmt:execute()
            p[4]:set_rand_str('##-@@')
            assert(p[4].value:match('^%d%d%-%l%l$'), p[4].value)
            stmt:execute()
            stmt:close()
            stmt = nil
         end",
    );
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        for mode in ["auto", "disable"] {
            let tally = ran(&event, &[("db-ps-mode", mode)], dialect, 2, 10).unwrap();
            assert_eq!((tally.committed, tally.writes), (10, 20), "{dialect:?} {mode}");
        }
    }
}

#[test]
fn rows_are_tables_of_texts() {
    let event = with_connection(
        "function event()
            local result = con:query('select 1')
            assert(result.nrows == 1 and result.nfields >= 1)
            local row = result:fetch_row()
            assert(type(row) == 'table' and type(row[1]) == 'string')
            assert(result:fetch_row() == nil)
            result:free()
            assert(type(con:query_row('select 1')) == 'string')
            assert(con:query('BEGIN') == nil)
            assert(select('#', con:query_row('BEGIN')) == 0)
         end",
    );
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        assert_eq!(ran(&event, &[], dialect, 2, 6).unwrap().committed, 6, "{dialect:?}");
    }
}

#[test]
fn bulk_inserts_are_sent_when_they_are_full_and_at_their_end() {
    let rows = with_connection(
        "function event()
            if not open then con:bulk_insert_init('INSERT INTO t VALUES'); open = true end
            con:bulk_insert_next('(' .. string.rep('x', 99998) .. ')')
         end
         function thread_done() con:bulk_insert_done() end",
    );
    // Five rows of 100,000 bytes fit in 512 KiB.
    let tally = ran(&rows, &[], Dialect::MySql, 1, 11).unwrap();
    assert_eq!((tally.committed, tally.writes), (11, 3));
}

#[test]
fn a_client_may_have_many_connections_and_close_them_twice() {
    let event = "function event()
            local one, two = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
            one:query('select 1'); two:query('select 1'); one:query('select 1')
            one:disconnect(); one:disconnect(); two:disconnect()
         end";
    for clients in [1, 3] {
        assert_eq!(ran(event, &[], Dialect::Postgres, clients, 9).unwrap().reads, 27, "{clients} clients");
    }
}

#[test]
fn where_lua_cannot_be_suspended_the_worker_waits() {
    let event = with_connection(
        "function event()
            ('ab'):gsub('.', function() con:query('select 1') end)
            coroutine.wrap(function() con:query('select 1') end)()
            assert(pcall(function() con:query('select 1') end))
         end",
    );
    assert_eq!(ran(&event, &[], Dialect::MySql, 3, 9).unwrap().reads, 36);
}

#[test]
fn a_script_may_bring_its_own_loop() {
    let own = with_connection(
        "function thread_run(id)
            while ffi.C.sb_more_events(id) do
               ffi.C.sb_event_start(id)
               con:query('select 1')
               ffi.C.sb_event_stop(id)
            end
            over = true
         end
         function thread_done() assert(over, 'the loop was not left') end",
    );
    for clients in [1, 3] {
        let tally = ran(&own, &[], Dialect::MySql, clients, 9).unwrap();
        assert_eq!((tally.committed, tally.reads), (9, 9), "{clients} clients");
    }
    let leaving = "function thread_run(id)
            for _ = 1, 3 do ffi.C.sb_more_events(id); ffi.C.sb_event_stop(id) end
         end";
    assert_eq!(ran(leaving, &[], Dialect::MySql, 2, 1_000).unwrap().committed, 6);
}

#[test]
fn functions_of_sysbench_are_answered_by_ffi() {
    let event = "ffi.cdef[[
            void sb_counter_inc(int, sb_counter_type);
            uint32_t sb_rand_uniform(uint32_t, uint32_t);
            void sb_rand_str(const char *, char *);
            sql_result *db_query(sql_connection *con, const char *query, size_t len);
            typedef uint32_t useconds_t;
            int usleep(useconds_t useconds);
         ]]
         function thread_init() con = ffi.C.db_connection_create(ffi.C.db_create(nil)) end
         function event()
            local C, sql = ffi.C, 'select 1 and more'
            local result = C.db_query(con, sql, 8)
            local row = C.db_fetch_row(result)
            assert(ffi.string(row.values[0].ptr, row.values[0].len) ~= '' and C.db_fetch_row(result) == nil)
            C.sb_counter_inc(sysbench.tid, C.SB_CNT_WRITE)
            C.sb_counter_inc(sysbench.tid, C.SB_CNT_ERROR)
            assert(C.sb_rand_uniform(4, 4) == 4 and C.usleep(1) == 0)
            local text = ffi.new('char[3]')
            C.sb_rand_str('##', text)
            assert(ffi.string(text):match('^%d%d$'))
            local statement = C.db_prepare(con, 'UPDATE t SET c = ? WHERE a = ?', 30)
            local binds, number, is_null = ffi.new('sql_bind[2]'), ffi.new('int64_t[1]', 7), ffi.new('char[1]', 1)
            binds[0].type, binds[0].buffer = sysbench.sql.type.BIGINT, number
            binds[1].type, binds[1].is_null = sysbench.sql.type.VARCHAR, is_null
            assert(C.db_bind_param(statement, binds, 2) == 0)
            C.db_execute(statement)
            assert(C.db_close(statement) == 0)
         end";
    let tally = ran(event, &[], Dialect::MySql, 2, 6).unwrap();
    assert_eq!((tally.reads, tally.writes, tally.retries), (6, 12, 6));
}

#[test]
fn parameters_of_sysbench_0_5_are_values_of_a_table() {
    let event = "function thread_init() db_connect(); values = { 7.9, 'text' }
            statement = db_prepare('UPDATE t SET c = ? WHERE a = ?'); db_bind_param(statement, values) end
         function event() values[1] = values[1] + 1; db_execute(statement) end";
    assert_eq!(ran(event, &[], Dialect::MySql, 1, 3).unwrap().writes, 3);
}

#[test]
fn hooks_are_given_figures() {
    let text = "function event() end
         function sysbench.hooks.report_intermediate(s) assert(s.events == 3 and s.time_total == 1.5, 'figures') end";
    let nothing = nothing(Dialect::MySql);
    let script = script(text, &[]).unwrap();
    let mut reporter = Commands::reporter(&script, &nothing.target, 2, 1).unwrap().unwrap();
    let mut report = |part, events| reporter.report(part, &[("events", events), ("time_total", 1.5)]);
    assert!(report(Reported::Interval, 3.0).unwrap());
    assert!(!report(Reported::Whole, 3.0).unwrap(), "it has no such hook");
    let why = report(Reported::Interval, 4.0).unwrap_err().to_string();
    assert!(why.contains("`report_intermediate' function failed: t.lua:2: figures"), "{why}");
}

#[test]
fn time_outside_of_the_database_and_odd_arguments_are_kept() {
    let event = with_connection(
        "ffi.cdef('int usleep(unsigned int);')
         function event()
            sysbench.rand.uniform(5, 1)
            sysbench.rand.default(1, 5)
            if statement == nil then
               statement = con:prepare('UPDATE t SET c = ?')
               statement:bind_create(sysbench.sql.type.DOUBLE)
            end
            ffi.C.usleep(2000)
            local garbage = {}
            for at = 1, 2000 do garbage[at] = { at } end
            assert(collectgarbage('count') < 16 * 1024, 'it is collected')
         end",
    );
    let tally = ran(&event, &[], Dialect::MySql, 2, 200).unwrap();
    assert!(tally.blocked_ns >= 200 * 2_000_000, "{} ns in usleep", tally.blocked_ns);
    assert!(tally.collected_ns > 0);
    assert_eq!(tally.script_remarks["script-random-wraps"], "t.lua:4: (5, 1)");
    assert_eq!(tally.script_remarks["script-real-parameter"], "t.lua:8");
}

#[test]
fn an_event_that_returns_true_ends_its_client_and_is_not_counted() {
    let event = "local n = 0; function event() n = n + 1; return n > 3 end";
    let tally = ran(event, &[], Dialect::MySql, 2, 1_000).unwrap();
    assert_eq!((tally.committed, tally.due), (6, 6));
}

#[test]
fn functions_are_called_in_sysbenchs_order() {
    let text = "calls = {}
         function init() calls[#calls + 1] = 'init'; assert(sysbench.tid == 0) end
         function thread_init(id) calls[#calls + 1] = 'thread_init'; assert(id == sysbench.tid) end
         function event(id) assert(id == sysbench.tid and sysbench.opt.threads == 2); calls[#calls + 1] = 'event' end
         function thread_done() assert(calls[1] == 'thread_init' and (calls[2] or 'event') == 'event', table.concat(calls, ' ')) end
         function done() assert(calls[1] == 'init' and #calls == 1) end";
    assert_eq!(ran(text, &[], Dialect::MySql, 2, 20).unwrap().committed, 20);
}

#[test]
fn what_goes_wrong_has_its_function_file_and_line() {
    let check = |text: &str, expected: &str| {
        let failure = ran(text, &[], Dialect::MySql, 2, 5).unwrap_err().to_string();
        assert!(failure.contains(expected), "{text}: {failure}");
    };
    check("function event() error('boom') end", "`thread_run' function failed: t.lua:1: boom");
    check("function event()\n\n os.exit(3) end", "t.lua:3: os.exit(3) was called: a script cannot end dbduel");
    check("function thread_init() error('no') end function event() end", "`thread_init' function failed: t.lua:1: no");
    check("function init() local x = nil + 1 end function event() end", "`init' function failed: t.lua:1: attempt to");
    check(
        "function event() end function thread_done() error('late') end",
        "`thread_done' function failed: t.lua:1: late",
    );
    check("function event()\n db_store_results() end", "t.lua:2: db_store_results is not built in dbduel yet");
    check(
        "ffi.cdef('int sb_nothing(int);') function event()\n ffi.C.sb_nothing(1) end",
        "t.lua:2: undefined symbol: sb_nothing",
    );
    check("function event()\n ffi.C.not_declared(1) end", "t.lua:2: missing declaration for symbol 'not_declared'");
    check(
        "function thread_run(id) ffi.C.sb_more_events(id) error('x') end",
        "`thread_run' function failed: t.lua:1: x",
    );
    check("function event() sysbench.sql.driver('oracle') end", "the script asks for the driver `oracle`");
    check(
        &with_connection("function event() con:disconnect(); con:query('select 1') end"),
        "t.lua:2: SQL error, errno = 0, state = 'HY000': the connection is closed",
    );
}

#[test]
fn a_script_is_refused_by_name_and_line_before_any_server() {
    let check = |text: &str, given: &[(&str, &str)], expected: &str| {
        let faults = script(text, given).unwrap_err().join("\n");
        assert!(faults.contains(expected), "{text}: {faults}");
    };
    check("x = = 1", &[], "t.lua:1: unexpected symbol near '='");
    check("\nno.such.name = 1", &[], "t.lua:2: attempt to index global 'no'");
    check("sysbench.cmdline.options = {}", &[("bad", "1")], "invalid option: --bad=1");
    check("sysbench.cmdline.options = { n = { 'a number', 3 } }", &[("n", "x")], "--n: a number was expected, not `x`");
    let int = "sysbench.cmdline.options = { n = { 'a number', 3, sysbench.cmdline.ARG_INT, function(name, value)
            return ffi.string(name) == 'n' and tonumber(ffi.string(value)) < 10 end } }";
    check(int, &[("n", "2.5")], "--n: a whole number was expected");
    check(int, &[("n", "11")], "Invalid value for the 'n' option: '11'");
    check("sysbench.cmdline.options = { n = { 'a number', 3, 77 } }", &[], "`n` has a type of no known kind");
    check(
        "sysbench.cmdline.options = { n = { 'x', 'y', sysbench.cmdline.ARG_INT } }",
        &[],
        "`n`: a number was expected",
    );
    check("require('no_such_module')", &[], "no_such_module");
    check("", &[("db-ps-mode", "some")], "--db-ps-mode: auto or disable was expected");
    check("os.exit()", &[], "t.lua:1: os.exit(0) was called");
}

#[test]
fn a_missing_event_is_named_before_a_run() {
    let why = script("x = 1", &[]).unwrap().runs_on(Dialect::MySql).unwrap_err();
    assert_eq!(why, "cannot find the event() function in t.lua");
}

#[test]
fn options_are_the_scripts_and_sysbenchs() {
    let text = "sysbench.cmdline.options = { n = { 'a number', 3 }, l = { 'a list', { 'a', 'b' } }, u = { 'a text' } }
         function event()
            local opt = sysbench.opt
            assert(opt.n == 4.5 and opt.l[2] == 'b' and opt.u == '' and opt.mysql_user == 'me' and opt.time == 10)
            assert(sysbench.cmdline.command == 'run' and sysbench.cmdline.script_path == 't.lua')
         end";
    assert_eq!(ran(text, &[("n", "4.5"), ("mysql-user", "me")], Dialect::MySql, 1, 2).unwrap().committed, 2);
    let kinds = "local c = sysbench.cmdline
         c.options = { i = { 'int', 3, c.ARG_INT, function() return true end }, s = { 'size', '2K', c.ARG_SIZE }, f = { 'file', nil, c.ARG_FILE } }
         function event() local o = sysbench.opt; assert(o.i == 7 and o.s == 2048 and o.f == '', o.s) end";
    assert_eq!(ran(kinds, &[("i", "7")], Dialect::MySql, 1, 2).unwrap().committed, 2);
    let legacy = "function event() assert(oltp_table_size == '7' and thread_id == sysbench.tid) end";
    assert_eq!(ran(legacy, &[("oltp-table-size", "7")], Dialect::MySql, 1, 2).unwrap().committed, 2);
}

#[test]
fn commands_run_once_or_in_every_client() {
    let text = "local function work() local con = sysbench.sql.driver():connect()
            con:bulk_insert_init('INSERT INTO t VALUES'); con:bulk_insert_next('(1)'); con:bulk_insert_done()
            assert(sysbench.opt.threads == (sysbench.cmdline.command == 'fill' and 3 or 1))
         end
         function prepare() work() end
         function cleanup() return false end
         sysbench.cmdline.commands = { fill = { work, sysbench.cmdline.PARALLEL_COMMAND }, broken = { function() error('x') end } }
         function event() end";
    let script = script(text, &[]).unwrap();
    let nothing = nothing(Dialect::MySql);
    let interrupted = AtomicBool::new(false);
    let run =
        |command: &str| Commands::run(&script, command, &nothing.target, 3, 1, &interrupted).map_err(|e| e.to_string());
    assert_eq!((run("prepare"), run("fill")), (Ok(()), Ok(())));
    assert_eq!(run("cleanup"), Err("`cleanup' command failed: it returned false".to_owned()));
    assert_eq!(run("broken"), Err("`broken' command failed: t.lua:7: x".to_owned()));
    assert_eq!(run("other"), Err("Unknown command: other".to_owned()));
    assert!(script.refuses("fill").is_none() && script.refuses("event").is_some());
}

#[test]
fn random_numbers_are_the_same_for_any_number_of_clients_and_workers() {
    let text = "function event()
            local one, two = sysbench.rand.uniform(1, 1000000), sysbench.rand.default(1, 1000000)
            assert(one >= 1 and one <= 1000000 and two >= 1 and two <= 1000000)
            local wide = sysbench.rand.uniform_uint64()
            assert(type(wide) == 'cdata' and sysbench.rand.uniform_double() < 1)
            assert(sysbench.rand.unique() ~= sysbench.rand.unique())
            assert(sb_rand(1, 1) == 1 and sb_rand_str('##'):match('^%d%d$'))
            ffi.cdef('int getpid(void);')
            assert(ffi.C.getpid() > 0)
         end";
    assert_eq!(ran(text, &[], Dialect::MySql, 2, 20).unwrap().committed, 20);
}

#[test]
fn tables_of_other_options_are_other_data() {
    let text = "sysbench.cmdline.options = { n = { 'rows', 3 } } function event() end";
    let key = |given: &[(&str, &str)]| script(text, given).unwrap().spec().data_key;
    assert_eq!(key(&[]), key(&[("time", "7")]));
    assert_ne!(key(&[]), key(&[("n", "4")]));
    let other: BTreeMap<String, OptionValue> = BTreeMap::new();
    assert_ne!(key(&[]), LuaScript::new(source(&format!("{text} --")), &other).unwrap().spec().data_key);
}

#[test]
fn the_interval_ends_when_all_clients_have_left() {
    let workload: Arc<dyn Workload> = Arc::new(script("function event() return true end", &[]).unwrap());
    let nothing = nothing(Dialect::MySql);
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(&workload, &nothing.target, LoadOptions::default(), &interrupted).unwrap();
    let tally = load.measure(Some(Duration::from_secs(60)), &mut |_| {}, &mut || {}).whole().unwrap();
    assert_eq!(tally.committed, 0);
    assert!(tally.interval_ns < 30_000_000_000, "{} ns", tally.interval_ns);
}

#[test]
fn statements_suspend_their_client() {
    let event = with_connection(
        "function event()
            assert(coroutine.isyieldable())
            assert(select(2, pcall(coroutine.isyieldable)))
            con:query('select 1')
         end",
    );
    assert_eq!(ran(&event, &[], Dialect::Postgres, 4, 12).unwrap().reads, 12);
}

/// What is left of a run whose script does not end.
fn endless(text: &str, clients: u32) -> load::Measured {
    let workload: Arc<dyn Workload> = Arc::new(script(text, &[]).unwrap());
    let nothing = nothing(Dialect::MySql);
    let interrupted = AtomicBool::new(false);
    let drain_max = Duration::from_millis(100);
    let options = LoadOptions { clients, drain_max, ..LoadOptions::default() };
    let load = Load::prepare(&workload, &nothing.target, options, &interrupted).unwrap();
    load.measure(Some(Duration::from_millis(200)), &mut |_| {}, &mut || {})
}

#[test]
fn a_script_that_loops_is_stopped_and_leaves_a_record() {
    let counted = "local n = 0; function event() n = n + 1; while n > 5 do end end";
    let caught =
        "local n = 0; function event() n = n + 1; while n > 5 do pcall(function() local x = n * 2 end) end end";
    for (text, clients) in [(counted, 1), (counted, 2), (caught, 2)] {
        let measured = endless(text, clients);
        assert!(matches!(measured.failure, Some(Failure::Drain { .. })), "{text}: {:?}", measured.failure);
        assert!((5..=10).contains(&measured.tally.committed), "{text}: what was before the loop is kept");
    }
}

#[test]
fn a_script_that_takes_all_memory_meets_luas_own_error() {
    let text = "function event() local x = string.rep('x', 2 ^ 30) end";
    let failure = ran(text, &[], Dialect::MySql, 1, 5).unwrap_err().to_string();
    assert!(failure.contains("not enough memory"), "{failure}");
}
