"""Made people, drawn column by column from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .errors import ParameterError

_EDUCATION = ("none", "primary", "lower secondary", "vocational", "upper secondary",
              "bachelor", "master", "doctorate")  # fmt: skip
_YEARS = np.array([2, 6, 9, 12, 13, 16, 18, 21])
_JOBS = ("cleaner", "farm worker", "kitchen help", "driver", "carer", "shop assistant",
         "builder", "clerk", "mechanic", "nurse", "police officer", "technician", "teacher",
         "accountant", "engineer", "manager", "lawyer", "physician")  # fmt: skip
_REGIONS = ("Alder", "Ashby", "Birch", "Brook", "Cedar", "Clay", "Dale", "Elm", "Fenn", "Glen",
            "Hazel", "Heath", "Holt", "Lark", "Lea", "Marsh", "Moor", "Oak", "Reed", "Rowan",
            "Stone", "Thorn", "Vale", "Wold")  # fmt: skip
_MARITAL = ("single", "married", "separated", "divorced", "widowed")
_DIAGNOSES = ("none", "allergy", "asthma", "back pain", "depression", "diabetes",
              "hypertension", "heart disease", "cancer", "stroke", "infection")  # fmt: skip
_TODAY = 19_723  # 2024-01-01 in days since 1970


def make(n: int, seed: int) -> pa.Table:
    """The table that `datasets.make_people` documents."""
    if n < 1:
        raise ParameterError(f"n is {n}; it must be at least 1")
    rng = np.random.default_rng(seed)
    number = rng.permutation(n)
    age = np.clip(17 + 73 * rng.beta(1.5, 2.1, n), 17, 90).astype(np.int16)
    woman = rng.random(n) < 0.51

    # Schooling: the young are still at it, the old had less of it.
    talent = rng.standard_normal(n)
    level = 4.1 + 1.4 * talent - 0.025 * np.maximum(age - 45, 0)
    education = np.clip(level, 0, np.where(age < 19, 3, np.where(age < 23, 4, 7.99))).astype(
        np.int8
    )
    years = (_YEARS[education] + rng.integers(-1, 3, n)).astype(np.int16)

    skill = 1.9 * education + 1.1 * talent + 2.2 * rng.standard_normal(n) + 1.2
    job = np.clip(skill, 0, len(_JOBS) - 1).astype(np.int8)
    region = _draw(rng, _zipf(len(_REGIONS), 0.6)[None, :], np.zeros(n, dtype=np.int8))
    place = (rng.random(n) ** 2 * 40).astype(np.int64)
    hours = np.clip(rng.normal(np.where(woman, 34, 39) + 0.3 * job, 9), 1, 90).astype(np.int16)
    retired = age > 67
    hours = np.where(retired, hours // 6 + 1, hours)

    marital = _draw(rng, _marital(), np.clip((age - 17) // 8, 0, 8))
    children = np.minimum(rng.poisson(np.where(marital == 0, 0.2, 1.7) * (age > 22)), 8)
    abroad = rng.random(n) < 0.08 + 0.10 * (region < 4)
    tenure = rng.random(n) ** 1.6 * (age - 16) * 365.25
    entry = (_TODAY - tenure).astype(np.int32)

    log_income = (
        9.15 + 0.055 * years + 0.055 * job + 0.028 * (age - 17) - 0.00028 * (age - 17.0) ** 2
        - 0.14 * woman + 0.006 * hours + 0.02 * (12 - region) / 12 + 0.38 * rng.standard_normal(n)
    )  # fmt: skip
    income = np.exp(log_income) * (1 + (rng.random(n) < 0.01) * rng.pareto(1.8, n))
    wealth = np.exp(0.9 * log_income - 1.6 + 0.045 * (age - 17) + 1.1 * rng.standard_normal(n))
    assets = np.where(rng.random(n) < 0.35 - 0.003 * (age - 17), 0, wealth)
    illness = _draw(rng, _illness(), np.clip((age - 17) // 10, 0, 7))
    smoker = rng.random(n) < 0.34 - 0.03 * education

    ids = pc.utf8_lpad(pa.array(number).cast(pa.string()), len(str(max(n - 1, 999_999))), "0")
    codes = pa.array(10_000 + 1_000 * region.astype(np.int64) + 7 * place).cast(pa.string())
    ordered = pa.DictionaryArray.from_arrays(
        pa.array(education), pa.array(_EDUCATION), ordered=True
    )
    return pa.table({
        "person_id": pc.binary_join_element_wise("P", ids, ""),
        "age": pa.array(age),
        "sex": _named(woman.astype(np.int8), ("man", "woman")),
        "education": ordered,
        "years_schooling": pa.array(years, mask=rng.random(n) < 0.02),
        "job": _named(job, _JOBS, rng.random(n) < 0.04),
        "region": _named(region, _REGIONS),
        "postcode": codes,
        "marital": _named(marital, _MARITAL, rng.random(n) < 0.01),
        "children": pa.array(children.astype(np.int8)),
        "hours_per_week": pa.array(hours.astype(np.int16), mask=rng.random(n) < 0.03),
        "born_abroad": pa.array(abroad),
        "entry_date": pa.array(entry, pa.int32()).cast(pa.date32()),
        "income": pa.array(np.round(income / 10).astype(np.int64) * 10),
        "assets": pa.array(np.round(assets, 2)),
        "diagnosis": _named(illness, _DIAGNOSES),
        "smoker": pa.array(smoker),
    })  # fmt: skip


def _named(
    codes: NDArray[Any], names: tuple[str, ...], missing: NDArray[Any] | None = None
) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), names).dictionary_decode()


def _zipf(n: int, power: float) -> NDArray[Any]:
    weights = np.arange(1, n + 1, dtype=float) ** -power
    return weights / weights.sum()


def _draw(rng: np.random.Generator, shares: NDArray[Any], group: NDArray[Any]) -> NDArray[np.int8]:
    """A category for each person, by the shares (one row a group) of the person's group."""
    limits = np.cumsum(shares, axis=1)[:, :-1]
    chance = rng.random(len(group))
    drawn = np.zeros(len(group), dtype=np.int8)
    for column in limits.T:  # one pass a category keeps memory at one byte a person
        drawn += chance >= column[group]
    return drawn


def _marital() -> NDArray[Any]:
    """Shares of single, married, separated, divorced, widowed per eight years of age."""
    t = np.arange(9) / 8
    weights = np.stack([np.exp(-5 * t) * 1.2 + 0.06, 0.08 + 0.6 * np.sqrt(t) * (1.2 - t),
                        0.02 + 0.03 * t, 0.01 + 0.18 * t, 0.002 + 0.5 * t**4], axis=1)  # fmt: skip
    return weights / weights.sum(axis=1, keepdims=True)


def _illness() -> NDArray[Any]:
    """Shares of the diagnoses per ten years of age."""
    t = np.arange(8)[:, None] / 7
    young = np.array([60, 9, 7, 5, 6, 0.6, 0.8, 0.2, 0.3, 0.1, 6])
    old = np.array([22, 3, 4, 12, 5, 13, 22, 11, 8, 5, 3])
    weights = young * (1 - t) + old * t
    return weights / weights.sum(axis=1, keepdims=True)
