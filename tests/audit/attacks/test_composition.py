"""Composition: groups that cross leave one person; groups that agree leave what one leaves."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks.composition import ReleaseGroups, composition
from hedgerow.auditing.pairing import align
from hedgerow.errors import InputError
from hedgerow.schema import Schema

SIDE = 20
SCHEMA = Schema(quasi=["x", "y"], sensitive=["pay"])


def grid(seed=0):
    """A person at every point of a square, each with a pay of his own."""
    x, y = (a.ravel() for a in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    pay = np.random.default_rng(seed).permutation(SIDE * SIDE) * 10.0
    return pd.DataFrame({"x": x, "y": y, "pay": pay})


def by(people, column):
    """The release whose groups share one coordinate."""
    return people.assign(**{"y" if column == "x" else "x": f"[0-{SIDE - 1}]"})


def partly(people, share):
    """Groups of x within two parts of y, and the same but for the first part, grouped by y."""
    cut = int(share * SIDE)
    first = people["y"] < cut
    one = people.assign(y=np.where(first, f"[0-{cut - 1}]", f"[{cut}-{SIDE - 1}]"))
    other = one.astype({"x": object})
    other.loc[first, "x"] = f"[0-{SIDE - 1}]"
    other.loc[first, "y"] = people["y"][first].astype(str)
    return one, other


def composed(people, *releases, schema=SCHEMA):
    pairs = [align(people, release, schema) for release in releases]
    told = [ReleaseGroups.from_pair(f"other {i}", p, p.rows, len(people)) for i, p in enumerate(pairs)]
    return composition(pairs[0], told[1:])


def test_groups_that_cross_leave_one_person():
    people = grid()
    found, (attack,) = composed(people, by(people, "x"), by(people, "y"))
    left = found["columns"]["pay"]
    assert (left["together"]["records"], left["together"]["certain"]) == (1, 1)
    assert [one["records"] for one in left["alone"]] == [SIDE, SIDE]
    assert left["together"]["disclosure"]["worst"] == pytest.approx(1)
    assert (attack["success"], attack["public_best"], attack["control"]) == (1, 0, 0)
    assert attack["over_control"] == 1


def test_the_same_release_again_tells_nothing_more():
    people = grid()
    release = by(people, "x")
    found, (attack,) = composed(people, release, release)
    left = found["columns"]["pay"]
    assert {k: v for k, v in left["alone"][0].items() if k != "release"} == left["together"]
    assert attack["success"] == attack["public_best"] == 0


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_share_of_crossing_groups_is_the_share_of_people_told(share):
    people = grid()
    _, (attack,) = composed(people, *partly(people, share))
    low, high = attack["interval"]
    assert attack["success"] == pytest.approx(share)
    assert low <= share <= high


def test_what_all_share_is_no_secret_of_one_person():
    people = grid().assign(pay=100.0)
    found, (attack,) = composed(people, by(people, "x"), by(people, "y"))
    # who is kept back leaves others of the same row and column behind
    assert (attack["success"], attack["public_guess"], attack["public_best"]) == (1, 1, 1)
    assert attack["control"] == 1
    assert found["columns"]["pay"]["together"]["records"] == SIDE


def test_rows_and_columns_need_no_order():
    people = grid()
    one, other = by(people, "x"), by(people, "y")
    turned = np.random.default_rng(1).permutation(len(people))
    schema = Schema(quasi=["y", "x"], sensitive=["pay"])
    back = [frame.iloc[turned][["pay", "y", "x"]] for frame in (people, one, other)]
    assert composed(people, one, other) == composed(*back, schema=schema)


def test_people_who_are_in_one_release_alone_are_not_asked_about():
    people = grid().assign(id=np.arange(SIDE**2))
    half = people["x"] < SIDE / 2
    one, other = by(people, "x"), by(people, "y")[half]
    found = hr.audit(people, one, SCHEMA, key="id", others=[other], attacks=False, learning=False)
    left = found.risk["composition"]["columns"]["pay"]
    assert left["people"] == half.sum()
    assert left["together"]["certain"] == 1


def test_releases_know_their_people_and_files_their_folder(tmp_path):
    everybody = hr.datasets.make_people(500, seed=1).to_pandas()
    schema = Schema(quasi=["age", "education"], sensitive=["income"], identifiers=["person_id"])
    one = hr.protect(everybody.iloc[:400], schema, hr.MART(k=5))
    two = hr.protect(everybody.iloc[100:], schema, hr.Mondrian(k=5))
    of_all = hr.protect(everybody, schema, hr.MART(k=10))
    of_all.write(tmp_path / "release")
    found = hr.audit(everybody, of_all, others=[one, two], attacks=False, learning=False)
    left = found.risk["composition"]["columns"]["income"]
    assert [a["people"] for a in left["alone"]] == [500, 400, 400]
    assert left["together"]["records"] < left["alone"][0]["records"]
    by_folder = hr.audit(everybody, of_all, others=[tmp_path / "release"], attacks=False, learning=False)
    told = by_folder.risk["composition"]["columns"]["income"]
    assert told["together"]["records"] == told["alone"][0]["records"]
    with pytest.raises(InputError, match="100 of 400 people of other release 1 are not in"):
        hr.audit(everybody.iloc[:400], one, others=[two], attacks=False, learning=False)


def test_altered_values_have_no_groups_to_intersect():
    people = hr.datasets.make_people(300, seed=1)
    schema = Schema(quasi=["age"], sensitive=["income"], identifiers=["person_id"])
    noisy = hr.protect(people, schema, hr.NoiseAddition(random_state=1))
    plain = hr.protect(people, schema, hr.MART(k=5))
    for one, other in ((noisy, plain), (plain, noisy)):
        with pytest.raises(InputError, match="altered"):
            hr.audit(people, one, others=[other], attacks=False, learning=False)


def test_text_page_and_schema_tell_it(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    people = grid()
    found = hr.audit(people, by(people, "x"), SCHEMA, others=[by(people, "y")], attacks=False, learning=False)
    jsonschema.validate(json.loads(found.to_json()), hr.Audit.json_schema())
    assert "all of them together" in str(found)
    assert not any("several releases" in line for line in found.to_dict()["not_measured"])
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "With other releases" in page
    found.report(tmp_path / "theirs.html", audience="recipient")
    assert "With other releases" not in (tmp_path / "theirs.html").read_text()
