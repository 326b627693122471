"""The recipient's estimators: unbiased, honest intervals, equal to the algebra."""

from __future__ import annotations

import json
import shutil
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.backends.randomize import original_codes
from hedgerow.errors import InputError, ParameterError, PlanError
from hedgerow.io.read import read
from hedgerow.methods.response.rr_matrix import Channel, clipped, em, projected
from hedgerow.plan import Randomize, Randomized, fields
from hedgerow.release.reconstruct import Reconstruction, reconstruct

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
T = np.array([0.6, 0.4, 1.0])
DIMS = (2, 3, 2)


def parameters(dims=DIMS, t=T):
    names = "abc"
    return tuple(
        Randomized(
            names[i], "quasi", "categorical", "", tuple(f"{names[i]}{v}" for v in range(d)), float(x + (1 - x) / d)
        )
        for i, (d, x) in enumerate(zip(dims, t, strict=True))
    )


def matrix(dims=DIMS, t=T):
    return reduce(np.kron, [x * np.eye(d) + (1 - x) / d for d, x in zip(dims, t, strict=True)])


def truth(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice(12, n, p=rng.dirichlet(np.ones(12)))


def released(cells, seed):
    p = matrix()
    rng = np.random.default_rng(seed)
    cumulative = p.cumsum(axis=0)
    return np.array((rng.random(len(cells)) > cumulative[:, cells]).sum(axis=0))


def test_inversion_is_unbiased_and_its_standard_errors_are_right():
    cells = truth()
    counts = np.bincount(cells, minlength=12)
    raws, tables, population = [], [], []
    for seed in range(400):
        observed = np.bincount(released(cells, seed), minlength=12).astype(float)
        raws.append(Channel(DIMS, T).inverse(observed))
        if seed < 50:
            found = Reconstruction(parameters(), observed, "inversion")
            tables.append(np.array(found.table().column("se")))
            population.append(np.array(found.table(about="population").column("se")))
    mean, spread = np.mean(raws, axis=0), np.std(raws, axis=0)
    np.testing.assert_allclose(mean, counts, atol=5 * spread.max() / 20)
    np.testing.assert_allclose(np.mean(tables, axis=0), spread, rtol=0.15)
    assert np.all(np.mean(population, axis=0) > spread * 0.9)


def test_population_standard_errors_are_those_of_equation_2():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 400, 12).astype(float)
    n, p = counts.sum(), matrix()
    q = counts / n
    inverse = np.linalg.inv(p)
    sigma = inverse @ (np.diag(q) - np.outer(q, q)) @ inverse.T / n
    found = Reconstruction(parameters(), counts, "inversion")
    np.testing.assert_allclose(
        np.array(found.table(about="population").column("se")), n * np.sqrt(np.diag(sigma)), rtol=1e-9
    )


def test_intervals_of_group_by_and_counts_cover_the_truth():
    cells = truth(seed=3)
    shape = np.unravel_index(cells, DIMS)
    by_ab = np.bincount(shape[0] * 3 + shape[1], minlength=6)
    asked = int(((shape[1] != 0) & (shape[2] == 1)).sum())
    inside, hits = 0, 0
    for seed in range(150):
        observed = np.bincount(released(cells, seed), minlength=12).astype(float)
        found = Reconstruction(parameters(), observed, "inversion")
        made = found.group_by(["a", "b"], level=0.9)
        inside += int(((np.array(made.column("lo")) <= by_ab) & (by_ab <= np.array(made.column("hi")))).sum())
        one = found.count({"b": ["b1", "b2"], "c": "c1"}, level=0.9)
        hits += one.lo <= asked <= one.hi
    assert 0.86 < inside / (150 * 6) < 0.94
    assert 0.82 < hits / 150 < 0.97


def test_the_unbiased_counts_of_group_by_are_unbiased_where_the_clipped_ones_are_not():
    cells = np.r_[np.zeros(290, int), np.full(10, 11)]  # the other ten cells are empty
    counts, unbiased, rows = [], [], None
    for seed in range(300):
        observed = np.bincount(released(cells, seed), minlength=12).astype(float)
        made = Reconstruction(parameters(), observed, "inversion").group_by(["a", "b", "c"])
        counts.append(made.column("count").to_numpy())
        unbiased.append(made.column("unbiased").to_numpy())
        rows = made
    true = np.bincount(cells, minlength=12)
    error = np.std(unbiased, axis=0) / np.sqrt(300)
    assert (np.abs(np.mean(unbiased, axis=0) - true) < 4 * error).all()
    assert (np.mean(counts, axis=0)[1:11] > 4 * error[1:11]).all()
    assert rows.column_names[3:] == ["count", "unbiased", "se", "lo", "hi"]


def test_a_count_of_one_cell_is_the_inverted_cell():
    counts = np.random.default_rng(2).integers(1, 99, 12).astype(float)
    found = Reconstruction(parameters(), counts, "inversion")
    one = found.count({"c": "c0", "a": "a1", "b": ["b2"]})
    cell = np.ravel_multi_index((1, 2, 0), DIMS)
    assert one.count == pytest.approx(Channel(DIMS, T).inverse(counts)[cell])
    se = np.array(found.table().column("se"))[cell]
    assert one.se == pytest.approx(se)


def test_projection_is_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.normal(0.1, 0.5, 6)
        y = projected(x)
        assert y.min() >= 0
        assert y.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(6) * 0.5, 200)
        assert ((others - x) ** 2).sum(axis=1).min() >= ((y - x) ** 2).sum() - 1e-12
    assert clipped(np.array([0.5, -0.1, 0.6])).tolist() == pytest.approx([0.5 / 1.1, 0, 0.6 / 1.1])


def test_em_climbs_the_likelihood_and_stops_early():
    cells = truth(seed=5)
    observed = np.bincount(released(cells, 1), minlength=12).astype(float)
    channel = Channel(DIMS, T)
    likelihoods = []
    for steps in range(1, 12):
        share = em(channel, observed, gain=0, steps=steps)
        assert share.sum() == pytest.approx(1)
        likelihoods.append(float(observed @ np.log(channel.forward(share))))
    assert np.all(np.diff(likelihoods) >= -1e-9)
    early, late = (
        float(observed @ np.log(channel.forward(em(channel, observed, **gain)))) for gain in ({}, {"gain": 1e-9})
    )
    assert likelihoods[0] < early < late
    # One step by its definition.
    p, start = matrix(), np.full(12, 1 / 12)
    by_hand = start * (p.T @ (observed / observed.sum() / (p @ start)))
    np.testing.assert_allclose(em(channel, observed, gain=0, steps=1), by_hand, rtol=1e-12)


def test_measures_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])
    from experiments.randomized_response import cube_error, distances, uncertainty

    found = distances(p, q)
    assert found["euclid"] == pytest.approx(0.125)
    assert found["chi2"] == pytest.approx(0.0625 / 0.75 + 0.25)
    assert found["kl"] == pytest.approx(0.5 * np.log(2), abs=1e-5)
    table, guess = np.array([[2.0, 0.0], [1.0, 1.0]]) / 4, np.array([[1.0, 1.0], [1.0, 1.0]]) / 4
    # base: 1/2, 0, 0; rows: 0, 0; columns: 1/3, 1; total: 0
    assert cube_error(table, guess, base_only=True) == pytest.approx(0.5 / 3)
    assert cube_error(table, guess) == pytest.approx((0.5 + 1 / 3 + 1) / 8)
    assert uncertainty(np.eye(3)) == pytest.approx(1)
    assert uncertainty(np.ones((2, 2))) == pytest.approx(0)
    assert uncertainty(np.array([[1.0], [2.0]])) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 3000
    table = pa.table(
        {
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "age": rng.integers(18, 90, n),
            "ill": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
        }
    )
    out = tmp_path_factory.mktemp("rr") / "out"
    release = hr.protect(
        table, hr.Schema(quasi=["sex", "age"], sensitive=["ill"]), hr.RandomizedResponse(l=2.6, target="both", bins=4)
    )
    release.write(out)
    return release, out


def test_release_folder_and_table_with_parameters_give_the_same(folder):
    release, out = folder
    one = reconstruct(release)
    for other in (
        reconstruct(out),
        reconstruct(str(out)),
        reconstruct(out / "release.parquet", out / "public.json"),
        reconstruct(release.table, release.plan),
        reconstruct(release.table, json.loads((out / "public.json").read_text())),
    ):
        assert other.columns == ("sex", "age", "ill")
        assert np.array_equal(one.shares, other.shares)


def test_what_cannot_be_reconstructed(folder, tmp_path):
    release, out = folder
    with pytest.raises(PlanError, match="a table alone"):
        reconstruct(release.table)
    with pytest.raises(PlanError):
        reconstruct(release.table, tmp_path / "none.json")
    (tmp_path / "odd.json").write_text("[1]")
    with pytest.raises(PlanError, match="not the distortion parameters"):
        reconstruct(release.table, tmp_path / "odd.json")
    shutil.copytree(out, tmp_path / "other")
    (tmp_path / "other" / "public.json").unlink()
    with pytest.raises(PlanError, match="other is no randomized release"):
        reconstruct(tmp_path / "other")
    with pytest.raises(PlanError, match="not the distortion parameters"):
        reconstruct(release.table, {"recoding": {"kind": "partition"}})
    data = json.loads((out / "public.json").read_text())
    data["recoding"]["columns"][0]["p"] = 0.2
    with pytest.raises(PlanError, match="damaged"):
        reconstruct(release.table, data)
    with pytest.raises(InputError, match="do not list"):
        reconstruct(release.table.set_column(0, "sex", pa.array(["x"] * 3000)), release.plan)
    with pytest.raises(ParameterError):
        reconstruct(release, estimator="magic")
    found = reconstruct(release)
    for call in (
        lambda: found.group_by(["height"]),
        lambda: found.group_by(["sex", "sex"]),
        lambda: found.count({"sex": "x"}),
        lambda: found.group_by(["sex"], level=2),
    ):
        with pytest.raises(ParameterError):
            call()


def test_randomize_records_round_trip():
    plan = Randomize(parameters(), None, "paper", 0.5, 0.6, 0.0)
    assert fields.read(Randomize, json.loads(json.dumps(fields.plain(plan)))) == plan
    with pytest.raises(ValueError, match="1/d"):
        Randomized("a", "quasi", "categorical", "", ("x", "y"), 0.5).check()
    column = Randomized("a", "quasi", "numeric", "", ("low", "high", None), 0.6, (3.0,))
    values = read(pa.table({"a": [2.9, 3.0, None]}))
    assert original_codes(values, column).tolist() == [0, 1, 2]
    Randomized("a", "quasi", "numeric", "", (None,)).check()
    with pytest.raises(ValueError, match="more than it has cuts"):
        Randomized("a", "quasi", "numeric", "", (None,), cuts=(3.0, 4.0)).check()
