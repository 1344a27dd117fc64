"""Every page as a reader opens it: formulas, pictures, links, weight, height, and on a phone."""

import html as markup
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from page_text import HEAVIEST, TALLEST, height_problems, weight_problems
from reader import FIRST, LOADED, none, on
from test_toc import missing

SLICE = 2400  # pixels of a page in one picture

FORMULAS = r"""() => {
    const found = [];
    const article = document.querySelector('.bd-article') || document.body;
    for (const node of article.querySelectorAll('span.math, div.math'))
        if (!node.querySelector('mjx-container'))
            found.push('not typeset: ' + node.textContent.trim().slice(0, 80));
    for (const node of article.querySelectorAll('mjx-merror, [data-mjx-error]'))
        found.push('error: ' + (node.dataset.mjxError || node.textContent).slice(0, 80));
    for (const node of article.querySelectorAll('mjx-mtext[style*="red"]'))
        found.push('undefined macro: ' + node.textContent.slice(0, 80));
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (parent.closest('pre, code, script, style, mjx-container, textarea')) continue;
        if (/\\[([]|\\(frac|sum|log|varepsilon|Delta|mathbb)\b|\$\$/.test(node.data))
            found.push('raw TeX in the text: ' + node.data.trim().slice(0, 80));
    }
    return found;
}"""

IMAGES = r"""async () => {
    const images = [...document.querySelectorAll('.bd-article img')];
    for (const image of images) image.loading = 'eager';
    await Promise.all(images.map(image => image.decode().catch(() => null)));
    return images.flatMap(image => {
        const name = image.getAttribute('src').split('/').pop();
        const found = [];
        const alt = (image.getAttribute('alt') || '').trim();
        if (!alt || /_images\/|\.(png|svg|jpe?g)$/.test(alt))
            found.push(name + ' has no description');
        if (!image.complete || image.naturalWidth === 0) found.push(name + ' is not shown');
        return found;
    });
}"""

WIDE = r"""() => {
    const width = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth <= width + 1) return [];
    const scrolls = node => {
        for (let at = node.parentElement; at && at !== document.body; at = at.parentElement)
            if (getComputedStyle(at).overflowX !== 'visible' && at.clientWidth <= width)
                return true;
        return false;
    };
    const found = [...document.querySelectorAll('.bd-main *')]
        .filter(node => node.getBoundingClientRect().right > width + 1 && !scrolls(node))
        .map(node => node.tagName.toLowerCase() + '.' + String(node.className).replace(/ /g, '.')
            + ': ' + (node.textContent || '').trim().slice(0, 50));
    return ['page is ' + document.scrollingElement.scrollWidth + ' px wide on a phone of ' + width
        + ': ' + found.slice(0, 4).join(' | ')];
}"""

HEIGHT = "() => document.documentElement.scrollHeight"
LINKS = "() => [...document.querySelectorAll('a[href]')].map(link => link.href)"
NAMES = "() => [...document.querySelectorAll('[id], a[name]')].map(node => node.id || node.name)"

PLANTED = "**/planted.js"
PLANT = """height => {
    const node = document.createElement('div');
    node.id = 'planted';
    node.style.height = `${height}px`;
    document.querySelector('.bd-article').append(node);
}"""


def test_every_page_of_the_contents_was_built(html):
    none([f"no page {name}" for name in missing(html)])


def test_weight(visit):
    """What a page weighs on its first load; ``-rP`` shows it, and when its text was there."""
    total = sum(size for _, size in visit.loaded)
    print(f"{total / 1000:7.0f} KB {visit.painted:6.2f} s  {visit.name}")
    # A page that says that it loads nothing was not measured.
    none(weight_problems(visit.loaded) if total > 10_000 else [f"only {total} bytes are seen"])


def test_formulas(page):
    none(page.evaluate(FORMULAS))


def test_images(page):
    none(page.evaluate(IMAGES))


def test_height(page):
    page.evaluate(IMAGES)
    none(height_problems(page.evaluate(HEIGHT)))


@on(FIRST)
def test_weight_and_height_that_are_planted_are_found(page):
    body = "/" * HEAVIEST
    page.route(PLANTED, lambda route: route.fulfill(body=body, content_type="text/javascript"))
    page.add_script_tag(url="planted.js")
    page.evaluate(PLANT, TALLEST)
    assert height_problems(page.evaluate(HEIGHT))
    assert weight_problems(page.evaluate(LOADED))
    page.evaluate("() => document.querySelector('#planted').remove()")


@cache
def places_of(path: Path) -> set[str]:
    """Return what a built page has places for."""
    return set(map(markup.unescape, re.findall(r'\sid="([^"]+)"', path.read_text("utf-8"))))


def test_links(visit, page, html):
    """What a page links to exists, down to the place on the page."""
    problems, own = [], set(page.evaluate(NAMES))
    for link in page.evaluate(LINKS):
        address, fragment = urldefrag(link)
        if not address.startswith(visit.base):
            continue
        target = unquote(urlsplit(address).path).lstrip("/") or "index.html"
        if not (html / target).is_file():
            problems.append(f"no such file: {target}")
        elif fragment and target.endswith(".html"):
            places = own if target == visit.name else places_of(html / target)
            if unquote(fragment) not in places:
                problems.append(f"no such place: {target}#{fragment}")
    none(problems)


def test_width_on_a_phone(page, phone):
    none(page.evaluate(WIDE))


def test_console(visit, heard):
    none(visit.console)


def test_requests(visit, heard):
    none(visit.requests)


def test_pictures(visit, page, pictures):
    """Write pictures of a page from top to bottom, in slices, if a folder is named for them."""
    stem = visit.name.replace("/", ".").replace(".html", "")
    for look in ("desktop", "dark", "phone"):
        visit.show({look} - {"desktop"})
        width, height = page.evaluate("() => [innerWidth, document.documentElement.scrollHeight]")
        for number, top in enumerate(range(0, height, SLICE), start=1):
            clip = {"x": 0, "y": top, "width": width, "height": min(SLICE, height - top)}
            path = pictures / f"{stem}.{look}.{number:02d}.png"
            page.screenshot(path=path, full_page=True, clip=clip)
