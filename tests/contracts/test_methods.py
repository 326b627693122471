"""One suite for every method: on odd tables either a correct release or a clear error."""

from __future__ import annotations

import copy
import inspect
import pickle
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import HedgerowError, UnsupportedError
from hedgerow.io.read import read
from hedgerow.schema import Schema
from hedgerow.workflow.methods import METHODS

from .methods import CASES, Case
from .tables import PLAIN, SECRET_NUMBER, SECRET_TEXT, TABLES

MUST_FAIL = {"no rows", "no quasi-identifier", "a column that is not there", "nested values"}
# for methods that promise groups of k records
MUST_NOT_GROUP = {"one row", "text in a numeric column", "infinite quasi-identifier"}
# and for those of them whose groups are of k = 3 records of any column
MUST_NOT_PARTITION = {"two rows", "infinite sensitive column", "wholly missing quasi-identifier"}
RELEASED = {"quasi", "sensitive", "other"}


def outcome(case: Case, table: Any, schema: Schema) -> Any:
    """Return the release, or the error; any other exception fails the test."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            made = hr.protect(table, schema, case.method(schema), guard=None)
        except HedgerowError as error:
            made = error
    for warning in caught:
        assert_silent(str(warning.message))
    return made


def assert_clear(error: HedgerowError) -> None:
    assert len(error.message) > 10
    assert_silent("".join(traceback.format_exception(error)))


def assert_silent(text: str) -> None:
    for secret in (SECRET_TEXT, "Zebedee", str(SECRET_NUMBER), "8675309"):
        assert secret not in text


def sorted_rows(table: Any) -> list[str]:
    return sorted(map(str, read(table).arrow.to_pylist()))


def own(case: Case) -> tuple[Any, Schema]:
    """Return a table that the method must release, and its schema."""
    return TABLES[case.table]()


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@dataclass(frozen=True)
class Tried:
    """The outcome of a method on a table: a release, or an error."""

    case: Case
    kind: str
    table: Any
    before: Any
    schema: Schema
    found: Any


PAIRS = [(case, kind) for case in CASES for kind in TABLES]


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def tried(request: pytest.FixtureRequest) -> Tried:
    """Protect each table once for all tests."""
    case, kind = request.param
    table, schema = TABLES[kind]()
    before = copy.deepcopy(table)
    return Tried(case, kind, table, before, schema, outcome(case, table, schema))


def test_every_method_of_the_command_line_is_under_contract() -> None:
    # private-tree's rows are nobody's and come from no plan of cells: tests/methods/test_private_tree.py
    assert {case.words.split()[0] for case in CASES} == set(METHODS) - {"private-tree"}


def test_a_correct_release_or_a_clear_error(tried: Tried, tmp_path: Path) -> None:
    case, kind, table, schema = tried.case, tried.kind, tried.table, tried.schema
    found = tried.found
    assert table.equals(tried.before), "protect changed the table it was given"
    if isinstance(found, HedgerowError):
        assert_clear(found)
        assert kind != case.table
        return
    assert kind not in MUST_FAIL | (MUST_NOT_GROUP if case.k else set())
    if type(found.method).__name__ in ("MART", "Mondrian", "Datafly", "Incognito"):
        assert kind not in MUST_NOT_PARTITION
    assert all(check.holds for check in found.verify())
    assert type(found.table) is type(table)
    made, original = read(found.table), read(table)
    assert made.n_rows == original.n_rows
    assert made.names == [n for n in original.names if schema.role(n) in RELEASED]
    if case.k:
        quasi = found.plan.names("quasi")  # all but the sensitive columns that TPP leaves out
        groups = Counter(zip(*(made.arrow.column(n).to_pylist() for n in quasi), strict=True))
        assert min(groups.values()) >= case.k
    if isinstance(table, pd.DataFrame):
        assert found.table.index.equals(pd.RangeIndex(len(table)))  # no left-over of the input
    found.write(tmp_path / "out")
    assert read(tmp_path / "out" / "release.parquet").n_rows == original.n_rows


def test_shuffled_rows_give_the_same_release(tried: Tried) -> None:
    case, table, schema, first = tried.case, tried.table, tried.schema, tried.found
    n = table.num_rows if isinstance(table, pa.Table) else len(table)
    order = np.random.default_rng(3).permutation(n)
    if isinstance(table, pd.DataFrame):
        mixed: Any = table.iloc[order]
    elif isinstance(table, pl.DataFrame):
        mixed = table[order.tolist()]
    else:
        mixed = table.take(order)
    second = outcome(case, mixed, schema)
    if isinstance(first, HedgerowError):
        assert type(second) is type(first)
        return
    assert sorted_rows(first.table) == sorted_rows(second.table)
    assert first.plan == second.plan


def test_the_same_parameters_give_the_same_release_and_a_key_decides_where_it_says_so(case: Case) -> None:
    table, schema = own(case)
    one, two = outcome(case, table, schema), outcome(case, table, schema)
    assert one.table.equals(two.table)
    assert one.plan == two.plan
    method = case.method(schema)
    asked = set(method.get_params())
    assert method.draws == ({"key", "random_state"} <= asked) == ("key" in asked)
    if not method.draws:
        return
    key = hr.Key.new()

    def keyed(secret: hr.Key | None) -> Any:
        given = case.method(schema).set_params(random_state=None, key=secret)
        return hr.protect(table, schema, given, guard=None).table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert keyed(key).equals(keyed(key))
        # a response leaves 40 records as they are once in twenty times: several draws of each
        fresh = [str(sorted_rows(keyed(hr.Key.new()))) for _ in range(8)]
        unkeyed = [str(sorted_rows(keyed(None))) for _ in range(8)]
        with pytest.raises(hr.errors.ParameterError, match="both given"):
            hr.protect(table, schema, case.method(schema).set_params(random_state=0, key=key))
    if one.plan.recoding.kind != "randomize" or min(one.method.p_.values()) < 1:
        assert len({*fresh}) > 1
        assert len({*unkeyed}) > 1
    told = str(one.plan.public()) + str(one.plan)
    assert not {"key", "random_state", "schema"} & set(one.plan.parameters)
    assert "hidden" not in told


def test_a_plan_on_other_people(case: Case) -> None:
    table, schema = own(case)
    fitted = outcome(case, table, schema)
    others = table.iloc[:30].assign(job=["astronaut", "clerk", None] * 10)
    if not fitted.plan.recoding.applies:
        with pytest.raises(UnsupportedError):
            fitted.plan.apply(others)
        with pytest.raises(UnsupportedError):
            fitted.plan.to_sql()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        released = fitted.plan.apply(others, unseen="count")
    assert list(released.columns) == list(fitted.table.columns)
    lacking = schema.quasi[0]
    with pytest.raises(HedgerowError, match=f"'{lacking}'"):
        fitted.plan.apply(others.drop(columns=lacking))


def test_a_plan_from_its_file_is_the_plan(case: Case, tmp_path: Path) -> None:
    fitted = outcome(case, *own(case))
    fitted.plan.save(tmp_path / "plan.json")
    again = hr.Plan.load(tmp_path / "plan.json")
    assert again.save(tmp_path / "again.json") is None
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "plan.json").read_bytes()
    assert again.recoding == fitted.plan.recoding
    assert again.explain() == fitted.plan.explain()
    if not case.domain_public:
        assert SECRET_TEXT not in str(fitted.plan.public())


def test_parameters_are_declared_alike_and_survive_copying(case: Case) -> None:
    method = case.make()
    assert repr(clone(method)) == repr(method)
    assert repr(method.copy()) == repr(method)
    assert repr(pickle.loads(pickle.dumps(method))) == repr(method)
    assert method.set_params(schema=PLAIN).schema is PLAIN
    parameters = list(inspect.signature(type(method)).parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[1:])
    assert all(p.default is not p.empty for p in parameters)
    assert parameters[-1].name == "schema"
    for parameter in parameters:  # each is documented
        assert parameter.name in inspect.getdoc(type(method))


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy polars", "arrow", "duckdb", "numpy"])
def test_the_kind_of_frame_that_comes_in_comes_out(case: Case, kind: str) -> None:
    table, schema = own(case)
    table = table.set_index(np.arange(40) // 2)
    quasi, y = table[list(schema.quasi)], table[list(schema.sensitive)]
    as_kind = {
        "pandas": lambda: quasi,
        "polars": lambda: pl.from_pandas(quasi),
        "lazy polars": lambda: pl.from_pandas(quasi).lazy(),
        "arrow": lambda: pa.Table.from_pandas(quasi, preserve_index=False),
        "duckdb": lambda: pytest.importorskip("duckdb").from_df(quasi.reset_index(drop=True)),
        "numpy": lambda: quasi.to_numpy(),
    }[kind]
    method, X = case.make(), as_kind()
    before = copy.deepcopy(X) if kind != "duckdb" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = method.fit(X, y)
        assert fitted is method
        if not hasattr(method, "transform"):
            with pytest.raises(UnsupportedError, match="fitted on only"):
                method.transform(X)
            return
        made = method.transform(X)
    assert type(made) is type(X)
    if before is not None:
        assert str(before) == str(X)
    if kind == "pandas":
        assert made.index.equals(X.index)
    names = list(method.get_feature_names_out())
    assert names == ([f"x{i}" for i in range(len(quasi.columns))] if kind == "numpy" else list(quasi))
    whole = read(made)
    assert whole.n_rows == 40
    assert not read(X).arrow.equals(whole.arrow)


def test_a_pickle_holds_what_was_fitted(case: Case) -> None:
    table, schema = own(case)
    X, y = table[list(schema.quasi)], table[list(schema.sensitive)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = case.make().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.plan_ == fitted.plan_
    if hasattr(fitted, "transform"):
        assert again.transform(X).equals(fitted.transform(X))


def test_columns_that_were_not_fitted_are_named(case: Case) -> None:
    table, schema = own(case)
    X, y = table[list(schema.quasi)], table[list(schema.sensitive)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = case.make().fit(X, y)
    if not hasattr(fitted, "transform"):
        return
    for wrong, said in (
        (X.rename(columns={X.columns[0]: "years"}), "unseen at fit time:\n- years"),
        (X[X.columns[:1]], f"now missing:\n- {X.columns[1]}"),
        (X.assign(more=1), "unseen at fit time:\n- more"),
        (X[X.columns[::-1]], "same order"),
        (X[X.columns[0]], "one dimension"),
    ):
        with pytest.raises(HedgerowError, match=said):
            fitted.transform(wrong)
    with pytest.raises(HedgerowError, match="one dimension"):
        case.make().fit(X[X.columns[0]].to_numpy(), y)
