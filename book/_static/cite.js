// "Cite a number": a button under a chapter's title shows a sign at each figure, table and number of
// the page. A sign copies the sentence, the name, the version and a BibTeX entry.
"use strict";

(() => {
  const meta = document.querySelector('meta[name="book-citation"]');
  const title = document.querySelector(".bd-article h1");
  if (!meta || !title) return;
  const book = JSON.parse(meta.content);
  const SIGNS = ".bd-article figure[id], .bd-article table[id], .bd-article .pasted-text[id]";

  const plain = (node) => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll(".cite-sign, .headerlink, script, mjx-assistive-mml").forEach((one) => one.remove());
    return copy.textContent.replace(/\s+/g, " ").trim();
  };

  // The sentence of a text that a place lies in.
  function sentence(node, inside) {
    const marker = "\u2060\u2060";
    const sign = document.createTextNode(marker);
    inside.before(sign);
    const text = plain(node);
    sign.remove();
    const at = text.indexOf(marker);
    const ends = [...text.matchAll(/[.!?](?=\s+[A-Z(“"]|$)/g)].map((end) => end.index + 1);
    const from = Math.max(0, ...ends.filter((end) => end <= at));
    const to = ends.find((end) => end > at) ?? text.length;
    return text.slice(from, to).replaceAll(marker, "").trim();
  }

  function said(node) {
    if (node.matches("figure")) return plain(node.querySelector("figcaption") ?? node).split(". ")[0];
    if (node.matches("table")) {
      const caption = node.querySelector("caption");
      if (caption) return plain(caption);
      let before = node.closest("div.cell, .table-wrapper, .pst-scrollable-table-container") ?? node;
      while (before && before.tagName !== "P") before = before.previousElementSibling;
      return before ? plain(before) : "";
    }
    return sentence(node.closest("p, li, td, dd, figcaption") ?? node.parentElement, node);
  }

  const named = (node) => `${book.chapter}:${node.id.replace(/^n-/, "")}`;
  const kind = (node) => (node.matches("figure") ? "Figure" : node.matches("table") ? "Table" : "Number");

  function entry(node) {
    const name = node.matches("figure") ? node.id : named(node);
    const fields = {
      author: `{${book.author}}`,
      title: `{${kind(node)} \\texttt{${name.replaceAll("_", "\\_")}}}`,
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
  (document.querySelector(".bd-article .quiet") ?? title).after(line);
})();
