"""Guards that are removed one at a time: each removal must be caught by the simulation, or by a test of the suite.

`make ablations` removes each guard in a process of its own and prints what caught it. A removal that nothing catches
shows a guard without a test, or one that guards nothing. The page `docs/concepts/simulation.md` has the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import false

from horae.client.jobs import cancelling as client_cancelling
from horae.client.jobs.methods.starting import StartsJobs
from horae.domain.cluster.clock_steps import Silences
from horae.domain.cluster.liveness import Contact
from horae.runtime.bodies import finished_run, runner
from horae.runtime.claims.lost_replies import LostReplies
from horae.runtime.journal.files import Begun, Journals
from horae.runtime.journal.journal import Journal
from horae.runtime.liveness.sweeper import Sweeper
from horae.runtime.node.contact import ContactReports
from horae.runtime.settling.settler import Repetition, Settler
from horae.storage.engine.connections import commit_guard
from horae.storage.jobs import claims
from horae.storage.jobs.limits import lane_statements, limited_claims
from horae.storage.jobs.tables import jobs
from horae.storage.nodes import nodes
from horae.storage.outcomes import crashed_nodes, run_ending, settling, settling_statements
from horae.storage.schedules import ticks, writing
from tests.simulation import (
    feature_removals,
    group_removals,
    removals,
    schedule_removals,
    time_removals,
)
from tests.simulation.operations import Operation
from tests.simulation.plan import Plan, plan_of
from tests.simulation.removals import Patch, instead, statement, together

LIMITED: Final = tuple(Operation(0.4 * number, "start", "limited") for number in range(20))


@dataclass(frozen=True, slots=True)
class Ablation:
    """A guard, and its removal.

    `test`: the test of the suite that fails without the guard; None for the simulation. `on_postgresql`: whether the
    simulation catches it on PostgreSQL only, where transactions that write overlap. There a seed takes ten times as
    long, so these have plans of their own, with more rivals: `calls` is what callers do in addition.
    """

    name: str
    guard: str
    patch: Patch
    calls: Sequence[Operation] = ()
    test: str | None = None
    on_postgresql: bool = False

    def plan(self, seed: int) -> Plan:
        """Return the plan of a seed: as `make simulate` draws it, except on PostgreSQL."""
        if not self.on_postgresql:
            return plan_of(seed)
        plan = replace(plan_of(seed, features=False), nodes=3)
        return replace(plan, operations=(*plan.operations, *self.calls))


IN_SIMULATION: Final = (
    Ablation(
        "lease-not-raised",
        "each claim has a new lease",
        removals.claiming_with({"lease": jobs.c.lease + 0}),
    ),
    Ablation(
        "retry-not-counted",
        "each claim counts an attempt",
        removals.claiming_with({"attempt": jobs.c.attempt + 0}),
    ),
    Ablation(
        "prefetch-is-a-start",
        "a job of a dead node that had not begun is no crash",
        instead(Journals, "begun_by", lambda *_: Begun(None)),
    ),
    Ablation(
        "journal-ignored",
        "a job of a dead node that had begun is a crash",
        instead(Journals, "begun_by", lambda *_: Begun(frozenset())),
    ),
    Ablation(
        "begun-before-noted",
        "a body begins after it is noted in the journal",
        instead(Journal, "begin", removals.ignore),
    ),
    Ablation(
        "unfenced-settle",
        "a result is written only under the current lease",
        removals.UNFENCED_SETTLE,
    ),
    Ablation(
        "journal-not-kept",
        "a claim that takes effect after its node was killed is no start",
        instead(Sweeper, "_remove_journals", removals.remove_all_journals),
    ),
    Ablation(
        "claim-by-old-read",
        "a claim takes only jobs that are still pending",
        instead(claims, "execute_claim", removals.claim_in_two_steps),
    ),
    Ablation(
        "settle-before-commit",
        "a result is forgotten only after its commit",
        instead(Settler, "_write", removals.acknowledge_first),
    ),
    Ablation(
        "result-not-repeated",
        "a result that cannot be written is written again",
        instead(Repetition, "after", lambda *_args, **_named: ([], 0.0)),
    ),
    Ablation(
        "lost-claims-kept",
        "jobs that were claimed although the answer was lost are found and handed back",
        instead(LostReplies, "search", removals.do_nothing),
    ),
    Ablation(
        "cancel-in-live-store-only",
        "a cancel changes the row, not only the entry beside the progress",
        instead(client_cancelling.JobCanceller, "cancel", removals.cancel_live_only),
    ),
    Ablation(
        "cancel-of-anything", "an ended job cannot be cancelled", removals.cancelling_anything
    ),
    Ablation(
        "heartbeat-by-own-clock",
        "heartbeats have the time of the database",
        instead(nodes, "heartbeat", removals.beat_by_own_clock),
    ),
    Ablation(
        "silence-by-own-clock",
        "silence is measured by the clock of the database",
        instead(Silences, "of", removals.silence_by_own_clock),
    ),
    Ablation(
        "watch-not-reset",
        "after a gap in its own contact a node declares no other dead",
        instead(Contact, "answer", removals.answer_without_reset),
    ),
    Ablation(
        "no-isolation",
        "a node without contact stops its bodies before others run the jobs",
        instead(ContactReports, "_isolated", removals.ignore),
    ),
    Ablation(
        "no-rescue",
        "jobs of dead nodes are rescued",
        instead(Sweeper, "rescue", removals.do_nothing),
    ),
    Ablation(
        "rescue-without-recheck",
        "a rescue reads the jobs of a dead node again in the transaction that changes them",
        together(
            instead(Sweeper, "rescue", removals.rescue_later),
            instead(crashed_nodes, "abandoned_jobs", removals.abandoned_before),
        ),
    ),
    Ablation(
        "overlap-unlocked",
        "a schedule fires by its locked row, which shows that its last run has ended",
        instead(writing, "lock", removals.lock_as_idle),
    ),
    Ablation(
        "ring-is-truth",
        "a schedule fires when it is due by the database's clock, whatever the owner expects",
        instead(writing, "lock", removals.lock_as_due),
    ),
    Ablation(
        "run-ended-lost",
        "the end of a job ends the run of its schedule",
        together(
            instead(settling, "_end_runs", removals.end_no_runs),
            instead(run_ending, "end_unreported", removals.end_no_runs),
        ),
    ),
    Ablation(
        "statistics-later",
        "statistics are written in the transaction that ends the job",
        together(
            instead(settling, "_end_runs", removals.end_runs_later),
            instead(Settler, "_commit", removals.commit_and_end_runs),
            instead(run_ending, "end_unreported", removals.end_no_runs),
        ),
    ),
    Ablation(
        "hook-not-owed",
        "the row of a failed job owes its hook",
        instead(finished_run, "owing", lambda settlement, _job_type: settlement),
    ),
    Ablation(
        "limit-not-counted",
        "a queue's limit counts the jobs that run",
        statement(limited_claims, "CLAIM", removals.unlimited),
    ),
    Ablation(
        "bucket-read-early",
        "the state of a rate is read in the transaction that counts the start",
        feature_removals.reading_rates_early,
    ),
    Ablation(
        "fair-queue-starves",
        "an owner who had a turn waits behind the others",
        feature_removals.forgetting_turns,
    ),
    Ablation(
        "snooze-counts",
        "a snooze uses up no attempt",
        feature_removals.counting_snoozes,
    ),
    Ablation(
        "then-outside-transaction",
        "the job after a group is released in the transaction that ends the last member",
        feature_removals.reporting_after_commit,
    ),
    Ablation(
        "limit-unlocked",
        "the jobs of a queue with a limit are counted and claimed under the lock of its row",
        removals.unlocked(limited_claims, "LOCK"),
        calls=LIMITED,
        on_postgresql=True,
    ),
    Ablation(
        "schedule-unlocked",
        "the row of a schedule is locked while its next start is decided",
        removals.unlocked(writing, "LOCK"),
        on_postgresql=True,
    ),
)

IN_SUITE: Final = (
    Ablation(
        "tick-without-key",
        "a second decision about one nominal time is refused by unique keys",
        instead(ticks, "add", removals.add_ticks_without_keys),
        test="tests/schedules/test_firing.py::TestLedger::test_a_tick_is_stored_once",
    ),
    Ablation(
        "unfenced-hand-back",
        "a job is handed back only under its lease",
        statement(claims, "HAND_BACK", removals.without_conditions_on("lease", claims._hand_back)),  # noqa: SLF001
        test="tests/storage/test_claims.py::test_handing_back_with_a_stale_lease_changes_nothing[sqlite]",
    ),
    Ablation(
        "unfenced-release",
        "a job is released only under its lease",
        statement(
            settling,
            "RELEASE",
            removals.without_conditions_on("lease", settling_statements._release),  # noqa: SLF001
        ),
        test="tests/storage/test_settling.py::test_a_release_needs_the_lease_the_node_and_an_end[sqlite]",
    ),
    Ablation(
        "settled-twice",
        "a settled batch is recognised when the answer to its commit was lost",
        statement(
            settling,
            "RECORDED",
            lambda dialect: settling_statements._recorded(dialect).where(false()),  # noqa: SLF001
        ),
        test="tests/storage/test_settling.py::test_settling_again_after_a_lost_answer",
    ),
    Ablation(
        "hint-inside-transaction",
        "a hint about new work is sent after the commit of the caller's transaction",
        removals.hinting_at_once,
        test="tests/client/test_within.py::test_a_rollback_leaves_nothing_and_announces_nothing",
    ),
    Ablation(
        "hint-before-commit",
        "a hint about many new jobs is sent after the commit of their own transaction",
        instead(StartsJobs, "_insert", removals.insert_and_hint),
        test="tests/client/test_start.py::test_nodes_are_notified_of_what_is_committed[sqlite-start_many]",
    ),
    Ablation(
        "silent-is-dead",
        "jobs in their last attempt are left to a silent node for a minute",
        instead(crashed_nodes, "abandoned_jobs", removals.abandoned_of_silent),
        test="tests/runtime/test_rescue.py::test_a_node_that_is_only_silent_keeps_the_jobs_in_their_last_attempt[sqlite]",
    ),
    Ablation(
        "late-transaction-commits",
        "the transaction of a body is rolled back if its lease is lost",
        instead(runner, "settle_within", removals.settle_anyway),
        test="tests/runtime/test_transactions.py::test_a_lost_lease_rolls_the_effects_back",
    ),
    Ablation(
        "body-may-commit",
        "a body cannot commit its own transaction",
        instead(commit_guard, "_refuse_commit", removals.ignore),
        test="tests/runtime/test_transactions.py::test_a_body_cannot_commit_its_own_transaction",
    ),
    Ablation(
        "expired-claimed",
        "a claim leaves out jobs that have expired",
        time_removals.claiming_expired_jobs,
        test="tests/client/test_expiry.py::test_no_claim_takes_an_expired_job_even_before_it_is_failed[sqlite]",
    ),
    Ablation(
        "key-unlocked",
        "one transaction at a time decides whether a job with a key is a duplicate",
        time_removals.deciding_without_the_lock,
        test="tests/client/test_debounce.py::test_concurrent_debounces_share_one_job[postgresql]",
    ),
    Ablation(
        "keep-ignored",
        "ended jobs are kept as long as their type says",
        time_removals.keeping_all_alike,
        test="tests/client/test_keep.py::test_each_job_is_kept_as_its_type_declares_for_its_state[sqlite]",
    ),
    Ablation(
        "dependency-not-noted",
        "the row of a job notes that others wait for its end",
        group_removals.ends_unobserved,
        test="tests/storage/test_groups.py::test_a_job_waits_for_the_last_of_several[sqlite]",
    ),
    Ablation(
        "bucket-read-unlocked",
        "the state of a rate is read under its lock",
        instead(lane_statements, "LOCK_BUCKETS", removals.UNLOCKED_BUCKETS),
        test="tests/storage/test_lanes.py::test_two_claims_do_not_take_the_same_start_of_a_rate[postgresql]",
    ),
    Ablation(
        "counted-before-lock",
        "the jobs that run under a limit by key are counted under the lock of its bucket",
        feature_removals.counting_before_locking,
        test="tests/storage/test_lanes.py::test_starts_of_the_last_lock_holder_count[LOCK_BUCKETS-None-postgresql]",
    ),
    Ablation(
        "window-rounded-down",
        "the starts of a sliding window are kept with moments that are rounded up",
        feature_removals.rounding_down,
        test="tests/properties/test_limit_properties.py::test_no_sliding_window_has_more_starts_where_each_comes_as_soon_as_allowed",
    ),
    Ablation(
        "gap-is-run",
        "a nominal time that is excluded or skipped once is not run",
        schedule_removals.running_in_gaps,
        test="tests/schedules/test_exclusions.py::test_excluded_days_are_skipped_with_their_reason[sqlite]",
    ),
    Ablation(
        "backfilled-twice",
        "a backfill leaves out the times that were run or wait",
        schedule_removals.backfilling_what_ran,
        test="tests/schedules/test_backfill.py::test_requests_at_the_same_time_add_each_time_once[sqlite]",
    ),
    Ablation(
        "change-reverted",
        "a deployment keeps what was changed at run time",
        schedule_removals.deploying_over_changes,
        test="tests/schedules/test_overrides.py::test_a_change_survives_a_deployment_that_changes_another_schedule[sqlite]",
    ),
)
ABLATIONS: Final[Mapping[str, Ablation]] = {each.name: each for each in (*IN_SIMULATION, *IN_SUITE)}
