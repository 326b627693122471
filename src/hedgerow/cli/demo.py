"""hedgerow demo: a first release, of made people, and what it promised and reached."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ..errors import OutputError
from ..notation import figure
from ..workflow.options import Option
from .console import as_json, note, say
from .options import command, merged
from .outputs import new_file
from .progress import working

if TYPE_CHECKING:
    from ..workflow.session import Session

QUASI = ("age", "sex", "education", "job", "region", "marital", "hours_per_week", "born_abroad")
SENSITIVE, IDENTIFIERS = ("income", "assets"), ("person_id", "postcode")
PEOPLE, K, MOST = 10_000, 10, 0.5
OPTIONS = (
    Option("out", str, "Folder to write. Default: demo."),
    Option("json", bool, "Print what was reached as JSON."),
)


@command(OPTIONS)
def demo(**given: Any) -> None:
    """Protect 10,000 made people and say what was reached.

    No record is about a real person. The folder demo/ then holds the made table
    (people.csv) and its release with the report, to look at and to go on with.
    """
    from ..backends.precompile import begin

    begin()
    from ..datasets import make_people
    from ..io.write import write_table
    from ..methods.mart import MART
    from ..release.write import check_target
    from ..schema import Schema
    from ..workflow.session import Session

    options = merged(given, None, OPTIONS)
    folder = Path(options.get("out", "demo"))
    source, target = folder / "people.csv", folder / "release"
    made = make_people(PEOPLE, seed=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the folder {folder}: {error.strerror}", hint="choose another by --out"
        ) from None
    check_target(target, True)
    new_file(source, mark=",".join(made.column_names).encode())
    note(
        "The first run on a machine compiles the fast parts, which takes some ten seconds; later "
        "runs take seconds."
    )
    with working("making people") as progress:
        progress("making people", None)
        write_table(made, source)
        session = Session(source)
    schema = Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=IDENTIFIERS, rest="drop")
    session.choose(schema, MART(k=K, max_disclosure=MOST))
    with working(f"protecting {PEOPLE:,} made people") as progress:
        session.protect(progress=progress)
    with working("measuring") as progress:
        session.measure(progress=progress)
    with working("writing and verifying") as progress:
        session.write(target, force=True, progress=progress)
    if options.get("json"):
        as_json({"folder": str(folder), **session.release.summary()})
        return
    for sentence in _told(session):
        say(fill(sentence, 80))
    say()
    say(f"look       {target / 'report.html'}")
    say(f"table      {target / 'release.csv'}  (made from {source})")
    say(f"attack it  hedgerow audit {source} {target}")
    say(f"made by    {session.command_line().splitlines()[-1]}")


def _told(session: Session) -> list[str]:
    """What was promised and reached, in three sentences."""
    release = session.release
    numbers = release.summary()
    groups, told = numbers["groups"], numbers["disclosure"]
    return [
        f"Promised: at least {K} people share every combination of {', '.join(QUASI[:-1])} and "
        f"{QUASI[-1]} that the release shows, and no such group gives away more than "
        f"{MOST:g} of anybody's {' or '.join(SENSITIVE)} (0 nothing, 1 everything).",
        f"Reached, counted on the written file: {numbers['rows']:,} people in "
        f"{groups['groups']:,} groups of {groups['smallest']:,} or more, where the group that "
        f"gives away most gives away {figure(told['worst'], 2)}, and the mean over people is "
        f"{figure(told['mean_over_records'], 2)}.",
        "Not promised: what a program learns from all groups together, or what somebody finds "
        f"out who knows more than these {len(QUASI)} columns; an audit tries that.",
    ]
