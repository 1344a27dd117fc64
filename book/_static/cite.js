// "Cite a number": a button under a page's title shows a sign at each figure, table and number of
// the page. A sign copies the sentence, the name, the version and a BibTeX entry.
"use strict";

(() => {
  const meta = document.querySelector('meta[name="book-citation"]');
  const title = document.querySelector(".bd-article h1");
  if (!meta || !title) return;
  const book = JSON.parse(meta.content);
  const SIGNS = ".bd-article figure[id], .bd-article table[id], .bd-article .pasted-text[id]";

  const PLACEHOLDER = /[\uE000-\uF8FF]/g;
  const SHORTENED = /(?:^|[^\w.])(?:Figs?|Theorem|Thm|Eqs?|Sec|Prop|Lem|Cor|Def|Ch|No|vs|cf|al|resp|approx|e\.g|i\.e)\.$|^\s*\d+\.$/;
  const FEWEST = 4; // words of a sentence that can be cited alone

  // What the formulas of the page were written as.
  function sources() {
    const known = new Map();
    for (const one of window.MathJax?.startup?.document?.math ?? [])
      if (one.typesetRoot) known.set(one.typesetRoot, one.math);
    return known;
  }

  // A text without what is not read; a formula is one sign, and `whole` puts its source there.
  function reader(node) {
    const known = sources();
    const formulas = [];
    const copy = node.cloneNode(true);
    const held = (tex) => String.fromCharCode(0xe000 + formulas.push(`$${tex.trim()}$`) - 1);
    const originals = [...node.querySelectorAll("mjx-container")];
    [...copy.querySelectorAll("mjx-container")].forEach((one, at) =>
      one.replaceWith(held(known.get(originals[at]) ?? one.querySelector("mjx-assistive-mml")?.textContent ?? "")));
    const raw = (text) => text.replace(/^\s*\\[([]|\\[)\]]\s*$/g, "");
    copy.querySelectorAll(".math").forEach((one) => {
      if (!one.textContent.match(PLACEHOLDER)) one.replaceWith(held(raw(one.textContent)));
    });
    copy.querySelectorAll(".cite-sign, .headerlink, .section-number, script, style").forEach((one) => one.remove());
    const text = copy.textContent.replace(/[ \t\r\n]+/g, " ").trim();
    const whole = (part) => part.replace(PLACEHOLDER, (sign) => formulas[sign.charCodeAt(0) - 0xe000] ?? sign);
    return [text, whole];
  }

  const plain = (node) => {
    const [text, whole] = reader(node);
    return whole(text);
  };

  // Where the sentences of a text end; none does after a shortened word or before a small letter.
  function divided(text) {
    const found = [];
    let start = 0;
    for (const end of text.matchAll(/[.!?][”’"')]*(?=\s+[^a-z\s]|\s*$)/g)) {
      if (SHORTENED.test(text.slice(start, end.index + 1))) continue;
      found.push(text.slice(start, end.index + end[0].length));
      start = end.index + end[0].length;
    }
    return text.slice(start).trim() ? [...found, text.slice(start)] : found;
  }

  // One of the sentences, with a neighbour if it is too short alone.
  function longEnough(known, at) {
    let [first, last] = [at, at + 1];
    const words = () => known.slice(first, last).join(" ").trim().split(/\s+/).length;
    while (words() < FEWEST && last - first < known.length) {
      if (first) first -= 1;
      else last += 1;
    }
    return known.slice(first, last).map((one) => one.trim()).join(" ");
  }

  // The sentence of a text that a place lies in.
  function sentence(node, inside) {
    const marker = "\u2060\u2060";
    const sign = document.createTextNode(marker);
    inside.before(sign);
    const [text, whole] = reader(node);
    sign.remove();
    const known = divided(text);
    const at = known.findIndex((one) => one.includes(marker));
    return whole(longEnough(known, Math.max(at, 0))).replaceAll(marker, "").trim();
  }

  function first(node) {
    const [text, whole] = reader(node);
    return whole(longEnough(divided(text), 0));
  }

  // A table without a caption is said by its heading and by what its columns have.
  function columns(node) {
    const heading = node.closest("section")?.querySelector("h1, h2, h3, h4, h5, h6") ?? title;
    const heads = [...node.querySelectorAll("thead th")].map(plain).filter(Boolean);
    return `Table ${node.id.replace(/^table-/, "")}, in “${plain(heading)}”: ${heads.join("; ")}.`;
  }

  function said(node) {
    if (node.matches("figure")) {
      const caption = node.querySelector(".caption-text") ?? node.querySelector("figcaption");
      return caption ? first(caption) : node.querySelector("img")?.alt ?? node.id;
    }
    if (node.matches("table")) {
      const caption = node.querySelector("caption");
      return caption ? plain(caption.querySelector(".caption-text") ?? caption) : columns(node);
    }
    return sentence(node.closest("p, li, td, dd, figcaption") ?? node.parentElement, node);
  }

  const named = (node) => `${book.chapter}:${node.id.replace(/^n-/, "")}`;
  const kind = (node) => (node.matches("figure") ? "Figure" : node.matches("table") ? "Table" : "Number");

  function entry(node) {
    const known = book.figures[node.id];
    const name = known ? known[0] : node.matches("figure") ? node.id : named(node);
    const fields = {
      author: `{${book.author}}`,
      title: `{${known ? known[1] : `${kind(node)} \\texttt{${name.replaceAll("_", "\\_")}}`}}`,
      howpublished: `${book.title}, version ${book.version}`,
      year: String(book.year),
    };
    const width = Math.max(...Object.keys(fields).map((field) => field.length));
    const lines = Object.entries(fields).map(([field, value]) => `  ${field.padEnd(width)} = {${value}}`);
    return [name, `@misc{dpbandits-${name.replace(":", "-")},\n${lines.join(",\n")}\n}`];
  }

  const status = document.createElement("span");
  status.className = "cite-status";
  status.setAttribute("role", "status");

  async function copy(node) {
    const [name, bibtex] = entry(node);
    const page = location.pathname.split("/").slice(-2).join("/");
    const text = `${said(node)} (${book.title}, version ${book.version}, ${name}, ${page}#${node.id})\n\n${bibtex}\n`;
    window.lastCitation = text;
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = `Copied: ${name}`;
    } catch {
      status.textContent = `This browser does not let pages copy. The name is ${name}; companion cite ${name} prints the rest.`;
    }
  }

  function sign(node) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cite-sign";
    button.textContent = "cite";
    button.ariaLabel = `Cite ${kind(node).toLowerCase()} ${node.id.replace(/^n-/, "")}`;
    button.addEventListener("click", () => copy(node));
    if (node.matches(".pasted-text")) node.after(button);
    else node.before(button);
  }

  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "cite-toggle";
  toggle.textContent = "Cite a number";
  toggle.ariaPressed = "false";
  toggle.addEventListener("click", () => {
    const on = toggle.ariaPressed !== "true";
    toggle.ariaPressed = String(on);
    status.textContent = on ? "Each sign copies its sentence, name, version and BibTeX." : "";
    document.querySelectorAll(".cite-sign").forEach((one) => one.remove());
    if (on) document.querySelectorAll(SIGNS).forEach(sign);
  });
  const line = document.createElement("p");
  line.className = "cite-line";
  line.append(toggle, " ", status);
  // The first page has its picture first.
  (document.querySelector(".bd-article .doors") ?? document.querySelector(".bd-article .quiet") ?? title).after(line);
})();
