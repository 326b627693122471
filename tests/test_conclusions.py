"""The regressions of textbooks: formulas are read as they are written, and conclusions judged by sign and verdict."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import conclusions


@pytest.fixture(scope="module")
def people():
    draws = np.random.default_rng(3)
    age, job = draws.integers(20, 60, 400), draws.choice(["clerk", "nurse", "nurse", "cook"], 400)
    wage = np.exp(1 + 0.05 * age - 0.0004 * age**2 + 0.3 * (job == "cook") + draws.normal(0, 0.1, 400))
    return pd.DataFrame({"age": age, "job": job, "wage": wage, "rich": (wage > np.median(wage)).astype(int)})


def test_a_formula_is_read_as_it_is_written(people):
    fit = conclusions.Fit.of_text("ols", "log(wage) ~ age + age^2 + job", people)
    assert fit.terms == ("age", "age^2", "job=clerk", "job=cook")  # but the commonest
    values, errors, scale = fit.estimate(people)
    x = np.column_stack(
        [np.ones(400), people["age"], people["age"] ** 2, people["job"] == "clerk", people["job"] == "cook"]
    )
    expected = np.linalg.lstsq(x.astype(float), np.log(people["wage"]), rcond=None)[0][1:]
    assert values / scale == pytest.approx(expected)
    assert np.isfinite(errors).all()


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("log(wage+1)", lambda d: np.log(d["wage"] + 1)),
        ("age>30:rich", lambda d: (d["age"] > 30) * d["rich"]),
        ("age<30", lambda d: d["age"] < 30),
        ("job=cook:age^2", lambda d: (d["job"] == "cook") * d["age"] ** 2),
    ],
)
def test_parts_of_a_formula(people, term, expected):
    assert conclusions.term(people, term) == pytest.approx(expected(people).to_numpy(float))


def test_what_is_no_formula_is_refused(people):
    with pytest.raises(ValueError, match="no part of a formula"):
        conclusions.term(people, "exp(wage)")


def test_a_column_that_became_constant_has_no_estimate(people):
    fit = conclusions.Fit.of_text("logit", "rich ~ age + job", people)
    scale = fit.estimate(people)[2]
    values = fit.estimate(people.assign(job="nurse"), scale)[0]
    assert np.isfinite(values).tolist() == [True, False, False]


def test_a_conclusion_is_a_sign_and_a_verdict():
    cases = {  # an estimate and its error before and after: conclusion, the sign as well, inside, wrong
        "as before": ((3, 1, 2.5, 1), (True, True, True, 0)),
        "no longer sure": ((3, 1, 1.5, 1), (False, False, True, 0)),
        "the other sign": ((3, 1, -3, 1), (False, False, False, 1)),
        "never sure, other sign": ((0.5, 1, -0.5, 1), (True, False, True, np.nan)),
        "not to be had": ((3, 1, np.nan, np.nan), (False, False, False, 0)),
    }
    found = conclusions.judged(
        pd.DataFrame([before for before, _ in cases.values()], columns=list("becf"), dtype=float)
    )
    for (_, row), (_, expected) in zip(found.iterrows(), cases.values(), strict=True):
        assert (row["kept"], row["sign"], row["inside"]) == expected[:3]
        assert row["wrong"] == pytest.approx(expected[3], nan_ok=True)
    assert found["slope"].isna().all()  # none has a t above 3
    assert found["overlap"][0] == pytest.approx((3.42 + 3.42) / 2 / 3.92, abs=1e-6)


def test_every_regression_uses_columns_of_its_table():
    given = tomllib.loads(Path(conclusions.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    assert len(given) >= 30
    for name, table in given.items():
        columns = dict.fromkeys([*table["quasi"].split(), *table["sensitive"].split()], 1)
        rows = pd.DataFrame({column: [1, 2] for column in columns})
        for text in [*table.get("ols", []), *table.get("logit", [])]:
            outcome, right = text.split(" ~ ")
            for term in (outcome, *right.split(" + ")):
                assert len(conclusions.term(rows, term)) == 2, name
