"""What groups say of people, and what the counts of all groups and a learner add to it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.auditing import group_learners
from hedgerow.auditing.inference import InferenceBound, training_set
from hedgerow.auditing.learners import LEARNERS
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.errors import InfeasibleError, ParameterError, PromiseError

from ...contracts.methods import CASES
from ...contracts.tables import TABLES
from ...reference.group_counts import binned, group_counts

ADULT = ["age", "sex", "education", "native-country"]
needs_adult = pytest.mark.usefixtures("need_data")


def adult(names, n, complete=True):
    """The first people of Adult."""
    table = pq.read_table(Path(os.environ["HEDGEROW_DATA"]) / "adult_train.parquet")
    return (table.drop_null() if complete else table).select(names).slice(0, n)


def ill_people(n=300, seed=0):
    """People whose illness depends on age and sex; everybody's number is different."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.choice(["f", "m"], n)
    old = age + 15 * (sex == "m") + rng.normal(0, 8, n)
    ill = np.select([old > 75, old > 60, old > 45], ["heart", "back", "flu"], "none")
    ill = pd.Series(ill).where(rng.random(n) < 0.8, rng.choice(["heart", "back", "flu"], n))
    return pd.DataFrame({"number": rng.permutation(n), "age": age, "sex": sex, "ill": ill})


SCHEMA = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])


def anatomy_of(people, schema=SCHEMA, l=2):
    release = hr.protect(people[[*schema.quasi, *schema.sensitive]], schema, hr.Anatomy(l, random_state=1))
    return release, pair_up(release.original, of_release(release))


def told_by_groups(release, people, name):
    """The share of the public loss that the mean or the shares of a person's group take off."""
    frame, second = release.table, release.method.second_table()
    own = people[name].iloc[release.rows].reset_index(drop=True)
    if second is not None:  # values by group
        label = frame[name].astype(str)
        st = second.to_pandas()
        st["group"] = st["group"].astype(str)
        values = st.loc[st.index.repeat(st["count"]), ["group", name]].set_index("group")[name]
    else:
        quasi = list(release.schema.quasi)
        label = frame.groupby(quasi, dropna=False, sort=False).ngroup().astype(str)
        values = pd.Series(frame[name].to_numpy(), index=label)
    known = own.notna()
    if pd.api.types.is_numeric_dtype(own):
        means = values.groupby(level=0).mean()
        away = (own - label.map(means).fillna(own.mean())) ** 2
        return 1 - away[known].sum() / ((own - own.mean()) ** 2).sum()
    public = own.value_counts(normalize=True)
    counts = pd.crosstab(np.asarray(values.index), np.asarray(values))
    shares = counts.div(counts.sum(axis=1), axis=0)
    spread = loss = 0.0
    for value, group in zip(own[known], label[known], strict=True):
        p = shares.loc[group] if group in shares.index else public
        loss += 1 - 2 * p.get(value, 0.0) + (p**2).sum()
        spread += 1 - 2 * public[value] + (public**2).sum()
    return 1 - loss / spread


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_number_two_never_lies_below_what_groups_say(case):
    """Of every method that has groups, over the same people with the same loss."""
    table, schema = TABLES[case.table]()
    method = case.method(schema)
    release = hr.protect(table, schema, method, guard=None)
    found = hr.inference(table, schema, release=release, folds=0)
    if method.risk_model == "linkage":  # nobody knows in which group a person stands
        alike = release.table.duplicated(list(schema.quasi)).any()
        assert ("group" in found.learners) == alike
        assert not {"group counts", "group corrected"} & set(found.learners)
        return
    for name in schema.sensitive:
        column = found.columns[name]
        low = told_by_groups(release, table, name)
        assert column["learners"]["group"]["members"]["explained"] == pytest.approx(low, abs=1e-9)
        assert column["members"]["explained"] >= low - 1e-9
        assert ("group counts" in found.learners) == (release.method.second_table() is not None)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("number", ["income", "assets"])
@pytest.mark.parametrize("k", [3, 5])
def test_the_nearest_group_of_altered_rows_is_tried(seed, number, k):
    """Whoever reads the release takes the mean of the records at the nearest centroid."""
    quasi = ["age", "hours_per_week"]
    people = hr.datasets.make_people(800, seed=seed).to_pandas()
    people = people[[*quasi, number]].astype(float).fillna(0)
    schema = hr.Schema(quasi=quasi, sensitive=[number])
    release = hr.protect(people, schema, hr.Microaggregation(k=k))
    spread = people[quasi].std().to_numpy()
    groups = release.table.groupby(quasi)[number].agg(["mean", "count"]).reset_index()
    away = (people[quasi].to_numpy()[:, None] - groups[quasi].to_numpy()[None]) / spread
    away = np.sqrt((away**2).sum(axis=2))
    near = (away <= away.min(axis=1, keepdims=True) + 1e-6) * groups["count"].to_numpy()
    guess, own = near @ groups["mean"].to_numpy() / near.sum(axis=1), people[number]
    low = 1 - ((own - guess) ** 2).sum() / ((own - own.mean()) ** 2).sum()
    found = hr.inference(people, schema, release=release, folds=0).columns[number]
    assert found["learners"]["group"]["members"]["explained"] == pytest.approx(low, abs=1e-9)
    assert found["members"]["explained"] >= low - 1e-9


@needs_adult
def test_anatomy_on_adult_says_what_reading_its_files_gives():
    """The issue's figures: .255 by the group's shares, about .42 and 62% by the groups' counts."""
    people = adult([*ADULT, "occupation"], 3000)
    schema = hr.Schema(quasi=ADULT, sensitive=["occupation"])
    release = hr.protect(people, schema, hr.Anatomy(l=3, random_state=1))
    found = hr.inference(people, schema, release=release)
    column = found.columns["occupation"]
    explained = {name: each["members"]["explained"] for name, each in column["learners"].items()}
    assert explained["group"] == pytest.approx(0.255, abs=0.01)
    assert explained["group counts"] > 0.36
    assert column["members"]["learner"] == "group counts"
    assert column["advantage"]["explained"] > 0.3
    attacks = hr.audit(people, release, inference=False, learning=False, people=2000).attacks
    named = next(a for a in attacks if a["learner"] == "group counts")
    assert named["success"] > 0.55  # where a value has at most a third of its group
    assert named["success"] > named["control"] + 0.2


@needs_adult
def test_a_bound_that_anatomy_breaks_is_searched_on_and_refused():
    people = adult([*ADULT, "occupation"], 1500)
    schema = hr.Schema(quasi=ADULT, sensitive=["occupation"])
    three = hr.protect(people, schema, hr.Anatomy(l=3, random_state=1))
    bound = InferenceBound(0.25)
    assert bound(three).reached > 0.5
    with pytest.raises(PromiseError, match="inference"):
        three.bind(bound, bound.parameters)
    found = hr.protect(people, schema, hr.Anatomy(l=3, random_state=1), max_inference=0.25)
    assert found.method.l > 3
    assert found.checks[-1].reached <= 0.25
    assert "group counts" in found.plan.parameters["max_inference_learners"]
    with pytest.raises(InfeasibleError, match=r"learners infer more than max_inference=0.05"):
        hr.protect(people, schema, hr.Anatomy(l=6, random_state=1), max_inference=0.05)


def test_learners_get_every_record_with_all_values_of_its_group():
    """The weighted join, by hand: the expected counts of each class, whatever was dealt."""
    people = ill_people(120)
    release, pair = anatomy_of(people)
    lesson = training_set(pair, 0, np.arange(120))
    second = release.method.second_table().to_pandas()
    second["group"] = second["group"].astype(str)
    frame = release.table.rename(columns={"ill": "group"}).astype({"group": str})
    frame = frame.merge(second, on="group")
    sizes = second.groupby("group")["count"].sum()
    frame["weight"] = frame["count"] / frame["group"].map(sizes)
    wanted = frame.groupby(["age", "sex", "ill"])["weight"].sum()
    values = pair.sensitive[0].values
    row = lesson.first[lesson.counts.groups]
    known = people.iloc[pair.rows[row]].assign(
        value=[values[v] for v in lesson.counts.values], weight=lesson.counts.counts
    )
    assert known.groupby(["age", "sex", "value"])["weight"].sum().to_numpy() == pytest.approx(wanted.to_numpy())
    assert lesson.counts.sizes.sum() == pytest.approx(120)


def test_group_counts_equal_the_plain_reference():
    for seed in range(3):
        people = ill_people(90, seed)
        people.loc[people.index % 11 == 3, "sex"] = None
        release, pair = anatomy_of(people)
        lesson = training_set(pair, 0, np.arange(90))
        rows = np.arange(90)
        made = lesson.forecast("group counts", pair.everybody.quasi, 0, rows)
        second = release.method.second_table().to_pandas()
        frame = release.table.iloc[pair.released_rows]
        published = {str(g): dict(zip(part["ill"], part["count"], strict=True)) for g, part in second.groupby("group")}
        sex = [None if v is None or v != v else v for v in frame["sex"]]
        wanted = group_counts(
            [binned(frame["age"].tolist()), binned(sex, ["f", "m"])],
            frame["ill"].astype(str).tolist(),
            published,
            list(pair.sensitive[0].values),
        )
        assert made[:, :-1] == pytest.approx(wanted, abs=1e-9)


def test_more_rows_than_are_learnt_from_are_forecast_all_the_same(monkeypatch):
    people, rows = ill_people(1600), np.arange(1600)
    _, pair = anatomy_of(people)
    known = pair.everybody.quasi
    whole = training_set(pair, 0, np.arange(10)).forecast("group counts", known, 0, rows)
    monkeypatch.setattr(group_learners, "MOST_ROWS", 800)
    part = training_set(pair, 0, np.arange(10)).forecast("group counts", known, 0, rows)
    assert part.sum(axis=1) == pytest.approx(1)
    truth = pair.sensitive[0].codes
    right = [(each[:, :-1].argmax(axis=1) == truth).mean() for each in (whole, part)]
    assert right[1] > right[0] - 0.1
    assert abs(part - whole).max() > 1e-3


def test_a_stranger_to_buckets_gets_public_totals_and_the_rule():
    people, others = ill_people(600), ill_people(400, seed=9)
    release, _ = anatomy_of(people)
    part = people[["age", "sex", "ill"]]
    found = hr.inference(part, SCHEMA, release=release, control=others[["age", "sex", "ill"]])
    column = found.columns["ill"]
    assert abs(column["learners"]["group"]["strangers"]["explained"]) < 0.02
    assert column["learners"]["group counts"]["strangers"]["explained"] > 0.1


def test_a_release_folder_opened_by_a_stranger_says_the_same(tmp_path):
    """Nobody knows which rows belong together: persons stand where their quasi-identifiers do."""
    schema = hr.Schema(quasi=["number", "age", "sex"], sensitive=["ill"])
    people = ill_people(300)
    release = hr.protect(people, schema, hr.Anatomy(l=2))
    paired = hr.inference(people, schema, release=release, folds=0).columns["ill"]
    release.write(tmp_path / "out")
    asked = {"inference": True, "attacks": False, "learning": False}
    found = hr.audit(people, tmp_path / "out", paired=False, **asked)
    apart = found.risk["inference"]["columns"]["ill"]
    for name in set(LEARNERS) - {"group corrected", "gradient boosting"}:
        same = paired["learners"][name]["members"]["explained"]
        assert apart["learners"][name]["members"]["explained"] == pytest.approx(same, abs=1e-6)
    assert "group corrected" not in apart["learners"]


def test_a_group_that_a_learner_corrects_by_hand():
    rng = np.random.default_rng(0)
    age, hours, job = (rng.integers(18, 80, 500), rng.integers(5, 60, 500), rng.choice(["a", "b"], 500))
    pay = 20.0 * age + 300 * (job == "a") + rng.normal(0, 80, 500)
    people = pd.DataFrame({"age": age, "job": job, "hours": hours, "pay": pay})
    schema = hr.Schema(quasi=["age", "job", "hours"], sensitive=["pay"])
    release = hr.protect(people, schema, hr.Hedge(k=20, max_disclosure=0.3), guard=None)
    pair = pair_up(release.original, of_release(release))
    lesson = training_set(pair, 0, np.arange(500))
    f = lesson.forecast("gradient boosting", pair.everybody.quasi)
    column = hr.inference(people, schema, release=release, folds=0).columns["pay"]
    y = pair.sensitive[0].numbers
    labels = pair.classes.labels
    means = [np.bincount(labels, v) / np.bincount(labels) for v in (y, f)]
    guess = means[0][labels] + f - means[1][labels]
    explained = 1 - ((y - guess) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert column["learners"]["group corrected"]["members"]["explained"] == pytest.approx(explained)


def test_learners_that_a_release_has_nothing_for_are_named():
    people = ill_people(100)
    with pytest.raises(ParameterError, match="none of these learners applies to this release: group counts"):
        hr.inference(people, SCHEMA, hr.Mondrian(k=10), learners=["group counts"], folds=0)
    noisy = people[["age", "number"]].astype(float)
    schema = hr.Schema(quasi=["age"], sensitive=["number"])
    found = hr.inference(noisy, schema, hr.NoiseAddition(random_state=1), folds=0)
    assert found.learners == LEARNERS[:4]


def test_shuffled_rows_and_columns_give_the_same_groups():
    people = ill_people(400)[["age", "sex", "ill"]]
    mixed = people.sample(frac=1, random_state=3).reset_index(drop=True)
    for method in (hr.Mondrian(k=20), hr.Anatomy(l=2, random_state=4)):
        one, two = (hr.inference(each, SCHEMA, method, folds=0).columns["ill"] for each in (people, mixed))
        for name, learner in one["learners"].items():
            same = two["learners"][name]["members"]["explained"]
            assert learner["members"]["explained"] == pytest.approx(same, abs=1e-9)
