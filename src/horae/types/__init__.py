"""Job types: how a function or class becomes one, its options, parameters, hooks and schedules.

Invariants: a wrong declaration is refused at import, and a wrong call at the caller, never in a
worker; a name from the database is looked up in the registry, never imported; a hook that raises is
logged and stops nobody.

Others use `JobType`, `Registry`, `JobContext` and the declarations; the folders below hold the
parameters, the options of declarations and starts, the hooks and the logs of jobs.
"""

from horae.domain.arguments import (
    LONGEST_NOTE,
    Timeout,
    check_moment,
    check_note,
    of_kind,
    seconds_of,
    whole_number,
)
from horae.types.application_hooks import Address, ApplicationHooks, Hook, around_hook
from horae.types.attempt import Attempt, Batch, BodyEnd, LendsSlots, Loan, Report, StopsBodies
from horae.types.backends import Backend, Message
from horae.types.calendars import functions_in
from horae.types.context import JobContext
from horae.types.declarations import Declarations
from horae.types.function import FunctionJobType, JobFunction
from horae.types.group_access import AsyncJobGroup, JobGroup
from horae.types.job_type import (
    ISOLATIONS,
    NAMED_TRANSACTIONS,
    TYPE_OPTIONS,
    ApiError,
    JobType,
    Transaction,
    has_hook,
)
from horae.types.keywords import JobKeywords, OptionsJobType
from horae.types.observers import Observed, Observer, Starting
from horae.types.registry import JobTypeReference, Registry
from horae.types.routes import Destination, Routes
from horae.types.schedule import (
    RuleKeywords,
    Schedule,
    TriggerKeywords,
    check_options,
    job_options_of,
    keywords_of,
    module_schema,
    part_of,
    rules_of,
    schema_hash,
    trigger_of,
)
from horae.types.startable import Returns
from horae.types.storing import storable_parameters

__all__ = [
    "ISOLATIONS",
    "LONGEST_NOTE",
    "NAMED_TRANSACTIONS",
    "TYPE_OPTIONS",
    "Address",
    "ApiError",
    "ApplicationHooks",
    "AsyncJobGroup",
    "Attempt",
    "Backend",
    "Batch",
    "BodyEnd",
    "Declarations",
    "Destination",
    "FunctionJobType",
    "Hook",
    "JobContext",
    "JobFunction",
    "JobGroup",
    "JobKeywords",
    "JobType",
    "JobTypeReference",
    "LendsSlots",
    "Loan",
    "Message",
    "Observed",
    "Observer",
    "OptionsJobType",
    "Registry",
    "Report",
    "Returns",
    "Routes",
    "RuleKeywords",
    "Schedule",
    "Starting",
    "StopsBodies",
    "Timeout",
    "Transaction",
    "TriggerKeywords",
    "around_hook",
    "check_moment",
    "check_note",
    "check_options",
    "functions_in",
    "has_hook",
    "job_options_of",
    "keywords_of",
    "module_schema",
    "of_kind",
    "part_of",
    "rules_of",
    "schema_hash",
    "seconds_of",
    "storable_parameters",
    "trigger_of",
    "whole_number",
]
