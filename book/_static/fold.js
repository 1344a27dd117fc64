// A link into a proof that is folded away opens it, and so does a word that the search has marked;
// its target stays in sight while the page above it still grows.
"use strict";

(() => {
  const typeset = async () => {
    if (window.MathJax && MathJax.startup && MathJax.startup.promise) await MathJax.startup.promise;
  };

  function unfold(node) {
    for (let at = node; at; at = at.parentElement)
      if (at instanceof HTMLDetailsElement) at.open = true;
  }

  function target() {
    if (location.hash.length < 2) return null;
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* no encoding */ }
    const found = document.getElementById(name);
    return found && found.closest(".bd-article") ? found : null;
  }

  const GROWS = 5000;  // milliseconds in which pictures and formulas may still move what is below
  const READS = ["wheel", "touchstart", "pointerdown", "keydown"];  // the reader has gone on
  let stay = () => {};

  function show(node, block) {
    stay();
    const there = () => node.scrollIntoView({ behavior: "instant", block });
    const watch = new ResizeObserver(there);
    const stop = () => {
      watch.disconnect();
      for (const sign of READS) window.removeEventListener(sign, stop);
    };
    for (const sign of READS) window.addEventListener(sign, stop, { passive: true });
    setTimeout(stop, GROWS);
    stay = stop;
    there();
    watch.observe(document.querySelector(".bd-article"));
  }

  function goThere() {
    const found = target();
    if (!found) return;
    unfold(found);
    show(found, "start");
  }

  window.addEventListener("hashchange", goThere);
  // A second click on one link changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a[href*='#']");
    if (link && link.href === location.href) setTimeout(goThere);
  });

  const MARKED = 100;  // milliseconds, after which the search has marked its words
  window.addEventListener("load", async () => {
    await Promise.all([typeset(), new Promise((done) => setTimeout(done, MARKED))]);
    const marked = document.querySelectorAll(".bd-article .highlighted");
    for (const node of marked) unfold(node);
    if (target()) goThere();
    else if (marked.length) show(marked[0], "center");
  });
})();
