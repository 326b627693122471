"""The folder to hand out: what the recipient gets and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .record import Measured
from .write import REPORT


def hand_out(
    inside: Path, out: Path, published: Sequence[str], measured: Measured | None, **told: Any
) -> None:
    """Copy what may leave the steward; the recipient's report is written anew.

    `told` is what a report is told of a release: its plan, its checks, the name of its file.
    """
    for name in published:
        copy = shutil.copytree if (inside / name).is_dir() else shutil.copy
        copy(inside / name, out / name)
    if measured is not None:
        drawings = {n: (out / n).read_text() for n in published if n.endswith(".svg")}
        measured.report(out / REPORT, audience="recipient", drawings=drawings, **told)
