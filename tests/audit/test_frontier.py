"""The frontier: its points equal single audits, dominance, targets."""

from __future__ import annotations

import json
import operator

import pytest

import hedgerow as hr
from hedgerow.auditing.frontier import Point, mark_dominated
from hedgerow.errors import Cancelled, InfeasibleError, ParameterError


@pytest.fixture(scope="module")
def found(people, schema):
    return hr.frontier(people, schema, [hr.MART(), hr.Mondrian()], k=[5, 40], max_disclosure=[0.3, 0.7])


def point(disclosure, utility, k=5):
    return Point("m", {}, k, 1, disclosure, 0.0, 0.0, None, 0.0, disclosure, utility)


def test_dominance_by_hand():
    marked = mark_dominated([point(0.2, 0.5), point(0.3, 0.6), point(0.3, 0.55), point(0.4, 0.6)])
    assert [p.dominated for p in marked] == [False, False, True, True]


def test_settings_a_method_lacks_are_not_varied(found):
    asked = [(p.method, tuple(p.parameters.items())) for p in found.points]
    assert len(asked) == len(set(asked))
    assert sum(m == "MART" for m, _ in asked) == 4
    own = "max_disclosure" in hr.Mondrian().get_params()
    assert sum(m.startswith("Mondrian") for m, _ in asked) == (4 if own else 2)


def test_points_equal_an_audit_of_their_release(found, people, schema):
    for p in found.points[:2]:
        made = hr.audit(people, found.release(p), schema, attacks=False, learning=False)
        risk = made.risk["release"]
        assert p.k == risk["classes"]["k"]
        assert p.worst == pytest.approx(max(c["disclosure"]["worst"] for c in risk["sensitive"].values()))
        assert p.ncp == pytest.approx(made.utility["loss"]["ncp"])
        assert p.worst <= p.parameters["max_disclosure"] + 1e-9


def test_targets_pick_the_best(found):
    best = found.best(target_disclosure=0.3)
    assert best.disclosure <= 0.3
    assert best.utility == max(p.utility for p in found.points if p.disclosure <= 0.3)
    assert found.best(target_k=40).k >= 40
    least = found.best(target_utility=0.5)
    assert least.disclosure == min(p.disclosure for p in found.points if p.utility >= 0.5)
    with pytest.raises(InfeasibleError, match="highest utility"):
        found.best(target_utility=1.1)


def test_table_picture_and_json(found, people, schema):
    head, *rows = found.to_csv().splitlines()
    assert len(rows) == len(found.points)
    assert {"method", "asked_k", "k", "worst", "utility", "dominated"} <= set(head.split(","))
    assert found.picture() == found.picture()
    assert found.picture().lstrip().startswith("<?xml")
    assert len(json.loads(found.to_json())["points"]) == len(found.points)
    assert "dominated" in str(found) or not any(p.dominated for p in found.points)
    assert str(found).splitlines()[0].split()[-1] == "remark"


def test_threads_and_progress_change_nothing(people, schema):
    seen = []
    options = {"k": [5, 40], "max_disclosure": [0.4]}
    one = hr.frontier(people, schema, threads=1, progress=lambda step, share: seen.append(share), **options)
    two = hr.frontier(people, schema, threads=2, **options)
    assert one.points == two.points
    assert seen == sorted(seen)  # told between the steps of a setting as well
    assert sorted(set(seen)) == [0.0, 0.5, 1.0]


def test_it_is_stopped_in_the_middle_of_a_setting(people, schema):
    seen = []

    def stop(step, share):
        seen.append(share)
        if len(seen) == 3:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        hr.frontier(people, schema, k=[5], max_disclosure=[0.4], threads=1, progress=stop)
    assert seen == [0.0, 0.0, 0.0]  # no setting was done


def test_whoever_listens_can_stop_it(people, schema):
    def stop(step, share):
        if share:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        hr.frontier(people, schema, k=[5, 10, 20, 40], threads=2, progress=stop)


def test_methods_that_alter_values_are_judged_by_linkage(people, schema):
    methods = [hr.MART(), hr.PRAM(stay=0.7, random_state=1), hr.RandomizedResponse(l=1.5)]
    roles = schema.replace(quasi=["job", "sex"], sensitive=["ill"])
    found = hr.frontier(people, roles, methods=methods, k=[5], max_disclosure=[0.5])
    mart, pram, rr = found.points
    assert "linked" in found.disclosure
    assert mart.k >= 5
    assert pram.k is pram.worst is rr.k is None
    for p in found.points:
        assert 0 < p.linkage == p.disclosure <= 1
    # MART's share is that of drawing from the person's own class
    release = found.release(mart)
    sizes = hr.audit(people, release, attacks=False, learning=False).risk["release"]
    assert mart.linkage == pytest.approx(sizes["reidentification"]["marketer"]["average"], rel=0.3)
    with pytest.raises(ParameterError, match="alters values"):
        hr.frontier(people, roles, methods=methods, disclosure="worst")


def test_equal_releases_are_measured_alike_and_draws_apart(people):
    roles = hr.Schema(quasi=["age", "pay"])
    methods = {str(seed): hr.NoiseAddition(0.3, random_state=seed) for seed in (1, 2)}
    methods["1 again"] = hr.NoiseAddition(0.3, random_state=1)
    one, two, again = hr.frontier(people, roles, methods=methods).points
    assert (one.linkage, one.utility) == (again.linkage, again.utility)
    assert one.utility != two.utility


def test_anatomy_tells_what_its_buckets_tell(people, schema):
    roles = schema.replace(sensitive=["job"], quasi=["age", "sex"])
    (p,) = hr.frontier(people, roles, hr.Anatomy(), settings={"l": [3]}).points
    assert p.k < 5  # the quasi-identifiers stand as they were
    assert 0 < p.worst < 1  # and no bucket tells a value for certain


@pytest.mark.parametrize(
    "wrong", [{"utility": "fun"}, {"disclosure": "none"}, {"threads": 0}, {"k": [], "max_disclosure": []}]
)
def test_bad_parameters(people, schema, wrong):
    if "k" in wrong:
        wrong["methods"] = {}
    with pytest.raises(ParameterError):
        hr.frontier(people, schema, **wrong)


def test_learning_and_queries_as_utility(people, schema):
    for utility in ("learning", "queries"):
        (p,) = hr.frontier(people, schema, k=[20], max_disclosure=[0.5], utility=utility).points
        assert 0 < p.utility <= 1


def test_means_over_groups_are_an_axis_and_those_of_an_audit() -> None:
    people = hr.datasets.make_people(300, seed=1)
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    found = hr.frontier(people, schema, k=[5, 20], max_disclosure=[0.5], disclosure="mean_over_groups")
    assert [p.disclosure for p in found.points] == [p.mean_over_groups for p in found.points]
    released = hr.protect(people, schema, hr.MART(k=5, max_disclosure=0.5))
    told = hr.audit(people, released, attacks=False, learning=False)
    own = released.summary()["disclosure"]["columns"]["income"]
    by_groups = told.risk["release"]["sensitive"]["income"]["disclosure"]
    assert {name: by_groups[name] for name in own} == pytest.approx(own)


def test_a_second_search_adds_to_the_first() -> None:
    people = hr.datasets.make_people(800, seed=1)
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    session = hr.Session(people)
    session.choose(schema, hr.MART())
    whole = session.frontier(k=[5, 20], max_disclosure=[0.3, 0.6])
    other = hr.Session(people)
    other.choose(schema, hr.MART())
    other.frontier(k=[5], max_disclosure=[0.3, 0.6])
    both = other.frontier(k=[20], max_disclosure=[0.3, 0.6], keep=True)
    key = operator.attrgetter("setting")
    assert sorted(both.points, key=key) == sorted(whole.points, key=key)  # dominated ones as well
    again = other.frontier(k=[20], max_disclosure=[0.3], keep=True)
    assert len(again.points) == 4  # each setting once
    assert other.frontier(k=[20], max_disclosure=[0.3]).points != again.points
    queries = other.frontier(k=[5], max_disclosure=[0.3], utility="queries", keep=True)
    assert len(queries.points) == 1  # another axis is another picture
    with pytest.raises(ParameterError, match="differ in schema, axes or bound"):
        both.joined(queries)


def test_points_of_another_method_of_the_name_go() -> None:
    people = hr.datasets.make_people(800, seed=1)
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    axes = {"k": [5], "max_disclosure": [0.5]}
    one = hr.frontier(people, schema, hr.MART(numeric="range"), **axes)
    session = hr.Session(people)
    session.frontier(hr.MART(), schema=schema, k=[10], max_disclosure=[0.5])
    mean = session.frontier(hr.MART(numeric="mean"), schema=schema, keep=True, **axes)
    assert [p.k for p in mean.points] == [5]
    assert len(one.joined(hr.frontier(people, schema, hr.Hedge(), **axes)).points) == 2


def test_certainty_says_nothing_of_what_learning_loses_by_a_cap() -> None:
    people = hr.datasets.make_people(800, seed=1)
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    found = hr.frontier(people, schema, hr.MART(k=5), max_disclosure=[None, 0.1], k=[5])
    assert [p.uncapped for p in found.points] == [None, None]
    assert found.warnings == ()


def test_points_of_another_k_are_added_and_not_put_in_the_place_of_others(people, schema):
    ten = hr.frontier(people, schema, hr.MART(k=10), k=[10], max_disclosure=[0.5])
    twelve = hr.frontier(people, schema, hr.MART(k=12), k=[12], max_disclosure=[0.5])
    both = ten.joined(twelve)
    assert [p.parameters["k"] for p in both.points] == [10, 12]
    assert [both.method(p).k for p in both.points] == [10, 12]
    means = hr.MART(k=12, numeric="mean")
    other = hr.frontier(people, schema, means, k=[12], max_disclosure=[0.5])
    assert [p.parameters["k"] for p in ten.joined(other).points] == [12]  # another method
