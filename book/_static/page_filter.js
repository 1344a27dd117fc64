// Shows some of the items of a page, as its form and the address say: ?paper=ss19&verdict=fails.
// The form says what it filters (data-items, a selector), what of it is counted (data-counted), what
// that is called (data-noun), and where on the page the address leads (data-anchor). An item is
// shown if it has the class NAME-VALUE for each field that is chosen.
// Without this script all items are shown, and the form stays hidden.
"use strict";

(() => {
  const form = document.querySelector("form.page-filter");
  if (!form) return;
  const { items: selector, counted, noun, anchor } = form.dataset;
  const fields = [...form.querySelectorAll("select")];
  const said = form.querySelector("output");
  const items = [...document.querySelectorAll(`.bd-article ${selector}`)];
  const sections = [...new Set(items.map(item => item.parentElement.closest("section")))]
    .filter(section => !section.contains(form));

  function show() {
    const wanted = fields.filter(field => field.value)
      .map(field => `${field.name}-${field.value}`);
    for (const item of items)
      item.hidden = !wanted.every(name => item.classList.contains(name));
    for (const section of sections)
      section.hidden = !items.some(item => !item.hidden && section.contains(item));
    const all = items.filter(item => item.matches(counted));
    const shown = all.filter(item => !item.hidden).length;
    said.textContent = shown ? `${shown} of ${all.length} ${noun} shown.`
      : `None of ${all.length} ${noun} matches.`;
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
    history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + anchor);
    show();
  }

  // A link to what is filtered away shows all items.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) {
      for (const field of fields) field.value = "";
      show();
    }
    if (target.matches("details")) target.open = true;
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
