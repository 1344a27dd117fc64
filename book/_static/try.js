// One trial by hand: it runs step by step, beside the same trial with one outcome flipped. All numbers
// come from one seed: outcomes of patients from one stream, noise from another, the same in both.
// `PrivateTrial` is the engine; tests in a browser compare its frequencies with the package.
"use strict";

const PrivateTrial = (() => {
  // sfc32, seeded by words that are mixed from a text
  function stream(text) {
    const s = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1];
    for (const c of text)
      for (let i = 0; i < 4; i++) s[i] = Math.imul(s[i] ^ c.charCodeAt(0), 0x01000193 + 2 * i) + i | 0;
    const next = () => {
      const t = (s[0] + s[1] | 0) + s[3] | 0;
      s[3] = s[3] + 1 | 0;
      s[0] = s[1] ^ s[1] >>> 9;
      s[1] = s[2] + (s[2] << 3) | 0;
      s[2] = (s[2] << 21 | s[2] >>> 11) + t | 0;
      return t >>> 0;
    };
    for (let i = 0; i < 20; i++) next();
    return () => ((next() >>> 5) * 67108864 + (next() >>> 6) + 0.5) / 9007199254740992;
  }

  function laplace(uniform, scale) {
    const u = uniform() - 0.5;
    return -scale * Math.sign(u) * Math.log(1 - 2 * Math.abs(u));
  }

  // P(a Laplace variable of this scale is at least x)
  const above = (x, scale) => x > 0 ? Math.exp(-x / scale) / 2 : 1 - Math.exp(x / scale) / 2;

  // Outcomes 0 and 1 of the patients of each arm, in their order. `change` is what flipping the marked
  // patient's outcome adds to the sum of the last request; `flips` does it.
  const MARKED = { arm: 0, patient: 7 };

  class Patients {
    constructor(seed, means, flips) {
      this.streams = means.map((_, arm) => stream(`patients ${seed} ${arm}`));
      this.means = means;
      this.flips = flips;
      this.seen = means.map(() => 0);
      this.change = 0;
    }

    total(arm, size) {
      let sum = 0;
      this.change = 0;
      for (let i = 0; i < size; i++) {
        const outcome = this.streams[arm]() < this.means[arm] ? 1 : 0;
        this.seen[arm] += 1;
        sum += outcome;
        if (arm === MARKED.arm && this.seen[arm] === MARKED.patient) {
          this.change = 1 - 2 * outcome;
          if (this.flips) sum += this.change;
        }
      }
      return sum;
    }
  }

  // log of how much likelier this noise is than noise that makes up for a change of the sum
  const tilt = (noise, change, scale) => (Math.abs(noise - change) - Math.abs(noise)) / scale;

  // Sajed & Sheffet (2019), Algorithm 3: DP successive elimination, with β = 1/T.
  function epoch(viable, number, beta, epsilon) {
    const gap = 0.5 ** number, union = viable * number * number;
    const sampling = Math.log(8 * union / beta), hidden = Math.log(4 * union / beta);
    const length = Math.max(32 * sampling / gap ** 2, 8 * hidden / (epsilon * gap)) + 1;
    const threshold = 2 * Math.sqrt(sampling / (2 * length)) + 2 * hidden / (length * epsilon);
    return { pulls: Math.ceil(length), threshold };
  }

  function* elimination({ epsilon, horizon }, patients, noise) {
    let viable = patients.means.map((_, arm) => arm), used = 0;
    for (let number = 1; viable.length > 1; number++) {
      const plan = epoch(viable.length, number, 1 / horizon, epsilon);
      if (used + plan.pulls * viable.length > horizon) break;
      used += plan.pulls * viable.length;
      const rows = release(viable, plan.pulls, 1 / epsilon, patients, noise);
      const best = Math.max(...rows.map(row => row.released));
      for (const row of rows) row.stays = (best - row.released) / plan.pulls <= plan.threshold;
      viable = rows.filter(row => row.stays).map(row => row.arm);
      const out = rows.filter(row => !row.stays).map(row => row.arm);
      yield { title: `Epoch ${number}`, rows, out, kept: viable, patients: plan.pulls };
    }
    yield { title: "The rest", rows: [], out: [], kept: viable, patients: horizon - used, last: true };
  }

  // Patients of each arm, and the sums of their outcomes with Laplace noise.
  function release(arms, size, scale, patients, noise) {
    return arms.map(arm => {
      const secret = patients.total(arm, size), change = patients.change, z = laplace(noise, scale);
      return { arm, patients: size, secret, noise: z, released: secret + z, change, scale };
    });
  }

  function* oneLook({ epsilon, horizon, perArm }, patients, noise) {
    const arms = patients.means.map((_, arm) => arm);
    const rows = release(arms, perArm, 1 / epsilon, patients, noise);
    const best = Math.max(...rows.map(row => row.released));
    for (const row of rows) row.stays = row.released === best;
    const out = rows.filter(row => !row.stays).map(row => row.arm);
    const kept = rows.filter(row => row.stays).map(row => row.arm);
    yield { title: "The look", rows, out, kept, patients: perArm };
    const rest = horizon - perArm * arms.length;
    yield { title: "The rest", rows: [], out: [], kept, patients: rest, last: true };
  }

  // A binary tree: the sum at n has the noise of the node that ends there and of those before it.
  function* counter({ epsilon, length }, patients, noise) {
    const scale = (Math.floor(Math.log2(length)) + 1) / epsilon, prefix = [0];
    let secret = 0, changed = 0;
    for (let n = 1; n <= length; n++) {
      secret += patients.total(0, 1);
      changed += patients.change;
      const before = n & n - 1, z = laplace(noise, scale);
      prefix[n] = prefix[before] + z;
      const change = before < MARKED.patient && MARKED.patient <= n ? changed : 0;
      yield { title: `Patient ${n}`, rows: [{ arm: 0, patients: n, secret, noise: prefix[n],
        released: secret + prefix[n], change, node: z, scale }], out: [], kept: [0], last: n === length };
    }
  }

  // Sajed & Sheffet (2019), Algorithm 2: looks at 2, 4, 8, … patients, outcomes in [−1, 1].
  function boundary(look, { epsilon, alpha, beta }) {
    const n = 2 ** look, width = Math.sqrt(2 / n * Math.log(16 * look * look / beta));
    const c = 12 / epsilon * (Math.log(4 / beta) + Math.log(8 * look * look / beta))
      + 4 / (alpha * epsilon) * Math.log(4 / beta);
    return n * width * (1 + 1 / alpha) + c;
  }

  function* stopping(plan, patients, noise) {
    const scale = 12 / plan.epsilon, shared = laplace(noise, scale);
    let secret = 0, changed = 0;
    for (let look = 1; look <= 24; look++) {
      const size = look === 1 ? 2 : 2 ** (look - 1);
      secret += patients.total(0, size);
      changed += patients.change;
      const own = laplace(noise, scale), least = boundary(look, plan);
      const halts = Math.abs(secret) >= least + shared + own;
      const z = halts ? laplace(noise, 4 / plan.epsilon) : 0;
      yield { title: `Look ${look}`, rows: [{ arm: 0, patients: 2 ** look, secret, noise: z, change: changed,
        least, halts, released: halts ? (secret + z) / 2 ** look : null, scale: 4 / plan.epsilon }],
        out: [], kept: [0], look, halts, last: halts };
      if (halts) return;
    }
  }

  // log of how much likelier these looks are on the sums as they are than with the flipped outcome
  function haltingOdds(rows, { epsilon }) {
    const scale = 12 / epsilon, steps = 4000, wide = 40 * scale;
    const chance = flips => {
      let sum = 0;
      for (let i = 0; i <= steps; i++) {
        const shared = wide * (2 * i / steps - 1);
        let p = Math.exp(-Math.abs(shared) / scale);
        for (const row of rows) {
          const total = Math.abs(row.secret + (flips ? row.change : 0));
          const goesOn = above(total - row.least - shared, scale);
          p *= row.halts ? 1 - goesOn : goesOn;
        }
        sum += p * (i === 0 || i === steps ? 1 : i % 2 ? 4 : 2);
      }
      return sum;
    };
    return Math.log(chance(false) / chance(true));
  }

  const DESIGNS = { elimination, oneLook, counter, stopping };

  // The steps of a trial; the marked patient's outcome is flipped if `flips`.
  function run(design, plan, seed, flips = false) {
    return DESIGNS[design](plan, new Patients(seed, plan.means, flips), stream(`noise ${seed}`));
  }

  // log of the odds of all that was released in these steps, against the flipped outcome
  function odds(design, plan, steps) {
    const rows = steps.flatMap(step => step.rows);
    if (design === "stopping") {
      const last = rows[rows.length - 1];
      return haltingOdds(rows, plan) + (last.halts ? tilt(last.noise, last.change, last.scale) : 0);
    }
    return rows.reduce((sum, row) => sum + tilt(row.node ?? row.noise, row.change, row.scale), 0);
  }

  return { run, odds, epoch, boundary, stream, laplace };
})();

(() => {
  const at = id => document.getElementById(id);
  if (!at("t-form")) return;
  const ARMS = ["A", "B", "C"];
  const SHARES = { clear: [0.8, 0.5, 0.2], close: [0.6, 0.5, 0.5], none: [0.5, 0.5, 0.5] };
  let steps, twins, plan, design;

  const number = (x, digits = 1) => x.toFixed(digits).replace("-", "\u2212")
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  const signed = x => `${x < 0 ? "\u2212" : "+"}${number(Math.abs(x))}`;

  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function planned() {
    const arms = design === "elimination" || design === "oneLook" ? Number(at("t-arms").value) : 1;
    return { epsilon: Number(at("t-epsilon").value), horizon: 100000, perArm: 50, length: 16, alpha: 0.5,
      beta: 0.05, means: SHARES[at("t-shares").value].slice(0, arms) };
  }

  const names = arms => arms.map(arm => ARMS[arm]).join(", ");

  function said(step) {
    if (design === "counter") return "";
    if (design === "stopping")
      return step.halts ? `It halts, and releases the share ${number(step.rows[0].released, 3)}.` : "It goes on.";
    if (step.last) return `${number(step.patients, 0)} patients have ${names(step.kept)}.`;
    return step.out.length ? `${names(step.out)} is dropped.`.replace(/(.*),(.*) is/, "$1,$2 are") : "All stay.";
  }

  function lines(step) {
    return step.rows.map(row => make("tr", {},
      make("th", { scope: "row" }, plan.means.length > 1 ? `${step.title}, ${ARMS[row.arm]}` : step.title),
      make("td", {}, number(row.patients, 0)), make("td", { class: "secret" }, number(row.secret, 0)),
      make("td", { class: "secret" }, design === "stopping" ? "hidden" : signed(row.noise)),
      make("td", {}, row.released === null ? "not yet" : number(row.released, design === "stopping" ? 3 : 1))));
  }

  function story(id, done) {
    const head = ["Step", "Patients", "Secret sum", "Noise", "Released"];
    const body = done.flatMap(step => [...lines(step), ...(said(step) ? [make("tr", { class: "said" },
      make("td", { colspan: 5 }, said(step)))] : [])]);
    at(id).querySelector("thead").replaceChildren(
      make("tr", {}, ...head.map(word => make("th", { scope: "col" }, word))));
    at(id).querySelector("tbody").replaceChildren(...body);
  }

  function show() {
    const over = steps.done && twins.done;
    story("t-real", steps.seen);
    story("t-twin", twins.seen);
    at("t-next").disabled = at("t-end").disabled = over;
    const epsilon = plan.epsilon, most = number(Math.exp(epsilon), 2);
    let text = "Nothing is released yet.";
    if (steps.seen.length) {
      const log = PrivateTrial.odds(design, plan, steps.seen), times = number(Math.exp(Math.abs(log)), 2);
      text = Math.abs(log) < 5e-3
        ? "What was released so far on the left is as likely with patient 7\u2019s other outcome."
        : `What was released so far on the left is ${times} times as likely with patient 7\u2019s `
          + (log > 0 ? "true outcome as with the other one." : "other outcome as with the true one.");
      text += ` Whatever is released, privacy with ε = ${at("t-epsilon").value} promises at most ${most} times.`;
    }
    at("t-said").textContent = text;
  }

  function begin() {
    design = at("t-design").value;
    plan = planned();
    at("t-arms").disabled = plan.means.length === 1;
    const seed = at("t-seed").value;
    const beginning = flips => ({ program: PrivateTrial.run(design, plan, seed, flips), seen: [], done: false });
    steps = beginning(false);
    twins = beginning(true);
    show();
  }

  function step() {
    for (const each of [steps, twins]) {
      if (each.done) continue;
      const { value, done } = each.program.next();
      if (value) each.seen.push(value);
      each.done = done || Boolean(value && value.last);
    }
  }

  at("t-form").hidden = false;
  at("t-problem").remove();
  at("t-form").addEventListener("submit", event => event.preventDefault());
  for (const id of ["t-design", "t-arms", "t-epsilon", "t-shares", "t-seed"])
    at(id).addEventListener("change", begin);
  at("t-next").addEventListener("click", () => { step(); show(); });
  at("t-end").addEventListener("click", () => { while (!(steps.done && twins.done)) step(); show(); });
  at("t-other").addEventListener("click", () => { at("t-seed").value = Number(at("t-seed").value) + 1; begin(); });
  begin();
})();
