"""A release measured by itself: no original, or cells that nobody can hold against one."""

from __future__ import annotations

import json
import math
import warnings

import jsonschema
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError, SchemaError

from .conftest import people_of

ROLES = hr.Schema(quasi=["age", "zip"], sensitive=["ill", "pay"])


def foreign():
    """72 records in eight groups, their cells in the notations of several tools."""
    ages = ["[20, 30[", "20-29", "2*", ">=30", "<20", "*", "(30, 40]", "NULL"]
    zips = ["537**", "{53703, 53706}", "*****", "53703", "537**", "Any", "4*", "NA"]
    ill, pay = ["flu", "cold", "none", "flu", "asthma"], [3, 4, 5, 7, 11, 8]
    rows = []
    for i in range(72):
        g = (i * i + i // 9) % 8
        person = ill[(i * i * 3 + i // 7 + g) % 5], pay[(i * 7 + i * i // 5 + 3 * g) % 6]
        rows.append((ages[g], zips[g], *person))
    return pd.DataFrame(rows, columns=["age", "zip", "ill", "pay"])


# distinct l, whole entropy l, alpha, t, basic beta, enhanced beta, delta as pycanon 1.3 prints them
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("ill", (3, 2, 0.625, 0.2638888888888889, 0.8, 0.8, 0.916290731874155)),
        ("pay", (2, 1, 0.625, 0.18888888888888888, 2.5999999999999996, 2.5999999999999996, 1.2809338454620642)),
    ],
)
def test_figures_of_foreign_cells_equal_pycanon(name, printed):
    found = hr.audit(None, foreign(), ROLES, suppressed="strict").risk["release"]
    distinct, entropy, alpha, t, basic, enhanced, delta = printed
    column = found["sensitive"][name]
    assert found["classes"]["k"] == 8
    assert column["distinct_l"] == distinct
    assert math.floor(column["entropy_l"]) == entropy
    assert column["alpha"] == pytest.approx(alpha)
    assert column["t_equal" if name == "ill" else "t_ordered"] == pytest.approx(t)
    assert column["basic_beta"] == pytest.approx(basic)
    assert column["delta"] == pytest.approx(delta)
    if column["enhanced_beta_holds"]:
        assert column["enhanced_beta"] == pytest.approx(enhanced)


def test_cells_that_say_nothing_match_anything():
    release = pd.DataFrame({"age": ["20-29"] * 3 + ["*"] * 2 + ["NA"] * 2 + [None], "ill": ["flu", "none"] * 4})
    found = hr.audit(None, release, hr.Schema(quasi=["age"], sensitive=["ill"]), suppressed="strict")
    classes = found.risk["release"]["classes"]
    assert (classes["k"], classes["wildcard_k"]) == (1, 8)


def test_a_release_alone_tells_what_it_tells_beside_its_original(people, release, schema):
    alone = hr.audit(None, release, schema)
    beside = hr.audit(people, release, schema, attacks=False, learning=False)
    assert alone.risk["release"] == beside.risk["release"]
    assert alone.risk["original"] is None
    assert alone.table["rows"] == len(people)


def test_data_text_and_pages_say_what_was_not_measured(release, schema, tmp_path):
    found = hr.audit(None, release, schema, k=10)
    data = json.loads(found.to_json())
    jsonschema.validate(data, hr.audit.json_schema())
    assert set(data["table"]) == set(hr.audit.json_schema()["properties"]["table"]["required"])
    assert data["utility"]["loss"] is None
    assert data["not_measured"][0].endswith("no original was given")
    text = str(found)
    assert "compared with no original" in text
    assert "Not measured: utility, attacks, inference" in text
    assert "Utility\n" not in text
    for audience in ("steward", "recipient"):
        found.report(tmp_path / "r.html", audience=audience)
        page = (tmp_path / "r.html").read_text()
        assert "no original was given" in page
        assert '<section id="utility"' not in page
        assert ">Original</th>" not in page


def test_cells_that_cannot_be_read_leave_the_rest_measured(people, release, schema, tmp_path):
    strange, n = release.copy(), len(release) // 2 + 1
    strange.loc[strange.index[:7], "job"] = "kitchen"
    some = hr.audit(people, strange, schema, attacks=False, learning=False)
    assert not some.table["paired"]
    assert not some.table["alone"]
    strange.loc[strange.index[:n], "job"] = "kitchen"
    found = hr.audit(people, strange, schema)
    data = json.loads(found.to_json())
    jsonschema.validate(data, hr.audit.json_schema())
    assert f"'kitchen' ({n} rows) of 'job'" in data["not_measured"][0]
    assert "hierarchy" in data["not_measured"][0]
    alone = hr.audit(None, strange, schema)
    assert found.risk["release"] == alone.risk["release"]
    whole = hr.audit(people, people, schema, attacks=False, learning=False)
    assert found.risk["original"] == whole.risk["original"]
    assert found.attacks == []
    found.report(tmp_path / "r.html")
    assert f"&#39;kitchen&#39; ({n} rows)" in (tmp_path / "r.html").read_text()


def test_folders_are_measured_alone(tmp_path):
    people = people_of(300)
    roles = hr.Schema(quasi=["age", "sex"], sensitive=["job"])
    for method in (hr.MART(k=10), hr.Anatomy(l=3), hr.Datafly(k=5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            release = hr.protect(people, roles, method)
            folder = release.write(tmp_path / type(method).__name__)
        told = [hr.audit(o, folder, attacks=False, learning=False) for o in (None, people)]
        sides = [each.risk["release"] for each in told]
        assert sides[0]["classes"] == sides[1]["classes"]
        job = [each["sensitive"]["job"]["disclosure"] for each in sides]
        assert job[0]["worst"] == pytest.approx(job[1]["worst"])
    noisy = hr.protect(people, roles.replace(quasi=["age"]), hr.NoiseAddition(0.3, random_state=1))
    assert any("say nothing" in note for note in hr.audit(None, noisy).table["notes"])


def test_people_are_counted_where_the_release_names_them():
    visits = pd.DataFrame({"who": ["a", "a", "a", "b"], "age": ["20-29"] * 4, "ill": ["x"] * 4})
    schema = hr.Schema(quasi=["age"], sensitive=["ill"], unit="who")
    assert hr.audit(None, visits, schema).risk["release"]["classes"]["people"] == 1
    nobody = hr.audit(None, visits.drop(columns="who"), schema).risk["release"]["classes"]
    assert nobody["people"] is None


def test_what_needs_an_original_says_so(release, schema):
    for asked in ({"key": "pay"}, {"control": release}, {"population": release}, {"paired": True}):
        with pytest.raises(ParameterError, match="need an original"):
            hr.audit(None, release, schema, **asked)
    with pytest.raises(SchemaError, match="lacks 'agee'"):
        hr.audit(None, release, schema.replace(quasi=["agee"]))
    with pytest.raises(SchemaError, match="quasi-identifiers"):
        hr.audit(None, release)


def test_the_command_line_measures_a_release_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    foreign().to_csv("theirs.csv", index=False)
    roles = ["--quasi", "age,zip", "--sensitive", "ill"]
    assert run(["audit", "--release-only", "theirs.csv", *roles, "--report", "r.html"]) == 0
    assert "72 released rows, compared with no original" in capsys.readouterr().out
    assert run(["audit", "--release-only", "theirs.csv", *roles, "-k", "9"]) == 1
    assert "8 records, fewer than 9" in capsys.readouterr().err
    assert run(["audit", "--release-only", "theirs.csv", *roles, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table"]["alone"] is True
    for wrong in (["theirs.csv", "theirs.csv"], []):
        assert run(["audit", "--release-only", *wrong, *roles]) == 2
        assert "takes one table" in capsys.readouterr().err
