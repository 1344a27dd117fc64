// The list of the page's sections marks the one that is being read, and follows the reader. The
// theme's own marks a section only while a tenth of it is on the screen, which a long one never is.
"use strict";

(() => {
  document.body.removeAttribute("data-bs-spy");
  const list = document.querySelector(".bd-sidebar-secondary");
  const entries = [];
  for (const link of list ? list.querySelectorAll("nav.page-toc a[href^='#']") : []) {
    const place = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (place) entries.push({ link, place, block: place.closest("section, dl") ?? place });
  }
  if (!entries.length) return;

  const LINE = 0.2;  // where the reader reads, as a share of the window's height from its top
  let marked = null;
  let chosen = null;  // what the reader has clicked on, until the next move of one's own

  // The line sinks to the foot of the window as the page ends, so that a last short section has its turn.
  function line() {
    const root = document.documentElement;
    const left = root.scrollHeight - root.clientHeight - window.scrollY;
    const sunk = Math.max(0, 1 - left / (root.clientHeight / 2));
    return root.clientHeight * (LINE + (1 - LINE) * sunk);
  }

  function current() {
    const here = line();
    let [found, next] = [null, null];
    for (const entry of entries) {
      const [box] = entry.place.getClientRects();
      if (!box) continue;  // folded away or filtered out
      if (entry === chosen && box.top >= 0 && box.top < window.innerHeight) return entry;
      if (box.top <= here) {
        if (entry.block.getBoundingClientRect().bottom > 0) found = entry;
      } else if (!next && box.top < window.innerHeight) next = entry;
    }
    return found ?? next;
  }

  function mark() {
    const entry = current();
    if (entry === marked) return;
    marked = entry;
    const on = new Set();
    for (let at = entry?.link.closest("li"); at; at = at.parentElement.closest("li"))
      on.add(at.querySelector("a"));
    for (const { link } of entries) link.classList.toggle("active", on.has(link));
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    if (!entry) return;
    entry.link.setAttribute("aria-current", "true");
    const [box, row] = [list.getBoundingClientRect(), entry.link.getBoundingClientRect()];
    if (row.top < box.top + 40 || row.bottom > box.bottom - 40)
      list.scrollTop += row.top - box.top - box.height / 3;
  }

  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  }
  list.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a");
    chosen = entries.find((entry) => entry.link === link) ?? null;
    later();
  });
  for (const move of ["wheel", "touchmove", "keydown"])
    window.addEventListener(move, () => { chosen = null; }, { passive: true });
  for (const change of ["scroll", "resize", "load"]) window.addEventListener(change, later, { passive: true });
  document.addEventListener("toggle", later, true);
  new ResizeObserver(later).observe(document.querySelector(".bd-article") ?? document.body);
  later();
})();
