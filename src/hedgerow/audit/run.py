"""Run every measure on a pair of tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

from ..arguments import FLAG, LIST, NAMES, NUMBER, PROGRESS, SEED, TEXT, takes, whole
from ..errors import HedgerowError, ParameterError
from ..plan import Plan
from ..progress import Progress, Tell, telling
from ..release.cautions import extremes_in_words, rare_ends
from ..schema import SCHEMA, Schema
from ..table import Table, read
from .alone import audit_alone
from .histograms import histograms
from .inference import infer
from .outside import FOLDS, Outside, Refit, check_control, given, left_out, refitting
from .pairing import Pair, pair_up
from .per_person import per_person as certificates
from .result import Audit
from .risk.altered import linkage_summary
from .risk.composition import composition, other_releases
from .risk.groups import released_risk, unprotected_risk
from .risk.learners import LEARNERS, check_learners
from .risk.other_columns import other_columns
from .risk.population import journalist_risk
from .shown import shown
from .sides import Sides
from .subject import Subject, Unpaired, UnreadCells, check_extent, subject
from .unpaired.tables import Apart, apart
from .utility.distributions import distribution_summary
from .utility.loss import loss_summary, loss_unpaired
from .utility.queries import query_summary


@takes(
    schema=SCHEMA,
    k=whole(),
    threshold=NUMBER,
    others=LIST,
    people=whole(),
    learners=NAMES,
    random_state=SEED,
    paired=FLAG,
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
    paired: bool | None = None,
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

    Works on any released file, whoever made it. A method that alters values (noise,
    swapping, randomized response ...) is judged by how well its records are linked with
    their originals, not by classes of equal cells. Files whose rows belong to nobody
    (synthetic data) or cannot be paired are judged by attacks on people who took part,
    beside the same attacks on people who did not (`control`).

    No table of all pairs of people, rows or values is made: memory grows with the rows (about
    1.5 KB each with ten quasi-identifiers), and learners are trained on 20,000 different rows of at
    most 62 features a quasi-identifier. A million rows, one column of 80,000 values, take 2 GB with
    everything (`benchmarks/audit.py --attacks`).

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation
        The table before, or None. Of a release alone (None) its groups are measured, and what they tell
        beside its own totals; so they are where cells cannot be read. What was not measured is
        None, and `not_measured` of the data says why.
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
    paired : bool, optional
        False: compare no row with its original, whatever the number of rows; True: refuse
        tables whose rows cannot be paired. By default rows are paired where something tells
        which belong together, and a note says when nothing does.
    attacks : bool
        Run the regression, linking, singling-out, downcoding and membership attacks.
    learning : bool
        Compare learning from the release with learning from the original.
    inference : bool, optional
        Measure what learners infer about members and strangers (`hedgerow.inference`); by
        default as `attacks`. Strangers are the people of `control`, or those whom the method of a
        `Release` leaves out as it releases the rest again.
    control : frame or path, optional
        People who are not in the original, for the attacks' control; without it
        the same people with their own rows withheld, and where rows are not paired nobody.
        Membership needs them, or a `Release`, whose method releases parts of the people again.
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
    by_person = bool(others) or per_person
    if by_person and paired is False:
        raise ParameterError("what is told person by person needs rows that are paired")
    tell = telling(progress)
    tell("pairing the tables")
    what = subject(released, schema, plan)
    strangers = None if control is None else read(control, schema=what.schema)
    parameters = {
        "key": key,
        "threshold": threshold,
        "people": people,
        "random_state": random_state,
        "k": what.k if k is None else k,
        "paired": paired,
        "control": "nobody" if strangers is None else "other people",
        "others": len(others),
        "population": population is not None,
        "weights": weights,
        "allow_outside": allow_outside,
    }
    if original is None:
        _needs_no_original(
            key=key,
            paired=by_person or paired,
            control=strangers,
            population=population is not None,
        )
        return audit_alone(what, None, None, parameters, versions())
    try:
        sides = _sides(original, what, key, by_person or paired, strangers, allow_outside)
    except UnreadCells as error:
        before_it = read(original, schema=what.schema)
        return audit_alone(what, before_it, error, parameters, versions())
    check_extent(sides.original, what.schema)
    if strangers is not None:
        check_control(sides.original, strangers, what.schema)
    plain: Pair | Apart = sides.measured or sides if isinstance(sides, Apart) else sides
    k = what.k if k is None else k
    if population is not None:
        population = read(population, schema=what.schema)
    journalist = journalist_risk(plain, population, weights)
    each = None
    if per_person and isinstance(plain, Pair):
        each = certificates(plain, journalist, key)
    unprotected = None
    if population is None and weights in plain.original.names:
        unprotected = journalist_risk(plain.unchanged, None, weights)
    tell("classes, disclosure and utility")
    before, after, loss, distributions, queries = _together(
        lambda: unprotected_risk(plain.unchanged, unprotected, threshold),
        lambda: released_risk(plain, journalist, threshold),
        lambda: loss_summary(plain, k) if isinstance(plain, Pair) else loss_unpaired(plain, k),
        lambda: distribution_summary(plain),
        lambda: query_summary(plain, random_state=random_state),
    )
    scatters = {name: column.pop("scatter") for name, column in after["sensitive"].items()}
    for column in before["sensitive"].values():
        column.pop("scatter")
    risk: dict[str, Any] = {"original": before, "release": after, "influence": [], "nearest": None}
    risk["other"] = other_columns(sides.released, what.schema)
    if sides.yardstick == "linkage" and isinstance(sides, Pair):
        risk["linkage"] = linkage_summary(
            sides, people=people, random_state=random_state, tell=tell
        )
    refit = refitting(what.method, what.schema) if what.method is not None else None
    outside: list[Outside] = []
    found: list[dict[str, Any]] = []
    if attacks and isinstance(sides, Pair):
        outside = _outside(sides, refit, strangers, random_state, tell)
        found, risk["influence"] = _attacks(
            sides, strangers, outside, people, learners, random_state, tell
        )
    elif attacks and isinstance(sides, Apart):
        found, risk["nearest"] = _attacks_apart(sides, people, learners, random_state, tell)
    risk["composition"] = None
    if others and isinstance(sides, Pair):
        tell("what the releases tell together")
        told = other_releases(sides, others, key)
        risk["composition"], more = composition(sides, told, k=k)
        found += more
    risk["inference"] = None
    if (attacks if inference is None else inference) and what.schema.sensitive:
        risk["inference"] = _inferred(
            sides, refit, strangers, outside, learners or LEARNERS, random_state, tell
        )
    utility: dict[str, Any] = {
        "loss": loss,
        "distributions": distributions,
        "queries": queries,
        "learning": [],
    }
    if learning and what.schema.sensitive:
        from .utility.models import learning as learn
        from .utility.models import learning_apart

        utility["learning"] = (
            learning_apart(sides, random_state=random_state, progress=tell)
            if isinstance(sides, Apart)
            else learn(sides, random_state=random_state, progress=tell)
        )
    extremes = {} if k is None else _extremes(plain, k)
    return Audit(
        table={
            "rows": sides.n_rows,
            "original_rows": sides.original.n_rows,
            "strangers": 0 if strangers is None else strangers.n_rows,
            "paired": isinstance(sides, Pair),
            "alone": False,
            "suppressed": sides.suppressed,
            "quasi": list(what.schema.quasi),
            "sensitive": list(what.schema.sensitive),
            "identifiers": list(what.schema.identifiers),
            "yardstick": plain.yardstick,
            "released_columns": sides.released.names,
            "extremes": extremes,
            "notes": [
                *plain.notes,
                *(extremes_in_words(n, k or 0, e) for n, e in extremes.items()),
            ],
        },
        risk=risk,
        attacks=found,
        utility=utility,
        pictures={"histograms": histograms(plain), "scatters": scatters},
        parameters=parameters | {"control": _control(strangers, sides)},
        versions=versions(),
        per_person=each,
        shown=shown(sides) if isinstance(sides, Pair) else None,
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


def _needs_no_original(**given: Any) -> None:
    asked = [name for name, value in given.items() if value]
    if asked:
        raise ParameterError(f"{', '.join(asked)} need an original to compare with")


def _sides(
    original: Any,
    what: Subject,
    key: str | None,
    paired: bool | None,
    strangers: Table | None,
    allow_outside: bool,
) -> Pair | Apart:
    """Both tables side by side, row by row where something tells which belong together."""
    if paired is False:
        if key is not None:
            raise ParameterError(f"the key {key!r} pairs rows that shall not be paired")
        return apart(original, what, strangers)
    try:
        return pair_up(original, what, key=key, allow_outside=allow_outside)
    except Unpaired as error:
        if paired:
            raise
        return apart(original, what, strangers, why=error.message)


def _control(strangers: Table | None, sides: Pair | Apart) -> str:
    if strangers is not None:
        return "other people"
    return "withheld rows" if isinstance(sides, Pair) else "nobody"


def _extremes(pair: Sides, k: int) -> dict[str, dict[str, int]]:
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
    strangers: Table | None,
    outside: Sequence[Outside],
    people: int,
    learners: Sequence[str] | None,
    random_state: int,
    tell: Tell,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from .risk.attacks import regression_attacks
    from .risk.downcoding import downcoding
    from .risk.influence import influence
    from .risk.linking import linking_attacks
    from .risk.membership import membership
    from .risk.predicates import predicate_singling_out

    found = regression_attacks(
        pair,
        control=strangers,
        learners=learners or LEARNERS,
        people=people,
        random_state=random_state,
        progress=tell,
    )
    found += linking_attacks(pair, people=people, progress=tell)
    tell("predicate singling out")
    found += predicate_singling_out(pair, outside, random_state=random_state)
    found += downcoding(pair, people=people, progress=tell)
    found += membership(outside, people=people, random_state=random_state, progress=tell)
    tell("which columns give people away")
    return found, influence(pair)


def _attacks_apart(
    tables: Apart, people: int, learners: Sequence[str] | None, random_state: int, tell: Tell
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    from .unpaired.learning import regression
    from .unpaired.linking import linking
    from .unpaired.membership import membership
    from .unpaired.singling_out import singling_out

    found = regression(
        tables,
        learners=learners or LEARNERS,
        people=people,
        random_state=random_state,
        progress=tell,
    )
    tell("linking attack: best match and two files")
    linked, near = linking(tables, people=people)
    tell("singling out")
    found += [*linked, *singling_out(tables, people=people, random_state=random_state)]
    found += membership(tables, people=people, random_state=random_state, progress=tell)
    return found, near


def _inferred(
    sides: Pair | Apart,
    refit: Refit | None,
    control: Table | None,
    outside: Sequence[Outside],
    learners: Sequence[str],
    random_state: int,
    tell: Tell,
) -> dict[str, Any]:
    """What learners infer about members and strangers."""
    if isinstance(sides, Apart):
        from .unpaired.inference import infer_apart

        found = infer_apart(sides, learners=learners, random_state=random_state, tell=tell)
    else:
        found = infer(
            sides,
            refit,
            control=control,
            learners=learners,
            random_state=random_state,
            progress=tell,
            without=outside,
        )
    return found.to_dict()


def versions() -> dict[str, str]:
    """The versions that made the numbers."""
    from .. import __version__

    out = {"hedgerow": __version__, "python": platform.python_version()}
    return out | {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
