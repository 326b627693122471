"""How long Hedgerow takes: one table of named cases, each with what it is compared with.

    python benchmarks/speed.py                                   # every case, which takes hours
    python benchmarks/speed.py growing engines --rows 30000      # some, with tables of another size
    python benchmarks/speed.py guard --only duckdb --runs 1      # the lines whose titles hold a text
    python benchmarks/speed.py --list

The sides of a case take turns in one process, so that a busy machine slows all alike. A line has the median seconds by
the clock and of the processors (of processes that were started as well); "/ other" is the ratio to another line, with
its bound. Before, each side runs once on a small table, which loads packages and compiled kernels. With --alone, and
in cases whose memory counts, each side is a process, and its peak of memory is printed.

To add a case, write a function with `@case` that yields a `Side` for each thing to be measured; it finds the number of
rows and a folder for files in `asked`. Its name is the case's name, and the first line of its docstring stands above
its lines.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
SENSITIVE = ("income", "assets")
"""Columns of `hedgerow.datasets.make_people`."""
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


@dataclass(frozen=True)
class Side:
    """One thing that a case measures.

    Parameters
    ----------
    title : str
    work : callable
        What the clock runs for; if it returns text, that is printed.
    fresh : callable, optional
        Gives the argument of `work`, anew before each run and without the clock.
    ratios : mapping
        Titles of other sides, and the bound of the ratio to each in words.
    bound : str
    equal : str
        Title of a side whose result must be the same.
    """

    title: str
    work: Callable[..., Any]
    fresh: Callable[[], Any] | None = None
    ratios: Mapping[str, str] = field(default_factory=dict)
    bound: str = ""
    equal: str = ""


@dataclass(frozen=True)
class Case:
    """A named case: its sides, and its sizes where none are asked for."""

    sides: Callable[[argparse.Namespace], Iterable[Side]]
    rows: int
    small: int
    runs: int
    alone: bool
    environment: Mapping[str, str]

    @property
    def about(self) -> str:
        """Return what it measures, in a line."""
        return (self.sides.__doc__ or "").splitlines()[0].rstrip(".")


CASES: dict[str, Case] = {}


def case(rows: int, *, small: int = 5_000, runs: int = 3, alone: bool = False, **environment: str) -> Any:
    """Register a function that yields sides.

    Parameters
    ----------
    rows : int
        0 where all of a file is taken.
    small : int
        Rows of the first, unmeasured run; 0 leaves it out.
    runs : int
    alone : bool
        Whether each side is a process, whose peak of memory is printed.
    environment : str
        Variables that are set before packages are loaded.
    """

    def register(sides: Any) -> Any:
        CASES[sides.__name__] = Case(sides, rows, small, runs, alone, environment)
        return sides

    return register


_SEEN: dict[tuple[int, str], float] = {}
_LOOKING = threading.Lock()


def processors_of(root: int) -> float:
    """Return the processor seconds of a process and of all that came from it, as last seen of those that ended.

    Parents do not know what all of these used: Spark's daemon does not wait for its Python workers.
    """
    ticks, parents, used = os.sysconf("SC_CLK_TCK"), {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                cells = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(folder.name)] = int(cells[1])
            used[int(folder.name)] = cells[19], (int(cells[11]) + int(cells[12])) / ticks
    tree = {root}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    with _LOOKING:
        _SEEN.update({(pid, used[pid][0]): used[pid][1] for pid in tree if pid in used})
        return sum(_SEEN.values())


def processors() -> float:
    """Return the processor seconds of this process and of those that it started and that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def peak_of(process: str | int = "self") -> float:
    """Return the GB that a process held at most; what its parent held before it began is not among them."""
    try:
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        return int(peak[1]) * 1024 / 1e9 if peak else 0.0
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


class Laps:
    """Seconds by the clock and of the processors by step; it can be handed on as `progress`.

    Parameters
    ----------
    count : callable
        Gives the processor seconds so far.
    """

    def __init__(self, count: Callable[[], float] = processors) -> None:
        self.count, self.steps = count, {}  # type: ignore[var-annotated]
        self.step, self.began = "", self.now()

    def now(self) -> tuple[float, float]:
        """Return both clocks."""
        return time.perf_counter(), self.count()

    def add(self, step: str, since: tuple[float, float]) -> None:
        """Add what has passed to a step."""
        before, now = self.steps.get(step, (0.0, 0.0)), self.now()
        self.steps[step] = tuple(b + n - s for b, n, s in zip(before, now, since, strict=True))

    def __call__(self, step: str, share: float | None = None) -> None:
        """End the step that runs, if it is another one, and begin this one."""
        if step != self.step:
            if self.step:
                self.add(self.step, self.began)
            self.step, self.began = step, self.now()


LAPS = Laps()
"""The steps of the side that runs."""


def timed(side: Side) -> dict[str, Any]:
    """Run a side once; return its seconds, result and steps."""
    global LAPS
    arguments = [side.fresh()] if side.fresh else []
    LAPS = Laps()
    begun = LAPS.now()
    result = side.work(*arguments)
    seconds = [now - before for now, before in zip(LAPS.now(), begun, strict=True)]
    LAPS("")
    return {"seconds": seconds, "result": result if isinstance(result, str) else "", "steps": LAPS.steps}


def measured(asked: argparse.Namespace) -> Iterator[tuple[Side, list[dict[str, Any]]]]:
    """Yield the sides of a case that are asked for, with what each run of them gave."""
    which = CASES[asked.names[0]]

    def wanted(rows: int) -> list[Side]:
        sides = which.sides(argparse.Namespace(**vars(asked) | {"rows": rows}))
        exact = [s for s in sides if s.title == asked.side] if asked.side is not None else list(sides)
        return [s for s in exact if asked.only in s.title]

    if asked.alone and asked.side is None:
        sides = wanted(asked.rows)
        turns = [[started(asked, side=s.title, runs=1) for s in sides] for _ in range(asked.runs)]
        yield from ((s, [turn[at] for turn in turns]) for at, s in enumerate(sides))
        return
    if which.small:
        for side in wanted(min(which.small, asked.rows or which.small)):
            timed(side)
    sides = wanted(asked.rows)
    turns = [[timed(s) for s in sides] for _ in range(asked.runs)]
    yield from ((s, [turn[at] for turn in turns]) for at, s in enumerate(sides))


def started(asked: argparse.Namespace, **other: Any) -> Any:
    """Return what a process of its own measures of one side, or let it print a case."""
    words = [sys.executable, "-W", "ignore", __file__, "--inside", json.dumps(vars(asked) | other)]
    done = subprocess.run(words, check="side" in other, stdout=subprocess.PIPE if "side" in other else None, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if "side" in other else None


def line(title: str, seconds: Sequence[float], peak: float = 0.0, *words: str) -> None:
    """Print a line of the table."""
    memory = f"{peak:9.2f}" if peak else " " * 9
    print(
        f"{title:<52}{seconds[0]:9.2f}{seconds[1]:9.2f}{memory}  {'; '.join(filter(None, words))}".rstrip(), flush=True
    )


def printed(asked: argparse.Namespace) -> None:
    """Measure a case and print its lines."""
    name, medians, results = asked.names[0], {}, {}
    size = f"{asked.rows:,} rows, " if asked.rows else ""
    print(f"{name}: {CASES[name].about} ({size}runs: {asked.runs})")
    lines = list(measured(asked))
    for side, runs in lines:
        medians[side.title] = [statistics.median(r["seconds"][i] for r in runs) for i in (0, 1)]
        results[side.title] = runs[-1]["result"]
    for side, runs in lines:
        bound = f"bound: {side.bound}" if side.bound else ""
        peak = max(r.get("peak", 0.0) for r in runs)
        line(f"  {side.title}", medians[side.title], peak, results[side.title], bound)
        for step in runs[-1]["steps"]:
            seconds = [r["steps"][step] for r in runs if step in r["steps"]]
            line(f"      {step}", [statistics.median(f[i] for f in seconds) for i in (0, 1)])
        for other, bound in side.ratios.items():
            if other in medians:
                ratio = [a / b if b else float("nan") for a, b in zip(medians[side.title], medians[other], strict=True)]
                line(f"    / {other}", ratio, 0.0, f"bound: {bound}" if bound else "")
        if side.equal in results:
            print(f"    the same as {side.equal}: {'yes' if results[side.equal] == results[side.title] else 'NO'}")
    if not asked.alone:
        print(f"  peak of this process: {peak_of():.2f} GB", flush=True)


def of_case(asked: argparse.Namespace) -> None:
    """Run a case in this process, or say what it lacks."""
    which = CASES[asked.names[0]]
    os.environ.update(which.environment)
    warnings.simplefilter("ignore")
    from hedgerow.errors import HedgerowError

    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        asked.folder, asked.alone = asked.folder or folder, asked.alone or which.alone
        asked.runs = asked.runs or which.runs
        asked.rows = which.rows if asked.rows is None else asked.rows
        try:
            if asked.side is None:
                printed(asked)
            else:
                ((_, (run,)),) = measured(asked)
                print(json.dumps(run | {"peak": peak_of()}))
        except (ImportError, HedgerowError) as error:
            if asked.side is not None:
                sys.exit(str(error))
            print(f"  left out: {error}", flush=True)
        except subprocess.CalledProcessError:
            print("  left out: a process failed", flush=True)


def main() -> None:
    """Measure the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases; all without a name")
    parser.add_argument("--rows", type=int, help="of the tables; each case has its own number")
    parser.add_argument("--runs", type=int, help="turns whose median is printed")
    parser.add_argument("--only", default="", help="a part of the titles of sides")
    parser.add_argument("--alone", action="store_true", help="a process for each side, with its peak of memory")
    parser.add_argument("--folder", help="where tables go; by default a temporary folder")
    parser.add_argument("--memory", help="what engines and peaks may take, such as 2GB")
    parser.add_argument("--method", default="MART", choices=METHODS, help="of the case engines")
    parser.add_argument("--parts", action="store_true", help="engines: a folder of files of 1,048,576 rows")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.side = None
    if asked.inside:
        of_case(argparse.Namespace(**json.loads(asked.inside)))
        return
    if asked.list:
        for name, each in CASES.items():
            print(f"{name:<20}{each.rows or 'all':>10}  {each.about}")
        return
    if unknown := set(asked.names) - set(CASES):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    print(f"{'':<52}{'clock s':>9}{'cpu s':>9}{'peak GB':>9}", flush=True)
    if len(asked.names) == 1:  # here, where a profiler can see it
        of_case(asked)
    else:
        for name in asked.names or CASES:
            started(asked, names=[name])


# What cases share


def command(*words: object, **environment: str) -> float:
    """Run a command line of Hedgerow; return the GB that it held at most."""
    inherited = {
        n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"
    }  # a second start finds modules compiled
    arguments = [sys.executable, "-m", "hedgerow", *map(str, words)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(arguments, env=inherited | environment, **quiet)  # type: ignore[call-overload]
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return float(used.ru_maxrss) / 1e6


def people_at(asked: argparse.Namespace, rows: int, suffix: str = "parquet") -> Path:
    """Return the file of so many synthetic people, written where it is missing."""
    from hedgerow.datasets import make_people
    from hedgerow.io.write import write_table

    path = Path(asked.folder, f"people-{rows}.{suffix}")
    if not path.exists():
        write_table(make_people(rows, seed=1), path)
    return path


def adult(asked: argparse.Namespace) -> Any:
    """Return the complete rows of Adult, or the first of them."""
    import hedgerow as hr

    return hr.datasets.load_adult().slice(0, asked.rows or None)


METHODS: dict[str, dict[str, Any]] = {
    "MART": {}, "Hedge": {}, "Mondrian": {"k": 10},
    **{f"Mondrian-{o}": {"k": 10, "objective": o} for o in ("median", "regression", "information_gain", "loss")},
    "Datafly": {"k": 10}, "Incognito": {"k": 10},
    "RandomizedResponse": {"l": 4, "relax": "halfway", "bins": 4, "random_state": 1},
    "TreePatternPreserving": {"k": 10, "response": "income"},
}  # fmt: skip
"""What engines are measured with, and its parameters where they are not the method's own."""
LEFT_OUT = {"RandomizedResponse": ("region",), "TreePatternPreserving": ("children",)}
"""Columns that a method does not take: too many cells in all, missing numbers."""
HASHED_QUASI = ("age", "sex", "education", "job", "region", "hours", "children", "entry")
HASHED_SENSITIVE = ("income", "diagnosis")
_HASHED = """
WITH drawn AS (
  SELECT {draws} FROM range({rows}) AS numbers(i)
)
SELECT
  (18 + 70 * a)::BIGINT AS "age",
  CASE WHEN b < 0.5 THEN 'female' ELSE 'male' END AS "sex",
  'school ' || (16 * sqrt(c))::INT AS "education",
  'job ' || (25 * c + 25 * d)::INT AS "job",
  'region ' || (95 * e)::INT AS "region",
  (20 + 40 * d)::BIGINT AS "hours",
  CASE WHEN f >= 0.05 THEN (6 * f)::BIGINT END AS "children",
  DATE '2000-01-01' + (7300 * f)::INT AS "entry",
  round(2000 + 3000 * c + 4200 * a + 2000 * d * e + 1500 * f) * 10.0 AS "income",
  'illness ' || (18 * a + 12 * g)::INT AS "diagnosis"
FROM drawn
"""


def write_hashed(path: Path, rows: int) -> Path:
    """Write a table from hashes of row numbers, by DuckDB: numbers, text, dates, missing cells."""
    import duckdb

    draws = ", ".join(f"(hash(i * 7 + {j}) % 1000003) / 1000003.0 AS {name}" for j, name in enumerate("abcdefg"))
    with duckdb.connect(config={"threads": 2, "memory_limit": "4GB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        query = _HASHED.format(draws=draws, rows=rows)
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")
    return path


def hashed_at(asked: argparse.Namespace) -> Path:
    """Return the file of the hashed table, written where it is missing."""
    path = Path(asked.folder, f"hashed-{asked.rows}.parquet")
    return path if path.exists() else write_hashed(path, asked.rows)


def hashed_case(name: str) -> tuple[Any, Any]:
    """Return the schema of the hashed table for a method of `METHODS`, and the method."""
    import hedgerow as hr

    quasi = [column for column in HASHED_QUASI if column not in LEFT_OUT.get(name, ())]
    method = getattr(hr, name.partition("-")[0])(**METHODS[name])
    return hr.Schema(quasi=quasi, sensitive=HASHED_SENSITIVE), method


# The cases

_ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Growers:
    """Synthetic people as MART's grower and scikit-learn's tree take them."""

    def __init__(self, rows: int) -> None:
        import numpy as np

        from hedgerow.datasets import make_people
        from hedgerow.io.read import read
        from hedgerow.methods.partition import Quasi
        from hedgerow.schema import Schema
        from hedgerow.trees.node_rows import Predictors
        from hedgerow.trees.responses import Responses

        people = make_people(rows, seed=1)
        table = read(people)
        self.X, self.y = people.select(list(QUASI)), people.select(list(SENSITIVE))
        self.quasi = Quasi.from_table(table, Schema(quasi=QUASI, sensitive=SENSITIVE), 1024)
        self.columns = [table.column(name) for name in SENSITIVE]
        counts = [c.value_counts for c in self.columns]
        self.responses = {scored: Responses.from_columns(counts, scored=scored) for scored in (False, True)}
        self.subsets = self.quasi.predictors
        # for the comparison, a missing code is one more ordered code
        self.ordered = Predictors(self.subsets.n_codes + 1, np.ones(len(QUASI), bool))

    @property
    def codes(self) -> list[Any]:
        """Return the codes of the quasi-identifiers."""
        return [cut.codes(c.codes) for c, cut in zip(self.quasi.columns, self.quasi.cuts, strict=True)]

    def side(self, title: str, predictors: Any, cap: float = 1.0, scored: bool = False, **more: Any) -> Side:
        """Return growing under a cap on the squared score, or on all proper scores."""
        import numpy as np

        from hedgerow.trees.grow import grow
        from hedgerow.trees.node_rows import NodeRows, RowCodes
        from hedgerow.trees.nodes import LEAF
        from hedgerow.trees.objective import Rules
        from hedgerow.trees.statistics import SSE, StatisticsLayout

        responses = self.responses[scored]
        caps = np.full(len(SENSITIVE) + len(responses.judged), cap)
        rules = Rules(10, caps, np.ones(0), np.zeros(0), SSE)
        layout = StatisticsLayout.from_responses(responses, SSE, squares=cap < 1, floored=True)

        def rows() -> NodeRows:  # which growing uses up
            return NodeRows.from_codes(predictors, responses, RowCodes(self.codes, [c.codes for c in self.columns]))

        def work(rows: NodeRows) -> str:
            grown = grow(rows, responses, layout, rules, threads=1)
            return f"{int(np.count_nonzero(grown.column == LEAF)):,} leaves"

        return Side(title, work, rows, **more)

    def arrays(self) -> tuple[Any, Any]:
        """Return scikit-learn's own types, so that it need not convert."""
        import numpy as np

        numbers = self.responses[False].numbers
        scaled = [q.units[self.columns[q.source].codes] / float(1 << 30) for q in numbers]
        return np.stack(self.codes, axis=1).astype(np.float32), np.stack(scaled, axis=1)

    def encoded(self) -> tuple[Any, Any]:
        """Return what scikit-learn needs of the table: numbers as float32, text by its encoder."""
        import numpy as np
        import pyarrow as pa
        from sklearn.preprocessing import OrdinalEncoder

        x = np.empty((self.X.num_rows, self.X.num_columns), np.float32)
        text = []
        for j, column in enumerate(self.X.columns):
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                x[:, j] = column.cast(pa.float32(), safe=False).to_numpy()
            else:
                text.append(j)
        names = self.X.select(text).to_pandas().to_numpy(object)
        x[:, text] = OrdinalEncoder(dtype=np.float32).fit_transform(names)
        return x, np.stack([c.to_numpy() for c in self.y.columns], axis=1)


@case(1_000_000, small=100_000, **_ONE)
def growing(asked: argparse.Namespace) -> Iterator[Side]:
    """MART (k = 10, 8 quasi-identifiers, 2 responses, one thread) beside scikit-learn's regression tree.

    Growing, like with like: the same integer codes and responses, every code ordered, each side's own arrays from
    before. Fitting: from the same Arrow table, with the encoding that each needs.
    """
    from sklearn.tree import DecisionTreeRegressor

    from hedgerow import MART

    os.cpu_count = lambda: 1  # one thread for `fit`, too
    people, tenth = Growers(asked.rows), Growers(max(asked.rows // 10, 1_000))

    def fit() -> str:
        return f"{MART(k=10, categorical='concatenate').fit(people.X, people.y).tree_.n_leaves:,} leaves"

    def tree(arrays: tuple[Any, Any]) -> str:
        return f"{DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(*arrays).get_n_leaves():,} leaves"

    ten = {"a tenth, ordered codes": "12"}
    yield tenth.side("a tenth, ordered codes", tenth.ordered)
    yield tenth.side("a tenth, max_disclosure = 0.5", tenth.subsets, 0.5, True)
    yield people.side("MART, ordered codes", people.ordered, ratios=ten)
    yield people.side("MART, categorical subsets", people.subsets)
    for cap in (0.5, 0.2):
        ratios = {f"MART, squared score <= {cap}": "1.8"} | (
            {"a tenth, max_disclosure = 0.5": "12"} if cap > 0.2 else {}
        )
        yield people.side(f"MART, squared score <= {cap}", people.subsets, cap)
        yield people.side(f"MART, max_disclosure = {cap}", people.subsets, cap, True, ratios=ratios)
    against = {"MART, ordered codes": "at least 10", "MART, categorical subsets": "", "MART, max_disclosure = 0.5": ""}
    yield Side("scikit-learn, ordered codes", tree, people.arrays, against | {"MART.fit from the table": ""})
    yield Side("MART.fit from the table", fit)
    ratios = {"MART.fit from the table": "at least 7"}
    yield Side("scikit-learn from the table", lambda: tree(people.encoded()), ratios=ratios)


@case(1_000_000, small=20_000, NUMBA_NUM_THREADS="1")
def protect(asked: argparse.Namespace) -> Iterator[Side]:
    """From a Parquet file to a written, verified release, beside `MART.fit` in memory; and how soon commands start."""
    import pyarrow.parquet as pq

    import hedgerow as hr

    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"])
    method = hr.MART(k=10, max_disclosure=0.5, categorical="concatenate")

    def released(rows: int) -> None:
        LAPS("protect")
        release = hr.protect(people_at(asked, rows), schema, method)
        LAPS("write")
        release.write(Path(asked.folder, "release"), force=True)

    @cache
    def columns() -> tuple[Any, Any]:
        people = pq.read_table(people_at(asked, asked.rows))
        return people.select(list(QUASI)), people.select(list(SENSITIVE))

    tenth = max(asked.rows // 10, 1_000)
    people_at(asked, asked.rows), people_at(asked, tenth)
    few = people_at(asked, 1_000, "csv")
    yield Side("MART.fit in memory", lambda people: method.fit(*people).tree_.n_leaves, columns)
    yield Side("a tenth of the rows", lambda: released(tenth))
    ratios = {"MART.fit in memory": "4", "a tenth of the rows": ""}
    yield Side("file to verified release", lambda: released(asked.rows), ratios=ratios)
    roles = ["--quasi", ",".join(QUASI), "--sensitive", ",".join(SENSITIVE), "-k", 10]
    roles += ["--identifiers", "person_id", "--force", "--out", Path(asked.folder, "out")]
    yield Side("hedgerow --version", lambda: f"{command('--version'):.2f} GB")
    yield Side(
        "hedgerow protect, 1,000 rows of CSV", lambda: f"{command('protect', few, *roles):.2f} GB", bound="2.5 s"
    )


@case(100_000)
def rules(asked: argparse.Namespace) -> Iterator[Side]:
    """Rules between 60 columns: amounts, counts, flags, dates, codes of places, answers and numbers with gaps."""
    import numpy as np
    import pyarrow as pa

    from hedgerow.columns.find_rules import find_rules
    from hedgerow.columns.table import Table

    r, n = np.random.default_rng(1), asked.rows
    city, amounts = r.integers(0, 2_000, n), {f"amount_{i}": r.lognormal(8, 1, n).round(2) for i in range(20)}
    columns = {**amounts, "total": sum((amounts[f"amount_{i}"] * 100).round() for i in range(4, 9)) / 100}
    columns |= {f"count_{i}": r.integers(0, 6 + i, n) for i in range(15)}
    columns |= {f"flag_{i}": (r.random(n) < 0.3).astype(int) for i in range(5)}
    columns |= {f"day_{i}": (r.integers(0, 900, n) + 30 * i).astype("datetime64[D]") for i in range(5)}
    columns |= {f"place_{i}": np.char.add("p", (city // 3**i).astype(str)) for i in range(5)}
    columns |= {f"answer_{i}": r.choice(list("abcde"), n) for i in range(5)}
    columns |= {f"gaps_{i}": pa.array(r.integers(0, 1_000, n), mask=r.random(n) < 0.1) for i in range(4)}

    def work(table: Table) -> str:
        return f"{len(find_rules(table))} rules"

    yield Side("find_rules", work, lambda: Table(pa.table(columns)), bound="5 s")


@case(1_000, small=0)
def first(asked: argparse.Namespace) -> Iterator[Side]:
    """The first `hedgerow protect` on a machine, before any kernel is compiled; processors of all its processes."""
    source = people_at(asked, asked.rows, "csv")
    roles = ["--quasi", ",".join(QUASI), "--sensitive", ",".join(SENSITIVE), "-k", 10]

    def work(method: str, place: str) -> str:
        words = ["protect", source, *roles, "--method", method, "--out", Path(place, "out")]
        return f"{command(*words, NUMBA_CACHE_DIR=str(Path(place, 'kernels'))):.2f} GB"

    for method in ("mart", "mondrian", "hedge"):
        yield Side(method, partial(work, method), partial(tempfile.mkdtemp, dir=asked.folder), bound="8 s")


def _formats(asked: argparse.Namespace, *suffixes: str) -> Iterator[Side]:
    """Yield writing and reading of synthetic people in some formats."""
    from hedgerow.io.read import read
    from hedgerow.io.write import write_table

    people = read(people_at(asked, asked.rows)).arrow
    for suffix in suffixes:
        path = Path(asked.folder, f"some-{asked.rows}.{suffix}")
        yield Side(f"write {suffix}", partial(lambda path: write_table(people, path), path))
        yield Side(f"read {suffix}", partial(lambda path: f"{read(path).n_rows:,} rows", path))


@case(1_000_000)
def files(asked: argparse.Namespace) -> Iterator[Side]:
    """Reading and writing tables of 17 columns, and pyarrow's functions (decision 6 has why they are not taken)."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    yield from _formats(asked, "csv", "parquet", "arrow")
    people, path = pq.read_table(people_at(asked, asked.rows)), Path(asked.folder, "other.csv")
    yield Side("pyarrow.csv.write_csv", lambda: pyarrow.csv.write_csv(people, path), ratios={"write csv": ""})
    yield Side("pyarrow.csv.read_csv", lambda: pyarrow.csv.read_csv(path), ratios={"read csv": ""})


@case(100_000, runs=1)
def labels(asked: argparse.Namespace) -> Iterator[Side]:
    """Reading and writing files with labels, and Parquet and CSV."""
    yield from _formats(asked, "parquet", "csv", "sav", "dta", "xpt", "xlsx")


@case(131_072, small=0, runs=1)
def categories(asked: argparse.Namespace) -> Iterator[Side]:
    """A quasi-identifier with half as many categories as rows, whose joined cells are long (CSV: of three eighths)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    def source(rows: int, suffix: str) -> Path:
        draws = np.random.default_rng(1)
        jobs = np.char.add("job ", draws.permutation(np.arange(rows) % (rows // 2)).astype(str))
        ages, income = draws.integers(18, 90, rows), draws.lognormal(10, 0.6, rows).round()
        path = Path(asked.folder, f"jobs.{suffix}")
        write = pyarrow.csv.write_csv if suffix == "csv" else pq.write_table
        write(pa.table({"age": ages, "job": jobs, "income": income}), path)
        return path

    def work(path: Path) -> str:
        release = path.with_name(f"{path.suffix[1:]}-release")
        words = "--quasi age,job --sensitive income --method mart -k 10 --no-report --force --out"
        peak = command("protect", path, *words.split(), release)
        size = (release / f"release{path.suffix}").stat().st_size / 2**20
        return f"peak {peak * 1e6 / 2**20:.2f} GiB, a release of {size:,.1f} MiB"

    for suffix, rows in (("parquet", asked.rows), ("csv", asked.rows * 3 // 8)):
        yield Side(f"{suffix}, {rows:,} rows", work, partial(source, rows, suffix))


@case(0, small=3_000, runs=1)
def sql(asked: argparse.Namespace) -> Iterator[Side]:
    """A plan as SQL in DuckDB, one thread, beside `Plan.apply` of the same plan: Adult, 8 quasi-identifiers, k = 10."""
    import duckdb

    import hedgerow as hr

    people, quasi = adult(asked), (*ADULT[:4], "relationship", *ADULT[4:])
    schema = hr.Schema(quasi=quasi, sensitive=("hours-per-week", "occupation"))
    connection = duckdb.connect(config={"threads": 1})
    connection.register("adult", people)
    connection.execute("CREATE TABLE people AS SELECT * FROM adult")

    def as_sql(plan: Any, statement: str) -> str:
        connection.sql(statement).to_arrow_table()
        return f"{plan.recoding.n_leaves:,} leaves, {len(statement):,} characters"

    for name, method in (("MART", hr.MART(k=10)), ("Hedge", hr.Hedge(k=10, max_disclosure=0.5, screen=False))):
        plan = hr.protect(people, schema, method, guard=None).plan
        yield Side(f"{name}, as SQL", partial(as_sql, plan, plan.to_sql()), ratios={f"{name}, applied": ""})
        yield Side(f"{name}, applied", partial(lambda plan: plan.apply(people), plan))


@case(1_000_000, small=2_000, runs=1, alone=True)
def hedge(asked: argparse.Namespace) -> Iterator[Side]:
    """Hedge without a guard: many people, many categories, and cells that all break the cap."""
    import numpy as np
    import pyarrow as pa

    import hedgerow as hr

    def synthetic(rows: int) -> tuple[Any, Any]:
        schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"])
        return hr.datasets.make_people(rows, seed=1), schema

    def many_categories(rows: int) -> tuple[Any, Any]:
        draws = np.random.default_rng(0)
        town = np.char.add("t", draws.integers(0, rows * 5 // 6, rows).astype(str))
        ill = np.char.add("d", draws.integers(0, rows * 29 // 30, rows).astype(str))
        table = pa.table({"town": town, "age": draws.integers(18, 90, rows), "ill": ill})
        return table, hr.Schema(quasi=["town", "age"], sensitive=["ill"])

    def all_over(rows: int) -> tuple[Any, Any]:  # the ten of each cell share one of forty values
        cell = np.arange(rows) // 10
        value = np.random.default_rng(0).integers(0, 40, cell[-1] + 1)[cell]
        ill = np.char.add("v", value.astype(str))
        table = pa.table({"at": cell.astype(float), "by": (cell * 7919 % 1009).astype(float), "ill": ill})
        return table, hr.Schema(quasi=["at", "by"], sensitive=["ill"])

    def work(options: dict[str, Any], source: tuple[Any, Any]) -> str:
        release = hr.protect(*source, hr.Hedge(10, **options), guard=None)
        return f"{release.method.tree_.n_leaves:,} cells, {release.plan.recoding.n_groups:,} groups"

    def side(title: str, make: Any, rows: int, bound: str = "", ratios: Any = (), **options: Any) -> Side:
        return Side(title, partial(work, options), partial(make, rows), dict(ratios), bound)

    tenth = {"a tenth": "13"}
    yield side("a tenth", synthetic, asked.rows // 10, screen=True)
    yield side("synthetic people", synthetic, asked.rows, "15 s, 2 GB", tenth, screen=True)
    yield side("3,000 rows, 2,500 categories", many_categories, min(3_000, asked.rows), "5 s", screen=False)
    over = asked.rows * 8 // 10
    yield side("cells that all break the cap", all_over, over, "60 s", screen=False, max_bins=65_000)


@case(200_000, small=3_000)
def guard(asked: argparse.Namespace) -> Iterator[Side]:
    """Drawn rows, the default, beside the same release without a guard: from a Parquet file to verified files."""
    import hedgerow as hr

    source, schema = (
        people_at(asked, asked.rows),
        hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"]),
    )

    def work(engine: str, guard: str | None) -> None:
        release = hr.protect(source, schema, guard=guard, engine=engine)
        release.write(Path(asked.folder, f"{engine}-{guard}"), force=True)

    for engine in ("memory", "duckdb"):
        yield Side(f"without a guard, {engine}", partial(work, engine, None))
        ratios = {f"without a guard, {engine}": "1.3"}
        yield Side(f"drawn rows, {engine}", partial(work, engine, "redraw"), ratios=ratios)


@case(1_000_000, small=50_000, runs=1)  # fewer rows are sorted by numpy
def audit(asked: argparse.Namespace) -> Iterator[Side]:
    """An audit of a MART release with 8 quasi-identifiers, without attacks."""
    import hedgerow as hr

    people = hr.datasets.make_people(asked.rows, seed=1)
    schema = hr.Schema(quasi=QUASI, sensitive=["income", "assets"])

    def work(release: Any) -> str:
        result = hr.audit(people, release, attacks=False, learning=False)
        return f"{result.risk['release']['classes']['classes']:,} classes"

    release = cache(lambda: hr.protect(people, schema, hr.MART(k=10, categorical="concatenate")))
    yield Side("without attacks", work, release, bound="5 s")


@case(1_000_000, small=100_000, runs=1)  # with fewer the small side has no estimates
def regressions(asked: argparse.Namespace) -> Iterator[Side]:
    """Regressions on original and release: 10 columns, and 40 columns of a hundredth of the people, at most 10,000."""
    import numpy as np
    import pandas as pd

    import hedgerow as hr
    from hedgerow.auditing.measure import models_of

    def released(rows: int, n_quasi: int, n_sensitive: int) -> Any:
        draw = np.random.default_rng(0)
        columns: dict[str, Any] = {}
        for at in range(n_quasi):
            shares = [0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]
            columns[f"q{at}"] = draw.integers(18, 90, rows) if at % 2 else draw.choice(list("abcdefgh"), rows, p=shares)
        for at in range(n_sensitive):
            latent = draw.normal(size=rows) + 0.02 * columns["q1"]
            numbers, flags = np.round(1_000 * np.exp(latent / 3)), np.where(latent > 1.5, "yes", "no")
            columns[f"s{at}"] = (numbers, flags, draw.choice(list("uvwx"), rows))[at % 3]
        names = list(columns)
        schema = hr.Schema(quasi=names[:n_quasi], sensitive=names[n_quasi:])
        return hr.protect(pd.DataFrame(columns), schema, random_state=0)

    def work(release: Any) -> str:
        models = models_of(release)
        assert models is not None
        return f"{models['every']['estimates']:,} estimates"

    for columns, rows in ((10, asked.rows), (40, min(10_000, asked.rows // 100))):
        yield Side(f"{rows:,} people, {columns} columns", work, cache(partial(released, rows, 6, columns - 6)))


@case(1_000_000, small=0, runs=1, alone=True)
def attacks(asked: argparse.Namespace) -> Iterator[Side]:
    """An audit with everything of unchanged rows, all different: 10 quasi-identifiers, one of 80,000 values."""
    import numpy as np
    import pyarrow as pa

    import hedgerow as hr

    schema = hr.Schema(quasi=(*QUASI, "postcode", "street"), sensitive=["income", "diagnosis"])

    def streets() -> Any:
        numbers = np.random.default_rng(0).integers(0, 80_000, asked.rows).astype(str)
        people = hr.datasets.make_people(asked.rows, seed=1)
        return people.append_column("street", pa.array(np.char.add("street ", numbers)))

    def work(people: Any) -> str:
        result = hr.audit(people, people, schema, progress=LAPS).attacks
        return "".join(f"\n    {a['attack']}, {a['learner']}: {a['success']:.3f}" for a in result)

    yield Side("with all attacks", work, streets, bound="minutes, 4 GB")


@case(0, small=2_000, runs=1)
def pycanon(asked: argparse.Namespace) -> Iterator[Side]:
    """The figures that pycanon has too, of a MART release of Adult, from two frames (pip install pycanon)."""
    import numpy as np
    from pycanon import anonymity

    import hedgerow as hr
    from hedgerow.auditing.class_risk import diversity_summary
    from hedgerow.auditing.pairing import align
    from hedgerow.measures import Classes

    people = adult(asked).to_pandas().dropna().reset_index(drop=True)
    schema = hr.Schema(quasi=(*ADULT, "hours-per-week"), sensitive=["occupation"])
    method = hr.MART(k=10, max_disclosure=0.5, categorical="concatenate")
    protected, quasi = hr.protect(people, schema, method), [*ADULT, "hours-per-week"]
    release, people = protected.table, people.iloc[protected.rows].reset_index(drop=True)  # row by row

    def in_words(figures: list[float]) -> str:
        names = ("k", "l", "entropy l", "alpha", "t", "basic beta", "enhanced beta", "delta")
        return ", ".join(f"{name} {value:.6g}" for name, value in zip(names, figures, strict=True))

    def ours() -> str:
        pair = align(people, release, schema)
        classes = Classes.from_groups(pair.classes, pair.released_sensitive)
        (column,) = classes.sensitive.values()
        figures = diversity_summary(column)
        figures |= {"entropy_l": np.floor(figures["entropy_l"])}
        t = "t_ordered" if column.is_number else "t_equal"
        names = ("distinct_l", "entropy_l", "alpha", t, "basic_beta", "enhanced_beta", "delta")
        return in_words([float(classes.sizes.min()), *(figures[name] for name in names)])

    def theirs() -> str:  # its recursive diversity is left out: it sorts the counts the other way
        asked_of = [release, quasi, ["occupation"]]
        names = ("l_diversity", "entropy_l_diversity", "alpha_k_anonymity", "t_closeness")
        names += ("basic_beta_likeness", "enhanced_beta_likeness", "delta_disclosure")
        figures = [getattr(anonymity, name)(*asked_of) for name in names]
        return in_words(
            [anonymity.k_anonymity(release, quasi), *(f[0] if isinstance(f, tuple) else f for f in figures)]
        )

    yield Side("Hedgerow", ours)
    yield Side("pycanon", theirs, ratios={"Hedgerow": ""}, equal="Hedgerow")


@case(1_000_000, small=1_000)
def special_uniques(asked: argparse.Namespace) -> Iterator[Side]:
    """Special uniques of ten columns of 2 to 300 values, in sets of up to three; the package suda, if it is there."""
    import numpy as np
    import pandas as pd

    from hedgerow.auditing.attacks import special_uniques as attack

    def columns(rows: int) -> list[Any]:
        draws = np.random.default_rng(0)
        levels = (2, 3, 5, 8, 10, 15, 20, 50, 80, 300)
        return [draws.integers(0, n, rows).astype(np.uint16) for n in levels]

    def work(size: int, columns: list[Any]) -> str:
        uniques = attack.special_uniques(columns, [str(j) for j in range(len(columns))], size=size)
        return f"{uniques.counts.sum():,} sets"

    yield Side("a tenth of the rows", partial(work, 3), partial(columns, asked.rows // 10), bound="20 s")
    yield Side("all rows", partial(work, 3), partial(columns, asked.rows), {"a tenth of the rows": ""})
    few = min(20_000, asked.rows)
    yield Side("20,000 rows, sets of two", partial(work, 2), partial(columns, few))
    if importlib.util.find_spec("suda"):
        from suda import suda

        table = pd.DataFrame(dict(enumerate(columns(few)))).rename(columns=str)
        ratios = {"20,000 rows, sets of two": ""}
        yield Side("suda, the same", lambda: suda(table, max_msu=2), ratios=ratios)


@case(1_000_000, small=10_000)
def survey(asked: argparse.Namespace) -> Iterator[Side]:
    """Risks of a table of 8 quasi-identifiers with weights and households, and population uniques."""
    import numpy as np
    import pyarrow as pa

    import hedgerow as hr
    from hedgerow.auditing.class_risk import journalist, released_risk
    from hedgerow.auditing.pairing import align

    draws, full = np.random.default_rng(0), 1_000_000  # a smaller table is its first rows
    columns = {f"q{j}": draws.integers(0, n, full) for j, n in enumerate((2, 3, 5, 8, 10, 15, 20, 50))}
    columns |= {"w": draws.uniform(1, 200, full), "home": np.arange(full) // 3}
    table = pa.table(columns).slice(0, asked.rows)
    schema = hr.Schema(quasi=[f"q{j}" for j in range(8)], household="home", weight="w")

    def pair() -> Any:
        pair_of_tables = align(table, table, schema)
        assert pair_of_tables.released_quasi
        return pair_of_tables

    def work(pair: Any) -> str:
        risk = released_risk(pair, journalist(pair, None, "w"), 0.2)
        return f"expected re-identifications {risk['reidentification']['journalist']['expected']:,.0f}"

    yield Side("classes, risks, population uniques", work, pair, bound="3 s")


@case(100_000, small=0, runs=1, alone=True)
def unpaired(asked: argparse.Namespace) -> Iterator[Side]:
    """A whole audit without pairs: 10 columns, as many rows of other people as a release, a tenth as a control."""
    import hedgerow as hr

    quasi = ["age", "education", "job", "sex", "region", "marital", "children", "hours_per_week"]
    schema = hr.Schema(quasi=quasi, sensitive=["income", "diagnosis"])

    def tables() -> list[Any]:
        sizes = ((asked.rows, 1), (asked.rows, 2), (asked.rows // 10, 3))
        return [hr.datasets.make_people(n, seed=s).select([*quasi, *schema.sensitive]) for n, s in sizes]

    def work(tables: list[Any]) -> None:
        hr.audit(tables[0], tables[1], schema, paired=False, control=tables[2])

    yield Side("with all attacks", work, tables)


@case(0, small=900, runs=1)
def frontier(asked: argparse.Namespace) -> Iterator[Side]:
    """Twelve points of MART (k = 5 to 50 by three caps) on Adult for every kind of axis; two threads together."""
    import hedgerow as hr
    from hedgerow.io.read import read

    quasi = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
    schema = hr.Schema(quasi=quasi, sensitive=["hours-per-week"])
    people = adult(asked).select([*quasi, "hours-per-week"])
    ks, caps = ((50,), (0.5,)) if 0 < asked.rows < 1_000 else ((5, 10, 20, 50), (0.2, 0.4, 0.6))
    methods = [hr.MART(k=k, max_disclosure=cap, categorical="concatenate") for k in ks for cap in caps]
    table = read(people, schema=schema)
    for method in methods:
        method.fit_table(table, schema)  # the table keeps its codes, as it does for the frontier

    def trees() -> None:
        for method in methods:
            method.fit_table(table, schema)

    def work(axes: dict[str, str]) -> str:
        points = hr.frontier(
            people, schema, hr.MART(categorical="concatenate"), k=ks, max_disclosure=caps, **axes
        ).points
        least, most = (extreme(p.of_optimum for p in points) for extreme in (min, max))
        return f"{len(points)} points, of optimum at least {least:.2f} to {most:.2f}"

    yield Side("growing the trees alone", trees)
    uses, risks = ("certainty", "queries", "learning"), ("linkage", "inferred", "advantage")
    axes = [{"utility": use} for use in uses[:2]] + [{"disclosure": risk} for risk in risks]
    for each in (*axes, {"utility": "learning"}, {"utility": "learning", "disclosure": "advantage"}):
        yield Side(", ".join(f"{axis} {name}" for axis, name in each.items()), partial(work, each))


@case(500_000)
def tpp(asked: argparse.Namespace) -> Iterator[Side]:
    """A whole fit of TPP: 11 attributes (6 numeric, of which 2 continuous), a tree of 8 leaves."""
    import numpy as np
    import pyarrow as pa

    from hedgerow.methods.tpp import TreePatternPreserving, TreeSettings

    def people(n: int, seed: int = 0) -> tuple[Any, Any]:
        draws = np.random.default_rng(seed)
        columns: dict[str, Any] = {
            "age": draws.integers(17, 91, n),
            "schooling": draws.integers(1, 17, n),
            "gain": np.where(draws.random(n) < 0.08, draws.integers(100, 20000, n), 0),
            "hours": draws.integers(1, 100, n),
            "height": np.round(draws.normal(170, 10, n), 3),
            "score": draws.normal(size=n),
        }
        risk = 0.03 * columns["age"] + 0.1 * columns["schooling"] + 2 * (columns["gain"] > 5000)
        risk += columns["score"] + draws.normal(size=n)
        for name, size in (("job", 14), ("region", 8), ("status", 7), ("sector", 9), ("country", 40)):
            names = pa.array([f"{name} {i:02}" for i in range(size)])
            codes = pa.array(draws.integers(0, size, n).astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
        return pa.table(columns), pa.array(np.where(risk > 3, "yes", "no"))

    def work(table: Any, y: Any) -> None:
        TreePatternPreserving(TreeSettings("entropy", n_splits=7), k=2).fit(table, y)

    whole, y = people(asked.rows)
    for part in (8, 4, 2, 1):
        some, bound = asked.rows // part, {"bound": "5 s", "ratios": {"an eighth of the records": "10.4, 1.3 x linear"}}
        title = {8: "an eighth of the records", 4: "a quarter", 2: "half", 1: "all records"}[part]
        more = bound if part == 1 else {}
        yield Side(title, partial(work, whole.slice(0, some), y.slice(0, some)), **more)  # type: ignore[arg-type]
    half = asked.rows // 2
    wide = whole.slice(0, half)
    for copies in (2, 3):  # the same mix of kinds in every point
        other, _ = people(half, seed=copies - 1)
        for name in whole.column_names:
            wide = wide.append_column(f"{name} {copies - 1}", other.column(name))
        ratios = {"half": f"{1.3 * copies:.1f}, 1.3 x linear"}
        yield Side(f"half, {wide.num_columns} attributes", partial(work, wide, y.slice(0, half)), ratios=ratios)


@case(1_000_000, small=1_000, runs=1)
def randomized_response(asked: argparse.Namespace) -> Iterator[Side]:
    """The optimum (l = 3), the draws and the estimators of randomized response; peak bound: 4 GB."""
    import numpy as np

    from hedgerow.kernels.siphash import draw
    from hedgerow.methods.response.contingency import build
    from hedgerow.methods.response.risk import Risk, optimize
    from hedgerow.methods.response.rr_matrix import Channel, em, projected

    def optimum(dims: Any, columns: Any, sensitive: Any, levels: int, target: Any) -> None:
        setting = build(columns, dims, [sensitive], [levels], target, 1 / 3)
        best = optimize(Risk(setting, target))
        assert best is not None
        assert best.worst <= 1

    def skewed(dims: tuple[int, ...]) -> tuple[list[Any], Any]:
        draws = np.random.default_rng(0)
        columns = [np.minimum((draws.gamma(1.0, size=asked.rows) * d / 4).astype(np.int64), d - 1) for d in dims]
        return columns, (columns[0] * 3 + columns[1] + draws.integers(0, 6, asked.rows)) % 10

    targets = ("quasi", "both")
    if "HEDGEROW_DATA" in os.environ:
        from experiments.randomized_response import data

        for which in ("EMGRW", "ESGRO"):
            adult_data = data(which, "both")
            parts = (adult_data.dims[:-1], list(adult_data.codes[:-1]), adult_data.codes[-1], adult_data.dims[-1])
            for target in targets:
                yield Side(f"optimum, Adult {which}, {target}", partial(optimum, *parts, target), bound="0.3 s")
    sizes: tuple[Any, ...] = (((10,) * 5, ("2 s", "10 s")), ((20, 20, 10, 10, 25), ("", "")))
    for dims, bounds in sizes if asked.rows >= 100_000 else sizes[:1]:
        columns, sensitive = skewed(dims)
        for target, bound in zip(targets, bounds, strict=True):
            title = f"optimum, {int(np.prod(dims)) * 10:,} cells, {target}"
            yield Side(title, partial(optimum, dims, columns, sensitive, 10, target), bound=bound)
    n = 10 * asked.rows
    ids = np.arange(n, dtype=np.uint64)
    codes = (np.random.default_rng(0).random(n) * 8).astype(np.uint8)
    yield Side(
        f"draws, {n:,} rows x 5 attributes", lambda: [draw(codes, ids, (1, i), 0.5, 8) for i in range(5)], bound="5 s"
    )
    channel = Channel((10,) * 6, np.array([0.8, 0.7, 0.9, 0.8, 0.7, 1.0]))
    draws = np.random.default_rng(0)
    counts = draws.poisson(draws.gamma(0.3, 3, 1_000_000)).astype(float)
    yield Side("EM, 1,000,000 cells", lambda: em(channel, counts), bound="5 s")
    shares = counts / counts.sum()
    yield Side("inversion, projection", lambda: projected(channel.inverse(shares)), bound="5 s")


@case(0, small=3_000, runs=1)
def incognito(asked: argparse.Namespace) -> Iterator[Side]:
    """Adult's 12,960 generalisations, k = 5: the search, Datafly, and every node by numpy, which finds the same one."""
    from itertools import product

    import numpy as np
    import pandas as pd

    import hedgerow as hr
    from hedgerow.io.read import read
    from hedgerow.methods.full_domain import Datafly, Incognito, build

    quasi = ("age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass", "income")
    schema = hr.Schema(quasi=quasi, sensitive=["relationship"], hierarchies=hr.datasets.load_adult_hierarchies())
    people = adult(asked)

    def in_words(loss: float, node: tuple[int, ...]) -> str:
        return f"loss {loss:.6f}, levels {node}"

    def search(share: float, table: Any) -> str:
        method = Incognito(k=5, suppression=share)
        method.fit_table(table, schema)
        return in_words(method.loss_, tuple(method.node_[name] for name in quasi))

    def greedy(share: float, table: Any) -> str:
        return f"loss {Datafly(5, suppression=share).fit_table(table, schema).loss_:.6f}"

    def every_node(share: float, table: Any) -> str:
        lattice = build(table, schema, 5, limit=int(share * table.n_rows))
        codes, size, axes = lattice.codes.astype(np.int64), lattice.size, lattice.axes
        names = [[level[codes[:, i]] for level in axis.levels] for i, axis in enumerate(axes)]
        shares = [[level[codes[:, i]] for level in axis.share] for i, axis in enumerate(axes)]
        best: Any = (np.inf,)
        for node in product(*map(range, lattice.heights)):
            key, span = np.zeros(len(codes), np.int64), 1
            for i, level in enumerate(node):
                width = int(names[i][level].max()) + 1
                key, span = key * width + names[i][level], span * width
            key = pd.factorize(key)[0] if span > 200_000 else key
            hidden = np.bincount(key, weights=size)[key] < 5
            total = int(size[hidden].sum())
            if total <= lattice.limit and not 0 < total < 5:
                lost = sum(shares[i][level] for i, level in enumerate(node))
                loss = float((size * lost)[~hidden].sum() + len(axes) * total) / (len(axes) * lattice.n)
                best = min(best, (round(loss, 12), sum(node), node))  # least loss, then lowest, then by level
        return in_words(best[0], best[2])

    for share in (0.0, 0.05):
        title, fresh = f"Incognito, {share:.0%} suppression", partial(read, people)
        yield Side(title, partial(search, share), fresh, bound="1.5 s")
        yield Side(f"Datafly, {share:.0%}", partial(greedy, share), fresh)
        yield Side(f"every node, {share:.0%}", partial(every_node, share), fresh, {title: ""}, equal=title)


@case(1_000_000)
def masking(asked: argparse.Namespace) -> Iterator[Side]:
    """Masking of 10 skewed, dependent columns, its scores, and MDAV of 4."""
    import numpy as np
    import pyarrow as pa

    from hedgerow import Microaggregation, NoiseAddition, PoROP, RankSwapping
    from hedgerow.measures.masking_scores import score_arrays

    def values(rows: int, columns: int) -> Any:
        draws = np.random.default_rng(1)
        common = draws.normal(size=(rows, 1))
        return np.exp(0.5 * common + 0.7 * draws.normal(size=(rows, columns)))

    def fit(method: Any, values: Any) -> None:
        method(values).fit(pa.table({str(c): values[:, c].copy() for c in range(values.shape[1])}))

    def scores(values: Any) -> None:
        noise = 0.1 * np.random.default_rng(2).normal(size=values.shape)
        score_arrays(values, values + noise, [str(c) for c in range(values.shape[1])], records=None)

    def side(title: str, work: Any, share: float, columns: int, bound: str = "") -> Side:
        rows = max(int(asked.rows * share), 200)
        return Side(f"{title}, {rows:,} x {columns}", work, partial(values, rows, columns), bound=bound)

    def cubic(values: Any) -> Any:
        return PoROP(max(values.size // 100, 10), degree=3, random_state=1)

    yield side("PoROP cubic", partial(fit, cubic), 1, 10, "3 s")
    yield side("noise", partial(fit, lambda _: NoiseAddition(0.1, random_state=1)), 1, 10)
    yield side("rank swapping", partial(fit, lambda _: RankSwapping(0.05, random_state=1)), 1, 10)
    yield side("scores, size of Census", scores, 0.00108, 13, "0.5 s")
    yield side("scores", scores, 0.02, 10, "30 s, 2 GB")
    for share, bound in ((0.1, "6 s of processor time"), (1, "ends")):
        yield side("MDAV, k = 10", partial(fit, lambda _: Microaggregation(10)), share, 4, bound)


@case(10_000_000, small=50_000, runs=1, alone=True)
def engines(asked: argparse.Namespace) -> Iterator[Side]:
    """From a Parquet file of 8 quasi-identifiers to verified files: memory and DuckDB write the same bytes."""
    import hedgerow as hr

    source = hashed_at(asked)
    schema, method = hashed_case(asked.method)

    def work(engine: str) -> str:
        limit = {} if engine == "memory" else {"memory": asked.memory or "4GB"}
        target = Path(asked.folder, f"{engine}-{asked.rows}")
        release = hr.protect(source, schema, method, engine=engine, progress=LAPS, parts=asked.parts, **limit)
        release.write(target, progress=LAPS, force=True)
        whole = hashlib.sha256()
        for path in sorted(target.rglob("*")):
            if path.suffix == ".parquet" or path.name == "plan.json":
                with open(path, "rb") as file:
                    whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
        return f"bytes {whole.hexdigest()[:16]}"

    yield Side("memory", partial(work, "memory"))
    yield Side("duckdb", partial(work, "duckdb"), ratios={"memory": "1.5"}, equal="memory")


@case(2_000_000, small=50_000, runs=1, alone=True)
def peaks(asked: argparse.Namespace) -> Iterator[Side]:
    """Peak memory of DuckDB with every method, `apply` and `audit` within --memory, or within four times as much."""
    import hedgerow as hr
    from hedgerow.columns.workspace import memory_of
    from hedgerow.release import apply_plan

    source, release = hashed_at(asked), Path(asked.folder, f"MART-{asked.rows}")

    def protected(name: str, memory: str) -> None:
        schema, method = hashed_case(name)
        output = hr.protect(source, schema, method, engine="duckdb", memory=memory)
        output.write(Path(asked.folder, f"{name}-{asked.rows}"), force=True)

    def applied(memory: str) -> None:
        if not release.exists():
            protected("MART", memory)
        plan = hr.Plan.load(release / "plan.json")
        output = apply_plan(plan, source, engine="duckdb", memory=memory, unseen="suppress")
        output.write(Path(asked.folder, f"applied-{asked.rows}.parquet"))

    def audited(memory: str) -> None:  # attacks need all rows at once
        if not release.exists():
            protected("MART", memory)
        hr.audit(source, release, engine="duckdb", memory=memory, attacks=False, learning=False)

    def work(run: Callable[[str], None]) -> str:
        limit = asked.memory or "1GB"
        try:
            run(limit)
            return f"within {limit}"
        except hr.HedgerowError as error:
            more, refused = str(4 * memory_of(limit)), f"within {limit}: {error}"
        try:
            run(more)
            return f"{refused}; within {more}"
        except hr.HedgerowError as error:
            return f"{refused}; within {more}: {error}"

    for name in METHODS:
        if name != "Mondrian":
            yield Side(name, partial(work, partial(protected, name)))
    yield Side("apply", partial(work, applied))
    yield Side("audit", partial(work, audited))


def _wide(rows: int, columns: int) -> tuple[Any, list[str]]:
    """Return a table of so many columns, half numbers and half categories that five factors move, and its first 8."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)
    factors = rng.normal(size=(rows, 5))
    table: dict[str, Any] = {
        "age": np.clip(np.round(45 + 17 * factors[:, 0]), 18, 95).astype(int),
        "sex": rng.choice(["f", "m"], rows),
        "region": rng.choice([f"region {i}" for i in range(16)], rows),
        "income": np.round(np.exp(10 + 0.6 * factors[:, 1])),
        "height": np.round(rng.normal(170, 10, rows), 1),
        "job": rng.choice([f"job {i}" for i in range(12)], rows),
        "children": rng.poisson(1.2, rows),
        "school": np.array(list("abcdef"))[np.clip(np.floor(factors[:, 1] + 3), 0, 5).astype(int)],
    }
    quasi = list(table)
    for i in range(columns - len(quasi)):
        score = factors @ rng.normal(size=5) + rng.normal(size=rows)
        if i % 2:
            table[f"number {i}"] = np.round(10 * score, 1)
        else:
            share, n = np.argsort(np.argsort(score)) / rows, int(rng.integers(2, 12))
            table[f"category {i}"] = np.array([f"value {v}" for v in range(n)])[(share**1.5 * n).astype(int)]
    return pa.table(table), quasi


@case(3_000, small=300, runs=1)
def wide(asked: argparse.Namespace) -> Iterator[Side]:
    """`hr.protect` as it is by default on tables of 150 and 300 columns, 8 of them quasi-identifiers."""
    import hedgerow as hr

    for columns, bound in ((150, "10 s"), (300, "30 s")):
        table, quasi = _wide(asked.rows, columns)
        sensitive = [name for name in table.column_names if name not in quasi]
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        yield Side(f"{columns} columns", partial(hr.protect, table, schema, random_state=3), bound=bound)


@case(1_000_000, runs=2)
def private(asked: argparse.Namespace) -> Iterator[Side]:
    """PrivateTree beside MART: 10 columns, from a table in memory to a verified release."""
    import hedgerow as hr

    people = hr.datasets.make_people(asked.rows, seed=1)
    words = ["sex", "education", "job", "region", "marital", "diagnosis"]
    schema = hr.Schema(
        quasi=["age", "sex", "education", "job", "region", "marital", "hours_per_week", "children"],
        sensitive=["income", "diagnosis"], unit=None,
        bounds={"age": (0, 110), "income": (0, 10_000_000), "hours_per_week": (0, 100), "children": (0, 20)},
        categories={c: [str(v) for v in people.column(c).unique().to_pylist() if v is not None] for c in words},
    )  # fmt: skip
    yield Side("MART", lambda: hr.protect(people, schema, hr.MART()))
    ratios = {"MART": ""}
    yield Side("PrivateTree", lambda: hr.protect(people, schema, hr.PrivateTree()), ratios=ratios)


@case(1_000_000, small=0, runs=1)
def studio(asked: argparse.Namespace) -> Iterator[Side]:
    """How soon the studio shows what it is asked, by playwright and chromium; processors of server and worker."""
    import pyarrow.parquet as pq
    from playwright.sync_api import sync_playwright

    import hedgerow as hr

    quasi = ("age", "sex", "education", "job", "region", "marital")
    path = Path(asked.folder, "people.parquet")
    pq.write_table(hr.datasets.make_people(asked.rows, seed=1).select([*quasi, "income"]), path)

    def visited(page: Any, address: str, begun: tuple[float, float]) -> None:
        page.set_default_timeout(600_000)

        def another(k: int, step: str) -> None:
            since, exact = LAPS.now(), f'#picture svg[aria-label*="Chosen: Hedge {k}"]'
            page.locator("#option-k").fill(str(k))
            page.locator(exact).wait_for()
            LAPS.add(step, since)

        LAPS.add("address printed", begun)
        since = LAPS.now()
        page.goto(address)
        page.locator("h1").wait_for()
        LAPS.add("first paint", since)
        page.locator("#roles").wait_for()
        since = LAPS.now()
        page.goto(re.sub(r"/\?.*", "/risk", address))
        page.locator(".cards").wait_for()
        LAPS.add("who can be found, from the click", since)
        LAPS.add("the same, from the start of the program", begun)
        page.locator("#carries").wait_for()
        LAPS.add("what a tree infers, from the start", begun)
        since = LAPS.now()
        page.goto(re.sub(r"/\?.*", "/protect", address))
        page.locator("#picture circle").first.wait_for()
        LAPS.add("the chosen point of the frontier", since)
        page.locator("#points").wait_for()
        another(14, "a k nobody tried, while others are tried")
        since = LAPS.now()
        page.locator("#stop").wait_for(state="detached")
        LAPS.add("all points, and what each column carries", since)
        another(20, "a k that was tried")
        page.locator("#stop").wait_for(state="detached")
        another(13, "a k that nobody tried")

    def work() -> str:
        words = [sys.executable, "-m", "hedgerow", "studio", str(path), "--no-browser"]
        begun = time.perf_counter(), 0.0
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        LAPS.count = lambda: processors_of(server.pid)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                visited(browser.new_page(), address, begun)
                workers = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
                memory = max(map(peak_of, workers))
                browser.close()
            return f"the server held at most {peak_of(server.pid):.2f} GB, a worker {memory:.2f} GB"
        finally:
            LAPS.count = processors
            server.terminate()
            server.wait(30)

    yield Side("the studio", work)


if __name__ == "__main__":
    main()
