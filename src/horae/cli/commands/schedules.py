"""`horae schedules`: list, add, change, pause and run schedules, and read their history."""

from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Annotated, Any

import typer

from horae.app import Horae
from horae.cli.command import Answer, fields, on_application, on_database, table
from horae.cli.moments import parse_moment
from horae.cli.options import Limit, Note, Schedule
from horae.cli.printing import (
    declared_in_words,
    local_time,
    note_of,
    print_table,
    reference_of,
    statistics_values,
)
from horae.cli.printing.schedule_views import as_values
from horae.cli.schedule_options import chosen_of, with_schedule_options
from horae.cli.values import parameters
from horae.client.schedules import (
    DEFAULT_LIMIT,
    LARGEST_LIMIT,
    ScheduleView,
    trigger_in_line,
)

schedules_app = typer.Typer()

JobType = Annotated[str, typer.Argument(metavar="TYPE", help="The job type to run.")]
Config = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Parameter of its jobs. Repeatable.")
]


@schedules_app.command("list")
@on_database
def list_schedules(
    horae: Horae,
    *,
    module: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only schedules that this module declares.")
    ] = None,
) -> Answer:
    """List all schedules with their next start."""
    found = horae.schedules.list(module=module)
    values = {"schedules": [as_values(each, horae.registry) for each in found]}
    return Answer(
        values,
        partial(
            print_table,
            {
                "ID": "id",
                "NAME": "name",
                "MODULE": "module",
                "WHEN": lambda schedule: trigger_in_line(schedule.rules.trigger),
                "STATE": lambda schedule: schedule.disabled_reason or schedule.state,
                "NEXT START": "next_start",
                "RUNS": lambda schedule: schedule.statistics.total_runs + schedule.open_runs,
                "FAILED": lambda schedule: (
                    schedule.statistics.total_failures + schedule.statistics.total_crashes
                ),
                "NOTE": note_of,
            },
            found,
            empty=(
                "No schedules. Declare one with @horae.cron or @horae.every, or add one: horae"
                " schedules add"
            ),
        ),
    )


@schedules_app.command()
@on_database
def show(horae: Horae, reference: Schedule) -> Answer:
    """Show a schedule: its rules, state, next starts and statistics."""
    schedule = horae.schedules.get(reference_of(reference))
    upcoming = schedule.upcoming(5)
    values = as_values(schedule, horae.registry)
    shown = {
        **values,
        "upcoming": ", ".join(local_time(each) for each in upcoming) or None,
        "exclude": ", ".join(schedule.rules.exclude) or None,
        "overrides": ", ".join(declared_in_words(schedule)) or None,
        **values["statistics"],
    }
    del shown["statistics"]
    return fields({**values, "upcoming": upcoming}, shown.items())


@schedules_app.command()
@on_application
@with_schedule_options
def add(
    horae: Horae,
    job_type: JobType,
    *,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the schedule. Default: that of the job type."),
    ] = None,
    config: Config = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add the schedule paused.")] = False,
    **options: Any,
) -> Answer:
    """Add a schedule (needs --app or HORAE_APP)."""
    chosen = chosen_of(options)
    given = parameters(horae.registry.get(job_type), config or [], None)
    schedule = horae.schedules.add(
        job_type, name=name, config=given, enabled=not disabled, **chosen
    )
    return _answer(horae, schedule, "added")


@schedules_app.command()
@on_application
@with_schedule_options
def put(
    horae: Horae,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")],
    job_type: JobType,
    *,
    config: Config = None,
    enabled: Annotated[
        bool | None,
        typer.Option("--enabled/--disabled", help="Default: leave a paused schedule paused."),
    ] = None,
    **options: Any,
) -> Answer:
    """Add a schedule, or change it to the given options; others get their defaults (needs --app or
    HORAE_APP).
    """
    chosen = chosen_of(options)
    given = parameters(horae.registry.get(job_type), config or [], None)
    result = horae.schedules.put(name, job_type, config=given, enabled=enabled, **chosen)
    values = {"outcome": result.outcome, "schedule": as_values(result.schedule, horae.registry)}
    return replace(_answer(horae, result.schedule, result.outcome), values=values)


@schedules_app.command()
@on_application
@with_schedule_options
def alter(horae: Horae, reference: Schedule, *, config: Config = None, **options: Any) -> Answer:
    """Change the given options of a schedule and leave the others (needs --app or HORAE_APP)."""
    chosen = chosen_of(options)
    key = reference_of(reference)
    kind = horae.registry.get(horae.schedules.get(key).job_type)
    given = None if config is None else parameters(kind, config, None)
    return _answer(horae, horae.schedules.alter(key, config=given, **chosen), "changed")


@schedules_app.command()
@on_database
def reset(horae: Horae, reference: Schedule) -> Answer:
    """Take back what was changed of a declared schedule at run time."""
    schedule = horae.schedules.reset(reference_of(reference))
    return _answer(horae, schedule, "is as its module declares it")


@schedules_app.command("next")
@on_database
def next_starts(
    horae: Horae,
    reference: Schedule,
    *,
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of starts.")] = 10,
) -> Answer:
    """Show the next starts of a schedule, and the times that it will skip."""
    schedule = horae.schedules.get(reference_of(reference))
    starts = schedule.upcoming(count)
    skipped: list[dict[str, Any]] = [
        {
            "nominal_time": ticks.first,
            "until": ticks.last,
            "count": ticks.count,
            "reason": ticks.reason.value,
        }
        for ticks in schedule.skips(starts[-1] if starts else None)
    ]
    runs: list[dict[str, Any]] = [
        {"nominal_time": start, "count": 1, "reason": "run"} for start in starts
    ]
    both = sorted([*runs, *skipped], key=itemgetter("nominal_time"))
    return Answer(
        {"starts": starts, "skipped": skipped},
        partial(
            print_table,
            {
                "TIME": "nominal_time",
                "UNTIL": lambda row: row["until"] if row["count"] > 1 else None,
                "COUNT": "count",
                "DECISION": "reason",
            },
            both,
            empty="No further start.",
        ),
    )


@schedules_app.command()
@on_database
def skip(
    horae: Horae,
    reference: Schedule,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Run the next time after all.")] = False,
) -> Answer:
    """Skip the next nominal time, once."""
    change = horae.schedules.undo_skip if undo else horae.schedules.skip_next
    done = "skips no time on request" if undo else "skips its next time"
    return _answer(horae, change(reference_of(reference)), done)


@schedules_app.command()
@on_database
def backfill(
    horae: Horae,
    reference: Schedule,
    *,
    start: Annotated[str | None, typer.Option(metavar="ISO", help="First nominal time.")] = None,
    end: Annotated[
        str | None, typer.Option(metavar="ISO", help="End; this time itself is not run.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_LIMIT, help="Maximum number of times.")
    ] = DEFAULT_LIMIT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the times and add none.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Also run times again whose run failed.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the times that still wait.")] = False,
) -> Answer:
    """Run a schedule for past nominal times, each at most once, however often it is asked for."""
    key = reference_of(reference)
    if undo:
        removed = horae.schedules.undo_backfill(key)
        return Answer({"removed": removed}, f"{removed} times removed")
    if start is None or end is None:
        raise typer.BadParameter("--start and --end are needed, or --undo")
    first, until = parse_moment(start, "--start"), parse_moment(end, "--end")
    found = horae.schedules.backfill(key, first, until, limit=limit, dry_run=dry_run, failed=failed)
    done = "would be added" if dry_run else "added"
    return Answer(
        found,
        f"{found.added} of {found.times} times {done}; {found.known} known, {found.excluded} more"
        " excluded",
    )


@schedules_app.command()
@on_database
def pause(horae: Horae, reference: Schedule, *, note: Note = None) -> Answer:
    """Pause a schedule: no run starts; a running one continues."""
    return _answer(horae, horae.schedules.pause(reference_of(reference), note), "is paused")


@schedules_app.command()
@on_database
def resume(horae: Horae, reference: Schedule) -> Answer:
    """Resume a schedule; times missed during the pause are not made up for."""
    schedule = horae.schedules.resume(reference_of(reference))
    never = "; next start: never" if schedule.next_start is None else ""
    return _answer(horae, schedule, f"is enabled{never}")


@schedules_app.command()
@on_database
def run(horae: Horae, reference: Schedule) -> Answer:
    """Start a run now, in addition to the scheduled ones."""
    job_id = horae.schedules.run_now(reference_of(reference))
    return Answer({"job_id": job_id}, f"job {job_id} started")


@schedules_app.command()
@on_database
def delete(horae: Horae, reference: Schedule) -> Answer:
    """Delete an added schedule and its history; a running job continues."""
    horae.schedules.delete(reference_of(reference))
    return Answer({"deleted": reference}, f"schedule {reference} deleted")


@schedules_app.command()
@on_database
def ticks(horae: Horae, reference: Schedule, *, limit: Limit = 50) -> Answer:
    """Show the decision about each nominal time and its reason, newest first."""
    found = horae.schedules.ticks(reference_of(reference), limit=limit)
    return table(
        "ticks",
        found,
        {
            "NOMINAL TIME": "nominal_time",
            "UNTIL": lambda tick: tick.until if tick.count > 1 else None,
            "COUNT": "count",
            "DECISION": "decision",
            "REASON": "reason",
            "JOB": "job_id",
            "RETRIED AS": "retried_as",
            "LATE BY": lambda tick: (
                tick.decided_at - tick.nominal_time if tick.decision == "fired" else None
            ),
            "WAITS": "waiting_reason",
        },
        empty="No nominal time has passed yet.",
    )


@schedules_app.command()
@on_database
def stats(horae: Horae, reference: Schedule) -> Answer:
    """Show the statistics of its runs."""
    values = statistics_values(horae.schedules.get(reference_of(reference)))
    return fields(values, values.items())


@schedules_app.command()
@on_database
def errors(
    horae: Horae,
    reference: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|ID]", help="The schedule, by name or ID. Default: all."),
    ] = None,
    *,
    limit: Limit = 50,
) -> Answer:
    """Show runs that failed or crashed, newest first."""
    key = None if reference is None else reference_of(reference)
    found = horae.schedules.errors(key, limit=limit)
    return table(
        "errors",
        found,
        {
            "SCHEDULE": "schedule_id",
            "JOB": "job_id",
            "NOMINAL TIME": "nominal_time",
            "ENDED": "finished_at",
            "OUTCOME": "outcome",
            "ERROR": "error",
        },
        empty="No run has failed.",
    )


def _answer(horae: Horae, schedule: ScheduleView, done: str) -> Answer:
    """Return a schedule after a change, and what the change has done."""
    due = "" if schedule.next_start is None else f"; next start: {local_time(schedule.next_start)}"
    text = f"schedule {schedule.id} ({schedule.name}) {done}{due}"
    return Answer(as_values(schedule, horae.registry), text)
