"""Protect a table: a method as it is, or tightened until a bound or a standard holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

from ..auditing.inference import InferenceBound
from ..auditing.measure import bind_profile
from ..backends.select import chosen
from ..errors import InfeasibleError, ParameterError, UnsupportedError
from ..guard.guarding import GuardOptions
from ..io.read import read
from ..key import Key, Secret
from ..methods.base import Method
from ..methods.estimator import moved
from ..methods.hedge import Hedge
from ..methods.private.private_tree import PrivateTree
from ..notation import figure
from ..plan.records import CAPPED, FILE, GROUPS, REDRAW, RUNS
from ..profiles import Profile
from ..progress import Progress, caution, cautions, telling
from ..release import Release, ReleaseOptions, make_release
from ..release.private_release import PrivateRelease, make_private
from ..schema import SCHEMA, Schema
from ..texts import refusal, text
from ..validation import FLAG, METHOD, PROGRESS, TEXT, check_one_of, check_whole, takes
from .methods import form_of


@overload
def protect(
    people: Any, schema: Schema, method: PrivateTree, *, engine: str = "auto", memory: str | int | None = None,
    progress: Progress | None = None,
) -> PrivateRelease: ...  # fmt: skip


@overload
def protect(
    people: Any, schema: Schema, method: Method | None = None, *,
    pseudonym_key: bytes | str | Path | Secret | None = None, guard: str | None = "auto",
    guard_people: int | None = None, cap_on: str = "groups", key: Key | str | Path | None = None,
    random_state: int | None = None, max_inference: float | None = None,
    profile: str | Path | Profile | None = None, keep_order: bool = False, parts: bool = False, engine: str = "auto",
    memory: str | int | None = None, progress: Progress | None = None,
) -> Release: ...  # fmt: skip


@takes(schema=SCHEMA, method=METHOD, keep_order=FLAG, parts=FLAG, engine=TEXT, progress=PROGRESS)
def protect(
    people: Any,
    schema: Schema,
    method: Method | None = None,
    *,
    pseudonym_key: bytes | str | Path | Secret | None = None,
    guard: str | None = "auto",
    guard_people: int | None = None,
    cap_on: str = "groups",
    key: Key | str | Path | None = None,
    random_state: int | None = None,
    max_inference: float | None = None,
    profile: str | Path | Profile | None = None,
    keep_order: bool = False,
    parts: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Protect a table of people by a method, and check every promise on the released table.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation, Spark DataFrame
        One record per person, or several if the schema has a `unit`; never changed. A path may
        be a folder of Parquet or CSV files, a pattern such as ``people/*.parquet``, or a
        table of a DuckDB database, ``people.duckdb::visits``.
    schema : Schema
        The roles of the columns; at least one quasi-identifier.
    method : Method, optional
        An unfitted method such as ``MART(k=10)``; it is cloned, not changed. By default ``Hedge()``, whose
        release is a table like the one given, and in which no row was copied from a person.
    pseudonym_key : bytes or path, optional
        Replace the identifiers by pseudonyms under this secret key (at least 16
        bytes, or a file of them) instead of leaving them out. Pseudonyms link the records of one
        person, within this release and with others under the same key. Households get no
        pseudonyms, which would show who lives together.
    guard : {"auto", "redraw", "runs", None}, default "auto"
        How exact sensitive values are hidden. "redraw" draws them anew inside each group, from values
        that many people of the table share, so that the group keeps its mean and spread, or its shares,
        and no value belongs to the person of its row. "runs" replaces each value by that of its run of
        neighbouring values; it hides exact values, and not who is in the table. None (or "none") releases
        exact values. "auto" redraws with `Hedge`, and releases exact values with the other methods.
    guard_people : int, optional
        Fewest people of the table who share a value that a guard releases, at least 2; by default k, or
        10 where no k is promised.
    cap_on : {"groups", "file"}, default "groups"
        What keeps a cap on sensitive columns where `Hedge` draws whole rows. "groups": the groups that it makes; the
        file also shows rules that 50 people or more carry. "file": every combination of one or two quasi-identifiers
        that at least k rows of the file have as well, numbers in twenty to forty parts; regressions on these are lost.
    key : Key or path, optional
        The secret of a guard's draws (a file is created if absent): the same table, parameters and key
        give the same release again. By default a new key, which is stored nowhere.
    random_state : int, optional
        For experiments, in place of `key`: draws follow from this number, which hides nothing.
    max_inference : float, in (0, 1), optional
        Accept a release only if the best of the named attackers (`hedgerow.inference`), trained
        on it, explains at most this share of the public error of every sensitive column of its
        people, over all of them and over the worst tenth. The method is tightened step by step
        (`Method.stricter`: k up, cap down) until this holds. The bound is measured for these
        attackers; it promises nothing about others.
    profile : str, path or Profile, optional
        A standard to meet (`Profile.names`, or a TOML file of your own). If the default k is too small
        for it, k is raised; if you chose such a k, it is refused. Criteria that k cannot ensure
        are measured on the release, with attacks if the standard requires them (`Release.against`). The
        plan stores the profile, and `Release.verify` checks it again.
    keep_order : bool, default False
        Leave the rows in the order of the input. By default the rows are sorted by their released
        content, because the order of a register may reveal who is who. A pandas frame loses its index,
        which may name people: align by position, by ``release.table["age"].to_numpy()`` or
        ``release.table.set_axis(people.index)``.
    parts : bool, default False
        Write the release as a folder of Parquet files of 1,048,576 rows each, ``release/``, in
        place of one file; the same ones on every engine.
    engine : {"auto", "memory", "duckdb", "spark"}, default "auto"
        The engine that computes the release, which is the same byte for byte. "duckdb" reads the table
        a few rows at a time and stores large codes in files; `Method.engines` lists the engines that
        a method runs on. "auto" chooses "duckdb" for folders, patterns, databases and tables that do not
        fit into memory, and "spark" for Spark DataFrames, whose rows stay on their cluster.
    memory : str or int, optional
        Most memory that "duckdb" may use, such as ``"4GB"``; by default half of the machine's. With
        "spark", the memory of this process: methods that collect codes of all records here are
        refused if the codes need more.
    progress : callable, optional
        Called with the name of each step ("reading", "fitting", "recoding", "verifying") and the
        share of it that is done, or None; an exception from it ends the work.

    Returns
    -------
    Release
        A `PrivateRelease`, whose rows are nobody's, with `PrivateTree`.

    Raises
    ------
    InfeasibleError
        No release within `max_inference` was found; the message gives the lowest value reached.
    PromiseError
        A criterion of the profile is not met. Criteria that cannot be measured are ignored.
    SchemaError
        ``rest="release"`` would release columns that look like identifiers; identifiers
        repeat, and the schema does not say who is a person.
    HedgerowError
        The table cannot be read, the schema does not fit, a parameter is out of
        range, or the released table does not keep a promise.

    Warns
    -----
    UserWarning
        Columns that the schema does not name were left out.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.5))
    >>> release.summary()["groups"]["smallest"] >= 10
    True
    """
    method = Hedge() if method is None else method
    if method.is_private:
        refused = {
            "guard": guard not in ("auto", None, "none"), "guard_people": guard_people is not None,
            "cap_on": cap_on != GROUPS,
            "key": key is not None, "random_state": random_state is not None, "keep_order": keep_order,
            "pseudonym_key": pseudonym_key is not None, "max_inference": max_inference is not None,
            "profile": profile is not None, "parts": parts, "wave, member or time": schema.is_long,
        }  # fmt: skip
        if names := ", ".join(name for name, is_given in refused.items() if is_given):
            raise UnsupportedError(text("private", "refused", names=names), hint="leave it out")
        return make_private(people, schema, method, ReleaseOptions(engine=engine, memory=memory), progress)
    secret = Secret.from_value(pseudonym_key)
    if profile is not None:
        method = stronger(profile, method)
    options = ReleaseOptions(
        secret=secret, guard=guarding(method, guard, guard_people, key, random_state, cap_on), keep_order=keep_order,
        parts=parts, engine=engine, memory=memory,
    )  # fmt: skip
    if max_inference is None:
        release = make_release(people, schema, method, options, progress)
    else:
        if engine not in ("auto", "memory"):
            raise UnsupportedError(
                "max_inference trains learners on the whole table, and this engine reads it piece by piece",
                hint='use engine="memory", or leave it out',
            )
        # refuses tables that only another engine holds
        chosen(people, ("memory",), "max_inference")
        release = _within(people, schema, method, max_inference, options, progress)
    if profile is not None:
        bind_profile(release, profile, progress=progress)
    return release


def guarding(
    method: Method,
    guard: str | None = "auto",
    guard_people: int | None = None,
    key: Key | str | Path | None = None,
    random_state: int | None = None,
    cap_on: str = GROUPS,
) -> GuardOptions | None:
    """Return how exact values are to be hidden; None if they are released.

    Raises
    ------
    ParameterError
        A value is out of range, or something is given that only a guard uses.
    """
    if guard is not None:
        check_one_of("guard", guard, ("auto", "none", RUNS, REDRAW))
    check_one_of("cap_on", cap_on, CAPPED)
    form = form_of(method, guard)
    unused: dict[str, object] = {} if form else {"guard_people": guard_people}
    unused |= {} if form == REDRAW else {"key": key, "random_state": random_state}
    if names := ", ".join(name for name, value in unused.items() if value is not None):
        why = "draws, and runs are not drawn" if form else "a guard, and exact values are released"
        hint = 'leave it out, or draw values with guard="redraw" (--guard redraw)'
        raise ParameterError(f"{names} is for {why}", hint=hint)
    if cap_on == FILE and (form != REDRAW or not getattr(method, "in_rows", False)):
        raise ParameterError(
            "a cap on the file is for whole rows that are drawn, which this release has not",
            hint='leave cap_on out (--cap-on), or use Hedge with cells="rows", which is the default (--method hedge)',
        )
    if form is None:
        return None
    if guard_people is not None:
        check_whole("guard_people", guard_people, 2)
    return GuardOptions.from_method(method, form, guard_people, Key.from_key_or_seed(key, random_state), cap_on)


def _within(
    people: Any, schema: Schema, method: Method, max_inference: float, options: ReleaseOptions,
    progress: Progress | None,
) -> Release:  # fmt: skip
    """Return the first release that meets the bound, trying the method and then its stricter settings.

    Raises
    ------
    InfeasibleError
        No setting meets it; the message names the nearest one.
    """
    bound = InferenceBound(max_inference)
    if not schema.sensitive:
        raise ParameterError("max_inference needs a sensitive column", hint="name what an intruder wants to know")
    table = read(people, schema=schema)
    # what stricter settings change, which tells one trial from another
    moving = moved(method.get_params(deep=False))
    tried: list[tuple[float, str]] = []
    for rung in (method, *method.stricter()):
        try:
            with cautions():  # of a release that may not be taken
                release = make_release(table, schema, rung, options, progress)
        except (InfeasibleError, ParameterError):
            if not tried:
                raise  # what was asked cannot be had; a stricter setting that cannot be ends it
            break
        telling(progress)("measuring what learners infer")
        check = bound(release, progress)
        if check.holds:
            # the plan remembers the bound, and verify checks it again
            release.bind(bound, bound.parameters)
            for text in release.cautions:
                caution(text)
            return release
        values = rung.get_params(deep=False)
        setting = ", ".join(f"{name}={values[name]}" for name in moving) or type(rung).__name__
        tried.append((check.reached, setting))
    lowest, setting = min(tried)
    raise InfeasibleError(
        **refusal("bound", "workflow", most=max_inference, lowest=figure(lowest), setting=setting, tried=len(tried))
    )


def stronger(profile: str | Path | Profile, method: Method, is_chosen: bool | None = None) -> Method:
    """Return the method with the k and the cells that a profile requires; warn of what was changed.

    `is_chosen` means that the user chose the method's k; by default that is assumed if k differs
    from the default of the class. A chosen k that is too small raises ParameterError.
    """
    if method.is_private:
        raise UnsupportedError(text("private", "refused", names="profile"), hint="leave it out")
    k, profile = method.get_params(deep=False).get("k"), Profile.load(profile)
    if is_chosen is None:
        is_chosen = k != type(method)().get_params(deep=False).get("k")
    strengthened = profile.strengthened(method, given=is_chosen)
    if (raised := strengthened.get_params(deep=False).get("k")) != k:
        caution(f"k was raised to {raised}: {profile.title} requires it")
    if profile.k > 1 and getattr(method, "in_rows", False):
        caution(f"groups are released as means, not as drawn rows: {profile.title} counts equal rows")
        strengthened.set_params(cells="means")
    return strengthened
