"""Scores of a masked file against brute force and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.auditing.score import score
from hedgerow.errors import InputError, ParameterError, UnsupportedError
from hedgerow.measures.masking_scores import (
    by_deviations,
    by_ranks,
    distance_linkage,
    information_loss,
    interval_disclosure,
    probabilistic_linkage,
    score_arrays,
    standardise,
)


def pair(n=60, a=4, seed=0, digits=None, noise=0.4):
    random = np.random.default_rng(seed)
    x = random.lognormal(size=(n, a))
    y = x + noise * random.normal(size=x.shape)
    return (x, y) if digits is None else (x.round(digits), y.round(digits))


def naive_ranks(x, y):
    """Where values stand among the originals: the mean of how many are below and how many up to them."""
    made = []
    for values in (x, y):
        out = np.empty(values.shape)
        for c in range(x.shape[1]):
            have = x[:, c]
            for i, v in enumerate(values[:, c]):
                near = (have[have <= v].max(initial=-np.inf), have[have >= v].min(initial=np.inf))
                near = [np.clip(e, have.min(), have.max()) for e in near]
                low, high = (((have < e).sum() + (have <= e).sum()) / 2 for e in near)
                share = 0.0 if near[0] == near[1] else (v - near[0]) / (near[1] - near[0])
                out[i, c] = low + share * (high - low)
        made.append(out * np.sqrt(12) / len(x))
    return made


def naive_deviations(x, y):
    return standardise(x), standardise(y)


SCALES = pytest.mark.parametrize(("scale", "naive"), [(by_deviations, naive_deviations), (by_ranks, naive_ranks)])


def naive_distance(x, y, known, scaled=naive_deviations):
    (zx, zy), shares = scaled(x, y), []
    for j in range(1, known + 1):
        hits = 0.0
        for i in range(len(x)):
            gaps = np.zeros(len(x))
            for c in range(j):
                gaps += (zx[:, c] - zy[i, c]) ** 2
            if gaps[i] == gaps.min():
                hits += 1 / (gaps == gaps[i]).sum()
        shares.append(100 * hits / len(x))
    return shares


def test_standardised_by_the_deviation_of_a_sample():
    made = standardise(np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]]))
    assert made.tolist() == [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]


@SCALES
@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_distance_linkage(seed, digits, scale, naive):
    x, y = pair(seed=seed, digits=digits)
    made = distance_linkage(x, y, 4, scale=scale)
    assert np.allclose(made, naive_distance(x, y, 4, naive))


def beside_one_outlier(n=1000):
    """A table, and the same with one value changed."""
    x = np.random.default_rng(4).lognormal(3, 0.7, (n, 4))
    y = x.copy()
    y[7, 0] = 1e9
    return x, y


def test_one_changed_value_hides_nobody():
    x, y = beside_one_outlier()
    made = score_arrays(x, y, list("abcd"))
    # by numpy alone: how many originals are as near as a record's own, in the original's ranks
    places = [
        [np.searchsorted(np.sort(x[:, c]), t[:, c], side) for side in ("left", "right")]
        for c in range(2)
        for t in (x, y)
    ]
    places = [np.minimum(np.mean(both, axis=0), len(x) - 0.5) for both in places]
    linked = []
    for known in (1, 2):
        away = sum((places[2 * c][None, :] - places[2 * c + 1][:, None]) ** 2 for c in range(known))
        own = np.diag(away)[:, None]
        linked.append(((own <= away.min(axis=1, keepdims=True)) / (away == own).sum(axis=1, keepdims=True)).mean())
    by_hand = 100 * np.mean(linked)
    assert by_hand == pytest.approx(99.9)
    assert made.dld == pytest.approx(by_hand)
    assert made.pld > 99
    assert made.dr > 99
    # what the papers' own standardisation says
    assert made.paper.dld < 5
    assert made.paper.pld < 40
    assert made.paper.dr < 65
    assert made.paper == score_arrays(x, y, list("abcd"), ranks=False)
    # an original's extreme value that is pulled in: the rest is as it was
    back = score_arrays(y, x, list("abcd"))
    assert back.dld > 99
    assert back.paper.dld < back.dld / 2


def test_pulled_in_tails_hide_nobody(need_data):
    x = hr.datasets.load_casc("tarragona").to_pandas()
    made = score(x, hr.TopBottomCoding(top_share=0.05, bottom_share=0.05).fit_transform(x))
    assert made.paper.dld < 6
    assert made.dld > 93


def test_the_larger_linkage_of_both_scales_is_judged():
    x, y = pair(n=300)
    made = score_arrays(x, y, list("abcd"))
    plain = made.to_dict()
    assert made.dld == max(np.mean(made.distance), np.mean(made.distance_ranks))
    assert made.pld == max(np.mean(made.probabilistic), np.mean(made.probabilistic_ranks))
    assert made.dr == pytest.approx(0.25 * made.dld + 0.25 * made.pld + 0.5 * made.id)
    assert plain["paper"]["dld"] == made.paper.dld == np.mean(made.distance)
    assert plain["paper"]["score"] == made.paper.score <= made.score
    assert plain["distance_ranks"] == made.distance_ranks != made.distance


def test_columns_without_a_spread_still_have_ranks():
    rng = np.random.default_rng(2)
    x = np.where(rng.random((400, 2)) < 0.9, 0.0, rng.lognormal(8, 2, (400, 2)))
    x = np.column_stack([np.ones(400), x])
    assert np.median(np.abs(x - np.median(x, axis=0)), axis=0).tolist() == [0, 0, 0]
    for y in (x, x + 1, np.zeros(x.shape)):
        made = score_arrays(x, y, list("abc"), known=3)
        figures = made.distance_ranks + made.probabilistic_ranks
        assert all(0 <= value <= 100 for value in figures)
    assert np.isclose(distance_linkage(x, x, scale=by_ranks), distance_linkage(x, x)).all()


def test_ties_count_by_their_number():
    x = np.array([[0.0], [0.0], [0.0], [9.0]])
    # Each of the three equal records is linked right with probability 1/3.
    assert distance_linkage(x, x).tolist() == [100 * (1 + 1) / 4]
    constant = np.ones((5, 2))
    assert distance_linkage(constant, constant).tolist() == [20.0]


def naive_probabilistic(x, y, known, scaled=naive_deviations):
    (zx, zy), n, shares = scaled(x, y), len(x), []
    for j in range(1, known + 1):
        away = np.abs(zx[None, :, :j] - zy[:, None, :j])
        at = np.eye(4)[sum((away <= level).astype(int) for level in (0.2, 0.02, 1e-9))]
        u = np.clip(at.mean(axis=(0, 1)), 1e-9, 1 - 1e-9)
        m, p = np.tile([0.1 / 3] * 3 + [0.9], (j, 1)), 1 / n
        for _ in range(300):
            a, b = (np.einsum("rocl,cl->roc", at, s).prod(axis=2) for s in (m, u))
            g = p * a / (p * a + (1 - p) * b)
            old, m = m, np.clip(np.einsum("ro,rocl->cl", g, at) / g.sum(), 1e-6, 1 - 1e-6)
            if np.abs(m - old).max() < 1e-7:
                break
        weights = np.einsum("rocl,cl->ro", at, np.log2(m / u)).round(6)
        hits = 0.0
        for i in range(n):
            if weights[i, i] == weights[i].max():
                hits += 1 / (weights[i] == weights[i, i]).sum()
        shares.append(100 * hits / n)
    return shares


@SCALES
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
def test_probabilistic_linkage(seed, noise, scale, naive):
    x, y = pair(n=40, a=3, seed=seed, noise=noise)
    made = probabilistic_linkage(x, y, 3, scale=scale)
    assert np.allclose(made, naive_probabilistic(x, y, 3, naive), atol=1e-6)


@pytest.mark.parametrize("name", ["census", "eia", "tarragona"])
def test_an_unchanged_casc_file_is_linked_by_probability_as_by_distance(name, need_data):
    x = hr.datasets.load_casc(name)
    made = hr.score(x, x, records=500)
    assert made.pld == pytest.approx(made.dld, abs=0.5)


def naive_interval(original, masked):
    n, shares = len(original), []
    order = np.argsort(masked, kind="stable")
    ranked, rank = masked[order], np.argsort(order)
    for p in range(1, 11):
        h = math.floor(p * n / 100)
        lo = ranked[np.maximum(rank - h, 0)]
        hi = ranked[np.minimum(rank + h, n - 1)]
        shares.append(((lo <= original) & (original <= hi)).mean())
    return 100 * np.mean(shares)


@pytest.mark.parametrize("n", [7, 60, 333])
def test_interval_disclosure(n):
    x, y = pair(n=n, a=2, seed=n)
    expected = [naive_interval(x[:, c], y[:, c]) for c in range(2)]
    assert np.allclose(interval_disclosure(x, y), expected)


def test_interval_disclosure_of_ties_is_the_mean_over_their_orders():
    original = np.array([1.0, 5.0, 2.0, 9.0, 4.0] * 4)
    masked = np.array([1.0, 3.0, 3.0, 3.0, 8.0] * 4)
    random, runs = np.random.default_rng(0), []
    for _ in range(3000):
        shuffled = random.permutation(20)
        runs.append(naive_interval(original[shuffled], masked[shuffled]))
    assert abs(interval_disclosure(original[:, None], masked[:, None])[0] - np.mean(runs)) < 0.3


def test_information_loss_by_hand():
    x = np.array([[1.0, 2.0], [2.0, 0.0], [3.0, 4.0]])
    y = np.array([[1.0, 1.0], [4.0, 7.0], [4.0, 4.0]])
    loss = information_loss(x, y)
    assert loss.cells == pytest.approx(100 * np.mean([0, 0.5, 1, 1 / 3, 0]))
    assert loss.means == pytest.approx(100 * np.mean([1 / 2, 2 / 2]))
    v, w = np.cov(x.T), np.cov(y.T)
    relative = [abs(v[i, j] - w[i, j]) / abs(v[i, j]) for i, j in ((0, 0), (0, 1), (1, 1))]
    assert loss.covariances == pytest.approx(100 * np.mean(relative))
    assert loss.variances == pytest.approx(100 * np.mean([relative[0], relative[2]]))
    r, s = np.corrcoef(x.T)[0, 1], np.corrcoef(y.T)[0, 1]
    assert loss.correlations == pytest.approx(100 * abs(r - s))
    parts = (loss.cells, loss.means, loss.covariances, loss.variances, loss.correlations)
    assert loss.total == pytest.approx(sum(parts) / 5)


def test_constant_columns_are_left_out_and_told():
    x = np.column_stack([np.ones(5), np.arange(5.0)])
    loss = information_loss(x, x + 1)
    # The constant's variance, its covariance and its correlation have nothing to compare.
    assert loss.left_out == 2 + 1 + 1
    flat = information_loss(pair()[0], np.ones((60, 4)))
    assert flat.variances == pytest.approx(100)


def test_the_same_file_scores_no_loss_and_full_risk():
    x = pair()[0]
    made = score_arrays(x, x, list("abcd"))
    assert made.il == 0
    assert made.dld == 100
    assert made.id == 100
    assert made.known == 2
    assert made.dr == pytest.approx(0.25 * made.dld + 0.25 * made.pld + 0.5 * made.id)
    assert made.score == pytest.approx(made.dr / 2)
    assert made.to_dict()["loss"]["total"] == 0


def test_threads_do_not_matter(monkeypatch):
    from hedgerow.kernels import threads

    x, y = pair(n=83, digits=0)
    alone = score_arrays(x, y, list("abcd"))
    monkeypatch.setattr(threads, "WORTH", 0)
    assert score_arrays(x, y, list("abcd")) == alone


def test_row_order_does_not_matter():
    x, y = pair(n=80, digits=0)
    shuffled = np.random.default_rng(1).permutation(80)
    one, two = (score_arrays(p, q, list("abcd")) for p, q in ((x, y), (x[shuffled], y[shuffled])))
    assert one.distance == pytest.approx(two.distance)
    assert one.probabilistic == pytest.approx(two.probabilistic)
    assert one.distance_ranks == pytest.approx(two.distance_ranks)
    assert one.probabilistic_ranks == pytest.approx(two.probabilistic_ranks)
    assert one.interval == pytest.approx(two.interval)


def test_frames_files_and_missing_cells(tmp_path):
    x, y = pair()
    original = pd.DataFrame(x, columns=list("abcd")).assign(name="w")
    masked = pl.DataFrame(y, schema=list("abcd"))
    original.loc[3, "a"] = np.nan
    original.to_csv(tmp_path / "original.csv", index=False)
    made = score(tmp_path / "original.csv", masked)
    assert made.columns == ("a", "b", "c", "d")
    assert made.rows == 59
    keep = np.arange(60) != 3
    assert made.score == pytest.approx(score_arrays(x[keep], y[keep], list("abcd")).score)
    assert score(original, masked, columns=["d", "b"]).columns == ("d", "b")


def test_the_order_of_two_files_is_tested_and_never_taken_for_granted_in_silence(recwarn):
    x, y = (pd.DataFrame(t, columns=list("abcd")) for t in pair(n=400))
    found = score(x, y)
    assert found.paired_by == "order"
    mixed = np.random.default_rng(1).permutation(400)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="taken for granted"):
        lost = score(x, y.iloc[mixed])
    assert lost.paired_by == lost.to_dict()["paired_by"] == "nothing"
    # what was left as it was tells which rows belong together
    kept = {"id": [f"p{i}" for i in range(400)], "place": np.arange(400) % 90}
    x, y = x.assign(**kept), y.assign(**kept)
    again = score(x, y.iloc[mixed], columns=list("abcd"))
    assert again.paired_by == "columns"
    assert again.score == pytest.approx(found.score)
    assert (again.dld, again.pld) == (found.dld, found.pld)


def test_a_row_index_is_no_column_to_score(tmp_path):
    x, y = (pd.DataFrame(t, columns=list("abcd")) for t in pair(n=200))
    for name, frame in (("x", x), ("y", y)):
        frame.to_csv(tmp_path / f"{name}.csv")
    with pytest.warns(UserWarning, match="without a name"):
        found = score(tmp_path / "x.csv", tmp_path / "y.csv")
    assert found.columns == tuple("abcd")
    assert found.score == pytest.approx(score(x, y).score)


def test_a_sample_of_records_is_linked_on_request():
    x, y = pair(n=300)
    made = score_arrays(x, y, list("abcd"), records=50, random_state=1)
    assert made.linked == 50
    assert made.rows == 300
    assert made == score_arrays(x, y, list("abcd"), records=50, random_state=1)
    assert abs(made.dld - score_arrays(x, y, list("abcd")).dld) < 20


@pytest.mark.parametrize(
    ("original", "masked", "options", "error", "words"),
    [
        ({"a": [1.0, 2]}, {"a": [1.0]}, {}, InputError, "2 and 1 rows"),
        ({"a": [1.0, 2]}, {"b": [1.0, 2]}, {}, InputError, "no numeric column"),
        ({"a": [1.0, 2]}, {"a": [1.0, np.inf]}, {}, InputError, "infinite values in: 'a'"),
        ({"a": [1.0, None]}, {"a": [1.0, 2]}, {}, InputError, "fewer than 2 rows are complete"),
        ({"a": [1.0, 2]}, {"a": [1.0, 2]}, {"known": 2}, ParameterError, "known is 2"),
        ({"a": [1.0, 2]}, {"a": [1.0, 2]}, {"columns": ["z"]}, InputError, "'z'"),
        ({"a": [1.0, 2]}, {"a": [1.0, 2]}, {"records": 0}, ParameterError, "records"),
    ],
)
def test_bad_input(original, masked, options, error, words):
    with pytest.raises(error, match=words):
        score(pd.DataFrame(original), pd.DataFrame(masked), **options)


def test_too_many_patterns_are_refused():
    wide = np.random.default_rng(0).random((5, 50))
    with pytest.raises(UnsupportedError, match="25 attributes"):
        probabilistic_linkage(wide, wide)


def test_columns_without_a_change_and_ranges_are_named(recwarn):
    people = pd.DataFrame({"age": np.arange(200) % 37 + 20.0, "pay": np.arange(200) * 7.0})
    release = hr.protect(people, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.Mondrian(k=10))
    recwarn.clear()
    assert score(people, release).unchanged == ("pay",)
    said = [str(w.message) for w in recwarn]
    assert any(text.startswith("pay: the masked file holds the original numbers") for text in said)
    assert any(text.startswith("age: the masked file holds no plain numbers") for text in said)
    recwarn.clear()
    assert score(people, people + 1.0).unchanged == ()
    assert not [w for w in recwarn if "original numbers" in str(w.message)]
