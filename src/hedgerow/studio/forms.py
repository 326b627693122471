"""Turn posted forms into choices; errors name the controls of the page."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..errors import ParameterError
from ..hierarchy import Hierarchy
from ..key import Key
from ..methods.private import LEAST
from ..methods.private import MOST as MOST_EPSILON
from ..profiles import Profile
from ..schema import KINDS, Schema
from ..workflow.methods import METHODS, OPTIONS
from ..workflow.options import Option, bound, number, split
from . import WORDS
from .state import Choices, Proposed, Public

# bytes of a form, and of a standard's file
MOST = 1_000_000
MOST_OF_HIERARCHY = 20_000_000
# a group that may tell all; a command line can say this, and not "none"
NO_CAP = 1.0
# what is meant of every method that has it
LASTING = ("k", "max_disclosure", "l")
# what a page that is typed into must not take; the methods know more
LIMITS = {"k": (1, 1e18), "max_disclosure": (0, 1), "epsilon": (LEAST, MOST_EPSILON), "records": (1, 1e18)}


def fields(body: bytes) -> dict[str, str]:
    """Return the fields of a posted form by name."""
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def path(text: str) -> Path:
    """Return a text as a path; the `~` of an unknown user is left unchanged."""
    return Path(os.path.expanduser(text))


def _file(text: str, most: int) -> Path:
    """Return the path of a regular file of limited size, since pages wait while the studio reads it.

    A missing file is no error here: its reader reports it or creates it.
    """
    file = path(text).absolute()
    try:
        size = os.stat(file).st_size
    except FileNotFoundError:
        return file
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or "that is no name of a file"
        raise ParameterError(f"cannot read what was entered: {reason}") from None
    if not file.is_file():
        raise ParameterError(f"{file} is a folder or a device, and no file")
    if size > most:
        raise ParameterError(f"{file.name} has {size:,} bytes, and {most:,} at most are read here: give another file")
    return file


def roles(form: Mapping[str, str], before: Choices) -> Choices:
    """Return the choices with each column's role and kind, from the form of the first step."""
    names = list(before.roles)
    roles = {n: form.get(f"role-{i}", before.roles[n]) for i, n in enumerate(names)}
    # by one button; a role that was given meanwhile stays
    rest = [n for i, n in enumerate(names) if roles[n] == "other" and str(i) in form.get("rest", "").split()]
    roles |= dict.fromkeys(rest, "undeclared")
    kinds = {n: form[f"kind-{i}"] for i, n in enumerate(names) if form.get(f"kind-{i}") in KINDS}
    if unknown := [name for name, role in roles.items() if role not in WORDS["roles"]]:
        raise ParameterError(f"{', '.join(unknown)}: not a role")
    people = {n: form.get(n, getattr(before, n)) for n in ("unit", "household", "weight")}
    for part, column in people.items():
        # a column that got another role is no longer what it was guessed to be
        fitting = ("other", "undeclared") if part == "weight" else ("identifier",)
        if column in roles and roles[column] not in fitting:
            people[part] = ""
    people["rows"] = form.get("rows", before.rows)
    whose = people["household" if people["rows"].startswith("member") else "unit"]
    if whose in ("", "none"):
        people["rows"] = ""
    grid = {n: points for n, points in before.grid.items() if roles[n] == "quasi"}
    files = {n: file for n, file in before.hierarchies.items() if roles[n] == "quasi"}
    wanted = {n: form.get(f"follows-{i}", before.follows.get(n, "")) for i, n in enumerate(names)}
    follows = {n: leader for n, leader in wanted.items() if roles[n] == roles.get(leader) in ("quasi", "sensitive")}
    values = {n: form.get(f"rare-{i}", before.rare.get(n, "")).strip() for i, n in enumerate(names)}
    rare = {n: value for n, value in values.items() if value and roles[n] in ("quasi", "sensitive")}
    measured = {role: [n for n in names if roles[n] == role] for role in ("quasi", "sensitive")}
    Schema.from_mapping({**measured, "follows": follows})  # no column follows itself, over others either
    after = replace(
        before, roles=roles, kinds=kinds, grid=grid, hierarchies=files, follows=follows, rare=rare, **people
    )
    # what was confirmed was said of other columns; what was corrected of a column of the same kind stays to confirm
    public = {n: each for n, each in before.public.items() if kinds.get(n) == before.kinds.get(n)}
    return after if after.table == before.table else replace(after, public=public, confirmed=False)


def rules(form: Mapping[str, str], before: Choices, proposed: Sequence[Mapping[str, Any]]) -> Choices:
    """Return the choices with the found rules that are switched on, and with further conditions, one a line.

    A found condition that records of the table break is tolerated; further ones must hold in every record.
    """
    on = [rule for i, rule in enumerate(proposed) if form.get(f"rule-{i}")]
    conditions, determines = [rule for rule in on if rule["sql"]], dict[str, list[str]]()
    for name, other in (rule["determines"] for rule in on if rule["determines"]):
        determines.setdefault(name, []).append(other)
    lines = filter(None, map(str.strip, form.get("conditions", "").splitlines()))
    chosen = {
        "rules": [*(rule["sql"] for rule in conditions if not rule["broken"]), *lines],
        "tolerated": [rule["sql"] for rule in conditions if rule["broken"]],
        "determines": determines,
    }
    return replace(before, rules={part: each for part, each in chosen.items() if each})


def settings(
    form: Mapping[str, str], before: Choices, defaults: Mapping[str, object], proposed: Mapping[str, Proposed]
) -> Choices:
    """Return the choices with method, options, cut points, standard and utility, from the third step.

    `defaults` holds the default values of the method's options, `proposed` what was proposed as public.
    """
    method = _listed(form, before, "method", METHODS, "method")
    values = {row.name: _option(row, form) for row in OPTIONS}
    options = {name: value for name, value in values.items() if value is not None}
    if beyond := [n for n, (least, most) in LIMITS.items() if not least <= options.get(n, least) <= most]:
        raise ParameterError(WORDS["numbers"][beyond[0]])
    texts = {name: form.get(f"grid-{i}", "").strip() for i, name in enumerate(before.roles)}
    profile, typed = form.get("profile", before.profile), form.get("own-profile", "").strip()
    if typed and profile in ("", before.profile):  # else another one was just picked from the list
        # absolute, so that the command and the code find it from everywhere
        profile = str(_file(typed, MOST)) if typed.endswith(".toml") else typed
    choices = replace(
        before,
        options=options,
        utility=_listed(form, before, "utility", WORDS["utilities"], "meaning of use"),
        grid={name: _points(name, text) for name, text in texts.items() if text},
        guard=_listed(form, before, "guard", WORDS["guards"], "way to hide exact values"),
        cap_on=_listed(form, before, "cap_on", WORDS["caps"], "thing that a cap is on"),
        guard_people=_number(form, "guard_people", int, before.guard_people, lambda least: least >= 2),
        max_inference=_number(form, "max_inference", float, before.max_inference, lambda most: 0 < most < 1),
        profile=profile,
    )
    if method != before.method:
        choices = another(method, choices, defaults)
    elif "public-0" in form:
        choices = replace(choices, public=_public(form, proposed), confirmed=bool(form.get("confirmed")))
    return _with_k_of_profile(choices, before, defaults)


def _listed(form: Mapping[str, str], before: Choices, name: str, listed: Collection[str], what: str) -> str:
    """Return a choice of the form, by default the one before; raise ParameterError if it is not listed."""
    choice = form.get(name, getattr(before, name))
    if choice not in listed:
        raise ParameterError(f"there is no such {what}")
    return choice


def another(method: str, before: Choices, defaults: Mapping[str, object]) -> Choices:
    """Return the choices with another method: its own settings come back, and k and cap are those said last."""
    earlier = {name: each for name, each in before.earlier.items() if name != before.method}
    earlier[before.method] = {"options": dict(before.options), "guard": before.guard}
    saved = earlier.get(method, {"options": {}, "guard": "auto"})  # the usual guard, for a method may have no groups
    last = {n: v for each in earlier.values() for n, v in each["options"].items() if n in LASTING and n in defaults}
    return replace(before, method=method, options={**saved["options"], **last}, guard=saved["guard"], earlier=earlier)


def _public(form: Mapping[str, str], proposed: Mapping[str, Proposed]) -> Public:
    """Return what the form says is public of each column: two bounds, or categories, one a line."""
    public: dict[str, dict[str, list[Any]]] = {}
    for i, (name, what) in enumerate(proposed.items()):
        text = form.get(f"public-{i}", "").strip()
        lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        ends = [bound(name, end) for end in text.split(",")] if what["is_number"] else []
        public[name] = {"bounds": ends} if ends else {"categories": lines}
        if not text and form.get("confirmed"):
            raise ParameterError(f"nothing is said of {name}", hint=WORDS["public"]["empty"])
        Schema.from_mapping({part: {name: values} for part, values in public[name].items() if text})
    return public


def _number(form: Mapping[str, str], name: str, kind: type, before: Any, fits: Callable[[Any], bool]) -> Any:
    """Return a number of the form: None if its field is empty, `before` if the form has no such field."""
    if (text := form.get(name)) is None:
        return before
    with suppress(ValueError):
        value = kind(text) if text.strip() else None
        if value is None or fits(value):
            return value
    raise ParameterError(WORDS["numbers"][name])


def _with_k_of_profile(choices: Choices, before: Choices, defaults: Mapping[str, object]) -> Choices:
    """Raise k to the minimum of a newly chosen standard; later, refuse a smaller k."""
    profile = Profile.load(choices.profile) if choices.profile else None
    k = choices.options.get("k", defaults.get("k"))
    if profile is None or not isinstance(k, int) or k >= profile.k:
        return choices
    # who lowers k below a standard that stays chosen is told, and not overruled
    if choices.profile == before.profile and choices.method == before.method:
        fault = f"{profile.title} takes groups of {profile.k} at least, and {k} was chosen"
        raise ParameterError(fault, hint=WORDS["numbers"]["below"])
    return replace(choices, options={**choices.options, "k": profile.k})


def secret(form: Mapping[str, str], before: Choices) -> Choices:
    """Return the choices with the named key file, which is created if it does not exist."""
    if form.get("without"):
        return replace(before, key="", pseudonyms=False)
    if not (text := form.get("key", "").strip()):
        raise ParameterError("no key file is named", hint="say where it is, or where to make it")
    file = _file(text, MOST)
    # created where there is none; one that is too short is refused now
    Key.file(file)
    return replace(before, key=str(file), pseudonyms=bool(form.get("pseudonyms")))


def hierarchies(form: Mapping[str, str], before: Choices, folder: Path) -> Choices:
    """Return the choices with hierarchy files for their columns, copied to `folder`."""
    files = dict(before.hierarchies)
    for i, name in enumerate(before.roles):
        text = form.get(f"hierarchy-{i}", "").strip()
        if form.get("drop") == str(i):
            files.pop(name, None)
        elif text:
            file = _file(text, MOST_OF_HIERARCHY)
            check_hierarchy(file)
            # the steward's own file may change while releases are made from it
            files[name] = str(shutil.copyfile(file, fresh(folder) / file.name))
    return replace(before, hierarchies=files)


def fresh(folder: Path, prefix: str = "hierarchy-") -> Path:
    """Return a new folder for one hierarchy or upload, so that a corrected file counts as a new choice."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=folder))


def check_hierarchy(file: Path) -> None:
    """Raise an error if a hierarchy file is invalid or has only one level."""
    if Hierarchy.from_csv(file).n_levels < 2:
        fault = f"the hierarchy {file.name} has one level, so nothing stands above a value"
        raise ParameterError(fault, hint=WORDS["numbers"]["levels"])


def _option(option: Option, form: Mapping[str, str]) -> Any:
    """Return an option's value from the form; None if the form leaves it empty."""
    text = form.get(f"option-{option.name}", "").strip()
    if option.name == "max_disclosure" and form.get("uncapped"):
        return NO_CAP
    if not text:
        return None
    try:
        if option.type is bool:
            return text == "yes"
        return {list: split, float: number}.get(option.type, option.type)(text)
    except ValueError:
        kind = {int: "a whole number", float: "a number"}[option.type]
        raise ParameterError(f"{words(option.name)} must be {kind}") from None


def _points(name: str, text: str) -> list[float]:
    try:
        points = [float(part) for part in text.replace(";", ",").split(",")]
    except ValueError:
        points = []
    if len(points) != 3:
        raise ParameterError(f"the cut points of {name} are not three numbers", hint=WORDS["numbers"]["points"])
    return [int(v) if v.is_integer() else v for v in points]


def words(name: str) -> str:
    """Return an option's name in plain words."""
    return {"k": "the smallest group", "max_disclosure": "the cap"}.get(name, name.replace("_", " "))


def take(parameters: Mapping[str, object], before: Choices) -> Choices:
    """Return the choices with the settings of a point of the frontier."""
    return replace(before, options={**before.options, **{n: v for n, v in parameters.items() if v is not None}})


def leave_out(name: str, before: Choices) -> Choices:
    """Return the choices with one more column left out of the release."""
    if name not in before.roles:
        raise ParameterError("there is no such column")
    return replace(before, roles={**before.roles, name: "undeclared"})
