// Shows the figures of one chapter or paper, as the address says: ?chapter=3&paper=ss19.
// Without this script all figures are shown, and the form stays hidden.
"use strict";

(() => {
  const form = document.querySelector("form.page-filter");
  if (!form) return;
  const fields = [...form.querySelectorAll("select")];
  const said = form.querySelector("output");
  const figures = [...document.querySelectorAll(".bd-article .figure-entry")];
  const groups = [...new Set(figures.map(figure => figure.closest("section")))];

  function show() {
    const wanted = fields.filter(field => field.value)
      .map(field => `${field.name}-${field.value}`);
    for (const figure of figures)
      figure.hidden = !wanted.every(name => figure.classList.contains(name));
    for (const group of groups)
      group.hidden = !figures.some(figure => !figure.hidden && group.contains(figure));
    const shown = figures.filter(figure => !figure.hidden).length;
    said.textContent = shown ? `${shown} of ${figures.length} figures shown.`
      : `None of ${figures.length} figures is so.`;
  }

  function read() {
    const asked = new URLSearchParams(location.search);
    for (const field of fields) {
      const value = (asked.get(field.name) || "").toLowerCase();
      field.value = [...field.options].some(option => option.value === value) ? value : "";
    }
    show();
  }

  function write() {
    const asked = new URLSearchParams();
    for (const field of fields) if (field.value) asked.set(field.name, field.value);
    const query = asked.toString();
    history.replaceState(null, "", location.pathname + (query ? `?${query}` : ""));
    show();
  }

  // A link to a figure or a chapter that is filtered away shows all figures.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]")) return;
    for (const field of fields) field.value = "";
    write();
    target.scrollIntoView();
  }

  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("change", write);
  form.addEventListener("reset", () => setTimeout(write));
  window.addEventListener("hashchange", reveal);
  window.addEventListener("popstate", read);
  form.hidden = false;
  read();
  reveal();
})();
