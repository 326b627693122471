"""Make releases from a plan and a table, verify them, and write them atomically."""

from .apply import Applied, apply_plan
from .making import make_release
from .release import Release, ReleaseOptions

__all__ = ["Applied", "Release", "ReleaseOptions", "apply_plan", "make_release"]
