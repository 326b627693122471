"""The desk keeps what still holds, and asks for one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow.studio import forms
from hedgerow.studio.desk import Desk


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


def test_a_tried_setting_is_not_tried_again(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6), point(20, 0.5, 0.49, 0.5)))
    assert desk.chosen() == (0, None)
    take(desk, k=20)
    assert desk.chosen() == (1, None)
    desk.need("protect")
    assert names(desk).count("frontier") == 1
    take(desk, k=12)
    desk.need("protect")
    name, asked = desk.work.asked[-1]
    assert (name, asked["options"]["k"], asked["more"]) == ("frontier", 12, False)


def test_a_picture_belongs_to_its_table(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6)))
    desk.choose(forms.leave_out("job", desk.choices))
    assert "frontier" not in desk.known
    desk.need("protect")
    assert desk.work.asked[-1][1]["roles"]["job"] == "undeclared"


def test_other_options_of_a_method_are_another_line(desk: Desk) -> None:
    desk.need("protect")
    desk.work.answer(found(point(10, 0.5, 0.5, 0.6)))
    take(desk, numeric="mean")
    assert desk.chosen() == (None, None)
    desk.need("protect")
    assert desk.work.asked[-1][1]["more"] is True


def test_what_comes_too_late_is_dropped(desk: Desk) -> None:
    desk.need("compare")
    take(desk, k=20)
    assert desk.work.stopped == 1
    desk.work.answer({"rows": 1})
    assert "measure" not in desk.known
    desk.need("risk")
    take(desk, k=30)
    assert desk.work.stopped == 1  # the table as it is does not depend on the method
    desk.work.answer({"attacks": None})
    assert "today" in desk.known


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
    desk.need("protect")
    assert names(desk).count("frontier") == 1


def test_the_script_names_an_upload_as_its_owner_does(desk: Desk) -> None:
    desk.need("release")
    desk.work.answer({"script": {"command": f"hedgerow protect {desk.folder}/people.csv"},
                      "cautions": []})  # fmt: skip
    assert desk.known["script"]["command"] == "hedgerow protect people.csv"
