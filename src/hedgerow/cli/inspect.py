"""hedgerow inspect: what a table holds, and a first schema to correct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError
from ..schema import Schema
from .console import as_json, say, table, working
from .options import Option, command, merged

OPTIONS = (
    Option(
        "save", str, "Write the proposed schema to this TOML file, to correct and use by --schema."
    ),
    Option("json", bool, "Print the result as JSON.", switch="--json"),
)


def add(app: typer.Typer) -> None:
    """Put the command into the app."""
    app.command(name="inspect")(command(inspect, OPTIONS))


def inspect(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="CSV, Parquet, Arrow/Feather or JSON lines."
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option("--config", show_default=False, help="TOML file with these options."),
    ] = None,
    **given: Any,
) -> None:
    """Show the columns of a table and propose a role and a kind for each.

    The proposal is a guess from names and values. Correct it: only you know what an
    intruder may know.
    """
    from ..table import read

    options = merged(given, config, OPTIONS)
    with working("reading"):
        people = read(source)
        schema = Schema.guess(people)
    rows: list[dict[str, Any]] = []
    for name in people.names:
        column = people.column(name, kind=schema.kinds.get(name))
        missing = int(column.counts()[-1])
        rows.append(
            {
                "column": name,
                "role": schema.role(name),
                "kind": schema.kinds.get(name, people.kind(name)),
                "distinct": column.n_values,
                "missing": missing,
                "reason": schema.reasons.get(name, ""),
            }
        )
    if options.get("save"):
        _save(Path(options["save"]), schema)
    if options.get("json"):
        as_json({"rows": people.n_rows, "columns": rows})
        return
    say(f"{people.n_rows:,} records, {len(rows)} columns. Proposed roles, to correct:")
    say()
    table(
        [
            (
                r["column"],
                r["role"],
                r["kind"],
                f"{r['distinct']:,}",
                f"{r['missing']:,}",
                r["reason"],
            )
            for r in rows
        ],
        ("column", "role", "kind", "distinct", "missing", "why"),
    )
    say()
    flags = " ".join(
        f"--{key} {','.join(_quoted(n) for n in names)}"
        for key, names in (
            ("quasi", schema.quasi),
            ("sensitive", schema.sensitive),
            ("identifiers", schema.identifiers),
        )
        if names
    )
    say("If you agree:")
    say(f"  hedgerow protect {source} {flags} --out release/")


def _quoted(name: str) -> str:
    if "," in name:
        return f"'\"{name}\"'"
    return (
        f"'{name}'"
        if not name.replace("-", "").replace("_", "").replace(".", "").isalnum()
        else name
    )


def _save(path: Path, schema: Schema) -> None:
    if path.exists():
        raise OutputError(f"{path} exists already", hint="choose another name for the schema")
    try:
        path.write_text(schema.to_toml(), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
