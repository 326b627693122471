"""Who knows the method, against an enumerator by the definitions and against the methods themselves."""

from __future__ import annotations

import html
import itertools
import warnings
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks import knows_method as attack
from hedgerow.auditing.attacks.knows_method import Values, agreeing, knows_method, list_tables, posterior
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.io.read import read
from hedgerow.measures.guarantees import BEYOND, from_promise

# ---------------------------------------------------------------- the definitions, in fractions


def disclosure(counts, public, numbers):
    """Disclosure of (expected) counts by value, the largest of the scores, by promise.md."""
    whole, n = sum(public.values()), sum(counts.values())
    values = sorted(public)
    vectors = {"brier": {v: [int(v == w) for w in values] for v in values}}
    if numbers:
        below, cuts = list(itertools.accumulate(public[v] for v in values)), set()
        for b in range(1, 16):
            cuts.add(next(i for i, total in enumerate(below) if 16 * total >= b * whole))
        for i, v in enumerate(values):
            if 16 * public[v] > whole:
                cuts |= {i, i - 1}
        cuts = sorted(c for c in cuts if 0 <= c < len(values) - 1)
        cell = {v: sum(i > c for c in cuts) for i, v in enumerate(values)}
        vectors = {
            "squared": {v: [v] for v in values},
            "ranked": {v: [int(i <= c) for c in cuts] for i, v in enumerate(values)},
            "local": {v: [int(cell[v] == c) for c in range(len(cuts) + 1)] for v in values},
        }
    most = Fraction(0)
    for of in vectors.values():
        size = len(of[values[0]])
        mean = [Fraction(sum(of[v][j] * public[v] for v in values), whole) for j in range(size)]
        loss = {v: sum((of[v][j] - mean[j]) ** 2 for j in range(size)) for v in values}
        floor = sum(loss[v] * public[v] for v in values) / whole / 4
        here = [sum(of[v][j] * c for v, c in counts.items()) / Fraction(n) for j in range(size)]
        gain = n * sum((a - b) ** 2 for a, b in zip(here, mean, strict=True))
        against = sum(c * max(loss[v], floor) for v, c in counts.items())
        most = max(most, gain / against if against else 0)
    return most


def tally(values):
    return {v: values.count(v) for v in set(values)}


def assignments(values):
    """Every different order of the values."""
    if not values:
        yield ()
        return
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        for others in assignments(rest):
            yield (first, *others)


def tried(columns, rows, k):
    """The left sides that MART tries by each column: thresholds of numbers, subsets of categories."""
    sides = set()
    for column in columns:
        present = sorted({column[i] for i in rows})
        chosen = (
            [set(present[:i]) for i in range(1, len(present))]
            if not isinstance(present[0], str)
            else [set(some) for size in range(1, len(present)) for some in itertools.combinations(present, size)]
        )
        for left in chosen:
            side = tuple(column[i] in left for i in rows)
            if k <= sum(side) <= len(rows) - k:
                sides.add(side if side[0] else tuple(not s for s in side))
    return sorted(sides)


def refused(values, side, public, cap, numbers, needs_gain):
    """Whether the method refuses a split of these values."""
    left = [v for v, s in zip(values, side, strict=True) if s]
    right = [v for v, s in zip(values, side, strict=True) if not s]
    if needs_gain and numbers and Fraction(sum(left), len(left)) == Fraction(sum(right), len(right)):
        return True
    if needs_gain and not numbers:
        shares = [{v: Fraction(c, len(p)) for v, c in tally(p).items()} for p in (left, right)]
        if shares[0] == shares[1]:
            return True
    return max(disclosure(tally(p), public, numbers) for p in (left, right)) > cap


def enumerated(values, parts, consistent, public, numbers):
    """The posterior disclosure of every part, by listing every assignment."""
    seen, ways = [dict.fromkeys(set(values), 0) for _ in parts], 0
    for each in assignments(list(values)):
        if consistent(each):
            ways += 1
            for expected, side in zip(seen, parts, strict=True):
                for v, s in zip(each, side, strict=True):
                    expected[v] += s
    told = [{v: Fraction(c, ways) for v, c in expected.items()} for expected in seen]
    return [float(disclosure(expected, public, numbers)) for expected in told]


# ---------------------------------------------------------------- small tables


def wards(k, ill, of_a, a, b, elsewhere=20_000):
    sick = [1] * of_a + [0] * (a - of_a) + [1] * (ill - of_a) + [0] * (b - ill + of_a)
    rest = [1] * round(0.08 * elsewhere)
    rest += [0] * (elsewhere - len(rest))
    ward = ["A"] * a + ["B"] * b + ["C"] * elsewhere
    table = pd.DataFrame({"ward": ward, "ill": np.where([*sick, *rest], "yes", "no")})
    schema = hr.Schema(quasi=["ward"], sensitive=["ill"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return table, hr.protect(table, schema, hr.MART(k=k))


@cache
def audited(*parameters):
    table, release = wards(*parameters)
    return table, release, hr.audit(table, release, learning=False, inference=False, learners=["nearest"])


def tiny(seed):
    """A table of few people, a cap, and whether its sensitive column holds numbers."""
    rng = np.random.default_rng(seed)
    n, numbers = int(rng.integers(9, 14)), seed % 2 == 1
    pool = [0.0, 1.0, 2.0, 4.0] if numbers else ["no", "some", "yes"]
    y = [pool[0], pool[-1], *rng.choice(pool, n - 2, p=[0.6, *[0.4 / (len(pool) - 1)] * (len(pool) - 1)])]
    table = pd.DataFrame(
        {
            "age": rng.choice([20, 30, 40, 50], n),
            "job": rng.choice(["cook", "nurse", "clerk"], n),
            "y": [float(v) for v in y] if numbers else [str(v) for v in y],
        }
    )
    schema = hr.Schema(
        quasi=["age", "job"], sensitive=["y"], kinds={"age": "numeric", "y": "numeric" if numbers else "categorical"}
    )
    return table, schema, float(rng.choice([0.25, 0.4, 0.6])), numbers


METHODS = {
    "MART": lambda d: hr.MART(k=2, max_disclosure=d),
    "regression": lambda d: hr.Mondrian(k=2, objective="regression", max_disclosure=d),
    "information gain": lambda d: hr.Mondrian(k=2, objective="information_gain", max_disclosure=d),
    "median": lambda d: hr.Mondrian(k=2, max_disclosure=d),
    "loss": lambda d: hr.Mondrian(k=2, objective="loss", max_disclosure=d),
    "Hedge": lambda d: hr.Hedge(k=2, max_disclosure=d, screen=False),
}


def protected(table, schema, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hr.protect(table, schema, method, guard=None)


def node_and_split(table, schema, method, rows):
    """The left child of the node of the uncapped tree that holds these rows, from its plan."""
    plan = protected(table, schema, method.copy().set_params(max_disclosure=None)).plan.recoding
    split, right = list(plan.split), list(plan.right)
    names = [c.name for c in plan.columns]
    reached = {0: list(range(len(table)))}
    for node in range(len(split)):
        here = reached[node]
        if split[node] < 0:
            continue
        column = table[names[split[node]]].tolist()
        inside = (
            (lambda v, node=node: v in plan.subsets[plan.subset[node]])
            if plan.subset[node] >= 0
            else (lambda v, node=node: v < plan.threshold[node])
        )
        left = [i for i in here if inside(column[i])]
        if here == rows:
            return tuple(i in left for i in rows)
        reached[node + 1], reached[right[node]] = left, [i for i in here if i not in left]
    return None


def predicate(table, schema, release, name, d, numbers, rows):
    """The parts of a group that were refused, and whether values agree with that; None without any."""
    cap, y = Fraction(str(d)), [int(v) if numbers else v for v in table["y"]]
    public = tally(y)
    if name == "Hedge":
        cell = release.method.tree_.leaf_of_rows()[rows]
        parts = [tuple((cell == c).tolist()) for c in np.unique(cell)]

        def explains(each):
            cells = ([v for v, s in zip(each, side, strict=True) if s] for side in parts)
            return any(disclosure(tally(c), public, numbers) > cap for c in cells)

        return (parts, explains) if len(parts) > 1 else None
    if name in ("median", "loss"):
        side = node_and_split(table, schema, METHODS[name](d), rows)
        sides = [] if side is None else [side]
    else:
        sides = tried([table["age"].tolist(), table["job"].tolist()], rows, 2)
    gains = name not in ("median", "loss")

    def agrees(each):
        return all(refused(each, side, public, cap, numbers, gains) for side in sides)

    return ([*sides, *(tuple(not s for s in side) for side in sides)], agrees) if sides else None


def by_definition(table, schema, release, name, d, numbers, rows):
    """The parts of a group and their posterior disclosure; None where nothing was refused."""
    asked = predicate(table, schema, release, name, d, numbers, rows)
    if asked is None:
        return None
    y = [int(v) if numbers else v for v in table["y"]]
    return asked[0], enumerated([y[i] for i in rows], *asked, tally(y), numbers)


def attacked(table, schema, release, **options):
    pair = pair_up(read(table, schema=schema), of_release(release))
    asked = [from_promise(p) for p in release.plan.promises]
    column = pair.original.declared_column(schema, "y")
    values = Values.from_columns([column], asked, getattr(release.method, "objective", "") == "information_gain")
    refusals = [r for r in release.method.refused(pair.original, schema) if attack._is_class(r, pair)]
    found = [agreeing(r, values, (0, i), **options) for i, r in enumerate(refusals)]
    return pair, [posterior(each, values.cap) for each in found]


@cache
def cases():
    """Two hundred tables of which some finer group was refused, over all methods."""
    made = []
    for seed in itertools.count():
        table, schema, d, numbers = tiny(seed)
        name = list(METHODS)[seed // 2 % len(METHODS)]
        if name == "information gain" and numbers:
            continue
        release = protected(table, schema, METHODS[name](d))
        pair, found = attacked(table, schema, release)
        if found and max(len(p.rows) for p in found) <= 7:
            made.append((table, schema, d, numbers, name, release, pair, found))
        if len(made) == 200:
            return made


# ---------------------------------------------------------------- what is known


@pytest.mark.parametrize(
    ("k", "ill", "of_a", "a", "b", "shown", "reached"), [(10, 8, 6, 10, 20, 0.146, 0.53), (2, 2, 2, 2, 4, 0.218, 1.0)]
)
def test_the_audit_says_what_a_refused_split_of_wards_gives_away(k, ill, of_a, a, b, shown, reached):
    table, release, measured = audited(k, ill, of_a, a, b)
    assert set(release.table["ward"]) == {f"A:{a}+B:{b}", "C"}
    found = measured.risk["knows_method"]
    assert found["worst"]["shown"] == pytest.approx(shown, abs=0.001)
    assert found["worst"]["disclosure"] == pytest.approx(reached, abs=0.005)
    assert (found["worst"]["people"], found["worst"]["group"]) == (a, a + b)
    assert found["people"] == {"asked": a + b, "at_least": a, "at_most": a}
    assert found["groups"] == {"refused": 1, "asked": 1, "enumerated": 1, "lost": 0}
    if k == 10:  # the posterior of the example: 6, 7 or 8 ill in ward A
        ways = {6: 210 * 190, 7: 120 * 20, 8: 45}
        share = Fraction(sum(i * w for i, w in ways.items()), 10 * sum(ways.values()))
        assert round(float(share), 3) == 0.606
        expected = disclosure({"yes": 10 * share, "no": 10 - 10 * share}, tally(table["ill"].tolist()), False)
        assert found["worst"]["disclosure"] == pytest.approx(float(expected), abs=1e-9)


def test_it_equals_enumeration_by_the_definitions_on_two_hundred_tables():
    compared = above = moved = 0
    for table, schema, d, numbers, name, release, _, found in cases():
        for each in found:
            assert each.exact
            rows = sorted(each.rows.tolist())
            expected = by_definition(table, schema, release, name, d, numbers, rows)
            assert expected is not None, name
            place = [rows.index(i) for i in each.rows.tolist()]
            own = {
                tuple(np.asarray(side)[np.argsort(place)].tolist()): told
                for side, told in zip(each.sides, each.disclosure, strict=True)
            }
            assert own == pytest.approx(dict(zip(*expected, strict=True)), abs=1e-9), name
            compared += len(own)
            above += sum(told > d + 1e-9 for told in own.values())
            moved += sum(abs(told - each.of_group) > 0.05 for told in own.values())
    assert compared > 500
    assert above > 5  # else nothing would be left to find
    assert moved > 40


def test_nothing_is_left_out_where_something_was_refused():
    for table, schema, d, numbers, name, release, pair, found in cases()[:60]:
        known = {tuple(sorted(each.rows.tolist())) for each in found}
        for label in range(pair.classes.n_groups):
            rows = sorted(pair.rows[pair.classes.labels == label].tolist())
            expected = len(rows) <= 8 and by_definition(table, schema, release, name, d, numbers, rows)
            if expected and name != "Hedge":
                assert tuple(rows) in known, name


def test_sampling_agrees_with_enumeration():
    off, inside, all_ = [], 0, 0
    for table, schema, *_, release, _, found in cases()[:100]:
        _, sampled = attacked(table, schema, release, exact=0)
        for true, each in zip(found, sampled, strict=True):
            assert not each.exact
            off += (each.disclosure - true.disclosure).tolist()
            fits = (each.low - 1e-9 <= true.disclosure) & (true.disclosure <= each.high + 1e-9)
            inside += int(fits.sum())
            all_ += len(fits)
    assert np.sqrt(np.mean(np.square(off))) < 0.03
    assert abs(np.mean(off)) < 0.005
    assert inside / all_ > 0.85


@pytest.mark.parametrize("name", ["MART", "median", "Hedge"])
def test_every_assignment_that_gives_the_same_release_agrees(name):
    """The real method on every assignment: what it releases alike is never left out."""
    same = none = 0
    for seed in range(400):
        table, schema, d, numbers = tiny(seed)
        table = table.iloc[:8].reset_index(drop=True)
        if numbers or table["y"].nunique() < 2:
            continue
        release = protected(table, schema, METHODS[name](d))
        pair, found = attacked(table, schema, release)
        if not found or pair.classes.n_groups > 3:
            continue
        groups = [np.flatnonzero(pair.classes.labels == g) for g in range(pair.classes.n_groups)]
        groups = [pair.rows[g] for g in groups]
        y = table["y"].to_numpy()
        ways = list(itertools.product(*(assignments(y[g].tolist()) for g in groups)))
        if len(ways) > 150:
            continue
        cells = release.table[["age", "job"]].astype(str).value_counts().to_dict()
        seen = [np.zeros((len(p.sides), len(set(y)))) for p in found]
        names, kept = sorted(set(y)), 0
        for way in ways:
            other = y.copy()
            for rows, values in zip(groups, way, strict=True):
                other[rows] = values
            again = protected(table.assign(y=other), schema, METHODS[name](d))
            if again.table[["age", "job"]].astype(str).value_counts().to_dict() != cells:
                continue
            kept += 1
            for each, total in zip(found, seen, strict=True):
                rows = sorted(each.rows.tolist())
                _, agrees = predicate(table, schema, release, name, d, False, rows)
                assert agrees(other[rows].tolist())
                total += np.array([[(other[each.rows][s] == v).sum() for v in names] for s in each.sides])
        assert kept
        same += kept
        if name == "median":  # there nothing is left out, so both are the same
            public = tally(y.tolist())
            for each, total in zip(found, seen, strict=True):
                shares = [{v: Fraction(int(c), kept) for v, c in zip(names, row, strict=True)} for row in total]
                expected = [float(disclosure(share, public, False)) for share in shares]
                assert each.disclosure.tolist() == pytest.approx(expected, abs=1e-9)
        none += 1
        if none == 4:
            break
    assert none == 4
    assert same > 4


def test_it_is_the_same_in_any_order_of_the_rows():
    table, schema, d, _ = tiny(20)
    other = table.sample(frac=1, random_state=1).reset_index(drop=True)
    told = []
    for each in (table, other):
        release = protected(each, schema, hr.MART(k=2, max_disclosure=d))
        pair = pair_up(read(each, schema=schema), of_release(release))
        told.append(knows_method(pair, release.method, release.plan))
    assert told[0] == told[1]


def test_groups_that_read_alike_are_left_out():
    table, schema = wards(10, 8, 6, 10, 20, 400)[0], hr.Schema(quasi=["ward"], sensitive=["ill"])
    for categorical, refused in (("concatenate", 1), ("suppress", 0)):  # every cell is a star
        release = protected(table, schema, hr.MART(k=10, categorical=categorical))
        assert release.method.tree_.n_leaves == 2
        pair = pair_up(read(table, schema=schema), of_release(release))
        found = knows_method(pair, release.method, release.plan)
        assert found["groups"]["refused"] == refused


def test_it_says_nothing_where_nothing_was_refused():
    table, schema, *_ = tiny(4)
    for method in (hr.MART(k=2, max_disclosure=None), hr.Datafly(k=2)):
        found = hr.audit(table, protected(table, schema, method), learning=False, inference=False, learners=["nearest"])
        assert found.risk["knows_method"] is None
    release = protected(table, schema, hr.MART(k=2, max_disclosure=0.5))
    assert hr.audit(table, release, attacks=False).risk["knows_method"] is None


PAGES = (
    "README.md",
    "SECURITY.md",
    "docs/for-a-board.md",
    "docs/hedge.md",
    "docs/attacks.md",
    "docs/reading-an-audit.md",
    "docs/choosing-k-and-max-disclosure.md",
    "docs/explanation/disclosure.md",
    "docs/explanation/mart.md",
    "docs/explanation/mondrian.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_pages_that_promise_the_cap_say_what_it_leaves_open(page):
    text = (Path(__file__).parents[3] / page).read_text(encoding="utf-8")
    assert BEYOND in " ".join(text.split())


@pytest.mark.parametrize("name", METHODS)
def test_recipients_read_what_the_cap_leaves_open(name, tmp_path):
    table, schema, d, _ = tiny(2)
    protected(table, schema, METHODS[name](d)).write(tmp_path / "capped")
    assert BEYOND in (tmp_path / "capped" / "RECIPIENT.md").read_text()
    protected(table, schema, hr.Mondrian(k=2)).write(tmp_path / "uncapped")
    assert BEYOND not in (tmp_path / "uncapped" / "RECIPIENT.md").read_text()


def test_text_report_and_schema_say_what_was_concluded(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    table, release, found = audited(10, 8, 6, 10, 20)
    jsonschema.validate(found.to_dict(), hr.audit.json_schema())
    found.report(tmp_path / "steward.html", plan=release.plan)
    page = html.unescape((tmp_path / "steward.html").read_text(encoding="utf-8"))
    for text in (str(found), page):
        assert BEYOND in text
        assert "has 10 people and gives away 0.531; its group of 30 shows 0.145" in text
        assert "10 of the 30 people looked at are in parts above the cap of 0.5" in text
    found.report(tmp_path / "recipient.html", audience="recipient", plan=release.plan)
    assert "10 of the 30" not in (tmp_path / "recipient.html").read_text(encoding="utf-8")
    quick = hr.audit(table, release, attacks=False).to_dict()["not_measured"]
    assert any("which finer groups the method refused" in line for line in quick)
    assert not any("finer groups" in line for line in found.to_dict()["not_measured"])


def test_tables_are_listed_with_their_ways():
    for sizes, counts in (([2, 3], [4, 1]), ([1, 1, 2], [2, 1, 1]), ([3], [1, 2])):
        listed = list_tables(np.array(sizes), np.array(counts), 1000)
        values = [v for v, c in enumerate(counts) for _ in range(c)]
        seen = {}
        ends = np.cumsum([0, *sizes])
        for each in assignments(values):
            key = tuple(tuple(each[a:b].count(v) for v in range(len(counts))) for a, b in itertools.pairwise(ends))
            seen[key] = seen.get(key, 0) + 1
        most = max(seen.values())
        assert {tuple(map(tuple, t.tolist())): w for t, w in listed} == {key: ways / most for key, ways in seen.items()}
    assert list_tables(np.array([5, 5]), np.array([5, 5]), 5) is None
