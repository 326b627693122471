"""What an audit measures is declared figure by figure: what it needs, where it stands, and what a reader is shown."""

from __future__ import annotations

import pandas as pd

import hedgerow as hr
from hedgerow.auditing import measure as room
from hedgerow.auditing.figure import Definition, Figure

PEOPLE = pd.DataFrame({"age": [20, 20, 30, 30] * 5, "pay": range(20)})
SCHEMA = hr.Schema(quasi=["age"], sensitive=["pay"])
QUICK = {"attacks": False, "learning": False}


def measured(monkeypatch, *figures, **asked):
    """An audit of an unchanged table by some figures more, and without the attacks."""
    kept = [each for each in room.FIGURES if "attacks" not in each.gives]
    monkeypatch.setattr(room, "FIGURES", (*kept, *figures))
    return hr.audit(PEOPLE, PEOPLE, SCHEMA, **(QUICK | asked))


def test_a_new_figure_is_one_declaration(monkeypatch):
    def sized(task):
        return {"people": task.sides.n_rows}

    row = Definition("people who were counted", ("utility", "sized", "people"), "people", "all of them")
    found = measured(monkeypatch, Figure({"utility.sized": dict[str, int]}, sized, rows=(row,)))
    assert found.utility["sized"] == {"people": 20}
    assert "people who were counted" in str(found)
    described = hr.Audit.json_schema()["properties"]["utility"]["properties"]["sized"]
    assert described == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_what_a_figure_needs_decides_whether_it_is_measured(monkeypatch):
    def asked(task):
        return [{"attack": "asked"}]

    for each in (Figure({"attacks": list}, asked, ("attacks",)), Figure({"attacks": list}, asked)):
        assert measured(monkeypatch, each, each).attacks == asked(None) * 2 * (not each.needs)
    both = measured(monkeypatch, Figure({"attacks": list}, asked, ("attacks", "k")), attacks=True, k=2)
    assert both.attacks == asked(None)


def test_every_figure_needs_what_may_be_there(monkeypatch):
    seen = []
    measured(monkeypatch, Figure({"utility.seen": list}, lambda task: seen.append(task) or []))
    monkeypatch.undo()
    for figure in room.FIGURES:
        assert set(figure.needs) <= set(seen[0].there)
