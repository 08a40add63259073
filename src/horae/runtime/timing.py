"""How often the services of a node act, how long they wait, and how much they take on at a time.

Each service has a value of its own, and gets it when it is made. Durations are in seconds unless a
comment says otherwise. The defaults are meant for all applications; tests pass others.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Pauses(NamedTuple):
    """A pause that starts short and doubles with each failure."""

    shortest: float
    longest: float

    def after(self, pause: float) -> float:
        """Return the pause that follows `pause`."""
        return min(pause * 2, self.longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningTiming:
    """How often a service cleans up."""

    clean_every: float = 300.0
    """Between two clean-ups, at most."""
    clean_share: float = 0.1
    """The same as a share of the time for which jobs are kept, if that is shorter."""

    def clean_interval(self, keep_seconds: float) -> float:
        """Return the time between two clean-ups where jobs are kept for `keep_seconds`."""
        return min(self.clean_every, keep_seconds * self.clean_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTiming:
    """When the worker claims jobs, and how many."""

    prefetch: int = 2000
    """Jobs claimed beyond the free slots, at most, so that short jobs need not wait for a claim
    each.
    """
    prefetched_for: float = 1.0
    """How long such a job waits here for a slot.

    Then it is handed back, because another node may have one.
    """
    poll_with_hints: float = 1.5
    """Between two claims of an idle node that receives hints but does not know when the next job is
    due.
    """
    poll_idle: float = 5.0
    """The same where it knows."""
    poll_without_hints: Pauses = Pauses(0.05, 1.0)  # noqa: RUF009 - immutable
    """The same where no hints arrive: doubles while nothing is found."""
    look_ahead_from: float = 0.05
    """The shortest pause before which a node reads when the next job is due: after a shorter one it
    claims anyway.
    """
    lost_reply_window: float = 10.0
    """How long a claim whose answer was lost may still take effect in the database."""
    orphaned_every: float = 60.0
    """Between two searches for jobs that are claimed in this node's name and that it does not know.
    """
    latest_reply: float = 5.0
    """A claim that took longer is handed back: others may have declared this node dead meanwhile.
    """
    abandoned_pause: float = 10.0
    """Before a job runs again whose body ignored the order to stop: by then its process should have
    ended.
    """
    suspect_pause: Pauses = Pauses(1.0, 5.0)  # noqa: RUF009 - immutable
    """A job that may have crashed nodes, and has to wait for another such job, is due again after a
    random time between these, so that several nodes take turns.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputTiming:
    """How the worker measures how many bodies end."""

    moment: float = 0.1
    """What is counted together."""
    shortest_sample: float = 0.02
    """How much of a moment must be over before its count is extrapolated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimerTiming:
    """How the claimer learns of limits, and when it tries again what it could not take."""

    limits_fresh: float = 5.0
    """How long the list of queues with limits is used before it is read again."""
    contended: Pauses = Pauses(0.02, 1.0)  # noqa: RUF009 - immutable
    """Before a queue with a limit is tried again that another node was claiming from."""
    avoided_for: Pauses = Pauses(0.2, 10.0)  # noqa: RUF009 - immutable
    """Before a job type is tried again whose bodies could not begin here."""
    lane_rest: float = 0.02
    """How long starts under rates gather before a node claims them together, at most."""
    ahead_rest: float = 20.0
    """After the answer that no lane may be claimed, how many times as long as it took the next
    question is put off.
    """
    slow_scan: float = 0.02
    """A claim from the front of the queue that takes longer is slow: old index entries slow it down
    (ADR 0008).
    """
    scan_rest: float = 30.0
    """How many times as long as such a claim took the next one from the front is put off."""
    cursor_gain: float = 2.0
    """How many times as fast the claims between them must be; if they are not, something else is
    slow.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherTiming:
    """When messages about jobs are sent to backends."""

    batch: int = 500
    """Messages about jobs that are marked as sent in one transaction, at most."""
    poll: float = 1.0
    """Between two rounds, unless a hint comes first; longer where many nodes dispatch."""
    limits_every: float = 5.0
    """Between two rounds that also look at queues with a limit, unless a hint comes first; longer
    as well.
    """
    limits_rest: float = 5.0
    """Rest after such a look, in multiples of the time that it took; hints that come meanwhile wait
    for its end.
    """
    compare_every: float = 5.0
    """Between two comparisons of the jobs that were sent with the messages that wait."""
    compare_seldom: float = 60.0
    """The same in an application without a backend: an earlier version may have sent some.
    """
    without_backends: float = 5.0
    """Between two checks whether such an application has declared a job type with a backend since.
    """
    lost_after: float = 15.0
    """Age of a message from which on it may be lost, if fewer messages wait than jobs."""
    lost_for_certain: float = 600.0
    """The same if as many messages wait as jobs: some may be those of other applications."""
    kill_after: float = 30.0
    """After a job's hard limit, before the backend kills its process."""
    failing: Pauses = Pauses(0.5, 5.0)  # noqa: RUF009 - immutable
    """After a message that was not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlerTiming:
    """How results are written."""

    batch: int = 1000
    """Results in one transaction, at most."""
    most_waiting: int = 10_000
    """Results that may wait; while there are more, the worker claims nothing."""
    burst_wait: float = 1.0
    """How long results wait during a burst of schedules, so that starts are written first."""
    retry: Pauses = Pauses(0.05, 2.0)  # noqa: RUF009 - immutable
    """After a batch that could not be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTiming(CleaningTiming):
    """When hooks are called and old jobs deleted."""

    look_every: float = 2.0
    """Between two searches for owed hooks; one that is owed by a job of this node is found at once.
    """
    gone_every: float = 2.0
    """Between two searches for jobs that are not kept after their end."""
    stop_wait: float = 1.0
    """How long a node that stops waits for running hooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerTiming:
    """When schedules are read, planned and fired."""

    reload: float = 60.0
    """Between two readings of all schedules of this node's partitions that are due soon."""
    reload_without_hints: float = 5.0
    """The same where no hints arrive, so that a change made by another process is noticed."""
    horizon: float = 80.0
    """How far ahead of now such a reading goes; more than `reload`, which is late at times."""
    ring_every: float = 5.0
    """Between two readings of the nodes that share the partitions."""
    batch: int = 1000
    """Schedules fired in one transaction, at most."""
    shortest_retry: float = 0.2
    """Before a schedule is tried again whose last run has not ended, at least."""
    second_owner: float = 0.3
    """How long the second owner of a partition waits for the first one to fire."""
    plan_within: float = 10.0
    """Schedules that are due within this time can be planned: their next starts are computed in
    advance.
    """
    plan_every: float = 1.0
    """Between two searches for schedules to plan."""
    burst: int = 200
    """Schedules due within `plan_within` from which on they are planned; also how many are planned
    at a time.
    """
    most_planned: int = 20_000
    """Plans kept in memory, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTiming:
    """How the heartbeat is supervised; how often it is sent is one of the `Limits` that all nodes
    share.
    """

    round: float = 0.25
    """Between two checks of how long ago the last answer came."""
    restart: Pauses = Pauses(0.5, 30.0)  # noqa: RUF009 - immutable
    """Before a helper process that has ended is started again."""
    awake: float = 1.0
    """How long a process that was suspended may need to reach the database before it counts as out
    of contact.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipTiming:
    """How long traces of nodes are kept on SQLite."""

    orphaned_after: float = 60.0
    """Before a lock file is removed that belongs to no registered node; a starting node makes its
    file first.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersTiming:
    """How many nodes share what each would do alone (PostgreSQL)."""

    read_every: float = 10.0
    """Between two readings of which other nodes claim the same jobs."""
    busy_for: float = 5.0
    """How long other nodes count as busy that have announced it; announced again after that, at the
    earliest.
    """
    answered_within: float = 1.0
    """How long after a hint a claim is taken to answer it."""
    known_after: float = 12.0
    """After which time every idle node has polled and so knows when the next job is due: more than
    it pauses.
    """
    spare_delay: float = 0.1
    """How much later than at a due time, for each node, the nodes wake that need not claim this
    job.
    """
    slowest: float = 5.0
    """How many times as long each of many nodes waits between two searches that the others make as
    well, at most.
    """
    slowest_poll: float = 2.0
    """The same for claims of an idle node that receives hints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweeperTiming(CleaningTiming):
    """How often a node rescues jobs, checks limits, and cleans up the live store and journals."""

    round: float = 2.0
    """Between two rounds."""
    suspicious_round: float = 0.25
    """The same once after a node is suspected, and while jobs of a dead node are locked."""
    locked_rounds: int = 20
    """How many such rounds a locked job gets, before the normal pace is kept again."""
    glance: float = 0.5
    """Between two checks for missing nodes that need no query."""
    look_every: int = 5
    """Rounds between two searches for dead nodes if no node is suspected."""
    limits_every: int = 10
    """Rounds between two checks of time limits."""
    latitude: float = 1.0
    """How long a job's own node has to enforce a hard limit before others do."""
    rescue_batch: int = 500
    """Jobs rescued in one transaction, at most."""
    ends_batch: int = 500
    """Lost runs of schedules ended in one transaction, at most."""
    due_batch: int = 1000
    """Jobs made due in one statement, at most, after the database's clock was set back."""
    expired_batch: int = 1000
    """Jobs that were to begin by now failed in one transaction, at most."""
    reports_batch: int = 1000
    """Reports of the live store checked at a time."""
    journal_wait: float = 1.0
    """How long the threads of a killed process may still hold the lock on its journal."""
    journal_kept: float = 30.0
    """How long the journal of a dead node is kept after its jobs were rescued: a claim that it sent
    may take effect within `WorkerTiming.lost_reply_window`, and the next search for such jobs comes
    `look_every` rounds later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTiming:
    """How journal files are read and removed."""

    stale: float = 24 * 3600.0
    """Age from which on any node removes a file of another one."""
    lock_pause: float = 0.01
    """Between two attempts to lock a file."""
    tries: int = 10
    """Attempts to make a file while other nodes remove its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMonitorTiming:
    """How often running bodies are looked after."""

    round: float = 0.1
    """Between two rounds: reports are published, cancel requests read and time limits compared."""
    reread_every: int = 20
    """Rounds between two readings of the jobs' rows, in case the live store has lost a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownTiming:
    """How long a node takes to end, apart from the grace period of its bodies."""

    after_grace: float = 3.2
    """After the grace period the node ends within this time, whatever hangs, so that hooks get a
    moment as well.
    """
    last_words: float = 1.2
    """How long bodies have after the order to stop; half of it after they were stopped by force."""
    told_within: float = 0.5
    """How long it may take to record for schedules that their runs were told to stop."""
    leaving: float = 0.5
    """What is left of `after_grace` in any case to unregister and to close connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineTiming:
    """How long jobs that a caller runs itself hold it up."""

    result_wait: float = 30.0
    """How long the caller waits until the result is written: longer than most fail-overs take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The timing of all services of a node."""

    worker: WorkerTiming = field(default_factory=WorkerTiming)
    throughput: ThroughputTiming = field(default_factory=ThroughputTiming)
    claimer: ClaimerTiming = field(default_factory=ClaimerTiming)
    dispatcher: DispatcherTiming = field(default_factory=DispatcherTiming)
    settler: SettlerTiming = field(default_factory=SettlerTiming)
    hooks: HookTiming = field(default_factory=HookTiming)
    controller: ControllerTiming = field(default_factory=ControllerTiming)
    heartbeat: HeartbeatTiming = field(default_factory=HeartbeatTiming)
    membership: MembershipTiming = field(default_factory=MembershipTiming)
    peers: PeersTiming = field(default_factory=PeersTiming)
    sweeper: SweeperTiming = field(default_factory=SweeperTiming)
    journals: JournalTiming = field(default_factory=JournalTiming)
    run_monitor: RunMonitorTiming = field(default_factory=RunMonitorTiming)
    shutdown: ShutdownTiming = field(default_factory=ShutdownTiming)
    inline: InlineTiming = field(default_factory=InlineTiming)
    restart: Pauses = Pauses(0.1, 5.0)  # noqa: RUF009 - immutable
    """Before a service is started again that failed because the machine lacked memory, threads or
    descriptors.
    """
    calendars: float = 24 * 3600.0
    """Between two rounds in which calendar functions are asked which days they exclude."""
    file_every: float = 1.0
    """Between two checks whether the SQLite file is still there."""
    schema_every: float = 10.0
    """Between two checks whether the database still has tables that this program can use."""
