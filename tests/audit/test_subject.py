"""What an audit knows beyond two tables: a release, its folder, its plan, its second table."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import align, join, pair_up
from hedgerow.auditing.subject import Subject
from hedgerow.auditing.utility.loss import certainty_penalty
from hedgerow.errors import InputError, SchemaError
from hedgerow.io.read import read
from hedgerow.release.records import RowMap

from .conftest import people_of

QUICK = {"attacks": False, "learning": False}
ROLES = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay", "ill"])


def protect(method, roles=ROLES, people=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return hr.protect(people_of(300) if people is None else people, roles, method, guard=None)


def in_their_order(release):
    """The released frame with its records where they stood in the original."""
    return pd.DataFrame(release.table).iloc[np.argsort(release.rows)].reset_index(drop=True)


def test_a_release_knows_what_was_said_to_make_it(people, schema):
    release = protect(hr.MART(k=10, max_disclosure=0.5), schema, people)
    known = hr.audit(people, release, **QUICK).to_dict()
    said = hr.audit(people, release.table, schema, plan=release.plan, k=10, **QUICK).to_dict()
    said["parameters"]["k"] = known["parameters"]["k"]
    assert known == said


def test_rows_of_a_release_may_stand_in_any_order(people, schema, release):
    straight = pair_up(people, Subject(read(release), schema))
    order = np.random.default_rng(5).permutation(len(people))
    rows = RowMap(order, "")
    turned = pair_up(people, Subject(read(release.iloc[order]), schema, rows=rows))
    assert certainty_penalty(straight) == pytest.approx(certainty_penalty(turned))
    assert (straight.rows == turned.rows).all()
    with pytest.raises(InputError, match="another table"):
        pair_up(people.head(100), Subject(read(release), schema, rows=rows))


@pytest.mark.parametrize("method", [hr.Datafly(k=5), hr.Incognito(k=5), hr.TreePatternPreserving(k=5, response="ill")])
def test_cells_that_only_the_plan_explains(method, tmp_path):
    people = people_of(300)
    roles = ROLES.replace(quasi=["job", "sex"], sensitive=["ill"])
    release = protect(method, roles, people)
    found = hr.audit(people, release, **QUICK)
    # by definition: the categories that share a released cell, less one, over all less one
    now = in_their_order(release)
    for name in roles.quasi:
        both = pd.DataFrame({"was": people[name], "now": now[name]})
        shared = both.groupby("now")["was"].nunique()
        width = (both["now"].map(shared) - 1) / (people[name].nunique() - 1)
        assert found.utility["loss"]["columns"][name]["ncp"] == pytest.approx(width.mean())
    release.write(tmp_path / "out")
    people.to_csv(tmp_path / "people.csv", index=False)
    again = hr.audit(tmp_path / "people.csv", tmp_path / "out", **QUICK)
    assert again.risk == found.risk
    assert again.utility["loss"] == found.utility["loss"]


def test_numbers_that_a_hierarchy_generalised_are_ranges():
    people = pd.DataFrame({"age": [20, 21, 30, 31] * 5, "pay": range(20)})
    tens = hr.Hierarchy({str(a): (str(a), f"{a // 10}x", "*") for a in (20, 21, 30, 31)})
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], hierarchies={"age": tens})
    release = protect(hr.Datafly(k=6), schema, people)
    assert set(release.table["age"]) == {"2x", "3x"}
    found = hr.audit(people, release, **QUICK)
    assert found.utility["loss"]["ncp"] == pytest.approx(1 / 11)


def test_anatomy_is_told_by_its_buckets_and_read_from_its_folder(tmp_path):
    people = people_of(300)
    roles = ROLES.replace(quasi=["age", "sex"], sensitive=["job"])
    release = protect(hr.Anatomy(l=3), roles, people)
    found = hr.audit(people, release, people=50, learners=["tree"])
    # by hand, from what was published alone: the Brier score of the group's shares over that of
    # the public ones, on the members of the group
    st = release.method.second_table().to_pandas()
    public = people["job"].value_counts(normalize=True)
    shares = st.set_index(["group", "job"])["count"].unstack(fill_value=0)
    size = shares.sum(axis=1)
    shares = shares.div(size, axis=0)[public.index]
    guess = 1 - 2 * (shares * public).sum(axis=1) + (public**2).sum()
    left = (1 - (shares**2).sum(axis=1)) / guess
    told = found.risk["release"]["sensitive"]["job"]["disclosure"]
    assert told["worst"] == pytest.approx(1 - left.min())
    assert told["mean_over_records"] == pytest.approx(1 - (left * size).sum() / size.sum())
    assert found.risk["release"]["classes"] == found.risk["original"]["classes"]
    assert any("all values of job in its group" in note for note in found.table["notes"])
    # every record has all values of its group, so a learner is right about one in three
    tree = next(a for a in found.attacks if a["attack"] == "regression")
    assert 0.1 < tree["success"] < 0.7
    release.write(tmp_path / "out", mapping=True)
    again = hr.audit(people, tmp_path / "out", roles, **QUICK)
    assert again.risk["release"]["sensitive"] == found.risk["release"]["sensitive"]
    alone = (tmp_path / "out" / "release.parquet").rename(tmp_path / "alone.parquet")
    with pytest.raises(InputError, match="without its table 'sensitive'"):
        hr.audit(people, alone, plan=release.plan, **QUICK)
    alone.rename(tmp_path / "out" / "release.parquet")
    (tmp_path / "out" / "sensitive.parquet").unlink()
    with pytest.raises(InputError, match="no sensitive table"):
        hr.audit(people, tmp_path / "out", **QUICK)


def test_what_is_dealt_does_not_depend_on_the_order_of_the_rows():
    people = people_of(200)
    own = read(people).column("job")
    people["bucket"] = bucket = np.arange(200) % 50
    numbered = read(people).column("bucket", kind="categorical")
    second = pd.DataFrame({"group": bucket, "job": people["job"]})
    second = read(second.value_counts(["group", "job"]).rename("count").reset_index())
    beside = [read(people).column("age").codes]
    dealt, groups = join(own, numbered, second, beside)
    assert groups.n_groups == 50
    for g in range(50):
        assert sorted(dealt.codes[bucket == g]) == sorted(own.codes[bucket == g])
    assert (dealt.codes == own.codes).mean() < 0.7
    order = np.random.default_rng(1).permutation(200)
    mixed = people.iloc[order].reset_index(drop=True)
    numbered = read(mixed).column("bucket", kind="categorical")
    again, _ = join(read(mixed).column("job"), numbered, second, [beside[0][order]])
    assert (again.codes == dealt.codes[order]).all()
    lost = read(people.assign(bucket=np.minimum(bucket, 48)))
    with pytest.raises(InputError, match="do not fit"):
        join(own, lost.column("bucket", kind="categorical"), second, beside)


def test_altered_records_are_judged_by_linkage():
    people = people_of(300)
    roles = hr.Schema(quasi=["age", "pay"], sensitive=["ill"])
    release = protect(hr.NoiseAddition(0.3, random_state=1), roles, people)
    found = hr.audit(people, release, **QUICK)
    jsonschema.validate(json.loads(found.to_json()), hr.Audit.json_schema())
    linked = found.risk["linkage"]
    assert found.table["yardstick"] == "linkage"
    assert 5 / 300 < linked["highest"] < 0.9  # by chance it is 1 in 300
    scores = hr.score(people, release, columns=["age", "pay"])
    by_order = hr.score(people, in_their_order(release), columns=["age", "pay"])
    assert (scores.paired_by, by_order.paired_by) == ("release", "order")
    assert scores == replace(by_order, paired_by="release")
    assert linked["scores"]["dld"] == pytest.approx(scores.dld)
    assert linked["scores"]["il"] == pytest.approx(scores.il)
    # a cell that is not true loses what it is off by
    off = (in_their_order(release)["age"] - people["age"]).abs()
    span = people["age"].max() - people["age"].min()
    assert found.utility["loss"]["columns"]["age"]["ncp"] == pytest.approx((off / span).mean())
    # unchanged records are all linked, and masked by one value none is
    same = hr.audit(people, people, roles, **QUICK)
    assert "linkage" not in same.risk
    kept = protect(hr.TopBottomCoding(top=1e9), roles, people)
    assert hr.audit(people, kept, **QUICK).risk["linkage"]["highest"] > 0.95


def test_a_false_category_loses_all_its_certainty():
    people = pd.DataFrame({"job": ["cook", "nurse", "smith", "clerk"] * 5, "pay": range(20)})
    release = people.assign(job=["nurse", *people["job"][1:]])
    pair = align(people, release, hr.Schema(quasi=["job"], sensitive=["pay"]))
    assert certainty_penalty(pair) == {"job": pytest.approx(1 / 20)}


def test_sensitive_numbers_released_as_ranges_are_read_at_their_middle(tmp_path):
    people = people_of(300)
    roles = hr.Schema(quasi=["job", "sex"], sensitive=["pay"])
    method = hr.RandomizedResponse(l=1.5, target="both", bins=3)
    release = protect(method, roles, people)
    found = hr.audit(people, release, **QUICK)
    assert found.table["yardstick"] == "linkage"
    # its folder is measured alike: cells that are not true are no fault of the pairing
    release.write(tmp_path / "out", mapping=True)
    again = hr.audit(people, tmp_path / "out", **QUICK)
    assert again.risk["linkage"]["highest"] == found.risk["linkage"]["highest"]
    moved = found.utility["distributions"]["columns"]["pay"]["wasserstein"]
    assert 0 < moved < 0.5


def test_something_must_say_what_an_intruder_knows(tmp_path):
    people_of(20).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(SchemaError, match="quasi-identifiers"):
        hr.audit(tmp_path / "people.csv", tmp_path / "people.csv", **QUICK)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no release table"):
        hr.audit(tmp_path / "people.csv", tmp_path / "empty", ROLES, **QUICK)


def test_means_beside_missing_values_and_stars_are_paired_and_cover_nothing(tmp_path):
    draw = np.random.default_rng(0)
    people = people_of(300)
    people["age"] = people["age"].where(draw.random(300) < 0.95)
    people["debt"] = np.where(draw.random(300) < 0.2, draw.integers(0, 900, 300), np.nan)
    roles = ROLES.replace(quasi=["age", "debt", "job", "sex"])
    release = protect(hr.Hedge(k=5, screen=False), roles, people)
    shown = {str(cell) for cell in release.table["age"]} | {str(c) for c in release.table["debt"]}
    assert "*" in shown
    assert any("(missing)" in cell for cell in shown)
    people.to_csv(tmp_path / "people.csv", index=False)
    release.write(tmp_path / "release")
    from_folder = hr.audit(tmp_path / "people.csv", tmp_path / "release", **QUICK)
    in_hand = hr.audit(people, release, **QUICK)
    assert not [n for n in from_folder.table["notes"] if "do not cover" in n]
    lost = [a.utility["loss"]["columns"] for a in (from_folder, in_hand)]
    assert lost[0] == lost[1]
    assert 0 < lost[0]["age"]["ncp"] < 1
