"""6 TELL: one offline HTML page that says what was released and what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .page import AUDIENCES as AUDIENCES
    from .page import render as render

__all__ = ["AUDIENCES", "render"]


def __getattr__(name: str) -> Any:
    """Load the page and its pictures on first use: the room's text needs neither."""
    if name in __all__:
        from . import page

        return getattr(page, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
