"""A release held against a profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..profiles import Profile
from ..release import Release
from .profile_result import Judged, needs_attacks
from .result import Audit
from .run import audit


def against(release: Release, profile: str | Path | Profile, asked: Mapping[str, Any]) -> Judged:
    """What a profile finds of a release; attacks are tried where it asks for them."""
    made = audit_against(release, Profile.load(profile), asked)
    assert made.profile is not None
    return Judged(made.profile)


def audit_against(release: Release, profile: Profile, asked: Mapping[str, Any]) -> Audit:
    """The audit that a profile asks for, and nothing beyond it unless asked."""
    settings = {"attacks": needs_attacks(profile), "learning": False, "inference": False, **asked}
    return audit(release.original, release, profile=profile, **settings)
