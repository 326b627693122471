"""Files of SPSS, Stata and SAS, by pyreadstat: cells and what stands beside them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pyarrow as pa

from ..errors import InputError, needed
from ..files import temporary_folder
from .label_codes import Format, Leaving, arrived, leaving
from .labels import Labels, Variable

_SPSS = Format(
    label=120,
    codes_of_text=True,
    tags=False,
    epoch=dt.date(1582, 10, 14),
    day=86_400,
    second=1,
    forms={"date": "DATE11", "moment": "DATETIME20", "time": "TIME8"},
)
_STATA = Format(
    label=32_000,
    codes_of_text=False,
    tags=True,
    epoch=dt.date(1960, 1, 1),
    day=1,
    second=1000,
    forms={"date": "%td", "moment": "%tc", "time": "%tcHH:MM:SS"},
)
_SAS = Format(
    label=0,
    codes_of_text=False,
    tags=False,
    epoch=dt.date(1960, 1, 1),
    day=1,
    second=1,
    forms={"date": "DATE9", "moment": "DATETIME20", "time": "TIME8"},
)
_READERS: Mapping[str, Callable[[ModuleType], Any]] = {
    ".sav": lambda module: module.read_sav,
    ".zsav": lambda module: module.read_sav,
    ".dta": lambda module: module.read_dta,
    ".xpt": lambda module: module.read_xport,
    ".sas7bdat": lambda module: module.read_sas7bdat,
}
_KINDS = {
    ".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata", ".xpt": "SAS transport", ".sas7bdat": "SAS",
}  # fmt: skip
STATISTICAL = tuple(_READERS)
"""The endings of files that this reads."""
_TELLS_MISSING = (".sav", ".zsav", ".dta", ".sas7bdat")
_INT32 = 1 << 31
_OLD_NAME, _OLD_LABEL, _OLD_TEXT = 8, 40, 200
"""What a SAS transport file of version 5 holds of a name, a label and a text, in bytes."""
_STAMPS = {
    ".sav": ((92, b"01 Jan 7000:00:00"),),
    ".zsav": ((92, b"01 Jan 7000:00:00"),),
    ".xpt": tuple((at, b"01JAN70:00:00:00") for at in (144, 160, 464, 480)),
}
"""Where a file says when it was written, which would make every release another one."""
_STATA_STAMP = re.compile(rb"(</label><timestamp>.)\d\d \w{3} \d{4} \d\d:\d\d")
_HEAD = 1 << 10


def _pyreadstat() -> ModuleType:
    return needed("pyreadstat", "stats", "files of SPSS, Stata and SAS")


def _faults(module: ModuleType) -> tuple[type[Exception], ...]:
    """What pyreadstat raises; early versions do not show all of it."""
    inner = module._readstat_parser
    return inner.ReadstatError, inner.PyreadstatError, ValueError, TypeError


def read_statistical(
    path: Path, suffix: str
) -> tuple[pa.Table, Mapping[str, Sequence[str]], Labels]:
    """A file as Arrow, the order of its categories, and what stands beside its cells.

    Raises
    ------
    InputError
        pyreadstat is missing, or the file is damaged.
    """
    module = _pyreadstat()
    read = _READERS[suffix](module)
    asked: dict[str, Any] = {"output_format": "dict"}
    if suffix in _TELLS_MISSING:
        asked["user_missing"] = True
    try:
        columns, about = read(str(path), **asked)
        odd = [name for name in about.missing_ranges if _dated(columns[name])]
        if odd:  # their codes for missing would be days of long ago
            columns |= read(str(path), output_format="dict", usecols=odd)[0]
    except MemoryError:
        raise
    except OverflowError:
        raise InputError(
            f"{path.name} holds dates outside the years 1 to 9999", hint="repair them first"
        ) from None
    except _faults(module):
        raise InputError(
            f"{path.name} is not a file of {_KINDS[suffix]}, or it is damaged",
            hint="check the ending of its name, or write it again",
        ) from None
    if not columns:
        raise InputError(f"{path.name} has no columns")
    cells = {str(name): _cells(found) for name, found in columns.items()}
    variables = {name: _variable(name, about, suffix) for name in cells}
    old = suffix == ".xpt" and b"LIBRARY" in path.open("rb").read(_OLD_NAME * 6)
    version = {True: 5, False: 8}[old] if suffix == ".xpt" else 0
    return arrived(cells, Labels(variables, title=about.file_label or "", version=version))


def _dated(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, (dt.date, dt.time)) for cell in cells)


def _cells(found: Sequence[Any]) -> list[Any]:
    """Cells with None where nothing stands; text that is empty is missing in these files."""
    listed = found.tolist() if hasattr(found, "tolist") else found
    return [None if cell is None or cell == "" or cell != cell else cell for cell in listed]


def _variable(name: str, about: Any, suffix: str) -> Variable:
    """What a file says of a column."""
    if suffix in (".sav", ".zsav"):
        ranges = tuple((each["lo"], each["hi"]) for each in about.missing_ranges.get(name, ()))
    else:
        ranges = ()
    measure = about.variable_measure.get(name) or ""
    return Variable(
        label=about.column_names_to_labels.get(name) or "",
        values=dict(about.variable_value_labels.get(name, {})),
        missing=ranges,
        form=about.original_variable_types.get(name) or "",
        measure="" if measure == "unknown" else measure,
        width=int(about.variable_display_width.get(name) or 0) if suffix != ".dta" else 0,
        sort="text" if about.readstat_variable_types.get(name, "").startswith("string") else "number",
    )


def write_statistical(table: pa.Table, file: IO[bytes], suffix: str, labels: Labels) -> None:
    """Write a table as SPSS, Stata or SAS transport file, the same bytes whenever it is written.

    Raises
    ------
    pyarrow.ArrowInvalid
        The format cannot hold it.
    """
    module = _pyreadstat()
    pandas = needed("pandas", "stats", "files of SPSS, Stata and SAS")
    form = {".dta": _STATA, ".xpt": _SAS}.get(suffix, _SPSS)
    columns = leaving(table, labels, form)
    made = [_storable(column) for column in columns]
    frame = pandas.DataFrame(
        {c.name: pandas.Series(cells, dtype=kind) for c, (cells, kind, _) in zip(columns, made, strict=True)}
    )
    about: dict[str, Any] = {
        "column_labels": {c.name: c.variable.label for c in columns if c.variable.label},
        "variable_format": {c.name: c.variable.form for c in columns if c.variable.form},
        "file_label": "",  # a title may name who made the file
    }
    values = {c.name: values for c, (*_, values) in zip(columns, made, strict=True) if values}
    if suffix == ".xpt":
        about |= {"file_format_version": _version(columns, labels)}
    else:
        about["variable_value_labels"] = values
    if suffix == ".dta":
        about["missing_user_values"] = _tags(columns)
    if suffix in (".sav", ".zsav"):
        about["compress"] = suffix == ".zsav"
        about["missing_ranges"] = {
            c.name: [{"lo": low, "hi": high} for low, high in c.variable.missing]
            for c in columns
            if c.variable.missing
        }
        about["variable_measure"] = {
            c.name: c.variable.measure for c in columns if c.variable.measure
        }
        about["variable_display_width"] = {
            c.name: c.variable.width for c in columns if c.variable.width
        }
    write = {".dta": module.write_dta, ".xpt": module.write_xport}.get(suffix, module.write_sav)
    with temporary_folder() as folder:
        path = folder / f"table{suffix}"
        try:
            write(frame, str(path), **about)
        except _faults(module):
            raise pa.ArrowInvalid("no such cells in this format") from None
        _copy(path, file)


def _storable(column: Leaving) -> tuple[list[Any], str, dict[Any, str]]:
    """Cells of one type, that type, and labels of the same type."""
    values = dict(column.variable.values)
    if column.variable.sort == "text":
        return column.cells, "object", values
    there = [cell for cell in column.cells if cell is not None]
    numbers = [code for code in [*there, *values] if not isinstance(code, str)]
    whole = all(
        isinstance(code, int) or (code.is_integer() and values) for code in numbers
    ) and all(abs(code) < _INT32 for code in numbers)
    if not whole or not there:
        tagged = len(numbers) < len(there) + len(values)
        return column.cells, "object" if tagged else "float64", values
    as_int = {code: code if isinstance(code, str) else int(code) for code in {*there, *values}}
    cells = [None if cell is None else as_int[cell] for cell in column.cells]
    return cells, "object", {as_int[code]: text for code, text in values.items()}


def _tags(columns: Sequence[Leaving]) -> dict[str, list[str]]:
    """The letters that stand for missing numbers, by column."""
    found = {}
    for column in columns:
        if column.variable.sort != "text":
            letters = sorted({cell for cell in column.cells if isinstance(cell, str)})
            if letters:
                found[column.name] = letters
    return found


def _version(columns: Sequence[Leaving], labels: Labels) -> int:
    """The version of a SAS transport file: the old one where it came in that, and holds all."""
    long = any(
        len(column.name.encode()) > _OLD_NAME
        or len(column.variable.label.encode()) > _OLD_LABEL
        or any(isinstance(c, str) and len(c.encode()) > _OLD_TEXT for c in column.cells)
        for column in columns
    )
    return 5 if labels.version == 5 and not long else 8


def _copy(path: Path, file: IO[bytes]) -> None:
    """The file without the hour at which it was written."""
    with path.open("rb") as source:
        head = bytearray(source.read(_HEAD))
        for at, instead in _STAMPS.get(path.suffix, ()):
            head[at : at + len(instead)] = instead
        if path.suffix == ".dta":
            head = bytearray(_STATA_STAMP.sub(rb"\g<1>01 Jan 1970 00:00", bytes(head), count=1))
        file.write(head)
        while part := source.read(1 << 20):
            file.write(part)
