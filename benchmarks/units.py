"""What releases of tables with several rows a person, household or patient keep, show and cost.

HEDGEROW_DATA=... python benchmarks/units.py keeps --keys 3     # lags, states, spouses, gaps, models of each table
python benchmarks/units.py members --tables panel               # who is found by all rows of a person
python benchmarks/units.py cost                                 # seconds and memory of large tables
python benchmarks/units.py sdv --python .../bin/python          # makes SDV's rows, which `keeps` then has as well

Releases are kept in build/units (--kept), so that figures can be printed again. SDV is installed apart, and run by the
Python that is named; its rows are drawn by PAR where there are waves or times, and by HMA for households.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from experiments.cart_synthesis import synthesised
from experiments.unit_tables import TABLES, UnitTable, below, beside, common_slots, figures
from sklearn.metrics import roc_auc_score, roc_curve

import hedgerow as hr
from hedgerow.io.read import read

Array = np.ndarray[Any, Any]
HERE = Path(__file__).resolve().parent
OURS, CART = "Hedge", "sequential CART"
# epochs of PAR: its default is 128
EPOCHS = 128


def hedged(case: UnitTable, original: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a release as it is by default."""
    return hr.protect(original, case.schema, random_state=seed).table


def carted(case: UnitTable, original: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return units drawn by sequential CART, side by side, the slots that they have first."""
    slots = common_slots(case, original)
    wide = beside(case, original, slots)
    kinds = {name: "Int64" for name in wide if wide[name].dtype.kind == "f" and (wide[name].dropna() % 1 == 0).all()}
    made = synthesised(read(pa.Table.from_pandas(wide.astype(kinds), preserve_index=False)), seed).to_pandas()
    return below(case, made, slots)


MADE: dict[str, Callable[[UnitTable, pd.DataFrame, int], pd.DataFrame]] = {OURS: hedged, CART: carted}


def _file(kept: Path, case: UnitTable, way: str, seed: int) -> Path:
    return kept / f"{case.name}, {way}, {seed}.parquet".replace(" ", "_")


def released(kept: Path, case: UnitTable, way: str, seed: int) -> tuple[pd.DataFrame, float] | None:
    """Return the rows of a way, with processor seconds, from its file or made; None if only others can make them."""
    file = _file(kept, case, way, seed)
    if not file.exists():
        if way not in MADE:
            return None
        start = time.process_time()
        made = MADE[way](case, case.original(seed), seed)
        seconds = time.process_time() - start
        kept.mkdir(parents=True, exist_ok=True)
        made.to_parquet(file)
        file.with_suffix(".txt").write_text(str(seconds))
    return pd.read_parquet(file), float(file.with_suffix(".txt").read_text())


def keeps(tables: list[UnitTable], keys: int, kept: Path) -> None:
    """Print each figure of the originals and of the releases, the mean and in brackets the least and the largest."""
    ways = [*MADE, "SDV"]
    for case in tables:
        found: dict[str, list[dict[str, float]]] = {"original": [], **{way: [] for way in ways}}
        for seed in range(keys):
            original = case.original(seed)
            found["original"].append(figures(case, original, original))
            for way in ways:
                try:
                    made = released(kept, case, way, seed)
                except hr.HedgerowError as error:
                    print(f"{case.name}, {way}, {seed}: {error}", flush=True)
                    continue
                if made is not None:
                    found[way].append(figures(case, original, made[0]) | {"seconds": made[1]})
        print(f"\n| {case.name} | " + " | ".join(found) + " |\n|---|" + "---:|" * len(found), flush=True)
        for what in [*found["original"][0], "seconds"]:
            cells = [_cell([each.get(what, np.nan) for each in rows]) for rows in found.values()]
            print(f"| {what} | " + " | ".join(cells) + " |", flush=True)


def _cell(values: list[float]) -> str:
    """Return the mean, with the least and the largest."""
    values = [value for value in values if value == value]
    if not values:
        return ""
    mean, least, largest = (f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}" if abs(x) >= 10 else f"{x:.3f}" for x in (
        np.mean(values), min(values), max(values)))  # fmt: skip
    return mean if least == largest else f"{mean} ({least} to {largest})"


def sdv(tables: list[UnitTable], keys: int, kept: Path, python: str, epochs: int) -> None:
    """Make SDV's rows in its own environment."""
    kept.mkdir(parents=True, exist_ok=True)
    for seed in range(keys):
        for case in tables:
            file, schema = _file(kept, case, "SDV", seed), case.schema
            if file.exists():
                continue
            original = case.original(seed)
            once = [name for name in case.once if name in original]
            numbers = [n for n in original if original[n].dtype.kind in "iuf" and original[n].nunique() > 10]
            about = {"unit": case.unit, "by": case.by, "once": once, "numbers": numbers, "seed": seed,
                     "epochs": epochs, "kind": "datetime" if schema.time else "numerical"}  # fmt: skip
            table, written, out = (file.with_suffix(end) for end in (".in.csv", ".json", ".out.csv"))
            original.to_csv(table, index=False)
            written.write_text(json.dumps(about))
            way, start = "hma" if schema.member else "par", resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            program = [python, str(HERE / "units_made.py"), way, *map(str, (table, written, out))]
            if subprocess.run(program, check=False).returncode:
                print(f"SDV made no rows of {case.name}", flush=True)
                continue
            made = pd.read_csv(out)
            if schema.time:
                made[case.by] = pd.to_datetime(made[case.by])
            made.to_parquet(file)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
            file.with_suffix(".txt").write_text(str(seconds))
            print(f"{case.name}, {seed}: {seconds:.0f} s", flush=True)


# who is found


def encoded(people: pd.DataFrame, known: pd.DataFrame) -> tuple[Array, Array, list[tuple[str, str, str]]]:
    """Return units as points, their features in standard deviations of the units who are known, and what these are.

    That is the column, its slot ("" for what a unit has once), and the number, its square or a value.
    """
    points, features, about = list[Array](), list[Array](), list[tuple[str, str, str]]()
    for name in known:
        ours, every = people[name], known[name]
        of, _, slot = name.removesuffix("]").partition(" [")
        if pd.api.types.is_numeric_dtype(every):
            values, given = ours.to_numpy(float, na_value=np.nan), np.sort(every.dropna().to_numpy(float))
            lacks = np.isnan(values)
            values = np.where(lacks, given.mean(), values)
            rank = (np.searchsorted(given, values) + np.searchsorted(given, values, "right")) / 2 / len(given)
            z = np.where(lacks, 0, np.clip((values - given.mean()) / (given.std() + 1e-9), -3, 3))
            points.append(np.where(lacks, 0.5, rank) * 3)
            features += [z, np.where(lacks, 0, z**2 - 1)]
            about += [(of, slot, "number"), (of, slot, "square")]
            if every.isna().any():
                points.append(lacks.astype(float))
        else:
            for value in every.value_counts().index[:8]:
                flag, share = (ours.astype(object) == value).to_numpy(float), (every == value).mean()
                points.append(flag / 1.4)
                features.append((flag - share) / np.sqrt(share * (1 - share) + 1e-9) * ours.notna())
                about.append((of, slot, str(value)))
    return np.stack(points, 1).astype(np.float32), np.stack(features, 1), about


def pooled(about: list[tuple[str, str, str]], slots: list[str], one: Array, two: Array) -> Array:
    """Return the number of the sum of each pair of features: one for the same two as many slots apart."""
    place, number = {slot: at for at, slot in enumerate(slots)}, dict[object, int]()
    found = []
    for i, j in zip(one.tolist(), two.tolist(), strict=True):
        (a, at, x), (b, other, y) = about[i], about[j]
        apart = place[other] - place[at] if at and other else 0
        first, second = ((a, x, bool(at)), (b, y, bool(other)))[:: -1 if apart < 0 else 1]
        key = (first, second, abs(apart)) if apart else (*sorted([first, second]), 0)
        found.append(number.setdefault(key, len(number)))
    return np.array(found)


class _Moments:
    """Products of two features, and the score of units by those that a release shows."""

    def __init__(self, features: Array, one: Array, two: Array, number: Array) -> None:
        self._one, self._two = one, two
        order = np.argsort(number, kind="stable")
        self._order, self._starts = order, np.flatnonzero(np.diff(number[order], prepend=-1))
        own = self._of(features)
        self._mean, self._spread = own.mean(axis=0), own.std(axis=0) + 1e-9
        self._own = (own - self._mean) / self._spread
        self._gram, self.shown = self._own @ self._own.T / len(own), list[Array]()

    def _of(self, features: Array) -> Array:
        products = features[:, self._one[self._order]] * features[:, self._two[self._order]]
        return np.add.reduceat(products, self._starts, axis=1)

    def show(self, features: Array) -> None:
        """Add a release."""
        self.shown.append((self._of(features).mean(axis=0) - self._mean) / self._spread)

    def scores(self, r: int) -> Array:
        """Return the units times what a release shows more than others, whitened."""
        difference = self.shown[r] - np.delete(self.shown, r, axis=0).mean(axis=0)
        # the inverse of covariance and ridge, by the kernel of as many units
        x = self._own @ difference / len(self._own)
        inner = np.linalg.solve(_RIDGE * np.eye(len(self._own)) + self._gram, x)
        return self._own @ (difference - self._own.T @ inner) / _RIDGE


def members(case: UnitTable, units: int, releases: int, way: str) -> None:
    """Print how well units are told from others, by whoever knows all their rows, and who is in the other releases.

    Likelihood ratios over releases of random halves (the nearest unit, units near by), and the release's product
    moments less those of other releases, whitened, times the unit's own: of all cells, or summed over slots.
    """
    everybody = case.original(99, 2 * units)
    ids = np.sort(everybody[case.unit].unique())
    slots = common_slots(case, everybody, max(_COMMON, len(ids) // 50))
    known = beside(case, everybody, slots).reindex(ids)
    known = known.drop(columns=[name for name in known if known[name].isna().all()])
    has_rows = known["rows"].notna()
    known, ids = known[has_rows], ids[has_rows]
    points, features, about = encoded(known, known)
    one, two = np.triu_indices(features.shape[1], 1)
    moments = {
        "moments": _Moments(features, one, two, np.arange(len(one))),
        "moments, pooled": _Moments(features, one, two, pooled(about, list(map(str, slots)), one, two)),
    }
    is_member = np.array([np.random.default_rng(r).permutation(len(ids)) < len(ids) // 2 for r in range(releases)])
    scores = {score: np.zeros(is_member.shape) for score in ("nearest", "near by", *moments)}
    for r, inside in enumerate(is_member):
        half = everybody[everybody[case.unit].isin(ids[inside])].reset_index(drop=True)
        made = beside(case, MADE[way](case, half, r + 1), slots).reindex(columns=known.columns)
        numbers = [name for name in known if known[name].dtype.kind in "iuf"]
        made[numbers] = made[numbers].astype(float)
        theirs, shape, _ = encoded(made, known)
        apart = np.concatenate([np.abs(points[i : i + 100, None] - theirs).sum(2) for i in range(0, len(points), 100)])
        scores["nearest"][r] = -apart.min(axis=1)
        width = np.median(np.partition(apart, 5, axis=1)[:, 5])
        scores["near by"][r] = np.log(np.exp(-((apart / width) ** 2)).sum(axis=1) + 1e-9)
        for each in moments.values():
            each.show(shape)
    for name, each in moments.items():
        scores[name] = np.array([each.scores(r) for r in range(releases)])
    for name, score in scores.items():
        area, found, null = [], [], []
        for r, inside in enumerate(is_member):
            values = score[r] if name in moments else _ratio(score, is_member, r)
            area.append(roc_auc_score(inside, values))
            alarms, caught, _ = roc_curve(inside, values)
            found.append(np.interp(0.01, alarms, caught))
            null.append(roc_auc_score(np.random.default_rng(99 + r).permutation(inside), values))
        error = 1.96 * np.std(area, ddof=1) / releases**0.5
        cells = [f"{case.name}, {len(ids) // 2:,}", way, name]
        cells.append(f"{np.mean(area):.3f} +- {error:.3f} ({min(area):.3f} to {max(area):.3f})")
        cells += [f"{np.mean(found):.3f}", f"{np.mean(null):.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


_RIDGE, _COMMON = 0.3, 10


def _ratio(score: Array, is_member: Array, r: int) -> Array:
    """Return the log likelihood ratio of each unit's score, by its scores in the other releases."""
    others = np.delete(np.arange(len(score)), r)
    inside, outside = (np.where(flag, score[others], np.nan) for flag in (is_member[others], ~is_member[others]))
    m1, m0 = np.nanmean(inside, axis=0), np.nanmean(outside, axis=0)
    spread = np.sqrt(np.nanmean(np.r_[(inside - m1) ** 2, (outside - m0) ** 2], axis=0)) + 1e-6
    return np.nan_to_num(((score[r] - m0) ** 2 - (score[r] - m1) ** 2) / (2 * spread**2))


# what it costs


def cost() -> None:
    """Print seconds by the clock and of the processors, and the peak of memory, each in a process of its own."""
    for name in ("households", "panel", "patients"):
        subprocess.run([sys.executable, __file__, "alone", "--large", name], check=True)


def alone(name: str) -> None:
    """Release one large table, and print what it took."""
    panel, families, patients = (next(t for t in TABLES if t.name == n) for n in (
        "panel", "households of up to 6", "hospital"))  # fmt: skip
    case, units = {"households": (families, 20_000), "panel": (panel, 22_800), "patients": (patients, 12_000)}[name]
    table = case.original(0, units)
    hr.protect(case.original(1, 300), case.schema, random_state=0)
    before, start, clock = resource.getrusage(resource.RUSAGE_SELF), time.process_time(), time.perf_counter()
    hr.protect(table, case.schema, random_state=0)
    seconds, of_processor = time.perf_counter() - clock, time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = f"{len(table):,} rows of {table[case.unit].nunique():,} units x {table.shape[1]} columns"
    print(
        f"| {name}: {size} | {seconds:.0f} | {of_processor:.0f} | {before.ru_maxrss / 1e6:.2f} | {peak:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["keeps", "members", "cost", "sdv", "alone"])
    options.add_argument("--tables", default="", help="names of tables, joined by commas")
    options.add_argument("--keys", type=int, default=3, help="releases of each table")
    options.add_argument("--kept", type=Path, default=HERE.parent / "build" / "units", help="where releases are kept")
    options.add_argument("--units", type=int, default=1_000, help="members of a release, as many as others")
    options.add_argument("--releases", type=int, default=8, help="releases of halves")
    options.add_argument("--ways", default=f"{OURS},{CART}", help="whose releases are attacked, joined by commas")
    options.add_argument("--python", default="build/rivals/sdv/bin/python", help="that has SDV")
    options.add_argument("--epochs", type=int, default=EPOCHS, help="of PAR")
    options.add_argument("--large", default="", help=argparse.SUPPRESS)
    given = options.parse_args()
    warnings.filterwarnings("ignore")
    chosen = [case for case in TABLES if not given.tables or case.name in given.tables.split(",")]
    if given.what == "keeps":
        keeps(chosen, given.keys, given.kept)
    elif given.what == "sdv":
        sdv(chosen, given.keys, given.kept, os.path.abspath(given.python), given.epochs)
    elif given.what == "cost":
        cost()
    elif given.what == "alone":
        alone(given.large)
    else:
        for each in chosen:
            for way in given.ways.split(","):
                try:
                    members(each, given.units, given.releases, way)
                except hr.HedgerowError as error:
                    print(f"{each.name}, {way}: {error}", flush=True)
