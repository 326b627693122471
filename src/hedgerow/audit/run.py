"""Run every measure on a pair of tables."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from ..backends.spark.spark_table import Gathered
from ..columns.chunked_table import ChunkedTable
from ..columns.table import Table
from ..errors import ParameterError, UnsupportedError
from ..io.read import read
from ..plan import Plan
from ..profiles import Profile
from ..progress import Progress, telling
from ..release.warnings import extremes_in_words
from ..schema import SCHEMA, Schema
from ..validation import DAY, FLAG, LIST, NAMES, NUMBER, PROGRESS, SEED, TEXT, takes, whole
from .attacks.learners import LEARNERS, check_learners
from .backend import check_room, holder
from .figures import CASES, ON_SAMPLE, Task, figures_of
from .non_members import check_control
from .pairing import pair_up, read_unpaired
from .profile_result import judged
from .release_only import Alone
from .result import Audit
from .sample import Sample, sample_of
from .spark_tables import copies, counted, is_clustered, put_there
from .subject import Subject, Unpaired, UnreadCells, check_extent, subject
from .table_pair import Pair, UnpairedTables


@takes(
    schema=SCHEMA,
    k=whole(),
    threshold=NUMBER,
    others=LIST,
    people=whole(),
    learners=NAMES,
    random_state=SEED,
    paired=FLAG,
    per_person=FLAG,
    key=TEXT,
    weights=TEXT,
    population_size=whole(),
    suda=whole(),
    date=DAY,
    sample=whole(),
    engine=TEXT,
    progress=PROGRESS,
)
def audit(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    plan: Plan | None = None,
    key: str | None = None,
    paired: bool | None = None,
    attacks: bool = True,
    learning: bool = True,
    inference: bool | None = None,
    control: Any = None,
    others: Sequence[Any] = (),
    population: Any = None,
    weights: str | None = None,
    population_size: int | None = None,
    suda: int | None = None,
    k: int | None = None,
    threshold: float = 0.2,
    people: int = 500,
    learners: Sequence[str] | None = None,
    random_state: int = 0,
    allow_outside: bool = False,
    per_person: bool = False,
    date: str | None = None,
    profile: str | Path | Profile | None = None,
    sample: int | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Measure what a release gives away and what it is still good for.

    Works on any released file, whoever made it. A method that alters values (noise,
    swapping, randomized response ...) is judged by how well its records are linked with
    their originals, not by classes of equal cells. Files whose rows belong to nobody
    (synthetic data) or cannot be paired are judged by attacks on people who took part,
    beside the same attacks on people who did not (`control`).

    No table of all pairs of people, rows or values is made: memory grows with the rows (about
    1.5 KB each with ten quasi-identifiers), and learners are trained on 20,000 different rows of at
    most 62 features a quasi-identifier. A million rows, one column of 80,000 values, take 2 GB with
    everything (`benchmarks/audit.py --attacks`).

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation
        The table before, or None. Of a release alone (None) its groups are measured, and what they
        give away beside its own totals; so they are where cells cannot be read. What was not measured is
        None, and `not_measured` of the data says why.
    released : Release, release folder, path or frame
        The table after. A `Release` knows its rows, its schema and its plan; a
        folder holds its plan. Otherwise rows are paired by `key`, by the columns that were
        left as they were, or by their order where that is shown by a test.
    schema : Schema, optional
        Which columns are quasi-identifiers and which are sensitive; by default
        what the release or its plan says.
    plan : Plan, optional
        The plan of a released file, for cells that do not say what they mean.
    key : str, optional
        A column of both tables that numbers the rows.
    paired : bool, optional
        False: compare no row with its original, whatever the number of rows; True: refuse
        tables whose rows cannot be paired. By default rows are paired where something shows
        which belong together, and a note says when nothing does.
    attacks : bool
        Run the regression, linking, singling-out, downcoding and membership attacks.
    learning : bool
        Compare learning from the release with learning from the original.
    inference : bool, optional
        Measure what learners infer about members and strangers (`hedgerow.inference`); by
        default as `attacks`. Strangers are the people of `control`, or those whom the method of a
        `Release` leaves out as it releases the rest again.
    control : frame or path, optional
        People who are not in the original, for the attacks' control; without it
        the same people with their own rows withheld, and where rows are not paired nobody.
        Membership needs them, or a `Release`, whose method releases parts of the people again.
    others : sequence of Release, release folders, paths or frames
        Further releases of the same people, or of some of them: what all of them tell together.
    population : frame or path, optional
        The population that the original was drawn from (journalist risk).
    weights : str, optional
        Column of sampling weights, by default the schema's `weight` (journalist risk without a
        population table): each class's expected risk, by Benedetti and Franconi, population uniques,
        and weighted estimates before and after.
    population_size : int, optional
        People of the population that the original was drawn from, for population uniques; by
        default the population table's rows, or the summed weights.
    suda : int, at least 1, optional
        Find the special uniques of original and release (SUDA2): records that so many
        quasi-identifiers or fewer single out. The sample's share of the population, for DIS, is that of
        `weights`, else .01.
    k : int, at least 1, optional
        What was asked of the release, for the average class size over k; by default
        what its plan promises.
    threshold : float, in (0, 1]
        Re-identification risk above which a record counts as at risk.
    people : int, at least 1
        How many people each attack is tried on.
    learners : sequence of str, optional
        Who attacks: "tree", "gradient boosting", "nearest", "linear".
    random_state : int
        For random queries, descriptions, folds and bootstrap intervals, and who of the people is
        asked: the maker of a release does not know your number.
    allow_outside : bool
        Accept released ranges and sets that miss their row's original value.
    per_person : bool
        Also tell of every record what its group gives away, those most at risk first:
        `Audit.per_person`, which no report and no JSON holds.
    date : str, optional
        The day that the report names, such as ``2026-01-31``. No clock is read: the same call gives
        the same report.
    profile : str, path or Profile, optional
        What a standard asks (`Profile.names`, or a TOML file of your own): the audit then says of
        each criterion whether the release meets it. What a profile needs and is not measured here
        (attacks, a population) stands there as not measured.
    sample : int, at least 1, optional
        Try attacks, learners and inference on so many records, chosen by a keyed hash of what they
        hold: whole groups of equal released quasi-identifiers, the last one as a whole; single
        records where values were altered. `table` says how many and which. By default all records,
        for which a table that streams past has no room.
    engine : {"auto", "memory", "duckdb", "spark"}, default "auto"
        Where the tables are held; see `hedgerow.protect`. "duckdb" reads them a few rows at a time,
        "spark" has executors read files;
        what is found is the same. Of Spark DataFrames and what their plan makes of them, pairs of rows are
        counted where they are, and come here as codes; where no plan tells the pairs, both tables are
        copied once into a private folder of this machine, and read as by "duckdb".
    memory : str or int, optional
        Most memory that "duckdb", or codes from a cluster, take.
    progress : callable, optional
        Called with a line of text and None before each long step; what it raises
        stops the audit.

    Returns
    -------
    Audit
        `.to_dict()`, `.to_json()`, `.report(path)`; printing it gives a summary.

    Raises
    ------
    InputError, SchemaError
        The tables cannot be paired, columns are missing, or the release holds
        values that no original value could have given.
    ParameterError
        A parameter lies outside its range.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> people = pd.DataFrame({"age": [27, 39, 41, 58], "pay": [10, 12, 30, 31]})
    >>> release = people.assign(age=["[27-39]", "[27-39]", "[41-58]", "[41-58]"])
    >>> found = hr.audit(people, release, hr.Schema(quasi=["age"], sensitive=["pay"]),
    ...                  attacks=False, learning=False)
    >>> found.risk["release"]["classes"]["k"]
    2
    """
    _check(k, threshold, people, learners, suda, sample)
    asked_by = None if profile is None else Profile.load(profile)
    by_person = bool(others) or per_person
    if by_person and paired is False:
        raise ParameterError(
            "figures of single people (per_person, --per-person) need rows that are paired with "
            "their originals"
        )
    asked_for = {
        "attacks": attacks,
        "learning": learning,
        "inference": inference,
        "per_person": per_person,
        "others": others,
    }
    tell = telling(progress)
    named, here = [name for name, value in asked_for.items() if value], None
    noted: tuple[str, ...] = ()
    if engine == "spark":
        refuse_whole(named, sample)
        original, released, plan, noted = put_there(original, released, schema, plan, memory)
    if is_clustered(original) or is_clustered(released):
        refuse_whole(named, sample)
        if key is None and paired is not False:
            tell("counting what is on a cluster")
            here = counted(original, released, schema, plan, weights, memory)
        if here is None:
            tell("copying what is on a cluster")
            original, released, schema, plan = copies(
                original, released, schema, plan, memory, key is not None or paired is False
            )
        engine = "auto" if engine == "spark" else engine  # the copies say what holds them
    if here is None:
        holds = holder(original, released, engine, memory)
        if holds.streams:
            refuse_whole(named, sample)
        tell("pairing the tables")
        what = subject(released, schema, plan, holds)
        original = None if original is None else holds.original(original, what.schema)
        check_room(original)
    else:
        original, what = here
    what = replace(what, notes=(*what.notes, *noted))
    strangers = None if control is None else read(control, schema=what.schema)
    given = {
        "key": key,
        "paired": by_person or paired,
        "control": strangers is not None,
        "population": population is not None,
    }
    if original is None and any(given.values()):
        asked = ", ".join(name for name, value in given.items() if value)
        raise ParameterError(f"{asked} need an original to compare with")
    sides = _sides(original, what, key, by_person or paired, strangers, allow_outside)
    wanted = {
        "attacks": attacks,
        "inference": attacks if inference is None else inference,
        "learning": learning,
        "per person": per_person,
    }
    if isinstance(sides, Alone):  # nothing is compared with other people either
        strangers = population = None
    if strangers is not None and isinstance(sides, Pair) and _tried(wanted):
        sides = replace(sides, strangers=sides.people_of(strangers))
    k = what.k if k is None else k
    if weights is None and isinstance(sides.plain, Pair):  # else weights are nobody's
        weights = what.schema.weight
        weights = weights if weights in (*sides.released.names, *sides.plain.original.names) else None
    if population_size is not None and population_size < sides.n_rows:
        raise ParameterError(
            f"population_size is {population_size:,}, fewer than the {sides.n_rows:,} released records"
        )
    chosen = _sample(sides, sample, random_state) if _tried(wanted) else None
    task = Task(
        sides=sides,
        what=what,
        asked=frozenset(name for name, asked in wanted.items() if asked),
        strangers=strangers,
        population=None if population is None else read(population, schema=what.schema),
        others=others,
        key=key,
        weights=weights,
        population_size=population_size,
        k=k,
        threshold=threshold,
        people=people,
        learners=learners or LEARNERS,
        random_state=random_state,
        suda=suda,
        tell=tell,
        sample=chosen,
    )
    parameters = {
        "key": key,
        "threshold": threshold,
        "people": people,
        "random_state": random_state,
        "k": k,
        "paired": paired,
        "control": CASES[type(sides)].control if strangers is None else "other people",
        "others": len(others),
        "population": given["population"],
        "weights": weights,
        "population_size": population_size,
        "suda": suda,
        "sample": sample,
        "allow_outside": allow_outside,
        "profile": None if asked_by is None else asked_by.name,
    }
    parameters |= {} if date is None else {"date": date}
    made = _audit(task, parameters)
    if asked_by is None:
        return made
    return replace(made, profile=judged(made.to_dict(), sides.released, asked_by))


# the function stands in front of its room, `hedgerow.audit`
audit.json_schema = Audit.json_schema  # type: ignore[attr-defined]


def _check(
    k: int | None,
    threshold: float,
    people: int,
    learners: Sequence[str] | None,
    suda: int | None,
    sample: int | None,
) -> None:
    if suda is not None and suda < 1:
        raise ParameterError(f"suda must be at least 1, not {suda}")
    if sample is not None and sample < 1:
        raise ParameterError(f"sample must be at least 1, not {sample}")
    if k is not None and k < 1:
        raise ParameterError(f"k must be at least 1, not {k}")
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold must lie in (0, 1], not {threshold}")
    if people < 1:
        raise ParameterError(f"people must be at least 1, not {people}")
    if learners:
        check_learners(learners)


def refuse_whole(asked: Sequence[str], sample: int | None) -> None:
    """Refuse what takes all rows of a table that streams past side by side."""
    whole = [name for name in asked if sample is None or name not in ON_SAMPLE]
    if whole:
        tried = all(name in ON_SAMPLE for name in whole)
        raise UnsupportedError(
            f"{', '.join(whole)}: these need all rows in memory, and this table is read piece by piece",
            hint="try them on some of the records (sample=100_000, --sample 100000), or leave them "
            "out (attacks=False, learning=False; --no-attacks --no-learning)"
            if tried
            else "measure without them, or give a table that fits into memory",
        )


def _tried(wanted: Mapping[str, bool]) -> bool:
    return any(wanted[name] for name in ON_SAMPLE)


def _sample(sides: Any, n: int | None, random_state: int) -> Sample | None:
    """The records that attacks are tried on; None where these are all, and in memory."""
    streams = isinstance(sides.original, (ChunkedTable, Gathered))
    if n is None or (n >= sides.n_rows and not streams):
        return None
    if not isinstance(sides, Pair):
        raise UnsupportedError(
            "a sample is drawn from rows that are paired with their originals, and these are not paired",
            hint="leave sample out (--sample), or pair them by a key",
        )
    return sample_of(sides, n, random_state)


def _sides(
    original: Any,
    what: Subject,
    key: str | None,
    paired: bool | None,
    strangers: Table | None,
    allow_outside: bool,
) -> Pair | UnpairedTables | Alone:
    """Both tables side by side, or the release alone where nothing can be compared."""
    if original is None:
        return Alone.of(what)
    try:
        sides = _side_by_side(original, what, key, paired, strangers, allow_outside)
    except UnreadCells as error:
        return Alone.of(what, read(original, schema=what.schema), error)
    check_extent(sides.original, what.schema)
    if strangers is not None:
        check_control(sides.original, strangers, what.schema)
    return sides


def _side_by_side(
    original: Any,
    what: Subject,
    key: str | None,
    paired: bool | None,
    strangers: Table | None,
    allow_outside: bool,
) -> Pair | UnpairedTables:
    """Row by row where something tells which rows belong together."""
    if paired is False:
        if key is not None:
            raise ParameterError(f"the key {key!r} pairs the rows, and paired=False (--unpaired) forbids it")
        return read_unpaired(original, what, strangers)
    try:
        return pair_up(original, what, key=key, allow_outside=allow_outside)
    except Unpaired as error:
        if paired:
            raise
        return read_unpaired(original, what, strangers, why=error.message)


def _audit(task: Task[Any], parameters: dict[str, Any]) -> Audit:
    """Everything that is measured of some tables."""
    sides, schema, case = task.sides, task.what.schema, CASES[type(task.sides)]
    found = figures_of(task)
    scatters = _scatters(found["risk.release"])
    if found["risk.original"] is not None:
        _scatters(found["risk.original"])
    extremes = found["table.extremes"]
    return Audit(
        promises=task.what.plan.promises if task.what.plan else (),
        table={
            "rows": sides.n_rows,
            "original_rows": None if sides.original is None else sides.original.n_rows,
            "strangers": 0 if task.strangers is None else task.strangers.n_rows,
            "paired": case.paired,
            "alone": case.alone,
            "suppressed": sides.suppressed,
            "quasi": list(schema.quasi),
            "sensitive": list(schema.sensitive),
            "identifiers": list(schema.identifiers),
            "yardstick": sides.plain.risk_model,
            "sample": task.sampled.to_dict() if task.sampled else None,
            "released_columns": sides.released.names,
            "extremes": extremes,
            "notes": [
                *task.what.notes,
                *sides.plain.notes,
                *([task.sampled.note()] if task.sampled else []),
                *(extremes_in_words(n, task.k or 0, e) for n, e in extremes.items()),
            ],
        },
        risk=_room("risk", found),
        attacks=found["attacks"],
        utility=_room("utility", found),
        pictures=_room("pictures", found) | {"scatters": scatters},
        parameters=parameters,
        versions=versions(),
        per_person=found["per_person"],
        shown=found["shown"],
        missing=found["missing"],
    )


def _room(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of one part of an audit; linkage stands only where values were altered."""
    rooms = ((*place.split("."), value) for place, value in found.items() if "." in place)
    return {
        place: value
        for room, place, value in rooms
        if room == name and (place != "linkage" or value is not None)
    }


def _scatters(side: Mapping[str, Any]) -> dict[str, Any]:
    """The pictures among the figures of a side, which then has them no more."""
    return {name: column.pop("scatter") for name, column in side["sensitive"].items()}


def versions() -> dict[str, str]:
    """The versions that made the numbers."""
    from .. import __version__

    out = {"hedgerow": __version__, "python": platform.python_version()}
    return out | {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
