"""What the studio does with what is posted: choices, uploads, downloads."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from typing import Any

import nbformat
import pytest

from hedgerow.errors import Cancelled
from hedgerow.studio import WORDS, forms
from hedgerow.studio.state import STEPS, UNDO
from hedgerow.studio.state import StudioState as Desk
from hedgerow.studio.worker import _described
from hedgerow.studio.worker_client import describe
from hedgerow.workflow.methods import MASKING
from hedgerow.workflow.methods import METHODS as METHODS_BY_NAME

from .conftest import METHODS, OPENED, Browser


def roles(desk: Desk, **changed: str) -> dict[str, str]:
    names = list(desk.choices.roles)
    return {"turn": str(desk.turn)} | {f"role-{names.index(n)}": r for n, r in changed.items()}


def settings(desk: Desk, **given: str) -> dict[str, str]:
    shown = {"turn": str(desk.turn), "method": "hedge", "utility": "certainty"}
    return shown | {name.replace("__", "-"): text for name, text in given.items()}


def test_a_role_is_changed_and_undone(browser: Browser, desk: Desk) -> None:
    answer = browser("POST", "/roles", data=roles(desk, job="other"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/table")
    assert desk.choices.roles["job"] == "other"
    browser("POST", "/undo", data={"turn": str(desk.turn), "to": "table"})
    assert desk.choices.roles["job"] == "quasi"


def test_one_button_leaves_out_what_is_still_guessed_to_be_harmless(browser: Browser, desk: Desk) -> None:
    columns = [
        {**c, "column": f"x{i}", "role": "other"} for i, c in enumerate([*OPENED["columns"], OPENED["columns"][0]])
    ]
    desk.open("wide.csv")
    desk.work.answer({**OPENED, "columns": [*OPENED["columns"], *columns], "weight": "x4"})
    assert "Leave out the 4 columns that are still guessed to be harmless" in browser("GET", "/table").text
    desk.choose(dataclasses.replace(desk.choices, roles={**desk.choices.roles, "x0": "quasi", "job": "other"}))
    page = browser("GET", "/table").text
    rest = re.search(r'<button name="rest" value="([\d ]+)">Leave out the 3 columns', page)
    assert rest is not None
    given = {**roles(desk, x1="sensitive"), "weight": "x4", "rest": rest[1]}  # without scripts: chosen and not yet sent
    browser("POST", "/roles", data=given)
    after = {"x0": "quasi", "x1": "sensitive", "x2": "undeclared", "x3": "undeclared", "x4": "other", "job": "other"}
    assert desk.choices.roles == {**desk.choices.roles, **after}
    assert desk.choices.weight == "x4"
    browser("POST", "/roles", data=roles(desk, x1="quasi"))
    assert 'name="rest"' not in browser("GET", "/table").text
    desk.undo()
    desk.undo()
    assert desk.choices.roles["x2"] == "other"


def test_who_a_person_is_goes_with_the_role(browser: Browser, desk: Desk) -> None:
    given = {**roles(desk), "unit": "name", "household": "name", "weight": ""}
    browser("POST", "/roles", data={**given, "household": ""})
    assert (desk.choices.unit, desk.choices.household) == ("name", "")
    browser("POST", "/roles", data={**given, "unit": "", **roles(desk)})
    assert (desk.choices.unit, desk.choices.household) == ("", "name")
    # known to others it is no secret of who lives together, and the schema would refuse it
    browser("POST", "/roles", data={**roles(desk, name="quasi"), "household": "name"})
    assert desk.choices.household == ""


def test_undo_keeps_the_last_choices(browser: Browser, desk: Desk) -> None:
    for k in range(2, UNDO + 12):
        browser("POST", "/settings", data=settings(desk, **{"option-k": str(k)}))
    assert desk.choices.options["k"] == UNDO + 11
    for _ in range(UNDO + 5):
        browser("POST", "/undo", data={"turn": str(desk.turn)})
    assert desk.choices.options["k"] == 11


def test_an_old_page_of_another_window_changes_nothing(browser: Browser, desk: Desk) -> None:
    old = roles(desk, job="sensitive")
    browser("POST", "/roles", data=roles(desk, job="other"), headers={"x-tab": "one"})
    browser("POST", "/roles", data=old, headers={"x-tab": "two"})
    assert desk.choices.roles["job"] == "other"
    for tab, is_told in (("one", False), ("two", True), ("two", False)):  # the window that asked, and once
        page = browser("GET", "/table", headers={"x-tab": tab}).text
        assert ("changed in another window" in page) == is_told
    # whoever made the last change may go on before the page has come back
    browser("POST", "/roles", data=old, headers={"x-tab": "one"})
    assert desk.choices.roles["job"] == "sensitive"


def test_settings_are_read_and_what_is_wrong_is_said(browser: Browser, desk: Desk) -> None:
    made = settings(desk, **{"option-k": "7", "option-max_disclosure": "0.3", "grid-0": "20, 85, 5"})
    browser("POST", "/settings", data=made)
    assert dict(desk.choices.options) == {"k": 7, "max_disclosure": 0.3}
    assert desk.choices.grid == {"age": [20, 85, 5]}
    browser("POST", "/settings", data=settings(desk, **{"option-k": "7", "uncapped": "1",
                                                        "option-max_disclosure": "0.3"}))  # fmt: skip
    assert dict(desk.choices.options) == {"k": 7, "max_disclosure": 1.0}
    before = desk.choices
    for wrong, said in (({"option-k": "many"}, "The smallest group must be a whole number"),
                        ({"grid-0": "20, 85"}, "cut points of age are not three numbers"),
                        ({"method": "magic"}, "no such method")):  # fmt: skip
        browser("POST", "/settings", data=settings(desk) | wrong)
        assert desk.choices == before
        assert said in browser("GET", "/table").text


def test_a_file_is_copied_piece_by_piece(browser: Browser, desk: Desk) -> None:
    block = b"1,2,3\n" * 20_000
    blocks = 300

    async def body() -> AsyncIterator[bytes]:
        for _ in range(blocks):
            yield block

    browser("GET", "/table")
    tracemalloc.start()
    name = {"x-name": "..%2F..%2Fpeople%20of%20mine.csv"}
    answer = browser("POST", "/upload", content=body(), headers=name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.json() == {"to": "/table"}
    (copied,) = desk.folder.rglob("*.csv")
    assert copied.stat().st_size == blocks * len(block)
    assert peak < 8e6 < copied.stat().st_size
    assert [p.name for p in copied.parent.iterdir()] == ["people of mine.csv"]
    assert desk.work.asked[-1][0] == "open"
    assert desk.work.asked[-1][1]["path"] == str(copied)


def test_a_table_is_read_again_with_other_words_for_missing(browser: Browser, desk: Desk) -> None:
    asked = len(desk.work.asked)
    stale = {"turn": str(desk.turn - 1), "missing": "k.A."}
    browser("POST", "/missing", data=stale)
    assert len(desk.work.asked) == asked
    browser("POST", "/missing", data={"turn": str(desk.turn), "missing": " k.A., - ,,k.A."})
    browser("GET", "/table")
    name, told = desk.work.asked[-1][:2]
    assert (name, told["path"], told["missing"]) == ("open", "people.csv", ["k.A.", "-"])
    browser("POST", "/open", data={"path": "other.csv"})
    assert desk.missing == []


def test_an_upload_that_is_stopped_leaves_nothing(browser: Browser, desk: Desk) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"a,b\n" * 1000
        raise ConnectionResetError

    browser("GET", "/table")
    browser("POST", "/upload", content=body(), headers={"x-name": "people.csv"})
    assert list(desk.folder.iterdir()) == []
    assert desk.path == "people.csv"


def test_stopped_is_said_once(browser: Browser, desk: Desk) -> None:
    desk.results["failed"] = {"compare": describe(Cancelled(""))}
    assert "Stopped.</strong> Nothing was changed or written.<" in browser("GET", "/compare").text


def test_a_point_of_another_method_is_taken_with_the_settings_it_had(browser: Browser, desk: Desk) -> None:
    point = {"method": "Mondrian (median)", "parameters": {"k": 20, "max_disclosure": 0.4}, "k": 20}
    desk.results["frontier"] = {"points": [point], "infeasible": [], "base": {}, "tried": []}
    desk.choose(dataclasses.replace(desk.choices, guard="runs", earlier={
        "mondrian": {"options": {"k": 8, "numeric": "mean"}, "guard": "none"}}))  # fmt: skip
    browser("POST", "/take", data={"turn": str(desk.turn), "point": "0"})
    assert (desk.choices.method, desk.choices.guard) == ("mondrian", "none")
    assert desk.choices.options == {"k": 20, "max_disclosure": 0.4, "numeric": "mean"}


def test_an_upload_takes_no_place_of_another_of_its_name(browser: Browser, desk: Desk) -> None:
    head = {"x-name": "people.csv"}
    for body in (b"a\n1\n", b"b\n2\n"):
        browser("POST", "/upload", content=body, headers=head)
        browser("GET", "/table")
    assert sorted(p.read_bytes() for p in desk.folder.rglob("people.csv")) == [b"a\n1\n", b"b\n2\n"]


def test_a_page_of_the_table_before_is_outdated_in_every_window(browser: Browser, desk: Desk) -> None:
    browser("POST", "/roles", data=roles(desk, job="other"), headers={"x-tab": "one"})
    old = roles(desk, age="sensitive")
    desk.open("other.csv")
    desk.work.answer(dict(OPENED))
    browser("POST", "/roles", data=old, headers={"x-tab": "one"})
    assert desk.choices.roles["age"] == "quasi"


def test_what_is_no_table_or_too_large_is_not_kept(
    browser: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hedgerow.studio.server.MOST", 10)
    for name, body, status in (("people.exe", b"1", 415), ("", b"1", 415), ("a.csv", b"1" * 11, 413)):
        answer = browser("POST", "/upload", content=body, headers={"x-name": name})
        assert (answer.status_code, bool(answer.json()["fault"])) == (status, True)
        assert answer.json()["fault"].startswith(name if status == 415 else "More than")
    assert list(desk.folder.iterdir()) == []
    assert desk.path == "people.csv"


def test_names_that_no_file_can_have_are_told(browser: Browser, desk: Desk) -> None:
    for name in ("x" * 300 + ".csv", "%C3%A4" * 120 + ".csv", "a%00b.csv"):
        answer = browser("POST", "/upload", content=b"a\n1\n", headers={"x-name": name})
        assert (answer.status_code, "name" in answer.json()["fault"]) == (400, True)
    assert list(desk.folder.iterdir()) == []
    answer = browser("POST", "/open", data={"path": "~nobody-of-that-name/people.csv"})
    assert (answer.status_code, desk.path) == (303, "~nobody-of-that-name/people.csv")


def written(folder: Path) -> dict[str, Any]:
    for name in ("release.csv", "plan.json", "report.html"):
        (folder / name).write_text(name)
    files = ["plan.json", "release.csv", "report.html"]
    return {"folder": str(folder), "files": files, "checks": 9, "promised": []}


def test_nothing_is_downloaded_before_it_was_verified(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    made = written(tmp_path)
    for path in ("/download/release.csv", "/report/open"):
        assert browser("GET", path).status_code == 409
    browser("POST", "/write", data={"turn": str(desk.turn), "folder": "release", "force": "1"})
    name, asked = desk.work.asked[-1]
    assert (name, asked["folder"], asked["force"]) == ("write", "release", True)
    assert browser("GET", "/download/release.csv").status_code == 409  # not done yet
    desk.work.answer(made)
    answer = browser("GET", "/download/release.csv")
    assert (answer.status_code, answer.text) == (200, "release.csv")
    assert "attachment" in answer.headers["content-disposition"]
    (tmp_path / "other.txt").write_text("not of the release")
    for other in ("other.txt", "..%2Fsecret", "%2Fetc%2Fpasswd"):
        assert browser("GET", f"/download/{other}").status_code in (404, 409)
    policy = browser("GET", "/report/open").headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    # another choice makes what was written out of date
    browser("POST", "/settings", data=settings(desk, **{"option-k": "20"}))
    assert browser("GET", "/download/release.csv").status_code == 409


def test_a_failed_check_leaves_nothing_to_download(browser: Browser, desk: Desk) -> None:
    browser("POST", "/write", data={"turn": str(desk.turn), "folder": "release"})
    told = {"kind": "PromiseError", "message": "k-anonymity: asked 10, reached 9", "hint": None}
    desk.work.answer(error=told)
    assert browser("GET", "/download/release.csv").status_code == 409
    page = browser("GET", "/release").text
    assert "A promise does not hold." in page
    assert "reached 9.<" in page.replace("</p>", "<")
    assert "reached 9" in page


def test_a_fault_of_the_studio_tells_no_value(browser: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(step: str) -> None:
        raise RuntimeError("Ann earns 2100")

    monkeypatch.setattr(desk, "need", broken)
    answer = browser("GET", "/table")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "2100" not in answer.text


@pytest.mark.parametrize("wrong", [{"option-k": "0"}, {"option-k": "-5"}, {"option-max_disclosure": "nan"}])
def test_a_k_or_cap_that_cannot_be_is_not_taken(browser: Browser, desk: Desk, wrong: dict[str, str]) -> None:
    before = desk.choices
    browser("POST", "/settings", data={"turn": str(desk.turn), **wrong})
    assert desk.choices == before
    assert browser("GET", "/protect").status_code == 200


def test_a_form_leads_to_a_step_of_the_studio_alone(browser: Browser, desk: Desk) -> None:
    answer = browser("POST", "/undo", data={"turn": str(desk.turn), "to": "/example.org"})
    assert answer.headers["location"] == "/table"


def test_a_form_beyond_its_limit_is_refused(browser: Browser, desk: Desk) -> None:
    answer = browser("POST", "/settings", data={"turn": str(desk.turn), "k": "1" * (forms.MOST + 1)})
    assert answer.status_code == 413


def test_every_step_has_a_page_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.studio import state as desks

    from .conftest import Idle

    monkeypatch.setattr(desks, "WorkerClient", Idle)
    browser = Browser(Desk(tmp_path))
    for step in ("table", "risk", "protect", "compare", "release"):
        answer = browser("GET", f"/{step}")
        assert answer.status_code == 200
        assert (step == "table") == ("There is no table yet." not in answer.text)


def test_no_sensitive_column_is_told_on_every_step(browser: Browser, desk: Desk) -> None:
    browser("POST", "/roles", data=roles(desk, income="other"))
    for step in ("table", "protect"):
        assert 'id="no-sensitive"' in browser("GET", f"/{step}").text


def test_a_key_is_made_in_private_and_never_shown(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "my.key"
    browser("POST", "/key", data={"turn": str(desk.turn), "key": str(path), "pseudonyms": "1"})
    assert (desk.choices.key, desk.choices.pseudonyms) == (str(path), True)
    assert path.stat().st_mode & 0o777 == 0o600
    desk.results["frontier"] = None
    page = browser("GET", "/protect").text
    assert str(path) in page
    assert path.read_text().split()[-1] not in page
    before = path.read_bytes()
    browser("POST", "/key", data={"turn": str(desk.turn), "key": str(path)})
    assert (desk.choices.pseudonyms, path.read_bytes()) == (False, before)  # used as it is
    path.chmod(0o644)
    browser("POST", "/key", data={"turn": str(desk.turn), "key": str(path), "pseudonyms": "1"})
    assert not desk.choices.pseudonyms
    assert "Other users may read the key file" in browser("GET", "/protect").text
    browser("POST", "/key", data={"turn": str(desk.turn), "without": "1", "key": str(path)})
    assert desk.choices.key == ""


def test_exact_values_are_hidden_by_a_field_of_the_form(browser: Browser, desk: Desk) -> None:
    assert 'id="guard"' in browser("GET", "/protect").text
    browser("POST", "/settings", data=settings(desk, guard="redraw", guard_people="12"))
    assert (desk.choices.guard, desk.choices.guard_people) == ("redraw", 12)
    page = browser("GET", "/protect").text
    assert '<option value="redraw" selected>' in page
    assert "Values are drawn at random" in page
    for wrong in ({"guard": "all"}, {"guard_people": "1"}, {"guard_people": "some"}):
        browser("POST", "/settings", data=settings(desk, **wrong))
        assert (desk.choices.guard, desk.choices.guard_people) == ("redraw", 12)
    assert "rules that 50 people or more carry" in page
    browser("POST", "/settings", data=settings(desk, cap_on="file"))
    browser("POST", "/settings", data=settings(desk, cap_on="all"))
    assert desk.choices.cap_on == "file"
    assert '<option value="file" selected>' in browser("GET", "/protect").text
    browser("POST", "/settings", data=settings(desk, method="mart"))
    assert 'id="cap_on"' not in browser("GET", "/protect").text
    # another method may have no groups
    browser("POST", "/settings", data=settings(desk, method="rr"))
    assert desk.choices.guard == "auto"
    assert 'id="guard"' not in browser("GET", "/protect").text


PROPOSED = {"columns": {"age": {"is_number": True, "values": [0, 100]},
                        "job": {"is_number": False, "values": ["cook", "nurse"]}}, "to_do": []}  # fmt: skip


def private(desk: Desk, **given: str) -> dict[str, str]:
    return settings(
        desk, **{"method": "private-tree", **{name.replace("_", "-"): text for name, text in given.items()}}
    )


def test_a_private_tree_waits_until_what_is_public_is_confirmed(browser: Browser, desk: Desk) -> None:
    desk.stop()
    browser("POST", "/settings", data=settings(desk, method="private-tree"))
    assert (desk.choices.method, dict(desk.choices.options)) == ("private-tree", {})
    browser("GET", "/protect")
    assert desk.work.asked[-1][0] == "propose"
    desk.work.answer(PROPOSED)
    page = browser("GET", "/protect").text
    assert 'value="0, 100"' in page
    assert "cook\nnurse</textarea>" in page
    # what it does not use is not there, and nothing is tried by itself
    for absent in ("option-k", "option-max_disclosure", "max_inference", "guard", "pseudonyms", "utility", "points",
                   "option-records", "hierarchies"):  # fmt: skip
        assert f'id="{absent}"' not in page
    assert [name for name, _ in desk.work.asked].count("frontier") <= 1
    asked = len(desk.work.asked)
    for step in ("compare", "release"):
        assert "confirm what is public about the columns" in browser("GET", f"/{step}").text
    assert len(desk.work.asked) == asked
    # half a form is refused, and what was typed before stays
    for wrong in ({"public_0": "0"}, {"public_0": "9, 1"}, {"public_0": "0, 100", "public_1": " "},
                  {"public_0": "0, 500.000"}, {"public_0": "18 - 90"},
                  {"public_0": "0, 100", "option_epsilon": "-1"}, {"public_0": "0, 100", "option_epsilon": "nan"},
                  ):  # fmt: skip
        browser("POST", "/settings", data=private(desk, **{"public_1": "cook", "confirmed": "1", **wrong}))
        assert not desk.choices.confirmed
        assert desk.notices
        desk.notices.clear()
    confirmed = {"public_0": "0, 120", "public_1": "cook\n\n nurse \ncook", "confirmed": "1", "option_epsilon": "2"}
    browser("POST", "/settings", data=private(desk, **confirmed))
    assert desk.choices.public == {"age": {"bounds": [0, 120]}, "job": {"categories": ["cook", "nurse"]}}
    assert (desk.choices.confirmed, dict(desk.choices.options)) == (True, {"epsilon": 2.0})
    page = browser("GET", "/protect").text
    assert "2, chosen" in page
    assert "7.39" in page
    assert 'value="0, 120"' in page
    browser("GET", "/compare")
    assert desk.work.asked[-1][0] == "measure"
    desk.work.answer({})
    # a column more was not confirmed; what was corrected of the others stays, but for one of another kind
    before = desk.choices.public
    browser("POST", "/roles", data=roles(desk, income="quasi"))
    assert (desk.choices.confirmed, desk.choices.public) == (False, before)
    browser("POST", "/roles", data={**roles(desk), "kind-0": "categorical"})
    assert (desk.choices.confirmed, desk.choices.public) == (False, {"job": before["job"]})


def test_a_bound_that_was_taken_is_taken_again_as_it_is_shown(browser: Browser, desk: Desk) -> None:
    desk.stop()
    browser("POST", "/settings", data=settings(desk, method="private-tree"))
    browser("GET", "/protect")
    desk.work.answer(PROPOSED)
    browser("POST", "/settings", data=private(desk, public_0="0, 1.2340", public_1="cook"))
    shown = re.search(r'name="public-0" value="([^"]*)"', browser("GET", "/protect").text)
    assert shown is not None
    assert shown[1] == "0, 1.2340"
    browser("POST", "/settings", data=private(desk, public_0=shown[1], public_1="cook", confirmed="1"))
    assert not desk.notices
    assert desk.choices.confirmed
    assert desk.choices.public["age"] == {"bounds": [0, 1.234]}


def test_what_a_private_tree_cannot_do_is_said_before_the_work(browser: Browser, desk: Desk) -> None:
    desk.stop()
    browser("POST", "/roles", data=roles(desk, income="other"))
    browser("POST", "/settings", data=settings(desk, method="private-tree"))
    # the sentence by which the method itself refuses the run
    cannot = "PrivateTree releases no column as it is, so it does not support other of the schema."
    desk.results["reasons"] = {"private-tree": cannot}
    assert cannot in browser("GET", "/protect").text
    # no command, and no button, before it can run
    desk.results["script"] = {"command": "hedgerow protect --method hedge", "python": ""}
    desk.choices = dataclasses.replace(desk.choices, confirmed=True)
    assert "--method hedge" not in browser("GET", "/protect").text
    asked = len(desk.work.asked)
    assert cannot in browser("GET", "/compare").text
    assert len(desk.work.asked) == asked
    page = browser("GET", "/release").text
    assert cannot in page
    assert '<button class="go" disabled>Check and write' in page
    desk.results["reasons"] = {}
    desk.results["proposed"] = PROPOSED
    assert "--method hedge" in browser("GET", "/protect").text
    assert '<button class="go">Check and write' in browser("GET", "/release").text


def test_every_method_is_told_in_words_once_and_in_a_group() -> None:
    grouped = [name for names in WORDS["method_groups"].values() for name in names]
    assert sorted(grouped) == sorted(METHODS_BY_NAME) == sorted(WORDS["methods"])
    assert tuple(list(WORDS["method_groups"].values())[-1]) == MASKING
    for name in grouped:
        assert WORDS["methods"][name]["why"].startswith("Choose it")
        assert _described(name)["why"].endswith((".", ")."))


def test_a_method_that_cannot_run_is_grey_and_says_why(browser: Browser, desk: Desk) -> None:
    desk.results["reasons"] = {"rr": "RandomizedResponse needs at least one sensitive column."}
    page = browser("GET", "/protect").text
    assert re.search(r'value="rr" id="method-rr"[^>]* disabled>', page)
    assert "<strong>Cannot run here:</strong> RandomizedResponse needs at least one sensitive column." in page
    assert re.search(r'value="mart" id="method-mart"[^>]*(?<!disabled)>', page)
    assert "1 cannot run" in page
    desk.choose(dataclasses.replace(desk.choices, roles={**desk.choices.roles, "job": "sensitive"}))
    assert "Cannot run here" not in browser("GET", "/protect").text  # other roles are asked anew


def test_sample_rows_show_what_is_coarser_and_what_is_hidden(browser: Browser, desk: Desk) -> None:
    sample = {"rows": 40, "names": ["age", "job", "income"], "before": [["31", "nurse", "2100"]],
              "after": [["[30-39]", "*", "2100"]], "drawn": []}  # fmt: skip
    desk.results["sample"] = {**sample, "choices": desk.choices}
    page = browser("GET", "/protect").text
    for cell in ('class="coarse">[30-39]<', 'class="hidden-cell">*<', 'class="same">2100<'):
        assert cell in page
    assert "A preview on a sample: 40 of 100 records." in page
    assert "Being renewed" not in page
    desk.results["sample"] = {**sample, "drawn": ["age"], "rows": 100, "choices": None}
    page = browser("GET", "/protect").text
    assert "A preview of the whole table" in page
    desk.results["sample"] = {"rows": 100, "reason": "k is 10, but the table has only 8 rows.", "choices": desk.choices}
    assert "<strong>No rows with this setting.</strong> k is 10" in browser("GET", "/protect").text


def test_a_private_tree_has_fewer_leaves_where_people_have_several_records(browser: Browser, desk: Desk) -> None:
    desk.stop()
    browser("POST", "/settings", data=settings(desk, method="private-tree"))
    desk.results["open"] = {**desk.results["open"], "rows": 10_000}
    for records, leaves in ((1, 32), (4, 8)):
        desk.choices = dataclasses.replace(desk.choices, unit="name", options={"records": records})
        assert f"at most {leaves} groups" in browser("GET", "/protect").text


def test_the_plan_of_a_private_release_is_public(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    desk.results["write"] = {**written(tmp_path), "standard": None}
    line = 'href="/download/plan.json"'
    assert ">private</td>" in browser("GET", "/release").text.partition(line)[2].partition("</tr>")[0]
    desk.results["methods"] = {n: {**m, "private": True} for n, m in METHODS.items()}
    assert ">public</td>" in browser("GET", "/release").text.partition(line)[2].partition("</tr>")[0]


def test_a_column_goes_with_another_of_its_role(browser: Browser, desk: Desk) -> None:
    names = list(desk.choices.roles)
    follows = f"follows-{names.index('age')}"
    browser("POST", "/roles", data={**roles(desk), follows: "job"})
    assert desk.choices.follows == {"age": "job"}
    assert "<option selected>job</option>" in browser("GET", "/table").text
    # two that follow each other follow nobody
    browser("POST", "/roles", data={**roles(desk), f"follows-{names.index('job')}": "age"})
    assert desk.choices.follows == {"age": "job"}
    assert "follows itself" in browser("GET", "/table").text
    browser("POST", "/roles", data=roles(desk, job="other"))
    assert desk.choices.follows == {}


def test_rules_are_switched_on_and_written_down(browser: Browser, desk: Desk) -> None:
    page = browser("GET", "/table").text
    assert "holds in all 100 records: <code>income &gt;= age</code>" in page
    assert "holds in all but 2 of 90 records that were compared: <code>" in page
    assert not re.findall(r'name="rule-\d"[^>]* checked', page)
    on = {"rule-0": "1", "rule-1": "1", "rule-2": "1", "conditions": " income > 0 \n\nage < 120"}
    browser("POST", "/rules", data={"turn": str(desk.turn), **on})
    assert desk.choices.rules == {
        "rules": ["income >= age", "income > 0", "age < 120"],
        "tolerated": ["age >= 15 OR job = 0"],
        "determines": {"job": ["age"]},
    }
    page = browser("GET", "/table").text
    assert re.findall(r'name="rule-(\d)"[^>]* checked', page) == ["0", "1", "2"]
    assert re.findall(r'name="rule-(\d)"[^>]* disabled', page) == ["3"]  # nothing tolerates what breaks a dependence
    assert ">income &gt; 0\nage &lt; 120</textarea>" in page
    browser("POST", "/roles", data=roles(desk, job="undeclared", income="undeclared"))
    assert "; not kept while income is left out" in browser("GET", "/table").text
    # a condition that records break is not switched on by being written down, and one that holds is
    lines = "income >= age\nage >= 15 OR job = 0"
    browser("POST", "/rules", data={"turn": str(desk.turn), "conditions": lines})
    page = browser("GET", "/table").text
    assert re.findall(r'name="rule-(\d)"[^>]* checked', page) == ["0"]
    assert ">age &gt;= 15 OR job = 0</textarea>" in page
    browser("POST", "/rules", data={"turn": str(desk.turn), "conditions": ""})
    assert desk.choices.rules == {}


def test_a_standard_raises_k_and_holds_it(browser: Browser, desk: Desk) -> None:
    asked = settings(desk, **{"option-k": "10", "profile": "ema-0070", "max_inference": "0.4"})
    browser("POST", "/settings", data=asked)
    assert (desk.choices.profile, desk.choices.options["k"]) == ("ema-0070", 12)
    assert desk.choices.max_inference == 0.4
    page = browser("GET", "/protect").text
    assert "k was raised to 12" in page
    assert "at most 0.09" in page  # what it asks, with its clause
    browser("POST", "/settings", data=settings(desk, **{"option-k": "11", "profile": "ema-0070"}))
    assert desk.choices.options["k"] == 12
    assert "takes groups of 12 at least" in browser("GET", "/protect").text
    # what "Take it" sends says nothing of standards and bounds: they stay
    browser("POST", "/settings", data=settings(desk, **{"option-k": "20"}))
    assert (desk.choices.profile, desk.choices.max_inference) == ("ema-0070", 0.4)
    for wrong in ("2", "much", "0"):
        browser("POST", "/settings", data=settings(desk, **{"max_inference": wrong}))
        assert desk.choices.max_inference == 0.4
    browser("POST", "/settings", data=settings(desk, **{"profile": "", "max_inference": ""}))
    assert (desk.choices.profile, desk.choices.max_inference) == ("", None)


def test_a_standard_is_taken_with_a_method_that_has_no_k(browser: Browser, desk: Desk) -> None:
    """The k of the method before was kept, and the form has none."""
    answer = browser("POST", "/settings", data=settings(desk, profile="wp216"))
    assert (answer.status_code, desk.choices.profile) == (303, "wp216")


def test_hierarchies_are_taken_by_path_and_by_copy(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    above = tmp_path / "jobs.csv"
    above.write_text("nurse;health;*\ncook;service;*\n")
    browser("POST", "/hierarchies", data={"turn": str(desk.turn), "hierarchy-1": str(above)})
    taken = Path(desk.choices.hierarchies["job"])
    assert (taken.read_bytes(), desk.folder in taken.parents) == (above.read_bytes(), True)
    assert "job: jobs.csv" in browser("GET", "/protect").text
    browser("POST", "/hierarchies", data={"turn": str(desk.turn), "drop": "1"})
    assert desk.choices.hierarchies == {}
    head = {"x-name": "jobs.csv", "x-column": "1", "x-turn": str(desk.turn)}
    answer = browser("POST", "/hierarchy", content=above.read_bytes(), headers=head)
    assert answer.json() == {"to": "/protect"}
    copied = Path(desk.choices.hierarchies["job"])
    assert copied.read_bytes() == above.read_bytes()
    assert desk.folder in copied.parents
    for body, said in ((b"nurse;a;*\nnurse;b;*\n", "two different paths"), (b"nurse\n", "one level"),
                       (b"", "is empty")):  # fmt: skip
        answer = browser("POST", "/hierarchy", content=body, headers=head)
        assert answer.status_code == 400
        assert said in answer.json()["fault"]
    # a column that others do not know has no use for one
    browser("POST", "/roles", data=roles(desk, job="other"))
    assert desk.choices.hierarchies == {}


def test_the_server_starts_lean() -> None:
    """It holds no table, so what computes stays in the worker's process."""
    said = subprocess.run(
        [sys.executable, "-c", "import sys, hedgerow.studio.server;"
         "from hedgerow.studio import pages; pages.environment(); print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    heavy = {"numpy", "pyarrow", "pandas", "numba", "scipy", "sklearn", "duckdb", "matplotlib"}
    assert "fastapi" in said
    assert heavy.isdisjoint(said)


def upload(browser: Browser, desk: Desk, body: bytes, **more: str) -> Any:
    head = {"x-name": "jobs.csv", "x-column": "1", "x-turn": str(desk.turn)} | more
    return browser("POST", "/hierarchy", content=body, headers=head)


def test_the_same_bytes_are_said_of_what_makes_them(browser: Browser, desk: Desk) -> None:
    desk.results["script"] = {"command": "hedgerow protect people.csv", "python": ""}
    for changes, is_same in (({}, False), ({"key": "my.key"}, True), ({"guard": "none"}, True),
                             ({"method": "rr"}, False), ({"method": "mart"}, True)):  # fmt: skip
        before, desk.choices = desk.choices, dataclasses.replace(desk.choices, **changes)
        page = browser("GET", "/release").text
        assert ("byte for byte the same release" in page, "every run draws anew" in page) == (is_same, not is_same)
        desk.choices = before


def test_a_weight_is_not_said_to_be_released_as_it_is(browser: Browser, desk: Desk) -> None:
    desk.choose(dataclasses.replace(desk.choices, roles={**desk.choices.roles, "job": "other"}, weight="job"))
    (shown,) = re.findall(r'<option value="other" selected>([^<]*)', browser("GET", "/table").text)
    assert shown == "a weight: its group&#39;s mean, where exact values are hidden"


def test_the_first_step_says_labels_and_which_numbers_are_codes(browser: Browser, desk: Desk) -> None:
    assert 'id="codes"' not in browser("GET", "/table").text
    codes = [{**c, "attacked_as": "category"} if c["column"] == "age" else c for c in OPENED["columns"]]
    desk.results["open"] = {**OPENED, "columns": codes, "labels": {"age": "Age in groups"}}
    page = browser("GET", "/table").text
    assert "Attacks treat these as codes, because they are few whole numbers: age." in page
    assert "Age in groups</small>" in page
    assert page.count("<option>numeric") == 1  # it can be said that it counts


def test_pseudonyms_are_asked_for_and_not_given(browser: Browser, desk: Desk) -> None:
    assert re.search(r'id="pseudonyms"> pseudonyms', browser("GET", "/protect").text)
    desk.choices = dataclasses.replace(desk.choices, key="my.key", pseudonyms=True)
    assert re.search(r'id="pseudonyms" checked> pseudonyms', browser("GET", "/protect").text)


def test_no_advice_goes_below_the_k_that_was_asked_for(browser: Browser, desk: Desk) -> None:
    points = [{"method": "MART", "parameters": {"k": k, "max_disclosure": 0.5}, "k": k, "classes": 9,
               "collapsed": False, "disclosure": told, "utility": kept, "dominated": False}
              for k, told, kept in ((10, 0.5, 0.5), (5, 0.3, 0.9), (20, 0.4, 0.5))]  # fmt: skip
    desk.results["frontier"] = {"points": points, "infeasible": [], "base": {"MART": desk.choices.line}, "tried": [],
                                "utility": "certainty kept (1)", "disclosure": "disclosure (2)"}  # fmt: skip
    page = browser("GET", "/protect").text
    assert "Take k 20, cap 0.5" in page
    assert "<strong>Take k 5" not in page


def test_one_sheet_of_a_refused_workbook_is_named(browser: Browser, desk: Desk) -> None:
    assert 'id="sheet"' not in browser("GET", "/table").text
    desk.open("two.xlsx")
    message = {"message": "two.xlsx has several sheets: 'About', 'Data'", "hint": "name one: two.xlsx::Data"}
    desk.work.answer(error={"kind": "InputError", **message})
    page = browser("GET", "/table").text
    assert "Name one under “Which sheet of the workbook?” (step 1), such as Data." in page
    assert 'id="path" name="path" value="two.xlsx"' in page  # what was typed stays
    browser("POST", "/missing", data={"turn": str(desk.turn), "refused": "1", "sheet": "Data"})
    assert desk.work.asked[-1][1]["path"] == "two.xlsx::Data"


def test_a_name_at_the_beginning_of_a_failure_keeps_its_spelling(browser: Browser, desk: Desk) -> None:
    desk.open("/dev/zero")
    failure = {"kind": "InputError", "message": "zero cannot be read to its end", "hint": None}
    desk.work.answer(error=failure)
    assert "</strong> zero cannot be read" in browser("GET", "/table").text


def test_the_response_of_tpp_is_asked_for_where_it_stands(browser: Browser, desk: Desk) -> None:
    desk.results["methods"] = {**METHODS, "tpp": {**METHODS["mart"], "defaults": {"k": 10, "response": None}}}
    desk.choices = dataclasses.replace(desk.choices, method="tpp", options={})
    assert '<details id="more-tpp"><summary>' in browser("GET", "/protect").text
    desk.choices = dataclasses.replace(desk.choices, roles={**desk.choices.roles, "job": "sensitive"})
    assert '<details id="more-tpp" open><summary>' in browser("GET", "/protect").text


def test_a_hierarchy_that_was_mended_is_taken_anew(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    upload(browser, desk, b"nurse;health;*\ncook;service;*\n")
    first, turn = desk.choices.hierarchies["job"], desk.turn
    upload(browser, desk, b"nurse;work;*\ncook;work;*\n")
    assert desk.turn == turn + 1  # the same name, and another choice
    assert b"work" in Path(desk.choices.hierarchies["job"]).read_bytes()
    browser("POST", "/undo", data={"turn": str(desk.turn)})
    assert desk.choices.hierarchies["job"] == first
    assert b"health" in Path(first).read_bytes()
    # a broken one is refused, and leaves the one that was taken as it is
    answer = upload(browser, desk, b"\x00\xff")
    one_level = "The hierarchy jobs.csv has one level, so nothing stands above a value. "
    how = "One line a value, from the value to the top, joined by semicolons: value;group;*."
    assert answer.json() == {"fault": one_level + how}
    assert desk.choices.hierarchies["job"] == first
    assert b"health" in Path(first).read_bytes()
    # the same of files that are named
    named = tmp_path / "named.csv"
    for text in ("nurse;health;*\n", "nurse;work;*\n"):
        named.write_text(text)
        turn = desk.turn
        browser("POST", "/hierarchies", data={"turn": str(turn), "hierarchy-1": str(named)})
        assert desk.turn == turn + 1
        assert Path(desk.choices.hierarchies["job"]).read_text() == text


def test_work_that_an_old_page_asks_for_is_not_done(browser: Browser, desk: Desk) -> None:
    old = str(desk.turn)
    browser("POST", "/settings", data=settings(desk, **{"option-k": "2"}), headers={"x-tab": "one"})
    desk.results["measure"] = {"attacked": False}
    asked, choices = len(desk.work.asked), desk.choices
    for path, form in (("/write", {"folder": "release"}), ("/attack", {}), ("/undo", {}), ("/attack", {"turn": "0"})):
        browser("POST", path, data={"turn": old, **form}, headers={"x-tab": "two"})
        assert (len(desk.work.asked), desk.choices) == (asked, choices)
        assert "changed in another window" in str(desk.notices)
        desk.notices.clear()
    upload(browser, desk, b"nurse;health;*\n", **{"x-turn": old, "x-tab": "two"})
    assert desk.choices.hierarchies == {}
    assert "changed in another window" in str(desk.notices)
    assert [p for p in desk.folder.rglob("*") if p.name == "jobs.csv"] == []


def test_a_notice_is_not_taken_by_the_poll_of_another_window(browser: Browser, desk: Desk) -> None:
    browser("POST", "/write", data={"turn": str(desk.turn)}, headers={"x-tab": "one"})
    notice = "Say which folder the release goes to."
    for other in ({"x-poll": "1", "x-tab": "one"}, {"x-tab": "two"}, {}):
        assert notice not in browser("GET", "/release", headers=other).text
    assert notice in browser("GET", "/release", headers={"x-tab": "one"}).text
    assert notice not in browser("GET", "/release", headers={"x-tab": "one"}).text  # it is said once


def test_what_is_entered_as_a_path_is_no_fault_of_the_studio(browser: Browser, desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")  # nobody writes into it: reading would never end
    large = tmp_path / "large.toml"
    with open(large, "wb") as file:
        file.truncate(30_000_000)
    fields = (("/hierarchies", "hierarchy-1"), ("/key", "key"), ("/settings", "own-profile"))
    for path, name in fields:
        for text in ("~nobody-at-all/x.toml", "\0.toml", "/dev/zero", str(tmp_path / "pipe.toml"),
                     str(large), "a" * 5000 + ".toml", str(tmp_path)):  # fmt: skip
            before = desk.choices
            answer = browser("POST", path, data=settings(desk) | {name: text})
            assert answer.status_code == 303, (path, text[:30])
            assert desk.choices == before
            assert desk.notices
            desk.notices.clear()
    for path, form in (("/take", {"point": "x"}), ("/leave-out", {"column": "no such"})):
        before = desk.choices
        assert browser("POST", path, data={"turn": str(desk.turn), **form}).status_code == 303
        assert desk.choices == before


def test_a_standard_whose_file_is_gone_can_be_left(
    browser: Browser, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = resources.files("hedgerow.profiles").joinpath("ihsn-k3.toml").read_text("utf-8")
    Path("own.toml").write_text(known)
    browser("POST", "/settings", data=settings(desk, **{"own-profile": "own.toml"}))
    assert desk.choices.profile == str(tmp_path / "own.toml")  # the code finds it from everywhere
    Path("own.toml").unlink()
    answer = browser("GET", "/protect")
    assert answer.status_code == 200
    assert "Cannot read the profile" in answer.text
    browser("POST", "/settings", data=settings(desk, **{"profile": "", "own-profile": ""}))
    assert desk.choices.profile == ""


def test_every_step_says_that_there_is_no_table(browser: Browser, desk: Desk) -> None:
    desk.path = None
    del desk.results["open"]
    for step in STEPS[1:]:
        answer = browser("GET", f"/{step}")
        assert (step, answer.status_code) == (step, 200)
        assert "Choose one first." in answer.text


def test_the_release_is_there_as_a_notebook(browser: Browser, desk: Desk) -> None:
    code = "import hedgerow as hr\nhr.protect('people.csv')"
    desk.results["script"] = {"command": "hedgerow protect people.csv", "python": code}
    assert 'href="/notebook/release.ipynb"' in browser("GET", "/release").text
    answer = browser("GET", "/notebook/release.ipynb")
    book = nbformat.reads(answer.text, as_version=4)
    nbformat.validate(book)
    assert [cell.source for cell in book.cells] == [code]


def test_a_table_whose_name_is_like_an_option_is_no_option(browser: Browser, desk: Desk) -> None:
    browser("POST", "/upload", content=b"age\n1\n", headers={"x-name": "-x.csv"})
    desk.stop()
    desk.work.answer({"methods": METHODS} if desk.job and desk.job.name == "hello" else dict(OPENED))
    browser("GET", "/table")
    if desk.job is not None:
        desk.work.answer(dict(OPENED))
    browser("GET", "/release")
    command = f"hedgerow protect {desk.folder}/-x.csv"
    desk.work.answer({"script": {"command": command, "python": ""}, "cautions": []})
    assert "-x.csv" not in desk.results
    assert desk.results["script"]["command"] == "hedgerow protect ./-x.csv"


def test_what_is_read_again_is_the_open_file_or_the_refused_one_by_its_name(browser: Browser, desk: Desk) -> None:
    refused = {"kind": "InputError", "message": "old.csv is UTF-8 but for 1", "hint": ""}
    desk.open("old.csv")
    desk.work.answer(error=refused)
    assert desk.path == "people.csv"  # as before
    page = browser("GET", "/table").text
    assert 'name="encoding"' in page
    assert page.index("Read people.csv again") < page.index("Read old.csv again")  # Enter presses the first
    desk.choose(dataclasses.replace(desk.choices, weight="job"))
    assert "Read old.csv again" not in browser("GET", "/table").text  # with the error that was told
    fields = {"missing": "", "encoding": " cp1252 "}
    browser("POST", "/missing", data={"turn": str(desk.turn), **fields, "refused": "1"})
    name, told = desk.work.asked[-1]
    assert (name, told["path"], told["encoding"]) == ("open", "old.csv", "cp1252")
    desk.work.answer(error=refused)
    browser("POST", "/missing", data={"turn": str(desk.turn), **fields})
    name, told = desk.work.asked[-1]
    assert (name, told["path"], told["encoding"]) == ("open", "people.csv", "cp1252")
    desk.work.answer(dict(OPENED))
    asked = len(desk.work.asked)
    browser("POST", "/missing", data={"turn": str(desk.turn), **fields})  # the file may have been mended
    assert desk.work.asked[asked][1]["path"] == "people.csv"
    assert "old.csv" not in browser("GET", "/table").text


def test_a_first_table_that_was_refused_can_be_read_again(browser: Browser, desk: Desk) -> None:
    desk.path, desk.refused = None, "old.csv"
    desk.results.pop("open")
    desk.results["failed"] = {"table": {"kind": "InputError", "message": "old.csv is no table", "hint": None}}
    page = browser("GET", "/table").text
    assert "Read old.csv again" in page
    assert page.count(" again</button>") == 1


def test_what_the_first_step_warns_of_and_why_it_failed_name_no_flags(browser: Browser, desk: Desk) -> None:
    desk.results["open"] = {**OPENED, "warnings": ["age: 'k.A.' is text; say so: --missing k.A."]}
    failure = {"kind": "InputError", "message": "no", "hint": "say it: --encoding (encoding=)"}
    desk.results["failed"] = {"table": failure}
    page = browser("GET", "/table").text
    assert "say so under “Which words mean that a value is missing?” (step 1)" in page
    assert "Say it under “Encoding, if umlauts look wrong” (step 1)." in page
    assert not re.search(r"--(missing|encoding)", page)
