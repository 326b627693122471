"""What a person sees in a notebook: short texts, readable tables, nobody's value, progress."""

from __future__ import annotations

import nbclient
import nbformat
import pandas as pd
import pytest

import hedgerow as hr

SETUP = """
import warnings

import numpy as np
import pandas as pd
import hedgerow as hr

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
people = pd.DataFrame({
    "name": [f"Zebedee-{i}" for i in range(300)],
    "age": 20.0 + np.arange(300) / 8 + 0.00321,
    "job": rng.choice(["nurse", "cook"], 300),
    "pay": rng.integers(10, 90, 300) * 100,
})
schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], identifiers=["name"])
release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.6))
"""

CELLS = {
    "release": ["Release: MART(k=10, max_disclosure=0.6), 300 rows", "released rows", "checks hold"],
    "hr.audit(people, release, attacks=False, learning=False)": ["k (smallest group)", "Audit"],
    "hr.frontier(people, schema, hr.MART(), k=[5, 20])": ["Frontier", "k=20", "utility"],
    "hr.inspect(people)": ["Proposed roles", "distinct"],
    "hr.Hedge(k=7)": ["Hedge", "max_disclosure", "7"],
}


# no cell before them has drawn anything
PICTURES = ["release.plot()", "release.plot('job')", "release.compare('age').plot()"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What every cell of a notebook that was run shows, by its code."""
    folder = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder))
        cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *CELLS, *PICTURES)]
        book = nbformat.v4.new_notebook(cells=cells)
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    shown = {cell.source: [o["data"] for o in cell.outputs if "data" in o] for cell in book.cells[1:]}
    return {source: {kind: value for data in each for kind, value in data.items()} for source, each in shown.items()}


@pytest.mark.parametrize("code", CELLS)
def test_a_notebook_shows_a_readable_table(code, outputs):
    shown = outputs[code]["text/html"]
    assert all(words in shown for words in CELLS[code])
    assert "<table" in shown


@pytest.mark.parametrize("code", PICTURES)
def test_a_notebook_shows_every_picture(code, outputs):
    assert "image/png" in outputs[code]


@pytest.mark.parametrize("code", CELLS)
def test_texts_are_short_and_hold_nobody(code, outputs):
    told = outputs[code]
    assert len(told["text/plain"]) < 200
    assert "<" not in told["text/plain"]
    for text in told.values():
        assert "Zebedee" not in text
    if code != "release":  # whose table has the ends of its groups
        assert not any(".00321" in text or ".12821" in text for text in told.values())


def test_plans_of_every_kind_keep_cells_and_thresholds_out_of_their_text():
    people = pd.DataFrame({"age": [31.25, 31.5, 62.25, 62.5] * 10, "job": ["Zoologist", "Yeoman"] * 20}).assign(
        pay=range(40)
    )
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    for method in (hr.MART(k=6), hr.Incognito(k=5), hr.LocalSuppression(k=3)):
        plan = hr.protect(people, schema, method).plan
        for text in (repr(plan), repr(plan.recoding)):
            assert "Zoologist" not in text
            assert "62.25" not in text
