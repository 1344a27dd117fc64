// What scrolls sideways in its own box, on a narrow screen, can be reached and scrolled by keyboard;
// what unfolds the list of pages says what it unfolds, and a report of an error names its section.
"use strict";

(() => {
  const BOXES = ".bd-article mjx-container, .bd-article div.math, .bd-article table, "
    + ".bd-article figure, .bd-article pre, .bd-article div.table-wrapper, "
    + ".bd-article .pst-scrollable-table-container, .bd-article .output.text_html";

  // A formula within a line is cut only where it is as wide as the line; a short one, whose signs
  // stand out of its box, does not fade.
  function fits(box) {
    if (!box.matches('mjx-container:not([display="true"])')) return false;
    const line = box.closest("p, li, dd, dt, td, th, figcaption, div");
    return line !== null && box.clientWidth < 0.7 * line.clientWidth;
  }

  function reach() {
    for (const box of document.querySelectorAll(BOXES)) {
      const scrolls = box.scrollWidth > box.clientWidth + 1
        && /auto|scroll/.test(getComputedStyle(box).overflowX);
      if (scrolls && box.getAttribute("tabindex") !== "0") {
        box.tabIndex = 0;
        box.dataset.scrolls = fits(box) ? "short" : "";
      } else if (!scrolls && "scrolls" in box.dataset) {
        box.removeAttribute("tabindex");
        delete box.dataset.scrolls;
      }
    }
  }

  for (const fold of document.querySelectorAll("nav details > summary")) {
    const link = fold.closest("li")?.querySelector("a");
    if (link && !fold.textContent.trim()) fold.ariaLabel = `Pages below “${link.textContent.trim()}”`;
  }

  // A report of an error names the section that is being read.
  document.querySelector("a.report-error")?.addEventListener("click", event => {
    const link = event.currentTarget;
    link.dataset.address ??= link.href;
    link.href = link.dataset.address + encodeURIComponent(window.location.hash.slice(1));
  });

  let waiting;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(reach, 100); };
  window.addEventListener("resize", later);
  document.fonts.addEventListener("loadingdone", later);
  document.addEventListener("toggle", later, true);
  window.addEventListener("load", async () => {
    if (window.MathJax && MathJax.startup && MathJax.startup.promise) await MathJax.startup.promise;
    reach();
  });
})();
