"""hedgerow frontier: compare disclosure and utility over many settings, and show the best ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..methods.estimator import TRIED
from ..notation import figure
from ..workflow import methods
from ..workflow.options import SCHEMA, rows
from .command import TABLE, Options, command
from .console import as_json, say, warn, working
from .outputs import PICTURE, POINTS, check_distinct, new_file

# parameters that decide how strongly a method masks: several values of each may be tried
VARIED = tuple(name for name in TRIED if name not in ("k", "max_disclosure"))

_DEFAULTS = {name: ",".join(map(str, values)) for name, values in TRIED.items()}
OWN = rows("frontier", methods=", ".join(methods.USUAL), **_DEFAULTS)
TARGETS = ("target_disclosure", "target_k", "target_utility")
AXES = ("utility", "disclosure", "max_inference", "random_state")
_NAMES = {row.name for row in OWN}
METHOD = tuple(row for row in methods.OPTIONS if row.name not in _NAMES)


@command(*SCHEMA, *OWN, *METHOD, source=TABLE)
def frontier(options: Options, source: str | None = None) -> None:
    """Try many settings, and compare disclosure and utility.

    With a --target the best release is picked; --out writes it.
    """
    path = options.table(source, "hedgerow frontier people.csv --quasi ... --sensitive ...")
    targets, out, force = options.pick(TARGETS), options.get("out"), bool(options.get("force"))
    inputs = path, options.config
    if out and not targets:
        raise ParameterError("--out needs a --target to pick a release by")
    from . import heavy

    if out:
        heavy.check_target(Path(out), force, inputs=inputs)
    for name, mark, ending in (("picture", PICTURE, ".svg"), ("csv", POINTS, ".csv")):
        if options.get(name):
            new_file(options[name], mark=mark, inputs=inputs, endings=(ending,))
    check_distinct(**{name: options.get(name) for name in ("picture", "csv", "out")})
    schema = options.schema()
    axes = options.pick(AXES)
    axes |= {n: _numbers(texts, n) for n, texts in options.pick(("k", "max_disclosure")).items()}
    axes["settings"] = {n: _numbers(texts, n) for n, texts in options.pick(VARIED).items()}
    tried = {name: _method(name, options) for name in dict.fromkeys(options.get("method", [methods.DEFAULT]))}
    # a session, so that the release of the picked point comes from the table that was searched
    with working("reading"):
        session = heavy.Session(path, schema=schema)
    with working("trying settings") as progress:
        points = session.frontier(tried, schema=schema, progress=progress, **axes)
    warn(*session.cautions)
    best = points.best(**targets) if targets else None
    if best is not None and out:
        with working("writing and verifying") as progress:
            session.take(best)
            session.protect(progress=progress)
            session.write(out, force=force, progress=progress)
    if options.get("picture"):
        points.save_picture(options["picture"])
    if options.get("csv"):
        points.save_csv(options["csv"])
    if options.get("json"):
        as_json(points.to_dict() | {"best": asdict(best) if best is not None else None})
        return
    say(str(points))
    if best is not None:
        settings = " ".join(methods.words(points.method(best)))
        say()
        say(f"best: --method {settings} (disclosure {figure(best.disclosure)}, utility {figure(best.utility)})")
    if best is not None and out:
        say(f"written    {out}")


def _numbers(texts: list[str], name: str) -> list[float]:
    """Return texts as numbers; whole ones become int, for parameters that count."""
    try:
        return [int(text) if text.isdigit() else float(text) for text in texts]
    except ValueError:
        raise ParameterError(f"--{name.replace('_', '-')} reads numbers joined by commas") from None


def _method(name: str, options: Options) -> Any:
    """Return a method with the options that it accepts; the varied parameters are set later."""
    params = methods.make(name, {}).get_params()
    return methods.make(name, {n: v for n, v in options.pick(METHOD).items() if n in params})
