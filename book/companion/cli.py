"""The book's command line, ``companion``: chapters, figures, claims, citing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from tqdm import tqdm

from companion import chapters
from companion.formulas import as_text
from dpbandits import __version__
from dpbandits._validation import check_choice
from dpbandits.cli._console import Jobs, Json, Settings, carry_out, make_app, read_settings, show

if TYPE_CHECKING:
    from companion.publishing import Published

__all__ = ["WORDS", "cite", "claims", "execute", "figure", "main"]

WORDS = {
    "holds": "holds",
    "condition": "holds with a condition",
    "fails": "does not hold",
    "not-reproduced": "not reproduced",
    "cannot-tell": "cannot be told from the text",
    "reconstructed": "reconstructed",
}
"""Short words for the verdicts, and for the class of what is reconstructed.

They stand in the addresses of the page of claims as well.
"""

app = make_app(
    "companion", "The book Private Bandits: its chapters, figures and claims.", __version__
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on the arguments, or the program's, and return its exit status."""
    return carry_out(app, arguments)


@app.command(
    help_epilogue="Examples: companion execute 3; companion execute 3 --preset quick --set seed=1 "
    "--build"
)
def execute(
    *chapter: str,
    preset: chapters.Preset | None = None,
    settings: Settings = None,
    at_a_time: Jobs = 1,
    fresh: bool = False,
    build: bool = False,
    json: Json = False,
) -> int:
    """Execute chapters of the book, all of them if none is named.

    With --preset or --set they are executed in a copy of the book, _build/stage, and the chapters
    in notebooks/ are unchanged; without, their outputs in notebooks/ are renewed. Results that the
    same code has computed on this machine are kept in _build/runs and not computed again.

    Parameters
    ----------
    chapter
        A chapter's number, name or path.
    preset
        The size of the experiments.
    at_a_time
        Number of chapters executed in parallel; -1 for the number of processors.
    fresh
        Compute everything, ignoring kept results.
    build
        Build the pages afterwards.
    """
    root = chapters.find_root()
    parameters = read_settings(settings or ())
    if preset is not None:
        parameters["preset"] = preset
    report = sys.stderr if json else sys.stdout
    executed = []
    try:
        for each in chapters.execute_many(chapter, parameters, at_a_time, fresh=fresh):
            where = each.path.relative_to(root)
            took = f"{each.seconds:.1f} s, {each.core_seconds:.1f} core-seconds"
            left = f"; {each.left} to go" if each.left else ""
            tqdm.write(f"{where}: {each.state}, {took}{left}", file=report)
            record = {"chapter": where, "state": each.state, "seconds": round(each.seconds, 1)}
            executed.append(record | {"core_seconds": round(each.core_seconds, 1)})
    except chapters.ChapterError as error:
        tqdm.write(str(error), file=sys.stderr)
        return 1
    page = None
    if build:
        try:
            page = chapters.build(root / "_build" / "stage" if parameters else root)
        except subprocess.CalledProcessError as error:
            tqdm.write(f"the pages were not built: {error}", file=sys.stderr)
            return 1
        tqdm.write(f"the pages: {page.relative_to(root)}", file=report)
    return show(True, (), {"chapters": executed, "pages": page}) if json else 0


@app.command(
    help_epilogue="Examples: companion figure ss19-fig1 --pdf fig.pdf --width single --grey; "
    "companion figure ss19-fig5 --panels a,b --png fig.png --width 120; companion figure --list"
)
def figure(
    id: str | None = None,
    *,
    pdf: Path | None = None,
    png: Path | None = None,
    width: str = "double",
    panels: str | None = None,
    grey: bool = False,
    cite: bool = False,
    list: bool = False,
    json: Json = False,
) -> int:
    """Draw a figure for a paper, from its published data.

    It is drawn again from its data in book/figures, as wide as a journal's column, with embedded
    fonts and letters of 6 points or more.

    Parameters
    ----------
    id
        The figure; --list lists them.
    pdf
        Write a PDF with this name.
    png
        Write a PNG of 300 dpi with this name.
    width
        single (84 mm), double (174 mm), or millimetres.
    panels
        Only these panels, such as a,b.
    grey
        Draw in grey, for print.
    cite
        Print the figure's BibTeX entry.
    list
        List the figures.
    """
    from companion.publishing import published, published_names

    lines: Any = []
    if list:
        figures = []
        for name in published_names():
            about = published(name).manifest
            place = f"({about['source']}; chapter {about['chapter']})"
            lines.append(f"{name}: {about['title']} {place}")
            figures.append(
                {"id": name} | {key: about[key] for key in ("title", "source", "chapter")}
            )
        return show(json, lines, {"figures": figures})
    if id is None:
        raise ValueError(f"id is missing; allowed: --list, or {', '.join(published_names())}")
    found = published(id)
    for ending, path in {".pdf": pdf, ".png": png}.items():
        if path is not None and path.suffix.lower() != ending:
            raise ValueError(f"{ending[1:]}={str(path)!r} ends otherwise; allowed: NAME{ending}")
    paths = [path for path in (pdf, png) if path is not None]
    if not (cite or paths):
        raise ValueError("no file is asked for; allowed: --pdf, --png or --cite")
    record: dict[str, Any] = {"id": id}
    if paths:
        record["files"] = _save(found, id, paths, width, panels, grey)
        lines += [
            f"{file['path']}: {file['mm'][0]:.0f} mm by {file['mm'][1]:.0f} mm, "
            f"letters of {file['letters'][0]:.1f} to {file['letters'][1]:.1f} points"
            for file in record["files"]
        ]
    if cite:
        from companion import citing

        record["bibtex"] = citing.cite(id)
        lines.append(record["bibtex"])
    return show(json, lines, record)


def _save(
    found: Published, name: str, paths: Sequence[Path], width: str, panels: str | None, grey: bool
) -> list[dict[str, Any]]:
    """Draw a figure, write the files and return their paths and measures."""
    from matplotlib import pyplot as plt

    from companion.figures import paper_figure

    plt.switch_backend("agg")  # files need no display
    options = {} if panels is None else {"panels": panels.split(",")}
    printed = paper_figure(partial(found.draw, **options), width=width, grey=grey)
    for path in paths:
        printed.save(path, title=name)
    plt.close(printed.figure)
    measures = {"mm": printed.size, "letters": printed.letters}
    return [{"path": os.path.relpath(path), **measures} for path in paths]


@app.command(help_epilogue="Example: companion claims --paper SS19 --verdict fails")
def claims(
    *,
    check: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    paper: str | None = None,
    verdict: str | None = None,
    json: Json = False,
) -> int:
    """List the papers' claims with our verdicts.

    The verdicts are those that the chapters have published; with --check they are computed again
    and compared.

    Parameters
    ----------
    check
        Compute the verdicts of these claims again; without an ID, of all claims that need no
        experiment of a chapter.
    paper
        Only the claims of this paper, such as SS19.
    verdict
        Only claims with this verdict: holds, condition, fails, not-reproduced, cannot-tell; or
        reconstructed, for a formula of ours in the place of one missing from our copy.
    """
    from companion import claims as book

    if check is not None:
        if paper or verdict:
            raise ValueError(
                "paper and verdict choose what is listed; allowed: not together with --check"
            )
        if check:
            return _check(check, json)
        lines = book.differences()
        show(json, lines or "every verdict is as published", {"differences": lines})
        return 1 if lines else 0
    records = book.records(book.recorded())
    chosen = records
    if paper is not None:
        papers = tuple(dict.fromkeys(record["paper"] for record in records))
        key = check_choice("paper", paper.lower(), papers)
        chosen = [record for record in chosen if record["paper"] == key]
    if verdict is not None:
        asked = verdict.lower()
        full = asked if asked in WORDS.values() else WORDS.get(asked)
        if full is None:
            check_choice("verdict", verdict, tuple(dict.fromkeys((*WORDS, *WORDS.values()))))
        chosen = [record for record in chosen if _standing(record) == full]
    lines = []
    for record in chosen:
        ours = "reconstructed; our formula: " if record["reconstructed"] else ""
        lines.append(f"{record['id']}: {ours}{record['verdict']}")
        lines.append(
            f"    {record['paper'].upper()}, {record['place']}: {as_text(record['statement'])}"
        )
    return show(json, [*lines, f"{len(chosen)} of {len(records)} claims"], {"claims": chosen})


def _standing(record: dict[str, Any]) -> str:
    """Return the category in which a claim is counted."""
    return WORDS["reconstructed"] if record["reconstructed"] else str(record["verdict"])


def _check(names: Sequence[str], json: bool) -> int:
    """Compute some verdicts, print the findings, and compare them with the published ones."""
    from companion import claims as book

    known = {claim.id: claim for claim in book.ledger()}
    for name in names:
        if name.lower() in book.RETIRED:
            book.section(name.lower())  # raises, naming the claim that replaced it
        claim = known[check_choice("claim", name.lower(), tuple(known))]
        if claim.needs:
            chapter = int(book.section(claim.id)[0])
            raise ValueError(
                f"claim={name!r} is judged by runs of its chapter; allowed: companion execute "
                f"{chapter}"
            )
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys(name.lower() for name in names):
        claim = known[name]
        differences = book.differences([claim])
        lines += [
            f"{claim.id}: {claim.verdict}",
            f"    {claim.paper.upper()}, {claim.place}: {as_text(claim.statement)}",
            f"    {claim.finding.reason}",
            *(f"    - {what}: {value}" for what, value in claim.evidence.items()),
            "    differs: " + "; ".join(differences) if differences else "    as written",
        ]
        found.append({**book.records([claim])[0], "differences": differences})
    show(json, lines, {"claims": found})
    return 1 if any(record["differences"] for record in found) else 0


@app.command(
    help_epilogue="Examples: companion cite; companion cite ss19-fig1; companion cite "
    "ss19-thm-4.1; companion cite ss19"
)
def cite(*what: str, json: Json = False) -> int:
    """Print the BibTeX entry of the book, or of a figure, a claim's verdict or a paper.

    Parameters
    ----------
    what
        Ids of figures, claims or papers; none for the book.
    """
    from companion import citing

    entries = {each: citing.cite(each) for each in what} or {"book": citing.cite()}
    return show(json, "\n\n".join(entries.values()), {"entries": entries})
