"""SDNist's measures: published reports are read, and releases become what SDNist reads."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from benchmarks import sdnist

import hedgerow as hr


@pytest.fixture(scope="module")
def people():
    made = hr.datasets.make_people(400, seed=5).to_pandas()
    income = made["income"].astype(int)
    poor = ["N" if at % 9 == 0 else str(v) for at, v in enumerate(income)]
    return pd.DataFrame(
        {"AGEP": made["age"].astype(int).astype(str), "MSP": made["job"].fillna("N").astype(str), "PINCP": poor}
    )


def test_missing_numbers_come_back_from_rivals_and_from_groups(people):
    for plain in (True, False):
        table = sdnist.table_of(people, plain=plain)
        back = sdnist.as_texts({n: table.column(n).to_pylist() for n in people}, people)
        pd.testing.assert_frame_equal(back, people)


def test_drawn_cells_are_values_of_the_table(people):
    side = sdnist.members(people, plain=False)
    view, _, _ = sdnist.rivals.ours(side, {}, "Mondrian, exact values", 0)
    made = sdnist.drawn(side, view, 0) | {"PINCP": view.table.arrow.column("PINCP").to_pylist()}
    texts = sdnist.as_texts(made, people)
    assert set(texts["MSP"]) <= set(people["MSP"])
    ages = pd.to_numeric(texts["AGEP"])
    assert ages.between(*pd.to_numeric(people["AGEP"]).agg(["min", "max"])).all()
    assert texts["AGEP"].nunique() > 10
    assert sorted(texts["PINCP"]) == sorted(people["PINCP"])  # exact, wherever the row is


def test_a_published_report_is_read(tmp_path):
    def said(name, *lines):
        return {"metric_name": name, "attachments": {"-1": [{"name": None, "data": each} for each in lines]}}

    adults = [["text", "Regression: 0.63 slope, -0.1 intercept"], ["heading", "Deidentified Data"]]
    adults += [["text", "9 records, 100.0% of adult (>15) data"], ["text", "Regression: -0.05 slope, 2 intercept"]]
    groups = [
        {"Inconsistency Group": n, "Number of Records Inconsistent": 9, "Percent Records Inconsistent": f"{v}%"}
        for n, v in (("Age", 4.4), ("Work", 0.0), ("Housing", 0.5))
    ]
    labels = {"Algorithm Name": "aim", "Epsilon": "1", "Variant Label": ""}
    report = {
        "version": "2.5",
        "data_description": {
            "synthetic": [
                {
                    "data": [{"Property": "Records", "Value": 27}],
                    "labels": [{"Label Name": n, "Label Value": v} for n, v in labels.items()],
                }
            ],
            "Evaluated Data Features": [{"Feature Name": "AGEP"}],
        },
        "utility": [
            said("K-Marginal Synopsys", "Highlight-K-Marginal Score: 976"),
            said("Linear Regression", {"para": adults}),
            said("Propensity Mean Square Error", "Highlight-Score: 0.002"),
            said("Inconsistencies", {"table": groups}),
        ],
        "privacy": [
            said(
                "Unique Exact Matches",
                "unique Target Data records exactly matched in Deid. Data: -Highlight-2105 (14.11%)-Highlight-",
                "Target Data records exactly matched in Deid. Data on Quasi-Identifiers: -Highlight-4 (0.17%)",
            )
        ],
    }
    (tmp_path / "ui.json").write_text(json.dumps(report))
    (tmp_path / "pearson").mkdir()
    pd.DataFrame([[0, 0.2], [-0.2, 0]]).to_csv(tmp_path / "pearson" / "diff.csv")
    found = sdnist.published(tmp_path)
    assert found.pop("name") == "aim, epsilon 1"
    assert found == {
        "features": 1, "version": "2.5", "people": 27, "marginals": 976, "marginals_2.5": 976, "propensity": 0.002,
        "slope": -0.05, "exact": 14.11, "apparent": 0.17, "age": 4.4, "work": 0, "housing": 0.5, "pearson": 0.2,
    }  # fmt: skip
