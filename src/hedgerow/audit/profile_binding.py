"""A release that must meet a profile: its method strengthened, the rest measured before it is given out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..measures.guarantees import Check
from ..profiles import Profile
from ..progress import Progress, caution
from ..release import Release, protect
from .profile_check import audit_against
from .profile_result import FAILS, MEETS, TOLD, check_met, unmet

if TYPE_CHECKING:
    from .result import Audit


class KeptProfile:
    """A check that a release meets what a profile asks, as far as it could be measured.

    Parameters
    ----------
    profile : Profile
    measured : Audit, optional
        What was measured of the release already, with this profile.
    of : Release, optional
        The release that was measured.
    """

    def __init__(
        self, profile: Profile, measured: Audit | None = None, of: Release | None = None
    ) -> None:
        self.profile = profile
        self._judged: tuple[Any, Mapping[str, Any]] | None = None
        if measured is not None and of is not None:
            assert measured.profile is not None
            self._judged = of.released, measured.profile

    @property
    def parameters(self) -> dict[str, Any]:
        """What a plan keeps of it."""
        return {"profile": self.profile.name, "profile_date": self.profile.date}

    def found(self, release: Release, progress: Progress | None = None) -> Mapping[str, Any]:
        """What the profile finds of a release; measured once for one released table."""
        if self._judged is None or self._judged[0] is not release.released:
            told = audit_against(release, self.profile, {"progress": progress}).profile
            assert told is not None
            self._judged = release.released, told
        return self._judged[1]

    def __call__(self, release: Release) -> Check:
        """The check of a release as it stands."""
        found = self.found(release)
        states = [row["state"] for row in found["criteria"]]
        judged = [state for state in states if state in (MEETS, FAILS)]
        others = {state: states.count(state) for state in states if state not in (MEETS, FAILS)}
        told = [f"{n} {'without a threshold' if s == TOLD else s}" for s, n in others.items()]
        return Check(
            f"profile {self.profile.name}",
            len(judged),
            judged.count(MEETS),
            not unmet(found),
            "; ".join([f"criteria of {self.profile.title} ({self.profile.date})", *told, *unmet(found)]),
        )


def stronger(profile: str | Path | Profile, method: Any, given: bool | None = None) -> Any:
    """A method with the k that a profile takes; says so where it was raised.

    `given` says whether somebody chose the method's k; by default where it is not the method's own.
    """
    own, found = method.get_params(deep=False).get("k"), Profile.load(profile)
    if given is None:
        given = own != type(method)().get_params(deep=False).get("k")
    made = found.strengthened(method, given=given)
    if made.get_params(deep=False).get("k") != own:
        caution(f"k was raised to {made.k}: {found.title} requires it")
    return made


def bind(
    release: Release,
    profile: str | Path | Profile,
    measured: Audit | None = None,
    progress: Progress | None = None,
) -> None:
    """Have a release meet a profile from now on, and its plan remember it.

    Raises
    ------
    PromiseError
        A criterion that could be measured is not met.
    """
    kept = KeptProfile(Profile.load(profile), measured, release)
    check_met(kept.found(release, progress))
    if release.plan.parameters.get("profile") != kept.profile.name:  # or it is bound already
        release.bind(kept, kept.parameters)


def protect_to(
    people: Any, schema: Any, method: Any, profile: str | Path | Profile, **more: Any
) -> Release:
    """As `hedgerow.protect`, with a method as strong as a profile takes, and held against the profile."""
    release = protect(people, schema, stronger(profile, method), **more)
    bind(release, profile, progress=more.get("progress"))
    return release
