"""scikit-learn's own checks on every method; exemptions have their reasons."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow as hr

from .methods import CASES

TEXT = "released cells are text here, and the check takes differences"
COUNTED = "means beside missing values are text, and the check takes differences"
ONE_TABLE = "a masked value depends on the whole table, so no other table can be transformed"
BOUND = "draws are bound to the whole table, lest two releases under one key expose them"
FREQUENT = "y has a value more frequent than 1/l, which is refused"

WHOLE_TABLE = ("check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_fit_idempotent")
OF_TEXT = ("check_estimators_pickle", "check_transformer_data_not_an_array", "check_transformer_general", *WHOLE_TABLE)
EXEMPT = {
    "Datafly": dict.fromkeys(OF_TEXT, TEXT),
    "Incognito": dict.fromkeys(OF_TEXT, TEXT),
    "Hedge": {"check_estimators_pickle": COUNTED},
    "MART": {"check_estimators_pickle": COUNTED},
    "Mondrian": {"check_estimators_pickle": COUNTED},
    "RandomizedResponse": {"check_methods_subset_invariance": BOUND},
    "Anatomy": {"check_fit_idempotent": FREQUENT, "check_fit_check_is_fitted": FREQUENT},
} | dict.fromkeys(
    ("PoROP", "LiROP", "Microaggregation", "NoiseAddition", "RankSwapping", "PRAM", "LocalSuppression"),
    dict.fromkeys(WHOLE_TABLE, ONE_TABLE),
)
# the checks' columns are numbers without names, and PRAM moves categories
CATEGORIES = hr.Schema(kinds={f"x{i}": "categorical" for i in range(20)})
ESTIMATORS = [
    hr.MART(2, numeric="mean"),
    hr.Hedge(2, screen=False),
    hr.Mondrian(2, numeric="mean"),
    hr.Datafly(2),
    hr.Incognito(2),
    hr.TreePatternPreserving(k=2),
    hr.RandomizedResponse(1.8, random_state=0),
    hr.Anatomy(2, random_state=0),
    hr.PoROP(5, degree=2, random_state=0),
    hr.LiROP(5, random_state=0),
    hr.Microaggregation(2),
    hr.NoiseAddition(random_state=0),
    hr.RankSwapping(random_state=0),
    hr.PRAM(random_state=0, schema=CATEGORIES),
    hr.TopBottomCoding(),
    hr.LocalSuppression(2),
]


def exempt(estimator: Any) -> dict[str, str]:
    return EXEMPT.get(type(estimator).__name__, {})


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=".*does not inherit from")  # docs/decisions/0004
    conventions = parametrize_with_checks(ESTIMATORS, expected_failed_checks=exempt)


@pytest.mark.filterwarnings("ignore::UserWarning")
@conventions
def test_conventions(estimator: Any, check: Any) -> None:
    np.random.seed(0)  # noqa: NPY002 - some checks draw from it
    check(estimator)


def test_every_method_is_checked() -> None:
    checked = {type(estimator) for estimator in ESTIMATORS}
    assert checked == {type(case.make()) for case in CASES}
    public = {getattr(hr, name) for name in hr.__all__ if name[0].isupper()}
    # a fit of PrivateTree needs declared columns, and draws noise that nothing repeats
    methods = {c for c in public if hasattr(c, "fit_table")} - {hr.PrivateTree}
    assert checked == methods
    assert set(EXEMPT) <= {c.__name__ for c in checked}


def people(n: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "job": rng.choice(["cook", "nurse"], n)})
    return X, pd.Series(X["age"] * 100 + rng.normal(0, 200, n), name="pay")


def test_pipelines_searches_and_column_transformers() -> None:
    X, y = people()
    encoder = OneHotEncoder(handle_unknown="ignore")
    whole = make_pipeline(hr.MART(5), encoder, LinearRegression())
    assert cross_val_score(whole, X, y, cv=3).mean() > 0
    search = GridSearchCV(whole, {"mart__k": [3, 20], "mart__numeric": ["range", "mean"]}, cv=3)
    assert set(search.fit(X, y).best_params_) == {"mart__k", "mart__numeric"}
    both = make_column_transformer((hr.MART(5, numeric="mean"), ["age"]), (encoder, ["job"]))
    assert both.fit_transform(X, y).shape == (200, 3)
    assert "MART" in whole._repr_html_()


def test_masked_numbers_in_cross_validation() -> None:
    """Fixed bounds mask any rows; methods that need the whole table refuse with a hint."""
    X, y = people()
    X = X[["age"]]
    coded = make_pipeline(hr.TopBottomCoding(top_share=0.2), LinearRegression())
    assert cross_val_score(coded, X, y, cv=3).mean() > 0
    fitted = hr.TopBottomCoding(top=60, bottom=30, integers=True).fit(X)
    other = pd.DataFrame({"age": pd.array([10, 45, 99, None], "Int64")})
    assert fitted.transform(other)["age"].tolist()[:3] == [30, 45, 60]
    assert fitted.transform(X)["age"].tolist() == X["age"].clip(30, 60).tolist()
    noisy = make_pipeline(hr.NoiseAddition(random_state=0), LinearRegression())
    with pytest.raises(hr.errors.UnsupportedError, match="mask the whole table first"):
        cross_val_score(noisy, X, y, cv=3, error_score="raise")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_gives_what_is_asked_for(kind: str) -> None:
    import polars as pl

    X, y = people()
    wanted = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind]
    for given in (X, pl.from_pandas(X), X.to_numpy()):
        made = hr.MART(5).set_output(transform=kind).fit_transform(given, y)
        assert type(made) is wanted
        assert len(made) == 200
    with pytest.raises(hr.errors.ParameterError, match="one of"):
        hr.MART(5).set_output(transform="arrow")


def test_scikit_learn_is_not_imported_to_protect_a_table(tmp_path: Any) -> None:
    X, y = people(60)
    X.assign(pay=y).to_csv(tmp_path / "people.csv", index=False)
    words = ["--quasi", "age", "--sensitive", "pay", "--method", "mart", "-k", "5", "--no-report", "--out", "out"]
    code = (
        "import sys; from hedgerow.cli.app import run; code = run(sys.argv[1:]); "
        "raise SystemExit(code or 3 * ('sklearn' in sys.modules))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, "protect", "people.csv", *words],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
