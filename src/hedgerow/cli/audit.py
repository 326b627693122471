"""hedgerow audit: what a released file gives away, and what it is still good for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..workflow.options import Option, under
from .console import as_json, beside, say
from .options import ConfigFile, command, merged
from .outputs import DATE, ENGINE, EVIDENCE_FILE, NUMBERS, REPORT, each_apart, new_file
from .progress import working
from .schema import SCHEMA, TABLES, read_as, said, schema_of

if TYPE_CHECKING:
    from ..audit.result import Audit

PASSED = (
    *under(
        "Which rows belong together",
        Option(
            "key",
            str,
            "A column of both tables with a different value in every row, that pairs them.",
        ),
        Option(
            "allow_outside", bool, "Accept released cells that miss their row's original value."
        ),
    ),
    *under(
        "Attacks and learning",
        Option("attacks", bool, "Run the attacks. Default: yes."),
        Option("learning", bool, "Compare learning from the release. Default: yes."),
        Option(
            "inference",
            bool,
            "Measure what learners infer about members. Default: as for the attacks.",
        ),
        Option("people", int, "How many people each attack is tried on. Default: 500."),
        Option(
            "sample",
            int,
            "Show attacks and learners so many records, as whole groups chosen by a hash of what "
            "they hold; the report says so. Default: all, for which duckdb has no room.",
        ),
        Option(
            "control", str, "Table of people who are not in the original, as the attacks' control."
        ),
        Option("random_state", int, "Deals random queries, folds and intervals. Default: 0."),
        DATE,
    ),
    *under(
        "Risk of re-identification",
        Option("k", int, "Fail (exit code 1) when a group has fewer records.", ("-k",)),
        Option("population", str, "Table of the population, for the journalist's risk."),
        Option(
            "weights", str, "Column of sampling weights, for the journalist's risk. Default: --weight."
        ),
        Option("population_size", int, "People of the population, for population uniques."),
        Option(
            "suda",
            int,
            "Find special uniques (SUDA2): records that so many quasi-identifiers or fewer single "
            "out.",
        ),
        Option(
            "threshold",
            float,
            "Re-identification risk above which a record counts as at risk. Default: 0.2.",
        ),
    ),
    *under(
        "Standards",
        Option(
            "profile",
            str,
            "Hold the release against a standard, by name (hedgerow profiles) or as your own .toml; "
            "exit code 1 when a criterion is not met.",
        ),
    ),
    *ENGINE,
)
"""Options that `hedgerow.audit` takes under the same names."""
OPTIONS = (
    *SCHEMA,
    *PASSED,
    *under(
        "Risk of re-identification",
        Option(
            "max_disclosure", float, "Fail (exit code 1) when a group gives away more, in (0, 1]."
        ),
    ),
    *under(
        "Which rows belong together",
        Option(
            "unpaired",
            bool,
            "Compare no row with its original, whatever the number of rows (synthetic data); give "
            "people who took no part as --control. Default: where nothing shows which belong "
            "together.",
        ),
        Option(
            "release_only",
            bool,
            "Measure the release alone: the one table named is the release, and there is no "
            "original.",
        ),
        Option("plan", str, "The plan.json of the release; a release folder has it."),
        Option(
            "also",
            list,
            "Another release of the same people, or its folder: what both give away together; "
            "repeatable.",
        ),
    ),
    *under(
        "Files to write",
        Option("report", str, "Write the report to this HTML file."),
        Option("audience", str, "Whom the report is for: steward or recipient. Default: steward."),
        Option("save", str, "Write the numbers to this JSON file."),
        Option("evidence", str, "Write what an output checker needs of --profile to this JSON file."),
        Option(
            "per_person",
            str,
            "Write what the group of every record gives away, those most at risk first, to this "
            "file (CSV, Parquet ...), which its owner alone can read.",
        ),
    ),
    Option("original", str, "The table before, in place of the argument (for TOML files)."),
    Option("released", str, "The table after, in place of the argument (for TOML files)."),
    Option("json", bool, "Print the numbers as JSON."),
)


@command(
    OPTIONS,
    source=("ORIGINAL", "The table before."),
    release=(
        "RELEASED",
        "The released table, whoever made it, or a release folder, which holds its plan.",
    ),
)
def audit(
    source: str | None = None,
    release: str | None = None,
    config: ConfigFile = None,
    **given: Any,
) -> int:
    """Measure what a released file gives away, and what it keeps.

    Name the roles as for protect; a release folder knows its own. Rows are paired by the
    folder, a key, the plan, columns that were not altered, or an order that is tested. Where
    none of these works, or with --unpaired, attacks on people in the table are compared with
    the same attacks on people who are not in it (--control). With --release-only the release
    is measured without the original.
    """
    options = merged(given, config, OPTIONS, TABLES)
    original, released = _tables(source, release, options)
    limit, audience = options.get("max_disclosure"), options.get("audience", "steward")
    if limit is not None and not 0 < limit <= 1:
        raise ParameterError(f"--max-disclosure must lie in (0, 1], not {limit}")
    if audience not in ("steward", "recipient"):
        raise ParameterError("--audience is steward or recipient")
    from ..files import SUFFIXES

    also = options.get("also", [])
    named = map(options.get, ("plan", "control", "population"))
    inputs = original, released, config, *named, *also
    written = (
        ("report", REPORT, (".html", ".htm")),
        ("save", NUMBERS, (".json",)),
        ("evidence", EVIDENCE_FILE, (".json",)),
        ("per_person", None, SUFFIXES),
    )
    targets = [
        new_file(options[name], mark=mark, inputs=inputs, endings=endings)
        for name, mark, endings in written
        if options.get(name)
    ]
    each_apart(**{name.replace("_", "-"): options.get(name) for name, *_ in written})
    from ..audit.run import audit as measure
    from ..audit.subject import plan_of

    plan = plan_of(released, options.get("plan"))
    plan = None if plan is None else read_as(plan, options)
    # a plan knows the roles where nobody says them
    schema = schema_of(options, config) if plan is None else said(options, config)
    if schema.weight is not None:  # whoever else knows the roles
        options = {"weights": schema.weight, **options}
    with working("auditing") as progress:
        found = measure(
            original,
            released,
            schema if schema.quasi else None,
            plan=plan,
            others=also,
            per_person=bool(options.get("per_person")),
            progress=progress,
            paired={True: False, False: True, None: None}[options.get("unpaired")],
            **{each.name: options[each.name] for each in PASSED if each.name in options},
        )
    if options.get("report"):
        with working("writing the report"):
            found.report(
                options["report"],
                audience=audience,
                plan=plan,
                name=Path(released).name,
                k=options.get("k"),
                max_disclosure=limit,
            )
    if options.get("save"):
        found.save(options["save"])
    if options.get("evidence"):
        _evidence(found, options["evidence"], original, released)
    if found.per_person is not None:
        found.per_person.save(options["per_person"])
    if options.get("json"):
        as_json(found.to_dict())
    else:
        say(str(found))
        for target in targets:
            say(f"written    {target}")
    return _verdict(found, options.get("k"), limit)


def _evidence(found: Audit, target: str, original: str | None, released: str) -> None:
    from ..files import write_private
    from ..release.evidence import evidence

    table = Path(released)
    if table.is_dir():
        table = next((p for p in sorted(table.iterdir()) if p.stem == "release"), table)
    before = None if original is None else Path(original)
    write_private(target, evidence(found.to_dict(), {"released": table, "original": before}))


def _tables(
    source: str | None, release: str | None, options: dict[str, Any]
) -> tuple[str | None, str]:
    """The original, if any, and the release."""
    if options.get("release_only"):
        named = [each for each in (source, release, options.get("released")) if each]
        if len(named) != 1:
            raise ParameterError(
                "--release-only takes one table, the release",
                hint="hedgerow audit --release-only release.csv --quasi ...",
            )
        return None, named[0]
    original, released = source or options.get("original"), release or options.get("released")
    if not original or not released:
        raise ParameterError(
            "two tables are needed, or --release-only",
            hint="hedgerow audit people.csv release.csv --quasi ...",
        )
    return original, released


def _verdict(found: Audit, k: int | None, limit: float | None) -> int:
    """0, or 1 when the release does not reach what was asked."""
    broken = found.broken(k=k, max_disclosure=limit)
    for line in broken:
        beside(line)
    return 1 if broken else 0
