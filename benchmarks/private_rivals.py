"""Synthesize a table of whole numbers by MST or AIM, as `benchmarks/private.py` asks for it.

    python benchmarks/private_rivals.py TABLE.parquet SIZES.json METHOD EPSILON OUT.parquet

It runs in an environment of its own with ``opendp[mbi]``. Each column of the table has the numbers below its size.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl
from opendp.extras.mbi import _mst


def select_for_less(*domains: Any, d_out: float, **rest: Any) -> Any:
    """Select for a billionth less: OpenDP 0.16 refuses its own eight eighths for the last bit of their sum."""
    return SELECT(*domains, d_out=d_out * (1 - 1e-9), **rest)


SELECT, _mst._make_mst_select = _mst._make_mst_select, select_for_less


def main() -> None:
    """Read, synthesize under pure differential privacy, and write."""
    table, sizes, method, epsilon, out = sys.argv[1:]
    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=float(epsilon)),
        split_evenly_over=1,
    )
    keys = {name: list(range(n)) for name, n in json.loads(Path(sizes).read_text()).items()}
    # AIM with pairs and the rounds that it needs to tie all columns: its defaults take hours on two processors
    algorithm = dp.mbi.MST() if method == "MST" else dp.mbi.AIM(queries=2, max_size=2.0, rounds=2 * len(keys))
    query = context.query().select(*keys).contingency_table(keys=keys, algorithm=algorithm)
    # mbi's own default, "round", gives later rows of a group higher codes in every column, so that all depend
    query.release().synthesize(method="sample").write_parquet(out)


if __name__ == "__main__":
    main()
