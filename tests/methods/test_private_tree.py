"""PrivateTree: its loss is computed exactly on neighbouring tables, and what must not enter does not."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
import random
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.private_losses import NumpyNoise, Transcript, bound, log_chances, losses, of_wholes

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.io.read import read
from hedgerow.methods import private
from hedgerow.methods.private import noise as noises
from hedgerow.methods.private import noisy_tree as tree
from hedgerow.methods.private import private_tree
from hedgerow.methods.private.domain import PublicColumn
from hedgerow.methods.private.made_rows import apportioned
from hedgerow.methods.private.noise import Ledger, Purchase, below
from hedgerow.methods.private.private_plan import PrivatePlan
from hedgerow.methods.private.private_tree import PrivateTree, limited
from hedgerow.methods.response.rr_matrix import projected

SCHEMA = hr.Schema(
    quasi=["age", "job"],
    sensitive=["income", "ill"],
    unit=None,
    bounds={"age": (0, 100), "income": (0, 1_000_000)},
    categories={"job": ["cook", "nurse", "clerk"], "ill": ["no", "yes"]},
)


def people(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    job = rng.choice(["cook", "nurse", "clerk", "pilot"], n)
    income = np.round(20_000 + 600 * age + rng.gamma(2, 9_000, n)).astype(int)
    return pd.DataFrame({"age": age, "job": job, "income": income, "ill": rng.choice(["no", "yes"], n)})


class Seeded(Transcript):
    """Transcripts of noise with a seed."""

    def __init__(self, seed: int, answers: list[Any] | None = None) -> None:
        super().__init__(NumpyNoise(seed), answers)


def transcripts(seed: int, records: int = 1, schema: hr.Schema = SCHEMA) -> tuple[Seeded, Seeded, Any]:
    """Return the same transcript on a table and on one with a person less."""
    rng = np.random.default_rng(seed)
    frame = people(int(rng.integers(6, 60)), seed)
    if seed % 3 == 0:  # corners: everybody alike but for one
        frame.iloc[1:] = frame.iloc[1].to_numpy()
        frame.loc[0, ["age", "income"]] = (100, 1_000_000) if seed % 2 else (0, 0)
    if records > 1:
        frame["who"] = rng.integers(0, len(frame) // 2, len(frame))
    who = frame["who"] if records > 1 else pd.Series(frame.index)
    less = frame[who != who.iloc[0]].reset_index(drop=True)
    method = PrivateTree(epsilon=1.0, records=records)
    first = Seeded(seed)
    plan = method.measured(read(frame), schema, first)
    second = Seeded(seed, first.answers)
    method.measured(read(less), schema, second)
    return first, second, plan


@pytest.fixture
def deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small tables have trees."""
    monkeypatch.setattr(private, "_PER_LEAF", 5)


@pytest.mark.parametrize("records", [1, 3])
def test_the_loss_of_every_transcript_is_at_most_epsilon(deep: None, records: int) -> None:
    schema = SCHEMA if records == 1 else SCHEMA.replace(unit="who")
    whole, splits = [], 0
    for seed in range(200 if records == 1 else 60):
        first, second, plan = transcripts(seed, records, schema)
        found = losses(first, second)
        whole.append(abs(sum(loss for loss, _, _ in found)))
        splits += len(plan.measured.nodes) - 1
        assert plan.spent <= Fraction(1)
        # nodes of a level have no row in common, so the parts of one person's rows add to at most one of them
        for _, worst, epsilon in found if records == 1 else ():
            assert worst <= epsilon * (1 + 1e-6)
    assert splits > 200 or records > 1
    assert 0.2 < max(whole) <= 1 + 1e-6


@pytest.mark.parametrize("kind", ["laplace", "pick"])
def test_half_the_noise_is_caught(deep: None, kind: str) -> None:
    # for choices that is the halved price of a monotonic selection, and these scores are not monotonic
    worst = []
    for seed in range(12):
        first, second, _ = transcripts(seed)
        found = zip(first.asked, losses(first, second, scale=0.5), strict=True)
        worst += [w / e for asked, (_, w, e) in found if asked[0] == kind]
    assert 1.9 < max(worst) <= 2 + 1e-6


def test_records_that_are_forgotten_are_caught(deep: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: Purchase, counts: Any, sensitivity: int = 1) -> Any:
        flat = np.ascontiguousarray(counts, np.int64).ravel()
        return self._ledger.noise.laplace(flat, sensitivity, self._epsilon).reshape(counts.shape)

    monkeypatch.setattr(Purchase, "counts", forgetful)
    schema = SCHEMA.replace(unit="who")
    worst = [max(w / e for _, w, e in losses(*transcripts(seed, 3, schema)[:2])) for seed in range(20)]
    assert max(worst) > 1.5


def test_a_row_moves_a_gain_by_up_to_its_own_values_and_the_centre() -> None:
    rng = np.random.default_rng(1)
    column = PublicColumn("age", "quasi", "numeric", edges=(0.0, 1.0, 2.0, 3.0))
    node = tree.NoisyNode((np.ones(column.n_bins, bool),))
    most = 0.0
    for _ in range(300):
        counts = rng.integers(0, 4, (1, column.n_bins))
        centre = rng.integers(-tree.ONE // 2, tree.ONE // 2, 2)
        sums = -np.sign(centre) * counts[0][:, None] * (tree.ONE // 2)
        bin_, values = rng.integers(column.n_bins), -np.sign(centre) * (tree.ONE // 2)
        more, added = counts.copy(), sums.copy()
        more[0, bin_] += 1
        added[bin_] += values
        _, before = tree._gains([column], node, [sums], list(counts), centre)
        _, after = tree._gains([column], node, [added], list(more), centre)
        change = np.abs(after - before).max()
        assert change <= tree.ONE + np.abs(centre).sum()
        most = max(most, change / tree.ONE)
    # so a price for ONE alone would be too low
    assert most > 1.5


def beyond_sensitivity(seeds: int) -> float:
    """Return by how much more than its sensitivity an input changes where a person is left out, at most."""
    most = 0.0
    for seed in range(seeds):
        first, second, _ = transcripts(seed)
        for (kind, before, sensitivity, *_), (_, after, *_) in zip(first.asked, second.asked, strict=True):
            change = np.abs(before - after)
            most = max(most, (change.max() if kind == "pick" else change.sum()) / sensitivity)
    return most


def test_scores_change_by_at_most_their_sensitivity(deep: None) -> None:
    assert 0.9 < beyond_sensitivity(100) <= 1


def test_a_centre_left_out_of_the_sensitivity_is_caught(deep: None, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Purchase.pick
    monkeypatch.setattr(
        Purchase, "pick", lambda self, scores, sensitivity=1: honest(self, scores, min(sensitivity, tree.ONE))
    )
    assert beyond_sensitivity(60) > 1.2


def test_opendp_draws_the_noise_that_was_paid_for() -> None:
    dp = pytest.importorskip("opendp.prelude")
    source = noises.OpenDP()
    for epsilon in (0.1, 1.0):
        drawn = np.concatenate([source.laplace(np.zeros(500, np.int64), 1, epsilon) for _ in range(40)])
        a = math.exp(-epsilon)
        assert np.mean(drawn**2) == pytest.approx(2 * a / (1 - a) ** 2, rel=0.1)
        scores = np.array([0, 3, 4], np.int64)
        picked = np.bincount([source.pick(scores, 1, epsilon) for _ in range(20_000)], minlength=3) / 20_000
        assert np.abs(picked - np.exp(log_chances(scores, 1, epsilon))).max() < 0.015
    assert dp is not None


def test_repeated_draws_of_opendp_show_no_more_than_was_paid_for() -> None:
    pytest.importorskip("opendp")
    source = noises.OpenDP()

    def shown(epsilon: float, sensitivity: int = 1) -> float:
        return bound(*(source.laplace(np.full(60_000, n), sensitivity, epsilon) for n in (5, 6)))

    for epsilon in (0.5, 1.0, 4.0):
        assert 0.6 * epsilon < shown(epsilon) <= epsilon
        # noise for three quarters of what a person changes
        assert shown(4 * epsilon, 3) > epsilon


def test_repeated_releases_show_no_more_than_was_paid_for(deep: None) -> None:
    shown = []
    for scale in (1.0, 0.05):  # of the noise; small samples see large faults alone
        ratios = of_wholes(1.0, NumpyNoise(1, scale), 150)
        assert max(map(np.max, ratios)) <= 1 + 1e-6
        shown.append(bound(*ratios))
    assert shown[0] <= 1 < shown[1], shown


def telling_person() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table, and the same without a person who is the only one in many ways."""
    frame = people(80, 3).astype({"age": float, "income": float})
    frame.loc[0] = [np.nan, "pilot", 999_999.25, None]
    return frame, frame[1:].reset_index(drop=True).astype({"age": int, "income": int})


def published(source: Any, frame: Any, folder: Path, schema: hr.Schema, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Release with some noise and a fixed row key; return what anybody may see, and the types of the frame."""
    monkeypatch.setattr(private_tree, "OpenDP", lambda: source)
    monkeypatch.setattr(private_tree, "token_hex", lambda n: "07" * n)
    release = hr.protect(frame, schema, hr.PrivateTree(epsilon=2))
    public = folder.with_name(f"public-{folder.name}")
    release.write(folder, public=public)
    seen: list[Any] = [(path.name, path.read_bytes()) for path in sorted(public.iterdir())]
    # what a steward is warned of is not published
    return [*seen, str(read(release.table).types), {**release.summary(), "cautions": []}]


def assert_noise_alone_tells(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a neighbour with the same noisy answers is asked the same, and publishes the same bytes."""
    seen, sources = [], []
    for i, frame in enumerate(telling_person()):
        given: Any = frame
        if kind != "pandas":
            given = folder / str(i) / f"people.{kind}"
            given.parent.mkdir()
            if kind == "csv":
                frame.to_csv(given, index=False)
            else:  # a schema has types of its own
                frame.astype({"age": float, "income": float}).to_parquet(given, index=False)
        sources.append(Seeded(1, sources[0].answers if sources else None))
        seen.append(published(sources[-1], given, folder / f"out{i}", SCHEMA, monkeypatch))
    assert seen[0] == seen[1]
    assert abs(sum(loss for loss, _, _ in losses(*sources))) <= 2


@pytest.mark.parametrize("kind", ["pandas", "csv", "parquet"])
def test_whatever_is_published_follows_from_the_noisy_answers(
    deep: None, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_noise_alone_tells(tmp_path, kind, monkeypatch)


def draws_bound_to_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PrivateTree.measured

    def bound_to(self: PrivateTree, table: Any, *rest: Any) -> PrivatePlan:
        content = hashlib.sha256(repr(table.arrow.to_pylist()).encode()).hexdigest()
        return dataclasses.replace(honest(self, table, *rest), row_key=content[:32])

    monkeypatch.setattr(PrivateTree, "measured", bound_to)


def without_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Purchase.counts

    def grouped(self: Purchase, counts: Any, sensitivity: int = 1) -> Any:
        noisy = np.zeros(counts.shape, np.int64)
        noisy[counts > 0] = honest(self, counts[counts > 0], sensitivity)
        return noisy

    monkeypatch.setattr(Purchase, "counts", grouped)


def missing_where_present(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, missing = private_tree.declared, {}

    def seen(table: Any, schema: hr.Schema) -> Any:
        missing.update({name: int(table.arrow.column(name).null_count > 0) for name in table.names})
        return honest(table, schema)

    monkeypatch.setattr(private_tree, "declared", seen)
    bins = lambda column: len(column.labels) + missing[column.name] if column.labels else len(column.edges)  # noqa: E731
    monkeypatch.setattr(PublicColumn, "n_bins", property(bins))


def exact_number(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Purchase.counts
    exact = lambda self, counts, *rest: counts if counts.shape == (1,) else honest(self, counts, *rest)  # noqa: E731
    monkeypatch.setattr(Purchase, "counts", exact)


def bounds_of_data(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = private_tree.declared

    def tight(table: Any, schema: hr.Schema) -> Any:
        ends = {name: (0, int(max(table.column(name).values))) for name in schema.bounds}
        return honest(table, schema.replace(bounds=ends))

    monkeypatch.setattr(private_tree, "declared", tight)


@pytest.mark.parametrize(
    "twin", [draws_bound_to_contents, without_empty_cells, missing_where_present, exact_number, bounds_of_data]
)
def test_what_tells_besides_noise_is_caught(
    deep: None, twin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin(monkeypatch)
    with pytest.raises(AssertionError):
        assert_noise_alone_tells(tmp_path, "csv", monkeypatch)


def assert_noise_is_fresh(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that releases differ in their noise, though everything that Python draws is the same."""
    monkeypatch.setattr(private_tree, "token_hex", lambda n: "07" * n)
    drawn = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        drawn.append(hr.protect(frame, SCHEMA, hr.PrivateTree(epsilon=1)).plan.measured)
    assert not np.array_equal(drawn[0].histograms[0], drawn[1].histograms[0])
    assert not np.array_equal(drawn[0].marginals[0], drawn[1].marginals[0])


def test_noise_that_can_be_drawn_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    assert_noise_is_fresh(people(100), monkeypatch)
    monkeypatch.setattr(private_tree, "OpenDP", lambda: Seeded(1))
    with pytest.raises(AssertionError):
        assert_noise_is_fresh(people(100), monkeypatch)


def test_noise_is_never_the_same_and_rows_follow_from_the_plan() -> None:
    pytest.importorskip("opendp")
    frame = people(800)
    one, two = (hr.protect(frame, SCHEMA, hr.PrivateTree(epsilon=1)) for _ in range(2))
    assert one.plan.row_key != two.plan.row_key
    assert not np.array_equal(one.plan.measured.histograms[0], two.plan.measured.histograms[0])
    again = PrivatePlan.from_json(json.loads(json.dumps(one.plan.to_json())))
    assert again.rows().equals(one.plan.rows())
    assert [check.holds for check in one.verify()] == [True] * 3
    one.table.loc[0, "age"] += 1
    with pytest.raises(hr.errors.PromiseError):
        one.verify()


def test_everything_public_is_dense_and_of_the_declared_domain(deep: None) -> None:
    frame = people(300)
    frame.loc[:, "ill"] = "no"
    plan = PrivateTree().measured(read(frame), SCHEMA, Seeded(1))
    sensitive = [column for column in plan.columns if column.role == "sensitive"]
    for column, histogram in zip(sensitive, plan.measured.histograms, strict=True):
        assert histogram.shape == (len(plan.measured.leaves), column.n_bins)
    job, ill = (next(c for c in plan.columns if c.name == n) for n in ("job", "ill"))
    assert job.labels == ("cook", "nurse", "clerk", "other")
    assert ill.labels == ("no", "yes", "other")
    # noise falls on cells that nobody has as well
    assert np.count_nonzero(plan.measured.histograms[1][:, 2:]) > 0
    assert "pilot" not in json.dumps(plan.to_json())


def test_nothing_public_holds_an_exact_count(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people(48_317)
    frame.to_csv(tmp_path / "people.csv", index=False)
    telling = {str(len(frame)), f"{len(frame):,}", str(frame.income.max()), str(frame.income.sum())}
    telling |= {str(n) for column in ("job", "ill") for n in frame[column].value_counts()}
    met = []
    for seed in (5, 6):  # a noisy number may be an exact one by chance, but not twice
        monkeypatch.setattr(private_tree, "OpenDP", lambda seed=seed: Seeded(seed))
        release = hr.protect(tmp_path / "people.csv", SCHEMA, hr.PrivateTree(epsilon=0.5))
        measured = hr.audit(frame, release, learners=["tree"]) if seed == 5 else None
        release.write(tmp_path / f"private{seed}", measured=measured, public=tmp_path / f"public{seed}")
        public = tmp_path / f"public{seed}"
        assert sorted(p.name for p in public.iterdir()) == ["RECIPIENT.md", "plan.json", "release.csv"]
        assert release.table.num_rows != len(frame)
        numbers = re.findall(r"[0-9]+", (public / "plan.json").read_text() + (public / "RECIPIENT.md").read_text())
        assert len(numbers) > 1000
        met.append(telling & set(numbers))
    assert met[0] & met[1] == set()
    assert "Not private" in (tmp_path / "private5" / "report.html").read_text()


def assert_rows_stay_by_their_person_alone(limited: Any) -> None:
    frame = people(400)
    frame["who"] = np.random.default_rng(3).integers(0, 90, 400)
    schema = SCHEMA.replace(unit="who")
    columns = tree_columns(frame, schema)

    def used(each: pd.DataFrame) -> dict[Any, Any]:
        table = read(each.reset_index(drop=True))
        rows = limited(table, schema, list(columns), 2)
        picked = each.reset_index(drop=True).iloc[rows]
        return {who: sorted(map(tuple, g.to_numpy().tolist())) for who, g in picked.groupby("who")}

    whole = used(frame)
    assert max(map(len, whole.values())) == 2
    assert used(frame.sample(frac=1, random_state=1)) == whole
    less = used(frame[frame.who >= 30])
    assert less == {who: rows for who, rows in whole.items() if who >= 30}


def by_position(table: Any, schema: hr.Schema, columns: Any, records: int) -> Any:
    who = table.arrow.column("who").to_pandas()
    return np.flatnonzero(who.groupby(who).cumcount() < records)


def by_one_stream(table: Any, schema: hr.Schema, columns: Any, records: int) -> Any:
    frame = table.arrow.to_pandas()
    order = frame.sort_values(list(frame.columns)).index.to_numpy()
    order = np.random.default_rng(1).permutation(order)
    who = frame.who.iloc[order]
    return order[(who.groupby(who).cumcount() < records).to_numpy()]


def test_which_rows_of_a_person_stay_depends_on_that_person_alone() -> None:
    assert_rows_stay_by_their_person_alone(limited)
    for twin in (by_position, by_one_stream):
        with pytest.raises(AssertionError):
            assert_rows_stay_by_their_person_alone(twin)


def tree_columns(frame: pd.DataFrame, schema: hr.Schema) -> Any:
    from hedgerow.methods.private.domain import declared

    return declared(read(frame), schema)


def test_what_is_not_declared_is_refused_by_name() -> None:
    silent = hr.Schema(quasi=["age", "job"], sensitive=["income", "ill"])
    with pytest.raises(hr.errors.SchemaError, match="bounds of age, income; categories of job, ill"):
        PrivateTree().measured(read(people(50)), silent, Seeded(1))


@pytest.mark.parametrize(
    "wrong",
    [{"guard": "redraw"}, {"key": "k"}, {"random_state": 1}, {"profile": "ihsn-k3"}, {"keep_order": True},
     {"max_inference": 0.5}, {"pseudonym_key": b"0123456789abcdef"}],
)  # fmt: skip
def test_what_would_not_hold_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(hr.HedgerowError, match=next(iter(wrong))):
        hr.protect(people(60), SCHEMA, hr.PrivateTree(), **wrong)


@pytest.mark.parametrize("epsilon", [0, -1, 1e-9, 10**400, math.nan, math.inf, "much", True])
def test_epsilon_is_a_number_above_0(epsilon: Any) -> None:
    with pytest.raises(hr.HedgerowError):
        PrivateTree(epsilon=epsilon).fit_table(read(people(60)), SCHEMA)


def test_ten_tenths_are_not_spent_beyond_one() -> None:
    ledger = Ledger(Fraction("1"), 1, Seeded(1))
    for i in range(10):
        ledger.buy(f"part {i}", Fraction("0.1"))
    assert sum(cost for _, cost in ledger.entries) == 1
    with pytest.raises(AssertionError):
        ledger.buy("more", Fraction(1, 10**9))
    for exact in (Fraction(1, 3), Fraction("0.1"), Fraction(1, 7) / 10):
        assert Fraction(below(exact)) <= exact


def test_an_empty_result_is_an_empty_table() -> None:
    plan = PrivateTree(epsilon=1.0).measured(read(people(2)), SCHEMA, Nothing())
    table = plan.rows()
    assert table.num_rows == 0
    assert table.column_names == ["age", "job", "income", "ill"]


class Nothing:
    """Noise that takes everything away."""

    def laplace(self, counts: Any, sensitivity: int, epsilon: float) -> Any:
        return np.zeros(len(counts), np.int64) - 3

    def pick(self, scores: Any, sensitivity: int, epsilon: float) -> int:
        return 0


class Exact(Nothing):
    """No noise."""

    def laplace(self, counts: Any, sensitivity: int, epsilon: float) -> Any:
        return np.array(counts)

    def pick(self, scores: Any, sensitivity: int, epsilon: float) -> int:
        return int(np.argmax(scores))


def test_without_noise_the_rows_have_the_counts_of_the_table(deep: None) -> None:
    frame = people(4_000)
    plan = PrivateTree(epsilon=50).measured(read(frame), SCHEMA, Exact())
    table = plan.rows().to_pandas()
    assert len(table) == len(frame)
    assert table.ill.value_counts().to_dict() == pytest.approx(frame.ill.value_counts().to_dict(), abs=40)
    assert table.income.mean() == pytest.approx(frame.income.mean(), rel=0.03)
    # the tree keeps what age says of income
    assert np.corrcoef(table.age, table.income)[0, 1] > 0.8 * np.corrcoef(frame.age, frame.income)[0, 1]


def test_duckdb_hands_over_the_same_counts(tmp_path: Any) -> None:
    pytest.importorskip("opendp")
    frame = people(3_000)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "people.parquet")
    asked = []
    from hedgerow.backends.select import opened

    for engine in ("memory", "duckdb"):
        table = opened(tmp_path / "people.parquet", ("memory", "duckdb"), "a test", name=engine, schema=SCHEMA)
        source = Seeded(1)
        PrivateTree().measured(table, SCHEMA, source)
        asked.append(source.asked)
    for (kind, before, *_), (same, after, *_) in zip(*asked, strict=True):
        assert kind == same
        assert np.array_equal(before, after)
    release = hr.protect(tmp_path / "people.parquet", SCHEMA, hr.PrivateTree(), engine="duckdb")
    release.write(tmp_path / "out")
    assert release.table.column_names == ["age", "job", "income", "ill"]


def test_shares_are_projected_and_apportioned() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.normal(0.1, 0.3, rng.integers(1, 9))
        shares = projected(values)
        assert shares.sum() == pytest.approx(1)
        assert shares.min() >= 0
        # no other shares are nearer
        for _ in range(20):
            other = rng.dirichlet(np.ones(len(values)))
            assert np.sum((shares - values) ** 2) <= np.sum((other - values) ** 2) + 1e-12
        n = int(rng.integers(0, 50))
        counts = apportioned(shares, n)
        assert counts.sum() == n
        assert np.abs(counts - n * shares).max() < 1


def test_a_damaged_plan_is_refused() -> None:
    data = PrivateTree().measured(read(people(100)), SCHEMA, Exact()).to_json()
    for broken in ({}, [], {**data, "nodes": None}, {**data, "columns": [{}]}, {**data, "hedgerow_private_plan": 9}):
        with pytest.raises(hr.errors.PlanError):
            PrivatePlan.from_json(broken)


def test_proposed_bounds_and_categories_are_round_and_hold_everything() -> None:
    frame = people(300)
    frame["day"] = pd.Timestamp("2020-03-05")
    frame["debt"] = -frame.income / 7
    proposed = hr.inspect(frame).public(hr.Schema(quasi=["age", "job", "day"], sensitive=["income", "debt", "ill"]))
    assert tuple(proposed.bounds["age"]) == (0, 100)
    assert proposed.bounds["income"][1] >= frame.income.max()
    assert tuple(proposed.bounds["day"]) == ("2020-01-01", "2020-12-31")
    assert proposed.bounds["debt"][0] <= frame.debt.min() < 0
    assert set(proposed.categories["job"]) == set(frame.job)
    assert hr.Schema.from_toml(proposed.to_toml()) == proposed
    # they are enough
    table = PrivateTree().measured(read(frame), proposed, Seeded(1)).rows()
    assert table.num_columns == 6
    pytest.importorskip("opendp")
    released = hr.protect(frame, proposed, hr.PrivateTree(epsilon=5)).table
    assert released.day.dropna().dt.year.eq(2020).all()
    assert released.debt.dropna().between(*proposed.bounds["debt"]).all()
    days = pa.array([datetime.date(2020, 3, 5)] * 300)
    arrow = pa.Table.from_pandas(frame.drop(columns="day")).append_column("day", days)
    assert pa.types.is_date(hr.protect(arrow, proposed, hr.PrivateTree(epsilon=5)).table.schema.field("day").type)


def test_the_command_line_releases_and_hands_out(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opendp")
    people(2_000).to_csv(tmp_path / "people.csv", index=False)
    file, out = str(tmp_path / "people.csv"), tmp_path / "out"
    assert run(["inspect", file, "--declare", "--schema-out", str(tmp_path / "s.toml")]) == 0
    assert "--method private-tree" in capsys.readouterr().out
    assert (tmp_path / "s.toml").read_text().startswith("# The bounds and categories below were taken from the table.")
    words = ["protect", file, "--schema", str(tmp_path / "s.toml"), "--method", "private-tree", "--epsilon", "0.5"]
    assert run([*words, "--out", str(out)]) == 0
    assert "Differential privacy with epsilon 0.5" in capsys.readouterr().out
    record = json.loads((out / "audit.json").read_text())
    assert record["release"]["epsilon"] == 0.5
    pytest.importorskip("jsonschema").validate(record, hr.Audit.json_schema())
    assert PrivatePlan.load(out / "plan.json").spent <= Fraction(1, 2)
    assert hr.audit(people(2_000), out, attacks=False, learning=False).utility["queries"]["range"]["queries"] > 0
    assert run([*words, "--guard", "redraw", "--out", str(tmp_path / "other")]) == 2
    assert "takes no guard" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_cell_of_one_person_does_not_change_the_types_of_a_text_file(tmp_path: Any) -> None:
    pytest.importorskip("opendp")
    frame = people(400)
    frame["day"] = "2020-03-05"
    schema = SCHEMA.replace(quasi=["age", "job", "day"], bounds={**SCHEMA.bounds, "day": ("2020-01-01", "2020-12-31")})
    types = []
    for odd in (False, True):
        if odd:
            frame = frame.astype({"income": float, "age": float})
            frame.loc[0, "income"] = 1234.5
            frame.loc[1, "age"] = None
        frame.to_csv(tmp_path / "people.csv", index=False)
        types.append(hr.protect(tmp_path / "people.csv", schema, hr.PrivateTree(epsilon=2)).table.schema)
    assert types[0].equals(types[1])
    assert types[0].field("income").type == pa.int64()
    assert types[0].field("day").type == pa.date32()


def test_a_frontier_says_first_that_it_is_not_private() -> None:
    pytest.importorskip("opendp")
    searched = hr.frontier(people(2_000), SCHEMA, hr.PrivateTree(), settings={"epsilon": [0.5, 8]})
    assert str(searched).startswith("Not private: ")
    assert next(iter(searched.to_dict())) == "private"
    assert [p.disclosure for p in searched.points] == pytest.approx([math.tanh(0.25), math.tanh(4)])
    assert all(point.utility < 1 for point in searched.points)  # how it grows depends on noise, which has no seed
    assert "promised" in searched.disclosure
    for wrong in ({"methods": [hr.PrivateTree(), hr.Hedge()]}, {"methods": hr.PrivateTree(), "utility": "learning"}):
        with pytest.raises(hr.errors.UnsupportedError, match="PrivateTree"):
            hr.frontier(people(60), SCHEMA, **wrong)


def test_the_folder_is_audited_by_its_own_roles_and_recodes_nobody(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    people(300).to_csv(tmp_path / "people.csv", index=False)
    release = hr.protect(tmp_path / "people.csv", SCHEMA, PrivateTree())
    release.write(tmp_path / "out")
    table, plan = str(tmp_path / "people.csv"), str(tmp_path / "out" / "plan.json")
    assert run(["audit", table, str(tmp_path / "out"), "--no-attacks", "--no-learning", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table"]["rows"] == release.released.n_rows
    assert run(["apply", plan, table, "--out", str(tmp_path / "more.csv")]) == 2
    assert "the public plan of a private release" in capsys.readouterr().err


def test_a_profile_is_refused_before_anything_is_measured() -> None:
    session = hr.Session(people(300))
    with pytest.raises(hr.errors.UnsupportedError, match="takes no profile"):
        session.choose(SCHEMA, PrivateTree(), profile="ihsn-k3")


def test_a_folder_that_was_altered_is_said_to_be(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    people(300).to_csv(tmp_path / "people.csv", index=False)
    hr.protect(tmp_path / "people.csv", SCHEMA, PrivateTree()).write(tmp_path / "out")
    words = ["audit", str(tmp_path / "people.csv"), str(tmp_path / "out"), "--no-attacks", "--no-learning"]
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    (tmp_path / "out/plan.json").write_text(json.dumps({**plan, "epsilon": "1/1000"}))
    people(300)[["age", "job", "income", "ill"]].to_csv(tmp_path / "out/release.csv", index=False)
    assert run([*words, "--report", str(tmp_path / "report.html")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "is not the file that audit.json records" in said
    assert "spends more epsilon than it promises" in said
    assert "plan.json makes another table than this one" in said
    page = (tmp_path / "report.html").read_text()
    assert "Do not share, because " in page
    assert "whatever anybody concludes" not in page
    for wrong in ({"epsilon": "1e999999999"}, {"epsilon": "1/0"}, {"row_key": "xyz"}, {"epsilon": None}):
        (tmp_path / "out/plan.json").write_text(json.dumps({**plan, **wrong}))
        assert run(words) == 2
        assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["dropped", "added", "one value of many"])
def test_a_folder_with_other_columns_is_said_to_be_altered(tmp_path: Path, change: str) -> None:
    people(300).to_csv(tmp_path / "people.csv", index=False)
    hr.protect(tmp_path / "people.csv", SCHEMA, PrivateTree()).write(tmp_path / "out")
    released = pd.read_csv(tmp_path / "out/release.csv")
    changed = {"dropped": released.drop(columns="job"), "added": released.assign(more=1)}
    changed.get(change, released.assign(age="?")).to_csv(tmp_path / "out/release.csv", index=False)
    for original in (people(300), None):
        found = hr.audit(original, tmp_path / "out", attacks=False, learning=False)
        assert any("plan.json makes another table than this one" in note for note in found.table["notes"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("is_alone", [False, True])
def test_a_report_of_the_folder_says_first_what_epsilon_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, is_alone: bool
) -> None:
    pytest.importorskip("opendp")
    frame = people(6_000)  # of fewer, counts may be off by half, which the verdict names
    frame["code"], frame["member"] = "0" + frame.job.str.len().astype(str), frame.age > 50
    frame["day"] = datetime.date(2020, 3, 5)
    schema = SCHEMA.replace(
        quasi=["age", "job", "code", "member", "day"],
        bounds={**SCHEMA.bounds, "day": ("2020-01-01", "2020-12-31"), "income": (0.0, 1_000_000.0)},
        categories={**SCHEMA.categories, "code": ["04", "05"]},
        kinds={"code": "categorical"},
    )
    table = tmp_path / f"people.{kind}"
    frame.to_csv(table, index=False) if kind == "csv" else frame.to_parquet(table, index=False)
    hr.protect(table, schema, PrivateTree(epsilon=1)).write(tmp_path / "out", public=tmp_path / "public")
    # what was handed out has no audit.json
    words = ["--release-only"] if is_alone else [str(table)]
    words = ["audit", *words, str(tmp_path / "public"), "--no-attacks", "--no-learning"]
    assert run([*words, "--report", str(tmp_path / "report.html")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "another table than this one" not in said
    assert "altered" not in said
    assert ("of 100 guesses who took part at most 74 are right where a coin has 50" in said) != is_alone
    page = (tmp_path / "report.html").read_text()
    assert page.index("by a factor of at most <b>2.72</b>") < page.index("What is it still good for?")
    assert "<p>Not private: this compares the release with the original" in page
    assert "Promises kept; attacks not tried." in page
    assert "It was made again from its public plan" in page
    assert "There was no plan" not in page
    assert "met: epsilon (asked at most 1" in page.lower()
    # it cannot be private and not private, and attacks that were not tried are compared with nothing
    assert "private: for the steward" not in page
    assert "are compared with the same attacks" not in page


def test_rows_that_are_nobodys_find_nobody(tmp_path: Path) -> None:
    frame = people(300)
    release = hr.protect(frame, SCHEMA, PrivateTree(epsilon=5))
    # one empty cell would fit everybody whose value is in no other row
    release.table.loc[0, "income"] = None
    measured = hr.audit(frame, release, attacks=False, learning=False)
    assert measured.risk["found"] is None
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(measured.to_dict(), hr.audit.json_schema())


def test_a_folder_without_its_original_is_not_read_as_groups(tmp_path: Any, capsys: Any) -> None:
    people(300).to_csv(tmp_path / "people.csv", index=False)
    hr.protect(tmp_path / "people.csv", SCHEMA, hr.PrivateTree(epsilon=1)).write(tmp_path / "out")
    found = hr.audit(None, tmp_path / "out")
    assert found.table["yardstick"] == "attacks"
    words = str(found)
    assert "under differential privacy" in words
    assert "k (smallest group)" not in words
    assert "differential privacy" not in str(hr.audit(people(300), tmp_path / "out", attacks=False, learning=False))


def test_the_report_says_what_epsilon_means_and_stays_with_the_steward(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    frame = people(2_000)
    release = hr.protect(frame, SCHEMA, hr.PrivateTree(epsilon=1))
    release.write(tmp_path / "out", measured=hr.audit(frame, release, attacks=False, learning=False))
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("<p>Not private: this compares the release with the original") < page.index("<nav")
    assert "by a factor of at most <b>2.72</b>" in page
    assert "<b>74</b><span>of 100 guesses who took part, the most that can be right; a coin has 50" in page
    record = (tmp_path / "out" / "audit.json").read_text()
    assert record.startswith('{\n  "private": "Not private:')
    pytest.importorskip("jsonschema").validate(json.loads(record), hr.Audit.json_schema())
    assert hr.audit(frame, tmp_path / "out", attacks=False, learning=False).utility["queries"]["range"]["queries"]


def test_a_column_is_compared_and_what_needs_groups_is_refused_by_name() -> None:
    pytest.importorskip("opendp")
    release = hr.protect(people(2_000), SCHEMA, hr.PrivateTree(epsilon=1))
    compared = release.compare("age")
    assert compared.kind == "numbers"
    assert release.plot("ill").get_title(loc="left") or release.plot().figure
    assert "the first rows" in release._repr_html_().lower()
    for name in ("rows", "judged", "against"):
        with pytest.raises(hr.errors.UnsupportedError, match=f"has no {name}"):
            getattr(release, name)
    assert not hasattr(release, "nothing")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("500.000", "may mean 500000, or a number with a fraction.*write 500000, or 500.0000"),
        ("-1", "must be two numbers or two dates, the smaller first.*--bounds income=0:1000000"),
        ("9 000", "must be two numbers or two dates, the smaller first.*--bounds income=0:1000000"),
    ],
)
def test_bounds_that_cannot_be_read_for_sure_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str, words: str
) -> None:
    people(60).to_csv(tmp_path / "people.csv", index=False)
    asked = ["--quasi", "age", "--sensitive", "income", "--unit", "none", "--method", "private-tree"]
    asked += ["--bounds", "age=0:100", "--bounds", f"income=0:{said}", "--out", str(tmp_path / "out")]
    assert run(["protect", str(tmp_path / "people.csv"), *asked]) == 2
    assert re.search(words, " ".join(capsys.readouterr().err.split()))
    assert not (tmp_path / "out").exists()


def test_a_list_of_a_million_categories_is_refused_with_a_figure() -> None:
    huge = SCHEMA.replace(categories={**SCHEMA.categories, "job": [f"job {i}" for i in range(1_000_000)]})
    with pytest.raises(hr.errors.SchemaError, match=r"1,000,002 categories") as raised:
        PrivateTree().measured(read(people(50)), huge, Seeded(1))
    assert "GB" in str(raised.value)


def test_postcodes_are_not_proposed_as_public(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(2_000)
    frame["postcode"] = [f"P{i % 953:04}" for i in range(len(frame))]
    frame["remark"] = "none"
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = hr.Schema(quasi=["age", "postcode"], sensitive=["income"])
    looked = hr.inspect(frame)
    assert set(looked.public(roles).categories) == set()
    assert "953 different values" in looked.unproposed(roles)[0]
    mine = roles.replace(categories={"postcode": ["P0001", "P0002"]})
    assert looked.public(mine).categories["postcode"] == ("P0001", "P0002")
    assert looked.unproposed(mine) == []
    # by itself it proposes what runs
    pytest.importorskip("opendp")
    assert "postcode" in looked.schema.quasi
    monkeypatch.chdir(tmp_path)
    assert run(["inspect", "people.csv", "--declare"]) == 0
    said = capsys.readouterr().out
    assert "this proposal leaves it out" in " ".join(said.split())
    assert "so this proposal leaves out: remark" in " ".join(said.split())
    assert run(shlex.split(said.splitlines()[-1])[1:]) == 0
    assert "postcode" not in pd.read_csv("release/release.csv").columns


def test_one_cell_does_not_decide_whether_codes_are_numbers(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    frame = people(500)
    frame["code"] = np.arange(500) % 3 + 1
    schema = SCHEMA.replace(quasi=["age", "code"], categories={**SCHEMA.categories, "code": ["1", "2", "3"]})
    types = []
    for odd in (False, True):
        if odd:
            frame = frame.astype({"code": object})
            frame.loc[0, "code"] = "x"
        frame.to_csv(tmp_path / "people.csv", index=False)
        table = hr.protect(tmp_path / "people.csv", schema, hr.PrivateTree(epsilon=2)).table
        assert set(table.column("code").to_pylist()) - {None} <= {"1", "2", "3", "other"}
        types.append(table.schema)
    assert types[0].equals(types[1])


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.int8(), pa.uint8(), pa.int16(), pa.decimal128(12, 2), pa.float32(), pa.string()], ids=str
)
def test_types_are_those_of_what_was_declared(kind: pa.DataType) -> None:
    ages = pa.array(np.random.default_rng(1).integers(18, 60, 400), pa.int32()).cast(kind)
    table = pa.table({"age": ages, "sex": ["f", "m"] * 200})
    for bounds, expected in (((0, 110), pa.int64()), ((18.5, 60.2), pa.float64())):
        schema = hr.Schema(quasi=["age"], sensitive=["sex"], bounds={"age": bounds}, categories={"sex": ["f", "m"]})
        assert hr.protect(table, schema, PrivateTree()).table.schema.field("age").type == expected


def test_columns_that_follow_another_are_refused() -> None:
    with pytest.raises(hr.HedgerowError, match="follow"):
        hr.protect(people(60), SCHEMA.replace(follows={"age": "job"}), PrivateTree())


def test_numbers_beyond_their_bounds_are_said_to_the_steward_alone(tmp_path: Path) -> None:
    table = people(400)
    bounds = {**SCHEMA.bounds, "income": (0, 500)}
    with pytest.warns(UserWarning, match=r"of the values of income lie beyond the bounds 0 to 500 and are moved"):
        release = hr.protect(table, SCHEMA.replace(bounds=bounds), PrivateTree())
    folder = release.write(tmp_path / "out")
    for name in ("RECIPIENT.md", "plan.json"):  # which are public
        assert "beyond" not in (folder / name).read_text()
    assert not [words for words in hr.protect(table, SCHEMA, PrivateTree()).cautions if "lie beyond" in words]


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        (("2020-01-01", "2021-01-01"), "'income' holds numbers, and its bounds or grid are dates"),
        ((0, 1e-320), "bounds of column 'income' are too near"),
        ((1e16, 1e16 + 2), "bounds of column 'income' are too near"),
        ((0, 10**19), "bounds of column 'income' are too large for whole numbers"),
        ((0, 10**400), "two numbers"),
    ],
)
def test_bounds_that_no_bins_lie_between_are_refused(bounds: tuple[Any, Any], says: str) -> None:
    with pytest.raises(hr.errors.SchemaError, match=says):
        hr.protect(people(300), SCHEMA.replace(bounds={**SCHEMA.bounds, "income": bounds}), PrivateTree())


@pytest.mark.parametrize("n", [300, 1_500])
def test_a_top_code_that_noise_hides_is_the_bound(n: int) -> None:
    """Few people once had a top code of a millionth of the bound, and the column was destroyed."""
    table = people(n)
    true = table["income"].median()
    for _ in range(5):
        assert true / 5 < hr.protect(table, SCHEMA, PrivateTree()).table["income"].median() < 5 * true


def test_a_top_code_is_said_to_the_steward_and_the_ends_to_the_recipient(tmp_path: Path) -> None:
    bounds = {**SCHEMA.bounds, "income": (0, 100_000_000)}
    with pytest.warns(UserWarning, match=r"income: released values lie between 0 and [\d,]+, although 0 to 100"):
        release = hr.protect(people(20_000), SCHEMA.replace(bounds=bounds), PrivateTree(epsilon=10))
    words = (release.write(tmp_path / "out") / "RECIPIENT.md").read_text()
    (last,) = re.findall(r"`income` 0 to ([\d,]+)\.", words)
    assert release.table["income"].max() <= int(last.replace(",", "")) < 1_000_000
    assert f"between 0 and {last}, although" in " ".join(release.cautions)
    assert "types and ranges are those of the original" not in words
    assert "a column may have some although the original has none" in words
    assert not any("although" in each for each in hr.protect(people(300), SCHEMA, PrivateTree()).cautions)


ODD_PEOPLE: dict[str, dict[str, Any]] = {
    # what is written (name, income, job), how, and what the schema says of it
    "an umlaut of Windows-1252 in a column that is left out": {"name": "M\u00fcller", "encoding": "cp1252"},
    "the same, declared": {"name": "M\u00fcller", "encoding": "cp1252", "reading": {"encoding": "cp1252"}},
    "a mark at the start of the file": {"encoding": "utf-8-sig"},
    "UTF-16": {"encoding": "utf-16"},
    "a decimal comma": {"income": "41235,5"},
    "a decimal point": {"income": "41235.5"},
    "thousands": {"income": "41.235", "reading": {"decimal": ","}},
    "every cell in quotes": {"quoted": True},
    "a name in quotes": {"name": '"Miller; ""Joe"""'},
    "another end of lines": {"newline": "\r\n"},
    "no income": {"income": ""},
    "a word for no income": {"income": "k.A."},
    "a word for no job": {"job": "NA"},
    "a new job": {"job": "pilot"},
    "a job in UTF-8": {"job": "B\u00e4cker"},
    "a long cell": {"name": "x" * 5_000, "job": "y" * 5_000},
    "a formula": {"name": "=1+1", "job": "=1+1"},
    "blanks beside a job": {"job": " nurse "},
    "an income beyond the bounds": {"income": "999999999"},
    "an income below 0": {"income": "-5"},
    "an age as a float": {"age": "40.0"},
    "a day": {"day": "2020-02-29"},
}


def _written(path: Path, person: dict[str, Any] | None, about: dict[str, Any]) -> None:
    """Write 60 people as a text file with semicolons, and one more if given."""
    rows = [[f"n{i}", str(20 + i % 50), ["cook", "nurse", "B\u00e4cker"][i % 3], str(20_000 + 700 * i), "2020-03-05"]
            for i in range(60)]  # fmt: skip
    if person is not None:
        usual = {"name": "n60", "age": "40", "job": "cook", "income": "41235", "day": "2020-03-06"}
        rows.append([person.get(name, cell) for name, cell in usual.items()])
    lines = [["name", "age", "job", "income", "day"], *rows]
    if about.get("quoted"):
        lines = [[f'"{cell}"' for cell in line] for line in lines]
    newline = about.get("newline", "\n")
    path.write_bytes((newline.join(";".join(line) for line in lines) + newline).encode(about.get("encoding", "utf-8")))


@pytest.mark.parametrize("what", ODD_PEOPLE)
def test_no_odd_person_decides_a_byte_besides_noise(
    what: str, deep: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A letter in the name of one person was once seen in RECIPIENT.md, with certainty."""
    odd = ODD_PEOPLE[what]
    schema = hr.Schema(
        quasi=["age", "job", "day"],
        sensitive=["income"],
        unit=None,
        bounds={"age": (0, 100), "income": (0, 1_000_000), "day": ("2020-01-01", "2020-12-31")},
        categories={"job": ["cook", "nurse", "B\u00e4cker"]},
        **odd.get("reading", {}),
    )
    seen, sources = [], []
    for i, (person, about) in enumerate([(None, {}), ({}, {}), (odd, odd)]):
        (tmp_path / str(i)).mkdir()
        _written(tmp_path / str(i) / "people.csv", person, about)
        sources.append(Seeded(1, sources[0].answers if sources else None))
        path = tmp_path / str(i) / "people.csv"
        seen.append(published(sources[-1], path, tmp_path / f"out{i}", schema, monkeypatch))
    assert seen[0] == seen[1] == seen[2]
    text = dict(seen[0][:3])["release.csv"]
    assert b";" not in text
    assert b"\r" not in text
    assert text.decode().startswith("age,job,income,day")


def test_one_cell_does_not_empty_a_column_of_booleans(tmp_path: Path) -> None:
    """One "yes" among True and False made text of all of them, which came out as missing."""
    draws = np.random.default_rng(1)
    frame = pd.DataFrame({"age": draws.integers(18, 80, 600), "ill": draws.random(600) < 0.3}).astype(object)
    schema = hr.Schema(quasi=["age"], sensitive=["ill"], bounds={"age": (0, 110)}, kinds={"ill": "boolean"})
    for odd in (False, True):
        if odd:
            frame.loc[600] = [40, "yes"]
        frame.to_csv(tmp_path / "people.csv", index=False)
        table = hr.protect(tmp_path / "people.csv", schema, PrivateTree(epsilon=10)).table
        assert table.column("ill").null_count < 60
    frame["ill"] = "no"
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.warns(UserWarning, match="of the values of ill are none of the declared ones"):
        hr.protect(tmp_path / "people.csv", schema, PrivateTree(epsilon=10))


@pytest.mark.parametrize(
    ("decimal", "odd", "is_refused"),
    [("", "1.234.567", True), ("", "22.80", True), ("", "41235", True), (".", "1.234.567", True), (".", "22.80", False),
     (".", "41235", False), (",", "22.80", True), (",", "1.234.567", False), (".", "1.234,5", True)],
)  # fmt: skip
def test_no_cell_decides_whether_others_are_thousands(decimal: str, odd: str, is_refused: bool, tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["age"], sensitive=["income"], bounds={"age": (0, 100), "income": (0, 10**7)})
    path, rows = tmp_path / "people.csv", [f"{20 + i};{20 + i}.807" for i in range(60)]
    path.write_text("\n".join(["age;income", *rows, f"30;{odd}"]) + "\n")
    for people in (path, read(path)):
        if is_refused:
            with pytest.raises(hr.errors.SchemaError, match=r"thousands or fractions.*: income"):
                hr.protect(people, schema.replace(decimal=decimal), PrivateTree())
        else:
            hr.protect(people, schema.replace(decimal=decimal), PrivateTree())


def test_a_file_that_others_cells_decide_how_to_read_is_refused(tmp_path: Path) -> None:
    schema = hr.Schema(
        quasi=["age"],
        sensitive=["income"],
        bounds={"age": (0, 100), "income": (0, 10**6), "day": ("2020-01-01", "2021-01-01")},
    )
    path = tmp_path / "people.csv"
    # so many that noise does not leave an empty table
    rows = [f"{20 + i % 60};{20 + i % 60}.500;0{1 + i % 9}/02/2020" for i in range(900)]
    path.write_text("age;income;day\n" + "\n".join(rows) + "\n")
    with pytest.raises(hr.errors.SchemaError, match=r"thousands or fractions.*: income"):
        hr.protect(path, schema, PrivateTree())
    hr.protect(path, schema.replace(decimal=","), PrivateTree())
    rows[0] = "20;20.500;13/02/2020"  # decides that all of them begin with the day
    path.write_text("age;income;day\n" + "\n".join(rows) + "\n")
    hr.protect(path, schema.replace(decimal="."), PrivateTree())  # the day is left out
    with pytest.raises(hr.errors.SchemaError, match="03/04/2020"):
        hr.protect(path, schema.replace(decimal=".", quasi=["age", "day"]), PrivateTree())
    path.write_text("age;income\n" + "\n".join(f"'{20 + i}';'{20 + i}'" for i in range(60)) + "\n")
    with pytest.raises(hr.errors.InputError, match="quotes"):
        hr.protect(path, schema.replace(bounds={"age": (0, 100), "income": (0, 100)}), PrivateTree())


def test_labels_of_a_statistical_file_are_not_imitated(tmp_path: Path) -> None:
    """One person with a reason for a missing value would make a column, and a label of one person would be seen."""
    import pyreadstat

    frame = people(60)[["age", "income"]].astype(float)
    schema = SCHEMA.replace(quasi=["age"], sensitive=["income"], categories={})
    folders = []
    for i, codes in enumerate(([], [{"lo": 999_999.0, "hi": 999_999.0}])):
        path = tmp_path / str(i) / "people.sav"
        path.parent.mkdir()
        if codes:
            frame.loc[0, "income"] = 999_999.0
        labels = {"income": "gross income of Mr Miller's firm"} if codes else {}
        pyreadstat.write_sav(
            frame, str(path), column_labels=labels or None, missing_ranges={"income": codes} if codes else None
        )
        folders.append(hr.protect(path, schema, PrivateTree()).write(tmp_path / f"out{i}"))
    plans = [json.loads((folder / "plan.json").read_text()) for folder in folders]
    assert plans[0]["order"] == plans[1]["order"] == ["age", "income"]
    assert set(plans[0]) == set(plans[1])
    assert "left_out" not in plans[0]
    for folder in folders:
        _, about = pyreadstat.read_sav(str(folder / "release.sav"))
        assert not any(about.column_labels)
        assert not about.missing_ranges
        assert not about.variable_value_labels


def test_a_plan_whose_columns_are_not_those_of_its_rows_is_damaged(tmp_path: Path) -> None:
    folder = hr.protect(people(300), SCHEMA, PrivateTree()).write(tmp_path / "out")
    plan = json.loads((folder / "plan.json").read_text())
    plan["columns"][0]["name"] = "another"
    (folder / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(hr.errors.PlanError, match="damaged"):
        hr.audit(people(300), folder, attacks=False, learning=False)
    # a record that cannot be read is nothing to be compared with
    folder = hr.protect(people(300), SCHEMA, PrivateTree()).write(tmp_path / "deep")
    (folder / "audit.json").write_text("[" * 100_000)
    assert hr.audit(people(300), folder, attacks=False, learning=False).table["epsilon"] == 1
