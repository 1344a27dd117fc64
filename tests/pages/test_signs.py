"""Press the signs of a page that copy how to cite a number, a table or a figure.

What a sign copies has to say something, and to be what
``companion cite`` prints for the same name.
"""

import re

from reader import none, on

from companion.citing import TITLE, cite

CITED = {
    "notebooks/03_dp_successive_elimination.html": ("Figure", "Table", "Number"),
    "notebooks/06_privacy_audit.html": ("Figure", "Table", "Number"),
    "book/intro.html": ("Figure", "Table", "Number"),
    "book/claims.html": ("Table",),
    "book/reproducing.html": ("Table", "Number"),
    "book/benchmarks.html": ("Table", "Number"),
}
"""Pages whose signs are pressed, each one, and what has a sign there."""
FEWEST = 4
"""Words of a sentence."""

COPIED = """async () => {
    const found = [];
    const toggle = document.querySelector('.cite-toggle');
    toggle.click();
    for (const sign of document.querySelectorAll('.cite-sign')) {
        window.lastCitation = '';
        sign.click();
        found.push(window.lastCitation);
    }
    toggle.click();
    return found;
}"""
TEXT = re.compile(
    rf"(?P<sentence>.*) \({re.escape(TITLE)}, version [\w.+-]+, (?P<name>[\w:.-]+), \S+#\S+\)"
    r"\n\n(?P<entry>@.*)\n",
    re.DOTALL,
)


def problems_of(text: str) -> list[str]:
    """Return what is wrong with a text that a sign copied.

    Examples
    --------
    >>> problems_of("nothing")
    ["copies 'nothing'"]
    """
    found = TEXT.fullmatch(text)
    if found is None:
        return [f"copies {text[:80]!r}"]
    sentence, name = found["sentence"], found["name"]
    problems = []
    if len(sentence.split()) < FEWEST:
        problems.append(f"{name}: its sentence is {sentence!r}")
    if re.search(r"\$\s*\$|\\[()]|[\u2060\uE000-\uF8FF]|^Fig\.", sentence):
        problems.append(f"{name}: a formula or a sign is left in {sentence[:80]!r}")
    try:
        printed = re.sub(r"\A%.*\n", "", cite(name))
    except ValueError as error:
        problems.append(f"companion cite {name}: {error}")
    else:
        if printed != found["entry"]:
            problems.append(f"companion cite {name} prints another entry")
    return problems


@on(*CITED)
def test_signs_that_cite(visit, page):
    texts = page.evaluate(COPIED)
    problems = [one for text in texts for one in problems_of(text)]
    kinds = {kind for text in texts for kind in re.findall(r"title += \{\{(\w+)", text)}
    none([*problems, *(f"no sign at a {kind}" for kind in CITED[visit.name] if kind not in kinds)])
