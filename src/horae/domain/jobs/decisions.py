"""What a body may decide about its own job by raising it, and which errors a job type retries.

A decision overrides the rules of the type, and the rules override the number of attempts that are
left:

| raised by a body | another attempt                       | this one counts | after              |
|------------------|---------------------------------------|-----------------|--------------------|
| `Snooze(delay)`  | always                                | no              | `delay`            |
| `Discard(reason)` | never                                | yes             |                    |
| `Retry(after)`   | if one is left                        | yes             | `after` or backoff |
| any other error  | if one is left and the rules allow it | yes             | backoff            |
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from horae.domain.functions import problem_of_result
from horae.domain.times import LONGEST_DURATION, Duration, bounded_duration
from horae.quoting import quoted

ErrorClass: TypeAlias = type[BaseException]
ErrorRule: TypeAlias = ErrorClass | tuple[ErrorClass, ...] | Callable[[BaseException], bool]


class BodyDecision(Exception):
    """Raised by a body to decide what happens to its job; let it pass.

    `reason` is a text for the owner of the job, as the code of the body gave it.
    """

    reason = ""


class Retry(BodyDecision):
    """End this attempt as failed, and make another one if one is left (see `max_attempts`).

    `reason` is a text for the owner of the job; an entry of `exceptions_map` for the error that
    this is raised `from` takes precedence. `after`: how long to wait, such as `"30s"`; None takes
    the job's back-off. Raises `InvalidRequest`.
    """

    def __init__(self, reason: str = "", *, after: Duration | None = None) -> None:
        self.reason = reason
        super().__init__(reason or "another attempt was asked for")
        self.after = None if after is None else _wait("after", after)


class Snooze(BodyDecision):
    """Run the job again after `delay`, such as `"10m"`; this attempt does not count and is no
    failure.

    Raises `InvalidRequest`.
    """

    def __init__(self, delay: Duration, reason: str = "") -> None:
        self.delay, self.reason = _wait("delay", delay), reason
        super().__init__(reason or f"snoozed for {self.delay}")


class Discard(BodyDecision):
    """Fail the job at once, even if attempts are left; the job's owner sees `reason`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def _wait(name: str, given: Duration) -> timedelta:
    expected = f"zero or more, up to {LONGEST_DURATION.days} days"
    return bounded_duration(name, given, expected, least=timedelta(0))


@dataclass(frozen=True, slots=True)
class RetryRules:
    """Which errors of a body lead to another attempt; `give_up_on` takes precedence.

    None is no rule.
    """

    retry_on: ErrorRule | None = None
    give_up_on: ErrorRule | None = None

    def allow(self, error: BaseException) -> bool:
        """Return whether another attempt may follow `error`; an error of the rule is raised."""
        if self.give_up_on is not None and _matches(self.give_up_on, error):
            return False
        return self.retry_on is None or _matches(self.retry_on, error)


def problem_of_rule(rule: Any) -> str | None:
    """Return why `rule` cannot be a rule, None if it can."""
    if rule is None or _is_error_class(rule):
        return None
    if isinstance(rule, tuple):
        wrong = [each for each in rule if not _is_error_class(each)]
        return f"its element {quoted(wrong[0])} is no exception class" if wrong else None
    if callable(rule) and not isinstance(rule, type):
        return problem_of_result(rule, "the exception")
    return (
        "expected an exception class, a tuple of them, or a function of the exception that returns"
        " a bool"
    )


def _is_error_class(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, BaseException)


def _matches(rule: ErrorRule, error: BaseException) -> bool:
    if isinstance(rule, tuple | type):
        return isinstance(error, rule)
    return bool(rule(error))
