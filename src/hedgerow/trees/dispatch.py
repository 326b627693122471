"""Steps of a search whose compiled form depends on the type of their last argument.

A search stands beside nothing, or has sums or classes that only the codes which hold them list
(`sparse.py`); a node is split by histograms or by extents. Numba compiles the form that a type
asks for, and nothing that no layout needs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba.extending import overload

from ..kernels.compiled import OPTIONS

Form = Callable[..., Any]


def by_type(default: Form, **forms: Form) -> Any:
    """Return a function for compiled callers: a form for each named tuple, and a default.

    The forms need not name their arguments alike; only the last one's type counts.
    """

    def step(*arguments: Any) -> Any:
        raise NotImplementedError  # only compiled code calls it

    @overload(step, jit_options=OPTIONS, strict=False)
    def form(*types: Any) -> FunctionType:
        name = getattr(getattr(types[-1], "instance_class", None), "__name__", "")
        return forms.get(name, default).py_func  # type: ignore[attr-defined]

    return step
