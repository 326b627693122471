"""What the reader of a release must know about its model, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ...io.file_format import Dialect
from ...notation import markdown, percent
from .sanitize import Step, keeps


def recipient_lines(
    model: Mapping[str, Any], file: str, dialect: Dialect, l: float | None = None
) -> list[str]:
    """A section of RECIPIENT.md: what was kept, how to check it, and what not to read into it."""
    response = model["response"]["name"]
    lines = [
        "",
        "## The published model",
        "",
        f"`model.json` holds the trees that predict `{response}`; `trees.svg` shows them. The same "
        f"trees are built from `{file}`: splits, thresholds and counts to the last bit, means of "
        "leaves to 1e-12 (their sums depend on the order of the records). To check that:",
        "",
        f"    hedgerow verify-model model.json {file}",
        "",
        "It prints `identical`, or the first node that differs.",
        "",
        "The trees were built with these settings; without the stated size a builder may grow on:",
        "",
    ]
    for number, own in enumerate(model["models"], 1):
        settings = {k: v for k, v in own.items() if k not in ("trees", "n_splits")}
        lines.append(f"- model {number}, {own['n_splits']} splits: `{json.dumps(settings)}`")
        if own["builder"] == "rpart":
            lines += ["", *_rpart(own, model, file, dialect), ""]
        if own["builder"] == "scikit-learn":
            lines += ["", *_sklearn(own, model, file, dialect), ""]
        if own["kind"] == "forest" and own.get("bootstrap"):
            lines.append(
                "  Its bootstrap rows are counted by position: keep the order of the records."
            )
    if l is not None:
        lines += [
            "",
            f"In every group less than {percent(round(1 / l, 4), None)} of the records share one value of "
            f"{' or of '.join(map(markdown, model['reached']['sensitive']))}.",
        ]
    lines += [
        "",
        "Numbers that a tree tests were replaced by representatives between its thresholds, and "
        "categories that all trees treat alike were joined; a column that no tree tests has one "
        "value (its mean, or `ALL`). So the table says nothing about columns outside the trees. "
        "Accuracy measured by cross-validation on this table is too good: the sanitizing saw "
        "every response.",
    ]
    return lines


def shrunk(
    targets: Sequence[Any], best: Step, path: Sequence[Step], k: int, l: float | None
) -> Iterator[str]:
    """What the steward must hear of models that are published smaller than they were asked for."""
    for number, target in enumerate(targets, 1):
        step = min(best.step, target.n_steps)
        if step >= target.asked:
            continue
        which = "the tree" if len(targets) == 1 and not target.ensemble else f"model {number}"
        why = "its settings allow no further split"
        if step < target.n_steps:
            larger = path[best.step]
            reached = f"K = {larger.k}" + ("" if larger.l is None else f" and L = {larger.l:.3g}")
            kept = keeps(larger, k, l)
            found = "cannot be rebuilt from a sanitized table" if kept else f"reach {reached} alone"
            why = f"{target.size_in_words(larger.step)} {found}"
        yield (
            f"{which} was to have {target.size_in_words(target.asked)} and is published with "
            f"{target.size_in_words(step)}: {why}"
        )


_READERS = {
    ".parquet": ("arrow::read_parquet({})", "pd.read_parquet({})"),
    ".feather": ("arrow::read_feather({})", "pd.read_feather({})"),
    ".jsonl": ("jsonlite::stream_in(file({}))", "pd.read_json({}, lines=True)"),
    ".xlsx": ("readxl::read_excel({})", "pd.read_excel({})"),
    ".sav": ("haven::as_factor(haven::read_sav({}))", "pd.read_spss({})"),
    ".zsav": ("haven::as_factor(haven::read_sav({}))", "pd.read_spss({})"),
    ".dta": ("haven::as_factor(haven::read_dta({}))", "pd.read_stata({})"),
    ".xpt": ("haven::read_xpt({})", 'pd.read_sas({}, encoding="utf-8")'),
}
"""What reads a file in R and in Python, by its ending."""


def _reader(file: str, dialect: Dialect, r: bool = False) -> str:
    """The call that reads a file as it is written."""
    name = json.dumps(file)
    if file.endswith(".csv"):
        apart = {"sep": dialect.delimiter, "dec" if r else "decimal": dialect.decimal}
        equals = " = " if r else "="
        odd = "".join(
            f", {key}{equals}{json.dumps(sign)}"
            for (key, sign), usual in zip(apart.items(), ",.", strict=True)
            if sign != usual
        )
        if r:
            return f"read.csv({name}{odd}, check.names = FALSE, stringsAsFactors = TRUE)"
        return f"pd.read_csv({name}{odd})"
    in_r, in_python = _READERS[PurePath(file).suffix]
    return in_r.format(name) if r else in_python.format(name)


def _rpart(
    own: Mapping[str, Any], model: Mapping[str, Any], file: str, dialect: Dialect
) -> list[str]:
    names = " + ".join(f"`{p['name']}`" for p in model["predictors"])
    split = f', parms = list(split = "{own["parms"]}")' if own["method"] == "class" else ""
    return [
        "    library(rpart)",
        f"    d <- {_reader(file, dialect, r=True)}",
        f"    rpart(`{model['response']['name']}` ~ {names},",
        f'          data = d, method = "{own["method"]}"{split},',
        f"          control = rpart.control(cp = -1, xval = 0, minsplit = {own['minsplit']}, "
        f"minbucket = {own['minbucket']},",
        f"                                  maxdepth = {own['maxdepth']}, maxsurrogate = 0,",
        "                                  maxcompete = 0))",
    ]


def _sklearn(
    own: Mapping[str, Any], model: Mapping[str, Any], file: str, dialect: Dialect
) -> list[str]:
    made = {
        "decision_tree_classifier": "DecisionTreeClassifier",
        "decision_tree_regressor": "DecisionTreeRegressor",
    }[own["kind"]]
    arguments = ", ".join(f"{k}={v!r}" for k, v in own["parameters"].items() if v is not None)
    names = [p["name"] for p in model["predictors"]]
    return [
        "    import pandas as pd",
        f"    from sklearn.tree import {made}   # version {own['version']}",
        f"    d = {_reader(file, dialect)}",
        f"    {made}({arguments}).fit(d[{names!r}], d[{model['response']['name']!r}])",
    ]
