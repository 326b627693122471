"""Measure what learners infer from a release: about its people, and about people who are not in it.

A cap limits what a person's group discloses. This file measures what a learner infers from all
groups together: it is trained on the released cells as a recipient decodes them, and forecasts for
true quasi-identifiers. For people in the table (members) it uses the general rule and what the table
reveals about them; for people left out (strangers) only the rule. The difference is the member
advantage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, NotRequired, TypedDict, cast

import numpy as np

from ..columns.column import Column
from ..columns.table import Table
from ..errors import HedgerowError, ParameterError
from ..io.read import read
from ..json_types import Figures, Length
from ..measures import Floats, Ints
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check
from ..methods.base import Method
from ..methods.mart import MART
from ..notation import figure, plain
from ..progress import Progress, Tell, telling
from ..release import Release, make_release
from ..schema import SCHEMA, Schema
from ..texts import text
from ..validation import METHOD, NAMES, PROGRESS, SEED, Kind, check, is_number, takes, whole
from .design_matrix import OUTSIDE, shown_values, true_values
from .figure import Figure
from .learners import LEARNERS, MOST_CLASSES, TrainingSet, attackers, nearest_of
from .non_members import Outside, Refit, left_out, read_control, refitting
from .pairing import pair_up
from .side_by_side import by_units
from .subject import of_release
from .table_pair import Asked, Pair, TablePair, evenly, spread

# people who are asked about; of a larger table as many, spread evenly over its sorted values
MOST_ASKED = 5_000
# minimum leaf size of the tree in which the worst tenth is searched for
CELL = 10


class ExplainedShare(TypedDict):
    """A share of the public squared error (categories: Brier score) that is taken off, with its 95% interval."""

    explained: float
    interval: Annotated[Sequence[float], Length(2)]
    learner: NotRequired[str]


class WorstTenth(TypedDict):
    """The share explained of the tenth of the members who are best explained, and the learner that explains it."""

    explained: float
    learner: str


class _Inferred(TypedDict):
    """The shares explained of members and of strangers, and their difference."""

    members: ExplainedShare | None
    strangers: ExplainedShare | None
    advantage: ExplainedShare | None


class InferredByLearner(_Inferred):
    """The shares that one learner explains of members and of strangers; ``advantage`` is the difference."""

    worst_tenth: float


class InferredColumn(_Inferred):
    """The shares of a column that the best learner explains of members and of strangers, and those of each learner."""

    worst_tenth: WorstTenth
    learners: Mapping[str, InferredByLearner]


class InferenceData(TypedDict):
    """Inference about members and strangers by learners, and by what groups say."""

    columns: Mapping[str, InferredColumn]
    learners: Sequence[str]
    asked: int
    rows: int
    classes: int
    trained: int
    folds: int
    notes: Sequence[str]


@dataclass(frozen=True)
class Inference:
    """The share of each sensitive column that learners can infer from a release.

    Parameters
    ----------
    columns : mapping of str to mapping
        Per sensitive column ``members``, ``strangers``, ``advantage``, ``worst_tenth`` (the
        learner that explains most, with ``interval``), and ``learners`` with each of them.
        All are shares of the public squared error (numbers: R squared) or Brier score (categories)
        that the learner removes: 1 is all of it, 0 or less is nothing. ``strangers`` and
        ``advantage`` are None if there are no strangers.
    learners : tuple of str
        Names of the trained learners.
    asked, rows : int
        Number of people attacked, and of people in the table.
    classes, trained : int
        Different released rows, and how many of them learners were trained on.
    folds : int
        Parts in which strangers were left out; 0 where they are the control, or not measured.
    notes : tuple of str
        Why something was not measured.
    """

    columns: Mapping[str, Figures]
    learners: tuple[str, ...]
    asked: int
    rows: int
    classes: int
    trained: int
    folds: int
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> float:
        """Return the largest share any learner explains of any column, over all members or the worst tenth."""
        return max(
            (c[who]["explained"] for c in self.columns.values() for who in ("members", "worst_tenth")), default=0.0
        )

    @property
    def advantage(self) -> float | None:
        """Return the largest member advantage of any column; None if strangers were not measured."""
        return max((c["advantage"]["explained"] for c in self.columns.values() if c["advantage"]), default=None)

    def to_dict(self) -> InferenceData:
        """Return the result as a plain dict."""
        return plain(asdict(self))

    def __str__(self) -> str:
        lines = [f"{name}: {in_words(column)}" for name, column in self.columns.items()]
        learners = ", ".join(self.learners)
        lines.append(text("inference", "attackers", **(vars(self) | {"learners": learners})))
        return "\n".join([*lines, *self.notes])


def in_words(column: Figures) -> str:
    """Return one line on what is inferred about members and strangers in a column."""
    members, worst = column["members"], figure(column["worst_tenth"]["explained"])
    sentence = text("inference", "members", members=_share_in_words(members), learner=members["learner"], worst=worst)
    if column["strangers"] is None:
        return text("inference", "no_strangers", members=sentence)
    strangers, advantage = map(_share_in_words, (column["strangers"], column["advantage"]))
    return text("inference", "strangers", members=sentence, strangers=strangers, advantage=advantage)


def _share_in_words(share: Figures) -> str:
    low, high = share["interval"]
    return f"{figure(share['explained'])} [{figure(low)}, {figure(high)}]"


@takes(schema=SCHEMA, method=METHOD, folds=whole(), learners=NAMES, random_state=SEED, progress=PROGRESS)
def inference(
    people: Any,
    schema: Schema,
    method: Method | None = None,
    release: Release | None = None,
    *,
    control: Any = None,
    folds: int = 3,
    learners: Sequence[str] = LEARNERS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Inference:
    """Measure what learners trained on a release infer about members and about strangers.

    Every learner is trained on the released cells as a recipient decodes them (ranges at their
    midpoint, joined categories as shares; neighbours by their distance from cells, 0 inside), and
    predicts from true quasi-identifiers. If values are published by group (Anatomy), every record
    has all values of its group, by their shares. Three more attackers know the released groups.
    "group" predicts the mean or the shares of the person's group. "group counts" is naive Bayes on
    the counts of all groups (Kifer 2009), if values are published by group. "group corrected" adds to
    the group's mean the difference between a learner's forecasts for the person and for the group's
    other members, whose quasi-identifiers it knows.

    Members are people in the release. Strangers are the people of a control, or of the fold left out
    when the method is refitted on all other folds; nobody is left out of the release itself. Figures
    are the share of the error of guessing from public totals that the learner removes: R squared, or
    1 - Brier / public Brier for categories. For the *worst tenth*, people are sorted into the
    cells of an uncapped tree on the original (``MART(k=10, max_disclosure=None)``), and the share
    is pooled over the cells that the learner explains best, until they contain a tenth of the
    people. There a record's public loss counts at least a quarter of the average, so that guessing
    a value that nearly everybody has is not counted as disclosure.

    The figures hold for the named attackers and bound no others.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation
        The original.
    schema : Schema
        Its roles; at least one sensitive column.
    method : Method, optional
        An unfitted method; that of `release` by default.
    release : Release, optional
        What was released; by default `method` protects the people.
    control : path or frame, optional
        People who are not in the original: the strangers, instead of people left out.
    folds : int
        Parts that strangers are dealt into, at least 2; 0 leaves strangers out.
    learners : sequence of {"tree", "gradient boosting", "nearest", "linear", "group", \
"group counts", "group corrected"}
        The attackers. "nearest" uses the 10 nearest neighbours; ties share their weight. Attackers that
        do not apply to the release are left out. If values were altered, a person's group is the
        nearest group of equal released rows, and it is not corrected.
    random_state : int
        Deals folds and bootstrap samples.
    progress : callable, optional
        Called with each step and None; an exception from it stops the work.

    Returns
    -------
    Inference

    Raises
    ------
    ParameterError
        No sensitive column, no method, unknown learners, or folds out of range.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(600, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> found = hr.inference(people, schema, hr.MART(k=5), learners=["tree"])
    >>> income = found.columns["income"]
    >>> income["members"]["explained"] > income["strangers"]["explained"]
    True
    """
    if not schema.sensitive:
        raise ParameterError("there is no sensitive column to infer", hint="name one in the schema")
    if method is None and release is None:
        raise ParameterError("give a method or a release")
    table = read(people, schema=schema)
    if folds > table.n_rows:
        raise ParameterError(f"folds must be at most the number of rows, not {folds}")
    if release is None:
        assert method is not None
        release = make_release(table, schema, method, progress=progress)
    what, original, _ = by_units(of_release(release, schema), table, schema)
    assert original is not None
    table, schema, pair = original, what.schema, pair_up(original, what)
    refit = refitting(
        release.method if method is None else method, schema, release.plan.guard, random_state, what.units
    )
    notes: tuple[str, ...] = ()
    if control is not None:
        strangers, notes = read_control(control, table, schema)
        pair = replace(pair, strangers=pair.people_of(strangers))
    inferred = infer(pair, refit, folds=folds, learners=learners, random_state=random_state, progress=progress)
    return replace(inferred, notes=(*notes, *inferred.notes))


def infer(
    sides: TablePair,
    refit: Refit | None = None,
    *,
    folds: int = 3,
    learners: Sequence[str] = LEARNERS,
    random_state: int = 0,
    progress: Progress | None = None,
    without: Sequence[Outside] = (),
) -> Inference:
    """Measure the inference (see `inference`) of a pair of tables; without strangers, `refit` leaves people out.

    `without` are the results of `left_out`, if they exist already.
    """
    trial = _Losses(attackers(sides, learners), random_state, telling(progress))
    if folds < 0 or folds == 1:
        raise ParameterError(f"folds must be at least 2, or 0 for none, not {folds}")
    thinned = evenly if sides.is_paired else spread
    people_asked, near, members = [], [], np.zeros(0, np.int64)
    for people in sides.people:
        values = [true_values(column) for column in people.sensitive]
        rows = thinned(sides.order_of(people, *values), MOST_ASKED)
        quasi, released = people.values_for(sides.released_quasi, rows), sides.rows_of(people, rows)
        people_asked.append(Asked(quasi, [each[rows] for each in values], released))
        if people is sides.members:
            members = rows
            near += [rows] if sides.is_paired else []
        # without a row of their own the learner must at least see the rows around them
        if not (released >= 0).any():
            near.append(nearest_of(sides.released_quasi, sides.classes, quasi))
    losses_outside: dict[str, dict[str, Floats]] | None = None
    notes = []
    if sides.strangers is not None:
        pass
    elif refit is None and not without:
        # of rows without pairs the notes of the audit say so
        notes += [text("inference", "no_control")] if sides.is_paired else []
    elif folds > sides.n_rows:
        notes.append(text("inference", "few_people", people=sides.n_rows, folds=folds))
    elif folds:
        assert isinstance(sides, Pair)
        try:
            drawing: Any = {"random_state": random_state, "progress": trial.report}
            parts = without or left_out(sides, cast(Refit, refit), folds=folds, **drawing)
            losses_outside = trial.losses_left_out(sides, members, parts)
        except HedgerowError as error:
            notes.append(text("inference", "refit_failed", why=error.message))
    columns, silent, everybody = {}, [], Asked.joined(people_asked)
    for j, sensitive in enumerate(sides.sensitive):
        training = training_set(sides, j, np.concatenate(near))
        truth = [people.values[j] for people in people_asked]
        base = [public_loss(sensitive, each) for each in truth]
        there = [np.flatnonzero(np.isfinite(each)) for each in base]
        ends = np.cumsum([len(each) for each in truth])[:-1]
        losses = trial.losses(training, sensitive, everybody, everybody.values[j])
        by_people = [
            {name: np.split(every, ends)[i][some] for name, every in losses.items()} for i, some in enumerate(there)
        ]
        theirs: Mapping[str, Floats] | None = None
        if losses_outside is not None:
            theirs = {name: every[there[0]] for name, every in losses_outside[sensitive.name].items()}
        elif len(people_asked) > 1 and len(there[1]):
            theirs = by_people[1]
        elif len(people_asked) > 1:
            silent.append(sensitive.name)
        cells = _tree_cells(sides.unchanged, sensitive.name, sides.original_rows(members)[there[0]])
        others = None if losses_outside is not None or theirs is None else base[1][there[1]]
        columns[sensitive.name] = in_shares(base[0][there[0]], by_people[0], theirs, cells, random_state, others)
    if silent:
        notes.append(text("inference", "no_value", names=", ".join(silent)))
    n_people = round(sides.n_rows * sides.people_per_row)
    n_classes = sides.classes.n_groups
    trained = min(n_classes, MOST_CLASSES)
    n_folds = folds if losses_outside is not None else 0
    return Inference(columns, trial.learners, len(members), n_people, n_classes, trained, n_folds, tuple(notes))


def training_set(sides: TablePair, j: int, members: Ints) -> TrainingSet | None:
    """Return the training data for sensitive column j; None if the release shows none of its values."""
    column = sides.sensitive[j]
    target = shown_values(column, sides.released_sensitive[j])
    training = TrainingSet.from_tables(sides, sides.released_quasi, j, target, column.is_number, members)
    return training if training.counts.n_groups else None


@dataclass(frozen=True)
class _Losses:
    """A calculator for the losses of several learners, all with the same random state."""

    learners: tuple[str, ...]
    random_state: int
    report: Tell

    def losses(
        self, training: TrainingSet | None, column: Column, people_asked: Asked, truth: Any
    ) -> dict[str, Floats]:
        """Return each learner's loss on each person: squared error or Brier score."""
        if training is None:
            # there are no values to learn from, and public totals only where the original has some
            public = public_loss(column, truth) if column.n_values else np.full(len(truth), np.nan)
            return dict.fromkeys(self.learners, public)
        out = {}
        for learner in self.learners:
            self.report(f"inference of {column.name}: {learner}")
            guess = training.forecast(learner, people_asked.quasi, self.random_state, people_asked.released)
            if column.is_number:
                out[learner] = (truth - guess) ** 2
            else:
                # a category that the release does not show has no share
                at = np.minimum(truth, column.n_values)
                hit = guess[np.arange(len(truth)), at] * (truth < column.n_values)
                # (1 - p_true)^2 + the other p^2, without a one-hot matrix
                out[learner] = 1 - 2 * hit + (guess**2).sum(axis=1)
        return out

    def losses_left_out(self, pair: Pair, members: Ints, without: Iterable[Outside]) -> dict[str, dict[str, Floats]]:
        """Return the losses on members under releases made without them, by column and learner."""
        place = np.full(pair.n_rows, -1)
        place[members] = np.arange(len(members))
        out = {c.name: {learner: np.full(len(members), np.nan) for learner in self.learners} for c in pair.sensitive}
        for outside in without:
            rows = np.flatnonzero(place[outside.places] >= 0)
            if not len(rows):
                continue
            part, people = outside.sides, outside.people
            people_asked = Asked(people.values_for(part.released_quasi, rows), (), np.full(len(rows), OUTSIDE))
            for j, column in enumerate(part.sensitive):
                training = training_set(part, j, np.zeros(0, np.int64))
                losses = self.losses(training, column, people_asked, true_values(people.sensitive[j], rows))
                for learner, each in losses.items():
                    out[column.name][learner][place[outside.places[rows]]] = each
        return out


def public_loss(column: Column, truth: Any) -> Floats:
    """Return each person's loss if values are guessed from public totals; NaN for a missing value."""
    counts = column.counts()[: column.n_values].astype(np.float64)
    shares = counts / max(counts.sum(), 1.0)
    if column.is_number:
        return np.asarray((truth - float(shares @ np.asarray(column.values, np.float64))) ** 2)
    each = 1 - 2 * np.append(shares, [0.0, 0.0])[truth] + float(shares @ shares)
    return np.where(truth == column.n_values, np.nan, each)


def _tree_cells(before: TablePair, name: str, rows: Ints) -> Ints:
    """Grow a tree without a cap for one column on part of the people, and return each person's leaf."""
    schema = before.schema
    quasi = [n for n, c in zip(schema.quasi, before.quasi, strict=True) if (c.codes[rows] < c.n_values).any()]
    codes = before.sensitive[schema.sensitive.index(name)].codes[rows]
    # too few people for a tree of two cells, or nothing to split them by, or to tell them apart
    if len(rows) < 2 * CELL or not quasi or (codes == codes[0]).all():
        return np.zeros(len(rows), np.int64)
    events = {column: each for column, each in schema.events.items() if column == name}
    alone = schema.replace(quasi=tuple(quasi), sensitive=(name,), unit=None, grid={}, follows={}, events=events)
    tree = MART(k=CELL, max_disclosure=None).fit_table(Table(before.original.arrow.take(rows)), alone)
    return np.asarray(tree.tree_.leaf_of_rows(), np.int64)


# bootstrap samples of the people asked
REPEATS = 500


def in_shares(
    base: Floats,
    members: Mapping[str, Floats],
    strangers: Mapping[str, Floats] | None,
    cells: Ints,
    random_state: int,
    others: Floats | None = None,
) -> Figures:
    """Return the share that each learner and the best one explain, with intervals.

    `others` are the public losses of strangers who are other people than the members.
    """
    shares = _resampled(base, random_state)
    by_learner = {name: shares(errors) for name, errors in members.items()}
    best = max(by_learner, key=lambda name: float(by_learner[name][0]))
    tenth = {name: _worst_tenth(base, errors, cells) for name, errors in members.items()}
    hardest = max(tenth, key=lambda name: tenth[name])
    n_others = len(base) if others is None else len(others)
    n = min(len(base), n_others)
    theirs = shares if others is None else _resampled(others, random_state + 1)
    other = {name: theirs(errors) for name, errors in (strangers or {}).items()}
    # nobody does worse than guessing from public totals: the figures of the best learner end at 0
    reached = np.maximum(by_learner[best], 0.0)
    out: dict[str, Any] = {
        "members": _share(reached, len(base)) | {"learner": best},
        "strangers": None,
        "advantage": None,
        "worst_tenth": {"explained": max(tenth[hardest], 0.0), "learner": hardest},
        "learners": {
            name: {
                "members": _share(by_learner[name], len(base)),
                "strangers": _share(other[name], n_others) if other else None,
                "advantage": _share(by_learner[name] - other[name], n, -1.0) if other else None,
                "worst_tenth": tenth[name],
            }
            for name in by_learner
        },
    }
    if other:
        rule = max(other, key=lambda name: float(other[name][0]))
        out["strangers"] = _share(np.maximum(other[rule], 0.0), n_others) | {"learner": rule}
        out["advantage"] = _share(reached - np.maximum(other[rule], 0.0), n, -1.0)
    return out


def _resampled(base: Floats, random_state: int) -> Callable[[Floats], Floats]:
    """Return a function from per-person losses to the share explained: for all people, then per bootstrap sample."""
    n = len(base)
    # one set of samples for all learners: differences between them are paired
    draws = np.random.default_rng(random_state).multinomial(n, np.full(n, 1 / max(n, 1)), size=REPEATS if n else 0)
    # the first row weighs everybody once: the figure itself stands before its bootstrap samples
    weights = np.vstack([np.ones((1, n)), draws])
    spread = weights @ base

    def shares(errors: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 0, 1 - (weights @ errors) / spread, 0.0)

    return shares


def _share(shares: Floats, n: int, least: float = 0.0) -> ExplainedShare:
    """Return the share over all people, with the 95% interval of the bootstrap; of one person it is [least, 1]."""
    value = float(shares[0])
    if n < 2:  # all samples of one person are the same, and say nothing of others
        return {"explained": value, "interval": [min(value, least), 1.0]}
    low, high = np.quantile(shares[1:], [0.025, 0.975])
    return {"explained": value, "interval": [float(low), float(high)]}


def _worst_tenth(base: Floats, errors: Floats, cells: Ints) -> float:
    """Return the share explained in the best explained cells, which together contain a tenth of the people."""
    n = len(base)
    if not n:
        return 0.0
    # the floor of each record keeps what nearly everybody shares from counting as a secret
    floored = np.maximum(base, base.mean() / 4)
    size = np.bincount(cells)
    gain, spread = np.bincount(cells, base - errors), np.bincount(cells, floored)
    filled = np.flatnonzero(size)
    size, gain, spread = size[filled], gain[filled], spread[filled]
    share = np.divide(gain, spread, out=np.zeros(len(filled)), where=spread > 0)
    order = np.argsort(-share, kind="stable")
    before = np.cumsum(size[order]) - size[order]
    # the last cell counts in part, so that exactly a tenth of the people is looked at
    part = np.clip((n / 10 - before) / size[order], 0.0, 1.0)
    total = float(part @ spread[order])
    return float(part @ gain[order]) / total if total > 0 else 0.0


class InferenceBound:
    """A check that no named attacker explains more than a set share of any sensitive column.

    The share is measured over all members and over the worst tenth (see `hedgerow.inference`),
    with these learners only: it bounds no other attacker.

    Parameters
    ----------
    most : float, in (0, 1)
        The largest share.
    """

    def __init__(self, most: float) -> None:
        words = "a number between 0 and 1, the share of the public error that learners may take off"
        check("max_inference", most, Kind(words, lambda v: is_number(v) and 0 < v < 1))
        self.most = float(most)
        self._measured: tuple[Table, Inference] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters to store in the plan."""
        learners = self._measured[1].learners if self._measured else LEARNERS
        return {"max_inference": self.most, "max_inference_learners": list(learners)}

    def measure(self, release: Release, progress: Progress | None = None) -> Inference:
        """Measure what the learners infer, once per released table."""
        # parameters and check are asked of the same table: its learners are trained once
        if self._measured is None or self._measured[0] is not release.released:
            what = of_release(release)
            what, _, _ = by_units(what, None, what.schema)
            self._measured = release.released, infer(pair_up(release.original, what), progress=progress)
        return self._measured[1]

    def __call__(self, release: Release, progress: Progress | None = None) -> Check:
        """Check a release in its current state."""
        inference = self.measure(release, progress)
        holds = inference.reached <= self.most + SLACK
        detail = text("inference", "bound", learners=", ".join(inference.learners))
        return Check("inference (measured)", self.most, inference.reached, holds, detail)


FIGURES = (
    Figure(
        {"risk.inference": InferenceData | None},
        lambda t: infer(t.sides, t.refit, learners=t.learners, without=t.non_members, **t.drawing).to_dict(),
        needs=("inference", "sensitive columns"),
    ),
)
