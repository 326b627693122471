"""The requirements of standards for a release: criteria with clause, date and threshold, as inert data."""

from .profile import Criterion, Profile

__all__ = ["Criterion", "Profile"]
