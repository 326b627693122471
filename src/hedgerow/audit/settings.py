"""The settings that a frontier tries: which methods, which of their parameters, which values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..errors import ParameterError, did_you_mean
from ..methods.estimator import TRIED, moved

CAP = "max_disclosure"


@dataclass(frozen=True)
class Setting:
    """A method by its name on the frontier, and the parameters to try it with."""

    method: str
    parameters: Mapping[str, Any]

    def uncapped(self) -> Setting | None:
        """The same without a cap on disclosure; None where there is none to take off."""
        cap = self.parameters.get(CAP)
        if cap is None or cap >= 1:
            return None
        return Setting(self.method, {**self.parameters, CAP: None})

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return " ".join([self.method, in_words(self.parameters)]).rstrip()


def in_words(parameters: Mapping[str, Any]) -> str:
    """Parameters as they were asked."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def methods_by_name(methods: Any) -> dict[str, Any]:
    """The methods by name; `MART` when none is given.

    Methods of one title are told apart by their parameters.
    """
    if methods is None:
        from ..methods.mart import MART

        methods = MART()
    if isinstance(methods, Mapping):
        return dict(methods)
    given = list(methods) if isinstance(methods, Iterable) else [methods]
    titles = [each.title for each in given]
    out: dict[str, Any] = {}
    for title, each in zip(titles, given, strict=True):
        name = title if titles.count(title) == 1 else repr(each)
        if name in out:
            raise ParameterError(
                f"the method {name} is given twice", hint="give a mapping of names to methods"
            )
        out[name] = each
    return out


def settings_of(
    methods: Mapping[str, Any], asked: Mapping[str, Iterable[Any]]
) -> tuple[Setting, ...]:
    """Every combination of the values asked for, method by method.

    A parameter that a method does not have is not varied for it. Parameters that decide how
    much a method tells (`TRIED`) and stand at their defaults are varied where nobody asked.
    """
    axes = {name: list(values) for name, values in asked.items()}
    own = {name: each.get_params(deep=False) for name, each in methods.items()}
    known = {parameter for given in own.values() for parameter in given} | {"k", CAP}
    if odd := [name for name in axes if name not in known]:
        raise ParameterError(
            f"none of the methods has the parameter {odd[0]!r}{did_you_mean(odd[0], known)}"
        )
    found = []
    for name, method in methods.items():
        mine = {n: values for n, values in axes.items() if n in own[name] and values}
        plain = type(method)().get_params(deep=False)
        mine |= {
            n: list(TRIED[n])
            for n in moved(own[name])
            if n in TRIED and n not in axes and own[name][n] == plain[n]
        }
        for values in product(*mine.values()):
            found.append(Setting(name, dict(zip(mine, values, strict=True))))
    if not found:
        raise ParameterError("no settings to try: give at least one method")
    return tuple(found)
