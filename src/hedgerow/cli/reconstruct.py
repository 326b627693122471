"""hedgerow reconstruct: counts of the original table, estimated from a randomized release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..files import private_file
from ..workflow.options import Option
from .console import as_json, say, table
from .options import ConfigFile, command, merged
from .outputs import new_file
from .progress import working

OPTIONS = (
    Option("parameters", str, "public.json, where SOURCE is a table and not a release folder."),
    Option("by", list, "Columns to count by; by default every randomized and sensitive column."),
    Option("cube", bool, "Count by every combination of the columns."),
    Option("estimator", str, "For the full table: em, projection or inversion."),
    Option("level", float, "Level of the intervals. Default: 0.95."),
    Option("out", str, "File to write, .csv or .parquet; it must not exist."),
    Option("json", bool, "Print the result as JSON."),
)
_SHOWN = 40


@command(OPTIONS, source=("SOURCE", "A release folder, or its table."))
def reconstruct(source: str, config: ConfigFile = None, **given: Any) -> None:
    """Estimate counts of the original from a randomized release."""
    from ..release.reconstruct import reconstruct as estimate

    options = merged(given, config, OPTIONS)
    out = new_file(options["out"]) if options.get("out") else None
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise ParameterError("--out names a .csv or a .parquet file")
    level, by = options.get("level", 0.95), options.get("by")
    with working("reconstructing"):
        found = estimate(
            source, options.get("parameters"), columns=by, estimator=options.get("estimator")
        )
        if options.get("cube"):
            made = found.cube(level=level)
        else:
            made = found.group_by(by, level=level) if by else found.table(level=level)
    if out is not None:
        _write(made, out)
    if options.get("json"):
        as_json({"records": found.n, "rows": made.to_pylist()})
        return
    if out is not None:
        say(f"{made.num_rows:,} rows about {found.n:,} records written to {out}")
        return
    rows = made.slice(0, _SHOWN).to_pylist()
    table([tuple(_cell(v) for v in row.values()) for row in rows], tuple(made.column_names))
    say("count has no negative cells; unbiased may have some: take it to add cells up.")
    if made.num_rows > _SHOWN:
        say(f"... {made.num_rows - _SHOWN:,} more rows; write them with --out counts.csv")


def _write(made: Any, out: Path) -> None:
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    with private_file(out) as file:
        (csv.write_csv if out.suffix == ".csv" else parquet.write_table)(made, file)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
