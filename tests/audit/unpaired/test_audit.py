"""The whole audit without pairs: what it says, what it leaves out, and on which files it works."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.report.text import attacks_in_words

from .conftest import SCHEMA, drawn, leaky

QUICK = {"attacks": False, "learning": False}


@pytest.fixture(scope="module")
def found(members, others):
    released = leaky(members, 0.3, 1)
    return hr.audit(members, released.iloc[:700], SCHEMA, paired=False, control=others, people=100)


def test_it_has_the_shape_of_any_audit(found):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    data = json.loads(found.to_json())
    jsonschema.validate(data, hr.audit.json_schema())
    for part in ("risk", "utility", "table"):
        assert set(hr.audit.json_schema()["properties"][part]["required"]) == set(data[part])
    assert data["table"]["paired"] is False
    assert (data["table"]["rows"], data["table"]["original_rows"]) == (700, 800)
    assert data["table"]["strangers"] == 800
    assert data["table"]["suppressed"] is data["utility"]["loss"]["ncp"] is None
    assert any("need pairs" in note for note in data["table"]["notes"])
    assert {a["attack"] for a in found.attacks} == {"regression", "linking", "singling out", "membership"}
    assert all(a["over_control_interval"] for a in found.attacks)


def test_nearness_stands_beside_a_warning(found):
    near = found.risk["nearest"]
    assert near["closer"] > 0.5
    assert near["interval"][0] < near["closer"] < near["interval"][1]
    assert near["members"]["none"] > near["strangers"]["none"]
    assert near["warning"] in str(found)


def test_advantage_is_of_members_over_people_who_took_no_part(members, others):
    few = ["tree"]
    copy, nobody = (
        hr.audit(members, released, SCHEMA, paired=False, control=others, learners=few, people=50, learning=False).risk[
            "inference"
        ]["columns"]["pay"]["advantage"]
        for released in (members, drawn(800, 7))
    )
    assert copy["interval"][0] > 0.02
    assert nobody["interval"][0] < 0.02


def test_text_and_page_say_who_was_compared_with_whom(found, tmp_path):
    text = str(found)
    assert "700 released rows, not paired with the 800 of the original; 800 people" in text
    assert "over control" in text
    assert "k (smallest group)" not in text
    assert "certainty lost" not in text.split("Note:")[0]
    files = next(a for a in found.attacks if a["learner"] == "two files")
    joined = f"joins both halves for {files['success']:.1%} of the people, and for {files['control']:.1%} of people who"
    assert joined in text
    for audience in ("steward", "recipient"):
        found.report(tmp_path / f"{audience}.html", audience=audience)
        page = (tmp_path / f"{audience}.html").read_text()
        assert "not paired with the 800" in page
        assert ("The surest attack" in page) == (joined in page) == (audience == "steward")
        assert "Information loss" not in page


def test_without_people_who_took_no_part_nothing_is_over_a_control(members):
    found = hr.audit(members, drawn(500, 3), SCHEMA, paired=False, people=50, learners=["tree"], learning=True)
    for attack in found.attacks:
        assert attack["control"] is attack["over_control"] is attack["over_control_interval"] is None
    assert found.risk["nearest"]["closer"] is None
    assert found.risk["inference"]["columns"]["pay"]["strangers"] is None
    assert any("Hold back some people" in note for note in found.table["notes"])
    files = {"attack": "linking", "learner": "two files", "success": 0.3, "original": 0.4, "control": None}
    assert "of people who are not in the table it was not measured" in next(attacks_in_words([files]))
    assert list(attacks_in_words([files | {"success": 0.0, "found": {}}])) == []
    assert "-" in str(found)
    for words in (str(found), found._repr_html_()):
        assert "compared with the same attacks" not in words
    assert found.utility["learning"]


def test_a_generalised_file_keeps_its_classes(members, others):
    release = hr.protect(members, SCHEMA, hr.MART(k=20)).table
    mixed = release.sample(frac=1.0, random_state=3).reset_index(drop=True)
    found = hr.audit(members, mixed, SCHEMA, paired=False, control=others, people=100)
    paired = hr.audit(members, mixed, SCHEMA, **QUICK)
    assert found.table["yardstick"] == "classes"
    one, two = found.to_dict(), paired.to_dict()
    for side in ("original", "release"):
        assert one["risk"][side]["classes"] == two["risk"][side]["classes"]
        assert one["risk"][side]["sensitive"] == two["risk"][side]["sensitive"]
    for part in ("distributions", "queries"):
        assert one["utility"][part] == two["utility"][part]
    told = {(a["attack"], a["learner"]): a for a in found.attacks}
    # twenty records or more are alike in what is known, and share whoever is led to them
    assert told["linking", "two files"]["success"] <= 1 / 20
    assert "k (smallest group)" in str(found)


def test_what_every_row_stands_for_scales_counts(members):
    half = members.iloc[::2]
    twice = pd.concat([half, half])
    one, two = (hr.audit(members, t, SCHEMA, paired=False, **QUICK).utility["queries"] for t in (half, twice))
    assert one["range"] == two["range"]
    assert one["range"]["median"] < 0.5


def test_cells_that_nobody_has_are_counted_and_fit_nobody(members, others):
    released = drawn(300, 4)
    released.loc[:9, "job"] = "astronaut"
    found = hr.audit(members, released, SCHEMA, paired=False, control=others, people=50)
    assert any("fit nobody: 'astronaut' (10 rows) of 'job'" in n for n in found.table["notes"])
    released.loc[:298, "job"] = "astronaut"  # of 300 cells one says something
    found = hr.audit(members, released, SCHEMA, paired=False, **QUICK).to_dict()
    assert found["table"]["alone"]
    assert "cannot be read: 'astronaut'" in found["not_measured"][0]


def test_missing_values_and_values_of_others_alone(members, others):
    rng = np.random.default_rng(1)
    gaps = [t.mask(rng.random(t.shape) < 0.1) for t in (members, drawn(400, 8), others)]
    gaps[2].loc[:20, "job"] = "pilot"
    found = hr.audit(gaps[0], gaps[1], SCHEMA, paired=False, control=gaps[2], people=100, learners=["nearest"])
    for attack in found.attacks:
        assert attack["over_control_interval"][0] < 0.1
    hidden = members.assign(job=None)
    found = hr.audit(members, hidden, SCHEMA, paired=False, **QUICK)
    assert found.table["yardstick"] == "classes"  # suppressed: it may be anything


def test_one_column_one_row_nothing_sensitive(members, others):
    one = hr.Schema(quasi=["age"])
    found = hr.audit(members.iloc[:1], members.iloc[:1], one, paired=False, control=others.iloc[:1], people=5)
    assert str(found)
    json.loads(found.to_json())


def test_anatomy_is_joined_as_a_reader_joins_it(members, others, tmp_path):
    roles = hr.Schema(quasi=["age", "job"], sensitive=["place"])
    folder = hr.protect(members, roles, hr.Anatomy(l=3)).write(tmp_path / "out")
    found = hr.audit(members, folder, paired=False, control=others, people=50, learning=False)
    paired = hr.audit(members, folder, attacks=False, learning=False)
    assert (
        found.risk["release"]["sensitive"]["place"]["distinct_l"]
        == (paired.risk["release"]["sensitive"]["place"]["distinct_l"])
    )


def test_arguments_that_an_unpaired_audit_cannot_use_are_refused(members, others):
    with pytest.raises(ParameterError, match="forbids it"):
        hr.audit(members, members, SCHEMA, paired=False, key="place")
    with pytest.raises(ParameterError, match="figures of single people"):
        hr.audit(members, members, SCHEMA, paired=False, others=[members])
    with pytest.raises(ParameterError, match="weights"):
        hr.audit(members, members, SCHEMA, paired=False, weights="place")
    with pytest.raises(SchemaError, match=r"the control: .* no column 'job'"):
        hr.audit(members, members, SCHEMA, paired=False, control=others.drop(columns="job"))
    with pytest.raises(SchemaError):
        hr.audit(members, members, SCHEMA, paired=False, control=others.assign(age="old"))


def test_the_command_line_takes_it(members, others, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, table in (("people", members), ("theirs", leaky(members, 0.5, 2)), ("others", others)):
        table.to_csv(f"{name}.csv", index=False)
    roles = ["--quasi", "age,place,job,height", "--sensitive", "pay,ill"]
    quick = ["--people", "50", "--no-learning", "--no-inference", "--report", "report.html"]
    said = ["audit", "people.csv", "theirs.csv", *roles, "--unpaired", "--control", "others.csv"]
    assert run([*said, *quick]) == 0
    assert "over control" in capsys.readouterr().out
    assert "not paired" in (tmp_path / "report.html").read_text()


def test_numbers_that_no_double_holds_are_measured():
    rng = np.random.default_rng(0)
    people = pa.table({"job": rng.choice(list("abc"), 90), "pay": 2**53 + rng.choice([0, 1, 3], 90)})
    schema = hr.Schema(quasi=["job"], sensitive=["pay"])
    shuffled = people.take(pa.array(rng.permutation(90)))
    found = hr.audit(people, shuffled, schema, paired=False, attacks=False, learning=False)
    told = found.to_dict()["risk"]["release"]["sensitive"]["pay"]["disclosure"]
    assert 0 <= told["worst"] <= 1
