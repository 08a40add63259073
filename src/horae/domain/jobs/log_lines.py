"""The log lines of a job: which ones are kept, and how a caller reads them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from horae.domain.jobs.job import JobId
from horae.domain.storable import bounded_number
from horae.errors import InvalidRequest
from horae.quoting import quoted

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""The levels by name, with the numbers of Python's `logging`."""
MOST_LINES: Final = 100_000
"""Maximum number of kept lines per attempt: no page of the dashboard or terminal shows more."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Maximum number of kept bytes per attempt."""
LONGEST_LINE: Final = 8192
"""Maximum number of characters per line; a longer one, such as a dumped response, is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLogs:
    """Which log lines of an attempt are kept with its job: from this level on, at most so many
    lines and bytes.

    The first lines of an attempt are kept, and its last ones (a tenth of them); those between are
    counted. Raises `InvalidRequest`.
    """

    level: str = "info"
    lines: int = 1000
    bytes: int = 256 * 1024

    def __post_init__(self) -> None:
        """Check the values."""
        check_level(self.level)
        bounded_number("lines", self.lines, most=MOST_LINES)
        bounded_number("bytes", self.bytes, most=MOST_BYTES)


def check_level(level: object) -> str:
    """Return the name of a level. Raises `InvalidRequest`."""
    if not isinstance(level, str) or level not in LEVELS:
        raise InvalidRequest(f"level is {quoted(level)}, expected one of {', '.join(LEVELS)}")
    return level


def level_name(level: int) -> str:
    """Return the name of the highest level up to this number, which may lie between levels."""
    return max(
        (name for name in LEVELS if LEVELS[name] <= level), key=LEVELS.__getitem__, default="debug"
    )


class LogLine(NamedTuple):
    """A log line of a job.

    If `dropped` is not 0, it stands for so many lines that were not kept.
    """

    job_id: JobId
    lease: int
    line: int
    attempt: int
    at: datetime
    level: int
    logger: str
    message: str
    dropped: int = 0

    @property
    def cursor(self) -> str:
        """The place of this line, from which reading can continue."""
        return f"{self.lease}.{self.line}"


@dataclass(frozen=True, slots=True)
class LogPage:
    """Log lines of a job, the oldest first.

    `dropped`: lines of the whole job that were not kept; `cursor`: where to continue, also when no
    line is here; `more`: whether more lines are stored already.
    """

    lines: list[LogLine]
    dropped: int
    cursor: str | None
    more: bool


def place_of(cursor: str | None) -> tuple[int, int]:
    """Return the lease and the number of the line that a cursor names. Raises `InvalidRequest`."""
    if cursor is None:
        return 0, -1
    lease, _, line = cursor.partition(".") if isinstance(cursor, str) else ("", "", "")
    if not (_is_number(lease, 18) and _is_number(line, 9)):  # such numbers fit the columns
        raise InvalidRequest(f"after is {quoted(cursor)}, expected the cursor of an earlier answer")
    return int(lease), int(line)


def _is_number(text: str, most_digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= most_digits
