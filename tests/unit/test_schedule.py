"""A schedule's states, its rules, and the stored form of its trigger."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import TypeAdapter, create_model

from horae.api.resources.schedule_bodies import ScheduleOptions, in_body
from horae.api.views.schedules import ScheduleDetail, in_response
from horae.cli.schedule_options import OPTIONS as COMMAND_OPTIONS
from horae.cli.schedule_options import rule_option
from horae.client.schedules.schedules import ScheduleKeywords
from horae.domain.cron.expression import CronExpression
from horae.domain.schedules.schedule import (
    DEFAULT_RETRY_PERIOD,
    NEXT_STATE,
    RULE_OPTIONS,
    CatchUp,
    Overlap,
    RuleOption,
    Rules,
    ScheduleEvent,
    ScheduleState,
    ValueKind,
)
from horae.domain.schedules.trigger import CronTrigger, IntervalTrigger, parse_trigger
from horae.domain.times.interval import Interval
from horae.errors import CronSyntaxError, InvalidInterval, InvalidRequest
from horae.storage.schedules.rows import rules_as_values
from horae.types.schedule import RuleKeywords

NIGHTLY = parse_trigger("cron", "0 3 * * *", "Europe/Berlin")
DRIFTING = parse_trigger("interval", "10m")
FIXED = parse_trigger("interval", "10m; fixed")


def rules(**options: Any) -> Rules:
    complete: dict[str, Any] = {"key": "shop.purge", "trigger": NIGHTLY} | options
    return Rules(**complete)


def test_a_run_is_started_and_ended() -> None:
    assert NEXT_STATE[ScheduleState.IDLE, ScheduleEvent.START] is ScheduleState.EXECUTING
    assert NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.END] is ScheduleState.IDLE


def test_to_pause_is_not_to_cancel() -> None:
    assert NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.DISABLE] is ScheduleState.EXECUTING
    assert NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.LAST_END] is ScheduleState.DISABLED


def test_an_executing_run_is_not_started_again() -> None:
    assert (ScheduleState.EXECUTING, ScheduleEvent.START) not in NEXT_STATE
    assert (ScheduleState.TERMINATING, ScheduleEvent.START) not in NEXT_STATE
    assert (ScheduleState.IDLE, ScheduleEvent.END) not in NEXT_STATE


def test_every_state_can_be_left_and_reached() -> None:
    assert {state for state, _ in NEXT_STATE} == set(ScheduleState)
    assert set(NEXT_STATE.values()) == set(ScheduleState)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"key": ""}, "key ''"),
        ({"overlap": "queue"}, "overlap is .queue., expected one of skip, buffer_one"),
        ({"catch_up": "some"}, "last, none, all"),
        ({"catch_up_limit": 0}, "catch_up_limit is 0, expected 1 to 10000"),
        ({"catch_up_limit": 10_001}, "catch_up_limit is 10001"),
        ({"catch_up_window": timedelta(0)}, "catch_up_window"),
        ({"jitter": timedelta(seconds=-1)}, "jitter"),
        ({"max_runtime": timedelta(0)}, "max_runtime"),
        ({"max_retries": -1}, "max_retries -1: expected 0 or more"),
        (
            {"backoff": "quadratic"},
            "backoff is 'quadratic', expected one of exponential, linear, constant",
        ),
    ],
)
def test_rules_are_checked_when_created(wrong: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidRequest, match=expected):
        rules(**wrong)


def test_policies_may_be_given_as_texts() -> None:
    given = rules(overlap="allow_all", catch_up="none")
    assert given.overlap is Overlap.ALLOW_ALL
    assert given.catch_up is CatchUp.NONE


def test_policies_that_could_never_matter_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"overlap 'buffer_one': expected skip.*or set fixed"):
        Rules(key="shop.purge", trigger=DRIFTING, overlap=Overlap.BUFFER_ONE)
    with pytest.raises(InvalidRequest, match="catch_up 'none': expected last"):
        Rules(key="shop.purge", trigger=DRIFTING, catch_up=CatchUp.NONE)
    assert Rules(key="shop.purge", trigger=FIXED, overlap=Overlap.BUFFER_ONE).finish_trigger is None


def test_only_intervals_are_retried_by_default() -> None:
    minute = Interval.parse("1m")
    assert Rules(key="shop.purge", trigger=DRIFTING).retry_after == DEFAULT_RETRY_PERIOD
    assert Rules(key="shop.purge", trigger=FIXED, retry_period=minute).retry_after == minute
    assert Rules(key="shop.purge", trigger=NIGHTLY).retry_after is None
    assert Rules(key="shop.purge", trigger=NIGHTLY, retry_period=minute).retry_after == minute


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("cron", "0 3 * * *"),
        ("cron", "0 3 * * *; dst_gap=skip"),
        ("cron", "0 3 * * *; dst_gap=skip; dst_fold=both"),
        ("interval", "1h30m"),
        ("interval", "1 day; fixed"),
        ("interval", "10m; initial_start=2026-01-01T03:00:00+00:00"),
        ("interval", "1 month; fixed; initial_start=2026-01-31T03:00:00.000001+00:00"),
    ],
)
def test_a_trigger_is_stored_as_a_text(kind: str, text: str) -> None:
    trigger = parse_trigger(kind, text, "Europe/Berlin")
    assert (trigger.kind, trigger.text, trigger.timezone) == (kind, text, "Europe/Berlin")


def test_a_text_and_its_value_are_equal() -> None:
    expression = CronExpression.parse("0 3 * * *", timezone="Europe/Berlin", dst_fold="both")
    assert parse_trigger("cron", "00 3  * * * ;dst_fold=both", "Europe/Berlin") == CronTrigger(
        expression
    )
    berlin = datetime(2026, 1, 1, 4, tzinfo=ZoneInfo("Europe/Berlin"))
    day = IntervalTrigger(
        Interval(days=1), fixed=True, initial_start=berlin, timezone="Europe/Berlin"
    )
    assert parse_trigger("interval", day.text, "Europe/Berlin") == day
    assert day.text == "1 day; fixed; initial_start=2026-01-01T03:00:00+00:00"


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        ("clock", "10m", InvalidRequest),
        ("cron", "61 * * * *", CronSyntaxError),
        ("cron", "0 3 * * *; fixed", InvalidRequest),
        ("cron", "0 3 * * *; dst_gap", InvalidRequest),
        ("cron", "0 3 * * *; dst_gap=leap", InvalidRequest),
        ("interval", "0s", InvalidInterval),
        ("interval", "1 month 2 days", InvalidInterval),
        ("interval", "10m; fixed=yes", InvalidRequest),
        ("interval", "10m; slow", InvalidRequest),
        ("interval", "10m; dst_gap=skip", InvalidRequest),
        ("interval", "10m; initial_start=soon", InvalidRequest),
        ("interval", "10m; initial_start=2026-01-01T03:00:00", InvalidRequest),
    ],
)
def test_a_bad_text_is_refused(kind: str, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_trigger(kind, text)


def test_an_unknown_zone_is_refused_for_an_interval_too() -> None:
    with pytest.raises(InvalidRequest, match="Europe/Berlin"):
        parse_trigger("interval", "1 day; fixed", "Europe/Berln")


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("1h; fixed", datetime(2026, 7, 15, 13, tzinfo=UTC)),
        ("1 day; fixed", datetime(2026, 7, 15, 22, tzinfo=UTC)),  # midnight in Berlin
        ("1w; fixed", datetime(2026, 7, 19, 22, tzinfo=UTC)),  # the start of Monday
        ("1 month; fixed", datetime(2026, 7, 31, 22, tzinfo=UTC)),  # the first of August
    ],
)
def test_a_grid_without_an_initial_start_is_the_calendars(text: str, point: datetime) -> None:
    trigger = parse_trigger("interval", text, "Europe/Berlin")
    assert isinstance(trigger, IntervalTrigger)
    assert trigger.grid.first_after(datetime(2026, 7, 15, 12, 30, tzinfo=UTC)) == point


def test_each_rule_of_a_schedule_is_declared_once() -> None:
    """What callers give, HTTP, the command line and the database have the options that `Rules` declares."""
    names = set(RULE_OPTIONS)
    assert {field.name for field in fields(Rules)} - names == {"key", "trigger", "calendar_days"}
    assert set(RuleKeywords.__annotations__) == names
    assert names <= ScheduleOptions.__annotations__.keys()
    assert names <= COMMAND_OPTIONS.keys()
    rules = Rules(
        key="a", trigger=parse_trigger("cron", "0 3 * * *", "UTC"), exclude=("2026-12-24",)
    )
    assert rules_as_values(rules).keys() == {"key", *names}
    shown = {
        str(item.validation_alias or name) for name, item in ScheduleDetail.model_fields.items()
    }
    assert names <= shown


@pytest.mark.parametrize("kind", ValueKind)
def test_a_new_option_of_any_kind_appears_everywhere(kind: ValueKind) -> None:
    option = RuleOption(kind=kind, help="Help.", choices=Overlap, description="What it does.")
    body = TypeAdapter(in_body(option)).json_schema()
    name, (annotation, shown) = in_response("quiet", option)
    fields: dict[str, Any] = {name: (annotation, shown)}
    response = create_model("Item", **fields).model_json_schema(by_alias=False)
    assert body["description"] == "What it does."
    assert response["properties"][name]["description"] == "What it does."
    assert name == ("quiet_seconds" if kind is ValueKind.LENGTH else "quiet")
    assert rule_option(option).help == "Help."

    assert set(ScheduleOptions.__annotations__) == {*ScheduleKeywords.__annotations__, "params"}
