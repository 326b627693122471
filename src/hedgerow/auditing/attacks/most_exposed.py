"""Shadow releases: how surely the most exposed people of a table are found in releases of it.

Some people are chosen who are far from everybody else, or whose sensitive values are. The table is released many
times in the same way, each time without a random half of them; everybody else stays, but for those who serve for
comparison. An attacker who knows the method, its settings, everybody's values, and who of the chosen was in four
fifths of the releases, asks of each other release which of them are in it. Only released tables are looked at, so
other people's tools can be asked as well.

References
----------
N. Carlini et al. (2022), Membership inference attacks from first principles; F. Houssiau et al. (2022), TAPAS: a
toolbox for adversarial privacy auditing of synthetic data; M. S. M. S. Annamalai et al. (2024), "What
do you want from theory alone?".
"""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np
from scipy.spatial import KDTree
from scipy.special import betaincinv  # scipy.stats takes longer to load

from ...columns.column import Column
from ...columns.table import Table
from ...errors import InputError, ParameterError, UnsupportedError
from ...io.write import write_table
from ...json_types import Amount, Interval, OrNull, Range, Share
from ...measures import Bools, Floats, Ints
from ...progress import Tell, telling, with_context
from ...schema import Schema
from ..figure import Figure
from ..non_members import fitted_again
from ..pairing import read_unpaired
from ..subject import Subject, subject
from ..success import area, wilson
from ..table_pair import by_name
from .membership import altered_numbers, attack_scores, known_strangers

# releases a table again, given the number of the release
Remake = Callable[[Table, int], Subject]

# the neighbour whose distance tells how far a person is from everybody else
NEAR = 5
# share of the people who are in no release and serve for comparison, and the most of them
COMPARED = 0.1, 500
# parts of the releases; each is attacked by what is learnt from the others
PARTS = 5
# fewest people who serve for comparison
FEWEST = 10
# samples of the releases from which the interval of the share found is read
RESAMPLED = 1_000
# share of releases without a person in which the person is taken to be in them
ALARMS = 0.01
# shadows whose spread is that of everybody, who are added to a person's own
PRIOR = 2.0


class FoundExposed(TypedDict):
    """The success of guesses of who is in.

    ``auc``: how often a release with the person scores
    above one without; ``found``: the share found where 1% of those without are taken for members; ``epsilon``: a
    promise of less is broken; ``worst``: auc of the person found best.
    """

    auc: OrNull[Share]
    auc_interval: Interval
    found: OrNull[Share]
    found_interval: Interval
    epsilon: Amount
    worst: OrNull[Share]


class MostExposed(FoundExposed):
    """The success of an attacker with shadow models on the most exposed people, in ``runs`` releases made again."""

    people: Annotated[int, Range(4)]
    runs: Annotated[int, Range(20)]


def most_exposed(
    table: Table,
    schema: Schema,
    remake: Remake,
    *,
    people: int = 20,
    runs: int = 100,
    random_state: int = 0,
    progress: Tell = telling(None),
) -> MostExposed:
    """Attack the most exposed people of a table in releases with and without them.

    Parameters
    ----------
    table : Table
    schema : Schema
    remake : callable
        Releases a table, given the number of the release; see `remaking`.
    people : int
        Number of people who are attacked, even: half of them are farthest from others by all columns, half by the
        sensitive columns among people of like quasi-identifiers.
    runs : int
        Number of releases, a multiple of 20; each person is in half of them.
    random_state : int
    progress : callable
        Told of each release that is made.

    Raises
    ------
    ParameterError
        People or releases cannot be halved, or the table has too few people.
    UnsupportedError
        A person or a household has several rows.

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
    check_counts(people, runs)
    if isinstance(schema.unit, str) or schema.household is not None:
        raise UnsupportedError(
            "the most exposed people are put in and left out row by row, and persons or households here have several",
            hint="leave the unit and the household out of the schema, if rows are what an intruder asks about",
        )
    whole, n = table.arrow.combine_chunks(), table.n_rows
    compared = min(int(COMPARED[0] * n), COMPARED[1])
    if n - compared < 3 * people or compared < FEWEST:
        raise ParameterError(
            f"a table of {n:,} people is too small to attack {people} of them",
            hint="ask for fewer people (most_exposed=, --most-exposed)",
        )
    targets = exposed(Table(whole), schema, people)
    draw = np.random.default_rng(random_state)
    order = draw.permutation(np.setdiff1d(np.arange(n), targets))
    others, rest = order[:compared], np.sort(order[compared:])
    # Runs form pairs in the same part: the second has the people whom the first lacks. So all runs have the same
    # size, and each person is in half of the runs of each part: neither reveals who is in a run.
    parts = np.arange(runs) // 2 % PARTS
    is_in = np.zeros((runs, people), np.bool_)
    for run in range(0, runs, 2):
        is_in[run, draw.permutation(people)[: people // 2]] = True
        is_in[run + 1] = ~is_in[run]
    # Always read beside the same people, or a release that does not depend on the chosen would tell them apart.
    rest_of_table, strangers = Table(whole.take(rest)), Table(whole.take(np.append(targets, others)))

    def scored(run: int) -> dict[Any, Floats]:
        # no tool can see by the order of the rows who was put back
        rows = np.random.default_rng([random_state, run]).permutation([*rest, *targets[is_in[run]]])
        return _scores_of(rest_of_table, strangers, remake(Table(whole.take(rows)), run + 1), people)

    by_run = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            for scores_of_run in threads.map(with_context(scored), range(runs)):
                by_run.append(scores_of_run)
                progress(f"the most exposed people: release {len(by_run)} of {runs}", len(by_run) / runs)
        except BaseException:
            # else commands that run would be waited for, and their files would stay if that took too long
            threads.shutdown(wait=False, cancel_futures=True)
            if isinstance(remake, ByCommand):
                remake.stop()
            raise
    # a release of few distinct values can have fewer attacks
    attacks, none = sorted({attack for each in by_run for attack in each}), np.zeros(people)
    scores = np.array([np.stack([each.get(attack, none) for attack in attacks], axis=1) for each in by_run])
    guess = np.zeros((runs, people))
    for part in range(PARTS):
        guess[parts == part] = guesses(scores, is_in, parts, part)
    return {"people": people, "runs": runs, **summary(guess, is_in)}


def check_counts(people: int, runs: int) -> None:
    """Raise ParameterError for numbers of people or releases that cannot be halved, or say nothing."""
    if people < 4 or people % 2 or runs < 20 or runs % 20:
        raise ParameterError(
            f"{people} people in {runs} releases cannot be attacked: half of them are in each, and releases have parts",
            hint="attack 4, 6, 8 ... people (most_exposed=), in 20, 40, 60 ... releases (remakes=)",
        )


def _scores_of(members: Table, strangers: Table, release: Subject, people: int) -> dict[Any, Floats]:
    """Return the scores of each membership attack on the first strangers, to whom the others are compared."""
    sides = read_unpaired(members, release, strangers)
    assert sides.strangers is not None
    coded = known_strangers([*by_name(sides.quasi), *by_name(sides.sensitive)], sides.strangers)
    targets, compared = (coded.part(np.arange(*ends)) for ends in ((people,), (people, len(coded))))
    one, nobody = coded.part(np.arange(1)), coded.part(np.arange(0))
    by_attack = attack_scores(sides, compared, [(one, targets), (nobody, nobody)], set(altered_numbers(sides)))
    return {attack: np.nan_to_num(each.strangers, posinf=50, neginf=-50) for attack, each in by_attack.items()}


def exposed(table: Table, schema: Schema, people: int) -> Ints:
    """Return the rows of the people farthest from others, half of them by sensitive columns among people like them."""
    quasi, sensitive = (
        np.stack([_coordinate(table.declared_column(schema, name)) for name in names], axis=1)
        for names in (schema.quasi, schema.sensitive or schema.quasi)
    )
    every, n = np.hstack([quasi, sensitive]), table.n_rows
    alone = KDTree(every).query(every, min(NEAR + 1, n))[0][:, -1]
    like = KDTree(quasi).query(quasi, min(10 * NEAR, n))[1]
    unlike = np.abs(sensitive - np.median(sensitive[like], axis=1)).max(axis=1)
    chosen = np.argsort(-alone, kind="stable")[: (people + 1) // 2]
    rest = np.argsort(-unlike, kind="stable")
    return np.sort(np.append(chosen, rest[~np.isin(rest, chosen)][: people - len(chosen)]))


def _coordinate(column: Column) -> Floats:
    """Return a column in standard deviations: numbers, or how rare each category is."""
    if column.is_number:
        values = column.by_code[column.codes]
    else:
        values = -np.log(np.maximum(column.counts(), 1))[column.codes]
    present = values[np.isfinite(values)]
    values = np.nan_to_num(values, nan=float(present.mean()) if len(present) else 0.0)
    return (values - values.mean()) / (values.std() or 1.0)


def _ratios(scores: Floats, is_in: Bools, of: Floats) -> Floats:
    """Return, by each attack, the log-likelihood ratio that a person is in, from scores in the shadows."""
    spread = scores.std(axis=(0, 1)) ** 2 + 1e-12
    logs = []
    for inside in (is_in, ~is_in):
        n = inside.sum(axis=0)[:, None]
        total, square = (np.einsum("sp,spf->pf", inside, part) for part in (scores, scores**2))
        mean = total / np.maximum(n, 1)
        variance = (np.maximum(square - n * mean**2, 0) + PRIOR * spread) / (n + PRIOR)
        logs.append(-0.5 * np.log(variance) - (of - mean) ** 2 / (2 * variance))
    return np.clip(logs[0] - logs[1], -50, 50)


def guesses(scores: Floats, is_in: Bools, parts: Ints, target: int) -> Floats:
    """Return the log odds that people are in each release of one part, learnt from all other parts.

    Parameters
    ----------
    scores : float array, shape (n_releases, n_people, n_attacks)
    is_in : bool array, shape (n_releases, n_people)
    parts : int array, shape (n_releases,)
    target : int
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    others = parts != target

    def features(part: int) -> Floats:
        now, shadows = parts == part, others & (parts != part)
        both = [scores[now], _ratios(scores[shadows], is_in[shadows], scores[now])]
        return np.concatenate(both, axis=2).reshape(-1, 2 * scores.shape[2])

    rest = np.unique(parts[others])
    x, y = np.vstack([features(s) for s in rest]), np.concatenate([is_in[parts == s].ravel() for s in rest])
    learners = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=40, random_state=0),
    )
    now = features(target)
    chances = (np.clip(each.fit(x, y).predict_proba(now)[:, 1], 1e-12, 1 - 1e-12) for each in learners)
    return np.asarray(sum(np.log(p / (1 - p)) for p in chances)).reshape(-1, scores.shape[1])


def summary(guess: Floats, is_in: Bools) -> FoundExposed:
    """Return what guesses (runs, people) that a person is in show of who is."""

    def auc(guess: Floats, is_in: Bools) -> float:
        return area([(guess[is_in], guess[~is_in])]).value

    # runs are independent of one another, people in the same run nearly so
    by_run = np.array([auc(*run) for run in zip(guess, is_in, strict=True) if 0 < run[1].sum() < len(run[1])])
    whole, half = auc(guess, is_in), 1.96 * float(by_run.std(ddof=1)) / len(by_run) ** 0.5
    share = _share_found(guess, is_in)
    exact = wilson(share * is_in.sum(), int(is_in.sum()))
    # the cut is drawn again as well, and runs in pairs, of which one has the people whom the other lacks
    draw, pairs, again = np.random.default_rng(0), len(guess) // 2, []
    for _ in range(RESAMPLED):
        rows = np.repeat(2 * draw.integers(0, pairs, pairs), 2)
        rows[1::2] += 1
        again.append(_share_found(guess[rows], is_in[rows]))
    low, high = np.quantile(again, [0.025, 0.975]).tolist()
    first = np.arange(len(guess)) < len(guess) // 2
    areas = [[auc(guess[part, j], is_in[part, j]) for j in range(guess.shape[1])] for part in (first, ~first)]
    worst = [areas[1 - side][int(np.argmax(areas[side]))] for side in (0, 1)]
    return {
        "auc": whole,
        "auc_interval": [max(whole - half, 0.0), min(whole + half, 1.0)],
        "found": share,
        "found_interval": [min(exact.low, low), max(exact.high, high)],
        # where a person is left out another one is put in, which differential privacy counts as two
        "epsilon": max(least_epsilon(guess, is_in, first), least_epsilon(guess, is_in, ~first)) / 2,
        "worst": float(np.mean(worst)),
    }


def _share_found(guess: Floats, is_in: Bools) -> float:
    """Return the share of guesses of who is in above a cut that a share of `ALARMS` of the others is above."""
    return float((guess[is_in] > np.quantile(guess[~is_in], 1 - ALARMS, method="higher")).mean())


def least_epsilon(guess: Floats, is_in: Bools, choosing: Bools, alpha: float = 0.025) -> float:
    """Return a lower bound of epsilon, whose threshold is chosen on some runs and judged on the others.

    Both tests that a threshold gives are tried: few false alarms, and few misses.
    """

    def counts(runs: Bools, sign: int, cut: float) -> tuple[int, int, int, int]:
        hit = sign * guess[runs] >= sign * cut
        now = is_in[runs] if sign > 0 else ~is_in[runs]
        return int(hit[now].sum()), int(now.sum()), int(hit[~now].sum()), int((~now).sum())

    def bound(hits: int, n: int, alarms: int, m: int) -> float:
        # the ends of both shares by Clopper and Pearson
        low = betaincinv(hits, n - hits + 1, alpha / 2) if hits else 0.0
        high = betaincinv(alarms + 1, m - alarms, 1 - alpha / 2) if alarms < m else 1.0
        return math.log(low / high) if low > high else 0.0

    cuts = np.quantile(guess[choosing], np.linspace(0, 1, 101))
    best = max(((bound(*counts(choosing, s, c)), s, float(c)) for s in (1, -1) for c in cuts), key=lambda each: each[0])
    return bound(*counts(~choosing, *best[1:]))


def remaking(remake: str | Callable[[Any, int], Any] | None, what: Subject, random_state: int) -> Remake:
    """Return what releases a table again: a command, a function, or the method of a release.

    Raises
    ------
    ParameterError
        Neither a command nor a function is given, and the method of the release is not known.
    """
    if isinstance(remake, str):
        return ByCommand(remake, what.schema)
    if remake is not None:
        return lambda table, run: subject(remake(table.arrow, run), what.schema, None)
    if (method := what.method) is None:
        raise ParameterError(
            "how the release was made is not known here, so it cannot be made again without some people",
            hint=(
                'give the command that makes it (--remake "tool {in} {out}"), or in Python the Release itself '
                "(but of PrivateTree) or a function (remake=)"
            ),
        )
    parameters = method.get_params(deep=False)

    def again(table: Table, run: int) -> Subject:
        seed = random_state + run
        # draws of their own in each release, or they would be the same in all of them
        seeds = {name: value for name, value in (("key", None), ("random_state", seed)) if name in parameters}
        return fitted_again(method.copy().set_params(**seeds), table, what.schema, what.guard, seed, what.units)

    return again


class ByCommand:
    """Release tables by a command.

    Parameters
    ----------
    command : str
        {in} stands for a CSV file to read and {out} for one to write, or for a release folder.
    schema : Schema
    """

    def __init__(self, command: str, schema: Schema) -> None:
        reader = shlex.shlex(command, posix=True)
        reader.whitespace_split, reader.commenters = True, ""
        if sys.platform == "win32":
            reader.escape = ""  # a backslash stands between folders
        try:
            self.words = list(reader)
        except ValueError as error:
            raise ParameterError(f"the command cannot be read: {error}") from None
        if not ("{in}" in command and "{out}" in command):
            raise ParameterError(
                f"the command needs {{in}} and {{out}}: {command}",
                hint="{in} stands for the CSV file that it reads, {out} for the one that it writes",
            )
        self.command, self.schema = command, schema
        self.running: set[subprocess.Popen[bytes]] = set()
        self.is_stopped = False

    def stop(self) -> None:
        """End all commands, and start no more."""
        self.is_stopped = True
        for process in list(self.running):
            process.kill()

    def __call__(self, table: Table, run: int) -> Subject:
        """Release a table."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in.csv"), Path(folder, "out.csv")
            write_table(table.arrow, source)
            words = [word.replace("{in}", str(source)).replace("{out}", str(target)) for word in self.words]
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            except OSError as error:
                raise InputError(f"the command failed: {error}") from None
            self.running.add(process)
            if self.is_stopped:
                process.kill()
            code = process.wait()
            self.running.discard(process)
            if code:
                raise InputError(f"the command failed with exit status {code}: {self.command}")
            if not target.exists():
                raise InputError(
                    f"the command wrote no {{out}}: {self.command}",
                    hint="{in} stands for the CSV file that it reads, {out} for the one that it writes",
                )
            return subject(target, self.schema, None)


FIGURES = (
    Figure(
        {"risk.most_exposed": MostExposed | None},
        lambda t: most_exposed(
            t.original,
            t.what.schema,
            t.remake,
            people=t.options["most_exposed"],
            runs=t.options["remakes"],
            **t.drawing,
        ),
        needs=("remakes",),
    ),
)
