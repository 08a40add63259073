"""How integrations such as tracing observe starts and settlements.

An observer is a context manager around what it observes. It can neither fail nor change it: what an
observer raises is logged, and all it may do to a job is to add to its `meta`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from horae.guarded_log import guarded_log

T = TypeVar("T")
Observer: TypeAlias = Callable[[T], AbstractContextManager[object]]

log = guarded_log("horae.runtime")


@dataclass(slots=True, kw_only=True)
class Starting:
    """A call that starts jobs."""

    type: str | None = None
    """None if it starts jobs of several types."""
    queue: str | None = None
    """None if it starts jobs in several queues."""
    count: int | None = 1
    """How many jobs, if that is known."""
    delay: float = 0.0
    """Seconds until they are due."""
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The caller's `meta`."""
    earlier: Mapping[str, Any] | None = None
    """The `meta` of the job that the new one repeats."""
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    """What observers add to the jobs."""
    ids: Sequence[int] = ()
    """The started jobs, once there are some."""


class Observed(Generic[T]):
    """Enters observers, and leaves those that could be entered in the opposite order."""

    def __init__(self, observers: Sequence[Observer[T]], what: T) -> None:
        self._observers, self._what = tuple(observers), what
        self._entered: list[AbstractContextManager[object]] = []

    def __enter__(self) -> T:
        """Enter each of them."""
        for observer in self._observers:
            with log.guard("%s is left out, because it failed: %s", observer):
                manager = observer(self._what)
                manager.__enter__()
                self._entered.append(manager)
        return self._what

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave each of them; none can suppress the error."""
        for manager in reversed(self._entered):
            with log.guard("%s failed: %s", manager):
                manager.__exit__(kind, error, traceback)
