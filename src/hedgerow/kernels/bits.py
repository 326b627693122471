"""Bit tricks for compiled loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array


@intrinsic
def trailing_zeros(context: Any, word: Any) -> Any:
    """Return the index of the lowest set bit of a non-zero 64-bit word (one machine instruction)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # The flag says that the word is never 0, which spares a test for it.
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def scatter_apart(context: Any, n: Any, part: Any, square: Any, cross: Any, whole: Any) -> Any:
    """Return n^2 square - 2 n part cross + part^2 whole from 64-bit integers, exact until converted to a double."""
    wide, double = ir.IntType(128), ir.DoubleType()

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        n, part, square, cross, whole = (builder.sext(a, wide) for a in arguments)
        twice = builder.mul(builder.mul(n, part), builder.shl(cross, ir.Constant(wide, 1)))
        both = builder.mul(builder.mul(n, n), square)
        both = builder.add(both, builder.mul(builder.mul(part, part), whole))
        both = builder.sub(both, twice)
        word = ir.IntType(64)  # no processor turns 128 bits into a double at once
        high = builder.trunc(builder.ashr(both, ir.Constant(wide, 64)), word)
        low = builder.uitofp(builder.trunc(both, word), double)
        high = builder.fmul(builder.sitofp(high, double), ir.Constant(double, 2.0**64))
        return builder.fadd(high, low)

    return types.float64(*[types.int64] * 5), code


class _Lanes(types.Type):
    """The numba type of four 64-bit integers in one register."""

    def __init__(self) -> None:
        super().__init__("Lanes")


_LANES = _Lanes()
# LLVM takes two registers for these where a processor's have 128 bits.
_FOUR = ir.VectorType(ir.IntType(64), 4)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FOUR)


def _place(context: Any, builder: Any, kind: Any, arguments: Any, of: Any) -> Any:
    """Return a pointer of type `of` to an entry of an array; the arguments are the array and the index."""
    data = make_array(kind)(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), of.as_pointer())


@intrinsic
def lanes_at(context: Any, numbers: Any, at: Any) -> Any:
    """Return four neighbouring 64-bit integers of a contiguous array, from `at` (unsigned) on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Four lanes may begin at any integer, so a wider alignment must not be assumed.
        return builder.load(_place(context, builder, numbers, arguments, _FOUR), align=8)

    return _LANES(numbers, types.uint64), code


@intrinsic
def one_and_three(context: Any, numbers: Any, at: Any) -> Any:
    """Return 1 and the three 32-bit integers after the entry `at` (unsigned) of a contiguous array."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half = ir.VectorType(ir.IntType(32), 4)
        four = builder.load(_place(context, builder, numbers, arguments, half), align=4)
        one, first = ir.Constant(ir.IntType(32), 1), ir.Constant(ir.IntType(32), 0)
        return builder.sext(builder.insert_element(four, one, first), _FOUR)

    return _LANES(numbers, types.uint64), code


def _updating(operation: str, text: str) -> Any:
    """Return an intrinsic that loads four integers, adds or subtracts four others, and stores the result."""

    def update(context: Any, into: Any, at: Any, lanes: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            there = _place(context, builder, into, arguments, _FOUR)
            changed = getattr(builder, operation)(builder.load(there, align=8), arguments[2])
            builder.store(changed, there, align=8)
            return context.get_dummy_value()

        return types.void(into, types.uint64, _LANES), code

    update.__doc__ = text
    return intrinsic(update)


add_lanes = _updating("add", "Add four 64-bit integers to those of `into` from `at` on.")
take_lanes = _updating("sub", "Subtract four 64-bit integers from those of `into` from `at` on.")
