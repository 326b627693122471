"""The worst person: how surely the most exposed people of a table are found in releases of it.

Some people are chosen who are far from everybody else, or whose sensitive values are. The table is released many times
by the same method, each time without a random half of them; everybody else stays, but for those who serve for
comparison. An attacker who knows the method, its settings, everybody's values, and who of the chosen was in all other
releases, asks of one release which of them are in it. Any method can be asked, also a command that somebody else's tool
runs: only the released tables are looked at.

References
----------
N. Carlini et al. (2022), Membership inference attacks from first principles; F. Houssiau et al. (2022), TAPAS: a
toolbox for adversarial privacy auditing of synthetic data; M. S. M. S. Annamalai et al. (2024), "What
do you want from theory alone?".
"""

from __future__ import annotations

import math
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from hedgerow.audit.attacks.membership import _altered, _scores, known_strangers
from hedgerow.audit.pairing import read_unpaired
from hedgerow.audit.subject import Subject
from hedgerow.audit.success import wilson
from hedgerow.audit.table_pair import by_name
from hedgerow.columns.table import Table
from hedgerow.errors import InputError, ParameterError
from hedgerow.io.read import read
from hedgerow.io.write import write_table
from hedgerow.schema import Schema

from .hedge import numbers
from .shadows import Floats, Release, guesses

NEAR = 5
"""The neighbour whose distance tells how far a person is from everybody else."""
COMPARED = 0.1, 500
"""Share of the people who are in no release and serve for comparison, and the most of them."""
PARTS = 5
"""Parts of the releases; each is attacked by what is learnt from the others."""
RESAMPLED = 1_000
"""Samples of the releases from which the interval of the share found is read."""
ALARMS = 0.01
"""Share of releases without a person in which the person is taken to be in them."""


def worst_person(
    table: Any,
    schema: Schema,
    release: Release,
    *,
    people: int = 20,
    runs: int = 100,
    jobs: int = 1,
    random_state: int = 0,
    progress: Callable[[int], None] = lambda runs: None,
) -> dict[str, Any]:
    """Attack the most exposed people of a table in releases with and without them.

    Parameters
    ----------
    table : path, frame or Table
    schema : Schema
    release : callable
        Releases a Table, given its schema and a seed; see `remade` for commands.
    people : int
        Number of people who are attacked, even: half of them are farthest from others by all columns, half by the
        sensitive columns among people of like quasi-identifiers.
    runs : int
        Number of releases, a multiple of 20; each person is in half of them.
    jobs : int
        Number of releases that are made at once.
    random_state : int
    progress : callable
        Called with the number of releases that are made, after each.

    Raises
    ------
    ParameterError
        The numbers of people or runs are no such numbers, or the table has too few people.

    Returns
    -------
    dict
        ``auc``: the chance that a person's score is higher in a release with the person than in one without;
        ``found``: the share of releases with a person in which the person is found, where 1% of those without one are
        taken for one; both with intervals (95%); ``epsilon``: a method that promises less under differential privacy
        (one person more or fewer) shows as much once in twenty times at most, over the people together, so that one who
        leaks among many weighs little; ``worst``: the area of the person who is found best, chosen on one half of the
        runs and measured on the other.
    """
    if people < 2 or people % 2 or runs < 20 or runs % 20:
        raise ParameterError("attack an even number of people, in 20, 40, 60 ... releases")
    whole = read(table, schema=schema).arrow.select([*schema.quasi, *schema.sensitive]).combine_chunks()
    draw = np.random.default_rng(random_state)
    order = draw.permutation(whole.num_rows)
    compared = min(int(COMPARED[0] * len(order)), COMPARED[1])
    others, pool = whole.take(order[:compared]), whole.take(order[compared:])
    if pool.num_rows < 3 * people:
        raise ParameterError(f"a table of {whole.num_rows} people is too small to attack {people} of them")
    asked = exposed(read(pool), schema, people)
    # Every second run has the others, and both are in one part: so each run has as many people, for their number
    # would tell who is in it, and each person is in half of the runs of each part, or what is left out would tell.
    parts = np.arange(runs) // 2 % PARTS
    is_in = np.zeros((runs, len(asked)), np.bool_)
    for run in range(0, runs, 2):
        is_in[run, draw.permutation(len(asked))[: len(asked) // 2]] = True
        is_in[run + 1] = ~is_in[run]
    rest = np.setdiff1d(np.arange(pool.num_rows), asked)
    # Always read beside the same people, or a release that does not depend on the chosen would tell them apart.
    beside, strangers = Table(pool.take(rest)), Table(pa.concat_tables([pool.take(asked), others]))

    def scored(run: int) -> dict[Any, Floats]:
        # no tool can see by the order of the rows who was put back
        rows = np.random.default_rng([random_state, run]).permutation([*rest, *asked[is_in[run]]])
        scores = _scores_of(beside, strangers, release(Table(pool.take(rows)), schema, run + 1), len(asked))
        progress(run + 1)
        return scores

    by_run = Parallel(n_jobs=jobs, prefer="threads")(delayed(scored)(run) for run in range(runs))
    # a release of few distinct values can have fewer attacks
    attacks, none = sorted({attack for each in by_run for attack in each}), np.zeros(len(asked))
    scores = np.array([np.stack([each.get(attack, none) for attack in attacks], axis=1) for each in by_run])
    guess = np.zeros((runs, len(asked)))
    for part in range(PARTS):
        guess[parts == part] = guesses(scores, is_in, parts, part)
    return {"people": len(asked), "runs": runs} | summary(guess, is_in)


def _scores_of(beside: Table, strangers: Table, release: Subject, people: int) -> dict[Any, Floats]:
    """Return the scores of each of the audit's attacks on the first strangers, to whom the others are compared."""
    sides = read_unpaired(beside, release, strangers)
    assert sides.strangers is not None
    columns = [*by_name(sides.quasi), *by_name(sides.sensitive)]
    coded = known_strangers(columns, sides.strangers)
    asked, compared = (coded.part(np.arange(*ends)) for ends in ((people,), (people, len(coded))))
    one, nobody = coded.part(np.arange(1)), coded.part(np.arange(0))
    by_attack = _scores(sides, compared, [(one, asked), (nobody, nobody)], set(_altered(sides)))
    return {attack: np.nan_to_num(each.strangers, posinf=50, neginf=-50) for attack, each in by_attack.items()}


def exposed(table: Table, schema: Schema, people: int) -> NDArray[np.int64]:
    """Return the rows of the people farthest from others, half of them by sensitive columns among people like them."""
    known, sensitive = _coordinates(table, schema.quasi), _coordinates(table, schema.sensitive)
    every = np.hstack([known, sensitive])
    n = len(every)
    alone = NearestNeighbors(n_neighbors=min(NEAR + 1, n)).fit(every).kneighbors(every)[0][:, -1]
    like = NearestNeighbors(n_neighbors=min(10 * NEAR, n)).fit(known).kneighbors(known)[1]
    unlike = np.abs(sensitive - np.median(sensitive[like], axis=1)).max(axis=1)
    chosen = list(np.argsort(-alone, kind="stable")[: (people + 1) // 2])
    rest = [row for row in np.argsort(-unlike, kind="stable") if row not in set(chosen)]
    return np.sort([*chosen, *rest[: people - len(chosen)]])


def _coordinates(table: Table, names: Sequence[str]) -> Floats:
    """Return columns in standard deviations: numbers, and how rare a category is."""
    parts = []
    for name in names:
        if table.kind(name) in ("numeric", "date"):
            values = numbers(table, table, name)
        else:
            codes = np.unique(np.array(table.arrow.column(name).to_pylist(), str), return_inverse=True)[1]
            values = -np.log(np.bincount(codes)[codes])
        values = np.nan_to_num(values, nan=float(np.nanmean(values)))
        parts.append((values - values.mean()) / (values.std() or 1.0))
    return np.stack(parts, axis=1)


def summary(guess: Floats, is_in: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what guesses (runs, people) that a person is in show of who is."""
    area = float(roc_auc_score(is_in.ravel(), guess.ravel()))
    # runs are independent of one another, people in the same run nearly so
    by_run = np.array([roc_auc_score(i, g) for i, g in zip(is_in, guess, strict=True) if 0 < i.sum() < len(i)])
    half = 1.96 * float(by_run.std(ddof=1)) / len(by_run) ** 0.5
    found = _found(guess, is_in)
    exact = wilson(found * is_in.sum(), int(is_in.sum()))
    # the cut is drawn again as well, and runs in pairs, of which one has the people whom the other lacks
    draw, pairs, again = np.random.default_rng(0), len(guess) // 2, []
    for _ in range(RESAMPLED):
        rows = np.repeat(2 * draw.integers(0, pairs, pairs), 2)
        rows[1::2] += 1
        again.append(_found(guess[rows], is_in[rows]))
    low, high = np.quantile(again, [0.025, 0.975])
    first = np.arange(len(guess)) < len(guess) // 2
    areas = [[roc_auc_score(is_in[part, j], guess[part, j]) for j in range(guess.shape[1])] for part in (first, ~first)]
    worst = [areas[1 - side][int(np.argmax(areas[side]))] for side in (0, 1)]
    return {
        "auc": area, "auc_interval": [area - half, area + half],
        "found": found, "found_interval": [min(exact.low, float(low)), max(exact.high, float(high))],
        # where a person is left out another one is put in, which differential privacy counts as two
        "epsilon": max(least_epsilon(guess, is_in, first), least_epsilon(guess, is_in, ~first)) / 2,
        "worst": float(np.mean(worst)),
    }  # fmt: skip


def _found(guess: Floats, is_in: NDArray[np.bool_]) -> float:
    """Return the share of guesses of who is in above a cut that a share of `ALARMS` of the others is above."""
    return float((guess[is_in] > np.quantile(guess[~is_in], 1 - ALARMS, method="higher")).mean())


def least_epsilon(guess: Floats, is_in: NDArray[np.bool_], choosing: NDArray[np.bool_], alpha: float = 0.025) -> float:
    """Return a lower bound of epsilon, whose threshold is chosen on some runs and judged on the others.

    Both tests that a threshold gives are tried: few false alarms, and few misses.
    """

    def counts(runs: NDArray[np.bool_], sign: int, cut: float) -> tuple[int, int, int, int]:
        hit = sign * guess[runs] >= sign * cut
        now = is_in[runs] if sign > 0 else ~is_in[runs]
        return int(hit[now].sum()), int(now.sum()), int(hit[~now].sum()), int((~now).sum())

    def bound(hits: int, n: int, alarms: int, m: int) -> float:
        low = beta.ppf(alpha / 2, hits, n - hits + 1) if hits else 0.0
        high = beta.ppf(1 - alpha / 2, alarms + 1, m - alarms) if alarms < m else 1.0
        return math.log(low / high) if low > high else 0.0

    cuts = np.quantile(guess[choosing], np.linspace(0, 1, 101))
    best = max(((bound(*counts(choosing, s, c)), s, float(c)) for s in (1, -1) for c in cuts), key=lambda each: each[0])
    return bound(*counts(~choosing, *best[1:]))


def remade(command: str) -> Release:
    """Return a release made by a command in which {in} stands for a CSV file to read and {out} for one to write."""

    def release(table: Table, schema: Schema, seed: int) -> Subject:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in.csv"), Path(folder, "out.csv")
            write_table(table.arrow, source)
            words = [word.replace("{in}", str(source)).replace("{out}", str(target)) for word in shlex.split(command)]
            try:
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            except (OSError, subprocess.CalledProcessError) as error:
                raise InputError(f"the command failed: {error}") from None
            if not target.exists():
                raise InputError(f"the command wrote no {{out}}: {command}")
            return Subject(read(target, schema=schema), schema)

    return release
