"""Three tiers of tests: `make test` runs the fast ones, `make test-all` more, `make nightly` all.

`make test` leaves to `make test-all` what is slow, by file or function, in `KEPT`: a number keeps every
nth case of a function whose cases are a product of methods and tables; 0 keeps none. Single tests that
take more than a quarter of a second (one second where promises and formulas are tested) stand in
``slow.txt``, which `python scripts/slow_tests.py` measures.

`make test-all`, which CI runs, leaves to `make nightly` most cases of the largest products, what is tried
again with other seeds, and results of papers: `NIGHTLY`. Where a number keeps every nth case, the first case
of every value of every parameter stays as well, so CI tries each method and each kind of table, if not each
with each. Nothing is dropped: `make nightly` runs them all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

KEPT = {
    "contracts/test_sklearn.py::test_conventions": 5,
    "test_docs.py::test_what_a_page_says_runs": 0,
    "test_arguments.py::test_every_public_function_tells_what_is_of_a_wrong_type": 0,
    "test_typed.py": 0,
    "test_notebooks.py": 0,
    "test_plots.py::test_axes_are_made_or_taken_and_have_labels": 0,
    "test_mutants.py::test_what_no_test_notices_survives": 0,
    "test_bad_inputs.py::test_files_beside_a_release_that_were_edited": 4,
    "test_cli_first.py::test_standard_input_and_output_are_files_called_dash": 0,
    "test_cli_masking.py::test_every_masking_method_writes_a_release": 3,
    "experiments/": 0,
    "studio/test_walk.py": 0,
    "studio/test_work.py": 0,
    "backends/test_spark": 0,
    "backends/test_warehouse.py": 0,
    "backends/test_check_sql.py::test_odd_tables": 7,
    "test_dbt.py": 0,
    "audit/attacks/test_knows_method.py::test_nothing_is_left_out_where_something_was_refused": 0,
    "backends/test_parts.py::test_a_disk_that_is_really_full": 3,
    "backends/test_duckdb.py::test_draws_are_those_of_memory": 4,
    "contracts/test_recipient.py::test_every_sign_in_the_table_is_explained": 41,
    "contracts/test_recipient.py": 11,
    "contracts/test_command_line.py": 11,
    "contracts/test_engines.py": 6,
    "contracts/test_guard.py": 101,
    "audit/attacks/test_membership.py::test_groups_that_keep_only_a_mean_show_hardly_who_is_in_them": 0,
    "audit/attacks/test_membership.py::test_an_audit_of_a_release_says_who_is_found": 0,
    "audit/test_guarded.py::test_strangers_are_attacked_in_releases_that_are_guarded_alike": 0,
    "methods/test_private_tree.py::test_no_odd_person_decides_a_byte_besides_noise": 5,
    "contracts/test_methods.py::test_a_plan_on_other_people": 9,
    "contracts/test_methods.py::test_the_same_parameters_give_the_same_release": 3,
    "contracts/test_methods.py::test_shuffled_rows_give_the_same_release": 3,
    "contracts/test_methods.py::test_a_correct_release_or_a_clear_error": 3,
    "reference/test_hedge.py::test_the_package_makes_the_same_cells_and_joins": 4,
    "adversary/test_values.py::test_written_cells_cover_their_originals_to_the_last_digit": 11,
    "adversary/test_values.py::test_odd_sensitive_values_are_released_and_held_exactly": 7,
    "adversary/test_handed_out.py::test_every_method_hands_out_its_public_files_alone": 11,
    "adversary/test_tampered.py": 8,
    "adversary/test_order.py::test_bytes_do_not_depend_on_the_order_of_the_input": 4,
    "adversary/test_order.py::test_a_register_sorted_by_name_does_not_link_by_order": 0,
    "adversary/test_persons.py": 5,
    "adversary/test_types.py": 4,
    "adversary/test_membership.py::test_the_audit_finds_at_least_as_many_as_the_rows": 0,
    "adversary/test_randomized_response.py::test_two_releases_under_one_key_agree_as_under_two": 5,
    "adversary/test_hedge.py::test_written_releases_keep_every_promise": 4,
    "adversary/test_promise.py::test_no_group_of_a_written_release_tells_more_than_the_cap": 4,
    "adversary/test_promise.py::test_every_method_that_can_hold_the_cap_does": 4,
    "adversary/test_promise.py::test_declared_events_are_told_no_more_than_the_cap": 0,
    "adversary/test_promise.py::test_a_rare_flag_does_not_make_the_table_fall_apart": 0,
    "adversary/test_shadows.py": 0,
    "adversary/test_numbers.py": 0,
    "adversary/test_moments.py": 0,
    "adversary/test_grid.py::test_only_public_points_are_told": 4,
    "adversary/test_households.py::test_hundreds_of_random_releases": 0,
    "adversary/test_anatomy.py::test_the_published_files_tell_no_more_than_one_in_l": 4,
    "adversary/test_guard.py::test_a_thousand_written_releases": 0,
    "guard/test_draws.py::test_neither_hash_seed_nor_threads_nor_the_processor_matter": 0,
    "guard/test_draws.py::test_a_database_draws_the_same": 3,
    "guard/test_tampering.py::test_a_written_file_is_read_back": 3,
    "methods/test_many_values.py::test_a_hundred_thousand_categories_take_seconds": 0,
    "methods/test_interrupt.py": 8,
    "methods/test_lattice.py::test_adult_optimum_equals_all_12960_nodes": 0,
    "methods/tpp/test_tpp_sklearn.py::test_adult_one_hot_is_rebuilt": 0,
    "workflow/test_repeat.py::test_the_command_makes_the_same_files": 8,
    "workflow/test_repeat.py::test_what_flags_cannot_say_stands_in_a_schema_file": 0,
    "workflow/test_repeat.py::test_pseudonyms_attacks_and_escapes_are_repeated": 0,
    "workflow/test_repeat.py::test_who_is_a_person_is_repeated": 3,
    "audit/attacks/test_truth.py": 0,
    "audit/unpaired/test_truth.py": 0,
    "audit/attacks/test_knows_method.py::test_every_assignment_that_gives_the_same_release_agrees": 3,
    "audit/attacks/test_knows_method.py::test_it_equals_enumeration_by_the_definitions": 0,
    "audit/attacks/test_knows_method.py::test_the_audit_says_what_a_refused_split_of_wards": 0,
    "audit/attacks/test_group_learners.py::test_anatomy_on_adult_says_what_reading_its_files_gives": 0,
    "audit/attacks/test_group_learners.py::test_a_bound_that_anatomy_breaks_is_searched_on": 0,
    "audit/attacks/test_membership.py::test_choosing_the_strongest_of_many_finds_nobody": 0,
    "audit/test_frontier_methods.py": 0,
    "audit/test_engines.py": 3,
    "kernels/test_compiled.py": 4,
    "io/test_spelling.py::test_codes_come_out_as_they_came_in": 5,
    "io/test_spelling.py::test_declared_codes_are_read_as_text": 4,
    "io/test_write.py::test_any_t": 0,
    "release/test_verify.py::test_a_tampered_file_is_found": 4,
    "backends/test_ahead.py::test_what": 0,
    "trees/test_listed.py": 0,
    "methods/test_private_tree.py::test_nothing_public_holds_an_exact_count": 0,
    "methods/test_private_tree.py::test_opendp_draws_the_noise_that_was_paid_for": 0,
    "audit/attacks/test_knows_method.py::test_sampling_agrees_with_enumeration": 0,
    "audit/attacks/test_knows_method.py::test_text_report_and_schema_say_what_was_concluded": 0,
    "backends/test_duckdb.py::test_the_report_is_that_of_memory": 0,
    "release/test_verify.py::test_written_files_hold_in_every_format": 4,
}
"""The beginning of a test's name below tests/: every nth case stays in `make test`."""
# beside each: seconds that it took of the processors, of which CI now pays the share that is kept
NIGHTLY = {
    # methods x odd tables x options, each of which is a release
    "contracts/test_methods.py::test_a_correct_release_or_a_clear_error": 1000,  # 55; a third is fast
    "contracts/test_methods.py::test_shuffled_rows_give_the_same_release": 1000,  # 25; a third is fast
    "contracts/test_guard.py": 5,  # 62
    "contracts/test_recipient.py::test_every_sign_in_the_table_is_explained": 5,  # 57
    "adversary/test_values.py::test_written_cells_cover_their_originals_to_the_last_digit": 5,  # 78
    "adversary/test_membership.py::test_the_audit_finds_at_least_as_many_as_the_rows": 4,  # 104
    "adversary/test_types.py": 5,  # 15
    "backends/test_check_sql.py::test_odd_tables": 5,  # 53
    "io/test_spelling.py::test_codes_come_out_as_they_came_in": 5,  # 12
    # arguments x wrong values, of which a third stays for each argument
    "test_arguments.py::test_every_public_function_tells_what_is_of_a_wrong_type": 1000,  # 122
    # the same with other seeds, or more of them
    "adversary/test_guard.py::test_a_thousand_written_releases": 0,  # 280; thirty are fast
    "adversary/test_numbers.py::test_nor_does_a_rule": 0,  # 40
    "adversary/test_moments.py::test_whoever_knows_all_but_one": 0,  # 60
    "adversary/test_households.py::test_hundreds_of_random_releases": 4,  # 28
    "audit/attacks/test_membership.py::test_groups_that_keep_only_a_mean_show_hardly_who_is_in_them": 0,  # 38
    "audit/attacks/test_most_exposed.py::test_releases_of_other_people_give_chance": 0,  # 13
    "audit/attacks/test_knows_method.py::test_every_assignment_that_gives_the_same_release_agrees": 0,  # 33
    "audit/unpaired/test_truth.py::test_rows_that_are_nobodys_gain_nothing_over_the_control": 0,  # 23
    "audit/test_matching.py::test_a_random_order_passes_the_test_no_more_often_than_its_level_says": 0,  # 5
    "methods/test_private_tree.py::test_opendp_draws_the_noise_that_was_paid_for": 0,  # 12
    "adversary/test_hedge.py::test_written_releases_keep_every_promise": 4,  # 22
    "backends/test_spark.py::test_neither_parts_nor_who_counts_a_node_matter": 0,  # 55
    "backends/test_spark.py::test_an_odd_table": 0,  # 45
    "backends/test_spark.py::test_the_rows_of_a_large_group_are_counted_in_batches": 0,  # 20
    "backends/test_spark.py::test_other_methods_and_cells": 0,  # 35
    "backends/test_spark.py::test_workers_load_only_what_they_run": 0,  # 15
    "backends/test_spark.py::test_large_text_and_other_encodings_are_as_in_memory": 0,  # 12
    "backends/test_spark_frames.py::test_names_that_differ_in_case_alone": 0,  # 7
    "backends/test_spark_frames.py::test_text_that_a_collation_holds_equal": 0,  # 6
    "backends/test_spark_frames.py::test_moments_lie_in_files_as_in_memory_whatever_spark_is_set_to": 0,  # 7
    "test_bad_inputs.py::test_files_beside_a_release_that_were_edited": 0,  # 23; one of four is fast
    # the same with many rows or categories
    "methods/test_many_values.py::test_a_hundred_thousand_categories_take_seconds": 0,  # 40
    "methods/test_lattice.py::test_adult_optimum_equals_all_12960_nodes": 0,  # 16
    "audit/attacks/test_group_learners.py::test_anatomy_on_adult_says_what_reading_its_files_gives": 0,  # 22
    "audit/attacks/test_truth.py::test_an_unchanged_table_of_different_people_is_told_wholly_at_any_size": 0,  # 13
    "audit/attacks/test_truth.py::test_many_different_categories_ask_for_no_table_of_all_pairs": 0,  # 6
    "test_docs.py::test_what_a_page_says_runs": 1000,  # 207
    "release/test_units.py::test_random_long_tables_hold_with_and_without_the_key": 4,  # 200
    # results of papers, from the experiments beside the package
    "experiments/test_paper_tpp.py::test_pictures_are_svg_and_the_same_twice": 0,  # 8
    "experiments/test_randomized_response_paper.py::test_utilities_and_pictures": 0,  # 11
    "experiments/test_mart_paper.py": 0,  # 112
    "experiments/test_porop_paper.py": 0,  # 59
    # a cluster whose machines fail, and whose client stands elsewhere
    "backends/test_spark_executors.py": 0,  # 250
    "backends/test_spark.py::test_a_lost_worker_changes_nothing": 0,  # 25
    "backends/test_spark.py::test_little_memory_of_tasks_and_driver_changes_nothing": 0,  # 40
    "backends/test_spark_audit.py::test_pairs_are_counted": 0,  # 170
    "backends/test_spark_methods.py::test_the_contract": 0,  # 120
    "backends/test_spark_methods.py::test_methods_that_ask_for_codes": 0,  # 25
    "backends/test_spark_methods.py::test_a_release_is_checked_in_sql": 0,  # 77
    "backends/test_spark_audit.py::test_another_table": 0,  # 27
    "backends/test_spark_audit.py::test_what_memory_takes_as_well": 0,  # 13
    # how many files a first contribution has to change, and an old page of the studio
    "test_first_changes.py": 0,  # 80
    "studio/test_walk.py::test_what_was_typed_on_an_outdated_page": 0,  # 16
    # commands of every method that are run again
    "workflow/test_repeat.py::test_what_flags_cannot_say_stands_in_a_schema_file": 0,  # 27
    "audit/test_frontier_methods.py::test_the_same_bytes_in_any_row_order": 0,  # 14
    "workflow/test_repeat.py::test_the_command_makes_the_same_files_and_the_code_the_same_release": 4,  # 100
    # the same with other seeds
    "audit/attacks/test_membership.py::test_choosing_the_strongest_of_many_finds_nobody_where_nothing_leaks": 0,  # 40
    "audit/attacks/test_most_exposed.py::test_the_interval_of_the_share_found_covers_it": 0,  # 20
    "methods/test_private_tree.py::test_repeated_draws_of_opendp_show_no_more_than_was_paid_for": 0,  # 30
    "methods/test_private_tree.py::test_the_loss_of_every_transcript_is_at_most_epsilon": 0,  # 40
    # machine code of every method, beside that of one; and of what only `make nightly` runs
    "backends/test_ahead.py::test_what_draws_is_compiled_ahead_as_well": 0,  # 64
    "backends/test_ahead.py::test_what_is_compiled_ahead_is_not_compiled_again_and_one_line_says_what_happens": 0,  # 50
    # a type checker over a user's script, beside that over the package
    "test_typed.py": 0,  # 45
    "test_mutants.py::test_what_no_test_notices_survives": 0,  # 13
}
"""The beginning of a test's name: `make test-all` runs what is fast, every nth case and each value; with 0 no other."""
DRAWN = {"seed", "hundred", "fifty", "part", "parts", "third", "most"}
"""Parameters of which one value is as good as another."""
SLOW = frozenset(filter(None, (Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").splitlines()))
"""Functions, and cases of functions, that take long."""


def values(item: pytest.Item) -> set[tuple[str, str]]:
    """Return the values of a case's parameters; those of a pair count each for itself, seeds do not count."""
    call = getattr(item, "callspec", None)
    found = set()
    for name, value in call.params.items() if call else ():
        parts = value if isinstance(value, tuple) else (value,)
        found |= {(f"{name} {i}", repr(part)) for i, part in enumerate(parts) if name not in DRAWN}
    return found


def shown(cases: Sequence[pytest.Item], every: int, fast: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the cases of a function that CI runs: what is fast, every nth, and the first with a value not seen yet.

    Every nth alone would be of the same few methods where their number and n have a common factor.
    """
    if every == 0:
        return {*fast}
    chosen = [*fast, *cases[::every]]
    seen: set[tuple[str, str]] = set().union(*map(values, chosen))
    for case in cases:
        if not values(case) <= seen:
            chosen.append(case)
            seen |= values(case)
    return {*chosen}


def mark(items: Sequence[pytest.Item]) -> set[str]:
    """Mark the tests that `make test` or `make test-all` leaves out; return the rows that fit no test."""
    unused = {*KEPT, *SLOW, *NIGHTLY}
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        functions[name.partition("[")[0]].append(item)
        unused.discard(name)
    for function, cases in functions.items():
        row, large = (next((begin for begin in rows if function.startswith(begin)), "") for rows in (KEPT, NIGHTLY))
        unused -= {row, large, function}
        every = KEPT.get(row, 1)
        fast = [
            case
            for i, case in enumerate(cases)
            if every and i % every == 0 and not SLOW & {function, case.nodeid.removeprefix("tests/")}
        ]
        in_ci = shown(cases, NIGHTLY[large], fast) if large else {*cases}
        for case in {*cases}.difference(fast):
            case.add_marker(pytest.mark.slow)
            if case not in in_ci:
                case.add_marker(pytest.mark.nightly)
    return unused
