"""Follow links to names of the package: what folds below a name opens, and nothing else does.

Called by ``check_pages.py`` for one page of the reference.
"""

REFERENCE = "book/api_regret.html"

FOLDS = "dl.py > dd > details.reference-fold"
NAMES = """() => [...document.querySelectorAll('dl.py > dt[id]')]
    .filter(name => name.parentElement.querySelector(':scope > dd > details.reference-fold'))
    .map(name => name.id)"""
OPEN = f"""() => [...document.querySelectorAll('{FOLDS}[open]')]
    .map(fold => fold.closest('dl').querySelector('dt').id)"""
CLOSE = f"() => {{ for (const fold of document.querySelectorAll('{FOLDS}')) fold.open = false; }}"
EVERY = 9
"""Of so many names, one is followed."""


def check_reference(page, name: str, report) -> None:
    """Follow links to some names of an open page, classes and members."""
    names = page.evaluate(NAMES)
    problems = [] if len(names) > 2 * EVERY else [f"only {len(names)} names have a fold"]
    if page.evaluate(OPEN):
        problems.append("folds are open before a link is followed")
    for target in names[::EVERY]:
        page.evaluate("id => { location.hash = id; }", target)
        page.wait_for_timeout(50)
        found = page.evaluate(OPEN)
        if found != [target]:
            problems.append(f"a link to {target} opens {found}")
        page.evaluate(CLOSE)
    page.evaluate("() => history.replaceState(null, '', location.pathname)")
    report.check(name, "links to names", problems)
