"""Compile some of the functions that a first release on a machine needs in a second process.

Numba compiles one function at a time in a process, and stores the result in files that processes
share. A program that is about to release a table when nothing is compiled yet therefore starts a
second process. It begins with the function that is needed last, while the program begins with
the one that is needed first: they meet in the middle, and neither waits for the other. Any function
that the second process has not finished is compiled when it is needed, as usual.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numba import from_dtype, types

from ..kernels import siphash
from ..kernels.numba_private import is_kept
from ..texts import read_toml


def begin(method: str | None = None) -> bool:
    """Compile ahead in a second process if nothing is compiled yet; return whether that was the case.

    The second process ends with this one, however this one ends.

    Parameters
    ----------
    method : str, optional
        Its name on the command line; by default the default method, Hedge.
    """
    if is_kept(siphash.sum_rows):
        return False
    if (os.cpu_count() or 1) > 1 and sys.executable:
        # -P: do not import modules from the user's current folder
        arguments = [sys.executable, "-P", "-m", __name__, method or "hedge"]
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:  # then this process compiles everything
            return True
        atexit.register(_end, process)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def late_functions(method: str) -> Iterator[tuple[Any, tuple[types.Type, ...]]]:
    """Yield compiled functions that a release by this method needs and the types of their arguments, the last first."""
    listed = read_toml("hedgerow.backends", "precompile.toml")
    for path, signature in reversed(listed["functions"]):
        module, name = path.rsplit(".", 1)
        if method == "hedge" or module not in listed["drawing"]:
            names = vars(import_module(f"hedgerow.{module}"))
            tuples = {key: _named(kind) for key, kind in names.items() if hasattr(kind, "_fields")}
            records = {key: from_dtype(kind) for key, kind in names.items() if isinstance(kind, np.dtype)}
            yield names[name], eval(f"({signature},)", tuples | records | vars(types))


def _named(kind: Any) -> Any:
    return lambda *fields: types.BaseTuple.from_types(fields, kind)


def compile_all(method: str) -> None:
    """Compile the functions that a release by this method needs, the last one first."""
    for function, arguments in late_functions(method):
        function.compile(arguments)


def _leave_with_parent() -> None:
    while os.read(0, 1):  # nobody writes
        pass
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    compile_all(sys.argv[1])
