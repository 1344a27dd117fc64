"""Print the built pages to PDF with headless Chromium: ``print_pages.py HTML FOLDER [PAGE…]``."""

import argparse
import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

NO_NETWORK = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
FORMULAS = "() => window.MathJax === undefined || MathJax.startup.promise.then(() => true)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def pages_of(html: Path, names: list[str]) -> list[Path]:
    """The pages that are asked for, the chapters if none is."""
    if not names:
        return sorted((html / "notebooks").glob("[0-9]*.html"))
    found = [page for name in names for page in html.glob(f"*/{name}*.html")]
    if len(found) < len(names):
        raise SystemExit(f"no page for one of {', '.join(names)}; allowed: beginnings of names")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("html", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    args = parser.parse_args()
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser_path is None:
        print("chromium is not installed: no PDF is made; a browser's own Print does the same")
        return 1
    args.folder.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Quiet, directory=str(args.html))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=NO_NETWORK)
        page = browser.new_page()
        for path in pages_of(args.html, args.pages):
            where = path.relative_to(args.html).as_posix()
            page.goto(f"http://127.0.0.1:{server.server_port}/{where}", wait_until="load")
            page.evaluate(FORMULAS)
            page.emulate_media(media="print", color_scheme="light")
            target = args.folder / f"{path.stem}.pdf"
            page.pdf(path=target, format="A4", print_background=True, prefer_css_page_size=True)
            print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
        browser.close()
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
