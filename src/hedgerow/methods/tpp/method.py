"""Tree-pattern-preserving sanitization as a method: make a release from which given trees can be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ...columns.column import Column
from ...columns.table import Table
from ...errors import ParameterError, SchemaError, reprs
from ...io.read import read
from ...measures import Classes, group
from ...measures.class_measures import frequency_l
from ...measures.guarantees import Check, KAnonymity
from ...plan import ColumnMap, Maps, Plan
from ...progress import caution
from ...schema import Schema
from ...validation import NAMES, NUMBER, TEXT, Kind
from ..base import Method, RecipientNotes, as_array, check_people
from .builder import ModelSettings, TreeSettings
from .encoding import Predictor, check_numbers, encode_predictor, encode_response, sensitive_codes
from .model import dumps, model_to_json, recipient_lines, verify_model
from .sanitize import Sanitizer, column_map, shrunk
from .targets import PreservedModel, SklearnTree, parse


@dataclass(eq=False, repr=False)
class TreePatternPreserving(Method):
    """Coarsen a table so far that published trees, and little else, can be rebuilt from it.

    Growing the trees again from the release gives exactly the same splits, leaves and counts, and the
    same leaf means to 1e-12 (floating-point sums depend on the order of the records). Any combination
    of released predictor values is shared by at least k records.

    Parameters
    ----------
    trees : settings, text, fitted scikit-learn tree, or a sequence of them, optional
        The trees to preserve: `TreeSettings`, `ForestSettings`, `BoostingSettings`,
        fitted ``DecisionTreeClassifier`` or ``DecisionTreeRegressor``; or settings as text,
        ``"tree criterion=gini n_splits=3; forest n_trees=5 seed=1"``.
        By default one tree of Hedgerow's own builder. Trees without a criterion predict the mean of
        a numeric response (variance), and the shares of a response with classes or only two
        numbers (entropy).
    k : int
        Fewest records that share all released predictor values, at least 2. The
        trees grow as long as this holds; the response is no quasi-identifier.
    l : float, optional
        At least 1. In every such class the most frequent sensitive value has a share
        below 1/l.
    sensitive : str or sequence of str, optional
        Columns of X (or of the table) to which `l` applies; they are released unchanged and are not
        predictors. By default the schema's sensitive columns except the response.
    response : str, optional
        Name of the response, if it is a column of the table (`protect`, command line);
        by default the sensitive column, if there is only one.
    schema : Schema, optional
        Kinds and category orders that do not follow from the columns' own types.

    Attributes
    ----------
    plan_ : Plan
        One map per predictor.
    model_ : dict
        The published trees and what a recipient needs to rebuild them (``model.json``).
    k_ : int
        K reached.
    l_ : float or None
        L reached.
    n_steps_ : int
        Splits of each single tree, or trees of each ensemble, that are published.
    trade_off_ : list of dict
        ``step``, ``k`` and ``l`` for every size that was tried: all sizes of an ensemble (until K
        is 1), or those of a single tree up to the first that fails.

    Raises
    ------
    InfeasibleError
        Even the first split keeps less than `k` or `l`.
    UnsupportedError
        A builder outside the guarantee: cost-complexity pruning, random ties, gain
        ratio with the average-gain filter, a size chosen by cross-validation.

    Warns
    -----
    UserWarning
        A tree is published smaller than its settings say.

    References
    ----------
    Fu, Chen, Koru, Gangopadhyay (2010), A privacy protection technique for publishing
    data mining models and research data, ACM TMIS 1(1), section 3, with corrections.

    Examples
    --------
    >>> import pandas as pd
    >>> from hedgerow.methods.tpp import TreePatternPreserving, TreeSettings, verify_model
    >>> X = pd.DataFrame({"age": [21, 24, 30, 44, 51, 60, 62, 71], "job": list("abababab")})
    >>> y = pd.Series(["no", "no", "no", "no", "yes", "yes", "yes", "yes"], name="ill")
    >>> method = TreePatternPreserving(TreeSettings("entropy", n_splits=1), k=4).fit(X, y)
    >>> method.transform(X)["age"].tolist()
    [31.0, 31.0, 31.0, 31.0, 64.0, 64.0, 64.0, 64.0]
    >>> print(verify_model(method.model_, method.transform(X), y))
    identical
    """

    needs_sensitive = False
    guardable = False  # its trees are those of exact values
    allows_missing = False  # these numbers fall on neither side of a threshold
    supported_fields = ("unit", "household")
    engines = ("memory", "duckdb", "spark")
    # while a tree is grown, measured on seven predictors
    record_bytes = 180
    kinds: ClassVar[Mapping[str, Kind]] = {"l": NUMBER, "response": TEXT, "sensitive": TEXT | NAMES}

    trees: Any = None
    _: KW_ONLY
    k: int = 10
    l: float | None = None
    sensitive: str | Sequence[str] | None = None
    response: str | None = None
    schema: Schema | None = None

    def __sklearn_clone__(self) -> TreePatternPreserving:
        """Return an unfitted copy of the method that keeps the user's fitted trees."""
        return self.copy().set_output(transform=self._own_output)

    def _answers(self, y: Any, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Return the response as {name: values}, named after y, else by `response`, else "response"."""
        array = as_array(y)
        table = read(y if array is None else array).arrow
        if table.num_columns != 1:
            raise ParameterError(f"y has {table.num_columns} columns; the response is one")
        framed = hasattr(y, "columns") or isinstance(y, pa.Table)
        name = table.column_names[0] if framed or getattr(y, "name", None) else None
        if name is None:
            name = self.response or _free("response", columns)
        if name in columns:
            raise ParameterError(f"the response {name!r} is a column of X as well", hint="leave it out of X")
        if self.response not in (None, name):
            raise ParameterError(f"y is named {name!r}, and response={self.response!r}", hint="leave one of them out")
        return {name: table.column(0)}

    def _roles(self, columns: Sequence[str], answers: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns by role: predictors as quasi-identifiers, the response among the sensitive columns."""
        response = answers[0] if answers else self.response
        sensitive = [n for n in (*self._named(), response) if n is not None]
        return {"quasi": tuple(n for n in columns if n not in sensitive), "sensitive": tuple(dict.fromkeys(sensitive))}

    def _named(self) -> tuple[str, ...]:
        if self.sensitive is None:
            return ()
        return (self.sensitive,) if isinstance(self.sensitive, str) else tuple(self.sensitive)

    def _fit(self, table: Table, schema: Schema) -> Plan:
        response = self.response
        others = [n for n in schema.sensitive if n not in self._named()]
        if response is None and len(others) == 1:
            response = others[0]
        persons = check_people(self.k, table, schema)
        if self.l is not None and not 1 <= self.l < float("inf"):
            raise ParameterError("l must be a number of at least 1")
        if response is None:
            raise ParameterError("response not named", hint='give y to fit, or response="income" (--response income)')
        if response in schema.quasi:
            raise SchemaError(f"the response {response!r} is a quasi-identifier", hint="it stays: leave it out")
        sensitive = self._named() or tuple(n for n in schema.sensitive if n != response)
        if not (names := [n for n in schema.quasi if n not in sensitive]):
            raise SchemaError("there are no predictors", hint="name the quasi-identifiers")
        classes = _is_class(table, schema, response)
        targets = [_target(tree, classes) for tree in self._models()]
        encoded = _encode(table, schema, names, targets)
        responses = {
            c: encode_response(table, response, c, schema.kinds.get(response)) for c in {t.classes for t in targets}
        }
        codes = [sensitive_codes(table, n) for n in sensitive]
        if self.l is not None and not codes:
            raise ParameterError("l needs a sensitive column", hint='name it: sensitive="occupation"')
        sanitizer = Sanitizer(
            [predictor for _, predictor in encoded], [responses[t.classes] for t in targets], targets, codes, persons
        )
        best, path = sanitizer.search(self.k, self.l)
        self.k_, self.l_, self.n_steps_ = best.k, best.l, best.step
        self.trade_off_ = [{"step": s.step, "k": s.k, "l": s.l} for s in path]
        self._dialect = table.layout.dialect
        for text in shrunk(targets, best, path, self.k, self.l):
            caution(text)
        described = [t.describe(min(best.step, t.n_steps)) for t in targets]
        labels = responses[True].labels if True in responses else ()
        answer = {"name": response, **({"classes": list(labels)} if labels else {})}
        reached = {"k": best.k, "l": best.l, "sensitive": list(sensitive)}
        released, groups = sanitizer.released(best.plans), [p.group for p in best.plans]
        self.model_ = model_to_json(described, best.trees, released, groups, answer, table.n_rows, reached)
        trees = [tree for model in best.trees for tree in model]
        maps = tuple(
            column_map(*each, plan, f, trees) for f, (each, plan) in enumerate(zip(encoded, best.plans, strict=True))
        )
        roles = _released_roles(schema, maps, response, sensitive)
        plan = self._planned(table, roles, Maps(maps), [KAnonymity.from_schema(self.k, schema)])
        parameters = {
            "k": self.k,
            "l": self.l,
            "response": response,
            "sensitive": list(sensitive),
            "trees": described,
            "steps": best.step,
            "trade_off": self.trade_off_,
        }
        return replace(plan, parameters=parameters)

    def _models(self) -> list[Any]:
        if self.trees is None:
            return [TreeSettings()]
        if isinstance(self.trees, str):
            return list(parse(self.trees))
        if not isinstance(self.trees, (list, tuple)):
            return [self.trees]
        if not self.trees:
            raise ParameterError("trees is empty", hint="name at least one tree to keep")
        return list(self.trees)

    @property
    def by_position(self) -> bool:
        """Return whether the rows must keep their order, because a forest drew bootstrap rows by position."""
        return any(model.get("bootstrap", False) for model in self.model_["models"])

    def checked_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns needed to rebuild the trees and to measure L again."""
        reached = self.model_["reached"]["sensitive"]
        return tuple(dict.fromkeys((*self.plan_.names("quasi"), self.model_["response"]["name"], *reached)))

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Rebuild the published trees from a released table, measure L again if `l` is set, and return the checks.

        Parameters
        ----------
        original : Table
            The table that came in; it takes no part.
        released : Table
            The table, or its file read back.
        """
        rebuilt = verify_model(self.model_, released)
        reached = "identical" if rebuilt.identical else "different"
        checks = [Check("model rebuilt", "identical", reached, rebuilt.identical, rebuilt.difference)]
        if self.l is not None:
            least = _least_l(released, self.plan_, self.model_["reached"]["sensitive"])
            name = "records over most frequent sensitive value"
            checks.append(Check(name, self.l, least, least > self.l, "strictly above"))
        return checks

    def release_files(self, release: Any) -> dict[str, str]:
        """Return the file of the published model, by file name."""
        return {"model.json": dumps(self.model_)}

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return the notes on the published model for the recipient, who reads the release from `file`."""
        return RecipientNotes(lines=recipient_lines(self.model_, file, self._dialect, self.l))


def _encode(
    table: Table, schema: Schema, names: Sequence[str], targets: Sequence[PreservedModel]
) -> list[tuple[Column, Predictor]]:
    is_single = {t.bits < 53 for t in targets}
    check_numbers(table, schema, names)
    encoded = [encode_predictor(table, schema, n, any(is_single)) for n in names]
    numbers = [(c, p) for c, p in encoded if p.numeric]
    inexact = [p.name for c, p in numbers if not np.array_equal(np.asarray(c.values), p.values)]
    # All trees share one dictionary of values, which is rounded to float32 or is not.
    if len(is_single) == 2 and inexact:
        raise ParameterError(
            f"a scikit-learn tree and another cannot share columns whose numbers float32 cannot hold: {reprs(inexact)}",
            hint="publish them apart, or round those columns to float32 first",
        )
    for target in targets:
        target.check_columns(names)
    return encoded


def _released_roles(schema: Schema, maps: Sequence[ColumnMap], response: str, sensitive: Sequence[str]) -> Schema:
    protected = [*sensitive, *(n for n in schema.sensitive if n == response)]
    listed = {*schema.quasi, *protected, *schema.identifiers}
    # The response is released as it is, so it has a role whether it was declared or not.
    others = dict.fromkeys((*schema.other, *schema.sensitive, response))
    return schema.replace(
        quasi=[m.name for m in maps],
        sensitive=protected,
        identifiers=[n for n in schema.identifiers if n not in sensitive],
        other=[n for n in others if n not in listed],
        kinds={**schema.kinds, **{m.name: m.kind for m in maps}},
    )


def _is_class(table: Table, schema: Schema, response: str) -> bool:
    """Return whether a response is predicted as a class: it is not numeric, or has at most two numbers."""
    if response not in table.names:
        raise SchemaError(f"no column {response!r} for the response")
    if table.declared_kind(schema, response) != "numeric":
        return True
    # Two numbers, such as 0 and 1, stand for classes.
    return table.column(response, kind="numeric").n_values <= 2


def _target(tree: Any, classes: bool) -> PreservedModel:
    if isinstance(tree, ModelSettings):
        return PreservedModel(tree.for_response(classes))
    if hasattr(tree, "get_params") and hasattr(tree, "fit"):
        return SklearnTree(tree)
    raise ParameterError(
        f"{type(tree).__name__} is neither builder settings nor a fitted tree",
        hint="give TreeSettings(...), ForestSettings(...), BoostingSettings(...) or a fitted scikit-learn tree",
    )


def _least_l(released: Table, plan: Plan, sensitive: Sequence[str]) -> float:
    """Return L of a released table: the smallest n / max frequency of a sensitive value over the classes."""
    quasi, columns = (
        [released.column(name, kind="categorical") for name in names] for names in (plan.names("quasi"), sensitive)
    )
    classes = Classes.from_groups(group([c.codes for c in quasi], released.n_rows), columns)
    return min(float(frequency_l(c.counts).min()) for c in classes.sensitive.values())


def _free(name: str, columns: Sequence[str]) -> str:
    """Return the name, with underscores appended until it differs from every column's name."""
    while name in columns:
        name += "_"
    return name
