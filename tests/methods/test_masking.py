"""The masking methods that PoROP is compared with."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import (
    HedgerowError,
    InfeasibleError,
    InputError,
    ParameterError,
    PlanError,
    SchemaError,
    UnsupportedError,
)
from hedgerow.io.read import read
from hedgerow.key import Key
from hedgerow.measures import Persons, group
from hedgerow.measures.guarantees import from_promise
from hedgerow.methods.masking import (
    PRAM,
    NoiseAddition,
    RankSwapping,
    TopBottomCoding,
    default_matrix,
    invariant_matrix,
    mask_numbers,
)
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.methods.suppression import LocalSuppression, suppress
from hedgerow.plan import Plan
from hedgerow.plan.records import dumps, loads
from hedgerow.release.explain import recoding_in_words
from hedgerow.release.verify import require, verify
from hedgerow.workflow.methods import make, options_of
from hedgerow.workflow.options import split

needs_data = pytest.mark.skipif(
    not os.environ.get("HEDGEROW_DATA"), reason="HEDGEROW_DATA does not name the data folder"
)
METHODS = [
    Microaggregation(3),
    NoiseAddition(0.2, random_state=1),
    NoiseAddition(0.2, correlated=True, random_state=1),
    RankSwapping(0.1, random_state=1),
    TopBottomCoding(top_share=0.1),
    LocalSuppression(2),
]


def figures(n=60, seed=0):
    random = np.random.default_rng(seed)
    a = random.normal(50, 10, n).round(1)
    return pd.DataFrame({"a b": a, "c.d": (2 * a + random.normal(size=n)).round().astype(int)})


def jobs(n=300, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job": random.choice(["cook", "nurse", "smith"], n, p=[0.6, 0.3, 0.1]),
            "town": random.choice(["north", "south"], n),
        }
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{type(m).__name__}")
def test_every_method_keeps_frame_plan_and_its_input(method):
    frame = figures()
    before = frame.copy()
    made = method.fit(frame).transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(made.columns) == list(frame.columns)
    assert made.index.equals(frame.index)
    assert loads(dumps(method.plan_)).recoding == method.plan_.recoding
    assert recoding_in_words(method.plan_.recoding)
    again = method.fit(pl.from_pandas(frame)).transform(pl.from_pandas(frame))
    assert isinstance(again, pl.DataFrame)
    for name in frame:
        assert np.array_equal(again[name].to_numpy(), made[name].to_numpy(), equal_nan=True)


@pytest.mark.parametrize("method", METHODS[:-1], ids=lambda m: f"{type(m).__name__}")
def test_numeric_methods_name_every_column_at_fault(method):
    wrong = figures().assign(job="cook", born=pd.Timestamp("1990-01-01"))
    with pytest.raises((SchemaError, UnsupportedError), match=r"'job'|'born'|MDAV with Gower"):
        method.fit(wrong)
    with pytest.raises(InputError, match="infinite"):
        method.fit(figures().assign(x=np.inf))


# Microaggregation


@needs_data
@pytest.mark.parametrize(
    ("name", "losses"),
    [("census", (5.6922, 7.4947, 9.0884, 14.1559)), ("tarragona", (16.9326, 19.5460, 22.4619, 33.1929))],
)
def test_mdav_loss_equals_the_reference(name, losses):
    table = hr.datasets.load_casc(name)
    for k, loss in zip((3, 4, 5, 10), losses, strict=True):
        assert Microaggregation(k).fit(table).facts_["loss_percent"] == pytest.approx(loss, abs=5e-4)


@pytest.mark.parametrize(("n", "k"), [(60, 3), (61, 7), (9, 5), (5, 5)])
def test_groups_of_k_are_averaged(n, k):
    frame = figures(n)
    method = Microaggregation(k).fit(frame)
    made = method.transform(frame)
    assert np.bincount(method.groups_).min() >= k
    for g in np.unique(method.groups_):
        mine = method.groups_ == g
        assert np.allclose(made[mine], frame[mine].mean().to_numpy())
        assert made[mine].nunique().max() == 1
    release = hr.protect(frame, hr.Schema(quasi=list(frame)), Microaggregation(k))
    assert release.summary()["groups"]["smallest"] >= k


def test_microaggregation_does_not_depend_on_row_order():
    frame = figures(80)
    shuffled = frame.sample(frac=1, random_state=1)
    made = Microaggregation(4).fit_transform(frame)
    other = Microaggregation(4).fit_transform(shuffled)
    pd.testing.assert_frame_equal(other.loc[frame.index], made, check_exact=True)


def test_gower_releases_means_and_most_frequent_categories():
    frame = jobs(90).assign(age=np.arange(90) % 40, member=True)
    frame.loc[[4, 9], "job"] = None
    method = Microaggregation(5).fit(frame)
    made = method.transform(frame)
    assert made["member"].all()
    for g in np.unique(method.groups_):
        mine = method.groups_ == g
        counts = frame["job"][mine].fillna("?").value_counts()
        released = made["job"][mine].fillna("?").unique()
        assert len(released) == 1
        assert counts[released[0]] == counts.max()
        assert np.allclose(made["age"][mine], frame["age"][mine].mean())
    assert made.groupby(list(made), dropna=False).size().min() >= 5


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"k": 1}, ParameterError, "at least 2"),
        ({"k": 61}, ParameterError, "only 60 rows"),
        ({"distance": "far"}, ParameterError, "distance must be one of auto, euclidean, gower, not 'far'"),
    ],
)
def test_microaggregation_parameters(parameters, error, words):
    with pytest.raises(error, match=words):
        Microaggregation(**parameters).fit(figures())


def test_missing_numbers_are_refused_by_name():
    frame = figures()
    frame.loc[2, "a b"] = None
    with pytest.raises(ParameterError, match=r"missing numbers \(NaN\) in: 'a b'"):
        Microaggregation(3).fit(frame)


def test_a_column_without_values_stays_empty():
    frame = jobs(20).assign(job=None)
    assert Microaggregation(3).fit_transform(frame)["job"].isna().all()


# Noise


def test_noise_has_the_size_and_the_correlation_asked_for():
    frame = figures(20_000)
    for correlated, correlation in ((False, 0.0), (True, frame.corr().iloc[0, 1])):
        made = NoiseAddition(0.3, correlated=correlated, random_state=1).fit_transform(frame)
        added = made - frame
        assert np.allclose(added.std() / frame.std(), 0.3, rtol=0.03)
        assert abs(added.corr().iloc[0, 1] - correlation) < 0.03
    assert made["c.d"].dtype == float
    whole = NoiseAddition(0.3, random_state=1, integers=True, clip=True).fit_transform(frame)
    assert whole["c.d"].dtype == frame["c.d"].dtype
    assert whole["a b"].between(frame["a b"].min(), frame["a b"].max()).all()


def test_noise_leaves_missing_cells():
    frame = figures()
    frame.loc[[1, 5], "a b"] = None
    for correlated in (False, True):
        made = NoiseAddition(correlated=correlated).fit_transform(frame)
        assert made.isna().equals(frame.isna())
    for wrong in ({"scale": 0}, {"scale": -1.0}, {"correlated": "pink"}, {"clip": 3}):
        with pytest.raises(ParameterError):
            NoiseAddition(**wrong).fit(frame)


def test_numbers_that_are_missing_are_not_made_up():
    before, after = np.array([[1.0], [np.nan], [3.0]]), np.array([[1.5], [2.0], [2.5]])
    table = read(pd.DataFrame({"a": before[:, 0]}))
    released, there, _ = mask_numbers(table, ["a"], before, after)["a"]
    assert released.to_pylist() == [1.5, None, 2.5]
    assert there.tolist() == [True, False, True]


def test_other_people_do_not_get_these_peoples_values():
    frame = figures()
    method = NoiseAddition(random_state=1).fit(frame)
    assert method.transform(frame).equals(method.transform(frame))
    for other in (frame + 1, frame.iloc[::-1]):
        with pytest.raises(UnsupportedError, match="another table than it was fitted on"):
            method.transform(other)


# Rank swapping


@given(st.integers(2, 200), st.floats(0.001, 1.0), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_swapping_keeps_the_values_and_the_reach(n, proportion, seed):
    frame = pd.DataFrame({"x": np.random.default_rng(seed).permutation(n)})
    made = RankSwapping(proportion, random_state=seed).fit_transform(frame)["x"]
    assert sorted(made) == list(range(n))
    assert np.abs(made - frame["x"]).max() <= max(1, int(proportion * n))


def test_swapping_by_seed_and_with_missing_cells():
    frame = figures()
    frame.loc[[1, 5], "a b"] = None
    one, two = (RankSwapping(0.2, random_state=7).fit_transform(frame) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert one.isna().equals(frame.isna())
    assert not one["c.d"].equals(RankSwapping(0.2, random_state=8).fit_transform(frame)["c.d"])
    for wrong in (0, 1.5, "all", True):
        with pytest.raises(ParameterError, match="proportion"):
            RankSwapping(wrong).fit(frame)


# Top and bottom coding


def test_coding_by_bound_share_and_mean():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10], "y": [5.0] * 9 + [None]})
    by_bound = TopBottomCoding(top={"x": 8.5}, bottom={"x": 2.5}, top_share=0).fit_transform(frame)
    assert by_bound["x"].tolist() == [2.5, 2.5, 3, 4, 5, 6, 7, 8, 8.5, 8.5]
    assert by_bound["y"].equals(frame["y"])
    method = TopBottomCoding(top_share=0.25, bottom_share=0.1).fit(frame)
    assert method.transform(frame)["x"].tolist() == [2, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert method.facts_["coded_at_the_top"] == 2
    by_mean = TopBottomCoding(top_share=0.3, replace="mean").fit_transform(frame)
    assert by_mean["x"].tolist() == [1, 2, 3, 4, 5, 6, 7, 9, 9, 9]


def test_a_mean_of_too_few_is_refused():
    with pytest.raises(ParameterError, match="too few values of column 'x'"):
        TopBottomCoding(top=8, replace="mean").fit(pd.DataFrame({"x": np.arange(11.0)}))
    for wrong in ({"top": {"z": 1}}, {"top": "high"}, {"top_share": 2}, {"top": 1, "bottom": 3}):
        with pytest.raises(ParameterError):
            TopBottomCoding(**wrong).fit(pd.DataFrame({"x": np.arange(11.0)}))


# PRAM


@given(st.integers(2, 6), st.floats(0, 1), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_an_invariant_matrix_keeps_the_counts(d, stay, seed):
    counts = np.random.default_rng(seed).integers(1, 50, d).astype(float)
    matrix = invariant_matrix(default_matrix(d, stay), counts)
    assert np.allclose(counts @ matrix, counts)
    assert np.allclose(matrix.sum(axis=1), 1)
    assert (matrix >= 0).all()


def test_pram_moves_as_the_matrix_says():
    frame = jobs(30_000)
    method = PRAM(0.7, random_state=3).fit(frame)
    made = method.transform(frame)
    moved = pd.crosstab(frame["job"], made["job"], normalize="index").to_numpy()
    assert np.abs(moved - method.matrices_["job"]).max() < 0.02
    before, after = (f["job"].value_counts(normalize=True).sort_index() for f in (frame, made))
    assert np.abs(before - after).max() < 0.01
    given = np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0.25, 0.75]])
    method = PRAM(matrix={"job": given}, invariant=False, random_state=3).fit(frame)
    assert np.array_equal(method.matrices_["job"], given)
    made = method.transform(frame)
    moved = pd.crosstab(frame["job"], made["job"], normalize="index").to_numpy()
    assert np.abs(moved - given).max() < 0.02
    assert (moved[given == 0] == 0).all()


def test_pram_draws_by_key_and_keeps_missing_cells():
    frame = jobs()
    frame.loc[[2, 8], "job"] = None
    one, two = (PRAM(0.5, random_state=1).fit_transform(frame) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(PRAM(0.5, random_state=2).fit_transform(frame))
    assert one.isna().equals(frame.isna())
    key = Key.new()
    keyed = PRAM(0.5, key=key).fit(frame)
    pd.testing.assert_frame_equal(keyed.transform(frame), PRAM(0.5, key=key).fit_transform(frame))
    assert "key" not in keyed.plan_.parameters
    assert PRAM(1.0, invariant=False).fit_transform(frame).equals(frame)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"stay": 1.2}, "stay"),
        ({"matrix": np.eye(2)}, "3 categories"),
        ({"matrix": {"jobs": np.eye(3)}}, "jobs"),
        ({"matrix": {"job": np.ones((3, 3))}}, "sum to 1"),
        ({"matrix": {"job": [["a"]]}}, "not numeric"),
    ],
)
def test_pram_parameters(parameters, words):
    with pytest.raises(ParameterError, match=words):
        PRAM(**parameters).fit(jobs())
    with pytest.raises(SchemaError, match=r"'a b', 'c\.d'"):
        PRAM().fit(figures())


# Local suppression


@given(
    st.integers(2, 40).flatmap(
        lambda n: st.tuples(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=n, max_size=n), st.integers(2, n))
    )
)
@settings(max_examples=150, deadline=None)
def test_suppression_leaves_groups_of_k(case):
    codes, k = np.array(case[0], dtype=np.int64), case[1]
    absent = np.full(3, 3)  # the code 3 is missing already
    hidden = suppress(codes, absent, k, [1.0, 1.0, 2.0])
    made = np.where(hidden, 3, codes)
    _, counts = np.unique(made, axis=0, return_counts=True)
    assert counts.min() >= k
    assert not hidden[codes == 3].any()
    _, group, size = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    if (size[group.ravel()] >= k).all():
        assert not hidden.any()


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("n_columns", [3, 8, 13])
@pytest.mark.parametrize("n_odd", [1, 3])
def test_an_odd_record_hides_what_its_rarity_needs(k, n_columns, n_odd):
    """A record that was odd in one of 8 columns hid 40 cells for k of 5 and 80 for k of 10, where 5 and 10 suffice."""
    codes = np.zeros((100, n_columns), dtype=np.int64)
    codes[0, :n_odd] = 1
    hidden = suppress(codes, np.full(n_columns, 2), k, [1.0] * n_columns)
    assert hidden.sum() == k * n_odd
    assert hidden[0].tolist() == [True] * n_odd + [False] * (n_columns - n_odd)


def test_the_help_of_a_group_that_can_spare_none_is_all_of_it():
    codes = np.array([[0, 0]] * 4 + [[1, 0]])
    hidden = suppress(codes, np.full(2, 2), 3, [1.0, 1.0])
    assert hidden.tolist() == [[True, False]] * 5


def test_a_thirteenth_column_costs_at_most_itself():
    """Between 12 and 13 columns the hidden cells went from 1,820 to 4,260."""
    codes = np.random.default_rng(3).choice(3, (400, 14), p=[0.7, 0.2, 0.1])
    cells = [int(suppress(codes[:, :n], np.full(n, 3), 5, [1.0] * n).sum()) for n in (12, 13, 14)]
    assert all(more - fewer <= len(codes) for fewer, more in itertools.pairwise(cells))


@pytest.mark.parametrize("unit", [None, "who"])
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=6, max_size=40), st.integers(2, 3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_columns_beyond_those_of_which_all_sets_are_tried_leave_groups_of_k(monkeypatch, unit, rows, k):
    monkeypatch.setattr("hedgerow.methods.suppression.ALL_SUBSETS", 2)
    codes, persons = np.array(rows, dtype=np.int64), None
    if unit:
        who = np.arange(len(codes)) // 2 % max(len(codes) // 2, 1)
        frame = pd.DataFrame({"who": who.astype(str)})
        persons = Persons.from_table(read(frame), unit)
        if persons is None or persons.n < k:
            return
    hidden = suppress(codes, np.full(4, 2), k, [1.0, 1.0, 2.0, 1.0], persons)
    groups = group(list(np.where(hidden, 2, codes).T))
    sizes = groups.sizes if persons is None else persons.sizes(groups)
    assert sizes.min() >= k
    assert not hidden[codes == 2].any()


def _smallest(frame: pd.DataFrame, sets: Iterable[Iterable[str]]) -> int:
    """Return the size of the smallest group of any of the sets of columns; missing equals missing."""
    return min(frame[[*columns]].astype(str).groupby([*columns]).size().min() for columns in sets)


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=3, max_size=40),
    st.integers(2, 3),
    st.lists(st.sets(st.integers(0, 3), min_size=1).map(sorted), min_size=1, max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_combinations_leave_groups_of_k_and_hide_no_more_than_all_columns(rows, k, sets):
    codes, absent = np.array(rows, dtype=np.int64), np.full(4, 3)
    hidden = suppress(codes, absent, k, [1.0] * 4, sets=sets)
    left = np.where(hidden, 3, codes)
    assert all(np.unique(left[:, columns], axis=0, return_counts=True)[1].min() >= k for columns in sets)
    every = sorted({c for columns in sets for c in columns})
    assert hidden.sum() <= suppress(codes[:, every], absent[every], k, [1.0] * len(every)).sum()
    assert not hidden[:, [c for c in range(4) if c not in every]].any()


def _houses() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {name: rng.choice(list("abcd"), 300, p=[0.6, 0.3, 0.08, 0.02]) for name in ("roof", "wall", "water", "sex")}
    )


@pytest.mark.parametrize("combinations", [2, 3, [["roof", "sex"], ["wall", "water", "sex"]]])
def test_k_holds_in_chosen_combinations(combinations, tmp_path):
    """As localSuppression of sdcMicro does by its `combs`."""
    people = _houses()
    schema, sets = hr.Schema(quasi=list(people)), combinations
    if isinstance(combinations, int):
        sets = list(itertools.combinations(people, combinations))
    release = hr.protect(people, schema, LocalSuppression(4, combinations=combinations))
    assert _smallest(release.table, sets) >= 4
    whole = hr.protect(people, schema, LocalSuppression(4))
    assert release.table.isna().sum().sum() < whole.table.isna().sum().sum()
    (promise,) = release.plan.promises
    assert promise == {"kind": "k_in_combinations", "least": 4, "sets": [list(each) for each in sets]}
    (check,) = [check for check in release.verify() if check.name == "k-anonymity in combinations"]
    assert (check.required, check.holds) == (4, True)
    assert check.reached >= 4
    folder = release.write(tmp_path / "out")
    words = (Path(folder) / "RECIPIENT.md").read_text()
    assert "shared by at least 4 records; of all quasi-identifiers together nothing is promised" in words
    assert loads(dumps(release.plan)).promises == release.plan.promises


def test_combinations_that_a_plan_promises_are_checked():
    people = _houses()
    release = hr.protect(people, hr.Schema(quasi=list(people)), LocalSuppression(4, combinations=2))
    for sets, words in (
        ([["roof", "wall", "water", "sex"]], "1 of 1 combinations of columns"),
        ([["pay"]], "no quasi-identifiers"),
    ):
        plan = replace(release.plan, promises=({"kind": "k_in_combinations", "least": 4, "sets": sets},))
        with pytest.raises(HedgerowError, match=words):
            require(verify(plan, read(people), read(release.table)).checks)
    for sets in ([], ["roof"], [[]], None):
        with pytest.raises(PlanError, match="damaged"):
            from_promise({"kind": "k_in_combinations", "least": 4, "sets": sets})


@pytest.mark.parametrize(
    ("combinations", "words"),
    [
        ([["pay"], ["roof"]], "no quasi-identifiers: 'pay'"),
        ([[]], "empty"),
        (0, "at least 1"),
        ("2", "list of lists"),
        ([2], "list of lists"),
    ],
)
def test_combinations_that_cannot_be_are_refused(combinations, words):
    with pytest.raises(ParameterError, match=words):
        hr.protect(_houses(), hr.Schema(quasi=["roof", "sex"]), LocalSuppression(4, combinations=combinations))


def test_too_many_combinations_are_refused_with_their_number():
    frame = pd.DataFrame({f"c{i}": ["a"] * 20 for i in range(30)})
    with pytest.raises(ParameterError, match="27,405 combinations of 4"):
        LocalSuppression(2, combinations=4).fit(frame)


@pytest.mark.parametrize(
    ("flags", "combinations"),
    [(["--combinations", "2"], 2), (["--combinations", "roof+sex,water+wall"], [["roof", "sex"], ["water", "wall"]])],
)
def test_the_command_line_and_toml_take_combinations(tmp_path, monkeypatch, flags, combinations):
    monkeypatch.chdir(tmp_path)
    _houses().to_csv("houses.csv", index=False)
    names = "roof,wall,water,sex"
    asked = ["protect", "houses.csv", "--quasi", names, "--method", "local-suppression", "-k", "4", "--no-report"]
    assert run([*asked, *flags, "--out", "out"]) == 0
    Path("c.toml").write_text(f'combinations = "{flags[1]}"\n')
    assert run([*asked, "--config", "c.toml", "--out", "toml"]) == 0
    for folder in ("out", "toml"):
        assert json.loads(Path(folder, "plan.json").read_text())["parameters"]["combinations"] == combinations
    method = make("local-suppression", {"combinations": split(flags[1])})
    assert method.combinations == combinations
    assert make("local-suppression", options_of(method)).combinations == combinations


def test_important_columns_lose_fewer_cells():
    frame = jobs().assign(age=np.random.default_rng(1).integers(18, 60, 300))
    lost = []
    for weight in (0.2, 1, 5):
        method = LocalSuppression(3, importance={"age": weight}).fit(frame)
        lost.append(method.columns_[2].suppressed)
    assert lost[0] >= lost[1] >= lost[2]
    assert lost[0] > lost[2]


def test_missing_equals_missing_and_nothing_else():
    frame = pd.DataFrame({"x": ["a", "a", None, None, "b"], "y": ["p"] * 5})
    method = LocalSuppression(2).fit(frame)
    made = method.transform(frame)
    # The last record joins the missing ones; the wildcard reading would not need to.
    assert made["x"].isna().tolist() == [False, False, True, True, True]
    assert method.facts_["cells_suppressed"] == 1
    release = hr.protect(frame, hr.Schema(quasi=["x", "y"]), LocalSuppression(2))
    assert release.summary()["groups"]["smallest"] == 2
    with pytest.raises(InfeasibleError, match="only 5 rows"):
        LocalSuppression(6).fit(frame)
    for wrong in ({"z": 1.0}, {"x": 0}, {"x": "much"}):
        with pytest.raises(ParameterError, match="importance"):
            LocalSuppression(2, importance=wrong).fit(frame)


def test_a_release_says_what_was_done(tmp_path):
    schema = hr.Schema(quasi=["a b", "c.d"])
    folder = hr.protect(figures(), schema, Microaggregation(4)).write(tmp_path / "out")
    assert "microaggregation" in (folder / "MASKING.md").read_text()
    assert Plan.load(folder / "plan.json").recoding.kind == "mask"


@pytest.mark.parametrize("method", [hr.TopBottomCoding(), hr.NoiseAddition(1e-9, random_state=1)])
def test_the_reader_is_not_told_that_every_cell_was_altered(method, tmp_path):
    people = hr.datasets.make_people(200, seed=1).select(["age", "income"])
    release = hr.protect(people, hr.Schema(quasi=["age", "income"]), method)
    out = release.write(tmp_path / "out")
    for name in ("MASKING.md", "RECIPIENT.md"):
        text = (out / name).read_text()
        assert "may have been altered" in text
        assert "are not the values of the person" not in text
