"""Keep the pages free of scripts that name a remote host: sphinx-thebe is not used here."""

from typing import Any


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


def setup(app: Any) -> dict[str, bool]:
    """Register the filter, after every extension's own handlers."""
    app.connect("html-page-context", drop_remote_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
