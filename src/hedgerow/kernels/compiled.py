"""How loops are compiled: divisions as the processor does them, the interpreter let go."""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""For functions that Python calls."""
inner = njit(
    cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""For functions that only compiled ones call: nothing is made for Python to call them by."""
