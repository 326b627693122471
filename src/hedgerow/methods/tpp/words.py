"""What the reader of a release must know about its model, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def recipient_lines(model: Mapping[str, Any], file: str, l: float | None = None) -> list[str]:
    """A section of RECIPIENT.md: what was kept, how to check it, and what not to read into it."""
    response = model["response"]["name"]
    lines = [
        "",
        "## The published model",
        "",
        f"`model.json` holds the trees that predict `{response}`; `trees.svg` shows them. The same "
        f"trees, to the last bit of every threshold, are built from `{file}`. To check that:",
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
            lines += ["", *_rpart(own, model, file), ""]
        if own["builder"] == "scikit-learn":
            lines += ["", *_sklearn(own, model, file), ""]
        if own["kind"] == "forest" and own.get("bootstrap"):
            lines.append(
                "  Its bootstrap rows are counted by position: keep the order of the records."
            )
    if l is not None:
        lines += [
            "",
            f"In every group less than {1 / l:.1%} of the records share one value of "
            f"{' or of '.join(model['reached']['sensitive'])}.",
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


def _rpart(own: Mapping[str, Any], model: Mapping[str, Any], file: str) -> list[str]:
    names = " + ".join(f"`{p['name']}`" for p in model["predictors"])
    split = f', parms = list(split = "{own["parms"]}")' if own["method"] == "class" else ""
    return [
        "    library(rpart)",
        f'    d <- read.csv("{file}", check.names = FALSE, stringsAsFactors = TRUE)',
        f"    rpart(`{model['response']['name']}` ~ {names},",
        f'          data = d, method = "{own["method"]}"{split},',
        f"          control = rpart.control(cp = -1, xval = 0, minsplit = {own['minsplit']}, "
        f"minbucket = {own['minbucket']},",
        f"                                  maxdepth = {own['maxdepth']}, maxsurrogate = 0,",
        "                                  maxcompete = 0))",
    ]


def _sklearn(own: Mapping[str, Any], model: Mapping[str, Any], file: str) -> list[str]:
    made = {
        "decision_tree_classifier": "DecisionTreeClassifier",
        "decision_tree_regressor": "DecisionTreeRegressor",
    }[own["kind"]]
    arguments = ", ".join(f"{k}={v!r}" for k, v in own["parameters"].items() if v is not None)
    names = [p["name"] for p in model["predictors"]]
    return [
        "    import pandas as pd",
        f"    from sklearn.tree import {made}   # version {own['version']}",
        f"    d = pd.read_csv({file!r})",
        f"    {made}({arguments}).fit(d[{names!r}], d[{model['response']['name']!r}])",
    ]
