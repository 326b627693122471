"""Hedgerow's releases and rivals' by the measures of NIST's SDNist, on its national excerpt of 2019.

    python benchmarks/sdnist.py --data FOLDER [--published FOLDER] [--sets demographic,all] [--methods hedge,mst]

FOLDER is SDNist's own: data_dictionary.json, mappings.json, config.json, and national/national2019 as .csv and .json.
The other folder is sample-reports of SDNist's repository, whose figures are printed as published. SDNist is installed
apart (`benchmarks/rivals.py`), and so are the rivals. A release that was made and scored is kept in
build/rivals/excerpts.

SDNist takes plain values alone: from a cell that is a range or has several categories one value is drawn, a number
evenly from its range, a category by its share. Means are rounded. "N" (does not apply) is a missing number or a
category; rivals get a number far below all for it. Where nobody has "N", it is replaced by another value, and numbers
beyond the true range by its end.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from benchmarks import rivals
from benchmarks.rivals_made import off_diagonal
from benchmarks.unpaired import copula
from experiments.cart_synthesis import synthesised
from experiments.guarded import Members, View
from experiments.hedge import Case

from hedgerow.columns.table import Table
from hedgerow.io.read import read

NUMBERS = ("AGEP", "NOC", "NPF", "EDU", "PINCP", "PINCP_DECILE", "POVPIP", "PWGTP", "WGTP")
SENSITIVE = ("PINCP_DECILE", "PINCP", "POVPIP", "PWGTP", "WGTP")
DEMOGRAPHIC = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
"""The features of the published reports called "demographic-focused"."""
HALF = "a sample of half of the people"
OURS = [n for n in rivals.OURS if not n.endswith("epsilon 4")]
RUN = [n for n in rivals.RUN if n.endswith(("epsilon 1", "(arfpy)"))]
RELEASES = (HALF, *OURS, *rivals.HELD, *RUN)
COLUMNS: dict[str, tuple[str, ...]] = {
    "k-marginal": ("marginals",), "with INDP": ("marginals_2.5",), "propensity": ("propensity",),
    "correlations": ("pearson",), "slope": ("slope",),
    "inconsistent: age / work / housing, %": ("age", "work", "housing"),
    "exact, %": ("exact",), "apparent, %": ("apparent",), "s": ("seconds",), "GB": ("gigabytes",),
}  # fmt: skip


def excerpt(folder: Path) -> pd.DataFrame:
    """Return the people as texts."""
    return pd.read_csv(folder / "national" / "national2019.csv", dtype=str, keep_default_na=False)


def table_of(people: pd.DataFrame, *, plain: bool) -> pa.Table:
    """Return numbers as numbers and codes as categories; "N" is missing, or in a plain table a number far below all."""
    made = {}
    for name in people:
        if name in NUMBERS:
            values = pd.to_numeric(people[name], errors="coerce")
            if plain and values.isna().any():
                values = values.fillna(absent(values))
            made[name] = pa.array(values.astype("Int64"), pa.int64(), from_pandas=True)
        else:
            made[name] = pa.array(people[name], pa.string())
    return pa.table(made)


def absent(values: pd.Series) -> float:
    """Return a number that stands for none, a twentieth of the range below the least."""
    return float(np.floor(values.min() - (values.max() - values.min()) / 20))


def members(people: pd.DataFrame, *, plain: bool) -> Members:
    """Return the people with their roles: income, poverty and weights are sensitive, all else may be known."""
    table = table_of(people, plain=plain)
    roles = [[n for n in people if (n in SENSITIVE) == sensitive] for sensitive in (False, True)]
    case = Case("national2019", lambda: table, tuple(roles[0]), tuple(roles[1]))
    read_in = read(table.select([*case.quasi, *case.sensitive]))
    return Members(case, read_in, read_in)


def drawn(people: Members, view: View, seed: int) -> dict[str, Any]:
    """Return plain values of a release's quasi-identifiers: one out of each cell."""
    draw, made = np.random.default_rng(seed), {}
    for name in people.case.quasi:
        cell, column = view.cells[name], people.members.column(name)
        if column.is_number:
            made[name] = [
                None if np.isnan(v) else float(v)
                for v in cell.low + draw.random(len(cell.low)) * (cell.high - cell.low)
            ]
        else:
            below = cell.shares.cumsum(axis=1)
            places = (below < draw.random((len(below), 1)) * below[:, -1:]).sum(axis=1)
            made[name] = [*map([*column.values, "N"].__getitem__, places)]
    return made


def as_texts(made: dict[str, Any], people: pd.DataFrame) -> pd.DataFrame:
    """Return a release as SDNist reads it: whole numbers, codes, and "N"."""
    out, draw = {}, np.random.default_rng(0)
    for name in people:
        if name in NUMBERS:
            true = pd.to_numeric(people[name], errors="coerce")
            values = pd.to_numeric(pd.Series(made[name], dtype=object), errors="coerce").astype(float).round()
            if true.isna().any():  # what lies nearer to the number for none than to the least
                values = values.where(values >= (true.min() + absent(true)) / 2)
            # SDNist would leave out a column with values that it does not know
            values = values.clip(true.min(), true.max())
            cells = np.array(["N" if np.isnan(v) else str(int(v)) for v in values])
        else:
            cells = np.array(["N" if v is None else str(v) for v in made[name]])
        gone = cells == "N"
        if gone.any() and not (people[name] == "N").any():  # SDNist would leave the column out
            cells[gone] = draw.choice(cells[~gone], int(gone.sum()))
        out[name] = cells
    return pd.DataFrame(out)


def released(people: pd.DataFrame, name: str, out: Path) -> dict[str, float]:
    """Make a release, write it as SDNist reads it, and return what it cost."""
    if name == HALF:
        people.sample(frac=0.5, random_state=0).to_csv(out, index=False)
        return {}
    side = members(people, plain=name not in rivals.OURS)
    domain = rivals.domain_of(side.case)
    who, begun = resource.RUSAGE_SELF, time.process_time()
    made: pa.Table | Table
    if name in rivals.OURS:
        view, _, seconds = rivals.ours(side, domain, name, 0)
        peak = resource.getrusage(who).ru_maxrss
        texts = drawn(side, view, 0) | {n: view.table.arrow.column(n).to_pylist() for n in side.case.sensitive}
    else:
        if name in rivals.RUN:
            view, seconds = rivals.theirs(side, domain, name, 0, "")
            made, who = view.table, resource.RUSAGE_CHILDREN
        elif name == rivals.HELD[0]:
            made = read(synthesised(side.members, 0))
        else:
            frame = rivals.handed(side.members)
            made = rivals.returned(copula(frame, len(frame), np.random.default_rng(0), smooth=1), side.members)
        if name in rivals.HELD:
            seconds = time.process_time() - begun
        peak = resource.getrusage(who).ru_maxrss
        texts = {n: made.arrow.column(n).to_pylist() for n in made.names}
    as_texts(texts, people).to_csv(out, index=False)
    return {"seconds": seconds, "gigabytes": peak / 1e6}


def scored(data: Path, file: Path) -> dict[str, float]:
    """Return SDNist's figures of a file."""
    # isolated, since this script has the name of the package
    words = [rivals.python_of("sdnist"), "-I", rivals.HERE / "rivals_made.py", "sdnist", data.resolve(), file]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "it failed").splitlines()[-1])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def published(folder: Path) -> dict[str, float | str]:
    """Return the figures of a published report, read from its ui.json and its file of correlations."""
    page = json.loads((folder / "ui.json").read_text())
    told, parts = json.dumps(page), page["data_description"]
    found: dict[str, float | str] = {"features": len(parts["Evaluated Data Features"]), "version": page["version"]}
    found["people"] = next(d["Value"] for d in parts["synthetic"][0]["data"] if d["Property"] == "Records")
    labels = {label["Label Name"]: str(label["Label Value"]) for label in parts["synthetic"][0]["labels"]}
    found["name"] = ", ".join(labels[n] for n in ("Algorithm Name", "Variant Label", "Library Name") if labels.get(n))
    if labels.get("Epsilon"):
        found["name"] += f", epsilon {labels['Epsilon']}"
    wanted = {
        "marginals_2.5": r"Highlight-K-Marginal Score: (\d+)", "propensity": r"Highlight-Score: ([\d.]+)",
        "slope": r"Deidentified Data.{0,120}?Regression: (-?[\d.]+) slope",
        "exact": r"records exactly matched in Deid. Data: -Highlight-\d+ \(([\d.]+)%",
        "apparent": r"exactly matched in Deid. Data on Quasi-Identifiers: -Highlight-\d+ \(([\d.]+)%",
    }  # fmt: skip
    wanted |= {
        part.lower(): rf'"{part}", "Number of Records Inconsistent": \d+, "Percent Records Inconsistent": "([\d.]+)'
        for part in ("Age", "Work", "Housing")
    }
    for figure, pattern in wanted.items():
        place = re.search(pattern, told)
        if place:
            found[figure] = float(place[1])
    if "INDP" not in {f["Feature Name"] for f in parts["Evaluated Data Features"]}:
        found["marginals"] = found["marginals_2.5"]
    if (folder / "pearson" / "diff.csv").exists():
        found["pearson"] = off_diagonal(pd.read_csv(folder / "pearson" / "diff.csv", index_col=0))
    return found


def line(name: str, figures: dict[str, Any]) -> str:
    """Return a line of the table."""
    cells = []
    for column in COLUMNS.values():
        parts = [_in_words(figure, figures[figure]) if figure in figures else "" for figure in column]
        cells.append(" / ".join(parts) if any(parts) else "")
    return f"| {name} | " + " | ".join(cells) + " |"


def _in_words(figure: str, value: float) -> str:
    digits = (
        0 if figure.startswith("marginals") else {"propensity": 3, "pearson": 3, "slope": 2, "exact": 2}.get(figure, 1)
    )
    told = f"{int(value) if digits == 0 else value:.{digits}f}"
    return told.removeprefix("0") if told.startswith("0.") else told


def run(given: argparse.Namespace) -> dict[tuple[str, str], dict[str, Any]]:
    """Make and score every release that no earlier run has."""
    home, found = rivals.HOME / "excerpts", {}
    home.mkdir(parents=True, exist_ok=True)
    whole = excerpt(given.data)
    parts = [p.strip().lower() for p in given.methods.split(",") if p.strip()]
    names = [n for n in RELEASES if not parts or any(p in n.lower() for p in parts)]
    ready = rivals.there({"sdnist"} | {rivals.RUN[n][0] for n in names if n in rivals.RUN}, "")
    for features in given.sets.split(","):
        people = whole[[*DEMOGRAPHIC]] if features == "demographic" else whole
        for name in names:
            if name in rivals.RUN and rivals.RUN[name][0] not in ready:
                continue
            file = home / f"{features}-{RELEASES.index(name)}.csv"
            kept = file.with_suffix(".json")
            if not kept.exists():
                figures = rivals.apart(released, people, name, file)
                if "failed" not in figures:
                    figures |= scored(given.data, file)
                kept.write_text(json.dumps(figures))
                print(f"{features}: {name}", figures.get("failed", ""), flush=True)
            found[features, name] = json.loads(kept.read_text())
    return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="SDNist's folder of excerpts")
    parser.add_argument("--published", type=Path, help="sample-reports of SDNist's repository")
    parser.add_argument("--sets", default="demographic,all")
    parser.add_argument("--methods", default="", help="parts of names, joined by commas")
    given = parser.parse_args()
    found = run(given)
    reports = sorted(given.published.rglob("ui.json")) if given.published else []
    theirs = [published(r.parent) for r in reports if "acs" in str(r)]
    for features in given.sets.split(","):
        print(f"\n{features}\n\n| release | " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * len(COLUMNS))
        for (part, name), figures in found.items():
            if part == features:
                print(line(name + (f" ({figures['failed']})" if "failed" in figures else ""), figures))
        for each in theirs:
            if (int(each["features"]) > len(DEMOGRAPHIC)) == (features == "all"):
                told = f"*published*: {each['name']} ({each['features']} features, {each['people']:,} rows)"
                print(line(told, each))


if __name__ == "__main__":
    main()
