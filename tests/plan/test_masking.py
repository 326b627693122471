"""The record of a masking as data and in words."""

from __future__ import annotations

import pytest

from hedgerow.errors import PlanError
from hedgerow.plan import Mask, MaskedColumn, Plan, PlanColumn
from hedgerow.plan.records import dumps, loads
from hedgerow.release.explain import recoding_in_words

MASK = Mask(
    "noise addition",
    (
        MaskedColumn("wage", "quasi", "numeric", released="double", missing=0.5, outside=0.25),
        MaskedColumn("rent", "quasi", "numeric", released="double"),
    ),
    {"scale": 0.1, "matrices": {"job": [[1.0]]}},
)
COLUMNS = tuple(PlanColumn(c.name, c.role, c.kind) for c in MASK.columns)
PLAN = Plan("NoiseAddition", {"scale": 0.1}, COLUMNS, MASK, n_rows=4)


def test_it_comes_back_from_json():
    assert loads(dumps(PLAN)) == PLAN
    assert PLAN.public()["recoding"]["columns"][0]["outside"] == 0.25


def test_it_is_told_in_words():
    told = recoding_in_words(MASK).splitlines()
    assert told[0].startswith("Method: noise addition")
    assert told[1:] == [
        "  scale: 0.1",
        "wage: 50.0% missing, 25.0% outside the original extent",
        "rent: every cell changed",
    ]


@pytest.mark.parametrize(
    ("old", "new"), [('"facts":{', '"fact":{'), ('"outside":0.25', '"beyond":0.25'), ('"columns":[{', '"c":[{')]
)
def test_damaged_records_are_refused(old, new):
    text = dumps(PLAN).replace(old, new, 1)
    assert text != dumps(PLAN)
    with pytest.raises(PlanError, match="damaged"):
        loads(text)
