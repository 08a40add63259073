"""The limits that end a job whatever its body does, and the errors of the jobs that they end."""

from enum import Enum
from typing import Final


class TimeLimit(Enum):
    """A limit that a job has exceeded: its code, and texts for developers and the job's owner."""

    HARD = (
        "hard_time_limit",
        "hard time limit exceeded",
        "This job ran for longer than it may and was stopped.",
    )
    OF_SCHEDULE = (
        "schedule_time_limit",
        "hard time limit of the schedule exceeded",
        "This run took longer than its schedule allows and was stopped.",
    )
    PENDING = (
        "pending_timeout",
        "pending timeout exceeded: no worker took the job",
        "This job was not started in time because no worker was free to take it.",
    )
    EXPIRED = (
        "expired",
        "expired: the job had not begun by the time at which it expires",
        "This job was not started in time, so it was not run at all.",
    )

    def __init__(self, code: str, error: str, human_readable_error: str) -> None:
        """Give each member its code and its texts."""
        self.code, self.error, self.human_readable_error = code, error, human_readable_error

    @property
    def error_of_process(self) -> str:
        """The text for developers if the process of the body was ended because of it."""
        return f"{self.error}: the process of the body was ended"


_CODES: Final = {
    text: limit.code
    for limit in TimeLimit
    for text in (limit.error, f"SoftTimeLimitExceeded: {limit.error_of_process}")
}


def code_of(error: str | None) -> str | None:
    """Return the code of the limit that has ended a job with this error; None for other errors."""
    return None if error is None else _CODES.get(error)
