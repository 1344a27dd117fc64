"""Sphinx extension: what the theme and its tools leave out, one section each.

No library does these: pages free of scripts that name a remote host; roles and headings that a
screen reader understands, and scrolling by keyboard; a figure drawn for a phone, and its place
reserved before it is loaded; title, author and date for reference managers and previews; a foot
with the edition; links to report an error and to edit the page, and buttons of Binder and Colab,
where ``BOOK_REPOSITORY`` is set; and a build that looks for garbage rarely, makes the list of pages
once for a folder of the reference, and writes pages on all processors.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import textwrap
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import joblib
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

import dpbandits
from companion.changed_pages import forget
from companion.citing import AUTHORS, TITLE, YEAR
from companion.vector_files import FOLDER
from dpbandits._files import renew

# ---------------------------------------------------------------------------------- no remote hosts


def drop_remote_scripts(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out of a page what sphinx-thebe put on it."""
    scripts = context.get("script_files", [])
    context["script_files"] = [
        script
        for script in scripts
        if "thebe" not in str(getattr(script, "filename", script) or "")
        and "THEBE" not in getattr(script, "attributes", {}).get("body", "")
    ]


# ----------------------------------------------------------------------- keyboard and screen reader


ACCESS = "access.js"
EMPTY_HEAD = re.compile(r'<th class="([^"]*)"><p></p></th>')


def mend_roles(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Mend the roles in a page's body."""
    if body := context.get("body"):
        # An older role, which readers no longer take for an item of a list.
        body = body.replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = EMPTY_HEAD.sub(r'<td class="\1"></td>', body)


# ------------------------------------------------------------------------------------------ figures


NARROW = ".narrow.svg"
PHONE = "(max-width: 600px)"
IMAGE = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r' src="([^"]*/)?_images/([^"/]+)\.svg"')
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS = 96 / 72  # a point


def size_of(svg: Path) -> str:
    """Return width and height of a drawing as attributes, in pixels."""
    with svg.open(encoding="utf-8") as lines:
        found = SIZE.search(lines.read(2000))
    if found is None:
        raise ValueError(f"svg={str(svg)!r} has no size in points; allowed: drawings of matplotlib")
    width, height = (round(PIXELS * float(length)) for length in found.groups())
    return f'width="{width}" height="{height}"'


def as_picture(image: str, folder: Path) -> str:
    """Write an image as a picture, if `folder` has a narrow drawing of it."""
    source = SOURCE.search(image)
    if source is None or not (folder / f"{source[2]}{NARROW}").is_file():
        return image
    narrow = folder / f"{source[2]}{NARROW}"
    there = f"{source[1] or ''}_images/{narrow.name}"
    image = image.replace("<img", f"<img {size_of(folder / f'{source[2]}.svg')}", 1)
    return (
        f'<picture><source media="{PHONE}" srcset="{there}" {size_of(narrow)} />{image}</picture>'
    )


def with_pictures(body: str, folder: Path) -> str:
    """Write the drawings of a page as pictures; those after the first wait for the reader."""
    first = True

    def write(match: re.Match[str]) -> str:
        nonlocal first
        image = match[0]
        if not first and " loading=" not in image:
            image = image.replace("<img", '<img loading="lazy"', 1)
        first = False
        return as_picture(image, folder)

    return IMAGE.sub(write, body)


def show_pictures(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Go through a page's body."""
    if body := context.get("body"):
        context["body"] = with_pictures(body, Path(app.srcdir) / FOLDER)


def copy_narrow(app: Any, error: Exception | None) -> None:
    """Put the narrow drawings beside the wide ones that the pages show."""
    if error is not None or app.builder.format != "html":
        return
    images = Path(app.outdir) / "_images"
    for narrow in sorted((Path(app.srcdir) / FOLDER).glob(f"*{NARROW}")):
        if (images / narrow.name.replace(NARROW, ".svg")).is_file():
            renew(images / narrow.name, narrow.read_bytes())


# ------------------------------------------------------------- reference managers and previews


WORDS = re.compile(r"<(?:script|style|nav)\b.*?</(?:script|style|nav)>|<[^>]+>", re.DOTALL)
PARAGRAPH = re.compile(r"<p\b(?![^>]*(?:quiet|front-links))[^>]*>(.*?)</p>", re.DOTALL)
TEX = re.compile(r"\\[()]")
DESCRIBED = 200  # characters of a description
ONE_SENTENCE = 40  # characters that a first paragraph needs to describe a page


def plain(html: str) -> str:
    """Return the words of a piece of a page."""
    return " ".join(unescape(WORDS.sub("", html)).split())


def description_of(body: str) -> str:
    """Return the beginning of a page's first paragraph that says something."""
    said = (TEX.sub("", plain(match[1])) for match in PARAGRAPH.finditer(body))
    first = next((text for text in said if len(text) >= ONE_SENTENCE), "")
    return textwrap.shorten(first, DESCRIBED, placeholder=" …")


def metadata(title: str, body: str, chapter: bool, address: str = "") -> str:
    """Write a page's title, author and date as its readers' tools look for them.

    Addresses are written only where the book has one: ``BOOK_ADDRESS``.
    """
    whole = {"@type": "Book", "name": TITLE, "version": dpbandits.__version__}
    about: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Chapter" if chapter else "WebPage",
        "name": title,
        "author": {"@type": "Organization", "name": AUTHORS},
        "datePublished": str(YEAR),
        "isPartOf": whole,
    }
    description = description_of(body)
    named = {
        "description": description,
        "citation_title": f"{title}. {TITLE}" if title != TITLE else TITLE,
        "citation_author": AUTHORS,
        "citation_publication_date": str(YEAR),
    }
    shown = {
        "og:type": "article",
        "og:site_name": TITLE,
        "og:title": title,
        "og:description": description,
    }
    if address:
        named["citation_public_url"] = shown["og:url"] = about["url"] = address
    tags = [f'<meta name="{name}" content="{escape(said)}" />' for name, said in named.items()]
    tags += [f'<meta property="{name}" content="{escape(said)}" />' for name, said in shown.items()]
    data = json.dumps(about, ensure_ascii=False).replace("<", "\\u003c")
    return "\n".join([*tags, f'<script type="application/ld+json">{data}</script>'])


def add_metadata(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Describe a page that has a text."""
    if body := context.get("body"):
        root = os.environ.get("BOOK_ADDRESS", "").rstrip("/")
        address = f"{root}/{app.builder.get_target_uri(pagename)}" if root else ""
        chapter = pagename.startswith("notebooks/")
        written = metadata(plain(context.get("title", "")), body, chapter, address)
        context["metatags"] = f"{context.get('metatags', '')}\n{written}\n"


# --------------------------------------------------------------------------- the foot of a page


NAMES = "book/reference/"
"""Where the pages of names are written; they have no source of their own."""


def edition(root: Path) -> str:
    """Return the version, and date and commit where the book is built from a repository."""
    said = f"Edition {dpbandits.__version__}"
    command = ["git", "-C", str(root), "log", "-1", "--format=%cs, commit %h"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return said
    return f"{said}, {found.stdout.strip()}"


def foot(title: str, source: str, said: str, repository: str = "", branch: str = "main") -> str:
    """Write what stands below a page: its edition, and, with a repository, whom to tell.

    An error is reported with page and edition; a script adds the section. A page without a source
    of its own cannot be edited.
    """
    words = [f"<span>{escape(said)}</span>"]
    if repository:
        body = f"Page: {title} ({source})\nEdition: {said}\nSection: "
        query = urlencode({"title": f"Error on the page “{title}”", "body": body})
        address = escape(f"{repository}/issues/new?{query}")
        words.append(f'<a class="report-error" href="{address}">Report an error on this page</a>')
        if not source.startswith(NAMES):
            address = escape(f"{repository}/edit/{branch}/{quote(source)}")
            words.append(f'<a class="edit-page" href="{address}">Edit this page</a>')
    return f'<p class="page-foot">{" · ".join(words)}</p>'


def add_foot(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the foot of a page that has a text."""
    if context.get("body"):
        if not hasattr(app, "_book_edition"):
            app._book_edition = edition(Path(app.srcdir))
        source = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
        repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
        branch = os.environ.get("BOOK_BRANCH", "main")
        title = plain(context.get("title", ""))
        context["theme_extra_footer"] = foot(title, source, app._book_edition, repository, branch)


# --------------------------------------------------------------------------------- Binder and Colab


ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")


def options(repository: str, branch: str) -> dict[str, object]:
    """Return the theme's options for a repository.

    Raises
    ------
    ExtensionError
        If the address is not that of a repository on GitHub, which both services read from.
    """
    if not ADDRESS.fullmatch(repository):
        raise ExtensionError(
            f"BOOK_REPOSITORY={repository!r} is not a repository; "
            "allowed: https://github.com/OWNER/NAME"
        )
    return {
        "repository_url": repository,
        "repository_branch": branch,
        "path_to_docs": "",
        "use_source_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        },
    }


def add_buttons(app: Sphinx, config: Config) -> None:
    """Turn the buttons on where the environment names a repository."""
    repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
    if repository:
        branch = os.environ.get("BOOK_BRANCH", "main")
        config.html_theme_options = {**config.html_theme_options, **options(repository, branch)}


# ------------------------------------------------------------------------------------- fewer pauses


RARELY = (200_000, 30, 100)
"""New objects before the young ones are looked at, and how often before older ones are."""


def look_rarely(app: Any) -> None:
    """Look for garbage rarely until the build has ended.

    A page in the making is many small objects that are all in use; looking for garbage among them,
    and among those of all pages before, finds little.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*RARELY)
    app.connect("build-finished", lambda *args: gc.set_threshold(*usual), priority=999)


# ------------------------------------------------------------------------- one list for many pages


def share_sidebar(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Make the list of pages once for a folder's pages that are not in it: there it is the same.

    Links are relative to the folder. The theme makes the list anew for each page.
    """
    make = context.get("generate_toctree_html")
    listed = app.env.toctree_includes
    if make is None or pagename in listed or any(pagename in pages for pages in listed.values()):
        return
    folder = pagename.rpartition("/")[0]

    def shared(*args: Any, **options: Any) -> str:
        key = (folder, args, *sorted(options.items()))
        if key not in _sidebars:
            _sidebars[key] = str(make(*args, **options))
        return _sidebars[key]

    context["generate_toctree_html"] = shared


_sidebars: dict[tuple[Any, ...], str] = {}


def write_abreast(app: Any, env: Any) -> None:
    """Write pages on all processors; not all extensions can read in parallel."""
    app.parallel = max(app.parallel, 1 + joblib.cpu_count())  # one hands out the pages


def setup(app: Any) -> dict[str, bool]:
    """Connect all of them."""
    look_rarely(app)
    _sidebars.clear()
    app.connect("env-updated", write_abreast)
    app.connect("html-page-context", share_sidebar, priority=600)  # after the theme
    app.connect("builder-inited", lambda app: forget(Path(app.srcdir)))  # `make html` hears of it
    app.connect("config-inited", add_buttons, priority=100)  # before the theme reads its options
    app.add_js_file(ACCESS, loading_method="defer")
    app.connect("html-page-context", mend_roles)
    app.connect("html-page-context", show_pictures)
    app.connect("html-page-context", add_metadata)
    app.connect("html-page-context", add_foot)
    app.connect("html-page-context", drop_remote_scripts, priority=900)  # after all others
    app.connect("build-finished", copy_narrow)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
