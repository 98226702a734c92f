// A click on a heading sorts the table by that column, and a second click the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const compare = (a, b) => (a !== "" && b !== "" && isFinite(a) && isFinite(b) ? a - b : a < b ? -1 : a > b ? 1 : 0);
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    let direction = -1;
    const sort = () => {
      direction = -direction;
      const rows = [...body.rows].sort((a, b) => direction * compare(key(a, column), key(b, column)));
      body.append(...rows);
      for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    };
    heading.tabIndex = 0;
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => event.key === "Enter" && sort());
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
// Each table is copied as Markdown or CSV.
const forms = {
  Markdown: (rows) => rows.map((row, place) => `| ${row.join(" | ")} |${place ? "" : `\n|${" --- |".repeat(row.length)}`}`),
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
      const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
      const done = navigator.clipboard?.writeText(lines(rows).join("\n"));
      done?.then(() => (button.textContent = "Copied"));
    });
    tools.append(button);
  }
  table.parentNode.after(tools);
}
// Paper has no folds.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
