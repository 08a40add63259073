"""Guards that are removed one at a time: the simulation must catch each removal.

`make ablations` prints what it shows. A removal that nothing catches means that the rules of the simulation
have a gap. The page `docs/concepts/simulation.md` has the table.
"""

from typing import Final, NamedTuple

from horae.client.jobs import cancelling as client_cancelling
from horae.domain.cluster import Contact, Isolation, Silences
from horae.domain.limits.rate import TokenBucket
from horae.runtime.bodies import finished_run
from horae.runtime.claims.lost_replies import LostReplies
from horae.runtime.journal import Begun, Journal, Journals
from horae.runtime.liveness import Sweeper
from horae.runtime.settling import Repetition, Settler
from horae.storage.jobs import claims, jobs
from horae.storage.jobs.limits import lane_claims, limited_claims
from horae.storage.nodes import nodes
from horae.storage.outcomes import run_ending, settling
from horae.storage.schedules import writing
from tests.simulation import removals
from tests.simulation.removals import Patch, instead, statement, together


class Ablation(NamedTuple):
    """A guard, and its removal."""

    name: str
    guard: str
    patch: Patch


ABLATIONS: Final = (
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
        instead(Sweeper, "_round", removals.remove_all_journals),
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
        instead(Contact, "isolation", lambda *_: Isolation.NONE),
    ),
    Ablation(
        "no-rescue",
        "jobs of dead nodes are rescued",
        instead(Sweeper, "rescue", removals.do_nothing),
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
        "start-not-counted",
        "a start takes a token of its rate",
        instead(TokenBucket, "taken", lambda bucket, _weight: bucket),
    ),
    Ablation(
        "start-counted-early",
        "a start under a rate has a moment at which its claim held the limit",
        statement(lane_claims, "_NOW", removals.moment_before_the_lock),
    ),
    Ablation(
        "fair-queue-starves",
        "an owner who had a turn waits behind the others",
        removals.forgetting_turns,
    ),
    Ablation(
        "snooze-counts",
        "a snooze uses up no attempt",
        removals.counting_snoozes,
    ),
)
