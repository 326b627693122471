"""An audit as a page of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Audit


def percent(value: float | None) -> str:
    """A share as text."""
    return "-" if value is None else f"{100 * value:.1f}%"


def figure(value: float | None) -> str:
    """A number as short text."""
    return "-" if value is None else f"{value:.3g}"


def summary(audit: Audit) -> str:
    """The figures that decide, original beside release."""
    table, release, before = audit.table, audit.risk["release"], audit.risk["original"]
    lines = [
        f"{table['rows']} rows, {table['suppressed']} left out; quasi-identifiers: "
        + ", ".join(table["quasi"]),
        "",
        f"{'Risk':44}{'original':>12}{'release':>12}",
    ]
    for title, section, key, show in (
        ("k (smallest class)", "classes", "k", str),
        ("k when * and missing match anything", "classes", "wildcard_k", str),
        ("classes", "classes", "classes", str),
        ("records that are unique", "classes", "unique_share", percent),
        ("highest re-identification risk", "prosecutor", "highest", percent),
        ("average re-identification risk", "prosecutor", "average", percent),
    ):
        one, two = _section(before, section), _section(release, section)
        lines.append(f"{title:44}{show(one[key]):>12}{show(two[key]):>12}")
    for name, column in release["sensitive"].items():
        other = before["sensitive"][name]
        lines += ["", f"Sensitive column {name!r}"]
        rows = [
            ("disclosure, mean over classes", "mean_groups"),
            ("disclosure, mean over records", "mean_records"),
            ("disclosure, worst class", "worst"),
        ]
        for title, key in rows:
            lines.append(
                f"  {title:42}{percent(other['disclosure'][key]):>12}"
                f"{percent(column['disclosure'][key]):>12}"
            )
        for title, key in (
            ("different values in a class, fewest", "distinct_l"),
            ("largest share of one value", "alpha"),
            ("t-closeness", "t_equal"),
        ):
            lines.append(f"  {title:42}{figure(other[key]):>12}{figure(column[key]):>12}")
        for tolerance, found in (column.get("matching") or {}).items():
            share = f"best guess within {float(tolerance):.0%} (public {percent(found['public'])})"
            lines.append(
                f"  {share:42}{percent(other['matching'][tolerance]['release']):>12}"
                f"{percent(found['release']):>12}"
            )
    if audit.attacks:
        head = f"{'original':>10}{'release':>10}{'control':>10}{'public':>10}"
        lines += ["", f"{'Attack success':44}{head}"]
        for attack in audit.attacks:
            name = f"{attack['attack']}, {attack['learner']}: {attack['target']}"
            public = max(attack["public_best"], attack["random_row"])
            lines.append(
                f"{name[:43]:44}{percent(attack['original']):>10}"
                f"{percent(attack['success']):>10}{percent(attack['control']):>10}"
                f"{percent(public):>10}"
            )
        lines.append(
            "Linking's control: people whose own record was withheld and who are linked all "
            "the same; the higher, the less a link can be trusted."
        )
    loss = audit.utility["loss"]
    lines += [
        "",
        "Utility",
        f"{'certainty lost (NCP, 0 none, 1 all)':44}{figure(loss['ncp']):>12}",
        f"{'cells changed':44}{percent(loss['cells_changed']):>12}",
        f"{'average class size':44}{figure(loss['average_class_size']):>12}",
        f"{'error of counting queries (median)':44}"
        f"{percent(audit.utility['queries']['range']['median']):>12}",
    ]
    for row in audit.utility["learning"]:
        key = "accuracy" if "accuracy" in row["release"] else "r2"
        lines.append(
            f"{row['estimator'] + ' on ' + row['target'] + ', ' + key:44}"
            f"release {figure(row['release'][key])}, original {figure(row['original'][key])}"
            f", constant {figure(row['constant'][key])}"
        )
    lines += ["", *(f"Note: {note}" for note in table["notes"])]
    return "\n".join(lines).rstrip()


def _section(risk: Any, name: str) -> Any:
    return risk["classes"] if name == "classes" else risk["reidentification"][name]
