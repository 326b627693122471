"""The base of every method: X and y as frames, parameter checks, and the steps from a table to a plan."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from ..backends import Transformed, transform
from ..columns.arrays import decoded, is_text, one_piece
from ..columns.column import Column
from ..columns.numbers import one_zero
from ..columns.table import Table
from ..errors import InputError, ParameterError, PlanError, SchemaError, UnsupportedError, reprs
from ..io.read import read
from ..kernels.threads import side_by_side
from ..key import Key
from ..measures import Classes, Persons
from ..measures.guarantees import Check, Guarantee
from ..notation import beyond_years, markdown, moment, plain
from ..plan import Plan, PlanColumn, Recoding
from ..progress import caution
from ..schema import READING, SCHEMA, Schema
from ..validation import Kind, check, check_whole
from .estimator import Estimator, rungs
from .refusals import Refused

# Names that a message lists, as in scikit-learn's own.
_SHOWN = 5


def read_features(X: Any) -> tuple[Table, bool]:
    """Read X, and tell whether its columns have names; those of arrays are numbered.

    Parameters
    ----------
    X : frame, two-dimensional array, or list of rows

    Raises
    ------
    InputError
        It is no table of plain values.
    """
    if hasattr(X, "nnz"):
        raise InputError("X is a sparse matrix, and sparse input is not supported", hint="give a frame, or X.toarray()")
    array = as_array(X)
    X = X if array is None else array
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if isinstance(X, (pa.Array, pa.ChunkedArray)) or len(shape) == 1:
        raise InputError(
            "X has one dimension, and a table has two",
            hint="Reshape your data: X.reshape(-1, 1) for one column, a frame of one column for a series",
        )
    if array is not None and len(shape) == 2 and not shape[1]:
        raise InputError(f"0 feature(s) (shape=({shape[0]}, 0)) while a minimum of 1 is required.")
    table = read(X)
    names = list(X.columns) if hasattr(X, "set_axis") else table.names  # pandas: of any type
    return table, array is None and all(isinstance(name, str) for name in names)


def output_as(kind: Any, released: Any, names: Sequence[str]) -> Any:
    """Convert a released frame or array to the type of frame that `set_output` chose.

    Parameters
    ----------
    kind : {"default", "pandas", "polars"}
    released : frame or array
    names : sequence of str
        Names for the columns of an array.
    """
    if kind == "default":
        return released
    import narwhals

    if isinstance(released, np.ndarray):
        return narwhals.from_dict({name: released[:, i] for i, name in enumerate(names)}, backend=kind).to_native()
    # narwhals converts between frames without importing libraries that nobody uses here.
    wrapped = narwhals.from_native(released)
    frame = wrapped.collect() if isinstance(wrapped, narwhals.LazyFrame) else wrapped
    if type(released).__module__.split(".")[0] == kind and frame is wrapped:
        return released
    return frame.to_pandas() if kind == "pandas" else frame.to_polars()


def as_array(X: Any) -> Any:
    """Return X or y as a numpy array if it is an array, wraps one or is a list; otherwise None."""
    if isinstance(X, np.ndarray):
        array = X
    elif isinstance(X, (list, tuple)):
        array = np.array(X, dtype=object)  # each column finds its own type
    elif hasattr(X, "__array__") and not isinstance(X, (pa.Array, pa.ChunkedArray)):
        if any(hasattr(X, name) for name in ("columns", "column_names", "schema", "index", "name")):
            return None
        array = np.asarray(X)
    else:
        return None
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported", hint="give real numbers")
    return array


def _other_names(mine: Sequence[str], fitted: Sequence[str]) -> PlanError:
    # scikit-learn's tests of estimators ask for these very words.
    lines = ["The feature names should match those that were passed during fit."]
    for words, here, there in (
        ("Feature names unseen at fit time:", mine, fitted),
        ("Feature names seen at fit time, yet now missing:", fitted, mine),
    ):
        if unmatched := sorted(set(here) - set(there)):
            more = ["- ..."] if len(unmatched) > _SHOWN else []
            lines += [words, *(f"- {name}" for name in unmatched[:_SHOWN]), *more]
    if len(lines) == 1:
        lines.append("Feature names must be in the same order as they were in fit.")
    return PlanError("\n".join(lines) + "\n")


@dataclass(frozen=True)
class RecipientNotes:
    """Notes that a method adds to RECIPIENT.md, besides those of its plan.

    Parameters
    ----------
    about : str
        How the table was changed, as a sentence.
    cells : mapping of str to str
        A description of each column's cells, if "recoded" or "unchanged" is not enough.
    lines : sequence of str
        Further sections, as Markdown lines.
    promised, not_measured : sequences of str
        Further sentences of these two sections.
    """

    about: str = "Some columns were recoded to protect them."
    cells: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    promised: Sequence[str] = ()
    not_measured: Sequence[str] = ()


class Method(Estimator):
    """Base class of all methods: a scikit-learn transformer whose `fit` builds a plan.

    A method implements `_fit(table, schema) -> Plan`; it checks its parameters there,
    and never changes them. The parameter `schema`, which every method has, declares kinds,
    category orders and hierarchies if the columns' own types do not.
    This class has defaults for everything else that a release needs: the released
    table (`release_table`), further checks (`release_checks`), files (`release_files`)
    and notes for the recipient (`recipient_notes`). A method that `draws` also has the
    parameters `key` and `random_state`.
    """

    # Whether the method cannot work without a sensitive column.
    needs_sensitive: ClassVar[bool] = True
    # How the risk of a release is measured: in classes of equal cells, or by linkage of records.
    risk_model: ClassVar[Literal["classes", "linkage"]] = "classes"
    # Whether a secret `Key` decides what is released.
    draws: ClassVar[bool] = False
    # Whether a guard may hide its sensitive values: they have groups, and nothing else was promised of them.
    guardable: ClassVar[bool] = True
    # How it hides exact sensitive values where nobody says: "redraw", or None if it releases them.
    usual_guard: ClassVar[str | None] = None
    # Whether `release_checks` compare each released row with the original one at the same place.
    pairs: ClassVar[bool] = False
    # Whether the released rows are nobody's, made from a public plan (differential privacy).
    is_private: ClassVar[bool] = False
    # Bytes that `fit` needs for a record, besides its codes.
    record_bytes: ClassVar[int] = 0
    # Engines that the method runs on.
    engines: ClassVar[tuple[str, ...]] = ("memory",)
    # Which of `unit`, `household`, `together` and `grid` of a schema it supports; others are
    # refused.
    supported_fields: ClassVar[tuple[str, ...]] = ()
    # Parameters that the plan leaves out: secrets, and what other fields of the plan say.
    hidden_parameters: ClassVar[tuple[str, ...]] = ("schema", "key", "random_state")

    # Types of the parameters, where they are not the defaults; `_fit` checks the ranges.
    kinds: ClassVar[Mapping[str, Kind]] = {}

    schema: Schema | None = None
    key: Key | str | Path | None
    random_state: int | None

    @property
    def by_position(self) -> bool:
        """Return whether the promises depend on the positions of the records in the table."""
        return False

    @property
    def title(self) -> str:
        """Return the method's name as comparisons of methods show it."""
        return type(self).__name__

    def stricter(self) -> Iterator[Self]:
        """Yield a few unfitted copies, each stricter than the one before: larger k, lower cap or more noise.

        A method without a parameter to tighten yields none.
        """
        for parameters in rungs(self.get_params(deep=False)):
            yield self.copy().set_params(**parameters)

    def joint_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that `fit` reads record by record; a cluster sends their codes to this machine."""
        return (*schema.quasi, *schema.sensitive)

    def memory_estimate(self, n_rows: int, n_sensitive: int) -> int:
        """Return about how many bytes `fit` needs for `n_rows` records, besides their codes."""
        return n_rows * self.record_bytes

    def release_table(self, table: Table) -> Transformed:
        """Return the released columns of the fitted table."""
        return transform(self.plan_, table)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Return checks of the released table that go beyond the plan's promises; none by default."""
        return []

    def checked_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the released columns that `release_checks` reads record by record; none by default."""
        return ()

    def release_files(self, release: Any) -> dict[str, str]:
        """Return extra files for the recipient as texts by file name; none by default."""
        return {}

    def refused(self, table: Table, schema: Schema) -> list[Refused]:
        """Return the finer groups that were refused because they would break a promise; none by default."""
        return []

    def second_table(self) -> pa.Table | None:
        """Return the second released table, or None for methods that release only one."""
        return None

    def buckets(self, original: Table, released: Table) -> Classes | None:
        """Return the groups whose sensitive values are in a second table, or None if there is no such table."""
        return None

    def second_checks(self, original: Table, released: Table, second: Table) -> list[Check]:
        """Return checks of the two released tables against each other; `second` is read as its recipient reads it."""
        return []

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return notes for the recipient on how to read the released table, which is named `file`."""
        return RecipientNotes()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a plan to the quasi-identifiers X and the sensitive columns y.

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
                f"{type(self).__name__} needs a sensitive column; it requires y to be passed, but the target y is None",
                hint="name what an intruder wants to know",
            )
        self.check_kinds()
        people, named = read_features(X)
        if people.n_rows < 2:
            raise ParameterError("X has 1 sample", hint="people are hidden among others: give at least two")
        answers = {} if y is None else self._answers(y, people.names)
        for values in answers.values():
            if len(values) != people.n_rows:
                raise ParameterError(f"X has {people.n_rows:,} rows and y has {len(values):,}")
        schema = self.schema or Schema()
        for part, name in (("unit", schema.person), ("household", schema.household)):
            if name is not None:
                raise UnsupportedError(
                    f"fit(X, y) does not see the {part} {name!r}, which is no column to recode",
                    hint="protect the whole table: hr.protect(people, schema, method)",
                )
        declared = {n: people.declared(n) for n in people.names if people.declared(n)}
        roles = schema.replace(
            **self._roles(people.names, tuple(answers)),
            identifiers=(),
            other=(),
            weight=None,
            categories=declared | dict(schema.categories),
        )
        kinds = {n: people.kind(n) for n in people.names} | dict(self.with_kinds(people, roles).kinds)
        roles = roles.replace(kinds=kinds)
        self.fit_table(people.replaced(answers), roles)
        self._know(people.names, named)
        return self

    def fit_table(self, table: Table, schema: Schema, *, in_rows: bool = False) -> Self:
        """Fit a plan to a table whose schema names the roles of its columns.

        With `in_rows`, a guard will draw all rows inside the groups of the plan.
        """
        # Before any encoding: a plain message instead of a failure inside numpy or Arrow.
        self.check_table(table, schema)
        return self.fit_checked(table, schema, in_rows=in_rows)

    def fit_checked(self, table: Table, schema: Schema, *, in_rows: bool = False) -> Self:
        """Fit a plan to a table that `check_table` accepted; `protect` calls this."""
        self._in_rows = in_rows
        schema = self.with_kinds(table, schema)
        if self.draws:
            self._key = Key.from_key_or_seed(self.key, self.random_state)
        self.plan_ = self._fit(table, schema)
        self._know(schema.quasi, True)
        return self

    def with_kinds(self, table: Table, schema: Schema) -> Schema:
        """Return the schema with the kinds that the method takes columns for where nobody said; as it is by default."""
        return schema

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error if the method cannot protect these columns in these roles, whatever its settings.

        It looks for columns without a value at most, so it is quick: `protect` calls it before any work, and
        the studio to grey a method.
        """
        self.check_kinds()
        schema.check_quasi()
        if self.needs_sensitive and not schema.sensitive:
            raise ParameterError(
                f"{type(self).__name__} needs at least one sensitive column",
                hint="name what an intruder wants to know; Hedge, Mondrian and others promise k without one",
            )
        fields = {
            "grid": bool(schema.grid),
            "unit": schema.person is not None,
            "household": schema.household is not None,
            "together": schema.together,
        }
        unsupported = [name for name in fields if name not in self.supported_fields]
        if ignored := [name for name in unsupported if fields[name]]:
            hint = "choose a method that does, such as MART, or leave it out"
            if "unit" in ignored:
                hint = (
                    "choose a method that does, such as MART, keep one record of each person, or say that every row is "
                    "one (unit=None): then what is promised of records holds for nobody who has several"
                )
            names = ", ".join(ignored)
            raise UnsupportedError(f"{type(self).__name__} does not support {names} of the schema", hint=hint)

    def check_kinds(self) -> None:
        """Raise ParameterError if a parameter has the wrong type; `protect` calls this first."""
        parameters = inspect.signature(type(self)).parameters
        for name, kind in {"schema": SCHEMA, **self.kinds}.items():
            if (value := getattr(self, name)) is not parameters[name].default:
                check(name, value, kind)

    def _fit(self, table: Table, schema: Schema) -> Plan:
        raise NotImplementedError

    def _roles(self, columns: Sequence[str], answers: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the roles that `fit` assigns to the columns of X and y."""
        return {"quasi": tuple(columns), "sensitive": tuple(answers)}

    def _answers(self, y: Any, reserved: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Return the columns of y as Arrow arrays by name; a name that X also has gets a suffix."""
        array = as_array(y)
        table = read(y if array is None else array, prefix="y").arrow
        answers = {}
        for name in table.column_names:
            free = name
            while free in reserved:
                free += "_sensitive"
            answers[free] = table.column(name)
        return answers

    def _know(self, names: Sequence[str], named: bool) -> None:
        """Store the names of the columns that `transform` expects."""
        self._fitted_names, self._names_given = tuple(names), named
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        if not named:  # scikit-learn's convention for arrays: the attribute does not exist
            del self.feature_names_in_

    @property
    def _own_key(self) -> Key:
        """Return the key for the random draws, rebuilt from `key` or `random_state` if a pickle left it out."""
        # No pickle holds a key, but a key file or a seed gives it once more.
        if self._key.forgotten and (self.key is not None or self.random_state is not None):
            return Key.from_key_or_seed(self.key, self.random_state)
        return self._key

    def transform(self, X: Any) -> Any:
        """Recode quasi-identifiers by the fitted plan; rows keep their order and index.

        To release a table use `hedgerow.protect`, whose rows are in an order that reveals nothing.

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
        original, named = read_features(X)
        table = self._as_fitted(original, named)
        if not self.allows_missing:
            self._refuse_missing(table)
        name_of = dict(zip(table.names, original.names, strict=True))
        columns = self.release_table(table).columns
        released = original.restore({name_of[name]: values for name, values in columns.items()})
        return output_as(self._output, released, self.get_feature_names_out())

    def _as_fitted(self, table: Table, named: bool) -> Table:
        """Return a table with its columns renamed to the fitted names; columns without names go by position.

        Raises
        ------
        PlanError
            It has other columns, or the same in another order.
        """
        names, method = list(self._fitted_names), type(self).__name__
        if named and self._names_given and table.names != names:
            raise _other_names(table.names, names)
        if len(table.names) != len(names):
            raise PlanError(
                f"X has {len(table.names)} features, but {method} is expecting {len(names)} features as input"
            )
        if named == self._names_given:
            return table
        caution(
            f"X does not have valid feature names, but {method} was fitted with feature names"
            if self._names_given
            else f"X has feature names, but {method} was fitted without feature names"
        )
        return table if table.names == names else Table(table.arrow.rename_columns(names))

    def _refuse_missing(self, table: Table) -> None:
        numbers = [c for c in self.plan_.columns if c.kind in ("numeric", "date")]
        columns = [table.column(c.name, kind=c.kind) for c in numbers if c.name in table.names]
        if faults := [column.name for column in columns if column.has_missing or column.infinite]:
            raise InputError(f"missing (NaN) or infinite numbers in: {reprs(faults)}", hint="fill them or drop rows")

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to X and y, then return `transform(X)`."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the released columns, which are the fitted names."""
        self._check_fitted()
        names = self._fitted_names if input_features is None else tuple(input_features)
        if len(names) != self.n_features_in_:
            raise ParameterError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        if self._names_given and names != self._fitted_names:
            raise ParameterError("input_features is not equal to feature_names_in_")
        return np.array(names, dtype=object)

    def _planned(self, table: Table, schema: Schema, recoding: Recoding, promises: Iterable[Guarantee] = ()) -> Plan:
        """Return this method's plan for a table, with the given recoding and promises."""
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

    def plan_parameters(self) -> dict[str, object]:
        """Return the parameters as plain JSON values for the plan, without the hidden ones."""
        parameters = self.get_params(deep=False)
        return {k: plain(v, other=_in_words) for k, v in parameters.items() if k not in self.hidden_parameters}


class NoTransform(UnsupportedError, AttributeError):
    """Error that `transform` raises if a single table cannot hold the release.

    It is an AttributeError, so for scikit-learn's `hasattr` the method is no transformer.
    """


def check_grid(schema: Schema) -> None:
    """Raise SchemaError if a column with a grid is no quasi-identifier."""
    if others := [name for name in schema.grid if name not in schema.quasi]:
        raise SchemaError(f"columns with a grid are no quasi-identifiers: {reprs(others)}", hint="a grid cuts groups")


def check_columns(table: Table, schema: Schema, *, empty: bool = False) -> None:
    """Raise one error that names all columns with infinite values and quasi-identifiers without values.

    Parameters
    ----------
    table : Table
    schema : Schema
    empty : bool
        Accept quasi-identifiers without values.
    """
    faults, n_quasi = [], len(schema.quasi)
    names = (*schema.quasi, *schema.sensitive)
    # Encoding is the slow part of reading: columns in parallel, and the table stores them.
    columns = side_by_side(lambda name: table.declared_column(schema, name), names, table.n_rows * len(names))
    for i, column in enumerate(columns):
        role = "quasi-identifier" if i < n_quasi else "sensitive column"
        if column.infinite:
            faults.append(f"{role} {column.name!r} holds infinite values")
        elif i < n_quasi and not (column.n_values or empty):
            faults.append(f"{role} {column.name!r} is wholly missing")
    if faults:
        raise ParameterError("; ".join(faults), hint="repair the column or leave it out")
    if strange := [column.name for column in columns if not _has_texts(column)]:
        raise beyond_years(strange)


def _has_texts(column: Column) -> bool:
    """Return whether the first and last date of a column can be written as text; True for columns of other kinds."""
    if column.kind == "date" and column.n_values:
        try:
            values = column.exact or column.values
            for end in (values[0], values[-1]):
                moment(end, column.unit)
        except SchemaError:
            return False
    return True


def plan_columns(table: Table, schema: Schema) -> tuple[PlanColumn, ...]:
    """Return a PlanColumn for every column of the table, with its role and kind."""
    columns = []
    for name in table.names:
        kind = table.declared_kind(schema, name)
        unit, zone, order = "", "", tuple[str, ...]()
        if kind == "date" and schema.role(name) == "quasi":
            column = table.column(name, kind=kind)
            unit, zone = column.unit, column.zone
        if kind == "ordinal" and schema.role(name) == "sensitive":
            # what a group discloses depends on the order, which no released file declares
            order = tuple(table.declared_column(schema, name).values)
        events = tuple(schema.events.get(name, ()))
        role, declared = schema.role(name), name in schema.kinds
        columns.append(PlanColumn(name, role, kind, unit, zone=zone, order=order, events=events, declared=declared))
    return tuple(columns)


def _in_words(value: Any) -> Any:
    """Return an object as plain data: the promise of a guarantee, or the repr of anything else."""
    return value.promise() if hasattr(value, "promise") else repr(value)


def check_people(k: Any, table: Table, schema: Schema, least: int = 2) -> Persons | None:
    """Check that the table has at least k rows and people; return the people, or None if k counts records."""
    if check_whole("k", k, least) > table.n_rows:
        raise ParameterError(f"k is {k:,}, but the table has only {table.n_rows:,} rows", hint="ask for smaller groups")
    return Persons.from_schema(table, schema, int(k))


def check_named(what: str, names: Iterable[Any], schema: Schema) -> None:
    """Raise ParameterError if a parameter names columns that are not quasi-identifiers."""
    if unknown := [name for name in names if name not in schema.quasi]:
        raise ParameterError(f"{what} names columns that are no quasi-identifiers: {reprs(unknown)}")


def values_by_code(table: Table, column: Column) -> pa.Array:
    """Return the original value of each code of a column, in the type it has in the table.

    Shape (n_values + 1,); the last one is missing. If several texts stand for one number, such as
    "1" and "1.0", the first in their order is taken. Zeros have no sign.
    """
    array = table.arrow.column(column.name)
    order = np.arange(table.n_rows)
    if is_text(array.type) and column.is_number:
        order = np.argsort(table.column(column.name, kind="categorical").codes, kind="stable")
    # Rows are assigned last to first, so each code ends up with its first row.
    first = np.zeros(column.n_values + 1, np.int64)
    first[column.codes[order[::-1]]] = order[::-1]
    missing = np.arange(column.n_values + 1) == column.n_values
    return one_zero(one_piece(decoded(array.take(pa.array(first, mask=missing)))))


def render(name: str, **values: Any) -> str:
    """Return a template of the folder `templates` filled in with the values; only its own filters escape text."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hedgerow.methods"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"markdown": markdown, "xml": escape, "repr": repr}
    return environment.get_template(name).render(values)
