"""Releases: made from a plan and a table, verified, and written atomically as a folder."""

from .apply import Applied, apply_plan
from .making import make_release
from .release import Release

__all__ = ["Applied", "Release", "apply_plan", "make_release"]
