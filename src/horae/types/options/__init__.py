"""Options of declarations and of starts, each declared once as a field with its metadata.

Invariant: a keyword of Python, a flag, a field of HTTP and its stored form have the same parser.
"""

from horae.types.options.declaration import (
    TimeLimits,
    TypeOption,
    backend_address,
    backoff_between,
    check_parameters,
    codes_of_exceptions,
    error_rule,
    grace_time,
    kept_logs,
    one_of,
    parse_options,
    problem_of_hook,
    texts_of_exceptions,
    time_limit,
    whole,
    whole_or_none,
)
from horae.types.options.limits import declared_limits, limits_of_job
from horae.types.options.queues import (
    QUEUE_OPTIONS,
    DeclaredQueue,
    check_concurrency,
    check_fair_by,
    names_in,
    refuse_secret_names,
    stored_limit,
)
from horae.types.options.shown import rule_of, seconds_at, show_keep, show_limits, show_tags
from horae.types.options.start_options import (
    OPTIONS,
    START_OPTIONS,
    DependencyFailure,
    StartOption,
    StartOptions,
    TextForm,
)
from horae.types.options.uniqueness import (
    check_batch,
    key_of_retry,
    unique_key_in,
    uniqueness_in,
    uniqueness_of,
)

__all__ = [
    "OPTIONS",
    "QUEUE_OPTIONS",
    "START_OPTIONS",
    "DeclaredQueue",
    "DependencyFailure",
    "StartOption",
    "StartOptions",
    "TextForm",
    "TimeLimits",
    "TypeOption",
    "backend_address",
    "backoff_between",
    "check_batch",
    "check_concurrency",
    "check_fair_by",
    "check_parameters",
    "codes_of_exceptions",
    "declared_limits",
    "error_rule",
    "grace_time",
    "kept_logs",
    "key_of_retry",
    "limits_of_job",
    "names_in",
    "one_of",
    "parse_options",
    "problem_of_hook",
    "refuse_secret_names",
    "rule_of",
    "seconds_at",
    "show_keep",
    "show_limits",
    "show_tags",
    "stored_limit",
    "texts_of_exceptions",
    "time_limit",
    "unique_key_in",
    "uniqueness_in",
    "uniqueness_of",
    "whole",
    "whole_or_none",
]
