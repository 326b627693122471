"""Risk figures of the classes of one table, original or released: sizes, disclosure, population."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import and_
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, identity

from ..columns.column import Column
from ..columns.roles import AttackedAs, check_weights
from ..columns.table import Table
from ..errors import InputError, ParameterError
from ..json_types import Amount, Count, Length, OrNull, Positive, Share, record_of
from ..kernels.exact_sums import total
from ..measures import (
    Classes,
    Counts,
    Floats,
    Groups,
    Ints,
    Persons,
    SensitiveCounts,
    class_measures,
    disclosure,
    group,
    sizes,
)
from ..measures.disclosure import Exposed
from ..measures.proper_scores import Public
from ..measures.sizes import Intruders, SizeBin, Uniqueness
from ..schema import Schema
from .column_comparison import BINS, Scatter, scatter
from .design_matrix import known_table, shown_values
from .group_learners import matrix_of
from .success import AttackTarget, Tolerance, relative
from .table_pair import Pair, TablePair


class PopulationSizes(TypedDict):
    """People of the population in the classes: the smallest, the average, all."""

    smallest: OrNull[Amount]
    average: OrNull[Amount]
    total: OrNull[Amount]


class Sizes(TypedDict):
    """Sizes of classes; ``k``, ``largest`` and ``quartiles`` in records."""

    k: Count
    classes: Count
    average_size: OrNull[float]
    largest: Count
    quartiles: Sequence[Count]
    uniques: Count
    unique_share: OrNull[Share]
    histogram: Sequence[SizeBin]


class ClassSizes(Sizes):
    """Sizes of the classes.

    ``people`` and ``households``: those of the smallest class, if the table says who they are; ``wildcard_k``: k if
    suppressed cells match anything.
    """

    people: Count | None
    wildcard_k: Count
    households: Count | None
    population: PopulationSizes | None


class HouseholdRisk(TypedDict):
    """The risk that anybody of a household is found: highest and average, and households and records expected."""

    households: Count
    highest: OrNull[Share]
    average: OrNull[Share]
    expected: OrNull[Amount]
    expected_records: OrNull[Amount]


class Reidentification(Intruders):
    """Re-identification risk by intruder."""

    threshold: OrNull[Share]
    household: HouseholdRisk | None


class DisclosureSummary(TypedDict):
    """The disclosure of the classes; the means count classes, or weight them by size.

    ``worst`` is the most exposed class, and ``scores`` the same for each score that the column is judged by.
    ``shares``: a histogram of the records by the disclosure of their class, in twentieths.
    """

    mean_over_groups: OrNull[float]
    mean_over_records: OrNull[float]
    worst: OrNull[float]
    median_over_records: OrNull[float]
    shares: Annotated[Sequence[float], Length(20)]
    scores: Mapping[str, float]


class Matching(TypedDict):
    """The share of records hit by the best guess for each class, and by the best public guess, at one tolerance."""

    means: str
    release: OrNull[Share]
    public: OrNull[Share]
    gain: OrNull[float]


Score = Literal["squared", "ranked", "Brier"]


class OriginalsDisclosure(TypedDict):
    """The share of the true values' public loss that forecasts by guarded groups remove, by their proper score."""

    score: Score
    mean_over_groups: Share
    mean_over_records: Share
    worst: Share


class SensitiveRisk(TypedDict):
    """The disclosure of one sensitive column by the classes.

    ``attacked_as``: how an attack names a value: exactly, or nearly right. ``t``: by the distance that fits the column.
    ``matching``: best guesses of a number by tolerance. ``smallest_cell``: records, or people, of the smallest class by
    value that has any; None for a number of more than `CATEGORIES` values. ``originals``: of guarded releases.
    """

    kind: str
    attacked_as: AttackedAs
    distinct_l: Count
    entropy_l: OrNull[float]
    recursive_c: float | None
    alpha: OrNull[Share]
    t_equal: OrNull[Share]
    t_ordered: Share | None
    t: Share
    t_distance: Literal["equal", "ordered"]
    basic_beta: OrNull[float]
    enhanced_beta: OrNull[float]
    enhanced_beta_holds: bool
    delta: OrNull[float]
    delta_classes_lacking_a_value: Count
    matching: Mapping[str, Matching] | None
    rsd: OrNull[Share]
    disclosure: DisclosureSummary
    exposed: Exposed
    smallest_cell: Positive | None
    originals: NotRequired[OriginalsDisclosure]


class ClassRisk(TypedDict):
    """The risk figures of the classes of one table."""

    classes: ClassSizes
    reidentification: Reidentification
    sensitive: Mapping[str, SensitiveRisk]
    uniqueness: Uniqueness | None


def released_risk(
    sides: TablePair,
    journalist: Population | None,
    threshold: float,
    size: int | None = None,
    matching: Ints | None = None,
    totals: Mapping[str, Ints] | None = None,
) -> tuple[ClassRisk, dict[str, Scatter]]:
    """Return the risk figures of the released classes, and a scatter of size and disclosure for each sensitive column.

    If rows were drawn, risk is measured in the groups of the plan. For the wildcard k, suppressed cells match
    any value. `size` is the number of people in the population, by default the total of `journalist`. `matching` is
    the number of records that match each class, if suppressed cells match any value in k, uniques and
    re-identification too. `totals` are each sensitive column's counts of values in all rows, if some are in no class.
    """
    groups, persons, columns = sides.planned or sides.classes, sides.persons, sides.released_sensitive
    valued = sides.planned or sides.value_groups
    counted = {name: column.judged for name, column in Classes.from_groups(valued, columns).sensitive.items()}
    for name, whole in (totals or {}).items():
        counts = counted[name].counts
        counted[name] = replace(counted[name], counts=replace(counts, whole=whole[: counts.n_values]))
    quasi = sides.released_quasi
    people = None if persons is None or persons.unit is None else persons.people(groups)
    homes = None if persons is None else persons.by_class(groups).households
    people = people if matching is None else matching
    people_or_records = groups.sizes if people is None else people
    risk, everybody = None, None if size is None else float(size)
    population: PopulationSizes | None = None
    if journalist is not None:
        risk, everybody = journalist.risk, journalist.total if size is None else size
        population = {
            "smallest": float(journalist.sizes.min()),
            "average": float(journalist.sizes.mean()),
            "total": journalist.total,
        }
    sensitive = {
        column.name: sensitive_summary(
            counted[column.name], sides.targets[column.name], smallest_cell(valued, column, persons)
        )
        for column in columns
    }
    if sides.guard is not None and sides.is_paired:
        originals = {n: column.judged for n, column in Classes.from_groups(valued, sides.sensitive).sensitive.items()}
        for true, column in zip(sides.sensitive, columns, strict=True):
            by_forecast, hits = of_true_values(valued, true, column, sides.targets[true.name])
            sensitive[true.name] |= {"originals": by_forecast, "matching": hits or sensitive[true.name]["matching"]}
            # drawn values may be all the same by chance, and true ones without being shown so
            sensitive[true.name]["exposed"] = disclosure.exposed(
                originals[true.name], originals[true.name].counts.sizes
            )
    homes_at_risk = household_risks(sides, (1.0 / people_or_records if risk is None else risk)[groups.labels])
    if sides.planned:
        wildcard_k = int(groups.sizes.min())
    elif matching is not None:
        wildcard_k = int(matching.min())
    else:
        wildcard_k = sizes.wildcard_k(groups, [c.codes for c in quasi], [c.wild[c.codes] for c in quasi])
    figures: ClassRisk = {
        "classes": {
            **_sizes(groups, matching),
            "people": None if people is None or matching is not None else int(people.min()),
            "households": None if homes is None else int(homes.min()),
            "wildcard_k": wildcard_k,
            "population": population,
        },
        "reidentification": {
            **sizes.attackers(groups.sizes, risk, threshold, people),
            "threshold": threshold,
            "household": None if homes_at_risk is None else _household_summary(*homes_at_risk),
        },
        "uniqueness": None if everybody is None else sizes.population_uniques(people_or_records, everybody),
        "sensitive": sensitive,
    }
    return figures, {column.name: _scatter(counted[column.name]) for column in columns}


def _scatter(column: SensitiveCounts) -> Scatter:
    return scatter(column.counts.sizes, column.scores.worst)


def _sizes(groups: Groups, matching: Ints | None) -> Sizes:
    """Return k, the number and sizes of classes, and uniques; k and uniques are those of `matching` if it is given."""
    summary, uniques = sizes.summary(groups.sizes), int(groups.sizes[groups.sizes == 1].sum())
    k = summary["smallest"]
    if matching is not None:
        k, uniques = int(matching.min()), int(groups.sizes[matching == 1].sum())
    return {
        "k": k,
        "classes": summary["groups"],
        "average_size": summary["mean"],
        "largest": summary["largest"],
        "quartiles": [summary["lower_quartile"], summary["median"], summary["upper_quartile"]],
        "uniques": uniques,
        "unique_share": uniques / int(groups.sizes.sum()),
        "histogram": summary["histogram"],
    }


# a number with at most this many distinct values is counted like categories
CATEGORIES = 20


def sensitive_summary(column: SensitiveCounts, target: AttackTarget, smallest_cell: int | None = None) -> SensitiveRisk:
    """Return every measure of one sensitive column as plain data.

    Parameters
    ----------
    column : SensitiveCounts
        Its values by class.
    target : AttackTarget
        How it is attacked.
    smallest_cell : int, optional
        The result of `smallest_cell`.
    """
    disclosed, counts = column.scores.worst, column.counts
    # diversity is that of known values (a class without any keeps its missing ones, as one); for the other measures a
    # missing value is a value
    is_value = counts.values != column.n_values
    valued = counts.some(is_value | (counts.per_group(is_value) == 0)[counts.groups])
    l = int(class_measures.distinct(valued).min())
    enhanced, holds = class_measures.enhanced_beta(counts)
    equal = ordered = float(class_measures.equal_distance(counts).max())
    has_order, is_ordered = column.kind != "categorical", column.kind == "ordinal" or target.is_number
    if has_order:
        ordered = float(class_measures.ordered_distance(counts).max())
    return {
        "kind": column.kind,
        "attacked_as": target.attacked_as,
        "distinct_l": l,
        "entropy_l": float(class_measures.entropy_l(valued).min()),
        # at l = 1 the definition says nothing about a class: the sum is the whole of it
        "recursive_c": float(class_measures.recursive_c(valued, l).max()) if l >= 2 else None,
        "alpha": float(class_measures.largest_share(valued).max()),
        "t_equal": equal,
        "t_ordered": ordered if has_order else None,
        # the distance that fits the column: numbers that are attacked as categories have equal distances
        "t": ordered if is_ordered else equal,
        "t_distance": "ordered" if is_ordered else "equal",
        "basic_beta": float(class_measures.basic_beta(counts).max()),
        "enhanced_beta": enhanced,
        "enhanced_beta_holds": holds,
        "delta": float(class_measures.delta_disclosure(counts).max()),
        "delta_classes_lacking_a_value": class_measures.classes_lacking_values(counts),
        "matching": matching(counts, column.by_code, target.tolerances) if column.is_number else None,
        "rsd": total(disclosure.rsd(column)) / len(counts.sizes),
        "disclosure": disclosure_summary(disclosed, counts.sizes, column.scores.by_score),
        "exposed": disclosure.exposed(column, counts.sizes),
        "smallest_cell": smallest_cell,
    }


def score_vectors(column: Column) -> tuple[Score, csr_array]:
    """Return the name of a column's proper score, and a vector for each value; shape (n_values, width)."""
    if column.is_number:
        return "squared", csr_array(np.asarray(column.by_code[: column.n_values], np.float64)[:, None])
    if column.kind == "ordinal":
        cuts = Public(column.value_counts).cuts
        return "ranked", csr_array((np.arange(column.n_values)[:, None] <= cuts).astype(np.float64))
    return "Brier", csr_array(identity(column.n_values, format="csr"))


def of_true_values(
    groups: Groups, column: Column, released: Column, target: AttackTarget
) -> tuple[OriginalsDisclosure, dict[str, Matching]]:
    """Return what guarded groups tell of their members' true values.

    Parameters
    ----------
    groups : Groups
        The released classes.
    column, released : Column
        The true and the released values of their rows.
    target : AttackTarget

    Returns
    -------
    OriginalsDisclosure
    dict of str to Matching
        As of `matching`, for guesses chosen by the released values that hit the true ones; empty for categories.
    """
    name, vectors = score_vectors(column)
    codes, values = shown_values(column, released)
    counts, n_values = column.value_counts.counts, column.n_values
    n, public, released_values = max(int(counts.sum()), 1), counts @ vectors / max(int(counts.sum()), 1), vectors
    if column.is_number:
        # centred, so that squares of large numbers do not cancel
        vectors, released_values = (csr_array(v[:-1, None] - public) for v in (column.by_code, values))
        public = np.zeros(1)

    def by_group(codes: npt.NDArray[Any], n_codes: int) -> Any:
        cells = Counts.from_codes(groups, codes, n_codes + 1)
        return matrix_of(cells, cells.counts.astype(np.float64))[:, :n_codes]

    mine, by_release = by_group(column.codes, n_values), by_group(codes, released_values.shape[0])
    loss = vectors.power(2).sum(axis=1) - 2 * (vectors @ public) + public @ public
    people, n_told = mine.sum(axis=1), by_release.sum(axis=1)[:, None]
    forecast = np.where(n_told > 0, (by_release @ released_values).toarray() / np.maximum(n_told, 1), public)
    # the loss of the public forecast less that of the group's, written out
    gain = 2 * ((forecast - public) * (mine @ vectors).toarray()).sum(axis=1)
    gain -= people * ((forecast**2).sum(axis=1) - public @ public)
    against = mine @ np.maximum(loss, loss @ counts / n / 4)
    share = np.divide(np.maximum(gain, 0.0), against, out=np.zeros(len(gain)), where=against > 0)
    originals = record_of(OriginalsDisclosure, disclosure.Disclosed.from_classes(share, groups.sizes), score=name)
    if not column.is_number:
        return originals, {}
    rows = np.flatnonzero(column.codes < n_values)
    hits = matching(Counts.dense(np.append(counts, 0)[None]), column.by_code, target.tolerances)
    by_release = Counts.from_codes(groups, codes, released.n_values + 1)
    for tolerance in target.tolerances:
        guess = best_guesses(by_release, values, tolerance)[1][groups.labels[rows]]
        row = hits[tolerance.key]
        row["release"] = float(tolerance.hits(guess, column.numbers[rows]).sum()) / n
        row["gain"] = relative(row["release"], row["public"])
    return originals, hits


def smallest_cell(groups: Groups, column: Column, persons: Persons | None) -> int | None:
    """Return the smallest nonzero count of one sensitive value in one group, in records or people.

    Missing counts as a value. Any other published count (over several groups or values, or a total
    minus such a count) is a sum of these cells, so it is at least as large. Return None for numbers
    and dates with more than 20 distinct values.
    """
    if column.is_number and column.n_values > CATEGORIES:
        return None
    cells = group([groups.labels, column.codes])
    if persons is None or persons.unit is None:
        return int(cells.sizes.min())
    return int(replace(persons, homes=None).by_class(cells).different.min())


def twentieths(figure: Floats, sizes: Ints) -> list[float]:
    """Return the share of records whose group's figure, in [0, 1], falls into each of 20 equal bins."""
    place = np.clip(np.ceil(BINS * figure - 1e-9).astype(int) - 1, 0, BINS - 1)
    return (np.bincount(place, sizes, BINS) / max(int(sizes.sum()), 1)).tolist()


def disclosure_summary(disclosed: Floats, sizes: Ints, by_score: Mapping[str, Floats]) -> DisclosureSummary:
    """Return the means, median, worst case and distribution of the disclosure over the classes."""
    order = np.argsort(disclosed, kind="stable")
    below = np.cumsum(sizes[order])
    middle = disclosed[order[np.searchsorted(below, below[-1] / 2)]] if len(disclosed) else 0.0
    summary, shares = disclosure.Disclosed.from_classes(disclosed, sizes), twentieths(disclosed, sizes)
    scores = {name: float(each.max(initial=0.0)) for name, each in by_score.items()}
    return record_of(DisclosureSummary, summary, median_over_records=float(middle), shares=shares, scores=scores)


def best_guesses(counts: Counts, values: Floats, tolerance: Tolerance) -> tuple[Ints, Floats]:
    """Return, for each group, how many records the best single guess hits, and that guess; shape (n_groups,).

    Parameters
    ----------
    counts : Counts
    values : float array, shape (n_values,)
        The number behind each code.
    tolerance : Tolerance
    """
    y = values[counts.values]
    is_known = np.isfinite(y)
    starts = np.searchsorted(counts.groups[is_known], np.arange(counts.n_groups + 1))
    return tolerance.best(starts, y[is_known], counts.counts[is_known])


def matching(counts: Counts, values: Floats, tolerances: Sequence[Tolerance]) -> dict[str, Matching]:
    """Return the share of records hit by the best guess for each class, and by the best public guess.

    For each class the intruder names the one number that lies within the
    tolerance of most of its values. In public only the table's own
    distribution is known, so one number is named for everybody. If the tolerance is a share of
    the value, only zero hits a zero, and negative values count by their size. Both figures are
    for the best possible guess, so a small class scores high even if an intruder would have to
    be lucky. The gain is (release - public) / (1 - public).

    Returns
    -------
    dict of str to Matching
        One entry a tolerance, by its key.
    """
    total = int(counts.counts[np.isfinite(values[counts.values])].sum())
    public = Counts.dense(np.bincount(counts.values, counts.counts, counts.n_values)[None])
    out: dict[str, Matching] = {}
    for tolerance in tolerances:
        hits, base = (int(best_guesses(c, values, tolerance)[0].sum()) for c in (counts, public))
        release, in_public = hits / max(total, 1), base / max(total, 1)
        out[tolerance.key] = {
            "means": tolerance.words,
            "release": release,
            "public": in_public,
            "gain": relative(release, in_public),
        }
    return out


def household_risks(sides: TablePair, risk: Floats) -> tuple[Floats, Floats] | None:
    """Return the risk of each household, and for each record the risk of its household.

    A household's risk is 1 - prod(1 - risk of its members). None if the households are not known.

    Members are assumed to be found independently of each other; a person with several records
    is found by the one with the highest risk.

    Parameters
    ----------
    sides : TablePair
    risk : float array, shape (n_rows,)
        Each record's risk of being found.

    References
    ----------
    A. Hundepool et al. (2008), mu-Argus user's manual, section 2.3: household risk.
    """
    persons = sides.persons
    if not isinstance(sides, Pair) or persons is None or persons.homes is None:
        return None
    homes, n = persons.homes[persons.codes], persons.counted
    homes_of_members, members = homes, risk
    if persons.unit is not None:
        # somebody with several records is found by the one that is found most easily
        members = np.zeros(persons.n)
        np.maximum.at(members, persons.codes, risk)
        there = np.unique(persons.codes)
        homes_of_members, members = persons.homes[there], members[there]
    # a member at risk 1 has log(0), which makes the household's risk 1 as well
    with np.errstate(divide="ignore"):
        nobody = np.bincount(homes_of_members, np.log1p(-np.minimum(members, 1.0)), n)
    at_risk = -np.expm1(nobody)
    return at_risk[np.bincount(homes, minlength=n) > 0], at_risk[homes]


def _household_summary(risk: Floats, of_records: Floats) -> HouseholdRisk:
    """Return the number of households, their highest and average risk, and the numbers expected to be identified."""
    return {
        "households": len(risk),
        "highest": float(risk.max()),
        "average": float(risk.mean()),
        "expected": float(risk.sum()),
        "expected_records": float(of_records.sum()),
    }


def population_sizes(pair: TablePair, population: Table) -> Floats:
    """Count the people in a population table who fit each class; never fewer than the class itself has.

    Each released cell becomes a bit mask over the population (who fits it); a
    class is the intersection of its cells' masks.

    Parameters
    ----------
    pair : TablePair
        The release.
    population : Table
        A table with every quasi-identifier, untouched.

    Raises
    ------
    InputError
        Quasi-identifiers are missing, or the population is smaller than the release.
    """
    if lost := [e.name for e in pair.released_quasi if e.name not in population.names]:
        raise InputError("the population table lacks " + ", ".join(map(repr, lost)))
    if population.n_rows < pair.n_rows:
        raise InputError(
            f"the population table has {population.n_rows} rows, fewer than the release's {pair.n_rows}",
            hint="the release must be drawn from it",
        )
    people = known_table(pair.released_quasi, population)
    n = population.n_rows

    @cache
    def mask(j: int, cell: int) -> npt.NDArray[np.uint8]:
        """Return a bit mask over the population that marks the people who fit the cell."""
        column = pair.released_quasi[j]
        covers = column.cover.covers_numbers if column.is_number else column.cover.covers_codes
        return np.packbits(covers(people.columns[j], np.full(n, cell)))

    out = np.zeros(pair.classes.n_groups)
    for g, row in enumerate(pair.classes.first):
        cells = (int(column.codes[row]) for column in pair.released_quasi)
        # 1 bit a person and cell: whom all cells of a class fit is a bitwise and
        fits = reduce(and_, (mask(j, cell) for j, cell in enumerate(cells)))
        out[g] = np.count_nonzero(np.unpackbits(fits, count=n))
    return np.maximum(out, pair.classes.sizes)


@dataclass(frozen=True, eq=False)
class Population:
    """The number of people in the population who fit each released class, and each class's risk.

    Parameters
    ----------
    sizes : float array, shape (n_groups,)
        F: counted in a population table, or the summed sampling weights; at least the class's own size.
    risk : float array, shape (n_groups,)
        Each record's risk against somebody who does not know who is in the release: 1/F if F was
        counted, its expectation (`sizes.expected_risk`) if weights estimate it.
    total : float
        Number of people in the whole population.
    """

    sizes: Floats
    risk: Floats
    total: float


def journalist(pair: TablePair, population: Table | None = None, weights: str | None = None) -> Population | None:
    """Return the `Population` of the released classes, from a table or from weights; None without either."""
    people = pair.people_in(pair.classes)
    if population is not None:
        counted = np.maximum(population_sizes(pair, population), people)
        return Population(counted, 1.0 / counted, float(population.n_rows))
    if weights is None:
        return None
    if not isinstance(pair, Pair):
        raise ParameterError(
            "sampling weights need records paired with originals", hint="give a population table instead"
        )
    behind = np.maximum(weighted_sizes(pair, weights), people)
    return Population(behind, sizes.expected_risk(people, behind), float(behind.sum()))


def weighted_sizes(pair: Pair, weights: str) -> Floats:
    """Return the sum of the sampling weights in each class: the number of people it represents.

    A person with several records in a class counts once, with the mean of their weights.

    Raises
    ------
    InputError
        The column is missing, or weights are missing, below 1 or infinite.
    """
    w, labels = weights_of(pair, weights), pair.classes.labels
    if pair.persons is not None and pair.persons.unit is not None:
        records = group([labels, pair.persons.codes])
        w = np.bincount(records.labels, w, records.n_groups) / records.sizes
        labels = labels[records.first]
    return np.bincount(labels, w, pair.classes.n_groups).astype(np.float64, copy=False)


def weights_of(pair: Pair, name: str) -> Floats:
    """Return each row's sampling weight; from the original if the release recodes or lacks that column.

    Raises
    ------
    InputError
        Neither table has the column, it is recoded and not the schema's weight, or weights are
        missing, below 1 or infinite.
    """
    recoded = any(column.name == name for column in pair.released_quasi)
    if recoded and pair.schema.weight != name:
        raise InputError(
            f"the column of sampling weights {name!r} is recoded in the release, so its cells are no weights any more",
            hint=(
                "name a column that the release shows as it was, or leaves out; a weight that is recoded on purpose "
                "is the schema's weight (weight=, --weight)"
            ),
        )
    if name in pair.released.names and not recoded:
        return check_weights(pair.released, name).numbers[pair.released_rows]
    if name not in pair.original.names:
        raise InputError(f"neither table has the column of sampling weights {name!r}")
    return check_weights(pair.original, name).numbers[pair.rows]


class OtherColumns(TypedDict):
    """The share of released records that are unique by the columns without a role.

    ``columns``: their names; ``by_quasi``: unique by the released quasi-identifiers, ``together``: by both.
    """

    columns: Sequence[str]
    unique: Share
    by_quasi: Share
    together: Share


def other_columns(released: Table, schema: Schema, changed: Collection[str] | None = None) -> OtherColumns | None:
    """Return the share of released records that are unique by the columns without a role.

    Parameters
    ----------
    released : Table
    schema : Schema
    changed : collection of str
        Columns that a plan changes, such as weights that became means of groups: they are not asked about.

    Returns
    -------
    dict or None
        ``columns``: their names. Shares of released records that are unique: ``unique`` by these
        columns, ``by_quasi`` by the released quasi-identifiers, ``together`` by both. None if no
        such column is released.
    """
    names = sorted({n for n in released.names if schema.role(n) in ("other", "undeclared")}.difference(changed or ()))
    if not names or not released.n_rows:
        return None
    quasi = sorted(n for n in schema.quasi if n in released.names)
    return {
        "columns": names,
        "unique": _alone(released, names),
        "by_quasi": _alone(released, quasi),
        "together": _alone(released, [*quasi, *names]),
    }


def _alone(table: Table, names: list[str]) -> float:
    groups = group([table.column(name).codes for name in names], table.n_rows)
    return int(np.count_nonzero(groups.sizes == 1)) / table.n_rows
