"""A release held against a profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..profiles import Profile
from ..release import Release
from .judged import Judged, needs_attacks
from .run import audit


def against(release: Release, profile: str | Path | Profile, asked: Mapping[str, Any]) -> Judged:
    """What a profile finds of a release; attacks are tried where it asks for them."""
    found = Profile.load(profile)
    settings = {"attacks": needs_attacks(found), "learning": False, "inference": False, **asked}
    made = audit(release.original, release, profile=found, **settings)
    assert made.profile is not None
    return Judged(made.profile)
