"""What learners infer from a release, about its people and about others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing import inference
from hedgerow.auditing import inference as room
from hedgerow.auditing import learners as learning
from hedgerow.auditing.design_matrix import known_rows
from hedgerow.auditing.learners import TrainingSet
from hedgerow.auditing.pairing import align
from hedgerow.errors import ParameterError

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"])


def people_of(n, pay, seed=0):
    """People with a sensitive column that `pay(age, job, rng)` makes."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, n), rng.choice(["cook", "clerk", "nurse"], n)
    return pd.DataFrame({"age": age, "job": job, "pay": pay(age, job, rng)})


def noise(age, job, rng):
    return rng.normal(0, 1, len(age))


def words(age, job, rng):
    return rng.choice(["a", "b", "c"], len(age))


@pytest.mark.parametrize("pay", [noise, words])
def test_where_nothing_leaks_nothing_is_inferred(pay):
    found = hr.inference(people_of(2000, pay), SCHEMA, hr.Mondrian(k=150)).columns["pay"]
    # the mean of 150 people holds 1/150 of what is to be known of each
    assert found["members"]["explained"] < 0.03
    assert found["strangers"]["explained"] < 0.01
    assert abs(found["advantage"]["explained"]) < 0.03
    low, high = found["advantage"]["interval"]
    assert -0.03 < low <= high < 0.05


@pytest.mark.parametrize(
    "pay", [lambda age, job, rng: 2.0 * age, lambda age, job, rng: np.where(age > 50, "ill", "well")]
)
def test_a_rule_that_holds_for_all_is_inferred_of_strangers_alike(pay):
    found = hr.inference(people_of(2000, pay), SCHEMA, hr.MART(k=20, max_disclosure=None)).columns["pay"]
    assert found["members"]["explained"] > 0.9
    assert found["strangers"]["explained"] > 0.9
    assert found["worst_tenth"]["explained"] > 0.95
    assert abs(found["advantage"]["explained"]) < 0.04


def test_what_is_told_of_members_alone_is_their_disadvantage():
    """Everybody can be told apart and the value follows no rule: only the table tells it."""
    n = 900
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"number": rng.permutation(n), "pay": rng.normal(0, 1, n)})
    schema = hr.Schema(quasi=["number"], sensitive=["pay"])
    found = hr.inference(people, schema, hr.MART(k=2, max_disclosure=None)).columns["pay"]
    assert found["strangers"]["explained"] < 0.03
    assert found["members"]["explained"] > 0.5
    low, _ = found["advantage"]["interval"]
    assert low > 0.4
    assert found["advantage"]["explained"] == pytest.approx(
        found["members"]["explained"] - found["strangers"]["explained"]
    )
    # a table released as it is gives all of it
    raw = hr.audit(people, people, schema, attacks=False, learning=False, inference=True)
    told = raw.risk["inference"]["columns"]["pay"]
    assert told["members"] == {"explained": 1.0, "interval": [1.0, 1.0], "learner": "tree"}
    assert told["worst_tenth"]["explained"] > 0.95  # less than 1 by the floor of a record


def handed(people, schema, method, how, folder):
    """One release as a Release, as its folder or as its plain file, unpaired."""
    release = hr.protect(people, schema, method)
    if how == "release":
        return release
    release.write(folder / "out")
    return folder / "out" if how == "folder" else release.table


@pytest.mark.parametrize("how", ["release", "folder", "table"])
@pytest.mark.parametrize("pay", [noise, words])
def test_a_control_tells_that_nothing_leaks(how, pay, tmp_path):
    people, others = people_of(1200, pay, seed=1), people_of(700, pay, seed=2)
    released = handed(people, SCHEMA, hr.Mondrian(k=150), how, tmp_path)
    schema = SCHEMA if how == "table" else None
    asked = {"attacks": False, "learning": False, "inference": True, "control": others}
    found = hr.audit(people, released, schema, **asked).risk["inference"]
    low, high = found["columns"]["pay"]["advantage"]["interval"]
    assert low <= 0.01
    assert high >= -0.01
    assert found["notes"] == []
    assert found["folds"] == 0  # those were asked who were given


def secret_of(n, seed, numbers):
    """People whom a number tells apart, with values that follow no rule."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"number": rng.permutation(numbers)[:n], "pay": rng.normal(0, 1, n)})


@pytest.mark.parametrize("attacks", [False, True])
def test_a_control_tells_that_everything_leaks(attacks):
    schema = hr.Schema(quasi=["number"], sensitive=["pay"])
    people, others = secret_of(600, 1, 600), secret_of(300, 2, 600)
    asked = {"learners": ["tree", "nearest"], "people": 200, "learning": False, "attacks": attacks}
    found = hr.audit(people, people, schema, control=others, inference=True, **asked)
    column = found.risk["inference"]["columns"]["pay"]
    assert column["members"]["explained"] == 1.0
    assert column["strangers"]["explained"] < 0.05
    assert column["advantage"]["interval"][0] > 0.9
    for attack in found.attacks:
        if attack["attack"] == "regression":
            assert attack["over_control_interval"][0] > 0.8
    mixed = others.sample(frac=1, random_state=3).reset_index(drop=True)
    again = hr.audit(people, people, schema, control=mixed, inference=True, **asked)
    assert again.risk["inference"] == found.risk["inference"]


def test_people_of_a_control_count_only_where_their_value_is_known():
    people, others = people_of(300, words, seed=1), people_of(80, words, seed=2)
    others["pay"] = None
    asked = {"attacks": False, "learning": False, "inference": True}
    found = hr.audit(people, people, SCHEMA, control=others, **asked).risk["inference"]
    assert found["columns"]["pay"]["strangers"] is None
    assert "pay" in found["notes"][0]
    # a value that no member has costs more than any that one has
    others["pay"] = "z"
    known = hr.audit(people, people, SCHEMA, control=others, **asked).risk["inference"]
    assert known["columns"]["pay"]["strangers"] is not None
    apart = hr.audit(people, people, SCHEMA, control=others, paired=False, **asked)
    same = apart.risk["inference"]["columns"]["pay"]["strangers"]["explained"]
    assert known["columns"]["pay"]["strangers"]["explained"] == pytest.approx(same)


def test_shuffled_rows_give_the_same_numbers():
    people = people_of(400, lambda age, job, rng: age + rng.normal(0, 9, len(age)))
    people["ill"] = np.where(people.age + 20 * (people.job == "cook") > 60, "yes", "no")
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay", "ill"])
    one = hr.inference(people, schema, hr.MART(k=10))
    two = hr.inference(people.sample(frac=1, random_state=5).reset_index(drop=True), schema, hr.MART(k=10))
    for name in schema.sensitive:
        for learner in one.learners:
            a, b = (f.columns[name]["learners"][learner] for f in (one, two))
            for who in ("members", "strangers", "advantage"):
                assert a[who]["explained"] == pytest.approx(b[who]["explained"], abs=1e-9)
                assert a[who]["interval"] == pytest.approx(b[who]["interval"], abs=1e-9)
    assert two.reached == pytest.approx(one.reached, abs=1e-9)


def test_ten_neighbours_by_hand():
    """Against every distance written out: 0 inside a range, else to its nearer end."""
    rng = np.random.default_rng(1)
    age, pay = rng.integers(20, 80, 90), rng.choice(["a", "b", "c"], 90)
    people = pd.DataFrame({"age": age, "job": "cook", "pay": pay}).sort_values("pay")
    low = people.age // 7 * 7
    least, most = (people.age.groupby(low).transform(f) for f in ("min", "max"))
    released = people.assign(age=[f"[{a}-{b}]" for a, b in zip(least, most, strict=True)])
    pair = align(people, released, SCHEMA)
    column = pair.sensitive[0]
    values = np.array([0.0, 2.0, 7.0, np.nan])
    asked = known_rows(pair.released_quasi, np.arange(90))
    quasi, every = pair.released_quasi, np.arange(90)
    lessons = [TrainingSet.from_tables(pair, quasi, 0, (column.codes, values), n, every) for n in (False, True)]
    share, mean = (lesson.forecast("nearest", asked) for lesson in lessons)
    for i, own in enumerate(people.age):
        away = np.maximum(np.maximum(least - own, own - most), 0).to_numpy()
        near = away <= np.sort(away)[9]
        codes = column.codes[near]
        assert share[i] == pytest.approx(np.bincount(codes, minlength=4) / near.sum())
        assert mean[i] == pytest.approx(values[codes].mean())


def test_shares_of_categories_are_chances():
    people = people_of(300, words)
    pair = align(people, people, SCHEMA)
    asked = known_rows(pair.released_quasi, pair.classes.first)
    target = (pair.sensitive[0].codes, np.zeros(4))
    lesson = TrainingSet.from_tables(pair, pair.released_quasi, 0, target, False, pair.classes.first)
    for learner in ("tree", "gradient boosting", "linear"):
        made = lesson.forecast(learner, asked)
        assert made.shape == (pair.classes.n_groups, 4)
        assert made.sum(axis=1) == pytest.approx(1)
        assert not made[:, 3].any()  # nobody's value is missing


def test_the_worst_tenth_by_hand():
    # 20 people in four cells; guessing from public totals costs 4 each
    base, cells = np.full(20, 4.0), np.repeat([0, 1, 2, 3], [1, 4, 5, 10])
    errors = np.repeat([1.0, 2.0, 4.0, 6.0], [1, 4, 5, 10])
    # two people: all of cell 0 (3 of 4 taken off) and one of cell 1 (2 of 4)
    assert inference._worst_tenth(base, errors, cells) == pytest.approx((3 + 2) / 8)
    assert inference._worst_tenth(base, errors, np.zeros(20, int)) == pytest.approx((80 - 89) / 80)


def test_what_nearly_everybody_shares_is_no_secret():
    """One in 200 is ill: a group where nobody is tells little, and the ill group tells all."""
    people = people_of(2000, lambda age, job, rng: np.full(len(age), "well"))
    people.loc[:9, "pay"] = "ill"
    found = hr.inference(people, SCHEMA, hr.MART(k=50, max_disclosure=None), folds=0)
    assert found.columns["pay"]["worst_tenth"]["explained"] < 0.15
    people.loc[:9, ["age", "job"]] = [90, "nurse"]
    told = hr.inference(people, SCHEMA, hr.MART(k=5, max_disclosure=None), folds=0)
    assert told.columns["pay"]["members"]["explained"] > 0.9


def test_large_tables_are_asked_and_learnt_in_part_with_whole_classes(monkeypatch):
    people = people_of(1200, lambda age, job, rng: age + rng.normal(0, 5, len(age)))
    pair = align(people, people, SCHEMA)
    monkeypatch.setattr(room, "MOST_ASKED", 30)
    monkeypatch.setattr(room, "MOST_CLASSES", 60)
    monkeypatch.setattr(learning, "MOST_CLASSES", 60)
    asked = pair.canonical[::40]
    own = pair.sensitive[0]
    target = (own.codes, own.by_code)
    lesson = TrainingSet.from_tables(pair, pair.released_quasi, 0, target, True, asked)
    taught = set(pair.classes.labels[lesson.first[lesson.taught]])
    assert set(pair.classes.labels[asked]) <= taught
    assert len(taught) == 60 < pair.classes.n_groups
    # every record of each class
    assert lesson._taught_counts.sizes.sum() == np.isin(pair.classes.labels, list(taught)).sum()
    found = room.infer(pair)
    assert (found.asked, found.trained) == (30, 60)
    assert "30 of 1,200 people asked about, 60 of" in str(found)


def test_what_cannot_be_measured_is_said_and_never_zero():
    people = people_of(300, noise)
    release = hr.protect(people, SCHEMA, hr.MART(k=20))
    asked = {"attacks": False, "learning": False, "inference": True}
    file = hr.audit(people, release.table, SCHEMA, plan=release.plan, **asked)
    column = file.risk["inference"]["columns"]["pay"]
    assert column["strangers"] is None
    assert column["advantage"] is None
    assert "not measured" in str(file)
    without = hr.audit(people, release, attacks=False, learning=False)
    assert without.risk["inference"] is None
    assert "What learners infer was not measured" in str(without)
    # too few people remain for k when a third is left out
    few = hr.inference(people[:30], SCHEMA, hr.MART(k=25, max_disclosure=None))
    assert few.columns["pay"]["strangers"] is None
    assert few.advantage is None
    assert "a refit failed" in few.notes[0]


@pytest.mark.parametrize(
    "method", [pytest.param(hr.NoiseAddition(), id="noise"), pytest.param(hr.Anatomy(l=2), id="anatomy")]
)
def test_methods_that_alter_or_split_are_measured_alike(method):
    people = people_of(600, lambda age, job, rng: np.where(age > 55, "ill", words(age, job, rng)))
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    found = hr.inference(people[["age", "pay"]], schema, method, learners=["tree", "linear"])
    column = found.columns["pay"]
    assert set(column["learners"]) == {"tree", "linear"}
    assert 0 <= column["strangers"]["explained"] <= 1


def test_wrong_parameters_are_named():
    people = people_of(100, noise)
    for changed in ({"learners": ["oracle"]}, {"learners": []}, {"folds": 1}, {"folds": 101}):
        with pytest.raises(ParameterError):
            hr.inference(people, SCHEMA, hr.MART(k=10), **changed)
    with pytest.raises(ParameterError, match="sensitive"):
        hr.inference(people, hr.Schema(quasi=["age"]), hr.Mondrian(k=10))
    with pytest.raises(ParameterError, match="method or a release"):
        hr.inference(people, SCHEMA)


def test_one_person_says_nothing_of_others():
    """All samples of one person are the same, and gave an interval of no width."""
    one = inference.in_shares(
        np.array([4.0]), {"tree": np.array([1.0])}, {"tree": np.array([2.0])}, np.zeros(1, np.int64), 0
    )
    assert one["members"]["explained"] == 0.75
    assert one["members"]["interval"] == one["strangers"]["interval"] == [0.0, 1.0]
    assert one["advantage"]["interval"] == one["learners"]["tree"]["advantage"]["interval"] == [-1.0, 1.0]
