"""Labels of statistical files: codes become categories and missing cells, and codes again.

SPSS, Stata and SAS keep a number in the cell and what it says beside the table. A column whose
values all have labels arrives as those labels, values that are declared missing among them, for
"refused" is what the file says of that person. A column of numbers arrives as numbers: values
that are declared missing become missing cells, and *why* they are missing becomes a column of its
own, which is released where somebody decides so and goes back into the first when it is written.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.encode import decoded, indexed, is_text
from ..columns.row_hashes import value_class
from .cell_text import written
from .dialect import Dialect
from .labels import Code, Labels, Variable

WHY = "_missing"
"""Ends the name of the column that says why numbers are missing."""
_EXACT = 1 << 53
_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class Format:
    """What a kind of statistical file can hold.

    Parameters
    ----------
    label : int
        Most bytes of what a code says; 0 where codes say nothing.
    codes_of_text : bool
        Whether text can have labels.
    tags : bool
        Whether letters stand for kinds of missing numbers.
    epoch : datetime.date
        Where its time begins.
    day, second : int
        What it counts a day, and a second, as.
    forms : mapping of str to str
        How dates, moments and times are shown where nobody said it.
    """

    label: int
    codes_of_text: bool
    tags: bool
    epoch: dt.date
    day: int
    second: int
    forms: Mapping[str, str]


@dataclass(frozen=True)
class Leaving:
    """A column as it is written: its cells, None where missing, and what stands beside them."""

    name: str
    cells: list[Any]
    variable: Variable


def arrived(
    columns: Mapping[str, Sequence[Any]], labels: Labels, numbers: Collection[str] = ()
) -> tuple[pa.Table, Mapping[str, Sequence[str]], Labels]:
    """The columns of a file as Arrow, the order of their categories, and what is to be written again.

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
        variable = variables[name] = _sorted(variables.get(name, Variable()), cells)
        there = sorted({cell for cell in cells if _is_code(cell)}, key=_place)
        labelled = name not in numbers and variable.sort in ("number", "text")
        if labelled and there and variable.categorical(there):
            texts = _texts({**dict.fromkeys(there, ""), **variable.values})
            variables[name] = replace(variable, values=texts, coded=True)
            arrays[name] = _categories([texts.get(cell) for cell in cells], texts, variable)
            orders[name] = list(texts.values())
            continue
        gone = [code for code in there if variable.declared_missing(code)]
        texts = _texts({code: variable.values.get(code, "") for code in gone})
        values = {code: text for code, text in variable.values.items() if code not in texts}
        told = {**values, **texts}
        variables[name] = replace(variable, values=told, coded=False, numbers=name in numbers)
        arrays[name] = _plain([None if cell in texts else cell for cell in cells], variable)
        if gone:
            why = _free(f"{name}{WHY}", [*columns, *arrays])
            whys[why] = name
            arrays[why] = _categories([texts.get(cell) for cell in cells], texts, Variable())
            orders[why] = list(texts.values())
    return pa.table(arrays), orders, replace(labels, variables=variables, whys=whys)


def leaving(table: pa.Table, labels: Labels, form: Format) -> list[Leaving]:
    """The columns of a table as they stand in a file, each with what stands beside it.

    Labels of codes that no cell has are left out. What a format cannot hold stands as text.
    """
    made: dict[str, Leaving] = {}
    for name in table.column_names:
        known = labels.variables.get(name)
        before = replace(known or Variable(), label=labels.label(name))
        made[name] = _leaving(name, decoded(table.column(name)), before, known is not None, form)
    for why, name in labels.whys.items():
        if why in made and name in made:
            both = _together(made[name], made[why], labels.variables[name], form)
            if both is not None:
                made[name] = both
                del made[why]
    return list(made.values())


def codes_again(cells: pa.ChunkedArray, variable: Variable) -> list[Code | None] | None:
    """The codes of categories, where these are numbers and letters; None where they are text."""
    if not variable.coded or variable.sort != "number":
        return None
    codes = {text: code for code, text in variable.values.items()}
    return [None if cell is None else codes[cell] for cell in cells.to_pylist()]


def _is_code(cell: Any) -> bool:
    return isinstance(cell, (int, float, str)) and not isinstance(cell, bool)


def _place(code: Code) -> tuple[bool, Any]:
    return isinstance(code, str), code


def _sorted(variable: Variable, cells: Sequence[Any]) -> Variable:
    """A variable that knows what its cells are."""
    first = next((cell for cell in cells if cell is not None and not isinstance(cell, str)), None)
    kinds = ((dt.datetime, "moment"), (dt.date, "date"), (dt.time, "time"), ((int, float), "number"))
    found = next((sort for kind, sort in kinds if isinstance(first, kind)), variable.sort)
    keeps = found in ("number", "text")
    return replace(variable, sort=found, values=variable.values if keeps else {})


def _texts(labels: Mapping[Code, str]) -> dict[Code, str]:
    """What each code says, in the order of the codes; what two codes say has the code beside it."""
    ordered = {code: labels[code].strip() for code in sorted(labels, key=_place)}
    made = {code: text or _plainly(code) for code, text in ordered.items()}
    while len(set(made.values())) < len(made):
        told = Counter(made.values())
        made = {c: f"{t} ({_plainly(c)})" if told[t] > 1 else t for c, t in made.items()}
    return made


def _plainly(code: Code) -> str:
    """A code as text."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def _free(name: str, taken: Iterable[str]) -> str:
    used = {each.casefold() for each in taken}
    while name.casefold() in used:
        name += "_"
    return name


def _categories(
    cells: Sequence[str | None], texts: Mapping[Code, str], variable: Variable
) -> pa.ChunkedArray:
    places = {text: place for place, text in enumerate(texts.values())}
    codes = pa.array([None if cell is None else places[cell] for cell in cells], pa.int32())
    made = pa.DictionaryArray.from_arrays(
        codes, pa.array(list(places), pa.string()), ordered=variable.measure == "ordinal"
    )
    return pa.chunked_array([made])


def _plain(cells: Sequence[Any], variable: Variable) -> pa.ChunkedArray:
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


def _leaving(
    name: str, column: pa.ChunkedArray, before: Variable, known: bool, form: Format
) -> Leaving:
    """A column of values as cells; `before` is what its file said of it, if it was `known`."""
    sort = value_class(column.type)
    if sort == "boolean":
        texts = pc.if_else(column, "true", "false")
        return _coded(name, texts, replace(before, values={0: "false", 1: "true"}), form)
    if sort == "number":
        cells = _numbers(column)
        if cells is not None:
            return Leaving(name, cells, _of_numbers(cells, before))
    if sort in ("date", "time"):
        told = _moments(column, before, form)
        if told is not None:
            return Leaving(name, *told)
    if sort == "missing":
        empty = {"text": "", "number": 0.0}
        kept = before if before.sort in empty else Variable(label=before.label)
        return Leaving(name, [None] * len(column), replace(kept, values={}, missing=()))
    texts = column if is_text(column.type) else _as_text(column)
    if before.coded or (before.sort != "text" and (known or name.endswith(WHY))):
        return _coded(name, texts, before, form)
    return _in_text(name, texts.to_pylist(), before)


def _numbers(column: pa.ChunkedArray) -> list[Any] | None:
    """Numbers as cells; None where they are beyond doubles."""
    if pa.types.is_decimal(column.type) or pa.types.is_uint64(column.type):
        return None
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        beyond = any(end is not None and abs(end) > _EXACT for end in ends.values())
        return None if beyond else column.to_pylist()
    return [None if cell is None or cell != cell else cell for cell in column.to_pylist()]


def _of_numbers(cells: Sequence[Any], before: Variable) -> Variable:
    """What stays true of a variable that holds these numbers."""
    there = {cell for cell in cells if cell is not None}
    if before.sort != "number":
        return Variable(label=before.label, measure="scale")
    made = replace(before, values={c: t for c, t in before.values.items() if c in there})
    if any(made.declared_missing(cell) for cell in there):
        made = replace(made, missing=())
    if made.categorical(there) and not before.numbers:
        made = replace(made, values={})  # or its reader would take it for categories
    if any(cell != int(cell) for cell in there if abs(cell) < _EXACT) and re.fullmatch(
        r"[A-Z]+\d+(\.0)?", made.form
    ):
        made = replace(made, form="")  # it would hide what stands behind the point
    return made


def _moments(
    column: pa.ChunkedArray, before: Variable, form: Format
) -> tuple[list[Any], Variable] | None:
    """Dates, moments and times as numbers; None where these do not hold them."""
    kind, start = column.type, (form.epoch - _EPOCH).days
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).to_pylist()
        sort, cells = "date", [None if day is None else (day - start) * form.day for day in days]
    else:
        if pa.types.is_duration(kind) or getattr(kind, "tz", None):
            return None
        stamp = pa.types.is_timestamp(kind)
        parts = column.cast(pa.timestamp("us") if stamp else pa.time64("us")).cast(pa.int64())
        counted = parts.to_pylist()
        if any(part is not None and part % 1000 for part in counted):
            return None  # doubles and milliseconds hold no more
        sort, begin = ("moment", start * 86_400_000) if stamp else ("time", 0)
        cells = [
            None if part is None else (part // 1000 - begin) * form.second / 1000
            for part in counted
        ]
    shown = before.form if before.sort == sort and before.form else form.forms[sort]
    made = replace(before, sort=sort, form=shown, values={}, missing=())
    return [None if cell is None else float(cell) for cell in cells], made


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([written(chunk, Dialect()) for chunk in column.chunks], pa.large_string())


def _coded(name: str, column: pa.ChunkedArray, before: Variable, form: Format) -> Leaving:
    """Texts as codes with labels; as text where the format has no room for that."""
    if before.sort not in ("number", "text"):
        before = Variable(label=before.label)
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
    made: dict[str, Code] = {text: codes[text] for text in texts if text in codes}
    if of_text:
        if used & set(new):
            return _in_text(name, column.to_pylist(), before)
        made |= {text: text for text in new}
    else:
        free = (n for n in range(1, len(new) + len(used) + _EXACT) if n not in used)
        for text in new:
            made[text] = next(n for n in free if not before.declared_missing(n))
    values = {code: text for text, code in sorted(made.items(), key=lambda each: _place(each[1]))}
    variable = replace(
        before,
        # new texts too: a reader takes codes for categories only where all of them have labels
        values=values,
        form=before.form if not new else "",
        measure=before.measure if not new else "nominal",
    )
    if not variable.categorical(made.values()):
        variable = replace(variable, missing=())
    by_place = [made.get(text) if text is not None else None for text in texts]
    return Leaving(name, [None if i < 0 else by_place[i] for i in index.tolist()], variable)


def _in_text(name: str, cells: list[Any], before: Variable) -> Leaving:
    plain = before.sort == "text" and not before.coded
    there = set(cells) - {None}
    made = Variable(
        label=before.label,
        values={code: text for code, text in before.values.items() if plain and code in there},
        missing=tuple(pair for pair in before.missing if plain and pair[0] not in there),
        measure="nominal",
        sort="text",
    )
    if made.categorical(there):  # its reader would show the labels instead
        made = replace(made, values={})
    return Leaving(name, cells, made)


def _natural(text: str) -> list[tuple[bool, Any]]:
    """Texts in the order of the numbers in them."""
    parts = re.split(r"(\d+)", text)
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def _together(
    numbers: Leaving, whys: Leaving, before: Variable, form: Format
) -> Leaving | None:
    """Numbers with the codes of what is missing; None where these cannot stand among them."""
    codes = {text: code for code, text in before.values.items() if before.declared_missing(code)}
    said = [None if code is None else whys.variable.values.get(code) for code in whys.cells]
    apart = any(
        text is not None and (number is not None or text not in codes)
        for number, text in zip(numbers.cells, said, strict=True)
    )
    tagged = any(isinstance(code, str) for code in codes.values())
    if apart or numbers.variable.sort not in ("number", "text") or (tagged and not form.tags):
        return None
    if numbers.variable.missing != before.missing:
        return None
    cells = [
        number if text is None else codes[text]
        for number, text in zip(numbers.cells, said, strict=True)
    ]
    there = {text for text in said if text is not None}
    values = {**numbers.variable.values, **{codes[text]: text for text in there}}
    ordered = {code: values[code] for code in sorted(values, key=_place)}
    return Leaving(numbers.name, cells, replace(numbers.variable, values=ordered))
