"""Every release has its text, table, picture and comparison of columns for notebooks."""

from __future__ import annotations

import warnings
from html import escape

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import hedgerow as hr

from .methods import CASES, Case
from .tables import TABLES
from .test_methods import assert_silent, own

mpl.use("Agg")


def shows_itself(release: hr.Release) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_silent(repr(release) + repr(release.plan) + repr(release.plan.recoding))
        assert_silent(release.method._repr_html_())
        assert "released rows" in release._repr_html_()
        for name in release.released.names:
            comparison = release.compare(name)
            shares = [row[1:] for row in comparison.rows if comparison.kind == "categories"]
            assert all(0 <= share <= 1 + 1e-9 for pair in shares for share in pair)
            assert escape(name) in comparison._repr_html_()
        assert release.plot().has_data()
        plt.close("all")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_release_shows_itself(case: Case) -> None:
    table, schema = own(case)
    shows_itself(hr.protect(table, schema, case.method(schema)))


@pytest.mark.parametrize("kind", TABLES)
def test_odd_tables_show_themselves(kind: str) -> None:
    table, schema = TABLES[kind]()
    try:
        release = hr.protect(table, schema, hr.Mondrian(3))
    except hr.HedgerowError:
        return  # other tests check refusals
    shows_itself(release)
