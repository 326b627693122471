"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOG = logging.getLogger(__name__)


def _drawn(node: nodes.Node, block: bool) -> str:
    formula = node.astext()
    try:
        return tex2mathml(formula, as_block=block)
    except MathError as error:
        LOG.warning("a formula cannot be drawn: %s", error, location=node)
        return f"<code>{escape(formula)}</code>"


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="formula">{_drawn(node, False)}</span>')
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{_drawn(node, True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
