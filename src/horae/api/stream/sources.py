"""The sources of updates: each polls the database for changes since its previous poll."""

import time
from collections import deque
from typing import Protocol

from pydantic import BaseModel

from horae.api.stream.event import Update, Wanted
from horae.api.stream.timing import ScheduleSourceTiming
from horae.api.views.schedules import schedule_item
from horae.client.schedules import views_of
from horae.storage.engine import Database
from horae.storage.schedules import reading
from horae.wakeup import Hint, HintKind


class Source(Protocol):
    """Polls for changes of one kind of object. `staff_only`: only staff receive its updates."""

    staff_only: bool

    def on_hint(self, hint: Hint) -> None:
        """Take a hint into account; called on any thread."""
        ...

    def poll(self, wanted: Wanted) -> list[Update] | None:
        """Return the changes since the previous poll: none at the first one, None if there are too
        many.
        """
        ...


class ScheduleGone(BaseModel):
    """A schedule that was deleted."""

    id: int


class ScheduleSource:
    """Reports changes of schedules that a listener may see, by one indexed statement per poll."""

    staff_only = True

    def __init__(self, database: Database, timing: ScheduleSourceTiming) -> None:
        self._database, self._timing = database, timing
        self._hinted: deque[int] = deque(maxlen=timing.rows)
        self._versions: dict[int, int] = {}
        self._polled_at: float | None = None

    def on_hint(self, hint: Hint) -> None:
        """Remember schedules that may have been deleted: only a hint tells that a row is gone."""
        if hint.kind is HintKind.SCHEDULES:
            self._hinted.extend(hint.job_ids)

    def poll(self, wanted: Wanted) -> list[Update] | None:
        """Return what has changed since the previous poll."""
        last, self._polled_at = self._polled_at, time.monotonic()
        hinted = {self._hinted.popleft() for _ in range(len(self._hinted))}
        # Changes may be reported twice when a listener arrives, which does no harm.
        if not wanted(None):
            self._versions = {}
            return []
        within = self._timing.late + (0.0 if last is None else self._polled_at - last)
        before = self._versions
        self._versions = self._database.autocommit(reading.find_changed, within, self._timing.rows)
        changed = [key for key, version in self._versions.items() if before.get(key) != version]
        if last is None:
            return []
        if len(self._versions) == self._timing.rows or len(changed) > self._timing.most_each:
            return None
        hinted -= self._versions.keys()
        if not changed and not hinted:
            return []
        found = self._database.autocommit(reading.by_ids, [*changed, *hinted])
        rows = {row.id: row for row in found}
        views = views_of(self._database, [rows[key] for key in changed if key in rows])
        deleted = [key for key in (*changed, *sorted(hinted)) if key not in rows]
        return [
            *(Update("schedule", schedule_item(view).model_dump_json()) for view in views),
            *(Update("schedule_gone", ScheduleGone(id=key).model_dump_json()) for key in deleted),
        ]
