"""A share of the contracts of storage on PostgreSQL behind PgBouncer: what several clients do at the same time.

`TEST_BEHIND=pgbouncer` runs all tests with a `database` fixture this way.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from horae.storage.engine.database import Database
from tests.harness.pgbouncer import PgBouncer
from tests.storage.test_claims import (
    test_a_claim_carries_what_a_node_needs,
    test_a_claim_is_one_statement_whose_text_does_not_grow,
    test_a_claim_that_is_rolled_back_leaves_nothing,
    test_concurrent_claims_skip_locked_rows,
    test_handing_back_with_a_stale_lease_changes_nothing,
    test_no_job_is_handed_to_two_claimants,
    test_one_job_by_its_id_goes_to_one_of_many,
)
from tests.storage.test_jobs_contract import (
    test_a_hook_that_fails_leaves_nothing,
    test_a_unique_key_is_free_for_one_of_many_at_once,
    test_exactly_max_count_are_created_by_many_at_once,
    test_many_at_once_may_all_get_the_one_job,
    test_ten_thousand_jobs_in_one_statement_with_ids_in_order,
)
from tests.storage.test_settling import (
    test_a_batch_of_all_kinds,
    test_a_cancel_and_a_settling_at_once_agree_with_their_answers,
    test_a_hard_limit_wins_over_a_body_that_succeeds,
    test_a_rescue_retries_fails_or_releases,
    test_a_thousand_at_once,
    test_settling_again_after_a_lost_answer,
    test_two_settle_at_once_and_one_does,
    test_two_sweepers_share_the_work_without_waiting,
)

pytestmark = pytest.mark.postgres

__all__ = [
    "test_a_batch_of_all_kinds",
    "test_a_cancel_and_a_settling_at_once_agree_with_their_answers",
    "test_a_claim_carries_what_a_node_needs",
    "test_a_claim_is_one_statement_whose_text_does_not_grow",
    "test_a_claim_that_is_rolled_back_leaves_nothing",
    "test_a_hard_limit_wins_over_a_body_that_succeeds",
    "test_a_hook_that_fails_leaves_nothing",
    "test_a_rescue_retries_fails_or_releases",
    "test_a_thousand_at_once",
    "test_a_unique_key_is_free_for_one_of_many_at_once",
    "test_concurrent_claims_skip_locked_rows",
    "test_exactly_max_count_are_created_by_many_at_once",
    "test_handing_back_with_a_stale_lease_changes_nothing",
    "test_many_at_once_may_all_get_the_one_job",
    "test_no_job_is_handed_to_two_claimants",
    "test_one_job_by_its_id_goes_to_one_of_many",
    "test_settling_again_after_a_lost_answer",
    "test_ten_thousand_jobs_in_one_statement_with_ids_in_order",
    "test_two_settle_at_once_and_one_does",
    "test_two_sweepers_share_the_work_without_waiting",
]


@pytest.fixture
def database(pgbouncer: PgBouncer, direct_url: str) -> Iterator[Database]:
    with closing(Database(pgbouncer.url(direct_url))) as database:
        assert database.pooled
        yield database
