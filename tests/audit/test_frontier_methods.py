"""The frontier of many methods: all of them, in any row order, what is refused, what collapses."""

from __future__ import annotations

import csv
import io
import json
import threading

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.frontier import Frontier, Point, Setting
from hedgerow.errors import Cancelled, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

EVERY = [
    hr.MART(),
    hr.Hedge(),
    hr.Mondrian(),
    hr.RandomizedResponse(random_state=1, bins=3),
    hr.Anatomy(random_state=1),
    hr.Datafly(),
    hr.Incognito(),
    hr.PoROP(12, degree=2, random_state=1),
    hr.LiROP(12, random_state=1),
    hr.Microaggregation(),
    hr.NoiseAddition(random_state=1),
    hr.RankSwapping(random_state=1),
    hr.PRAM(random_state=1),
    hr.TopBottomCoding(),
    hr.LocalSuppression(),
    hr.TreePatternPreserving("tree n_splits=2 min_leaf=8 criterion=gini", response="ill"),
]


def numbers(n: int = 300) -> tuple[pd.DataFrame, hr.Schema]:
    """A table that suits every method: numbers to know, a category to guard."""
    rng = np.random.default_rng(5)
    age, pay = rng.integers(20, 70, n), rng.normal(30, 8, n).round(1)
    ill = np.array(list("abcdef"))[(age // 10 + rng.integers(0, 3, n)) % 6]
    table = pd.DataFrame({"age": age.astype(float), "pay": pay, "ill": ill})
    return table, hr.Schema(quasi=["age", "pay"], sensitive=["ill"])


def test_all_methods_stand_on_one_frontier() -> None:
    table, schema = numbers()
    found = hr.frontier(table, schema, EVERY, k=[5], max_disclosure=[0.8])
    stood = {p.method for p in found.points} | {f["method"] for f in found.infeasible}
    assert len(stood) == 16
    # PRAM redraws categories and refuses numbers, which is told and stops nobody else
    shown = {p.method for p in found.points}
    assert stood - shown == {"PRAM"}
    tried = {p.parameters["scale"] for p in found.points if p.method == "NoiseAddition"}
    assert tried == {0.1, 0.3, 1.0}
    assert {p.parameters["l"] for p in found.points if p.method == "Anatomy"} >= {2, 3}
    for p in found.points:
        assert 0 <= p.disclosure == p.linkage <= 1
    for name in ("MART", "Hedge"):
        p = next(p for p in found.points if p.method == name)
        assert p.explained <= p.most_explained
        assert p.most_explained <= 0.8 * 1.25
        assert p.of_optimum == p.explained / p.most_explained


def test_the_same_bytes_in_any_row_order() -> None:
    table, schema = numbers(200)
    methods = [hr.MART(), hr.Hedge(numeric="median"), hr.Microaggregation(), hr.Anatomy(random_state=2)]
    options = {"k": [5, 300], "max_disclosure": [0.5], "utility": "learning", "disclosure": "advantage"}
    made = []
    for seed in (None, 1, 2):
        people = table if seed is None else table.sample(frac=1, random_state=seed)
        found = hr.frontier(people, schema, methods, threads=1 + (seed or 0) % 2, **options)
        made.append((found.to_json(), found.to_csv(), found.picture(), str(found)))
    assert made[0] == made[1] == made[2]
    points = json.loads(made[0][0])["points"]
    assert len(points) >= 4
    assert all(p["advantage"] is not None for p in points)


def test_parameters_that_were_set_or_asked_for_are_not_varied_unasked() -> None:
    table, schema = numbers(100)
    methods = [hr.NoiseAddition(0.7, random_state=1), hr.RankSwapping(random_state=1)]
    found = hr.frontier(table, schema, methods, settings={"proportion": [0.2]})
    assert [dict(p.parameters) for p in found.points] == [{}, {"proportion": 0.2}]
    with pytest.raises(ParameterError, match=r"'proporton' \(did you mean 'proportion'\?\)"):
        hr.frontier(table, schema, methods, settings={"proporton": [0.2]})


def test_figures_come_out_again_and_releases_are_drawn_from_a_secret_key() -> None:
    table, schema = numbers(100)
    one, two = (hr.frontier(table, schema, hr.NoiseAddition()) for _ in range(2))
    assert one.to_json() == two.to_json()
    point = one.points[0]
    assert one.method(point).random_state is None
    drawn = [found.release(point).table["pay"].tolist() for found in (one, two)]
    assert drawn[0] != drawn[1]


def test_methods_of_one_name_are_told_apart_by_their_parameters() -> None:
    table, schema = numbers(100)
    found = hr.frontier(table, schema, [hr.MART(), hr.MART(numeric="mean")], k=[5], max_disclosure=[0.5])
    assert [p.method for p in found.points] == ["MART()", "MART(numeric='mean')"]
    assert found.method(found.points[1]).numeric == "mean"
    with pytest.raises(ParameterError, match="given twice"):
        hr.frontier(table, schema, [hr.MART(), hr.MART()])


def test_what_is_not_possible_is_told_with_its_reason_everywhere() -> None:
    table, schema = numbers(100)
    found = hr.frontier(
        table, schema, [hr.MART(), hr.PRAM(random_state=1)], k=[5, 101], max_disclosure=[0.5], settings={"stay": [0.5]}
    )
    reasons = [f["reason"] for f in found.infeasible]
    assert len(reasons) == 2
    assert "101" in reasons[0]
    assert [len(r) > 10 for r in reasons] == [True, True]
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [r["reason"] for r in rows] == ["", *reasons]
    for reason in reasons:
        assert reason in str(found)
    # where a method refuses and nothing else is left, its own error is raised
    with pytest.raises(ParameterError, match="101"):
        hr.frontier(table, schema, hr.MART(), k=[101])


def rule(n: int = 1500) -> tuple[pd.DataFrame, hr.Schema]:
    """A table with a strong rule, which a small cap hides."""
    rng = np.random.default_rng(8)
    age, job = rng.integers(20, 70, n), rng.choice(list("abcd"), n)
    pay = 100.0 * age + 800.0 * (job == "a") + rng.normal(0, 100, n)
    table = pd.DataFrame({"age": age, "job": job, "pay": pay.round()})
    return table, hr.Schema(quasi=["age", "job"], sensitive=["pay"])


def test_a_cap_under_which_learning_collapses_is_warned_of() -> None:
    table, schema = rule()
    found = hr.frontier(table, schema, hr.MART(), k=[10], max_disclosure=[0.02, 0.9, None], utility="learning")
    tight, loose, free = found.points
    assert tight.uncapped == loose.uncapped == free.utility > 0.8
    assert free.uncapped is None
    assert [p.collapsed for p in found.points] == [True, False, False]
    (text,) = found.warnings
    assert "max_disclosure=0.02" in text
    assert f"{tight.utility:.3f}" in text
    assert f"warning: {text}" in str(found)
    assert "learning collapses" in found.picture()
    assert json.loads(found.to_json())["warnings"] == [text]
    kept = hr.frontier(table, schema, hr.MART(), k=[10], max_disclosure=[0.9], utility="learning")
    assert not kept.warnings
    assert "learning collapses" not in kept.picture()
    assert len(kept.points) == 1  # the release without a cap is no point of its own


def test_learning_asks_about_people_left_out() -> None:
    """Unique people told as they are: members are known by heart, people left out are not."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"id": rng.permutation(400).astype(float), "pay": rng.normal(size=400)})
    schema = hr.Schema(quasi=["id"], sensitive=["pay"])
    method = hr.TopBottomCoding(top_share=0.0, bottom_share=0.01)
    (p,) = hr.frontier(table, schema, method, utility="learning", disclosure="advantage").points
    assert p.inferred > 0.9
    assert p.utility < 0.1
    assert p.advantage > 0.8


def test_whoever_interrupts_waits_for_one_step_alone() -> None:
    """Ctrl-C in the middle: what has begun ends at its next step, and nothing else begins."""
    table, schema = numbers(300)
    began: list[int] = []

    class Slow(hr.MART):
        def fit_table(self, table, schema, **options):  # type: ignore[no-untyped-def]
            began.append(threading.get_ident())
            return super().fit_table(table, schema, **options)

    def listen(step: str, share: float | None) -> None:
        if share:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hr.frontier(
            table, schema, Slow(), k=list(range(5, 25)), max_disclosure=[0.5], disclosure="advantage", progress=listen
        )
    # each of two threads fits a release and its three refits at most twice
    assert 1 <= len(began) <= 16
    assert threading.active_count() < 10


def test_what_stops_the_work_is_raised_as_it_was() -> None:
    table, schema = numbers(100)

    def listen(step: str, share: float | None) -> None:
        if share:
            raise Cancelled("enough, said by the listener")

    for _ in range(3):
        with pytest.raises(Cancelled, match="said by the listener"):
            hr.frontier(table, schema, k=[5, 6, 7, 8, 9], max_disclosure=[0.4], progress=listen)


def test_picture_labels_and_faint_points() -> None:
    def point(disclosure: float, utility: float, cap: float, dominated: bool) -> Point:
        asked = {"k": 10, "max_disclosure": cap}
        return Point("MART", asked, 10, 5, disclosure, 0.1, 0.1, None, 0.2, disclosure, utility, dominated)

    points = (point(0.2, 0.5, 0.2, False), point(0.4, 0.8, 0.4, False), point(0.5, 0.3, 0.5, True))
    table, schema = numbers(20)
    found = Frontier(points, (), "u", "d", table, schema, {})
    picture = found.picture()
    assert ">10, .2<" in picture
    assert ">10, .4<" in picture
    assert ">10, .5<" in picture  # dominated: faint, as its label is
    assert ">10, .5<" not in Frontier((*points, *points[2:] * 18), (), "u", "d", table, schema, {}).picture()
    assert "%<" not in picture  # the table has 0.200
    assert "opacity: 0.35" in picture
    assert "prefers-color-scheme: dark" in picture
    assert "{filter: invert(1) hue-rotate(180deg)}" in picture
    assert 'style="fill: #ffffff"' in picture  # paper of its own, which the filter turns dark


def test_settings_are_told_apart_by_what_they_ask() -> None:
    one, same = Setting("a", {"k": 5}), Setting("a", {"k": 5})
    assert one == same
    assert hash(one) == hash(same)
    assert one.uncapped() is None
    assert Setting("a", {"max_disclosure": 1}).uncapped() is None
    assert Setting("a", {"max_disclosure": 0.5}).uncapped() == Setting("a", {"max_disclosure": None})
