"""What every method shares: the estimator's conventions, and the way from frames to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from ..engines import Transformed, transform
from ..errors import ParameterError, PlanError
from ..guarantees import Check
from ..kernels.threads import side_by_side
from ..notation import plain
from ..plan import Plan, PlanColumn
from ..schema import Schema
from ..table import Table, read
from .estimator import Estimator


@dataclass(frozen=True)
class Files:
    """What a method adds to a release folder: texts by file name.

    Parameters
    ----------
    public : mapping of str to str
        For the recipient; a file named RECIPIENT.md stands in place of the usual one.
    private : mapping of str to str
        For the steward and the auditor alone.
    """

    public: Mapping[str, str] = field(default_factory=dict)
    private: Mapping[str, str] = field(default_factory=dict)


class Method(Estimator):
    """Base of all methods: a scikit-learn transformer whose `fit` makes a plan.

    A method writes `_fit(table, schema) -> Plan`; parameters are checked there,
    never changed. The parameter `schema`, which every method has, gives kinds,
    category orders and hierarchies where the columns' own types do not tell.
    What else a release needs of a method is declared here, each with a default:
    what it releases (`release_table`), further checks (`release_checks`), files
    (`release_files`) and words for the recipient (`recipient_lines`).
    """

    needs_sensitive: ClassVar[bool] = True
    """Whether the method cannot work without a sensitive column."""
    yardstick: ClassVar[Literal["classes", "linkage"]] = "classes"
    """What judges its release: classes of equal cells, or how well records are linked."""
    applies: ClassVar[bool] = True
    """Whether the plan can recode other people; otherwise it holds for one table alone."""
    draws: ClassVar[bool] = False
    """Whether a secret `Key` decides what is released."""
    engines: ClassVar[tuple[str, ...]] = ("memory",)
    """Engines that the method runs on."""

    schema: Schema | None = None

    def release_table(self, table: Table) -> Transformed:
        """The released columns of the table that was fitted."""
        return transform(self.plan_, table)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Checks beyond the plan's promises, derived again from a released table."""
        return []

    def release_files(self, release: Any) -> Files:
        """Files beside the released table."""
        return Files()

    def second_table(self) -> pa.Table | None:
        """The table without which the released one cannot be read; None where one says all."""
        return None

    def recipient_lines(self, file: str) -> list[str]:
        """What RECIPIENT.md says beyond columns and promises, as Markdown lines."""
        return []

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a plan to quasi-identifiers and sensitive columns.

        Parameters
        ----------
        X : frame or array of shape (n, p)
            Quasi-identifiers.
        y : frame, series or array of shape (n,) or (n, r)
            Sensitive columns.

        Returns
        -------
        self
        """
        people = read(X)
        quasi = tuple(people.names)
        table = people
        sensitive: tuple[str, ...] = ()
        if y is not None:
            answers = _columns(y, quasi)
            sensitive = tuple(answers)
            arrow = people.arrow
            for name, values in answers.items():
                if len(values) != people.n_rows:
                    raise ParameterError(f"X has {people.n_rows:,} rows and y has {len(values):,}")
                arrow = arrow.append_column(name, values)
            table = read(arrow)
        given = self.schema or Schema()
        categories = {n: people.declared(n) for n in quasi if people.declared(n)} | dict(
            given.categories
        )
        kinds = {n: people.kind(n) for n in quasi} | dict(given.kinds)
        self.fit_table(
            table,
            given.replace(
                quasi=quasi,
                sensitive=sensitive,
                identifiers=(),
                other=(),
                kinds=kinds,
                categories=categories,
            ),
        )
        self.n_features_in_ = len(quasi)
        self.feature_names_in_ = np.array(quasi, dtype=object)
        return self

    def fit_table(self, table: Table, schema: Schema) -> Self:
        """Fit a plan to a table whose schema names the roles; `protect` calls this."""
        if not schema.quasi:
            raise ParameterError(
                "there is no quasi-identifier", hint="name what an intruder may know"
            )
        if self.needs_sensitive and not schema.sensitive:
            raise ParameterError(
                f"{type(self).__name__} needs at least one sensitive column",
                hint="name what an intruder wants to know",
            )
        self.plan_ = self._fit(table, schema)
        return self

    def _fit(self, table: Table, schema: Schema) -> Plan:
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Recode quasi-identifiers by the fitted plan.

        Parameters
        ----------
        X : frame or array of shape (m, p)
            The columns that were fitted; others stay as they are.

        Returns
        -------
        the same kind of frame
        """
        self._check_fitted()
        people = read(X)
        missing = [n for n in self.plan_.names("quasi") if n not in people.names]
        if missing:
            raise PlanError(
                f"the table lacks the columns {', '.join(map(repr, missing))}",
                hint="the plan recodes " + ", ".join(self.plan_.names("quasi")),
            )
        return people.restore(transform(self.plan_, people).columns)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit(X, y)`, then `transform(X)`."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the released columns: those of the fitted ones."""
        self._check_fitted()
        return np.array(self.plan_.names("quasi"), dtype=object)

    def plan_parameters(self) -> dict[str, Any]:
        """The parameters as plain JSON values for the plan (the schema left out)."""
        given = self.get_params(deep=False)
        return {k: plain(v, other=_in_words) for k, v in given.items() if k != "schema"}


def check_columns(table: Table, schema: Schema) -> None:
    """Raise one error for all columns with infinities and quasi-identifiers without values."""
    faults = []
    encoded = side_by_side(  # the table keeps them, for whoever asks next
        lambda n: table.column(n, kind=schema.kinds.get(n), categories=schema.categories.get(n)),
        (*schema.quasi, *schema.sensitive),
        table.n_rows * (len(schema.quasi) + len(schema.sensitive)),
    )
    by_name = {column.name: column for column in encoded}
    for role, names in (("quasi-identifier", schema.quasi), ("sensitive column", schema.sensitive)):
        for name in names:
            column = by_name[name]
            if column.infinite:
                faults.append(f"{role} {name!r} holds infinite values")
            elif not column.n_values and role == "quasi-identifier":
                faults.append(f"{role} {name!r} is wholly missing")
    if faults:
        raise ParameterError("; ".join(faults), hint="repair the column or leave it out")


def plan_columns(table: Table, schema: Schema) -> tuple[PlanColumn, ...]:
    """Every column of a table with its role and kind, as the plan keeps it."""
    made = []
    for name in table.names:
        kind = str(schema.kinds.get(name) or table.kind(name))
        unit = ""
        if kind == "date" and schema.role(name) == "quasi":
            unit = table.column(name, kind=kind).unit
        made.append(PlanColumn(name, schema.role(name), kind, unit))
    return tuple(made)


def _columns(y: Any, taken: tuple[str, ...]) -> dict[str, Any]:
    """The columns of y as Arrow arrays, under names that X does not use."""
    if isinstance(y, (list, tuple)):  # as scikit-learn's own estimators take it
        y = np.asarray(y)
    table = read(y, prefix="y").arrow
    made = {}
    for name in table.column_names:
        free = name
        while free in taken:
            free += "_sensitive"
        made[free] = table.column(name)
    return made


def _in_words(value: Any) -> Any:
    """A parameter that is an object: a guarantee as its promise, others as they show themselves."""
    return value.promise() if hasattr(value, "promise") else repr(value)
