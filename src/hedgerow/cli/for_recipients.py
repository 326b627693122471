"""hedgerow reconstruct and verify-model: commands for the recipient of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..files import private_file
from ..workflow.options import rows
from .command import Options, command
from .console import as_json, say, table, working
from .outputs import new_file

# rows that are printed
_MOST_ROWS = 40


@command(*rows("reconstruct"), source=("SOURCE", "A release folder, or its table."))
def reconstruct(source: str, options: Options) -> None:
    """Estimate counts of the original of a randomized release."""
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    from ..release.reconstruct import reconstruct as estimate

    out = new_file(options["out"]) if options.get("out") else None
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise ParameterError("--out names a .csv or a .parquet file")
    level, by = options.get("level", 0.95), options.get("by")
    with working("reconstructing"):
        estimated = estimate(source, options.get("parameters"), columns=by, estimator=options.get("estimator"))
        counts = estimated.group_by(by, level=level) if by else estimated.table(level=level)
    if out is not None:
        with private_file(out) as file:
            (csv.write_csv if out.suffix == ".csv" else parquet.write_table)(counts, file)
    if options.get("json"):
        as_json({"records": estimated.n, "rows": counts.to_pylist()})
        return
    if out is not None:
        say(f"{counts.num_rows:,} rows about {estimated.n:,} records written to {out}")
        return
    rows = counts.slice(0, _MOST_ROWS).to_pylist()
    table([tuple(_cell(v) for v in row.values()) for row in rows], tuple(counts.column_names))
    say("count has no negative cells; unbiased may have some: take it to add cells up.")
    if counts.num_rows > _MOST_ROWS:
        say(f"... {counts.num_rows - _MOST_ROWS:,} more rows; write them with --out counts.csv")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


@command(
    *rows("json"),
    config=False,
    model=("MODEL", "The model.json of a release."),
    release=("RELEASE", "The released table."),
)
def verify_model(model: Path, release: str, options: Options) -> int:
    """Rebuild the published trees from a release and compare.

    Splits, leaves and counts are compared to the last bit, means of leaves to 1e-12. Prints
    "identical", or the first node that differs; then the exit code is 1.
    """
    from ..methods.tpp import verify_model

    with working("rebuilding"):
        result = verify_model(model, release)
    if options.get("json"):
        counts = {"models": result.n_models, "trees": result.n_trees, "splits": result.n_splits}
        as_json({"identical": result.identical, "difference": result.difference or None, **counts})
    else:
        say(str(result))
    return int(not result.identical)
