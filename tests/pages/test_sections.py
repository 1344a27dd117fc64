"""Read a page from top to bottom, and see whether its list of sections marks where one is.

Wherever a section of the list is on the screen, one entry is marked with those above it, and its
section is on the screen; an entry that is clicked on is marked.
"""

from reader import none

CONTROL = "notebooks/05_best_arm_identification.html"
"""A page on which the check is repeated without the script that marks: it must fail."""

POSITIONS = 14

READ = """async positions => {
    const frame = () => new Promise(requestAnimationFrame);
    const drawn = async () => { await frame(); await frame(); };
    const list = document.querySelector('.bd-sidebar-secondary nav.page-toc');
    const place = link => document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const links = list ? [...list.querySelectorAll('a[href^="#"]')].filter(place) : [];
    const shown = link => [place(link), place(link).closest('section, dl')]
        .flatMap(node => [...node.getClientRects()])
        .some(box => box.bottom > 0 && box.top < innerHeight);
    const found = [];
    function look(where) {
        const marked = [...list.querySelectorAll('a.active')];
        const inner = marked.filter(one => !one.closest('li').querySelector(':scope ul a.active'));
        const onScreen = links.filter(shown);
        if (inner.length > 1) found.push(`${where}: ${inner.length} entries are marked`);
        else if (!inner.length && onScreen.length) found.push(`${where}: no entry is marked`);
        else if (inner.length && !shown(inner[0]))
            found.push(`${where}: ${inner[0].textContent.trim()} is marked, and not on the screen`);
        return inner[0];
    }
    const root = document.documentElement;
    for (let at = 0; links.length && at < positions; at++) {
        const top = at / (positions - 1) * (root.scrollHeight - innerHeight);
        scrollTo({ top, behavior: 'instant' });
        await drawn();
        look(`position ${at + 1} of ${positions}`);
    }
    for (const link of links.slice(-3)) {
        link.click();
        for (let tenths = 0; tenths < 50 && !link.matches('.active'); tenths++)
            await new Promise(done => setTimeout(done, 100)); // a busy machine scrolls slowly
        await drawn();
        if (look('after a click') !== link)
            found.push(`a click on ${link.textContent.trim()} marks another entry`);
    }
    scrollTo({ top: 0, behavior: 'instant' });
    await drawn();
    return found;
}"""


def test_list_of_sections(page):
    none(page.evaluate(READ, POSITIONS))


def test_a_list_that_nothing_marks_is_found(new_page, base):
    page = new_page()
    page.route("**/follow.js*", lambda route: route.abort())
    page.goto(f"{base}/{CONTROL}", wait_until="load")
    assert any("no entry" in problem for problem in page.evaluate(READ, POSITIONS))
