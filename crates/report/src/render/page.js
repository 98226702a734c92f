// A click on a heading sorts the table by that column, and a second click the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const compare = (a, b) => (a !== "" && b !== "" && isFinite(a) && isFinite(b) ? a - b : a < b ? -1 : a > b ? 1 : 0);
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    let direction = -1;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => {
      direction = -direction;
      const rows = [...body.rows].sort((a, b) => direction * compare(key(a, column), key(b, column)));
      body.append(...rows);
      for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    });
    heading.append(button);
  });
}
// A click on a name in a legend hides its series, and shows it again.
for (const button of document.querySelectorAll(".legend button")) {
  const item = button.parentNode;
  button.setAttribute("aria-pressed", "true");
  button.addEventListener("click", () => {
    const hidden = item.classList.toggle("hidden");
    button.setAttribute("aria-pressed", String(!hidden));
    const series = `svg .${[...item.classList].find((name) => name !== "hidden")}`;
    for (const one of item.closest("figure").querySelectorAll(series)) one.style.display = hidden ? "none" : "";
  });
}
// The values of lines at the pointer, from the table behind the chart.
for (const svg of document.querySelectorAll("svg[data-lines]")) {
  const [start, end, first, last] = svg.dataset.lines.split(" ").map(Number);
  const rows = [...svg.closest("figure").querySelectorAll(".figures tbody tr")];
  const names = [...svg.closest("figure").querySelectorAll(".figures thead th")].map((heading) => heading.textContent);
  const label = document.createElementNS(svg.namespaceURI, "text");
  label.setAttribute("class", "value");
  label.setAttribute("x", end);
  label.setAttribute("y", 12);
  svg.append(label);
  svg.addEventListener("pointermove", (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    const wanted = first + ((place - start) / (end - start)) * (last - first);
    const away = (row) => Math.abs(row.cells[0].textContent.replaceAll(",", "") - wanted);
    const row = rows.reduce((best, one) => (away(one) < away(best) ? one : best));
    label.textContent = [...row.cells].map((cell, column) => `${names[column]} ${cell.textContent}`).join(", ");
  });
  svg.addEventListener("pointerleave", () => (label.textContent = ""));
}
// What scrolls is reached by the keyboard.
const reached = new ResizeObserver((boxes) => {
  for (const { target } of boxes) {
    const scrolls = target.scrollHeight > target.clientHeight || target.scrollWidth > target.clientWidth;
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
document.querySelectorAll(".scroll, pre").forEach((box) => reached.observe(box));
// Each table is copied as Markdown or CSV.
const forms = {
  Markdown: (rows) => rows.map((row, place) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |${place ? "" : `\n|${" --- |".repeat(row.length)}`}`),
  CSV: (rows) => rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")),
};
for (const table of document.querySelectorAll("table")) {
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [name, lines] of Object.entries(forms)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Copy as ${name}`;
    button.addEventListener("click", () => {
      const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim().replaceAll("\u00a0", " ")));
      const done = navigator.clipboard?.writeText(lines(rows).join("\n"));
      done?.then(() => (button.textContent = "Copied"));
    });
    tools.append(button);
  }
  table.parentNode.after(tools);
}
// Paper has no folds.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => folded.forEach((one) => (one.open = false)));
// The raw records as they were compressed into this page.
async function rawRecords() {
  const packed = Uint8Array.from(atob(document.getElementById("dbduel-records").textContent), (byte) => byte.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
}
const save = document.getElementById("save-records");
save.hidden = false;
save.addEventListener("click", async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await rawRecords());
  link.download = "dbduel-records.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
