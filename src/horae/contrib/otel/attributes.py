"""The names of attributes: those of OpenTelemetry's messaging conventions, and Horae's own.

The names of the conventions are written here, because the package that has them as constants is a
part of the SDK, and not of the API.
"""

from typing import Final

SYSTEM: Final = "messaging.system"
OPERATION_NAME: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
MESSAGE_ID: Final = "messaging.message.id"
MESSAGE_COUNT: Final = "messaging.batch.message_count"
ERROR_TYPE: Final = "error.type"

JOB_TYPE: Final = "horae.job.type"
ATTEMPT: Final = "horae.job.attempt"
MAX_ATTEMPTS: Final = "horae.job.max_attempts"
OUTCOME: Final = "horae.job.outcome"
SCHEDULE_ID: Final = "horae.schedule.id"
NOMINAL_TIME: Final = "horae.schedule.nominal_time"
QUEUE_STATE: Final = "horae.job.state"
LINK: Final = "horae.link"
"""Why a span is linked: `start`, `previous_attempt`, `previous_run` or `retried_job`."""

EXCEPTION_EVENT: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"

OPERATION_TYPES: Final = {"start": "send", "wait": "receive", "run": "process", "settle": "settle"}
"""The type in the conventions of each operation of Horae."""
