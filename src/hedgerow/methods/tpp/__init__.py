"""Tree-pattern-preserving sanitization (Fu et al. 2010), corrected.

Read the files in this order: `encoding` (ranks and integer responses), `split_scores` and
`builder` (the exact builder), `representatives` (what is released), `targets` (what is
preserved), `sanitize` (the loop), `model` (the published file and its verification), `method` (the public class).
"""

from .builder import TreeSettings
from .method import TreePatternPreserving
from .model import Verification, verify_model
from .targets import BoostingSettings, ForestSettings

__all__ = [
    "BoostingSettings",
    "ForestSettings",
    "TreePatternPreserving",
    "TreeSettings",
    "Verification",
    "verify_model",
]
