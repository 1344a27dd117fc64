// Shows the claims of one paper, or with one verdict, as the address says: ?paper=ss19&verdict=fails.
// Without this script all claims are shown, and the form stays hidden.
"use strict";

(() => {
  const form = document.querySelector("form.claims-filter");
  if (!form) return;
  const fields = [...form.querySelectorAll("select")];
  const said = form.querySelector("output");
  const claims = [...document.querySelectorAll(".bd-article .claim")];
  const rows = claims.filter(node => node.tagName === "TR");
  const groups = [...new Set(claims.filter(node => node.tagName === "SECTION")
    .map(node => node.parentElement))];

  function show() {
    const wanted = fields.filter(field => field.value)
      .map(field => `${field.name}-${field.value}`);
    for (const node of claims)
      node.hidden = !wanted.every(name => node.classList.contains(name));
    for (const group of groups)
      group.hidden = ![...group.children].some(
        node => node.classList.contains("claim") && !node.hidden);
    const shown = rows.filter(row => !row.hidden).length;
    said.textContent = shown ? `${shown} of ${rows.length} claims shown.`
      : `None of ${rows.length} claims is so.`;
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
    history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + "#all-claims");
    show();
  }

  // A link to a claim that is filtered away shows all claims; either way it goes to the claim.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = target && target.closest("section.claim");
    if (!section) return;
    if (section.hidden) {
      for (const field of fields) field.value = "";
      show();
    }
    section.scrollIntoView();
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
