"""hedgerow audit, score, compare-models: measure what a released file discloses and how useful it still is."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import hedgerow

from ..errors import ParameterError
from ..files import SUFFIXES, write_private
from ..schema import Schema
from ..texts import read_toml
from ..validation import check_one_of, check_share
from ..workflow.options import ENGINE, READING, SCHEMA, plan_read_as, rows
from .command import FORMATS, Options, command
from .console import as_json, say, table, to_stderr, working
from .outputs import EVIDENCE_FILE, NUMBERS, REPORT, check_distinct, new_file

# options that `hedgerow.audit` takes under the same names
PASSED = (*rows("audit"), *ENGINE)
OPTIONS = (*SCHEMA, *PASSED, *rows("audit_more"))
# scores that are a list, one for each number of known columns
SCALES = ("distance", "distance_ranks", "probabilistic", "probabilistic_ranks")


@command(
    *OPTIONS,
    source=("ORIGINAL", "The table before."),
    release=("RELEASED", "The released table, whoever made it, or a release folder, which holds its plan."),
)
def audit(options: Options, source: str | None = None, release: str | None = None) -> int:
    """Measure what a released file discloses, and its utility.

    Name the roles as for protect; a release folder knows its own. Rows are paired by the
    folder, a key, the plan, columns that were not altered, or an order that is tested. Where
    none of these works, or with --unpaired, attacks on people in the table are compared with
    the same attacks on people who are not in it (--control). With --release-only the release
    is measured without the original.
    """
    original, released = _tables(source, release, options)
    limit, audience = options.get("max_disclosure"), options.get("audience", "steward")
    limits = options.pick(("k", "max_disclosure"))
    if limit is not None:
        check_share("--max-disclosure", limit)
    check_one_of("--audience", audience, ("steward", "recipient"))
    from . import heavy

    also = options.get("also", [])
    inputs = original, released, options.config, *options.pick(("plan", "control", "population")).values()
    outputs = (
        ("report", REPORT, (".html", ".htm")),
        ("save", NUMBERS, (".json",)),
        ("evidence", EVIDENCE_FILE, (".json",)),
        ("per_person", None, SUFFIXES),
    )
    # before the audit, which may take minutes
    targets = [
        new_file(options[name], mark=mark, inputs=(*inputs, *also), endings=endings)
        for name, mark, endings in outputs
        if options.get(name)
    ]
    check_distinct(**{name.replace("_", "-"): options.get(name) for name, *_ in outputs})
    heavy.check_order(original, released)
    plan = heavy.plan_of(released, options.get("plan"))
    plan = None if plan is None else plan_read_as(plan, options)
    # a plan knows the roles where nobody says them
    schema = options.schema(is_needed=plan is None and heavy.folder_of(released) is None)
    passed = options.pick(PASSED)
    if schema.weight is not None:  # whoever else knows the roles
        passed.setdefault("weights", schema.weight)
    with working("auditing") as progress:
        result = heavy.audit(
            original,
            released,
            schema if schema.quasi else None,
            plan=plan,
            others=also,
            per_person=bool(options.get("per_person")),
            progress=progress,
            # None: the audit itself finds out which rows belong together
            paired=None if "unpaired" not in options else not options["unpaired"],
            **passed,
        )
    if options.get("report"):
        with working("writing the report"):
            result.report(options["report"], audience=audience, plan=plan, name=Path(released).name, **limits)
    if options.get("save"):
        result.save(options["save"])
    if options.get("evidence"):
        file = Path(released)
        # evidence about a folder names the hash of the table in it
        if file.is_dir():
            file = next((p for p in sorted(file.iterdir()) if p.stem == "release"), file)
        files = {"released": file, "original": None if original is None else Path(original)}
        write_private(options["evidence"], heavy.evidence(result.to_dict(), files))
    if result.per_person is not None:
        result.per_person.save(options["per_person"])
    found = result.to_dict()
    judged = heavy.verdict(found, plan, (), heavy.reasons(found, plan), **limits)
    if options.get("json"):
        as_json(found)
    else:
        answer = "\n- also: ".join([judged["says"], *judged["reasons"]])
        say(f"{answer}\n\n{heavy.summary({**found, 'unbounded': []})}")  # which are among the reasons
        for target in targets:
            say(f"written    {target}")
    # limits that nobody gave are the plan's, which the verdict alone knows
    broken = result.broken(**limits) or judged["broken"]
    to_stderr(*broken)
    return 1 if broken else 0


def _tables(source: str | None, release: str | None, options: Options) -> tuple[str | None, str]:
    """Return the paths of the original (None with --release-only) and of the release."""
    if options.get("release_only"):
        files = [file for file in (source, release, options.get("released")) if file]
        if len(files) != 1:
            raise ParameterError(
                "--release-only takes a release alone", hint="hedgerow audit --release-only release.csv --quasi ..."
            )
        return None, files[0]
    original, released = source or options.get("original"), release or options.get("released")
    if not original or not released:
        raise ParameterError(
            "two tables are needed, or --release-only", hint="hedgerow audit people.csv release.csv --quasi ..."
        )
    return original, released


@command(
    *rows("score"),
    *READING,
    original=("ORIGINAL", f"The table before masking: {FORMATS}."),
    masked=("MASKED", "The masked file, or the folder of a release."),
)
def score(original: str, masked: str, options: Options) -> None:
    """Judge a masked file: information loss and disclosure risk.

    Any masked file will do, whoever made it. Row i of one file must belong to row i of the
    other, which is tested; a release folder that holds its mapping (protect --mapping) knows
    its rows. The numeric columns that both have are compared. Low figures are good.
    """
    from . import heavy

    is_json = options.pop("json", False)
    with working("scoring"):
        scores = heavy.score(original, masked, **options)
    if is_json:
        as_json(scores.to_dict())
        return
    words = read_toml(__package__, "score.toml")
    n = len(scores.columns)
    compared = "1 numeric column" if n == 1 else f"{n} numeric columns"
    columns = "1 column" if scores.known == 1 else f"1 to {scores.known} columns"
    say(f"{scores.rows:,} complete records, {compared} compared.")
    if scores.linked < scores.rows:
        say(f"{scores.linked:,} of the records were drawn and linked.")
    say(f"Records were paired by {words['paired'][scores.paired_by]}.")
    say()

    data = scores.to_dict()
    figures = {**data, **data["loss"], **{name: fmean(getattr(scores, name)) for name in SCALES}}
    lines = [(name, f"{figures[key]:.2f}", what.format(columns=columns)) for key, (name, what) in words["rows"].items()]
    table(lines, ("measure", "%", "of what"))


@command(
    *rows("compare_models"),
    *READING,
    original=("ORIGINAL", f"The table before: {FORMATS}."),
    release=("RELEASED", "The released table, or the folder of a release, which knows the kinds of its columns."),
    formula=("FORMULA", 'The model, such as "income ~ age + C(education)", in quotes.'),
)
def compare_models(original: str, release: str, formula: str, options: Options) -> None:
    """Say which conclusions of a regression hold in a release.

    It is fitted on both tables. A formula has a column, ~, and terms joined by +: columns, `names with
    blanks or hyphens`, C(column) for numbers that are codes, log(column), column**2, a:b, a*b; - 1 leaves
    the intercept out. It may come from outside, since nothing of it is run. With --for-recipient only
    what may be passed on is printed: for each coefficient agrees, differs or refused. At most 20
    questions about a release are answered.
    """
    schema = options.schema(is_needed=False)
    with working("fitting"):
        chosen = options.pick(("family", "for_recipient"))
        result = hedgerow.compare_models(original, release, formula, None if schema == Schema() else schema, **chosen)
    if options.get("json"):
        as_json(result.to_dict())
    else:
        say(str(result))
