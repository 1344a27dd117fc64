"""Sphinx extension: large numbers look alike on all pages.

Chapters write 4,096 and 66,507, as Python groups digits; figures and first pages have narrow
spaces. On the pages all numbers of five digits and more are grouped by narrow spaces that do not
break, and those of four digits are not grouped: 4096 and 66 507. Code, its output and formulas stay
as they are.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from companion.citing import grouped_as_here

AS_WRITTEN = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


class GroupNumbers(SphinxPostTransform):
    """Group the numbers of a page."""

    default_priority = 800

    def run(self) -> None:
        """Replace texts in which a number changes."""
        for text in list(self.document.findall(nodes.Text)):
            node: nodes.Node | None = text.parent
            while node is not None and not isinstance(node, AS_WRITTEN):
                node = node.parent
            written = str(text)
            if node is None and (shown := grouped_as_here(written)) != written:
                text.parent.replace(text, nodes.Text(shown))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(GroupNumbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
