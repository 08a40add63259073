"""When the services of event streams act, and how much they keep and send, as frozen values.

Times are in seconds.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiming:
    """The times of one event stream."""

    heartbeat: float = 15.0
    """Silence before a comment is sent; proxies close connections after half a minute of silence.
    """
    send_limit: float = 20.0
    """Time for a client to accept a message before it is disconnected."""
    close_limit: float = 1.0
    """Time for a client to accept the end of the stream."""
    lifetime: float = 3600.0
    """Time until the stream ends, so that the client authenticates again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    """The size of the queue of one client.

    A client that falls further behind is disconnected, and connects again.
    """

    messages: int = 1000
    """Maximum number of queued messages."""
    size: int = 1024 * 1024
    """Maximum number of bytes of the queued messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTiming:
    """When the hub polls the database, and how many events it keeps."""

    every: float = 1.0
    """Time between two polls without a hint."""
    while_changing: float = 0.25
    """The same after a poll that has found changes: more progress of other processes follows."""
    least: float = 0.2
    """Minimum time between two polls, however many hints arrive."""
    after_failure: float = 3.0
    """Time before the next poll after one has failed."""
    linger: float = 60.0
    """Time for which events are kept for a client that left, so that it can reload a page."""
    kept: int = 5000
    """Maximum number of events that a client may have missed and can still resume from."""
    most_each: int = 200
    """Maximum number of updates per poll sent one by one to staff, who get one `reset` for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSourceTiming:
    """How far back a poll for changed jobs reads, and how many it handles."""

    late: float = 2.0
    """How late a change may become visible, because its transaction was open for so long."""
    rows: int = 5000
    """Maximum number of rows of each kind per poll; if there are more, clients get a `reset`."""
    new_for: int = 3
    """Number of polls for which an id that became visible late still counts as new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSourceTiming:
    """How far back a poll for changed schedules reads, and how many it handles."""

    late: float = 2.0
    """How late a change may become visible."""
    rows: int = 1000
    """Maximum number of changed schedules per poll, including those the last poll found."""
    most_each: int = 200
    """Maximum number of schedules reported one by one; if more changed, staff get one `reset`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsTiming:
    """The timing of all services of event streams."""

    stream: StreamTiming = field(default_factory=StreamTiming)
    listener: ListenerLimits = field(default_factory=ListenerLimits)
    hub: HubTiming = field(default_factory=HubTiming)
    jobs: JobSourceTiming = field(default_factory=JobSourceTiming)
    schedules: ScheduleSourceTiming = field(default_factory=ScheduleSourceTiming)
