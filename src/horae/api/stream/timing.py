"""When the services of event streams act, and how much they keep and send: one frozen value for
each.

Times are in seconds.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiming:
    """The times of one event stream."""

    heartbeat: float = 15.0
    """Silence before a comment is sent; proxies close what is silent for half a minute."""
    send_limit: float = 20.0
    """For a client to accept a message before it is disconnected."""
    close_limit: float = 1.0
    """For a client to accept the end of the stream."""
    lifetime: float = 3600.0
    """Until the stream ends, so that the client authenticates again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    """How much waits for one client.

    One that falls further behind is disconnected, and connects again.
    """

    messages: int = 1000
    """Messages, at most."""
    size: int = 1024 * 1024
    """Bytes of these messages, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTiming:
    """When the hub polls the database, and how many events it keeps."""

    every: float = 1.0
    """Between two polls without a hint."""
    least: float = 0.2
    """Between two polls at least, however many hints arrive."""
    after_failure: float = 3.0
    """Before the next poll if one has failed."""
    linger: float = 60.0
    """How long events are kept for a client that left, so that reloading a page misses nothing."""
    kept: int = 5000
    """Events that a client may have missed and can still resume from, at most."""
    most_each: int = 200
    """Updates in one poll that are sent to staff one by one; if there are more, staff get one
    `reset`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWatchTiming:
    """How far back a poll for changed jobs reads, and how many it handles."""

    late: float = 2.0
    """How much later than its time a change may become visible: its transaction was open for so
    long.
    """
    rows: int = 5000
    """Rows of each kind that a poll reads, at most; if there are more, clients get a `reset`."""
    new_for: int = 3
    """Polls for which an id that became visible late still counts as new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSourceTiming:
    """The same for schedules."""

    late: float = 2.0
    """How much later than its time a change may become visible."""
    rows: int = 1000
    """Changed schedules that a poll reads, including those that the previous one found, at most."""
    most_each: int = 200
    """Changed schedules that are reported one by one; if there are more, staff get one `reset`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsTiming:
    """The timing of all services of event streams."""

    stream: StreamTiming = field(default_factory=StreamTiming)
    listener: ListenerLimits = field(default_factory=ListenerLimits)
    hub: HubTiming = field(default_factory=HubTiming)
    jobs: JobWatchTiming = field(default_factory=JobWatchTiming)
    schedules: ScheduleSourceTiming = field(default_factory=ScheduleSourceTiming)
