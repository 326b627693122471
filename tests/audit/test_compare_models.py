"""A regression on original and release: figures as statsmodels' formulas give, and what cannot be fitted is said."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.compare_models import Coefficient, ModelComparison, TableEstimate
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError, SchemaError, UnsupportedError

smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels, the extra models, is not installed")


def people(n: int = 400, seed: int = 1) -> pd.DataFrame:
    """People with a number, two columns of categories, a count and a yes or no that depend on each other."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, n)
    job = random.choice(["cook", "nurse", "teacher"], n, p=[0.3, 0.5, 0.2])
    area = random.choice(["north", "south"], n)
    signal = 0.03 * (age - 50) + 0.5 * (job == "nurse") - 0.3 * (area == "south")
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "area": area,
            "years of work": np.maximum(age - random.integers(16, 30, n), 1),
            "income": np.round(np.exp(8 + signal + random.normal(0, 0.4, n)), 2),
            "visits": random.poisson(np.exp(0.3 + signal)),
            "ill": np.where(random.random(n) < 1 / (1 + np.exp(-signal)), "yes", "no"),
        }
    )


FITS = {
    "ols": ("income ~ age + job*area + age^2", "income ~ age + job*area + I(age**2)", smf.ols),
    "logit": ("ill ~ age + C(job) + area", "I(1*(ill == 'yes')) ~ age + job + area", smf.logit),
    "poisson": ("visits ~ log(`years of work`) + job:age + job", "visits ~ np.log(years) + job:age + job", None),
    "quantile": ("log(income) ~ age*area", "np.log(income) ~ age*area", smf.quantreg),
}


def reference(family: str, rows: pd.DataFrame) -> Any:
    """Fit by statsmodels' own formula, which runs what stands in it."""
    rows = rows.rename(columns={"years of work": "years"})
    _, text, model = FITS[family]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if family == "poisson":
            import statsmodels.api as sm

            return smf.glm(text, rows, family=sm.families.Poisson()).fit()
        return model(text, rows).fit(**{"disp": 0} if family == "logit" else {})


@pytest.mark.parametrize("family", FITS)
def test_figures_are_those_of_statsmodels(family: str) -> None:
    one, two = people(), people(seed=2)
    found = hr.compare_models(one, two, FITS[family][0], family=family)
    assert found.rows == (400, 400)
    rtol = 1e-3 if family == "quantile" else 1e-5  # a median is searched for by steps
    for side, rows in (("original", one), ("release", two)):
        fit = reference(family, rows)
        theirs = np.column_stack([fit.params, fit.bse, fit.conf_int(), fit.pvalues])
        mine = np.array([[*vars(getattr(c, side)).values()] for c in found.coefficients])
        order = [
            np.argsort(np.round(np.log(np.abs(each[:, 1])), 3) * 1e3 + np.sign(each[:, 0])) for each in (mine, theirs)
        ]
        np.testing.assert_allclose(mine[order[0]], theirs[order[1]], rtol=rtol, atol=1e-7)


def test_conclusions_intervals_and_their_overlap_by_hand() -> None:
    sure, weak = TableEstimate(2.0, 0.5, 1.0, 3.0, 0.001), TableEstimate(0.5, 0.5, -0.5, 1.5, 0.3)
    below = TableEstimate(-2.0, 0.5, -3.0, -1.0, 0.001)
    assert [each.conclusion for each in (sure, weak, below)] == [1, 0, -1]
    both = Coefficient("age", "differs", sure, weak)
    assert both.inside is False
    assert both.overlap == pytest.approx(0.25)  # half a unit of two in each
    assert Coefficient("age", "agrees", sure, sure).overlap == 1.0
    assert Coefficient("age", "differs", sure, below).overlap == 0.0
    assert Coefficient("age", "absent", sure, None).inside is None
    text = str(ModelComparison("income ~ age", "ols", (both,), (9, 9)))
    assert "0 of 1 conclusions at 5% stay; 0 of 1 estimates" in text
    assert "overlap by 0.25" in text


def test_a_table_compared_with_itself_agrees_in_all() -> None:
    found = hr.compare_models(people(), people(), "income ~ age*job")
    assert {c.answer for c in found.coefficients} == {"agrees"}
    assert all(c.inside and c.overlap == 1.0 for c in found.coefficients)


def test_a_category_that_one_table_lacks_is_named_and_takes_no_row_away() -> None:
    one, two = people(), people(seed=2)
    two = two[two["job"] != "cook"]
    found = {c.name: c for c in hr.compare_models(one, two, "income ~ job").coefficients}
    assert [*found] == ["(intercept)", "job[cook]", "job[teacher]"]  # nurses are in both, and come first then
    assert found["job[cook]"].answer == "absent"
    assert found["job[cook]"].release is None
    means = one.groupby("job")["income"].mean()
    assert found["(intercept)"].original.estimate == pytest.approx(means["nurse"])
    assert found["job[teacher]"].original.estimate == pytest.approx(means["teacher"] - means["nurse"])
    assert "Absent in one of the tables: job[cook]." in str(hr.compare_models(one, two, "income ~ job"))


def test_incomplete_rows_are_left_out_and_counted() -> None:
    one = people()
    one.loc[:9, "age"] = np.nan
    one.loc[5:14, "job"] = None
    found = hr.compare_models(one, people(seed=2), "income ~ age + job")
    assert found.rows == (385, 400)
    assert "385 of 400 rows of the original are complete" in str(found)


def test_dates_count_days_and_codes_are_categories_where_asked(tmp_path: Path) -> None:
    rows = people().assign(entry=lambda d: pd.Timestamp("2020-01-01") + pd.to_timedelta(d["age"], "D"))
    by_days, by_age = (
        {c.name: c.original.estimate for c in hr.compare_models(rows, rows, f"income ~ {name}").coefficients}
        for name in ("entry", "age")
    )
    assert by_days["entry"] == pytest.approx(by_age["age"])
    few = rows.assign(code=rows["age"] % 12)
    names = [c.name for c in hr.compare_models(few, few, "income ~ C(code)").coefficients]
    assert names == ["(intercept)", *(f"code[{i}]" for i in range(1, 12))]


@pytest.mark.parametrize(
    ("formula", "family", "words"),
    [
        ("income ~ age + twice", "ols", "twice cannot be told from the columns before"),
        ("income ~ job:area", "ols", "a product needs its columns by themselves"),
        ("income ~ age + one", "ols", "one cannot be told"),
        ("ill ~ age + ward", "logit", "no finite estimate of ward"),
        ("visits ~ ward2", "poisson", "no finite estimate of ward2"),
        ("tall ~ age", "logit", "no finite estimate"),
        ("income ~ age", "logit", "a logit explains two categories"),
        ("job ~ age", "logit", "a logit explains two categories"),
        ("job ~ age", "ols", "only a logit explains categories"),
        ("one ~ age", "ols", "does not vary"),
        ("below ~ age", "poisson", "is below 0"),
        ("income ~ log(below)", "ols", "not above 0"),
        ("income ~ job^2", "ols", "no powers"),
        ("income ~ log(job)", "ols", "no logarithm"),
        ("visits ~ C(income)*C(age)", "ols", "more than 500 columns"),
        ("visits ~ C(income)", "ols", "too few for"),
        ("income ~ empty", "ols", "no row of one of the tables is complete"),
        ("income ~ agee", "ols", "did you mean 'age'"),
        ("income ~ age", "robust", "family must be one of"),
    ],
)
def test_what_cannot_be_fitted_is_said_by_the_columns_name_alone(formula: str, family: str, words: str) -> None:
    rows = people()
    rows = rows.assign(
        twice=2 * rows["age"], one=1, below=-1.0 - rows["age"], empty=np.nan, tall=(rows["age"] > 50).astype(int),
        ward=np.where((rows["ill"] == "yes") & (rows.index < 60), "secret ward", "other"),
        ward2=np.where((rows["visits"] == 0) & (rows.index < 200), "secret ward", "other"),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(hr.HedgerowError, match=words.replace("(", r"\(")) as caught:
            hr.compare_models(rows, rows, formula, family=family)
    assert "secret ward" not in str(caught.value)


def test_ranges_are_no_numbers_and_that_is_said() -> None:
    rows = people()
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"], rest="release")
    release = hr.protect(rows, schema, hr.MART(k=5))
    with pytest.raises(SchemaError, match="'age'"):
        hr.compare_models(rows, release, "income ~ age")
    assert hr.compare_models(rows, release, "income ~ visits").rows == (400, 400)


def test_weights_are_not_used_and_that_is_said() -> None:
    rows = people().assign(w=2.0)
    schema = hr.Schema(quasi=["age"], sensitive=["income"], weight="w")
    assert "weights 'w' are not used" in str(hr.compare_models(rows, rows, "income ~ age", schema))


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with pytest.raises(UnsupportedError, match="statsmodels") as caught:
        hr.compare_models(people(), people(), "income ~ age")
    assert caught.value.hint == "install it: pip install 'hedgerow[models]'"


def test_its_text_fits_a_terminal_its_data_json_and_a_notebook() -> None:
    rows = people().assign(job=lambda d: d["job"] + " of a ward with a name that is longer than most")
    found = hr.compare_models(rows, people(seed=3).assign(job=rows["job"]), "income ~ age*job + age^2")
    assert max(map(len, str(found).splitlines())) <= 80
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rows"] == {"original": 400, "release": 400}
    assert "<table>" in found._repr_html_()
    assert repr(found) == "ModelComparison('income ~ age + age**2 + job + age:job', ols, 7 coefficients)"


def test_the_command_prints_what_python_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = people(), people(seed=2)
    one.to_csv("people.csv", index=False)
    two.to_csv("theirs.csv", index=False)
    words = ["compare-models", "people.csv", "theirs.csv", "income ~ age + `years of work`"]
    assert run(words) == 0
    expected = hr.compare_models("people.csv", "theirs.csv", words[-1])
    assert capsys.readouterr().out == f"{expected}\n"
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))
    assert run([*words[:-1], "visits ~ age", "--family", "poisson"]) == 0
    assert capsys.readouterr().out.startswith("poisson: visits ~ age")
    for wrong in (["income ~ np.log(age)"], ["income ~ age", "--family", "x"], ["income ~ age", "--for-recipient"]):
        assert run([*words[:-1], *wrong]) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_a_file_of_another_decimal_sign_is_read_as_the_audit_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = people()
    rows.to_csv("people.csv", index=False, sep=";", decimal=",")
    assert run(["compare-models", "people.csv", "people.csv", "income ~ age", "--decimal", ",", "--json"]) == 0
    slope = json.loads(capsys.readouterr().out)["coefficients"][1]["original"]["estimate"]
    assert slope == pytest.approx(np.polyfit(rows["age"], rows["income"], 1)[0])


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="formula must be text"):
        hr.compare_models(people(), people(), 5)  # type: ignore[arg-type]
