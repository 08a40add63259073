"""Lists schedules page by page."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, Final

from horae.client.schedules.reading import views_of
from horae.client.schedules.views import ScheduleView
from horae.domain.storable import is_storable
from horae.errors import InvalidRequest, quoted
from horae.storage.engine.database import Database
from horae.storage.schedules import reading
from horae.storage.schedules.reading import ScheduleFilter

_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """One page; `next` is the cursor of the following one, None on the last."""

    schedules: list[ScheduleView]
    next: str | None


def page_of(  # noqa: PLR0913 - the filters of a list
    database: Database, *, module: str | None = None, job_type: str | None = None, name: str | None = None,
    enabled: bool | None = None, limit: int = 100, cursor: str | None = None,
) -> SchedulePage:  # fmt: skip
    """Return a page of schedules by module and name; None is no filter, `name` matches a part. Raises `InvalidRequest`.

    A page may be shorter than `limit`, as unreadable schedules are logged and left out.
    """
    wanted = ScheduleFilter(
        module=module, job_type=job_type, name=name, enabled=enabled, limit=limit + 1,
        after=None if cursor is None else place_of(cursor),
    )  # fmt: skip
    rows = database.autocommit(reading.page, wanted)
    shown = rows[:limit]
    following = cursor_of(shown[-1].module, shown[-1].name) if len(rows) > limit else None
    return SchedulePage(views_of(database, shown), following)


def cursor_of(module: str, name: str) -> str:
    """Return a cursor; it stays valid if the schedule at its place is deleted."""
    return urlsafe_b64encode(json.dumps([module, name]).encode()).decode().rstrip("=")


def place_of(cursor: str) -> tuple[str, str]:
    """Return module and name of a cursor. Raises `InvalidRequest`."""
    try:
        found: Any = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise InvalidRequest(f"cursor {quoted(cursor)} is not one that a list has given") from error
    if not isinstance(found, list) or len(found) != _PAIR or not all(_is_name(part) for part in found):
        raise InvalidRequest(f"cursor {quoted(cursor)} is not one that a list has given")
    module, name = found
    return module, name


def _is_name(part: Any) -> bool:
    return isinstance(part, str) and is_storable(part)
