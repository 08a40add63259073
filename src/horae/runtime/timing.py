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
    """The longest time between two clean-ups."""
    clean_share: float = 0.1
    """The time between two clean-ups as a share of the time for which jobs are kept, if shorter."""

    def clean_interval(self, keep_seconds: float) -> float:
        """Return the time between two clean-ups where jobs are kept for `keep_seconds`."""
        return min(self.clean_every, keep_seconds * self.clean_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTiming:
    """When the worker claims jobs, and how many."""

    prefetched_for: float = 1.0
    """How long a job claimed beyond the slots waits here; then it is handed back for other nodes.
    """
    poll_with_hints: float = 1.5
    """Time between two claims of an idle node that gets hints but does not know the next due time.
    """
    poll_idle: float = 5.0
    """Time between two claims of an idle node that gets hints and knows the next due time."""
    poll_without_hints: Pauses = Pauses(0.05, 1.0)
    """Time between two claims of a node that gets no hints: doubles while nothing is found."""
    look_ahead_from: float = 0.05
    """The shortest pause before which a node reads the next due time; after less it claims anyway.
    """
    lost_reply_window: float = 10.0
    """How long a claim whose answer was lost may still take effect in the database."""
    orphaned_every: float = 60.0
    """Time between two searches for jobs that are claimed in this node's name without its
    knowledge.
    """
    latest_reply: float = 5.0
    """A claim that took longer is handed back: others may have declared this node dead meanwhile.
    """
    abandoned_pause: float = 10.0
    """Pause before a job is run again whose body ignored the order to stop, so that its process can
    end.
    """
    suspect_pause: Pauses = Pauses(1.0, 5.0)
    """Range of the random delay of a job that may have crashed nodes while another such job runs.
    Delays are random so that several nodes take turns.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputTiming:
    """How many jobs are claimed beyond the free slots, so that short jobs need no claim each."""

    moment: float = 0.1
    """A period: as many jobs are claimed in advance as can end in it."""
    most: int = 2000
    """Maximum number of jobs that are claimed in advance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimerTiming:
    """How the claimer learns of limits, and when it tries again what it could not take."""

    limits_fresh: float = 5.0
    """How long the list of queues with limits is used before it is read again."""
    contended: Pauses = Pauses(0.02, 1.0)
    """Pauses before a queue with a limit is tried again from which another node was claiming."""
    avoided_for: Pauses = Pauses(0.2, 10.0)
    """Pauses before a job type is tried again whose bodies could not begin here."""
    lane_rest: float = 0.02
    """The longest time for which starts under rates gather before a node claims them together."""
    ahead_rest: float = 20.0
    """Pause after the answer that no lane may be claimed, in multiples of the time that it took."""
    slow_scan: float = 0.02
    """A claim from the front that takes longer is slow, because of old index entries (ADR 0008)."""
    scan_rest: float = 30.0
    """Pause between two claims from the front while they are slow, in multiples of their duration.
    """
    cursor_gain: float = 2.0
    """How many times faster than a slow claim from the front other claims must be; if they are not,
    old index entries are not the cause.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherTiming:
    """When messages about jobs are sent to backends."""

    batch: int = 500
    """Maximum number of jobs that are marked as sent in one transaction."""
    poll: float = 1.0
    """Time between two rounds, unless a hint comes first; longer where many nodes dispatch."""
    limits_every: float = 5.0
    """Time between two rounds that include limited queues, unless a hint comes first. It is longer
    where many nodes dispatch.
    """
    limits_rest: float = 5.0
    """Pause after a round with limited queues, in multiples of its duration; hints wait for its
    end.
    """
    compare_every: float = 5.0
    """Time between two comparisons of the number of jobs sent with the number of messages that
    wait.
    """
    compare_seldom: float = 60.0
    """Time between two comparisons without a backend: an earlier version may have sent some jobs.
    """
    without_backends: float = 5.0
    """Time between two checks whether an application without a backend has declared one since."""
    lost_after: float = 15.0
    """Age from which a message may be lost if fewer messages wait than jobs."""
    lost_for_certain: float = 600.0
    """Age from which a message may be lost even if no message seems to be missing: some of those
    that wait may belong to other applications.
    """
    kill_after: float = 30.0
    """Time after a job's hard limit before the backend kills its process."""
    failing: Pauses = Pauses(0.5, 5.0)
    """Pauses after a message that was not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlerTiming:
    """How results are written."""

    batch: int = 2000
    """Maximum number of results in one transaction; with half as many, a drain is 5 % slower."""
    most_waiting: int = 10_000
    """Number of waiting results above which the worker claims nothing."""
    burst_wait: float = 1.0
    """How long results wait during a burst of schedules, so that starts are written first."""
    retry: Pauses = Pauses(0.05, 2.0)
    """Pauses after a batch that could not be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTiming(CleaningTiming):
    """When hooks are called and old jobs deleted."""

    look_every: float = 7.5
    """Time between two searches for owed hooks; a hook owed by a job of this node is called at
    once.
    """
    gone_every: float = 2.0
    """The shortest time between two searches for jobs that have been kept for long enough; each
    comes with one for owed hooks.
    """
    stop_wait: float = 1.0
    """How long a node that stops waits for running hooks."""
    orphans_after: float = 3600.0
    """Time from the start of a node to its first search for large values without a job."""
    orphans_every: float = 86_400.0
    """Time between two of these searches, which read all jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerTiming:
    """When schedules are read, planned and fired."""

    reload: float = 60.0
    """Time between two readings of the schedules of this node's partitions that are due soon."""
    reload_without_hints: float = 5.0
    """Time between two readings without hints, so that changes by other processes are noticed."""
    horizon: float = 80.0
    """How far ahead a reading goes: more than `reload`, because the next reading may be late."""
    ring_every: float = 5.0
    """Time between two readings of the nodes that share the partitions."""
    batch: int = 1000
    """Maximum number of schedules fired in one transaction."""
    shortest_retry: float = 0.2
    """Shortest pause before a schedule is tried again whose last run has not ended."""
    second_owner: float = 0.3
    """How long the second owner of a partition waits for the first one to fire."""
    plan_within: float = 10.0
    """How far ahead schedules are planned, which means that their next starts are computed."""
    plan_every: float = 1.0
    """Time between two searches for schedules to plan."""
    burst: int = 200
    """Number of schedules due within `plan_within` from which they are planned, and the batch size.
    """
    most_planned: int = 20_000
    """Maximum number of plans kept in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTiming:
    """How the heartbeat is supervised; how often it is sent is part of `Limits`, shared by all
    nodes.
    """

    round: float = 0.25
    """Time between two checks of how long ago the last answer came."""
    restart: Pauses = Pauses(0.5, 30.0)
    """Pauses before a helper process that has ended is started again."""
    awake: float = 1.0
    """How long a process that was suspended has to reach the database before it is out of contact.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersTiming:
    """How nodes share the work that each would otherwise do alone (PostgreSQL)."""

    read_every: float = 12.0
    """Time between two readings of which other nodes claim the same jobs."""
    busy_for: float = 5.0
    """How long a node that announced itself as busy counts as busy; also the pause between two such
    announcements.
    """
    answered_within: float = 1.0
    """How long after a hint a claim counts as an answer to it."""
    known_after: float = 12.0
    """Time in which every idle node polls, and so learns when the next job is due: more than its
    pause.
    """
    spare_delay: float = 0.1
    """How much later each further node looks for a due job that another node should claim."""
    gives_way_for: float = 1.0
    """How much later a node looks for due jobs after it has put one off for other nodes."""
    slowest: float = 5.0
    """Maximum factor by which many nodes stretch the time between searches that all of them make.
    """
    slowest_poll: float = 2.0
    """Maximum factor for the claims of an idle node that receives hints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweeperTiming(CleaningTiming):
    """How often a node rescues jobs, checks limits, and cleans up the live store and journals."""

    round: float = 2.0
    """Time between two rounds."""
    suspicious_round: float = 0.25
    """Time between two rounds while a node is suspected, or while jobs of a dead node are locked.
    """
    locked_rounds: int = 20
    """Number of such rounds for a locked job before the normal pace returns."""
    glance: float = 0.5
    """Time between two checks for missing nodes that need no query."""
    look_every: int = 5
    """Number of rounds between two searches for dead nodes if no node is suspected."""
    limits_every: int = 10
    """Number of rounds between two checks of time limits."""
    latitude: float = 1.0
    """How long a job's own node has to enforce a hard limit before others do."""
    rescue_batch: int = 500
    """Maximum number of jobs rescued in one transaction."""
    ends_batch: int = 500
    """Maximum number of lost runs of schedules ended in one transaction."""
    due_batch: int = 1000
    """Maximum number of jobs per statement that are made due again after the clock was set back."""
    expired_batch: int = 1000
    """Maximum number of jobs per transaction that are failed because they did not begin in time."""
    reports_batch: int = 1000
    """Number of reports of the live store that are checked at a time."""
    journal_wait: float = 1.0
    """How long the threads of a killed process may still hold the lock on its journal."""
    journal_kept: float = 30.0
    """How long the journal of a dead node is kept after its jobs were rescued: a claim that it sent
    may take effect within `WorkerTiming.lost_reply_window`, and the next search for such jobs comes
    `look_every` rounds later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTiming:
    """When a node comes to write the history."""

    writers_turn: tuple[float, float] = (0.0, 0.2)
    """Range of the delay, after a bucket is over, of the node that wrote the one before."""
    others_turn: tuple[float, float] = (1.0, 6.0)
    """The same for other nodes, so that they rarely count what the writer is counting."""
    retry: float = 5.0
    """Pause after a bucket that could not be written."""
    look_rest: float = 20.0
    """Pause between two looks at the open jobs, in multiples of the time that the last one took."""
    seen_for: float = 60.0
    """How long the counts of a look are used, if nothing is open or the next look is not due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTiming:
    """How journal files are read and removed."""

    stale: float = 24 * 3600.0
    """Age from which any node removes a journal file of another one."""
    lock_pause: float = 0.01
    """Time between two attempts to lock a file."""
    tries: int = 10
    """Number of attempts to make a file while other nodes remove its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMonitorTiming:
    """How often running bodies are looked after."""

    round: float = 0.1
    """Time between two rounds, which publish reports, read cancel requests and compare time limits.
    """
    reread_every: int = 20
    """Number of rounds between two readings of the jobs' rows, in case a cancel request was lost.
    """
    commit_within: float = 60.0
    """How long a body's transaction may take to end its job and to commit."""
    commit_after_loss: float = 5.0
    """The same for a commit that began before the contact with the database was lost and regained:
    its server may have been replaced, and no reply may ever arrive.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownTiming:
    """How long a node takes to end, apart from the grace period of its bodies."""

    after_grace: float = 3.2
    """The node ends within this time after the grace period, even if a service hangs. Hooks share
    this time.
    """
    last_words: float = 1.2
    """How long bodies have after the order to stop; half of it after they were stopped by force."""
    told_within: float = 0.5
    """How long the node may take to record for schedules that their runs were told to stop."""
    leaving: float = 0.5
    """The part of `after_grace` that is always left to unregister and to close connections."""


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
    peers: PeersTiming = field(default_factory=PeersTiming)
    sweeper: SweeperTiming = field(default_factory=SweeperTiming)
    history: HistoryTiming = field(default_factory=HistoryTiming)
    journals: JournalTiming = field(default_factory=JournalTiming)
    run_monitor: RunMonitorTiming = field(default_factory=RunMonitorTiming)
    shutdown: ShutdownTiming = field(default_factory=ShutdownTiming)
    restart: Pauses = Pauses(0.1, 5.0)
    """Pauses before a service is restarted that failed because the machine lacked memory, threads
    or descriptors.
    """
    inline_result: float = 30.0
    """How long a caller waits until the result of a job that it ran is written: longer than most
    fail-overs take.
    """
    orphaned_after: float = 60.0
    """How long a lock file without a registered node is kept: a starting node makes its file first.
    """
    calendars: float = 24 * 3600.0
    """Time between two rounds in which calendar functions are asked which days they exclude."""
    file_every: float = 1.0
    """Time between two checks whether the SQLite file is still there."""
    schema_every: float = 10.0
    """Time between two checks whether this program can still use the database's tables."""
