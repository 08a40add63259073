"""Log lines of jobs in responses."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from horae.api.models import View
from horae.domain.jobs import level_name

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error", "critical"]


class LogLineView(View):
    """A line that a job has logged."""

    logged_on: datetime = Field(validation_alias="at")
    attempt: int
    level: Annotated[str, BeforeValidator(level_name)] = Field(
        description="`debug`, `info`, `warning`, `error` or `critical`."
    )
    logger: str
    message: str
    dropped: int = Field(description="If not 0, this stands for so many lines that were not kept.")
    cursor: str


class LogLines(View):
    """Log lines of a job, the oldest first."""

    lines: list[LogLineView]
    dropped: int = Field(description="Lines of the whole job that were not kept.")
    next: str | None = Field(
        validation_alias="cursor",
        description="Where to continue, as `after`; null before the first line.",
    )
    more: bool = Field(description="Whether more lines are there already.")
