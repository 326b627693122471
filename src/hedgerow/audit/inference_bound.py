"""A release that named attackers infer at most so much from: measured, and searched for."""

from __future__ import annotations

from typing import Any

from ..columns.table import Table
from ..errors import ParameterError
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check
from ..progress import Progress
from ..release import Release
from .attacks.learners import LEARNERS
from .inference import Inference, infer
from .pairing import pair_up
from .subject import of_release


class InferenceBound:
    """What the best of the named attackers may explain, asked about the people of a release.

    Of every sensitive column, over all members and over the worst tenth (see
    `hedgerow.inference`). It is measured under these learners and bounds no other.

    Parameters
    ----------
    most : float, in (0, 1)
        The largest share.
    """

    def __init__(self, most: float) -> None:
        if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most < 1:
            raise ParameterError(
                f"max_inference must lie in (0, 1), not {most!r}",
                hint="it is the share of the public error that learners may take off",
            )
        self.most = float(most)
        self._measured: tuple[Table, Inference] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """What a plan keeps of it."""
        tried = self._measured[1].learners if self._measured else LEARNERS
        return {"max_inference": self.most, "max_inference_learners": list(tried)}

    def measure(self, release: Release, progress: Progress | None = None) -> Inference:
        """What the learners infer; measured once for one released table."""
        if self._measured is None or self._measured[0] is not release.released:
            pair = pair_up(release.original, of_release(release))
            found = infer(pair, progress=progress, promises=release.plan.promises)
            self._measured = (release.released, found)
        return self._measured[1]

    def __call__(self, release: Release, progress: Progress | None = None) -> Check:
        """The check of a release as it stands."""
        found = self.measure(release, progress)
        reached = found.reached
        return Check(
            "inference (measured)",
            self.most,
            reached,
            reached <= self.most + SLACK,
            f"the most that {', '.join(found.learners)} explain of a sensitive column, of all "
            "members or the worst tenth; other attackers may explain more",
        )
