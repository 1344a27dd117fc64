// Offers the book as one file, on its first page and in the menu of each, where `make pdf` has made
// the file: it writes the size into this script. A build of the pages writes null again.
"use strict";

(() => {
  const MEGABYTES = null;
  if (MEGABYTES === null) return;
  const address = new URL("private-bandits.pdf", document.currentScript.src).href;

  function link(text, style) {
    const made = document.createElement("a");
    made.href = address;
    made.className = style;
    made.textContent = text;
    return made;
  }

  const menu = document.querySelector(".dropdown-download-buttons .dropdown-menu");
  if (menu) {
    const entry = document.createElement("li");
    entry.append(link(`Whole book: PDF, ${MEGABYTES} MB`, "btn btn-sm dropdown-item download-book"));
    menu.append(entry);
  }
  const doors = document.querySelector(".bd-article .doors");
  if (doors) {
    const line = document.createElement("p");
    line.className = "download-line";
    line.append("Download: ", link(`PDF, ${MEGABYTES} MB`, "download-book"));
    doors.after(line);
  }
})();
