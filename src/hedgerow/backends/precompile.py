"""Compile some of the functions that a first release on a machine needs in a second process.

Numba compiles one function at a time in a process, and stores the result in files that processes
share. A program that is about to release a table when nothing is compiled yet therefore starts a
second process. It compiles the functions that are needed last: those that recode, verify and
measure. Any function that it does not finish is compiled when it is needed, as usual.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading

from numba.core import sigutils

from ..kernels import exact_sums, group, measures, siphash, walk
from ..kernels.compiled import is_kept
from ..trees import nodes

# compiled functions and the types they are called with, in the order in which they are needed
AHEAD = (
    (group._fill, "i8[::1], i8, u4[::1], u4[::1], i8[::1], i8[::1], i8"),
    (nodes._products, "i4[:, ::1], i8[::1], i8[::1], i8[::1], i8[:, ::1], i8[:, ::1]"),
    (exact_sums._deviations, "f8[::1], i8[::1]"),
    (group._distinct, "u1[::1], i8[::1], i8[::1], i8[::1], i8[::1], u4[::1], i8[::1]"),
    (walk.count_outside, "f8[::1], i4[::1], f8[::1], f8[::1], b1[::1]"),
    (siphash.hash_texts, "u1[::1], i8[::1], u8, u8, u8[::1], u8[::1]"),
    (siphash.hash_words, "u8[::1], u8, u8, u8[::1], u8[::1]"),
    (siphash.add_codes, "Array(i4, 1, 'C', True), u8[::1], u8[::1], u8[::1], u8[::1]"),
    (siphash.sum_rows, "u8[::1], u8[::1], u8, u8"),
    (measures._best_windows, "i8[::1], f8[::1], i8[::1], f8, f8"),
    (measures.entropies, "i8[::1], i8[::1], i8[::1]"),
    (measures.number_disclosures, "i8[::1], f8[::1], i8[::1]"),
)


def begin() -> bool:
    """Compile ahead in a second process if nothing is compiled yet; return whether that was the case.

    The second process ends with this one, however this one ends.
    """
    if is_kept(siphash.sum_rows):
        return False
    if (os.cpu_count() or 1) > 1 and sys.executable:
        # -P: do not import modules from the user's current folder
        arguments = [sys.executable, "-P", "-m", __name__]
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


def compile_all() -> None:
    """Compile the functions in `AHEAD`, in the order in which a release needs them."""
    for function, types in AHEAD:
        function.compile(sigutils.normalize_signature(f"({types})")[0])


def _leave_with_parent() -> None:
    while os.read(0, 1):  # nobody writes
        pass
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    compile_all()
