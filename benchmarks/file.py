"""What a released file shows, whatever was promised of the groups behind it.

python benchmarks/file.py ward                           # a ward of ill people, under a cap of groups and of the file
HEDGEROW_DATA=... python benchmarks/file.py cap          # what a cap on the file costs in Adult
HEDGEROW_DATA=... python benchmarks/file.py intervals    # how often 95% intervals hold
python benchmarks/file.py large --keys 10                # the same in large made tables, with a cap and without
HEDGEROW_DATA=... python benchmarks/file.py foreign      # what an audit says of files that somebody else made
HEDGEROW_DATA=... python benchmarks/file.py numbers      # who is found by the numbers that columns show
HEDGEROW_DATA=... python benchmarks/file.py columns      # what becomes of rare categories and of steps
HEDGEROW_DATA=... python benchmarks/file.py members      # who is found by all moments, and what the last person has
HEDGEROW_DATA=... python benchmarks/file.py rules --keys 5   # what rules between columns keep and cost
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.members import by_moments, last_person
from experiments.numbers import NUMBERS, attack
from experiments.ruled_tables import TABLES, Kept, kept, measured

import hedgerow as hr

Array = np.ndarray[Any, Any]


def ward(people: int, seed: int, n: int = 3_000) -> pd.DataFrame:
    """Make n people, of whom the given number live in ward X and are all ill; elsewhere 5% are."""
    draws = np.random.default_rng(seed)
    wards, ill = draws.choice(list("ABCDEFGH"), n).astype(object), draws.random(n) < 0.05
    wards[:people], ill[:people] = "X", True
    who = {"ward": wards, "age": draws.integers(18, 90, n), "sex": draws.choice(["f", "m"], n)}
    return pd.DataFrame({**who, "ill": np.where(ill, "yes", "no")})


def wards(keys: int) -> None:
    """Print the shares of ill rows in the ward and in another one, what groups tell, and what any combination does."""
    schema = hr.Schema(quasi=["ward", "age", "sex"], sensitive=["ill"])
    for people in (20, 100, 600):
        for cap in (0.2, 0.5):
            for cap_on in ("groups", "file"):
                shown, figures = [], []
                for seed in range(keys):
                    method, table = hr.Hedge(max_disclosure=cap), ward(people, seed)
                    release = hr.protect(table, schema, method, random_state=seed, cap_on=cap_on)
                    sick, where = release.table["ill"] == "yes", release.table["ward"]
                    shown.append(sick[where == "X"].mean())
                    groups = release.summary()["disclosure"]["worst"]
                    figures.append((sick[where == "A"].mean(), groups, above(release, release.released)[0]))
                spread = f"{np.mean(shown):.2f} ({min(shown):.2f} to {max(shown):.2f})"
                means = " | ".join(f"{mean:.3f}" for mean in np.mean(figures, axis=0))
                print(f"| {people} | {cap} | {cap_on} | {spread} | {means} |", flush=True)


def above(release: hr.Release, table: Any) -> tuple[float, str]:
    """Return what any combination of one or two quasi-identifiers of a table tells at most, and how many break it."""
    from hedgerow.release.rederive.cap_in_file import cap_in_file

    check = cap_in_file(release.plan, table)[0]
    return check.reached, check.detail


def caps(repeats: int, n: int = 3_000, cap: float = 0.2) -> None:
    """Print how many combinations tell more than a cap, and how often 95% intervals hold, under both kinds of cap."""
    people = _adult()[[*QUASI, "income"]]
    schema = hr.Schema(quasi=QUASI, sensitive=["income"])
    estimates: dict[str, Estimate] = {
        "linear": lambda d: linear(_adult_regressors(d), _rich(d)),
        "logit": lambda d: logit(_adult_regressors(d), _rich(d)),
    }
    truth = {name: estimate(people)[0] for name, estimate in estimates.items()}
    for cap_on in ("groups", "file"):
        held: dict[str, list[Array]] = {name: [] for name in estimates}
        explained, worst = [], []
        for seed in range(repeats):
            sample = people.sample(n, random_state=seed).reset_index(drop=True)
            release = hr.protect(sample, schema, hr.Hedge(max_disclosure=cap), random_state=seed, cap_on=cap_on)
            for name, estimate in estimates.items():
                values, errors = estimate(release.table)
                held[name].append(np.abs(values - truth[name]) <= 1.96 * errors)
            slopes = linear(_adult_regressors(release.table), _rich(release.table))[0]
            explained.append(1 - (_rich(sample) - _adult_regressors(sample) @ slopes).var() / _rich(sample).var())
            worst.append((above(release, release.original)[1], above(release, release.released)[1]))
        shares = ", ".join(f"{name} {np.mean(rows):.2f}" for name, rows in held.items())
        print(f"{cap_on}: intervals hold {shares}; R2 of income {np.mean(explained):.3f}", flush=True)
        print(f"  first sample, original: {worst[0][0]}; file: {worst[0][1]}", flush=True)


QUASI = ["age", "sex", "race", "marital-status", "education-num", "workclass"]
SENSITIVE = ["hours-per-week", "capital-gain", "income"]


def numbers(repeats: int, people: int = 600) -> None:
    """Print the area under the ROC curve of each attack by numbers alone, and the share found at 1% of false alarms."""
    for case in NUMBERS:
        found = [attack(case, people, seed) for seed in range(repeats)]
        for way in found[0]:
            area, caught = np.mean([each[way] for each in found], axis=0)
            error = 1.96 * np.std([each[way][0] for each in found], ddof=1) / np.sqrt(repeats)
            print(f"| {case.name} | {way} | {area:.3f} | {error:.3f} | {caught:.3f} |")


# releases of halves, people of whom all others are known, and releases with each value that each of them could have
HALVES, LAST, EACH = 16, 20, 6
KNOWN = ["age", "workclass", "education", "marital-status", "sex", "race"], ["hours-per-week", "occupation", "income"]
WIDE = (
    ["age", "workclass", "education-num", "marital-status", "relationship", "sex", "race", "native-country"],
    ["hours-per-week", "occupation", "income", "capital-gain", "capital-loss", "fnlwgt"],
)


def members() -> None:
    """Print how well members are found by all moments that rows are brought near to, and what the last person has."""
    people = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "adult_train.parquet").dropna()
    for quasi, sensitive in (KNOWN, WIDE):
        for n in (300, 1_000, 1_500):
            known = people[quasi + sensitive].sample(2 * n, random_state=7).reset_index(drop=True)
            row = [f"{n:,} x {len(known.columns)}"]
            for triples in (False, True):
                area, found = by_moments(known, quasi, sensitive, HALVES, triples=triples)
                error = 1.96 * area.std(ddof=1) / HALVES**0.5
                row.append(f"{area.mean():.3f} +- {error:.3f}, {found.mean():.1%}")
            print("| " + " | ".join(row) + " |", flush=True)
    quasi, sensitive = KNOWN
    for n in (600, 3_000):
        known = people[quasi + sensitive].sample(n, random_state=3).reset_index(drop=True)
        areas = last_person(known, quasi, sensitive, "income", LAST, EACH)
        error = 1.96 * areas.std(ddof=1) / LAST**0.5
        print(f"| what the last of {n:,} has | {areas.mean():.3f} +- {error:.3f} |", flush=True)


def _is(people: pd.DataFrame, column: str, value: str) -> Array:
    """Return 1 for whose value it is, and 0 for others."""
    return (people[column].astype(str) == value).to_numpy(float)


def _with_constant(*columns: Any) -> Array:
    return np.column_stack([np.ones(len(columns[0])), *(np.asarray(column, np.float64) for column in columns)])


def linear(x: Array, y: Array) -> tuple[Array, Array]:
    """Return coefficients, and their standard errors (White)."""
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ y
    rest = y - x @ slopes
    return slopes, np.sqrt(np.diag(inverse @ ((x.T * rest**2) @ x) @ inverse))


def logit(x: Array, y: Array) -> tuple[Array, Array]:
    """Return coefficients of a logit, and their standard errors."""
    slopes = np.zeros(x.shape[1])
    for _ in range(30):
        share = 1 / (1 + np.exp(-x @ slopes))
        curvature = x.T @ (x * (share * (1 - share))[:, None])
        slopes = slopes + np.linalg.solve(curvature, x.T @ (y - share))
    return slopes, np.sqrt(np.diag(np.linalg.inv(curvature)))


def _adult() -> pd.DataFrame:
    data = Path(os.environ["HEDGEROW_DATA"])
    parts = [pd.read_parquet(data / f"adult_{part}.parquet") for part in ("train", "test")]
    return pd.concat(parts).dropna().reset_index(drop=True)


def _census() -> pd.DataFrame:
    people = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "census_income_kdd_train.parquet")
    return people[people["age"] >= 18].reset_index(drop=True)


def _visits(n: int = 200_000) -> pd.DataFrame:
    """Make people whose number of visits is 0 for two thirds, and depends on age and on years that go with age."""
    draws = np.random.default_rng(999)
    age = np.clip(np.round(draws.gamma(9, 3.3, n) + 14), 17, 60)
    years = np.round(np.clip((age - 20) * 0.75 + draws.normal(0, 3.5, n), 0, 35))
    belief, rating = draws.integers(1, 5, n), draws.integers(1, 6, n)
    power = -1.35 - 0.06 * (age - 29) + 0.11 * (years - 8) - 0.4 * (belief - 2.4) - 0.5 * (rating - 4)
    cost = np.exp(draws.normal(0.2 - 0.01 * (age - 29) + 0.02 * (years - 8), 0.9)).round(2)
    cost = np.where(draws.random(n) < 1 / (1 + np.exp(-power)), cost + 0.05, 0)
    return pd.DataFrame({"age": age, "years": years, "belief": belief, "rating": rating, "cost": cost})


def _adult_regressors(people: pd.DataFrame) -> Array:
    sex, married = _is(people, "sex", "Female"), _is(people, "marital-status", "Married-civ-spouse")
    return _with_constant(people["age"] / 10, people["education-num"], sex, married)


def _wide_regressors(people: pd.DataFrame) -> Array:
    more = _is(people, "race", "Black"), _is(people, "workclass", "Self-emp-not-inc")
    return np.column_stack([_adult_regressors(people), (people["age"] / 10) ** 2, *more])


def _census_regressors(people: pd.DataFrame) -> Array:
    married = people["marital_stat"].astype(str).str.startswith("Married-civ").to_numpy(float)
    schooling = people["education"].astype(str).str.startswith("Bachelor").to_numpy(float)
    return _with_constant(
        people["age"] / 10, (people["age"] / 10) ** 2, _is(people, "sex", "Female"), married, schooling
    )


def _made_regressors(people: pd.DataFrame) -> Array:
    return _with_constant(*(people[name] for name in ("rating", "age", "years", "belief")))


def _rich(people: pd.DataFrame) -> Array:
    return people["income"].astype(str).str.contains(">50K|50000\\+", regex=True).to_numpy(float)


def _means(people: pd.DataFrame) -> tuple[Array, Array]:
    """Return means of hours and of high income in five groups, and their standard errors."""
    groups = [
        np.ones(len(people), bool),
        people["sex"].astype(str) == "Female",
        people["age"].astype(float) < 30,
        people["race"].astype(str) == "Black",
        people["education-num"].astype(float) >= 13,
    ]
    values = people["hours-per-week"].to_numpy(float), _rich(people)
    parts = [each[np.asarray(group)] for each in values for group in groups]
    return np.array([p.mean() for p in parts]), np.array([p.std(ddof=1) / len(p) ** 0.5 for p in parts])


Estimate = Callable[[pd.DataFrame], tuple[Array, Array]]
CENSUS = ["age", "sex", "race", "marital_stat", "education"]
POPULATIONS: dict[str, tuple[Callable[[], pd.DataFrame], list[str], list[str], dict[str, Estimate]]] = {
    "Adult": (_adult, QUASI, SENSITIVE, {
        "linear": lambda d: linear(
            np.column_stack([_adult_regressors(d), _rich(d)]), d["hours-per-week"].to_numpy(float)),
        "logit": lambda d: logit(_adult_regressors(d), _rich(d)),
        "means": _means,
    }),
    "Adult, eleven columns": (_adult, [*QUASI, "relationship"], ["occupation", *SENSITIVE], {
        "linear": lambda d: linear(_wide_regressors(d), d["hours-per-week"].to_numpy(float)),
        "logit": lambda d: logit(_wide_regressors(d), _rich(d)),
        "logit on sensitive columns": lambda d: logit(np.column_stack([
            _wide_regressors(d), _is(d, "occupation", "Exec-managerial"), d["capital-gain"] > 0,
        ]), _rich(d)),
        "logit of gains": lambda d: logit(_wide_regressors(d), (d["capital-gain"] > 0).to_numpy(float)),
    }),
    "Census": (_census, CENSUS, ["weeks_worked_in_year", "income"], {
        "linear": lambda d: linear(_census_regressors(d), d["weeks_worked_in_year"].to_numpy(float)),
        "linear on a sensitive column": lambda d: linear(
            np.column_stack([_census_regressors(d), _rich(d)]), d["weeks_worked_in_year"].to_numpy(float)),
        "logit": lambda d: logit(_census_regressors(d), _rich(d)),
    }),
    "made, two thirds zeros": (_visits, ["age", "years", "belief", "rating"], ["cost"], {
        "linear": lambda d: linear(_made_regressors(d), d["cost"].to_numpy(float)),
        "logit": lambda d: logit(_made_regressors(d), (d["cost"] > 0).to_numpy(float)),
    }),
}  # fmt: skip


def intervals(repeats: int, n: int = 3_000) -> None:
    """Print how often 95% intervals from samples and from their drawn rows hold the population's value."""
    for name, (load, quasi, sensitive, estimates) in POPULATIONS.items():
        people = load()[[*quasi, *sensitive]]
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        held: dict[str, list[list[Array]]] = {estimate: [] for estimate in estimates}
        truth = {key: estimate(people)[0] for key, estimate in estimates.items()}
        for seed in range(repeats):
            sample = people.sample(n, random_state=seed).reset_index(drop=True)
            drawn = hr.protect(sample, schema, random_state=seed).table
            for key, estimate in estimates.items():
                row = []
                for table, factors in ((sample, (1.0,)), (drawn, (1.0, 1.5, 2.0))):
                    values, errors = estimate(table)
                    row += [np.abs(values - truth[key]) <= 1.96 * factor * errors for factor in factors]
                held[key].append(row)
        for key, rows in held.items():
            shares = np.array(rows).mean(axis=(0, 2))
            print(f"| {name} | {key} | " + " | ".join(f"{share:.2f}"[:4] for share in shares) + " |", flush=True)


def large(keys: int) -> None:
    """Print how often 95% intervals hold known coefficients, and the errors of slopes, in large made tables."""
    slopes, odds = np.array([30.0, 4, -3, 2]), np.array([-2.0, 0.4, 0.3, -0.1])
    schema = hr.Schema(quasi=["age", "female", "school", "region"], sensitive=["income", "ill"])

    def estimates(people: pd.DataFrame) -> list[tuple[Array, Array]]:
        age, school = (people[name].to_numpy(float) for name in ("age", "school"))
        x = _with_constant((age - 50) / 15, _is(people, "female", "y"), (school - 12) / 3.5)
        return [linear(x, people["income"].to_numpy(float)), logit(x, _is(people, "ill", "yes"))]

    for n in (12_000, 200_000):
        for cap in (0.5, None):
            rows = []
            for key in range(keys):
                draws = np.random.default_rng(key)
                age, female, school = draws.integers(20, 80, n), draws.integers(0, 2, n), draws.integers(6, 19, n)
                x = _with_constant((age - 50) / 15, female, (school - 12) / 3.5)
                people = pd.DataFrame({"age": age, "female": np.where(female, "y", "n"), "school": school})
                people["region"] = draws.choice(list("ABCDEFGH"), n)
                people["income"] = (x @ slopes + draws.normal(0, 8, n)).round(1)
                people["ill"] = np.where(draws.random(n) < 1 / (1 + np.exp(-x @ odds)), "yes", "no")
                released = hr.protect(people, schema, hr.Hedge(max_disclosure=cap), random_state=key).table
                both = zip([*estimates(people), *estimates(released)], [slopes, odds] * 2, strict=True)
                rows.append([np.abs(b - truth) <= 1.96 * error for (b, error), truth in both])
            held = np.array(rows).mean(axis=(0, 2))
            print(f"| {n:,} | {cap} | " + " | ".join(f"{share:.2f}" for share in held) + " |", flush=True)


FOREIGN = {
    "adult": (
        "adult_train",
        ["age", "sex", "education", "marital-status"],
        ["hours-per-week", "capital-gain", "fnlwgt"],
    ),
    "german": ("german_credit", ["age", "job", "housing"], ["credit_amount", "duration_months"]),
    "alcohol": ("alcohol_kenkel_terza", ["age", "race", "region"], ["income", "drinks"]),
    "census": ("census_income_kdd_train", ["age", "sex", "education"], ["wage_per_hour", "instance_weight"]),
}


def made_files(people: pd.DataFrame, others: pd.DataFrame, number: str, seed: int) -> dict[str, pd.DataFrame]:
    """Return files that say nothing, everything, or a part of the people, which an audit gets unpaired."""
    files = {"other people": others, "the people, shuffled": people.sample(frac=1, random_state=seed)}
    for share in (0.01, 0.03):
        n = round(share * len(people))
        files[f"{share:.0%} of the people's rows"] = pd.concat([people.sample(n, random_state=seed), others[n:]])
    n = max(1, len(people) // 100)
    files["top 1% by a number"] = pd.concat([people.nlargest(n, number), others[n:]])
    hidden = others[number].rank() + people[number].to_numpy() / 10.0 ** (len(str(int(people[number].max()))) + 1)
    files["a number in decimals"] = others.assign(**{number: hidden})
    return files


def foreign(keys: int, n: int = 500) -> None:
    """Print how often an audit names a reason for care, and the first one, for files of several tables."""
    from hedgerow.report.reasons import reasons

    data = Path(os.environ["HEDGEROW_DATA"])
    said: dict[str, list[str]] = {}
    for name, quasi, sensitive in FOREIGN.values():
        table = pd.read_parquet(data / f"{name}.parquet")[quasi + sensitive].dropna()
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        for seed in range(keys):
            rows = table.sample(2 * n, random_state=seed).reset_index(drop=True)
            people, others = rows[:n], rows[n:].reset_index(drop=True)
            for what, file in made_files(people, others, sensitive[0], seed).items():
                found = hr.audit(people, file, schema, paired=False, attacks=False, learning=False)
                clauses = [text.replace(f"{n:,}", "n") for text in reasons(found.to_dict(), None)]
                said.setdefault(what, []).append(clauses[0] if clauses else "")
    for what, clauses in said.items():
        most = max(set(clauses), key=clauses.count)
        print(f"| {what} | {sum(map(bool, clauses))} of {len(clauses)} | {most[:100]} |")


def _registry(n: int = 8_000, seed: int = 0) -> pd.DataFrame:
    """Make visits to a hospital: postcodes and towns of very different sizes, days, times, and money in round steps."""
    draws = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, 1_301)
    home = draws.choice(1_300, n, p=sizes / sizes.sum())
    came = pd.Timestamp("2023-01-02") + pd.to_timedelta(draws.integers(0, 104, n) * 7 + draws.integers(0, 5, n), "D")
    return pd.DataFrame(
        {
            "person": draws.integers(0, n // 2, n),
            "age": draws.integers(0, 95, n),
            "postcode": np.sort(draws.choice(99_999, 1_300, replace=False))[home],
            "came": came,
            "at": came + pd.to_timedelta(draws.integers(32, 72, n) * 15, "min"),
            "since": pd.to_datetime(
                {"year": draws.integers(1990, 2023, n), "month": draws.integers(1, 13, n), "day": 1}
            ),
            "fee": draws.integers(1, 90, n) * 50,
        }
    ).assign(postcode=lambda t: t["postcode"].map("{:05d}".format))


def _steps(column: pd.Series) -> dict[str, float]:
    """Return the shares of dates, times and numbers that are on a step of the calendar, the clock or of fifty."""
    if column.dtype.kind in "iuf":
        return {"fifty": (column.dropna() % 50 == 0).mean()}
    at = column.dropna().dt
    first, quarter = (at.day == 1).mean(), ((at.minute % 15 == 0) & (at.second == 0)).mean()
    return {"first of a month": first, "quarter of an hour": quarter, "weekday": (at.weekday < 5).mean()}


def columns(keys: int, k: int = 10) -> None:
    """Print what a release makes of categories that few people have, and of the steps of numbers and dates."""
    made = hr.datasets.make_people(5_000, seed=0).to_pandas()
    adult = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"], "adult_train.parquet"))
    visits = _registry()
    tables: dict[str, tuple[pd.DataFrame, hr.Schema]] = {
        "people.csv": (made, hr.Schema(quasi=["age", "sex", "postcode"], sensitive=["income", "diagnosis"], unit=None)),
        "Adult": (adult, hr.Schema(quasi=["age", "sex", "native-country"], sensitive=["occupation"], unit=None)),
        "visits": (visits, hr.Schema(quasi=["age", "postcode"], sensitive=["came", "at", "since", "fee"], unit=None)),
        "visits by person": (
            visits,
            hr.Schema(quasi=["age", "postcode"], sensitive=["fee"], identifiers=["person"], unit="person"),
        ),
    }
    for title, (table, schema) in tables.items():
        for seed in range(keys):
            released = hr.protect(table, schema, hr.Hedge(k), random_state=seed).table
            for name in (*schema.quasi, *schema.sensitive):
                before, after = table[name], released[name]
                if before.dtype.kind in "OT" or isinstance(before.dtype, (pd.CategoricalDtype, pd.StringDtype)):
                    counts, now = before.value_counts(), after.value_counts()
                    people = before.to_frame().groupby(name)[name].size()
                    if schema.person is not None:
                        people = table.groupby(name)[schema.person].nunique()
                    rare, more = counts[people.reindex(counts.index) < k], now.reindex(counts.index).fillna(0) - counts
                    bound = np.maximum(0.02 * counts, 2 * np.sqrt(len(table)))
                    what = (
                        f"{counts.size:,} values to {now.size:,}; {rare.sum():,} records of {rare.size:,} rare values; "
                    )
                    what += f"largest gain of a value {more.max():,.0f}, {(more.abs() / bound).max():.2f} of the bound"
                elif before.dtype.kind == "M" or name == "fee":
                    steps = zip(_steps(before).items(), _steps(after).values(), strict=True)
                    what = "; ".join(f"{step} {a:.2f} to {b:.2f}" for (step, a), b in steps)
                else:
                    continue
                print(f"| {title} | {seed} | {name} | {what} |", flush=True)


def rules(keys: int, tables: str) -> None:
    """Print the share of rows that break each rule, and what else changes, without rules, with follows, with them."""
    warm_up = hr.datasets.make_people(300)
    hr.protect(warm_up, hr.Schema(quasi=["age", "sex"], sensitive=["income", "diagnosis"], unit=None), random_state=0)
    for case in TABLES:
        if tables and case.name not in tables.split(","):
            continue
        found: dict[str, list[Kept]] = {"original": [], "without": [], "follows": [], "rules": []}
        for seed in range(keys):
            original = case.original(seed)
            found["original"].append(kept(case, original, original, 0))
            for way, schema in case.schemas().items():
                try:
                    found[way].append(measured(case, schema, original, seed))
                except hr.HedgerowError as error:
                    print(f"{case.name}, {way}, key {seed}: {error}", flush=True)
        for rule in found["original"][0].broken:
            _row(case.name, f"`{rule}`", [[each.broken[rule] for each in way] for way in found.values()], "{:.1%}")
        forms = {"correlation": ".3f", "zeros": ".3f", "missing": ".3f", "outside": ".1%", "seconds": ".1f"}
        for what, form in forms.items():
            figures = [[getattr(each, what) for each in way] for way in found.values()]
            _row(case.name, what, figures, f"{{:{form}}}")
        pairs = [max(way, key=lambda each: each.correlation).pair if way else "" for way in list(found.values())[1:]]
        print(f"| {case.name} | the pair | | {' | '.join(pairs)} |", flush=True)


def _row(table: str, what: str, figures: list[list[float]], form: str) -> None:
    """Print the mean of each list of figures, with the least and the largest."""
    cells = []
    for each in figures:
        least, mean, largest = (form.format(x) for x in (min(each), np.mean(each), max(each))) if each else ("",) * 3
        cells.append(mean if least == largest else f"{mean} ({least} to {largest})")
    print(f"| {table} | {what} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "what", choices=["ward", "cap", "intervals", "large", "foreign", "numbers", "columns", "members", "rules"]
    )
    options.add_argument("--tables", default="", help="names of tables with rules, joined by commas")
    options.add_argument("--keys", type=int, default=20, help="releases of each ward")
    options.add_argument("--repeats", type=int, default=60, help="samples whose intervals are computed")
    given = options.parse_args()
    warnings.filterwarnings("ignore")
    if given.what == "ward":
        wards(given.keys)
    elif given.what == "cap":
        caps(given.repeats)
    elif given.what == "foreign":
        foreign(given.keys)
    elif given.what == "numbers":
        numbers(given.keys)
    elif given.what == "columns":
        columns(given.keys)
    elif given.what == "large":
        large(given.keys)
    elif given.what == "rules":
        rules(given.keys, given.tables)
    elif given.what == "members":
        members()
    else:
        intervals(given.repeats)
