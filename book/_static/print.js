// Paper is white: a page that is read in the dark is printed in the light theme.
"use strict";

(() => {
  const root = document.documentElement;
  let theme = null;
  function change(printing) {
    if (printing && root.dataset.theme === "dark") {
      theme = root.dataset.theme;
      root.dataset.theme = "light";
    } else if (!printing && theme) {
      root.dataset.theme = theme;
      theme = null;
    }
  }
  const paper = window.matchMedia("print");
  paper.addEventListener("change", () => change(paper.matches));
  window.addEventListener("beforeprint", () => change(true));
  window.addEventListener("afterprint", () => change(false));
})();
