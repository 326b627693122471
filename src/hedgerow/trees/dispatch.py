"""What stands beside the statistics vector: entries of likeness, listed classes, or nothing.

A search calls these functions with its room (`Space.beside`) last; the room's type says which
form of each is compiled, so that nothing is compiled that no layout asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import typeof_impl

from ..kernels.compiled import inner
from . import sparse
from .category_orders import write_order
from .sparse import list_alike

Form = Callable[..., Any]


class _Forms:
    """What numba asks of a function that it meets: which form is compiled, and where it stands."""

    def __init__(self, nothing: Form, others: dict[str, Form]) -> None:
        self._nothing, self._others = nothing, others
        self.is_compiling = False  # none of them calls itself

    def _of(self, given: Any) -> Any:
        last = given[-1]
        if isinstance(last, (types.StarArgTuple, types.StarArgUniTuple)):
            last = last.types[-1]
        room = getattr(last, "instance_class", None)
        return self._others.get(room.__name__, self._nothing) if room else self._nothing

    def get_call_template(self, given: Any, named: Any) -> Any:
        return self._of(given).get_call_template(given, named)

    def get_overload(self, given: Any) -> Any:
        return self._of(given).get_overload(given)


@typeof_impl.register(_Forms)
def _typeof(forms: _Forms, context: Any) -> Any:
    return types.Dispatcher(forms)


def by_room(nothing: Form, **others: Form) -> Any:
    """A function whose form goes by the type of its last argument: (), `Alike` or `Listed`."""
    return _Forms(nothing, others)


@inner
def _nothing(*given):  # type: ignore[no-untyped-def]
    return 0


@inner
def _yes(*given):  # type: ignore[no-untyped-def]
    return True


@inner
def _no(*given):  # type: ignore[no-untyped-def]
    return False


@inner
def _axis_or_alone(hist, stride, present, begin, m, base, n_channels, total, t, room):  # type: ignore[no-untyped-def]
    return n_channels > 1 or t.alone


list_node = by_room(_nothing, Listed=sparse.list_node)
"""(a, b, room): list what the node of the records a..b holds."""
list_column = by_room(_nothing, Alike=list_alike, Listed=sparse.list_column)
"""(hist, stride, present, begin, end, base, c, total, t, room): list what a column's codes hold."""
orders_beside = by_room(_axis_or_alone, Listed=sparse.list_holders)
"""(hist, stride, present, begin, m, base, n_channels, total, t, room): how many orders of the
codes are tried after those by the means of the vector's responses."""
order_codes = by_room(write_order, Listed=sparse.write_listed_order)
"""(hist, stride, present, begin, m, sequence, n_channels, total, t, space, room): write an order
of the codes; returns how many stand in it."""
bring = by_room(_nothing, Listed=sparse.bring)
"""(code, sign, t, room): bring what a code holds to the left side, or back."""
gain_beside = by_room(_nothing, Listed=sparse.gain_of_listed)
"""(n, nl, t, room): what the split gains beside the vector's responses."""
admits_beside = by_room(_yes, Listed=sparse.admits_listed)
"""(n, nl, room): whether both sides are admitted."""
take_back = by_room(_nothing, Listed=sparse.take_back)
"""(rows, first, last, extra, base, room): leave nothing of these rows on the left side."""
left_is_larger = by_room(_no, Listed=sparse.left_is_larger)
"""(present, begin, m, base, goes_left, n, nl, t, room): whether the sides change places."""
at_once = by_room(_no, Listed=_yes)
"""(room): whether a split is written down before the next column is listed."""
work_of = by_room(_nothing, Listed=sparse.work_of)
"""(room): steps since this was asked."""
