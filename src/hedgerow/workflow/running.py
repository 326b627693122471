"""A long step while it runs: what it tells, what it warns of, and how another thread stops it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Cancelled
from ..progress import Progress, cautions


class Running:
    """Runs one step after another; each can be stopped where it tells its progress.

    Attributes
    ----------
    cautions : list of str
        What the last step warned of.
    """

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self.cautions: list[str] = []

    def cancel(self) -> None:
        """Stop the step that is running, or the next one when it begins."""
        self._cancelled.set()

    def anew(self) -> None:
        """Forget what was warned of and who wanted to stop."""
        self._cancelled.clear()
        self.cautions = []

    @contextmanager
    def step(self, progress: Progress | None, final: bool = False) -> Iterator[Progress]:
        """What a step tells its progress to; one that is `final` is not stopped at its end."""

        def tell(step: str, fraction: float | None) -> None:
            self._stop_if_cancelled()
            if progress is not None:
                progress(step, fraction)
                self._stop_if_cancelled()

        self._stop_if_cancelled()
        with cautions() as heard:
            yield tell
        if not final:
            self._stop_if_cancelled()
        self._cancelled.clear()
        self.cautions = list(dict.fromkeys(heard))

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            self._cancelled.clear()
            raise Cancelled("stopped; nothing was changed or written")
