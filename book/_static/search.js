// The search: ranks what `book_search` has listed, while the reader types.
(() => {
  const MOST = 60;
  const KINDS = {
    section: ["", 30], theorem: ["theorem", 28], figure: ["figure", 24], claim: ["claim", 20],
    card: ["gallery", 10], proof: ["proof", 0], code: ["package", 4],
  };
  const PARTS = { chapter: 60, page: 25, appendix: 5, reference: 0 };

  const fold = (text) => text.toLowerCase().replace(/[‐-―−]/g, "-").replace(/[ \u2009\u202f]/g, " ");
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // "Figure 3.1" and "fig 3.1" mean what captions call "Fig. 3.1"; so for the other kinds.
  const SAME = { figure: "fig.", fig: "fig.", thm: "theorem", alg: "algorithm", lem: "lemma",
    prop: "proposition", cor: "corollary", def: "definition" };
  // "10^7" means what excerpts write as "10⁷".
  const raised = (digits) => digits.replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(sign)]);
  // "dpbandits.regret.DPSE" and "dpb.DPSE" mean the name at their end.
  const normal = (query) => fold(query).trim()
    .replace(/^(?:dpb|dpbandits|companion)\.(?:\w+\.)*(\w+)(?:\(\))?$/, "$1")
    .replace(/\^\{?(-?\d+)\}?/g, (power, digits) => raised(digits))
    .replace(/^(?:sec\.?\s*|§\s*)(?=\d)/, "section ")
    .replace(/(?<![\w-])([a-z]+)\.?(?=\s+\d)/g, (word, name) => SAME[name] ?? word);

  const starts = (text, word) => new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(word)}`, "u").test(text);
  const whole = (text, words) => new RegExp(`(^|[^\\p{L}\\p{N}.])${escaped(words)}(?![\\p{L}\\p{N}]|\\.\\d)`, "u").test(text);

  function prepare(data) {
    for (const one of data.entries) {
      one.title = fold(one.t);
      one.names = fold(one.n);
      one.text = fold(one.x);
      one.former = (one.o || "").split(" ");
      [, one.pageTitle, one.part] = data.pages[one.p];
      one.number = "";
      if (!["claim", "card", "code"].includes(one.k)) {
        one.number = (one.a ? one.names.replace(fold(one.a), "") : one.names).trim().replace(/\.$/, "");
        if (one.k === "section" && one.number) {
          one.number = `${one.a ? "section" : "chapter"} ${one.number}`;
          one.names = `${one.number} ${one.names}`;
        }
      }
    }
    return data.entries;
  }

  const dashed = (text) => text.replace(/\./g, "-");  // hyphens stand for dots in the places of a page
  const squeezed = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");
  // of what has the same number, what comes first
  const ORDER = ["fig.", "theorem", "section", "chapter"];
  const order = (number) => 2 * (ORDER.length - (ORDER.indexOf(number.split(" ")[0]) + 1 || ORDER.length));

  // Whether an entry is the box of the algorithm of this name: "DP-SE" is in the place alg-dpse.
  function isBox(one, query) {
    if (one.k !== "theorem" || !one.a.startsWith("alg-") || squeezed(query) === query) return false;
    return squeezed(one.a.slice(4)) === squeezed(query)
      || [" ", ","].some((end) => `${one.title} `.startsWith(query + end));
  }

  function score(one, query, words) {
    const id = one.a.replace(/^(?:claim|entry)-/, "");
    const former = one.former.some((old) => old && dashed(old) === dashed(query));
    const box = isBox(one, query);
    if (!former && !box && !words.every((word) => starts(one.title, word) || one.names.includes(word) || starts(one.text, word))) return 0;
    let points = KINDS[one.k][1] + PARTS[one.part];
    if (query === one.title || former || dashed(query) === dashed(fold(id))) points += 1000;
    else if (one.number && (one.number === query || one.number.endsWith(` ${query}`))) return 1050 + order(one.number);
    else if (box) points += 1000;
    else if (/\d/.test(query) && one.k !== "card" && whole(one.title, query)) points += one.k === "theorem" ? 850 : 750;
    else if (/\d/.test(query) && whole(one.names, query)) points += one.names.includes(`proof of ${query}`) ? 650 : 700;
    else if (whole(one.title, query)) points += 400 - Math.min(one.title.length, 100) / 4;
    else if (words.every((word) => starts(one.title, word))) points += 200 - Math.min(one.title.length, 100) / 4;
    else if (words.some((word) => starts(one.title, word))) points += 60;
    if (one.k === "proof" && points > 500) points -= 300;
    if (whole(one.text, query)) points += 15;
    if (!one.a) points += 20;
    return points;
  }

  // Ranked, best first; after the box of an algorithm comes the chapter that has it.
  function rank(entries, query, words) {
    const found = entries.map((one) => [score(one, query, words), one]);
    const homes = new Set(found.filter(([, one]) => one.part === "chapter" && isBox(one, query)).map(([, one]) => one.p));
    for (const pair of found) if (!pair[1].a && homes.has(pair[1].p)) pair[0] = Math.max(pair[0], 1070);
    return found.filter(([points]) => points > 0).sort(([a], [b]) => b - a);
  }

  function marked(text, words) {
    const node = document.createDocumentFragment();
    const pattern = new RegExp(`(${words.map(escaped).join("|")})`, "giu");
    text.split(pattern).forEach((piece, i) => {
      const part = i % 2 ? document.createElement("mark") : document.createTextNode(piece);
      if (i % 2) part.textContent = piece;
      node.append(part);
    });
    return node;
  }

  function excerpt(one, words) {
    const at = words.map((word) => one.text.indexOf(word)).filter((place) => place >= 0);
    const from = at.length ? Math.max(0, Math.min(...at) - 60) : 0;
    const start = from ? one.x.indexOf(" ", from) + 1 : 0;
    const cut = one.x.slice(start, start + 180);
    const end = start + 180 < one.x.length ? cut.slice(0, cut.lastIndexOf(" ")) + " …" : cut;
    return (start ? "… " : "") + end;
  }

  function show(one, pages, words) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    // what is found by words in the text alone is marked there; proofs that have them unfold
    const hidden = !words.every((word) => starts(one.title, word) || one.names.includes(word) || one.former.includes(word));
    const mark = hidden ? `?highlight=${encodeURIComponent(words.join(" "))}` : "";
    link.href = `${pages[one.p][0]}${mark}${one.a ? `#${one.a}` : ""}`;
    const number = one.n.replace(one.a, "").trim();
    link.textContent = number && !one.t.startsWith(number) ? `${number}${number.endsWith(".") ? "" : ":"} ${one.t}` : one.t;
    const where = document.createElement("span");
    where.className = "search-where";
    const kind = KINDS[one.k][0];
    const named = ["claim", "figure"].includes(kind) ? one.a.replace(/^(?:claim|entry)-/, "") : kind;
    const former = one.former.find((old) => old && dashed(fold(old)) === dashed(words.join(" ")));
    where.textContent = [one.a ? one.pageTitle : "", named, former && `formerly ${former}`].filter(Boolean).join(" · ");
    item.append(link, where);
    const words_ = excerpt(one, words);
    if (words_) {
      const text = document.createElement("p");
      text.append(marked(words_, words));
      item.append(text);
    }
    return item;
  }

  function start() {
    const field = document.querySelector(".bd-search-container input[type=search]");
    const summary = document.querySelector("#search-results .search-summary");
    const list = document.querySelector("#search-results ol");
    const data = window.searchEntries;
    if (!field || !data) {
      if (summary) summary.textContent = "The list of what can be found is missing: make html writes it.";
      return;
    }
    const entries = prepare(data);
    const look = () => {
      const query = normal(field.value);
      const words = query.split(/\s+/).filter(Boolean);
      list.replaceChildren();
      if (!words.length) {
        summary.textContent = "";
        return;
      }
      const found = rank(entries, query, words);
      const shown = found.slice(0, MOST);
      const pages = new Set(found.map(([, one]) => one.p)).size;
      summary.textContent = found.length
        ? `${found.length} ${found.length > 1 ? "places" : "place"} found, on ${pages} ${pages > 1 ? "pages" : "page"}`
          + (found.length > MOST ? `; the first ${MOST} are shown` : "")
        : "Nothing found. Try fewer words, or a part of a word.";
      list.append(...shown.map(([, one]) => show(one, data.pages, words)));
    };
    field.value = new URLSearchParams(location.search).get("q") || field.value;
    let waiting = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 80);
    });
    field.focus();
    look();
  }

  start();
})();
