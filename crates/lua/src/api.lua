-- sysbench's API as scripts see it. `host` is what dbduel does for it; nothing else is passed in.
--
-- A statement of an event is asked for by a yield, so that the worker serves other clients meanwhile. Where a yield is
-- not possible (before and behind the events, in a coroutine of the script, under table.sort or string.gsub) the host
-- waits instead.
local host = ...

local QUERY, EXECUTE, ENDED, RESTARTED, FAILED = 1, 2, 3, 4, 5
local OTHER, READ, WRITE, IGNORED_ERROR, RECONNECT = 0, 1, 2, 4, 5
local ROWS, NO_ROWS = 1, 2
local BULK_BYTES_MAX = 512 * 1024
local RESTART_EVENT = 1

local yield, running, is_yieldable = coroutine.yield, coroutine.running, coroutine.isyieldable
local format, floor, ceil, setmetatable, error, pcall, unpack = string.format, math.floor, math.ceil, setmetatable, error, pcall, unpack
local wait, prepare_statement, rand_string = host.wait, host.prepare, host.rand_string

ffi = require("ffi")

sysbench = {
   version = "1.0.20",
   version_string = "sysbench 1.0.20",
   tid = host.tid,
   hooks = {},
   opt = {},
   error = { NONE = 0, RESTART_EVENT = RESTART_EVENT },
   cmdline = {
      command = host.command,
      script_path = host.script_path,
      argv = host.argv,
      PARALLEL_COMMAND = true,
      ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
      ARG_FILE = 7, ARG_MAX = 8,
   },
   sql = {
      type = {
         NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8,
         DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
      },
      error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
   },
   rand = {
      default = host.rand_default,
      uniform = host.rand_uniform,
      gaussian = host.rand_gaussian,
      special = host.rand_special,
      pareto = host.rand_pareto,
      zipfian = host.rand_zipfian,
      unique = host.rand_unique,
      string = rand_string,
      uniform_double = host.rand_double,
   },
}
local hooks = sysbench.hooks
local types = sysbench.sql.type
thread_id = host.tid

function sysbench.rand.uniform_uint64()
   local high, low = host.rand_halves()
   return high * 4294967296ULL + low
end

-- What is known and not built is refused when it is used.
local function refused(name)
   return function() error(name .. " is not built in dbduel yet", 2) end
end

for _, name in ipairs({ "db_bind_result", "db_store_results" }) do _G[name] = refused(name) end

-- Collects memory between events, where its time can be taken. What an event needs beyond four times as much as was
-- held before it, Lua collects by itself.
local collectgarbage, max = collectgarbage, math.max
local due_kb, left_kb = 0, 0
local function collect()
   local held_kb = collectgarbage("count")
   if held_kb < due_kb then return end
   local began_ns = host.now_ns()
   -- A step does twice the work of its size.
   local is_over = collectgarbage("step", ceil(max(held_kb - left_kb, 16)))
   left_kb = collectgarbage("count")
   due_kb = is_over and 2 * left_kb or left_kb
   collectgarbage("setpause", 400)
   -- With -1 from here on, as the pause has it.
   collectgarbage("restart", -1)
   host.spent(host.now_ns() - began_ns, 0)
end

-- The coroutine of the events, and whether a thread_run of the script's own runs in it.
local driven, own_run

-- Results ------------------------------------------------------------------------------------------------------------

local Result = {}
function Result.__index(result, key)
   if key == "nfields" then
      if result.nrows == 0 then error("nfields of a result without rows is not built in dbduel yet", 2) end
      return result.rows:width()
   end
   return Result[key]
end

function Result:fetch_row()
   return self.rows:fetch_row()
end

function Result:free() end

-- The outcome of a statement: a result, nothing, or an error. `level` is where the script called.
local function taken(connection, sql, outcome, first, second, third, restarts)
   if outcome == NO_ROWS then return nil end
   if outcome == ROWS then return setmetatable({ nrows = first, rows = second }, Result) end
   connection.sql_errno, connection.sql_state, connection.sql_errmsg = first, second, third
   local event = {
      errcode = RESTART_EVENT, connection = connection, query = sql,
      sql_errno = first, sql_state = second, sql_errmsg = third, restarts = restarts,
   }
   local ignorable = hooks.sql_error_ignorable
   if restarts or (type(ignorable) == "function" and ignorable(event)) then
      if own_run then host.count(IGNORED_ERROR) end
      error(event, 0)
   end
   error(format("SQL error, errno = %d, state = '%s': %s", first, second, third), 2)
end

local function ask(request, ...)
   if running() == driven and is_yieldable() then return yield(request, ...) end
   return wait(request, ...)
end

-- Parameters and statements ------------------------------------------------------------------------------------------

local Param = {}
Param.__index = Param

local is_whole = { [types.TINYINT] = true, [types.SMALLINT] = true, [types.INT] = true, [types.BIGINT] = true }
local is_text = { [types.CHAR] = true, [types.VARCHAR] = true }
local is_real = { [types.FLOAT] = true, [types.DOUBLE] = true }

function Param:set(value)
   if value == nil then
      self.value = nil
   elseif self.text then
      value = tostring(value)
      if #value > self.max then value = value:sub(1, self.max) end
      self.value = value
   else
      value = tonumber(value)
      if value == nil then error("a number was expected for this parameter", 2) end
      if self.whole then value = value >= 0 and floor(value) or ceil(value) end
      self.value = value
   end
end

function Param:set_rand_str(pattern)
   if not self.text then error("set_rand_str: the parameter is no text", 2) end
   local value = rand_string(pattern)
   if #value > self.max then value = value:sub(1, self.max) end
   self.value = value
end

local Statement = {}
Statement.__index = Statement

function Statement:bind_create(kind, max)
   if is_text[kind] then
      if type(max) ~= "number" then error("bind_create: a text needs its greatest length", 2) end
      return setmetatable({ text = true, max = max, value = "" }, Param)
   end
   if not (is_whole[kind] or is_real[kind]) then error("Unsupported argument type: " .. tostring(kind), 2) end
   if is_real[kind] then
      local at = debug.getinfo(2, "Sl")
      host.real_parameter(at.short_src .. ":" .. at.currentline)
   end
   return setmetatable({ whole = is_whole[kind], value = 0 }, Param)
end

function Statement:bind_param(...)
   self.params, self.count = { ... }, select("#", ...)
end

Statement.bind_result = refused("bind_result")
Statement.store_results = refused("store_results")

function Statement:execute()
   local count, params, connection, id = self.count, self.params, self.connection, self.id
   if id == nil then error("the statement is closed", 2) end
   if count == 0 then
      return taken(connection, "<prepared statement>", ask(EXECUTE, connection.id, id))
   elseif count == 1 then
      return taken(connection, "<prepared statement>", ask(EXECUTE, connection.id, id, params[1].value))
   elseif count == 2 then
      return taken(connection, "<prepared statement>", ask(EXECUTE, connection.id, id, params[1].value, params[2].value))
   end
   local values = self.values
   for at = 1, count do values[at] = params[at].value end
   return taken(connection, "<prepared statement>", ask(EXECUTE, connection.id, id, unpack(values, 1, count)))
end

function Statement:close()
   if self.id ~= nil then
      host.close(self.connection.id, self.id)
      self.id = nil
   end
end

-- Connections --------------------------------------------------------------------------------------------------------

local Connection = {}
Connection.__index = Connection

function Connection:query(sql)
   return taken(self, sql, ask(QUERY, self.id, sql))
end

function Connection:query_row(sql)
   local result = taken(self, sql, ask(QUERY, self.id, sql))
   if result == nil then return end
   local row = result.rows:fetch_row()
   if row == nil then return end
   return unpack(row, 1, result.rows:width())
end

function Connection:prepare(sql)
   local id, errno, state, message = prepare_statement(self.id, sql)
   if id == nil then return taken(self, sql, nil, errno, state, message, false) end
   return setmetatable({ connection = self, id = id, count = 0, values = {} }, Statement)
end

local function send_bulk(connection)
   local bulk = connection.bulk
   if #bulk.rows == 0 then return end
   local sql = bulk.begins .. table.concat(bulk.rows, ",")
   bulk.rows, bulk.bytes = {}, #bulk.begins
   taken(connection, sql, ask(QUERY, connection.id, sql))
end

function Connection:bulk_insert_init(sql)
   self.bulk = { begins = sql, rows = {}, bytes = #sql }
end

-- A statement is as long as 512 KiB allow, with the byte behind its end.
function Connection:bulk_insert_next(row)
   local bulk = self.bulk
   if bulk == nil then error("bulk_insert_next without bulk_insert_init", 2) end
   if bulk.bytes + #row + 2 > BULK_BYTES_MAX then send_bulk(self) end
   bulk.rows[#bulk.rows + 1] = row
   bulk.bytes = bulk.bytes + #row + 1
end

function Connection:bulk_insert_done()
   if self.bulk == nil then error("bulk_insert_done without bulk_insert_init", 2) end
   send_bulk(self)
   self.bulk = nil
end

function Connection:disconnect()
   host.disconnect(self.id)
end

function Connection:reconnect()
   local errno, state, message = host.reconnect(self.id)
   if errno ~= nil then taken(self, "reconnect", nil, errno, state, message, false) end
end

local Driver = {}
Driver.__index = Driver

function Driver:connect()
   local id, errno, state, message = host.connect()
   local connection = setmetatable({ id = id, sql_errno = 0, sql_state = "", sql_errmsg = "" }, Connection)
   if id == nil then taken(connection, "connect", nil, errno, state, message, false) end
   return connection
end

function Driver:name()
   return host.driver_name
end

function sysbench.sql.driver(name)
   if name ~= nil and name ~= host.driver_name then
      error(format("the script asks for the driver `%s`, and the target is %s", tostring(name), host.driver_name), 2)
   end
   return setmetatable({}, Driver)
end

-- Names of sysbench 0.5 ----------------------------------------------------------------------------------------------

sb_rand, sb_rnd, sb_rand_str, sb_rand_uniq = host.rand_default, host.rand_default, rand_string, host.rand_unique
sb_rand_uniform, sb_rand_gaussian, sb_rand_special = host.rand_uniform, host.rand_gaussian, host.rand_special
DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2

local legacy
function db_connect() legacy = sysbench.sql.driver():connect() end
function db_disconnect() legacy:disconnect() end
function db_query(sql) return legacy:query(sql) end
function db_bulk_insert_init(sql) legacy:bulk_insert_init(sql) end
function db_bulk_insert_next(row) legacy:bulk_insert_next(row) end
function db_bulk_insert_done() legacy:bulk_insert_done() end
function db_prepare(sql) return legacy:prepare(sql) end
function db_execute(statement) return statement:execute() end

-- Values are read from the script's own table whenever the statement is executed; numbers go as whole ones.
function db_bind_param(statement, values)
   local params = {}
   for at = 1, #values do
      params[at] = setmetatable({}, {
         __index = function()
            local value = values[at]
            return type(value) == "number" and (value >= 0 and floor(value) or ceil(value)) or value
         end,
      })
   end
   statement:bind_param(unpack(params, 1, #values))
end
function db_close(statement) statement:close() end
function db_free_results(result) if result ~= nil then result:free() end end

-- Functions by ffi.C -------------------------------------------------------------------------------------------------

-- Types that scripts use in declarations of their own.
ffi.cdef([[
typedef enum {
   SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX
} sb_counter_type;
typedef enum { DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_FATAL } sql_error_t;
typedef enum {
   SQL_TYPE_NONE, SQL_TYPE_TINYINT, SQL_TYPE_SMALLINT, SQL_TYPE_INT, SQL_TYPE_BIGINT, SQL_TYPE_FLOAT, SQL_TYPE_DOUBLE,
   SQL_TYPE_TIME, SQL_TYPE_DATE, SQL_TYPE_DATETIME, SQL_TYPE_TIMESTAMP, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR
} sql_bind_type_t;
typedef struct dbduel_driver sql_driver;
typedef struct dbduel_connection sql_connection;
typedef struct dbduel_statement sql_statement;
typedef struct dbduel_result sql_result;
typedef struct { uint32_t len; const char *ptr; } sql_value;
typedef struct { void *ptr; sql_value *values; } sql_row;
typedef struct {
   sql_bind_type_t type; void *buffer; unsigned long *data_len; unsigned long max_len; char *is_null;
} sql_bind;
typedef struct histogram sb_histogram_t;
]])

-- What stands behind names of sysbench's own: functions over the same objects that the rest of this file has.
local answered = {}

for _, shape in ipairs({ "default", "uniform", "gaussian", "special", "pareto", "unique", "uniform_uint64", "uniform_double" }) do
   answered["sb_rand_" .. shape] = sysbench.rand[shape]
end

local function as_text(text, length)
   if type(text) == "string" then return length and text:sub(1, tonumber(length)) or text end
   return ffi.string(text, length)
end

function answered.sb_rand_str(pattern, buffer)
   local drawn = rand_string(as_text(pattern))
   ffi.copy(buffer, drawn, #drawn)
end

function answered.sb_counter_inc(_, counter)
   host.count(tonumber(counter))
end

-- A thread_run of the script's own: an event begins when its client is resumed.
local may_go_on, has_stopped = true, false

function answered.sb_more_events()
   if running() ~= driven then error("sb_more_events belongs into thread_run", 2) end
   if has_stopped then
      has_stopped = false
      collect()
      may_go_on = yield(ENDED, false) ~= false
   end
   return may_go_on
end

function answered.sb_event_start() end

function answered.sb_event_stop()
   has_stopped = true
end

function answered.db_create(name) return sysbench.sql.driver(name and as_text(name)) end
function answered.db_destroy() return 0 end
function answered.db_connection_create(driver) return driver:connect() end
function answered.db_connection_close(connection) connection:disconnect() return 0 end
answered.db_connection_free = answered.db_connection_close
function answered.db_connection_reconnect(connection) connection:reconnect() return 0 end
function answered.db_query(connection, sql, length) return (connection:query(as_text(sql, length))) end
function answered.db_prepare(connection, sql, length) return (connection:prepare(as_text(sql, length))) end
function answered.db_execute(statement) return statement:execute() end
function answered.db_close(statement) statement:close() return 0 end
function answered.db_free_results() return 0 end
function answered.db_bulk_insert_init(connection, sql, length) connection:bulk_insert_init(as_text(sql, length)) return 0 end
function answered.db_bulk_insert_next(connection, row, length) connection:bulk_insert_next(as_text(row, length)) return 0 end
function answered.db_bulk_insert_done(connection) connection:bulk_insert_done() return 0 end
answered.db_bind_result = refused("db_bind_result")
answered.db_store_results = refused("db_store_results")

function answered.db_fetch_row(result)
   local row = result:fetch_row()
   if row == nil then return nil end
   local values = {}
   for at = 1, result.nfields do values[at - 1] = { ptr = row[at], len = row[at] and #row[at] or 0 } end
   return { values = values }
end

local readers = {
   [types.BIGINT] = function(bind) return tonumber(ffi.cast("int64_t *", bind.buffer)[0]) end,
   [types.INT] = function(bind) return ffi.cast("int32_t *", bind.buffer)[0] end,
   [types.DOUBLE] = function(bind) return ffi.cast("double *", bind.buffer)[0] end,
   [types.FLOAT] = function(bind) return ffi.cast("float *", bind.buffer)[0] end,
   [types.VARCHAR] = function(bind) return ffi.string(bind.buffer, bind.data_len[0]) end,
}
readers[types.CHAR] = readers[types.VARCHAR]

-- Buffers are the script's, and are read whenever the statement is executed.
function answered.db_bind_param(statement, binds, count)
   local params = {}
   for at = 1, tonumber(count) do
      local bind = binds[at - 1]
      local read = readers[tonumber(bind.type)]
      if read == nil then error("Unsupported argument type: " .. tonumber(bind.type), 2) end
      local function value()
         if bind.is_null ~= nil and bind.is_null[0] ~= 0 then return nil end
         return read(bind)
      end
      params[at] = setmetatable({ binds = binds }, { __index = value })
   end
   statement:bind_param(unpack(params, 1, #params))
   return 0
end

-- Calls that hold up the worker, and every client on it, while no database works.
local function blocking(run)
   local function ended(began_ns, ...)
      host.spent(0, host.now_ns() - began_ns)
      return ...
   end
   return function(...)
      if driven == nil then return run(...) end
      return ended(host.now_ns(), run(...))
   end
end

local is_blocking = { usleep = true, sleep = true, nanosleep = true, poll = true, select = true, system = true }
os.execute, io.popen, io.open, io.read = blocking(os.execute), blocking(io.popen), blocking(io.open), blocking(io.read)
local files = getmetatable(io.stdout).__index
files.read, files.write, files.flush = blocking(files.read), blocking(files.write), blocking(files.flush)

local load_library = ffi.load
function ffi.load(name, ...)
   host.library(tostring(name))
   return load_library(name, ...)
end

local real = ffi.C
local function of_libraries(name) return real[name] end

local function resolve(functions, name)
   local found = answered[name]
   if found == nil then
      local there
      there, found = pcall(of_libraries, name)
      if not there then error((found:gsub("^sysbench:%d+: ", ""):gsub("^.*(undefined symbol)", "%1")), 2) end
      -- Constants and variables are looked up each time.
      if type(found) ~= "cdata" or not tostring(ffi.typeof(found)):find("%(") then return found end
      if is_blocking[name] then found = blocking(found) end
   end
   rawset(functions, name, found)
   return found
end

ffi.C = setmetatable({}, {
   __index = resolve,
   __newindex = function(_, name, value) real[name] = value end,
})

-- Histograms ---------------------------------------------------------------------------------------------------------

local Histogram = {}
Histogram.__index = Histogram

-- `size` buckets over a logarithmic scale; what is outside goes to the outermost ones.
local function new_histogram(size, least, most)
   local scale = (size - 1) / (math.log(most) - math.log(least))
   return setmetatable({ size = size, begins = math.log(least), scale = scale, counts = {} }, Histogram)
end

function Histogram:update(value)
   local place = floor((math.log(value) - self.begins) * self.scale + 0.5)
   place = math.max(0, math.min(self.size - 1, place))
   self.counts[place] = (self.counts[place] or 0) + 1
end

function Histogram:print()
   local most = 0
   for _, count in pairs(self.counts) do most = math.max(most, count) end
   host.print("       value  ------------- distribution ------------- count\n")
   for place = 0, self.size - 1 do
      local count = self.counts[place]
      if count ~= nil then
         local stars = ("*"):rep(floor(count / most * 40 + 0.5))
         host.print(format("%12.3f |%-40s %u\n", math.exp(place / self.scale + self.begins), stars, count))
      end
   end
end

sysbench.histogram = { new = new_histogram }
answered.sb_histogram_new = new_histogram
answered.sb_histogram_update = Histogram.update
answered.sb_histogram_print = Histogram.print
function answered.sb_histogram_delete() end

-- Reports ------------------------------------------------------------------------------------------------------------

-- Figures of an interval by the second, in the order in which all layouts have them.
local function rates(figures)
   local length = figures.time_interval
   local function rate(count) return count / length end
   return rate(figures.events), rate(figures.reads + figures.writes + figures.other), rate(figures.reads),
      rate(figures.writes), rate(figures.other), figures.latency_pct * 1000, rate(figures.errors),
      rate(figures.reconnects)
end

function sysbench.report_default(figures)
   local tps, qps, reads, writes, other, latency, errors, reconnects = rates(figures)
   host.print(format(
      "[ %.0fs ] thds: %u tps: %.2f qps: %.2f (r/w/o: %.2f/%.2f/%.2f) lat (ms,%u%%): %.2f err/s %.2f reconn/s: %.2f\n",
      figures.time_total, figures.threads_running, tps, qps, reads, writes, other, sysbench.opt.percentile, latency,
      errors, reconnects
   ))
end

function sysbench.report_csv(figures)
   local place = "%.0f,%u" .. (",%.2f"):rep(8) .. "\n"
   host.print(format(place, figures.time_total, figures.threads_running, rates(figures)))
end

local JSON = [[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %.2f,
    "qps": {
      "total": %.2f,
      "reads": %.2f,
      "writes": %.2f,
      "other": %.2f
    },
    "latency": %.2f,
    "errors": %.2f,
    "reconnects": %.2f
  }]]

local is_list_open = false

function sysbench.report_json(figures)
   host.print(is_list_open and ",\n" or "[\n")
   is_list_open = true
   host.print(format(JSON, figures.time_total, figures.threads_running, rates(figures)))
end

-- Behind the last interval.
function host.end_reports()
   if is_list_open then host.print("\n]\n") end
   is_list_open = false
end

-- What scripts print and load ----------------------------------------------------------------------------------------

function print(...)
   local words = { ... }
   for at = 1, select("#", ...) do words[at] = tostring(words[at]) end
   host.print(table.concat(words, "\t") .. "\n")
end

-- In order with everything else that is printed.
local write = io.write
function io.write(...)
   if io.output() ~= io.stdout then return write(...) end
   for at = 1, select("#", ...) do host.print(tostring((select(at, ...)))) end
   return io.stdout
end

-- A result keeps its rows only where some part of the script reads them, so the host has to know every part.
local function noted(text)
   host.loaded(text)
   return text
end

local function read_whole(path)
   local file, why = io.open(path, "rb")
   if file == nil then return nil, why end
   local text = file:read("*a")
   file:close()
   return noted(text)
end

function loadfile(path)
   local text, why = read_whole(path)
   if text == nil then return nil, "cannot open " .. why end
   return loadstring(text:gsub("^#[^\n]*", ""), "@" .. path)
end

function dofile(path)
   local chunk, why = loadfile(path)
   if chunk == nil then error(why, 2) end
   return chunk()
end

package.loaders[2] = function(name)
   local path, why = package.searchpath(name, package.path)
   if path == nil then return why end
   local chunk, wrong = loadfile(path)
   if chunk == nil then error(wrong, 0) end
   return chunk
end

local load_text = loadstring
function loadstring(text, ...) return load_text(type(text) == "string" and noted(text) or text, ...) end

-- A program that ends itself would end every client, and the report with them.
function os.exit(status)
   error("os.exit(" .. tostring(status or 0) .. ") was called: a script cannot end dbduel", 2)
end

-- What the host calls ------------------------------------------------------------------------------------------------

local function message_of(wrong)
   if type(wrong) == "table" and wrong.sql_errmsg ~= nil then
      return format("SQL error, errno = %d, state = '%s': %s", wrong.sql_errno, wrong.sql_state, wrong.sql_errmsg)
   end
   return tostring(wrong)
end

-- Runs a function of the script; true and what it returns, or false and why not.
function host.call(run, ...)
   local ok, result = pcall(run, ...)
   if ok then return true, result end
   return false, message_of(result)
end

-- The script's own check of a value that is given to one of its options.
function host.check(check, name, value)
   return check(ffi.cast("const char *", name), ffi.cast("const char *", value)) and true or false
end

-- A loop of the script's own; behind it the client leaves.
local function drive_own(id)
   local ok, why = pcall(thread_run, id)
   if not ok then yield(FAILED, message_of(why)) end
   if has_stopped then yield(ENDED, false) end
   while true do yield(ENDED, true) end
end

-- Runs events for ever, as a coroutine.
function host.drive(id)
   driven = running()
   own_run = type(thread_run) == "function"
   if own_run then drive_own(id) end
   while true do
      local ok, result = pcall(event, id)
      if ok then
         collect()
         yield(ENDED, result == true)
      elseif type(result) == "table" and result.errcode == RESTART_EVENT then
         yield(RESTARTED, not result.restarts)
         local hook = hooks.before_restart_event
         if type(hook) == "function" then
            local called, why = pcall(hook, result)
            if not called then yield(FAILED, message_of(why)) end
         end
      else
         yield(FAILED, message_of(result))
      end
   end
end
