"""Job types that are declared by options instead of a class: those of functions and of Celery
tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, cast

from typing_extensions import override

from horae.domain.backoff import Backoff
from horae.domain.jobs import Debounce, ErrorRule, Job, Keep, KeepLogs, Unique
from horae.domain.limits import Limit
from horae.domain.times import Duration
from horae.errors import InvalidJobType
from horae.quoting import did_you_mean, quoted
from horae.types.context import JobContext
from horae.types.job_type import (
    ISOLATIONS,
    NAMED_TRANSACTIONS,
    TYPE_OPTIONS,
    ApiError,
    HumanReadable,
    Isolation,
    JobType,
    OnShutdown,
    Transaction,
)
from horae.types.options import START_OPTIONS, problem_of_hook


class BodyKeywords(TypedDict, total=False):
    """The options of any body: `name` names the type, the others are those of `JobType`."""

    name: str
    queue: str
    priority: int
    soft_time_limit: Duration | None
    grace: Duration
    max_attempts: int
    isolation: Literal["process"] | None
    backend: str | None
    retry_on: ErrorRule | None
    give_up_on: ErrorRule | None
    on_shutdown: OnShutdown | None
    transaction: Isolation | Literal["django"] | Callable[[JobContext[Any]], Transaction] | None
    exceptions_map: Mapping[type[BaseException], HumanReadable]
    max_result_bytes: int
    keep_logs: KeepLogs | str | bool | None
    keep: Keep
    limits: Sequence[Limit]
    tags: Sequence[str]
    on_error: Callable[[Job, BaseException], object] | None
    on_cancelled: Callable[[Job], object] | None


class JobKeywords(BodyKeywords, total=False):
    """The options of `@horae.job(...)`."""

    max_count: int | None
    backoff: Backoff
    pending_timeout: Duration | None
    api_exceptions_map: Mapping[type[BaseException], ApiError]
    max_params_bytes: int
    public: bool
    batch: int | None
    within: Duration
    unique: Unique | None
    debounce: Duration | Debounce | None
    expires: Duration | None


_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    "on_error": ("job", "error"),
    "on_cancelled": ("job",),
}
"""The hooks that may be set on an instance, with their arguments."""
if unlike := JobKeywords.__annotations__.keys() ^ {*TYPE_OPTIONS, *_HOOKS, "name", "transaction"}:
    raise TypeError(f"the keywords of @horae.job differ from the options: {sorted(unlike)}")


_ELSEWHERE: Final = {
    "cron": ': a schedule is declared by @horae.cron("0 3 * * *")',
    "every": ': a schedule is declared by @horae.every("10m")',
    "retries": ": max_attempts=4 allows three retries",
    "max_retries": ": max_attempts=4 allows three retries",
    "timeout": ": the time of a body is limited by soft_time_limit",
    "time_limit": ": the time of a body is limited by soft_time_limit",
}
"""What is written instead of options that other job systems have."""


class OptionsJobType(JobType[Any]):
    """A job type whose attributes are given as options.

    A subclass defines `run` and sets `params`.
    """

    def __init__(self, source: str, usual_name: str, options: JobKeywords) -> None:
        """`source`: what errors about options name; `usual_name`: the name of the type, unless an
        option names it.
        """
        if unknown := options.keys() - JobKeywords.__annotations__.keys():
            name, allowed = min(unknown), ", ".join(JobKeywords.__annotations__)
            advice = _ELSEWHERE.get(name) or did_you_mean(name, JobKeywords.__annotations__)
            if name in START_OPTIONS:
                advice = f": it is given with each start, as in work.with_options({name}=…).start()"
            raise InvalidJobType(
                f"{source}: there is no option {name!r}{advice}; there are {allowed}"
            )
        self.type = options.get("name", usual_name)
        declared: Any = options.get("transaction")
        if isinstance(declared, str):
            declared = NAMED_TRANSACTIONS.get(declared, declared)
        self._transaction = declared
        self._transaction_of = cast(
            "Callable[[JobContext[Any]], Transaction]",
            declared if callable(declared) else lambda _job: declared,
        )
        for option, value in options.items():
            if option in _HOOKS:
                self.set_hook(option, value)
            elif option not in ("name", "transaction"):
                setattr(self, option, value)
        if not callable(declared) and declared not in (*ISOLATIONS, None):
            allowed = ", ".join(map(repr, (*ISOLATIONS, *NAMED_TRANSACTIONS)))
            raise InvalidJobType(
                f"job type {self.type!r}: transaction is {declared!r}, expected one of {allowed}"
            )
        super().__init__()

    @override
    def transaction(self, job: JobContext[Any]) -> Transaction:
        return self._transaction_of(job)

    def set_hook(self, name: str, hook: Any) -> None:
        """Set a hook of the type, unless it is None. Raises `InvalidJobType`."""
        if hook is None:
            return
        if name in vars(self):
            raise InvalidJobType(f"job type {self.type!r}: it has a hook {name} already")
        if (problem := problem_of_hook(hook, _HOOKS[name])) is not None:
            raise InvalidJobType(f"job type {self.type!r}: {name} is {quoted(hook)}: {problem}")
        vars(self)[name] = hook

    @property
    @override
    def has_transaction(self) -> bool:
        return self._transaction is not None
