"""Compiling loops so that they run without the interpreter's lock, and caching their machine code."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from ..progress import caution
from .numba_private import Cache, FastCompiler, PartCompiler

_warned = False


class _Compiling(event.Listener):
    """A listener that stops garbage collection while numba compiles, which one thread does at a time.

    The collector would scan the compiler's objects again and again: a fifth of the time.
    """

    def __init__(self) -> None:
        self._depth, self._collects = 0, False

    def on_start(self, event: Any) -> None:
        # Compiling a function compiles those that it calls: only the outermost call counts.
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Compiling())


def _compiler(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    compile_ = numba.njit(nogil=True, no_cfunc_wrapper=True, **{"pipeline_class": FastCompiler, **options})

    def compiled(function: Callable[..., Any]) -> Any:
        global _warned
        dispatcher = compile_(function)
        if isinstance(dispatcher, Dispatcher):  # a plain function if compiling is off
            try:
                dispatcher._cache = Cache(function)  # type: ignore[attr-defined]
            except (RuntimeError, OSError):
                if not _warned:
                    caution(
                        "Hedgerow found no folder in which it may keep compiled code, so every "
                        "start compiles again, which takes up to a minute; set NUMBA_CACHE_DIR "
                        "to a folder that you can write to"
                    )
                _warned = True
        return dispatcher

    return compiled


# For functions that Python calls; division follows the processor (inf or NaN, no error).
kernel = _compiler(error_model="numpy")
# The same for functions that make no arrays. Without `_nrt` numba counts no references to arrays.
# Counting is an atomic operation for every array of every tuple that is passed on, which cost more than
# the work on a small node and made a third of the code that had to be compiled. Python holds the arrays.
loop = _compiler(error_model="numpy", _nrt=False)
# For functions that only compiled ones call and that make no arrays.
inner = _compiler(error_model="numpy", no_cpython_wrapper=True, _nrt=False, pipeline_class=PartCompiler)
# For functions in which a division by zero is an error.
checked = _compiler()
# The same, inlined into its callers.
inlined = _compiler(inline="always")
