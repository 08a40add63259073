"""`horae schedules`: list, add, change, pause and run schedules, and read their history."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from horae.cli.context import opened, target_of
from horae.cli.moments import parse_moment
from horae.cli.options import AsJson
from horae.cli.printing import (
    Columns,
    declared_in_words,
    local_time,
    note_of,
    print_fields,
    print_json,
    print_list,
    print_next,
    reference_of,
    statistics_values,
    words_of,
)
from horae.cli.printing.schedule_views import as_values
from horae.cli.schedule_options import chosen_of, with_schedule_options
from horae.cli.values import parameters
from horae.client.schedules import DEFAULT_LIMIT, LARGEST_LIMIT, ScheduleView
from horae.types import Registry

schedules_app = typer.Typer(
    help="List, add, change, pause and run schedules.", no_args_is_help=True
)

Schedule = Annotated[str, typer.Argument(metavar="NAME|ID", help="The schedule, by name or ID.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")]
Config = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Parameter of its jobs. Repeatable.")
]


@schedules_app.command("list")
def list_schedules(
    context: typer.Context,
    *,
    module: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only schedules that this module declares.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all schedules with their next start."""
    with opened(context) as horae:
        found = horae.schedules.list(module=module)
    columns: Columns = {
        "ID": "id",
        "NAME": "name",
        "MODULE": "module",
        "WHEN": lambda schedule: words_of(schedule.rules.trigger),
        "STATE": lambda schedule: schedule.disabled_reason or schedule.state,
        "NEXT START": "next_start",
        "RUNS": lambda schedule: schedule.statistics.total_runs + schedule.open_runs,
        "FAILED": lambda schedule: (
            schedule.statistics.total_failures + schedule.statistics.total_crashes
        ),
        "NOTE": note_of,
    }
    empty = (
        "No schedules. Declare one with @horae.cron or @horae.every, or add one: horae"
        " schedules add"
    )
    print_list(
        "schedules",
        found,
        columns,
        empty=empty,
        as_json=as_json,
        values=lambda each: as_values(each, horae.registry),
    )


@schedules_app.command()
def show(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Show a schedule: its rules, state, next starts and statistics."""
    with opened(context) as horae:
        schedule = horae.schedules.get(reference_of(reference))
    upcoming = schedule.upcoming(5)
    if as_json:
        print_json({**as_values(schedule, horae.registry), "upcoming": upcoming})
        return
    values = as_values(schedule, horae.registry)
    values["upcoming"] = ", ".join(local_time(each) for each in upcoming) or None
    values["exclude"] = ", ".join(schedule.rules.exclude) or None
    values["overrides"] = ", ".join(declared_in_words(schedule)) or None
    del values["statistics"]
    print_fields([*values.items(), *statistics_values(schedule).items()])


@schedules_app.command()
@with_schedule_options
def add(
    context: typer.Context,
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type to run.")],
    *,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the schedule. Default: that of the job type."),
    ] = None,
    config: Config = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add the schedule paused.")] = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Add a schedule (needs --app or HORAE_APP)."""
    chosen = chosen_of(options)
    horae = target_of(context).application
    with opened(context):
        kind = horae.registry.get(job_type)
        given = parameters(kind, config or [], None)
        schedule = horae.schedules.add(
            job_type, name=name, config=given, enabled=not disabled, **chosen
        )
    _print(horae.registry, schedule, as_json, f"schedule {schedule.id} ({schedule.name}) added")


@schedules_app.command()
@with_schedule_options
def put(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")],
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type to run.")],
    *,
    config: Config = None,
    enabled: Annotated[
        bool | None,
        typer.Option("--enabled/--disabled", help="Default: leave a paused schedule paused."),
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Add a schedule, or change it to the given options; others get their defaults (needs --app or
    HORAE_APP).
    """
    chosen = chosen_of(options)
    horae = target_of(context).application
    with opened(context):
        given = parameters(horae.registry.get(job_type), config or [], None)
        result = horae.schedules.put(name, job_type, config=given, enabled=enabled, **chosen)
    if as_json:
        print_json(
            {"outcome": result.outcome, "schedule": as_values(result.schedule, horae.registry)}
        )
    else:
        _print(
            horae.registry,
            result.schedule,
            as_json,
            f"schedule {result.schedule.id} ({name}) {result.outcome}",
        )


@schedules_app.command()
@with_schedule_options
def alter(
    context: typer.Context,
    reference: Schedule,
    *,
    config: Config = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Change the given options of a schedule and leave the others (needs --app or HORAE_APP)."""
    chosen = chosen_of(options)
    horae = target_of(context).application
    with opened(context):
        key = reference_of(reference)
        kind = horae.registry.get(horae.schedules.get(key).job_type)
        given = None if config is None else parameters(kind, config, None)
        schedule = horae.schedules.alter(key, config=given, **chosen)
    _print(horae.registry, schedule, as_json, f"schedule {schedule.id} ({schedule.name}) changed")


@schedules_app.command()
def reset(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Take back what was changed of a declared schedule at run time."""
    with opened(context) as horae:
        schedule = horae.schedules.reset(reference_of(reference))
    _print(
        horae.registry,
        schedule,
        as_json,
        f"schedule {schedule.id} ({schedule.name}) is as its module declares it",
    )


@schedules_app.command("next")
def next_starts(
    context: typer.Context,
    reference: Schedule,
    *,
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of starts.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the next starts of a schedule, and the times that it will skip."""
    with opened(context) as horae:
        schedule = horae.schedules.get(reference_of(reference))
    starts = schedule.upcoming(count)
    print_next(starts, schedule.skips(starts[-1] if starts else None), as_json=as_json)


@schedules_app.command()
def skip(
    context: typer.Context,
    reference: Schedule,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Run the next time after all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Skip the next nominal time, once."""
    with opened(context) as horae:
        change = horae.schedules.undo_skip if undo else horae.schedules.skip_next
        schedule = change(reference_of(reference))
    done = "skips no time on request" if undo else "skips its next time"
    _print(horae.registry, schedule, as_json, f"schedule {schedule.id} ({schedule.name}) {done}")


@schedules_app.command()
def backfill(
    context: typer.Context,
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
    as_json: AsJson = False,
) -> None:
    """Run a schedule for past nominal times, each at most once, however often it is asked for."""
    key = reference_of(reference)
    if undo:
        with opened(context) as horae:
            removed = horae.schedules.undo_backfill(key)
        print_json({"removed": removed}) if as_json else typer.echo(f"{removed} times removed")
        return
    if start is None or end is None:
        raise typer.BadParameter("--start and --end are needed, or --undo")
    first, until = parse_moment(start, "--start"), parse_moment(end, "--end")
    with opened(context) as horae:
        found = horae.schedules.backfill(
            key, first, until, limit=limit, dry_run=dry_run, failed=failed
        )
    if as_json:
        print_json(asdict(found))
        return
    done = "would be added" if dry_run else "added"
    typer.echo(
        f"{found.added} of {found.times} times {done}; {found.known} known, {found.excluded} more"
        " excluded"
    )


@schedules_app.command()
def pause(
    context: typer.Context,
    reference: Schedule,
    *,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Reason, shown in the list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pause a schedule: no run starts; a running one continues."""
    with opened(context) as horae:
        schedule = horae.schedules.pause(reference_of(reference), note)
    _print(horae.registry, schedule, as_json, f"schedule {schedule.id} ({schedule.name}) is paused")


@schedules_app.command()
def resume(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Resume a schedule; times missed during the pause are not made up for."""
    with opened(context) as horae:
        schedule = horae.schedules.resume(reference_of(reference))
    never = "; next start: never" if schedule.next_start is None else ""
    _print(
        horae.registry,
        schedule,
        as_json,
        f"schedule {schedule.id} ({schedule.name}) is enabled{never}",
    )


@schedules_app.command()
def run(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Start a run now, in addition to the scheduled ones."""
    with opened(context) as horae:
        job_id = horae.schedules.run_now(reference_of(reference))
    print_json({"job_id": job_id}) if as_json else typer.echo(f"job {job_id} started")


@schedules_app.command()
def delete(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Delete an added schedule and its history; a running job continues."""
    with opened(context) as horae:
        horae.schedules.delete(reference_of(reference))
    print_json({"deleted": reference}) if as_json else typer.echo(f"schedule {reference} deleted")


@schedules_app.command()
def ticks(
    context: typer.Context, reference: Schedule, *, limit: Limit = 50, as_json: AsJson = False
) -> None:
    """Show the decision about each nominal time and its reason, newest first."""
    with opened(context) as horae:
        found = horae.schedules.ticks(reference_of(reference), limit=limit)
    columns: Columns = {
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
    }
    print_list("ticks", found, columns, empty="No nominal time has passed yet.", as_json=as_json)


@schedules_app.command()
def stats(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Show the statistics of its runs."""
    with opened(context) as horae:
        values: dict[str, Any] = statistics_values(horae.schedules.get(reference_of(reference)))
    print_json(values) if as_json else print_fields(values.items())


@schedules_app.command()
def errors(
    context: typer.Context,
    reference: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|ID]", help="The schedule, by name or ID. Default: all."),
    ] = None,
    *,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show runs that failed or crashed, newest first."""
    with opened(context) as horae:
        key = None if reference is None else reference_of(reference)
        found = horae.schedules.errors(key, limit=limit)
    columns: Columns = {
        "SCHEDULE": "schedule_id",
        "JOB": "job_id",
        "NOMINAL TIME": "nominal_time",
        "ENDED": "finished_at",
        "OUTCOME": "outcome",
        "ERROR": "error",
    }
    print_list("errors", found, columns, empty="No run has failed.", as_json=as_json)


# Commands pass their flag on
def _print(registry: Registry, schedule: ScheduleView, as_json: bool, text: str) -> None:
    if as_json:
        print_json(as_values(schedule, registry))
        return
    due = "" if schedule.next_start is None else f"; next start: {local_time(schedule.next_start)}"
    typer.echo(text + due)
