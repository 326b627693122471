"""Render the five steps as pages, from templates and the data for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..auditing.frontier_data import FrontierData
from ..display import sparkline
from ..errors import HedgerowError
from ..files import SUFFIXES
from ..methods.private import depth_of, meaning
from ..notation import figure, percent
from ..profiles import Profile, ProfileData
from ..report.standards import STANDARD_HEADS, criterion_rows, ground, standard_verdict
from ..report.svg import bars, choices
from ..report.tables import stacked, templates
from ..schema import KINDS
from ..workflow.advice import advise, listed, setting
from ..workflow.methods import OPTIONS
from . import WORDS, forms
from .state import PEOPLE, STEPS, Proposed, Public, StudioState
from .worker_client import in_sentences, with_controls

# options that stand before the others
MAIN = ("k", "max_disclosure", "l", "epsilon", "records")
# values of epsilon whose meaning is shown
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
# the beginnings of the names of files that the recipient gets
PUBLIC = ("release.", "sensitive.", "RECIPIENT.md", "MASKING.md", "model.json", "public.json")
_MOST_FILES = 40
_BARS = WORDS["bars"]


@cache
def environment() -> Any:
    """Return the template environment, including the report's partial pages."""
    import jinja2

    environment = templates(jinja2.PackageLoader("hedgerow.studio", "templates"))
    environment.filters.update(percent=partial(percent, digits=0), figure=partial(figure, digits=2), setting=setting)
    environment.filters.update(listed=listed, sentences=in_sentences, sparkline=sparkline, controls=with_controls)
    environment.globals |= {"words": WORDS, "kinds": KINDS, "people": PEOPLE, "judged": _judged}
    environment.globals["option_words"], environment.filters["flags"] = forms.words, str  # the page names no flags
    return environment


_HERE = Path(__file__).parent
# the style sheets and scripts of the pages
ASSETS = {"report.css": _HERE.parent / "report" / "style.css"}
ASSETS |= {path.name: path for path in (_HERE / "assets").iterdir()}


# what every page can say of the state, and of its results: None for what is not there
_OF_STATE = (
    "job", "free", "version", "turn", "choices", "ready", "private", "sensitive", "missing", "encoding", "refused",
    "reason", "is_sampled", "draws",
)  # fmt: skip
_OF_RESULTS = (
    "open", "rules", "today", "methods", "reasons", "sample", "frontier", "shares", "measure", "regression", "write",
    "script",
)  # fmt: skip


def page(state: StudioState, step: str, notice: str | None = None) -> str:
    """Return the page of one step as HTML, with what its window is told."""
    results, at = state.results, STEPS.index(step)
    context: dict[str, object] = {
        **{name: getattr(state, name) for name in _OF_STATE},
        **{name: results.get(name) for name in _OF_RESULTS},
        "step": step,
        "notice": notice,
        "steps": [(name, i, text) for i, (name, text) in enumerate(_progress(state).items(), 1)],
        "after": STEPS[min(at + 1, len(STEPS) - 1)],
        "before": STEPS[max(at - 1, 0)],
        "undo": state.can_undo,
        "failed": results.get("failed", {}).get(step),
        "cautions": results.get("cautions", []),
        "names": [*state.choices.roles, Path(state.refused or "").name],
        "identifiers": [n for n, role in state.choices.roles.items() if role == "identifier"],
    }
    if step in _OF_STEP:
        context |= _OF_STEP[step](state)
    return stacked(environment().get_template(f"{step}.html").render(context))


def refusal(title: str, text: str) -> str:
    """Return a page that explains why a request was refused."""
    return str(environment().get_template("refused.html").render(title=title, text=text))


def _progress(state: StudioState) -> dict[str, str]:
    """Return the status text below the name of each step."""
    results = state.results
    opened, today = results.get("open"), results.get("today")
    return {
        "table": f"{opened['rows']:,} records" if opened else "choose one",
        "risk": f"{percent(today['classes']['unique_share'], 0)} unique" if today else "not measured",
        "protect": state.choices.method,
        "compare": "before, after" if results.get("measure") else "not made",
        "release": "written" if "write" in results else "check, write",
    }


def _table(state: StudioState) -> dict[str, object]:
    """Return the table files in the current folder, which can be picked by name, for the first step's page."""
    nearby = sorted(p.name for p in Path.cwd().iterdir() if p.suffix in SUFFIXES and p.is_file())
    refused = state.refused or ""
    return {"nearby": nearby[:_MOST_FILES], "typed": "" if refused.startswith(str(state.folder)) else refused}


def _risk(state: StudioState) -> dict[str, object]:
    """Return the data for the second step's page: who can be found, what can be inferred, and advice."""
    today = state.results.get("today")
    drawing, sizes, most = "", "", None
    if today and today["attacks"]:
        # what the table betrays beyond what holds for everybody
        most = max(today["attacks"], key=lambda a: (a["success"] - a["control"], a["target"]))
        rows = [(a["target"], a["control"], a["success"], a["public_best"]) for a in today["attacks"]]
        texts = [_BARS["attack"].format(name, *(percent(x, 0) for x in (s, c, p))) for name, c, s, p in rows]
        drawing = bars(rows, _BARS["attacks"], f"{_BARS['named']}: {'; '.join(texts)}", most=1.0)
    if today:
        rows = [(_between(b), None, b["records"] / today["rows"], None) for b in today["classes"]["histogram"]]
        texts = [f"{name} {percent(share, 0)}" for name, _, share, _ in rows if share is not None]
        sizes = bars(rows, _BARS["sizes"], f"{_BARS['shares']}: {'; '.join(texts)}", most=1.0)
    return {"drawing": drawing, "sizes": sizes, "most": most, "advice": advise(today)}


def _between(one: Mapping[str, int]) -> str:
    return "alone" if one["to"] == 1 else f"{one['from']:,} to {one['to']:,} records"


def _protect(state: StudioState) -> dict[str, object]:
    """Return the data for the third step's page: the method's options and the settings tried so far."""
    results, chosen = state.results, state.choices
    methods = results.get("methods")
    if methods is None or "open" not in results:
        return {}
    frontier, method = results.get("frontier"), methods[chosen.method]
    at, impossible = state.chosen()
    defaults = method["defaults"]
    options = [o for o in OPTIONS if o.name in defaults]
    proposed = results.get("proposed") or {"columns": {}, "to_do": []}
    grid = [
        (i, c["column"], ", ".join(map(str, chosen.grid.get(c["column"], []))))
        for i, c in enumerate(results["open"]["columns"])
        if chosen.roles.get(c["column"]) == "quasi" and c["attacked_as"] == "number"
    ]
    settings = {**defaults, **chosen.options}
    k, cap, epsilon = settings.get("k"), settings.get("max_disclosure"), settings.get("epsilon") or 1.0
    points = frontier["points"] if frontier else []
    point = points[at] if at is not None else None
    # nobody is advised to go below the k that was asked for
    allowed: FrontierData | None = {"points": [p for p in points if (p["k"] or 0) >= (k or 0)]} if frontier else None
    return {
        "cap": cap if cap is not None and cap < forms.NO_CAP else None,
        "main": [o for o in options if o.name in MAIN and (o.name != "records" or chosen.unit not in ("", "none"))],
        "options": [o for o in options if o.name not in MAIN],
        "defaults": defaults,
        "grid": grid if "grid" in method["heeds"] else [],
        "picture": choices(points, state.title, at, k if isinstance(k, int) else None),
        "listed": _listed(points, state.title, at),
        "point": point,
        "impossible": impossible,
        "advice": advise(results.get("today"), allowed, point, results.get("shares")),
        "profiles": _profiles(),
        "standard": _standard(chosen.profile),
        "key_file": chosen.key or str(Path.cwd() / "hedgerow.key"),
        "guardable": method["guardable"],
        "public": [(i, *each) for i, each in enumerate(_public(proposed["columns"], chosen.public))],
        "to_do": proposed["to_do"],
        "epsilon": epsilon,
        # as the tree itself decides, from a noisy number of rows
        "leaves": 2 ** depth_of(results["open"]["rows"], Fraction(epsilon) / int(settings.get("records") or 1)),
        "meanings": [(e, meaning(e)) for e in sorted({*EPSILONS, epsilon})],
    }


def _public(proposed: Mapping[str, Proposed], confirmed: Public) -> Iterator[tuple[str, bool, str]]:
    """Yield each column whose bounds or categories must be public, whether it is a number, and the text for it."""
    for name, column in proposed.items():
        values = next(iter(confirmed[name].values())) if name in confirmed else column["values"]
        # 1.234 may mean 1234, and is refused where it is typed
        texts = [f"{v}0" if isinstance(v, float) and str(v)[-4:-3] == "." else str(v) for v in values]
        yield name, column["is_number"], (", " if column["is_number"] else "\n").join(texts)


@cache
def _profiles() -> list[Profile]:
    return [Profile.load(name) for name in Profile.names()]


def _standard(name: str) -> Any:
    """Return a standard for the page: its criteria with clause, threshold and source."""
    if not name:
        return None
    standard = {"name": name, "own": name.endswith(".toml"), "profile": None, "criteria": []}
    try:
        profile = Profile.load(name)
    except HedgerowError as error:  # its file was moved or changed since
        return standard | {"fault": in_sentences(error.message, error.hint)}
    criteria = [(c.asks, c.clause, c.threshold or "none named", ground(c.ours, c.read, c.threshold))
                for c in profile.criteria]  # fmt: skip
    return standard | {"profile": profile, "criteria": criteria}


def _judged(result: ProfileData | None) -> Any:
    """Return a standard's criteria with the values a release reached; None if no standard was chosen."""
    if not result:
        return None
    source = f"{result['source']}, {result['date']}. {result['note']}".rstrip()
    says, rows = standard_verdict(result), list(criterion_rows(result))
    return {"heads": STANDARD_HEADS, "says": says, "rows": rows, "source": source}


def _listed(points: Any, title: str, at: int | None) -> list[tuple[int, Any, bool]]:
    """Return the chosen method's points with their positions, the least disclosure first."""
    mine = [(i, p, i == at) for i, p in enumerate(points) if p["method"] == title]
    return sorted(mine, key=lambda row: (row[1]["disclosure"], -row[1]["utility"]))


def _release(state: StudioState) -> dict[str, object]:
    """Return the data for the fifth step's page: the written files, with those that may be published."""
    names = (state.results.get("write") or {"files": []})["files"]
    words = WORDS["files"] | (WORDS["private_files"] if state.private else {})
    public = (*PUBLIC, "plan.json") if state.private else PUBLIC
    files = [(name, words.get(name.split(".")[0], "made by the method"), name.startswith(public)) for name in names]
    return {"files": files, "folder": str(Path.cwd() / "release")}


_OF_STEP = {"table": _table, "risk": _risk, "protect": _protect, "release": _release}
