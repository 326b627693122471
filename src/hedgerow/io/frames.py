"""Convert data frames of any library to Arrow and back, and strip tables down to their values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..columns.arrays import ArrowFault, as_text, decoded, is_text, one_piece, text_lengths, value_type
from ..errors import InputError, SchemaError
from ..texts import refusal
from .text_cells import cell_text

Replaced = Mapping[str, pa.Array]
# The row that stands at each place of what is released; None gives everything back as it came.
Rows = NDArray[np.int64] | None


class Source(Protocol):
    """A data frame converted to Arrow that can be converted back to its own type.

    Attributes
    ----------
    arrow : pyarrow.Table
    categories : mapping of str to sequence of str
        The categories of each column whose type lists them.
    texts : mapping of str to str
        Columns of values that became text because Arrow has no type for them, and what they were.
    """

    arrow: pa.Table
    categories: Mapping[str, Sequence[str]] = {}
    texts: Mapping[str, str] = {}

    def restore(self, replaced: Replaced, drop: set[str], rows: Rows = None) -> Any:
        """Return a frame of the original type with columns replaced, added and dropped.

        With `rows` the frame has the rows in that order and holds only values: no index, no
        metadata and no unused category.
        """


class ArrowSource(Source):
    """A pyarrow table, or a file's table, whose new columns may stay dictionaries until written."""

    def __init__(self, arrow: pa.Table, *, file: bool = False, texts: Mapping[str, str] | None = None) -> None:
        self.arrow = without_views(arrow)
        self.file, self.texts = file, texts or {}

    def restore(self, replaced: Replaced, drop: set[str], rows: Rows = None) -> Any:
        """Return a pyarrow table with columns replaced, added and dropped."""
        table = self.arrow
        for name, array in replaced.items():
            # texts of a file are written out piece by piece, never all at once
            values = array if self.file else _decoded(array)
            if name in table.column_names:
                values = values if self.file else _in_dictionary(values, self.arrow.column(name))
                table = table.set_column(table.column_names.index(name), name, values)
            else:
                table = table.append_column(name, values)
        table = table.drop_columns(sorted(drop)) if drop else table
        if rows is not None:
            return values_only(table.take(pa.array(rows)))
        if replaced or drop:
            # What pandas noted about the columns no longer holds.
            notes = {k: v for k, v in (table.schema.metadata or {}).items() if k != b"pandas"}
            table = table.replace_schema_metadata(notes or None)
        return table


def without_views(table: pa.Table) -> pa.Table:
    """Return the table with view and run-length types replaced by types whose rows Arrow can reorder."""
    for i, field in enumerate(table.schema):
        if (kind := _VIEWS.get(_family(field.type))) is not None:
            converted = kind(table.column(i))
            table = table.set_column(i, field.with_type(converted.type), converted)
    return table


def _family(kind: pa.DataType) -> str:
    return str(kind).partition("<")[0]


_INTEGERS = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
_NULLABLE = {f"{name}Dtype" for name in ("String", "Boolean", "Float32", "Float64", *_INTEGERS)}
_VIEWS: Mapping[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "string_view": lambda column: column.cast(pa.string()),
    "binary_view": lambda column: column.cast(pa.binary()),
    "run_end_encoded": pc.run_end_decode,
    # Arrow's own casts of these give broken offsets
    "list_view": lambda column: _lists(column, pa.list_),
    "large_list_view": lambda column: _lists(column, pa.large_list),
}


def _lists(column: pa.ChunkedArray, kind: Callable[[pa.Field], pa.DataType]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(column.to_pylist(), kind(column.type.value_field))])


class PandasSource(Source):
    """A pandas frame with any index."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = [str(name) for name in frame.columns]
        categories: dict[str, Sequence[str]] = {}
        columns, self.texts = [], (texts := dict[str, str]())
        for i, name in enumerate(self.names):
            column = frame.iloc[:, i]
            columns.append(_from_pandas(column, name, texts))
            if _family(columns[-1].type) in _VIEWS:
                raise InputError(
                    f"column {name!r} has the type {column.dtype}, whose rows pandas cannot reorder",
                    hint='convert it, for example frame.astype({name: "string"})',
                )
            if isinstance(column.dtype, sys.modules["pandas"].CategoricalDtype) and len(column):
                exact = pa.types.is_dictionary(columns[-1].type)
                listed = as_text(columns[-1].chunk(0).dictionary).to_pylist() if exact else []
                categories[name] = listed or [str(category) for category in column.cat.categories]
        self.categories = categories
        # Doubled names are reported by the table; Arrow allows them.
        self.arrow = pa.Table.from_arrays(columns, names=self.names)

    def restore(self, replaced: Replaced, drop: set[str], rows: Rows = None) -> Any:
        """Return a pandas frame of the same index with columns replaced, added and dropped."""
        frame = self.frame.copy(deep=False)
        for name, array in replaced.items():
            if name not in self.names:
                frame[name] = _to_pandas(array, None)
                continue
            at = self.names.index(name)
            frame.isetitem(at, _to_pandas(array, self.frame.dtypes.iloc[at]))
        keep = [i for i, name in enumerate(self.names) if name not in drop]
        frame = frame.iloc[:, [*keep, *range(len(self.names), frame.shape[1])]]
        return frame if rows is None else _bare_pandas(frame.iloc[rows])


class NumpySource(Source):
    """A two-dimensional numpy array whose columns are named x0, x1 ..."""

    def __init__(self, array: Any, prefix: str) -> None:
        if array.ndim == 1 and array.dtype.names is None:
            array = array.reshape(-1, 1)
        if array.ndim != 2 or array.dtype.names is not None:
            raise InputError(f"a numpy array with {array.ndim} dimensions is not a table", hint="give rows by columns")
        self.array = array
        names = [f"{prefix}{i}" for i in range(array.shape[1])]
        self.texts = texts = dict[str, str]()
        columns = [_from_objects(array[:, i], name, texts) for i, name in enumerate(names)]
        self.arrow = pa.Table.from_arrays(columns, names=names)

    def restore(self, replaced: Replaced, drop: set[str], rows: Rows = None) -> Any:
        """Return a numeric array if all columns are numeric, else an array of objects."""
        names = self.arrow.column_names
        columns = [
            _to_numpy(replaced[name]) if name in replaced else self.array[:, names.index(name)]
            for name in dict.fromkeys([*names, *replaced])
            if name not in drop
        ]
        plain = all(column.dtype.kind in "biuf" for column in columns)
        kind = np.result_type(*(c.dtype for c in columns)) if plain and columns else object
        out = np.empty((len(self.array), len(columns)), dtype=kind)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out if rows is None else out[rows]


class FrameSource(Source):
    """A frame of any other library, such as Polars, DuckDB, Modin or Dask, read through narwhals."""

    def __init__(self, frame: Any, prefix: str) -> None:
        import narwhals

        wrapped = narwhals.from_native(frame, allow_series=True)
        if isinstance(wrapped, narwhals.Series):
            wrapped = wrapped.alias(wrapped.name or f"{prefix}0").to_frame()
        self.query = wrapped.implementation if isinstance(wrapped, narwhals.LazyFrame) else None
        self.frame = _run(wrapped) if isinstance(wrapped, narwhals.LazyFrame) else wrapped
        self.texts = texts = dict[str, str]()
        # Arrow has no type for columns of any objects
        columns = [self.frame[name] for name, kind in self.frame.schema.items() if kind == narwhals.Object]
        cells = {c.name: _stringified(c.to_list(), [v is None for v in c], c.name, texts).to_pylist() for c in columns}
        new = (narwhals.new_series(n, v, narwhals.String, backend=self.frame.implementation) for n, v in cells.items())
        self.arrow = self.frame.with_columns(*new).to_arrow()

    def restore(self, replaced: Replaced, drop: set[str], rows: Rows = None) -> Any:
        """Return a frame of the original type; for a query, a query on the new values (a table on Spark)."""
        import narwhals

        frame = self.frame.drop(sorted(drop))
        if replaced:
            columns = pa.table({name: _decoded(array) for name, array in replaced.items()})
            frame = frame.with_columns(*narwhals.from_arrow(columns, backend=frame.implementation).iter_columns())
            names = [name for name in replaced if name in self.frame.columns]
            frame = frame.with_columns(*_in_categories(frame, self.frame.select(names)))
        if rows is not None:
            # an index would show the rows of the original
            frame = narwhals.maybe_reset_index(frame[rows])
            frame = frame.with_columns(*_in_categories(frame, frame))
        if self.query and not self.query.is_spark_like():
            return frame.lazy(backend=self.query).to_native()
        return frame.to_native()


def _in_categories(frame: Any, like: Any) -> list[Any]:
    """Return the columns of a frame that hold but categories of `like`, as such, without unused ones."""
    import narwhals

    recast = []
    for name, kind in like.schema.items():
        if kind not in (narwhals.Enum, narwhals.Categorical):
            continue
        column, values = (each[name].cast(narwhals.String) for each in (frame, like))
        used = set(column.unique().drop_nulls())
        if used.issubset(values.unique()):
            listed = kind.categories if kind == narwhals.Enum else ()
            recast.append(column.cast(narwhals.Enum([each for each in listed if each in used]) if listed else kind))
    return recast


def _run(query: Any) -> Any:
    """Run a lazy query and return its result; raise InputError without the query's message, which may quote data."""
    from narwhals.exceptions import DuplicateError

    try:
        return query.collect()
    except DuplicateError:
        raise InputError(f"the {query.implementation} query has names more than once", hint="rename them") from None
    except MemoryError:
        raise
    except Exception as error:
        words = refusal("query_failed", "io", engine=query.implementation, error=type(error).__name__)
        raise InputError(**words) from None


def source_of(frame: Any, prefix: str = "x") -> Source:
    """Return the source for a frame, series or array; raise InputError for anything else."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, (pa.Array, pa.ChunkedArray)):
        frame = pa.Table.from_arrays([frame], names=[f"{prefix}0"])
    if isinstance(frame, pa.Table):
        return ArrowSource(frame)
    if isinstance(frame, np.ndarray):
        return NumpySource(frame, prefix)
    if pandas := sys.modules.get("pandas"):
        if isinstance(frame, pandas.Series):
            frame = frame.to_frame(f"{prefix}0" if frame.name is None else frame.name)
        if isinstance(frame, pandas.DataFrame):
            return PandasSource(frame)
    if isinstance(frame, Mapping):
        return _mapping(frame)
    try:
        return FrameSource(frame, prefix)
    except TypeError:
        root, kind = type(frame).__module__.split(".")[0], type(frame).__name__
        kind = kind if root == "builtins" else f"{root}.{kind}"
        raise InputError(
            f"{kind} is not a table",
            hint="give a path, a pandas, Polars or pyarrow table, a DuckDB relation or a two-dimensional numpy array",
        ) from None


def _mapping(columns: Mapping[str, object]) -> Source:
    texts = dict[str, str]()
    try:
        arrays = [
            _from_objects(np.asarray(v, dtype=object), str(n), texts) if isinstance(v, (list, tuple)) else pa.array(v)
            for n, v in columns.items()
        ]
    except (TypeError, *ArrowFault):
        raise InputError("the columns of a mapping must be lists of values") from None
    if len({len(a) for a in arrays}) > 1:
        raise InputError("the columns differ in length")
    return ArrowSource(pa.Table.from_arrays(arrays, names=[str(n) for n in columns]), texts=texts)


def _decoded(array: Any) -> Any:
    """Return a dictionary array as plain values, unless its text is too long for one plain column."""
    if not pa.types.is_dictionary(array.type):
        return array
    pieces = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    # a column of text counts its bytes in 32 bits
    long = any(text_lengths(piece).sum() >= 1 << 31 for piece in pieces)
    return array if long else decoded(pa.chunked_array(pieces))


def _in_dictionary(array: Any, was: pa.ChunkedArray) -> Any:
    """Return text as a dictionary of the old column's used entries, in their order; unchanged if it has others."""
    kind = was.type
    if not (pa.types.is_dictionary(kind) and is_text(kind.value_type) and is_text(array.type)):
        return array
    entries, cells = one_piece(was.unify_dictionaries()).dictionary, array.cast(kind.value_type)
    places = pc.index_in(cells, entries, skip_nulls=True)
    if places.null_count > cells.null_count:
        return array
    used = entries.take(pc.unique(places.drop_null()).sort())
    indices = one_piece(pc.index_in(cells, used).cast(kind.index_type))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, used, ordered=kind.ordered)])


def _to_numpy(array: Any) -> Any:
    """Return values as a numeric numpy array with NaN for missing; other values as an array of objects."""
    array = _decoded(array)
    kind = array.type
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not array.null_count):
        return array.to_numpy(zero_copy_only=False)
    out = np.empty(len(array), dtype=object)
    out[:] = array.to_pylist()
    return out


def _from_pandas(column: Any, name: str, texts: dict[str, str]) -> pa.ChunkedArray:
    """Return a pandas column as Arrow; values without an Arrow type become text by `str`, as `texts` says."""
    if isinstance(column.dtype, sys.modules["pandas"].SparseDtype):
        column = column.sparse.to_dense()
    kind = getattr(getattr(column.dtype, "categories", None), "dtype", None)
    if isinstance(kind, sys.modules["pandas"].IntervalDtype):  # Arrow forgets which end is open
        column = column.cat.rename_categories(str)
    array = _converted(column)
    if array is None or isinstance(array.type, pa.BaseExtensionType):
        return _stringified(column.to_numpy(dtype=object), column.isna().to_numpy(), name, texts)
    return array


def _from_objects(values: Any, name: str, texts: dict[str, str]) -> pa.ChunkedArray:
    """Return an array of any Python values as Arrow; mixed types become text by `str`, and `texts` says so."""
    if values.dtype.kind in "US":
        return pa.chunked_array([pa.array(values.astype(object).tolist(), pa.string())])
    if (array := _converted(values)) is None:
        missing = np.fromiter((v is None or v != v for v in values.tolist()), bool, len(values))
        return _stringified(values, missing, name, texts)
    return array


def _converted(values: Any) -> pa.ChunkedArray | None:
    """Convert values to Arrow, or return None if Arrow has no type for them."""
    try:
        array = pa.array(values, from_pandas=True)
    except (*ArrowFault, TypeError, ValueError, OverflowError):
        return None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _stringified(values: Any, missing: Any, name: str, texts: dict[str, str]) -> pa.ChunkedArray:
    """Return values as text by `str`, and add their type to `texts`."""
    cells = [None if is_missing else str(v) for v, is_missing in zip(values, missing, strict=True)]
    kinds = {type(v).__name__ for v, is_missing in zip(values, missing, strict=True) if not is_missing}
    texts[name] = f"values of the type {kinds.pop()}" if len(kinds) == 1 else "mixed types"
    return pa.chunked_array([pa.array(cells, pa.string())])


def _to_pandas(array: Any, was: Any) -> Any:
    """Return values for a pandas column, in the old column's nullable, categorical or Arrow dtype if they fit it."""
    pandas = sys.modules["pandas"]
    array = _decoded(array)
    if isinstance(was, pandas.CategoricalDtype):
        # intervals were read as texts
        listed = was.categories.map(str) if isinstance(was.categories.dtype, pandas.IntervalDtype) else was.categories
        cells = one_piece(pa.chunked_array([array]) if isinstance(array, pa.Array) else array).dictionary_encode()
        place = listed.get_indexer(cells.dictionary.to_pandas())
        if (place < 0).any():
            return array.to_pandas().array
        codes = np.append(place, -1)[cells.indices.fill_null(-1)]
        return _used_categories(pandas.Series(pandas.Categorical.from_codes(codes, dtype=was))).array
    if isinstance(was, pandas.ArrowDtype):
        return pandas.array(array, dtype=pandas.ArrowDtype(array.type))
    # Only the nullable dtypes (Int64, boolean, string ...) read Arrow; others follow the values.
    fits = is_text(array.type) == (getattr(was, "name", "") == "string")
    if fits and type(was).__name__ in _NULLABLE:
        try:
            return cast(Any, was).__from_arrow__(array)
        except (*ArrowFault, TypeError, ValueError):
            pass
    values = array.to_pandas()
    return values.array if isinstance(values, pandas.Series) else values


def _bare_pandas(frame: Any) -> Any:
    """Return a pandas frame without its index, attributes and unused categories."""
    frame = frame.reset_index(drop=True)
    frame.attrs = {}
    for i, kind in enumerate(frame.dtypes):
        if isinstance(kind, sys.modules["pandas"].CategoricalDtype):
            frame.isetitem(i, _used_categories(frame.iloc[:, i]))
    return frame


def _used_categories(column: Any) -> Any:
    """Return a categorical pandas column without its unused categories, sorted unless they are ordered."""
    column = column.cat.remove_unused_categories()
    # unsorted categories may stand in the order of the original's rows
    return column if column.cat.ordered else column.cat.reorder_categories(sorted(column.cat.categories, key=str))


def values_only(table: pa.Table) -> pa.Table:
    """Return a table that holds only its values: no metadata and no unused dictionary entries.

    Entries are sorted by their text, unless the dictionary is ordered. All NaN have the same bits,
    and each column is one piece of memory; otherwise both could show the original order of rows.

    Raises
    ------
    SchemaError
        A column holds values that cannot be written anew.
    """
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(_column_values(column))
        except (*ArrowFault, ValueError):
            raise SchemaError(f"column {name!r} ({column.type}) cannot be written anew", hint="leave it out") from None
    return pa.table(columns, names=table.column_names)


def _column_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = pa.chunked_array([one_piece(column)])
    kind = column.type
    if pa.types.is_nested(kind):
        return pa.chunked_array([pa.array(_copy_nested(column.to_pylist()), _without_notes(kind))])
    if not pa.types.is_dictionary(kind):
        column = _one_nan(column)
        # a missing cell may have its value left beneath it, which taking does not copy
        return column.take(pa.array(np.arange(len(column)))) if column.null_count else column
    cells = column.chunk(0)
    indices = cells.indices.cast(pa.int32()).fill_null(-1) if cells.null_count else cells.indices
    index = indices.to_numpy()  # -1 is the last place of the tables below
    entries = _one_nan(cells.dictionary)
    is_used = np.zeros(len(entries) + 1, np.bool_)
    is_used[index] = True
    # several chunks may have given the same entry twice
    merged = entries.dictionary_encode()
    place = np.append(merged.indices.fill_null(-1).to_numpy(), -1)
    used = np.unique(place[is_used])
    used = used[used >= 0]
    if not kind.ordered:
        used = used[pc.sort_indices(cell_text(merged.dictionary.take(pa.array(used)))).to_numpy()]
    lut = np.full(len(merged.dictionary) + 1, -1)
    lut[used] = np.arange(len(used))
    codes = lut[place]
    if cells.null_count or not np.array_equal(codes[:-1], np.arange(len(entries))):
        indices = pa.array(codes.astype(kind.index_type.to_pandas_dtype())[index], mask=(codes < 0)[index])
    entries = merged.dictionary.take(pa.array(used))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered)])


def _one_nan(array: Any) -> Any:
    """Replace every NaN by one bit pattern, so that equal values have equal bytes."""
    if not pa.types.is_floating(array.type) or not pc.any(pc.is_nan(array)).as_py():
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(math.nan, array.type), array)


def _copy_nested(value: Any) -> Any:
    """Copy a nested value so that nothing else in its arrays' memory ends up in the release."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copy_nested, value))
    if isinstance(value, dict):
        return {name: _copy_nested(part) for name, part in value.items()}
    return math.nan if isinstance(value, float) and value != value else value


def _without_notes(kind: pa.DataType) -> pa.DataType:
    """Return a type without field metadata: field names, types and nullability stay."""
    if not pa.types.is_nested(kind):
        return value_type(kind)

    def plain(field: pa.Field) -> pa.Field:
        return pa.field(field.name, _without_notes(field.type), field.nullable)

    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_field), plain(kind.item_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (pa.list_ if pa.types.is_list(kind) else pa.large_list)(plain(kind.value_field))
    raise ValueError  # unions, and lists that are views
