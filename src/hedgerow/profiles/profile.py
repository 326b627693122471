"""A profile: the requirements of one standard for a release, read from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from .. import facade
from ..errors import ParameterError, did_you_mean
from ..files import read_text
from ..json_types import Length
from ..texts import parsed_toml

# how a threshold is known: from the source itself, a full reprint of it, or what others say of it
READ = ("primary", "reprint", "secondary")
# a figure that equals its threshold may miss it by rounding
_SLACK = 1e-9


class ProfileHouseholds(TypedDict):
    """The criteria of people, applied to households, which no standard judges.

    ``k``: households of the smallest group; ``by``: the intruder whose risk it is.
    """

    k: float
    highest: float
    average: float
    by: Literal["prosecutor", "journalist"]


Source = Literal["primary", "reprint", "secondary"]
State = Literal["meets", "does not meet", "measured", "not measured"]


class CriterionData(TypedDict):
    """One criterion of a standard, and what was found.

    ``threshold``: empty if the profile names none; ``read``: whether the threshold was read in the source itself;
    ``ours``: the source names no threshold, and this one is Hedgerow's reading.
    """

    name: str
    clause: str
    asks: str
    statistic: str
    threshold: str
    figure: float | None
    state: State
    read: Source
    ours: bool
    detail: str


class ProfileData(TypedDict):
    """The result of comparing a release with a standard; ``households``: None if nobody says who they are."""

    name: str
    title: str
    source: str
    date: str
    note: str
    state: State
    households: NotRequired[ProfileHouseholds | None]
    criteria: Annotated[Sequence[CriterionData], Length(1, or_more=True)]


@dataclass(frozen=True)
class Criterion:
    """One requirement of a standard, with its threshold if it has one.

    Parameters
    ----------
    name : str
        Name of the criterion, unique in the profile.
    clause : str
        The clause of the source that contains it.
    asks : str
        The requirement in a sentence.
    statistic : str
        The figure that answers it (`hedgerow.auditing.profile_result`).
    at_most, at_least : float, optional
        The threshold of the figure; without either, the figure is reported but not judged.
    read : {"primary", "reprint", "secondary"}
        How the threshold is known.
    ours : bool
        Whether the source names no threshold and this one is Hedgerow's reading.
    """

    name: str
    clause: str
    asks: str
    statistic: str
    at_most: float | None = None
    at_least: float | None = None
    read: Source = "secondary"
    ours: bool = False

    def __post_init__(self) -> None:
        if self.read not in READ:
            raise ParameterError(
                f"the criterion {self.name!r} is read from {self.read!r}", hint=f"one of {', '.join(READ)}"
            )
        if self.at_most is not None and self.at_least is not None:
            raise ParameterError(f"the criterion {self.name!r} has two thresholds", hint="leave one")

    @property
    def threshold(self) -> str:
        """Return the threshold in words; "" if there is none."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    def is_met(self, figure: float) -> bool:
        """Return whether a figure meets the threshold."""
        if self.at_most is not None:
            return figure <= self.at_most + _SLACK
        return self.at_least is None or figure >= self.at_least - _SLACK

    @property
    def k(self) -> int:
        """Return the smallest k that meets the criterion; 1 if the criterion is not about k."""
        if self.statistic in ("k", "wildcard_k") and self.at_least is not None:
            return math.ceil(self.at_least - _SLACK)
        risks = ("risk_maximum", "risk_average")  # a risk of 1/k at most, so also on average
        return math.ceil(1 / self.at_most - _SLACK) if self.statistic in risks and self.at_most else 1


@dataclass(frozen=True)
class Profile:
    """The criteria that a standard sets for a release, with clauses, date and thresholds.

    Parameters
    ----------
    name : str
        The name to load it by.
    title, source, date : str
        The title of the standard, the document that contains it, and its date.
    criteria : tuple of Criterion
    note : str
        Remarks for users of the profile.

    Examples
    --------
    >>> import hedgerow as hr
    >>> profile = hr.Profile.load("cms-cell-size")
    >>> profile.k, profile.criteria[0].threshold
    (11, 'at least 11')
    """

    name: str
    title: str
    source: str
    date: str
    criteria: tuple[Criterion, ...]
    note: str = field(default="", kw_only=True)

    def __repr__(self) -> str:
        return f"Profile({self.name!r}, {len(self.criteria)} criteria, {self.date})"

    @property
    def k(self) -> int:
        """Return the smallest k that meets every criterion about k; 1 if there are none."""
        return max((criterion.k for criterion in self.criteria), default=1)

    def strengthened(self, method: facade.Method, given: bool = False) -> facade.Method:
        """Return a copy of a method, with a larger k if the profile needs one.

        Parameters
        ----------
        method : Method
            Unfitted; it is copied, not changed.
        given : bool
            Whether the user chose k: one that is too small is then refused, otherwise raised.

        Raises
        ------
        ParameterError
            The chosen k is too small for the profile.

        Examples
        --------
        >>> import hedgerow as hr
        >>> hr.Profile.load("ema-0070").strengthened(hr.MART(k=5)).k
        12
        """
        k = method.get_params(deep=False).get("k")
        if not isinstance(k, int) or k >= self.k:
            return method.copy()
        if given:
            raise ParameterError(
                f"{self.name} takes a k of at least {self.k}, not {k}", hint=f"choose -k {self.k}, or leave it out"
            )
        return method.copy().set_params(k=self.k)

    @property
    def statistics(self) -> frozenset[str]:
        """Return the names of the figures that the profile needs."""
        return frozenset(criterion.statistic for criterion in self.criteria)

    @staticmethod
    def names() -> list[str]:
        """Return the names of the profiles that come with Hedgerow.

        Examples
        --------
        >>> import hedgerow as hr
        >>> "hipaa-safe-harbor" in hr.Profile.names()
        True
        """
        files = resources.files(__package__).iterdir()
        return sorted(file.name[:-5] for file in files if file.name.endswith(".toml"))

    @classmethod
    def load(cls, source: str | Path | Profile) -> Profile:
        """Load a profile by its name, or from your own TOML file.

        Parameters
        ----------
        source : str or path
            One of `names`, or a path that ends in ``.toml``.

        Raises
        ------
        ParameterError
            There is no such profile, or the file is none.
        """
        if isinstance(source, Profile):
            return source
        if not isinstance(source, (str, Path)):
            raise ParameterError("a profile is a name or a TOML file", hint=_names_in_words())
        if str(source).endswith(".toml"):
            return cls._of(read_text(source, "the profile", ParameterError), str(source), Path(source).stem)
        if source not in cls.names():
            raise ParameterError(
                f"there is no profile {str(source)!r}{did_you_mean(str(source), cls.names())}", hint=_names_in_words()
            )
        text = resources.files(__package__).joinpath(f"{source}.toml").read_text(encoding="utf-8")
        return cls._of(text, str(source), str(source))

    @classmethod
    def _of(cls, text: str, where: str, name: str) -> Profile:
        try:
            data = parsed_toml(text, f"{where} is no profile: it", ParameterError)
            criteria = tuple(Criterion(**_only(each, Criterion)) for each in data.get("criteria", ()))
            profile = cls(**{**_only({"name": name, **data}, cls), "criteria": criteria})
        except (TypeError, AttributeError) as error:
            raise ParameterError(
                f"{where} is no profile: {error}", hint="docs/profiles.md says what it holds"
            ) from None
        names = [criterion.name for criterion in criteria]
        if not names or len(set(names)) < len(names):
            raise ParameterError(f"{where} has no criteria, or two of one name")
        return profile


def _only(data: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return the fields of a record after checking their names and types."""
    if unknown := sorted(set(data) - {each.name for each in fields(kind)}):
        raise TypeError(f"unknown {', '.join(unknown)}")
    if lacking := [each.name for each in fields(kind) if each.default is MISSING and each.name not in data]:
        raise TypeError(f"it lacks {', '.join(lacking)}")
    for name, value in data.items():
        wanted = {"at_most": (int, float), "at_least": (int, float), "ours": (bool,), "criteria": (list,)}.get(
            name, (str,)
        )
        # a bool is an int for Python, and no threshold
        if not isinstance(value, wanted) or isinstance(value, bool) != (wanted == (bool,)):
            raise TypeError(f"{name} is not of its kind")
    return dict(data)


def _names_in_words() -> str:
    return f"known: {', '.join(Profile.names())}; or give a .toml file of your own"
