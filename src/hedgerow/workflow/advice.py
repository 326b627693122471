"""Advice from measured figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..auditing.frontier_data import FrontierData, PointData
from ..notation import figure, percent
from ..texts import text

_say = partial(text, "advice")

# a column is named if it carries at least this share of what a tree infers
CARRIES = 0.25
# leaving a column out gains little if it lowers the explained share by less than this
GAINS = 0.02
# a change is named if it removes at least this part of the disclosure
TAKES = 0.05
# no column is worth leaving out of groups that explain less than this: its shares are noise
LITTLE = 0.05
# shares that have a common name
PARTS = {0.1: "a tenth", 0.2: "a fifth", 0.25: "a quarter", 1 / 3: "a third"}
# a point is recommended for so much less disclosure, at no more than so much utility lost
STEP, LOSS = 0.05, 0.03


@dataclass(frozen=True)
class Advice:
    """One recommendation to the steward, with the figures behind it and the change that it proposes.

    Parameters
    ----------
    title : str
        The change that is recommended.
    why : str
        The figures behind the recommendation.
    leave_out : str, optional
        The column that would be left out.
    take : mapping, optional
        The parameters that would be chosen.
    grid : tuple, optional
        The column that would be coarsened, and first, last and step of its public cut points.
    """

    title: str
    why: str
    leave_out: str | None = None
    take: Mapping[str, object] | None = field(default=None)
    grid: tuple[str, Sequence[float]] | None = None


def advise(
    today: Mapping[str, Any] | None,
    frontier: FrontierData | None = None,
    chosen: PointData | None = None,
    shares: Mapping[str, Any] | None = None,
) -> list[Advice]:
    """Return recommendations: a better setting from the frontier, and columns to coarsen or leave out.

    Parameters
    ----------
    today : mapping, optional
        As `auditing.single_table.unprotected` returns it.
    frontier : mapping, optional
        As `Frontier.to_dict` has it.
    chosen : mapping, optional
        The chosen point among those of the frontier.
    shares : mapping, optional
        Each column's share of what the chosen release reveals, as `Shares.to_dict` has it; a column
        with a large share is named in place of those of the unprotected table.

    Examples
    --------
    >>> rows = [{"column": "job", "original": {"tree": 0.6, "without": 0.1}},
    ...         {"column": "age", "original": {"tree": 0.4, "without": 0.0}}]
    >>> advise({"influence": rows, "sensitive": ["income"]})[0].title
    'Coarsen job, or leave it out'
    """
    advice = list(_from_points(frontier, chosen)) if frontier is not None and chosen else []
    if shares is not None and shares["explained"] is not None and shares["explained"] < LITTLE:
        return advice
    if shares is not None and shares["columns"] and (shares["columns"][0]["share"] or 0.0) >= TAKES:
        return [*advice, *_from_shares(shares)]
    return [*advice, *(_from_columns(today) if today is not None else ())]


def listed(names: Sequence[str]) -> str:
    """Return names joined as in a sentence, with "and" before the last one.

    Examples
    --------
    >>> listed(["income", "assets", "diagnosis"])
    'income, assets and diagnosis'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _from_columns(today: Mapping[str, Any]) -> Iterator[Advice]:
    rows = today.get("influence") or []
    if len(rows) < 2:  # the only column that is known cannot be left out
        return
    # equal ones by name: advice does not depend on the order of columns
    top = max(rows, key=lambda row: (row["original"]["tree"], row["column"]))
    name, shares = top["column"], top["original"]
    if shares["tree"] < CARRIES:
        return
    carries = _say("carries", name=name, share=percent(shares["tree"], 0), sensitive=listed(today["sensitive"]))
    why = _say("same" if shares["without"] < GAINS else "less", carries=carries, without=figure(shares["without"], 2))
    yield Advice(f"Coarsen {name}, or leave it out", why, leave_out=name)


def _from_shares(shares: Mapping[str, Any]) -> Iterator[Advice]:
    """Yield advice on the column whose removal lowers disclosure most, and on the best number to coarsen."""
    columns, today = shares["columns"], percent(shares["explained"], 0)

    def effect(share: float, explained: float) -> str:
        remains, sensitive = percent(max(explained, 0.0), 0), listed(shares["sensitive"])
        return _say("effect", part=_part(share), sensitive=sensitive, explained=remains, today=today)

    top = columns[0]
    name = top["column"]
    why = f"Without {name}, {effect(top['share'], top['explained'])}"
    yield Advice(f"Leave {name} out", why, leave_out=name)
    if coarse := [each for each in columns if (each["coarse_share"] or 0.0) >= TAKES]:
        best = max(coarse, key=lambda each: (each["coarse_share"], each["column"]))
        name, (first, last, step) = best["column"], best["grid"]
        why = _say("coarsen", first=first, last=last, effect=effect(best["coarse_share"], best["coarse_explained"]))
        yield Advice(f"Coarsen {name} to steps of {step:g}", why, grid=(name, best["grid"]))


def _part(share: float) -> str:
    """Return a share as words such as "a third" if one is within 0.02, else as a percentage."""
    near = min(PARTS, key=lambda part: abs(part - share))
    return PARTS[near] if abs(near - share) <= 0.02 else percent(share, 0)


def _from_points(frontier: FrontierData, chosen: PointData) -> Iterator[Advice]:
    d, u = chosen["disclosure"], chosen["utility"]
    others = [p for p in frontier["points"] if p["method"] == chosen["method"]]
    if chosen.get("collapsed"):
        yield Advice("Loosen the cap", _say("collapsed", utility=figure(u, 2), uncapped=figure(chosen["uncapped"], 2)))
    # a clear gain for next to no loss; what is better by a trace is no advice
    less = [p for p in others if p["disclosure"] <= d - STEP and p["utility"] >= u - LOSS]
    more = [p for p in others if p["disclosure"] <= d + 1e-3 and p["utility"] >= u + LOSS]
    if less:
        best = min(less, key=lambda p: (p["disclosure"], -p["utility"]))
        gain = best["utility"] - u
        how = f"keeps {figure(abs(gain), 2)} {'more' if gain > 0 else 'less'}"
        how = "keeps as much" if abs(gain) < 0.005 else how
        why = _say("falls", before=figure(d, 2), after=figure(best["disclosure"], 2), how=how)
    elif more:
        best = max(more, key=lambda p: (p["utility"], -p["disclosure"]))
        after, disclosure = figure(best["utility"], 2), figure(best["disclosure"], 2)
        why = _say("more", after=after, before=figure(u, 2), disclosure=disclosure)
    else:
        return
    if (best["parameters"].get("k") or 0) < (chosen["parameters"].get("k") or 0):
        why = f"{why} {_say('smaller', k=best['parameters']['k'], now=chosen['parameters']['k'])}"
    yield Advice(f"Take {setting(best['parameters'])}", why, take=best["parameters"])


def setting(parameters: Mapping[str, object]) -> str:
    """Return parameters as short text for the steward, such as "k 10, cap 0.5".

    Examples
    --------
    >>> setting({"k": 10, "max_disclosure": 0.5}), setting({"k": 20, "max_disclosure": 1.0})
    ('k 10, cap 0.5', 'k 20, no cap')
    """
    texts = []
    for name, value in parameters.items():
        if name == "max_disclosure":
            texts.append(f"cap {value:g}" if isinstance(value, (int, float)) and value < 1 else "no cap")
        elif value is not None:
            texts.append(f"{name} {value:g}" if isinstance(value, (int, float)) else f"{name} {value}")
    return ", ".join(texts)
