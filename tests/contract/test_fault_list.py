"""Which test holds each known fault of neighbouring projects (F001 to F125), and which are held by none yet, and why.

The list is of public bug reports; a test's docstring or name tells which rule of ours it became.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

FIELD = "integration/test_field_faults.py::"
INPUT = "integration/test_bad_input.py::"
RERANK = "integration/test_rerank.py::"
METRICS = "integration/test_metrics.py::"
SECURITY = "integration/test_security.py::"
OUTAGE = "integration/test_redis_outage.py::"
MONITORING = "end_to_end/test_monitoring.py::"
PRODUCTION = "end_to_end/test_production.py::"

HELD = {
    "F001": FIELD + "test_a_limit_gives_exactly_so_many",
    "F003": INPUT + "test_a_broken_field_is_named",
    "F005": FIELD + "test_a_limit_above_the_number_of_candidates_gives_all",
    "F007": FIELD + "test_without_a_limit_it_is_the_documented_one",
    "F015": INPUT + "test_an_unknown_field_is_answered_with_the_nearest_known_name",
    "F019": RERANK + "test_of_equal_ids_the_best_scored_counts_with_a_warning",
    "F021": FIELD + "test_metadata_come_back_deep_equal",
    "F023": FIELD + "test_a_limit_gives_exactly_so_many",
    "F024": FIELD + "test_an_empty_pool_is_an_empty_answer",
    "F025": RERANK + "test_an_empty_text_does_not_spoil_the_ranking_of_the_others",
    "F027": FIELD + "test_the_limits_are_told_and_one_above_is_refused_with_the_number",
    "F028": FIELD + "test_no_answer_holds_a_number_that_is_not_finite",
    "F029": FIELD + "test_no_answer_holds_a_number_that_is_not_finite",
    "F030": "fuzz/test_corpus.py::test_a_hostile_body_is_answered_as_it_deserves",
    "F031": FIELD + "test_an_entity_is_the_same_however_it_is_written",
    "F033": FIELD + "test_scores_of_any_range_come_back_as_they_were_given",
    "F035": RERANK + "test_a_declared_distance_is_turned_round_and_given_back_untouched",
    "F037": "unit/app/test_ingestion_vectors.py::test_embeddings_are_kept_at_length_one_and_zero_stays_zero",
    "F038": FIELD + "test_equal_candidates_come_in_the_order_of_the_pool_every_time",
    "F039": "contract/test_selectors.py::test_answers_the_same_under_every_hash_seed",
    "F041": FIELD + "test_a_zero_is_a_value_and_no_default",
    "F045": FIELD + "test_near_duplicates_leave_no_selector_short",
    "F047": "property/test_embedding_selectors.py::",
    "F049": INPUT + "test_a_body_that_is_no_good_json_is_told_where",
    "F053": INPUT + "test_a_broken_field_is_named",
    "F055": FIELD + "test_weights_need_not_sum_to_one",
    "F057": FIELD + "test_an_opinion_that_the_target_lacks_divides_by_no_zero",
    "F059": "unit/app/test_labels.py::test_each_way_to_write_an_opinion_reaches_its_position",
    "F061": "integration/test_catalog.py::test_ingest_tells_created_updated_unchanged_stale_and_conflict",
    "F063": "integration/test_catalog.py::test_counts_follow_replacement_and_deletion",
    "F065": FIELD + "test_the_same_id_three_times_is_one_document_with_the_latest_vector",
    "F067": FIELD + "test_expansion_never_brings_a_document_about_something_else",
    "F069": FIELD + "test_an_embedding_of_another_length_is_refused_with_both_lengths",
    "F079": OUTAGE + "test_the_service_starts_without_the_server_and_finds_it_later",
    "F081": OUTAGE + "test_while_the_server_is_away_reranking_goes_on_and_says_so",
    "F088": METRICS + "test_all_promised_series_stand_at_zero_before_the_first_request",
    "F089": METRICS + "test_a_request_adds_one_to_exactly_one_series",
    "F091": METRICS + "test_no_name_that_callers_send_makes_a_series",
    "F093": "unit/app/test_series.py::test_of_a_killed_process_the_counts_stay_and_the_gauges_go",
    "F095": "end_to_end/test_deployment.py::test_prometheus_scrapes_where_the_service_listens",
    "F097": MONITORING + "test_every_query_of_the_dashboard_finds_data",
    "F098": SECURITY + "test_probes_metrics_documentation_and_the_page_are_open",
    "F099": SECURITY + "test_only_a_known_key_after_bearer_in_any_case_is_accepted",
    "F103": "integration/test_work.py::test_work_that_nobody_waits_for_is_dropped_and_counted",
    "F105": FIELD + "test_overlapping_calls_about_one_entity_all_succeed",
    "F109": "end_to_end/test_streams.py::test_a_body_of_500_mb_is_cut_off_early_and_costs_next_to_nothing",
    "F111": PRODUCTION + "test_a_restart_of_two_workers_under_load_loses_no_request",
    "F117": "integration/test_work.py::test_what_takes_too_long_ends_with_504_and_makes_room",
    "F123": "unit/app/test_vader.py::test_strengths_are_cut_at_35_and_70_hundredths_toward_the_known_side",
}

OF_ROUTES_TO_COME = "F006 F009 F010 F011 F013 F017 F018"
"""Drop-in routes, of which there are none yet."""
OPEN = {
    "F043": "a pool no larger than k is answered, and not flagged as a mere reorder",
    "F051": "times by pool size are measured by loadtest/selection.py --growth, not held by a test",
    "F071": "add and search at once are on one event loop; sixty seconds of it are scoreboard row R21",
    "F073": "snapshots of the index are to come",
    "F075": "snapshots of the index are to come",
    "F077": "each worker has an index of its own; the README tells its size",
    "F083": "the count of connections over two restarts is not held by a test",
    "F085": "TLS to the store is not tried in a test",
    "F087": "values of another version are tried by the store's own tests",
    "F101": "liveness under large requests is scoreboard row R10, loadtest/production",
    "F107": "readiness comes after warming; the time of the first request is not held by a test",
    "F113": "wheels for aarch64 were looked up by hand",
    "F115": "a soak of mixed load is to come",
    "F119": "a language model as labeller is to come",
    "F121": "a language model as labeller is to come",
    "F125": "the evaluation is to come",
}


def test_every_fault_is_held_or_told_to_be_open() -> None:
    odd = {f"F{number:03}" for number in range(1, 126, 2)}
    even = {"F006", "F010", "F018", "F024", "F028", "F030", "F038", "F088", "F098"}
    accounted = [*HELD, *OPEN, *OF_ROUTES_TO_COME.split()]
    assert len(accounted) == len(set(accounted))
    assert set(accounted) == odd | even


@pytest.mark.parametrize(("fault", "where"), HELD.items(), ids=HELD)
def test_the_test_that_holds_a_fault_is_there(fault: str, where: str) -> None:
    file, _, name = where.partition("::")
    assert f"def {name}" in (TESTS / file).read_text(), fault
