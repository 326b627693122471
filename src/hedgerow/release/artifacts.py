"""Check the table files of a release folder, and write the records that go with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..columns.table import Table
from ..files import write_private
from ..io.read import read
from ..io.write import columns_to_escape, write_table
from ..plan.records import pieces
from ..progress import Tell
from .expected_rows import ExpectedRows
from .folder import AUDIT, EVIDENCE, MAPPING, PLAN, RECIPIENT, REPORT
from .recipient import apostrophes, recipient
from .records import RowMap, evidence, record
from .verify import require, verify_file
from .warnings import one_pseudonym, shares_alone


def check_written(
    release: Any, expected: ExpectedRows, paired: Table, folder: Path, escape: bool, progress: Tell
) -> Table | None:
    """Read the written table back and check it; also write and check the second table if there is one.

    Parameters
    ----------
    release : Release
        Verified.
    expected : ExpectedRows
        The rows that the file must have.
    paired : Table
        The original as the method's own checks want it.
    folder : Path
        The folder, with the first table in it.
    escape : bool
        Whether cells that a spreadsheet would run get an apostrophe.
    progress : callable
        Called with the step and the part of it that is done.

    Returns
    -------
    Table, optional
        The second table as its recipient reads it, where the method releases two.

    Raises
    ------
    PromiseError
        A written file does not keep a promise.
    """
    file, original = folder / release.file_name, release.original
    checks = verify_file(file, expected, release.released, like=original, escape=escape, progress=progress)
    second = release.method.second_table()
    if second is not None:  # the first file has the rows of the released table
        second_file = folder / f"{release.plan.recoding.second_file}{original.suffix}"
        write_table(second, second_file, like=original, escape=escape)
        second = read(second_file, unescape_formulas=escape, schema=release.schema)
        checks += release.method.second_checks(paired, release.released, second)
    require(checks, f"the written file {file.name}")
    return second


def write_records(
    release: Any, folder: Path, second: Table | None, *, escape: bool, measured: Any, mapping: bool
) -> list[str]:
    """Write the files that document a release; return the names of those that may be published."""
    file, plan = folder / release.file_name, release.plan
    extra = release.method.release_files(release)
    figures = None if measured is None else measured.to_dict()
    # it holds the hash of the table, which is on the disk by now
    numbers = record(plan, release.summary(), file, release.pseudonyms, figures)
    if measured is not None:
        measured.report(folder / REPORT, plan=plan, checks=release.checks, cautions=release.cautions, name=file.name)
    notes = recipient(
        plan,
        {
            **release.summary(),
            "found": shares_alone(plan, release.released),
            "counts": (figures["utility"].get("queries") or {}).get("range") if figures else None,
        },
        file.name,
        release.method.recipient_notes(file.name),
        release.pseudonyms,
        any(release.released.has_missing(column.name) for column in plan.recoding.recoded()),
        one_pseudonym(plan, release.released) if release.pseudonyms else (),
        release.original.layout,
    )
    if escape and file.suffix == ".csv":
        tables = [release.released] if second is None else [release.released, second]
        notes += apostrophes([column for table in tables for column in columns_to_escape(table)])
    texts: dict[str, str | Iterable[str]] = {
        PLAN: pieces(plan),
        AUDIT: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
        RECIPIENT: notes,
    }
    if figures is not None and figures.get("profile"):
        judged = {"released": file, "original": release.original.path}
        texts[EVIDENCE] = evidence(figures, judged)
    if mapping:
        texts[MAPPING] = RowMap.of(release.rows, release.original, plan).text()
    for name, text in {**texts, **extra}.items():
        write_private(folder / name, text)
    tables_written = [file.name] if second is None or second.path is None else [file.name, second.path.name]
    return [*tables_written, RECIPIENT, *extra]
