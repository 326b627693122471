"""What was posted, as choices; and what is wrong with it, by the names of its controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from ..errors import ParameterError
from ..schema import KINDS
from ..session.methods import METHODS, OPTIONS
from ..session.options import Option, split
from .desk import Choices

MOST = 1_000_000
"""Bytes of a form."""
NO_CAP = 1.0
"""A group that may tell all; a command line can say this, and not "none"."""
ROLES = {
    "quasi": "others may know it",
    "sensitive": "must not be inferred",
    "identifier": "names a person: left out",
    "other": "harmless: released as it is",
    "undeclared": "left out",
}
"""Roles, and what they mean, as the first step offers them."""
UTILITIES = {
    "certainty": "how certain the cells stay",
    "queries": "how right counts stay",
    "learning": "what models still learn (slow)",
}


def fields(body: bytes) -> dict[str, str]:
    """A posted form."""
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def roles(form: Mapping[str, str], before: Choices) -> Choices:
    """The first step: a role and a kind a column, by its place in the table."""
    names = list(before.roles)
    made = {n: form.get(f"role-{i}", before.roles[n]) for i, n in enumerate(names)}
    kinds = {n: form[f"kind-{i}"] for i, n in enumerate(names) if form.get(f"kind-{i}") in KINDS}
    if odd := [name for name, role in made.items() if role not in ROLES]:
        raise ParameterError(f"{', '.join(odd)}: not a role")
    people = {n: form.get(n, getattr(before, n)) for n in ("unit", "household", "weight")}
    for part, fits in (("unit", ("identifier",)), ("household", ("identifier",)),
                       ("weight", ("other", "undeclared"))):  # fmt: skip
        # a column that got another role is no longer what it was guessed to be
        if people[part] in made and made[people[part]] not in fits:
            people[part] = ""
    grid = {n: points for n, points in before.grid.items() if made[n] == "quasi"}
    return replace(before, roles=made, kinds=kinds, grid=grid, **people)


def settings(form: Mapping[str, str], before: Choices) -> Choices:
    """The third step: method, its options, public cut points, what use means."""
    method = form.get("method", before.method)
    if method not in METHODS:
        raise ParameterError("there is no such method")
    options = {
        option.name: value
        for option in OPTIONS
        if (value := _option(option, form)) is not None
    }
    if method != before.method:  # what both have is kept: k, the cap
        options = {n: v for n, v in options.items() if n in ("k", "max_disclosure", "l")}
    utility = form.get("utility", before.utility)
    if utility not in UTILITIES:
        raise ParameterError("there is no such meaning of use")
    grid = {}
    for i, name in enumerate(before.roles):
        text = form.get(f"grid-{i}", "").strip()
        if text:
            grid[name] = _points(name, text)
    return replace(before, method=method, options=options, utility=utility, grid=grid)


def _option(option: Option, form: Mapping[str, str]) -> Any:
    """One option of a method; None where nothing was said."""
    text = form.get(f"option-{option.name}", "").strip()
    if option.name == "max_disclosure" and form.get("uncapped"):
        return NO_CAP
    if not text:
        return None
    try:
        if option.type is bool:
            return text == "yes"
        if option.type is list:
            return split(text)
        made = option.type(text)
    except ValueError:
        kind = {int: "a whole number", float: "a number"}[option.type]
        raise ParameterError(f"{words(option.name)} must be {kind}") from None
    return made


def _points(name: str, text: str) -> list[float]:
    try:
        made = [float(part) for part in text.replace(";", ",").split(",")]
    except ValueError:
        made = []
    if len(made) != 3:
        raise ParameterError(
            f"the cut points of {name} are not three numbers",
            hint="first, last and step, such as 20, 85, 5",
        )
    return [int(v) if v.is_integer() else v for v in made]


def words(name: str) -> str:
    """An option's name for a reader."""
    return {"k": "the smallest group", "max_disclosure": "the cap"}.get(name, name.replace("_", " "))


def take(parameters: Mapping[str, Any], before: Choices) -> Choices:
    """The settings of a point."""
    given = {n: v for n, v in parameters.items() if v is not None}
    return replace(before, options={**before.options, **given})


def leave_out(name: str, before: Choices) -> Choices:
    """A column that is released no more."""
    return replace(before, roles={**before.roles, name: "undeclared"})
