"""The files of a release folder: its tables, read back, and the records about them."""

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
from .folder import AUDIT, EVIDENCE, MAPPING, PLAN, RECIPIENT, REPORT, Measured
from .recipient import apostrophes, recipient
from .records import RowMap, evidence, record
from .verify import require, verify_file
from .warnings import one_pseudonym


class Contents:
    """The files of one release in a folder that is not there yet.

    Parameters
    ----------
    release : Release
        Verified.
    paired : Table
        The original as the method's own checks want it.
    folder : Path
    escape : bool
        Whether cells that a spreadsheet would run get an apostrophe.
    """

    def __init__(self, release: Any, paired: Table, folder: Path, escape: bool) -> None:
        self.release, self.paired = release, paired
        self.folder, self.escape = folder, escape
        self.file = folder / release.file_name
        self.second_file = folder / f"{release.plan.recoding.second_file}{release.original.suffix}"

    def read_back(self, expected: ExpectedRows, tell: Tell) -> Table | None:
        """Hold the written tables against what was verified; the second one, where there is one.

        Raises
        ------
        PromiseError
            A written file does not keep a promise.
        """
        release = self.release
        checks = verify_file(
            self.file,
            expected,
            release.released,
            like=release.original,
            escape=self.escape,
            tell=tell,
        )
        second = self._second()
        if second is not None:  # the first file has the rows of the released table
            checks += release.method.second_checks(self.paired, release.released, second)
        require(checks, f"the written file {self.file.name}")
        return second

    def tell(self, measured: Measured | None, mapping: bool, second: Table | None) -> list[str]:
        """Write what is told of the tables; the names of the files that may be handed out."""
        release, file = self.release, self.file
        files = release.method.release_files(release)
        extra = {**files.public, **files.private}
        figures = None if measured is None else measured.to_dict()
        numbers = record(release.plan, release.summary(), file, release.pseudonyms, figures)
        if measured is not None:
            measured.report(
                self.folder / REPORT,
                plan=release.plan,
                checks=release.checks,
                cautions=release.cautions,
                name=file.name,
                drawings={name: text for name, text in extra.items() if name.endswith(".svg")},
            )
        texts: dict[str, str | Iterable[str]] = {
            PLAN: pieces(release.plan),
            AUDIT: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
            RECIPIENT: self._recipient(second),
        }
        if figures is not None and figures.get("profile"):
            judged = {"released": file, "original": release.original.path}
            texts[EVIDENCE] = evidence(figures, judged)
        if mapping:
            texts[MAPPING] = RowMap.of(release.rows, release.original, release.plan).text()
        for name, text in {**texts, **extra}.items():
            write_private(self.folder / name, text)
        tables = [file.name] if second is None else [file.name, self.second_file.name]
        return [*tables, RECIPIENT, *files.public]

    def _recipient(self, second: Table | None) -> str:
        release, name = self.release, self.file.name
        recoded = release.plan.recoding.recoded()
        text = recipient(
            release.plan,
            release.summary(),
            name,
            release.method.recipient_notes(name),
            release.pseudonyms,
            any(release.released.has_missing(column.name) for column in recoded),
            one_pseudonym(release.plan, release.released) if release.pseudonyms else (),
            release.original.layout,
        )
        if not self.escape or self.file.suffix != ".csv":
            return text
        tables = [release.released] if second is None else [release.released, second]
        return text + apostrophes([column for table in tables for column in columns_to_escape(table)])

    def _second(self) -> Table | None:
        """Return the second table in the format of the first, with a header; as its reader reads it."""
        release = self.release
        table = release.method.second_table()
        if table is None:
            return None
        write_table(table, self.second_file, like=release.original, escape=self.escape)
        return read(self.second_file, unescape_formulas=self.escape, schema=release.schema)
