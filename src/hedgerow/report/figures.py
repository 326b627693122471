"""Figures of an audit as rows of text: name, original, release and meaning.

Terminal, page, notebook and studio show these rows. The unit of a figure decides how it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import facade
from ..auditing.attacks.composition import Composition, Remaining
from ..auditing.attacks.linking import Linkage
from ..auditing.attacks.special_uniques import SpecialUniquesData
from ..auditing.audit_data import AuditData, TableData
from ..auditing.figure import Definition
from ..auditing.inference import InferredColumn
from ..auditing.success import AttackData
from ..auditing.utility.models import Learning
from ..auditing.utility.queries import Estimates
from ..auditing.utility.units_kept import UnitsKept
from ..errors import singular
from ..json_types import Figures
from ..measures.masking_scores import ScoresData
from ..notation import figure, percent
from ..release.recipient import columns_in_words as columns_in_words
from ..release.recipient import kinds_in_words as kinds_in_words
from ..release.recipient import rule_in_words as rule_in_words
from ..release.unit_words import nouns as nouns
from ..release.unit_words import relation_in_words
from ..texts import read_toml, texts

# the function that writes a figure of each unit; people may be a mean, an estimate has five digits
UNITS: Mapping[str, Callable[[Any], str]] = {
    "number": figure,
    "share": percent,
    "per cent": lambda value: percent(value / 100),
    "people": lambda value: f"{value:,.1f}",
    "estimate": lambda value: f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}",
}


def written(value: Any, unit: str = "number") -> str:
    """Return a figure as text with its unit; "-" if it was not measured."""
    return "-" if value is None else UNITS[unit](value)


def at(side: Figures | None, *path: str) -> Any:
    """Return the figure at a path of keys; None if that side was not measured."""
    for key in path:
        side = None if side is None else side.get(key)
    return side


def counted(table: TableData) -> str:
    """Return what a row stands for, in words: people, or records if nobody said who a person is."""
    return table.get("counted", "people")


def is_larger(table: TableData) -> bool:
    """Return whether the release has more rows than the original."""
    return table["original_rows"] is not None and bool(table["rows"] > table["original_rows"])


class FigureRow(NamedTuple):
    """A figure as text: its name, its value in the original and in the release, and its meaning."""

    name: str
    original: str
    release: str
    says: str = ""


_TABLE = read_toml(__package__, "figures.toml")


def definitions(group: str, **words: str) -> list[Definition]:
    """Return a group of definitions from ``figures.toml``; `words` fill the placeholders."""
    rows = ([text.format(**words) for text in (name, *row)] for name, row in _TABLE[group].items())
    return [Definition(name, tuple(path.split(".")), *more) for name, path, *more in rows]


def figure_rows(
    definitions: Iterable[Definition], before: Figures | None, after: Figures, keep_missing: bool = False
) -> Iterator[FigureRow]:
    """Yield one row per figure; a figure that the release lacks has a row only if `keep_missing`."""
    for name, path, unit, says in definitions:
        value = at(after, *path)
        if value is not None or keep_missing:
            yield FigureRow(name, written(at(before, *path), unit), written(value, unit), says)


def further_rows(audit: AuditData) -> Iterator[FigureRow]:
    """Yield the measured numbers of figures that say how they are shown (`Figure.rows`)."""
    yield from figure_rows(facade.rows_of_figures(), None, audit)


def risk_rows(before: Figures | None, after: Figures, *models: str) -> Iterator[FigureRow]:
    """Yield the re-identification risks: by groups, by intruder (default: all), and in the population."""
    rows = definitions("classes")
    intruders = texts("intruders")
    for model in models or intruders:
        rows += definitions("intruder", model=model, knowledge=intruders[model])
    yield from figure_rows([*rows, *definitions("survey")], before, after)
    if not (uniqueness := after.get("uniqueness")):
        return
    says = f"of {uniqueness['population']:,.0f} people, a sample of {percent(uniqueness['fraction'])}"
    for name, value in uniqueness["models"].items():
        chosen = ", chosen" if name == uniqueness["chosen"] else ""
        failed = "" if value is not None else "; its equations have no solution here"
        row = Definition(f"  by the model {name}{chosen}", ("uniqueness", "models", name), "people", says + failed)
        yield from figure_rows([row], before, after, keep_missing=True)


_PAGE_ONLY = ("entropy_l", "recursive_c", "basic_beta", "enhanced_beta", "delta")


def disclosure_rows(before: Figures | None, after: Figures, audience: str = "terminal") -> Iterator[FigureRow]:
    """Yield the figures on what the groups reveal about one sensitive column.

    The terminal gets the deciding figures, the steward's page all, the recipient's none of the worst group.
    """
    caveat = "" if after["enhanced_beta_holds"] else " (does not hold for any beta)"
    rows = [
        *definitions("disclosure"),
        *(
            # a tolerance may hold a dot, which a path of figures.toml cannot
            Definition(
                f"best guess {guess['means']} (public {percent(guess['public'])})",
                ("matching", tolerance, "release"),
                "share",
            )
            for tolerance, guess in (after["matching"] or {}).items()
        ),
        *(definitions("originals") if "originals" in after else ()),
        *definitions("diversity", distance=after["t_distance"], caveat=caveat),
    ]
    # the worst group would tell an intruder where to look
    if audience == "recipient":
        rows = rows[:2]
    if audience == "terminal":
        rows = [row for row in rows if row.path[0] not in _PAGE_ONLY]
    yield from figure_rows(rows, before, after, keep_missing=True)


def special_rows(special: SpecialUniquesData | None) -> list[FigureRow]:
    """Return the figures of special uniques; empty if they were not searched for."""
    if not special:
        return []
    before, after = special["original"], special["release"]
    rows = [*figure_rows(definitions("special_uniques"), before, after)]
    for k, n in enumerate(after["by_size"], 1):
        name = singular(f"minimal uniques of {k} columns")
        rows.append(FigureRow(name, written(before and before["by_size"][k - 1]), written(n)))
    return rows


def score_rows(scores: ScoresData | None) -> list[tuple[str, str]]:
    """Return the scores of numeric columns as (name, text) pairs."""
    return [(row.name, row.release) for row in figure_rows(definitions("scores"), None, scores or {})]


# the headings of `three_numbers` (long and short) and of `together_rows`
_THREE, SHORT, TOGETHER = (texts("heads")[name] for name in ("three", "short", "together"))


def three_heads(table: TableData) -> list[str]:
    """Return the headings of `three_numbers`, which say by which values groups were measured if rows were drawn."""
    values = texts("values")["drawn" if table["paired"] else "hidden"] if table["planned_groups"] else ""
    return [head.format(values=values) for head in _THREE]


def three_numbers(audit: AuditData) -> list[tuple[str, str, str, str]]:
    """Return each sensitive column's name and its figures of `three_heads`, as text.

    Groups have figures where equal cells show them, or where rows were drawn inside those of a plan.
    """
    table, risk, rows = audit["table"], audit["risk"], []
    grouped = table["yardstick"] == "classes" or table["planned_groups"]
    for name, column in risk["release"]["sensitive"].items():
        by_groups = column["disclosure"]
        groups = f"{figure(by_groups['worst'])}, {figure(by_groups['mean_over_groups'])}" if grouped else "-"
        rows.append((name, groups, *_inferred(at(risk["inference"], "columns", name))))
    return rows


def _inferred(column: InferredColumn | None) -> tuple[str, str]:
    """Return two texts: what learners infer of a column, and the member advantage with its interval."""
    if column is None:
        return "not measured", "not measured"
    members, worst, strangers = (at(column, who, "explained") for who in ("members", "worst_tenth", "strangers"))
    # nobody was left out, so what members add to strangers is unknown
    advantage = column["advantage"]
    if strangers is None or advantage is None:
        return f"{figure(members)}, {figure(worst)}, not measured", "not measured"
    low, high = advantage["interval"]
    return (
        f"{figure(members)}, {figure(worst)}, {figure(strangers)}",
        f"{figure(advantage['explained'])} [{figure(low)}, {figure(high)}]",
    )


def together_rows(composition: Composition | None) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return, per sensitive column, the figures of `TOGETHER` for each release and for all together, as text."""
    return [
        (name, [_together_row(one) for one in (*column["alone"], column["together"])])
        for name, column in (composition["columns"] if composition else {}).items()
    ]


def _together_row(one: Remaining) -> tuple[str, ...]:
    disclosed = one["disclosure"]
    return (
        one.get("release", "all of them together"),
        figure(one["records"]),
        percent(one["fewer_than_k"]),
        figure(one["values"]),
        percent(one["certain"]),
        f"{figure(disclosed['worst'])}, {figure(disclosed['mean'])}" if disclosed else "-",
    )


def attack_rows(attacks: Sequence[AttackData]) -> list[dict[str, Any]]:
    """Return the attacks with the shares of people that each is right about as text; "-" if nobody was attacked."""
    nobody: Any = dict.fromkeys(("success", "interval", "control", "over_control", "over_control_interval"))
    attacks = [attack if attack["people"] else attack | nobody for attack in attacks]
    return [
        {
            **attack,
            "original": percent(attack["original"]),
            "release": percent(attack["success"]),
            "interval": interval(attack["interval"]),
            "control": percent(attack["control"]),
            "public": percent(blind_guess(attack)),
            "over_control": percent(attack["over_control"]) + (f" ({interval(ends)})" if ends else ""),
        }
        for attack in attacks
        for ends in [attack["over_control_interval"]]
    ]


def attack_names(attacks: Sequence[AttackData]) -> list[str]:
    """Return the names of the attacks that were tried, sorted, without their results."""
    return sorted({f"{attack['attack']} ({attack['learner']})" for attack in attacks})


def blind_guess(attack: AttackData) -> float:
    """Return the success of a blind guess: by public totals or by a random row, whichever is higher."""
    return float(max(attack["public_best"], attack["random_row"]))


def interval(ends: Sequence[float] | None, digits: int = 1) -> str:
    """Return an interval of shares as text; "-" if there is none."""
    return "-" if ends is None else " to ".join(percent(end, digits) for end in ends)


def linkage_rows(linkage: Linkage) -> list[tuple[str, ...]]:
    """Return a row per linkage: its learner, and the share linked in the original, in the release and at random.

    The share in the release has its interval, for it is that of some people.
    """
    rows = list[tuple[str, ...]]()
    for attack in linkage["attacks"]:
        before, after, by_chance = (percent(attack[key]) for key in ("original", "success", "public_best"))
        rows.append((attack["learner"], before, f"{after} ({interval(attack['interval'])})", by_chance))
    return rows


def estimate_rows(estimates: Estimates | None) -> list[FigureRow]:
    """Return rows with the weighted estimates before and after protection."""
    if not estimates:
        return []
    both = estimates["people"]
    rows = [FigureRow("people (summed weights)", f"{both['original']:,.0f}", f"{both['release']:,.0f}")]
    for name, column in estimates["columns"].items():
        if column["kind"] == "categories":
            rows.append(FigureRow(f"{name}, largest change of a share", "-", percent(column["largest_change"])))
            continue
        # a total of codes says nothing
        for key in () if column.get("codes") else ("total", "mean"):
            one, two = (written(column[key][side], "estimate") for side in ("original", "release"))
            rows.append(FigureRow(f"{name}, {key}", one, two))
    for name, error in estimates["group_by"]["by"].items():
        rows.append(FigureRow(f"mean {name}, relative error", "-", percent(error)))
    return rows


def unit_rows(units: UnitsKept | None, most: int = 4) -> list[FigureRow]:
    """Return the rows of a unit in both tables, and the relations between those that are at most so many apart."""
    if units is None:
        return []
    rows = list(figure_rows(definitions("units", **nouns(units["order"])), units["original"], units["release"]))
    for each in units["relations"]:
        name, *sides = relation_in_words(each, units["order"])
        rows += [FigureRow(f"{each['column']}: {name}", *sides)] * (each["apart"] <= most)
    return rows


def learning_rows(learning: Sequence[Learning]) -> list[tuple[str, ...]]:
    """Return a row per error measure of a learner: target, learner, measure, release, original, constant guess."""
    return [
        (
            row["target"],
            row["estimator"],
            texts("learning")[key],
            *(figure(row[side][key]) for side in ("release", "original", "constant")),
        )
        for row in learning
        for key in row["release"]
        # of the true values that are 0, where a percentage error is undefined: no error itself
        if key != "zero_share"
    ]
