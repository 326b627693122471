"""Every method with every guard on odd tables: a verified release, or a refusal with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, PromiseError

from .methods import CASES, Case
from .tables import TABLES
from .test_methods import assert_clear


@pytest.mark.parametrize("guard", ["runs", "redraw"])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore")
def test_a_verified_release_or_a_refusal(case: Case, kind: str, guard: str, tmp_path: Path) -> None:
    table, schema = TABLES[kind]()
    try:
        key = {"random_state": 1} if guard == "redraw" else {}
        release = hr.protect(table, schema, case.method(schema), guard=guard, **key)
    except HedgerowError as error:
        assert_clear(error)
        # a promise that is broken breaks without a guard as well
        if isinstance(error, PromiseError):
            with pytest.raises(PromiseError):
                hr.protect(table, schema, case.method(schema), guard=None)
        return
    assert (release.plan.guard is None) == (not schema.sensitive and not getattr(case.method(schema), "in_rows", False))
    if release.plan.guard is None:
        return  # nothing to hide
    release.write(tmp_path / "out")
