"""Log lines of jobs in responses."""

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from horae.api.models import View
from horae.domain.jobs import LogPage, level_name

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error", "critical"]


class LogLineView(View):
    """A line that a job has logged."""

    logged_on: datetime
    attempt: int
    level: str = Field(description="`debug`, `info`, `warning`, `error` or `critical`.")
    logger: str
    message: str
    dropped: int = Field(description="If not 0, this stands for so many lines that were not kept.")
    cursor: str


class LogLines(View):
    """Log lines of a job, the oldest first."""

    lines: list[LogLineView]
    dropped: int = Field(description="Lines of the whole job that were not kept.")
    next: str | None = Field(
        description="Where to continue, as `after`; null before the first line."
    )
    more: bool = Field(description="Whether more lines are there already.")


def log_views(page: LogPage) -> LogLines:
    """Return log lines as they are shown."""
    lines = [
        LogLineView(
            logged_on=line.at,
            attempt=line.attempt,
            level=level_name(line.level),
            logger=line.logger,
            message=line.message,
            dropped=line.dropped,
            cursor=line.cursor,
        )
        for line in page.lines
    ]
    return LogLines(lines=lines, dropped=page.dropped, next=page.cursor, more=page.more)
