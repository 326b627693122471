"""What every method shares: the estimator's conventions, and the way from frames to a plan."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from ..backends import Transformed, transform
from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError, ParameterError, SchemaError, UnsupportedError
from ..io.read import read
from ..kernels.threads import side_by_side
from ..key import Key
from ..measures import Classes
from ..measures.guarantees import Check, Guarantee
from ..notation import beyond_years, moment, plain
from ..plan import Plan, PlanColumn, Recoding
from ..schema import READING, SCHEMA, Schema
from ..validation import Kind, check
from .estimator import Estimator
from .features import Features, as_array, output_as
from .refusals import Refused
from .tightening import rungs


@dataclass(frozen=True)
class Files:
    """What a method adds to a release folder: texts by file name.

    Parameters
    ----------
    public : mapping of str to str
        For the recipient.
    private : mapping of str to str
        For the steward and the auditor alone.
    """

    public: Mapping[str, str] = field(default_factory=dict)
    private: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """What a method tells the recipient, in RECIPIENT.md, beside what its plan tells.

    Parameters
    ----------
    about : str
        What was done to the table.
    cells : mapping of str to str
        By column: what stands in it, where "recoded" or "unchanged" does not say it.
    lines : sequence of str
        Sections of its own, as Markdown lines.
    promised, not_measured : sequences of str
        Further sentences of those sections.
    """

    about: str = "Some columns were recoded to protect them."
    cells: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    promised: Sequence[str] = ()
    not_measured: Sequence[str] = ()


class Method(Estimator):
    """Base of all methods: a scikit-learn transformer whose `fit` makes a plan.

    A method writes `_fit(table, schema) -> Plan`; parameters are checked there,
    never changed. The parameter `schema`, which every method has, gives kinds,
    category orders and hierarchies where the columns' own types do not tell.
    What else a release needs of a method is declared here, each with a default:
    what it releases (`release_table`), further checks (`release_checks`), files
    (`release_files`) and words for the recipient (`told`). A method
    that `draws` has the parameters `key` and `random_state` as well.
    """

    needs_sensitive: ClassVar[bool] = True
    """Whether the method cannot work without a sensitive column."""
    yardstick: ClassVar[Literal["classes", "linkage"]] = "classes"
    """What judges its release: classes of equal cells, or how well records are linked."""
    draws: ClassVar[bool] = False
    """Whether a secret `Key` decides what is released."""
    pairs: ClassVar[bool] = False
    """Whether its own checks compare a released row with the original one at the same place."""
    engines: ClassVar[tuple[str, ...]] = ("memory",)
    """Engines that the method runs on."""
    heeds: ClassVar[tuple[str, ...]] = ()
    """What it heeds of `unit`, `household`, `together`, `grid` and `events` of a schema; it refuses the others."""
    not_told: ClassVar[tuple[str, ...]] = ("schema", "key", "random_state")
    """Parameters that no plan holds: what is said elsewhere in it, and what hides something."""

    kinds: ClassVar[Mapping[str, Kind]] = {}
    """What its parameters may be, beside their defaults; ranges are checked by `_fit`."""

    schema: Schema | None = None
    key: Key | str | Path | None
    random_state: int | None

    @property
    def runs_on(self) -> tuple[str, ...]:
        """Those of `engines` that the method runs on with the parameters that it has."""
        return self.engines

    @property
    def by_position(self) -> bool:
        """Whether what was fitted promises something of records by where they stand."""
        return False

    @property
    def title(self) -> str:
        """Its name where several methods stand side by side."""
        return type(self).__name__

    def stricter(self) -> Iterator[Self]:
        """Unfitted copies that protect more and more: larger k, lower cap, more noise; a few steps.

        A method without a parameter to tighten has none.
        """
        for parameters in rungs(self.get_params(deep=False)):
            yield self.copy().set_params(**parameters)

    def side_by_side(self, schema: Schema) -> tuple[str, ...]:
        """Columns whose codes `fit` asks for record by record; a cluster brings these together."""
        return (*schema.quasi, *schema.sensitive)

    def room(self, n_rows: int, n_sensitive: int) -> int:
        """Bytes of memory that so many records take beside their codes, roughly."""
        return 0

    def release_table(self, table: Table) -> Transformed:
        """The released columns of the table that was fitted."""
        return transform(self.plan_, table)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Checks beyond the plan's promises, derived again from a released table."""
        return []

    def checked(self, schema: Schema) -> tuple[str, ...]:
        """Released columns that `release_checks` asks for record by record."""
        return ()

    def release_files(self, release: Any) -> Files:
        """Files beside the released table."""
        return Files()

    def refused(self, table: Table, schema: Schema) -> list[Refused]:
        """Return the finer groups that it refused to make because they break a promise; none here."""
        return []

    def loss_and_least(self, table: Table, schema: Schema) -> tuple[float, float] | None:
        """How much detail this release loses, and the least that any release with its k loses.

        Shares of the public sum of squares; None where no such bound is known.
        """
        return None

    def second_table(self) -> pa.Table | None:
        """The second table of methods that release two; None for the others."""
        return None

    def buckets(self, original: Table, released: Table) -> Classes | None:
        """The groups of a second table that holds the sensitive values; None where there is none."""
        return None

    def second_checks(self, original: Table, released: Table, second: Table) -> list[Check]:
        """Checks that need both released tables, the second as its recipient reads it."""
        return []

    def told(self, file: str) -> Told:
        """What the recipient must know about the method to read the table; `file` is its name."""
        return Told()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a plan to quasi-identifiers and sensitive columns.

        Parameters
        ----------
        X : frame or array of shape (n, p)
            Quasi-identifiers; at least two rows.
        y : frame, series or array of shape (n,) or (n, r), optional
            Sensitive columns.

        Returns
        -------
        self
        """
        if y is None and self.needs_sensitive:
            raise ParameterError(
                f"{type(self).__name__} needs at least one sensitive column; it requires y to be "
                "passed, but the target y is None",
                hint="name what an intruder wants to know",
            )
        self.check_kinds()
        features = Features.of(X)
        people = features.table
        if people.n_rows < 2:
            raise ParameterError(
                "X has 1 sample", hint="people are hidden among others: give at least two"
            )
        answers: dict[str, Any] = {} if y is None else self._answers(y, people.names)
        for values in answers.values():
            if len(values) != people.n_rows:
                raise ParameterError(f"X has {people.n_rows:,} rows and y has {len(values):,}")
        given = self.schema or Schema()
        for part, name in (("unit", given.person), ("household", given.household)):
            if name is None:
                continue
            raise UnsupportedError(
                f"fit(X, y) does not see the {part} {name!r}, which is no column to recode",
                hint="protect the whole table: hr.protect(people, schema, method)",
            )
        declared = {n: people.declared(n) for n in people.names if people.declared(n)}
        self.fit_table(
            people.replaced(answers),
            given.replace(
                **self._roles(people.names, tuple(answers)),
                identifiers=(),
                other=(),
                weight=None,
                kinds={n: people.kind(n) for n in people.names} | dict(given.kinds),
                categories=declared | dict(given.categories),
            ),
        )
        self._know(people.names, features.named)
        return self

    def fit_table(self, table: Table, schema: Schema) -> Self:
        """Fit a plan to a table whose schema names the roles; `protect` calls this."""
        self.check_kinds()
        schema.check_quasi()
        if self.needs_sensitive and not schema.sensitive:
            raise ParameterError(
                f"{type(self).__name__} needs at least one sensitive column",
                hint="name what an intruder wants to know",
            )
        asked = ["grid"] if schema.grid else []
        asked += ["unit"] if schema.person is not None else []
        asked += ["household"] if schema.household is not None else []
        asked += ["together"] if schema.together else []
        if ignored := [name for name in asked if name not in self.heeds]:
            raise UnsupportedError(
                f"{type(self).__name__} does not heed {', '.join(ignored)} of the schema",
                hint="choose a method that does, such as MART"
                + (
                    ", keep one record of each person, or say that every row is one (unit=None): "
                    "then what is promised of records holds for nobody who has several"
                    if "unit" in ignored
                    else ", or leave it out"
                ),
            )
        if self.draws:
            self._key = Key.of(self.key, self.random_state)
        self.plan_ = self._fit(table, schema)
        self._know(schema.quasi, True)
        return self

    def check_kinds(self) -> None:
        """Refuse a parameter of a wrong type; `protect` asks before it looks at any of them."""
        known = inspect.signature(type(self)).parameters
        for name, kind in {"schema": SCHEMA, **self.kinds}.items():
            value = getattr(self, name)
            if value is not known[name].default:
                check(name, value, kind)

    def _fit(self, table: Table, schema: Schema) -> Plan:
        raise NotImplementedError

    def _roles(self, columns: Sequence[str], answers: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The roles of the columns of X and of y in `fit`."""
        return {"quasi": tuple(columns), "sensitive": tuple(answers)}

    def _answers(self, y: Any, taken: Sequence[str]) -> dict[str, Any]:
        """The columns of y as Arrow arrays, under names that X does not use."""
        array = as_array(y)
        table = read(y if array is None else array, prefix="y").arrow
        made = {}
        for name in table.column_names:
            free = name
            while free in taken:
                free += "_sensitive"
            made[free] = table.column(name)
        return made

    def _know(self, names: Sequence[str], named: bool) -> None:
        """Remember the columns that `transform` will ask for."""
        self._fitted_names, self._names_given = tuple(names), named
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        if not named:
            del self.feature_names_in_

    @property
    def _own_key(self) -> Key:
        """The key of the draws; one that a pickle left out is made again where that is possible."""
        if self._key.forgotten and (self.key is not None or self.random_state is not None):
            return Key.of(self.key, self.random_state)
        return self._key

    def transform(self, X: Any) -> Any:
        """Recode quasi-identifiers by the fitted plan; the order of the rows and the index stay.

        What is handed out should come from `hedgerow.protect`, whose order tells nothing.

        Parameters
        ----------
        X : frame or array of shape (m, p)
            The columns that were fitted.

        Returns
        -------
        the same kind of frame, or what `set_output` asks for

        Raises
        ------
        PlanError
            X has other columns than those that were fitted.
        """
        self._check_fitted()
        features = Features.of(X).as_fitted(
            self._fitted_names, self._names_given, type(self).__name__
        )
        if not self.allows_missing:
            self._refuse_missing(features.fitted)
        made = features.restore(self.release_table(features.fitted).columns)
        return output_as(self._output, made, self.get_feature_names_out())

    def _refuse_missing(self, table: Table) -> None:
        kinds = {column.name: column.kind for column in self.plan_.columns}
        faults = []
        for name in table.names:
            if kinds.get(name) in ("numeric", "date"):
                column = table.column(name, kind=kinds[name])
                if column.has_missing or column.infinite:
                    faults.append(name)
        if faults:
            raise InputError(
                f"missing (NaN) or infinite numbers in: {', '.join(map(repr, faults))}",
                hint="fill them, or leave these rows out",
            )

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit(X, y)`, then `transform(X)`."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the released columns: those of the fitted ones."""
        self._check_fitted()
        given = self._fitted_names if input_features is None else tuple(input_features)
        if len(given) != self.n_features_in_:
            raise ParameterError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}"
            )
        if self._names_given and given != self._fitted_names:
            raise ParameterError("input_features is not equal to feature_names_in_")
        return np.array(given, dtype=object)

    def _planned(
        self, table: Table, schema: Schema, recoding: Recoding, promises: Iterable[Guarantee] = ()
    ) -> Plan:
        """The plan of what was fitted."""
        return Plan(
            type(self).__name__,
            self.plan_parameters(),
            plan_columns(table, schema),
            recoding,
            tuple(promise.promise() for promise in promises),
            table.n_rows,
            **{name: getattr(schema, name) for name in READING},
            weight=schema.weight or "",
        )

    def plan_parameters(self) -> dict[str, Any]:
        """The parameters as plain JSON values for the plan, what hides something left out."""
        given = self.get_params(deep=False)
        return {k: plain(v, other=_in_words) for k, v in given.items() if k not in self.not_told}


class NoTransform(UnsupportedError, AttributeError):
    """`transform` of a method whose release no single table can hold.

    As scikit-learn has it, the method is then no transformer: `hasattr` says so.
    """


def check_columns(table: Table, schema: Schema, *, empty: bool = False) -> None:
    """Raise one error for all columns with infinities and quasi-identifiers without values.

    Parameters
    ----------
    table : Table
    schema : Schema
    empty : bool
        Accept quasi-identifiers without values.
    """
    faults = []
    encoded = side_by_side(  # the table keeps them, for whoever asks next
        lambda n: table.declared_column(schema, n),
        (*schema.quasi, *schema.sensitive),
        table.n_rows * (len(schema.quasi) + len(schema.sensitive)),
    )
    by_name = {column.name: column for column in encoded}
    for role, names in (("quasi-identifier", schema.quasi), ("sensitive column", schema.sensitive)):
        for name in names:
            column = by_name[name]
            if column.infinite:
                faults.append(f"{role} {name!r} holds infinite values")
            elif not (column.n_values or empty) and role == "quasi-identifier":
                faults.append(f"{role} {name!r} is wholly missing")
    if faults:
        raise ParameterError("; ".join(faults), hint="repair the column or leave it out")
    if strange := [name for name in schema.quasi if not _has_texts(by_name[name])]:
        raise beyond_years(strange)


def _has_texts(column: Column) -> bool:
    """Whether the first and the last of its dates can be written down."""
    if column.kind == "date" and column.n_values:
        try:
            values = column.exact or column.values
            for end in (values[0], values[-1]):
                moment(end, column.unit)
        except SchemaError:
            return False
    return True


def plan_columns(table: Table, schema: Schema) -> tuple[PlanColumn, ...]:
    """Every column of a table with its role and kind, as the plan keeps it."""
    made = []
    for name in table.names:
        kind = table.declared_kind(schema, name)
        unit, zone, order = "", "", tuple[str, ...]()
        if kind == "date" and schema.role(name) == "quasi":
            column = table.column(name, kind=kind)
            unit, zone = column.unit, column.zone
        if kind == "ordinal" and schema.role(name) == "sensitive":
            # what a group tells depends on the order, which no released file declares
            order = tuple(table.declared_column(schema, name).values)
        events = tuple(schema.events.get(name, ()))
        role, declared = schema.role(name), name in schema.kinds
        made.append(
            PlanColumn(
                name, role, kind, unit, zone=zone, order=order, events=events, declared=declared
            )
        )
    return tuple(made)


def _in_words(value: Any) -> Any:
    """A parameter that is an object: a guarantee as its promise, others as they show themselves."""
    return value.promise() if hasattr(value, "promise") else repr(value)
