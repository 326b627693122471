"""model.json: the published trees, how they are rebuilt and compared, and their notes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, Required, TypedDict, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.table import Table
from ...errors import HedgerowError, PlanError, SchemaError, reprs
from ...files import read_text
from ...io.file_format import Dialect
from ...io.read import as_spelled, read
from ...notation import MISSING, percent
from ...plan.records import check_version, parsed
from ...validation import MAPPING, PATH, takes
from ..base import render
from .builder import BuiltTree
from .encoding import PredictedColumn, Predictor
from .targets import SKLEARN_CLASSES, from_json, rebuild_from

VERSION = 1


@dataclass(frozen=True)
class Verification:
    """The result of rebuilding the published trees from a release.

    Parameters
    ----------
    identical : bool
        Whether every published tree was rebuilt: splits, leaves and counts to the bit, means
        of leaves to 1e-12.
    n_models, n_trees, n_splits : int
        How much was compared.
    difference : str
        The first node that differs; empty when identical.
    """

    identical: bool
    n_models: int
    n_trees: int
    n_splits: int
    difference: str = ""

    def __str__(self) -> str:
        return "identical" if self.identical else self.difference


class NodeData(TypedDict, total=False):
    """A node of a published tree: its path of L and R, its records, its prediction, and its split if it has one.

    A split is of a column (`attribute`), at a threshold or with the released categories of both sides.
    """

    path: Required[str]
    n: Required[int]
    value: Required[list[float]]
    attribute: str
    threshold: float
    left: list[str]
    right: list[str]


# of a tree its nodes, in order of creation
TreeData = dict[Literal["nodes"], list[NodeData]]


class ModelData(TypedDict):
    """The content of model.json.

    Parameters
    ----------
    n_records : int
        Records that the trees were grown on.
    reached : mapping
        The smallest group (`k`), the largest of `l` that holds, and the `sensitive` columns.
    response : mapping
        Its `name`, and its `classes` if it has some.
    predictors : list of mapping
        As `predictor_to_json` returns them.
    models : list of mapping
        Each with its settings, `n_splits` and `trees`, a list of TreeData.
    """

    hedgerow_model: int
    n_records: int
    reached: Mapping[str, Any]
    response: Mapping[str, Any]
    predictors: list[Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]]


def tree_to_json(
    tree: BuiltTree, columns: Sequence[Predictor], groups: Sequence[NDArray[np.int32]] | None = None
) -> TreeData:
    """Return a tree as plain data: its nodes in order of creation, categories by their released labels.

    `groups` maps original categories to released ones; it is needed if the tree was
    built on the original table.
    """

    def labels(feature: int, codes: Sequence[int]) -> list[str]:
        # Several categories may have become one released label.
        released = codes if groups is None else {int(groups[feature][c]) for c in codes}
        return [columns[feature].labels[c] for c in sorted(released)]

    nodes = []
    for node in tree.nodes:
        entry: NodeData = {"path": node.path, "n": node.n, "value": list(node.value)}
        if node.feature >= 0:
            column = columns[node.feature]
            entry["attribute"] = column.name
            if column.numeric:
                entry["threshold"] = node.threshold
            else:
                entry["left"] = labels(node.feature, node.left_set)
                entry["right"] = labels(node.feature, node.right_set)
        nodes.append(entry)
    return {"nodes": nodes}


def predictor_to_json(column: Predictor) -> dict[str, object]:
    """Return a released predictor as plain data: name, kind, labels, and the labels that a split may isolate."""
    if column.numeric:
        unit = {"unit": column.unit} if column.unit else {}
        return {"name": column.name, "kind": "date" if unit else "numeric", **unit}
    return {
        "name": column.name,
        "kind": "categorical",
        "labels": list(column.labels),
        "one_against_rest": column.wide,
        "alone": list(column.alone),
    }


def model_to_json(
    descriptions: Sequence[Mapping[str, object]],
    trees: Sequence[Sequence[BuiltTree]],
    columns: Sequence[Predictor],
    groups: Sequence[NDArray[np.int32]],
    response: Mapping[str, object],
    n: int,
    reached: Mapping[str, object],
) -> ModelData:
    """Return the content of the model file as plain data, for trees built on the original table."""
    models = [
        {**each, "n_splits": sum(t.n_splits for t in grown), "trees": [tree_to_json(t, columns, groups) for t in grown]}
        for each, grown in zip(descriptions, trees, strict=True)
    ]
    return {
        "hedgerow_model": VERSION,
        "n_records": n,
        "reached": dict(reached),
        "response": dict(response),
        "predictors": [predictor_to_json(c) for c in columns],
        "models": models,
    }


def dumps(model: Mapping[str, object]) -> str:
    """Return data as readable JSON; each float is the shortest text that reads back to the same bits."""
    return json.dumps(model, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def load_model(source: str | Path | Mapping[str, object]) -> ModelData:
    """Return the data of a model file; raise PlanError if this version cannot read it."""
    if isinstance(source, Mapping):
        where, data = "the model", dict(source)
    else:
        where = str(source)
        data = parsed(read_text(source, "the model", PlanError), where)
    hint = "a model is the model.json beside a release of --method tpp"
    check_version(data, "model", (VERSION,), where, hint)
    return cast(ModelData, data)


@takes(model=PATH | MAPPING)
def verify_model(model: str | Path | Mapping[str, object], release: Any, y: Any = None) -> Verification:
    """Rebuild the published trees from a released table and compare them with the model.

    Splits, leaves and counts are compared to the bit, means of leaves to 1e-12: their sums
    depend on the order of the records.

    Parameters
    ----------
    model : path or mapping
        ``model.json``.
    release : path, pandas, Polars or Arrow table
        The released table; in the row order of the release if the model is a
        forest with bootstrap rows.
    y : array-like, optional
        The response, if it is not a column of the release.

    Returns
    -------
    Verification
        ``identical``, or the first node that differs.

    Raises
    ------
    PlanError
        The model file cannot be read.
    SchemaError
        A predictor or the response is missing from the release.

    References
    ----------
    Fu, Chen, Koru, Gangopadhyay (2010), section 3, with the corrections of the documentation.
    """
    data = load_model(model)
    table = release if isinstance(release, Table) else read(release, unescape_formulas=True)
    try:
        table = _as_spelled(table, data)
        if missing := [p["name"] for p in data["predictors"] if p["name"] not in table.names]:
            raise SchemaError("the release lacks predictors of the model: " + reprs(missing))
        difference, models = _difference(data, table, y), data["models"]
        n_trees, n_splits = sum(len(m["trees"]) for m in models), sum(m["n_splits"] for m in models)
        return Verification(not difference, len(models), n_trees, n_splits, difference)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, HedgerowError):
            raise
        raise PlanError(f"the model is damaged: {type(error).__name__} in its records") from None


def _as_spelled(table: Table, data: ModelData) -> Table:
    """Return the release with its categories spelled as in the model."""
    texts = {p["name"]: p["labels"] for p in data["predictors"] if p["kind"] == "categorical"}
    if "classes" in data["response"]:
        texts[data["response"]["name"]] = data["response"]["classes"]
    return as_spelled(table, dict.fromkeys(texts, "categorical"), texts)


class _Fault(Exception):
    """Raised for a released column from which the published trees cannot have been built."""


def _difference(data: ModelData, table: Table, y: Any) -> str:
    """Return a description of the first difference between a released table and the model; empty if none."""
    if not data["models"] or not all(model["trees"] for model in data["models"]):
        raise PlanError(
            "the model publishes no tree, so there is nothing to verify",
            hint="ask whoever published it for the model.json of this release",
        )
    answers, name = table, data["response"]["name"]
    if y is not None:
        answers, name = Table(pa.table({"y": pa.array(list(y), from_pandas=True)})), "y"
    elif name not in table.names:
        raise SchemaError(f"the release lacks the response {name!r}")
    try:
        columns = [_predictor(p, table) for p in data["predictors"]]
    except _Fault as fault:  # a changed table is what a verifier is asked about, and no error
        return str(fault)
    published = int(data["n_records"])
    # First what explains differences of nodes.
    for what, n in (("release", table.n_rows), ("response", answers.n_rows)):
        if n != published:
            return f"the {what} has {n:,} records, {published:,} published"
    for m, model in enumerate(data["models"], 1):
        rebuilt = _rebuild(model, columns, answers, name, data["response"].get("classes"))
        trees = [tree_to_json(tree, columns) for tree in rebuilt]
        if difference := first_difference(model["trees"], trees):
            return f"model {m}, {difference}"
    return ""


def _predictor(p: Mapping[str, Any], table: Table) -> Predictor:
    name = p["name"]
    if p["kind"] in ("numeric", "date"):
        column = table.column(name, kind=p["kind"], unit=p.get("unit"))
        if column.has_missing or column.infinite:
            raise _Fault(f"column {name!r} has missing or infinite numbers")
        return Predictor(name, column.codes.astype(np.int32), column.doubles)
    column = table.column(name, kind="categorical")
    rank = {label: i for i, label in enumerate(p["labels"])}
    texts = [*column.values, *([MISSING] if column.has_missing else [])]
    if unknown := [t for t in texts if t not in rank]:
        raise _Fault(f"column {name!r} has {len(unknown)} values that the model does not know")
    codes, wide = np.array([rank[t] for t in texts], np.int32)[column.codes], bool(p["one_against_rest"])
    return Predictor(name, codes, labels=tuple(p["labels"]), alone=tuple(p["alone"]), wide=wide)


def _rebuild(
    model: Mapping[str, Any], columns: Sequence[Predictor], table: Table, name: str, labels: Sequence[str] | None
) -> Sequence[BuiltTree]:
    """Build a model's trees again from released columns, with column `name` of the table as the response."""

    def response(classes: bool) -> PredictedColumn:
        column = table.column(name, kind="categorical" if classes else "numeric")
        if column.has_missing:
            raise SchemaError(f"the response {name!r} has missing values")
        if not classes:
            return PredictedColumn.from_numbers(column.doubles[column.codes])
        return PredictedColumn.from_classes(np.asarray(column.values, dtype=str)[column.codes], labels)

    if model["builder"] == "scikit-learn":
        return [rebuild_from(model, columns, response(model["kind"] == "decision_tree_classifier"))]
    if model["builder"] != "hedgerow":
        raise PlanError(f"the model names an unknown builder {model['builder']!r}")
    # n_splits is a parameter of a single tree; for an ensemble it is the number of splits in all trees.
    none = ("builder", "trees") if model["kind"] == "tree" else ("builder", "trees", "n_splits")
    settings = from_json({k: v for k, v in model.items() if k not in none})
    return settings.grow(columns, response(settings.classes), getattr(settings, settings.steps))


def first_difference(published: Sequence[TreeData], rebuilt: Sequence[TreeData]) -> str:
    """Return a description of the first difference between published and rebuilt trees; empty if none."""
    for t, (old, new) in enumerate(zip(published, rebuilt, strict=False), 1):
        if difference := _node_difference(old["nodes"], new["nodes"]):
            return f"tree {t}, {difference}"
    many = len(rebuilt) != len(published)
    return f"{len(rebuilt)} trees rebuilt, {len(published)} published" if many else ""


_COMPARED = {
    "attribute": "attribute",
    "threshold": "threshold",
    "left": "categories on the left",
    "right": "categories on the right",
    "n": "number of records",
    "value": "prediction",
}


def _node_difference(old: Sequence[NodeData], new: Sequence[NodeData]) -> str:
    for a, b in zip(old, new, strict=False):
        where = f"node {a['path']}" if a["path"] else "the root"
        if a["path"] != b["path"]:
            return f"{where}: the tree was grown in another order"
        for key, words in _COMPARED.items():
            if a.get(key) == b.get(key) or (key == "value" and _same_means(a["value"], b["value"])):
                continue
            values = f": {b.get(key)!r} rebuilt, {a.get(key)!r} published"
            # Predictions and categories may show people, so a message says only where they differ.
            public = key in ("attribute", "threshold", "n")
            return f"{where}: the {words} differs{values if public else ''}"
    return "" if len(old) == len(new) else f"{len(new)} nodes rebuilt, {len(old)} published"


def _same_means(old: Sequence[float], new: Sequence[float]) -> bool:
    # to 1e-12: sums of a leaf depend on the order of the records
    return len(old) == len(new) and all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(old, new, strict=True))


def recipient_lines(model: ModelData, file: str, dialect: Dialect, l: float | None = None) -> list[str]:
    """Return the lines of RECIPIENT.md on the model: what was kept, how to check it, and what it cannot show."""
    settings = [json.dumps({k: v for k, v in m.items() if k not in ("trees", "n_splits")}) for m in model["models"]]
    text = render(
        "tpp.md",
        model=model,
        file=file,
        settings=settings,
        classes=SKLEARN_CLASSES,
        reader=_reader(file, dialect),
        most=None if l is None else percent(round(1 / l, 4), None),
    )
    return text.split("\n")


# calls that read a file in Python, by its ending
_READERS = {
    ".parquet": "pd.read_parquet({})",
    ".feather": "pd.read_feather({})",
    ".xlsx": "pd.read_excel({})",
    ".sav": "pd.read_spss({})",
    ".zsav": "pd.read_spss({})",
    ".dta": "pd.read_stata({})",
    ".xpt": 'pd.read_sas({}, encoding="utf-8")',
}


def _reader(file: str, dialect: Dialect) -> str:
    """Return the Python call that reads a released file."""
    name = json.dumps(file)
    if file.endswith(".csv"):
        signs = (("sep", ",", dialect.delimiter), ("decimal", ".", dialect.decimal))
        options = "".join(f", {key}={json.dumps(sign)}" for key, usual, sign in signs if sign != usual)
        return f"pd.read_csv({name}{options})"
    return _READERS[PurePath(file).suffix].format(name)
