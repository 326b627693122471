"""An audit as a page of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..audit.inference import corrected_in_words
from ..display import Rows, aligned, face, fitted
from ..measures.guarantees import BEYOND
from ..notation import figure, number, percent
from . import figures
from .figures import WIDE, at, count, standard_lines


def summary(audit: Mapping[str, Any]) -> str:
    """The figures of `Audit.to_dict()` that decide, original beside release."""
    table = audit["table"]
    lines = [f"{rows_in_words(table)}; quasi-identifiers: " + ", ".join(table["quasi"])]
    lines += [*(f"- not bounded: {text}" for text in audit.get("unbounded", ())), ""]
    notes = [f"Note: {note}" for note in table["notes"]]
    if table["alone"] and notes:  # which say whether groups of equal cells say anything
        lines, notes = [*lines, *notes, ""], []
    judged = {"linkage": _linkage, "classes": _classes, "attacks": _apart}[table["yardstick"]]
    lines += judged(audit)
    lines += [line for text in others(audit["risk"]) for line in ("", text)]
    lines += _special(audit)
    lines += _disclosed(audit)
    lines += [*_together(audit["risk"].get("composition"))]
    lines += [*_attacks(audit), *_utility(audit["utility"]), *figures.estimates(audit)]
    lines += ["", *notes]
    lines += ["", *standard_lines(audit["profile"])] if audit.get("profile") else []
    lines += [f"Not measured: {line}" for line in audit["not_measured"][: int(table["alone"])]]
    return "\n".join(lines).rstrip()


def rows_in_words(table: Mapping[str, Any]) -> str:
    """How many rows stand against how many, and whether they are compared one by one."""
    if table["paired"]:
        return f"{table['rows']:,} rows, {table['suppressed']:,} left out"
    if table["alone"]:
        return f"{table['rows']:,} released rows, compared with no original"
    return (
        f"{table['rows']:,} released rows, not paired with the {table['original_rows']:,} of the "
        f"original; {table['strangers']:,} people took no part"
    )


APART = (
    "Released rows belong to nobody, or nobody can tell to whom: the release is judged by what "
    "attacks find of people who took part and not of people who took no part."
)


def _apart(audit: Mapping[str, Any]) -> Iterator[str]:
    """Groups of equal cells say nothing of rows that are nobody's."""
    yield APART
    if not audit["attacks"]:
        yield "No attacks were run (--attacks), so nothing is known of its risk."


def _classes(audit: Mapping[str, Any]) -> Iterator[str]:
    """Risk by classes of equal cells."""
    release, before = audit["risk"]["release"], audit["risk"]["original"]
    yield f"{'Risk':{WIDE}}{'original':>12}{'release':>12}"
    for title, one, two, _ in risk_rows(before, release, "prosecutor", "journalist"):
        yield f"{title:{WIDE}}{one:>12}{two:>12}"
    for name, column in release["sensitive"].items():
        yield from ("", f"Sensitive column {name!r}")
        yield from _told(at(before, "sensitive", name), column)


def others(risk: Mapping[str, Any], digits: int = 1) -> Iterator[str]:
    """How much columns without a role give away."""
    other = risk.get("other")
    if other and other["together"]:
        names, alone = ", ".join(other["columns"]), other["unique"]
        told = f"{percent(alone, digits)} of the records are" if alone else "No record is"
        yield (
            f"{told} alone by the file's other columns ({names}); together with the "
            f"quasi-identifiers {percent(other['together'], digits)} are."
        )


INTRUDERS = {
    "prosecutor": "knows that the person is in the table",
    "journalist": "does not know who of the population is in the table",
    "marketer": "wants to identify as many people as possible",
}


def risk_rows(
    before: Mapping[str, Any] | None, after: Mapping[str, Any], *models: str
) -> Iterator[tuple[str, str, str, str]]:
    """Title, original, release, what it says; of all intruders where none is named."""
    for title, key, show, says in (
        (
            "k (smallest group)",
            "k",
            figure,
            "every person shares the released "
            "quasi-identifiers with at least k - 1 others; missing equals missing",
        ),
        (
            "k in people",
            "people",
            figure,
            "people of the smallest group; 1 where one has more than half of its records",
        ),
        (
            "k in households",
            "households",
            figure,
            "different households in the smallest group",
        ),
        (
            "k when * and missing match anything",
            "wildcard_k",
            figure,
            "a more lenient count, for tables with suppressed cells",
        ),
        ("groups", "classes", figure, "groups of equal released quasi-identifiers"),
        ("records that are unique", "unique_share", percent, "alone in their group"),
    ):
        one, two = at(before, "classes", key), after["classes"][key]
        if two is not None:  # unless every record is a person
            yield title, "-" if one is None else show(one), show(two), says
    for model in models or INTRUDERS:
        for key, words, write in (
            ("highest", "highest risk", percent),
            ("average", "average risk", percent),
            ("above", "records above the threshold", percent),
            ("expected", "expected re-identifications", count),
        ):
            one, two = (at(side, "reidentification", model, key) for side in (before, after))
            if two is not None:
                told = f"intruder {INTRUDERS[model]}"
                yield f"{model}, {words}", write(one), write(two), told
    yield from figures.population_rows(before, after)


def _told(before: Mapping[str, Any] | None, release: Mapping[str, Any]) -> Iterator[str]:
    """How much the classes give away about one sensitive column."""
    for title, key in (
        ("disclosure, mean over groups", "mean_over_groups"),
        ("disclosure, mean over records", "mean_over_records"),
        ("disclosure, worst group", "worst"),
    ):
        one, two = at(before, "disclosure", key), release["disclosure"][key]
        yield f"  {title:{WIDE - 2}}{figure(one):>12}{figure(two):>12}"
    for title, key in (
        ("different values in a group, fewest", "distinct_l"),
        ("largest share of one value", "alpha"),
        (f"t-closeness, {release['t_distance']} distances", "t"),
    ):
        yield f"  {title:{WIDE - 2}}{figure(at(before, key)):>12}{figure(release[key]):>12}"
    for tolerance, found in (release["matching"] or {}).items():
        share = f"best guess {found['means']} (public {percent(found['public'])})"
        one = at(before, "matching", tolerance, "release")
        yield f"  {share:{WIDE - 2}}{percent(one):>12}{percent(found['release']):>12}"


def _linkage(audit: Mapping[str, Any]) -> Iterator[str]:
    """Risk of altered records: how well they are linked with their originals."""
    linkage = audit["risk"]["linkage"]
    yield "Values were altered: records are judged by how well they are linked with their originals."
    yield ""
    yield f"{'Risk':44}{'original':>12}{'release':>12}{'at random':>12}"
    for attack in linkage["attacks"]:
        title = f"people linked by {_how(attack)} linkage"
        yield (
            f"{title:44}{percent(attack['original']):>12}{percent(attack['success']):>12}"
            f"{percent(attack['public_best']):>12}"
        )
    for title, share in score_rows(linkage["scores"]):
        yield f"{title:56}{share:>12}"
    if linkage["scores"] is None:
        yield NO_SCORES
    yield from guesses(linkage.get("reconstructed"))


def _how(attack: Mapping[str, Any]) -> str:
    return {"distance": "distance-based"}.get(attack["learner"], attack["learner"])


def score_rows(scores: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The scores of numeric columns, as titles and text."""
    if scores is None:
        return []
    return [
        (title, percent(scores[key] / 100))
        for title, key in (
            ("all records linked by distance, numbers (DLD)", "dld"),
            ("all records linked by probability, numbers (PLD)", "pld"),
            ("originals inside their rank interval (ID)", "id"),
            ("disclosure risk of the numbers (DR)", "dr"),
            ("information loss of the numbers (IL)", "il"),
            ("score, half IL and half DR", "score"),
        )
    ]


def guesses(found: Mapping[str, Any] | None) -> Iterator[str]:
    """What a reader guesses who reconstructs the counts of a randomized release."""
    if found is None:
        return
    for name, column in found["columns"].items():
        exactly = "" if column["means"] == "exact" else f" {column['means']}"
        yield (
            f"A reader who reconstructs the counts of groups guesses {name!r}{exactly} right for "
            f"{percent(column['worst'])} of the people of the worst group, and for "
            f"{percent(column['right'])} on average ({found['groups']:,} groups of at least "
            f"{found['least']} records)."
        )


NO_SCORES = (
    "DLD and PLD were not computed: they link by numeric columns that are released as numbers, in "
    "records without a missing cell."
)
SPECIAL: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("records that few columns single out", "records", figure),
    ("mean SUDA score", "mean_score", figure),
    ("highest SUDA score", "highest_score", figure),
    ("highest DIS-SUDA", "highest_dis", figure),
)


def special_rows(special: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Special uniques of original and release: a title and two figures as text."""
    if not special:
        return []
    before, after = special["original"], special["release"]
    rows = [
        (title, "-" if before is None else show(before[key]), show(after[key]))
        for title, key, show in SPECIAL
    ]
    for k, n in enumerate(after["by_size"], 1):
        was = "-" if before is None else f"{before['by_size'][k - 1]:,}"
        rows.append((f"minimal uniques of {k} column{'s' if k > 1 else ''}", was, f"{n:,}"))
    return rows


def _special(audit: Mapping[str, Any]) -> Iterator[str]:
    """Records that few columns single out, and which columns do."""
    special = audit["risk"].get("special_uniques")
    rows = special_rows(special)
    if special and rows:
        yield ""
        title = f"Special uniques of up to {special['size']} columns"
        yield f"{title:{WIDE}}{'original':>12}{'release':>12}"
        for title, one, two in rows:
            yield f"{title:{WIDE}}{one:>12}{two:>12}"
        parts = special["release"]["by_column"].items()
        told = ", ".join(f"{name} {percent(part)}" for name, part in parts if part)
        if told:
            yield f"Part of the release's scores by column: {told}."


def _disclosed(audit: Mapping[str, Any]) -> Iterator[str]:
    """Disclosure by groups, inference by learners, and the member advantage, side by side."""
    risk = audit["risk"]
    rows = three_numbers(risk, audit["table"]["yardstick"] == "classes")
    if rows:
        yield ""
        yield f"Disclosure (0 none, 1 all): {'; '.join(THREE[:2])}."
        yield from fitted(rows, ("column", *SHORT))
    if rows and not risk["inference"] and not audit["table"]["alone"]:
        yield "What learners infer was not measured: it takes attacks (--attacks)."
    yield from corrected_lines(risk)
    yield from risk["inference"]["notes"] if risk["inference"] else ()
    yield from refusals_in_words(risk.get("knows_method"))


def refusals_in_words(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Say what somebody concludes who knows which finer groups the method refused."""
    if not found:
        return
    groups, people, worst = found["groups"], found["people"], found["worst"]
    if not groups["refused"]:
        yield "No finer group was refused, so knowing the method adds nothing to what groups give away."
        return
    yield BEYOND
    left = groups["refused"] - groups["asked"]
    if left:
        yield f"{left:,} of {groups['refused']:,} such groups were not looked at."
    if worst is None:
        return
    low, high = people["at_least"], people["at_most"]
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    ends = [figure(end) for end in worst["interval"]]
    sampled = f" ({' to '.join(ends)})" if ends[0] != ends[1] else ""
    yield (
        f"The worst refused part has {worst['people']:,} people and gives away {figure(worst['disclosure'])}"
        f"{sampled}; its group of {worst['group']:,} shows {figure(worst['shown'])}. {many} of the "
        f"{people['asked']:,} people looked at are in parts above the cap of {number(found['cap'])}."
    )


def corrected_lines(risk: Mapping[str, Any]) -> list[str]:
    """Per sensitive column the worst group that a learner corrects, where it was measured."""
    columns = (risk["inference"] or {"columns": {}})["columns"]
    return [line for name, each in columns.items() for line in corrected_in_words(name, each)]


THREE = ("groups: worst, mean", "inferred: members, worst tenth, strangers", "member advantage")
"""The three numbers of disclosure: by groups, by learners, and about members beyond strangers."""
SHORT = ("groups", "inferred", "advantage")
"""Their names in a narrow table."""


def three_numbers(risk: Mapping[str, Any], classes: bool) -> list[tuple[str, str, str, str]]:
    """Per sensitive column its name and the `THREE` as text; "not measured" where they were not.

    Parameters
    ----------
    risk : mapping
        As `Audit.to_dict` has it.
    classes : bool
        Whether classes of equal cells mean anything: not where values were altered.
    """
    rows = []
    for name, column in risk["release"]["sensitive"].items():
        told = column["disclosure"]
        groups = f"{figure(told['worst'])}, {figure(told['mean_over_groups'])}" if classes else "-"
        rows.append((name, groups, *_inferred((risk["inference"] or {"columns": {}}), name)))
    return rows


def _inferred(found: Mapping[str, Any], name: str) -> tuple[str, str]:
    """What learners infer of a column, and the member advantage with its interval."""
    column = found["columns"].get(name)
    if column is None:
        return "not measured", "not measured"
    own, worst = column["members"]["explained"], column["worst_tenth"]["explained"]
    if column["strangers"] is None:
        return f"{figure(own)}, {figure(worst)}, not measured", "not measured"
    low, high = column["advantage"]["interval"]
    return (
        f"{figure(own)}, {figure(worst)}, {figure(column['strangers']['explained'])}",
        f"{figure(column['advantage']['explained'])} [{figure(low)}, {figure(high)}]",
    )


def _together(composition: Mapping[str, Any] | None) -> Iterator[str]:
    """What several releases leave of people who are in them, beside each alone."""
    if composition:
        yield ""
        yield f"What {composition['releases']} releases leave of a person's values, on average"
    for name, rows in together_rows(composition):
        yield ""
        yield from aligned(rows, (f"{name!r}, by", *TOGETHER))
    if composition and not composition["columns"]:
        yield from ("", "No two of the releases share a person and a sensitive column.")


TOGETHER = (
    "records left",
    "fewer than k",
    "values left",
    "value certain",
    "disclosure: worst, mean",
)
"""The figures of several releases together."""


def together_rows(
    composition: Mapping[str, Any] | None,
) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Per sensitive column each release and all of them, with the `TOGETHER` as text."""
    out = []
    for name, column in (composition or {"columns": {}})["columns"].items():
        rows: list[tuple[str, ...]] = []
        for found in (*column["alone"], column["together"]):
            told = found["disclosure"]
            rows.append(
                (
                    found.get("release", "all of them together"),
                    figure(found["records"]),
                    percent(found["fewer_than_k"]),
                    figure(found["values"]),
                    percent(found["certain"]),
                    f"{figure(told['worst'])}, {figure(told['mean'])}" if told else "-",
                )
            )
        out.append((name, rows))
    return out


def _attacks(audit: Mapping[str, Any]) -> Iterator[str]:
    attacks, paired = audit["attacks"], audit["table"]["paired"]
    if not attacks:
        return
    head = f"{'original':>9}{'release':>8}{'control':>8}{'public':>8}  over control"
    yield from ("", f"{'Attack success':20}{head}")
    said = None
    for attack in attacks:
        if (attack["attack"], attack["target"]) != said:
            said = attack["attack"], attack["target"]
            yield f"{said[0]}: {said[1]}"
        public = max(attack["public_best"], attack["random_row"])
        yield (
            f"  {attack['learner'][:18]:18}{percent(attack['original']):>9}"
            f"{percent(attack['success']):>8}{percent(attack['control']):>8}"
            f"{percent(public):>8}{_over_control(attack)}"
        )
    named = {a["target"]: a["success_means"] for a in attacks if a["attack"] == "regression"}
    if named:
        means = ", ".join(f"{target} {words}" for target, words in named.items())
        yield f"Regression succeeds by naming {means}."
    if any(attack["attack"] == "linking" for attack in attacks) and paired:
        yield (
            "Linking's control: people whose own record was withheld and who are linked all "
            "the same; the higher, the less a link can be trusted."
        )
    if audit["risk"]["nearest"]:
        yield from nearest_in_words(audit["risk"]["nearest"])
    yield from found_members(attacks)


def _over_control(attack: Mapping[str, Any]) -> str:
    """The gain of an attack over its control, with its interval."""
    if attack["over_control"] is None:
        return ""
    low, high = (percent(end) for end in attack["over_control_interval"])
    return f"  {percent(attack['over_control'])} ({low} to {high})"


def found_members(attacks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many people an intruder finds in the table who seldom takes others for members."""
    told = [a for a in attacks if a["learner"] == "strongest" and a["found"]]
    if not told:
        return
    yield (
        "Membership: shown one person of the table and one who is not in it, the attack names the "
        "right one so often; a coin does in 50%. The strongest was chosen on one half of the people "
        "and measured on the other."
    )
    best = told[-1]  # the one that knows most
    alarms, found = next(iter(best["found"].items()))
    low, high = (percent(end) for end in found["interval"])
    yield (
        f"An intruder who wrongly takes {percent(float(alarms))} of strangers for members finds "
        f"{percent(found['share'])} ({low} to {high}) of the members, by the {best['target']}."
    )


def nearest_in_words(nearest: Mapping[str, Any]) -> Iterator[str]:
    """How near the nearest released record lies, and why that says little."""
    if nearest["closer"] is not None:
        low, high = nearest["interval"]
        yield (
            f"A released record is nearer to a member than to somebody who took no part in "
            f"{percent(nearest['closer'])} ({percent(low)} to {percent(high)}) of the cases; chance "
            "gives 50%."
        )
    yield nearest["warning"]


def _utility(utility: Mapping[str, Any]) -> Iterator[str]:
    loss = utility["loss"]
    if loss is None:
        return
    yield from ("", "Utility")
    for title, text in (
        ("certainty lost (NCP, 0 none, 1 all)", figure(loss["ncp"])),
        ("cells changed", percent(loss["cells_changed"])),
        ("average group size", figure(loss["average_class_size"])),
        (
            "error of counting queries (median)",
            percent(utility["queries"]["range"]["median"]),
        ),
    ):
        if text != "-":
            yield f"{title:44}{text:>12}"
    for row in utility["learning"]:
        key = "accuracy" if "accuracy" in row["release"] else "r2"
        yield (
            f"{row['estimator'] + ' on ' + row['target'] + ', ' + key:44}"
            f"release {figure(row['release'][key])}, original {figure(row['original'][key])}"
            f", constant {figure(row['constant'][key])}"
        )


_ATTACKS = ("attack", "by", "about", "original", "release", "control", "public totals")


def audit_face(audit: Mapping[str, Any]) -> str:
    """HTML of `Audit.to_dict()`; shares and counts, no value of a person.

    Parameters
    ----------
    audit : mapping
        What was measured.
    """
    table, risk, attacks = audit["table"], audit["risk"], audit["attacks"]
    risk_model = table["yardstick"]
    told, tables = [f"Quasi-identifiers: {', '.join(table['quasi'])}."], list[Rows]()
    if risk_model == "classes":
        rows = [row[:3] for row in risk_rows(risk["original"], risk["release"], "prosecutor")]
        tables.append(("", ("risk", "original", "release"), rows))
    elif risk_model == "linkage":
        told.append("Values were altered: records are judged by how well they are linked again.")
        found = risk["linkage"]
        tables.append(
            (
                "",
                ("people linked by", "original", "release", "at random"),
                [
                    (a["learner"], *map(percent, (a["original"], a["success"], a["public_best"])))
                    for a in found["attacks"]
                ],
            )
        )
        tables.append(("", ("score", "release"), score_rows(found["scores"])))
    else:
        told.append(APART)
    three = three_numbers(risk, risk_model == "classes")
    tables.append(("Disclosure: 0 gives away nothing, 1 everything", ("column", *THREE), three))
    if attacks:
        tables.append(
            (
                "How many people each attack is right about",
                _ATTACKS,
                [
                    (
                        a["attack"],
                        a["learner"],
                        a["target"],
                        percent(a["original"]),
                        percent(a["success"]),
                        percent(a["control"]),
                        percent(max(a["public_best"], a["random_row"])),
                    )
                    for a in attacks
                ],
            )
        )
    else:
        told.append("No attack was tried.")
    told += [f"Not bounded: {text}." for text in audit["unbounded"]]
    return face(f"Audit: {rows_in_words(table)}", told, *tables, notes=table["notes"])
