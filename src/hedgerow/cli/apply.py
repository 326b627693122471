"""hedgerow apply: a saved plan on other people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError
from ..progress import cautions
from ..workflow.options import Option
from .console import as_json, how_held, note, say, warn
from .options import ConfigFile, command, merged
from .outputs import ENGINE, ESCAPE, KEEP_ORDER, PARTS, RESTART, new_file
from .progress import working
from .schema import READING, read_as
from .stdio import STREAM, sent

OPTIONS = (
    Option(
        "out",
        str,
        "File to write, .csv, .parquet, .feather, .jsonl, .sav, .dta, .xpt or .xlsx; it must not "
        "exist. -: stdout. With --parts: folder to write.",
    ),
    Option("force", bool, "Replace an existing file, or folder of parts."),
    ESCAPE,
    KEEP_ORDER,
    PARTS,
    Option("key_file", str, "For plans of rr: the steward's key, to repeat its draws."),
    Option(
        "unseen",
        str,
        "Cells outside the plan's cells: error, suppress (*), or count them and say so. Default: error.",
    ),
    *READING,
    Option("json", bool, "Print the result as JSON."),
    *ENGINE,
    *RESTART,
)


@command(
    OPTIONS,
    plan=("PLAN", "The plan.json of a release."),
    source=("FILE", "The people to recode."),
)
def apply(plan: Path, source: str, config: ConfigFile = None, **given: Any) -> None:
    """Recode other people by the plan of a release.

    A plan promises nothing about people it was not made from: groups may be smaller
    than k. Where values fall outside the released ranges, nothing is written unless --unseen says how.
    """
    from ..files import SUFFIXES
    from ..key import Key
    from ..plan import Plan
    from ..release import apply_plan
    from ..release.write import PARTS_MARKS, check_apart, check_target

    options = merged(given, config, OPTIONS)
    if not options.get("out"):
        raise ParameterError("no --out given", hint="name the file to write: --out recoded.csv")
    streamed, parts = options["out"] == STREAM, bool(options.get("parts"))
    force, inputs = bool(options.get("force")), (plan, source, config, options.get("key_file"))
    if streamed and parts:
        raise ParameterError("--parts writes a folder, and --out - is standard output")
    if parts:
        check_target(Path(options["out"]), force, PARTS_MARKS, inputs)
    elif not streamed:
        new_file(
            options["out"],
            force=force,
            hint="choose another name, or replace it with --force",
            inputs=inputs,
            endings=SUFFIXES,
        )
        check_apart(source, Path(options["out"]))
    elif options.get("json"):
        raise ParameterError("--json and --out - both write to standard output")
    made = read_as(Plan.load(plan), options)
    key = None
    if options.get("key_file"):
        if not made.recoding.draws:
            raise ParameterError("--key-file is given, and this plan draws nothing")
        if not Path(options["key_file"]).exists():  # a new key would draw anew
            raise InputError(
                f"there is no key file {options['key_file']}",
                hint="name the one that the release was drawn with, or leave --key-file out",
            )
        key = Key.file(options["key_file"])
    with working("recoding"), cautions() as heard:
        applied = apply_plan(
            made,
            source,
            key,
            keep_order=bool(options.get("keep_order")),
            unseen=options.get("unseen", "error"),
            engine=options.get("engine", "auto"),
            memory=options.get("memory"),
            parts=parts,
            resume=not options.get("restart"),
            held=how_held,
        )
    for text in heard:
        warn(text)
    with sent(options["out"], applied.source.suffix) as out:
        applied.write(out, escape=options.get("escape", True), force=force)
    if options.get("json"):
        as_json(
            {
                "file": str(out),
                "rows": applied.n_rows,
                "outside": applied.outside,
                "dropped": list(applied.dropped),
            }
        )
        return
    tell = note if streamed else say
    tell(
        f"{applied.n_rows:,} records recoded; {applied.outside:,} cells fall outside the "
        "plan's cells."
    )
    tell("Nothing is promised about these people: verify before you share them.")
    if not streamed:
        say(f"written    {out}")
