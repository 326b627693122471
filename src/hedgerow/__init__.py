"""Hedgerow protects tables about people before they are shared, and proves it with numbers.

Examples
--------
>>> import hedgerow as hr
>>> people = hr.datasets.make_people(2000, seed=1)
>>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
>>> release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.4))
>>> all(check.holds for check in release.verify())
True
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import errors as errors
    from .audit.frontier import frontier as frontier
    from .audit.inference import inference as inference
    from .audit.result import Audit as Audit
    from .audit.run import audit as audit
    from .audit.score import score as score
    from .errors import HedgerowError as HedgerowError
    from .hierarchy import Hierarchy as Hierarchy
    from .key import Key as Key
    from .measures import guarantees as guarantees
    from .methods.anatomy import Anatomy as Anatomy
    from .methods.full_domain import Datafly as Datafly
    from .methods.full_domain import Incognito as Incognito
    from .methods.hedge import Hedge as Hedge
    from .methods.mart import MART as MART
    from .methods.masking import PRAM as PRAM
    from .methods.masking import NoiseAddition as NoiseAddition
    from .methods.masking import RankSwapping as RankSwapping
    from .methods.masking import TopBottomCoding as TopBottomCoding
    from .methods.microaggregation import Microaggregation as Microaggregation
    from .methods.mondrian import Mondrian as Mondrian
    from .methods.porop import LiROP as LiROP
    from .methods.porop import PoROP as PoROP
    from .methods.randomized_response import RandomizedResponse as RandomizedResponse
    from .methods.suppression import LocalSuppression as LocalSuppression
    from .methods.tpp import TreePatternPreserving as TreePatternPreserving
    from .methods.tpp import verify_model as verify_model
    from .plan import Plan as Plan
    from .profiles import Profile as Profile
    from .release import Release as Release
    from .release.explode import explode as explode
    from .release.reconstruct import reconstruct as reconstruct
    from .schema import Schema as Schema
    from .workflow.inspection import inspect as inspect
    from .workflow.protect import protect as protect
    from .workflow.session import Session as Session

# Where each public name lives; a name is looked up when it is first used, so that
# `import hedgerow` loads nothing heavy.
_HOMES = {
    "LiROP": "methods.porop",
    "LocalSuppression": "methods.suppression",
    "Audit": "audit.result",
    "Key": "key",
    "Hedge": "methods.hedge",
    "HedgerowError": "errors",
    "Hierarchy": "hierarchy",
    "Session": "workflow.session",
    "inspect": "workflow.inspection",
    "reconstruct": "release.reconstruct",
    "Incognito": "methods.full_domain",
    "Datafly": "methods.full_domain",
    "Anatomy": "methods.anatomy",
    "RandomizedResponse": "methods.randomized_response",
    "MART": "methods.mart",
    "Microaggregation": "methods.microaggregation",
    "Mondrian": "methods.mondrian",
    "NoiseAddition": "methods.masking",
    "PRAM": "methods.masking",
    "Plan": "plan",
    "PoROP": "methods.porop",
    "Profile": "profiles",
    "RankSwapping": "methods.masking",
    "Release": "release",
    "Schema": "schema",
    "TopBottomCoding": "methods.masking",
    "TreePatternPreserving": "methods.tpp",
    "audit": "audit.run",
    "explode": "release.explode",
    "frontier": "audit.frontier",
    "inference": "audit.inference",
    "protect": "workflow.protect",
    "score": "audit.score",
    "verify_model": "methods.tpp",
}
_MODULES = {"datasets": "datasets", "errors": "errors", "guarantees": "measures.guarantees"}

__all__ = [*_HOMES, *_MODULES, "__version__"]


if not TYPE_CHECKING:  # a type checker knows every name, and finds those that are not

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f".{_MODULES[name]}", __name__)
        if name not in _HOMES:
            raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Face(ModuleType):
    """Keeps a public function in front of the room of the same name (`explode`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
