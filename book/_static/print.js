// Paper is white: a page that is read in the dark is printed in the light theme. And it has all
// figures, also those that the reader has not come to.
"use strict";

(() => {
  const root = document.documentElement;
  let theme = null;
  function change(printing) {
    if (printing)
      for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager";
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
