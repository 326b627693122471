"""hedgerow frontier: disclosure against utility over many settings, and the best of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..methods.estimator import TRIED
from ..notation import figure
from ..workflow import methods
from ..workflow.options import Option, under
from .console import as_json, say, warn
from .options import SHEET, TABLE, ConfigFile, command, merged, sheet_of
from .outputs import FORCE, PICTURE, POINTS, each_apart, new_file
from .progress import working
from .schema import SCHEMA, TABLES, schema_of


def _listed(name: str) -> str:
    return ",".join(map(str, TRIED[name]))


VARIED = tuple(name for name in TRIED if name not in ("k", "max_disclosure"))
"""Parameters that decide how strongly a method masks: several values of each may be tried."""

OWN = (
    *under(
        "What is tried",
        Option("method", list, f"One or more of {', '.join(methods.METHODS)}. Default: mart."),
        Option("k", list, f"Values of k to try. Default: {_listed('k')}.", ("-k",)),
        Option(
            "max_disclosure",
            list,
            f"Values to try, each in (0, 1]. Default: {_listed('max_disclosure')}.",
        ),
        *(
            Option(
                name,
                list,
                f"Values to try, for methods that have it. Default: {_listed(name)}.",
                ("-l",) if name == "l" else (),
            )
            for name in VARIED
        ),
    ),
    *under(
        "How it is judged",
        Option(
            "utility",
            str,
            "The utility axis: certainty, queries, or learning, which asks learners about people left "
            "out. Default: certainty.",
        ),
        Option(
            "disclosure",
            str,
            "The disclosure axis: worst, mean_over_groups, mean_over_records, or linkage, inferred or advantage, "
            "which every method has. Default: worst, or linkage where a method alters values.",
        ),
        Option(
            "max_inference",
            float,
            "Leave out settings from which named attackers infer more, in (0, 1); measured.",
        ),
        Option(
            "random_state",
            int,
            "Deals queries, folds and what is tried; a release draws anew. Default: 0.",
        ),
    ),
    *under(
        "The best of them",
        Option(
            "target_disclosure", float, "Pick the most useful release with at most this disclosure."
        ),
        Option("target_k", int, "Pick among releases whose smallest group has this many records."),
        Option(
            "target_utility",
            float,
            "Pick the release with the least disclosure and at least this utility.",
        ),
    ),
    *under(
        "Files to write",
        Option("picture", str, "Write the picture to this SVG file."),
        Option("csv", str, "Write every setting and its figures to this CSV file."),
        Option("out", str, "Write the picked release to this folder."),
        FORCE,
    ),
    Option("file", str, "The table, in place of the argument FILE (for TOML files)."),
    SHEET,
    Option("json", bool, "Print the points as JSON."),
)
AXES = ("utility", "disclosure", "max_inference", "random_state")
_SHARED = {option.name for option in OWN}
METHOD = tuple(o for o in methods.OPTIONS if o.name not in _SHARED)
OPTIONS = (*SCHEMA, *OWN, *METHOD)


@command(OPTIONS, source=TABLE)
def frontier(source: str | None = None, config: ConfigFile = None, **given: Any) -> None:
    """Try many settings and show what each gives away and keeps.

    With a --target the best release is picked; --out writes it.
    """
    options = merged(given, config, OPTIONS, TABLES)
    path = source or options.get("file")
    if not path:
        raise ParameterError(
            "no FILE given", hint="hedgerow frontier people.csv --quasi ... --sensitive ..."
        )
    path = sheet_of(path, options)
    targets = {
        n: options[n] for n in ("target_disclosure", "target_k", "target_utility") if n in options
    }
    inputs, force = (path, config), bool(options.get("force"))
    if options.get("out"):
        if not targets:
            raise ParameterError("--out needs a --target to pick a release by")
        from ..release.write import check_target

        check_target(Path(options["out"]), force, inputs=inputs)
    if options.get("picture"):
        new_file(options["picture"], mark=PICTURE, inputs=inputs, endings=(".svg",))
    if options.get("csv"):
        new_file(options["csv"], mark=POINTS, inputs=inputs, endings=(".csv",))
    each_apart(**{name: options.get(name) for name in ("picture", "csv", "out")})
    schema = schema_of(options, config)
    axes: dict[str, Any] = {n: options[n] for n in AXES if n in options}
    axes |= {n: _numbers(options[n], n) for n in ("k", "max_disclosure") if n in options}
    axes["settings"] = {n: _numbers(options[n], n) for n in VARIED if n in options}
    chosen = {name: _make(name, options) for name in dict.fromkeys(options.get("method", ["mart"]))}
    from ..workflow.session import Session

    with working("reading"):
        session = Session(path, schema=schema)
    with working("trying settings") as progress:
        found = session.frontier(chosen, schema=schema, progress=progress, **axes)
    for text in session.cautions:
        warn(text)
    best = found.best(**targets) if targets else None
    if best is not None and options.get("out"):
        with working("writing and verifying") as progress:
            session.take(best)
            session.protect(progress=progress)
            session.write(options["out"], force=force, progress=progress)
    if options.get("picture"):
        found.save_picture(options["picture"])
    if options.get("csv"):
        found.save_csv(options["csv"])
    if options.get("json"):
        as_json(found.to_dict() | {"best": asdict(best) if best is not None else None})
        return
    say(str(found))
    if best is not None:
        settings = " ".join(methods.words(found.method(best)))
        say()
        say(
            f"best: --method {settings} (disclosure {figure(best.disclosure)}, utility "
            f"{figure(best.utility)})"
        )
    if best is not None and options.get("out"):
        say(f"written    {options['out']}")


def _numbers(texts: list[str], name: str) -> list[float]:
    """Whole numbers as such, so that they suit whatever counts."""
    try:
        return [int(text) if text.isdigit() else float(text) for text in texts]
    except ValueError:
        flag = name.replace("_", "-")
        raise ParameterError(f"--{flag} reads numbers joined by commas") from None


def _make(name: str, options: dict[str, Any]) -> Any:
    """A method with those of the given options that it has; what is varied is set later."""
    plain = methods.make(name, {})
    own = plain.get_params()
    return methods.make(
        name, {o.name: options[o.name] for o in METHOD if o.name in options and o.name in own}
    )
