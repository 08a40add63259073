"""The event stream: changes of jobs and schedules as server-sent events.

Invariants: the number of streams and of events that wait is bounded; a reader that resumes with
`Last-Event-ID` misses nothing that is still kept.
"""

from horae.api.stream.event import JobStreamEvent
from horae.api.stream.hub import Hub
from horae.api.stream.listener import StreamListener
from horae.api.stream.response import EventStream
from horae.api.stream.sources import JobSource, ScheduleGone, ScheduleSource, Source
from horae.api.stream.stream_limit import StreamLimit
from horae.api.stream.timing import EventsTiming
from horae.api.stream.watch import JobWatch

__all__ = [
    "EventStream",
    "EventsTiming",
    "Hub",
    "JobSource",
    "JobStreamEvent",
    "JobWatch",
    "ScheduleGone",
    "ScheduleSource",
    "Source",
    "StreamLimit",
    "StreamListener",
]
