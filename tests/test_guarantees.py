"""Guarantees: what they check, promise and say."""

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
from hedgerow.io.read import read
from hedgerow.measures import Classes
from hedgerow.measures.guarantees import (
    KINDS,
    Disclosure,
    KAnonymity,
    KInCombinations,
    LDiversity,
    TCloseness,
    Together,
    from_promise,
    unbounded,
)


def classes(released: list[Any], **sensitive: list[Any]) -> Classes:
    table = read(pa.table({"group": pa.array(released), **sensitive}))
    return Classes.from_table(table, ["group"], list(sensitive))


def test_k_counts_missing_as_a_value_of_its_own() -> None:
    made = classes(["a", "a", None, None, None, "b"], y=list("uvwxyz"))
    assert sorted(made.sizes.tolist()) == [1, 2, 3]
    check = KAnonymity(2).check(made)
    assert (check.required, check.reached, check.holds) == (2, 1, False)
    assert "1 of 3 groups" in check.detail
    assert KAnonymity(1).check(made).holds
    assert KAnonymity(3).holds_in(made).tolist().count(True) == 1
    assert sorted(zip(made.sizes, KAnonymity(2).holds_in(made), strict=True)) == [
        (1, False), (2, True), (3, True)
    ]  # fmt: skip


def test_k_counts_people_where_they_are_known() -> None:
    """20 records of one person are not 20 people."""
    made = classes(["a"] * 20 + ["b"] * 3)
    assert KAnonymity(3).check(made).holds
    people = Classes(made.sizes, {}, persons=np.array([1, 3]))
    check = KAnonymity(3).check(people)
    assert (check.reached, check.holds, check.detail) == (1, False, "1 of 2 groups are smaller")
    asked = KAnonymity(2, "person")
    assert asked.check(people).detail.endswith("or one person has more than half of their records")
    assert not asked.check(made).holds, "nobody told who the people are"
    assert from_promise(asked.promise()) == asked
    assert "2 people (told apart by person), none of whom has more than half" in asked.words()


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", "d", None])), min_size=1, max_size=50))
def test_diversity_of_every_kind(made: list[tuple[int, str | None]]) -> None:
    values = [v for _, v in made] if any(v for _, v in made) else ["a"] * len(made)
    found = classes([str(g) for g, _ in made], y=values).sensitive["y"]
    groups: dict[int, list[str | None]] = {}
    for (g, _), v in zip(made, values, strict=True):
        groups.setdefault(g, []).append(v)
    for i, (_, members) in enumerate(sorted(groups.items())):
        n, count = len(members), sorted(Counter(members).values(), reverse=True)
        expected = {
            "distinct": len(count),
            "frequency": n / count[0],
            "entropy": math.exp(-sum(c / n * math.log(c / n) for c in count)),
        }
        for kind, reached in expected.items():
            assert LDiversity(2, kind).reached(found)[i] == pytest.approx(reached)
        for l in (1, 2, 3):
            tail = sum(count[l - 1 :])
            needed = LDiversity(l, "recursive", c=1.0).reached(found)[i]
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
        (LDiversity(1.505, "frequency"), False),
        (TCloseness(0.5), True),
        (TCloseness(0.1), False),
        (TCloseness(0.16), False),  # 1/6
        (Disclosure(1.0), True),
        (Disclosure(0.05), False),
    ],
)
def test_checks_say_whether_and_where(criterion: Any, holds: bool) -> None:
    made = classes(list("ppprrr"), y=["a", "a", "b", "a", "b", "b"])
    check = criterion.check(made)
    assert check.holds is holds
    assert "'y'" in check.detail if holds and check.reached else "groups" in check.detail or not check.reached


def test_the_worst_column_is_named_and_a_column_that_lacks_fails() -> None:
    made = classes(list("ppprrr"), flat=list("aabaab"), told=list("aaabbb"))
    check = Disclosure(0.5).check(made)
    assert (check.reached, check.holds, check.detail) == (1, False, "2 groups tell more")
    turned = classes(list("ppprrr"), told=list("aaabbb"), flat=list("aabaab"))
    assert Disclosure(0.5).check(turned) == check
    check = Disclosure(0.5, columns=("flat",)).check(made)
    assert (check.reached, check.holds, check.detail) == (0, True, "the most in 'flat'")
    check = LDiversity(1.5).check(made)
    assert (check.reached, check.holds) == (pytest.approx(1), False)
    gone = TCloseness(0.5, columns=("flat", "gone")).check(made)
    assert (gone.reached, gone.holds, gone.detail) == ("not measured", False, "no sensitive column 'gone'")
    none = LDiversity(2).check(classes(["a", "b"]))
    assert (none.holds, none.detail) == (True, "")


@pytest.mark.parametrize(
    "criterion",
    [
        KAnonymity(5),
        Disclosure(0.4),
        Disclosure(0.4, columns=("a", "b")),
        LDiversity(2.5),
        LDiversity(3, "recursive", c=0.5),
        LDiversity(2, "frequency", columns=("y",)),
        TCloseness(0.2),
        TCloseness(0.2, columns=("y",)),
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
    table = read(pa.table({"a": [1.0, 1.0, 2.0], "b": ["x", "x", "x"], "y": [1, 2, 3]}))
    assert sorted(Classes.from_table(table, ["a", "b"], ["y"]).sizes.tolist()) == [1, 2]
    assert Classes.from_table(table, [], ["y"]).sizes.tolist() == [3]


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (KAnonymity(1000), "at least 1,000 records"),
        (KAnonymity(5, None, "home"), "at least 5 people of 5 households (told apart by home)"),
        (Together("home"), "all members of a household have the same"),
        (Disclosure(0.4), "gives away more than 0.4 of any sensitive column"),
        (Disclosure(0.4), "makes a forecast of a member's value at most this much better"),
        (LDiversity(2.5, columns=("y",)), "2.5-diverse (entropy) in y"),
        (LDiversity(3, "recursive", c=0.5), "3-diverse (recursive, c = 0.5)"),
        (TCloseness(0.2, columns=("a", "b")), "the values of a, b are distributed"),
    ],
)
def test_guarantees_in_words(criterion: Any, words: str) -> None:
    assert words in criterion.words()


def test_every_kind_is_known_by_its_name_and_has_words() -> None:
    examples = [KAnonymity(2), Disclosure(0.5), LDiversity(2), TCloseness(0.1), Together("home")]
    examples.append(KInCombinations(3, [["age", "sex"]]))
    here = {kind: g for kind, g in KINDS.items() if g.__module__ == KAnonymity.__module__}
    assert {e.kind: type(e) for e in examples} == here  # the papers add one of their own


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("below", [1e-7, 1e-9, 2.0**-54])
def test_the_cap_is_decided_exactly(numbers: bool, below: float) -> None:
    """Shares 3/4 and 1/4 beside 1/2 and 1/2 of the table take (3/4 - 1/4)^2 = 1/4 of the loss."""
    y = [0, 0, 0, 1, 0, 1, 1, 1]
    made = classes(list("ppppqqqq"), y=y if numbers else ["ab"[v] for v in y])
    assert Disclosure(0.25).holds_in(made).all()
    assert Disclosure(0.25).check(made).holds
    refused = Disclosure(0.25 - below)
    assert not refused.holds_in(made).any()
    assert not refused.check(made).holds


@pytest.mark.parametrize(
    ("kept", "refused"),
    [
        (TCloseness(0.25), TCloseness(0.25 - 1e-8)),
        (LDiversity(4 / 3, "frequency"), LDiversity(4 / 3 + 1e-8, "frequency")),
    ],
)
def test_other_limits_forgive_nothing_but_rounding(kept: Any, refused: Any) -> None:
    made = classes(list("ppppqqqq"), y=list("aaababbb"))
    assert kept.holds_in(made).all()
    assert kept.check(made).holds
    assert not refused.holds_in(made).any()
    assert not refused.check(made).holds


def exposed(worst: float, over_half: int, single_valued: int = 0) -> dict[str, dict[str, Any]]:
    return {
        "y": {
            "groups": 9,
            "worst": worst,
            "over_half": over_half,
            "over_half_records": 10 * over_half,
            "single_valued": single_valued,
            "single_valued_records": 10 * single_valued,
        }
    }


@pytest.mark.parametrize(("share", "said"), [(0.5, False), (0.51, True)])
def test_more_than_half_is_said(share: float, said: bool) -> None:
    group = any("more than half" in text for text in unbounded([], exposed(share, 1), records=90))
    linked = any("linked" in text for text in unbounded([], {}, records=90, linked=share))
    others = {"unique": share, "columns": ["z"]}
    alone = any("alone by" in text for text in unbounded([], {}, records=90, others=others))
    assert (group, linked, alone) == (said, said, said)


def test_a_group_of_one_value_silences_no_other_that_gives_away_more_than_half() -> None:
    one, other = unbounded([], exposed(1.0, 3, 1), records=90)
    assert "in 1 of 9 groups everybody has the same value" in one
    assert "3 of 9 groups give away more than half" in other
    assert len(unbounded([], exposed(1.0, 1, 1), records=90)) == 1
