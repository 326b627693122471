"""What learners still learn from a release of Hedge, MART and Mondrian, and of whom.

For every table, cap and method: two thirds of some rows are released, one third is left out.
Boosting, ridge and a tree learn from the released cells as a recipient decodes them (ranges at
their middle, joined categories as shares) and are asked about true values: of the people left
out, which is what the release is good for, and of the members; the difference is the member
advantage, what the table gives away of its own people. R2 against guessing the released mean; a
category counts as a 0/1 number, whether it is the most frequent one. Means over the sensitive
columns and the splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hedgerow.auditing.design_matrix import design_known, design_released, known_rows, known_table
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.auditing.table_pair import Pair
from hedgerow.columns.table import Table
from hedgerow.datasets import (
    load_adult,
    load_alcohol,
    load_census_income,
    load_disability_portfolio,
    load_german_credit,
)
from hedgerow.io.read import read
from hedgerow.methods.base import Method
from hedgerow.methods.hedge import Hedge
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian
from hedgerow.plan import Partition
from hedgerow.release import Release
from hedgerow.report.pictures import CONTROL, ORIGINAL, RELEASE, svg_text
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

K = 10
CAPS = (0.5, 0.3, 0.2)
JUDGED = ("boosting", "ridge", "tree")
ATTACKING = ("boosting", "tree", "nearest")


@dataclass(frozen=True)
class Case:
    """A table with its roles, and what is done to it first.

    Parameters
    ----------
    name : str
    load : callable
        Gives the table.
    quasi, sensitive : tuple of str
    change : callable, optional
        Another table from the sampled rows and a generator.
    """

    name: str
    load: Callable[[], pa.Table]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    change: Callable[[pa.Table, np.random.Generator], pa.Table] | None = None

    @property
    def schema(self) -> Schema:
        """The roles."""
        return Schema(quasi=self.quasi, sensitive=self.sensitive)


def _useless(table: pa.Table, draw: np.random.Generator, *, names: Sequence[str]) -> pa.Table:
    """Columns that tell nothing: ages, eight letters and two letters by turns."""
    n = table.num_rows
    for at, name in enumerate(names):
        kinds = (draw.integers(0, 50, n), draw.integers(0, 8, n), draw.integers(0, 2, n))
        made = kinds[at % 3]
        column = pa.array(made) if at % 3 == 0 else pa.array(np.array(list("abcdefgh"))[made])
        table = table.append_column(name, column)
    return table


def _holes(table: pa.Table, draw: np.random.Generator) -> pa.Table:
    """A tenth of the values of every column are missing."""
    for at, name in enumerate(table.column_names):
        gone = pa.array(draw.random(table.num_rows) < 0.1)
        column = table.column(name)
        table = table.set_column(at, name, pc.if_else(gone, pa.scalar(None, column.type), column))
    return table


def _rare(table: pa.Table, draw: np.random.Generator) -> pa.Table:
    """Whether the capital gain is above 10,000: 2.4 in a hundred."""
    high = pc.greater(table.column("capital-gain"), 10_000)
    flag = pc.if_else(high, "high", "low")
    return table.append_column("gain", flag)


def _heavy(table: pa.Table, draw: np.random.Generator) -> pa.Table:
    """Wealth whose logarithm goes by hours, age and chance alike."""
    parts = [table.column(n).to_numpy().astype(float) for n in ("hours-per-week", "age")]
    parts = [(part - part.mean()) / part.std() for part in parts]
    drawn = np.exp(sum(parts) + draw.standard_normal(table.num_rows))
    return table.append_column("wealth", pa.array(np.round(1_000 * drawn)))


ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
CENSUS = ("age", "sex", "race", "education", "marital_stat", "major_occupation_code")
CREDIT = (
    "status_checking_account", "credit_history", "purpose", "savings_account_bonds",
    "employment_since", "personal_status_sex", "property", "age", "housing", "job",
)  # fmt: skip
ALCOHOL = ("age", "race", "marital", "region", "empstatus", "educ", "limits")
NOTHING = tuple(f"nothing {i + 1}" for i in range(15))

_adult = partial(load_adult, complete=False)
_census = partial(load_census_income, complete=False)

CASES = (
    Case("Adult, hours", _adult, ADULT, ("hours-per-week",)),
    Case("Adult, occupation", _adult, ADULT, ("occupation",)),
    Case("German Credit", load_german_credit, CREDIT, ("credit_amount", "duration_months")),
    Case("Alcohol", load_alcohol, ALCOHOL, ("drinks", "income")),
    Case("Census, weeks", _census, CENSUS, ("weeks_worked_in_year",)),
    Case("Census, wage", _census, CENSUS, ("wage_per_hour",)),
    Case("French portfolio", load_disability_portfolio, ("BirthDate", "Gender", "EntryDate"), ("ExitStatus",)),
)
HARD = (
    Case("6 useless columns", _adult, (*ADULT, *NOTHING[:6]), ("hours-per-week",),
         partial(_useless, names=NOTHING[:6])),
    Case("15 useless columns", _adult, (*ADULT, *NOTHING), ("hours-per-week",),
         partial(_useless, names=NOTHING)),
    Case("a tenth missing", _adult, ADULT, ("hours-per-week", "occupation"), _holes),
    Case("a rare flag", _adult, ADULT, ("gain",), _rare),
    Case("mostly zeros", _adult, ADULT, ("capital-gain",)),
    Case("heavy tail", _adult, ADULT, ("wealth",), _heavy),
)  # fmt: skip


def sample(case: Case, rows: int, seed: int) -> tuple[Table, Table]:
    """People to release, and half as many people left out."""
    table = case.load()
    if case.sensitive[0] in table.column_names:
        table = table.filter(pc.is_valid(table.column(case.sensitive[0])))
    draw = np.random.default_rng(seed)
    chosen = draw.permutation(table.num_rows)[:rows]
    cut = len(chosen) * 2 // 3
    parts = [np.sort(chosen[:cut]), np.sort(chosen[cut:])]
    table = table.take(np.concatenate(parts)).combine_chunks()
    if case.change is not None:
        table = case.change(table, draw)
    table = table.select([*case.quasi, *case.sensitive])
    return read(table.slice(0, cut)), read(table.slice(cut))


def learners() -> dict[str, Any]:
    """The learners of the protocol."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    return {
        "boosting": HistGradientBoostingRegressor(
            max_iter=60, min_samples_leaf=20, learning_rate=0.08, early_stopping=False, random_state=0
        ),
        "ridge": Ridge(alpha=1.0),
        "tree": DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
        "nearest": KNeighborsRegressor(10),
    }


def numbers(table: Table, like: Table, name: str) -> Floats:
    """A column as numbers; a category as whether it is the most frequent one of `like`."""
    if like.kind(name) in ("numeric", "date"):
        cells = table.arrow.column(name)
        cells = cells.cast(pa.int32()) if pa.types.is_date32(cells.type) else cells
        return np.asarray(cells.cast(pa.float64()).to_numpy(), np.float64)
    column = like.column(name)
    top = column.values[int(column.counts()[:-1].argmax())]
    values = table.arrow.column(name).to_pylist()
    return np.array([np.nan if v is None else float(str(v) == top) for v in values])


def r2(model: Any, x: Floats, y: Floats, mean: float) -> float:
    """Share of the squared error of the released mean that the model takes away."""
    known = np.isfinite(y)
    off = y[known] - model.predict(x[known])
    return 1 - float((off**2).sum()) / float(((y[known] - mean) ** 2).sum())


def learnt(pair: Pair, others: Table) -> dict[str, Floats]:
    """Of each learner the R2 on people left out and on members, means over sensitive columns.

    Parameters
    ----------
    pair : Pair
        A release beside its members.
    others : Table
        People who are not in it.
    """
    rows = np.arange(pair.n_rows)
    shown = design_released(pair.released_quasi, rows)
    own = design_known(pair.released_quasi, known_rows(pair.released_quasi, rows))
    strange = design_known(pair.released_quasi, known_table(pair.released_quasi, others))
    targets = []
    for name in pair.schema.sensitive:
        y = numbers(pair.original, pair.original, name)[pair.rows]
        targets.append((y, y, numbers(others, pair.original, name)))
    return scored(shown, own, strange, targets)


@threadpool_limits.wrap(limits=1)  # small tables: threads only wait for each other
def scored(
    shown: Floats, own: Floats, strange: Floats, targets: Iterable[tuple[Floats, Floats, Floats]]
) -> dict[str, Floats]:
    """Of each learner the R2 on people left out and on members, means over the targets.

    Parameters
    ----------
    shown, own, strange : arrays of shape (n, d)
        What learners see of the release, of its members and of people left out.
    targets : iterable of three arrays of shape (n,)
        The numbers to learn from, and those of members and of people left out; NaN where missing.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for y, mine, theirs in targets:
        known = np.isfinite(y)
        mean = float(y[known].mean())
        for learner, model in learners().items():
            model.fit(shown[known], y[known])
            found.setdefault(learner, []).append((r2(model, strange, theirs, mean), r2(model, own, mine, mean)))
    return {learner: np.mean(values, axis=0) for learner, values in found.items()}


def _released(members: Table, schema: Schema, method: Method) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return protect(members, schema, method, guard=None)


def mondrian_under(members: Table, schema: Schema, cap: float | None) -> Release:
    """Mondrian `loss` at the least k whose groups keep a cap: doubled, then halved.

    Parameters
    ----------
    members : Table
    schema : Schema
    cap : float or None
        The largest disclosure of any group; None releases at `K`.
    """

    def at(k: int) -> Release | None:
        made = _released(members, schema, Mondrian(k, objective="loss"))
        told = made.summary()["disclosure"]["worst"]
        return made if cap is None or told <= cap else None

    low, high = K, K
    found = at(K)
    while found is None:
        low, high = high, min(2 * high, members.n_rows)
        found = at(high)
    while high - low > max(high // 20, 1):
        middle = (low + high) // 2
        made = at(middle)
        if made is None:
            low = middle
        else:
            found, high = made, middle
    return found


def releases(members: Table, schema: Schema, cap: float | None) -> Iterator[tuple[str, Release]]:
    """What is compared under a cap, or without one."""
    yield "MART", _released(members, schema, MART(K, max_disclosure=cap, categorical="concatenate"))
    yield "Hedge", _released(members, schema, Hedge(K, max_disclosure=cap, screen=True))
    everything = Hedge(K, max_disclosure=cap, screen=False)
    yield "Hedge, screen off", _released(members, schema, everything)
    yield "Mondrian, larger k", mondrian_under(members, schema, cap)
    if cap is not None:
        mondrian = Mondrian(K, objective="loss", max_disclosure=cap)
        yield "Mondrian, capped", _released(members, schema, mondrian)


def measure(case: Case, caps: Sequence[float | None], *, rows: int, splits: int) -> Iterator[dict[str, Any]]:
    """One record a cap and method: groups, R2 on people left out, member advantage.

    Parameters
    ----------
    case : Case
    caps : sequence of float or None
    rows : int
        At most so many of the table; two thirds of them are released.
    splits : int
        How often they are drawn.
    """
    found: dict[tuple[float | None, str], list[dict[str, Floats]]] = {}
    groups: dict[tuple[float | None, str], list[int]] = {}
    for split in range(splits):
        members, others = sample(case, rows, split)
        for cap in caps:
            for method, release in releases(members, case.schema, cap):
                pair = pair_up(members, of_release(release))
                found.setdefault((cap, method), []).append(learnt(pair, others))
                groups.setdefault((cap, method), []).append(pair.classes.n_groups)
    for (cap, method), parts in found.items():
        made = {name: np.mean([part[name] for part in parts], axis=0) for name in parts[0]}
        yield {
            "table": case.name,
            "cap": cap,
            "method": method,
            "groups": round(float(np.mean(groups[cap, method]))),
            **{f"r2_{name}": round(float(made[name][0]), 3) for name in JUDGED},
            **{f"advantage_{name}": round(float(made[name][1] - made[name][0]), 3) for name in ATTACKING},
        }


def averaged(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means over the tables, by cap and method, and what is left of uncapped MART's use.

    An R2 below 0 counts as 0: whoever sees it guesses the mean instead.
    """
    of: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for record in records:
        of.setdefault((record["cap"], record["method"]), []).append(record)
    made = []
    for (cap, method), parts in of.items():
        row: dict[str, Any] = {"cap": cap, "method": method}
        for name in JUDGED:
            row[f"r2_{name}"] = float(np.mean([max(p[f"r2_{name}"], 0.0) for p in parts]))
        for name in ATTACKING:
            row[f"advantage_{name}"] = float(np.mean([p[f"advantage_{name}"] for p in parts]))
        made.append(row)
    use = {(r["cap"], r["method"]): np.mean([r[f"r2_{name}"] for name in JUDGED]) for r in made}
    whole = use.get((None, "MART"))
    for row in made:
        share = {"of_uncapped_mart": use[row["cap"], row["method"]] / whole} if whole else {}
        row |= {name: round(float(v), 3) for name, v in (row | share).items() if name not in ("cap", "method")}
    return made


def use(*, rows: int = 1_500, splits: int = 1) -> dict[str, Any]:
    """The tables of docs/hedge.md, by default from fewer rows and one split."""
    tables = [r for case in CASES for r in measure(case, (None, *CAPS), rows=rows, splits=splits)]
    hard = [r for case in HARD for r in measure(case, (None, 0.5), rows=rows, splits=splits)]
    return {
        "protocol": f"at most {rows:,} rows a table, two thirds released; {splits} split(s), "
        f"k = {K}; R2 on people left out, member advantage; benchmarks/use.py has the options",
        "tables": tables,
        "hard_tables": hard,
        "means_over_the_tables": averaged(tables),
        "means_over_the_hard_tables": averaged(hard),
    }


SHOWN = Schema(quasi=("age", "hours-per-week"), sensitive=("income",))
FEW = ("age", "education-num", "sex")
MANY = (*FEW, "marital-status", "workclass", "race")


def _people(n: int, seed: int) -> pa.Table:
    whole = load_adult()
    return whole.take(np.sort(np.random.default_rng(seed).permutation(whole.num_rows)[:n]))


def idea() -> str:
    """Cells of people who are alike, what they are joined to, and what is released of them."""
    from matplotlib.figure import Figure

    people = _people(260, 4)
    release = _released(people, SHOWN, Hedge(k=10, max_disclosure=0.3, screen=False))
    recoding = release.plan.recoding
    assert isinstance(recoding, Partition)
    method: Any = release.method
    cell = method.tree_.leaf_of_rows()
    group = method.group_of_cell_[cell]
    x, y = (people[n].to_numpy().astype(float) for n in SHOWN.quasi)
    rich = np.array([v.startswith(">") for v in people["income"].to_pylist()])
    pair = pair_up(people, of_release(release))
    told = [c.lo[c.codes] for c in pair.released_quasi]
    moved = np.random.default_rng(0).uniform(-0.45, 0.45, (2, len(x)))
    at = x + moved[0], y + moved[1]
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    parts = figure.subplots(1, 3, sharex=True, sharey=True)
    titles = (
        f"1  {cell.max() + 1} cells of people who are alike",
        f"2  joined to {len(set(group))} groups, none above 0.3",
        "3  what is released: means",
    )
    for axes, title in zip(parts, titles, strict=True):
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("age")
        axes.spines[["top", "right"]].set_visible(False)
    parts[0].set_ylabel("hours a week")
    for axes, of in ((parts[0], cell), (parts[1], group)):
        for number in range(of.max() + 1):
            mine = of == number
            joined = of is group and len(set(cell[mine])) > 1
            _star(axes, at[0][mine], at[1][mine], CONTROL if joined else RELEASE)
        for kind, marker in ((rich, "o"), (~rich, ".")):
            axes.plot(at[0][kind], at[1][kind], marker, color=ORIGINAL, markersize=3.2, zorder=3)
    centres, place, n = np.unique(np.stack(told), axis=1, return_inverse=True, return_counts=True)
    share = np.bincount(place.reshape(-1), rich) / n
    dots = parts[2].scatter(*centres, s=6 * n, c=share, cmap="cividis", vmin=0, vmax=1, alpha=0.85)
    bar = figure.colorbar(dots, ax=parts[2], shrink=0.8)
    bar.set_label("share above 50,000 (size: people)", fontsize=8)
    return svg_text(figure)


def _star(axes: Axes, x: Floats, y: Floats, colour: str) -> None:
    """People and the mean of their group, joined by lines."""
    lines = [np.stack([end, np.full(len(end), end.mean()), np.full(len(end), np.nan)], 1).ravel() for end in (x, y)]
    axes.plot(*lines, color=colour, linewidth=0.6, alpha=0.7)


def _slopes(columns: list[Floats], y: Floats) -> Floats:
    """Least squares on some columns."""
    found = np.linalg.lstsq(np.column_stack([*columns, np.ones(len(y))]), y, rcond=None)[0]
    return np.asarray(found[:-1], np.float64)


def slopes(draws: int = 5, rows: int = 6_000) -> list[dict[str, Any]]:
    """What weekly hours gain by a year of age and of schooling, read from releases of Adult.

    Parameters
    ----------
    draws : int
        Samples that are averaged.
    rows : int
        People in each.
    """
    made = []
    methods = {
        "Hedge, means": Hedge(k=10, max_disclosure=0.5, screen=True),
        "Hedge, ranges": Hedge(k=10, max_disclosure=0.5, numeric="range", screen=True),
        "MART, ranges": MART(k=10, max_disclosure=0.5, categorical="concatenate"),
    }
    for quasi in (FEW, MANY):
        schema = Schema(quasi=quasi, sensitive=("hours-per-week",))
        found: dict[str, list[Floats]] = {name: [] for name in ("original", *methods)}
        for draw in range(draws):
            people = _people(rows, draw)
            y = people["hours-per-week"].to_numpy().astype(float)
            own = [people[n].to_numpy().astype(float) for n in quasi[:2]]
            found["original"].append(_slopes(own, y))
            for name, method in methods.items():
                pair = pair_up(people, of_release(_released(people, schema, method)))
                told = [c.middle[c.codes] for c in pair.released_quasi[:2]]
                found[name].append(_slopes(told, y[pair.rows]))
        for name, each in found.items():
            age, school = np.mean(each, axis=0)
            made.append(
                {
                    "quasi_identifiers": len(quasi),
                    "read_from": name,
                    "hours_per_year_of_age": round(float(age), 4),
                    "hours_per_year_of_schooling": round(float(school), 4),
                }
            )
    return made


def figures() -> dict[str, Any]:
    """The picture and the slopes."""
    return {"slopes": slopes(), "pictures": {"hedge": idea()}}
