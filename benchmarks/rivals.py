"""Hedgerow's releases beside synthetic data of the same people: what they keep, what they show, what they cost.

    HEDGEROW_DATA=... python benchmarks/rivals.py [--rows 3000] [--splits 3] [--tables adult,credit]
        [--methods hedge,mst] [--synthpop FOLDER]
    python benchmarks/rivals.py --page     writes benchmarks/rivals.csv and the table of docs/synthetic-data.md again

Two thirds of at most so many people are released, one third are strangers (`experiments.guarded` has what is asked of a
release). Rivals are installed in environments of their own, build/rivals, and get the people as a file. Each release is
made by a process of its own, and is then a line of build/rivals/figures.jsonl: an interrupted run goes on there.
R's synthpop is run if Rscript has it, or from a folder with its sources. At last anonymeter attacks every release.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import shutil
import subprocess
import time
import venv
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.unpaired import copula
from experiments.cart_synthesis import synthesised
from experiments.guarded import TABLES, Members, View
from experiments.hedge import JUDGED, Case, K, sample

import hedgerow as hr
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.columns.table import Table
from hedgerow.io.read import read
from hedgerow.plan import Guard

HERE = Path(__file__).resolve().parent
HOME = HERE.parent / "build" / "rivals"
RESULTS, PAGE = HERE / "rivals.csv", HERE.parent / "docs" / "synthetic-data.md"
BEGIN, END = "<!-- benchmarks/rivals.py writes from here -->\n", "<!-- to here -->\n"
ENVIRONMENTS = {
    # arfpy's release of 2023 needs packages of its time
    "arf": ["arfpy==0.1.1", "numpy==1.26.4", "pandas==2.1.4", "scikit-learn==1.5.2", "scipy==1.13.1"],
    "dpmm": ["dpmm==0.1.9"],
    "opendp": ["opendp[mbi]==0.16.0", "pandas"],  # of `private.py`
    "anonymeter": ["anonymeter==1.1.0"],
    "sdnist": ["sdnist==2.4"],  # it needs Python 3.11 or before
}
FRESH = "a fresh sample"
EPSILONS = 1, 3, 10
OURS: dict[str, Callable[[], tuple[Any, str | None]]] = {
    "MART, exact values": lambda: (hr.MART(K, max_disclosure=0.5), None),
    "Mondrian, exact values": lambda: (hr.Mondrian(K), None),
    "Hedge, exact values, means": lambda: (hr.Hedge(K, max_disclosure=0.5, cells="means"), None),
    "Hedge, redrawn means": lambda: (hr.Hedge(K, max_disclosure=0.5, cells="means"), "auto"),
    "Hedge, redrawn rows (the default)": lambda: (hr.Hedge(), "auto"),
    "PrivateTree, epsilon 1": lambda: (hr.PrivateTree(epsilon=1), "auto"),
    "PrivateTree, epsilon 4": lambda: (hr.PrivateTree(epsilon=4), "auto"),
}
HELD = "sequential CART (our port of synthpop)", "Gaussian copula"
RUN = {"synthpop in R": ("R", "synthpop", 0), "adversarial random forest (arfpy)": ("arf", "arf", 0)} | {
    f"{name}, epsilon {epsilon}": ("dpmm", name.lower(), epsilon) for name in ("MST", "AIM") for epsilon in EPSILONS
}
"""By name: the environment, the program of `rivals_made.py`, and epsilon."""
RELEASES = ("the people themselves", FRESH, *OURS, *HELD, *RUN)

COLUMNS: dict[str, tuple[str, ...]] = {
    "R2": tuple(f"r2_{n}" for n in JUDGED), "counts, %": ("counts_median", "counts_nine_in_ten"),
    "overlap": ("overlap",), "impossible": ("impossible",), "cell means": ("cell_means",),
    "advantage": ("advantage",), "nearest row": ("nearest",), "runs": ("membership",), "equal": ("equal",),
    "found by a value (strangers)": ("found", "found_strangers"),
    "singled out / linked / inferred": ("singled_out", "linked", "inferred"), "s": ("seconds",), "GB": ("gigabytes",),
}  # fmt: skip
"""Heads of the table, and their figures."""
FIGURES = [figure for figures in COLUMNS.values() for figure in figures]


def handed(table: Table, names: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table, or some columns, as rivals get it: plain names, dates as days, categories as marked texts."""
    made = {}
    for at, name in enumerate(names or table.names):
        cells = table.arrow.column(name)
        if table.kind(name) in ("numeric", "date"):
            made[f"c{at}"] = (cells.cast(pa.int32()) if pa.types.is_date32(cells.type) else cells).to_pandas()
        else:
            made[f"c{at}"] = ["missing" if v is None else f"v{v}" for v in cells.to_pylist()]
    return pd.DataFrame(made)


def returned(frame: pd.DataFrame, like: Table) -> Table:
    """Return rows of a rival in the types of a table, whole numbers where all of its own are whole."""
    made = {}
    for at, (name, kind) in enumerate((n, like.arrow.column(n).type) for n in like.names):
        cells = frame[f"c{at}"]
        if like.kind(name) in ("numeric", "date"):
            whole = handed(like)[f"c{at}"]
            values = np.rint(cells) if (whole == np.rint(whole)).all() else cells
            days = pa.types.is_date32(kind)
            array = pa.array(values.astype("int64") if days or pa.types.is_integer(kind) else values)
            made[name] = (array.cast(pa.int32()) if days else array).cast(kind)
        else:
            made[name] = pa.array([None if v == "missing" else str(v)[1:] for v in cells], pa.string())
    return read(pa.table(made))


def domain_of(case: Case) -> dict[str, Any]:
    """Return what is taken as public about each column: the ends of the whole table's numbers, and its categories."""
    table, made = read(case.load()), {}
    for name in (*case.quasi, *case.sensitive):
        cells = table.arrow.column(name)
        if table.kind(name) in ("numeric", "date"):
            ends = pc.min_max(cells.cast(pa.int32()) if pa.types.is_date32(cells.type) else cells).as_py()
            low, high = ends["min"], max(ends["max"], ends["min"] + 1)
            # whole ends say that all numbers are whole; rivals' are rounded
            is_whole = pc.all(pc.equal(cells, pc.round(cells))).as_py() if pa.types.is_floating(cells.type) else True
            made[name] = [int(low), int(high)] if is_whole else [float(low), float(high)]
        else:
            made[name] = sorted({str(v) for v in pc.unique(cells).to_pylist() if v is not None})
    return made


def ours(people: Members, domain: Mapping[str, Any], name: str, seed: int) -> tuple[View, Guard | None, float]:
    """Return a release of Hedgerow as its recipient reads it, how it hides values, and its seconds."""
    (method, guard), schema, state = OURS[name](), people.case.schema, seed
    if name.startswith("PrivateTree"):
        bounds = {n: ends for n, ends in domain.items() if people.members.kind(n) in ("numeric", "date")}
        dates = [n for n in bounds if people.members.kind(n) == "date"]
        days = {n: [np.datetime64(int(end), "D").item() for end in bounds[n]] for n in dates}
        words = {n: v for n, v in domain.items() if n not in bounds}
        schema, state = schema.replace(bounds=bounds | days, categories=words), None
    begun = time.process_time()
    made = hr.protect(people.members, schema, method, guard=guard, random_state=None if guard is None else state)
    seconds = time.process_time() - begun
    held = getattr(made.plan, "guard", None)
    if name.startswith("PrivateTree") or (held is not None and held.rows):
        return people.of_table(read(made.released.arrow)), held, seconds
    return people.of_pair(pair_up(people.members, of_release(made))), held, seconds


def theirs(people: Members, domain: Mapping[str, Any], name: str, seed: int, synthpop: str) -> tuple[View, float]:
    """Return a release that another program makes, and its seconds."""
    place, program, epsilon = RUN[name]
    files = [HOME / f"{part}-{os.getpid()}" for part in ("people.csv", "made.csv", "domain.json")]
    handed(people.members).to_csv(files[0], index=False)
    public = {
        f"c{at}": domain[n] if not isinstance(domain[n][0], str) else [*(f"v{v}" for v in domain[n]), "missing"]
        for at, n in enumerate(people.members.names)
    }
    files[2].write_text(json.dumps(public))
    if place == "R":
        words = ["Rscript", HERE / "synthpop.R", synthpop, *files[:2], seed + 1]
    else:
        words = [python_of(place), HERE / "rivals_made.py", program, *files, seed, epsilon]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "it failed").splitlines()[-1])
    made = returned(pd.read_csv(files[1], keep_default_na=False), people.members)
    for file in files:
        file.unlink()
    return people.of_table(made), float(done.stdout.split()[-1])


def found(people: Members, view: View, guard: Guard | None) -> tuple[float, float]:
    """Return the shares of members and strangers whose sensitive values stand together in exactly one row.

    Of a guarded number an intruder looks up the run that tells it.
    """
    cuts = {} if guard is None else {c.name: np.asarray(c.cuts) for c in guard.columns}
    told = []
    for table in (view.table, people.members, people.others):
        columns = []
        for name in people.case.sensitive:
            values = handed(table, [name])["c0"]
            is_run = name in cuts and table.kind(name) in ("numeric", "date")
            columns.append(np.searchsorted(cuts[name], values, side="right") if is_run else values)
        told.append(list(zip(*(np.asarray(c).tolist() for c in columns), strict=True)))
    rows = Counter(told[0])
    members, strangers = (float(np.mean([rows[each] == 1 for each in side])) for side in told[1:])
    return members, strangers


def decoded(people: Members, view: View) -> pd.DataFrame:
    """Return plain rows of a release: ranges at their middle, joined categories as the commonest."""
    made, rest = {}, handed(people.members)
    for at, name in enumerate(people.case.quasi):
        cell, column = view.cells[name], people.members.column(name)
        if column.is_number:
            made[f"c{at}"] = np.nan_to_num(cell.middle, nan=float(np.nanmedian(cell.middle)))
        else:
            texts = np.array([*(f"v{v}" for v in column.values), "missing"])
            made[f"c{at}"] = texts[cell.shares.argmax(axis=1)]
    sensitive = handed(view.table, people.case.sensitive)
    for at, name in enumerate(sensitive):
        cells = sensitive[name]
        made[f"c{len(people.case.quasi) + at}"] = cells.fillna(cells.median()) if cells.dtype.kind in "if" else cells
    return pd.DataFrame(made)[list(rest)]


def measured(
    people: Members, domain: Mapping[str, Any], name: str, seed: int, synthpop: str = "", folder: Path | None = None
) -> dict[str, Any]:
    """Make one release and return every figure of it."""
    warnings.simplefilter("ignore")
    guard, who = None, resource.RUSAGE_SELF
    begun, seconds = time.process_time(), 0.0
    if name in OURS:
        view, guard, seconds = ours(people, domain, name, seed)
    elif name in RUN:
        view, seconds = theirs(people, domain, name, seed, synthpop)
        who = resource.RUSAGE_CHILDREN
    elif name == FRESH:
        view = people.of_table(people.others)
    elif name in HELD:
        frame = handed(people.members)
        draw = np.random.default_rng(seed)
        made = synthesised(people.members, seed) if name == HELD[0] else copula(frame, len(frame), draw, smooth=1)
        view = people.of_table(read(made) if name == HELD[0] else returned(made, people.members))
        seconds = time.process_time() - begun
    else:
        view = people.of_table(people.members)
    peak = resource.getrusage(who).ru_maxrss / 1e6
    if folder is not None:
        decoded(people, view).to_csv(folder / f"{RELEASES.index(name)}.csv", index=False)
    told = dict(zip(("found", "found_strangers"), found(people, view, guard), strict=True))
    if seconds:
        told |= {"seconds": seconds, "gigabytes": peak}
    if name != FRESH:
        return told | people.asked(view)
    # the people left out, as a survey of them would be: nobody is a member
    median, nine = people.counts_off(view)
    return {
        "equal": people.equal(view), "counts_median": median, "counts_nine_in_ten": nine,
        "overlap": people.overlap(view), "impossible": people.impossible(view), "cell_means": people.means_off(view),
    }  # fmt: skip


def python_of(place: str) -> Path:
    """Return the Python of an environment, made and filled where it is missing."""
    home = HOME / place
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (home / "installed").exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *ENVIRONMENTS[place]], check=True)
        (home / "installed").touch()
    return python


def there(needed: set[str], synthpop: str) -> set[str]:
    """Return which of the environments that are needed can be used here, and tell of others."""
    ready = set()
    for place in ENVIRONMENTS.keys() & needed:
        try:
            ready.add((python_of(place), place)[1])
        except subprocess.CalledProcessError:
            print(f"{', '.join(ENVIRONMENTS[place][:1])} cannot be installed here: it is left out", flush=True)
    if "R" not in needed:
        return ready
    script = "quit(status = !requireNamespace('synthpop', quietly = TRUE))"
    if shutil.which("Rscript") and (synthpop or not subprocess.run(["Rscript", "-e", script]).returncode):
        ready.add("R")
    else:
        print("R or its synthpop is not installed (--synthpop FOLDER takes its sources): it is left out", flush=True)
    return ready


def run(given: argparse.Namespace) -> None:
    """Make and measure every release that no earlier run has."""
    HOME.mkdir(parents=True, exist_ok=True)
    parts = [p.strip().lower() for p in given.methods.split(",") if p.strip()]
    names = [n for n in RELEASES if not parts or any(p in n.lower() for p in parts)]
    needed = {RUN[n][0] for n in names if n in RUN} | ({"anonymeter"} if given.attacked else set())
    ready = there(needed, given.synthpop)
    names = [n for n in names if n not in RUN or RUN[n][0] in ready]
    wanted = [p.strip().lower() for p in given.tables.split(",") if p.strip()]
    cases = [c for c in TABLES if not wanted or any(w in c.name.lower() for w in wanted)]
    done = {(r["table"], r["split"], r["release"]) for r in records(given.rows)}
    domains = {case.name: domain_of(case) for case in cases}
    for split in range(given.splits):
        for case in cases:
            folder = HOME / f"{case.name}-{given.rows}-{split}".replace(" ", "-")
            folder.mkdir(exist_ok=True)
            people = Members(case, *sample(case, given.rows, split))
            handed(people.members).to_csv(folder / "people.csv", index=False)
            handed(people.others).to_csv(folder / "others.csv", index=False)
            for name in names:
                if (case.name, split, name) not in done:
                    figures = _apart(people, domains[case.name], name, split, folder, given)
                    _tell(given.rows, case.name, split, name, figures)
            attacked = {r["release"] for r in records(given.rows, "anonymeter", case.name, split)}
            left = [n for n in names if n not in attacked and (folder / f"{RELEASES.index(n)}.csv").exists()]
            if left and given.attacked and "anonymeter" in ready:
                told = {"quasi": len(case.quasi), "files": [RELEASES.index(n) for n in left], "people": given.attacked}
                words = [python_of("anonymeter"), HERE / "rivals_made.py", "anonymeter", folder, json.dumps(told)]
                out = subprocess.run([*map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout
                for at, figures in json.loads(out.splitlines()[-1]).items():
                    _tell(given.rows, case.name, split, RELEASES[int(at)], figures, "anonymeter")


def _apart(
    people: Members, domain: Any, name: str, split: int, folder: Path, given: argparse.Namespace
) -> dict[str, Any]:
    """Return the figures of a release that a fresh process makes, so that its memory is its own."""
    return apart(measured, people, domain, name, split, given.synthpop, folder)


def apart(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return what a function returns in a fresh process, or why it failed."""
    fresh = get_context("forkserver")  # which has read the modules once, and no table
    fresh.set_forkserver_preload(["__main__"])
    with ProcessPoolExecutor(1, fresh) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except (RuntimeError, ValueError, KeyError, subprocess.SubprocessError, hr.HedgerowError) as error:
            return {"failed": str(error)[:200]}


def _tell(rows: int, table: str, split: int, name: str, figures: Mapping[str, Any], kind: str = "made") -> None:
    line = {"kind": kind, "rows": rows, "table": table, "split": split, "release": name, **figures}
    with (HOME / "figures.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{table}, {split}: {name}", figures.get("failed", ""), flush=True)


def records(rows: int, kind: str = "made", table: str = "", split: int = -1) -> list[dict[str, Any]]:
    """Return what earlier runs found."""
    file = HOME / "figures.jsonl"
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    found = [r for r in found if r["rows"] == rows and r["kind"] == kind]
    return [r for r in found if not table or (r["table"] == table and r["split"] == split)]


def gathered(rows: int) -> list[dict[str, Any]]:
    """Return one record a table, split and release, with anonymeter's figures."""
    made = {(r["table"], r["split"], r["release"]): r for r in records(rows) if "failed" not in r}
    for r in records(rows, "anonymeter"):
        key = (r["table"], r["split"], r["release"])
        if key in made:
            made[key] = r | made[key]
    kept = ("table", "split", "release", *FIGURES)
    rounded = [{n: round(r[n], 4) if isinstance(r.get(n), float) else r.get(n) for n in kept} for r in made.values()]
    return by_place(rounded)


def by_place(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records in the order of tables, splits and releases."""
    order = [case.name for case in TABLES]
    return sorted(found, key=lambda r: (order.index(r["table"]), r["split"], RELEASES.index(r["release"])))


def saved() -> list[dict[str, Any]]:
    """Return the records that are kept beside this script."""
    with RESULTS.open(newline="") as file:
        return [
            {n: v if n in ("table", "release") else float(v) if v else None for n, v in row.items()}
            | {"split": int(row["split"])}
            for row in csv.DictReader(file)
        ]


def table_of(found: Sequence[Mapping[str, Any]]) -> str:
    """Return means over tables, each counting the same, as a table in Markdown.

    The last line has the largest standard error of each column over its releases: of the means over tables, by split.
    """
    most = {part: {r[part] for r in found} for part in ("table", "split")}
    heads = []
    for head, figures in COLUMNS.items():
        n = len({r["split"] for r in found if r[figures[0]] is not None})
        heads.append(head if n == len(most["split"]) else f"{head} ({n} of {len(most['split'])} splits)")
    lines = ["| release | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    largest = dict.fromkeys(FIGURES, float("nan"))
    for name in (n for n in RELEASES if n in {r["release"] for r in found}):
        for figure, error in means_of(found, name, errors=True).items():
            largest[figure] = float(np.fmax(largest[figure], error))
        own = {part: {r[part] for r in found if r["release"] == name} for part in most}
        less = [f"{len(own[p])} of {len(most[p])} {p}s" for p in most if own[p] < most[p]]
        lines.append(_line(f"{name} ({', '.join(less)})" if less else name, means_of(found, name)))
    lines.append(_line("*largest standard error*", largest))
    return "\n".join(lines) + "\n"


def means_of(found: Sequence[Mapping[str, Any]], name: str, errors: bool = False) -> dict[str, float]:
    """Return the means of a release over tables, or their standard errors by split (NaN if there is one)."""
    means = {}
    for figure in FIGURES:
        own = [r for r in found if r["release"] == name and r[figure] is not None and np.isfinite(r[figure])]
        tables = {r["table"] for r in own}
        if errors:
            each = [[r[figure] for r in own if r["split"] == split] for split in {r["split"] for r in own}]
            whole = [_mean(values) for values in each if len(values) == len(tables)]
            means[figure] = float(np.std(whole, ddof=1)) / len(whole) ** 0.5 if len(whole) > 1 else float("nan")
        else:
            means[figure] = _mean(_mean(r[figure] for r in own if r["table"] == table) for table in tables)
    return means


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")


def _line(name: str, figures: Mapping[str, float]) -> str:
    cells = []
    for column in COLUMNS.values():
        parts = [in_words(figure, figures[figure]) for figure in column]
        told = f"{parts[0]} ({parts[1]})" if column[0] == "found" else " / ".join(parts)
        cells.append(told if any(parts) else "")
    return f"| {name} | " + " | ".join(cells) + " |"


def in_words(figure: str, value: float) -> str:
    """Return a figure as the page gives it."""
    if np.isnan(value):
        return ""
    if figure.startswith("counts") or figure in ("seconds", "gigabytes"):
        return f"{value:.{1 if value < 10 else 0}f}"
    coarse = ("nearest", "membership", "equal", "found", "found_strangers", "overlap")
    told = f"{value:.{2 if figure in coarse else 3}f}"
    return told.replace("0.", ".", 1) if told.lstrip("-").startswith("0.") else told


def with_table(page: str, table: str) -> str:
    """Return a page with its table written anew between the marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def write_page(rows: int) -> None:
    """Keep the records beside this script, and write their means into the page."""
    found = {(r["table"], r["split"], r["release"]): r for r in (*saved(), *gathered(rows))}
    found = by_place(found.values())
    with RESULTS.open("w", newline="") as file:
        out = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(found)
    PAGE.write_text(with_table(PAGE.read_text(), table_of(saved())))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000, help="of each table, at most")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", default="", help="parts of names, joined by commas")
    parser.add_argument("--methods", default="", help="parts of names, joined by commas")
    parser.add_argument("--synthpop", default="", help="a folder with the sources of R's synthpop")
    parser.add_argument(
        "--attacked", type=int, default=200, help="people that each attack of anonymeter asks for; 0: none"
    )
    parser.add_argument("--page", action="store_true", help="write the page from what was found")
    given = parser.parse_args()
    if given.page:
        write_page(given.rows)
        return
    run(given)
    print(table_of(gathered(given.rows)))


if __name__ == "__main__":
    main()
