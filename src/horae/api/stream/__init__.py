"""The event stream: changes of jobs and schedules as server-sent events.

Invariants: the number of streams and of events that wait is bounded; a reader that resumes with
`Last-Event-ID` misses nothing that is still kept.
"""

from horae.api.stream.event import JobStreamEvent
from horae.api.stream.hub import Hub
from horae.api.stream.job_source import JobSource
from horae.api.stream.listener import StreamListener
from horae.api.stream.response import EventStream
from horae.api.stream.sources import ScheduleGone, ScheduleSource, Source
from horae.api.stream.stream_limit import StreamLimit
from horae.api.stream.timing import EventsTiming

__all__ = [
    "EventStream",
    "EventsTiming",
    "Hub",
    "JobSource",
    "JobStreamEvent",
    "ScheduleGone",
    "ScheduleSource",
    "Source",
    "StreamLimit",
    "StreamListener",
]
