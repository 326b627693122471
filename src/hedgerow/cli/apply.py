"""hedgerow apply: recode other people with a saved plan."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError, ParameterError
from ..files import SUFFIXES
from ..key import Key
from ..plan import Plan
from ..progress import cautions
from ..workflow.options import ENGINE, READING, plan_read_as, rows
from .command import Options, command
from .console import as_json, note, say, warn, working
from .outputs import is_stream, new_file, sent

OPTIONS = rows("apply")


@command(
    *OPTIONS, *READING, *ENGINE, plan=("PLAN", "The plan.json of a release."), source=("FILE", "The people to recode.")
)
def apply(plan: Path, source: str, options: Options) -> None:
    """Apply the plan of a release to other people's records.

    A plan promises nothing about people it was not made from: groups may be smaller
    than k. Where values fall outside the released ranges, nothing is written unless --unseen says how.
    A plan of drawn values (hedge with --cells rows, or --guard redraw) is refused: it knows nothing of other people's.
    """
    from . import heavy

    if plan.is_file() and plan.suffix.lower() in SUFFIXES:
        raise ParameterError(
            f"{plan} is a table, and the plan comes first",
            hint="hedgerow apply release/plan.json people.csv --out recoded.csv",
        )
    if not options.get("out"):
        raise ParameterError("no --out given", hint="name the file to write: --out recoded.csv")
    to_stream, key_file = is_stream(options), options.get("key_file")
    force, inputs = bool(options.get("force")), (plan, source, options.config, key_file)
    # places are checked before a table of gigabytes is read
    if options.get("parts"):
        heavy.check_target(Path(options["out"]), force, heavy.PARTS_MARKS, inputs)
    elif not to_stream:
        new_file(options["out"], force=force, inputs=inputs, endings=SUFFIXES)
        heavy.check_apart(source, Path(options["out"]))
    recoding = plan_read_as(Plan.load(plan), options)
    key = None
    if key_file:
        if not recoding.recoding.draws:
            raise ParameterError("--key-file is given, and this plan draws nothing")
        if not Path(key_file).exists():  # a new key would draw anew
            raise InputError(f"no key file {key_file}", hint="name that of the release, or leave --key-file out")
        key = Key.file(key_file)
    with working("recoding"), cautions() as warnings:
        chosen = [row for row in OPTIONS if row.step == "choose"]  # those that `apply_plan` takes
        applied = heavy.apply_plan(recoding, source, key, **options.pick([*chosen, *ENGINE]))
    warn(*warnings)
    with sent(options["out"], applied.source.suffix) as out:
        applied.write(out, force=force, **options.pick(["escape"]))
    n_rows = applied.source.n_rows
    if options.get("json"):
        as_json({"file": str(out), "rows": n_rows, "outside": applied.outside, "dropped": list(applied.dropped)})
        return
    # standard output holds the table and nothing else
    report = note if to_stream else say
    report(f"{n_rows:,} records recoded; {applied.outside:,} cells fall outside the plan's cells.")
    report("Nothing is promised about these people: verify before you share them.")
    if not to_stream:
        say(f"written    {out}")
