"""Plans as files: what comes back, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import PlanError
from hedgerow.plan import Cell, Partition, PlanColumn, Recoded, Vector
from hedgerow.plan.fields import plain
from hedgerow.plan.records import Contradiction, dumps, loads, pieces

from .partitions import mixed, plan_of

EXTRA = (PlanColumn("pay", "sensitive", "numeric"),)
PLAN = plan_of(mixed(), EXTRA, promises=({"kind": "k_anonymity", "k": 2},), n_rows=7)


def test_a_partition_comes_back_and_its_numbers_are_those_of_version_1() -> None:
    text = dumps(PLAN)
    assert loads(text) == PLAN
    recoding = json.loads(text)["recoding"]
    assert json.loads(text)["hedgerow_plan"] == 1
    assert recoding["split"] == [0, 1, -1, -1, 2, -1, -1]
    assert recoding["threshold"] == [39.5, 0.0, 0.0, 0.0, 10.5, 0.0, 0.0]
    assert recoding["missing_left"] == [True, *[False] * 6]
    assert recoding["leaf_cells"] == [[0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 0, 1], [0, 1, 0, 1]]


@pytest.mark.parametrize("run", [1, 3, 1 << 14])
@pytest.mark.parametrize("public", [False, True])
def test_a_plan_is_written_in_pieces_as_its_plain_data_is_written_whole(
    run: int, public: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hedgerow.plan.fields._RUN", run)
    made = list(pieces(PLAN, public=public))
    data = {
        "hedgerow_plan": 1,
        "method": PLAN.method,
        "parameters": PLAN.parameters,
        "n_rows": 7,
        "columns": plain(PLAN.columns),
        "promises": plain(PLAN.promises),
        "recoding": {"kind": "partition", **plain(PLAN.recoding, public=public)},
    }
    whole = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    assert "".join(made) == whole == dumps(PLAN, public=public)
    if run == 1 and not public:
        assert max(map(len, made)) < 120  # a cell, and never all of them


def test_plans_are_pickled_and_copied() -> None:
    assert pickle.loads(pickle.dumps(PLAN)) == PLAN
    assert copy.deepcopy(PLAN) == PLAN
    assert hash(PLAN.recoding) == hash(copy.deepcopy(PLAN.recoding))


def forged(change: Callable[[dict[str, Any]], Any]) -> str:
    data = json.loads(dumps(PLAN))
    change(data)
    return json.dumps(data)


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    *keys, last, value = path

    def change(data: Any) -> None:
        for key in keys:
            data = data[key]
        data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("hedgerow_plan", 6), "has version 6; this Hedgerow reads version 1, 2, 3, 4 and 5"),
        (put("hedgerow_plan", 2), "its records are of version 1"),
        (put("recoding", "kind", "pickle"), "unknown kind 'pickle'"),
        (put("columns", 0, "role", "harmless"), "unknown role or kind"),
        (put("columns", 0, "kind", "number"), "unknown role or kind"),
        (put("columns", 0, "name", ""), "no name of its own"),
        (put("columns", 0, "name", "job"), "no name of its own"),
        (put("columns", []), "no name of its own"),
        (put("columns", 0, "name", "ages"), "does not know by that role"),
        (put("columns", 0, "role", "other"), "does not know by that role"),
        (put("columns", 4, "role", "quasi"), "a quasi-identifier is not recoded"),
        (put("recoding", "split", 0, 4), "points outside the tree"),
        (put("recoding", "right", 0, 7), "points outside the tree"),
        (put("recoding", "right", 0, 1), "points outside the tree"),
        (put("recoding", "right", 0, 5), "pre-order"),
        (put("recoding", "right", 1, 4), "pre-order"),
        (put("recoding", "split", 0, -1), "do not match the leaves|pre-order"),
        (put("recoding", "subset", 1, 1), "a subset that is not there"),
        (put("recoding", "subset", 1, -1), "a subset that is not there"),
        (put("recoding", "leaf_cells", 0, 0, 2), "a cell that is not there"),
        (put("recoding", "leaf_cells", 0, 0, -1), "a cell that is not there"),
        (put("recoding", "leaf_cells", 0, [0, 0, 1]), "do not match the leaves"),
        (put("recoding", "threshold", [0.0]), "differ in length"),
        (put("recoding", "threshold", 0, float("nan")), "not valid JSON"),
        (put("recoding", "threshold", 0, "39"), "damaged"),
        (put("recoding", "right", 0, 2**40), "damaged"),
        (put("recoding", "right", 0, 4.0), "damaged"),
        (lambda data: data["recoding"].pop("right"), "damaged"),
    ],
)
def test_forged_plans_are_refused(change: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words) as caught:
        loads(forged(change))
    assert "39" not in str(caught.value)


def test_the_public_plan_holds_no_number_of_the_tree() -> None:
    assert set(PLAN.public()["recoding"]) == {"kind", "columns"}


def test_vectors_are_read_without_copying_and_do_not_change() -> None:
    vector = Vector("d", [1.5, -0.0, 3.0])
    seen = np.asarray(vector)
    assert seen.dtype == np.float64
    assert seen.tolist() == [1.5, 0.0, 3.0]
    assert not seen.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 2
    with pytest.raises(TypeError):
        vector[0] = 2  # type: ignore[index]
    assert vector == Vector("d", np.array([1.5, -0.0, 3.0]))
    assert vector != Vector("d", [1.5, 0.0, 3.0, 4.0])
    assert vector[1:] == Vector("d", [-0.0, 3.0])
    assert np.asarray(Vector("?", [1, 0])).dtype == np.bool_
    assert Vector("?", np.array([True, False])).tolist() == [True, False]
    assert "1.5" not in repr(vector)


@pytest.mark.parametrize("values", [["1"], [None], [2**31], [1.5], 7])
def test_vectors_hold_their_type_alone(values: Any) -> None:
    with pytest.raises(ValueError, match="no number of the type"):
        Vector("i", values)


def test_a_large_tree_is_as_small_as_its_arrays() -> None:
    """300,001 nodes: 25 bytes a node and 4 a leaf and column, where tuples took over 200."""
    n = 150_000
    split = np.append(np.tile([0, -1], n), -1).astype(np.int32)
    right = np.append(np.stack([np.arange(2, 2 * n + 2, 2), np.full(n, -1)], 1).ravel(), -1)
    tracemalloc.start()
    tree = Partition(
        (Recoded("x", "quasi", "numeric", cells=(Cell("all"),)),),
        Vector("i", split),
        Vector("d", np.zeros(len(split))),
        Vector("i", np.full(len(split), -1, np.int32)),
        Vector("?", np.zeros(len(split), np.bool_)),
        Vector("i", right.astype(np.int32)),
        (),
        (Vector("i", np.zeros(n + 1, np.int32)),),
    )
    assert tree.n_leaves == n + 1
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 25 * len(split)


@pytest.mark.parametrize(("first", "second"), [(2, 3), (2, 4), (3, 3), (3, 4)])
def test_nodes_that_share_a_child_are_refused_though_their_number_is_right(first: int, second: int) -> None:
    """Two splits over three leaves stand in pre-order with right children 4 and 3 alone."""

    def tree(*right: int) -> Partition:
        cells = Recoded("x", "quasi", "numeric", cells=(Cell("all"),))
        nodes = ((0, 0, -1, -1, -1), (0.5,) * 5, (-1,) * 5, (False,) * 5, (*right, -1, -1, -1))
        return Partition((cells,), *nodes, subsets=(), leaf_cells=((0, 0, 0),))

    tree(4, 3).check()
    with pytest.raises(Contradiction, match="pre-order"):
        tree(first, second).check()


def test_a_cut_of_numbers_that_points_to_a_subset_is_refused() -> None:
    """Whoever follows it would read beside the table of that subset."""
    columns = tuple(
        Recoded(name, "quasi", kind, cells=(Cell("all"),)) for name, kind in (("x", "numeric"), ("job", "categorical"))
    )

    def tree(*subset: int) -> Partition:
        nodes = ((0, 1, -1, -1, -1), (0.5,) * 5, (*subset, -1, -1, -1), (False,) * 5)
        right = (4, 3, -1, -1, -1)
        return Partition(columns, *nodes, right, subsets=(("a",),), leaf_cells=((0,) * 3,) * 2)

    tree(-1, 0).check()
    with pytest.raises(Contradiction, match="cuts numbers points to a subset"):
        tree(0, 0).check()


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_is_refused(name: str) -> None:
    text = '{"hedgerow_plan": 1, "n_rows": ' + name + "}"
    with pytest.raises(PlanError, match="not valid JSON"):
        loads(text)
