"""The log lines of jobs, and the job's fields in the records of the application's own loggers.

Invariants: what is kept of a job's lines is bounded; no record can raise into a body; secrets of
parameters do not appear in lines or errors.
"""

from horae.types.logs.job_fields import (
    JobLogFilter,
    capture_lines,
    current_attempt,
    current_claim,
    logged_as,
    set_node,
)
from horae.types.logs.job_lines import JobLines
from horae.types.logs.lines import TextFormatter, lines_on_stderr, logs_json
from horae.types.logs.shown_errors import shown_error

__all__ = [
    "JobLines",
    "JobLogFilter",
    "TextFormatter",
    "capture_lines",
    "current_attempt",
    "current_claim",
    "lines_on_stderr",
    "logged_as",
    "logs_json",
    "set_node",
    "shown_error",
]
