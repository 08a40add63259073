"""Sentences that a page may write in the language of its reader.

A sentence is an English text, and so logs, the command line and clients of the API show it as it
is. It also carries a code and the values that stand in it. The API sends both beside the text; the
dashboard writes the sentence by its code, and shows the text if it does not know the code.

A value is a number, a text, a moment, or another sentence. Values hold nothing that the text does
not say, because whoever may read the one may read the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Self, TypeAlias

from horae.quoting import quoted


class SentenceCode(StrEnum):
    """What a sentence says. A text of the dashboard in each language belongs to each code."""

    # Why a job has not started, or what has become of it
    JOB_CANCELLED = "job_cancelled"
    JOB_CANCELLED_STOPPING = "job_cancelled_stopping"
    JOB_DELETED = "job_deleted"
    JOB_ENDED_STOPPING = "job_ended_stopping"
    JOB_EXPIRED = "job_expired"
    JOB_FAILED = "job_failed"
    JOB_FINISHED = "job_finished"
    JOB_HELD_BY_LIMIT = "job_held_by_limit"
    JOB_IN_FULL_QUEUE = "job_in_full_queue"
    JOB_LIMITS_ELSEWHERE = "job_limits_elsewhere"
    JOB_NEEDS_NODE = "job_needs_node"
    JOB_NEEDS_QUEUE_SERVED = "job_needs_queue_served"
    JOB_NEEDS_TYPE_KNOWN = "job_needs_type_known"
    JOB_NEXT = "job_next"
    JOB_NEXT_ATTEMPT = "job_next_attempt"
    JOB_PLANNED = "job_planned"
    JOB_QUEUE_PAUSED = "job_queue_paused"
    JOB_RUNS = "job_runs"
    JOB_SENT = "job_sent"
    JOB_STOPPING = "job_stopping"
    JOB_UNFILED = "job_unfiled"
    JOB_UNSENT = "job_unsent"
    JOB_WAITS_FOR_GROUP = "job_waits_for_group"
    JOB_WAITS_FOR_JOBS = "job_waits_for_jobs"
    JOB_WAITS_FOR_SLOT = "job_waits_for_slot"
    EVERYTHING_PAUSED = "everything_paused"
    RECKONED_BY_FREE_SLOT = "reckoned_by_free_slot"
    RECKONED_BY_LIMIT = "reckoned_by_limit"
    RECKONED_BY_PACE = "reckoned_by_pace"
    RECKONED_BY_PLAN = "reckoned_by_plan"
    UNTIL_JOB_ENDS = "until_job_ends"
    UNTIL_JOBS_END = "until_jobs_end"
    UNTIL_MOMENT = "until_moment"

    # What is wrong, and what to do about it
    CLOCK_SET_BACK = "clock_set_back"
    DUE_WORK = "due_work"
    EVERYTHING_PAUSED_SINCE = "everything_paused_since"
    HOOKS_LEFT = "hooks_left"
    LIMIT_LATE = "limit_late"
    MANY = "many"
    MORE_SCHEDULES_PAUSED = "more_schedules_paused"
    NODE_DEAD = "node_dead"
    NODE_DEAD_UNRESCUED = "node_dead_unrescued"
    NODE_DIED = "node_died"
    NODES_WITHOUT_SCHEDULER = "nodes_without_scheduler"
    NODES_WITHOUT_WORKER = "nodes_without_worker"
    NOTHING_CLAIMED = "nothing_claimed"
    QUEUE_LATE = "queue_late"
    QUEUE_PAUSED_SINCE = "queue_paused_since"
    ROWS_UNREADABLE = "rows_unreadable"
    SCHEDULE_FAILING = "schedule_failing"
    SCHEDULE_GAVE_UP = "schedule_gave_up"
    SCHEDULE_MISSED = "schedule_missed"
    SCHEDULE_OVERDUE = "schedule_overdue"
    SCHEDULE_PAUSED_SINCE = "schedule_paused_since"
    SCHEDULE_UNTIL = "schedule_until"
    SCHEDULES_TYPE_UNKNOWN = "schedules_type_unknown"
    SCHEMA_NEWER = "schema_newer"
    SCHEMA_OLD = "schema_old"
    TYPE_FAILING = "type_failing"
    WAITS_IN_CIRCLE = "waits_in_circle"
    WAITS_TAKE_UP_LIMIT = "waits_take_up_limit"
    WORK_QUEUE_UNSERVED = "work_queue_unserved"
    WORK_TYPE_UNKNOWN = "work_type_unknown"
    WORK_UNSENT = "work_unsent"
    WORK_WITHOUT_NODE = "work_without_node"
    WORK_WITHOUT_WORKER = "work_without_worker"
    FATE_NO_JOB = "fate_no_job"
    FATE_OF_JOBS = "fate_of_jobs"
    FATE_PART = "fate_part"
    DEATH_BY_LOCK = "death_by_lock"
    DEATH_BY_LOCK_AND_SILENCE = "death_by_lock_and_silence"
    DEATH_BY_PROCESS = "death_by_process"
    DEATH_BY_SILENCE = "death_by_silence"
    DO_ADD_SLOTS = "do_add_slots"
    DO_CANCEL_A_WAIT = "do_cancel_a_wait"
    DO_CHECK_BROKER = "do_check_broker"
    DO_LIST_SCHEDULES = "do_list_schedules"
    DO_LOOK_AT_FAILURES = "do_look_at_failures"
    DO_MIGRATE = "do_migrate"
    DO_MIGRATE_FILE = "do_migrate_file"
    DO_NOTHING_JOBS_MOVE = "do_nothing_jobs_move"
    DO_NOTHING_ROW_GOES = "do_nothing_row_goes"
    DO_RAISE_LIMIT = "do_raise_limit"
    DO_READ_LAST_LINES = "do_read_last_lines"
    DO_READ_LOGS = "do_read_logs"
    DO_READ_LOGS_OF_QUEUE = "do_read_logs_of_queue"
    DO_REPAIR_ROWS = "do_repair_rows"
    DO_REPLACE_PROGRAM = "do_replace_program"
    DO_RESUME_EVERYTHING = "do_resume_everything"
    DO_RESUME_QUEUE = "do_resume_queue"
    DO_RESUME_SCHEDULE = "do_resume_schedule"
    DO_RUN_DECLARING_NODE = "do_run_declaring_node"
    DO_RUN_OR_CLEAN = "do_run_or_clean"
    DO_RUN_OR_DELETE_SCHEDULES = "do_run_or_delete_schedules"
    DO_RUN_SCHEDULE = "do_run_schedule"
    DO_SEE_ERRORS = "do_see_errors"
    DO_SEE_ERRORS_AND_RESUME = "do_see_errors_and_resume"
    DO_SERVE_QUEUE = "do_serve_queue"
    DO_SET_CLOCK = "do_set_clock"
    DO_START_NODE = "do_start_node"
    DO_START_NODE_FOR_INTERVALS = "do_start_node_for_intervals"
    DO_START_SCHEDULER = "do_start_scheduler"
    DO_START_WORKER = "do_start_worker"
    DO_UPGRADE_PROGRAM = "do_upgrade_program"

    # What daylight saving does to the times of a schedule
    CLOCKS_FOLLOW_WALL = "clocks_follow_wall"
    CLOCKS_IN_GAP_AND_FOLD = "clocks_in_gap_and_fold"
    TIMES_LEFT_OUT = "times_left_out"
    TIMES_TWICE = "times_twice"

    # Why a search, an expression or a change is refused
    CRON_CHARACTERS = "cron_characters"
    CRON_FIELD = "cron_field"
    CRON_FIELDS = "cron_fields"
    CRON_ITEM = "cron_item"
    CRON_NAMES = "cron_names"
    CRON_NEVER = "cron_never"
    CRON_NEVER_AGAIN = "cron_never_again"
    CRON_OUT_OF_RANGE = "cron_out_of_range"
    CRON_RANGE_REVERSED = "cron_range_reversed"
    CRON_STEP_TOO_LONG = "cron_step_too_long"
    CRON_STEP_ZERO = "cron_step_zero"
    CRON_WHOLE = "cron_whole"
    CRON_WORDS = "cron_words"
    GROUP_NOT_CANCELLABLE = "group_not_cancellable"
    JOB_MISSING = "job_missing"
    JOB_NOT_CANCELLABLE = "job_not_cancellable"
    JOB_NOT_DELETABLE = "job_not_deletable"
    JOB_NOT_RESCHEDULABLE = "job_not_reschedulable"
    JOB_NOT_RETRYABLE = "job_not_retryable"
    JOB_RETRIED_ALREADY = "job_retried_already"
    MAX_JOB_COUNT = "max_job_count"
    QUERY_AFTER_TODAY = "query_after_today"
    QUERY_AT = "query_at"
    QUERY_CHARACTER = "query_character"
    QUERY_DURATION = "query_duration"
    QUERY_EMPTY = "query_empty"
    QUERY_FIELD_UNKNOWN = "query_field_unknown"
    QUERY_GROUP = "query_group"
    QUERY_JOB = "query_job"
    QUERY_LONGER_FIRST = "query_longer_first"
    QUERY_MINUS = "query_minus"
    QUERY_NAME_MISSING = "query_name_missing"
    QUERY_NO_SUCH_NUMBER = "query_no_such_number"
    QUERY_NUMBER = "query_number"
    QUERY_ONE_VALUE = "query_one_value"
    QUERY_OPERATOR = "query_operator"
    QUERY_PARAMETER_UNKNOWN = "query_parameter_unknown"
    QUERY_PATH = "query_path"
    QUERY_PATH_TOO_LONG = "query_path_too_long"
    QUERY_QUOTES = "query_quotes"
    QUERY_RANGE_EMPTY = "query_range_empty"
    QUERY_RANGE_REVERSED = "query_range_reversed"
    QUERY_PARAMETER_SECRET = "query_parameter_secret"  # noqa: S105 - the code of a sentence
    QUERY_STAR = "query_star"
    QUERY_STAR_ALONE = "query_star_alone"
    QUERY_STATE = "query_state"
    QUERY_TIME = "query_time"
    QUERY_TOO_LONG = "query_too_long"
    QUERY_TOO_MANY = "query_too_many"
    QUERY_VALUE_MISSING = "query_value_missing"
    REFUSED_DATABASE_DOWN = "refused_database_down"
    REFUSED_DATABASE_REFUSES = "refused_database_refuses"
    REFUSED_DATABASE_UNUSABLE = "refused_database_unusable"
    REFUSED_DEPLOYMENT_ENDED = "refused_deployment_ended"
    REFUSED_DUPLICATE = "refused_duplicate"
    REFUSED_GROUP_NOT_OPEN = "refused_group_not_open"
    REFUSED_INTERNAL = "refused_internal"
    REFUSED_LIMIT_MISSING = "refused_limit_missing"
    REFUSED_NO_TOKENS = "refused_no_tokens"
    REFUSED_NOT_LOGGED_IN = "refused_not_logged_in"
    REFUSED_NOT_LOGGED_IN_THERE = "refused_not_logged_in_there"
    REFUSED_QUEUE_UNDECLARED = "refused_queue_undeclared"
    REFUSED_READ_ONLY = "refused_read_only"
    REFUSED_SEARCH_OF_VIEWERS = "refused_search_of_viewers"
    REFUSED_TO_OTHERS_THAN_STAFF = "refused_to_others_than_staff"
    REFUSED_TOKEN_UNKNOWN = "refused_token_unknown"  # noqa: S105 - the code of a sentence
    REFUSED_TOO_LARGE = "refused_too_large"
    REFUSED_TYPE_NOT_PUBLIC = "refused_type_not_public"
    REFUSED_TYPE_NOT_STARTABLE = "refused_type_not_startable"
    SCHEDULE_CHANGED = "schedule_changed"
    SCHEDULE_DECLARED = "schedule_declared"
    SCHEDULE_EXISTS = "schedule_exists"
    SCHEDULE_MISSING = "schedule_missing"
    SCHEDULE_RUNNING = "schedule_running"
    DEPLOYMENT_MISSING = "deployment_missing"
    GROUP_MISSING = "group_missing"
    STORED_CRASHED = "stored_crashed"
    STORED_DEPENDENCY_FAILED = "stored_dependency_failed"
    STORED_DIED = "stored_died"
    STORED_FAILED = "stored_failed"
    STORED_INTERRUPTED = "stored_interrupted"
    STORED_NODE_DIED = "stored_node_died"
    STORED_NODE_STOPPED = "stored_node_stopped"
    STORED_NOT_SET_UP = "stored_not_set_up"
    STORED_OUT_OF_CONTACT = "stored_out_of_contact"
    STORED_TIME_LIMIT = "stored_time_limit"
    STORED_UNSTORABLE = "stored_unstorable"
    VALUE_ABOVE = "value_above"
    VALUE_AT_LEAST = "value_at_least"
    VALUE_AT_MOST = "value_at_most"
    VALUE_BELOW = "value_below"
    VALUE_BACKFILL_LATER = "value_backfill_later"
    VALUE_BACKFILL_NEEDS_FIXED = "value_backfill_needs_fixed"
    VALUE_BACKFILL_REVERSED = "value_backfill_reversed"
    VALUE_BACKFILL_TOO_MANY = "value_backfill_too_many"
    VALUE_BETWEEN = "value_between"
    VALUE_BURST_OF_SLIDING = "value_burst_of_sliding"
    VALUE_CALENDAR = "value_calendar"
    VALUE_CALENDAR_ELSEWHERE = "value_calendar_elsewhere"
    VALUE_CALENDAR_FAILED = "value_calendar_failed"
    VALUE_CRON_OR_EVERY = "value_cron_or_every"
    VALUE_EXCLUDE = "value_exclude"
    VALUE_EXCLUDE_REVERSED = "value_exclude_reversed"
    VALUE_FILTER_MISSING = "value_filter_missing"
    VALUE_ID = "value_id"
    VALUE_INTERVAL = "value_interval"
    VALUE_INTERVAL_MIXED = "value_interval_mixed"
    VALUE_INTERVAL_TOO_LONG = "value_interval_too_long"
    VALUE_INTERVAL_ZERO = "value_interval_zero"
    VALUE_JOB_TYPE = "value_job_type"
    VALUE_JOB_TYPE_NOT_SCHEDULABLE = "value_job_type_not_schedulable"
    VALUE_KIND_OF_LIMIT = "value_kind_of_limit"
    VALUE_LENGTH = "value_length"
    VALUE_MISSING = "value_missing"
    VALUE_MULTIPLE = "value_multiple"
    VALUE_NAME = "value_name"
    VALUE_NEEDS_FIXED = "value_needs_fixed"
    VALUE_NO_NEXT_RUN = "value_no_next_run"
    VALUE_NOT_BOOLEAN = "value_not_boolean"
    VALUE_NOT_DATE = "value_not_date"
    VALUE_NOT_DURATION = "value_not_duration"
    VALUE_NOT_IN_FORM = "value_not_in_form"
    VALUE_NOT_INTEGER = "value_not_integer"
    VALUE_NOT_JSON = "value_not_json"
    VALUE_NOT_LIST = "value_not_list"
    VALUE_NOT_NUMBER = "value_not_number"
    VALUE_NOT_OBJECT = "value_not_object"
    VALUE_NOT_ONE_OF = "value_not_one_of"
    VALUE_NOT_STORABLE = "value_not_storable"
    VALUE_NOT_TEXT = "value_not_text"
    VALUE_NOT_TIME = "value_not_time"
    VALUE_NOT_URL = "value_not_url"
    VALUE_NOT_UUID = "value_not_uuid"
    VALUE_NOT_WITH = "value_not_with"
    VALUE_ONLY_OF_RATE = "value_only_of_rate"
    VALUE_RATE = "value_rate"
    VALUE_RATE_OR_CONCURRENCY = "value_rate_or_concurrency"
    VALUE_RATE_TOO_SMALL = "value_rate_too_small"
    VALUE_RUN_AT_OR_DELAY = "value_run_at_or_delay"
    VALUE_TOO_LONG = "value_too_long"
    VALUE_TOO_SHORT = "value_too_short"
    VALUE_UNKNOWN = "value_unknown"
    VALUE_WHILE_DISABLED = "value_while_disabled"
    VALUE_WHILE_RUNNING = "value_while_running"
    VALUE_YEAR = "value_year"
    VALUE_ZONE = "value_zone"


Value: TypeAlias = "str | int | float | datetime | Sequence[str] | None"


class Sentence(str):
    """A text with its code and values. What is made from it, as by `strip`, is a plain text."""

    __slots__ = ("code", "values")
    code: SentenceCode
    values: Mapping[str, Value]

    def __new__(cls, text: str, code: SentenceCode, /, **values: Value) -> Self:
        """Return a sentence that reads `text`."""
        made = super().__new__(cls, text)
        made.code = code
        made.values = values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str, SentenceCode], dict[str, Any]]:
        """Return what a copy is made of."""
        return (str(self), self.code), dict(self.values)


def as_json(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence as the API sends it."""
    values = {name: _json_value(value) for name, value in sentence.values.items()}
    return {"code": sentence.code, "values": values}


def _json_value(value: object) -> Any:
    if isinstance(value, Sentence):
        return {**as_json(value), "text": str(value)}
    if isinstance(value, list | tuple):
        parts: Iterable[object] = value
        return [_json_value(each) for each in parts]
    return value


def counted(count: int, one: str) -> str:
    """Return a number with its noun: `1 run`, `1,200 runs`."""
    return f"{count:,} {one if count == 1 else one + 's'}"


def rounded(number: float) -> str:
    """Return a number with at least three of its digits: `3,560`, `17.2`, `0.05`."""
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"  # noqa: PLR2004 - three digits


def in_two_units(seconds: float, units: Sequence[str]) -> str:
    """Return a length of time in its two largest units, such as `5h 12m`.

    `units`: how to write days, hours, minutes and seconds.
    """
    whole = max(int(seconds), 0)
    sizes = zip((86_400, 3_600, 60, 1), units, strict=True)
    for (size, unit), (below, smaller) in pairwise(sizes):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{unit}" + (f" {rest}{smaller}" if rest else "")
    return f"{whole}{units[-1]}"


def sentence_of(error: Exception) -> str:
    """Return the text of an error; it is a `Sentence` if the error was made with one."""
    text: object = error.args[0] if error.args else ""
    return text if isinstance(text, Sentence) else str(error)


def about(name: str, error: Exception) -> str:
    """Return the text of an error after the name of what it is about; a sentence stays one."""
    text = sentence_of(error)
    message = f"{name}: {text}"
    return Sentence(message, text.code, **text.values) if isinstance(text, Sentence) else message


def between(name: str, value: object, least: int, most: int, *, hint: str = "") -> Sentence:
    """Return why a number is refused: it is not in the range."""
    return Sentence(
        f"{name} is {quoted(value)}, expected {least} to {most}{hint}",
        SentenceCode.VALUE_BETWEEN,
        least=least,
        most=most,
    )


def one_of(name: str, value: object, allowed: Iterable[str]) -> Sentence:
    """Return why a value is refused: it is none of those that are allowed."""
    expected = ", ".join(allowed)
    return Sentence(
        f"{name} is {quoted(value)}, expected one of {expected}",
        SentenceCode.VALUE_NOT_ONE_OF,
        bound=expected,
    )


OF_INVALID_VALUES: Final[Mapping[str, tuple[SentenceCode, str | None]]] = MappingProxyType(
    {
        "arguments_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "blank": (SentenceCode.VALUE_MISSING, None),
        "bool_parsing": (SentenceCode.VALUE_NOT_BOOLEAN, None),
        "bool_type": (SentenceCode.VALUE_NOT_BOOLEAN, None),
        "bytes_too_long": (SentenceCode.VALUE_TOO_LONG, "max_length"),
        "bytes_too_short": (SentenceCode.VALUE_TOO_SHORT, "min_length"),
        "bytes_type": (SentenceCode.VALUE_NOT_TEXT, None),
        "complex_str_parsing": (SentenceCode.VALUE_NOT_NUMBER, None),
        "complex_type": (SentenceCode.VALUE_NOT_NUMBER, None),
        "dataclass_exact_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "dataclass_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "date_from_datetime_inexact": (SentenceCode.VALUE_NOT_DATE, None),
        "date_from_datetime_parsing": (SentenceCode.VALUE_NOT_DATE, None),
        "date_parsing": (SentenceCode.VALUE_NOT_DATE, None),
        "date_type": (SentenceCode.VALUE_NOT_DATE, None),
        "datetime_from_date_parsing": (SentenceCode.VALUE_NOT_TIME, None),
        "datetime_object_invalid": (SentenceCode.VALUE_NOT_TIME, None),
        "datetime_parsing": (SentenceCode.VALUE_NOT_TIME, None),
        "datetime_type": (SentenceCode.VALUE_NOT_TIME, None),
        "decimal_parsing": (SentenceCode.VALUE_NOT_NUMBER, None),
        "decimal_type": (SentenceCode.VALUE_NOT_NUMBER, None),
        "dict_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "enum": (SentenceCode.VALUE_NOT_ONE_OF, "expected"),
        "extra_forbidden": (SentenceCode.VALUE_UNKNOWN, None),
        "finite_number": (SentenceCode.VALUE_NOT_NUMBER, None),
        "float_parsing": (SentenceCode.VALUE_NOT_NUMBER, None),
        "float_type": (SentenceCode.VALUE_NOT_NUMBER, None),
        "frozen_set_type": (SentenceCode.VALUE_NOT_LIST, None),
        "greater_than": (SentenceCode.VALUE_ABOVE, "gt"),
        "greater_than_equal": (SentenceCode.VALUE_AT_LEAST, "ge"),
        "int_from_float": (SentenceCode.VALUE_NOT_INTEGER, None),
        "int_parsing": (SentenceCode.VALUE_NOT_INTEGER, None),
        "int_parsing_size": (SentenceCode.VALUE_NOT_INTEGER, None),
        "int_type": (SentenceCode.VALUE_NOT_INTEGER, None),
        "iterable_type": (SentenceCode.VALUE_NOT_LIST, None),
        "json_invalid": (SentenceCode.VALUE_NOT_JSON, None),
        "json_type": (SentenceCode.VALUE_NOT_JSON, None),
        "less_than": (SentenceCode.VALUE_BELOW, "lt"),
        "less_than_equal": (SentenceCode.VALUE_AT_MOST, "le"),
        "list_type": (SentenceCode.VALUE_NOT_LIST, None),
        "literal_error": (SentenceCode.VALUE_NOT_ONE_OF, "expected"),
        "mapping_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "missing": (SentenceCode.VALUE_MISSING, None),
        "missing_argument": (SentenceCode.VALUE_MISSING, None),
        "missing_keyword_only_argument": (SentenceCode.VALUE_MISSING, None),
        "missing_positional_only_argument": (SentenceCode.VALUE_MISSING, None),
        "model_attributes_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "model_type": (SentenceCode.VALUE_NOT_OBJECT, None),
        "multiple_of": (SentenceCode.VALUE_MULTIPLE, "multiple_of"),
        "set_type": (SentenceCode.VALUE_NOT_LIST, None),
        "string_pattern_mismatch": (SentenceCode.VALUE_NOT_IN_FORM, "pattern"),
        "string_sub_type": (SentenceCode.VALUE_NOT_TEXT, None),
        "string_too_long": (SentenceCode.VALUE_TOO_LONG, "max_length"),
        "string_too_short": (SentenceCode.VALUE_TOO_SHORT, "min_length"),
        "string_type": (SentenceCode.VALUE_NOT_TEXT, None),
        "string_unicode": (SentenceCode.VALUE_NOT_TEXT, None),
        "time_delta_parsing": (SentenceCode.VALUE_NOT_DURATION, None),
        "time_delta_type": (SentenceCode.VALUE_NOT_DURATION, None),
        "time_parsing": (SentenceCode.VALUE_NOT_TIME, None),
        "time_type": (SentenceCode.VALUE_NOT_TIME, None),
        "timezone_aware": (SentenceCode.VALUE_NOT_TIME, None),
        "too_long": (SentenceCode.VALUE_TOO_LONG, "max_length"),
        "too_short": (SentenceCode.VALUE_TOO_SHORT, "min_length"),
        "tuple_type": (SentenceCode.VALUE_NOT_LIST, None),
        "unexpected_keyword_argument": (SentenceCode.VALUE_UNKNOWN, None),
        "url_parsing": (SentenceCode.VALUE_NOT_URL, None),
        "url_scheme": (SentenceCode.VALUE_NOT_URL, None),
        "url_syntax_violation": (SentenceCode.VALUE_NOT_URL, None),
        "url_too_long": (SentenceCode.VALUE_TOO_LONG, "max_length"),
        "url_type": (SentenceCode.VALUE_NOT_URL, None),
        "uuid_parsing": (SentenceCode.VALUE_NOT_UUID, None),
        "uuid_type": (SentenceCode.VALUE_NOT_UUID, None),
        "uuid_version": (SentenceCode.VALUE_NOT_UUID, None),
    }
)
"""The sentence of each frequent error of Pydantic about a value, and what it names in `ctx`."""


def invalid_value(text: str, kind: str, context: Mapping[str, Any]) -> str:
    """Return what Pydantic says about a value: a sentence, if it is a frequent error."""
    if kind not in OF_INVALID_VALUES:
        return text
    code, name = OF_INVALID_VALUES[kind]
    if name is None:
        return Sentence(text, code)
    # A validator of the application may raise an error of the same kind without it.
    return Sentence(text, code, bound=str(context[name])) if name in context else text
