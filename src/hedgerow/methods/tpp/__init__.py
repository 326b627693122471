"""BuiltTree-pattern-preserving sanitization (Fu et al. 2010), corrected.

Read the files in this order: `columns` (ranks and integer responses), `scores` and
`builder` (the exact builder), `representatives` (what is released),
`targets`, `sklearn_target` (what is preserved), `sanitize` (the loop),
`model` (the published file and its verification), `method` (the public class).
"""

from .method import TreePatternPreserving
from .model import Verification, verify_model
from .settings import BoostingSettings, ForestSettings, RpartSettings, TreeSettings

__all__ = [
    "BoostingSettings",
    "ForestSettings",
    "RpartSettings",
    "TreePatternPreserving",
    "TreeSettings",
    "Verification",
    "verify_model",
]
