-- sysbench's API as scripts see it. `host` is what dbduel does for it; nothing else is passed in.
--
-- A statement of an event is asked for by a yield, so that the worker serves other clients meanwhile. Where a yield is
-- not possible (before and behind the events, in a coroutine of the script, under table.sort or string.gsub) the host
-- waits instead.
local host = ...

local QUERY, EXECUTE, ENDED, RESTARTED, FAILED = 1, 2, 3, 4, 5
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

sysbench.report_default = refused("sysbench.report_default")
sysbench.report_csv = refused("sysbench.report_csv")
sysbench.report_json = refused("sysbench.report_json")
sysbench.histogram = { new = refused("sysbench.histogram") }
for _, name in ipairs({ "db_bind_param", "db_bind_result", "db_store_results" }) do _G[name] = refused(name) end

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
   if restarts then error(event, 0) end
   local ignorable = hooks.sql_error_ignorable
   if type(ignorable) == "function" and ignorable(event) then error(event, 0) end
   error(format("SQL error, errno = %d, state = '%s': %s", first, second, third), 2)
end

local driven

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
   return setmetatable({ whole = is_whole[kind], value = 0 }, Param)
end

function Statement:bind_param(...)
   self.params, self.count = { ... }, select("#", ...)
end

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
function db_close(statement) statement:close() end
function db_free_results(result) if result ~= nil then result:free() end end

-- What scripts print and load ----------------------------------------------------------------------------------------

function print(...)
   local words = { ... }
   for at = 1, select("#", ...) do words[at] = tostring(words[at]) end
   host.print(table.concat(words, "\t") .. "\n")
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

-- Runs events for ever, as a coroutine.
function host.drive(id)
   driven = running()
   while true do
      local ok, result = pcall(event, id)
      if ok then
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
