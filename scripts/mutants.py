"""Break promises one at a time, in a private copy, and see whether the tests notice.

A mutant is one small lie: a comparison that is one too lenient, a check that is left out. Its
tests run on the untouched copy first and must pass there; then they run on the mutant and must
fail. A mutant that survives is a promise that nobody tests.

    python scripts/mutants.py [--only PATTERN] [--jobs N]

The code is 0 where at most three survive, each with a reason, 1 where more do, and 2 where the
table below is out of date: a text that no longer occurs once, a test that is gone or fails anyway.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "hedgerow")
COPIED = ("src", "tests", "scripts", "pyproject.toml")
MOST = 3
"""Mutants that may survive."""
LONGEST = 900
"""Seconds after which tests are stopped."""
KILLED, SURVIVED, FAULT = "killed", "SURVIVED", "FAULT"


@dataclass(frozen=True)
class Mutant:
    """One change of the code that breaks a promise.

    Parameters
    ----------
    name : str
        The fault that it makes.
    file : str
        Below the package.
    old, new : str
        A text that occurs once in the file, and its replacement.
    tests : str
        The tests that must fail, below `tests`, separated by spaces.
    also : tuple of (file, old, new)
        Further changes.
    reason : str
        The reason, where no test can notice.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    also: tuple[tuple[str, str, str], ...] = ()
    reason: str = ""

    @property
    def edits(self) -> tuple[tuple[str, str, str], ...]:
        """Return all changes."""
        return ((self.file, self.old, self.new), *self.also)


M = Mutant
VERIFY, COVER = "release/test_verify.py::", "columns/test_cover.py::"
SCORES, PERSONS = "adversary/test_scores.py::", "adversary/test_persons.py::"
HOMES = "adversary/test_households.py::"
TABLES = f"{VERIFY}test_a_tampered_table_is_found -k (swapped or order or moment or less) and (ranges or leaves)"
FORGED = f"{VERIFY}test_a_forged_plan_is_found"
SHARES = f"{VERIFY}test_shares_beside_ranges_are_held_against_their_group"
PROMISES = "test_guarantees.py"
ANSWERS = "adversary/test_answers.py::"
LAST_PERSON = f"{ANSWERS}test_whoever_knows_all_others_hardly_learns_of_the_last_person_by_a_question"
HEDGE, LIKE_HEDGE = (
    "methods/test_hedge.py::",
    "reference/test_hedge.py::test_the_package_makes_the_same_cells_and_joins",
)
GUARD = "studio/test_guard.py::"
MEASURES = "measures/test_measures.py::"
DEFINED = f"{MEASURES}test_diversity_closeness_and_likeness_equal_their_definitions"
FORMULAS = (
    f"{MEASURES}test_compiled_formulas_equal_their_plain_form {MEASURES}test_formulas_read_full_and_sparse_counts_alike"
)
ANATOMY = "methods/test_anatomy.py::"
DOMAIN = "methods/test_full_domain.py::"
LATTICE = (
    "methods/test_lattice.py::test_the_optimum_equals_exhaustive_search "
    f"{DOMAIN}test_a_small_rest_is_filled_up_so_that_it_too_has_k_records "
    f"{DOMAIN}test_suppressed_rows_are_stars_and_form_a_class_of_their_own"
)
KNOWN = "audit/attacks/test_knows_method.py::"
KNOWS = f"{KNOWN}test_it_equals_enumeration_by_the_definitions_on_two_hundred_tables"
RESPONSE = "adversary/test_randomized_response.py::test_rare_moves_are_no_fault"
ATTACKS = "audit/attacks/test_attacks.py::"
MEMBERS = "audit/attacks/test_membership.py::"
GROUPS = "audit/attacks/test_group_learners.py::"
TPP, MASKS = "methods/tpp/test_tpp_method.py::", "methods/test_masking.py"
CAP = f"{SCORES}test_what_is_just_at_the_cap_keeps_it {SCORES}test_a_cap_is_the_decimal_number_that_was_written"
LAST = "        return 4 * self.n * gain * cap.denominator > cap.numerator * loss * n"
REACHED = LAST.replace(" > ", " >= ")

RULED = "guard/test_rules_kept.py::"
TAMPERED, DRAWN = "guard/test_tampering.py::", "guard/test_draws.py::"
HEAPS = "guard/test_heaps.py::"
CAPPED = "guard/test_cap_on.py::"
RUNS = "guard/test_runs.py::test_runs_are_those_of_the_definition"
DERIVED = f"{TAMPERED}test_what_a_plan_says_of_groups_is_derived_again"
SQL = "backends/test_check_sql.py::test_whatever_was_done_verify_says_the_same"
LATER = "backends/test_check_sql.py::test_people_who_came_later"
MUTANTS = (
    # what a recipient is answered about models
    M("a recipient asks once more", "auditing/compare_models.py", '>= MOST_QUESTIONS:', '> MOST_QUESTIONS:',
      f"{ANSWERS}test_the_twentieth_question_is_the_last"),
    M("processes that ask at once forget each other", "auditing/compare_models.py", "with locked(folder):",
      "with suppress():", f"{ANSWERS}test_processes_that_ask_at_once_are_all_counted"),
    M("an answer tells who turns it", "auditing/compare_models.py", "np.maximum(NOISE, together) * moved",
      "0 * moved", LAST_PERSON),
    M("each answer tells of one person by itself", "auditing/compare_models.py", "np.maximum(NOISE, together)",
      "NOISE", f"{ANSWERS}test_all_answers_of_a_question_together_hardly_tell_of_one_person"),
    M("a fixed threshold of people", "auditing/compare_models.py",
      "self._uniform(\"people\", *about) * (self.k + 1)", "0.0", LAST_PERSON),
    M("a coefficient comes from one person", "auditing/compare_models.py", "min(carriers, effective[at])", "carriers",
      f"{ANSWERS}test_coefficients_that_few_people_carry_are_refused"),
    M("few people are left out of a question", "auditing/compare_models.py",
      "< _n_distinct(people[rows != other]) < least", "> _n_distinct(people[rows != other])",
      f"{ANSWERS}test_a_formula_about_few_people_is_refused_without_a_reason_and_counts"),
    M("few people differ from an earlier question", "auditing/compare_models.py",
      "others.append(np.logical_and.reduce(parts))", "others.append(rows)",
      f"{ANSWERS}test_rows_that_differ_by_few_people_from_those_of_an_earlier_question"),
    M("few people have the outcome", "auditing/compare_models.py", '< self._needed("outcome")', "< 0",
      f"{ANSWERS}test_a_formula_about_few_people_is_refused_without_a_reason_and_counts"),
    M("a person counts by rows", "auditing/compare_models.py",
      "self.sources.schema.household or self.sources.schema.person", "None",
      f"{ANSWERS}test_people_with_several_rows_and_households_count_once"),
    M("a release object is answered", "auditing/compare_models.py", "if for_recipient and not has_plan:",
      "if for_recipient and folder is None and False:",
      f"{ANSWERS}test_where_nothing_can_be_counted_or_bounded_nothing_is_answered"),
    # what a cell covers
    M("a cell covers one more above its end", "columns/cover.py", "(values <= self.high[cells])",
      "(values <= self.high[cells] + 1)", f"{COVER}test_numbers"),
    M("missing numbers are always covered", "columns/cover.py",
      "(np.isnan(values) & self.missing[cells])", "np.isnan(values)", f"{COVER}test_numbers"),
    M("missing categories are always covered, looked up", "columns/cover.py",
      "table[:, -1] = self.missing", "table[:, -1] = True", f"{COVER}test_categories"),
    M("missing categories are always covered, searched", "columns/cover.py",
      "np.where(missing, self.missing[cells], covered)", "np.where(missing, True, covered)",
      f"{COVER}test_categories"),
    M("exact numbers reach one place too far", "columns/cover.py", "bisect_right(exact, hi) - 1",
      "bisect_right(exact, hi)",
      "adversary/test_values.py::test_a_false_cell_of_a_number_that_shares_its_double_is_found"),
    # verifying in a database
    M("a database forgives a cap", "backends/check_sql.py", "WHERE gain > (CASE col",
      "WHERE gain > 2 * (CASE col", SQL),
    M("a database finds no row that is too many", "backends/check_sql.py", "HAVING SUM({p}side) <> 0",
      "HAVING SUM({p}side) > 0", SQL),
    M("a database takes k for less", "backends/check_sql.py", "AS sizes WHERE n < {k}",
      "AS sizes WHERE n < {k} - 1", SQL),
    M("a database covers one more", "backends/check_sql.py", "OR {key} > high", "OR {key} > high + 1", LATER),
    M("a database reads any share", "backends/check_sql.py", "c * whole <> weight * n OR ", "", LATER),
    # verifying: recoding a second time
    M("verified ranges end one above", "release/rederive/recipes.py",
      "np.where(anything, np.inf, self._cover.high)[cells]",
      "np.where(anything, np.inf, self._cover.high)[cells] + 1", FORGED),
    M("verified ranges begin one below", "release/rederive/recipes.py",
      "np.where(anything, -np.inf, self._cover.low)[cells]",
      "np.where(anything, -np.inf, self._cover.low)[cells] - 1", FORGED),
    M("verified ranges always cover missing", "release/rederive/recipes.py",
      "(anything | self._cover.missing)[cells]", "np.ones(len(cells), np.bool_)",
      FORGED),
    M("shares are not held against their group", "release/rederive/recipes.py",
      '("mean", "median", "weighted")', '("mean", "median")', SHARES),
    M("means may be a whole step off", "release/rederive/recipes.py", "half + CLOSE * reach",
      "2 * half + CLOSE * reach", f"{VERIFY}test_a_mean_is_held_to_half_its_step"),
    M("counts beside a mean are not counted", "release/rederive/recipes.py",
      "& (off | miscounted)", "& off", f"{VERIFY}test_who_has_no_value_is_counted_beside_a_mean"),
    M("categories may be left out of shares", "release/rederive/recipes.py",
      "off | ((kinds != parts[cells]) & (kinds > 0))", "off", SHARES),
    M("the last of several parts alone is held against its cells", "release/expected_rows.py",
      "        derived, total = derived + one, total + reached",
      "        derived, total = replace(derived + one, outside=one.outside), total + reached",
      f"{VERIFY}test_faults_in_every_part_of_the_rows_are_counted"),
    M("rows may trade places", "release/expected_rows.py", "same = self.sums.whole == reached.whole",
      "same = True", TABLES),
    M("what is left of a record is taken from the release", "release/expected_rows.py",
      "if relation == RANDOM and after is not None:",
      "if relation in (RANDOM, LEFT_OUT) and after is not None:", TABLES),
    M("rows are summed under a key that all know", "release/expected_rows.py",
      "ExpectedRows(classes, relations, Key.new(),",
      "ExpectedRows(classes, relations, Key(bytes(32)),", f"{VERIFY}test_the_key_of_the_sums_is_new_each_time"),
    # verifying: the table and its file
    M("pseudonyms are not checked", "release/verify.py", "    if replaced:\n", "    if False:\n",
      f"{VERIFY}test_pseudonyms_stand_for_one_person_each"),
    M("an identifier may be its own pseudonym", "release/verify.py",
      "return alone and not set(old.values) & set(new.values)", "return alone",
      f"{VERIFY}test_pseudonyms_stand_for_one_person_each"),
    M("a person may have two pseudonyms", "release/verify.py",
      "alone = group([before]).n_groups == pairs ==", "alone = pairs ==",
      f"{VERIFY}test_pseudonyms_stand_for_one_person_each"),
    M("rows may come twice", "release/verify.py",
      "once = rows is None or _each_once(rows, original.n_rows)", "once = True",
      f"{VERIFY}test_a_release_in_another_order_is_paired_by_its_rows"),
    M("columns may stand in any order", "release/verify.py",
      "holds = list(required) == list(reached)", "holds = set(required) == set(reached)", TABLES),
    M("types of unchanged columns are not compared", "release/verify.py",
      "    checks.append(_types({name: before[name] for name in remaining if relations[name] == UNCHANGED}, after))\n",
      "", TABLES),
    M("the first check may fail", "release/verify.py",
      "[check for check in listed if not check.holds]",
      "[check for check in listed[1:] if not check.holds]", TABLES),
    M("people are those of other rows", "release/verify.py",
      "None if persons is None else persons.subset(rows)", "persons",
      f"{PERSONS}test_a_group_that_lost_its_people_is_seen {PERSONS}test_a_group_holds_k_people"),
    M("the file is not held against the table", "release/verify.py",
      "return checks + expected.checks(sums)", "return checks",
      f"{VERIFY}test_a_tampered_file_is_found -k swapped and csv and means"),
    M("cells that read alike may be two groups", "columns/table.py",
      "len(coded.dictionary.unique()) == len(coded.dictionary)", "True",
      f"{VERIFY}test_cells_that_read_alike_are_one_group_to_a_reader"),
    # pseudonyms and keys
    M("equal values of two columns have one pseudonym", "release/making.py",
      'prefix = name.encode() + b"\\x00"', 'prefix = b""', "release/test_release.py -k pseudonym",
      also=(("release/rederive/recipes.py", '{column.name}\\0{text}', "{text}"),)),
    M("two people may get one pseudonym", "release/making.py", "if len(set(texts)) != len(texts):",
      "if False:", "release/test_release.py -k pseudonym"),
    M("a group of users may read the key", "key.py", "mode & (stat.S_IRWXG | stat.S_IRWXO)",
      "mode & stat.S_IRWXO", "test_key.py"),
    M("a new key file is readable by others", "key.py", "os.O_EXCL, 0o600)", "os.O_EXCL, 0o644)",
      "test_key.py"),
    M("a key of zeros is taken", "key.py", "if secret and not any(secret):", "if False:",
      "test_key.py"),
    M("short keys are taken", "key.py", "_LEAST = 16", "_LEAST = 5",
      "release/test_release.py -k pseudonym"),
    M("every release has the same draws", "key.py", "return Key(self._digest(to, _SIZE))",
      "return self", "test_key.py"),
    M("what was begun is left behind", "files.py",
      "            Path(name).unlink(missing_ok=True)\n            raise", "            raise",
      "test_files.py"),
    # guarantees
    M("k may be one less", "measures/guarantees.py", "reached, reached >= self.k, detail",
      "reached, reached >= self.k - 1, detail", PROMISES),
    M("groups keep k with one less", "measures/guarantees.py", "return classes.people >= self.k",
      "return classes.people >= self.k - 1", PROMISES),
    M("recursive diversity is not strict", "measures/guarantees.py",
      "return self.reached(column) < self.limit", "return self.reached(column) <= self.limit",
      PROMISES),
    M("limits from below are lenient", "measures/guarantees.py", "return reached >= self.limit - SLACK",
      "return reached >= self.limit - 1e-6", PROMISES),
    M("limits from above are lenient", "measures/guarantees.py", "else reached <= self.limit + SLACK",
      "else reached <= self.limit + 1e-6", PROMISES),
    M("the cap is a millionth looser", "measures/guarantees.py", "exceeding(self.maximum)",
      "exceeding(self.maximum + 1e-6)", PROMISES),
    M("every group has a millionth of room", "measures/proper_scores.py",
      "limit = Fraction(repr(float(cap)))",
      "limit = Fraction(repr(float(cap))) + Fraction(1, 10**6)", PROMISES),
    M("the last column alone breaks a promise", "measures/guarantees.py",
      "broken += int(np.count_nonzero(~good", "broken = int(np.count_nonzero(~good",
      PROMISES),
    M("what everybody knows is what some classes know", "measures/classes.py",
      ", whole=self.totals)", ")", "measures/test_ranges.py"),
    M("a column that lacks keeps its promise", "measures/guarantees.py",
      "if lacking := [name for name in names if name not in classes.sensitive]:", "if lacking := []:", PROMISES),
    # what groups tell
    M("one person may have most records of a group", "measures/persons.py",
      "largest_share(self.records) <= 0.5", "largest_share(self.records) <= 0.7",
      f"{PERSONS}test_nobody_has_more_than_half_of_a_group"),
    M("people of one household count for several", "measures/persons.py",
      "return distinct(self.records) if homes is None else homes", "return distinct(self.records)",
      f"{HOMES}test_hundreds_of_random_releases_hold_k_people_of_k_households",
      also=(("measures/persons.py", "in (self.persons, self.households) if", "in (self.persons,) if"),
            ("measures/classes.py", "return people if self.households is None else", "return people if 1 else"))),
    M("households are not counted again", "measures/classes.py",
      "return people if self.households is None else", "return people if True else",
      f"{HOMES}test_a_group_that_lost_its_households_is_seen"),
    M("a household may be released", "schema.py",
      'if self.household is not None and role != "identifier":', "if False:",
      f"{HOMES}test_who_lives_together_is_never_released"),
    M("households have pseudonyms", "release/release.py", "if n != schema.household)", "if True)",
      f"{HOMES}test_who_lives_together_is_never_released"),
    M("a column that differs in households is cut", "methods/design.py",
      "group([homes.codes, column.codes]).n_groups == homes.n:",
      "group([homes.codes, column.codes]).n_groups <= 2 * homes.n:",
      f"{HOMES}test_a_column_that_differs_in_few_households_splits_none"),
    M("households may be split", "measures/guarantees.py",
      "further = int(classes.households.sum()) - classes.n_homes", "further = 0",
      f"{HOMES}test_a_household_that_was_split_is_seen"),
    M("diversity forgets a value", "measures/class_measures.py", "np.where(rank >= l - 1, ordered, 0)",
      "np.where(rank >= l, ordered, 0)", DEFINED),
    M("closeness counts one value more", "measures/class_measures.py",
      "prefix[counts.values[counts.starts[:-1]]]) / (m - 1)", "prefix[counts.values[counts.starts[:-1]]]) / m",
      DEFINED),
    M("a star matches in its own row alone", "measures/sizes.py", "if not ((p | q) >> j) & 1]",
      "if not (p >> j) & 1]",
      f"{MEASURES}test_wildcards_match_anything"),
    M("eighths for sixteenths", "measures/proper_scores.py", "PARTS = 16", "PARTS = 8",
      f"{SCORES}test_cuts_give_a_heavy_value_a_cell_of_its_own {SCORES}test_scores_are_those_of_the_definition"),
    M("categories have no floor", "measures/proper_scores.py",
      "floor = sum(c * loss for c, loss in zip(counts, losses, strict=True))", "floor = 0",
      f"{SCORES}test_scores_are_those_of_the_definition"),
    M("numbers have half their floor", "measures/proper_scores.py", "self.spread / self.n / 4",
      "self.spread / self.n / 8", f"{SCORES}test_scores_are_those_of_the_definition"),
    M("a missing value is no secret", "measures/proper_scores.py", "if column.missing and n_known:",
      "if False:", f"{SCORES}test_whether_a_value_is_missing_counts"),
    M("shares at the cap exceed it", "measures/proper_scores.py",
      f"        # gain / (n N^2) > cap * loss / (4 N^3)\n{LAST}", REACHED,
      CAP),
    M("numbers at the cap exceed it", "measures/proper_scores.py",
      f"for y, c in pairs)\n{LAST}", f"for y, c in pairs)\n{REACHED}",
      CAP),
    M("the cap is the double next to it", "measures/proper_scores.py", "limit = Fraction(repr(float(cap)))",
      "limit = Fraction(float(cap))",
      CAP),
    M("numbers lose a record", "kernels/measures.py", "return total * total, n * square",
      "return total * total, (n + 1) * square", FORMULAS),
    M("categories that a group lacks are forgotten", "kernels/measures.py",
      "return distance + n_known * n_known * rest,", "return distance,", FORMULAS),
    M("order is not summed", "kernels/measures.py", "above += counts[c] - n_known * public[c]",
      "above = counts[c] - n_known * public[c]", "trees/test_grow.py::test_proper_scores_cap_every_group"),
    # Hedge
    M("the mean of a union is the mean of two", "kernels/joins.py",
      "(n[a] * means[a, c] + n[b] * means[b, c]) / both", "(means[a, c] + means[b, c]) / 2",
      LIKE_HEDGE),
    M("a union is judged by one of its parts", "kernels/joins.py",
      "buffer[i] += sums[b, i]", "buffer[i] += 0.0", LIKE_HEDGE),
    M("unions are passed over that could lower the excess at the least loss", "kernels/joins.py",
      "i, j, least_lowering * excess[i])", "i, j, least_lowering)", LIKE_HEDGE),
    M("a union is given up before it is too large", "kernels/joins.py",
      "excess[i] - loss / least_lowering", "excess[i] - 2 * loss / least_lowering", LIKE_HEDGE),
    M("joins are not decided exactly", "methods/joining.py", "        if good.all():",
      "        if True:", f"{HEDGE}test_further_promises_are_kept"),
    M("joins do not count people", "methods/hedge.py",
      "promises if persons is not None else promises[1:]", "promises[1:]",
      f"{HEDGE}test_a_group_that_is_mostly_one_persons_is_joined"),
    M("means are told of fewer than k", "methods/partition.py",
      "groups.people_with_value(grouped) >= self.k", "groups.people_with_value(grouped) >= 1",
      f"{HEDGE}test_nobody_makes_up_most_of_a_mean"),
    M("means are not rounded", "methods/partition.py", "step = public_step(column.value_counts) if self.rounds",
      "step = 0.0 if self.rounds", f"{LIKE_HEDGE} {HEDGE}test_means_are_told_from_k_people"),
    M("steps are twice as wide", "methods/group_cells.py",
      "np.abs(column.deviations).max())[1]) - 2)", "np.abs(column.deviations).max())[1]) - 1)", LIKE_HEDGE),
    M("halves are rounded up", "methods/group_cells.py",
      "whole[at] = round(Fraction(sum(numbers)) / len(codes) / unit)",
      "whole[at] = math.floor(Fraction(sum(numbers)) / len(codes) / unit + Fraction(1, 2))",
      f"{HEDGE}test_means_halfway_between_steps_go_to_the_even_one"),
    M("a range between points holds its end", "methods/group_cells.py",
      "hi - 1 if unit else float(np.nextafter(hi, -np.inf))", "hi",
      f"{HEDGE}test_a_range_between_points_does_not_hold_the_one_where_it_ends"),
    M("chance is taken for telling", "methods/hedge.py", "SIGMAS = 4.0", "SIGMAS = 1.0",
      f"{HEDGE}test_chance_is_seldom_taken_for_telling"),
    M("rare categories are screened unseen", "methods/hedge.py",
      "if rare and 2 * sizes[most] > records:", "if False:",
      f"{HEDGE}test_what_was_not_looked_at_is_not_screened"),
    # full domains and suppression
    M("a lattice keeps k - 1", "methods/lattice.py", "return (classes.people >= self.k) &",
      "return (classes.people >= self.k - 1) &", LATTICE),
    M("one record more is suppressed than allowed", "methods/lattice.py",
      "total = int(classes.size[out].sum())\n        if total > self.limit:",
      "total = int(classes.size[out].sum())\n        if total > self.limit + 1:",
      "methods/test_lattice.py::test_no_record_more_is_suppressed_than_was_allowed"),
    M("suppressed records need no k", "methods/lattice.py",
      "return bool(self._good(classes.merged(classes.row[:1], np.zeros(len(classes), np.int64), out))[0])",
      "return True", LATTICE),
    M("local suppression keeps k - 1", "methods/suppression.py",
      "enough = size[group[: len(rows)]] >= k", "enough = size[group[: len(rows)]] >= k - 1",
      MASKS + " -k suppress"),
    M("whole records need k - 1 like them", "methods/suppression.py",
      "if size[group[empty]].min(initial=k) >= k:",
      "if size[group[empty]].min(initial=k) >= k - 1:", MASKS + " -k suppress"),
    M("k may be more than there are people", "methods/base.py",
      'if check_whole("k", k, least) > table.n_rows:',
      'if check_whole("k", k, least) > table.n_rows + 1:', f"{DOMAIN}test_bad_requests"),
    M("a share may be above 1", "validation.py", "(0 < v <= 1 or", "(0 < v or",
      MASKS + " -k parameters or bound_share"),
    # Anatomy
    M("Anatomy is feasible with five records more", "methods/anatomy.py",
      "if counts.max() * self.l > table.n_rows:", "if counts.max() * self.l > table.n_rows + 5:",
      f"{ANATOMY}test_what_is_feasible_is_decided_to_the_record"),
    M("groups are numbered as they came into being", "methods/anatomy.py", "group = number[buckets]",
      "group = buckets", f"{ANATOMY}test_group_numbers_tell_nothing_of_how_groups_came_into_being"),
    M("a value may come twice in a group", "methods/anatomy.py",
      "if u not in has[g]", "if has",
      f"{ANATOMY}test_every_group_has_l_different_values"),
    M("a value may have more than 1/l of a group", "methods/anatomy.py",
      "share <= most + 1e-12,", "share <= 2 / self.l,",
      f"{ANATOMY}test_a_value_that_stands_twice_in_a_group_of_the_first_table_is_found"),
    M("a value may stand twice in the second table", "methods/anatomy_tables.py",
      "(expected_counts != second_counts) | (rows != 1)", "expected_counts != second_counts",
      f"{ANATOMY}test_a_sensitive_table_that_is_not_that_of_the_records_is_not_written"),
    # randomized response
    M("more kept values are called likely", "methods/randomized_response.py",
      "bdtrc(unchanged - 1, n, p)",
      "bdtrc(unchanged - 2, n, p)", RESPONSE),
    M("fewer kept values are called likely", "methods/randomized_response.py", "bdtr(unchanged, n, p)",
      "bdtr(unchanged + 1, n, p)", RESPONSE),
    M("the risk may be above its cap", "methods/randomized_response.py",
      "over <= 1 or above is not None,", "over <= 2 or above is not None,",
      "methods/test_randomized_response.py::test_a_little_less_noise_than_the_cap_asks_for_is_found"),
    M("values outside the domain are taken", "methods/randomized_response.py",
      "if is_outside:", "if False:",
      "methods/test_randomized_response.py::test_a_value_outside_the_domain_is_refused"),
    # trees that are published
    M("L is not strict", "methods/tpp/sanitize.py", "state.l > l_above", "state.l >= l_above",
      f"{TPP}test_a_state_keeps_k_to_the_person_and_l_strictly"),
    M("K may be one less", "methods/tpp/sanitize.py", "return state.k >= k and",
      "return state.k >= k - 1 and",
      f"{TPP}test_a_state_keeps_k_to_the_person_and_l_strictly"),
    M("means of leaves are compared to a thousandth", "methods/tpp/model.py", "rel_tol=1e-12",
      "rel_tol=1e-3",
      f"{TPP}test_a_mean_that_was_changed_a_little_is_told_and_its_last_digits_are_free"),
    M("a model of other people is verified", "methods/tpp/model.py", "        if n != published:",
      "        if False:",
      f"{TPP}test_a_model_of_more_people_is_told"),
    M("categories that tie are joined", "methods/tpp/sanitize.py", "        if node.tied:",
      "        if False:",
      f"{TPP}test_categories_stay_apart_where_their_order_decided_among_equals"),
    M("a threshold may be the left value", "methods/tpp/builder.py", "if v1 < middle <= v2",
      "if v1 <= middle <= v2", "methods/tpp/test_tpp_scores.py::test_midpoint_stays_above_the_left_value"),
    # masking
    M("another table gets these people's values", "methods/masking.py",
      "if fingerprint(table, [c.name for c in self.columns_]) != self._fitted:", "if False:",
      f"{MASKS}::test_other_people_do_not_get_these_peoples_values"),
    M("missing numbers are made up", "methods/masking.py", "        new[~there] = np.nan\n", "",
      f"{MASKS}::test_numbers_that_are_missing_are_not_made_up"),
    # the audit
    M("deviations divide by n", "columns/numbers.py", "ddof=1", "ddof=0",
      "audit/test_scores.py::test_standardised_by_the_deviation_of_a_sample"),
    M("rank intervals are one wider", "measures/masking_scores.py", "np.minimum(last, below + h)",
      "np.minimum(last, below + h + 1)", "audit/test_scores.py::test_interval_disclosure"),
    M("linkage by ranks is not judged", "measures/masking_scores.py",
      "for each in (self.distance, self.distance_ranks) if each", "for each in (self.distance,)",
      "audit/test_scores.py::test_one_changed_value_hides_nobody"),
    M("ranks are the masked file's own", "measures/masking_scores.py",
      "np.unique(original[:, c], return_counts=True)", "np.unique(masked[:, c], return_counts=True)",
      "audit/test_scores.py::test_distance_linkage"),
    M("rows that agree are as near as any", "auditing/attacks/membership.py", "-round(near - nearest / 2, 6)",
      "-round(nearest, 6)", f"{MEMBERS}test_rows_with_exactly_a_persons_value_tell_who_is_in_the_table"),
    M("the strongest is measured on whom it was chosen by", "auditing/attacks/membership.py",
      "[*halves[0][best[1]], *halves[1][best[0]]]", "[*halves[0][best[0]], *halves[1][best[1]]]",
      f"{MEMBERS}test_choosing_the_strongest_of_many_finds_nobody_where_nothing_leaks"),
    M("a missing number agrees with every range", "auditing/record_distance.py",
      "out = np.minimum(out, 1.0)\n        else:\n            out = (~self.column.missing).astype(np.float64)",
      "out = np.minimum(out, 1.0)\n        else:\n            out = np.zeros(len(self.lo))",
      f"{ATTACKS}test_a_missing_value_agrees_with_cells_that_may_be_missing_alone"),
    M("a missing category agrees with every set", "auditing/record_distance.py",
      "self.starts[code + 1]]] = 0.0\n        else:\n            out = (~self.column.missing).astype(np.float64)",
      "self.starts[code + 1]]] = 0.0\n        else:\n            out = np.zeros(self.column.n_cells)",
      f"{ATTACKS}test_a_missing_value_agrees_with_cells_that_may_be_missing_alone"),
    # who knows the method
    M("splits that gain nothing count as refused by the cap", "kernels/joins.py",
      "        if not changes:\n            return 0.0", "        if not changes:\n            return 1.0",
      KNOWS),
    M("one side of a split decides alone", "kernels/joins.py",
      "if worst <= 1.0 and not r.joined:", "if worst <= 1.0 and r.joined:", KNOWS),
    M("every assignment agrees with the refusals", "auditing/attacks/knows_method.py",
      "(distances(sums, gains, refusal) == 0.0)", "(distances(sums, gains, refusal) >= 0.0)", KNOWS),
    M("groups that read alike are known apart", "auditing/attacks/knows_method.py",
      "return len(labels) == 1 and pair.classes.sizes[labels[0]] == len(refused.rows)",
      "return len(labels) == 1", f"{KNOWN}test_groups_that_read_alike_are_left_out"),
    M("the sampler drops its bar", "auditing/attacks/knows_method.py",
      "            if bar == 0.0:\n                break", "            if bar >= 0.0:\n                break",
      f"{KNOWN}test_sampling_agrees_with_enumeration"),
    M("extents with missing values lie in those without", "auditing/attacks/downcoding.py",
      "    inside &= ~missing | missing[cells, None]\n", "",
      f"{ATTACKS}test_a_cell_lies_in_one_that_may_be_missing_as_well"),
    M("a suppressed cell is a missing value", "auditing/released_values.py",
      "anything=column.anything | empty,", "anything=column.anything,",
      "audit/test_released.py::test_star_null_and_hierarchy audit/test_audit.py::test_suppressed_rows_and_cells"),
    M("cells that do not cover their row are paired", "auditing/pairing.py", "in out.items() if rows]",
      "in out.items() if False]",
      "audit/test_released.py::test_outside_can_be_allowed audit/test_released.py::test_bad_keys"),
    M("rows that are left out are not counted", "auditing/table_pair.py", "self.original.n_rows - len(self.rows)",
      "0", "audit/test_audit.py::test_suppressed_rows_and_cells"),
    M("the control has seen its people", "auditing/attacks/regression.py", "np.flatnonzero(fold != f)",
      "np.arange(sides.n_rows)", f"{ATTACKS}test_a_tree_recalls_an_unprotected_table_exactly_and_its_control_does_not"),
    M("learners see one dealt value of a record", "auditing/learners.py",
      "cells.expected() if separate else", "cells.expected() if False else",
      GROUPS + "test_learners_get_every_record_with_all_values_of_its_group"),
    M("what a person's group says is not tried", "auditing/learners.py",
      '"group": is_grouped or is_altered,', '"group": False,',
      GROUPS + "test_number_two_never_lies_below_what_groups_say"),
    M("the nearest group of altered rows is not tried", "auditing/learners.py",
      "is_grouped or is_altered", "is_grouped",
      GROUPS + "test_the_nearest_group_of_altered_rows_is_tried"),
    M("what groups of altered rows give away is not counted", "measures/guarantees.py",
      'return risk_model == "classes" or any(p["kind"] == KAnonymity.kind and p["k"] > 1 for p in promises)',
      'return risk_model == "classes"',
      "report/test_verdict.py::test_groups_of_altered_rows_that_give_away_much_are_counted"),
    M("counts of groups are not balanced", "auditing/group_learners.py", "in range(BALANCED)",
      "in range(0)", GROUPS + "test_group_counts_equal_the_plain_reference"),
    M("strangers stand in buckets", "auditing/group_learners.py",
      "((rows == OUTSIDE) & (not self.separate))", "(rows == OUTSIDE)",
      GROUPS + "test_a_stranger_to_buckets_gets_public_totals_and_the_rule"),
    M("corrected groups are not corrected", "auditing/learners.py",
      "self._change(people, random_state) - average", "0 * average",
      GROUPS + "test_a_group_that_a_learner_corrects_by_hand"),
    M("luck is taken for less than it is", "auditing/attacks/singling_out.py",
      "(1 - weight) ** (n - 1))", "(1 - weight) ** (2 * n))",
      "audit/attacks/test_predicates.py::test_a_lone_value_in_a_group_names_somebody_whatever_the_size_of_the_group"),
    M("the own record fits as another", "auditing/attacks/linking.py",
      "sizes[wholly].sum() > (wholly", "sizes[wholly].sum() >= (wholly",
      f"{ATTACKS}test_identical_rows_share_the_link"),
    # what a standard asks
    M("a threshold is kept by what is above it", "profiles/profile.py",
      "figure <= self.at_most + _SLACK", "figure <= self.at_most + .01",
      "audit/test_profiles.py::test_thresholds_of_group_sizes"),
    M("a promise is one record short of its standard", "profiles/profile.py",
      "return math.ceil(1 / self.at_most - _SLACK)", "return math.floor(1 / self.at_most)",
      "audit/test_profiles.py::test_protect_keeps_a_profile_and_writes_evidence"),
    M("what was not measured is met", "auditing/profile_result.py",
      "state: State = UNKNOWN\n", "state: State = MEETS\n",
      "audit/test_profiles.py::test_ihsn audit/test_profiles.py::test_wp216_is_answered_by_attacks"),
    M("what does not meet its standard is written", "auditing/measure.py",
      "if broken := unmet(check.measure(release, measured, progress)):",
      "if broken := unmet(check.measure(release, measured, progress))[:0]:",
      "audit/test_profiles.py::test_what_does_not_meet_a_profile_is_not_written"),
    M("columns in doubt are taken for none", "auditing/profile_result.py",
      "if holding or not unsure:", "if True:",
      "audit/test_profiles.py::test_safe_harbor_says_what_must_be_confirmed"),
    M("cells of sensitive categories are not counted", "auditing/profile_result.py",
      '"smallest_cell": _smallest_cell,', '"smallest_cell": _k,',
      "audit/test_profiles.py::test_cms_counts_the_cells_of_sensitive_categories"),
    M("cells that are not counted meet", "auditing/profile_result.py",
      "if measure is _smallest_cell and", "if False and",
      "audit/test_profiles.py::test_cms_is_not_met_where_a_released_column_is_not_counted"),
    M("a year of birth is no age", "auditing/safe_harbor.py",
      "else min(years) < year - OLDEST", "else False",
      "audit/test_profiles.py::test_years_of_birth_that_mean_ages_over_89_do_not_meet"),
    M("text that no rule explains is no name", "auditing/safe_harbor.py",
      'return "" if explained else "text that no rule explains"', 'return ""',
      "audit/test_profiles.py::test_content_that_no_rule_explains_is_not_measured"),
    # words
    M("a small share reads as none", "notation.py",
      "if near <= 1e-12 or", "if near <= 1 or",
      "report/test_verdict.py::test_a_few_that_are_alone_among_many_are_not_none"),
    M("a least is told as a most", "measures/guarantees.py",
      'return "below" if self.diversity == "recursive" else "at least"', 'return "at most"',
      "report/test_verdict.py::test_diversity_is_a_least_and_never_a_most"),
    M("what nothing bounds is green", "report/verdict.py",
      '"broken" if against else "care" if care else untried', '"broken" if against else untried',
      "report/test_verdict.py::test_what_nothing_bounds_is_said_in_the_verdict_and_is_never_green"),
    M("pseudonyms of people need no unit", "columns/roles.py",
      "for name in keys}) or repeating", "for name in keys}) and repeating",
      "release/test_words_of_people.py::"
      "test_pseudonyms_of_people_with_several_records_are_refused_without_a_unit"),
    # files with labels
    M("labels that nobody has are written", "io/statistical.py",
      "values={c: t for c, t in before.values.items() if c in there}", "values={**before.values}",
      "io/test_labels.py::test_why_a_number_is_missing_is_released_where_somebody_says_so"),
    M("the title inside a file is released", "io/statistical.py",
      '"file_label": "",', '"file_label": labels.title,',
      "io/test_labels.py::test_the_title_inside_a_file_is_left_out_and_told"),
    M("a plan forgets the weight", "auditing/subject.py", "weight=plan.weight or None,", "weight=None,",
      "test_cli_survey.py::test_a_plan_remembers_the_weight"),
    M("a number turns missing", "io/statistical.py",
      "if any(variable.declared_missing(cell) for cell in there):", "if False:",
      "io/test_labels.py::test_no_released_number_falls_among_those_declared_missing"),
    M("merged cells are read as empty ones", "io/workbook.py", "    if merged:", "    if False:",
      "io/test_workbook.py::test_merged_cells_are_refused"),
    # a service's steps
    M("a step keeps what was made from an earlier one", "workflow/session.py",
      "self._undo(later)", "pass", "workflow/test_steps.py::test_going_back_makes_what_follows_undone"),
    # who may speak to the studio, and what it hands out
    M("the token is good for more than one browser", "studio/security.py", "        self._used = True\n",
      "        self._used = False\n", f"{GUARD}test_the_token_is_good_for_one_cookie"),
    M("any name that was pointed here is answered", "studio/security.py", "if host not in self._hosts:",
      "if not host:", f"{GUARD}test_a_name_that_was_pointed_here_gets_nothing"),
    M("other sites may post", "studio/security.py", 'return None if origin == f"http://{host}" and',
      "return None if", f"{GUARD}test_nothing_is_done_without_the_cookie"
      "_or_for_another_site"),
    M("scripts can read the cookie", "studio/security.py", "Path=/; HttpOnly;", "Path=/;",
      f"{GUARD}test_the_token_is_good_for_one_cookie"),
    M("whoever is not known may ask", "studio/security.py",
      'return int(parts[7]) if parts[9] != "0" else -1\n    return -1',
      'return int(parts[7]) if parts[9] != "0" else -1\n    return None',
      f"{GUARD}test_the_system_tells_whose_a_connection_is"),
    M("a connection speaks for the one before on its port", "studio/security.py",
      "and _is_open(connection)", "", f"{GUARD}test_a_port_that_somebody_else_takes_over"
      "_does_not_speak_for_the_one_before"),
    M("what other users left is removed", "files.py", "return os.fstat(handle).st_uid == os.geteuid()",
      "return True", "test_files.py::test_what_another_user_left_stays"),
    M("a file with few broken lines is taken for Windows-1252", "io/csv_file.py",
      "if strict and _FEW * broken < total:", "if False:",
      "io/test_not_utf8.py::test_fewer_than_one_line_in_a_thousand_is_refused"),
    M("nobody is told that a file is not UTF-8", "io/csv_file.py", "    if dialect.not_utf8:",
      "    if False:", "io/test_not_utf8.py::test_a_file_in_another_encoding_is_told"
      "_by_its_line_and_named_in_its_release"),
    M("new texts among codes leave without labels", "io/statistical.py", "replace(before, values=values)",
      "replace(before, values={c: t for c, t in values.items() if c != t})",
      "io/test_labels.py::test_codes_of_text_go_out_with_their_labels"),
    M("people are counted in the wrong group", "methods/partition.py", "number[groups.first], people",
      "np.arange(len(people)), people", "methods/test_hedge.py::test_a_number_that_whole_groups_lack"
      "_is_told_from_k_people"),
    M("any file beside a release is handed out", "studio/server.py",
      'if release and name in release["files"] else None', "if release else None",
      "studio/test_server.py::test_nothing_is_downloaded_before_it_was_verified"),
    M("what was written for another choice is handed out", "studio/state.py",
      '"regression", "write", "failed",', '"regression", "failed",',
      "studio/test_server.py::test_nothing_is_downloaded_before_it_was_verified"),
    M("an old page of another window is obeyed", "studio/server.py", "tab != state.tab)", "not tab)",
      "studio/test_server.py::test_an_old_page_of_another_window_changes_nothing"),
    M("a guard lets originals break a cap", "release/verify.py",
      "for check in capped]", "for check in ()]",
      f"{TAMPERED}test_a_cap_holds_of_the_originals_as_well"),
    M("a value one person short is released exactly", "kernels/even_draws.py",
      "if n_people >= enough[i]:", "if n_people >= enough[i] - 1:", RUNS),
    M("a run is closed one person short", "kernels/even_draws.py",
      "if reached >= least:", "if reached >= least - 1:", RUNS),
    M("a person counts twice in a run", "kernels/even_draws.py",
      "new += previous[j] < begin", "new += 1", "guard/test_runs.py::test_a_person_with_many_records_is_one"),
    M("what is left over joins the farther run", "guard/runs.py",
      "values[below]) <= np.abs(", "values[below]) >= np.abs(", RUNS),
    M("every cut of runs tells", "guard/pieces.py", "n = max(1, min(b - a, round(total / (RUNS_EACH * least))))",
      "n = max(1, round(total / least))",
      "guard/test_pieces.py::test_a_number_lies_as_far_up_as_its_place_among_the_people"),
    M("a cut is moved too far", "guard/pieces.py", "(np.minimum(n_people[:-1], n_people[1:]) - least) / 2",
      "np.minimum(n_people[:-1], n_people[1:])",
      "guard/test_pieces.py::test_no_key_moves_a_cut_so_far_that_a_piece_is_of_few"),
    M("numbers are drawn in a void", "guard/pieces.py", "values[first[a]] - unit / 2", "values[first[a] - 1]",
      "guard/test_pieces.py::test_nothing_is_told_in_the_void_beside_a_shared_value"),
    M("a piece of few passes", "release/rederive/told_numbers.py", "minlength=len(begins)) < people",
      "minlength=len(begins)) < 1", "guard/test_pieces.py::test_pieces_that_are_not_those_of_the_table_are_found"),
    M("a tail is released as its mean", "guard/runs.py",
      "centre[end] = values[here][middle]", "pass", "guard/test_runs.py::test_an_outlier_is_in_no_end_run"),
    M("a tail has its own score", "guard/moments.py", "np.ldexp(np.clip(values, low, high), -power)",
      "np.ldexp(values, -power)", f"{DRAWN}test_a_tail_has_the_score_of_its_quantile"),
    M("nobody is added to a group", "guard/moments.py",
      "SHRINK = 10", "SHRINK = 0", f"{TAMPERED}test_it_holds_as_it_was_made"),
    M("draws are not bound to their plan", "guard/draw.py",
      "return key.bound(dumps(replace(plan, guard=none, parameters={})))", "return key",
      f"{DRAWN}test_each_plan_has_its_own_key"),
    M("a rare category is drawn", "guard/rare.py", "for name, n in counted.items() if n >= least]",
      "for name, n in counted.items() if n >= 1]", "guard/test_runs.py::test_columns_of_every_type_keep_it"),
    M("a parent is released that few people share", "guard/rare.py", "people, strict=True) if n >= least}",
      "people, strict=True) if n >= 1}", "guard/test_rare.py::test_parents_are_the_nearest_that_enough_people_share"),
    M("a category that enough people have may be joined", "release/rederive/guard_recipe.py",
      " + self._joined_needlessly(column, person)", "",
      "guard/test_rare.py::test_a_plan_that_joins_other_categories_is_found"),
    M("one known value stands alone in a group", "guard/draw.py", "(present > 0) & (present < wanted)",
      "(present > 0) & (present < 0)", "guard/test_rare.py::test_values_that_come_together_are_as_many_as_before"),
    M("draws may break a promise", "guard/draw.py",
      "by_count(guard, groups_that_break(plan, groups, visible, visible_codes, draws.here(items)))", "{}",
      f"{DRAWN}test_a_group_above_the_cap_is_drawn_again"),
    M("rows keep what breaks a rule", "guard/rule_swaps.py",
      "if not rows.rules:", "if True:", f"{RULED}test_no_row_breaks_a_rule_and_relations_stay"),
    M("a tolerated rule may be broken by any row", "guard/rule_swaps.py",
      "excess[at, rows[np.argsort(order[rows], kind=\"stable\")[:most]]] = False", "pass",
      f"{RULED}test_as_many_rows_as_are_tolerated_break_a_rule"),
    M("what is computed has no ends", "guard/rule_swaps.py",
      "numbers = [c for c in (released[each.name] for each in guard.derived if each.sql) if len(c.cuts)]",
      "numbers = []", f"{RULED}test_as_many_rows_as_are_tolerated_break_a_rule"),
    M("values of other groups are believed", "release/rederive/guard_recipe.py",
      "if _differing(one, two) <= other:", "if True:", f"{RULED}test_a_plan_that_hides_a_swap_is_found"),
    M("a list of values has no features of its members", "guard/features.py",
      "for i, (member, code_of) in enumerate(column.members()):", "for i, (member, code_of) in ():",
      f"{RULED}test_a_number_that_a_category_decides_keeps_its_relations"),
    M("a value stands where a unit has no row", "release/rederive/guard_recipe.py",
      "int(np.count_nonzero(~is_here & ", "0 * int(np.count_nonzero(~is_here & ",
      "guard/test_slots.py::test_a_value_without_a_row_is_found"),
    M("rows with and without a cell swap its values", "kernels/even_draws.py",
      "may &= classes[u, a] == classes[u, b] and classes[u, a] != FIXED", "may &= True",
      "guard/test_slots.py::test_rows_of_different_slots_swap_nothing"),
    M("ids of the original are given again", "columns/units.py", "start = 10 ** len(str(largest))", "start = 0",
      "release/test_units.py::test_released_long_tables_are_ones"),
    M("a rare set of rows is released", "columns/units.py",
      "{pattern: pattern for pattern, n in patterns.items() if n >= people}",
      "{pattern: pattern for pattern, n in patterns.items()}",
      "columns/test_units.py::test_rare_patterns_lead_to_like_ones"),
    M("a long file is believed", "release/unit_release.py",
      "*expected.checks(summed(expected, units))", "", "release/test_units.py::test_a_changed_file_is_not_written"),
    M("pairs of columns are left as they were drawn", "guard/guarding.py",
      "items = near_table(guard, items, fitted.codes, wanted, key, slots)", "pass",
      f"{DRAWN}test_pairs_that_rank_correlations_do_not_tell_are_kept"),
    M("moments are told exactly", "guard/swap.py",
      "SLACK, NOISE = 0.1, 8", "SLACK, NOISE = 0.1, 0", f"{DRAWN}test_one_person_decides_no_count_of_pairs"),
    M("shares are smoothed towards everybody", "guard/rule.py", "if rule is None:", "if True:",
      f"{DRAWN}test_few_people_in_two_columns_are_not_told"),
    M("what many people have is tilted as well", "guard/rule.py",
      "heaps = np.flatnonzero(runs.is_heap)", "heaps = np.zeros(0, np.int64)",
      f"{HEAPS}test_a_group_keeps_its_share_of_zeros"),
    M("a class shows that its value has so many people", "guard/rule.py",
      'enough = 1 + uniforms(words_of(runs.values.view(np.uint64), key, "guard class"))',
      "enough = np.ones(len(runs.values))", f"{HEAPS}test_the_key_decides_whether_a_value_is_a_class"),
    M("a class follows no rule", "guard/rule.py", "(record.by_moments and not len(record.classes))",
      "record.by_moments", f"{HEAPS}test_who_is_of_a_class_follows_a_rule_and_the_rest_is_tilted"),
    M("a class may be of few people", "release/rederive/guard_recipe.py",
      "< max(50, people.sum() / 20)).any():", "< 1).any():", f"{HEAPS}test_a_class_of_few_people_is_found"),
    M("few people carry a tie", "guard/swap.py", "for m in few:", "for m in ():",
      f"{DRAWN}test_a_few_people_do_not_carry_what_only_they_have"),
    M("a column that breaks no promise is drawn again", "guard/draw.py",
      "if place[head[c.name]].start == first", "", f"{DRAWN}test_only_the_column_that_breaks_a_promise_is_drawn_again"),
    M("a rule is of some rows", "guard/logit.py", "if len(some) < len(at):", "if False:",
      "guard/test_logit.py::test_the_rule_of_a_large_table_is_that_of_all_of_its_people"),
    M("a swap raises the loss", "kernels/even_draws.py", "if k + 1 < last or cost < 0:", "if True:",
      f"{DRAWN}test_swaps_are_those_of_the_definition"),
    M("a combination of exactly k rows is left out", "guard/file_cap.py",
      "np.where(rows >= k, n", "np.where(rows > k, n", f"{CAPPED}test_combinations_are_those_that_enough_rows_have"),
    M("two quasi-identifiers together are not capped", "guard/file_cap.py",
      "in combinations_with_replacement(bins, 2)", "in zip(bins, bins, strict=True)",
      f"{CAPPED}test_combinations_are_those_that_enough_rows_have"),
    M("a swap raises what combinations tell", "kernels/even_draws.py", "if change < best:", "if True:",
      f"{CAPPED}test_swaps_are_those_of_the_definition"),
    M("a cap of the file is not checked again", "release/verify.py",
      "if guarded.guard.cap_on == FILE:", "if False:", f"{CAPPED}test_a_plan_comes_back_and_is_checked_again"),
    M("an audit believes that a file keeps its cap", "release/rederive/possible.py",
      "if guard.cap_on == FILE:", "if False:",
      f"{CAPPED}test_an_audit_without_a_key_notices_a_file_that_breaks_the_cap"),
    M("a rule that makes a value certain is no reason", "report/reasons.py", "    _shows_a_rule,\n", "",
      f"{CAPPED}test_a_rule_that_makes_a_scarce_value_certain_is_a_reason_for_care"),
    M("draws are dealt in the order of the input", "guard/rows.py",
      "order = np.lexsort((words, labels))", 'order = np.argsort(labels, kind="stable")',
      f"{DRAWN}test_the_key_makes_the_bytes_and_nothing_else"),
    M("drawn rows stand in the order of the input", "release/making.py",
      "if options.keep_order and guard is not None and guard.rows:", "if False:",
      "workflow/test_guard.py::test_what_cannot_be_is_refused_before_the_work"),
    M("values of rows are not compared by group", "release/rederive/guard_recipe.py",
      "if np.array_equal(one, two):", "if True:",
      f"{TAMPERED}test_values_swapped_between_groups {TAMPERED}test_a_changed_value"),
    M("values that few people share are not counted", "release/rederive/guard_recipe.py",
      "(people < self.guard.people) & ((people > 0)", "(people < 1) & ((people > 0)",
      f"{TAMPERED}test_an_altered_plan"),
    M("the means of groups are believed", "release/rederive/guard_recipe.py",
      "far = np.abs(mean / step - planned[0]) > 0.5 + _CLOSE", "far = np.zeros(n_groups, np.bool_)", DERIVED),
    M("the spreads of groups are believed", "release/rederive/guard_recipe.py",
      "far |= np.abs(np.maximum(spread / step, 1) - planned[1]) > 0.5 + _CLOSE", "", DERIVED),
    M("records without a value are believed", "release/rederive/guard_recipe.py",
      "far |= np.asarray(column.missing) != np.bincount(with_cell, minlength=n_groups) - n_present", "", DERIVED),
    M("tilts are believed", "release/rederive/guard_recipe.py",
      "int(off[[*pair, column.whole]].sum())", "0", DERIVED),
    M("a plan excuses its tilts", "release/rederive/guard_recipe.py",
      " + abs(int(moved[pair].sum()) - column.moved)", "", DERIVED),
    M("one person alone in the rest of a group is told by its mean", "guard/rule.py",
      "HALF if classes.any() else 0", "0",
      f"{HEAPS}test_the_mean_of_one_alone_in_the_rest_counts_a_fifth"),
    M("few numbers of a file are taken together by their runs", "guard/file_cap.py",
      "if as_read.n_values <= VALUES:", "if False:",
      f"{CAPPED}test_of_few_numbers_each_keeps_the_cap_though_a_run_holds_several"),
    M("rules are believed", "release/rederive/guard_recipe.py",
      "not column.ruled or self._rule(column).off <= _MISSED", "True",
      f"{TAMPERED}test_a_rule_is_that_of_the_table"),
    M("the signature of any key is believed", "release/signing.py",
      "stdin=listed.encode()).returncode == 0", "stdin=listed.encode()).returncode >= 0",
      "release/test_signing.py::test_another_key_and_a_signature_for_something_else_do_not_hold"),
    M("a file that was not signed is believed", "release/signing.py",
      "if name not in hashes)", "if False)",
      "release/test_signing.py::test_a_list_that_lacks_a_file_does_not_hold_although_it_is_signed"),
    M("a changed file is believed", "release/signing.py",
      '["sha256"] == expected', '["sha256"] != ""',
      "release/test_signing.py::test_a_changed_table_whose_hash_was_corrected_is_noticed"),
)  # fmt: skip


def stale(mutants: Iterable[Mutant], root: Path) -> list[str]:
    """Return what no longer fits: texts that do not occur once, tests that do not exist."""
    faults = []
    for mutant in mutants:
        for file, old, new in mutant.edits:
            path = root / PACKAGE / file
            times = path.read_text(encoding="utf-8").count(old) if path.is_file() else 0
            if times != 1 or old == new:
                faults.append(f"{mutant.name}: its text occurs {times} times in {file}")
        for test in mutant.tests.partition(" -k ")[0].split():
            name, _, function = test.partition("::")
            path = root / "tests" / name
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if not text or (function and f"def {function.partition('[')[0]}(" not in text):
                faults.append(f"{mutant.name}: there is no test {test}")
    return faults


@dataclass(frozen=True)
class Result:
    """The verdict of the tests on one mutant."""

    mutant: Mutant
    verdict: str
    seconds: float
    output: str = ""


class Worker:
    """A private copy of the tree with its own compiled kernels, for one mutant after the other."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.tree, self.kernels = folder / "tree", folder / "kernels"
        ignored = shutil.ignore_patterns("__pycache__", ".*cache")
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, self.tree / name, ignore=ignored)
            elif (root / name).is_file():
                self.tree.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)

    def tested(self, tests: str) -> tuple[int, str]:
        """Run tests; return the code of pytest and its last line."""
        named, _, words = tests.partition(" -k ")
        places = [str(Path("tests", test)) for test in named.split()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *places]
        environment = os.environ | {
            "PYTHONPATH": str(self.tree / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a mutant of the same size and second would not show
            "NUMBA_CACHE_DIR": str(self.kernels),
        }
        try:
            done = subprocess.run(
                [*command, *(["-k", words] if words else [])],
                cwd=self.tree,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"no answer within {LONGEST} seconds"
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        failed = [line for line in lines if line.startswith("FAILED")]
        return done.returncode, (failed or lines or [done.stderr[-300:]])[-1]

    def _forget(self, changed: set[str]) -> None:
        """Remove compiled code of changed files, and of files that include their loops.

        Compiled code is looked up by the file of the loop that is called, which did not change.
        """
        kernels: dict[str, str] = {}
        for path in (self.tree / PACKAGE).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "compiled import" in text:  # files of one name in two rooms are taken for one
                kernels[path.stem] = kernels.get(path.stem, "") + text
        todo = stale_files = changed & set(kernels)
        while todo:
            words = re.compile(rf"\b({'|'.join(todo)}) import\b|\bimport\b.*\b({'|'.join(todo)})\b")
            todo = {stem for stem, text in kernels.items() if words.search(text)} - stale_files
            stale_files = stale_files | todo
        for path in self.kernels.rglob("*.nb?"):
            if path.name.partition(".")[0] in stale_files:
                path.unlink()

    def result(self, mutant: Mutant) -> Result:
        """Apply a mutant, run its tests, and undo it."""
        begin, before = time.monotonic(), {}
        changed = {Path(file).stem for file, _, _ in mutant.edits}
        try:
            for file, old, new in mutant.edits:
                path = self.tree / PACKAGE / file
                text = path.read_text(encoding="utf-8")
                before.setdefault(path, (text, path.stat()))
                path.write_text(text.replace(old, new), encoding="utf-8")
            self._forget(changed)
            code, output = self.tested(mutant.tests)
        finally:
            self._forget(changed)
            for path, (text, stamp) in before.items():
                path.write_text(text, encoding="utf-8")
                os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        verdict = {0: SURVIVED, 1: KILLED}.get(code, FAULT)
        return Result(mutant, verdict, time.monotonic() - begin, "" if code == 0 else output)

    def results(self, tests: str, mutants: Sequence[Mutant]) -> Iterable[Result]:
        """Yield the results of mutants with the same tests, which must pass without a mutant."""
        code, output = self.tested(tests)
        for mutant in mutants:
            if code:
                yield Result(mutant, FAULT, 0.0, f"its tests do not pass as it is: {output}")
            else:
                yield self.result(mutant)


def run(mutants: Sequence[Mutant], root: Path, jobs: int, tell: Callable[[Result], None]) -> list[Result]:
    """Run every mutant, those of the same tests one after the other in one copy."""
    groups: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault(mutant.tests, []).append(mutant)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free: SimpleQueue[Worker] = SimpleQueue()
        for job in range(min(jobs, len(groups))):
            free.put(Worker(root, Path(folder, str(job))))

        def work(tests: str) -> None:
            worker = free.get()
            try:
                for result in worker.results(tests, groups[tests]):
                    results.append(result)
                    tell(result)
            finally:
                free.put(worker)

        with ThreadPoolExecutor(max(1, min(jobs, len(groups)))) as pool:
            list(pool.map(work, groups))
    return results


def code_of(results: Sequence[Result]) -> int:
    """Return 0 where few survive, each with a reason; 1 where others do; 2 for a faulty table."""
    if any(result.verdict == FAULT for result in results):
        return 2
    alive = [result.mutant for result in results if result.verdict == SURVIVED]
    return int(len(alive) > MOST or not all(mutant.reason for mutant in alive))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="names or files that match")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="copies at work at once")
    options = parser.parse_args(arguments)
    faults = stale(MUTANTS, ROOT)
    if faults:
        print("the table of mutants is out of date:", *faults, sep="\n  ")
        return 2
    pattern = re.compile(options.only, re.IGNORECASE)
    chosen = [m for m in MUTANTS if pattern.search(m.name) or pattern.search(m.file)]
    if not chosen:
        parser.error(f"no mutant has {options.only!r} in its name or file")

    def tell(result: Result) -> None:
        mutant = result.mutant
        print(f"{result.verdict:8} {result.seconds:6.1f} s  {mutant.file}: {mutant.name}", flush=True)
        if result.verdict != KILLED:
            print(f"{'':19}{mutant.reason or result.output or 'no test noticed: ' + mutant.tests}", flush=True)

    begin = time.monotonic()
    results = run(chosen, ROOT, max(1, options.jobs), tell)
    count = {verdict: sum(r.verdict == verdict for r in results) for verdict in (KILLED, SURVIVED, FAULT)}
    print(
        f"{len(results)} mutants: {count[KILLED]} killed, {count[SURVIVED]} survived, "
        f"{count[FAULT]} at fault, in {(time.monotonic() - begin) / 60:.1f} minutes"
    )
    return code_of(results)


if __name__ == "__main__":
    sys.exit(main())
