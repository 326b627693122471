"""Write the records of a release: audit.json, evidence.json and the map of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from operator import index
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_type_hints

import numpy as np
from numpy.typing import NDArray

import hedgerow

from ..columns.table import Table
from ..errors import InputError, ParameterError
from ..json_types import Count, Figures, Hash, OrNull, Positive, Range, Share, published
from ..measures.guarantees import CheckData
from ..measures.sizes import GroupSizes
from ..plan import Plan
from ..schema import ROLES
from .folder import PLAN, file_facts, is_table
from .warnings import ExtremeEnds

AUDIT_VERSION = 1


class FileData(TypedDict):
    """A file by its name, hash and size."""

    name: str
    sha256: Hash
    bytes: Count


class DisclosureMeans(TypedDict):
    """The disclosure of a column's groups."""

    mean_over_groups: OrNull[float]
    mean_over_records: OrNull[float]
    worst: OrNull[float]


class DisclosureTotals(DisclosureMeans):
    """The disclosure of the groups, over all sensitive columns and by column."""

    columns: Mapping[str, DisclosureMeans]


class GuardedWeights(TypedDict):
    """The sum of the sampling weights that were hidden; ``largest``: the most of its variance that one record holds."""

    before: float
    after: float
    largest: float


class Spread(TypedDict):
    """The spread of a column: deviation, median, and the share of the sum that the largest values hold."""

    deviation: float
    median: float
    top_share: OrNull[float]


class GuardedColumnData(TypedDict):
    """The hidden values of a column; ``largest``: the share of the variance that one person holds.

    ``joined``: records of rare categories, which are released as a parent or another value; ``withheld``: as none.
    """

    values: int
    withheld: int
    joined: NotRequired[int]
    before: Spread | None
    after: Spread | None
    largest: OrNull[float]


class GuardData(TypedDict):
    """The guard of exact values; ``impossible``: rows with a pair of values that hardly anybody has."""

    form: Literal["runs", "redraw", "rows"]
    people: int
    groups: int
    drawn_again: int
    impossible: int
    weights: NotRequired[GuardedWeights]
    columns: Mapping[str, GuardedColumnData]


class AnyReleaseData(TypedDict):
    """The record of a release, of whatever kind."""

    file: FileData
    plan: NotRequired[FileData]
    method: str
    rows: Count
    cautions: Sequence[str]
    checks: Sequence[CheckData]


class ReleaseData(AnyReleaseData):
    """The promises of a release and what it reached when it was written; ``guard`` if exact values were hidden.

    ``parameters``: of the method, as its plan keeps them.
    """

    hedgerow: str
    libraries: Mapping[str, str]
    parameters: Mapping[str, object]
    columns: Mapping[str, Sequence[str]]
    pseudonyms: Sequence[str]
    groups: GroupSizes
    people: int | None
    disclosure: DisclosureTotals | None
    extremes: Mapping[str, ExtremeEnds]
    households: int | None
    unbounded: Sequence[str]
    guard: NotRequired[GuardData]


class PrivateReleaseData(AnyReleaseData):
    """The release under differential privacy; ``spent``: parts of epsilon by what they bought; ``records``: noisy."""

    epsilon: Annotated[float, Range(0, above=True)]
    records: int
    advantage: Share
    leaves: Positive
    spent: Sequence[Sequence[str]]


def record(
    plan: Plan,
    numbers: Mapping[str, object],
    file: Path,
    pseudonyms: Sequence[str] = (),
    measured: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """Return the data of audit.json; `hedgerow.Audit.json_schema` describes its format.

    Parameters
    ----------
    plan : Plan
    numbers : mapping
        `Release.summary()`.
    file : Path
        The written table.
    pseudonyms : sequence of str
        Identifiers that were replaced.
    measured : mapping, optional
        `Audit.to_dict`; its measurements are added next to ``release``, which holds what was
        promised and reached.
    """
    release = {
        "hedgerow": hedgerow.__version__,
        "libraries": {n: version(n) for n in ("numpy", "pyarrow", "scikit-learn", "numba")},
        "parameters": dict(plan.parameters),
        "columns": {role: plan.names(role) for role in ROLES},
        "pseudonyms": list(pseudonyms),
        "file": file_facts(file),
        "plan": file_facts(file.with_name(PLAN)),
        **numbers,
    }
    return {"hedgerow_audit": AUDIT_VERSION, "release": release, **(measured or {})}


EVIDENCE_VERSION = 1
_ATTACK_FIELDS = ("attack", "learner", "target", "people", "success", "interval", "control",
                  "over_control", "over_control_interval", "public_best")  # fmt: skip


class EvidenceData(TypedDict):
    """The evidence from which an output checker judges a profile again; ``files`` by role, as they were read."""

    hedgerow_evidence: Literal[1]
    profile: Figures
    table: Mapping[str, object]
    settings: Mapping[str, object]
    attacks: Sequence[Mapping[str, object]]
    not_measured: Sequence[str]
    versions: Mapping[str, str]
    files: Mapping[str, FileData]


def evidence(audit: Mapping[str, Any], files: Mapping[str, Path | None]) -> str:
    """Return evidence.json as text: criteria, figures, settings, versions and file hashes.

    Parameters
    ----------
    audit : mapping
        `Audit.to_dict` of an audit with a profile.
    files : mapping of str to Path
        The files that were measured, by role ("released", "original"). Entries that are None or not a
        file are left out.

    Raises
    ------
    ParameterError
        The audit was made without a profile.
    """
    if audit.get("profile") is None:
        raise ParameterError("evidence needs an audit with a profile", hint="audit with profile= (--profile)")
    data = {
        "hedgerow_evidence": EVIDENCE_VERSION,
        "profile": audit["profile"],
        "table": {
            name: audit["table"][name]
            for name in ("rows", "quasi", "sensitive", "yardstick", "paired", "released_columns")
        },
        "settings": audit["parameters"],
        "attacks": [{name: attack[name] for name in _ATTACK_FIELDS} for attack in audit["attacks"]],
        "not_measured": audit["not_measured"],
        "versions": audit["versions"],
        "files": {what: file_facts(p) for what, p in files.items() if p is not None and is_table(p)},
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def evidence_schema() -> dict[str, object]:
    """Return the published JSON schema of evidence.json.

    Examples
    --------
    >>> evidence_schema()["title"]
    'Hedgerow evidence'
    """
    # not where the module is loaded: what runs on a cluster loads it, and no standards
    from ..profiles import ProfileData

    return published("Hedgerow evidence", EvidenceData, profile=get_type_hints(ProfileData, include_extras=True))


MAPPING_VERSION = 1


@dataclass(frozen=True, eq=False)
class RowMap:
    """The original row of each released row, with a fingerprint of the original table.

    Parameters
    ----------
    rows : int64 array of shape (n_rows,)
        The original row of every released row.
    fingerprint : str
        Fingerprint of the original's quasi-identifiers and sensitive columns, in order.
    """

    rows: NDArray[np.int64]
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> RowMap:
        """Read a row map from a file; raise InputError if the file holds none."""
        try:
            data = json.loads(path.read_bytes())
            assert data["hedgerow_mapping"] == MAPPING_VERSION
            # unlike int, it refuses fractions
            rows = np.array([index(row) for row in data["rows"]], np.int64)
            # the file may have been edited, and is used as positions
            assert not len(rows) or 0 <= rows.min() <= rows.max() < len(rows)
            return cls(rows, str(data["fingerprint"]))
        except (OSError, ValueError, LookupError, TypeError, AssertionError, ArithmeticError, RecursionError):
            raise InputError(f"{path} is not a mapping that this version can read") from None

    def text(self) -> str:
        """Return the row map as the text of a file that `load` can read."""
        data = {"hedgerow_mapping": MAPPING_VERSION, "fingerprint": self.fingerprint}
        return json.dumps({**data, "rows": self.rows.tolist()}) + "\n"

    def of_table(self, table: Table, plan: Plan | None) -> NDArray[np.int64]:
        """Return the rows if this is the table that they belong to; raise InputError for any other."""
        same = plan is None or fingerprint(table, plan) == self.fingerprint
        if len(self.rows) != table.n_rows or not same:
            raise InputError(
                "the release was made from another table, or from these rows in another order",
                hint="give the table that was protected, or a key column that both share",
            )
        return self.rows


def fingerprint(table: Table, plan: Plan) -> str:
    """Return a hash of a table's quasi-identifiers and sensitive columns, in their row order."""
    digest = hashlib.sha256()
    for planned in plan.columns:
        if planned.role not in ("quasi", "sensitive"):
            continue
        # frames of one table may declare an order or none, so categories stand in their natural one (no text is first)
        column = table.column(planned.name, kind=planned.kind, categories=("",))
        values = column.values.tolist() if column.is_number else column.values
        digest.update(json.dumps([planned.name, column.unit, values]).encode())
        # codes of fixed width and byte order, so that every machine gets the same hash
        digest.update(column.codes.astype("<u4").tobytes())
    return digest.hexdigest()
