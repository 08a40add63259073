"""What is checked: the models with their bounds, and the mutations, each of which must violate an invariant."""

from dataclasses import replace
from typing import Any, Final, NamedTuple

from tests.model.checker import STUCK, Checked, check
from tests.model.leases import Guards, LeaseModel
from tests.model.ticks import TickGuards, TickModel

LEASE_MODELS: Final = {
    "2 nodes, 1 job, 3 claims": LeaseModel(nodes=2),
    "2 nodes, 1 job, 3 claims, also wrongly declared dead": LeaseModel(
        nodes=2, wrongly_declared=True
    ),
    "3 nodes, 1 job, 2 claims, nothing cancelled": LeaseModel(
        nodes=3, most_claims=2, ended_from_outside=False
    ),
    "2 nodes, 2 jobs, 1 claim each, no stalls": LeaseModel(
        nodes=2, jobs=2, most_claims=1, most_stalls=0, max_attempts=1
    ),
}
TICK_MODELS: Final = {
    "2 nodes, 2 times, 1 new version": TickModel(),
    "3 nodes, 2 times, 1 new version": TickModel(nodes=3),
    "2 nodes, 3 times, 1 new version": TickModel(ticks=3),
}


class Mutation(NamedTuple):
    """A guard that is removed, what that does, and the invariant that then does not hold."""

    guard: str
    what: str
    violates: str


TWO_HOLDERS: Final = "a job that no node holds runs nowhere, except where a death was not noticed"
UNCOUNTED: Final = "an attempt that counts has begun"
LEASES: Final = (
    Mutation("settle_by_lease", "an end is written without the lease", TWO_HOLDERS),
    Mutation(
        "settle_by_state",
        "an end is written over a cancel",
        "a job ends once, and stays as it ended",
    ),
    Mutation("rescue_rechecks", "a rescue acts by a row that it read before", UNCOUNTED),
    Mutation(
        "cancel_keeps_node", "a cancel releases the job before its body has stopped", TWO_HOLDERS
    ),
    Mutation("claim_checks_state", "a claim takes a job that is started", UNCOUNTED),
    Mutation("claim_raises_lease", "a claim keeps the lease", "a start keeps the lease"),
    Mutation("hand_back_by_lease", "a hand-back does not check the lease", TWO_HOLDERS),
    Mutation(
        "hand_back_unbegun_only",
        "a job is handed back although its body has begun",
        "no more bodies begin than attempts are allowed",
    ),
    Mutation("claim_is_no_start", "a rescue counts a claim as a start", UNCOUNTED),
    Mutation(
        "journal_of_ended_only",
        "a rescue trusts the journal of a process that still runs",
        "no more bodies begin than attempts are allowed",
    ),
    Mutation("release_by_lease", "a release does not check the lease", "a start keeps the lease"),
    Mutation("rescue_of_unlisted", "jobs of dead nodes are not rescued", STUCK),
    Mutation("find_lost_claims", "a node does not look for claims whose reply was lost", STUCK),
    Mutation(
        "attempts_are_limited",
        "a crash is retried whatever the attempts",
        "no more bodies begin than attempts are allowed",
    ),
)
TWICE: Final = "a nominal time has two decisions"
TICKS: Final = (
    Mutation("plan_is_checked", "a plan is carried out whatever the version of the row", TWICE),
    Mutation(
        "only_idle_is_planned", "a schedule that executes is planned in advance", "two runs overlap"
    ),
    Mutation(
        "fire_needs_due_time",
        "a node fires by its own clock",
        "a nominal time is fired before it is due",
    ),
    Mutation("fire_needs_idle", "a schedule fires while its run executes", "two runs overlap"),
    Mutation(
        "end_needs_token",
        "the end of any run frees the schedule",
        "a run is open, and the schedule does not wait for it",
    ),
    Mutation("deployment_changes_version", "a deployment leaves the version of the row", TWICE),
    Mutation(
        "pause_is_checked", "a paused schedule fires", "a paused or replaced definition fires"
    ),
    Mutation(
        "pause_changes_version",
        "a pause leaves the version of the row",
        "a paused or replaced definition fires",
    ),
    Mutation(
        "row_is_locked", "two nodes read the row at once (the ring is taken for truth)", TWICE
    ),
)


def mutated(mutation: Mutation) -> Checked:
    """Check the model without one of its guards."""
    removed: dict[str, Any] = {mutation.guard: False}
    if mutation in TICKS:
        return check(TickModel(guards=replace(TickGuards(), **removed)))
    return check(LeaseModel(nodes=2, guards=replace(Guards(), **removed)))
