"""The limits that end a job whatever its body does, and the error texts of the jobs that they end."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limit:
    """The texts of a limit that a job has exceeded: one for developers, one for the owner of the job."""

    error: str
    human_readable_error: str


HARD: Final = Limit("hard time limit exceeded", "This job ran for longer than it may and was stopped.")
OF_SCHEDULE: Final = Limit(
    "hard time limit of the schedule exceeded", "This run took longer than its schedule allows and was stopped."
)
PENDING: Final = Limit(
    "pending timeout exceeded: no worker took the job",
    "This job was not started in time because no worker was free to take it.",
)
