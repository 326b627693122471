"""The requirements of standards for a release: criteria with clause, date and threshold, as inert data."""

from .profile import Criterion, CriterionData, Profile, ProfileData, ProfileHouseholds

__all__ = ["Criterion", "CriterionData", "Profile", "ProfileData", "ProfileHouseholds"]
