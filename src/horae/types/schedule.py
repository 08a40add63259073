"""A schedule as an application declares it: which job type, and when."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, TypedDict, assert_never, cast, get_origin, get_type_hints

from horae.domain.arguments import check_moment, of_kind
from horae.domain.backoff import Growth
from horae.domain.cron import CronExpression, DstFold, DstGap
from horae.domain.schedules import (
    RULE_OPTIONS,
    CatchUp,
    CronTrigger,
    IntervalTrigger,
    Overlap,
    Rules,
    Trigger,
    ValueKind,
)
from horae.domain.storable import LARGEST_NUMBER
from horae.domain.times import Duration, Interval, parse_duration
from horae.errors import InvalidInterval, InvalidRequest, SchemaError
from horae.quoting import did_you_mean, quoted
from horae.sentences import SentenceCode, about, between
from horae.types.calendars import Exclusion, entries_of
from horae.types.context import JobContext
from horae.types.job_type import JobType
from horae.types.keywords import BodyKeywords
from horae.types.options import DeclaredQueue, limits_of_job
from horae.types.parameters import ModelParameters, has_secrets
from horae.types.storing import storable_parameters


class RuleKeywords(TypedDict, total=False):
    """The rules of a schedule besides its trigger; durations as `"90s"`, `"5m"`, `"1 day"` or a
    timedelta.

    `max_retries`: further tries after a failure before the schedule is disabled. `catch_up_limit`
    and `catch_up_window` bound which missed times are caught up. `exclude`: days, ranges, or
    functions of a date, by the clock of the schedule's zone. See `Rules` for the rest.
    """

    overlap: Overlap | str
    catch_up: CatchUp | str
    catch_up_limit: int
    catch_up_window: Duration
    jitter: Duration
    max_runtime: Duration
    max_retries: int | None
    retry_period: Duration
    backoff: Growth
    exclude: Sequence[Exclusion] | Exclusion


@dataclass(frozen=True, slots=True)
class Schedule:
    """A declared schedule: its name, job type and rules, and the queue, priority and parameters of
    its jobs.

    `params`, `limits` and `tags` are the JSON text that is stored with each job; `params` is None
    if the function takes no parameters. `max_attempts` of each job, None: one.
    """

    name: str
    job_type: str
    rules: Rules
    queue: str
    priority: int
    params: str | None = None
    limits: str | None = None
    tags: str | None = None
    max_attempts: int | None = None


class TriggerOptions(TypedDict, total=False):
    """Options for reading a cron expression (`dst_*`) or interval (`fixed`, `initial_start`)."""

    timezone: str
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: bool
    initial_start: datetime | None


class TriggerKeywords(TriggerOptions, total=False):
    """When a schedule is due: either `cron`, or `every` (counted from the finish, or `fixed` on a
    grid).
    """

    cron: str
    every: Duration | Interval


class ParameterKeywords(TypedDict, total=False):
    """The parameters of each job of a declared schedule, by name."""

    params: Mapping[str, Any]


class JobOptions(TypedDict):
    """A type's options, stored with its schedule for each job; `limits` and `tags` are JSON."""

    limits: str | None
    tags: str | None
    max_attempts: int | None


class DeclaredKeywords(TriggerOptions, RuleKeywords, BodyKeywords, ParameterKeywords, total=False):
    """The options of `@horae.cron` and `@horae.every`."""


def trigger_of(given: TriggerKeywords) -> Trigger:
    """Return the trigger of a caller's options.

    Raises `CronSyntaxError`, `InvalidInterval`, `InvalidRequest`.
    """
    if ("cron" in given) == ("every" in given):
        raise InvalidRequest(
            'a schedule needs either cron="0 3 * * *" or every="10m"',
            SentenceCode.VALUE_CRON_OR_EVERY,
        )
    kind, other = ("cron", IntervalTrigger) if "cron" in given else ("every", CronTrigger)
    stray = next((name for name in sorted(other.options) if name in given), None)
    if stray is not None:
        raise InvalidRequest(
            f"{stray}= cannot be combined with {kind}=",
            SentenceCode.VALUE_NOT_WITH,
            option=stray,
            other=kind,
        )
    zone = of_kind(
        "timezone",
        given.get("timezone", "UTC"),
        str,
        "the name of a time zone such as Europe/Berlin",
    )
    if "cron" in given:
        expression = of_kind("cron", given["cron"], str, 'an expression such as "0 3 * * *"')
        options: dict[str, Any] = {
            name: value for name, value in given.items() if name in CronTrigger.options
        }
        return CronTrigger(CronExpression.parse(expression, timezone=zone, **options))
    start = given.get("initial_start")
    fixed = of_kind("fixed", given.get("fixed", False), bool, "True or False")
    if start is not None:
        check_moment("initial_start", start)
    return IntervalTrigger(Interval.parse(given.get("every", "")), fixed, start, zone)


def keywords_of(trigger: Trigger) -> TriggerKeywords:
    """Return the options that would declare this trigger."""
    declared: dict[str, Any]
    if isinstance(trigger, CronTrigger):
        source: Any = trigger.expression
        declared = {"cron": source.text}
    else:
        source = trigger
        declared = {"every": source.interval}
    declared |= {name: getattr(source, name) for name in ("timezone", *trigger.options)}
    return cast("TriggerKeywords", declared)


def check_options(given: Mapping[str, Any], *kinds: Any) -> None:
    """Raise `InvalidRequest` for an option that none of these TypedDicts names."""
    allowed = [name for kind in kinds for name in kind.__annotations__]
    unknown = given.keys() - set(allowed)
    if unknown:
        name = min(unknown)
        meant = did_you_mean(name, allowed)
        if name == "params":
            meant = "; the parameters of its jobs are `config`"
        raise InvalidRequest(
            f"a schedule has no option {quoted(name)}; there are {', '.join(allowed)}{meant}"
        )


def rules_of(key: str, trigger: Trigger, given: RuleKeywords) -> Rules:
    """Return the rules of a caller's options. Raises `InvalidRequest`."""
    return Rules(
        key=key, trigger=trigger, **{name: _rule(name, value) for name, value in given.items()}
    )


def _rule(name: str, value: Any) -> Any:
    """Read the value of an option; `Rules` reads choices itself."""
    option = RULE_OPTIONS[name]
    if value is None and option.may_be_none:
        return None
    match option.kind:
        case ValueKind.LENGTH:
            return parse_duration(name, value)
        case ValueKind.INTERVAL:
            try:
                return Interval.parse(cast("Any", value))
            except InvalidInterval as error:
                raise InvalidInterval(about(name, error)) from None
        case ValueKind.EXCLUSIONS:
            return entries_of(value)
        case ValueKind.NUMBER | ValueKind.RETRIES:
            number = of_kind(name, value, int, "a whole number")
            if option.kind is ValueKind.RETRIES and number > LARGEST_NUMBER:
                raise InvalidRequest(
                    between(name, number, 0, LARGEST_NUMBER, hint=", or None for no limit")
                )
            return number
        case ValueKind.CHOICE:
            return value
        case _:
            assert_never(option.kind)


def part_of(options: Mapping[str, Any], kind: Any) -> Any:
    """Return the options that a TypedDict names."""
    return {name: value for name, value in options.items() if name in kind.__annotations__}


def check_scheduled(function: Callable[..., Any], *, with_params: bool = False) -> None:
    """Raise `SchemaError` for a scheduled function with a result, or with parameters unless
    `params` gives them.
    """
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise SchemaError(
            f"{function.__qualname__}: an annotation cannot be resolved: {error}; import it outside"
            " of `if TYPE_CHECKING`, at the top level of the module"
        ) from error
    for name in () if with_params else inspect.signature(function).parameters:
        hint = hints.get(name)
        if (get_origin(hint) or hint) is not JobContext:
            raise SchemaError(
                f"{function.__qualname__} is scheduled, so it takes no parameter such as {name!r} "
                f"unless its schedule gives one: params={{{name!r}: …}}"
            )
    if hints.get("return") not in (None, type(None)):
        raise SchemaError(
            f"{function.__qualname__} is scheduled, so it returns nothing; it says"
            f" {hints['return']!r}"
        )


def params_of(kind: JobType[Any], given: Any) -> str | None:
    """Return the parameters of a declared schedule as JSON text.

    Raises `InvalidParameters` and `SchemaError`.
    """
    of_kind("params", given, Mapping, "a mapping from the names of parameters to their values")
    text = storable_parameters(kind, kind.parameters.check(kind.type, given)).text
    if isinstance(kind.parameters, ModelParameters) and has_secrets(kind.parameters.model):
        raise SchemaError(
            f"schedule {kind.type!r}: its parameters have a secret, and the schema of a module is"
            " stored as plain text; read the secret in the function, or add the schedule with"
            " horae.schedules.add"
        )
    return text


def job_options_of(kind: JobType[Any], params: str | None) -> JobOptions:
    """Return what the jobs of a schedule with these parameters have by their type.

    They are stored with the schedule, because the node that fires it may not know its job type.
    """
    limits = (
        limits_of_job(kind.type, kind.named_limits, kind.parameters.load(params))
        if kind.named_limits
        else None
    )
    tags = json.dumps(kind.tags, ensure_ascii=False) if kind.tags else None
    return {
        "limits": limits,
        "tags": tags,
        "max_attempts": kind.max_attempts if kind.max_attempts > 1 else None,
    }


_VERB: Final = "  verb "
_QUEUE: Final = "  queue "


def module_schema(
    module: str, declared: list[Schedule], queues: Iterable[DeclaredQueue] = ()
) -> str:
    """Return a module's scheduled functions and queues as text, by name, which a deployment stores
    and compares.
    """
    lines = [f"module {module} {{"]
    for schedule in sorted(declared, key=lambda item: item.name):
        trigger = schedule.rules.trigger
        zone = "" if trigger.timezone == "UTC" else f" timezone={trigger.timezone}"
        lines.append(f"{_VERB}{verb_name(schedule.name)}(Unit) Unit")
        lines.append(f"    +{'cron' if trigger.kind == 'cron' else 'every'} {trigger.text}{zone}")
        rules, plain = schedule.rules, Rules(key=schedule.rules.key, trigger=trigger)
        for name in RuleKeywords.__annotations__:
            value = getattr(rules, name)
            if value != getattr(plain, name):
                lines.append(f"    +{name} {', '.join(value) if name == 'exclude' else value}")
        lines.append(f"    +job {schedule.job_type}")
        lines.append(f"    +queue {schedule.queue}")
        lines.append(f"    +priority {schedule.priority}")
        texts = {
            name: getattr(schedule, name) for name in ("params", "limits", "tags", "max_attempts")
        }
        lines.extend(f"    +{name} {text}" for name, text in texts.items() if text is not None)
    lines.extend(
        f"{_QUEUE}{queue.name} {queue.text}" for queue in sorted(queues, key=attrgetter("name"))
    )
    return "\n".join([*lines, "}"]) + "\n"


def schema_hash(schema: str) -> str:
    """Return the hash by which a deployment recognises a schema."""
    return hashlib.sha256(schema.encode()).hexdigest()


def verb_name(name: str) -> str:
    """Return the name of a schedule as the text of its module has it: in camel case."""
    first, *rest = re.split(r"[_\W]+", name)
    return first + "".join(part.capitalize() for part in rest)
