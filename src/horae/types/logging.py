"""Which job a log record belongs to: a context variable that each body runs under."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from typing_extensions import override

from horae.domain.job import Claim

_current: ContextVar[Claim | None] = ContextVar("horae_current_claim", default=None)
_node: ContextVar[str | None] = ContextVar("horae_node", default=None)


@contextmanager
def logged_as(claim: Claim, node: str) -> Generator[None]:
    """Mark every record logged inside the block as this job's, on this node: a thread knows neither by itself."""
    token, node_token = _current.set(claim), _node.set(node)
    try:
        yield
    finally:
        _node.reset(node_token)
        _current.reset(token)


def set_node(node: str) -> None:
    """Mark every record of this context, and of the tasks it starts, as this node's."""
    _node.set(node)


class JobLogFilter(logging.Filter):
    """Add `job`, `type`, `lease` and `node` to each record; add it to a handler to use them in a format."""

    def __init__(self, node: str | None = None) -> None:
        super().__init__()
        self.node = node

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        claim = _current.get()
        for name, value in (
            ("job", claim and claim.id),
            ("type", claim and claim.type),
            ("lease", claim and claim.lease),
            ("node", _node.get() or self.node),
        ):
            if not hasattr(record, name):
                setattr(record, name, value)
        return True
