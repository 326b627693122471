"""Pictures on matplotlib axes, and a column before and after."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import hedgerow as hr

mpl.use("Agg")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 80, 400)
    return pd.DataFrame(
        {
            "age": age,
            "job": rng.choice(["nurse", "cook", "clerk"], 400),
            "born": pd.to_datetime("2020-01-01") - pd.to_timedelta(age * 365, unit="D"),
            "pay": np.where(np.arange(400) % 20 == 0, np.nan, age * 10.0 + rng.integers(0, 90, 400)),
            "ill": np.resize(["flu", "none", "gout"], 400),
            "name": [f"p{i}" for i in range(400)],
        }
    )


SCHEMA = hr.Schema(quasi=["age", "job", "born"], sensitive=["pay", "ill"], identifiers=["name"])


@pytest.fixture(scope="module")
def release(people):
    return hr.protect(people, SCHEMA, hr.MART(k=10, max_disclosure=0.55))


@pytest.fixture(scope="module")
def found(people, release):
    return hr.audit(people, release, people=20, learning=False, inference=False)


@pytest.fixture(scope="module")
def frontier(people):
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    return hr.frontier(people, schema, hr.MART(), k=[6, 40], max_disclosure=[0.4, 0.7])


@pytest.fixture(autouse=True)
def closed():
    plt.close("all")  # pages of the docs draw as well
    yield
    plt.close("all")


def drawn(release, found, frontier):
    return {
        "release": release.plot,
        "column": lambda ax=None: release.plot("age", ax=ax),
        "compared": release.compare("job").plot,
        "attacks": found.plot,
        "disclosure": lambda ax=None: found.plot("disclosure", ax=ax),
        "groups": lambda ax=None: found.plot("groups", ax=ax),
        "audited column": lambda ax=None: found.plot("job", ax=ax),
        "frontier": frontier.plot,
    }


def test_axes_are_made_or_taken_and_have_labels(release, found, frontier):
    for plot in drawn(release, found, frontier).values():
        made = plot()
        assert plt.get_fignums() == [made.figure.number]  # so a notebook shows it
        assert made.get_xlabel()
        assert made.get_legend() is not None
        plt.close("all")
        _, own = plt.subplots()
        assert plot(ax=own) is own
        assert own.has_data()
        assert len(plt.get_fignums()) == 1
        plt.close("all")
    with pytest.raises(hr.HedgerowError, match="ax must be matplotlib axes"):
        release.plot(ax="here")


def test_the_cap_is_drawn_where_it_was_promised(release, found):
    for axes in (release.plot(), found.plot("disclosure")):
        (cap,) = [line for line in axes.lines if "cap" in str(line.get_label())]
        assert set(cap.get_ydata()) == {0.55}
        top = max(y for c in axes.collections for _, y in c.get_offsets())
        assert top <= 0.55 + 1e-9
        assert "55%" in cap.get_label()


def test_points_that_nothing_beats_are_named_and_the_others_faint(frontier):
    axes = frontier.plot()
    named = {text.get_text() for text in axes.texts}
    kept = [p for p in frontier.points if not p.dominated]
    asked = {f"{p.parameters['k']}, {p.parameters['max_disclosure']:g}".replace("0.", ".") for p in kept}
    assert named
    assert named <= asked
    faint = [c for c in axes.collections if c.get_alpha() is not None and c.get_alpha() < 0.5]
    assert sum(len(c.get_offsets()) for c in faint) == len(frontier.points) - len(kept)


def test_colours_stand_on_dark_paper(release):
    light = release.plot().lines[0].get_color()
    with plt.style.context("dark_background"):
        assert release.plot().lines[0].get_color() != light


def test_the_report_and_plot_draw_with_one_function(monkeypatch, release, found):
    from hedgerow.report import pictures

    called = []
    monkeypatch.setattr(pictures, "_categories", lambda axes, shape: called.append(axes))
    shape = found.pictures["histograms"]["job"]
    pictures.before_after("job", shape)
    pictures.plot_column("job", shape, None)
    assert len(called) == 2


def test_an_audit_names_the_pictures_it_has(found):
    with pytest.raises(hr.HedgerowError, match="no picture of 'jb'") as told:
        found.plot("jb")
    assert "attacks, disclosure, groups, age, job, born" in str(told.value)


def test_a_column_that_stays_is_compared_as_pandas_does(people, release):
    told = {what: (before, after) for what, before, after in release.compare("pay").rows}
    for words, part in (("5%", 0.05), ("half", 0.5), ("95%", 0.95)):
        expected = people.pay.quantile(part, interpolation="inverted_cdf")
        assert told[words] == (expected, expected)
    assert told["mean"] == pytest.approx((people.pay.mean(), people.pay.mean()))
    assert told["missing"] == (0.05, 0.05)
    shares = people.ill.value_counts(normalize=True)
    for what, before, after in release.compare("ill").rows:
        assert before == after == pytest.approx(shares[what])


def test_recoded_columns_are_read_and_no_single_persons_end_is_told(people, release):
    age = release.compare("age")
    assert [row[0] for row in age.rows] == ["5%", "25%", "half", "75%", "95%", "mean", "missing"]
    before, after = {w: (b, a) for w, b, a in age.rows}["half"]
    assert before == people.age.quantile(0.5, interpolation="inverted_cdf")
    assert abs(after - before) < 8
    born = release.compare("born")
    assert all(isinstance(value, str) for value in born.rows[2][1:])
    job = release.compare("job")
    assert sum(after for _, _, after in job.rows) == pytest.approx(1)
    assert job.rows[0][0] == "clerk"
    for told in (age, born, job):
        assert len(repr(told)) < 60
        assert "original" in str(told)
        assert "<table>" in told._repr_html_()


def test_what_is_not_released_is_not_compared(release):
    with pytest.raises(hr.HedgerowError, match="left out of the release"):
        release.compare("name")
    with pytest.raises(hr.HedgerowError, match="did you mean 'age'"):
        release.compare("agee")


@pytest.mark.parametrize(
    "method", [hr.Anatomy(l=2), hr.NoiseAddition(random_state=1), hr.RandomizedResponse(random_state=1)]
)
def test_other_methods_are_drawn_and_compared(people, method):
    quasi = ["age"] if isinstance(method, hr.NoiseAddition) else ["age", "job"]
    made = hr.protect(people, hr.Schema(quasi=quasi, sensitive=["ill"]), method)
    assert made.plot().has_data()
    for name in (*quasi, "ill"):
        assert sum(row[2] for row in made.compare(name).rows if isinstance(row[2], float)) > 0
