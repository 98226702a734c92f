// A click on a heading sorts the table by that column, and a second click the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const compare = (a, b) => (a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : a < b ? -1 : a > b ? 1 : 0);
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
