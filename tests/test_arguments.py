"""What is of a wrong type is told by name, with what to do: no raw exception leaves the package."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.workflow.methods import METHODS

from .workflow.conftest import CHOSEN, chosen

pytestmark = pytest.mark.filterwarnings("ignore")

WRONG = [
    5,
    None,
    "x",
    b"x",
    [1, 2],
    object(),
    lambda step, share: None,
    float("nan"),
    -1,
    True,
    ["age", "age"],
    {"a": object()},
    hr.MART,
]
NAMES = [
    "inspect", "protect", "audit", "frontier", "inference", "score", "compare_models", "reconstruct",
    "Reconstruction.group_by", "Reconstruction.count", "explode", "verify_model", "Session", "Session.choose",
    "Session.result", "Session.frontier", "Session.take", "Session.protect", "Session.measure", "Session.write",
    "Schema", "Schema.from_toml", "Schema.from_mapping", "Schema.check", "Schema.role", "Hierarchy",
    "Hierarchy.from_values", "Hierarchy.from_intervals", "Hierarchy.from_dates", "Hierarchy.from_prefixes", "Key",
    "Key.file", "Plan.load", "Plan.apply", "Plan.save", "Plan.to_sql", "Plan.check_sql", "Release.write",
    "Release.verify", "Audit.report", "Audit.save", "Audit.broken", "Frontier.best", "Frontier.method", "make_people",
]  # fmt: skip
"""Public functions, classes and methods."""
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Call]]:
    """Every public function with arguments that it takes."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("calls"))
    people = hr.datasets.make_people(120, seed=1).drop_columns(["diagnosis", "entry_date"])
    roles = hr.Schema(quasi=["age", "education"], sensitive=["income"], identifiers=["person_id"])
    release = hr.protect(people, roles, hr.MART(k=5))
    release.write("mart")
    words = hr.Schema(quasi=["education"], sensitive=["smoker"])
    hr.protect(people, words, hr.RandomizedResponse(l=1.1, random_state=1)).write("rr")
    tree = hr.TreePatternPreserving("tree n_splits=2 criterion=variance", k=5, response="income")
    kept = hr.protect(people, roles, tree)
    model = json.loads((kept.write("tpp") / "model.json").read_text())
    measured = hr.audit(people, release, attacks=False, learning=False)
    front = hr.frontier(people, roles, hr.MART(), k=[5])
    counted = hr.reconstruct("rr")
    numbers = people.select(["age"])
    none = {"progress": None}
    few = {"learners": ["nearest"]}  # where attacks are true

    def session(*steps: str) -> hr.Session:
        made = hr.Session(people)
        made.choose(roles, hr.MART(k=5))
        for step in steps:
            getattr(made, step)()
        return made

    tried = session()
    tried.frontier(k=[5], max_disclosure=[0.5])
    yield {
        "inspect": (hr.inspect, (people,), {}),
        "protect": (
            hr.protect,
            (people, roles, hr.MART(k=5)),
            {"pseudonym_key": b"x" * 16, "max_inference": None, **none},
        ),
        "audit": (hr.audit, (people, release), {"attacks": False, "learning": False, "people": 9, **few}),
        "frontier": (
            hr.frontier,
            (people, roles, hr.MART()),
            {"k": [5], "max_disclosure": [0.5], "utility": "certainty"},
        ),
        "inference": (hr.inference, (people, roles, hr.MART(k=5)), {"folds": 0}),
        "score": (hr.score, (numbers, numbers), {}),
        "compare_models": (hr.compare_models, (people, people, "income ~ age"), {"schema": roles}),
        "reconstruct": (hr.reconstruct, ("rr",), {}),
        "Reconstruction.group_by": (counted.group_by, (["education"],), {}),
        "Reconstruction.count": (counted.count, ({},), {}),
        "explode": (hr.explode, (release.table,), {}),
        "verify_model": (hr.verify_model, (model, kept.table), {}),
        "Session": (hr.Session, (people,), {}),
        "Session.choose": (session().choose, (roles, hr.MART(k=5)), {"pseudonym_key": None}),
        "Session.result": (session().result, ("open",), {}),
        "Session.frontier": (
            lambda *a, **k: session().frontier(*a, **k),
            (hr.MART(),),
            {"schema": roles, "k": [5], **none},
        ),
        "Session.take": (tried.take, (tried.result("frontier").points[0],), {}),
        "Session.protect": (lambda **k: session().protect(**k), (), none),
        "Session.measure": (
            lambda **k: session("protect").measure(**k),
            (),
            {"attacks": False, "inference": False, "people": 9, **few, **none},
        ),
        "Session.write": (lambda *a, **k: session("protect").write(*a, **k), ("again",), {"force": True, **none}),
        "Schema": (
            hr.Schema,
            (),
            dict.fromkeys(("quasi", "sensitive", "identifiers", "other"), ())
            | {"kinds": {}, "categories": {}, "hierarchies": {}},
        ),
        "Schema.from_toml": (hr.Schema.from_toml, ("quasi = ['a']",), {}),
        "Schema.from_mapping": (hr.Schema.from_mapping, ({},), {}),
        "Schema.check": (roles.check, (people.column_names,), {}),
        "Schema.role": (roles.role, ("age",), {}),
        "Hierarchy": (hr.Hierarchy, ({"a": ("a", "*")},), {}),
        "Hierarchy.from_values": (hr.Hierarchy.from_values, (["a", "b"],), {}),
        "Hierarchy.from_intervals": (hr.Hierarchy.from_intervals, ([1, 2], [5, 10]), {}),
        "Hierarchy.from_dates": (hr.Hierarchy.from_dates, (["2001-01-01"],), {}),
        "Hierarchy.from_prefixes": (hr.Hierarchy.from_prefixes, (["123"], [2]), {}),
        "Key": (hr.Key, (b"x" * 32,), {}),
        "Key.file": (hr.Key.file, ("some.key",), {}),
        "Plan.load": (hr.Plan.load, ("mart/plan.json",), {}),
        "Plan.apply": (release.plan.apply, (people,), {}),
        "Plan.save": (release.plan.save, ("p.json",), {}),
        "Plan.to_sql": (release.plan.to_sql, (), {"table": "people", "dialect": "duckdb"}),
        "Plan.check_sql": (release.plan.check_sql, (), {"released": "r", "original": "o", "dialect": "duckdb"}),
        "Release.write": (release.write, ("more",), {"force": True, "escape": True, "measured": None, **none}),
        "Release.verify": (release.verify, (), none),
        "Audit.report": (measured.report, ("r.html",), {"audience": "steward", "plan": None, "checks": ()}),
        "Audit.save": (measured.save, ("a.json",), {}),
        "Audit.broken": (measured.broken, (), {"k": 5, "max_disclosure": 0.5}),
        "Frontier.best": (front.best, (), {}),
        "Frontier.method": (front.method, (front.points[0],), {}),
        "make_people": (hr.datasets.make_people, (10,), {"seed": 1}),
    }
    os.chdir(before)


def told(call: Callable[[], Any]) -> str | None:
    """What is wrong with a refusal; None where the call is done or refused well."""
    try:
        call()
    except HedgerowError as error:
        return None if len(str(error)) > 15 else f"only says {error.message!r}"
    except Exception as error:  # raw
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_every_public_function_tells_what_is_of_a_wrong_type(calls: dict[str, Call], name: str, third: int) -> None:
    """Every argument gets a third of the wrong values, and its neighbour the next third."""
    assert calls.keys() == {*NAMES}
    function, given, named = calls[name]
    function(*given, **named)  # as it should be
    known = inspect.signature(function).parameters.values()
    more = {p.name for p in known if p.kind is p.KEYWORD_ONLY}
    odd = []
    for at, key in enumerate([*range(len(given)), *sorted({*named, *more})]):
        for i, wrong in enumerate(WRONG):
            if (at + i) % 3 != third:
                continue
            changed = [wrong if key == place else value for place, value in enumerate(given)]
            others = {**named, key: wrong} if isinstance(key, str) else named
            found = told(lambda a=changed, k=others: function(*a, **k))  # type: ignore[misc]
            odd += [(key, type(wrong).__name__, found)] if found else []
    assert odd == []


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_a_method_tells_what_is_of_a_wrong_type(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text as a key is the path of a new key file
    people = hr.datasets.make_people(120, seed=1).drop_columns(["diagnosis", "entry_date"])
    people = people.filter(people.column("region").is_valid())
    assert set(CHOSEN) == set(METHODS)
    roles, method = chosen(name)
    if method.draws:
        method.set_params(key=None, random_state=1)
    hr.protect(people, roles, method)
    odd = []
    for parameter in method.get_params(deep=False):
        for wrong in WRONG:
            other = method.copy().set_params(**{parameter: wrong})
            if parameter == "key":
                other.set_params(random_state=None)
            found = told(lambda m=other: hr.protect(people, roles, m))  # type: ignore[misc]
            odd += [(parameter, type(wrong).__name__, found)] if found else []
    assert odd == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t, r: hr.protect(t, r, hr.MART), "method must be a method, not a type"),
        (lambda t, r: hr.protect(t, 5, hr.MART()), "schema must be a Schema, not 5"),
        (lambda t, r: hr.protect(t, r, hr.MART(), progress=5), "progress must be a function"),
        (lambda t, r: hr.frontier(t, r, k=5), "k must be a list of numbers, not 5"),
        (lambda t, r: hr.protect(t, r, hr.MART(), pseudonym_key=5), "pseudonym_key is a int"),
        (lambda t, r: hr.protect(t, r, hr.Incognito(l="two")), "l must be a number, not a str"),
        (lambda t, r: hr.explode({"a": object()}), "must be lists of values"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call: Any, words: str) -> None:
    people = hr.datasets.make_people(50, seed=1)
    roles = hr.Schema(quasi=["age"], sensitive=["income"])
    with pytest.raises(HedgerowError, match=words):
        call(people, roles)


def test_names_that_stand_twice_are_told() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(HedgerowError, match="names more than once"):
        hr.explode(pandas.DataFrame([["a+b", "c"]], columns=["job", "job"]))


def test_settings_of_a_method_are_no_arguments_of_protect():
    people = hr.datasets.make_people(50, seed=1)
    with pytest.raises(TypeError, match=r"^protect\(\) got an unexpected .*'k'; a method has its settings itself"):
        hr.protect(people, hr.Schema(quasi=["age"]), k=5)
    with pytest.raises(TypeError, match=r"^protect\(\) missing a required argument: 'schema'$"):
        hr.protect(people)
