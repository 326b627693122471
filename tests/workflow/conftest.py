"""A table in a file, and every method with roles that suit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow.workflow.methods import make

ROLES = hr.Schema(
    quasi=["age", "education", "job"], sensitive=["income", "assets"], identifiers=["person_id", "postcode"]
)
NUMBERS = ROLES.replace(quasi=["age", "assets"], sensitive=["income"])
WORDS = ROLES.replace(quasi=["education", "job"], sensitive=["region"])

PUBLIC = hr.Schema(
    quasi=["age", "job"],
    sensitive=["income"],
    identifiers=["person_id", "postcode"],
    bounds={"age": (0, 110), "income": (0, 1_000_000)},
    categories={"job": ["nurse", "cook", "teacher"]},
)

# name on the command line: (options beyond the defaults, roles)
CHOSEN: dict[str, tuple[dict[str, Any], hr.Schema]] = {
    "mart": ({"k": 10, "max_disclosure": 0.5, "numeric": "mean"}, ROLES),
    "hedge": ({"k": 8, "max_disclosure": 0.4, "numeric": "median", "screen": False}, ROLES),
    "mondrian": ({"k": 7, "objective": "loss"}, ROLES),
    "rr": ({"l": 2.0, "caps": ["region=Elm:0.4"], "known_negations": "Elm,Oak"}, WORDS),
    "anatomy": ({"l": 2.0}, WORDS),
    "datafly": ({"k": 5, "suppression": 0.1}, WORDS),
    "incognito": ({"k": 5, "t": 0.6}, WORDS),
    "porop": ({"degree": 2, "clip": True, "random_state": 1}, NUMBERS),
    "lirop": ({"noise": "perturbative", "random_state": 1}, NUMBERS),
    "microaggregation": ({"k": 4, "distance": "gower"}, NUMBERS),
    "noise": ({"scale": 0.2, "integers": True, "random_state": 7}, NUMBERS),
    "rank-swapping": ({"proportion": 0.1, "random_state": 1}, NUMBERS),
    "pram": ({"stay": 0.7, "invariant": False, "random_state": 3}, WORDS),
    "top-bottom": ({"top_share": 0.1, "bottom": -5.0, "replace": "mean"}, NUMBERS),
    "local-suppression": ({"k": 4}, WORDS),
    "private-tree": ({"epsilon": 2.0}, PUBLIC),
    "tpp": ({"k": 5, "response": "region", "trees": "tree criterion=gini n_splits=2"}, WORDS),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with people.csv."""
    monkeypatch.chdir(tmp_path)
    people = hr.datasets.make_people(300, seed=1)
    known = people.column("region").is_valid()
    pacsv.write_csv(people.filter(known).drop_columns(["diagnosis", "entry_date"]), "people.csv")
    return tmp_path


def chosen(name: str) -> tuple[hr.Schema, Any]:
    """The roles and the method of one name; what draws has a key file."""
    options, roles = CHOSEN[name]
    method = make(name, options)
    given = method.get_params(deep=False)
    if "key" in given and given.get("random_state") is None:
        method.set_params(key="secret.key")
    return roles, method
