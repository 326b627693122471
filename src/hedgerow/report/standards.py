"""What a standard asks and what was found, as rows and sentences; it imports little, for the studio's server."""

from __future__ import annotations

from collections.abc import Iterator

from ..profiles import ProfileData
from ..texts import text, texts

# the headings of `criterion_rows`
STANDARD_HEADS = texts("heads")["standard"]


def standard_verdict(profile: ProfileData | None) -> list[str]:
    """Return the verdict on a standard as a sentence for the first screen; empty if none was named."""
    if not profile:
        return []
    states = [row["state"] for row in profile["criteria"]]
    counts = ", ".join(f"{states.count(state)} {words}" for state, words in texts("states").items() if state in states)
    criteria = f"{len(states)} {'criteria' if len(states) > 1 else 'criterion'}"
    sentence = f"{profile['title']} ({profile['date']}): of {criteria} {counts}."
    if not (homes := profile.get("households")):
        return [sentence]
    return [f"{sentence} {text('summary', 'households', **homes, finder=texts('finders')[homes['by']])}"]


def criterion_rows(profile: ProfileData) -> Iterator[tuple[str, ...]]:
    """Yield a row per criterion: the question, its clause, threshold, figure, state and notes."""
    for row in profile["criteria"]:
        # more digits than elsewhere: it is compared with a threshold
        reached = "-" if row["figure"] is None else f"{row['figure']:.4g}"
        details = row["detail"], ground(row["ours"], row["read"], row["threshold"])
        threshold, detail = row["threshold"] or "none named", "; ".join(filter(None, details))
        yield row["asks"], row["clause"], threshold, reached, row["state"], detail


def ground(ours: bool, read: str, threshold: str) -> str:
    """Return words on how reliable a threshold is; empty if it was read in its source."""
    if ours:
        return "the source names no threshold, and this is Hedgerow's reading"
    return str(texts("sources")[read]) if threshold else ""


def standard_lines(profile: ProfileData) -> Iterator[str]:
    """Yield the results for a standard, as lines for the terminal."""
    yield from standard_verdict(profile)
    yield f"Source: {profile['source']}, {profile['date']}. {profile['note']}".rstrip()
    for asks, clause, threshold, reached, state, detail in criterion_rows(profile):
        yield f"- {state.upper()}: {asks} [{clause}] {threshold}; reached {reached}. ({detail})"
