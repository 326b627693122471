"""Run the command line: a thin layer that computes no statistics itself.

Each command has its own file, which is loaded only when the command is called.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Sequence

from ..display import substitute


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `hedgerow` and leave: 0 done, 1 a promise does not hold, 2 bad usage or input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:  # before anything is loaded
        from hedgerow import __version__

        print(f"hedgerow {__version__}")
        sys.exit(0)
    if sys.stdout is not None:  # a terminal that lacks a sign shows another
        codecs.register_error("substitute", substitute)
        sys.stdout.reconfigure(errors="substitute")  # type: ignore[union-attr]
    ended: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        ended.append(number)
        raise KeyboardInterrupt

    # what would end the process ends its work as Ctrl-C does, which leaves nothing behind; nohup stays nohup
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)
    # What Arrow frees then serves numpy as well: a million people take 0.1 GB less.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from .app import run

        code = run(words)
    except KeyboardInterrupt:  # while it is loaded; later it is the command's to say
        print("error: interrupted; nothing was written", file=sys.stderr)
        code = 130
    # the code by which a shell tells an interrupt from a termination
    sys.exit(128 + ended[0] if ended and code == 130 else code)
