"""hedgerow score: what a masked file lost, and what it still gives away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from ..workflow.options import Option
from .console import as_json, say, table
from .options import FORMATS, ConfigFile, command, merged
from .progress import working
from .schema import READING

OPTIONS = (
    Option("columns", list, "Columns to compare, in the order in which an intruder learns them."),
    Option("known", int, "How many of them the intruder knows; half, rounded up, by default."),
    Option("records", int, "Link at most this many records, drawn at random; 20000 by default."),
    Option("random_state", int, "Draws the records to link; 0 by default."),
    *READING,
    Option("json", bool, "Print the result as JSON."),
)

PAIRED = {
    "release": "what the release knows",
    "order": "their order, which was tested",
    "columns": "columns that were left as they were",
    "nothing": "their order, which nothing shows to be right",
}


@command(
    OPTIONS,
    original=("ORIGINAL", f"The table before masking: {FORMATS}."),
    masked=("MASKED", "The masked file, or the folder of a release."),
)
def score(original: str, masked: str, config: ConfigFile = None, **given: Any) -> None:
    """Judge a masked file: information loss and disclosure risk.

    Any masked file will do, whoever made it. Row i of one file must belong to row i of the
    other, which is tested; a release folder that holds its mapping (protect --mapping) knows
    its rows. The numeric columns that both have are compared. Low figures are good.
    """
    from ..audit.score import score as score_files

    options = merged(given, config, OPTIONS)
    plain = options.pop("json", False)
    with working("scoring"):
        found = score_files(original, masked, **options)
    if plain:
        as_json(found.to_dict())
        return
    loss = found.loss
    n = len(found.columns)
    compared = "1 numeric column" if n == 1 else f"{n} numeric columns"
    known = "1 column" if found.known == 1 else f"1 to {found.known} columns"
    say(f"{found.rows:,} complete records, {compared} compared.")
    if found.linked < found.rows:
        say(f"{found.linked:,} of the records were drawn and linked.")
    say(f"Records were paired by {PAIRED[found.paired_by]}.")
    say()

    def scales(deviations: Sequence[float], ranks: Sequence[float]) -> Iterator[Any]:
        yield "    deviations", fmean(deviations), "by each file's own, as in the papers"
        yield "    ranks", fmean(ranks), "of the original, which no single value moves"

    rows = [
        ("score", found.score, "half information loss, half disclosure risk"),
        ("information loss", found.il, "mean of the five parts below"),
        ("  cells", loss.cells, "mean |x - x'| / |x|, unbounded"),
        ("  means", loss.means, "relative change"),
        ("  covariances", loss.covariances, "relative change"),
        ("  variances", loss.variances, "relative change"),
        ("  correlations", loss.correlations, "absolute change"),
        ("disclosure risk", found.dr, "1/4 distance + 1/4 probabilistic + 1/2 interval"),
        ("  distance", found.dld, f"records linked, {known} known: the larger of"),
        *scales(found.distance, found.distance_ranks),
        ("  probabilistic", found.pld, f"records linked, {known} known: the larger of"),
        *scales(found.probabilistic, found.probabilistic_ranks),
        ("  interval", found.id, "originals within 1 to 10% of the ranks around"),
    ]
    table([(name, f"{value:.2f}", what) for name, value, what in rows], ("measure", "%", "of what"))
