"use strict";
// Draws a run from its events. Every text is put in as text, never as markup.

const place = document.getElementById("live");
// An interval ends at so many times the ratios.
const REACH = 2;
const WIDTH = 560, HEIGHT = 220, LEFT = 62, RIGHT = 12, TOP = 12, BOTTOM = 42;
let seen, drawn;

function empty() {
  seen = { plan: null, trials: [], intervals: [], begun: null };
}

function element(name, attributes = {}, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function figures(value) {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

// Steps of 1, 2 or 5 between two values, of at least so much.
function ticks(low, high, most = 5, least = 0) {
  const rough = Math.max((high - low) / most || 1, least), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

// Ratios: round ones where they span much, equal steps where they do not.
function ratioTicks(low, high) {
  if (high / low < 4) return ticks(low, high);
  const all = [-3, -2, -1, 0, 1, 2, 3].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  return all.filter((value) => value >= low && value <= high);
}

function frame(label, xTitle, [x0, x1], [y0, y1], { ratio = false, whole = false } = {}) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const x = (value) => LEFT + (value - x0) / (x1 - x0 || 1) * (WIDTH - LEFT - RIGHT);
  const on = ratio ? Math.log : Number;
  const y = (value) => {
    const held = Math.min(Math.max(value, y0), y1);
    return HEIGHT - BOTTOM - (on(held) - on(y0)) / (on(y1) - on(y0) || 1) * (HEIGHT - TOP - BOTTOM);
  };
  for (const value of ratio ? ratioTicks(y0, y1) : ticks(y0, y1)) {
    svg.append(shape("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(shape("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, figures(value)));
  }
  for (const value of ticks(x0, x1, 6, whole ? 1 : 0)) {
    svg.append(shape("text", { x: x(value), y: HEIGHT - 24, "text-anchor": "middle" }, figures(value)));
  }
  svg.append(shape("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, xTitle));
  return { svg, x, y };
}

function figure(title, alt, chart, keys) {
  const made = element("figure");
  made.append(element("p", { class: "title" }, title), chart);
  const list = element("ul", { class: "keys" });
  for (const [name, color, level = 0] of keys) list.append(element("li", { class: `key k${color % 6} level${level % 4}` }, name));
  made.append(list, element("figcaption", {}, alt));
  return made;
}

const minutes = (time) => (Date.parse(time) - seen.begun) / 60000;

// Curves of a figure of every trial of a workload, by contender, over the time of the run.
function curve(workload, title, points) {
  const trials = seen.trials.filter((trial) => trial.workload === workload && trial.ok && !trial.probe);
  // A line for each contender at each load level.
  const levels = [...new Set(trials.map((trial) => trial.point))];
  const lines = seen.plan.contenders.flatMap((name, color) => levels.map((level) => {
    const ours = trials.filter((trial) => trial.contender === name && trial.point === level);
    const at = levels.indexOf(level);
    return { name: levels.length > 1 ? `${name} at ${level}` : name, color, level: at, parts: ours.map(points) };
  }));
  const all = lines.flatMap((line) => line.parts.flat());
  if (!all.length) return null;
  const x1 = Math.max(...all.map((one) => one[0]), 0.1), y1 = Math.max(...all.map((one) => one[1])) * 1.05;
  const { svg, x, y } = frame(title, "minutes", [0, x1], [0, y1]);
  for (const { color, level, parts } of lines) {
    const kind = `k${color % 6} level${level % 4}`;
    const drawn = parts.filter((part) => part.length);
    const middles = drawn.map((part) => part.reduce(([a, b], [c, d]) => [a + c / part.length, b + d / part.length], [0, 0]));
    svg.append(shape("polyline", { class: `through ${kind}`, points: middles.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
    for (const part of drawn) {
      if (part.length > 1) svg.append(shape("polyline", { class: `curve ${kind}`, points: part.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
      else svg.append(shape("circle", { class: `dot ${kind}`, cx: x(part[0][0]), cy: y(part[0][1]), r: 3.5 }));
    }
  }
  const last = lines.filter((line) => line.parts.flat().length).map((line) => `${line.name} ${figures(line.parts.flat().at(-1)[1])}`);
  return figure(title, `Last: ${last.join("; ")}`, svg, lines.filter((line) => line.parts.flat().length).map((line) => [line.name, line.color, line.level]));
}

// The interval of every candidate, block by block.
function narrowing(workload) {
  const all = seen.intervals.filter((one) => one.workload === workload && one.ratio !== null);
  if (!all.length) return null;
  const blocks = Math.max(...all.map((one) => one.block));
  // The first intervals reach far, and the last ones are what counts: earlier ones are cut, and so is what is far from all ratios.
  const ratios = all.map((one) => one.ratio).concat(1), least = Math.min(...ratios), most = Math.max(...ratios);
  const last = all.filter((one) => one.block === blocks);
  const low = Math.max(Math.min(least, ...last.map((one) => one.low ?? one.ratio)), least / REACH);
  const high = Math.min(Math.max(most, ...last.map((one) => one.high ?? one.ratio)), most * REACH);
  const room = Math.max((high / low) ** 0.08, 1.01);
  const scales = { ratio: true, whole: true };
  const { svg, x, y } = frame("Ratio and its interval, block by block", "blocks", [0, blocks + 1], [low / room, high * room], scales);
  svg.append(shape("line", { class: "one", x1: LEFT, x2: WIDTH - RIGHT, y1: y(1), y2: y(1) }));
  const candidates = seen.plan.contenders.map((name, color) => [name, color]).filter(([name]) => all.some((one) => one.candidate === name));
  candidates.forEach(([name, color], place) => {
    const aside = (place - (candidates.length - 1) / 2) * 7;
    for (const one of all.filter((one) => one.candidate === name)) {
      const at = x(one.block) + aside;
      if (one.low !== null && one.high !== null) svg.append(shape("line", { class: `spread k${color % 6}`, x1: at, x2: at, y1: y(one.low), y2: y(one.high) }));
      svg.append(shape("circle", { class: `dot k${color % 6}`, cx: at, cy: y(one.ratio), r: 3 }));
    }
  });
  const words = candidates.map(([name]) => {
    const one = all.findLast((one) => one.candidate === name);
    const bounds = one.low !== null && one.high !== null ? ` (${figures(one.low)} to ${figures(one.high)})` : " (no interval yet)";
    return `${name}: ${figures(one.ratio)} times ${one.baseline}${bounds}, ${one.verdict} after block ${one.block}`;
  });
  return figure("Ratio and its interval, block by block", words.join("; "), svg, candidates);
}

function middle(trial) {
  return (minutes(trial.started_at) + minutes(trial.finished_at)) / 2;
}

function bySecond(trial) {
  if (!trial.seconds.length) return trial.tps === null ? [] : [[middle(trial), trial.tps]];
  const from = minutes(trial.started_at), step = (minutes(trial.finished_at) - from) / trial.seconds.length;
  return trial.seconds.map((tps, at) => [from + (at + 0.5) * step, tps]);
}

const single = (key) => (trial) => (trial[key] === null ? [] : [[middle(trial), trial[key]]]);

function draw() {
  drawn = null;
  if (!seen.plan) return;
  const list = document.getElementById("workloads");
  const parts = seen.plan.workloads.flatMap((workload) => {
    const charts = [
      narrowing(workload),
      curve(workload, "Transactions a second", bySecond),
      curve(workload, "95th percentile of response time, ms", single("p95_ms")),
      curve(workload, "CPU of the server, µs per transaction", single("cpu_us")),
    ].filter(Boolean);
    const grid = element("div", { class: "charts" });
    grid.append(...charts);
    return charts.length ? [element("h2", {}, workload), grid] : [];
  });
  list.replaceChildren(...parts);
  const flagged = seen.trials.filter((trial) => trial.flags.length), failed = seen.trials.filter((trial) => !trial.ok);
  const names = [...new Set(flagged.flatMap((trial) => trial.flags))];
  const lines = [];
  if (failed.length) lines.push(`failed trials: ${failed.map((trial) => trial.trial).join(", ")}`);
  if (flagged.length) lines.push(`flagged trials: ${flagged.length} (${names.join(", ")})`);
  document.getElementById("flags").textContent = lines.join("; ");
  document.getElementById("report").hidden = seen.trials.length === 0;
}

// Many events at once, as at the start, are drawn once. A page in the background is drawn as well.
function soon() {
  drawn ??= setTimeout(draw, 50);
}

// By the trials so far; a verdict may end the run earlier.
function timeLeft(state) {
  const done = seen.trials.filter((trial) => !trial.probe);
  if (state.state !== "running" || !done.length || state.stored >= state.planned) return "";
  const first = Math.min(...done.map((trial) => Date.parse(trial.started_at)));
  const last = Math.max(...done.map((trial) => Date.parse(trial.finished_at)));
  const seconds = (last - first) / done.length * (state.planned - state.stored) / 1000;
  const text = seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
  return ` At most about ${text} are left.`;
}

empty();
const events = new EventSource(`/events?run=${encodeURIComponent(place.dataset.run)}`);
const on = (name, take) => events.addEventListener(name, (event) => { take(JSON.parse(event.data)); soon(); });
const showState = (text) => { document.getElementById("state").textContent = text; };

// Also what a connection that was lost begins with.
on("plan", (plan) => { empty(); seen.plan = plan; });
on("trial", (trial) => {
  seen.begun ??= Date.parse(trial.started_at);
  seen.trials.push(trial);
});
on("interval", (interval) => seen.intervals.push(interval));
on("state", (state) => {
  const beside = state.beside ? ` and ${state.beside} beside the plan` : "";
  showState(`${state.text} ${state.stored} of ${state.planned} trials are stored${beside}.${timeLeft(state)}`);
  const bar = document.getElementById("progress");
  bar.max = state.planned;
  bar.value = state.stored;
  place.dataset.state = state.state;
  if (state.state === "ended") events.close();
});
on("failure", (failure) => { showState(failure.message); events.close(); });
events.onerror = () => {
  if (events.readyState !== EventSource.CLOSED) showState("The connection to dbduel is lost; it is tried again.");
};
