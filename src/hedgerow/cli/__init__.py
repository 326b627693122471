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
from ..progress import arrived


def interrupt(number: int, frame: object) -> None:
    """Remember a signal, and end the work as Ctrl-C does, which leaves nothing behind."""
    arrived.append(number)
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `hedgerow` and leave: 0 done, 1 a promise does not hold, 2 bad usage or input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is not None:  # a terminal that lacks a sign shows another
        codecs.register_error("substitute", substitute)
        sys.stdout.reconfigure(errors="substitute")  # type: ignore[union-attr]
    # nohup stays nohup
    for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
    # What Arrow frees then serves numpy as well: a million people take 0.1 GB less.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    code = 0
    try:
        code = _run(words)
        if sys.stdout is not None:  # at exit its loss would be Python's to tell
            sys.stdout.flush()
    except BaseException as error:
        if arrived or isinstance(error, KeyboardInterrupt):  # while it is loaded; later it is the command's to say
            print("error: interrupted; nothing was written", file=sys.stderr)
            _close(2)
            code = 130
        elif not isinstance(error, OSError):
            raise
        else:
            _close(1)
            if not code and not isinstance(error, BrokenPipeError):
                print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
                code = 2
    if arrived and code == 130:
        _close(2)
        code = 128 + arrived[0]  # by which a shell tells an interrupt from a termination
    sys.exit(code)


def _run(words: Sequence[str]) -> int:
    if list(words) != ["--version"]:
        from .app import run

        return run(words)
    from hedgerow import __version__  # before anything else is loaded

    print(f"hedgerow {__version__}")
    return 0


def _close(stream: int) -> None:
    """Drop what Python still writes at exit: of what could not be written, and of work that was cut off."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
