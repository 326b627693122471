"""What public docstrings say of parameters and defaults is what the signatures say."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.methods import tpp
from hedgerow.schema import UNSAID

ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.+))?$")
DEFAULT = re.compile(r"""\bdefault:? (\d[\d.,]*\d|\d|"\w+"|'\w+'|True|False|None|none)\b""")
"""A default that is told in so many words."""
SECTION = re.compile(r"^(\w[\w ]+)\n-{3,}$", re.MULTILINE)


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class and method, by its name."""
    named = {name: getattr(hr, name) for name in hr.__all__}
    named |= {name: getattr(tpp, name) for name in tpp.__all__}
    for name, thing in named.items():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield name, thing
        if inspect.isclass(thing):
            for own, member in inspect.getmembers(thing, callable):
                if not own.startswith("_") and str(getattr(member, "__module__", "")).startswith("hedgerow"):
                    yield f"{name}.{own}", member
        if inspect.ismodule(thing):
            for own, member in inspect.getmembers(thing, inspect.isfunction):
                if not own.startswith("_") and member.__module__ == thing.__name__:
                    yield f"{name}.{own}", member


THINGS = dict(public())


def described(thing: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """By parameter: its type line and its text, of the section Parameters."""
    parts = SECTION.split(inspect.getdoc(thing) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in sections.get("Parameters", "").splitlines():
        entry = ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
            found |= {name.lstrip("*"): (entry[2] or "", "") for name in names}
        for name in () if entry else names:
            kind, text = found[name.lstrip("*")]
            found[name.lstrip("*")] = (kind, f"{text} {line.strip()}".strip())
    return found


def parameters(thing: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    known = inspect.signature(thing).parameters
    return {n: p for n, p in known.items() if n not in ("self", "cls")}


def value(parameter: inspect.Parameter, thing: Callable[..., Any]) -> Any:
    """The default; of a dataclass, what its factory makes."""
    if dataclasses.is_dataclass(thing):
        field = {f.name: f for f in dataclasses.fields(thing)}.get(parameter.name)
        if field is not None and field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    return parameter.default


@pytest.mark.parametrize("name", THINGS)
def test_what_is_said_of_parameters_is_so(name: str) -> None:
    thing = THINGS[name]
    told, known = described(thing), parameters(thing)
    if not told:
        return
    assert set(told) == set(known)
    for parameter, (kind, text) in told.items():
        default = value(known[parameter], thing)
        needed = known[parameter].default is inspect.Parameter.empty
        if re.search(r"\boptional\b", kind):
            assert default in (None, (), "", UNSAID), parameter
        elif "None" in kind:
            assert not needed
        elif kind and not needed and known[parameter].kind is not inspect.Parameter.VAR_KEYWORD:
            assert default is not None, f"{parameter} is None by default: say optional"
        for said in DEFAULT.findall(f"{kind} {text}"):
            words = {"none": 0}.get(said)
            found = ast.literal_eval(said.replace(",", "")) if words is None else words
            assert found == default, f"{parameter}: {said}"
