"""The desk keeps what still holds, and asks for one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import ParameterError
from hedgerow.studio import forms, state
from hedgerow.studio.state import Choices
from hedgerow.studio.state import StudioState as Desk

from .conftest import METHODS, OPENED, Idle


def point(k: int, cap: float | None, disclosure: float, utility: float) -> dict[str, Any]:
    parameters = {"k": k, "max_disclosure": cap}
    return {"method": "MART", "parameters": parameters, "k": k, "classes": 9, "collapsed": False,
            "disclosure": disclosure, "utility": utility, "dominated": False}  # fmt: skip


def found(*points: dict[str, Any]) -> dict[str, Any]:
    return {"points": list(points), "infeasible": [], "title": "MART", "utility": "certainty kept (1)",
            "disclosure": "disclosure (2)"}  # fmt: skip


def take(desk: Desk, **options: Any) -> None:
    desk.choose(replace(desk.choices, options={**desk.choices.options, **options}))


def names(desk: Desk) -> list[str]:
    return [name for name, _ in desk.work.asked]


def test_risk_is_counted_before_it_is_attacked(desk: Desk) -> None:
    desk.need("risk")
    assert desk.work.asked[-1][1]["attacks"] is False
    desk.need("risk")
    assert names(desk).count("today") == 1  # one thing at a time
    desk.work.answer({"attacks": None})
    desk.need("risk")
    assert desk.work.asked[-1][1]["attacks"] is True


def tried(desk: Desk) -> Any:
    """What the work was asked to try last."""
    name, asked = desk.work.asked[-1]
    assert name == "frontier"
    return asked["tried"]


def try_all(desk: Desk, *points: dict[str, Any]) -> list[Any]:
    """Every setting that the desk asks for, all answered by the same points."""
    seen = []
    desk.need("protect")
    while desk.work.busy and names(desk)[-1] == "frontier":
        seen.append(tried(desk))
        desk.work.answer(found(*points))
        desk.need("protect")
    if desk.work.busy:
        desk.work.answer({"explained": 0.2, "sensitive": ["income"], "columns": []})
    return seen


def test_the_chosen_setting_comes_first_and_nothing_is_tried_twice(desk: Desk) -> None:
    seen = try_all(desk, point(10, 0.5, 0.5, 0.6), point(20, 0.5, 0.49, 0.5))
    assert seen[0] == [10, [0.5]]
    assert seen[1] == [10, [1.0, 0.8, 0.6, 0.4, 0.3, 0.2]]
    assert [k for k, _ in seen[2:]] == [5, 20, 50]
    assert all(len(caps) == 7 for _, caps in seen[2:])
    assert desk.chosen() == (0, None)
    take(desk, k=20)
    assert desk.chosen() == (1, None)
    assert try_all(desk) == []
    take(desk, k=12)
    desk.need("protect")
    assert tried(desk) == [12, [0.5]]


def test_an_untried_k_joins_those_that_were_tried(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(5, 0.5, 0.5, 0.7), point(20, 0.5, 0.4, 0.5)))
    take(desk, k=8)
    assert desk.chosen() == (None, None)
    desk.need("protect")
    desk.work.answer(found(point(8, 0.5, 0.5, 0.62)))
    assert desk.chosen() == (2, None)  # the others are still there
    take(desk, k=9, numeric="mean")  # another line: nothing was tried of it
    assert desk.chosen() == (None, None)


def test_points_are_kept_though_the_worker_was_killed_and_forgot_them(desk: Desk) -> None:
    try_all(desk, point(10, 0.5, 0.5, 0.6))
    take(desk, k=12)
    try_all(desk, point(12, 0.5, 0.5, 0.55))  # a new worker knows this one alone
    take(desk, k=10)
    assert desk.chosen()[0] is not None
    # another method of the same title takes its place, and is tried anew when it comes back
    take(desk, numeric="mean")
    try_all(desk, point(10, 0.5, 0.4, 0.4))
    take(desk, numeric="range")
    assert desk.chosen() == (None, None)
    assert try_all(desk, point(10, 0.5, 0.5, 0.6))[0] == [10, [0.5]]
    assert desk.results["frontier"]["points"][desk.chosen()[0]]["utility"] == 0.6


def test_what_is_tried_meanwhile_makes_way_for_the_choice(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6)))
    desk.need("protect")
    take(desk, k=12)
    assert desk.work.stopped == 1
    desk.work.answer(error={"kind": "Cancelled", "message": "Stopped.", "hint": None})
    assert "failed" not in desk.results  # nobody asked to stop
    desk.need("protect")
    assert tried(desk) == [12, [0.5]]
    desk.stop()
    desk.work.answer(error={"kind": "Cancelled", "message": "Stopped.", "hint": None})
    assert desk.results["failed"]["protect"]["kind"] == "Cancelled"


CANCELLED = {"kind": "Cancelled", "message": "Stopped.", "hint": None}


@pytest.mark.parametrize("ask", ["attack", "write"])
def test_what_is_asked_for_does_not_wait_for_trials(desk: Desk, ask: str) -> None:
    step, begun = {"write": ("release", "write"), "attack": ("compare", "measure")}[ask]
    desk.need("compare")
    desk.work.answer({"rows": 1})
    desk.need("protect")
    assert names(desk)[-1] == "frontier"
    assert desk.free
    given = {"attack": (), "write": ("out", False)}[ask]
    getattr(desk, ask)(*given)
    assert desk.work.stopped == 1
    desk.need(step)
    assert desk.work.stopped == 1  # once is enough
    desk.work.answer(error=CANCELLED)
    assert "failed" not in desk.results
    desk.need("protect")  # whichever window looks first
    assert names(desk)[-1] == begun
    assert not desk.free
    asked = len(desk.work.asked)
    getattr(desk, ask)(*given)  # pressed twice
    desk.work.answer({})
    desk.need(step)
    assert names(desk)[asked:] in ([], ["say"])


def test_a_sample_of_an_earlier_setting_never_takes_the_place_of_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "WorkerClient", Idle)
    desk = Desk(tmp_path, "people.csv")
    for answer in (OPENED, {"methods": METHODS}, {}):  # the last one: every method can run
        desk.work.answer(dict(answer))
        desk.need("protect")
    assert names(desk)[-2:] == ["reasons", "sample"]
    desk.work.answer({"rows": 10})
    assert desk.is_sampled
    desk.need("protect")
    assert names(desk)[-1] == "frontier"
    take(desk, k=20)
    assert not desk.is_sampled
    assert desk.results["sample"]["rows"] == 10  # outdated, and shown as such
    desk.work.answer(error=CANCELLED)
    desk.need("protect")
    assert names(desk)[-1] == "sample"  # before any other trial
    take(desk, k=30)
    assert desk.work.stopped == 2
    desk.work.answer({"rows": 20})  # done when it was stopped
    assert not desk.is_sampled
    assert desk.results["sample"]["rows"] == 10
    desk.need("protect")
    assert desk.work.asked[-1][1]["options"]["k"] == 30
    desk.need("compare")  # which does not wait for it
    desk.work.answer(error=CANCELLED)
    desk.need("compare")
    assert names(desk)[-1] == "measure"


def test_no_work_begins_for_a_method_that_cannot_run(desk: Desk) -> None:
    desk.need("protect")
    desk.stop()
    desk.work.answer(error=CANCELLED)
    desk.results.pop("failed")
    desk.results["reasons"] = {"hedge": "It cannot."}
    asked = names(desk)
    for step in ("protect", "compare", "release"):
        desk.need(step)
    assert names(desk) == asked


def test_a_step_that_is_looked_at_comes_before_trials(desk: Desk) -> None:
    desk.need("protect")
    desk.need("compare")
    assert desk.work.stopped == 1
    desk.work.answer(error=CANCELLED)
    desk.need("compare")
    assert names(desk)[-1] == "measure"


def test_what_was_asked_for_an_earlier_choice_does_not_begin(desk: Desk) -> None:
    desk.need("compare")
    desk.work.answer({"rows": 1})
    desk.need("protect")
    desk.write("out", False)
    take(desk, k=20)
    desk.work.answer(error=CANCELLED)
    desk.need("release")
    assert "write" not in names(desk)


def test_what_was_written_is_not_written_twice_and_that_is_said(desk: Desk, tmp_path: Path) -> None:
    desk.need("release")
    desk.work.answer({})
    out = tmp_path / "out"
    desk.write(str(out), False)
    out.mkdir()
    desk.work.answer({"folder": str(out)})
    asked = names(desk)
    with pytest.raises(ParameterError, match=f"Already written to {out}, and nothing was changed since."):
        desk.write(str(out), False)
    assert names(desk) == asked
    assert desk.results["write"] == {"folder": str(out)}
    desk.write(str(out), True)  # to replace it is something else
    assert names(desk) == [*asked, "write"]
    desk.work.answer({"folder": str(out)})
    out.rmdir()
    desk.write(str(out), False)  # somebody moved it away
    assert names(desk) == [*asked, "write", "write"]


def test_a_picture_belongs_to_its_table(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6)))
    desk.choose(forms.leave_out("job", desk.choices))
    assert "frontier" not in desk.results
    desk.need("protect")
    assert desk.work.asked[-1][1]["roles"]["job"] == "undeclared"


def test_other_options_of_a_method_are_another_line(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6)))
    take(desk, numeric="mean")
    assert desk.chosen() == (None, None)
    assert try_all(desk)[0] == [10, [0.5]]


def test_what_comes_too_late_is_dropped(desk: Desk) -> None:
    desk.need("compare")
    take(desk, k=20)
    assert desk.work.stopped == 1
    desk.work.answer({"rows": 1})
    assert "measure" not in desk.results
    desk.need("risk")
    take(desk, k=30)
    assert desk.work.stopped == 1  # the table as it is does not depend on the method
    desk.work.answer({"attacks": None})
    assert "today" in desk.results


def test_what_failed_waits_for_somebody_to_try_again(desk: Desk) -> None:
    desk.need("compare")
    desk.work.answer(error={"kind": "InfeasibleError", "message": "no", "hint": None})
    desk.need("compare")
    assert names(desk).count("measure") == 1
    desk.again("compare")
    desk.need("compare")
    assert names(desk).count("measure") == 2


def test_an_impossible_setting_is_told_and_not_tried_for_ever(desk: Desk) -> None:
    desk.need("protect")
    lost = {"method": "MART", "parameters": {"k": 10, "max_disclosure": 0.5}, "reason": "too few"}
    desk.work.answer({**found(point(5, 0.5, 0.5, 0.6)), "infeasible": [lost]})
    assert desk.chosen() == (None, "too few")
    assert [10, [0.5]] not in try_all(desk)


def test_the_script_names_an_upload_as_its_owner_does(desk: Desk) -> None:
    desk.need("release")
    desk.path = f"{desk.folder}/upload-x1/people.csv"
    desk.work.answer({"script": {"command": f"hedgerow protect {desk.path} --out {desk.folder}/out"}, "cautions": []})
    assert desk.results["script"]["command"] == "hedgerow protect people.csv --out out"


def test_another_method_gets_only_the_options_that_it_has() -> None:
    before = Choices(options={"k": 10, "max_disclosure": 0.5, "numeric": "mean"})
    form = {"method": "anatomy", "option-k": "10", "option-max_disclosure": "0.5"}
    assert forms.settings(form, before, {"l": 2, "random_state": None}, {}).options == {}
    form["method"] = "mondrian"
    after = forms.settings(form, before, {"k": 10, "max_disclosure": None}, {})
    assert after.options == {"k": 10, "max_disclosure": 0.5}


def test_what_was_chosen_of_a_method_comes_back_with_it() -> None:
    groups = {"k": 10, "max_disclosure": None}
    defaults = {"hedge": groups, "mart": groups, "rr": {"l": 3.0}, "datafly": {"k": 5}}

    def turned(before: Choices, *path: str, **more: str) -> Choices:
        for method in path:
            # as the page of the method before sends it
            form = {f"option-{n}": str(v) for n, v in before.options.items()} | {"guard": before.guard, **more}
            before = forms.settings({**form, "method": method}, before, defaults[method], {})
        return before

    chosen = Choices(options={"k": 25, "max_disclosure": 0.3}, guard="redraw")
    away = turned(chosen, "rr", "datafly")
    assert (away.options, away.guard) == ({"k": 25}, "auto")
    for path in (["rr"], ["datafly"], ["rr", "datafly"], ["mart", "rr"], ["rr", "mart", "rr"]):
        back = turned(chosen, *path, "hedge")
        assert (back.options, back.guard) == (chosen.options, "redraw"), path
    # another k is meant of every method, and what one method alone has stays with it
    other = turned(replace(away, options={"k": 40}), "hedge")
    assert other.options == {"k": 40, "max_disclosure": 0.3}
    means = replace(chosen, options={**chosen.options, "cells": "means"})
    assert turned(means, "rr", "hedge").options["cells"] == "means"


def test_undo_returns_to_the_table_before_with_its_roles(desk: Desk) -> None:
    take(desk, k=30)
    desk.choose(forms.leave_out("job", desk.choices))
    chosen, opened = desk.choices, desk.results["open"]
    desk.open("other.csv")
    assert not desk.can_undo  # while it is read
    desk.undo()
    desk.work.answer({**OPENED, "name": "other.csv", "columns": OPENED["columns"][:2]})
    assert list(desk.choices.roles) == ["age", "job"]
    take(desk, k=7)
    desk.need("risk")
    desk.undo()
    desk.undo()
    assert (desk.path, desk.choices) == ("people.csv", chosen)
    assert desk.results["open"] is opened
    desk.work.answer({"attacks": None, "rows": 3})  # of the table that was left
    assert "today" not in desk.results
    desk.undo()
    assert desk.choices.roles["job"] == "quasi"
    desk.undo()
    assert not desk.can_undo


def test_figures_of_another_reading_of_the_same_file_are_dropped(desk: Desk) -> None:
    desk.open("people.csv", missing=["-"])
    desk.work.answer(dict(OPENED))
    desk.need("risk")
    desk.undo()
    assert desk.missing == []
    desk.work.answer({"attacks": None})
    assert "today" not in desk.results


@pytest.mark.parametrize("kind", ["InputError", "Cancelled"])
def test_a_table_that_cannot_be_read_leaves_everything_as_it_was(desk: Desk, kind: str) -> None:
    take(desk, k=30)
    before = {name: getattr(desk, name) for name in ("path", "choices", "missing", "encoding")}
    past, opened = list(desk.past), desk.results["open"]
    assert past
    desk.open("none.csv")
    desk.open("picture.png")  # the first is given up
    desk.work.answer(error={"kind": "Cancelled", "message": "stopped", "hint": None})
    desk.need("table")
    desk.work.answer(error={"kind": kind, "message": "it cannot be read", "hint": None})
    assert {name: getattr(desk, name) for name in before} == before
    assert list(desk.past) == past
    assert desk.results["open"] is opened
    assert desk.results["failed"]["table"]["message"] == "it cannot be read"
    assert desk.refused == "picture.png"
    desk.undo()
    assert desk.choices == past[-1]
    assert "failed" not in desk.results


def test_rules_are_counted_once_they_are_chosen(desk: Desk) -> None:
    desk.need("table")
    assert "rules" not in names(desk)
    desk.stop()
    desk.work.answer(error=CANCELLED)
    desk.choose(replace(desk.choices, rules={"rules": ["income > 0"]}))
    desk.need("table")
    assert names(desk)[-1] == "rules"
    desk.work.answer({"fault": "4 of 100 records break it."})
    desk.need("table")
    assert names(desk).count("rules") == 1
    take(desk, k=20)  # which no rule depends on
    assert desk.results["rules"]["fault"]
    desk.choose(replace(desk.choices, kinds={"income": "categorical"}))
    assert "rules" not in desk.results
