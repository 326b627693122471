"""4 RELEASE: plan + table -> released table, verified, written atomically."""

from .apply import Applied, apply_plan
from .making import make_release
from .release import Release

__all__ = ["Applied", "Release", "apply_plan", "make_release"]
