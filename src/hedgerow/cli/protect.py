"""hedgerow protect: from a file to a verified release folder."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import Cancelled, HedgerowError, ParameterError
from ..profiles import Profile
from ..progress import cautions
from ..validation import DAY, check
from ..workflow import methods
from ..workflow.options import Option, under
from .console import as_json, how_held, note, say, warn
from .options import SHEET, TABLE, ConfigFile, command, merged, sheet_of
from .outputs import DATE, ENGINE, ESCAPE, FORCE, KEEP_ORDER, PARTS, RESTART, each_apart
from .progress import working
from .schema import SCHEMA, TABLES, schema_of
from .stdio import STREAM, send

if TYPE_CHECKING:
    from ..workflow.session import Session

OUTPUT = (
    *under(
        "Release",
        Option("out", str, "Folder to write; it must not exist. -: the table alone, on stdout."),
        Option(
            "public", str, "Folder to hand out, apart: what the recipient gets and nothing else."
        ),
        FORCE,
        ESCAPE,
        KEEP_ORDER,
        PARTS,
        Option(
            "mapping",
            bool,
            "Also write mapping.json (private): whose record is which; audit and score need it "
            "for randomized and masked releases. Default: no.",
        ),
        Option(
            "pseudonyms",
            bool,
            "Replace identifiers by keyed pseudonyms instead of leaving them out.",
        ),
        Option(
            "key_file",
            str,
            "Secret key of the pseudonyms (16 bytes or more) or of what a method draws (then made if "
            "absent).",
        ),
    ),
    *under(
        "Report",
        Option("report", bool, "Measure risk and utility and write report.html. Default: yes."),
        Option(
            "attacks",
            bool,
            "Try attacks and learning as well for the report; takes longer. Default: no.",
        ),
        Option(
            "learning",
            bool,
            "Compare learning from the release for the report. Default: as for the attacks.",
        ),
        Option(
            "inference",
            bool,
            "Measure what learners infer about members and strangers. Default: as for the attacks.",
        ),
        Option(
            "sample",
            int,
            "Show attacks and learners so many records, as whole groups chosen by a hash of what "
            "they hold; the report says so. Default: all, for which duckdb has no room.",
        ),
        DATE,
    ),
    Option("file", str, "The table, in place of the argument FILE (for TOML files)."),
    SHEET,
    Option("json", bool, "Print the result as JSON."),
    *ENGINE,
    *RESTART,
)
METHOD = under(
    "Method", Option("method", str, f"How: {', '.join(methods.METHODS)}. Default: mart.")
)
PROFILE = under(
    "Report",
    Option(
        "profile",
        str,
        "Standard to keep, by name (hedgerow profiles) or as your own .toml: raises k where that keeps "
        "it, writes nothing where a criterion is not met, and writes evidence.json.",
    ),
)
BOUND = under(
    "Method",
    Option(
        "max_inference",
        float,
        "Tighten the method until named attackers infer at most this share of any sensitive "
        "column, in (0, 1); a measured bound.",
    ),
)
OPTIONS = (*SCHEMA, *METHOD, *methods.OPTIONS, *BOUND, *PROFILE, *OUTPUT)


@command(OPTIONS, source=TABLE)
def protect(source: str | None = None, config: ConfigFile = None, **given: Any) -> None:
    """Protect a table and write it as a verified release folder.

    The written table is read back and every promise is checked on it; only then does the
    folder appear. When a promise does not hold, nothing is written.
    """
    options = merged(given, config, OPTIONS, TABLES)
    file = source or options.get("file")
    if not file:
        raise ParameterError(
            "no FILE given", hint="hedgerow protect people.csv --quasi ... --out release/"
        )
    file = sheet_of(file, options)
    if not options.get("out"):
        raise ParameterError("no --out given", hint="name the folder to write: --out release/")
    from ..backends.precompile import begin

    begin()
    from ..release.write import PUBLIC_MARKS, check_target
    from ..workflow.inspection import beforehand
    from ..workflow.session import Session

    if "date" in options:
        check("date", options["date"], DAY)  # before the work
    folder, force = Path(options["out"]), bool(options.get("force"))
    streamed = options["out"] == STREAM
    if not streamed:
        check_target(folder, force, inputs=(file,))
    elif options.get("json"):
        raise ParameterError("--json and --out - both write to standard output")
    if streamed and options.get("parts"):
        raise ParameterError("--parts writes a folder, and --out - is standard output")
    if options.get("public"):
        check_target(Path(options["public"]), force, PUBLIC_MARKS, (file,))
    each_apart(out=folder, public=options.get("public"))
    method, pseudonym_key = _secrets(options)
    profile = Profile.load(options["profile"]) if options.get("profile") else None
    if profile is not None:
        from ..workflow.protect import stronger

        with cautions() as heard:
            method = stronger(profile, method, is_chosen="k" in options)
        for text in heard:
            note(text)
        if streamed or not options.get("report", True):
            raise ParameterError(
                "--profile is judged by what the report measures",
                hint="leave --no-report away, and name a folder as --out",
            )
    schema = schema_of(options, config)
    with working("reading"):
        session = Session(
            file,
            engine=options.get("engine", "auto"),
            memory=options.get("memory"),
            schema=schema,
            method=method,
            resume=not options.get("restart"),
        )
        session.choose(
            schema,
            method,
            pseudonym_key=pseudonym_key,
            max_inference=options.get("max_inference"),
            keep_order=bool(options.get("keep_order")),
            profile=options.get("profile"),
            parts=bool(options.get("parts")),
        )
        wary = beforehand(session.table, schema)
    measured = _asked(options, profile) if options.get("report", True) and not streamed else {}
    if session.table.engine != "memory":
        from ..audit.run import refuse_whole

        refuse_whole([name for name, asked in measured.items() if asked], options.get("sample"))
    how_held(session.table)
    for text in wary:
        warn(text)
    with working(f"protecting {session.table.n_rows:,} records") as progress:
        session.protect(progress=progress)
    for text in session.cautions:
        warn(text)
    if measured:
        _measure(session, measured, options, profile)
    with ExitStack() as stack:
        if streamed:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="hedgerow-")), "release")
        with working("writing and verifying") as progress:
            session.write(
                folder,
                force=force,
                escape=options.get("escape", True),
                mapping=bool(options.get("mapping")),
                public=options.get("public"),
                progress=progress,
            )
        if streamed:
            _hand_on(session, folder)
            return
    _tell(session, folder, options.get("public"), bool(options.get("json")))


def _hand_on(session: Session, folder: Path) -> None:
    """The released table alone, on standard output."""
    from ..workflow.outcome import outcome

    for line in outcome(session.release):
        note(line)
    warn(
        "only the table was written to standard output, without RECIPIENT.md, which its reader needs, and without "
        "plan.json and audit.json; --out FOLDER keeps them"
    )
    send(folder / session.release.file_name)


def _secrets(options: dict[str, Any]) -> tuple[Any, str | None]:
    """The method with its key, and the key file of the pseudonyms."""
    method = methods.make(
        options.get("method", "mart"),
        {o.name: options[o.name] for o in methods.OPTIONS if o.name in options},
    )
    key, pseudonyms = options.get("key_file"), bool(options.get("pseudonyms"))
    drawn = method.draws
    if key and drawn:
        method.set_params(key=key)
    if key and not drawn and not pseudonyms:
        raise ParameterError("--key-file is given without --pseudonyms")
    if pseudonyms and not key:
        raise ParameterError(
            "--pseudonyms needs --key-file",
            hint="make one with: (umask 077; head -c 32 /dev/urandom > key.bin)",
        )
    return method, key if pseudonyms else None


def _asked(options: dict[str, Any], profile: Profile | None) -> dict[str, bool]:
    """What the report shall hold beside classes and losses."""
    attacks = bool(options.get("attacks"))
    found = {"attacks": attacks, "learning": bool(options.get("learning", attacks))}
    if "inference" in options:
        found["inference"] = bool(options["inference"])
    if profile is not None:
        from ..audit.profile_result import needs_attacks

        found.setdefault("inference", attacks)
        found["attacks"] = bool(options.get("attacks", needs_attacks(profile)))
    return found


def _measure(
    session: Session, measured: dict[str, bool], options: dict[str, Any], profile: Profile | None
) -> None:
    """Measure for the report; a release that cannot be measured is written without one.

    One that does not meet its profile is not written.
    """
    more: dict[str, Any] = {n: options[n] for n in ("sample", "date") if n in options}
    began = monotonic()
    try:
        with working("measuring") as progress:
            session.measure(progress=progress, **measured, **more)
        if measured.get("inference", measured["attacks"]):  # the release itself was made before
            note(f"Measuring took {monotonic() - began:.1f} s, apart from protecting.")
    except Cancelled:
        raise
    except HedgerowError as error:
        if profile is not None:
            raise
        warn(f"no report.html: {error.message}")
        return


def _tell(session: Session, folder: Path, public: str | None, json: bool) -> None:
    from ..report.standards import verdict
    from ..workflow.outcome import outcome

    release = session.release
    other = release.plan.names("other")
    files = {
        "release": folder / release.file_name,
        "plan": folder / "plan.json",
        "numbers": folder / "audit.json",
        "recipient": folder / "RECIPIENT.md",
    }
    measured = session.result("measure")
    if json:
        as_json(
            {
                "files": {name: str(path) for name, path in files.items()},
                "public": public,
                "other": other,
                "left_out": release.plan.left_out,
                **release.summary(),
                "inference": measured.risk["inference"] if measured else None,
            }
        )
        return
    for line in outcome(release, measured):
        say(line)
    for line in verdict(measured.profile) if measured else ():
        say(line)
    if other:
        say(f'Released unchanged as "other": {", ".join(other)}.')
    say()
    say(f"release    {files['release']}")
    say(f"to read    {files['recipient']}  (give it with the release)")
    say(f"plan       {files['plan']}  (private: it holds thresholds from the data)")
    say(f"numbers    {files['numbers']}  (private: for the auditor)")
    if (folder / "report.html").exists():
        files["report"] = folder / "report.html"
        say(f"report     {files['report']}  (private)")
    for path in sorted(p for p in folder.iterdir() if p not in files.values()):
        say(f"beside     {path}")
    if public:
        say(f"hand out   {public}  (all of it, and nothing else)")
