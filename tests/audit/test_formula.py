"""Formulas from outside are parsed by a grammar of their own, refused otherwise, and never run."""

from __future__ import annotations

import ast
import builtins
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.auditing import compare_models, formula
from hedgerow.auditing.formula import LONGEST, designs, parse
from hedgerow.columns.table import Table
from hedgerow.errors import ParameterError

PIECES = [*"ab yC~+*:-^()`0125. \t\n_é", "**", "log(", "C(", "~ "]
SIGNS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(st.one_of(st.text(max_size=60), SIGNS, SIGNS.map(lambda text: f"y ~ {text}")))
def test_any_text_is_read_or_refused_in_our_words(text: str) -> None:
    try:
        read, refused = parse(text), ""
    except ParameterError as error:
        read, refused = None, str(error)
    assert (read is None) == ("of the formula: " in refused)
    assert "\n" not in refused
    assert read is None or parse(str(read)) == read


FACTORS = st.builds(
    formula.Factor, st.sampled_from(["a", "b", "a b", "x.y", "é"]), st.sampled_from(["", "log"]), st.integers(1, 5)
)
TERMS = st.frozensets(st.frozensets(FACTORS, min_size=1, max_size=4), min_size=1, max_size=6)


@given(TERMS, st.booleans())
def test_every_formula_of_the_grammar_is_read(terms: Any, intercept: bool) -> None:
    written = formula.Formula(formula.Factor("y"), formula._sorted(terms), intercept)
    assert parse(str(written)) == written


ATTACKS = [
    "income ~ __import__('os').system('touch ran')",
    "__import__('os').system('touch ran') ~ age",
    "income ~ I(open('ran', 'w'))",
    "income ~ Q('age')",
    "income ~ np.log(age)",
    "income ~ log(exec('x'))",
    "income ~ log(log(age))",
    "income ~ C(age, Sum)",
    "income ~ C(C(age))",
    "income ~ bs(age, df=3)",
    "income ~ {age + 1}",
    "income ~ age.__class__()",
    "income ~ [x for x in age]",
    "income ~ lambda: 0",
    "income ~ 'age'",
    "income ~ age; import os",
    "income ~ age if age else age",
    "income ~ С(age)",  # a Cyrillic letter
    "income ~ ｌｏｇ(age)",  # wide letters, which Python takes for log
    "income ~ log（age）",
    "income ~ age ** age",
    "income ~ age ** 2.5",
    "income ~ age ** -1",
    "income ~ age ** 6",
    "income ~ age ** ٢",  # an Arabic 2
    "income ~ (age + sex) ** 2",
    "income ~ C(age)**2",
    "income ~ .",
    "income ~ age | sex",
    "income ~ age + age2 - age",
    "income ~ `age",
    "income ~ ``",
    "income ~ `log`(age)",
    "income ~ income**2",
    "income ~ log(income)",
    "income ~ age ~ sex",
    "income ~ 0",
    "income",
    "~ age",
    "",
    "income ~ " + "(" * 900,
    "income ~ " + "*".join("abcdefgh"),
    "income ~ a:b:c:d:e",
    "income ~ " + "+".join(f"a{i}" for i in range(120)),
]


@pytest.mark.parametrize("text", ATTACKS)
def test_what_tries_to_run_code_is_refused_by_its_position(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    def never(*arguments: Any, **more: Any) -> None:
        raise AssertionError("something was run")

    with monkeypatch.context() as patched:
        for name in ("eval", "exec"):
            patched.setattr(builtins, name, never)
        patched.setattr(os, "system", never)
        with pytest.raises(ParameterError, match=r"^position \d+ of the formula: ") as caught:
            parse(text)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["y ~ " + "(" * 10_000, "y ~ " + "a + " * 10_000 + "a", "`" * 1001, "9" * 5000])
def test_what_is_too_long_is_not_read(text: str) -> None:
    with pytest.raises(ParameterError, match="characters"):
        parse(text)
    assert len(text) > LONGEST


def test_no_function_that_runs_text_stands_in_the_code() -> None:
    for module in (formula, compare_models):
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not called & {"eval", "exec", "compile", "__import__"}
        imported = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not any(name in line for line in imported for name in ("patsy", "formulaic"))
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert not any(isinstance(text, str) and text.startswith("statsmodels.formula") for text in texts)


def test_one_model_is_one_text_however_it_is_written() -> None:
    one = {str(parse(text)) for text in ("y ~ a*b", "y ~ b:a + a + b", "y~b+a+a:b+1", "y ~ a + b + a^1:b", "y ~ `a`*b")}
    assert one == {"y ~ a + b + a:b"}


def frame(n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "y": random.normal(size=n),
            "a": random.normal(size=n) + 5,
            "b": random.integers(1, 9, n),
            "c": random.choice(list("uvw"), n),
            "d": random.choice(["yes", "no"], n),
        }
    )


SAME = {
    "y ~ a": "y ~ a",
    "y ~ a + a^2 + a**3": "y ~ a + I(a**2) + I(a**3)",
    "y ~ log(a) + log(a)^2": "y ~ np.log(a) + I(np.log(a)**2)",
    "y ~ c": "y ~ c",
    "y ~ C(b)": "y ~ C(b)",
    "y ~ c*d": "y ~ c*d",
    "y ~ a*c": "y ~ a*c",
    "y ~ a + a:c": "y ~ a + a:c",
    "y ~ a:c": "y ~ a:c",
    "y ~ c + c:d": "y ~ c + c:d",
    "y ~ c - 1": "y ~ c - 1",
    "y ~ 0 + c + d": "y ~ 0 + c + d",
    "y ~ 0 + c*d": "y ~ 0 + c*d",
    "y ~ a*b*c": "y ~ a*b*c",
    "y ~ c*C(b)*a": "y ~ c*C(b)*a",
    "log(a) ~ b": "np.log(a) ~ b",
    "a**2 ~ b": "I(a**2) ~ b",
    "y ~ 1": "y ~ 1",
}


@pytest.mark.parametrize("text", SAME)
def test_matrices_are_those_of_patsy(text: str) -> None:
    patsy = pytest.importorskip("patsy", reason="statsmodels, the extra models, is not installed")
    rows, read = frame(), parse(text)
    table = Table(pa.Table.from_pandas(rows, preserve_index=False))
    columns = {f.column: (table.column(f.column), table.column(f.column)) for f in read.factors}
    built = designs(read, columns, False)
    y, x = patsy.dmatrices(SAME[text], rows)
    np.testing.assert_allclose(built.original.y, np.asarray(y)[:, 0], rtol=1e-12)
    assert built.original.x.shape == x.shape
    assert len({entry.name for entry in built.entries}) == x.shape[1]
    theirs = list(np.asarray(x).T)
    for mine in built.original.x.T:
        at = next(i for i, column in enumerate(theirs) if np.allclose(mine, column, rtol=1e-12))
        theirs.pop(at)
    assert not theirs
