"""Orders of a node to stop a body, which are raised inside it."""

from typing import ClassVar

from horae.domain.jobs import NODE_STOPPED_TEXT, OUT_OF_CONTACT_TEXT, TimeLimit
from horae.errors import JobStopped, LeaseLost


class Overtaken(LeaseLost):
    """The transaction of a body is rolled back because its job cannot finish in it: it was ended,
    or another node owns it.
    """

    by: ClassVar[str] = "its own body"
    """Who is named as having cancelled the job. This is written under the lease, so only if the
    job is still this node's: then its body had cancelled it, and the cancel was rolled back.
    """


class OutOfTime(JobStopped):
    """The hard time limit of the job is over, so its result no longer counts."""

    def __init__(self, limit: TimeLimit) -> None:
        super().__init__(limit.error)
        self.limit = limit


class Interrupted(JobStopped):
    """The node is shutting down and its grace period is over."""

    reason = NODE_STOPPED_TEXT


class OutOfContact(Interrupted):
    """The node cannot reach its database, so other nodes may soon run the job."""

    reason = OUT_OF_CONTACT_TEXT
