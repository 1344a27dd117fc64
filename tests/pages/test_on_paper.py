"""A page as it is printed: its text alone, nothing cut, on white."""

from playwright.sync_api import Page
from reader import FIRST, all_said, none, on

TEXT = {"width": 672, "height": 985}
"""What the margins leave of the sheet, in CSS pixels (96 an inch)."""

ON_PAPER = r"""() => {
    const found = [];
    const clicked = '.bd-header, .bd-header-article, .bd-sidebar-primary, .bd-sidebar-secondary, '
        + '.bd-footer, .prev-next-area, .skip-link, .headerlink, .copybtn, .page-filter, '
        + '#pst-back-to-top, button, dialog';
    for (const node of document.querySelectorAll(clicked))
        if (node.checkVisibility()) found.push('is shown: ' + node.outerHTML.slice(0, 80));
    const width = document.documentElement.clientWidth;
    for (const node of document.querySelectorAll('.bd-article *')) {
        if (!node.checkVisibility() || node.closest('mjx-assistive-mml, svg')) continue;
        if (node.parentElement.closest('mjx-container')) continue;
        const box = node.getBoundingClientRect();
        const name = node.tagName.toLowerCase() + '.' + [...node.classList].join('.');
        if (box.width && (box.right > width + 1 || box.left < -1))
            found.push(`from ${Math.round(box.left)} to ${Math.round(box.right)} px of ${width}: `
                + name + ': ' + (node.textContent || '').trim().slice(0, 60));
        const style = getComputedStyle(node);
        if (style.overflowX !== 'visible' && node.scrollWidth > node.clientWidth + 1
                && style.display !== 'inline')
            found.push('is cut: ' + name + ': ' + (node.textContent || '').trim().slice(0, 60));
        if (style.overflowY !== 'visible' && node.scrollHeight > node.clientHeight + 4
                && style.maxHeight !== 'none')
            found.push('is cut below: ' + name);
    }
    return found;
}"""
DARK = r"""() => {
    const light = colour => {
        const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
        return 1 - a + a * (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;  // on white
    };
    const found = [];
    for (const node of document.querySelectorAll('body, .bd-article *')) {
        if (!node.checkVisibility() || node.closest('svg, mjx-assistive-mml')) continue;
        const style = getComputedStyle(node);
        const name = node.tagName.toLowerCase() + '.' + [...node.classList].join('.');
        const ground = light(style.backgroundColor), ink = light(style.color);
        if (ground < 0.7) found.push('a dark ground: ' + name);
        if ([...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())
                && ink > 0.45) found.push('faint ink: ' + name);
    }
    return found;
}"""
PLANT = """() => {
    const node = document.createElement('div');
    node.innerHTML = '<div style="width: 2000px">wide</div>'
        + '<div style="width: 50px; overflow-x: hidden"><span style="white-space: nowrap">'
        + 'words that are cut off</span></div><button>click</button>'
        + '<div style="max-height: 20px; overflow: hidden">a<br>b<br>c<br>d<br>e</div>'
        + '<p style="background: #222; color: #eee">dark</p>';
    node.id = 'planted';
    document.querySelector('.bd-article').append(node);
}"""
PLANTED = ("is shown", "px of", "is cut: ", "is cut below", "a dark ground", "faint ink")


def problems(page: Page) -> list[str]:
    """Tell what is wrong with an open page on paper, also where it is read in the dark."""
    size = page.viewport_size
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(50)
    page.set_viewport_size(TEXT)
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_timeout(400)
    found = [*page.evaluate(ON_PAPER), *page.evaluate(DARK)]
    page.emulate_media(media="screen", color_scheme="light")
    page.set_viewport_size(size)
    page.wait_for_timeout(600)  # the theme and ``access.js`` look again at what scrolls
    return found


def test_print(page):
    none(problems(page))


@on(FIRST)
def test_print_finds_planted_faults(page):
    page.evaluate(PLANT)
    all_said(PLANTED, problems(page))
    page.evaluate("() => document.querySelector('#planted').remove()")
