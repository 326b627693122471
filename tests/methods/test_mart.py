"""MART: parameters, scikit-learn's conventions, styles of recoding, criteria."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from hedgerow.errors import HedgerowError, InfeasibleError, ParameterError, PlanError, SchemaError, UnsupportedError
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.measures import Classes
from hedgerow.measures.disclosure import column_disclosure
from hedgerow.measures.guarantees import LDiversity, TCloseness
from hedgerow.methods.group_cells import public_step
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian
from hedgerow.notation import counted
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

QUASI = ["age", "job"]


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, n), rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "age": age,
            "job": np.array(["clerk", "cook", "nurse", "smith"])[job],
            "pay": age * 20.0 + 300 * job + rng.normal(0, 150, n),
            "debt": age * 3.0 + rng.normal(0, 90, n),
            "ill": np.where(rng.random(n) < 0.2 + 0.1 * job, "yes", "no"),
        }
    )


def fit(frame: Any = None, y: Any = ("pay", "debt"), **parameters: Any) -> MART:
    given = people() if frame is None else frame
    return MART(**parameters).fit(given[QUASI], given[list(y)])


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 1},
        {"k": 0},
        {"k": -5},
        {"k": 2.5},
        {"k": "ten"},
        {"k": True},
        {"k": None},
        {"k": 301},
        {"max_disclosure": 0},
        {"max_disclosure": -0.1},
        {"max_disclosure": 1.1},
        {"max_disclosure": float("nan")},
        {"max_disclosure": "half"},
        {"max_disclosure": True},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": -1},
        {"alpha": float("nan")},
        {"alpha": "x"},
        {"min_leaf": 0},
        {"min_leaf": 11},
        {"min_leaf": 2.5},
        {"min_leaf": True},
        {"numeric": "sum"},
        {"categorical": "drop"},
        {"max_bins": 1},
        {"max_bins": 100_000},
        {"max_bins": 2.5},
        {"max_depth": -1},
        {"max_depth": 1.5},
        {"max_depth": "deep"},
        {"max_depth": True},
        {"categorical": "hierarchy"},
        {"numeric": None},
        {"categorical": None},
    ],
    ids=str,
)
def test_parameters_out_of_range(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        fit(**parameters)


@pytest.mark.parametrize("criterion", [LDiversity(2, "distinct"), LDiversity(2, "recursive", c=1.0), TCloseness(0.2)])
def test_criteria_that_cannot_be_kept_while_growing(criterion: Any) -> None:
    with pytest.raises(UnsupportedError):
        fit(y=["ill"], criteria=[criterion])


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("pay", [5.0] * 300, "constant"),
        ("pay", [np.nan] * 300, "missing"),
        ("pay", [np.inf] + [1.0] * 299, "infinite"),
        ("age", [np.inf] + [1.0] * 299, "infinite"),
        ("age", [np.nan] * 300, "missing"),
        ("job", [None] * 300, "missing"),
        ("ill", ["yes"] * 300, "constant"),
    ],
)
def test_columns_that_cannot_be_used(column: str, values: list[Any], says: str) -> None:
    frame = people()
    frame[column] = values
    with pytest.raises(HedgerowError, match=says) as caught:
        # beside another sensitive column a constant stays as it is
        fit(frame, y=[column] if says == "constant" else ["pay", "ill"])
    assert repr(column) in str(caught.value)


def test_constant_quasi_identifiers_are_no_obstacle() -> None:
    frame = people()
    frame["job"] = "clerk"
    assert set(fit(frame).transform(frame[QUASI])["job"]) == {"clerk"}


def test_a_text_column_cannot_be_numeric() -> None:
    frame = people()
    with pytest.raises(SchemaError, match="'ill'"):
        MART(schema=Schema(kinds={"ill": "numeric"})).fit(frame[QUASI], frame[["ill"]])


def test_a_sensitive_column_is_needed() -> None:
    with pytest.raises(ParameterError, match="sensitive"):
        MART().fit(people()[QUASI])


def test_rows_must_agree() -> None:
    with pytest.raises(ParameterError, match="300 rows"):
        MART().fit(people()[QUASI], people(299)[["pay"]])


def test_errors_hold_no_value() -> None:
    frame = people()
    frame["pay"] = 987654.321
    with pytest.raises(HedgerowError) as caught:
        fit(frame, y=["pay"])
    assert "987654" not in str(caught.value)


def test_parameters_are_kept_as_given() -> None:
    criteria = [LDiversity(1.2, columns=("ill",))]
    schema = Schema(kinds={"age": "numeric"})
    mart = MART(k=7, max_disclosure=0.3, criteria=criteria, schema=schema)
    before = mart.get_params()
    frame = people()
    mart.fit(frame[QUASI], frame[["pay", "ill"]])
    assert mart.get_params() == before
    assert mart.criteria is criteria
    assert mart.schema is schema
    twin = clone(mart)
    assert twin.get_params() == {**before, "criteria": twin.criteria, "schema": twin.schema}
    assert not hasattr(twin, "plan_")
    assert twin.set_params(k=9).k == 9
    # nothing is checked before fit
    assert MART(k=-3).get_params()["k"] == -3


def test_not_fitted() -> None:
    for call in (
        lambda: MART().transform(people()[QUASI]),
        lambda: MART().path(),
        lambda: MART().get_feature_names_out(),
    ):
        with pytest.raises(NotFittedError):
            call()


def frames(frame: pd.DataFrame) -> dict[str, Any]:
    return {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_the_same_kind_of_frame_and_nothing_changed(kind: str) -> None:
    frame = frames(people())[kind]
    before = frames(people())[kind]
    X, y = (
        frame[QUASI] if kind != "arrow" else frame.select(QUASI),
        frame[["pay"]] if kind != "arrow" else frame.select(["pay"]),
    )
    mart = MART(k=10)
    released = mart.fit_transform(X, y)
    assert type(released) is type(X)
    assert mart.fit(X, y) is mart
    assert frame.equals(before)
    names = released.column_names if kind == "arrow" else list(released.columns)
    assert names == QUASI == mart.get_feature_names_out().tolist() == mart.feature_names_in_.tolist()
    assert mart.n_features_in_ == 2
    reference = MART(k=10).fit_transform(people()[QUASI], people()[["pay"]])
    for name in QUASI:
        column = released.column(name).to_pylist() if kind == "arrow" else released[name].to_list()
        assert column == reference[name].tolist()


@pytest.mark.parametrize("y", ["series", "frame", "array", "list"])
def test_every_way_to_give_the_sensitive_column(y: str) -> None:
    frame = people()
    given = {
        "series": frame["pay"],
        "frame": frame[["pay"]],
        "array": frame["pay"].to_numpy(),
        "list": frame["pay"].tolist(),
    }[y]
    assert MART().fit(frame[QUASI], given).tree_.n_leaves == MART().fit(frame[QUASI], frame["pay"]).tree_.n_leaves > 1


def test_a_sensitive_column_may_have_the_name_of_a_quasi_identifier() -> None:
    frame = people()
    assert MART().fit(frame[QUASI], frame["pay"].rename("age")).tree_.n_leaves > 1


def test_an_array_of_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    released = MART(k=10, numeric="mean").fit_transform(X, X @ [1.0, 2.0, 0.5])
    assert isinstance(released, np.ndarray)
    assert released.shape == X.shape
    assert len(np.unique(released.astype(float), axis=0)) > 3


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_in_a_pipeline_under_cross_validation(kind: str) -> None:
    frame = frames(people(600))[kind]
    pipeline = make_pipeline(MART(k=10), OneHotEncoder(handle_unknown="ignore"), LinearRegression())
    scores = cross_val_score(pipeline, frame[QUASI], frame["pay"], cv=5)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.3  # age and job explain most of pay; released groups still most of that


def test_columns_that_lack_at_transform() -> None:
    with pytest.raises(PlanError, match="yet now missing:\n- job"):
        fit().transform(people()[["age"]])


def test_every_group_keeps_k_and_disclosure() -> None:
    frame = people(1000)
    leaves = []
    for d in (0.2, 0.5, None):
        mart = fit(frame, y=["pay", "debt", "ill"], k=12, max_disclosure=d)
        released = mart.transform(frame[QUASI]).assign(**frame[["pay", "debt", "ill"]])
        made = Classes.from_table(read(released), QUASI, ["pay", "debt", "ill"])
        assert made.sizes.min() >= 12
        told = max(column_disclosure(column).max() for column in made.sensitive.values())
        assert told <= (d or 1) + 1e-9
        leaves.append(mart.tree_.n_leaves)
    assert 1 < leaves[0] < leaves[1] < leaves[2]  # what is allowed is used


@pytest.mark.parametrize("diversity", ["frequency", "entropy"])
def test_diverse_groups(diversity: str) -> None:
    frame = people(1000)
    criterion = LDiversity(1.3, diversity)
    mart = fit(frame, y=["pay", "ill"], k=5, max_disclosure=None, criteria=[criterion])
    free = fit(frame, y=["pay", "ill"], k=5, max_disclosure=None)
    assert 1 < mart.tree_.n_leaves < free.tree_.n_leaves
    for fitted, keeps in ((mart, True), (free, False)):
        released = fitted.transform(frame[QUASI]).assign(ill=frame["ill"])
        made = Classes.from_table(read(released), QUASI, ["ill"])
        assert criterion.check(made).holds is keeps
    assert {"kind": "l_diversity", "l": 1.3, "diversity": diversity, "columns": ("ill",)} in [
        dict(p) for p in mart.plan_.promises
    ]


@pytest.mark.parametrize(
    ("y", "criterion", "error"),
    [
        (["pay", "ill"], LDiversity(2.5), InfeasibleError),
        (["pay", "ill"], LDiversity(1.9, "frequency"), InfeasibleError),
        (["pay"], LDiversity(1.2), ParameterError),
        (["pay", "ill"], LDiversity(1.2, columns=("pay",)), ParameterError),
        (["pay", "ill"], LDiversity(1.2, columns=("nowhere",)), ParameterError),
    ],
)
def test_diversity_that_cannot_be(y: list[str], criterion: LDiversity, error: type[Exception]) -> None:
    with pytest.raises(error):
        fit(y=y, criteria=[criterion])


# Two groups by job; ages missing and present, dates, a category with a joining sign
MIXED = pd.DataFrame(
    {
        "age": [20, 30, np.nan, 40, 50, 61, 61, 61],
        "job": ["a+b", "a+b", "c", None, "x", "y", "z", "z"],
        "born": [dt.date(2000, 1, d) for d in (1, 2, 3, 5, 9, 9, 9, 9)],
        "pay": [1.0, 2.0, 1.0, 2.0, 90.0, 91.0, 90.0, 92.0],
    }
)
HIERARCHY = Hierarchy(
    {
        "a+b": ("a+b", "early", "*"),
        "c": ("c", "early", "*"),
        "x": ("x", "late", "*"),
        "y": ("y", "late", "*"),
        "z": ("z", "late", "*"),
    }
)


def mixed(numeric: str = "range", categorical: str = "concatenate", quasi: list[str] | None = None) -> pd.DataFrame:
    quasi = quasi or ["job", "age", "born"]
    mart = MART(
        k=4,
        max_disclosure=None,
        numeric=numeric,
        categorical=categorical,
        schema=Schema(hierarchies={"job": HIERARCHY}),
    )
    return mart.fit_transform(MIXED[quasi], MIXED["pay"])


@pytest.mark.parametrize(
    ("style", "ages", "births"),
    [
        ("range", ["[20-40]+(missing)", "[50-61]"], ["[2000-01-01/2000-01-05]", "2000-01-09"]),
        # public steps; three known ages are fewer than k
        ("mean", ["*", "58"], ["2000-01-03", "2000-01-09"]),
        ("median", ["*", "60"], ["2000-01-02", "2000-01-09"]),
    ],
)
def test_numbers_and_dates(style: str, ages: list[Any], births: list[str]) -> None:
    released = mixed(numeric=style)
    assert released["age"].tolist() == [ages[0]] * 4 + [ages[1]] * 4
    assert released["born"].astype(str).tolist() == [births[0]] * 4 + [births[1]] * 4


@pytest.mark.parametrize(
    ("style", "first", "second"),
    [
        ("concatenate", '"a+b"+c+(missing)', "x+y+z"),
        ("weighted", '"a+b":2+c:1+(missing):1', "x:1+y:1+z:2"),
        ("hierarchy", "*", "late"),
        ("suppress", "*", "*"),
    ],
)
def test_categories(style: str, first: str, second: str) -> None:
    released = mixed(categorical=style)
    assert released["job"].tolist() == [first] * 4 + [second] * 4


def test_categories_have_their_counts_unless_the_papers_form_is_asked_for() -> None:
    """A set without shares, such as `no+yes`, was read as half and half."""
    people = pd.DataFrame({"smokes": ["no", "no", "no", "yes"] * 2, "pay": range(8)})
    assert set(MART(k=8).fit_transform(people[["smokes"]], people["pay"])["smokes"]) == {"no:6+yes:2"}
    papers = MART(k=8, categorical="concatenate")
    assert set(papers.fit_transform(people[["smokes"]], people["pay"])["smokes"]) == {"no+yes"}


def test_applying_says_that_counts_and_means_are_not_those_of_other_people() -> None:
    people = pd.DataFrame({"smokes": ["no", "no", "no", "yes"] * 2, "pay": range(8)})
    schema = Schema(quasi=["smokes"], sensitive=["pay"])
    plan = protect(people, schema, MART(k=8)).plan
    with pytest.warns(UserWarning, match=r"smokes \(weighted\): these cells describe the groups of the plan's own"):
        plan.apply(people.tail(1))
    joined = protect(people, schema, MART(k=8, categorical="concatenate")).plan
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*these cells describe")
        joined.apply(people.tail(1))


class ExactMeans(MART):
    rounds = False


@pytest.mark.parametrize("style", ["mean", "median"])
@pytest.mark.parametrize("method", [MART, Mondrian])
def test_means_and_medians_stand_at_multiples_of_a_public_step(method: Any, style: str) -> None:
    """They were printed with all their digits, which give sums of small groups away."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(50, 20, 900), "pay": rng.normal(size=900)})
    fitted = method(k=10, numeric=style).fit(frame[["x"]], frame["pay"])
    (column,) = fitted.plan_.recoding.columns
    assert column.step == public_step(read(frame).column("x").value_counts) > 1
    released = fitted.transform(frame[["x"]])["x"]
    assert released.nunique() > 3
    assert (released % column.step == 0).all()
    schema = Schema(quasi=["x"], sensitive=["pay"])
    release = protect(frame, schema, method(k=10, numeric=style))
    assert "means and shares" in {check.name for check in release.checks}
    assert release.summary()["groups"]["smallest"] >= 10


@pytest.mark.parametrize("style", ["mean", "median"])
def test_groups_whose_means_read_alike_are_told_as_one(style: str) -> None:
    """Where two leaves had the same label, its counts of missing values were those of either."""
    x = np.repeat([50.0, 51.0, 90.0], 12)
    frame = pd.DataFrame({"x": np.where(np.arange(36) % 6 == 0, np.nan, x), "pay": np.repeat([1.0, 5.0, 3.0], 12)})
    schema = Schema(quasi=["x"], sensitive=["pay"])
    release = protect(frame, schema, MART(k=5, numeric=style, max_disclosure=None))
    for label, rows in release.table.assign(n=1).groupby("x").agg(n=("n", "sum")).iterrows():
        told = counted(str(label))
        assert told is None or sum(told) == rows["n"]


@pytest.mark.parametrize("style", ["mean", "median"])
def test_a_centre_lies_within_its_group(style: str) -> None:
    """Three times 0.1, divided by three, is more than 0.1 in doubles."""
    frame = pd.DataFrame({"x": [0.1] * 3 + [1.7e308] * 2 + [1.6e308]})
    released = ExactMeans(k=3, numeric=style, max_disclosure=None).fit_transform(frame, [1, 2, 3, 9, 8, 9])
    assert released["x"].tolist()[:3] == [0.1] * 3
    assert 1.6e308 < released["x"].iloc[3] <= 1.7e308


def test_a_wholly_missing_group_stays_missing() -> None:
    frame = MIXED.assign(age=[np.nan] * 4 + [50, 61, 61, 61], job=[None] * 4 + ["x", "y", "z", "z"])
    released = MART(k=4, max_disclosure=None).fit_transform(frame[["job", "age"]], frame["pay"])
    assert released["age"].isna().tolist() == [True] * 4 + [False] * 4
    assert released["job"].isna().tolist() == [True] * 4 + [False] * 4


def test_a_hierarchy_that_lacks_categories() -> None:
    frame = MIXED.assign(job=["q"] * 4 + ["x"] * 4)
    mart = MART(k=4, categorical="hierarchy", max_disclosure=None, schema=Schema(hierarchies={"job": HIERARCHY}))
    with pytest.raises(SchemaError, match="lacks 1 "):
        mart.fit(frame[["job"]], frame["pay"])


def test_the_order_of_the_rows_does_not_matter() -> None:
    frame = people(2000)
    order = np.random.default_rng(1).permutation(2000)
    for y in (["pay"], ["pay", "debt"], ["pay", "ill"]):
        one = fit(frame, y=y, k=5)
        two = fit(frame.iloc[order], y=y, k=5)
        assert one.plan_ == two.plan_
        assert one.tree_.to_table().equals(two.tree_.to_table())
        assert one.plan_ == fit(frame, y=y, k=5).plan_


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_smaller_leaves_are_pruned_to_k(alpha: float) -> None:
    frame = people(800)
    mart = fit(frame, k=10, min_leaf=3, alpha=alpha, max_disclosure=None)
    table = mart.tree_.to_table().to_pandas()
    assert table.loc[table["leaf"], "n"].min() >= 10
    assert table.loc[~table["leaf"], "p_value"].min() >= alpha or len(table) == 1


def test_the_path_begins_with_the_grown_tree() -> None:
    mart = fit(k=10)
    path = mart.path()
    assert path.to_table()["groups"][0].as_py() == mart.tree_.n_leaves
    assert path[len(path) - 1].n_leaves == 1
    with pytest.raises(IndexError):
        path[len(path)]


def test_depth_is_limited() -> None:
    assert fit(max_depth=1, max_disclosure=None).tree_.n_leaves == 2
    assert fit(max_depth=0).tree_.n_leaves == 1


def test_many_distinct_numbers_are_cut_at_quantiles() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000)})
    y = pd.Series(np.sin(3 * frame["x"]) + rng.normal(0, 0.2, 3000), name="y")
    few = MART(k=10, max_bins=4, max_disclosure=None).fit(frame, y)
    assert few.tree_.n_leaves <= 4
    assert MART(k=10, max_disclosure=None).fit(frame, y).tree_.n_leaves > 100


def test_columns_of_0_and_1_are_categories() -> None:
    """A group of people who smoke and people who do not was told as [0-1]; counts say how many of each there are."""
    n = 240
    table = pa.table({"age": [i % 60 for i in range(n)], "smokes": [i * i % 7 % 2 for i in range(n)],
                      "sex": [1 + i % 2 for i in range(n)], "pay": [(i * 37) % 91 for i in range(n)]})  # fmt: skip
    schema = Schema(quasi=["age", "smokes", "sex"], sensitive=["pay"])
    released = protect(table, schema, MART(10, max_disclosure=1.0)).table
    cells = set(released["smokes"].to_pylist())
    assert "[0-1]" not in cells
    assert any(cell.startswith("0:") and "+1:" in cell for cell in cells)
    for declared in (schema.replace(kinds={"smokes": "numeric"}), schema.replace(grid={"smokes": [0, 1]})):
        kinds = {c.name: c.kind for c in protect(table, declared, MART(10, max_disclosure=1.0)).plan.columns}
        assert kinds["smokes"] == "numeric"
    fitted = MART(10).fit(table.select(["age", "smokes"]), table.select(["pay"]))
    assert {c.name: c.kind for c in fitted.plan_.columns}["smokes"] == "categorical"
