"""A release that named attackers infer at most so much from: measured, and searched for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError
from ..io.read import read
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check
from ..methods.tightening import moved
from ..notation import figure
from ..progress import Progress, caution, cautions, telling
from ..release import Release, protect
from ..schema import Schema
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


def protect_within(
    people: Any,
    schema: Schema,
    method: Any,
    max_inference: float,
    *,
    pseudonym_key: Any = None,
    keep_order: bool = False,
    parts: bool = False,
    progress: Progress | None = None,
) -> Release:
    """The first release on the method's ladder that the bound holds for.

    Raises
    ------
    InfeasibleError
        None does; says how near they came.
    """
    bound = InferenceBound(max_inference)
    if not schema.sensitive:
        raise ParameterError(
            "max_inference needs a sensitive column", hint="name what an intruder wants to know"
        )
    table, tell = read(people, schema=schema), telling(progress)
    tried: list[tuple[float, str]] = []
    for n, rung in enumerate(_ladder(method)):
        try:
            with cautions():  # of a release that may not be taken
                release = protect(
                    table,
                    schema,
                    rung,
                    pseudonym_key=pseudonym_key,
                    keep_order=keep_order,
                    parts=parts,
                    progress=progress,
                )
        except (InfeasibleError, ParameterError):
            if not n:
                raise  # what was asked cannot be had; a stricter setting that cannot be ends it
            break
        tell("measuring what learners infer")
        check = bound(release, progress)
        if check.holds:
            release.bind(bound, bound.parameters)
            for text in release.cautions:
                caution(text)
            return release
        tried.append((check.reached, _settings(method, rung)))
    lowest, where = min(tried)
    raise InfeasibleError(
        f"learners infer more than max_inference={max_inference:g} from every release that was "
        f"tried: at least {figure(lowest)}, with {where} ({len(tried)} tried)",
        hint="coarsen or drop quasi-identifiers, randomise, or allow more",
    )


def _ladder(method: Any) -> Iterator[Any]:
    yield method
    yield from method.stricter()


def _settings(asked: Any, rung: Any) -> str:
    """The parameters that a ladder moves, as a rung has them."""
    last: Mapping[str, Any] = rung.get_params(deep=False)
    tightened = moved(asked.get_params(deep=False))
    return ", ".join(f"{name}={last[name]}" for name in tightened) or type(rung).__name__


__all__ = ["InferenceBound", "protect_within"]
