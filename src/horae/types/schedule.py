"""A schedule as an application declares it: which job type, and when."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict, get_origin, get_type_hints

from horae.domain.backoff import Growth
from horae.domain.cron.expression import CronExpression
from horae.domain.cron.ranges import YEAR
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.trigger import CronTrigger, IntervalTrigger, Trigger
from horae.domain.storable import is_storable
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest, SchemaError, quoted
from horae.types.context import JobContext
from horae.types.function import BodyKeywords

Length = str | timedelta
LONGEST_NAME: Final = 200
LONGEST_NOTE: Final = 2_000
LARGEST_PRIORITY: Final = 2**31 - 1


class RuleKeywords(TypedDict, total=False):
    """What may be said of a schedule beside its trigger; lengths as `"90s"`, `"5m"`, `"1 day"` or a timedelta.

    `max_retries`: further tries after a failure before the schedule is disabled. `catch_up_limit` and `catch_up_window`
    bound what is made up for. See `Rules` for the rest.
    """

    overlap: Overlap | str
    catch_up: CatchUp | str
    catch_up_limit: int
    catch_up_window: Length
    jitter: Length
    max_runtime: Length
    max_retries: int | None
    retry_period: Length
    backoff: Growth


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a schedule is: a name, a job type, rules; and how its jobs queue."""

    name: str
    job_type: str
    rules: Rules
    queue: str
    priority: int


class TriggerKeywords(TypedDict, total=False):
    """When a schedule is due: either `cron`, or `every` (counted from the finish, or `fixed` on a grid)."""

    cron: str
    every: Length | Interval
    timezone: str
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: bool
    initial_start: datetime | None


class DeclaredKeywords(RuleKeywords, BodyKeywords, total=False):
    """What `@horae.cron` and `@horae.every` may say beside when."""

    timezone: str
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: bool
    initial_start: datetime | None


def trigger_of(given: TriggerKeywords) -> Trigger:
    """The trigger that a caller means. Raises `CronSyntaxError`, `InvalidInterval`, `InvalidRequest`."""
    if ("cron" in given) == ("every" in given):
        raise InvalidRequest('a schedule needs either cron="0 3 * * *" or every="10m"')
    kind, other = ("cron", _INTERVAL_ONLY) if "cron" in given else ("every", _CRON_ONLY)
    stray = sorted(other & given.keys())
    if stray:
        raise InvalidRequest(f"{stray[0]} does not go with {kind}")
    zone = of_kind("timezone", given.get("timezone", "UTC"), str, "the name of a time zone such as Europe/Berlin")
    if "cron" in given:
        gap, fold = given.get("dst_gap", "shift"), given.get("dst_fold", "first")
        expression = of_kind("cron", given["cron"], str, 'an expression such as "0 3 * * *"')
        return CronTrigger(CronExpression.parse(expression, timezone=zone, dst_gap=gap, dst_fold=fold))
    start, fixed = given.get("initial_start"), of_kind("fixed", given.get("fixed", False), bool, "True or False")
    if start is not None:
        check_moment("initial_start", start)
    return IntervalTrigger(Interval.parse(given.get("every", "")), fixed, start, zone)


def keywords_of(trigger: Trigger) -> TriggerKeywords:
    """What a caller would have to say for this trigger."""
    if isinstance(trigger, CronTrigger):
        expression = trigger.expression
        return {
            "cron": expression.text,
            "timezone": expression.timezone,
            "dst_gap": expression.dst_gap,
            "dst_fold": expression.dst_fold,
        }
    return {
        "every": trigger.interval,
        "timezone": trigger.timezone,
        "fixed": trigger.fixed,
        "initial_start": trigger.initial_start,
    }


_CRON_ONLY: Final = frozenset({"dst_gap", "dst_fold"})
_INTERVAL_ONLY: Final = frozenset({"fixed", "initial_start"})


def check_options(given: Mapping[str, Any], *kinds: Any) -> None:
    """Refuse an option that none of these TypedDicts names. Raises `InvalidRequest`."""
    allowed = [name for kind in kinds for name in kind.__annotations__]
    unknown = given.keys() - set(allowed)
    if unknown:
        raise InvalidRequest(f"a schedule has no option {quoted(min(unknown))}; there are {', '.join(allowed)}")


def rules_of(key: str, trigger: Trigger, given: RuleKeywords) -> Rules:
    """The rules that a caller means. Raises `InvalidRequest`."""
    return Rules(key=key, trigger=trigger, **{name: _rule(name, value) for name, value in given.items()})


_MAY_BE_NONE: Final = frozenset({"max_runtime", "max_retries", "retry_period"})


def _rule(name: str, value: Any) -> Any:
    return None if value is None and name in _MAY_BE_NONE else _read_rule(name, value)


def _read_rule(name: str, value: Any) -> Any:
    match name:
        case "overlap":
            return _choice(name, Overlap, value)
        case "catch_up":
            return _choice(name, CatchUp, value)
        case "catch_up_limit" | "max_retries":
            return of_kind(name, value, int, "a whole number")
        case "retry_period":
            return Interval.parse(value)
        case "catch_up_window" | "jitter" | "max_runtime":
            return value if isinstance(value, timedelta) else Interval.parse(value).nominal
        case _:
            return value


def of_kind(name: str, value: Any, kind: type, expected: str) -> Any:
    """The value, if it is of this kind. Raises `InvalidRequest`."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidRequest(f"{name} {quoted(value)}: expected {expected}")
    return value


def check_moment(name: str, moment: Any) -> None:
    """Refuse what is no moment that a schedule could start at."""
    expected = "a datetime with a time zone"
    of_kind(name, moment, datetime, expected)
    if not has_zone(moment):
        raise InvalidRequest(f"{name} {quoted(moment)}: expected {expected}")
    if not YEAR.low <= moment.year <= YEAR.high:
        raise InvalidRequest(f"{name} is {moment}; expected a year from {YEAR.low} to {YEAR.high}")


def has_zone(moment: datetime) -> bool:
    """Whether it is known which moment it is; a class of time zones may be anybody's."""
    try:
        return moment.utcoffset() is not None
    except Exception:  # noqa: BLE001 - whatever it raises, it tells no offset
        return False


def _choice(name: str, kind: type[Overlap] | type[CatchUp], value: str) -> Overlap | CatchUp:
    try:
        return kind(value)
    except ValueError:
        raise InvalidRequest(f"{name} {quoted(value)}: expected {', '.join(kind)}") from None


def part_of(options: Mapping[str, Any], kind: Any) -> Any:
    """Those of the options that a TypedDict names."""
    return {name: value for name, value in options.items() if name in kind.__annotations__}


def check_scheduled(function: Callable[..., Any]) -> None:
    """Refuse a function that a clock could not call: parameters, or a result. Raises `SchemaError`."""
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise SchemaError(f"{function.__qualname__}: an annotation cannot be resolved: {error}") from error
    for name in inspect.signature(function).parameters:
        hint = hints.get(name)
        if (get_origin(hint) or hint) is not JobContext:
            raise SchemaError(f"{function.__qualname__} is scheduled, so it takes no parameter such as {name!r}")
    if hints.get("return") not in (None, type(None)):
        raise SchemaError(f"{function.__qualname__} is scheduled, so it returns nothing; it says {hints['return']!r}")


def check_name(name: Any, of: str = "schedule name") -> None:
    """Refuse a name that cannot be stored or shown."""
    expected = f"1 to {LONGEST_NAME} printable characters"
    of_kind(of, name, str, expected)
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidRequest(f"{of} {quoted(name)}: expected {expected}")


def check_note(note: Any) -> None:
    """Refuse a note that cannot be stored; None is none."""
    if note is None:
        return
    of_kind("note", note, str, "a text")
    if len(note) > LONGEST_NOTE:
        raise InvalidRequest(f"note has {len(note):,} characters, expected at most {LONGEST_NOTE:,}")
    if not is_storable(note):
        raise InvalidRequest(f"note {quoted(note)} has a character that cannot be stored")


def check_priority(priority: Any) -> None:
    """Refuse what is no priority."""
    of_kind("priority", priority, int, "a whole number")
    if abs(priority) > LARGEST_PRIORITY:
        raise InvalidRequest(f"priority {priority}: expected -{LARGEST_PRIORITY} to {LARGEST_PRIORITY}")


def module_schema(module: str, declared: list[Schedule]) -> str:
    """A module's scheduled functions as text, sorted by name: what a deployment stores and compares."""
    lines = [f"module {module} {{"]
    for schedule in sorted(declared, key=lambda item: item.name):
        trigger = schedule.rules.trigger
        zone = "" if trigger.timezone == "UTC" else f" timezone={trigger.timezone}"
        lines.append(f"  verb {_camel_case(schedule.name)}(Unit) Unit")
        lines.append(f"    +{'cron' if trigger.kind == 'cron' else 'every'} {trigger.text}{zone}")
        lines.extend(f"    +{name} {value}" for name, value in _beyond_defaults(schedule))
    return "\n".join([*lines, "}"]) + "\n"


def _beyond_defaults(schedule: Schedule) -> list[tuple[str, Any]]:
    rules, plain = schedule.rules, Rules(key=schedule.rules.key, trigger=schedule.rules.trigger)
    names = (name for name in RuleKeywords.__annotations__ if getattr(rules, name) != getattr(plain, name))
    options = [(name, getattr(rules, name)) for name in names]
    return [*options, ("job", schedule.job_type), ("queue", schedule.queue), ("priority", schedule.priority)]


def _camel_case(name: str) -> str:
    first, *rest = re.split(r"[_\W]+", name)
    return first + "".join(part.capitalize() for part in rest)
