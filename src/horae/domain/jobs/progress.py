"""The progress of a piece of work: a tree of counts, shown as one percentage and one label.

A `Progress` counts units of its own total; a child stands for some units of its parent. Inside,
everything is an exact fraction; what is shown is rounded up, never falls, and stays in 0..100.

It is independent of jobs. `checkpoint` runs first in every reporting call, even if nothing visible
changes; it may raise to stop the work, and nothing is counted then. `on_change` is called with each
visible change. Any thread may report. No lock is held while a callback runs: one thread at a time
passes the newest state to the listener, so that calls neither overlap nor go back; changes made
meanwhile (by another thread, or by the listener itself) are passed together afterwards.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sized
from fractions import Fraction
from threading import RLock
from typing import Final, TypeAlias, TypeVar

from horae.domain.jobs.progress_arithmetic import Amount, ExactCount, exact_amount
from horae.errors import InvalidLabel, InvalidProgress

OnChange: TypeAlias = Callable[[int, str | None], None]
Checkpoint: TypeAlias = Callable[[], None]
Item = TypeVar("Item")

LONGEST_LABEL: Final = 128
RESERVED_LABELS: Final = frozenset({"pending", "started", "finished", "failed", "cancelled"})

# Control characters and lone surrogates: no database column and no JSON text takes them all.
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Progress:
    """A node of a progress tree: a root when made directly, a branch when made by `child`.

    Amounts are in units of the node's own `total`, and exact: a float means the decimal that it
    prints as. Past the total counts as the total. Negative and endless amounts raise
    `InvalidProgress`. A total of zero leaves nothing to do: the node is at 100 from the start.
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
        self._count = ExactCount(exact_amount(total))
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
        self.set(self._count.total, label)

    def child(self, represents: Amount, total: Amount) -> "Progress":
        """Make a node of `total` units that stands for `represents` units of this one.

        One with a total of zero is done at once, so it counts like `increment(represents)`.
        """
        share, size = exact_amount(represents), exact_amount(total)
        child = Progress.__new__(Progress)
        child._board = self._board  # noqa: SLF001 - of the same class
        child._count = ExactCount(size, self._count, share)  # noqa: SLF001 - of the same class
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
        """Do what `track` does, for `async for`."""
        return self._walk_async(
            iterable, self._loop_start(represents, _size(iterable, total), label)
        )

    def _report(self, amount: Amount, label: str | None, *, relative: bool) -> None:
        exact = amount if type(amount) is int and amount >= 0 else exact_amount(amount)
        board, count = self._board, self._count
        if label is not None and label != board.label:
            check_label(label)
        if board.checkpoint is not None:
            board.checkpoint()
        with board.lock:
            steps = count.steps(exact)
            changed = count.move(count.value + steps if relative else steps)
            if label is not None and label != board.label:
                board.label = label
                changed = True
        if changed:
            board.announce()

    def _loop_start(
        self, represents: Amount | None, size: Fraction, label: str | None
    ) -> Callable[[], "Progress"]:
        """Check the arguments of a loop now; what is left is only known when the loop starts."""
        share = None if represents is None else exact_amount(represents)
        if label is not None:
            check_label(label)

        def start() -> Progress:
            child = self.child(self._left() if share is None else share, size)
            child.set(0, label)
            return child

        return start

    def _left(self) -> Fraction:
        with self._board.lock:
            return Fraction(self._count.limit - self._count.value, self._count.scale)

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
    if not label.strip():
        raise InvalidLabel("a label must not be empty")
    if len(label) > LONGEST_LABEL:
        length = f"{len(label)} characters: expected at most {LONGEST_LABEL}"
        raise InvalidLabel(f"label {label[:20]!r}... has {length}")
    if label in RESERVED_LABELS:
        raise InvalidLabel(f"label {label!r} is the name of a state; choose another word")
    if _UNPRINTABLE.search(label):
        raise InvalidLabel(f"label {label!r} has characters that cannot be shown or stored")


class _Board:
    """The shared state of a tree: the lock, the label, and the calls of the listener."""

    __slots__ = ("_announced", "_announcing", "_root", "checkpoint", "label", "lock", "on_change")

    def __init__(
        self, root: ExactCount, on_change: OnChange | None, checkpoint: Checkpoint | None
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
        if self.on_change is None or not self._begin():
            return
        try:
            while (news := self._news()) is not None:
                self.on_change(*news)
        except BaseException:
            self._announcing = False
            raise

    def _begin(self) -> bool:
        with self.lock:
            begun, self._announcing = not self._announcing, True
            return begun

    def _news(self) -> tuple[int, str | None] | None:
        # One step under the lock: a change is either seen here, or made after `_announcing` is off.
        with self.lock:
            news = self._root.percentage, self.label
            if news == self._announced:
                self._announcing = False
                return None
            self._announced = news
            return news


def _size(iterable: object, total: Amount | None) -> Fraction:
    if total is not None:
        return exact_amount(total)
    if isinstance(iterable, Sized):
        return Fraction(len(iterable))
    kind = type(iterable).__name__
    raise InvalidProgress(f"a {kind} does not know how many items it has: pass total=")
