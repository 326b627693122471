"""hedgerow protect: turn a file into a verified release folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from .. import facade
from ..errors import Cancelled, HedgerowError, ParameterError
from ..plan.records import REDRAW
from ..profiles import Profile
from ..progress import cautions
from ..texts import text
from ..validation import DAY, check, whole
from ..workflow import methods
from ..workflow.options import ENGINE, check_hierarchies
from ..workflow.request import CHOICE, OPTIONS, WRITING
from .command import TABLE, Options, command
from .console import as_json, note, say, warn, working
from .outputs import check_distinct, is_stream, send

if TYPE_CHECKING:
    from . import heavy


@command(*OPTIONS, source=TABLE)
def protect(options: Options, source: str | None = None) -> None:
    """Protect a table, and write a verified release folder.

    The written table is read back and every promise is checked on it; only then does the
    folder appear. When a promise does not hold, nothing is written.
    """
    file = options.table(source, "hedgerow protect people.csv --quasi ... --out release/")
    if not options.get("out"):
        raise ParameterError("no --out given", hint="name the folder to write: --out release/")
    from ..backends.precompile import begin

    begin(options.get("method"))  # compiling goes on while the rest is loaded
    from . import heavy

    for name, kind in (("date", DAY), ("sample", whole(1))):  # before the work
        if name in options:
            check(name, options[name], kind)
    folder, force, public = Path(options["out"]), bool(options.get("force")), options.get("public")
    to_stream = is_stream(options)
    if not to_stream:
        heavy.check_target(folder, force, inputs=(file,))
    if public:
        heavy.check_target(Path(public), force, heavy.PUBLIC_MARKS, (file,))
    check_distinct(out=folder, public=public)
    if options.get("sign"):
        if to_stream:
            raise ParameterError("--sign writes files beside the table, and --out - is the table alone")
        heavy.check_key(options["sign"])
    method, keys = _with_keys(options)
    profile = Profile.load(options["profile"]) if options.get("profile") else None
    if profile is not None:
        with cautions() as texts:
            method = heavy.stronger(profile, method, is_chosen="k" in options)
        note(*texts)
        if to_stream or not options.get("report", True):
            raise ParameterError(
                "--profile is judged by what the report measures", hint="leave out --no-report; name a folder as --out"
            )
    schema = options.schema()
    with working("reading"):
        session = heavy.Session(file, schema=schema, method=method, **options.pick(ENGINE))
        session.choose(schema, method, **keys, **options.pick(CHOICE))
        check_hierarchies(session.table, schema)
        warnings = heavy.beforehand(session.table, schema)
    measured: dict[str, bool] = {}
    if options.get("report", True) and not to_stream:
        measured = _measures(options, profile, profile is not None and heavy.needs_attacks(profile))
    if not session.table.is_loaded:
        heavy.refuse_whole([name for name, is_on in measured.items() if is_on], options.get("sample"))
    warn(*warnings)
    with working(f"protecting {session.table.n_rows:,} records") as progress:
        session.protect(progress=progress)
    warn(*session.cautions)
    if measured:
        _measure(session, measured, options, profile)
    with ExitStack() as stack:
        # a stream is verified like a folder: written, read back, then sent
        if to_stream:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="hedgerow-")), "release")
        with working("writing and verifying") as progress:
            session.write(folder, progress=progress, **options.pick(WRITING))
        warn(*session.cautions)
        outcome = heavy.outcome(session.release, session.result("measure"))
        if to_stream:
            note(*outcome)
            warn(text("console", "table_alone"))
            send(folder / session.release.file_name)
            return
    result = session.result("measure")
    _print(session, folder, options, [*outcome, *heavy.standard_verdict(result and result.profile)])


def _print(session: heavy.Session, folder: Path, options: Options, outcome: Sequence[str]) -> None:
    """Print the promises, the results and the written files, or all of it as JSON."""
    release, result, public = session.release, session.result("measure"), options.get("public")
    names = {"release": release.file_name, "plan": "plan.json", "numbers": "audit.json", "recipient": "RECIPIENT.md"}
    files, other = {what: folder / name for what, name in names.items()}, release.plan.names("other")
    if options.get("json"):
        paths = {what: str(path) for what, path in files.items()}
        columns = {"other": other, "left_out": release.plan.left_out}
        inference = result.risk["inference"] if result else None
        as_json({"files": paths, "public": public, **columns, **release.summary(), "inference": inference})
        return
    for line in outcome:
        say(line)
    if unchanged := [name for name in other if name not in release.plan.relations()]:
        say(f'Released unchanged as "other": {", ".join(unchanged)}.')
    say()
    say(f"release    {files['release']}")
    say(f"to read    {files['recipient']}  (give it with the release)")
    private = getattr(release.method, "is_private", False)
    of_plan = "public: noisy counts and what each cost" if private else "private: it holds thresholds from the data"
    say(f"plan       {files['plan']}  ({of_plan})")
    say(f"numbers    {files['numbers']}  (private: for the auditor)")
    if (folder / "report.html").exists():
        files["report"] = folder / "report.html"
        say(f"report     {files['report']}  (private)")
    for path in sorted(p for p in folder.iterdir() if p not in files.values()):
        say(f"also       {path}")
    if public:
        say(f"hand out   {public}  (all of it, and nothing else)")


def _with_keys(options: Options) -> tuple[facade.Method, dict[str, Any]]:
    """Return the method, with its key if it draws at random, and the keys of pseudonyms and guard."""
    name, chosen = options.get("method", methods.DEFAULT), options.pick(methods.OPTIONS)
    key, pseudonyms = options.get("key_file"), bool(options.get("pseudonyms"))
    # one number or key file serves the draws of the method, those of the guard and the pseudonyms
    number = options.pick(["random_state"])
    method = methods.make(name, {n: v for n, v in chosen.items() if n not in number})
    is_redrawn = methods.form_of(method, options.get("guard", "auto")) == REDRAW
    drawing = {"key": key, **number} if is_redrawn else {}
    if not drawing or number.keys() <= method.get_params().keys():
        method = methods.make(name, chosen)
    if key and method.draws:
        method.set_params(key=key)
    elif key and not pseudonyms and not drawing:
        raise ParameterError("--key-file is given without --pseudonyms or --guard redraw")
    if pseudonyms and not key:
        raise ParameterError(
            "--pseudonyms needs --key-file", hint="make one with: (umask 077; head -c 32 /dev/urandom > key.bin)"
        )
    return method, {"pseudonym_key": key if pseudonyms else None, **drawing}


def _measures(options: Options, profile: Profile | None, is_attacked: bool) -> dict[str, bool]:
    """Return the optional measures that the report needs; a profile may need attacks."""
    attacks = bool(options.get("attacks"))
    measured = {"attacks": attacks, "learning": attacks, **options.pick(("learning", "inference"))}
    if profile is not None:
        # attacks that the profile alone asks for bring no learners with them, which take longer
        measured.setdefault("inference", attacks)
        measured["attacks"] = bool(options.get("attacks", is_attacked))
    return measured


def _measure(session: heavy.Session, measured: dict[str, bool], options: Options, profile: Profile | None) -> None:
    """Measure the release for its report; if that fails, the release is written without a report.

    A release that does not meet its profile is not written.
    """
    start = monotonic()
    try:
        with working("measuring") as progress:
            session.measure(progress=progress, **measured, **options.pick(("sample", "date")))
        if measured.get("inference", measured["attacks"]):  # the release itself was made before
            note(f"Measuring took {monotonic() - start:.1f} s, apart from protecting.")
    except Cancelled:
        raise
    except HedgerowError as error:
        if profile is not None:
            raise
        warn(f"no report.html: {error.message}")
