"""A headless browser and a file server for the pages, as the checks and ``make pdf`` use them."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

TYPESET = """async () => {
    if (!document.querySelector('.math, .tex2jax_process')) return;
    const deadline = Date.now() + 60000;
    while (!(window.MathJax && MathJax.startup && MathJax.startup.promise)) {
        if (!document.querySelector('script[src*="mathjax"]') || Date.now() > deadline) return;
        await new Promise(done => setTimeout(done, 20));
    }
    await MathJax.startup.promise;
}"""
"""Wait until the formulas of a page are typeset."""

ALL_IMAGES = """async () => {
    const images = [...document.images];
    for (const image of images) image.loading = 'eager';
    await Promise.all(images.map(image => image.decode().catch(() => null)));
}"""
"""Load the images that a page would load when its reader comes to them."""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A file server that writes no log."""

    def log_message(self, format, *args):
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on a free loopback port and give its address."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def find_browser() -> str | None:
    """Return the path of a browser of the Chromium family, if one is installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
