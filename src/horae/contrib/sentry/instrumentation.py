"""Switches the reports of an application to Sentry on and off."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary, ref

import sentry_sdk
from sentry_sdk.scope import add_global_event_processor, use_isolation_scope
from sentry_sdk.types import Event, Hint

from horae.app import Horae
from horae.client.schedules import ScheduleView
from horae.contrib.bounded_memory import Memory
from horae.contrib.sentry.check_ins import CheckIns, log
from horae.contrib.sentry.events import event_of, is_failure, tags_of
from horae.domain.times import Duration, parse_duration
from horae.runtime.bodies import FinishedRun, Settling
from horae.types import Hook, JobContext, Registry, around_hook

_RUNTIME_LOG = "horae.runtime"


class Reports:
    """What an application reports."""

    def __init__(self, registry: Registry, check_ins: CheckIns | None, *, only_final: bool) -> None:
        self._registry, self._only_final = registry, only_final
        self.check_ins = check_ins
        self.scopes: Memory[tuple[int, int], sentry_sdk.Scope] = Memory(1_000)
        """The scopes of bodies that have failed here, until their results are written."""
        # A child process that cannot find it runs its jobs all the same.
        self.body: Hook[Any] = around_hook(self.observe_body, required=False)

    @contextmanager
    def observe_body(self, job: JobContext[Any]) -> Generator[None]:
        """Give a body a scope of its own, so that all events in it name its job, and keep the scope
        of one that fails.
        """
        with ExitStack() as stack:
            # An error before the body would be the failure of the body.
            with log.guard("job %d has no scope of its own: %s", job.id):
                claim = job.claim
                scope = stack.enter_context(sentry_sdk.isolation_scope())

                def keep(error: object, *_: object) -> None:
                    if error is not None:
                        self.scopes.put((claim.id, claim.lease), scope)

                stack.push(keep)
                scope.clear_breadcrumbs()  # those of the node
                scope.set_transaction_name(claim.type)
                for name, value in tags_of(claim).items():
                    scope.set_tag(name, value)
                if claim.owner is not None:
                    scope.set_user({"id": claim.owner})
                if self.check_ins is not None and claim.schedule_id is not None:
                    self.check_ins.begin(claim)
            yield

    @contextmanager
    def observe_settlement(self, settling: Settling) -> Generator[None]:
        """Report what was written; nothing if that raises, as it may have to be written again."""
        yield
        for run in settling.runs:
            with log.guard("the attempt at job %d is not reported: %s", run.claim.id):
                self.report(run, settled=run.claim.id in settling.settled)

    def report(self, run: FinishedRun, *, settled: bool) -> None:
        """Report one result that was written."""
        if self.check_ins is not None and run.claim.schedule_id is not None:
            self.check_ins.end(run, settled=settled)
        scope = self.scopes.take((run.claim.id, run.claim.lease))
        settlement = run.settlement if settled else None
        if settlement is None or not is_failure(run, only_final=self._only_final):
            return
        event, hint = event_of(run, settlement, self._registry)
        with ExitStack() as stack:
            if scope is not None:  # with what the body has added, such as breadcrumbs
                stack.enter_context(use_isolation_scope(scope))
            sentry_sdk.capture_event(event, hint)


_applications: WeakKeyDictionary[Horae, Reports] = WeakKeyDictionary()


def instrument(
    horae: Horae,
    *,
    only_final: bool = False,
    check_ins: bool = True,
    margin: Duration = "1m",
) -> None:
    """Report failed attempts of the application's jobs to Sentry, and the runs of its schedules.

    Call it where the application is made, after `sentry_sdk.init`. A second call changes nothing.
    `only_final`: report an attempt only if the job fails with it. `check_ins`: tell Sentry's cron
    monitoring of each run of a schedule, and create or update its monitor. `margin`: how late a run
    may begin before Sentry reports it. Raises `InvalidRequest`.
    """
    late = parse_duration("margin", margin)
    if horae in _applications:
        return
    application = ref(horae)

    def read(schedule_id: int) -> ScheduleView:
        found = application()
        if found is None:
            raise LookupError("the application is gone")
        return found.schedules.get(schedule_id)

    sends = CheckIns(read, late) if check_ins else None
    reports = _applications[horae] = Reports(horae.registry, sends, only_final=only_final)
    horae.hooks.around.insert(0, reports.body)
    horae.hooks.settlements.append(reports.observe_settlement)


def uninstrument(horae: Horae) -> None:
    """Report no more of the application; nothing if it is not reported."""
    reports = _applications.pop(horae, None)
    if reports is None:
        return
    horae.hooks.around.remove(reports.body)
    horae.hooks.settlements.remove(reports.observe_settlement)


def _without_logged_failures(event: Event, hint: Hint) -> Event | None:
    """Leave out what Sentry's integration of `logging` makes of the log record of a failed attempt.

    The attempt has an event of its own.
    """
    record = hint.get("log_record")
    is_failure_line = getattr(record, "name", None) == _RUNTIME_LOG and hasattr(record, "retry_in")
    return None if is_failure_line and _applications else event


add_global_event_processor(_without_logged_failures)
