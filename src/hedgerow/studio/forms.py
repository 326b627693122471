"""What was posted, as choices; and what is wrong with it, by the names of its controls."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..errors import ParameterError
from ..hierarchy import Hierarchy
from ..key import Key
from ..profiles import Profile
from ..schema import KINDS
from ..workflow.methods import METHODS, OPTIONS
from ..workflow.options import Option, split
from .state import Choices

MOST = 1_000_000
"""Bytes of a form, and of a standard's file."""
MOST_OF_HIERARCHY = 20_000_000
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


def path(text: str) -> Path:
    """What was entered as a path; the home of somebody unknown is a name like others."""
    return Path(os.path.expanduser(text))


def split_words(text: str) -> list[str]:
    """Words between commas, each once."""
    return list(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))


def _file(text: str, most: int) -> Path:
    """The path of a file that ends, and soon: the studio reads it while its pages wait.

    One that is missing is told by whoever reads it, or made.
    """
    made = path(text).absolute()
    try:
        size = os.stat(made).st_size
    except FileNotFoundError:
        return made
    except (OSError, ValueError) as fault:
        told = getattr(fault, "strerror", None) or "that is no name of a file"
        raise ParameterError(f"cannot read what was entered: {told}") from None
    if not made.is_file():
        raise ParameterError(f"{made} is a folder or a device, and no file")
    if size > most:
        raise ParameterError(
            f"{made.name} has {size:,} bytes, and {most:,} at most are read here",
            hint="give another file",
        )
    return made


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
    above = {n: file for n, file in before.hierarchies.items() if made[n] == "quasi"}
    return replace(before, roles=made, kinds=kinds, grid=grid, hierarchies=above, **people)


def settings(form: Mapping[str, str], before: Choices, usual: Mapping[str, Any]) -> Choices:
    """The third step: method, its options, public cut points, further promises, what use means.

    `usual` are the options of the method where nothing is said.
    """
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
    profile, own = form.get("profile", before.profile), form.get("own-profile", "").strip()
    if own and profile in ("", before.profile):  # else another one was just picked from the list
        # absolute, so that the command and the code find it from everywhere
        profile = str(_file(own, MOST)) if own.endswith(".toml") else own
    made = replace(before, method=method, options=options, utility=utility, grid=grid)
    made = replace(made, max_inference=_inferred(form, before), profile=profile)
    return _kept(made, before, usual)


def _inferred(form: Mapping[str, str], before: Choices) -> float | None:
    """What learners may infer at most; None where nothing was said."""
    text = form.get("max_inference")
    if text is None:
        return before.max_inference
    try:
        most = float(text) if text.strip() else None
    except ValueError:
        most = 0.0
    if most is not None and not 0 < most < 1:
        raise ParameterError("what learners may infer at most must be a number between 0 and 1")
    return most


def _kept(made: Choices, before: Choices, usual: Mapping[str, Any]) -> Choices:
    """A standard that is chosen raises k to what it takes; a smaller k is refused afterwards."""
    profile = Profile.load(made.profile) if made.profile else None
    k = made.options.get("k", usual.get("k"))
    if profile is None or not isinstance(k, int) or k >= profile.k:
        return made
    if made.profile == before.profile and made.method == before.method:
        raise ParameterError(
            f"{profile.title} takes groups of {profile.k} at least, and {k} was chosen",
            hint="choose no standard, or another one, to go below",
        )
    return replace(made, options={**made.options, "k": profile.k})


def secret(form: Mapping[str, str], before: Choices) -> Choices:
    """The file of the key, which is made where there is none; and what it is used for."""
    if form.get("without"):
        return replace(before, key="", pseudonyms=False)
    text = form.get("key", "").strip()
    if not text:
        raise ParameterError("no key file is named", hint="say where it is, or where to make it")
    file = _file(text, MOST)
    Key.file(file)
    return replace(before, key=str(file), pseudonyms=bool(form.get("pseudonyms")))


def hierarchies(form: Mapping[str, str], before: Choices, folder: Path) -> Choices:
    """Files of hierarchies, by the place of their column in the table; copied to a private folder."""
    made = dict(before.hierarchies)
    for i, name in enumerate(before.roles):
        text = form.get(f"hierarchy-{i}", "").strip()
        if form.get("drop") == str(i):
            made.pop(name, None)
        elif text:
            file = _file(text, MOST_OF_HIERARCHY)
            check_hierarchy(file)
            made[name] = str(shutil.copyfile(file, fresh(folder) / file.name))
    return replace(before, hierarchies=made)


def fresh(folder: Path) -> Path:
    """A place for one hierarchy: a file that was mended or replaced is another choice than before."""
    return Path(tempfile.mkdtemp(prefix="hierarchy-", dir=folder))


def check_hierarchy(file: Path) -> None:
    """What is wrong with the file of a hierarchy is told."""
    if Hierarchy.from_csv(file).n_levels < 2:
        raise ParameterError(
            f"the hierarchy {file.name} has one level, so nothing stands above a value",
            hint="one line a value, from the value to the top, joined by semicolons: value;group;*",
        )


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
    if name not in before.roles:
        raise ParameterError("there is no such column")
    return replace(before, roles={**before.roles, name: "undeclared"})
