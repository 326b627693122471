"""What standards ask of a release: criteria with clause, date and threshold, as inert data."""

from .profile import Criterion, Profile

__all__ = ["Criterion", "Profile"]
