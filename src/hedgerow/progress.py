"""How long work tells where it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Progress = Callable[[str, float | None], None]
"""Called with what is being done and the share that is done (None where nobody knows).

Whatever it raises stops the work; `hedgerow.errors.Cancelled` is there for that.
"""


class Tell(Protocol):
    """A `Progress` whose share may be left out."""

    def __call__(self, step: str, fraction: float | None = None, /) -> None: ...


def telling(progress: Progress | None) -> Tell:
    """What a long step calls; does nothing where nobody listens."""

    def tell(step: str, fraction: float | None = None, /) -> None:
        if progress is not None:
            progress(step, fraction)

    return tell
