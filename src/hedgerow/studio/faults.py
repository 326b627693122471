"""What went wrong, as a page may show it."""

from __future__ import annotations

import os
import traceback
from typing import Any

from ..errors import Cancelled, HedgerowError, no_memory


def told_of(error: BaseException) -> dict[str, Any]:
    """An error as a page may show it: a foreign one may quote a person's value, so its type alone."""
    if isinstance(error, Cancelled):
        return {"kind": "Cancelled", "message": "Stopped. Nothing was changed or written.", "hint": None}
    if isinstance(error, HedgerowError):
        kind = type(error).__name__
        return {"kind": kind, "message": error.message, "hint": error.hint}
    if no_memory(error):
        return OUT_OF_MEMORY
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(at.filename)}, line {at.lineno}"
    return {
        "kind": "Unexpected",
        "message": f"unexpected {type(error).__name__} in {where}",
        "hint": "this is a fault in Hedgerow; nothing was written",
    }


def in_sentences(message: str, hint: str | None = None) -> str:
    """A message and what to do, each as a sentence; a name that stands first stays as it is.

    Examples
    --------
    >>> in_sentences("the table has 8 rows", "lower k.")
    'The table has 8 rows. Lower k.'
    >>> in_sentences("people.csv is empty")
    'people.csv is empty.'
    """
    made = []
    for text in filter(None, (message, hint)):
        first = text.split(maxsplit=1)[0]
        plain = first.isalpha() and len(first) > 1
        made.append(f"{text[:1].upper() if plain else text[:1]}{text[1:].rstrip('.')}.")
    return " ".join(made)


OUT_OF_MEMORY = {
    "kind": "OutOfMemory",
    "message": "There was not enough memory for this table. Nothing was written.",
    "hint": "Close other programs, leave columns out, or use the command line with --engine duckdb, "
    "which reads a table a few rows at a time.",
}
