"""Make synthetic rows, or attack releases, by a program that is installed apart, as `benchmarks/rivals.py` asks.

    python benchmarks/rivals_made.py arf|mst|aim PEOPLE.csv OUT.csv DOMAIN.json SEED EPSILON     prints seconds
    python benchmarks/rivals_made.py opendp TABLE.parquet SIZES.json mst|aim EPSILON OUT.parquet
    python benchmarks/rivals_made.py anonymeter FOLDER OPTIONS                                    prints JSON
    python benchmarks/rivals_made.py sdnist DATA RELEASED.csv                                     prints JSON

It runs in an environment of its own and imports nothing of Hedgerow. OpenDP gets whole numbers from
`benchmarks/private.py`: each column of its table has those below its size.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

STEPS = {"mst": 300, "aim": 100}
"""At most so many steps to fit a model to noisy counts: dpmm's own thousands take minutes for a table."""


def by_forest(people: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return rows of an adversarial random forest with the package's own settings."""
    from arfpy import arf

    np.random.seed(seed)  # noqa: NPY002 - its draws know no other seed
    forest = arf.arf(x=people, verbose=False, random_state=seed)
    forest.forde()
    return forest.forge(n=len(people))


def logsumexp(values: Any, axis: Any = None) -> Any:
    """Return what SciPy's function of this name does; that one is slow for the many small tables here."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(values - top), axis=axis)) + np.squeeze(top, axis=axis)


def by_marginals(people: pd.DataFrame, domain: dict[str, Any], method: str, seed: int, epsilon: float) -> pd.DataFrame:
    """Return rows of MST or AIM at epsilon and a delta of 1e-6; a tenth of epsilon cuts the numbers into bins."""
    from dpmm.models.base.mbi import factor
    from dpmm.models.base.mbi.inference import FactoredInference
    from dpmm.pipelines import AIMPipeline, MSTPipeline

    factor.logsumexp = logsumexp
    fit = FactoredInference.mirror_descent

    def shorter(self: Any, *arguments: Any, **options: Any) -> Any:
        self.iters = min(self.iters, STEPS[method])
        return fit(self, *arguments, **options)

    FactoredInference.mirror_descent = shorter
    public: dict[str, Any] = {}
    for name, told in domain.items():
        if isinstance(told[0], str):
            public[name] = {"categories": told}
            people[name] = pd.Categorical(people[name], told)
        else:
            public[name] = {"lower": told[0], "upper": told[1]}
    # its default is 16 rounds a column, and each fits all again
    options = {"rounds": 2 * people.shape[1]} if method == "aim" else {}
    made = (AIMPipeline if method == "aim" else MSTPipeline)(
        epsilon=0.9 * epsilon, delta=1e-6, proc_epsilon=0.1 * epsilon, n_jobs=1, max_model_size=8, gen_kwargs=options
    )
    made.fit(people, public, random_state=seed)
    return made.generate(n_records=len(people), random_state=seed)


def by_opendp(table: str, sizes: str, method: str, epsilon: float, out: str) -> None:
    """Synthesize whole numbers by OpenDP's MST or AIM under pure differential privacy, and write them."""
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import _mst

    select = _mst._make_mst_select

    def select_for_less(*domains: Any, d_out: float, **rest: Any) -> Any:
        # a billionth less: OpenDP 0.16 refuses its own eight eighths for the last bit of their sum
        return select(*domains, d_out=d_out * (1 - 1e-9), **rest)

    _mst._make_mst_select = select_for_less
    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
    )
    keys = {name: list(range(n)) for name, n in json.loads(Path(sizes).read_text()).items()}
    # AIM with pairs and the rounds that it needs to tie all columns: its defaults take hours on two processors
    algorithm = dp.mbi.MST() if method == "mst" else dp.mbi.AIM(queries=2, max_size=2.0, rounds=2 * len(keys))
    query = context.query().select(*keys).contingency_table(keys=keys, algorithm=algorithm)
    # mbi's own default, "round", gives later rows of a group higher codes in every column, so that all depend
    query.release().synthesize(method="sample").write_parquet(out)


def attacked(folder: Path, told: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return what anonymeter finds of every release in a folder, beyond what it finds of strangers."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    warnings.simplefilter("ignore")
    people, control = (pd.read_csv(folder / f"{n}.csv", keep_default_na=False) for n in ("people", "others"))
    names, asked = list(people), min(told["people"], len(control))
    known, secrets = names[: told["quasi"]], names[told["quasi"] :]
    out = {}
    for at in told["files"]:
        released = pd.read_csv(folder / f"{at}.csv", keep_default_na=False)
        tables = {"ori": people, "syn": released, "control": control, "n_attacks": asked}

        def risk(evaluator: Any, **options: Any) -> float:
            evaluator.evaluate(**options)
            return float(evaluator.risk().value)

        singled = []
        for mode in ("univariate", "multivariate"):
            columns = min(4, len(names))
            evaluator = SinglingOutEvaluator(**tables, n_cols=columns, max_attempts=20 * asked, seed=0)
            try:
                singled.append(risk(evaluator, mode=mode))
            except RuntimeError:  # it found no description of one row
                singled.append(0.0)
        halves = (known[0::2], known[1::2])
        linked = risk(LinkabilityEvaluator(**tables, aux_cols=halves, n_neighbors=1), n_jobs=1)
        inferred = [
            risk(
                InferenceEvaluator(**tables, aux_cols=known, secret=s, regression=bool(people[s].dtype.kind in "if")),
                n_jobs=1,
            )
            for s in secrets
        ]
        out[str(at)] = {"singled_out": max(singled), "linked": linked, "inferred": float(np.mean(inferred))}
    return out


def scored(data: Path, released: Path) -> dict[str, float]:
    """Return what SDNist finds of a release of its national excerpt of 2019, by its classes without pictures."""
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    import sdnist.report.__main__  # noqa: F401 - first, or its modules import each other in a circle
    from sdnist.load import TestDatasetName
    from sdnist.metrics.apparent_match_dist import cellchange
    from sdnist.metrics.inconsistency import Inconsistencies
    from sdnist.metrics.kmarginal import KMarginal
    from sdnist.metrics.pearson_correlation import PearsonCorrelationDifference
    from sdnist.metrics.propensity import PropensityMSE
    from sdnist.metrics.regression import LinearRegressionMetric
    from sdnist.metrics.unique_exact_matches import unique_exact_matches
    from sdnist.report import Dataset
    from sdnist.utils import SimpleLogger, to_num

    out = released.with_suffix("")
    out.mkdir(exist_ok=True)
    read = Dataset(released, SimpleLogger(), TestDatasetName.national2019, data, False)
    areas = [n for n in ("PUMA",) if n in read.features]
    marginals = KMarginal(read.d_target_data, read.d_synthetic_data, areas)
    found = {"features": len(read.features), "marginals": marginals.compute_score()}
    if "INDP" in read.features:  # version 2.5 counts its pairs too
        names = sorted({*read.features} - {*areas})
        marginals.marginals = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    found["marginals_2.5"] = marginals.compute_score()
    tables = read.t_target_data, read.t_synthetic_data
    found["propensity"] = PropensityMSE(*tables, out, read.features).compute_score()
    pearson = PearsonCorrelationDifference(*tables, sorted(read.config["correlation_features"]))
    pearson.compute()
    found["pearson"] = off_diagonal(pearson.pp_corr_diff)
    names = ["EDU", "PINCP_DECILE"]
    pairs = [to_num(t[names].copy()) for t in (read.target_data, read.c_synthetic_data)]
    line = LinearRegressionMetric(*pairs, {n: read.data_dict[n] for n in names}, out)
    line.compute()
    found |= {"slope": line.s_slope, "intercept": line.s_intercept}
    rules = Inconsistencies(read.c_synthetic_data.reset_index(drop=True), out)
    rules.compute()
    found |= {r["Inconsistency Group"].lower(): r["Percent Records Inconsistent"] for r in rules.report_data["summary"]}
    found["exact"] = unique_exact_matches(read.c_target_data, read.c_synthetic_data)[1]
    quasi = [n for n in ("SEX", "MSP", "RAC1P", "OWN_RENT", "EDU", "PUMA", "INDP_CAT", "HISP") if n in read.features]
    matched = cellchange(read.c_synthetic_data, read.c_target_data, quasi, [])[3]
    found["apparent"] = 100 * len(matched) / len(read.c_target_data)
    return found


def off_diagonal(differences: pd.DataFrame) -> float:
    """Return the mean size of differences between pairs of columns."""
    values = np.abs(differences.to_numpy(float))
    return float(values[~np.eye(len(values), dtype=bool)].mean())


def main() -> None:
    """Read, make and write, attack, or score."""
    if sys.argv[1] == "sdnist":
        print("\n" + json.dumps(scored(Path(sys.argv[2]), Path(sys.argv[3]))))
        return
    if sys.argv[1] == "anonymeter":
        print(json.dumps(attacked(Path(sys.argv[2]), json.loads(sys.argv[3]))))
        return
    if sys.argv[1] == "opendp":
        by_opendp(*sys.argv[2:5], float(sys.argv[5]), sys.argv[6])
        return
    method, people, out, domain, seed, epsilon = sys.argv[1:]
    table = pd.read_csv(people, keep_default_na=False)
    begun = time.process_time()
    if method == "arf":
        made = by_forest(table, int(seed))
    else:
        made = by_marginals(table, json.loads(Path(domain).read_text()), method, int(seed), float(epsilon))
    seconds = time.process_time() - begun
    made.to_csv(out, index=False)
    print(seconds)


if __name__ == "__main__":
    main()
