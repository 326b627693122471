"""Read and write SPSS, Stata and SAS files with pyreadstat: codes become categories and back.

These files store a number in each cell and its meaning in a separate list of labels. A fully
labelled column is read as its labels, including those of values declared missing, since "refused"
is information about that person. A column of numbers is read as numbers: values declared missing
become missing cells, and the reasons become a column of their own, which is released only if the
schema says so and is merged back into the first when the file is written.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import decoded, indexed, is_text, value_class
from ..errors import InputError, needed
from ..files import temporary_folder
from .file_format import Code, Dialect, FileLabels, VariableLabels, damaged
from .text_cells import cell_text, unused_name

# Ends the name of the column that says why numbers are missing.
WHY = "_missing"
_EXACT = 1 << 53
_EPOCH = dt.date(1970, 1, 1)


_FORMS = {"date": "DATE9", "moment": "DATETIME20", "time": "TIME8"}


@dataclass(frozen=True)
class StatisticalFormat:
    """The limits and conventions of a statistical file format; the defaults are those of SAS.

    Parameters
    ----------
    program : str
        The program's name in messages.
    read, write : str
        The functions of pyreadstat.
    user_missing : bool
        Whether the reader can return codes that are declared missing.
    label : int
        Maximal number of bytes in a value label; 0 if the format has no value labels.
    codes_of_text : bool
        Whether text values can have labels.
    tags : bool
        Whether letters can encode kinds of missing numbers.
    epoch : datetime.date
        The day from which the format counts time.
    day, second : int
        Number of the format's time units in a day, and in a second.
    forms : mapping of str to str
        The default display formats of dates, moments and times.
    """

    program: str
    read: str
    write: str = "write_xport"
    user_missing: bool = True
    label: int = 0
    codes_of_text: bool = False
    tags: bool = False
    epoch: dt.date = dt.date(1960, 1, 1)
    day: int = 1
    second: int = 1
    forms: Mapping[str, str] = field(default_factory=_FORMS.copy)


@dataclass(frozen=True)
class StatisticalColumn:
    """A column to write: its cells, with None for missing ones, and its metadata."""

    name: str
    cells: list[Any]
    variable: VariableLabels


_SPSS = StatisticalFormat(
    "SPSS",
    "read_sav",
    "write_sav",
    label=120,
    codes_of_text=True,
    epoch=dt.date(1582, 10, 14),
    day=86_400,
    forms={**_FORMS, "date": "DATE11"},
)
_FORMATS = {
    ".sav": _SPSS,
    ".zsav": _SPSS,
    ".dta": StatisticalFormat(
        "Stata",
        "read_dta",
        "write_dta",
        label=32_000,
        tags=True,
        second=1000,
        forms={"date": "%td", "moment": "%tc", "time": "%tcHH:MM:SS"},
    ),
    ".xpt": StatisticalFormat("SAS transport", "read_xport", user_missing=False),
    ".sas7bdat": StatisticalFormat("SAS", "read_sas7bdat"),
}
STATISTICAL = tuple(_FORMATS)
_INT32 = 1 << 31
# What a SAS transport file of version 5 holds of a name, a label and a text, in bytes.
_OLD_NAME, _OLD_LABEL, _OLD_TEXT = 8, 40, 200
# Where a file says when it was written, which would make every release another one.
_STAMPS = {
    ".sav": ((92, b"01 Jan 7000:00:00"),),
    ".zsav": ((92, b"01 Jan 7000:00:00"),),
    ".xpt": tuple((at, b"01JAN70:00:00:00") for at in (144, 160, 464, 480)),
}
_STATA_STAMP = re.compile(rb"(</label><timestamp>.)\d\d \w{3} \d{4} \d\d:\d\d")
_HEAD = 1 << 10
# The extra that installs the packages, and what needs them.
_EXTRA = "stats", "files of SPSS, Stata and SAS"


def _faults(module: ModuleType) -> tuple[type[Exception], ...]:
    """Return the exception classes that pyreadstat raises; early versions do not export all of them."""
    inner = module._readstat_parser
    return inner.ReadstatError, inner.PyreadstatError, ValueError, TypeError


def read_statistical(path: Path, suffix: str) -> tuple[pa.Table, Mapping[str, Sequence[str]], FileLabels]:
    """Return a statistical file's table, the order of each column's categories, and its metadata.

    Raises
    ------
    InputError
        pyreadstat is missing, or the file is damaged.
    """
    module, form = needed("pyreadstat", *_EXTRA), _FORMATS[suffix]
    read = getattr(module, form.read)
    options = {"user_missing": True} if form.user_missing else {}
    try:
        columns, about = read(str(path), output_format="dict", **options)
        dated = [
            name for name in about.missing_ranges if any(isinstance(cell, (dt.date, dt.time)) for cell in columns[name])
        ]
        if dated:  # their codes for missing would be days of long ago
            columns |= read(str(path), output_format="dict", usecols=dated)[0]
    except MemoryError:
        raise
    except OverflowError:
        raise InputError(f"{path.name} holds dates outside the years 1 to 9999", hint="repair them first") from None
    except _faults(module):
        raise damaged(path, f"a file of {form.program}") from None
    if not columns:
        raise InputError(f"{path.name} has no columns")
    cells = {str(name): _cells(column) for name, column in columns.items()}
    variables = {name: _variable(name, about, suffix) for name in cells}
    version = 0
    if suffix == ".xpt":
        content = path.read_bytes()
        version = 5 if b"LIBRARY" in content[: _OLD_NAME * 6] else 8
        _check_transport(path, content, sum(about.variable_storage_width.values()))
    return values_from_codes(cells, FileLabels(variables, title=about.file_label or "", version=version))


def _check_transport(path: Path, content: bytes, width: int) -> None:
    """Raise InputError if a SAS transport file ends inside a row, or has other rows than one table's.

    `width` is the number of bytes of a row. Blanks fill the last 80 bytes. Only version 8 says how
    many rows there are, so of version 5 a file that is cut between two rows looks whole.
    """
    if content.count(b"HEADER RECORD*******MEM") > 1:
        raise InputError(f"{path.name} holds several SAS tables", hint="write each to a file of its own")
    start = content.find(b"HEADER RECORD*******OBS") + 80
    declared = re.match(rb"\s*(\d+)\s", content[start - 32 : start])
    n_bytes = len(content) - start
    rest = content[len(content) - n_bytes % max(width, 1) :]
    if len(content) % 80 or rest.strip() or (declared and int(declared[1]) * width > n_bytes):
        raise InputError(f"{path.name} is no whole SAS transport file: it is cut or damaged", hint="write it again")


def _cells(column: Sequence[Any]) -> list[Any]:
    """Return a column's cells with None for missing values and for empty text."""
    listed = column.tolist() if hasattr(column, "tolist") else column
    return [None if cell is None or cell == "" or cell != cell else cell for cell in listed]


def _variable(name: str, about: Any, suffix: str) -> VariableLabels:
    """Return a column's metadata from what pyreadstat read."""
    ranges = about.missing_ranges.get(name, ()) if suffix in (".sav", ".zsav") else ()
    measure = about.variable_measure.get(name) or ""
    return VariableLabels(
        label=about.column_names_to_labels.get(name) or "",
        values=dict(about.variable_value_labels.get(name, {})),
        missing=tuple((each["lo"], each["hi"]) for each in ranges),
        form=about.original_variable_types.get(name) or "",
        measure="" if measure == "unknown" else measure,
        width=int(about.variable_display_width.get(name) or 0) if suffix != ".dta" else 0,
        sort="text" if about.readstat_variable_types.get(name, "").startswith("string") else "number",
    )


def write_statistical(table: pa.Table, file: IO[bytes], suffix: str, labels: FileLabels) -> None:
    """Write a table as an SPSS, Stata or SAS transport file; equal tables give equal bytes.

    Raises
    ------
    pyarrow.ArrowInvalid
        The format cannot hold it.
    """
    module = needed("pyreadstat", *_EXTRA)
    pandas = needed("pandas", *_EXTRA)
    form = _FORMATS[suffix]
    columns = codes_from_values(table, labels, form)
    stored = [_storable(column) for column in columns]
    frame = pandas.DataFrame(
        {c.name: pandas.Series(cells, dtype=kind) for c, (cells, kind, _) in zip(columns, stored, strict=True)}
    )

    def metadata(attribute: str) -> dict[str, Any]:
        by_column = {c.name: getattr(c.variable, attribute) for c in columns}
        return {name: value for name, value in by_column.items() if value}

    about: dict[str, object] = {
        "column_labels": metadata("label"),
        "variable_format": metadata("form"),
        "file_label": "",  # a title may name who made the file
    }
    values = {c.name: values for c, (*_, values) in zip(columns, stored, strict=True) if values}
    if suffix == ".xpt":
        about |= {"file_format_version": _version(columns, labels)}
    else:
        about["variable_value_labels"] = values
    if suffix == ".dta":
        about["missing_user_values"] = _tags(columns)
    if suffix in (".sav", ".zsav"):
        about["compress"] = suffix == ".zsav"
        about["missing_ranges"] = {
            name: [{"lo": low, "hi": high} for low, high in ranges] for name, ranges in metadata("missing").items()
        }
        about["variable_measure"] = metadata("measure")
        about["variable_display_width"] = metadata("width")
    with temporary_folder() as folder:
        path = folder / f"table{suffix}"
        try:
            getattr(module, form.write)(frame, str(path), **about)
        except _faults(module):
            raise pa.ArrowInvalid("no such cells in this format") from None
        _copy(path, file)


def _storable(column: StatisticalColumn) -> tuple[list[Any], str, dict[Any, str]]:
    """Return a column's cells in one type, their pandas dtype, and the value labels in the same type."""
    values = dict(column.variable.values)
    if column.variable.sort == "text":
        return column.cells, "object", values
    there = [cell for cell in column.cells if cell is not None]
    numbers = [code for code in [*there, *values] if not isinstance(code, str)]
    # pyreadstat writes whole numbers in 32 bits
    whole = all(isinstance(code, int) or (code.is_integer() and values) for code in numbers) and all(
        abs(code) < _INT32 for code in numbers
    )
    if not whole or not there:
        tagged = len(numbers) < len(there) + len(values)
        return column.cells, "object" if tagged else "float64", values
    as_int = {code: code if isinstance(code, str) else int(code) for code in {*there, *values}}
    cells = [None if cell is None else as_int[cell] for cell in column.cells]
    return cells, "object", {as_int[code]: text for code, text in values.items()}


def _tags(columns: Sequence[StatisticalColumn]) -> dict[str, list[str]]:
    """Return for each numeric column the letters that stand for its missing values."""
    letters = {
        c.name: sorted({cell for cell in c.cells if isinstance(cell, str)})
        for c in columns
        if c.variable.sort != "text"
    }
    return {name: tags for name, tags in letters.items() if tags}


def _version(columns: Sequence[StatisticalColumn], labels: FileLabels) -> int:
    """Return a SAS transport file's version: 5 if the input had it and it can hold the data, else 8."""
    long = any(
        len(column.name.encode()) > _OLD_NAME
        or len(column.variable.label.encode()) > _OLD_LABEL
        or any(isinstance(c, str) and len(c.encode()) > _OLD_TEXT for c in column.cells)
        for column in columns
    )
    return 5 if labels.version == 5 and not long else 8


def _copy(path: Path, file: IO[bytes]) -> None:
    """Copy a file to another, with the time of writing replaced by a fixed one."""
    with path.open("rb") as source:
        head = bytearray(source.read(_HEAD))
        for at, instead in _STAMPS.get(path.suffix, ()):
            head[at : at + len(instead)] = instead
        if path.suffix == ".dta":
            head = bytearray(_STATA_STAMP.sub(rb"\g<1>01 Jan 1970 00:00", bytes(head), count=1))
        file.write(head)
        while part := source.read(1 << 20):
            file.write(part)


def values_from_codes(
    columns: Mapping[str, Sequence[Any]], labels: FileLabels, numbers: Collection[str] = ()
) -> tuple[pa.Table, Mapping[str, Sequence[str]], FileLabels]:
    """Return a file's columns as values in Arrow, the order of their categories, and the metadata to write.

    Parameters
    ----------
    columns : mapping of str to list
        Cells as they stand in the file: numbers, text, dates, None.
    labels : Labels
    numbers : collection of str
        Columns of numbers, though all their values have labels.
    """
    arrays: dict[str, pa.ChunkedArray] = {}
    orders: dict[str, Sequence[str]] = {}
    variables, whys = dict(labels.variables), dict[str, str]()
    for name, cells in columns.items():
        variable = variables[name] = _with_sort(variables.get(name, VariableLabels()), cells)
        codes = {c for c in cells if isinstance(c, (int, float, str)) and not isinstance(c, bool)}
        there = sorted(codes, key=_place)
        labelled = name not in numbers and variable.sort in ("number", "text")
        if labelled and there and variable.categorical(there):
            texts = _texts({**dict.fromkeys(there, ""), **variable.values})
            variables[name] = replace(variable, values=texts, coded=True)
            arrays[name] = _categories([texts.get(cell) for cell in cells], texts, variable)
            orders[name] = list(texts.values())
            continue
        missing = [code for code in there if variable.declared_missing(code)]
        texts = _texts({code: variable.values.get(code, "") for code in missing})
        all_labels = {**{code: text for code, text in variable.values.items() if code not in texts}, **texts}
        variables[name] = replace(variable, values=all_labels, coded=False, numbers=name in numbers)
        arrays[name] = _plain_column([None if cell in texts else cell for cell in cells], variable)
        if missing:
            why = unused_name(f"{name}{WHY}", [*columns, *arrays])
            whys[why] = name
            arrays[why] = _categories([texts.get(cell) for cell in cells], texts, VariableLabels())
            orders[why] = list(texts.values())
    return pa.table(arrays), orders, replace(labels, variables=variables, whys=whys)


def codes_from_values(table: pa.Table, labels: FileLabels, form: StatisticalFormat) -> list[StatisticalColumn]:
    """Return a table's columns with their values converted to codes, each with its metadata.

    Labels of unused codes are left out. Values that the format cannot hold are written as text.
    """
    written: dict[str, StatisticalColumn] = {}
    for name in table.column_names:
        variable = labels.variables.get(name)
        before = replace(variable or VariableLabels(), label=labels.label(name))
        written[name] = _codes_of_column(name, decoded(table.column(name)), before, variable is not None, form)
    for why, name in labels.whys.items():
        if why not in written or name not in written:
            continue
        if (both := _together(written[name], written[why], labels.variables[name], form)) is not None:
            written[name] = both
            del written[why]
    return list(written.values())


def codes_of_labels(cells: pa.ChunkedArray, variable: VariableLabels) -> list[Code | None] | None:
    """Return the code of each labelled cell; None unless the column has codes that are numbers or letters."""
    if not variable.coded or variable.sort != "number":
        return None
    codes = {text: code for code, text in variable.values.items()}
    return [None if cell is None else codes[cell] for cell in cells.to_pylist()]


def _place(code: Code) -> tuple[bool, Any]:
    return isinstance(code, str), code


def _with_sort(variable: VariableLabels, cells: Sequence[Any]) -> VariableLabels:
    """Return the metadata with its sort set from the first typed cell (number, date, moment or time)."""
    first = next((cell for cell in cells if cell is not None and not isinstance(cell, str)), None)
    kinds = ((dt.datetime, "moment"), (dt.date, "date"), (dt.time, "time"), ((int, float), "number"))
    cell_sort = next((sort for kind, sort in kinds if isinstance(first, kind)), variable.sort)
    keeps = cell_sort in ("number", "text")
    return replace(variable, sort=cell_sort, values=variable.values if keeps else {})


def _texts(labels: Mapping[Code, str]) -> dict[Code, str]:
    """Return each code's label, ordered by code; a label that two codes share gets the code appended."""
    ordered = {code: labels[code].strip() for code in sorted(labels, key=_place)}
    unique = {code: text or _code_text(code) for code, text in ordered.items()}
    # the label with its code may be another's label
    while len(set(unique.values())) < len(unique):
        uses = Counter(unique.values())
        unique = {c: f"{t} ({_code_text(c)})" if uses[t] > 1 else t for c, t in unique.items()}
    return unique


def _code_text(code: Code) -> str:
    """Return a code as text."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _categories(cells: Sequence[str | None], texts: Mapping[Code, str], variable: VariableLabels) -> pa.ChunkedArray:
    places = {text: place for place, text in enumerate(texts.values())}
    codes = pa.array([None if cell is None else places[cell] for cell in cells], pa.int32())
    coded = pa.DictionaryArray.from_arrays(
        codes, pa.array(list(places), pa.string()), ordered=variable.measure == "ordinal"
    )
    return pa.chunked_array([coded])


def _plain_column(cells: Sequence[Any], variable: VariableLabels) -> pa.ChunkedArray:
    if variable.sort == "text":
        return pa.chunked_array([pa.array(cells, pa.string())])
    if variable.sort != "number":
        kind = {"date": pa.date32(), "moment": pa.timestamp("us"), "time": pa.time64("us")}
        return pa.chunked_array([pa.array(cells, kind[variable.sort])])
    array = pa.array(cells, pa.float64())
    whole = pc.and_(pc.equal(array, pc.trunc(array)), pc.less_equal(pc.abs(array), _EXACT))
    if array.null_count < len(array) and pc.all(whole).as_py():
        array = array.cast(pa.int64())
    return pa.chunked_array([array])


def _codes_of_column(
    name: str, column: pa.ChunkedArray, before: VariableLabels, is_known: bool, form: StatisticalFormat
) -> StatisticalColumn:
    """Return a column as codes with metadata; `before` is its old metadata, `is_known` if a file had it."""
    sort = value_class(column.type)
    if sort == "boolean":
        texts = pc.if_else(column, "true", "false")
        return _coded(name, texts, replace(before, values={0: "false", 1: "true"}), form)
    if sort == "number" and (cells := _numbers(column)) is not None:
        return StatisticalColumn(name, cells, _of_numbers(cells, before))
    if sort in ("date", "time") and (moments := _moments(column, before, form)) is not None:
        return StatisticalColumn(name, *moments)
    if sort == "missing":
        empty = {"text": "", "number": 0.0}
        reduced = before if before.sort in empty else VariableLabels(label=before.label)
        return StatisticalColumn(name, [None] * len(column), replace(reduced, values={}, missing=()))
    texts = column
    if not is_text(column.type):
        texts = pa.chunked_array([cell_text(chunk, Dialect()) for chunk in column.chunks], pa.large_string())
    if before.coded or (before.sort != "text" and (is_known or name.endswith(WHY))):
        return _coded(name, texts, before, form)
    return _in_text(name, texts.to_pylist(), before)


def _numbers(column: pa.ChunkedArray) -> list[Any] | None:
    """Return a numeric column as a list of cells; None if doubles cannot hold the numbers exactly."""
    if pa.types.is_decimal(column.type) or pa.types.is_uint64(column.type):
        return None
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        beyond = any(end is not None and abs(end) > _EXACT for end in ends.values())
        return None if beyond else column.to_pylist()
    return [None if cell is None or cell != cell else cell for cell in column.to_pylist()]


def _of_numbers(cells: Sequence[Any], before: VariableLabels) -> VariableLabels:
    """Return the metadata that remains valid for a variable with these numbers."""
    there = {cell for cell in cells if cell is not None}
    if before.sort != "number":
        return VariableLabels(label=before.label, measure="scale")
    variable = replace(before, values={c: t for c, t in before.values.items() if c in there})
    # rounded or drawn numbers may fall among the codes for missing
    if any(variable.declared_missing(cell) for cell in there):
        variable = replace(variable, missing=())
    if variable.categorical(there) and not before.numbers:
        variable = replace(variable, values={})  # or its reader would take it for categories
    if any(cell != int(cell) for cell in there if abs(cell) < _EXACT) and re.fullmatch(
        r"[A-Z]+\d+(\.0)?", variable.form
    ):
        variable = replace(variable, form="")  # it would hide what stands behind the point
    return variable


def _moments(
    column: pa.ChunkedArray, before: VariableLabels, form: StatisticalFormat
) -> tuple[list[Any], VariableLabels] | None:
    """Return dates, timestamps or times as numbers, with metadata; None if they cannot be exact."""
    kind, start = column.type, (form.epoch - _EPOCH).days
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).to_pylist()
        sort, cells = "date", [None if day is None else (day - start) * form.day for day in days]
    else:
        if pa.types.is_duration(kind) or getattr(kind, "tz", None):
            return None
        stamp = pa.types.is_timestamp(kind)
        counted = column.cast(pa.timestamp("us") if stamp else pa.time64("us")).cast(pa.int64()).to_pylist()
        if any(part is not None and part % 1000 for part in counted):
            return None  # doubles and milliseconds hold no more
        sort, begin = ("moment", start * 86_400_000) if stamp else ("time", 0)
        cells = [None if part is None else (part // 1000 - begin) * form.second / 1000 for part in counted]
    display = before.form if before.sort == sort and before.form else form.forms[sort]
    variable = replace(before, sort=sort, form=display, values={}, missing=())
    return [None if cell is None else float(cell) for cell in cells], variable


def _coded(name: str, column: pa.ChunkedArray, before: VariableLabels, form: StatisticalFormat) -> StatisticalColumn:
    """Return texts as labelled codes, or as plain text if the format cannot hold such labels."""
    if before.sort not in ("number", "text"):
        before = VariableLabels(label=before.label)
    index, entries = indexed(column)
    texts = entries.to_pylist()
    fits = all(len(text.encode()) <= form.label for text in texts if text is not None)
    of_text = before.sort == "text"
    if not form.label or not fits or (of_text and not form.codes_of_text):
        return _in_text(name, [*column.to_pylist()], before)
    codes = {text: code for code, text in before.values.items()}
    if any(isinstance(code, float) and not code.is_integer() for code in codes.values()):
        codes = codes if form.codes_of_text else {}  # Stata has labels of whole numbers alone
    new = sorted((t for t in texts if t is not None and t not in codes), key=_natural)
    used = set(codes.values())
    code_of: dict[str, Code] = {text: codes[text] for text in texts if text in codes}
    if of_text:
        if used & set(new):
            return _in_text(name, column.to_pylist(), before)
        code_of |= {text: text for text in new}
    else:
        free = (n for n in range(1, len(new) + len(used) + _EXACT) if n not in used)
        for text in new:
            code_of[text] = next(n for n in free if not before.declared_missing(n))
    values = {code: text for text, code in sorted(code_of.items(), key=lambda each: _place(each[1]))}
    # new texts too: a reader takes codes for categories only where all of them have labels
    variable = replace(before, values=values)
    if new:
        variable = replace(variable, form="", measure="nominal")
    if not variable.categorical(code_of.values()):
        variable = replace(variable, missing=())
    by_place = [code_of.get(text) if text is not None else None for text in texts]
    return StatisticalColumn(name, [None if i < 0 else by_place[i] for i in index.tolist()], variable)


def _in_text(name: str, cells: list[Any], before: VariableLabels) -> StatisticalColumn:
    plain = before.sort == "text" and not before.coded
    there = set(cells) - {None}
    variable = VariableLabels(
        label=before.label,
        values={code: text for code, text in before.values.items() if plain and code in there},
        missing=tuple(pair for pair in before.missing if plain and pair[0] not in there),
        measure="nominal",
        sort="text",
    )
    if variable.categorical(there):  # its reader would show the labels instead
        variable = replace(variable, values={})
    return StatisticalColumn(name, cells, variable)


def _natural(text: str) -> list[tuple[bool, Any]]:
    """Return a sort key that orders texts by the numbers in them, so that "9" comes before "10"."""
    parts = re.split(r"(\d+)", text)
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def _together(
    numbers: StatisticalColumn, whys: StatisticalColumn, before: VariableLabels, form: StatisticalFormat
) -> StatisticalColumn | None:
    """Return a numeric column with its codes for missing values merged in; None if the two conflict."""
    codes = {text: code for code, text in before.values.items() if before.declared_missing(code)}
    reasons = [None if code is None else whys.variable.values.get(code) for code in whys.cells]
    conflict = any(
        text is not None and (number is not None or text not in codes)
        for number, text in zip(numbers.cells, reasons, strict=True)
    )
    tagged = any(isinstance(code, str) for code in codes.values())
    if conflict or numbers.variable.sort not in ("number", "text") or (tagged and not form.tags):
        return None
    if numbers.variable.missing != before.missing:
        return None
    cells = [number if text is None else codes[text] for number, text in zip(numbers.cells, reasons, strict=True)]
    there = {text for text in reasons if text is not None}
    values = {**numbers.variable.values, **{codes[text]: text for text in there}}
    ordered = {code: values[code] for code in sorted(values, key=_place)}
    return StatisticalColumn(numbers.name, cells, replace(numbers.variable, values=ordered))
