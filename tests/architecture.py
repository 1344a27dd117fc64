"""The layers of the import contracts in pyproject.toml, as a diagram for CONTRIBUTING.md.

``python tests/architecture.py`` prints it; with ``--write`` it replaces the one in the file.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
FENCED = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.S)
ENGINE = "_engine."


def layers(project):
    """Return the layers of the package, from the top, each a list of its modules."""
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each.get("containers") == ["dpbandits"])
    return [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]


def diagram(project):
    """Return the diagram: a box for each layer, one beside it for what of it is the engine's."""
    lines, above = ["flowchart TD", '    book["companion, the book"]'], "book"
    for number, modules in enumerate(layers(project)):
        front = [name for name in modules if not name.startswith(ENGINE)]
        engine = [name for name in modules if name.startswith(ENGINE)]
        boxes = []
        if front:
            boxes.append(f"front{number}")
            lines.append(f'    front{number}["{", ".join(front)}"]')
        if engine:
            boxes.append(f"engine{number}")
            lines.append(f'    engine{number}["{", ".join(engine)}"]:::engine')
        below = " & ".join(boxes)
        lines.append(f"    {above} --> {below}")
        above = below
    lines.append("    classDef engine stroke-dasharray: 4 3")
    return "\n".join(lines) + "\n"


def current():
    """Return the diagram of this checkout's contracts."""
    return diagram(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8")))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = PAGE.read_text("utf-8")
        PAGE.write_text(FENCED.sub(lambda _: current(), text, count=1), "utf-8")
    else:
        print(current(), end="")
