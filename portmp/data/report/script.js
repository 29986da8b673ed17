"use strict";
(function () {
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const root = document.documentElement;

  /* what a cell is sorted by: a number with its prefix, a shape, or its text */
  const SCALES = { n: 1e-9, u: 1e-6, "µ": 1e-6, m: 1e-3, p: 1e-12, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  function value(text) {
    const shape = /^\d+(x\d+)+$/.exec(text);
    if (shape) return text.split("x").reduce((a, b) => a * Number(b), 1);
    const power = /^(\d+)\^(\d+)$/.exec(text);
    if (power) return Number(power[1]) ** Number(power[2]);
    const found = /^([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)\s*(?:([nuµmpkMGT])(?=[A-Za-z/])|)([A-Za-z%/].*)?$/.exec(text);
    if (!found) return null;
    return Number(found[1].replace(/,/g, "")) * (SCALES[found[2]] || 1);
  }
  function compared(a, b) {
    const x = value(a), y = value(b);
    if (x !== null && y !== null) return x - y;
    if (x !== null || y !== null) return x !== null ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  }
  function sort(header) {
    const table = header.closest("table"), body = table.tBodies[0];
    const up = header.getAttribute("aria-sort") !== "ascending";
    const at = header.cellIndex, text = (row) => row.cells[at] ? row.cells[at].textContent.trim() : "";
    const rows = Array.from(body.rows).map((row, i) => [text(row), i, row]);
    rows.sort((a, b) => (up ? 1 : -1) * compared(a[0], b[0]) || a[1] - b[1]);
    body.append(...rows.map((row) => row[2]));
    all("th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
  }
  all("table.sorts thead th").forEach((header) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(header));
  });

  /* rows that contain all words of the filter */
  all("input[data-filter]").forEach((input) => {
    const table = document.getElementById(input.dataset.filter);
    const said = document.getElementById(input.dataset.filter + "-said");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = Array.from(table.tBodies[0].rows);
      let shown = 0;
      for (const row of rows) {
        const text = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      said.textContent = shown + " of " + rows.length + " rows";
    });
  });

  /* devices that are shown */
  all("input[data-shows]").forEach((box) => {
    box.addEventListener("change", () => {
      all("[data-device='" + box.dataset.shows + "']").forEach((part) => { part.hidden = !box.checked; });
    });
  });

  /* series of a figure */
  all(".legend button").forEach((button) => {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      all("." + button.dataset.series, button.closest("figure")).forEach((part) => {
        part.style.display = shown ? "" : "none";
      });
    });
  });

  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) root.dataset.theme = theme.value; else delete root.dataset.theme;
  });
  const open = document.getElementById("open");
  open.addEventListener("click", () => {
    const closed = all("details").some((part) => !part.open);
    all("details").forEach((part) => { part.open = closed; });
  });
  window.addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
  all(".tools[hidden], nav [hidden]").forEach((part) => { part.hidden = false; });
})();
