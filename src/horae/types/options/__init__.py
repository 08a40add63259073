"""Options of declarations and of starts, each declared once as a field with its metadata.

Invariant: a keyword of Python, a flag, a field of HTTP and its stored form have the same parser.
"""

from horae.types.options.declaration import (
    TimeLimits,
    check_declaration,
    check_parameters,
    kept_logs,
    problem_of_hook,
    retention_of,
    time_limits,
)
from horae.types.options.limits import declared_limits, limits_of_job
from horae.types.options.queues import (
    DeclaredQueue,
    check_concurrency,
    check_fair_by,
    names_in,
    refuse_secret_names,
    stored_limit,
)
from horae.types.options.start_options import (
    OPTIONS,
    START_OPTIONS,
    DependencyFailure,
    Option,
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
    "START_OPTIONS",
    "DeclaredQueue",
    "DependencyFailure",
    "Option",
    "StartOptions",
    "TextForm",
    "TimeLimits",
    "check_batch",
    "check_concurrency",
    "check_declaration",
    "check_fair_by",
    "check_parameters",
    "declared_limits",
    "kept_logs",
    "key_of_retry",
    "limits_of_job",
    "names_in",
    "problem_of_hook",
    "refuse_secret_names",
    "retention_of",
    "stored_limit",
    "time_limits",
    "unique_key_in",
    "uniqueness_in",
    "uniqueness_of",
]
