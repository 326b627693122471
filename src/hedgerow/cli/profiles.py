"""hedgerow profiles: the standards that a release can be held against."""

from __future__ import annotations

from typing import Any

from ..workflow.options import Option
from .console import as_json, say, table
from .options import ConfigFile, command, merged

OPTIONS = (Option("json", bool, "Print the result as JSON."),)


@command(OPTIONS, name=("NAME", "One of them, or a .toml file of your own, to see what it asks."))
def profiles(name: str | None = None, config: ConfigFile = None, **given: Any) -> None:
    """List the standards for --profile, or what one asks."""
    from dataclasses import asdict

    from ..profiles import Profile

    options = merged(given, config, OPTIONS)
    shown = [Profile.load(each) for each in ([name] if name else Profile.names())]
    if options.get("json"):
        as_json({profile.name: asdict(profile) for profile in shown})
        return
    if name is None:
        rows = [(p.name, p.date, str(p.k) if p.k > 1 else "-", p.title) for p in shown]
        table(rows, ("name", "date", "k", "standard"))
        return
    profile = shown[0]
    say(f"{profile.title}: {profile.source}, {profile.date}.")
    if profile.note:
        say(profile.note)
    say()
    for each in profile.criteria:
        ground = "no threshold named; this one is Hedgerow's" if each.ours else f"read: {each.read}"
        asked = f"{each.statistic} {each.threshold}".rstrip()
        say(f"- {each.asks} [{each.clause}] {asked} ({ground})")
