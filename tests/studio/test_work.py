"""The worker answers, can be stopped and killed, and goes on with another one."""

from __future__ import annotations

import ast
import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import hedgerow as hr
from hedgerow.key import Key
from hedgerow.progress import compiling
from hedgerow.studio import worker as worker_module
from hedgerow.studio.worker import Worker
from hedgerow.studio.worker_client import Job, WorkerClient, describe, in_sentences, with_controls
from hedgerow.texts import read_toml
from hedgerow.workflow.methods import make

ROLES = {"age": "quasi", "education": "quasi", "income": "sensitive", "person_id": "identifier"}


def ask(path: Path, **more: Any) -> dict[str, Any]:
    return {"path": str(path), "missing": [], "roles": ROLES, "kinds": {}, "unit": "", "household": "",
            "weight": "", "rows": "", "follows": {}, "rare": {}, "rules": {}, "public": {}, "confirmed": False,
            "grid": {}, "hierarchies": {}, "method": "mart", "utility": "certainty", "guard": "auto",
            "guard_people": None,
            "cap_on": "groups", "max_inference": None, "profile": "", "key": "", "pseudonyms": False,
            "options": {"k": 10, "max_disclosure": 0.5}, **more}  # fmt: skip


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(hr.datasets.make_people(600, seed=3), path)
    return path


def test_a_worker_does_first_what_a_request_builds_on(people: Path, tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    worker = Worker(told.append)
    written = worker.do({**ask(people, folder=str(tmp_path / "out"), force=False), "do": "write"})
    assert (tmp_path / "out" / "release.csv").exists()
    assert {"release.csv", "plan.json", "report.html"} <= set(written["files"])
    assert all(state == "kept" for _, state in written["promised"])
    assert any("10" in text for text, _ in written["promised"])
    made = worker.do({**ask(people), "do": "say"})["script"]
    assert " -k " not in made["command"]  # 10 is its default
    again: dict[str, Any] = {}
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        exec(made["python"].replace(str(tmp_path / "out"), "again"), again)
    finally:
        os.chdir(here)
    for name in ("release.csv", "plan.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    measured = worker.do({**ask(people, attacks=False), "do": "measure"})
    said = [*written["cautions"], *measured["warned"]]
    assert not any("did not name" in text for text in said)  # each column's role was chosen on the page
    exact = worker.do({**ask(people, method="mart", guard="none", attacks=False), "do": "measure"})
    said += [*exact["warned"], exact["verdict"]["says"], *exact["verdict"]["reasons"]]
    assert any("Public cut points, in step 3" in text for text in said)
    assert any("Exact sensitive values, in step 3" in text for text in said)
    assert not any(re.search(r"--\w", text) for text in said)
    assert {message["step"] for message in told} >= {"reading the table", "fitting"}


def test_roles_and_cut_points_are_those_of_the_steward(people: Path) -> None:
    worker = Worker(lambda message: None)
    asked = ask(people, unit="none", kinds={"age": "ordinal"}, grid={"income": [0, 9000, 500]})
    schema = worker._schema(asked)
    assert (schema.quasi, schema.sensitive) == (("age", "education"), ("income",))
    assert schema.identifiers == ("person_id",)
    assert schema.unit is None
    assert schema.kinds["age"] == "ordinal"
    assert list(schema.grid) == ["income"]
    schema = worker._schema(ask(people, household="person_id", weight="hours_per_week"))
    assert (schema.household, schema.weight) == ("person_id", "hours_per_week")


def test_a_private_tree_is_proposed_released_and_repeated(people: Path, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    worker, names = Worker(lambda message: None), {"method": "private-tree", "options": {"epsilon": 2.0}}
    # what was chosen for other methods stays chosen, and is not used
    names |= {"profile": "ihsn-k3", "max_inference": 0.4, "guard": "runs", "guard_people": 3}
    proposed = worker.do({**ask(people, **names), "do": "propose"})
    assert list(proposed["columns"]) == ["age", "education", "income"]
    assert proposed["columns"]["age"] == {"is_number": True, "values": [0, 100]}
    public = {
        name: {"bounds" if each["is_number"] else "categories": each["values"]}
        for name, each in proposed["columns"].items()
    }
    chosen = ask(people, **names, public=public, confirmed=True, attacks=False)
    measured = worker.do({**chosen, "do": "measure"})
    assert "by a factor of at most <b>7.39</b>" in measured["cards"][0]["say"]
    written = worker.do({**chosen, "do": "write", "folder": str(tmp_path / "out"), "force": False})
    assert {"release.csv", "plan.json", "report.html"} <= set(written["files"])
    assert "--method private-tree --epsilon 2" in written["script"]["command"]
    assert "[bounds]" in written["script"]["command"]
    assert "k_anonymity" not in str(written["promised"])
    again: dict[str, Any] = {}
    code = written["script"]["python"].replace(str(tmp_path / "out"), str(tmp_path / "again"))
    exec(code, again)
    assert (tmp_path / "again/RECIPIENT.md").exists()
    # new noise, so another release
    assert (tmp_path / "again/release.csv").read_bytes() != (tmp_path / "out/release.csv").read_bytes()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("more", "grey"),
    [
        ({"roles": {**ROLES, "assets": "sensitive"}}, {"anatomy", "porop", "pram", "top-bottom"}),
        ({"roles": {"age": "quasi", "hours_per_week": "quasi"}}, {"mart", "rr", "anatomy", "private-tree", "pram"}),
        ({"roles": {"education": "quasi", "income": "sensitive"}}, {"noise", "rank-swapping"}),
        ({"grid": {"age": [20, 80, 5]}}, {"rr", "microaggregation", "local-suppression", "tpp"}),
        ({"household": "person_id"}, {"private-tree", "rr", "anatomy", "noise"}),
        ({"roles": {**ROLES, "assets": "sensitive"}, "follows": {"assets": "income"}}, {"rr", "noise", "tpp"}),
    ],
    ids=["two sensitive", "none sensitive", "categories", "grid", "households", "followers"],
)
def test_a_disabled_method_shows_the_error_of_protect(people: Path, more: dict[str, Any], grey: set[str]) -> None:
    worker, asked = Worker(lambda message: None), ask(people, **more)
    reasons = worker.do({**asked, "do": "reasons"})
    assert grey <= reasons.keys()
    assert {"hedge"}.isdisjoint(reasons)
    schema, table = worker._schema(asked), pyarrow.csv.read_csv(people)
    for name, reason in reasons.items():
        with pytest.raises(hr.HedgerowError) as refused:
            hr.protect(table, schema, make(name, {}))
        assert reason == in_sentences(refused.value.message, refused.value.hint, table.column_names)


def test_sample_rows_are_the_same_people_at_every_setting(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "SAMPLE", 300)
    worker = Worker(lambda message: None)
    seen = [worker.do({**ask(people, options={"k": k, "max_disclosure": 1.0}), "do": "sample"}) for k in (5, 50, 5)]
    assert [each["rows"] for each in seen] == [300] * 3
    assert seen[0]["names"] == ["age", "education", "income"]
    assert seen[0]["before"] == seen[1]["before"]
    assert len(seen[0]["before"]) == len(seen[0]["after"]) == 10
    assert seen[0]["after"] != seen[1]["after"]
    assert seen[0]["after"] == seen[2]["after"]
    for was, now in zip(seen[0]["before"], seen[0]["after"], strict=True):
        assert was[2] == now[2]  # exact, and so of the same person
        assert was[1] in now[1]
        low, _, high = now[0].strip("[]").partition("-")
        assert float(low) <= float(was[0]) <= float(high or low)
    rows = worker.do({**ask(people, method="hedge"), "do": "sample"})
    assert rows["drawn"] == ["age", "education", "income"]
    assert rows["after"] == worker.do({**ask(people, method="hedge"), "do": "sample"})["after"]
    known = dict.fromkeys(("job", "region", "smoker"), "quasi")
    many = worker.do({**ask(people, roles={**ROLES, **known}), "do": "sample"})
    assert many["names"] == ["age", "education", "income", "job", "region", "smoker"]  # the sensitive one is in sight
    few = worker.do({**ask(people, options={"k": 400}), "do": "sample"})
    assert few["reason"].startswith("K is 400") or "300 rows" in few["reason"]


def test_a_formula_is_fitted_on_both_and_a_wrong_one_is_said_in_its_place(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("statsmodels", reason="the extra models is not installed")
    worker = Worker(lambda message: None)
    asked = ask(people, method="hedge", key="", family="ols", do="regression")
    fitted = worker.do({**asked, "formula": "income ~ age + education"})
    assert fitted["head"][:2] == ("coefficient", "table")
    assert ("age", "original") in [row[:2] for row in fitted["rows"]]
    assert "conclusions at 5% stay" in fitted["sentences"][0]
    release = worker._session.release
    wrong = worker.do({**asked, "formula": "income ~ __import__('os')"})
    assert wrong["fault"].startswith("Position 10 of the formula: ")
    assert "rows" not in wrong
    assert worker._session.release is release  # which was not made again
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    absent = worker.do({**asked, "formula": "income ~ age"})
    assert "pip install 'hedgerow[models]'" in absent["fault"]


def test_followers_of_the_page_are_in_the_schema(people: Path) -> None:
    worker = Worker(lambda message: None)
    asked = ask(people, roles={**ROLES, "assets": "sensitive"}, follows={"assets": "income"})
    assert worker._schema(asked).follows == {"assets": "income"}
    assert "--follows assets=income" in worker.do({**asked, "do": "say"})["script"]["command"]


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 stays in hospitals, in which three rules hold, one of them in all but two records."""
    path, numbers = tmp_path_factory.mktemp("stays") / "stays.csv", range(600)
    days = [dt.date(2024, 1, 1) + dt.timedelta(i * 37 % 300) for i in numbers]
    ends = [day + dt.timedelta(i * 7 % 20 - 25 * (i in (5, 80))) for i, day in enumerate(days)]
    cost = [i * 7 % 90 + i * 11 % 61 for i in numbers]
    city = {"city": [f"city {i % 7}" for i in numbers], "land": [f"land {i % 7 // 2}" for i in numbers]}
    food = {"food": [i * 7 % 90 for i in numbers], "care": [i * 11 % 61 for i in numbers], "cost": cost}
    pyarrow.csv.write_csv(pa.table({"admit": days, "discharge": ends, **city, **food}), path)
    return path


STAYS = {"admit": "quasi", "discharge": "quasi", "city": "quasi", "land": "quasi", "food": "sensitive",
         "care": "sensitive", "cost": "sensitive"}  # fmt: skip


def test_rules_of_the_page_are_kept_and_repeated(stays: Path, tmp_path: Path) -> None:
    worker = Worker(lambda message: None)
    seen = worker.do({"path": str(stays), "missing": [], "do": "open"})
    found = {rule["words"]: rule for rule in seen["rules"]}
    assert found["discharge is never before admit"]["broken"] == 2
    assert ["city", "land"] in [list(rule["determines"] or ()) for rule in seen["rules"]]
    assert seen["rule_names"][list(found).index("cost is the sum of food and care")] == ("cost", "food", "care")
    rules = {"rules": ["cost = food + care"], "tolerated": ["discharge >= admit"], "determines": {"city": ["land"]}}
    asked = ask(stays, roles=STAYS, rules=rules, method="hedge", options={"k": 5, "max_disclosure": 1.0})
    asked["key"] = str(tmp_path / "my.key")
    Key.file(tmp_path / "my.key")
    assert worker.do({**asked, "do": "rules"}) == {"fault": None}
    measured = worker.do({**asked, "attacks": False, "do": "measure"})
    assert {"In every row: cost = food + care.", "In every row: city determines land."} <= {*measured["rules"]}
    written = worker.do({**asked, "do": "write", "folder": str(tmp_path / "out"), "force": False})
    assert any("discharge >= admit" in words for words, _ in written["promised"])
    row = pyarrow.csv.read_csv(tmp_path / "out" / "release.csv").to_pydict()
    assert row["cost"] == [a + b for a, b in zip(row["food"], row["care"], strict=True)]
    assert len({*zip(row["city"], row["land"], strict=True)}) == len({*row["city"]})
    for said in ("--rule 'cost = food + care'", "--tolerated 'discharge >= admit'", "--determines city=land"):
        assert said in written["script"]["command"]
    schema = ast.unparse(ast.parse(written["script"]["python"]))
    assert "tolerated=('discharge >= admit',), determines={'city': ('land',)}" in schema


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (
            "discharge >= admit",
            "Rules do not hold: 2 of 600 records break 'discharge >= admit'. Leave them out, or switch",
        ),
        ("discharge >", "The rule 'discharge >' cannot be read as SQL."),
        ("height > 1", "No column 'height'."),
        ("city > 3", "The rule 'city > 3' orders texts."),
    ],
)
def test_a_condition_that_cannot_be_kept_is_refused(stays: Path, rule: str, fault: str) -> None:
    worker = Worker(lambda message: None)
    refused = worker.do({**ask(stays, roles=STAYS, rules={"rules": [rule]}), "do": "rules"})
    assert refused["fault"].startswith(fault)


def test_the_first_look_shows_records_and_reasons(people: Path) -> None:
    seen = Worker(lambda message: None).do({"path": str(people), "missing": [], "do": "open"})
    assert seen["rows"] == 600
    assert len(seen["preview"]) == 8
    assert all(c["reason"] for c in seen["columns"])


def test_words_for_missing_are_read_repeated_and_asked_once(tmp_path: Path) -> None:
    file = tmp_path / "office.csv"
    rows = [f"{'entf.' if i % 9 == 0 else 20 + i % 40},{'ab'[i % 2]},{i % 7}00" for i in range(300)]
    file.write_text("age,job,income\n" + "\n".join(rows) + "\n")
    worker = Worker(lambda message: None)
    kinds = {}
    for words in ([], ["entf."]):
        seen = worker.do({"path": str(file), "missing": words, "do": "open"})
        kinds[len(words)] = [(c["kind"], c["missing"]) for c in seen["columns"] if c["column"] == "age"]
    assert kinds == {0: [("categorical", 0)], 1: [("numeric", 34)]}
    session = worker._session
    made = ask(file, missing=["entf."], roles={"age": "quasi", "job": "quasi", "income": "sensitive"})
    script = worker.do({**made, "do": "say"})["script"]
    assert 'missing = ["entf."]' in script["command"]
    assert "missing=('entf.',)" in script["python"]
    assert worker._session is session


def test_an_error_of_others_tells_its_type_alone() -> None:
    try:
        raise RuntimeError("Ann earns 2100")
    except RuntimeError as error:
        told = describe(error)
    assert "2100" not in f"{told['message']}{told['hint']}"
    memory = describe(MemoryError())
    assert memory["kind"] == "OutOfMemory"
    assert ".." not in in_sentences(memory["message"], memory["hint"])
    assert describe(hr.errors.InfeasibleError("k is 9", hint="less")) == {
        "kind": "InfeasibleError", "message": "k is 9", "hint": "less"}  # fmt: skip


def test_a_worker_is_stopped_killed_and_replaced(people: Path) -> None:
    ended: list[Any] = []
    work = WorkerClient(ended.append)
    try:
        first_tried = work.ask("frontier", "Trying", ask(people, tried=[10, [0.5]]))
        assert first_tried.done.wait(120)
        assert first_tried.result is not None
        assert [p["parameters"] for p in first_tried.result["points"]] == [{"k": 10, "max_disclosure": 0.5}]
        caps = [c / 100 for c in range(2, 100)]
        trying = work.ask("frontier", "Trying", ask(people, tried=[5, caps]))
        work.stop()
        assert trying.done.wait(60)
        assert trying.error is not None
        assert trying.error["kind"] == "Cancelled"
        first = work._process
        assert first is not None
        waiting = work.ask("measure", "Measuring", ask(people, attacks=True))
        os.kill(first.pid, signal.SIGKILL)  # as the system does where memory runs out
        assert waiting.done.wait(60)
        assert waiting.error is not None
        assert waiting.error["kind"] == "OutOfMemory"
        after = work.ask("today", "Measuring", ask(people, attacks=False))
        assert after.done.wait(120)
        assert after.result is not None
        assert after.result["rows"] == 600
        assert work._process is not first
        assert [job.name for job in ended] == ["frontier", "frontier", "measure", "today"]
    finally:
        work.close()


def test_promises_keys_and_hierarchies_reach_the_command(people: Path, tmp_path: Path) -> None:
    key, above = tmp_path / "my.key", tmp_path / "above.csv"
    Key.file(key)
    names = sorted(set(hr.datasets.make_people(600, seed=3)["education"].to_pylist()))
    above.write_text("".join(f"{name};any;*\n" for name in names))
    asked = ask(people, key=str(key), pseudonyms=True, profile="ihsn-k5", max_inference=0.9,
                hierarchies={"education": str(above)},
                options={"k": 10, "max_disclosure": 0.5, "categorical": "hierarchy"})  # fmt: skip
    worker = Worker(lambda message: None)
    made = worker.do({**asked, "folder": str(tmp_path / "out"), "force": False, "do": "write"})
    standard = made["standard"]
    assert (standard["name"], standard["criteria"][0]["state"]) == ("ihsn-k5", "meets")
    assert "evidence.json" in made["files"]
    assert pyarrow.csv.read_csv(tmp_path / "out" / "release.csv").column_names[0] == "person_id"
    secret = key.read_bytes().split()[-1].decode()
    for text in made["script"].values():
        assert secret not in text
        assert str(key) in text
    for words in ("--max-inference 0.9", "--pseudonyms", "--profile ihsn-k5", '[hierarchies."education"]'):
        assert words in made["script"]["command"]
    # the command in a shell makes the same bytes
    command = made["script"]["command"].replace(str(tmp_path / "out"), str(tmp_path / "again"))
    command = command.replace("hedgerow protect", f"{sys.executable} -m hedgerow protect")
    subprocess.run(["sh", "-ec", command], cwd=tmp_path, check=True, capture_output=True)
    exec(made["script"]["python"].replace(str(tmp_path / "out"), str(tmp_path / "code")), {})
    for name in ("release.csv", "plan.json", "evidence.json"):
        for other in ("again", "code"):
            again = (tmp_path / other / name).read_bytes()
            assert again == (tmp_path / "out" / name).read_bytes(), (other, name)


def test_what_a_standard_does_not_find_met_is_not_written(people: Path, tmp_path: Path) -> None:
    worker = Worker(lambda message: None)
    asked = ask(people, profile="hipaa-safe-harbor", folder=str(tmp_path / "out"), force=False)
    with pytest.raises(hr.errors.PromiseError, match="not at most"):
        worker.do({**asked, "roles": {**ROLES, "postcode": "other"}, "do": "write"})
    assert not (tmp_path / "out").exists()
    with pytest.raises(hr.errors.ParameterError, match="k of at least 12"):
        worker.do({**asked, "profile": "ema-0070", "options": {"k": 11}, "do": "say"})


def test_a_standard_of_ones_own_that_was_changed_is_read_again(people: Path, tmp_path: Path) -> None:
    """Its path is the same, and the command and the code read what it asks now."""
    own = tmp_path / "own.toml"
    known = resources.files("hedgerow.profiles").joinpath("ihsn-k3.toml").read_text("utf-8")
    worker = Worker(lambda message: None)
    own.write_text(known)
    asked = ask(people, profile=str(own), force=False)
    assert worker.do({**asked, "folder": str(tmp_path / "one"), "do": "write"})["standard"]
    own.write_text(known.replace("at_least = 3", "at_least = 601"))
    with pytest.raises(hr.HedgerowError, match="601"):
        worker.do({**asked, "folder": str(tmp_path / "two"), "do": "write"})
    assert not (tmp_path / "two").exists()


def test_the_encoding_that_is_named_is_repeated(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    rows = [f"{20 + i % 50},{'Köchin' if i == 1400 else 'nurse'},{1000 + i % 700}" for i in range(1500)]
    file.write_bytes("\n".join(["age,job,income", *rows]).encode("cp1252"))
    worker = Worker(lambda message: None)
    with pytest.raises(hr.errors.InputError, match="but for 1 of its 1,501 lines, the first of them line 1,402"):
        worker.do({"path": str(file), "missing": [], "do": "open"})
    seen = worker.do({"path": str(file), "missing": [], "encoding": "cp1252", "do": "open"})
    assert any("cp1252" in text for text in seen["warnings"])
    made = ask(file, encoding="cp1252", roles={"age": "quasi", "job": "quasi", "income": "sensitive"})
    script = worker.do({**made, "do": "say"})["script"]
    assert 'encoding = "cp1252"' in script["command"]
    assert "encoding='cp1252'" in script["python"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_guard_takes_the_key_and_is_repeated_by_the_command(people: Path, tmp_path: Path) -> None:
    worker, key = Worker(lambda _: None), str(tmp_path / "steward.key")
    asked = ask(people, guard="redraw", guard_people=12, key=key)
    answer = worker.do({**asked, "do": "say"})
    assert "--guard redraw --guard-people 12" in answer["script"]["command"]
    assert f"--key-file {key}" in answer["script"]["command"]
    worker.do({**asked, "folder": str(tmp_path / "out"), "force": False, "do": "write"})
    guard = hr.Plan.load(tmp_path / "out" / "plan.json").guard
    assert (guard.form, guard.people) == ("redraw", 12)
    assert "guard" not in worker.do({**ask(people, key=key, guard_people=12), "do": "say"})["script"]["command"]
    rows = ask(people, method="hedge", options={"k": 10, "max_disclosure": 0.5, "cells": "means"}, key=key)
    assert f"--cells means --key-file {key}" in worker.do({**rows, "do": "say"})["script"]["command"]
    on_file = {**rows, "options": {"k": 10, "max_disclosure": 0.5}, "cap_on": "file"}
    assert "--cap-on file" in worker.do({**on_file, "do": "say"})["script"]["command"]
    # what no longer holds rows drawn has no cap on the file
    assert "--cap-on" not in worker.do({**rows, "cap_on": "file", "do": "say"})["script"]["command"]


def test_a_step_that_repeats_the_title_is_not_said() -> None:
    client, seen = WorkerClient(lambda job: None), []
    client.job = Job(1, "frontier", "Trying settings")

    def lines() -> Iterator[str]:
        for step in ("trying settings", "trying settings, 3 of 7"):
            yield json.dumps({"id": 1, "step": step, "share": 0.5})
            seen.append(client.job and client.job.step)

    client._listen(SimpleNamespace(stdout=lines(), wait=lambda: 0))  # type: ignore[arg-type]
    assert seen == ["", "trying settings, 3 of 7"]


def test_labels_of_columns_are_seen(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    people = hr.datasets.make_people(50, seed=1).to_pandas()[["age", "sex", "income"]]
    pyreadstat.write_sav(people, tmp_path / "people.sav", column_labels=["", "Sex of the respondent", ""])
    seen = Worker(lambda message: None).do({"path": str(tmp_path / "people.sav"), "missing": [], "do": "open"})
    assert seen["labels"] == {"age": "", "sex": "Sex of the respondent", "income": ""}


def test_compiling_is_said_instead_of_standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first preview on a machine stood at "fitting" for 20 seconds."""
    sent: list[dict[str, Any]] = []
    worker = Worker(sent.append)
    monkeypatch.setattr(worker, "_hello", lambda ask: compiling() or {})
    assert worker.do({"do": "hello"}) == {}
    assert [message["step"] for message in sent] == ["compiling for the first time on this machine, about 20 s"]


FLAGGED = [
    (group, key, words)
    for folder, groups in (
        ("workflow", ("inspection",)),
        ("release", ("caution", "release")),
        ("io", ("io",)),
        ("report", ("caution", "verdict", "summary")),
        ("auditing", ("audit",)),
    )
    for group, keys in read_toml(f"hedgerow.{folder}", "texts.toml").items()
    if group in groups
    for key, text in keys.items()
    for words in ([text] if isinstance(text, str) else text.values())
    if "--" in words
]


def refused() -> Iterator[str]:
    """Yield the words of the code that raise an error and name a flag; what is filled in is an x.

    Commands that the studio does not run are left out.
    """
    for folder in ("release", "io", "auditing"):
        for path in sorted(Path(hr.__file__).parent.joinpath(folder).glob("*.py")):
            for node in (
                ast.walk(ast.parse(path.read_text("utf-8"))) if path.stem not in ("signing", "frontier") else ()
            ):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                    for each in (*node.exc.args, *(keyword.value for keyword in node.exc.keywords)):
                        parts = each.values if isinstance(each, ast.JoinedStr) else [each]
                        words = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
                        if "--" in words:
                            yield words


def test_no_text_of_a_page_names_a_flag() -> None:
    assert len(FLAGGED) > 20
    assert [(group, key) for group, key, words in FLAGGED if "--" in with_controls(words)] == []
    assert len(list(refused())) > 20
    assert [words for words in refused() if "--" in with_controls(words)] == []


@pytest.mark.parametrize(
    ("text", "on_the_page"),
    [
        ("age: 'k.A.' is read as text; if it means no value, say so: --missing k.A.,NA",
         "under “Which words mean that a value is missing?” (step 1)."),
        ("should be an empty cell, or its column a category (--kinds COLUMN=categorical)",
         "a category (Kind, in step 1)."),
        ("is w a weight, which says how many people a record stands for? Then say so: --weight 'my w'",
         "say so, with the role “harmless” and under “How many people does a record stand for?” (step 1)."),
        ("then take it out of the quasi-identifiers and say so, and k counts households too: --household 'a b'",
         "Then give it the role “names a person” and choose it under “Who lives together?” (step 1), and k counts "
         "households too."),
        ("id repeats: the proposal lets k count people (--unit id (new)); --unit none says that every row is one",
         "lets k count people; “Who is a person?” (step 1) can say that every row is one."),
        ("say who is a person: unit='my id' (--unit my id), or that every row is one: unit=None (--unit none)",
         "Say who is a person, or that every row is one, under “Who is a person?” (step 1)."),
        ("out exists already. Choose another name, or replace it with --force (force=True)",
         "or tick “Replace an earlier release there”."),
        ("choose another --out, or have somebody allow it", "Choose another folder, or have somebody allow it."),
        ("use round limits: --grid my age=FIRST:LAST:STEP (grid=)", "limits: Public cut points, in step 3."),
        ("say what the file is: --encoding cp1252 (encoding=\"cp1252\")",
         "the file is under “Encoding, if umlauts look wrong” (step 1)."),
        ("the comma is read as the decimal sign; --decimal . (decimal='.') reads it the other way",
         "decimal sign; the command line can read it the other way."),
        ("no value has enough people: join values, or lower guard_people (--guard-people)",
         "or lower “People who share a value” (step 3)."),
        ("release them as they are (guard=None, --guard none)", "as they are (Exact sensitive values, in step 3)."),
        ("leave out follows (--follows)", "Leave “Goes with” (step 1) empty."),
        ("leave out follows (--follows), rules (--rule, --tolerated) and determines (--determines)",
         "Leave “Goes with” (step 1) empty, and rules off."),
        ("leave them out (rules=, --rule), or let as many rows of a release break them (--tolerated)",
         "where they are listed with exceptions (“Rules between columns”, in step 1)."),
        ("make all of its columns sensitive, or leave the rule out (rules=, --rule)",
         "or switch the rule off (“Rules between columns”, in step 1)."),
        ("cap the groups (cap_on, --cap-on groups), or leave the rules out (rules=, --rule)",
         "Let the cap be on the groups (step 3), or switch the rules off (“Rules between columns”, in step 1)."),
        ("rows break rules of the original, which can be declared (--rule, --determines): a is b",
         "which can be switched on (“Rules between columns”, in step 1): a is b."),
        ("people of 2 files [--x y] (a --b) are (as they are)", "2 files [--x y] (a --b) are (as they are)."),
        ("round them (Schema(other=...), protect --other 'my job')", "Round them."),
        ('declare their kind as "categorical", or leave them out',
         "Choose “categorical” for them under “Kind”, or another role (step 1)."),
        ('give y to fit, or response="income" (--response income)',
         "Write it under “response” (“More of tpp”, in step 3)."),
        ("write for example bounds={\"income\": (0, 1_000_000)}, --bounds income=0:1000000",
         "Write numbers with commas between them."),
    ],
)  # fmt: skip
def test_advice_names_the_controls_of_the_page(text: str, on_the_page: str) -> None:
    assert in_sentences(text).endswith(on_the_page)
