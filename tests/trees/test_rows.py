"""Records: their fields, where their memory is, and growing over them in slices."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.columns.column import ValueCounts
from hedgerow.errors import ParameterError
from hedgerow.trees import grow as growing
from hedgerow.trees.grow import grow
from hedgerow.trees.node_rows import BYTE, LONG, SHORT, WORD, Format, NodeRows, RowCodes, code_at
from hedgerow.trees.responses import MOST_ROWS, Responses
from hedgerow.trees.statistics import StatisticsLayout, root_statistics

from .reference import Grower
from .tables import predictors, responses
from .test_grow import assert_same_tree, rules, signature


def test_codes_take_the_smallest_width_each() -> None:
    form = Format.from_counts(np.array([255, 256, 65_535, 65_536, 2]), 2, 1, 1_000)
    assert form.codes["width"].tolist() == [BYTE, SHORT, SHORT, LONG, BYTE]
    assert form.number.width == LONG
    assert form.n_words == 3  # 2 numbers, 1 long code, row number; 3 shorts; 2 bytes: 24 bytes


def test_row_numbers_grow_past_four_billion() -> None:
    few, many = (Format.from_counts(np.array([2]), 1, 0, n) for n in (2**32 - 1, 2**32))
    assert few.number.width == LONG
    assert many.number == (WORD, 0)
    assert many.quantities.tolist() == [2]  # behind the 64-bit number
    made = NodeRows(predictors(np.random.default_rng(0), 3, "o").predictors, many, np.zeros((3, 2), "u8"))
    made.words[:, 0] = 2**40 + np.arange(3, dtype=np.uint64)
    assert made.numbers().tolist() == [2**40, 2**40 + 1, 2**40 + 2]


@pytest.mark.parametrize("missing", [False, True])
def test_fields_hold_what_was_given(missing: bool) -> None:
    rng = np.random.default_rng(4)
    given = predictors(rng, 500, "oCWcO", missing=missing)
    made = responses(rng, given, "nnc", missing=missing)
    rows = made.rows(given)
    assert set(rows.format.codes["width"].tolist()) == {BYTE, SHORT, LONG}
    for c in range(5):
        width, at, word, shift, mask = rows.format.codes[c].tolist()
        assert rows.views[width][:, at].tolist() == given.codes[:, c].tolist()
        bits = (rows.words[:, word] >> np.uint64(shift)) & np.uint64(mask)
        assert bits.tolist() == given.codes[:, c].tolist()
        assert code_at.py_func(rows.words, 17, rows.format.codes.view(np.recarray), c) == given.codes[17, c]
    assert rows.views.longs[:, rows.format.quantities].tolist() == made.z.tolist()
    assert rows.views.shorts[:, rows.format.classes].tolist() == made.classes.tolist()
    assert rows.numbers().tolist() == list(range(500))


@pytest.mark.parametrize("kinds", ["n", "nn", "nc"])
def test_trees_over_codes_of_every_width_are_the_references(kinds: str) -> None:
    rng = np.random.default_rng(6)
    given = predictors(rng, 90, "oOcC", missing=True)
    made = responses(rng, given, kinds)
    asked, layout = rules(made, min_leaf=12), StatisticsLayout.from_responses(made.responses, squares=False)
    grown = grow(made.rows(given), made.responses, layout, asked)
    reference = Grower(given.codes, given.n_codes, given.ordered, made, layout, asked)
    assert_same_tree(grown, given, reference.grow())


def test_records_may_live_in_a_file_and_come_in_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    given = predictors(rng, 900, "oocw", missing=True)
    made = responses(rng, given, "nc", missing=True)
    asked, layout = rules(made, min_leaf=9, cap=0.6), StatisticsLayout.from_responses(made.responses)
    expected = grow(made.rows(given), made.responses, layout, asked)

    def mapped(shape: tuple[int, ...], kind: Any) -> Any:
        return np.memmap(tmp_path / "records", kind, "w+", shape=shape)

    rows = NodeRows.empty(given.predictors, made.responses, allocate=mapped)
    for a in range(0, 900, 250):
        part = made[a : a + 250]
        codes, mine = list(given.codes[a : a + 250].T), [c.codes for c in part.columns]
        rows.write(a, made.responses, RowCodes(codes, mine))
    grown = grow(rows, made.responses, layout, asked)
    order = np.arange(900)
    assert signature(grown, given, order) == signature(expected, given, order)
    assert np.shares_memory(rows.words, rows.views.bytes)
    assert (tmp_path / "records").stat().st_size == 900 * rows.format.n_words * 8
    on_disk = np.fromfile(tmp_path / "records", np.uint64).reshape(900, -1)
    assert np.array_equal(on_disk, rows.words)  # grown over where they are, without a copy


@pytest.mark.parametrize("kinds", ["nn", "nc"])
def test_shares_of_persons_are_what_k_is_asked_of(kinds: str) -> None:
    """Two records a person: more than 7 persons are 8, so a leaf of them has 15 records."""
    rng = np.random.default_rng(5)
    given = predictors(rng, 400, "ooc", missing=True)
    made = responses(rng, given, kinds)
    apart = StatisticsLayout.from_responses(made.responses, persons=True)
    half = np.full(400, apart.person // 2, np.int32)
    rows = made.rows(given, persons=half)
    grown = grow(rows, made.responses, apart, rules(made, min_leaf=8, cap=0.7))
    shared = StatisticsLayout.from_responses(made.responses)
    plain = grow(made.rows(given), made.responses, shared, rules(made, min_leaf=15, cap=0.7))
    assert grown.n_nodes > 5
    assert grown.column.tolist() == plain.column.tolist()
    assert grown.last_left.tolist() == plain.last_left.tolist()
    assert [set(grown.rows[a:b]) for a, b in zip(grown.start, grown.end, strict=True)] == [
        set(plain.rows[a:b]) for a, b in zip(plain.start, plain.end, strict=True)
    ]
    assert grown.stats[:, apart.persons].tolist() == (plain.stats[:, 0] << 29).tolist()


def test_the_root_is_known_from_counts_beyond_memory() -> None:
    counts = [
        ValueCounts("pay", "numeric", "", np.arange(5.0), np.full(5, 1_500_000_000), 500_000_000),
        ValueCounts("job", "categorical", "", ["a", "b"], np.array([3_000_000_000, 5_000_000_000])),
    ]
    made = Responses.from_columns(counts)
    layout = StatisticsLayout.from_responses(made)
    stats = root_statistics(made, layout)
    units = made.numbers[0].units[:-1].tolist()
    assert stats[0] == 8_000_000_000
    assert stats[layout.sums] == 1_500_000_000 * sum(units)
    assert stats[layout.squares] == 1_500_000_000 * sum((u * u) >> layout.shift for u in units)
    assert stats[layout.starts[0] : layout.starts[1]].tolist() == [3_000_000_000, 5_000_000_000]
    assert stats[layout.starts[1] :].tolist() == [500_000_000, 7_500_000_000]


def test_more_rows_than_sums_hold_are_refused_by_name() -> None:
    def pay(n: int) -> ValueCounts:
        return ValueCounts("pay", "numeric", "", np.array([0.0, 1.0]), np.array([n - 1, 1]))

    assert Responses.from_columns([pay(MOST_ROWS)]).n_rows == MOST_ROWS
    with pytest.raises(ParameterError, match="8,589,934,592 rows"):
        Responses.from_columns([pay(MOST_ROWS + 1)])


@pytest.mark.parametrize("threads", [1, 2])
def test_growing_looks_up_between_slices(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    rng = np.random.default_rng(7)
    given = predictors(rng, 4_000, "oocw", missing=True)
    made = responses(rng, given, "nn")
    asked, layout = rules(made, min_leaf=5), StatisticsLayout.from_responses(made.responses, squares=False)
    order = np.arange(4_000)
    expected = signature(grow(made.rows(given), made.responses, layout, asked), given, order)
    calls = []
    expand = growing.expand

    def counted(*arguments: Any) -> None:
        calls.append(threading.get_ident())
        expand(*arguments)

    monkeypatch.setattr(growing, "SHARED", 1_000)
    monkeypatch.setattr(growing, "SLICE", 5_000)
    monkeypatch.setattr(growing, "expand", counted)
    grown = grow(made.rows(given), made.responses, layout, asked, threads=threads)
    assert signature(grown, given, order) == expected
    assert len(calls) > 20

    def interrupted(*arguments: Any) -> None:
        calls.append(threading.get_ident())
        if len(calls) > 9:
            raise KeyboardInterrupt
        expand(*arguments)

    calls.clear()
    monkeypatch.setattr(growing, "expand", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grow(made.rows(given), made.responses, layout, asked, threads=threads)
    assert len(calls) <= 9 + threads  # nobody goes on in the background
