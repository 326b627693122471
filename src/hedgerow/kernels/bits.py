"""Bit tricks for compiled loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


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


@intrinsic
def add_lanes(context: Any, into: Any, at: Any, lanes: Any, begin: Any) -> Any:
    """Add four neighbouring 64-bit integers of `lanes`, from `begin`, to those of `into` from `at`.

    One load, add and store where the processor has wide registers; both arrays
    are one-dimensional and contiguous, the positions unsigned.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        four = ir.VectorType(ir.IntType(64), 4).as_pointer()

        def place(which: int) -> Any:
            array = make_array(signature.args[which])(context, builder, arguments[which])
            return builder.bitcast(builder.gep(array.data, [arguments[which + 1]]), four)

        there, given = place(0), place(2)
        both = builder.add(builder.load(there, align=8), builder.load(given, align=8))
        builder.store(both, there, align=8)
        return context.get_dummy_value()

    return types.void(into, types.uint64, lanes, types.uint64), code


@intrinsic
def borrowed(context: Any, given: Any) -> Any:
    """The same arrays (one, or a tuple of them), but nobody counts references to them.

    Counting is an atomic operation for every array that a compiled function hands to
    another, which costs more than a small node's work. Whoever called the outermost
    function holds the arrays until it returns.
    """

    def released(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = make_array(kind)(context, builder, value)
            array.meminfo = ir.Constant(array.meminfo.type, None)
            array.parent = ir.Constant(array.parent.type, None)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            for i, part in enumerate(kind.types):
                old = builder.extract_value(value, i)
                value = builder.insert_value(value, released(context, builder, part, old), i)
        return value

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return released(context, builder, signature.args[0], arguments[0])

    return given(given), code
