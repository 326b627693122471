"""Bit tricks for compiled loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def trailing_zeros(context: Any, word: Any) -> Any:
    """Index of the lowest set bit of a non-zero 64-bit word (one machine instruction)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def count_ones(context: Any, word: Any) -> Any:
    """Number of set bits of a 64-bit word (one machine instruction)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), code
