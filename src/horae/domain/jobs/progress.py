"""The progress of a piece of work: a tree of counts, shown as one percentage and one label.

A `Progress` counts units of its own total; a child stands for some units of its parent. What is
shown is rounded up, never falls, and stays in 0..100. Counts are floats, whose rounding errors are
not shown: less than a millionth of a percent above a whole number counts as that number.

It is independent of jobs. `checkpoint` runs first in every reporting call, even if nothing visible
changes; it may raise to stop the work, and nothing is counted then. `on_change` is called with each
visible change. Any thread may report. No lock is held while a callback runs: one thread at a time
passes the newest state to the listener, so that calls neither overlap nor go back; changes made
meanwhile (by another thread, or by the listener itself) are passed together afterwards.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sized
from decimal import Decimal
from fractions import Fraction
from math import ceil, isfinite
from numbers import Number
from threading import RLock
from typing import Final, TypeAlias, TypeVar

from horae.errors import InvalidLabel, InvalidProgress

Amount: TypeAlias = int | float | Fraction | Decimal
OnChange: TypeAlias = Callable[[int, str | None], None]
Checkpoint: TypeAlias = Callable[[], None]
Item = TypeVar("Item")

LONGEST_LABEL: Final = 128
_ROUNDING: Final = 1e-6
"""Percent by which a count may exceed a whole number without showing the next one."""
RESERVED_LABELS: Final = frozenset({"pending", "started", "finished", "failed", "cancelled"})

# Control characters and lone surrogates: no database column and no JSON text takes them all.
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Progress:
    """A node of a progress tree: a root when made directly, a branch when made by `child`.

    Amounts are in units of the node's own `total`. Past the total counts as the total. Negative and
    endless amounts raise `InvalidProgress`. A total of zero leaves nothing to do: the node is at
    100 from the start.
    A label stays until another one replaces it; see `check_label` for what it may be.
    """

    __slots__ = ("_board", "_count")

    def __init__(
        self,
        total: Amount = 100,
        *,
        on_change: OnChange | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._count = _Count(_units(total))
        self._board = _Board(self._count, on_change, checkpoint)
        self._board.announce()  # a root without anything to do is at 100

    @property
    def percentage(self) -> int:
        """How much of this node is done, rounded up, 0 to 100; it never falls."""
        with self._board.lock:
            return self._count.percentage

    @property
    def label(self) -> str | None:
        """The last label set anywhere in the tree."""
        return self._board.label

    def increment(self, by: Amount = 1, label: str | None = None) -> None:
        """Count `by` more units as done."""
        self._report(by, label, relative=True)

    def set(self, value: Amount, label: str | None = None) -> None:
        """Put this node at `value` units.

        Going back lowers neither what is shown nor what the parent was credited with: both wait
        until the node passes its old mark.
        """
        self._report(value, label, relative=False)

    def finish(self, label: str | None = None) -> None:
        """Count everything in this node as done."""
        self.set(self._count.limit, label)

    def child(self, represents: Amount, total: Amount) -> "Progress":
        """Make a node of `total` units that stands for `represents` units of this one.

        One with a total of zero is done at once, so it counts like `increment(represents)`.
        """
        share, size = _units(represents), _units(total)
        child = Progress.__new__(Progress)
        child._board = self._board  # noqa: SLF001 - of the same class
        child._count = _Count(size, self._count, share)  # noqa: SLF001 - of the same class
        if not size:
            self.increment(share)
        return child

    def track(
        self,
        iterable: Iterable[Item],
        *,
        total: Amount | None = None,
        represents: Amount | None = None,
        label: str | None = None,
    ) -> Iterator[Item]:
        """Yield the items; one counts when the next is asked for, so after its body ran.

        `total` is how many there are, by default `len(iterable)`; once they are exhausted, all of
        it counts, but not when the loop is left early. `represents` is what they stand for in this
        node, by default all that is left of it. The label is set when the loop starts.
        """
        return self._walk(iterable, self._loop_start(represents, _size(iterable, total), label))

    def track_async(
        self,
        iterable: AsyncIterable[Item],
        *,
        total: Amount | None = None,
        represents: Amount | None = None,
        label: str | None = None,
    ) -> AsyncIterator[Item]:
        """Track an asynchronous iterable like `track`."""
        return self._walk_async(
            iterable, self._loop_start(represents, _size(iterable, total), label)
        )

    def _report(self, amount: Amount, label: str | None, *, relative: bool) -> None:
        units = amount if type(amount) is int and amount >= 0 else _units(amount)
        board, count = self._board, self._count
        if label is not None and label != board.label:
            check_label(label)
        if board.checkpoint is not None:
            board.checkpoint()
        with board.lock:
            changed = count.move(count.value + units if relative else units)
            if label is not None and label != board.label:
                board.label = label
                changed = True
        if changed:
            board.announce()

    def _loop_start(
        self, represents: Amount | None, size: float, label: str | None
    ) -> Callable[[], "Progress"]:
        """Check the arguments of a loop now; what is left is only known when the loop starts."""
        share = None if represents is None else _units(represents)
        if label is not None:
            check_label(label)

        def start() -> Progress:
            with self._board.lock:
                left = self._count.limit - self._count.value
            child = self.child(left if share is None else share, size)
            child.set(0, label)
            return child

        return start

    @staticmethod
    def _walk(iterable: Iterable[Item], start: Callable[[], "Progress"]) -> Iterator[Item]:
        child = start()
        for item in iterable:
            yield item
            child.increment()
        child.finish()

    @staticmethod
    async def _walk_async(
        iterable: AsyncIterable[Item], start: Callable[[], "Progress"]
    ) -> AsyncIterator[Item]:
        child = start()
        async for item in iterable:
            yield item
            child.increment()
        child.finish()


def check_label(label: str) -> None:
    """Raise `InvalidLabel` unless the label has 1 to 128 printable characters and is no job state.

    A label stands where a state would (the API shows it while a job runs), so the names of the
    states are reserved.
    """
    if not isinstance(label, str):
        raise InvalidLabel(f"label {label!r} is no text")
    if not label.strip():
        raise InvalidLabel("a label must not be empty")
    if len(label) > LONGEST_LABEL:
        length = f"{len(label)} characters: expected at most {LONGEST_LABEL}"
        raise InvalidLabel(f"label {label[:20]!r}... has {length}")
    if label in RESERVED_LABELS:
        raise InvalidLabel(f"label {label!r} is the name of a state; choose another word")
    if _UNPRINTABLE.search(label):
        raise InvalidLabel(f"label {label!r} has characters that cannot be shown or stored")


class _Count:
    """The count of one node; the lock of its board guards it.

    `peak` is the highest value so far, the one that is shown and credited to the parent.
    """

    __slots__ = ("limit", "parent", "peak", "threshold", "value", "weight")

    def __init__(self, limit: float, parent: "_Count | None" = None, represents: float = 0) -> None:
        self.limit = limit
        self.value: float = 0
        self.peak: float = 0
        self.threshold: float = 0  # past it, another percentage is shown
        self.parent = parent
        self.weight = represents / limit if limit else 0  # units of the parent for one of its own

    @property
    def percentage(self) -> int:
        """The peak's share of the limit in percent, rounded up."""
        return ceil(100 * self.peak / self.limit - _ROUNDING) if self.limit else 100

    def move(self, value: float) -> bool:
        """Set the value and credit the parents with the increase.

        Return whether the percentage of the root may have changed.
        """
        count = self
        while True:
            if value > count.limit:  # noqa: PLR1730 - a call to min() doubles the cost of a level
                value = count.limit
            count.value = value
            gained = value - count.peak
            if gained <= 0:
                return False
            count.peak = value
            parent = count.parent
            if parent is None:
                if value <= count.threshold:
                    return False
                count.threshold = (count.percentage + _ROUNDING) * count.limit / 100
                return True
            value = parent.value + gained * count.weight
            count = parent


class _Board:
    """The shared state of a tree: the lock, the label, and the calls of the listener."""

    __slots__ = ("_announced", "_announcing", "_root", "checkpoint", "label", "lock", "on_change")

    def __init__(
        self, root: _Count, on_change: OnChange | None, checkpoint: Checkpoint | None
    ) -> None:
        self.lock = RLock()  # not a plain lock: a signal handler may report, too
        self.label: str | None = None
        self.on_change = on_change
        self.checkpoint = checkpoint
        self._root = root
        self._announced: tuple[int, str | None] = (0, None)
        self._announcing = False

    def announce(self) -> None:
        """Call the listener until it has the newest state, unless another thread is doing that
        already.

        An error of the listener is raised to the caller; the step counts all the same.
        """
        if self.on_change is None:
            return
        with self.lock:
            if self._announcing:
                return
            self._announcing = True
        try:
            while True:
                # A change is either seen here, or made after `_announcing` is off.
                with self.lock:
                    news = self._root.percentage, self.label
                    if news == self._announced:
                        self._announcing = False
                        return
                    self._announced = news
                self.on_change(*news)
        except BaseException:
            self._announcing = False
            raise


def _size(iterable: object, total: Amount | None) -> float:
    if total is not None:
        return _units(total)
    if isinstance(iterable, Sized):
        return len(iterable)
    kind = type(iterable).__name__
    raise InvalidProgress(f"a {kind} does not know how many items it has: pass total=")


def _units(amount: Amount) -> float:
    """Return an amount as a float. Raises `InvalidProgress`."""
    try:
        units = float(amount) if isinstance(amount, Number) else -1.0
    except (TypeError, ValueError, OverflowError):
        units = -1.0
    if not isfinite(units) or units < 0:
        raise InvalidProgress(f"progress {amount!r}: expected a finite number, not below zero")
    return units
