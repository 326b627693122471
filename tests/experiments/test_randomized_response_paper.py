from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree

import pytest

pytestmark = pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")


def test_table_5_uncertainty_coefficients():
    from experiments.randomized_response import table5

    result = table5(runs=6)
    assert result["records"] == 30_162
    assert result["original"] == pytest.approx(2.744, abs=5e-4)
    for row in result["rows"]:
        assert row["RR-QI clip"] == pytest.approx({3: 2.37, 4: 2.23, 5: 2.18}[row["l"]], abs=0.1)
        assert row["anatomy"] == pytest.approx({3: 0.21, 4: 0.09, 5: 0.07}[row["l"]], abs=0.03)
    assert result["checks"]["holds"] is True


def test_utilities_and_pictures():
    from experiments.randomized_response import REFERENCE_UTILITY, figures

    result = figures(levels=(3, 5, 7), runs=4)
    assert len(result["reference_gaps"]) == len(REFERENCE_UTILITY)
    for gap in result["reference_gaps"]:
        for measure in ("euclid", "kl", "chi2", "base_error", "cube_error"):
            # Nothing is more than 15% worse than the reference; EM's KL distance is better by more.
            assert gap[measure] < 0.15, (gap["estimator"], gap["l"], measure)
            if (gap["estimator"], measure) != ("RR-QI EM", "kl"):
                assert gap[measure] > -0.15, (gap["estimator"], gap["l"], measure)
    assert set(result["pictures"]) == {f"figure{i}" for i in range(3, 8)}
    for picture in result["pictures"].values():
        assert ElementTree.fromstring(picture).tag.endswith("svg")
    fewer, more = result["figure4"]["RR-QI"][0], result["figure4"]["RR-QI"][-1]
    assert more["euclid"] < fewer["euclid"]
