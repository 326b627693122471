"""Criteria by brute force over the records of each group."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ParameterError, PlanError
from hedgerow.guarantees import (
    Classes,
    Disclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
    emd,
    from_promise,
    rsd,
    value_counts,
)
from hedgerow.table import read


def column(values: list[Any], kind: str | None = None, categories: Any = None) -> Any:
    return read(pa.table({"y": pa.array(values)})).column("y", kind=kind, categories=categories)


@st.composite
def grouped_numbers(draw: Any) -> tuple[list[int], list[float | None]]:
    n = draw(st.integers(2, 40))
    group = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    value = st.one_of(
        st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6).map(lambda v: round(v, 3))
    )
    return group, draw(st.lists(value, min_size=n, max_size=n))


def dense(group: list[int]) -> tuple[Any, int]:
    names = {g: i for i, g in enumerate(dict.fromkeys(group))}
    return np.array([names[g] for g in group], np.uint32), len(names)


@given(grouped_numbers())
def test_rsd_of_numbers(made: tuple[list[int], list[float | None]]) -> None:
    group, n_groups = dense(made[0])
    values = made[1]
    known = [v for v in values if v is not None]
    if len(set(known)) < 2:
        return
    public, span = sum(known) / len(known), max(known) - min(known)
    found = rsd(group, n_groups, column(values, "numeric"))
    for g in range(n_groups):
        mine = [v for v, h in zip(values, group, strict=True) if h == g and v is not None]
        outside = sum((v - public) ** 2 for v in mine)
        if mine and outside > 1e-12 * span**2:  # nearer to the mean than the units of 2^-30
            mean = sum(mine) / len(mine)
            inside = sum((v - mean) ** 2 for v in mine)
            assert found[g] == pytest.approx(
                inside / outside, abs=1e-3 if outside < 1e-6 * span**2 else 1e-6
            )
        elif not mine:
            assert found[g] == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", None])),
        min_size=2,
        max_size=40,
    )
)
def test_rsd_of_categories(made: list[tuple[int, str | None]]) -> None:
    group, n_groups = dense([g for g, _ in made])
    values = [v for _, v in made]
    known = Counter(v for v in values if v is not None)
    if not known:
        return
    found = rsd(group, n_groups, column(values, "categorical"))
    for g in range(n_groups):
        mine = Counter(v for v, h in zip(values, group, strict=True) if h == g and v is not None)
        n = sum(mine.values())
        if not n:
            assert found[g] == 1
            continue

        # mean squared error of a guess (a vector of shares) over the group's records
        def brier(guess: dict[str, float], mine: Counter[str] = mine, n: int = n) -> float:
            return (
                sum(
                    count * sum(((v == c) - guess.get(c, 0)) ** 2 for c in known)
                    for v, count in mine.items()
                )
                / n
            )

        outside = brier({c: known[c] / sum(known.values()) for c in known})
        inside = brier({c: mine[c] / n for c in known})
        assert found[g] == pytest.approx(inside / outside if outside > 1e-12 else 1, abs=1e-9)


def test_rsd_at_its_ends() -> None:
    two = np.array([0, 0, 1, 1], np.uint32)
    assert rsd(np.zeros(4, np.uint32), 1, column([1.0, 2.0, 3.0, 9.0])).tolist() == pytest.approx(
        [1]
    )
    assert rsd(two, 2, column([1.0, 1.0, 3.0, 3.0])).tolist() == pytest.approx([0, 0])
    assert rsd(two, 2, column(["a", "a", "b", "b"])).tolist() == [0, 0]
    assert rsd(two, 2, column(["a", "b", "a", "b"])).tolist() == [1, 1]
    assert rsd(two, 2, column([None] * 4, "numeric")).tolist() == [1, 1]


def transport(a: list[float], b: list[float], ordered: bool) -> float:
    """Earth mover's distance by linear programming."""
    from scipy.optimize import linprog

    m = len(a)
    if m < 2:
        return 0.0
    cost = [abs(i - j) / (m - 1) if ordered else float(i != j) for i in range(m) for j in range(m)]
    rows = [[float(i == k) for i in range(m) for _ in range(m)] for k in range(m)]
    columns = [[float(j == k) for _ in range(m) for j in range(m)] for k in range(m)]
    return float(linprog(cost, A_eq=rows + columns, b_eq=a + b, method="highs").fun)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_earth_movers_distance(ordered: bool, missing: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        n = int(rng.integers(3, 40))
        group, n_groups = dense(rng.integers(0, 4, n).tolist())
        values: list[Any] = rng.integers(0, 5, n).astype(float).tolist()
        if missing:
            values = [None if rng.random() < 0.2 else v for v in values]
        made = column(values, "numeric" if ordered else None)
        found = emd(group, n_groups, made, ordered)
        names = [*sorted({v for v in values if v is not None}), *([None] if None in values else [])]
        public = [values.count(v) / n for v in names]
        for g in range(n_groups):
            mine = [v for v, h in zip(values, group, strict=True) if h == g]
            assert found[g] == pytest.approx(
                transport([mine.count(v) / len(mine) for v in names], public, ordered), abs=1e-9
            )


def classes(released: list[Any], **sensitive: list[Any]) -> Classes:
    return Classes.of(
        [pa.array(released)], {name: pa.array(values) for name, values in sensitive.items()}
    )


def test_k_counts_missing_as_a_value_of_its_own() -> None:
    made = classes(["a", "a", None, None, None, "b"], y=list("uvwxyz"))
    assert sorted(made.sizes.tolist()) == [1, 2, 3]
    check = KAnonymity(2).check(made)
    assert (check.required, check.reached, check.holds) == (2, 1, False)
    assert "1 of 3 groups" in check.detail
    assert KAnonymity(1).check(made).holds


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", "d", None])),
        min_size=1,
        max_size=50,
    )
)
def test_diversity_of_every_kind(made: list[tuple[int, str | None]]) -> None:
    found = classes(
        [str(g) for g, _ in made],
        y=[v for _, v in made] if any(v for _, v in made) else ["a"] * len(made),
    )
    values = [v for _, v in made] if any(v for _, v in made) else ["a"] * len(made)
    groups: dict[int, list[str | None]] = {}
    for (g, _), v in zip(made, values, strict=True):
        groups.setdefault(g, []).append(v)
    for i, members in enumerate(groups.values()):
        n, count = len(members), sorted(Counter(members).values(), reverse=True)
        expected = {
            "distinct": len(count),
            "frequency": n / count[0],
            "entropy": math.exp(-sum(c / n * math.log(c / n) for c in count)),
        }
        for kind, reached in expected.items():
            assert LDiversity(2, kind).reached(found, "y")[i] == pytest.approx(reached)
        for l in (1, 2, 3):
            tail = sum(count[l - 1 :])
            needed = LDiversity(l, "recursive", c=1.0).reached(found, "y")[i]
            assert needed == (pytest.approx(count[0] / tail) if tail else math.inf)


def test_recursive_diversity_is_strict() -> None:
    made = classes(["g"] * 4, y=["a", "a", "b", "c"])  # r1 = 2, r2 + r3 = 2
    assert not LDiversity(2, "recursive", c=1.0).check(made).holds
    assert LDiversity(2, "recursive", c=1.01).check(made).holds


@pytest.mark.parametrize(
    ("criterion", "holds"),
    [
        (LDiversity(2, "distinct"), True),
        (LDiversity(3, "distinct"), False),
        (LDiversity(1.5, "frequency"), True),
        (LDiversity(2, "frequency"), False),
        (TCloseness(0.5), True),
        (TCloseness(0.1), False),
        (Disclosure(1.0), True),
        (Disclosure(0.05), False),
    ],
)
def test_checks_say_whether_and_where(criterion: Any, holds: bool) -> None:
    made = classes(list("ppprrr"), y=["a", "a", "b", "a", "b", "b"])
    check = criterion.check(made)
    assert check.holds is holds
    assert (
        "'y'" in check.detail
        if holds and check.reached
        else "groups" in check.detail or not check.reached
    )


def test_values_are_counted_per_group() -> None:
    at, code, count = value_counts(
        np.array([1, 0, 1, 1], np.uint32), np.array([2, 0, 2, 1], np.uint8)
    )
    assert list(zip(at.tolist(), code.tolist(), count.tolist(), strict=True)) == [
        (1, 2, 2),
        (0, 0, 1),
        (1, 1, 1),
    ]


@pytest.mark.parametrize(
    "criterion",
    [
        KAnonymity(5),
        Disclosure(0.4),
        Disclosure(0.4, ("a", "b")),
        LDiversity(2.5),
        LDiversity(3, "recursive", c=0.5),
        LDiversity(2, "frequency", columns=("y",)),
        TCloseness(0.2),
        TCloseness(0.2, ("y",)),
    ],
)
def test_a_promise_survives_json(criterion: Any) -> None:
    assert from_promise(json.loads(json.dumps(criterion.promise()))) == criterion


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(2.5),
        lambda: KAnonymity(True),
        lambda: Disclosure(0),
        lambda: Disclosure(1.1),
        lambda: Disclosure(float("nan")),
        lambda: LDiversity(0.5),
        lambda: LDiversity(2, "other"),
        lambda: LDiversity(2, "recursive"),
        lambda: LDiversity(2, "entropy", c=1.0),
        lambda: TCloseness(-0.1),
        lambda: TCloseness(1.5),
        lambda: TCloseness(float("nan")),
        lambda: LDiversity(float("nan")),
    ],
)
def test_parameters_out_of_range(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize(
    "promise",
    [
        {},
        {"kind": "other"},
        {"kind": "k_anonymity"},
        {"kind": "k_anonymity", "k": "x"},
        {"kind": "k_anonymity", "k": 0},
        {"kind": "disclosure", "maximum": 3},
        {"kind": "disclosure", "maximum": "much"},
        {"kind": "t_closeness", "t": None},
        {"kind": "k_anonymity", "k": 3, "more": 1},
        {"kind": ["k"]},
    ],
)
def test_damaged_promises(promise: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        from_promise(promise)


def test_groups_are_those_of_the_released_text() -> None:
    made = Classes.of(
        [pa.array([1.0, 1.0, 2.0]), pa.array(["x", "x", "x"])], {"y": pa.array([1, 2, 3])}
    )
    assert sorted(made.sizes.tolist()) == [1, 2]
    assert Classes.of([], {"y": pa.array([1, 2, 3])}).sizes.tolist() == [3]
