"""PoROP and LiROP as methods: frames, seeds, missing cells, edge cases, the search."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import InputError, ParameterError, SchemaError, UnsupportedError
from hedgerow.methods.masking import NoiseAddition
from hedgerow.methods.porop import LiROP, PoROP
from hedgerow.plan import Plan
from hedgerow.release.explain import recoding_in_words


def people(n=200, seed=0):
    random = np.random.default_rng(seed)
    wage = random.lognormal(9, 1, n)
    return pd.DataFrame({"wage": wage, "rent": wage * random.uniform(0.1, 0.4, n), "age": random.integers(18, 90, n)})


@pytest.mark.parametrize("noise", ["synthetic", "perturbative"])
def test_the_same_seed_gives_the_same_release(noise):
    one = PoROP(150, degree=2, noise=noise, random_state=3).fit_transform(people())
    two = PoROP(150, degree=2, noise=noise, random_state=3).fit_transform(people())
    other = PoROP(150, degree=2, noise=noise, random_state=4).fit_transform(people())
    fresh = PoROP(150, degree=2, noise=noise).fit_transform(people())
    pd.testing.assert_frame_equal(one, two)
    assert not np.allclose(one["wage"], other["wage"])
    assert not np.allclose(one["wage"], fresh["wage"])


def test_every_kind_of_frame_gives_the_same_numbers():
    frame = people()
    made = PoROP(150, degree=2, random_state=1).fit_transform(frame)
    assert list(made.columns) == list(frame.columns)
    assert made.index.equals(frame.index)
    polars = PoROP(150, degree=2, random_state=1).fit_transform(pl.from_pandas(frame))
    assert isinstance(polars, pl.DataFrame)
    assert np.array_equal(polars.to_numpy(), made.to_numpy())


def test_missing_cells_stay_missing_and_do_not_count():
    frame = people()
    frame.loc[[3, 50], "rent"] = np.nan
    method = PoROP(150, degree=2, random_state=1).fit(frame)
    made = method.transform(frame)
    assert made.isna().equals(frame.isna())
    assert method.facts_["values"] == 598
    assert method.columns_[1].missing == 2 / 200


def test_integers_and_clipping_on_request():
    frame = people()
    free = PoROP(300, degree=1, random_state=1).fit(frame)
    assert free.transform(frame)["age"].dtype == float
    held = PoROP(300, degree=1, random_state=1, clip=True, integers=True).fit(frame)
    made = held.transform(frame)
    assert made["age"].dtype == frame["age"].dtype
    assert made["wage"].dtype == float
    for name in frame:
        assert frame[name].min() <= made[name].min()
        assert made[name].max() <= frame[name].max()
    loose = free.transform(frame)
    outside = [((loose[n] < frame[n].min()) | (loose[n] > frame[n].max())).mean() for n in frame]
    assert [c.outside for c in free.columns_] == pytest.approx(outside)
    moved = PoROP(300, degree=1, random_state=1, clip=True).fit(frame)
    made = moved.transform(frame)  # an extreme is met by clipping alone
    ends = [made[n].isin([frame[n].min(), frame[n].max()]).mean() for n in frame]
    assert moved.facts_["share_clipped"] == pytest.approx(np.mean(ends))
    assert np.mean(ends) > 0
    assert free.facts_["share_clipped"] == 0
    low = PoROP(300, degree=1, random_state=1, clip=(0, 50)).fit_transform(frame)
    assert low.min().min() >= 0
    assert low.max().max() <= 50


def test_linear_is_degree_one():
    assert LiROP(150).get_params()["block_size"] == 150
    one = LiROP(150, random_state=2).fit_transform(people())
    two = PoROP(150, degree=1, random_state=2).fit_transform(people())
    pd.testing.assert_frame_equal(one, two)
    assert clone(LiROP(150, noise="perturbative")).noise == "perturbative"


def test_tied_data_warn_with_the_share():
    frame = pd.DataFrame({"a": [5.0] * 90 + list(range(10)), "b": [5.0] * 100})
    with pytest.warns(UserWarning, match=r"9\d\.\d% of the cells are released unchanged"):
        method = PoROP(10, degree=1, random_state=1).fit(frame)
    assert method.facts_["share_unchanged"] > 0.9
    constant = pd.DataFrame({"a": [5.0] * 40})
    with pytest.warns(UserWarning, match=r"100\.0%"):
        assert (PoROP(10, degree=1).fit_transform(constant)["a"] == 5).all()


def test_a_short_last_block_warns_and_is_told():
    with pytest.warns(UserWarning, match="only 2 of 299 values"):
        method = PoROP(299, degree=2, random_state=1).fit(people())
    assert method.facts_["remainder"] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PoROP(300, degree=2, random_state=1).fit(people())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"block_size": 3, "degree": 2}, "passes through 3 values"),
        ({"block_size": 601, "degree": 2}, "only 600 values"),
        ({"block_size": 601, "degree": "auto"}, "only 600 values"),
        ({"block_size": 1, "degree": 0}, "block_size must be a whole number of at least 2"),
        ({"block_size": 2.5, "degree": 1}, "block_size must be a whole number"),
        ({"block_size": 100, "degree": -1}, "degree must be a whole number of at least 0"),
        ({"block_size": 100, "degree": "high"}, "degree must be"),
        ({"block_size": 100, "degree": [1, 2]}, "2 degrees are given for 6 blocks"),
        ({"block_size": 100, "degree": 1, "noise": "loud"}, "noise must be one of synthetic, perturbative, not 'loud'"),
        ({"block_size": 100, "degree": 1, "clip": (3, 1)}, "clip must be"),
    ],
)
def test_parameters_out_of_range(parameters, words):
    with pytest.raises(ParameterError, match=words):
        PoROP(**parameters).fit(people())


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"job": "cook", "sex": True}, SchemaError, r"'job' \(categorical\), 'sex' \(boolean\)"),
        ({"age": np.inf}, InputError, "infinite values in: 'age'"),
        ({"age": np.nan, "rent": None}, InputError, "every value is missing in: 'rent', 'age'"),
    ],
)
def test_columns_at_fault_are_all_named(change, error, words):
    with pytest.raises(error, match=words):
        PoROP(150, degree=2).fit(people().assign(**change))


def test_the_plan_keeps_no_seed_and_masks_no_other_table(tmp_path):
    method = PoROP(150, degree=2, random_state=987654321).fit(people())
    method.plan_.save(tmp_path / "plan.json")
    assert "987654321" not in (tmp_path / "plan.json").read_text()
    loaded = Plan.load(tmp_path / "plan.json")
    assert loaded.recoding == method.plan_.recoding
    assert "polynomial regression" in recoding_in_words(loaded.recoding)
    for refused in (
        lambda: method.transform(people(seed=1)),
        lambda: method.transform(people().iloc[::-1]),
        lambda: loaded.apply(people()),
        loaded.to_sql,
    ):
        with pytest.raises(UnsupportedError, match="depends on the whole table"):
            refused()


def test_protect_releases_the_masked_columns():
    frame = people().assign(name=[f"n{i}" for i in range(200)], town="here")
    schema = hr.Schema(quasi=["wage", "rent"], identifiers=["name"], other=["age", "town"])
    release = hr.protect(frame, schema, PoROP(150, degree=2, random_state=1))
    assert list(release.table.columns) == ["wage", "rent", "age", "town"]
    assert all(check.holds for check in release.verify())
    alone = frame[["wage", "rent"]]
    schema = hr.Schema(quasi=["wage", "rent"])
    release = hr.protect(alone, schema, PoROP(150, random_state=1), keep_order=True)
    expected = PoROP(150, random_state=1).fit_transform(alone)
    pd.testing.assert_frame_equal(release.table, expected)


def test_another_release_under_the_same_key_has_other_noise():
    key = hr.Key.new()
    # either release alone is x + noise; the same noise twice would give x away
    one, two = (NoiseAddition(s, key=key).fit_transform(people()) for s in (0.1, 0.2))
    first, second = ((made["wage"] - people()["wage"]) for made in (one, two))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.3
    grown = pd.concat([people(), people(1, seed=9)], ignore_index=True)
    again = NoiseAddition(0.1, key=key).fit_transform(grown)["wage"][:200]
    assert abs(np.corrcoef(first, again - people()["wage"])[0, 1]) < 0.3


def test_the_search_keeps_what_is_given_and_tells_what_it_tried():
    frame = people(60)
    method = PoROP(random_state=5).fit(frame)
    best = method.search_[0]
    assert method.facts_["block_size"] == best["block_size"]
    assert method.facts_["degrees"] == sorted(set(best["degrees"]))
    rescored = [row for row in method.search_ if row["held_out"] is not None]
    assert best["held_out"] == min(row["held_out"] for row in rescored)
    assert len({(row["block_size"], tuple(row["degrees"])) for row in method.search_}) == len(method.search_)
    assert any(len(set(row["degrees"])) > 1 for row in method.search_)
    fixed = PoROP(90, random_state=5).fit(frame)
    assert {row["block_size"] for row in fixed.search_} == {90}
    cubic = PoROP(degree=3, random_state=5).fit(frame)
    assert {d for row in cubic.search_ for d in row["degrees"]} == {3}


def test_the_release_uses_other_noise_than_the_search():
    frame = people(60)
    method = PoROP(random_state=5).fit(frame)
    best = method.search_[0]
    given = PoROP(best["block_size"], degree=best["degrees"], random_state=5).fit_transform(frame)
    pd.testing.assert_frame_equal(method.transform(frame), given)
    from hedgerow.auditing.score import score

    made = score(frame, given)
    assert made.score not in (best["score"], best["held_out"])


def test_the_search_is_not_won_by_one_value_that_was_pulled_in(monkeypatch):
    from hedgerow.measures.masking_scores import score_arrays
    from hedgerow.methods import porop

    random = np.random.default_rng(0)
    wide = random.normal(100, 10, (400, 4))
    wide[3, 0] = 500
    nearly = wide.copy()
    nearly[3, 0] = 100  # all others are as they were
    noisy = wide + random.normal(0, 10, wide.shape)
    names = list("abcd")
    one, two = (score_arrays(wide, y, names) for y in (nearly, noisy))
    assert one.paper.score < two.paper.score
    assert one.score > two.score

    class Ordered:
        remainder, n_blocks = 0, 1

        def __init__(self, values, k):
            self.z, self.k = values, k

        def protect(self, degree, noise, normals):
            return (nearly if self.k == 1000 else noisy).ravel()

    monkeypatch.setattr(porop, "order", Ordered)
    monkeypatch.setattr(porop, "_candidates", lambda n: [1000, 1600])
    seeds = np.random.SeedSequence(1), np.random.SeedSequence(2)
    best = porop.search_settings(wide, "auto", 1, "synthetic", *seeds)[0]
    assert best["block_size"] == 1600
