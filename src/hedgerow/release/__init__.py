"""4 RELEASE: plan + table -> released table, verified, written atomically."""

from .apply import Applied, apply_plan
from .protect import protect
from .release import Release

__all__ = ["Applied", "Release", "apply_plan", "protect"]
