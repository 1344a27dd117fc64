"""Compiled kernels on the disk, and how long they are good."""

from __future__ import annotations

from pathlib import Path

__all__ = ["drop_stale_kernels"]


def drop_stale_kernels(folder: Path | None = None) -> int:
    """Remove compiled kernels that are older than some source file of the package.

    Numba keeps compiled functions beside their source and compiles anew when that file
    changes, but not when a function that was compiled *into* it changes in another file. To be
    called before kernels are first used, where numbers are computed that will be kept.

    Parameters
    ----------
    folder : Path, optional
        Folder of the package; this one if not given.

    Returns
    -------
    int
        How many files were removed.
    """
    package = Path(__file__).parent if folder is None else folder
    newest = max(path.stat().st_mtime for path in package.rglob("*.py"))
    removed = 0
    for path in [*package.rglob("*.nbi"), *package.rglob("*.nbc")]:
        try:
            if path.stat().st_mtime < newest:
                path.unlink()
                removed += 1
        except OSError:  # another process was faster, or the folder is not ours
            continue
    return removed
