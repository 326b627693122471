"""Draw the rows of units with SDV: run by the Python of an environment that has it (`units.py sdv`).

    PYTHON benchmarks/units_made.py par|hma TABLE.csv ABOUT.json MADE.csv

ABOUT has the column of units, that of waves, times or members, the columns that a unit has once, and the numbers.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import pandas as pd
import torch
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer
from sdv.sequential import PARSynthesizer


def par(rows: pd.DataFrame, about: dict[str, Any], metadata: Metadata, seed: int) -> pd.DataFrame:
    """Return units whose rows are drawn in their order, with SDV's defaults."""
    metadata.set_sequence_key(about["unit"])
    metadata.set_sequence_index(about["by"])
    torch.manual_seed(seed)
    model = PARSynthesizer(metadata, context_columns=about["once"], epochs=about["epochs"])
    model.fit({"rows": rows})
    return model.sample_sequences(num_sequences=rows[about["unit"]].nunique())["rows"]


def hma(rows: pd.DataFrame, about: dict[str, Any], seed: int) -> pd.DataFrame:
    """Return households, and their members by the means and copulas of each."""
    unit, once = about["unit"], about["once"]
    homes = rows[[unit, *once]].drop_duplicates(unit)
    people = rows.drop(columns=once).assign(row=range(len(rows)))
    metadata = Metadata.detect_from_dataframes({"homes": homes, "people": people}, infer_keys=None)
    for table, columns in (("homes", homes), ("people", people)):
        for name in columns:
            is_number = name in about["numbers"]
            metadata.update_column(name, table_name=table, sdtype="numerical" if is_number else "categorical")
        metadata.update_column(unit, table_name=table, sdtype="id")
    metadata.update_column("row", table_name="people", sdtype="id")
    metadata.set_primary_key(unit, table_name="homes")
    metadata.set_primary_key("row", table_name="people")
    metadata.add_relationship(
        parent_table_name="homes", child_table_name="people", parent_primary_key=unit, child_foreign_key=unit
    )
    model = HMASynthesizer(metadata, verbose=False)
    model.fit({"homes": homes, "people": people})
    model.reset_sampling()
    made = model.sample_scale(1.0)
    return made["people"].merge(made["homes"], on=unit).drop(columns="row")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    way, table, written, out = sys.argv[1:]
    with open(written) as file:
        about = json.load(file)
    rows = pd.read_csv(table)
    if way == "par":
        kinds = {name: "numerical" if name in about["numbers"] else "categorical" for name in rows}
        kinds |= {about["unit"]: "id", about["by"]: about["kind"]}
        columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
        if about["kind"] == "datetime":
            columns[about["by"]]["datetime_format"] = "%Y-%m-%d"
        metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": columns}}, "relationships": []})
        made = par(rows, about, metadata, about["seed"])
    else:
        made = hma(rows, about, about["seed"])
    made.to_csv(out, index=False)
