#!/usr/bin/env node
// Starts the program of this platform's package, and ends as it ends.
const { spawn } = require("node:child_process");

const name = `dbduel-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/dbduel`);
} catch {
  console.error(`error: the package ${name} is not installed; dbduel runs on Linux, on x86-64 and arm64`);
  process.exit(4);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// What a terminal sends, the program gets by itself; what was sent to this process alone is handed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => { console.error(`error: cannot start ${program}: ${error.message}`); process.exit(4); });
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
