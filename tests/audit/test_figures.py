"""What an audit measures is a row a figure: rows need what there can be, and give what is told."""

from __future__ import annotations

import pandas as pd

import hedgerow as hr
from hedgerow.auditing import measure as room

PEOPLE = pd.DataFrame({"age": [20, 20, 30, 30] * 5, "pay": range(20)})
SCHEMA = hr.Schema(quasi=["age"], sensitive=["pay"])
QUICK = {"attacks": False, "learning": False}


def measured(monkeypatch, *rows, **asked):
    """An audit of an unchanged table by some rows alone."""
    always = [f for f in room.FIGURES if f.gives in ("risk.original", "risk.release", "risk.other")]
    monkeypatch.setattr(room, "FIGURES", (*always, *rows))
    return hr.audit(PEOPLE, PEOPLE, SCHEMA, **(QUICK | asked))


def test_a_new_figure_is_one_row(monkeypatch):
    def sized(task):
        return {"people": task.sides.n_rows}

    found = measured(monkeypatch, room.Figure("utility.loss", sized))
    assert found.utility["loss"] == {"people": 20}


def test_what_a_row_needs_decides_whether_it_is_measured(monkeypatch):
    def asked(task):
        return [{"attack": "asked"}]

    for row in (room.Figure("attacks", asked, ("attacks",)), room.Figure("attacks", asked)):
        assert measured(monkeypatch, row, row).attacks == asked(None) * 2 * (not row.needs)
    both = measured(monkeypatch, room.Figure("attacks", asked, ("attacks", "k")), attacks=True, k=2)
    assert both.attacks == asked(None)


def test_every_row_needs_what_may_be_there(monkeypatch):
    seen = []
    measured(monkeypatch, room.Figure("missing", lambda task: seen.append(task) or []))
    monkeypatch.undo()
    for figure in room.FIGURES:
        assert set(figure.needs) <= set(seen[0].there)
