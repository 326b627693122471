"""4 RELEASE: plan + table -> released table, verified, written atomically."""

from .apply import Applied, apply_plan
from .release import Release, protect

__all__ = ["Applied", "Release", "apply_plan", "protect"]
