"use strict";
// How many records fit a description, before and after. Everything it needs stands in this page.
(() => {
  const data = JSON.parse(document.getElementById("lookup-data").textContent);
  const form = document.getElementById("lookup-form");
  const answer = document.getElementById("lookup-answer");
  const fields = data.columns.map((column, i) => {
    const box = document.createElement("div");
    const label = document.createElement("label");
    label.htmlFor = "lookup-" + i;
    label.textContent = column.name;
    const known = column.labels.map((text, code) => [text, code]);
    if (column.missing) known.push(["(missing)", column.labels.length]);
    let input;
    if (known.length <= 100) {
      input = document.createElement("select");
      input.append(new Option("(any)", ""));
      for (const [text, code] of known) input.append(new Option(text, code));
    } else {
      input = document.createElement("input");
      input.placeholder = "(any)";
      if (column.number) input.inputMode = "decimal";
    }
    input.id = label.htmlFor;
    box.append(label, input);
    form.append(box);
    return input;
  });

  // null: anything. A number that nobody has lies between two codes.
  function code(column, input) {
    const text = input.value.trim();
    if (text === "") return null;
    if (input.tagName === "SELECT") return Number(text);
    const at = column.labels.indexOf(text);
    if (at >= 0) return at;
    if (!column.number || Number.isNaN(Number(text))) return -1;
    let low = 0;
    while (low < column.labels.length && Number(column.labels[low]) < Number(text)) low++;
    return low < column.labels.length && Number(column.labels[low]) === Number(text) ? low : low - 0.5;
  }
  function covers(column, cell, value) {
    const m = column.labels.length, range = column.cells[cell];
    if (range === null) return true;
    if (column.numbers) {
      return value === m ? range[2] === 1 : range[0] <= value && value <= range[1];
    }
    return range.includes(value);
  }

  function fits(side, wanted, test) {
    const found = [];
    for (let i = 0; i < side.n.length; i++) {
      if (wanted.every((value, j) => value === null || test(j, side.keys[j][i], value))) found.push(i);
    }
    return found;
  }
  // of numbers the spread around their mean; of categories the share of the likeliest
  function told(kind, side, column, found) {
    if (kind.number) {
      let n = 0, sum = 0;
      for (const i of found) { const [m, mean] = side.told[column][i], w = m && side.n[i]; n += w; sum += w * mean; }
      if (!n) return null;
      let square = 0;
      for (const i of found) {
        const [m, mean, spread] = side.told[column][i], w = m && side.n[i];
        square += w * (spread + (mean - sum / n) ** 2);
      }
      return Math.sqrt(square / n);
    }
    const counts = new Map();
    let n = 0;
    for (const i of found) {
      const [values, times] = side.told[column][i], all = times.reduce((a, b) => a + b, 0);
      values.forEach((v, j) => counts.set(v, (counts.get(v) || 0) + side.n[i] * times[j] / all));
      n += side.n[i];
    }
    return n ? Math.max(...counts.values()) / n : null;
  }
  const everybody = side => side.n.map((_, i) => i);
  const whole = n => n.toLocaleString("en");
  const digits = x => Number(x.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  const percent = x => Math.round(100 * x) + "%";
  const count = (side, found) => found.reduce((a, i) => a + side.n[i], 0);
  function line(text, strong) {
    const p = document.createElement("p");
    p.className = strong ? "say" : "note";
    for (const [part, bold] of text) {
      const node = bold ? document.createElement("b") : document.createTextNode(part);
      if (bold) node.textContent = part;
      p.append(node);
    }
    answer.append(p);
  }
  const records = n => whole(n) + (n === 1 ? " record" : " records");

  function show() {
    const wanted = data.columns.map((column, i) => code(column, fields[i]));
    answer.replaceChildren();
    const before = fits(data.before, wanted, (j, key, value) => key === value);
    const after = fits(data.after, wanted, (j, key, value) => covers(data.columns[j], key, value));
    const n = count(data.before, before), m = count(data.after, after);
    line([["Before: ", 0], [records(n), 1], [n === 1 ? " fits. After: " : " fit. After: ", 0], [records(m), 1],
      [(m === 1 ? " fits" : " fit") + ", in " + whole(after.length) + (after.length === 1 ? " group." : " groups."), 0]], true);
    data.sensitive.forEach((kind, i) => {
      const all = told(kind, data.before, i, everybody(data.before));
      const own = told(kind, data.before, i, before), now = told(kind, data.after, i, after);
      const say = x => x === null ? "unknown" : kind.number ? digits(x) : percent(x);
      const words = kind.number ? ": a guess is typically off by " : ": the likeliest value is right for ";
      line([[kind.name + words, 0], [say(now), 1],
        [" (before: " + say(own) + "; knowing nobody: " + say(all) + ").", 0]], false);
    });
    const means = data.columns.filter((c, j) => c.means && wanted[j] !== null).map(c => c.name);
    if (means.length) {
      line([[means.join(", ") + ": numbers that are nobody's own stand in the release and rule nobody out.", 0]], false);
    }
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  show();
})();
