"""Read and write sheets of Excel workbooks with openpyxl: only cells, no metadata."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BytesIO
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from ..columns.arrays import decoded, is_text, value_class
from ..columns.workspace import memory_of
from ..errors import HedgerowError, InputError, needed, translated
from ..progress import caution
from ..texts import refusal, text
from .text_cells import MARKERS, cell_text, infer_type

WORKBOOKS = (".xlsx", ".xlsm")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z]+(\d+):[A-Z]+(\d+))"')
_ROW = re.compile(rb"""<(?:\w+:)?row\b[^>]*\sr=["'](\d+)""")
_UNKNOWN_FORMULA = re.compile(
    rb'<c\b[^>]*\br="([A-Z]+)(\d+)"[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*'
    rb"(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
)
# What a sheet does not show, by a filter or by hand.
_HIDDEN = {
    "rows": re.compile(rb'<row\b[^>]*\bhidden="(?:1|true)"'),
    "columns": re.compile(rb'<col\b[^>]*\bhidden="(?:1|true)"'),
}
# A workbook is refused that unpacks to `_SMALL` bytes and `_RATIO` times its size (24 where all
# cells are alike), or has `_CELLS` cells and more of them than bytes, so that nearly all are empty.
_RATIO, _SMALL, _CELLS = 200, 100_000_000, 10_000_000
_ZEROS = re.compile(r"^0{2,}$")
_EXACT = 1 << 53
_LONGEST, _LAST_ROW = 32_767, 1 << 20
# Days that a workbook counts; before the first one programs count differently.
_FIRST_DAY, _LAST_DAY = dt.date(1900, 3, 1), dt.date(9999, 12, 31)
# Rows of titles that may stand above a header.
_TITLES = 10
_MARKS = ("#N/A", "#NULL!")
_OPENPYXL = ("openpyxl", "excel", "Excel workbooks")
_WRITTEN = (1980, 1, 1, 0, 0, 0)
_CORE = b'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>'


def parted(source: str | Path) -> tuple[Path, str]:
    """Split ``people.xlsx::Sheet1`` into the path and the sheet name, which is empty if none is given."""
    path, _, sheet = str(source).partition("::")
    return (Path(path), sheet) if Path(path).suffix.lower() in WORKBOOKS else (Path(source), "")


def read_workbook(path: Path, sheet: str = "", missing: Sequence[str] = ()) -> tuple[pa.Table, str]:
    """Read a sheet of a workbook as Arrow; return the table and the sheet's name.

    Parameters
    ----------
    path : Path
    sheet : str
        Name of the sheet; by default the only visible one.
    missing : sequence of str
        Words for missing values, in any column.

    Raises
    ------
    InputError
        The workbook is damaged or locked, unpacks to too many bytes, has no such sheet or several
        visible ones, or has merged cells, error values or formulas without stored values.
    """
    module = needed(*_OPENPYXL)

    def fault(error: Exception) -> Exception:
        # openpyxl has no error of its own for a damaged file: what it meets there is what it raises
        if isinstance(error, (HedgerowError, Warning)) or getattr(error, "errno", None):
            return error
        return InputError(
            f"{path.name} is not an Excel workbook, or it is damaged or locked by a password",
            hint="open it and save it as .xlsx without a password",
        )

    with translated(Exception, fault), ExitStack() as stack:
        # a cell takes more than a byte, so no honest sheet has more cells than bytes
        most = max(_CELLS, _unpacked(path))
        book = module.load_workbook(path, read_only=True, data_only=True)
        stack.callback(book.close)
        chosen = _sheet(book, path, sheet)
        where = f"the sheet {chosen.title!r} of {path.name}"
        rows = _rows(chosen)
        if not (above := _above(rows)):
            raise InputError(f"{where} is empty", hint="give a sheet with a header and records")
        titles = len(above) - 1 if _is_header(above) else 0
        (top, header), rows = above[titles], chain(above[titles + 1 :], rows)
        with zipfile.ZipFile(path) as archive:
            xml = archive.read(chosen._worksheet_path)
        _check(xml, top, where, bool(titles))
        if titles:
            caution(text("io", "titles", where=where, rows=titles))
        if hidden := [what for what, form in _HIDDEN.items() if form.search(xml)]:
            caution(f"{where} hides {' and '.join(hidden)}, which are read like all others")
        names = ["" if cell.value is None else str(cell.value) for cell in header]
        cells: list[list[Any]] = [[] for _ in names]
        errors: dict[int, list[Any]] = {}
        for _, row in rows:
            if len(row) > len(names):
                extra = [*range(len(names), len(row))]
                names += [""] * len(extra)
                cells += [[None] * len(cells[0]) for _ in extra]
            if len(names) * len(cells[0]) > most:
                raise InputError(
                    f"{where} is nearly empty: of {len(names):,} columns most cells hold nothing",
                    hint="leave out empty columns, or save the sheet as CSV (UTF-8)",
                )
            for i, values in enumerate(cells):
                cell = row[i] if i < len(row) else None
                values.append(None if cell is None else _value(cell))
                if cell is not None and cell.data_type == "e" and values[-1] is not None:
                    errors.setdefault(i, []).append(values[-1])
        if errors:
            i = min(errors)
            words = refusal("formulas", "io", where=where, cells=len(errors[i]), such=errors[i][0], name=names[i])
            raise InputError(**words)
        for i in reversed(range(len(names))):  # space around the table
            if not names[i].strip() and all(_blank(value) for value in cells[i]):
                del names[i], cells[i]
        if not cells or not cells[0]:
            raise InputError(f"{where} has a header but no rows")
    columns = [_column(_without_words(values, missing)) for values in cells]
    return pa.Table.from_arrays(columns, names=names), chosen.title


def _unpacked(path: Path) -> int:
    """Return the number of bytes that the workbook declares it unpacks to; reading stops there.

    Raises
    ------
    InputError
        There are far more bytes than a table needs, or more than fit in memory.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > max(_SMALL, _RATIO * path.stat().st_size):
        packed = path.stat().st_size / 1e6
        raise InputError(**refusal("unpacks_to_much", "io", file=path.name, packed=packed, size=size / 1e6))
    if 2 * size > memory_of(None):  # of cells and their text
        raise InputError(**refusal("workbook_memory", "io", file=path.name, size=size / 1e9))
    return size


def _sheet(book: Any, path: Path, name: str) -> Any:
    sheets = [each for each in book.worksheets if hasattr(each, "iter_rows")]
    titles = [each.title for each in sheets]
    if name in titles:
        return sheets[titles.index(name)]
    if name:
        raise InputError(f"{path.name} has no sheet {name!r}", hint=f"its sheets are: {', '.join(titles)}")
    # a hidden sheet is not released because it is the only one with cells
    visible = [s for s in sheets if s.sheet_state == "visible" and next(_rows(s), None) is not None]
    if len(visible) == 1:
        return visible[0]
    if not visible:
        raise InputError(f"{path.name} has no sheet with cells")
    # a cover sheet has few cells
    fullest = max(visible, key=lambda each: sum(len(cells) for _, cells in islice(_rows(each), 1_000)))
    listed = ", ".join(each.title for each in visible)
    raise InputError(f"{path.name} has several sheets: {listed}", hint=f"name one: {path.name}::{fullest.title}")


def _rows(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number and cells of each non-empty row, without the empty cells at its end."""
    sheet.reset_dimensions()  # else every row is as wide as the file says, up to 16,384 cells
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells = list(row)
        while cells and cells[-1].value in (None, ""):
            cells.pop()
        if number > _LAST_ROW:
            raise ValueError("a row beyond the last one")
        if cells:
            yield number, cells


def _above(rows: Iterator[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
    """Return a sheet's first rows up to the first with several cells; at most `_TITLES` and one."""
    above: list[tuple[int, list[Any]]] = []
    for row in rows:
        above.append(row)
        if len(row[1]) > 1 or len(above) > _TITLES:
            break
    return above


def _is_header(above: Sequence[tuple[int, list[Any]]]) -> bool:
    """Return whether the last of the first rows names columns, each by a text of its own, under rows of one cell."""
    names = [cell.value for cell in above[-1][1]]
    return 1 < len(names) == len(set(names)) and all(isinstance(name, str) and name.strip() for name in names)


def _check(xml: bytes, top: int, where: str, has_titles: bool) -> None:
    """Raise InputError for merged cells and formulas without stored values, ValueError for rows that go back."""
    # of two rows with one number openpyxl yields the first, and of rows that go back none
    if any(row <= above for above, row in pairwise(map(int, _ROW.findall(xml)))):
        raise ValueError("the numbers of the rows do not rise")
    # what is merged above the header is a title
    merged = [(ref, first) for ref, first, last in _MERGED.findall(xml) if not has_titles or int(last) >= top]
    if header := [ref.decode() for ref, first in merged if int(first) <= top]:
        raise InputError(
            f"{where} has merged cells in its header: {', '.join(header[:3])}",
            hint="unmerge them; the first row names every column, each by a name of its own",
        )
    if merged:
        raise InputError(
            f"{where} has {len(merged)} merged cells, of which only the first holds a value",
            hint="unmerge them and fill in every cell",
        )
    if unknown := _UNKNOWN_FORMULA.findall(xml):
        columns = sorted({column.decode() for column, _ in unknown}, key=lambda c: (len(c), c))
        raise InputError(
            f"{where} has {len(unknown)} formulas whose values are not stored, in column {', '.join(columns[:5])}",
            hint="open the workbook in Excel or LibreOffice and save it: that stores them",
        )


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _value(cell: Any) -> Any:
    """Return a cell's value; a number displayed with leading zeros is returned as text."""
    value = cell.value
    if value == "" or (cell.data_type == "e" and value in _MARKS):
        return None
    # workbooks know no integers: every number is stored as a double
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        value = int(value)
    number = isinstance(value, int) and not isinstance(value, bool)
    if number and _ZEROS.match(cell.number_format or ""):
        return str(value).zfill(len(cell.number_format))
    if isinstance(value, dt.datetime) and value.microsecond % 1000:
        ticks = round(value.microsecond / 1000)  # counted in parts of a day, which are not exact
        return value.replace(microsecond=0) + dt.timedelta(milliseconds=ticks)
    return value


def _without_words(values: list[Any], missing: Sequence[str]) -> list[Any]:
    """Set words for missing values to None: declared words always, usual ones among numbers or dates."""
    words = {value.strip() for value in values if isinstance(value, str)}
    plain = {type(value) for value in values if not isinstance(value, (str, type(None)))}
    others = words.difference(MARKERS, missing)
    if others and not plain:  # numbers and days that are stored as text
        inferred, _ = infer_type(pa.chunked_array([pa.array(sorted(others))]))
        plain = set() if is_text(inferred.type) else {inferred.type}
        others = set() if plain else others
    empty_words = {*missing, *(MARKERS if plain and not others else ())} & words
    if not empty_words:
        return values
    return [None if isinstance(v, str) and v.strip() in empty_words else v for v in values]


def _column(values: list[Any]) -> pa.ChunkedArray:
    """Return cells as a column of one type; text if the cells have several types."""
    if not (kinds := {type(value) for value in values if value is not None}):
        return pa.chunked_array([pa.nulls(len(values))])
    if kinds <= {dt.datetime, dt.date}:
        moments = [
            value if value is None or isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
            for value in values
        ]
        if all(value is None or value.time() == dt.time() for value in moments):
            days = [None if value is None else value.date() for value in moments]
            return pa.chunked_array([pa.array(days, pa.date32())])
        return pa.chunked_array([pa.array(moments, pa.timestamp("us"))])
    if kinds <= {int, float}:
        if kinds == {int} and all(v is None or abs(v) < 1 << 63 for v in values):
            return pa.chunked_array([pa.array(values, pa.int64())])
        numbers = [None if value is None else float(value) for value in values]
        return pa.chunked_array([pa.array(numbers, pa.float64())])
    for kind, arrow_type in ((bool, pa.bool_()), (dt.time, pa.time64("us")), (str, pa.string())):
        if kinds == {kind}:
            return pa.chunked_array([pa.array(values, arrow_type)])
    return pa.chunked_array([pa.array([None if v is None else _mixed_cell_text(v) for v in values])])


def _mixed_cell_text(value: Any) -> str:
    """Return a cell's text for a column of mixed types."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else str(value)


def write_workbook(table: pa.Table, file: IO[bytes], sheet: str = "") -> None:
    """Write a table as a workbook with one sheet; equal tables give equal bytes.

    Text is always stored as text, even if it begins like a formula. Values that a cell cannot hold
    exactly are also stored as text.

    Raises
    ------
    pyarrow.ArrowInvalid
        A text is too long for a cell, or holds signs that a workbook cannot.
    """
    module = needed(*_OPENPYXL)
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = module.Workbook(write_only=True)
    page = book.create_sheet(sheet or "release")

    formats = {dt.datetime: "yyyy-mm-dd hh:mm:ss.000", dt.date: "yyyy-mm-dd", dt.time: "hh:mm:ss"}

    def to_cell(value: Any) -> Any:
        if not isinstance(value, (str, *formats)):
            return value
        cell = WriteOnlyCell(page, value=value)
        if isinstance(value, str):
            if len(value) > _LONGEST:
                raise pa.ArrowInvalid("a text is longer than a cell holds")
            cell.data_type = "s"  # never a formula, never an error
        else:
            cell.number_format = next(f for kind, f in formats.items() if isinstance(value, kind))
        return cell

    columns = [_cells(decoded(column)) for column in table.columns]
    try:
        page.append([to_cell(name) for name in table.column_names])
        for row in zip(*columns, strict=True):
            page.append([to_cell(value) for value in row])
        whole = BytesIO()
        book.save(whole)
    except IllegalCharacterError:
        raise pa.ArrowInvalid("signs that a workbook cannot hold") from None
    _without_hours(whole, file)


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's cells for a workbook, as text if a workbook cannot hold the values exactly."""
    kind, cells = column.type, column.to_pylist()
    sort = value_class(kind)
    if sort == "number" and not pa.types.is_decimal(kind):
        cells = [None if cell is None or cell != cell else cell for cell in cells]
        limit = float("inf") if pa.types.is_floating(kind) else 10**15 + 1
        inexact = any(c is not None and abs(c) >= limit for c in cells)
    elif pa.types.is_timestamp(kind) and not kind.tz:
        inexact = any(c is not None and (_early(c.date()) or c.microsecond % 1000) for c in cells)
    elif pa.types.is_date(kind):
        inexact = any(c is not None and _early(c) for c in cells)
    else:
        inexact = sort not in ("boolean", "text", "missing")
    if not inexact or is_text(kind):
        return cells
    return [cell for chunk in column.chunks for cell in cell_text(chunk).to_pylist()]


def _early(day: dt.date) -> bool:
    return not _FIRST_DAY <= day <= _LAST_DAY


def _without_hours(whole: BytesIO, file: IO[bytes]) -> None:
    """Copy a workbook with its author and times of writing removed."""
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, _CORE if name == "docProps/core.xml" else source.read(name))
