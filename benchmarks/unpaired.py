"""Audits without pairs beside anonymeter's on the same files: people, others, releases.

Everybody of Adult is in the table or, a fifth of them, in the control. The releases: a Gaussian
copula of the people in the table (no row is anybody's, but every value is somebody's), the same
with numbers of many values as means of 201 neighbours, with a tenth and with half
of its rows taken from the people, the people with a little noise, and the people themselves. With
the two files of anonymeter's own example (notebooks/datasets of its repository: adults_control.csv and
adults_syn_ctgan.csv; its table is the rest of Adult, each row once) that split and that CTGAN.

    HEDGEROW_DATA=... python benchmarks/unpaired.py [--people 1000] [--example FOLDER]
        [--anonymeter PYTHON] [--only PART_OF_A_NAME]

`--anonymeter` names the Python of an environment where anonymeter is installed; by default it is
looked for beside Hedgerow. Both attack with the same columns: singling out with all of them,
linking by the same two halves, inference of income and hours from the others. Either tries at
most 20 random descriptions for each that is asked for.

`python benchmarks/speed.py unpaired` takes the time and memory of a whole audit of 100,000 synthetic people.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SECRETS = ("income", "hours-per-week")
SPLIT = 0.2


def adult() -> pd.DataFrame:
    """Everybody of Adult, each row once."""
    folder = Path(os.environ["HEDGEROW_DATA"])
    parts = [pd.read_parquet(folder / f"adult_{part}.parquet") for part in ("train", "test")]
    return pd.concat(parts, ignore_index=True).fillna("?").drop_duplicates(ignore_index=True)


def copula(people: pd.DataFrame, n: int, rng: np.random.Generator, smooth: int) -> pd.DataFrame:
    """Rows drawn from a Gaussian copula, with the people's margins or means of some neighbours."""
    from scipy.stats import norm, rankdata

    scores = []
    for name in people:
        column = people[name]
        codes = column if column.dtype.kind in "if" else column.astype("category").cat.codes
        ranks = rankdata(codes + rng.uniform(0, 1e-6, len(codes)), "ordinal")
        scores.append(norm.ppf((ranks - 0.5) / len(ranks)))
    drawn = rng.multivariate_normal(np.zeros(len(scores)), np.corrcoef(scores), n, method="eigh")
    places = (norm.cdf(drawn) * len(people)).astype(int)
    made = {}
    for j, name in enumerate(people):
        ordered = np.sort(people[name].to_numpy())
        if smooth > 1 and people[name].nunique() > smooth:
            edges = np.pad(ordered.astype(float), smooth // 2, mode="edge")
            ordered = np.rint(np.convolve(edges, np.ones(smooth) / smooth, "valid")).astype(int)
        made[name] = ordered[np.minimum(places[:, j], len(people) - 1)]
    return pd.DataFrame(made)


def noisy(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The people, numbers moved by a twentieth of their deviation, a tenth of the cells drawn."""
    made = people.copy()
    for name in people:
        values = people[name].to_numpy()
        if people[name].dtype.kind in "if":
            made[name] = np.rint(values + rng.normal(0, values.std() / 20, len(values))).astype(int)
        other = rng.random(len(people)) < 0.1
        made.loc[other, name] = rng.choice(values, int(other.sum()))
    return made


def releases(people: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Files that give away nothing, a part, or everything of the people."""
    rng = np.random.default_rng(7)
    drawn = copula(people, len(people), rng, smooth=201)
    made = {
        "copula with the people's values": copula(people, len(people), rng, smooth=1),
        "copula with smooth values": drawn,
    }
    for share, name in ((0.1, "a tenth copied"), (0.5, "half copied")):
        own = people.iloc[rng.choice(len(people), int(share * len(people)), replace=False)]
        made[name] = pd.concat([drawn.iloc[len(own) :], own], ignore_index=True)
    return made | {"noise": noisy(people, rng), "unchanged": people.copy()}


def ours(
    people: pd.DataFrame, control: pd.DataFrame, released: pd.DataFrame, asked: int
) -> tuple[list[dict[str, Any]], list[list[str]], float]:
    """The attacks of an audit, the halves that it links by, and its processor time."""
    import hedgerow as hr
    from hedgerow.auditing.attacks.linking import halves
    from hedgerow.auditing.pairing import read_unpaired
    from hedgerow.auditing.subject import subject

    schema = hr.Schema(quasi=[n for n in people if n not in SECRETS], sensitive=SECRETS)
    begin = time.process_time()
    found = hr.audit(
        people, released, schema, paired=False, control=control, people=asked, learning=False, inference=False
    )
    spent = time.process_time() - begin
    tables = read_unpaired(people, subject(released, schema, None), control)
    files = [[c.name for c in half] for half in halves(tables)]
    return list(found.attacks), files, spent


def theirs(folder: Path) -> None:
    """What anonymeter finds of the files in a folder, printed as JSON; runs in its own Python."""
    import warnings

    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    people, released, control = (
        pd.read_parquet(folder / f"{name}.parquet") for name in ("people", "released", "control")
    )
    told = json.loads((folder / "told.json").read_text())
    asked, out = told["people"], {}

    def measured(name: str, evaluator: Any, **options: Any) -> None:
        begin = time.process_time()
        evaluator.evaluate(**options)
        results, risk = evaluator.results(), evaluator.risk()
        out[name] = {
            "success": results.attack_rate.value,
            "control": results.control_rate.value,
            "risk": risk.value,
            "interval": list(risk.ci),
            "seconds": time.process_time() - begin,
        }

    tables = {"ori": people, "syn": released, "control": control, "n_attacks": asked}
    for mode, name in (("univariate", "one column"), ("multivariate", "several columns")):
        evaluator = SinglingOutEvaluator(**tables, n_cols=4, max_attempts=20 * asked, seed=0)
        measured(f"singling out, {name}", evaluator, mode=mode)
    linked = LinkabilityEvaluator(**tables, aux_cols=told["files"], n_neighbors=1)
    measured("linking, two files", linked, n_jobs=1)
    for secret in told["secrets"]:
        known = [n for n in people if n not in told["secrets"]]
        number = bool(people[secret].dtype.kind in "if")
        evaluator = InferenceEvaluator(**tables, aux_cols=known, secret=secret, regression=number)
        measured(f"inference, {secret}", evaluator, n_jobs=1)
    print(json.dumps(out))


def asked_of(
    python: str, people: pd.DataFrame, control: pd.DataFrame, released: pd.DataFrame, files: list[list[str]], asked: int
) -> dict[str, Any]:
    """`theirs` in the Python that has anonymeter."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, frame in (("people", people), ("released", released), ("control", control)):
            frame.to_parquet(folder / f"{name}.parquet", index=False)
        told = {"people": asked, "files": files, "secrets": list(SECRETS)}
        (folder / "told.json").write_text(json.dumps(told))
        done = subprocess.run([python, __file__, "--theirs", place], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def has_anonymeter(python: str) -> bool:
    """Whether a Python has it."""
    looked = [python, "-c", "import anonymeter"]
    return subprocess.run(looked, capture_output=True, check=False).returncode == 0


def _line(name: str, own: dict[str, Any], other: dict[str, Any] | None) -> str:
    def shown(success: float, control: float, risk: float | None, ends: Any) -> str:
        if risk is None:
            return f"{success:.3f} {control:.3f} {'-':>22}"
        return f"{success:.3f} {control:.3f} {risk:6.3f} [{ends[0]:6.3f},{ends[1]:6.3f}]"

    mine = shown(own["success"], own["control"], own["over_control"], own["over_control_interval"])
    if other is None:
        return f"  {name:33}{mine}"
    beside = shown(other["success"], other["control"], other["risk"], other["interval"])
    return f"  {name:33}{mine}   {beside}"


TABLE = {
    "singling out, one column": "one column",
    "singling out, several columns": "several columns",
    "linking, two files": "two files",
    "inference, income": "income",
    "inference, hours-per-week": "hours",
}
"""What both try, and how the columns of the table are called."""


def _cell(risk: float | None, ends: Any) -> str:
    """What an attack gains over its control, and half of its interval."""
    return "-" if risk is None else f"{risk:.2f} ±{(ends[1] - ends[0]) / 2:.2f}"


def _row(name: str, own: dict[str, Any], other: dict[str, Any]) -> str:
    """A line of the table: of each attack that both try Hedgerow's figure and anonymeter's."""
    cells = []
    for key in TABLE:
        mine = _cell(own[key]["over_control"], own[key]["over_control_interval"])
        theirs = _cell(other[key]["risk"], other[key]["interval"]) if other else "-"
        cells.append(f"{mine} / {theirs}")
    return " | ".join(["", name, *cells, ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--example", type=Path)
    parser.add_argument("--anonymeter", default=sys.executable)
    parser.add_argument("--only", default="", help="files whose name holds this")
    parser.add_argument("--theirs", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.theirs:
        theirs(chosen.theirs)
        return
    everybody = adult()
    there = has_anonymeter(chosen.anonymeter)
    if not there:
        print("anonymeter is not installed: its columns are left out (--anonymeter PYTHON)")
    splits = {}
    rng = np.random.default_rng(3)
    out = rng.random(len(everybody)) < SPLIT
    people, control = everybody[~out], everybody[out]
    for name, released in releases(people).items():
        splits[name] = (people, control, released)
    if chosen.example:
        files = [
            pd.read_csv(chosen.example / f"adults_{f}.csv").set_axis(everybody.columns, axis=1)
            for f in ("control", "syn_ctgan")
        ]
        mark = [pd.util.hash_pandas_object(t, index=False) for t in (everybody, files[0])]
        splits["CTGAN of its example"] = (everybody[~mark[0].isin(mark[1])], *files)
    head, table = "success control risk [interval]", []
    for name, (people, control, released) in splits.items():
        if chosen.only not in name:
            continue
        found, halves, spent = ours(people, control, released, chosen.people)
        other: dict[str, Any] = {}
        if there:
            other = asked_of(chosen.anonymeter, people, control, released, halves, chosen.people)
        took = sum(o["seconds"] for o in other.values())
        print(f"\n{name}: {len(people):,} people, {len(released):,} rows, {len(control):,} others")
        beside = f"   anonymeter, {took:.0f} s" if other else ""
        print(f"  {'':33}{f'Hedgerow, {spent:.0f} s: {head}':36}{beside}")
        own = {}
        for attack in found:
            named = f"{attack['attack']}, {attack['learner']}"
            if attack["attack"] == "regression":
                named = f"{attack['learner']}: {attack['target'].split('-')[0]}"
            if attack["attack"] == "membership":
                named += f", {attack['target'].split('-')[0]}"
            key = f"inference, {attack['target']}" if named.startswith("nearest:") else named
            print(_line(named, attack, other.get(key)), flush=True)
            own[key] = attack
        table.append(_row(name, own, other))
    head = " | ".join(["", "file", *TABLE.values(), ""]).strip()
    print("\nGain over control, Hedgerow / anonymeter:\n", head, "|---" * (1 + len(TABLE)) + "|", sep="\n")
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
