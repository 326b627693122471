"""hedgerow protect: from a file to a verified release folder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import HedgerowError, ParameterError, SchemaError
from ..hierarchy import Hierarchy
from ..schema import Schema
from . import methods
from .console import as_json, say, warn, working
from .options import ConfigFile, Option, command, merged

if TYPE_CHECKING:
    from ..audit.result import Audit
    from ..release import Release

SCHEMA = (
    Option(
        "schema", str, "TOML file with the roles, kinds, categories and hierarchies of the columns."
    ),
    Option(
        "quasi",
        list,
        "Columns an intruder may know; these are recoded. Joined by commas, or repeated.",
    ),
    Option("sensitive", list, "Columns that must not be inferred; released unchanged."),
    Option("identifiers", list, "Columns that name a person; left out."),
    Option("other", list, "Columns that are none of these; released unchanged."),
    Option(
        "hierarchy",
        list,
        "COLUMN=FILE.csv: a generalisation hierarchy, one line a value, joined by ';'.",
    ),
)
OUTPUT = (
    Option("out", str, "Folder to write; it must not exist."),
    Option("force", bool, "Replace an earlier release of that name.", switch="--force"),
    Option(
        "escape",
        bool,
        "CSV: do not put an apostrophe before cells that a spreadsheet would run.",
        switch="--escape/--no-escape",
    ),
    Option(
        "pseudonyms",
        bool,
        "Replace identifiers by keyed pseudonyms instead of leaving them out.",
        switch="--pseudonyms",
    ),
    Option(
        "key_file",
        str,
        "Secret key of the pseudonyms (16 bytes or more) or of rr's draws (made if absent).",
    ),
    Option(
        "report",
        bool,
        "Measure risk and utility and write report.html. Default: yes.",
        switch="--report/--no-report",
    ),
    Option(
        "attacks",
        bool,
        "Try attacks and learning as well for the report; takes longer. Default: no.",
        switch="--attacks/--no-attacks",
    ),
    Option("json", bool, "Print the result as JSON.", switch="--json"),
)
METHOD = (
    Option("file", str, "The table, in place of the argument FILE (for TOML files)."),
    Option("method", str, f"How: {', '.join(methods.METHODS)}. Default: mart."),
)
OPTIONS = (*SCHEMA, *METHOD, *methods.OPTIONS, *OUTPUT)
TABLES = ("kinds", "categories", "hierarchies")


def add(app: typer.Typer) -> None:
    """Put the command into the app."""
    app.command(name="protect")(command(protect, OPTIONS))


def protect(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="CSV, Parquet, Arrow/Feather or JSON lines: one record per person.",
        ),
    ] = None,
    config: ConfigFile = None,
    **given: Any,
) -> None:
    """Protect a table and write it as a verified release folder.

    The folder appears whole or not at all, and only after the written table was read
    back and every promise verified on it.
    """
    options = merged(given, config, OPTIONS, TABLES)
    if source is not None:
        options["file"] = source
    if not options.get("file"):
        raise ParameterError(
            "no FILE given", hint="hedgerow protect people.csv --quasi ... --out release/"
        )
    if not options.get("out"):
        raise ParameterError("no --out given", hint="name the folder to write: --out release/")
    from ..release.write import check_target
    from ..table import read

    folder = Path(options["out"])
    check_target(folder, bool(options.get("force")))
    method = methods.make(
        options.get("method", "mart"),
        {o.name: options[o.name] for o in methods.OPTIONS if o.name in options},
    )
    schema = schema_of(options, config.parent if config is not None else Path())
    drawn = "key" in method.get_params()
    if drawn and options.get("key_file"):
        method.set_params(key=options["key_file"])
    key = _key(options, drawn)
    with working("reading"):
        table = read(options["file"])
    from ..release import protect as protect_table

    with (
        working(f"protecting {table.n_rows:,} records"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", UserWarning)
        release = protect_table(table, schema, method, pseudonym_key=key)
    for text in dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning):
        warn(text)
    other = release.plan.names("other")
    suspects = [
        name
        for name in Schema.guess(table).identifiers
        if name in other and name not in schema.other
    ]
    measured = _measured(release, options) if options.get("report", True) else None
    with working("writing and verifying"):
        release.write(
            folder,
            force=bool(options.get("force")),
            escape=options.get("escape", True),
            measured=measured,
        )
    if suspects:
        warn(
            f"released unchanged, but like an identifier: {', '.join(suspects)}; "
            "leave it out with --identifiers, or say that it is harmless with --other"
        )
    _tell(release, folder, bool(options.get("json")))


def _measured(release: Release, options: Mapping[str, Any]) -> Audit | None:
    """The audit of a release, or None where its cells cannot be held against the original's."""
    from ..audit.run import audit

    deep = bool(options.get("attacks"))
    try:
        with working("measuring"):
            return audit(release.original, release, attacks=deep, learning=deep)
    except HedgerowError as error:
        warn(f"no report.html: {error.message}")
        return None


def schema_of(options: dict[str, Any], folder: Path) -> Schema:
    """The schema of a command line: the schema file, then the config's tables, then the flags."""
    base = Schema.from_toml(Path(options["schema"])) if options.get("schema") else Schema()
    fields: dict[str, Any] = {
        name: options[name]
        for name in ("quasi", "sensitive", "identifiers", "other")
        if name in options
    }
    tables = {name: options[name] for name in TABLES if name in options}
    if tables:
        more = Schema.from_mapping(tables, folder)
        fields |= {name: {**getattr(base, name), **getattr(more, name)} for name in TABLES}
    hierarchies = {**fields.get("hierarchies", base.hierarchies)}
    for entry in options.get("hierarchy", ()):
        column, equals, path = entry.partition("=")
        if not equals or not column or not path:
            raise SchemaError(
                "--hierarchy reads COLUMN=FILE.csv", hint="for example --hierarchy job=jobs.csv"
            )
        hierarchies[column] = Hierarchy.from_csv(path)
    schema = base.replace(**{**fields, "hierarchies": hierarchies})
    if not schema.quasi:
        raise SchemaError(
            "no quasi-identifiers given, so there is nothing to protect",
            hint="name what an intruder may know: --quasi age,education (hedgerow inspect "
            "proposes some)",
        )
    return schema


def _key(options: dict[str, Any], drawn: bool = False) -> bytes | None:
    """The pseudonyms' key; `drawn` says that the method itself uses the key file."""
    if not options.get("pseudonyms"):
        if options.get("key_file") and not drawn:
            raise ParameterError("--key-file is given without --pseudonyms")
        return None
    if not options.get("key_file"):
        raise ParameterError(
            "--pseudonyms needs --key-file", hint="make one with: head -c 32 /dev/urandom > key.bin"
        )
    try:
        return Path(options["key_file"]).read_bytes()
    except OSError as error:
        raise ParameterError(
            f"cannot read the key file {options['key_file']}: {error.strerror}"
        ) from None


def _tell(release: Release, folder: Path, json: bool) -> None:
    numbers, other = release.summary(), release.plan.names("other")
    files = {
        "release": folder / f"release{release.original.suffix}",
        "plan": folder / "plan.json",
        "numbers": folder / "audit.json",
        "recipient": folder / "RECIPIENT.md",
    }
    if json:
        as_json(
            {"files": {name: str(path) for name, path in files.items()}, "other": other, **numbers}
        )
        return
    groups, told = numbers["groups"], numbers["disclosure"]
    if release.plan.recoding.kind in ("randomize", "anatomy"):
        # Released classes say nothing here: the recoding tells what was measured.
        say(f"{numbers['rows']:,} records; {len(release.checks)} checks hold.")
        say(release.recoding_in_words())
        told = None
    else:
        say(
            f"{numbers['rows']:,} records in {groups['groups']:,} groups of at least "
            f"{groups['smallest']:,}; "
            f"{len(release.checks)} checks hold on the written file."
        )
    if told is not None:
        say(
            "Error left to an intruder who guesses from a group: "
            f"{told['mean_over_groups']:.3f} on average over "
            f"groups, {told['mean_over_records']:.3f} over records, {told['worst']:.3f} in "
            "the worst group (1 is all)."
        )
    if other:
        say(f'Released unchanged as "other": {", ".join(other)}.')
    say()
    say(f"release    {files['release']}")
    say(f"to read    {files['recipient']}  (give it with the release)")
    say(f"plan       {files['plan']}  (private: it holds thresholds from the data)")
    say(f"numbers    {files['numbers']}")
    if (folder / "report.html").exists():
        files["report"] = folder / "report.html"
        say(f"report     {files['report']}  (private; for the recipient: hedgerow audit)")
    for path in sorted(p for p in folder.iterdir() if p not in files.values()):
        say(f"beside     {path}")
