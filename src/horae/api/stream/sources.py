"""What can be told: each source looks at the database, and says what has changed since its last look as news."""

import time
from collections import deque
from typing import Final, Protocol

from pydantic import BaseModel

from horae.api.stream.event import JobStreamEvent, News
from horae.api.stream.watch import Changed, Wanted, Watch
from horae.api.views.jobs import JobViews
from horae.api.views.schedules import ScheduleItems
from horae.client.schedules.reading import views_of
from horae.storage.engine.database import Database
from horae.storage.schedules import reading
from horae.wakeup.channel import Hint, HintKind

LATE: Final = 2.0
"""Seconds: how much later than its time a change may become visible, for its transaction was open for so long."""
LIMIT: Final = 1000
"""Changed schedules that a look takes up, those of the look before among them."""
MOST: Final = 200
"""Schedules that are told of one by one; past it whoever listens is told to look for himself."""


class Source(Protocol):
    """Looks at one kind of thing. `staff_only`: nobody else is shown any."""

    staff_only: bool

    def hear(self, hint: Hint) -> None:
        """Learn from a hint; on any thread."""
        ...

    def look(self, wanted: Wanted) -> list[News] | None:
        """What is new since the last look, at the first one nothing; None if it is too much to tell."""
        ...


class JobSource:
    """Tells of jobs."""

    staff_only = False

    def __init__(self, watch: Watch, views: JobViews) -> None:
        self._watch, self._views = watch, views

    def hear(self, hint: Hint) -> None:
        """Learn nothing: a look finds all there is."""

    def look(self, wanted: Wanted) -> list[News] | None:
        """What has happened to jobs."""
        changes = self._watch.changes(wanted)
        return None if changes is None else [News("job", self._rendered(each), each.job.owner) for each in changes]

    def _rendered(self, changed: Changed) -> str:
        view = self._views.view(changed.job)
        return JobStreamEvent.model_validate({**view.model_dump(), "change": changed.change}).model_dump_json()


class ScheduleGone(BaseModel):
    """A schedule that was deleted."""

    id: int


class ScheduleSource:
    """Tells of schedules, while somebody listens who may see them: one statement a look, that an index answers."""

    staff_only = True

    def __init__(self, database: Database, items: ScheduleItems) -> None:
        self._database, self._items = database, items
        self._hinted: deque[int] = deque(maxlen=LIMIT)
        self._seen: dict[int, int] = {}
        self._looked: float | None = None

    def hear(self, hint: Hint) -> None:
        """Learn of schedules that may be gone: a row that is not there tells of nothing."""
        if hint.kind is HintKind.SCHEDULES:
            self._hinted.extend(hint.job_ids)

    def look(self, wanted: Wanted) -> list[News] | None:
        """What has happened to schedules."""
        last, self._looked = self._looked, time.monotonic()
        hinted = {self._hinted.popleft() for _ in range(len(self._hinted))}
        if not wanted(None):  # told again once somebody comes: that harms nobody
            self._seen = {}
            return []
        within = LATE + (0.0 if last is None else self._looked - last)
        before, self._seen = self._seen, self._database.autocommit(reading.changed, within, LIMIT)
        moved = [key for key, version in self._seen.items() if before.get(key) != version]
        if last is None:
            return []
        if len(self._seen) == LIMIT or len(moved) > MOST:
            return None
        return self._news(moved, hinted - self._seen.keys())

    def _news(self, moved: list[int], doubtful: set[int]) -> list[News]:
        if not moved and not doubtful:
            return []
        rows = {row.id: row for row in self._database.autocommit(reading.by_ids, [*moved, *doubtful])}
        views = views_of(self._database, [rows[key] for key in moved if key in rows])
        gone = [key for key in (*moved, *sorted(doubtful)) if key not in rows]
        return [
            *(News("schedule", self._items.item(view).model_dump_json()) for view in views),
            *(News("schedule_gone", ScheduleGone(id=key).model_dump_json()) for key in gone),
        ]
