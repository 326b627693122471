"""hedgerow demo, inspect, profiles and studio: commands to use before the first own release."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from shlex import quote
from shutil import which
from textwrap import fill
from typing import TYPE_CHECKING

from ..display import wrapped
from ..errors import OutputError, needed
from ..files import write_private
from ..notation import figure
from ..profiles import Profile
from ..schema import Schema
from ..texts import text
from ..workflow.methods import make
from ..workflow.options import READING, rows
from ..workflow.request import Request
from ..workflow.script import command_line, is_sayable
from .command import FORMATS, Options, command
from .console import as_json, note, say, table, working
from .outputs import check_distinct, named, new_file, removed_on_failure

if TYPE_CHECKING:
    from . import heavy

QUASI = ("age", "sex", "education", "job", "region")
SENSITIVE, IDENTIFIERS = ("income", "assets"), ("person_id", "postcode")
PEOPLE, K, MOST = 10_000, 10, 0.5
PAGE = files(__package__).joinpath("columns.html").read_text("utf-8")


@command(*rows("demo"), config=False)
def demo(options: Options) -> None:
    """Protect 10,000 synthetic people and show the result.

    No record is about a real person. The folder demo/ then holds their table
    (people.csv) and its release with the report, to look at and to go on with.
    """
    from ..backends.precompile import begin

    if begin():  # compiling goes on while the rest is loaded
        note(text("console", "first_run"))
    from . import heavy

    folder = Path(options.get("out", "demo"))
    source, target, key = folder / "people.csv", folder / "release", folder / "steward.key"
    people = heavy.make_people(PEOPLE, seed=1)
    schema = Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=IDENTIFIERS, rest="drop")
    with removed_on_failure(source, key, folder, *folder.parents):
        folder.mkdir(parents=True, exist_ok=True)
        # an earlier demo is replaced, and nothing else
        heavy.check_target(target, True)
        # people.csv of an earlier demo is replaced; a file of yours is not
        new_file(source, mark=",".join(people.column_names).encode())
        with working("making example people") as progress:
            progress("making example people", None)
            heavy.write_table(people, source)
            session = heavy.Session(source)
        session.choose(schema, heavy.Hedge(k=K, max_disclosure=MOST), key=key)
        with working(f"protecting {PEOPLE:,} example people") as progress:
            session.protect(progress=progress)
        with working("measuring") as progress:
            session.measure(progress=progress)
        with working("writing and verifying") as progress:
            session.write(target, force=True, progress=progress)
    if options.get("json"):
        as_json({"folder": str(folder), **session.release.summary()})
        return
    measured = session.result("measure")
    head = [
        *heavy.verdict_lines(session.release, measured),
        *heavy.equal_in_words(measured.risk["equal"], measured.table),
    ]
    for sentence in [*head, *_sentences(session, heavy.counts_off(measured))]:
        say(fill(sentence, 80))
    say()
    # where the shell would not find hedgerow, lines to copy name the file that runs now
    program = "hedgerow" if which("hedgerow") else quote(sys.argv[0])
    made_by = session.command_line().splitlines()[-1].removeprefix("hedgerow")
    say(f"look       {(target / 'report.html').resolve().as_uri()}")
    say(f"table      {target / 'release.csv'}  (made from {source})")
    say(f"attack it  {program} audit {quote(str(source))} {quote(str(target))}")
    say(f"made by    {program}{made_by} --force")


def _sentences(session: heavy.Session, counts: Sequence[str]) -> list[str]:
    """Return sentences on what was promised, what was reached and kept, and what was not promised."""
    numbers = session.release.summary()
    groups, disclosure = numbers["groups"], numbers["disclosure"]
    quasi, sensitive = ", ".join(QUASI[:-1]), " or ".join(SENSITIVE)
    worst, mean = (figure(disclosure[name], 2) for name in ("worst", "mean_over_records"))
    reached = {"rows": numbers["rows"], "groups": groups["groups"], "smallest": groups["smallest"]}
    return [
        text("demo", "promised", k=K, quasi=quasi, last=QUASI[-1], most=MOST, sensitive=sensitive),
        text("demo", "reached", **reached, worst=worst, mean=mean),
        *(text("demo", "useful", counts=line) for line in counts),
        text("demo", "not_promised", columns=len(QUASI)),
    ]


@command(*rows("inspect"), *READING, source=("FILE", f"{FORMATS}; - for standard input."))
def inspect(source: str, options: Options) -> None:
    """Show columns, and propose a role and a kind for each.

    The proposal is a guess from names and values. Correct it: only you know what an
    intruder may know.
    """
    from ..workflow.inspection import inspect as look_at

    file = options.table(source, "hedgerow inspect people.csv")
    path = named(Path(file))
    with working("reading"):
        inspection = look_at(file, **options.pick(READING))
    is_declared = bool(options.get("declare"))
    chosen = make("private-tree", {}) if is_declared else None  # the default, which no command names
    schema = inspection.public() if is_declared else inspection.schema
    crowded = inspection.unproposed(inspection.schema) if is_declared else []
    to_declare = [text("inspection", "left_out", text=each) for each in crowded]
    if others := [n for n in (*inspection.schema.other, inspection.schema.weight) if n and is_declared]:
        to_declare.append(text("inspection", "no_other", names=", ".join(others)))
    head = (text("inspection", "to_confirm") if is_declared else "", *(f"# To do: {each}\n" for each in to_declare))
    toml = "".join(head) + schema.to_toml()
    check_distinct(save=options.get("save"), html=options.get("html"))
    how = "written  "
    saved = new_file(options["save"], force=bool(options.get("force")), inputs=(path,)) if options.get("save") else None
    page = new_file(options["html"], mark=PAGE.partition("\n")[0].encode()) if options.get("html") else None
    if saved is not None:
        write_private(saved, toml)
    if schema.quasi and saved is None and not is_sayable(schema) and not options.get("json"):
        saved, how = _saved_proposal(path, toml)
    measured = {"attacks": False, "learning": False}  # a report, as protect writes it
    request = Request(schema, chosen, path=path, measured=measured)
    commands = command_line(request, saved).splitlines() if schema.quasi else []
    if page is not None:
        agree = "<p>If you agree:</p><pre>" + escape("\n".join(commands)) + "</pre>" if commands else ""
        write_private(page, f"{PAGE}<h1>{escape(path.name)}</h1>{inspection._repr_html_()}{agree}")
    if options.get("json"):
        as_json(inspection.to_dict())
        return
    say(str(inspection))
    for each in to_declare:
        say(f"\n{wrapped('to do: ' + each)}")
    say()
    if saved is not None:
        say(f"{how}  {saved}  (the proposal: correct it there)")
    if page is not None:
        say(f"written    {page}")
    if commands:
        say("\n  ".join(["If you agree:", *commands]))


def _saved_proposal(path: Path, text: str) -> tuple[Path | None, str]:
    """Save the proposed schema in a new file in this folder, if it is in none; return its path (None: it failed)."""
    stem = path.stem if str(path) != "-" else "people"
    for more in ("", *(f"-{number}" for number in range(2, 100))):
        target = Path(f"{stem}.schema{more}.toml")
        try:
            # a file of the same text need not be written again, and one of another text stays
            if not target.exists():
                write_private(target, text)
                return target, "written  "
            if target.read_text(encoding="utf-8") == text:
                return target, "unchanged"
            note(f"{target} is not this proposal, and stays as it is (you may have corrected it, and want it below)")
        except (OSError, UnicodeDecodeError, OutputError):
            break
    return None, ""


@command(*rows("json"), name=("NAME", "One of them, or a .toml file of your own, to see what it asks."))
def profiles(options: Options, name: str | None = None) -> None:
    """List the standards for --profile, or the criteria of one."""
    listed = [Profile.load(each) for each in ([name] if name else Profile.names())]
    if options.get("json"):
        as_json({profile.name: asdict(profile) for profile in listed})
        return
    if name is None:
        rows = [(p.name, p.date, str(p.k) if p.k > 1 else "-", p.title) for p in listed]
        table(rows, ("name", "date", "k", "standard"))
        return
    profile = listed[0]
    say(f"{profile.title}: {profile.source}, {profile.date}.")
    if profile.note:
        say(profile.note)
    say()
    for each in profile.criteria:
        ground = "no threshold named; this one is Hedgerow's" if each.ours else f"read: {each.read}"
        statistic = f"{each.statistic} {each.threshold}".rstrip()
        say(f"- {each.asks} [{each.clause}] {statistic} ({ground})")


@command(*rows("studio"), source=("FILE", "A table to begin with; another can be chosen in the page."))
def studio(options: Options, source: str | None = None) -> None:
    """Go from a table to a release in five steps, in a browser.

    The page is served to this machine alone, under an address that is good for one browser, until
    you stop it (Ctrl-C). Nothing leaves the machine; what is uploaded is removed at the end.
    """
    for package in ("fastapi", "uvicorn"):
        needed(package, "studio", "pages of the studio")
    from ..studio.server import serve

    def ready(address: str) -> None:
        say(address)
        note("Serving this machine alone until you press Ctrl-C.")
        if options.get("browser", True):
            import webbrowser

            webbrowser.open(address)

    serve(source, port=options.get("port", 0), ready=ready)
