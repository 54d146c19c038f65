// SPDX-License-Identifier: BSD-2-Clause
// What a page does beside being read: tables sort and filter, a row opens its samples, variants are compared, figures
// say the values under the mouse. Without this script all of it can still be read.
"use strict";
(() => {
  const make = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
  const number = (text) => {
    const found = /^[+-]?[\d,]*\.?\d+/.exec(text.trim());
    return found ? Number(found[0].replaceAll(",", "")) : NaN;
  };
  const data = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "[]");
  const rows = data("rows");
  const includes = data("includes");
  // Large, and for some readers nothing: taken apart when the first row is opened.
  let samples;
  document.documentElement.classList.add("scripted");

  // Sorting: ascending, descending, as it was.
  const close = (body) => {
    for (const opened of body.querySelectorAll("tr.opened")) opened.remove();
    for (const details of body.querySelectorAll("details[open]")) details.open = false;
  };
  const sort = (table, column, header) => {
    const body = table.tBodies[0];
    close(body);
    const next = { ascending: "descending", descending: "none" }[header.getAttribute("aria-sort")] ?? "ascending";
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", next);
    const lines = [...body.rows];
    lines.forEach((line, index) => (line.dataset.place ??= String(index)));
    const value = (line) => line.cells[column]?.textContent.trim() ?? "";
    const numbers = header.classList.contains("n");
    const sign = next === "descending" ? -1 : 1;
    lines.sort((one, other) => {
      const before = Number(one.dataset.place) - Number(other.dataset.place);
      if (next === "none") return before;
      if (!numbers) return sign * value(one).localeCompare(value(other), "en", { numeric: true }) || before;
      const [first, second] = [number(value(one)), number(value(other))];
      // What is no number stands last, whichever way.
      if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || before;
      return sign * (first - second) || before;
    });
    body.append(...lines);
  };
  const filter = (table, words, said) => {
    close(table.tBodies[0]);
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const line of table.tBodies[0].rows) {
      const text = [...line.cells].filter((cell) => !cell.classList.contains("samples"))
        .map((cell) => cell.textContent).join(" ").toLowerCase();
      line.hidden = !wanted.every((word) => text.includes(word));
      shown += !line.hidden;
    }
    said.textContent = wanted.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  };
  const equip = (table) => {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      if (header.classList.contains("samples")) return;
      const button = make("button", { type: "button" });
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, column, header));
    });
    if (table.tBodies[0].rows.length < 6) return;
    const said = make("span", { role: "status" });
    const input = make("input", { type: "search" });
    input.addEventListener("input", () => filter(table, input.value, said));
    const name = table.caption.textContent;
    input.setAttribute("aria-label", `Filter the rows of: ${name}`);
    table.closest(".scroll").before(make("div", { className: "tools" }, make("label", {}, "Filter ", input), said));
  };
  for (const table of document.querySelectorAll("table.data")) equip(table);

  // Samples: a row below the row.
  const histogram = (counts, median) => {
    const values = counts.map(([count, times]) => ({ count, times }));
    const exact = counts.length <= 20;
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      description: `How often each count came: ${counts.length} different counts from ${plain.format(counts[0][0])} to ${plain.format(counts.at(-1)[0])}.`,
      config: { background: null, view: { stroke: null }, axis: { gridColor: "#80808040", domainColor: "#808080", tickColor: "#808080" } },
      width: 520, height: 140, data: { values },
      layer: [
        { mark: { type: "bar", color: "#0b57a4", ...(exact ? { size: 6 } : {}) },
          encoding: {
            x: { field: "count", type: "quantitative", title: "instructions", scale: { zero: false, padding: 10 },
              axis: { format: ",d", tickCount: 5 }, ...(exact ? {} : { bin: { maxbins: 40 } }) },
            y: { field: "times", aggregate: "sum", type: "quantitative", title: "samples", axis: { tickCount: Math.min(4, Math.max(...counts.map(([, times]) => times))), format: "d" } },
            tooltip: [{ field: "count", type: "quantitative", format: ",", title: "instructions", ...(exact ? {} : { bin: { maxbins: 40 } }) },
              { field: "times", aggregate: "sum", type: "quantitative", title: "samples" }] } },
        { data: { values: [{ median }] }, mark: { type: "rule", strokeDash: [4, 3], color: "#808080" },
          encoding: { x: { field: "median", type: "quantitative" }, tooltip: [{ field: "median", type: "quantitative", format: ",", title: "median" }] } },
      ],
    };
  };
  const options = { renderer: "svg", ast: true, actions: { export: true, source: false, compiled: false, editor: false } };
  const draw = (place, spec) => window.vegaEmbed ? window.vegaEmbed(place, spec, options) : Promise.reject(new Error("no charts"));
  // From the least count and the steps up from there: each count with how often it came.
  const unpacked = (steps) => {
    const found = new Map();
    let count = 0;
    for (const step of steps) found.set(count += step, (found.get(count) ?? 0) + 1);
    return [...found];
  };
  const show = (line, details) => {
    const next = line.nextElementSibling;
    if (next?.classList.contains("opened")) next.remove();
    if (!details.open) return;
    const number = Number(line.dataset.row);
    const counts = unpacked((samples ??= data("samples"))[number]);
    const cell = make("td", { colSpan: line.cells.length });
    cell.append(...details.querySelector("div").cloneNode(true).childNodes);
    cell.append(make("p", {}, `Includes: ${includes[rows[number][6]]}.`));
    line.after(make("tr", { className: "opened" }, cell));
    if (!counts.length) return;
    const chart = make("div", { className: "chart" });
    cell.append(chart);
    draw(chart, histogram(counts, rows[number][4])).catch(() => chart.remove());
  };
  // The details of a row are shown below it, in its whole width.
  document.querySelector("table.measurements")?.addEventListener("toggle", (event) => {
    const line = event.target.closest("tr");
    if (line?.isConnected) show(line, event.target);
  }, true);

  // Two variants side by side.
  const place = document.getElementById("comparison");
  const names = [...new Set(rows.map(([target, variant]) => `${target} ${variant}`))];
  if (place && names.length > 1) {
    const choose = (label, chosen) => {
      const select = make("select", {}, ...names.map((name) => make("option", { value: name }, name)));
      select.value = chosen;
      return [make("label", {}, `${label} `, select), select];
    };
    const [first, one] = choose("Compare", names[0]);
    const [second, other] = choose("with", names[1]);
    const result = make("div");
    const compare = () => {
      const of = (name) => rows.filter(([target, variant]) => `${target} ${variant}` === name);
      const [left, right] = [of(one.value), of(other.value)];
      const same = left[0][0] === right[0][0];
      const body = make("tbody");
      for (const row of left) {
        const rivals = right.filter((rival) => rival[2] === row[2] && (!same || rival[3] === row[3]));
        // Of two targets each is taken where its caller waits: the last place.
        const rival = rivals.at(-1);
        if (!rival || (!same && left.filter((also) => also[2] === row[2]).at(-1) !== row)) continue;
        const cells = [same ? row[3] : `${row[3]}, ${rival[3]}`, plain.format(row[4]), plain.format(rival[4]),
          row[4] ? (rival[4] / row[4]).toFixed(3) : "-", (rival[4] > row[4] ? "+" : "") + plain.format(rival[4] - row[4])];
        body.append(make("tr", {}, Object.assign(make("th", {}, row[2]), { scope: "row" }),
          ...cells.map((cell, index) => make("td", { className: index ? "n" : "" }, cell))));
      }
      const title = `${other.value} beside ${one.value}, medians in instructions`;
      const heads = ["measure", "place", one.value, other.value, "second / first", "difference"];
      const table = make("table", { className: "data" }, make("caption", { className: "unseen" }, title),
        make("thead", {}, make("tr", {}, ...heads.map((head, index) =>
          Object.assign(make("th", { className: index > 1 ? "n" : "" }, head), { scope: "col" })))), body);
      const region = make("div", { className: "scroll", tabIndex: 0 }, table);
      region.setAttribute("role", "region");
      region.setAttribute("aria-label", title);
      result.replaceChildren(body.rows.length ? region : make("p", { className: "note" }, "These two have no measure in common."));
      if (body.rows.length) equip(table);
    };
    one.addEventListener("change", compare);
    other.addEventListener("change", compare);
    place.append(make("div", { className: "tools" }, first, second), result);
    place.hidden = false;
    compare();
  }

  // Figures: drawn anew, with values, when they come into sight. The drawing that is there stays if that fails.
  const figures = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      // The index of a site has drawings alone.
      if (!isIntersecting || !window.vegaEmbed) continue;
      figures.unobserve(target);
      const again = make("div", { className: "chart" });
      draw(again, JSON.parse(target.querySelector("script").textContent))
        .then(() => target.querySelector(".chart").replaceWith(again)).catch(() => undefined);
    }
  });
  // The charts' libraries are a module, which runs after this script.
  window.addEventListener("load", () => {
    for (const figure of document.querySelectorAll("figure")) figures.observe(figure);
  });
})();
