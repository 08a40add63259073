"""Operations on limits by key: list them, change their numbers, and take changes back."""

from functools import partial

from horae.client.changes import LoggedChange, with_entry
from horae.client.on_threads import OnThreads, on_change_thread, on_thread
from horae.domain.limits import LimitNumbers, Window, numbers_of
from horae.domain.names import limit_name
from horae.errors import InvalidRequest, NotFound
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.storage.engine import Database
from horae.storage.operations import LimitView, limits
from horae.types import Registry
from horae.wakeup import Hint, HintKind, WakeupChannel


class Limits:
    """The limits by key: of existing jobs, of queues, and those that this application declares."""

    def __init__(self, database: Database, registry: Registry, wakeup: WakeupChannel) -> None:
        self._database, self._registry, self._wakeup = database, registry, wakeup

    def list(self) -> list[LimitView]:
        """Return every limit with its numbers and the jobs that it holds back, by name."""
        stored = {view.name: view for view in self._database.autocommit(limits.view)}
        unused = {
            name: LimitView(name=name, declared=numbers, changed=None)
            for name, numbers in self._declared_numbers().items()
        }
        return [view for _, view in sorted({**unused, **stored}.items())]

    def set(
        self,
        name: str,
        *,
        rate: str | None = None,
        burst: int | None = None,
        window: Window | None = None,
        concurrency: int | None = None,
    ) -> LimitView:
        """Replace the numbers of a limit until `reset`, also for waiting jobs and after
        deployments.

        A rate cannot become a concurrency, nor the reverse. Running jobs continue. Raises
        `InvalidRequest`, `NotFound`.
        """
        numbers = numbers_of(rate=rate, burst=burst, window=window, concurrency=concurrency)
        before = self._find(name).numbers
        if before is not None and before.is_rate != numbers.is_rate:
            kind, other = ("rate", "concurrency") if before.is_rate else ("concurrency", "rate")
            raise InvalidRequest(
                f"limit {quoted(name)} is a {kind}, and cannot become a {other} ({before.text})",
                SentenceCode.VALUE_KIND_OF_LIMIT,
                limit=name,
                kind=kind,
            )
        return self._change("limit.set", name, numbers)

    def reset(self, name: str) -> LimitView:
        """Restore the declared numbers of a limit. Idempotent.

        Raises `InvalidRequest`, `NotFound`.
        """
        self._find(name)
        return self._change("limit.reset", name, None)

    def _change(self, action: str, name: str, numbers: LimitNumbers | None) -> LimitView:
        change = LoggedChange.of(action, name, partial(limits.settings, name=name))
        declared = self._declared_numbers().get(name)
        self._database.transact(with_entry(limits.change, change), name, numbers, declared)
        self._wakeup.send(Hint(HintKind.WORK))
        return self._find(name)

    def _find(self, name: str) -> LimitView:
        limit_name(name)
        views = self.list()
        for view in views:
            if view.name == name:
                return view
        known = ", ".join(quoted(view.name) for view in views[:20]) or "none"
        raise NotFound(
            f"there is no limit {quoted(name)}; known: {known}",
            SentenceCode.REFUSED_LIMIT_MISSING,
            limit=name,
        )

    def _declared_numbers(self) -> dict[str, LimitNumbers]:
        declared = {
            each.name: each.limit.numbers for kind in self._registry for each in kind.named_limits
        }
        return {**declared, **self._database.autocommit(limits.of_queues)}


class AsyncLimits(OnThreads[Limits]):
    """List and change limits by key from coroutines.

    Meanings, options and errors are those of `Limits`.
    """

    list = on_thread(Limits.list)
    set = on_change_thread(Limits.set)
    reset = on_change_thread(Limits.reset)
