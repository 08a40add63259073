"""Operations on schedules, as in TimescaleDB, but runs by hand count in the statistics."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from sqlalchemy import Connection
from typing_extensions import Unpack

from horae.client.changes import LoggedChange, Values, with_entry
from horae.client.jobs import page_length
from horae.client.jobs.creating import check_startable
from horae.client.on_threads import OnThreads, on_change_thread, on_thread
from horae.client.schedules import backfill, changes
from horae.client.schedules.backfill import BATCH, DEFAULT_LIMIT, LARGEST_LIMIT, Backfill, Range
from horae.client.schedules.calendars import past_days, with_calendar_days
from horae.client.schedules.changes import PutOutcome
from horae.client.schedules.definition import Definition, alter, definition_of, revision_of
from horae.client.schedules.lanes import LONGEST, MOST_LANES, ScheduleLanes, lanes_of
from horae.client.schedules.preview import MOST_TIMES, Preview, preview_of
from horae.client.schedules.views import ScheduleView, read_view, views_of
from horae.client.schedules.why import why_of
from horae.client.schedules.why_answer import ScheduleWhy
from horae.client.shown_parameters import shown_parameters
from horae.domain.jobs import JobId
from horae.domain.names import queue_name, schedule_name
from horae.domain.schedules import (
    ChangeWithdrawn,
    Decision,
    DisabledReason,
    Event,
    Resumed,
    Rules,
    SkipRequested,
    Statistics,
    calendars_in,
)
from horae.domain.storable import LARGEST_NUMBER
from horae.errors import InvalidRequest, ScheduleDoesNotExist, ScheduleWasChanged
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.storage.engine import Database, Reads, Statement, read_clock
from horae.storage.schedules import (
    AppliedPlan,
    FailedRun,
    LedgerPage,
    StoredSchedule,
    StoredTicks,
    reading,
    rules_of,
    ticks,
    waiting_reasons,
)
from horae.types import (
    JobType,
    JobTypeReference,
    Registry,
    RuleKeywords,
    TriggerKeywords,
    check_moment,
    check_note,
    check_options,
    functions_in,
    job_options_of,
    keywords_of,
    of_kind,
    part_of,
    storable_parameters,
    trigger_of,
    whole_number,
)
from horae.types import rules_of as rules_given
from horae.types.parameters import MappedParameters, SecretNotOpened
from horae.wakeup import Hint, HintKind, WakeupChannel, work

P = ParamSpec("P")
T = TypeVar("T")

Reference: TypeAlias = int | str
ScheduleViews: TypeAlias = list[ScheduleView]
TickList: TypeAlias = list[StoredTicks]
FailedRuns: TypeAlias = list[FailedRun]
WORK: Final = work()


class ScheduleKeywords(RuleKeywords, TriggerKeywords, total=False):
    """All options of a schedule that is added or altered.

    `next_start` moves the next start, once; a moment in the past means at once. The nominal times
    up to it, and at least the next one, are skipped; after it the schedule goes on by its rules.
    """

    queue: str
    priority: int
    next_start: datetime


@dataclass(frozen=True, slots=True)
class PutSchedule:
    """The result of `Schedules.put`. `outcome`: "created", "changed" or "unchanged"."""

    schedule: ScheduleView
    outcome: PutOutcome


class Schedules:
    """Add, change and read schedules, by id or by name. See `AsyncSchedules` for coroutines."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        wakeup: WakeupChannel,
        on_created: Callable[[Collection[int]], None],
    ) -> None:
        self._database, self._registry, self._wakeup = database, registry, wakeup
        self._on_created = on_created
        self.reads: Reads = database

    def listing_from(self, reads: Reads) -> "Schedules":
        """Return a client whose lists are read from `reads`; all else stays on the database."""
        other = copy(self)
        other.reads = reads
        return other

    def add(
        self,
        job_type: JobTypeReference,
        /,
        *,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        enabled: bool = True,
        **options: Unpack[ScheduleKeywords],
    ) -> ScheduleView:
        """Add a schedule: `cron="0 3 * * *"` or `every="10m"`, and what `ScheduleKeywords` names.

        `config` are the parameters of each job, validated now by the type's model and its
        `check_schedule`. Raises `ScheduleAlreadyExists`, `InvalidParameters`, `InvalidRequest`;
        `CronSyntaxError` also if no time is left.
        """
        check_options(options, ScheduleKeywords)
        kind = self._registry.resolve(job_type)
        name = schedule_name(kind.type if name is None else name)
        params = self._params(kind, {} if config is None else config)
        wanted = self._with_days(self._definition(name, kind, params, options))
        add = self._logged("add", name, changes.add)
        decided = self._database.transact(add, wanted, enabled=enabled)
        self._on_created([decided.schedule.id])
        return self._announce(decided)

    def alter(
        self,
        reference: Reference,
        /,
        *,
        config: Mapping[str, Any] | None = None,
        revision: str | None = None,
        **options: Unpack[ScheduleKeywords],
    ) -> ScheduleView:
        """Change only the named options; the next start stays unless the times change.

        `revision`: that of the schedule as the caller has read it; raises `ScheduleWasChanged` if
        another caller has changed its definition since.
        """
        alter = self._logged(
            "alter", reference, changes.alter_from, lambda decided: decided is not None
        )
        while True:  # repeated while other callers change it between reading and writing
            row = schedules_row(self._database, reference)
            if revision not in {None, revision_of(row)}:
                raise ScheduleWasChanged(row.name)
            decided = self._database.transact(alter, row, self._alter(row, config, options))
            if decided is not None:
                return self._announce(decided)

    def put(
        self,
        name: str,
        job_type: JobTypeReference,
        /,
        *,
        config: Mapping[str, Any] | None = None,
        enabled: bool | None = None,
        **options: Unpack[ScheduleKeywords],
    ) -> PutSchedule:
        """Add a schedule, or change the added one of this name to what is given here.

        An option that is not given has its default, as in `add`. Only what differs is changed: a
        schedule with the same times keeps its next start, and its statistics in any case. Calendar
        functions are asked for their days again. `enabled` None leaves a paused schedule paused.
        Raises `ScheduleIsDeclared` for the name of a declared schedule, and what `add` raises.
        """
        check_options(options, ScheduleKeywords)
        if "next_start" in options:
            raise InvalidRequest(
                "next_start is a change that is made once: alter the schedule to set it"
            )
        kind, name = self._registry.resolve(job_type), schedule_name(name)
        params = self._params(kind, {} if config is None else config)
        params = self._unless_same_secrets(name, kind, params)
        wanted = self._with_days(self._definition(name, kind, params, options))
        put = self._logged("put", name, changes.put, lambda result: result[1] != "unchanged")
        decided, outcome = self._database.transact(put, wanted, enabled=enabled)
        if outcome == "created":
            self._on_created([decided.schedule.id])
        if outcome == "unchanged":
            return PutSchedule(read_view(self._database, decided.schedule), outcome)
        return PutSchedule(self._announce(decided), outcome)

    def reset(self, reference: Reference) -> ScheduleView:
        """Undo all changes of a declared schedule at run time, so that it is as its module declares
        it.

        A paused schedule stays paused. Raises `InvalidRequest` for a schedule that was added at run
        time.
        """
        reset = self._logged("reset", reference, changes.reset, lambda result: result[1])
        decided, changed = self._database.transact(reset, reference, self._registry)
        if not changed:
            return read_view(self._database, decided.schedule)
        row, rules = decided.schedule, rules_of(decided.schedule)
        if calendars_in(rules.exclude):
            found = self._with_days(definition_of(row), rules)
            self._database.transact(changes.set_computed, row, found.computed)
        self._announce(decided)
        return self.get(decided.schedule.id)

    def skip_next(self, reference: Reference) -> ScheduleView:
        """Skip the next nominal time, once: its tick is `skipped` because it was `requested`.

        Calling it again before that time changes nothing. Raises `InvalidRequest` for a disabled
        schedule, and while an interval that is counted from the finish executes.
        """
        return self._apply("skip", reference, SkipRequested())

    def undo_skip(self, reference: Reference) -> ScheduleView:
        """Take back `skip_next`, or a moved next start; times that were skipped already stay
        skipped.
        """
        return self._apply("undo_skip", reference, ChangeWithdrawn())

    def backfill(
        self,
        reference: Reference,
        start: datetime,
        end: datetime,
        *,
        limit: int = DEFAULT_LIMIT,
        dry_run: bool = False,
        failed: bool = False,
    ) -> Backfill:
        """Run the schedule for its past nominal times with `start <= time < end`; with `dry_run`
        only count them.

        Each time is run at most once, however often it is asked for: one that was run, or waits, is
        not added again. Times that were missed or skipped get a new decision, `fired` because of
        `backfill`. They begin one by one, the oldest first, when no other run of the schedule
        executes; with `allow_all` all at once. `failed`: run times whose last run failed or crashed
        again as well. Raises `InvalidRequest` for more than `limit` times, a range that is not in
        the past, a disabled schedule, and a calendar function that this program does not know.
        """
        check_moment("start", start)
        check_moment("end", end)
        most = whole_number("limit", limit, 1)
        if most > LARGEST_LIMIT:
            raise InvalidRequest(f"limit is {most:,}, expected at most {LARGEST_LIMIT:,}")
        row = schedules_row(self._database, reference)
        wanted = Range(
            start,
            end,
            most,
            past_days(rules_of(row), self._registry, start, min(end, row.now)),
            failed,
        )
        if dry_run:
            return self._database.transact(backfill.preview, reference, wanted)
        add = self._logged(
            "backfill", reference, backfill.add_batch, lambda result: result[1] is not None
        )
        found, decided = self._database.transact(add, reference, wanted)
        added = batch = found.added
        # Each batch has its own transaction; after a crash the same request adds the rest.
        while batch == BATCH:
            more, again = self._database.transact(add, reference, wanted)
            batch, decided = more.added, again or decided
            added += batch
        if decided is not None:
            self._announce(decided)
        return replace(found, added=added)

    def undo_backfill(self, reference: Reference) -> int:
        """Remove the past times that still wait to be run, and return their number; begun ones go
        on.
        """
        withdraw = self._logged(
            "undo_backfill", reference, backfill.withdraw, lambda result: result[1] > 0
        )
        decided, number = self._database.transact(withdraw, reference)
        self._announce(decided)
        return number

    def delete(self, reference: Reference) -> None:
        """Delete a schedule and its ticks; a running job continues. Raises `ScheduleIsDeclared`."""
        delete = self._logged("delete", reference, changes.delete)
        row = self._database.transact(delete, reference)
        self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(row.id),)))

    def pause(self, reference: Reference, note: str | None = None) -> ScheduleView:
        """Pause the schedule: no further run starts; a running job continues."""
        check_note(note)
        pause = self._logged("pause", reference, changes.pause)
        return self._announce(
            self._database.transact(pause, reference, note, DisabledReason.PAUSED)
        )

    def resume(self, reference: Reference) -> ScheduleView:
        """Resume the schedule: compute the next start and clear the streaks; catch up nothing."""
        return self._apply("resume", reference, Resumed())

    def run_now(self, reference: Reference) -> JobId:
        """Start a run in addition to the schedule, and return its job. Raises `ScheduleIsRunning`
        if one blocks it.
        """
        row = schedules_row(self._database, reference)
        if (kind := self._registry.find(row.job_type)) is not None:
            self._check_startable(kind, row)
        change = LoggedChange(
            "schedule.run", str(reference), after=lambda _, decided: {"job": decided.fired}
        )
        decided = self._database.transact(with_entry(changes.run_now, change), reference)
        self._announce(decided)
        self._wakeup.send(WORK)
        if decided.fired is None:
            raise AssertionError("run_now answers with a job or raises")
        return decided.fired

    def get(self, reference: Reference) -> ScheduleView:
        """Return the schedule. Raises `ScheduleDoesNotExist`."""
        return read_view(self._database, schedules_row(self._database, reference))

    def list(self, *, module: str | None = None) -> ScheduleViews:
        """List all schedules or those of a module, by module and name; unreadable ones are only
        logged.
        """
        return views_of(self.reads, self.reads.autocommit(reading.all_of, module))

    def statistics(self, reference: Reference) -> Statistics:
        """Return the statistics of the ended runs, of which each succeeded, failed or crashed."""
        return self.get(reference).statistics

    def ticks(
        self, reference: Reference, *, limit: int = 100, before: datetime | None = None
    ) -> TickList:
        """Return the decisions about nominal times with their reasons, the newest first."""
        return self.ledger(reference, limit=limit, before=before).ticks

    def ledger(
        self,
        reference: Reference,
        *,
        limit: int = 100,
        before: datetime | None = None,
        decisions: Sequence[Decision | str] = (),
    ) -> LedgerPage:
        """Return a page of the decisions about nominal times, the newest first.

        With `decisions` (such as `"missed"`) only those. A page may then be short, or even empty,
        although `next` is not None: one call searches a bounded part of the ledger.
        """
        if before is not None:
            check_moment("before", before)
        for each in decisions:
            if each not in list(Decision):
                raise InvalidRequest(f"decision {quoted(each)}: expected {', '.join(Decision)}")
        found = self.reads.autocommit(
            ticks.page, self.get(reference).id, page_length(limit), before, decisions
        )
        started = [entry.newest_job for entry in found.ticks if entry.newest_job is not None]
        reasons = self._database.autocommit(waiting_reasons, started) if started else {}
        explained = [
            replace(entry, waiting_reason=reasons.get(entry.newest_job or 0))
            for entry in found.ticks
        ]
        return replace(found, ticks=explained)

    def why(self, reference: Reference, moment: datetime | None = None) -> ScheduleWhy:
        """Say why the schedule did or did not run at a moment; by default at the last time it had.

        For a moment to come, say what will happen if nothing changes.
        """
        if moment is not None:
            check_moment("moment", moment)
        return why_of(self.reads, schedules_row(self._database, reference), moment)

    def lanes(self, schedule_ids: Collection[int], *, hours: int = 24) -> ScheduleLanes:
        """Return what became of the times of some schedules in the last `hours`, and what comes.

        At most 100 schedules; those that do not exist are left out.
        """
        whole_number("hours", hours, 1)
        if hours > LONGEST or len(schedule_ids) > MOST_LANES:
            raise InvalidRequest(
                f"{len(schedule_ids):,} schedules and {hours:,} hours: expected at most"
                f" {MOST_LANES} schedules and {LONGEST} hours"
            )
        return lanes_of(self.reads, schedule_ids, hours)

    def preview(
        self,
        *,
        after: datetime | None = None,
        count: int = 10,
        exclude: Sequence[str] = (),
        **options: Unpack[TriggerKeywords],
    ) -> Preview:
        """Return what a schedule with these options would do: in words, and its next times.

        `after`: from when on; by default from now on. Names in a cron expression, such as `@daily`
        and `MON-FRI`, are translated: `Preview.instead` is the expression to store. Raises what
        `add` raises.
        """
        if after is not None:
            check_moment("after", after)
        if whole_number("count", count, 1) > MOST_TIMES:
            raise InvalidRequest(f"count is {count:,}, expected at most {MOST_TIMES}")
        check_options(options, TriggerKeywords)
        now = self._database.autocommit(read_clock) if after is None else after
        return preview_of({**options, "exclude": exclude}, self._registry, now, count)

    def errors(self, reference: Reference | None = None, *, limit: int = 100) -> FailedRuns:
        """Return runs that failed or crashed, of one schedule or of all, the newest first."""
        schedule_id = None if reference is None else self.get(reference).id
        return self.reads.autocommit(reading.failed_runs, schedule_id, page_length(limit))

    def _alter(
        self, row: StoredSchedule, config: Mapping[str, Any] | None, options: ScheduleKeywords
    ) -> Definition:
        """Return the definition after a change; without a new `config` the stored text is kept."""
        check_options(options, ScheduleKeywords)
        kind, rules = self._registry.get(row.job_type), rules_of(row)
        kept: dict[str, Any] = {name: getattr(rules, name) for name in RuleKeywords.__annotations__}
        others = {
            name: value
            for name, value in options.items()
            if name not in TriggerKeywords.__annotations__
        }
        merged = {**kept, "queue": row.queue, "priority": row.priority, **others}
        params = row.params if config is None else self._params(kind, config)
        trigger: dict[str, Any] = {**keywords_of(rules.trigger)}
        changed = part_of(options, TriggerKeywords)
        if {*trigger, *changed} >= {"every", "cron"}:  # another kind keeps only the time zone
            trigger = {"timezone": trigger.get("timezone", "UTC")}
        trigger |= changed
        wanted = self._definition(row.name, kind, params, {**merged, **trigger}, key=rules.key)
        return alter(row, self._with_days(wanted, rules))

    def _with_days(self, wanted: Definition, known: Rules | None = None) -> Definition:
        """Ask the calendar functions of a definition for their days."""
        if not wanted.rules.exclude:
            return wanted
        today = self._database.autocommit(read_clock).date()
        return replace(wanted, rules=with_calendar_days(wanted.rules, self._registry, today, known))

    def _check_startable(self, kind: JobType[Any], wanted: Definition | StoredSchedule) -> None:
        """Raise `InvalidRequest` if the jobs of a schedule would never start in its queue."""
        check = partial(check_startable, limited=wanted.limits is not None, scheduled=True)
        self._database.autocommit(check, kind, wanted.queue)

    def _params(self, kind: JobType[Any], config: Any) -> str | None:
        """Return the config in its stored form, checked by the type."""
        if isinstance(kind.parameters, MappedParameters):
            raise InvalidRequest(
                f"job type {kind.type!r} keeps its parameters in a table, so it cannot be"
                " scheduled",
                SentenceCode.VALUE_JOB_TYPE_NOT_SCHEDULABLE,
                type=kind.type,
            )
        of_kind("config", config, Mapping, "a mapping of the job's parameters")
        checked = kind.parameters.check(kind.type, config)
        kind.check_schedule(config)
        return storable_parameters(kind, checked).text

    def _unless_same_secrets(self, name: str, kind: JobType[Any], params: str | None) -> str | None:
        """Return the config, or the stored one of the schedule if only its encryption differs: the
        same secret is encrypted to another text each time.
        """
        declared = kind.parameters
        if params is None or isinstance(declared, MappedParameters) or not declared.has_secrets:
            return params
        row = self._database.autocommit(reading.get, name)
        if row is None or row.job_type != kind.type or row.params is None:
            return params
        with suppress(SecretNotOpened):
            stored = declared.opened_value(json.loads(row.params))
            if stored == declared.opened_value(json.loads(params)):
                return row.params
        return params

    def _definition(
        self,
        name: str,
        kind: JobType[Any],
        params: str | None,
        options: Mapping[str, Any],
        key: str | None = None,
    ) -> Definition:
        for calendar in functions_in(options.get("exclude", [])):
            self._registry.add_calendar(calendar)
        queue = queue_name(options.get("queue", kind.queue))
        priority = whole_number("priority", options.get("priority", kind.priority), -LARGEST_NUMBER)
        trigger = trigger_of(part_of(options, TriggerKeywords))
        if "next_start" in options:
            check_moment("next_start", options["next_start"])
        wanted = Definition(
            name=name,
            job_type=kind.type,
            params=params,
            next_start=options.get("next_start"),
            rules=rules_given(key or f":{name}", trigger, part_of(options, RuleKeywords)),
            queue=queue,
            priority=priority,
            **job_options_of(kind, params),
        )
        self._check_startable(kind, wanted)
        return wanted

    def _logged(
        self,
        action: str,
        reference: Reference,
        statement: Statement[P, T],
        changed: Callable[[T], bool] = lambda _: True,
    ) -> Statement[P, T]:
        """Return a statement that also records what it has changed about a schedule."""
        read = partial(snapshot, reference=reference, registry=self._registry)
        change = LoggedChange.of(f"schedule.{action}", str(reference), read)
        return with_entry(statement, change, changed=changed)

    def _apply(self, action: str, reference: Reference, event: Event) -> ScheduleView:
        change = self._logged(action, reference, changes.apply)
        return self._announce(self._database.transact(change, reference, event))

    def _announce(self, decided: AppliedPlan) -> ScheduleView:
        self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(decided.schedule.id),)))
        return read_view(self._database, decided.schedule)


def schedules_row(database: Database, reference: Reference) -> StoredSchedule:
    """Return the stored schedule of this id or name. Raises `ScheduleDoesNotExist`."""
    if not isinstance(reference, str):
        of_kind("schedule", reference, int, "its name, or its id as a whole number")
    row = database.autocommit(reading.get, reference)
    if row is None:
        raise ScheduleDoesNotExist(reference, database.autocommit(reading.similar_to, reference))
    return row


class AsyncSchedules(OnThreads[Schedules]):
    """Add, change and read schedules from coroutines.

    Meanings, options and errors are those of `Schedules`.
    """

    add = on_change_thread(Schedules.add)
    alter = on_change_thread(Schedules.alter)
    put = on_change_thread(Schedules.put)
    skip_next = on_change_thread(Schedules.skip_next)
    undo_skip = on_change_thread(Schedules.undo_skip)
    backfill = on_change_thread(Schedules.backfill)
    undo_backfill = on_change_thread(Schedules.undo_backfill)
    reset = on_change_thread(Schedules.reset)
    delete = on_change_thread(Schedules.delete)
    pause = on_change_thread(Schedules.pause)
    resume = on_change_thread(Schedules.resume)
    run_now = on_change_thread(Schedules.run_now)
    get = on_thread(Schedules.get)
    list = on_thread(Schedules.list)
    statistics = on_thread(Schedules.statistics)
    ticks = on_thread(Schedules.ticks)
    ledger = on_thread(Schedules.ledger)
    why = on_thread(Schedules.why)
    lanes = on_thread(Schedules.lanes)
    preview = on_thread(Schedules.preview)
    errors = on_thread(Schedules.errors)


_COLUMNS: Final = (
    "name",
    "job_type",
    "trigger",
    "timezone",
    "queue",
    "priority",
    "enabled",
    "disabled_reason",
    "pause_note",
    "next_start",
    "skip_until",
    "skip_reason",
    "moved_start",
)


def snapshot(connection: Connection, reference: int | str, registry: Registry) -> Values:
    """Return the definition of a schedule and its next start; secret parameters are masked."""
    row = reading.get(connection, reference)
    if row is None:
        return None
    rules: dict[str, Any] = json.loads(row.rules)
    rules.pop("key", None)
    columns: dict[str, Any] = {name: getattr(row, name) for name in _COLUMNS}
    params = shown_parameters(registry, row.job_type, json.loads(row.params or "null"))
    return {**columns, **rules, "params": params}
