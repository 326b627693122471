"""The five steps as pages: which template, and what stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import HedgerowError
from ..files import SUFFIXES
from ..notation import figure, percent
from ..profiles import Profile
from ..report.choices import choices
from ..report.drawings import bars
from ..report.narrow import stacked
from ..report.standards import HEADS, ground, rows, verdict
from ..schema import KINDS
from ..workflow.advice import advise, listed, setting
from ..workflow.methods import OPTIONS
from . import forms
from .state import PEOPLE, STEPS, Desk
from .worker_client import in_sentences

TITLES = {
    "table": "Table",
    "risk": "Risk today",
    "protect": "Protect",
    "compare": "Compare",
    "release": "Release",
}
MAIN = ("k", "max_disclosure", "l")
"""Options that stand before the others."""
FIRST = ("hedge", "mart", "mondrian")
LABELS = {
    "hedge": "Hedge: guards people, keeps rules",
    "mart": "MART: truthful ranges",
    "mondrian": "Mondrian: what others compare with",
}
WHY = {
    "hedge": "Choose it when models are the point and the rule behind them is no secret.",
    "mart": "Choose it when ranges must be true row by row, or the rule itself is the secret.",
    "mondrian": "k-anonymity by recursive cuts. It heeds no cap unless its objective does.",
}
PUBLIC = ("release.", "sensitive.", "RECIPIENT.md", "MASKING.md", "model.json", "public.json", "trees.svg")
"""How the names of files begin that the recipient gets."""
_MOST_FILES = 40


@cache
def environment() -> Any:
    """The templates, with the report's own partial pages."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("hedgerow.studio", "templates"),
                jinja2.PrefixLoader({"report": jinja2.PackageLoader("hedgerow.report", ".")}),
            ]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"percent": partial(percent, digits=0), "figure": partial(figure, digits=2)}
    made.filters["listed"] = listed
    made.filters["sentences"] = in_sentences
    made.filters["setting"] = setting
    made.filters["digits"] = lambda value: "unknown" if value is None else f"{value:,.3g}"
    return made


@cache
def asset(name: str) -> tuple[bytes, str]:
    """A style or script that the package brings along."""
    room, kind = {
        "report.css": ("hedgerow.report", "text/css"),
        "studio.css": ("hedgerow.studio", "text/css"),
        "studio.js": ("hedgerow.studio", "text/javascript"),
    }[name]
    inside = "style.css" if name == "report.css" else f"assets/{name}"
    return resources.files(room).joinpath(inside).read_bytes(), kind


def page(desk: Desk, step: str) -> str:
    """One step as HTML."""
    known = desk.known
    context: dict[str, Any] = {
        "step": step,
        "steps": [(name, i + 1, TITLES[name], _state(desk, name)) for i, name in enumerate(STEPS)],
        "after": STEPS[min(STEPS.index(step) + 1, len(STEPS) - 1)],
        "before": STEPS[max(STEPS.index(step) - 1, 0)],
        "titles": TITLES,
        "job": desk.job,
        "free": desk.free,
        "version": desk.version,
        "turn": desk.turn,
        "undo": len(desk.past),
        "notice": desk.notice,
        "failed": known.get("failed", {}).get(step),
        "choices": desk.choices,
        "open": known.get("open"),
        "ready": desk.ready,
        "sensitive": desk.sensitive,
        "script": known.get("script"),
        "cautions": known.get("cautions", []),
        **_OF_STEP[step](desk),
    }
    return stacked(environment().get_template(f"{step}.html").render(context))


def refusal(title: str, text: str) -> str:
    """A page that says why something was not done."""
    made: str = environment().get_template("refused.html").render(title=title, text=text)
    return made


def _state(desk: Desk, step: str) -> str:
    """What stands below a step's name."""
    known = desk.known
    seen, today, at = known.get("open"), known.get("today"), known.get("measure")
    if step == "table":
        return f"{seen['rows']:,} records" if seen else "choose one"
    if step == "risk":
        return f"{percent(today['classes']['unique_share'], 0)} unique" if today else "not measured"
    if step == "protect":
        return desk.choices.method
    if step == "compare":
        return "before, after" if at else "not made"
    return "written" if "write" in known else "check, write"


def _table(desk: Desk) -> dict[str, Any]:
    seen = desk.known.get("open")
    here = Path.cwd()
    nearby = sorted(p.name for p in here.iterdir() if p.suffix in SUFFIXES and p.is_file())
    names = [] if seen is None else [c["column"] for c in seen["columns"]]
    return {
        "roles": forms.ROLES,
        "nearby": nearby[:_MOST_FILES],
        "people": PEOPLE,
        "missing": ", ".join(desk.missing),
        "encoding": desk.encoding,
        "refused": desk.refused,
        "identifiers": [n for n in names if desk.choices.roles.get(n) == "identifier"],
        "others": [n for n in names if desk.choices.roles.get(n) == "other"],
        "kinds": KINDS,
    }


def _risk(desk: Desk) -> dict[str, Any]:
    today = desk.known.get("today")
    drawing, sizes, most = "", "", None
    if today and today["attacks"]:
        most = max(today["attacks"], key=lambda a: (a["success"] - a["control"], a["target"]))
        rows = [(a["target"], a["control"], a["success"], a["public_best"]) for a in today["attacks"]]
        drawing = bars(
            rows,
            "grey: strangers, green: people of the table, line: public totals",
            "Named by a regression tree: "
            + "; ".join(f"{n} {percent(s, 0)} of the table's people, {percent(c, 0)} of strangers, "
                        f"{percent(p, 0)} by public totals" for n, c, s, p in rows),
            most=1.0,
        )  # fmt: skip
    if today:
        rows = [
            (_between(b), None, b["records"] / today["rows"], None)
            for b in today["classes"]["histogram"]
        ]
        sizes = bars(
            rows,
            "share of the records by how many share their quasi-identifiers",
            "Share of the records by group size: "
            + "; ".join(f"{name} {percent(share, 0)}" for name, _, share, _ in rows if share is not None),
            most=1.0,
        )
    return {"today": today, "drawing": drawing, "sizes": sizes, "most": most, "advice": advise(today)}


def _between(one: Mapping[str, Any]) -> str:
    lo, hi = one["from"], one["to"]
    return "alone" if hi == 1 else f"{lo:,} to {hi:,} records"


def _protect(desk: Desk) -> dict[str, Any]:
    methods = desk.known.get("methods")
    made = desk.choices
    if methods is None or "open" not in desk.known:
        return {"methods": None, "found": None, "advice": [], "options": []}
    found = desk.known.get("frontier")
    at, impossible = desk.chosen()
    own = methods[made.method]["defaults"]
    options = [o for o in OPTIONS if o.name in own]
    order = [*FIRST, *(name for name in methods if name not in FIRST)]
    grid = [
        (i, c["column"], ", ".join(map(str, made.grid.get(c["column"], []))))
        for i, c in enumerate(desk.known["open"]["columns"])
        if made.roles.get(c["column"]) == "quasi" and c["attacked_as"] == "number"
    ]
    k = made.options.get("k", own.get("k"))
    points = found["points"] if found else []
    chosen = points[at] if at is not None else None
    guess = desk.guess()
    cap = made.options.get("max_disclosure", own.get("max_disclosure"))
    return {
        "cap": cap if cap is not None and cap < forms.NO_CAP else None,
        "methods": [(name, LABELS.get(name, name)) for name in order],
        "why": WHY.get(made.method, methods[made.method]["why"]),
        "main": [o for o in options if o.name in MAIN],
        "options": [o for o in options if o.name not in MAIN],
        "defaults": own,
        "utilities": forms.UTILITIES,
        "words": forms.words,
        "grid": grid if "grid" in methods[made.method]["heeds"] else [],
        "found": found,
        "guess": guess,
        "picture": choices(
            points,
            desk.title,
            at,
            k if isinstance(k, int) else None,
            vars(guess) if guess is not None else None,
        ),
        "listed": _listed(points, desk.title, at),
        "point": chosen,
        "impossible": impossible,
        "advice": advise(desk.known.get("today"), found, chosen, desk.known.get("carried")),
        "carried": desk.known.get("carried"),
        "profiles": _profiles(),
        "standard": _asked(made.profile),
        "key_file": made.key or str(Path.cwd() / "hedgerow.key"),
        "identifiers": [n for n, role in made.roles.items() if role == "identifier"],
        "draws": methods[made.method]["draws"],
        "above": [
            (i, name, Path(made.hierarchies.get(name, "")).name)
            for i, (name, role) in enumerate(made.roles.items())
            if role == "quasi"
        ],
    }


@cache
def _profiles() -> list[Profile]:
    return [Profile.load(name) for name in Profile.names()]


def _asked(name: str) -> Any:
    """A standard for the page: what it asks, where, the threshold, and how that is known."""
    if not name:
        return None
    shown = {"name": name, "own": name.endswith(".toml"), "profile": None, "criteria": []}
    try:
        made = Profile.load(name)
    except HedgerowError as error:  # its file was moved or changed since
        return shown | {"fault": in_sentences(error.message, error.hint)}
    criteria = [(c.asks, c.clause, c.threshold or "none named", ground(vars(c) | {"threshold": c.threshold}))
                for c in made.criteria]  # fmt: skip
    return shown | {"profile": made, "criteria": criteria}


def _judged(found: Mapping[str, Any] | None) -> Any:
    """A standard beside what a release reached; None where none was chosen."""
    if not found:
        return None
    source = f"{found['source']}, {found['date']}. {found['note']}".rstrip()
    return {"heads": HEADS, "told": verdict(found), "rows": list(rows(found)), "source": source}


def _listed(points: Any, title: str, at: int | None) -> list[tuple[int, Any, bool]]:
    """The points as a table: those of the chosen method, least told first."""
    mine = [(i, p, i == at) for i, p in enumerate(points) if p["method"] == title]
    return sorted(mine, key=lambda row: (row[1]["disclosure"], -row[1]["utility"]))


def _compare(desk: Desk) -> dict[str, Any]:
    made = desk.known.get("measure")
    return {
        "made": made,
        "judged": _judged(made["standard"]) if made else None,
        "wanted": desk.known.get("wanted", {}),
        "found_person": desk.known.get("lookup"),
    }


def _release(desk: Desk) -> dict[str, Any]:
    written = desk.known.get("write")
    files = [] if written is None else [(n, _about(n), n.startswith(PUBLIC)) for n in written["files"]]
    return {
        "written": written,
        "files": files,
        "folder": str(Path.cwd() / "release"),
        "judged": _judged(written["standard"]) if written else None,
    }


def _about(name: str) -> str:
    """What a file of a release is for."""
    for begin, words in (
        ("release.", "the protected table"),
        ("sensitive.", "its second table"),
        ("RECIPIENT", "what its reader must know"),
        ("plan", "how it was made; private: it holds thresholds from the data"),
        ("audit", "the figures; private: for the auditor"),
        ("report", "the report; private: for you and the auditor"),
        ("evidence", "what an output checker needs; private: for the auditor"),
    ):
        if name.startswith(begin):
            return words
    return "made by the method"


_OF_STEP = {
    "table": _table,
    "risk": _risk,
    "protect": _protect,
    "compare": _compare,
    "release": _release,
}
