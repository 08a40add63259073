"""`horae schedules`: list, add, change, pause and run schedules, and read their history."""

from typing import Annotated, Any

import typer

from horae.cli.context import opened, target_of
from horae.cli.options import AsJson
from horae.cli.printing.output import brief, local_time, print_fields, print_json, print_table
from horae.cli.printing.schedule_views import as_values, moments, options_of, reference_of, statistics_values, words_of
from horae.cli.values import parameters
from horae.client.schedules.views import ScheduleView

schedules_app = typer.Typer(help="List, add, change, pause and run schedules.", no_args_is_help=True)

Schedule = Annotated[str, typer.Argument(metavar="NAME|ID", help="The schedule, by name or ID.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")]
Text = str | None
Cron = Annotated[Text, typer.Option(metavar="EXPR", help='Cron expression, such as "0 3 * * *".')]
Every = Annotated[Text, typer.Option(metavar="LENGTH", help='Interval after each finish, such as "10m" or "1 day".')]
Timezone = Annotated[Text, typer.Option(metavar="NAME", help="IANA time zone. Default: UTC.")]
Fixed = Annotated[bool | None, typer.Option(help="Run --every at fixed times, instead of after each finish.")]
InitialStart = Annotated[Text, typer.Option(metavar="ISO", help="First start of --every; fixed times count from it.")]
NextStart = Annotated[Text, typer.Option(metavar="ISO", help="Next start of --every; a time in the past means now.")]
Gap = Annotated[Text, typer.Option(metavar="shift|skip", help="Times skipped when clocks go forward.")]
Fold = Annotated[Text, typer.Option(metavar="first|second|both", help="Times repeated when clocks go back.")]
Overlap = Annotated[
    Text,
    typer.Option(metavar="POLICY", help="skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all."),
]
CatchUp = Annotated[Text, typer.Option(metavar="POLICY", help="Missed times to make up for: last, none or all.")]
Window = Annotated[Text, typer.Option(metavar="LENGTH", help="Maximum age of a missed time that is made up for.")]
CatchUpLimit = Annotated[int | None, typer.Option(help="Maximum number of missed times for --catch-up all.")]
Jitter = Annotated[Text, typer.Option(metavar="LENGTH", help="Delay starts by up to this, never past the next time.")]
MaxRuntime = Annotated[Text, typer.Option(metavar="LENGTH", help="Time limit of a run.")]
MaxRetries = Annotated[
    int | None, typer.Option(help="Retries after a failure; one more failure disables the schedule.")
]
RetryPeriod = Annotated[Text, typer.Option(metavar="LENGTH", help="Delay of the first retry.")]
Backoff = Annotated[Text, typer.Option(metavar="exponential|linear", help="Growth of the delay between retries.")]
Priority = Annotated[int | None, typer.Option(help="Priority of its jobs; higher runs first.")]
QueueOption = Annotated[Text, typer.Option(metavar="NAME", help="Queue of its jobs.")]
Config = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Parameter of its jobs. Repeatable.")]


@schedules_app.command("list")
def list_schedules(
    context: typer.Context,
    *,
    module: Annotated[Text, typer.Option(metavar="NAME", help="Only schedules that this module declares.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all schedules with their next start."""
    with opened(context) as horae:
        found = horae.schedules.list(module=module)
    if as_json:
        print_json({"schedules": [as_values(schedule) for schedule in found]})
        return
    print_table(
        ("ID", "NAME", "MODULE", "WHEN", "STATE", "NEXT START", "RUNS", "FAILED", "NOTE"),
        (_row(schedule) for schedule in found),
        empty="No schedules. Declare one with @horae.cron or @horae.every, or add one: horae schedules add",
    )


def _row(schedule: ScheduleView) -> tuple[object, ...]:
    statistics = schedule.statistics
    return (
        schedule.id,
        schedule.name,
        schedule.module,
        words_of(schedule.rules.trigger),
        schedule.disabled_reason or schedule.state,
        schedule.next_start,
        statistics.total_runs + schedule.open_runs,
        statistics.total_failures + statistics.total_crashes,
        schedule.pause_note,
    )


@schedules_app.command()
def show(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Show a schedule: its rules, state, next starts and statistics."""
    with opened(context) as horae:
        schedule = horae.schedules.get(reference_of(reference))
    upcoming = schedule.upcoming(5)
    if as_json:
        print_json({**as_values(schedule), "upcoming": upcoming})
        return
    values = as_values(schedule)
    values["upcoming"] = ", ".join(local_time(each) for each in upcoming) or None
    del values["statistics"]
    print_fields([*values.items(), *statistics_values(schedule).items()])


@schedules_app.command()
def add(  # noqa: PLR0913 - the options of a schedule
    context: typer.Context,
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type to run.")],
    *,
    name: Annotated[
        Text, typer.Option(metavar="NAME", help="Name of the schedule. Default: that of the job type.")
    ] = None,
    cron: Cron = None,
    every: Every = None,
    timezone: Timezone = None,
    fixed: Fixed = None,
    initial_start: InitialStart = None,
    next_start: NextStart = None,
    dst_gap: Gap = None,
    dst_fold: Fold = None,
    overlap: Overlap = None,
    catch_up: CatchUp = None,
    catch_up_limit: CatchUpLimit = None,
    catch_up_window: Window = None,
    jitter: Jitter = None,
    max_runtime: MaxRuntime = None,
    max_retries: MaxRetries = None,
    retry_period: RetryPeriod = None,
    backoff: Backoff = None,
    queue: QueueOption = None,
    priority: Priority = None,
    config: Config = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add the schedule paused.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a schedule (needs --app or HORAE_APP)."""
    options = options_of({**locals(), **moments(initial_start=initial_start, next_start=next_start)})
    horae = target_of(context).application
    with opened(context):
        kind = horae.registry.get(job_type)
        given = parameters(kind, config or [], None)
        schedule = horae.schedules.add(job_type, name=name, config=given, enabled=not disabled, **options)
    _say(schedule, as_json, f"schedule {schedule.id} ({schedule.name}) added")


@schedules_app.command()
def alter(  # noqa: PLR0913 - the options of a schedule
    context: typer.Context,
    reference: Schedule,
    *,
    cron: Cron = None,
    every: Every = None,
    timezone: Timezone = None,
    fixed: Fixed = None,
    initial_start: InitialStart = None,
    next_start: NextStart = None,
    dst_gap: Gap = None,
    dst_fold: Fold = None,
    overlap: Overlap = None,
    catch_up: CatchUp = None,
    catch_up_limit: CatchUpLimit = None,
    catch_up_window: Window = None,
    jitter: Jitter = None,
    max_runtime: MaxRuntime = None,
    max_retries: MaxRetries = None,
    retry_period: RetryPeriod = None,
    backoff: Backoff = None,
    queue: QueueOption = None,
    priority: Priority = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change the given options of a schedule and leave the others (needs --app or HORAE_APP)."""
    options = options_of({**locals(), **moments(initial_start=initial_start, next_start=next_start)})
    horae = target_of(context).application
    with opened(context):
        key = reference_of(reference)
        kind = horae.registry.get(horae.schedules.get(key).job_type)
        given = None if config is None else parameters(kind, config, None)
        schedule = horae.schedules.alter(key, config=given, **options)
    _say(schedule, as_json, f"schedule {schedule.id} ({schedule.name}) changed")


@schedules_app.command()
def pause(
    context: typer.Context,
    reference: Schedule,
    *,
    note: Annotated[Text, typer.Option(metavar="TEXT", help="Reason, shown in the list.")] = None,
    as_json: AsJson = False,
) -> None:
    """Pause a schedule: no run starts; a running one continues."""
    with opened(context) as horae:
        schedule = horae.schedules.pause(reference_of(reference), note)
    _say(schedule, as_json, f"schedule {schedule.id} ({schedule.name}) is paused")


@schedules_app.command()
def resume(context: typer.Context, reference: Schedule, *, as_json: AsJson = False) -> None:
    """Resume a schedule; times missed during the pause are not made up for."""
    with opened(context) as horae:
        schedule = horae.schedules.resume(reference_of(reference))
    never = "; next start: never" if schedule.next_start is None else ""
    _say(schedule, as_json, f"schedule {schedule.id} ({schedule.name}) is enabled{never}")


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
def ticks(context: typer.Context, reference: Schedule, *, limit: Limit = 50, as_json: AsJson = False) -> None:
    """Show the decision about each nominal time and its reason, newest first."""
    with opened(context) as horae:
        found = horae.schedules.ticks(reference_of(reference), limit=limit)
    if as_json:
        print_json({"ticks": found})
        return
    print_table(
        ("NOMINAL TIME", "UNTIL", "COUNT", "DECISION", "REASON", "JOB", "LATE BY"),
        (
            (
                tick.nominal_time,
                tick.until if tick.count > 1 else None,
                tick.count,
                tick.decision,
                tick.reason,
                tick.job_id,
                brief(tick.decided_at - tick.nominal_time) if tick.decision == "fired" else "",
            )
            for tick in found
        ),
        empty="No nominal time has passed yet.",
    )


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
        Text, typer.Argument(metavar="[NAME|ID]", help="The schedule, by name or ID. Default: all.")
    ] = None,
    *,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show runs that failed or crashed, newest first."""
    with opened(context) as horae:
        key = None if reference is None else reference_of(reference)
        found = horae.schedules.errors(key, limit=limit)
    if as_json:
        print_json({"errors": found})
        return
    print_table(
        ("SCHEDULE", "JOB", "NOMINAL TIME", "ENDED", "OUTCOME", "ERROR"),
        ((run.schedule_id, run.job_id, run.nominal_time, run.finished_at, run.outcome, run.error) for run in found),
        empty="No run has failed.",
    )


def _say(schedule: ScheduleView, as_json: bool, text: str) -> None:  # noqa: FBT001 - passed on from the command
    if as_json:
        print_json(as_values(schedule))
        return
    due = "" if schedule.next_start is None else f"; next start: {local_time(schedule.next_start)}"
    typer.echo(text + due)
