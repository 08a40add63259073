"""Adds the job to log records, by a context variable that is set while a body runs."""

import logging
from contextvars import ContextVar

from typing_extensions import override

from horae.domain.jobs import Claim
from horae.types.attempt import Attempt
from horae.types.logs.job_lines import capture

_current: ContextVar[Attempt | None] = ContextVar("horae_current_job", default=None)
_node: ContextVar[str | None] = ContextVar("horae_node", default=None)


# Used like a function; as a generator it would take a tenth of the time of an empty job.
class logged_as:  # noqa: N801
    """Mark every record that is logged inside the block with this job and this node."""

    __slots__ = ("_attempt", "_node", "_tokens")

    def __init__(self, attempt: Attempt, node: str) -> None:
        self._attempt, self._node = attempt, node

    def __enter__(self) -> None:
        """Begin to mark."""
        self._tokens = _current.set(self._attempt), _node.set(self._node)

    def __exit__(self, *_: object) -> None:
        """Mark as before."""
        attempt, node = self._tokens
        _node.reset(node)
        _current.reset(attempt)


def capture_lines() -> None:
    """Keep the log lines of bodies with their jobs from now on, in this process."""
    capture(_current)


def current_attempt() -> Attempt | None:
    """Return the attempt whose body runs here; None outside of bodies."""
    return _current.get()


def current_claim() -> Claim | None:
    """Return the claim of the body that runs here; None outside of bodies."""
    attempt = _current.get()
    return None if attempt is None else attempt.claim


def set_node(node: str) -> None:
    """Mark every record of this context, and of the tasks it starts, as this node's."""
    _node.set(node)


class JobLogFilter(logging.Filter):
    """A filter that adds `job`, `type`, `lease` and `node` to records; add it to a handler."""

    def __init__(self, node: str | None = None) -> None:
        super().__init__()
        self.node = node

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        attempt = _current.get()
        claim = attempt and attempt.claim
        for name, value in (
            ("job", claim and claim.id),
            ("type", claim and claim.type),
            ("lease", claim and claim.lease),
            ("node", _node.get() or self.node),
        ):
            if not hasattr(record, name):
                setattr(record, name, value)
        return True
