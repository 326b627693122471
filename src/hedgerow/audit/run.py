"""Run every measure on a pair of tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

import numpy as np

from ..arguments import FLAG, LIST, NAMES, NUMBER, PROGRESS, SEED, TEXT, takes, whole
from ..classes import Classes, FloatArray, Groups, group, sizes
from ..errors import HedgerowError, ParameterError
from ..plan import Plan
from ..progress import Progress, Tell, telling
from ..release.cautions import extremes_in_words, rare_ends
from ..schema import SCHEMA, Schema
from ..table import Column, Table, read
from .histograms import histograms
from .inference import infer
from .outside import FOLDS, Outside, Refit, given, left_out, refitting
from .pairing import Pair, pair_up
from .per_person import per_person as certificates
from .result import Audit
from .risk import numeric
from .risk.altered import linkage_summary
from .risk.composition import composition, other_releases
from .risk.learners import LEARNERS, check_learners
from .risk.population import journalist_risk
from .risk.sensitive import sensitive_summary
from .subject import subject
from .utility.distributions import distribution_summary
from .utility.loss import loss_summary
from .utility.queries import query_summary


@takes(
    schema=SCHEMA,
    k=whole(),
    threshold=NUMBER,
    others=LIST,
    people=whole(),
    learners=NAMES,
    random_state=SEED,
    per_person=FLAG,
    key=TEXT,
    weights=TEXT,
    progress=PROGRESS,
)
def audit(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    plan: Plan | None = None,
    key: str | None = None,
    attacks: bool = True,
    learning: bool = True,
    inference: bool | None = None,
    control: Any = None,
    others: Sequence[Any] = (),
    population: Any = None,
    weights: str | None = None,
    k: int | None = None,
    threshold: float = 0.2,
    people: int = 500,
    learners: Sequence[str] | None = None,
    random_state: int = 0,
    allow_outside: bool = False,
    per_person: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Measure what a release gives away and what it is still good for.

    Works on any released file, whoever made it, as long as its rows can be
    paired with the original's. A method that alters values (noise, swapping,
    randomized response ...) is judged by how well its records are linked with
    their originals, not by classes of equal cells.

    No table of all pairs of people, rows or values is made: memory grows with the rows (about
    1.5 KB each with ten quasi-identifiers), and learners are trained on 20,000 different rows of at
    most 62 features a quasi-identifier. A million rows, one column of 80,000 values, take 2 GB with
    everything (`benchmarks/audit.py --attacks`).

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation
        The table before.
    released : Release, release folder, path or frame
        The table after. A `Release` knows its rows, its schema and its plan; a
        folder holds its plan. Otherwise rows are paired by `key`, by the columns that were
        left as they were, or by their order where that is shown by a test.
    schema : Schema, optional
        Which columns are quasi-identifiers and which are sensitive; by default
        what the release or its plan says.
    plan : Plan, optional
        The plan of a released file, for cells that do not say what they stand for.
    key : str, optional
        A column of both tables that numbers the rows.
    attacks : bool
        Run the regression, linking, singling-out, downcoding and membership attacks.
    learning : bool
        Compare learning from the release with learning from the original.
    inference : bool, optional
        Measure what learners infer about members and strangers (`hedgerow.inference`); by
        default as `attacks`. Strangers are measured for a `Release`, whose method is at hand.
    control : frame or path, optional
        People who are not in the original, for the attacks' control; without it
        the same people with their own rows withheld. Membership needs them, or a `Release`,
        whose method releases parts of the people again.
    others : sequence of Release, release folders, paths or frames
        Further releases of the same people, or of some of them: what all of them tell together.
    population : frame or path, optional
        The population that the original was drawn from (journalist risk).
    weights : str, optional
        Column of sampling weights (journalist risk without a population table): each class's
        expected risk, by Benedetti and Franconi.
    k : int, at least 1, optional
        What was asked of the release, for the average class size over k; by default
        what its plan promises.
    threshold : float, in (0, 1]
        Re-identification risk above which a record counts as at risk.
    people : int, at least 1
        How many people each attack is tried on.
    learners : sequence of str, optional
        Who attacks: "tree", "gradient boosting", "nearest", "linear".
    random_state : int
        For random queries, descriptions, folds and bootstrap intervals.
    allow_outside : bool
        Accept released ranges and sets that miss their row's original value.
    per_person : bool
        Also tell of every record what its group gives away, those most at risk first:
        `Audit.per_person`, which no report and no JSON holds.
    progress : callable, optional
        Called with a line of text and None before each long step; what it raises
        stops the audit.

    Returns
    -------
    Audit
        `.to_dict()`, `.to_json()`, `.report(path)`; printing it gives a summary.

    Raises
    ------
    InputError, SchemaError
        The tables cannot be paired, columns are missing, or the release holds
        values that no original value could have given.
    ParameterError
        A parameter lies outside its range.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> people = pd.DataFrame({"age": [27, 39, 41, 58], "pay": [10, 12, 30, 31]})
    >>> release = people.assign(age=["[27-39]", "[27-39]", "[41-58]", "[41-58]"])
    >>> found = hr.audit(people, release, hr.Schema(quasi=["age"], sensitive=["pay"]),
    ...                  attacks=False, learning=False)
    >>> found.risk["release"]["classes"]["k"]
    2
    """
    _check(k, threshold, people, learners)
    tell = telling(progress)
    tell("pairing the tables")
    what = subject(released, schema, plan)
    pair = pair_up(original, what, key=key, allow_outside=allow_outside)
    k = what.k if k is None else k
    if population is not None:
        population = read(population, schema=pair.schema)
    journalist = journalist_risk(pair, population, weights)
    each = certificates(pair, journalist, key) if per_person else None
    unprotected = None
    if population is None and weights in pair.original.names:
        unprotected = journalist_risk(pair.unchanged, None, weights)
    tell("classes, disclosure and utility")
    before, after, loss, distributions, queries = _together(
        lambda: _before(pair.unchanged, unprotected, threshold),
        lambda: _after(pair, journalist, threshold),
        lambda: loss_summary(pair, k),
        lambda: distribution_summary(pair),
        lambda: query_summary(pair, random_state=random_state),
    )
    scatters = {name: column.pop("scatter") for name, column in after["sensitive"].items()}
    for column in before["sensitive"].values():
        column.pop("scatter")
    risk: dict[str, Any] = {"original": before, "release": after, "influence": []}
    if pair.yardstick == "linkage":
        risk["linkage"] = linkage_summary(pair, people=people, random_state=random_state, tell=tell)
    if control is not None:
        control = read(control, schema=pair.schema)
        pair.schema.check(control.names)
    refit = refitting(what.method, what.schema) if what.method is not None else None
    outside = _outside(pair, refit, control, random_state, tell) if attacks else []
    found: list[dict[str, Any]] = []
    if attacks:
        found, risk["influence"] = _attacks(
            pair, control, outside, people, learners, random_state, tell
        )
    risk["composition"] = None
    if others:
        tell("what the releases tell together")
        told = other_releases(pair, others, key)
        risk["composition"], more = composition(pair, told, k=k)
        found += more
    risk["inference"] = None
    if (attacks if inference is None else inference) and pair.sensitive:
        risk["inference"] = infer(
            pair,
            refit,
            learners=learners or LEARNERS,
            random_state=random_state,
            progress=progress,
            without=[each for each in outside if len(each.left)],
        ).to_dict()
    utility: dict[str, Any] = {
        "loss": loss,
        "distributions": distributions,
        "queries": queries,
        "learning": [],
    }
    if learning and pair.sensitive:
        from .utility.models import learning as learn

        utility["learning"] = learn(pair, random_state=random_state, progress=tell)
    extremes = {} if k is None else _extremes(pair, k)
    return Audit(
        table={
            "rows": pair.n_rows,
            "suppressed": pair.suppressed,
            "quasi": list(what.schema.quasi),
            "sensitive": list(what.schema.sensitive),
            "identifiers": list(what.schema.identifiers),
            "yardstick": pair.yardstick,
            "released_columns": pair.released.names,
            "extremes": extremes,
            "notes": [*pair.notes, *(extremes_in_words(n, k or 0, e) for n, e in extremes.items())],
        },
        risk=risk,
        attacks=found,
        utility=utility,
        pictures={"histograms": histograms(pair), "scatters": scatters},
        parameters={
            "key": key,
            "threshold": threshold,
            "people": people,
            "random_state": random_state,
            "k": k,
            "control": "withheld rows" if control is None else "other people",
            "others": len(others),
            "population": population is not None,
            "weights": weights,
            "allow_outside": allow_outside,
        },
        versions=versions(),
        per_person=each,
    )


# the function stands in front of its room, `hedgerow.audit`
audit.json_schema = Audit.json_schema  # type: ignore[attr-defined]


def _check(k: int | None, threshold: float, people: int, learners: Sequence[str] | None) -> None:
    if k is not None and k < 1:
        raise ParameterError(f"k must be at least 1, not {k}")
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold must lie in (0, 1], not {threshold}")
    if people < 1:
        raise ParameterError(f"people must be at least 1, not {people}")
    if learners:
        check_learners(learners)


def _extremes(pair: Pair, k: int) -> dict[str, dict[str, int]]:
    """Columns whose ranges state a value that fewer than k of the records have."""
    found = {}
    for own, released in zip(pair.quasi, pair.released_quasi, strict=True):
        ends = list(zip(released.lo.tolist(), released.hi.tolist(), strict=True))
        found[own.name] = rare_ends(own, k, released.labels, ends, released.counts)
    return {name: told for name, told in found.items() if told["cells"]}


def _together(*parts: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """Independent parts on two threads: numpy leaves the interpreter free most of the time."""
    with ThreadPoolExecutor(2) as pool:
        return [made.result() for made in [pool.submit(part) for part in parts]]


def _after(pair: Pair, journalist: FloatArray | None, threshold: float) -> dict[str, Any]:
    """The release's classes, its suppressed cells matching anything for the wildcard k."""
    cells = [(e.codes, e.wild[e.codes]) for e in pair.released_quasi]
    sensitive = pair.released_sensitive
    return _risk(pair, pair.classes, cells, pair.told, sensitive, journalist, threshold)


def _before(pair: Pair, journalist: FloatArray | None, threshold: float) -> dict[str, Any]:
    """The classes of the whole original."""
    cells, own = [(c.codes, c.codes == c.n_values) for c in pair.quasi], pair.classes
    return _risk(pair, own, cells, own, pair.sensitive, journalist, threshold)


def _risk(
    pair: Pair,
    groups: Groups,
    cells: Sequence[tuple[Any, Any]],
    told: Groups,
    sensitive: Sequence[Column],
    journalist: FloatArray | None,
    threshold: float,
) -> dict[str, Any]:
    """Everything about the classes of one table, and what its groups tell."""
    made, hierarchies = Classes.of(told, sensitive), pair.schema.hierarchies
    wildcard = sizes.wildcard_k(groups, [c for c, _ in cells], [wild for _, wild in cells])
    people = None if pair.persons is None else pair.people_in(groups)
    return {
        "classes": _sizes(groups)
        | {
            "people": None if people is None else int(people.min()),
            "wildcard_k": wildcard,
        },
        "reidentification": sizes.attackers(groups.sizes, journalist, threshold, people)
        | {"threshold": threshold},
        "sensitive": {
            name: sensitive_summary(column, pair.targets[name], hierarchies.get(name))
            for name, column in made.sensitive.items()
        },
        "covariance": _covariance(told, [c.numbers for c in sensitive if c.is_number]),
    }


def _sizes(groups: Groups) -> dict[str, Any]:
    """k, the number of classes and how their sizes are distributed."""
    told = sizes.summary(groups.sizes)
    return {
        "k": told.smallest,
        "classes": told.groups,
        "average_size": told.mean,
        "largest": told.largest,
        "quartiles": [told.lower_quartile, told.median, told.upper_quartile],
        "uniques": told.uniques,
        "unique_share": told.unique_share,
        "histogram": list(told.histogram),
    }


def _covariance(groups: Groups, columns: list[FloatArray]) -> dict[str, Any] | None:
    """The covariance test of all numeric responses together."""
    if not columns:
        return None
    y = np.stack(columns, axis=1)
    known = np.isfinite(y).all(axis=1)
    if not known.all():
        groups = group([groups.labels[known]])
    p = numeric.covariance_test(groups, y[known]) if known.any() else None
    if p is None:
        return None
    return {
        "responses": y.shape[1],
        "smallest": float(p.min()),
        "below_0.05": float((p < 0.05).mean()),
        "quantiles": {f"{q:.2f}": float(np.quantile(p, q)) for q in (0.25, 0.5, 0.75)},
    }


def _outside(
    pair: Pair, refit: Refit | None, control: Table | None, random_state: int, tell: Tell
) -> list[Outside]:
    """People who took no part: those given, or those left out of releases made again."""
    if control is not None:
        return [given(pair, control)]
    if refit is None or pair.n_rows < FOLDS:
        return []
    try:
        return list(left_out(pair, refit, random_state=random_state, tell=tell))
    except HedgerowError:  # who measures inference says why
        return []


def _attacks(
    pair: Pair,
    control: Table | None,
    outside: Sequence[Outside],
    people: int,
    learners: Sequence[str] | None,
    random_state: int,
    tell: Tell,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from .risk.attacks import regression_attacks
    from .risk.downcoding import downcoding
    from .risk.influence import influence
    from .risk.linkage import linking_attacks
    from .risk.membership import membership
    from .risk.singling_out import singling_out

    found = regression_attacks(
        pair,
        control=control,
        learners=learners or LEARNERS,
        people=people,
        random_state=random_state,
        progress=tell,
    )
    found += linking_attacks(pair, people=people, progress=tell)
    tell("singling out")
    found += singling_out(pair, outside, random_state=random_state)
    found += downcoding(pair, people=people, progress=tell)
    found += membership(outside, people=people, random_state=random_state, progress=tell)
    tell("which columns give people away")
    return found, influence(pair)


def versions() -> dict[str, str]:
    """The versions that made the numbers."""
    from .. import __version__

    out = {"hedgerow": __version__, "python": platform.python_version()}
    return out | {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
