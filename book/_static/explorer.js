// The explorer: draws what the form asks for from explorer-data.js, beside this page, and for each
// instance that is chosen from explorer-data-INSTANCE.js. These are scripts and no JSON, as a page
// on a disk may load scripts and nothing else.
// Everything shown stands in tables as well, and is summed up in a sentence that is read aloud.
// The address keeps what was chosen: #instance=C1&k=5&e=0.25&…, and show=found leads to a figure.
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WITHOUT = "without privacy";
  const FIRST = { instance: "isis2", k: 2, e: 1, t: 5e7, view: "time", d: 0.05,
    regret: ["UCB", "SE", "DP-SE", "DP-UCB"],
    found: ["DP-TT", "DP-LRE", "DP-LRE, no privacy", "DP-SE"] };
  const DELTAS = [0.1, 0.05, 0.01, 0.001];
  const BOUNDS = {
    free: { name: "lower bound, no privacy", look: { colour: "text", dash: [1, 3], marker: "" } },
    private: { name: "lower bound, ε-DP",
      look: { colour: "text", dash: [9, 3, 2, 3], marker: "" } },
  };

  const at = id => document.getElementById(id);
  const form = at("x-form");
  if (!form) return;
  let data, state;

  // ------------------------------------------------------------------------------ numbers

  const power = n => [...String(n)].map(c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");
  const whole = x => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, "\u202f");

  // Three digits; large and small numbers with a power of ten.
  function three(x) {
    if (x === null || x === undefined || !Number.isFinite(x)) return "–";
    if (x === 0) return "0";
    const size = Number(Math.abs(x).toPrecision(3));
    if (size >= 1e6 || size < 1e-3) {
      const [digits, exponent] = x.toExponential(2).split("e");
      return `${digits}·10${power(Number(exponent))}`;
    }
    return size >= 1000 ? whole(Number(x.toPrecision(3))) : x.toPrecision(3);
  }

  // A number of pulls, in full up to a million, and round ones as a power of ten.
  function pulls(n) {
    const exponent = Math.floor(Math.log10(n) + 1e-12), lead = n / 10 ** exponent;
    if (n < 1e4 || Math.abs(lead - Math.round(lead)) > 1e-9) return whole(n);
    const digit = Math.round(lead);
    return `${digit === 1 ? "" : `${digit}·`}10${power(exponent)}`;
  }

  const budget = e => e === null ? "∞" : String(Number(e.toPrecision(4)));
  const share = x => x.toFixed(3);
  const nearest = (values, x) => values.reduce((a, b) =>
    Math.abs(Math.log(b / x)) < Math.abs(Math.log(a / x)) ? b : a);
  const bounding = delta => Math.max(0, -Math.log(2.4 * delta));

  // ----------------------------------------------------------------------------- elements

  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function draw(name, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function options(select, pairs, chosen) {
    select.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
    select.value = String(chosen);
  }

  // A table: head, then rows whose first cell is a heading of its row.
  function table(id, caption, head, rows) {
    at(id).replaceChildren(
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...head.map(text => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {},
        make("th", { scope: "row" }, first), ...rest.map(text => make("td", {}, text))))));
  }

  const MARKERS = {
    o: r => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    s: r => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
    "^": r => `M0 ${-1.2 * r}L${1.15 * r} ${r}H${-1.15 * r}Z`,
    v: r => `M0 ${1.2 * r}L${1.15 * r} ${-r}H${-1.15 * r}Z`,
    D: r => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
    P: r => `M${-r} 0H${r}M0 ${-r}V${r}`,
    X: r => `M${-r} ${-r}L${r} ${r}M${r} ${-r}L${-r} ${r}`,
  };

  function mark(kind, x, y) {
    const open = kind === "P" || kind === "X";
    return draw("path", { d: MARKERS[kind](3.4), transform: `translate(${x} ${y})`,
      class: open ? "mark open" : "mark" });
  }

  const dashes = look => look.dash.length ? { "stroke-dasharray": look.dash.join(" ") } : {};

  function swatch(look) {
    const parts = [draw("path", { d: "M1 7H33", class: "line", ...dashes(look) })];
    if (look.marker) parts.push(mark(look.marker, 17, 7));
    return draw("svg", { viewBox: "0 0 34 14", width: 34, height: 14, "aria-hidden": "true",
      class: `swatch ink-${look.colour}` }, ...parts);
  }

  // ----------------------------------------------------------------------------- plotting

  const size = text => 6.4 * [...text].length;

  function ticks([low, high], room) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / room));
    const found = [];
    for (let k = first; k <= last; k += step) found.push([10 ** k, `10${power(k)}`]);
    if (found.length > 1) return found;
    for (let k = first - 1; k <= last; k += 1)
      for (const digit of [2, 3, 5])
        if (digit * 10 ** k >= low && digit * 10 ** k <= high)
          found.push([digit * 10 ** k, k >= -3 && k < 4 ? String(Number((digit * 10 ** k)
            .toPrecision(1))) : `${digit}·10${power(k)}`]);
    return found.sort((a, b) => a[0] - b[0]);
  }

  // Heights moved apart so that labels do not overlap, within the plot.
  function apart(heights, distance, top, bottom) {
    const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
    const moved = [...heights];
    let least = top;
    for (const i of order) { moved[i] = Math.max(moved[i], least); least = moved[i] + distance; }
    let most = bottom;
    for (const i of order.reverse()) { moved[i] = Math.min(moved[i], most); most = moved[i] - distance; }
    return moved;
  }

  // Lines on logarithmic axes. A line: name, look, points [x, y], band or bars [x, low, high].
  function plot(id, { lines, across, along, here, text, from }) {
    const place = at(id), width = Math.max(280, place.clientWidth || 640);
    const wide = width >= 560, height = wide ? 400 : 330;
    const shown = lines.map(line => ({ ...line, points: line.points.filter(
      ([x, y]) => y > 0 && x >= (from || 0)) })).filter(line => line.points.length);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": text });
    place.replaceChildren(svg);
    if (!shown.length) {
      svg.append(draw("text", { x: width / 2, y: height / 2, "text-anchor": "middle" },
        "Choose an algorithm."));
      return;
    }
    const xs = shown.flatMap(line => line.points.map(([x]) => x)).concat(here ? [here] : []);
    const ys = shown.flatMap(line => line.points.map(([, y]) => y)).concat(shown.flatMap(line =>
      (line.bars || []).flatMap(([, low, high]) => [low, high]).filter(y => y > 0)));
    const span = values => {
      const low = Math.min(...values), high = Math.max(...values);
      const room = Math.max(0.06 * Math.log(high / low), 0.12);
      return [low * Math.exp(-room), high * Math.exp(room)];
    };
    const y = span(ys), x = [Math.min(...xs), Math.max(...xs)];
    if (x[0] === x[1]) { x[0] /= 3; x[1] *= 3; }
    const left = 58, top = 10, bottom = height - 46;
    const right = wide ? width - 14 - Math.min(0.36 * width, Math.max(...shown.map(line =>
      size(line.name)))) : width - 12;
    const toX = v => left + (right - left) * Math.log(v / x[0]) / Math.log(x[1] / x[0]);
    const toY = v => bottom - (bottom - top) * Math.log(Math.max(v, y[0]) / y[0])
      / Math.log(y[1] / y[0]);
    const f = v => v.toFixed(1);
    const grid = draw("g", { class: "grid" });
    for (const [v, label] of ticks(x, wide ? 8 : 5))
      grid.append(draw("path", { d: `M${f(toX(v))} ${top}V${bottom}` }),
        draw("text", { x: f(toX(v)), y: bottom + 17, "text-anchor": "middle" }, label));
    for (const [v, label] of ticks(y, 7))
      grid.append(draw("path", { d: `M${left} ${f(toY(v))}H${f(right)}` }),
        draw("text", { x: left - 6, y: f(toY(v) + 4), "text-anchor": "end" }, label));
    grid.append(
      draw("text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, across),
      draw("text", { transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`,
        "text-anchor": "middle" }, along));
    svg.append(grid);
    if (here) {
      const near = toX(here) > (left + right) / 2;
      svg.append(draw("g", { class: "here" },
        draw("path", { d: `M${f(toX(here))} ${top}V${bottom}` }),
        draw("text", { x: f(toX(here) + (near ? -5 : 5)), y: bottom - 6,
          "text-anchor": near ? "end" : "start" }, `ε = ${budget(here)}`)));
    }
    const ends = [];
    for (const line of shown) {
      const group = draw("g", { class: `ink-${line.look.colour}` });
      const points = line.points.map(([a, b]) => [toX(a), toY(b)]);
      if (line.band) {
        const inside = line.band.filter(([a]) => a >= x[0]);
        const up = inside.map(([a, , b]) => `${f(toX(a))} ${f(toY(b))}`);
        const down = inside.map(([a, b]) => `${f(toX(a))} ${f(toY(b))}`).reverse();
        if (up.length > 1)
          group.append(draw("path", { class: "band", d: `M${up.join("L")}L${down.join("L")}Z` }));
      }
      for (const [a, low, high] of line.bars || [])
        if (low !== null && high !== null) group.append(draw("path", { class: "bar",
          d: `M${f(toX(a))} ${f(toY(low))}V${f(toY(high))}` }));
      group.append(draw("path", { class: line.bound ? "line bound" : "line",
        d: `M${points.map(([a, b]) => `${f(a)} ${f(b)}`).join("L")}`, ...dashes(line.look) }));
      if (line.look.marker || points.length === 1) {
        const each = line.bars ? 1 : Math.max(1, Math.round(points.length / 8));
        points.forEach(([a, b], i) => {
          if ((points.length - 1 - i) % each === 0)
            group.append(mark(line.look.marker || "o", f(a), f(b)));
        });
      }
      svg.append(group);
      ends.push([...points[points.length - 1], line]);
    }
    if (!wide) return;
    const heights = apart(ends.map(end => end[1]), 15, top + 6, bottom - 4);
    ends.forEach(([a, b, line], i) => svg.append(draw("g",
      { class: `end ink-${line.look.colour}` },
      draw("path", { d: `M${f(a + 3)} ${f(b)}L${f(right + 8)} ${f(heights[i])}` }),
      draw("text", { x: f(right + 11), y: f(heights[i] + 4) }, line.name))));
  }

  // ------------------------------------------------------------------------ what is chosen

  const instance = () => data.instances.find(one => one.id === state.instance);
  const entry = () => instance().arms.find(one => one.k === state.k);
  const epsilon = () => data.epsilons[state.e];
  const group = () => entry().regret.find(one => one.horizon === state.t);
  const simulated = lines => [...new Set(lines.map(line => line.epsilon)
    .filter(e => e !== null))].sort((a, b) => a - b);
  const names = lines => [...new Set(lines.map(line => line.name))];
  const number = (text, otherwise) => text !== null && text !== "" && Number.isFinite(Number(text))
    ? Number(text) : otherwise;

  // The data of an instance is loaded when it is chosen first.
  const loading = {};
  function script(name, content) {
    loading[name] ??= new Promise((done, fail) => {
      const node = make("script", { src: name });
      node.addEventListener("load", () => done(content()));
      node.addEventListener("error", () => { delete loading[name]; fail(new Error(name)); });
      document.head.append(node);
    });
    return loading[name];
  }

  async function load(wanted) {
    if (!data.instances.some(one => one.id === wanted)) return load(FIRST.instance);
    const arms = await script(`explorer-data-${wanted}.js`, () => window.explorerData.arms[wanted]);
    data.instances.find(one => one.id === wanted).arms = arms;
    return wanted;
  }

  // Of two that are loaded at once, the one that was asked for last is shown.
  let asked = 0;
  async function whenLoaded(wanted, go) {
    const mine = asked += 1;
    form.ariaBusy = "true";
    try {
      const known = await load(wanted);
      if (mine !== asked) return;
      at("x-problem").hidden = true;
      go(known);
    } catch (error) {
      if (mine !== asked) return;
      complain(error);
      if (state) fill();
    } finally {
      if (mine === asked) form.ariaBusy = "false";
    }
  }

  function complain(error) {
    at("x-problem").textContent = `The data cannot be read (${error.message}). It is written `
      + "beside this page when the book is built.";
    at("x-problem").hidden = false;
  }

  // What was chosen stands behind the sign "#"; a link from a chapter has it behind "?", and the
  // figure's name behind "#".
  const address = () => new URLSearchParams(
    location.hash.includes("=") ? location.hash.slice(1) : location.search);

  function read(id) {
    const asked = address();
    const list = key => asked.has(key) ? asked.getAll(key).filter(Boolean) : FIRST[key];
    const wanted = number(asked.get("e"), FIRST.e);
    const e = nearest(data.epsilons, wanted > 0 ? wanted : FIRST.e);
    state = { instance: id, k: number(asked.get("k"), FIRST.k),
      e: data.epsilons.indexOf(e), t: number(asked.get("t"), FIRST.t),
      view: asked.get("view"), d: number(asked.get("d"), FIRST.d),
      regret: new Set(list("regret")), found: new Set(list("found")) };
    settle();
  }

  // What was asked for and is not there is replaced by what comes next to it.
  function settle() {
    const arms = instance().arms.map(one => one.k);
    if (!arms.includes(state.k)) state.k = nearest(arms, state.k > 0 ? state.k : FIRST.k);
    const horizons = entry().regret.map(one => one.horizon);
    if (horizons.length && !horizons.includes(state.t))
      state.t = nearest(horizons, state.t > 0 ? state.t : FIRST.t);
    if (!["time", "budget"].includes(state.view)) state.view = FIRST.view;
    if (!DELTAS.includes(state.d)) state.d = FIRST.d;
  }

  function write() {
    const kept = new URLSearchParams({ instance: state.instance, k: state.k,
      e: budget(epsilon()), t: state.t, view: state.view, d: state.d });
    for (const key of ["regret", "found"])
      for (const name of state[key].size ? state[key] : [""]) kept.append(key, name);
    history.replaceState(null, "", `#${kept}`);
  }

  // ------------------------------------------------------------------------------ controls

  function fill() {
    const all = data.instances.map(one => [one.id, one.title]);
    options(at("x-instance"), all, state.instance);
    options(at("x-arms"), instance().arms.map(one => [one.k, one.k]), state.k);
    const slider = at("x-epsilon");
    slider.max = data.epsilons.length - 1;
    slider.value = state.e;
    slider.setAttribute("aria-valuetext", `ε = ${budget(epsilon())}`);
    at("x-epsilon-now").textContent = budget(epsilon());
    options(at("x-horizon"), entry().regret.map(one => [one.horizon, pulls(one.horizon)]), state.t);
    at("x-view").value = view();
    at("x-view").options[0].disabled = Boolean(group()) && !overTime();
    const found = entry().found.map(one => one.delta);
    options(at("x-delta"), DELTAS.map(delta => [delta, found.includes(delta) ? String(delta)
      : `${delta} (nothing simulated)`]), state.d);
    const lines = group() ? group().lines : [];
    budgets(simulated(lines));
    boxes("regret", names(lines), ["free", "private"].filter(() => entry().private && group()));
    const one = entry().found.find(each => each.delta === state.d);
    boxes("found", one ? names(one.lines) : [], ["free", "private"]);
    at("x-horizon").closest("form").hidden = !group();
  }

  function keepFocus(node, change) {
    const inside = node.contains(document.activeElement) && document.activeElement.id;
    change();
    if (inside && at(inside)) at(inside).focus();
  }

  function boxes(part, known, bounds) {
    const field = at(`x-${part}-names`);
    keepFocus(field, () => field.replaceChildren(field.querySelector("legend"),
      ...known.map((name, i) => {
        const box = make("input", { type: "checkbox", value: name, id: `x-${part}-${i}` });
        box.checked = state[part].has(name);
        return make("label", { for: box.id }, box, swatch(data.looks[name]), name);
      }),
      ...bounds.map(key => make("span", { class: "key" }, swatch(BOUNDS[key].look),
        BOUNDS[key].name))));
    field.hidden = !known.length;
  }

  function budgets(known) {
    const field = at("x-regret-budgets");
    const now = known.length ? nearest(known, epsilon()) : null;
    keepFocus(field, () => field.replaceChildren(field.querySelector("legend"),
      ...known.map((e, i) => make("button", { type: "button", value: e, id: `x-budget-${i}`,
        "aria-pressed": String(e === now), "aria-label": `ε = ${budget(e)}` }, budget(e)))));
  }

  // ------------------------------------------------------------------------------- figures

  const overTime = () => group().grids.some(grid => grid.length > 1);
  const view = () => group() && !overTime() ? "budget" : state.view;

  function regret() {
    const here = entry(), now = group();
    at("x-regret-plot").closest("figure").hidden = !now;
    at("x-regret-table").closest("details").hidden = !now;
    at("x-regret-none").hidden = Boolean(now);
    if (!now) return "";
    const known = simulated(now.lines), e = nearest(known, epsilon());
    const index = data.epsilons.indexOf(e);
    const rates = here.private ? { free: here.lai_robbins, private: here.private[index] } : {};
    const chosen = now.lines.filter(line => state.regret.has(line.name));
    const shown = chosen.filter(line => line.epsilon === null || line.epsilon === e);
    const last = Math.log(now.horizon);
    const final = line => line.mean[line.mean.length - 1];
    const ends = shown.map(line => `${line.name} ${three(final(line))}`);
    const bounded = x => three(here.private[data.epsilons.indexOf(x)] * last);
    const text = `Regret after ${pulls(now.horizon)} pulls, simulated at ε = ${budget(e)}: `
      + (ends.length ? `${ends.join("; ")}. ` : "no algorithm of those chosen. ")
      + (here.private ? `Lower bounds, as rate times log T: ${bounded(epsilon())}`
        + `${e === epsilon() ? "" : ` at ε = ${budget(epsilon())} and ${bounded(e)} at ε = ${budget(e)}`} `
        + `with ε-DP, ${three(rates.free * last)} ${WITHOUT}.` : "");
    if (view() === "time") drawTime(shown, rates, text);
    else drawBudgets(chosen, known, text);
    return text;
  }

  function drawTime(shown, rates, text) {
    const { horizon, grids } = group();
    const start = Math.max(100, horizon / 10 ** 3.7);
    const lines = shown.map(line => {
      const times = grids[line.grid];
      return { name: line.name, look: data.looks[line.name],
        points: times.map((t, i) => [t, line.mean[i]]),
        band: times.map((t, i) => [t, line.low[i], line.high[i]]).filter(([t]) => t >= start) };
    });
    const longest = grids.reduce((a, b) => a.length > b.length ? a : b);
    for (const key of shown.length ? Object.keys(rates) : [])
      lines.push({ ...BOUNDS[key], bound: true,
        points: longest.map(t => [t, rates[key] * Math.log(t)]) });
    plot("x-regret-plot", { lines, across: "pulls", along: "regret", from: start,
      text: `Mean regret against pulls on logarithmic axes. ${text}` });
    const columns = [];
    for (let k = 2; 10 ** k < horizon; k += 1) columns.push(nearest(longest, 10 ** k));
    columns.push(horizon);
    const cell = (line, t) => {
      const i = grids[line.grid].indexOf(t);
      return i < 0 ? "–" : `${three(line.mean[i])} (${three(line.low[i])} to ${three(line.high[i])})`;
    };
    table("x-regret-table",
      "Mean regret, and in brackets what holds the central 90 % of the runs, after so many pulls",
      ["algorithm", "ε", "runs", ...columns.map(pulls)],
      [...shown.map(line => [line.name, budget(line.epsilon), String(line.runs),
        ...columns.map(t => cell(line, t))]),
      ...Object.keys(rates).map(key => [BOUNDS[key].name,
        key === "free" ? "∞" : budget(nearest(simulated(group().lines), epsilon())), "–",
        ...columns.map(t => three(rates[key] * Math.log(t)))])]);
  }

  function drawBudgets(chosen, known, text) {
    const here = entry(), now = group(), last = Math.log(now.horizon);
    const inside = data.epsilons.map((e, i) => [e, i])
      .filter(([e]) => e >= known[0] * 0.999 && e <= known[known.length - 1] * 1.001);
    const end = values => values[values.length - 1];
    const lines = names(chosen).map(name => {
      const own = chosen.filter(line => line.name === name);
      const spread = own[0].epsilon === null ? known.map(e => [e, own[0]])
        : own.map(line => [line.epsilon, line]).sort((a, b) => a[0] - b[0]);
      return { name, look: data.looks[name], points: spread.map(([e, line]) => [e, end(line.mean)]),
        bars: spread.map(([e, line]) => [e, end(line.low), end(line.high)]) };
    });
    if (here.private && lines.length) {
      lines.push({ ...BOUNDS.free, bound: true,
        points: inside.map(([e]) => [e, here.lai_robbins * last]) });
      lines.push({ ...BOUNDS.private, bound: true,
        points: inside.map(([e, i]) => [e, here.private[i] * last]) });
    }
    plot("x-regret-plot", { lines, across: "privacy budget ε", here: epsilon(),
      along: `regret after ${pulls(now.horizon)} pulls`,
      text: `Mean regret against the privacy budget on logarithmic axes. ${text}` });
    const cell = (name, e) => {
      const line = chosen.find(one => one.name === name && (one.epsilon === e
        || one.epsilon === null));
      return line ? `${three(end(line.mean))} (${three(end(line.low))} to ${three(end(line.high))})`
        : "–";
    };
    const rows = names(chosen).map(name => [name,
      String(chosen.find(line => line.name === name).runs), ...known.map(e => cell(name, e))]);
    if (here.private) rows.push(
      [BOUNDS.free.name, "–", ...known.map(() => three(here.lai_robbins * last))],
      [BOUNDS.private.name, "–", ...known.map(e =>
        three(here.private[data.epsilons.indexOf(e)] * last))]);
    table("x-regret-table", `Mean regret after ${pulls(now.horizon)} pulls, and in brackets what `
      + "holds the central 90 % of the runs, by budget",
    ["algorithm", "runs", ...known.map(e => `ε = ${budget(e)}`)], rows);
  }

  function found() {
    const here = entry(), factor = bounding(state.d), e = epsilon();
    const now = here.found.find(one => one.delta === state.d);
    const chosen = now ? now.lines.filter(line => state.found.has(line.name)) : [];
    const range = chosen.flatMap(line => line.epsilon.filter(x => x !== null)).concat([0.01, 10, e]);
    const low = Math.min(...range), high = Math.max(...range);
    const inside = data.epsilons.map((x, i) => [x, i]).filter(([x]) => x >= low && x <= high);
    const lines = chosen.map(line => {
      const free = line.epsilon.length === 1 && line.epsilon[0] === null;
      const points = free ? [low, high].map(x => [x, 0]) : line.epsilon.map((x, i) => [x, i])
        .filter(([x, i]) => x !== null && line.mean[i] !== null);
      return { name: line.name, look: data.looks[line.name],
        points: points.map(([x, i]) => [x, line.mean[i]]),
        bars: points.map(([x, i]) => [x, line.low[i], line.high[i]]) };
    });
    lines.push({ ...BOUNDS.free, bound: true, points: inside.map(([x]) => [x, here.free * factor]) });
    lines.push({ ...BOUNDS.private, bound: true,
      points: inside.map(([x, i]) => [x, here.time[i] * factor]) });
    const unit = instance().unit;
    const means = chosen.map(line => {
      const own = line.epsilon.filter(x => x !== null);
      const near = own.length ? nearest(own, e) : null;
      const i = line.epsilon.indexOf(near);
      return { line, near, i };
    });
    // What a private algorithm takes, and how many per cent more than its twin that has no privacy.
    const takes = ({ line, near, i }, place) => {
      const twin = means.find(one => one.near === null && one.line.name.startsWith(`${line.name}, `));
      const more = twin && near !== null ? line.mean[i] / twin.line.mean[twin.i] - 1 : null;
      return line.name + (place ? "" : " takes") + ` ${three(line.mean[i])}`
        + (place ? "" : ` ${unit} on average`) + (near === null ? "" : ` at ε = ${budget(near)}`)
        + (more === null ? "" : `, ${Math.abs(100 * more).toFixed(0)} % ${more < 0 ? "fewer" : "more"} `
          + `than ${WITHOUT}`);
    };
    const text = `To name the best arm, wrongly with probability at most ${state.d}, `
      + (means.length ? `${means.map(takes).join("; ")}. No algorithm that is right on every `
        + "instance takes fewer than " : "it takes on average at least ")
      + `${three(here.time[state.e] * factor)} ${unit} at ε = ${budget(e)}, and `
      + `${three(here.free * factor)} ${WITHOUT}.`
      + (means.length ? "" : now ? " No algorithm is chosen." : " Nothing was simulated for this δ.");
    plot("x-found-plot", { lines, across: "privacy budget ε", here: e,
      along: unit, text: `Pulls until an arm is named against the privacy budget, on `
        + `logarithmic axes. ${text}` });
    table("x-found-table",
      `Pulls until an arm is named, wrongly with probability at most ${state.d}, next to ε = `
      + budget(e),
      ["algorithm", "ε", "runs", "mean", "central 90 %", "wrong"],
      [...means.map(({ line, near, i }) => [line.name, budget(near), String(line.runs[i]),
        three(line.mean[i]), `${three(line.low[i])} to ${three(line.high[i])}`,
        share(line.error[i])]),
      [BOUNDS.free.name, "∞", "–", three(here.free * factor), "–", "–"],
      [BOUNDS.private.name, budget(e), "–", three(here.time[state.e] * factor), "–", "–"]]);
    return text;
  }

  function time() {
    const here = entry(), e = epsilon(), now = here.time[state.e];
    const ratio = three(now / here.free);
    const text = `The characteristic time at ε = ${budget(e)} is ${three(now)}, `
      + (ratio === three(1) ? `no longer than ${WITHOUT}.` : `${ratio} times as long as ${WITHOUT}.`);
    const plain = (dash, name) => ({ name, bound: true, look: { colour: "text", dash, marker: "" } });
    const low = here.free / 2;
    plot("x-time-plot", { across: "privacy budget ε", along: "characteristic time", here: e,
      text: `The characteristic time against the privacy budget on logarithmic axes. ${text}`,
      lines: [
        { name: "with ε-DP", look: { colour: "blue", dash: [], marker: "" },
          points: data.epsilons.map((x, i) => [x, here.time[i]]) },
        { ...plain([1, 3], WITHOUT), points: data.epsilons.map(x => [x, here.free]) },
        { ...plain([6, 4], "for small ε"), points: data.epsilons.map(x => [x, here.tv / x])
          .filter(([, y]) => y >= low) },
      ] });
    table("x-time-table", `Characteristic time at ε = ${budget(e)}`, ["time", "value"], [
      [`at ε = ${budget(e)}`, three(now)], [WITHOUT, three(here.free)],
      ["ratio", three(now / here.free)], ["for small ε, times ε", three(here.tv)]]);
    return text;
  }

  function weights() {
    const here = entry(), width = Math.max(280, at("x-weights-plot").clientWidth || 640);
    const arms = i => here.counts[i] === 1 ? "1 arm" : `${here.counts[i]} arms`;
    const now = here.weights.map(each => each[state.e]);
    const text = `At ε = ${budget(epsilon())} the best arm gets ${share(now[0])} of the pulls, `
      + `${share(here.free_weights[0])} ${WITHOUT}.`;
    const step = 26, top = 6, left = 104, right = width - 58;
    const most = Math.max(...here.weights.flat(), ...here.free_weights);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${top + step * now.length + 8}`, width,
      height: top + step * now.length + 8, role: "img",
      "aria-label": `Shares of the pulls as bars, an arm's each. ${text}` });
    now.forEach((value, i) => {
      const y = top + step * i, reach = x => (right - left) * x / most;
      const free = left + reach(here.free_weights[i]);
      svg.append(
        draw("text", { x: left - 8, y: y + 16, "text-anchor": "end" },
          `${three(here.values[i])}, ${arms(i)}`),
        draw("g", { class: i ? "ink-sky" : "ink-blue" }, draw("rect", { class: "weight", x: left,
          y: y + 3, height: step - 8, width: reach(value).toFixed(1) })),
        draw("path", { class: "free", d: `M${free.toFixed(1)} ${y}V${y + step - 2}` }),
        draw("text", { x: (left + Math.max(reach(value), free - left) + 6).toFixed(1), y: y + 16 },
          share(value)));
    });
    at("x-weights-plot").replaceChildren(svg);
    table("x-weights-table", `Share of the pulls that one arm gets at ε = ${budget(epsilon())}`,
      ["mean of the arm", "arms", "share", WITHOUT],
      now.map((value, i) => [three(here.values[i]), String(here.counts[i]), share(value),
        share(here.free_weights[i])]));
    return text;
  }

  // ------------------------------------------------------------------------------ together

  let waiting;
  function show() {
    fill();
    const said = [`${instance().title}; ${state.k} arms; ε = ${budget(epsilon())}.`,
      ...[found(), regret(), time(), weights()].filter(Boolean)].join(" ");
    // The slider moves faster than anyone can listen: what is read aloud waits until it rests.
    clearTimeout(waiting);
    waiting = setTimeout(() => { at("x-said").textContent = said; }, 250);
  }

  // Show what the address asks for, and go to the figure that it names.
  function visit() {
    return whenLoaded(address().get("instance"), known => {
      read(known);
      show();
      const figure = document.getElementById(location.hash.slice(1));
      if (figure) figure.scrollIntoView();
    });
  }

  function change(part) {
    if ("instance" in part && part.instance !== state.instance)
      whenLoaded(part.instance, () => settled(part));
    else settled(part);
  }

  function settled(part) {
    Object.assign(state, part);
    settle();
    // Another instance was simulated for other δ: one of those, rather than an empty figure.
    const deltas = entry().found.map(one => one.delta);
    if (("instance" in part || "k" in part) && deltas.length && !deltas.includes(state.d))
      state.d = nearest(deltas, state.d);
    write();
    show();
  }

  function listen() {
    at("x-instance").addEventListener("change", e => change({ instance: e.target.value }));
    at("x-arms").addEventListener("change", e => change({ k: Number(e.target.value) }));
    at("x-epsilon").addEventListener("input", e => change({ e: Number(e.target.value) }));
    at("x-horizon").addEventListener("change", e => change({ t: Number(e.target.value) }));
    at("x-view").addEventListener("change", e => change({ view: e.target.value }));
    at("x-delta").addEventListener("change", e => change({ d: Number(e.target.value) }));
    at("x-regret-budgets").addEventListener("click", e => {
      if (e.target.tagName === "BUTTON")
        change({ e: data.epsilons.indexOf(Number(e.target.value)) });
    });
    for (const part of ["regret", "found"])
      at(`x-${part}-names`).addEventListener("change", e => {
        const chosen = new Set(state[part]);
        if (e.target.checked) chosen.add(e.target.value); else chosen.delete(e.target.value);
        change({ [part]: chosen });
      });
    for (const each of document.querySelectorAll(".explorer-form, .explorer-own"))
      each.addEventListener("submit", e => e.preventDefault());
    window.addEventListener("hashchange", () => {
      if (location.hash.includes("=") || (location.search && location.hash)) visit();
    });
    // Figures are drawn to the width that they have: again when it changes.
    let width = at("x-time-plot").clientWidth;
    new ResizeObserver(() => {
      if (at("x-time-plot").clientWidth === width) return;
      width = at("x-time-plot").clientWidth;
      show();
    }).observe(at("x-time-plot"));
  }

  script("explorer-data.js", () => window.explorerData).then(async content => {
    data = content;
    await load(address().get("instance"));
    at("x-problem").hidden = true;
    for (const each of document.querySelectorAll(".explorer-form, .explorer-own"))
      each.hidden = false;
    listen();
    await visit();
  }).catch(complain);
})();
