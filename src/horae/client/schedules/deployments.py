"""Deploys the declared schedules of a module: one version in one transaction; two versions never
fire together.

The same schema changes nothing. A new schema replaces the old one: unchanged schedules keep their
identity, next start, statistics, running job and what was changed of them at run time; changed ones
keep all but the times; removed ones end, and their jobs that have not started are cancelled. A node
that starts with a replaced version does not restore it, because old processes may start again
during a rolling deployment. Only an explicit `deploy` restores it.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from operator import attrgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection

from horae.client.changes import DONE, PYTHON, ChangeRequest, LoggedChange, with_entry, write
from horae.client.jobs.creating import check_startable
from horae.client.schedules import changes
from horae.client.schedules.calendars import with_calendar_days
from horae.client.schedules.definition import (
    Definition,
    definition_of,
    is_outdated,
    redeclare,
    with_job_options,
)
from horae.domain.schedules import Activated, DisabledReason, Resumed
from horae.errors import DeploymentDoesNotExist, InvalidRequest
from horae.guarded_log import guarded_log
from horae.sentences import SentenceCode
from horae.storage.engine import Database, read_clock
from horae.storage.outcomes import cancelling
from horae.storage.queues import check_backend_types, declared_queues
from horae.storage.schedules import (
    Deployment,
    StoredSchedule,
    deployments,
    plan_writing,
    reading,
    rules_of,
)
from horae.types import Registry, Schedule, module_schema, schema_hash
from horae.types.options import DeclaredQueue
from horae.wakeup import Hint, HintKind, WakeupChannel

DeploymentList: TypeAlias = list[Deployment]
BY: Final = "deployment"
log = guarded_log("horae.deployments")


@dataclass(frozen=True, slots=True)
class Deployed:
    """The result of deploying.

    `changed`: whether anything was changed; `schedules`: the ids of its schedules.
    """

    deployment: Deployment
    changed: bool
    schedules: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a module to deploy: its schema, its schedules and queues, and its job types."""

    module: str
    schema: str
    schedules: Sequence[Definition]
    queues: Sequence[DeclaredQueue]
    registry: Registry


class Deployments:
    """Deploys a module, lists deployments, scales them down and up, ends them."""

    def __init__(self, database: Database, registry: Registry, wakeup: WakeupChannel) -> None:
        self._database, self._registry, self._wakeup = database, registry, wakeup

    def deploy(
        self,
        module: str,
        declared: Sequence[Schedule],
        *,
        queues: Sequence[DeclaredQueue] = (),
        min_replicas: int = 1,
        restore: bool = True,
    ) -> Deployed:
        """Make this the current version of the module; `restore`: even if a newer one had replaced
        it.
        """
        if min_replicas < 0:
            raise InvalidRequest(f"min_replicas is {min_replicas}, expected zero or more")
        definitions: list[Definition] = []
        for schedule in declared:
            definition = Definition.from_module(module, schedule)
            if definition.rules.exclude:
                row = self._database.autocommit(reading.of_module, module, definition.name)
                known = None if row is None else rules_of(row)
                rules = with_calendar_days(definition.rules, self._registry, self._today(), known)
                definition = replace(definition, rules=rules)
            definitions.append(definition)
        version = Version(
            module,
            module_schema(module, list(declared), queues),
            definitions,
            queues,
            self._registry,
        )

        def read(connection: Connection) -> Mapping[str, Any] | None:
            found = deployments.current(connection, module)
            if found is None:
                return None
            return {
                "deployment": found.key,
                "schema": found.schema,
                "min_replicas": found.min_replicas,
            }

        change = LoggedChange.of("deployment.deploy", module, read)
        statement = with_entry(deploy, change, changed=attrgetter("changed"))
        result = self._database.transact(statement, version, min_replicas, restore=restore)
        self.refresh()
        if result.changed:
            log.info("module %s is deployed as %s", module, result.deployment.key)
            self._notify()
            if queues:
                self._wakeup.send(Hint(HintKind.WORK))
        return result

    def refresh(self) -> None:
        """Recompute what schedules get from this application's code, and store what has changed.

        These are the days that calendar functions exclude and, for schedules that were added at run
        time, the limits, tags and attempts of their job types; those of declared schedules change
        with their deployment.
        """
        with_options = [
            kind.type
            for kind in self._registry
            if kind.named_limits or kind.tags or kind.max_attempts > 1
        ]
        found = self._database.autocommit(reading.with_job_options, with_options)
        if self._registry.calendars:
            found += self._database.autocommit(reading.with_calendar)
        if not found:
            return
        today = self._today()
        for row in {row.id: row for row in found}.values():
            try:
                known = rules_of(row)
                rules = with_calendar_days(known, self._registry, today, known)
                wanted = replace(definition_of(row), rules=rules)
                if not row.module:
                    wanted = with_job_options(wanted, self._registry)
                kind = self._registry.find(row.job_type)
                if wanted.limits is not None and kind is not None:
                    self._database.autocommit(check_startable, kind, row.queue, limited=True)
            except Exception:
                log.exception(
                    "schedule %s: the options of its jobs cannot be computed here; they stay",
                    row.name,
                )
                continue
            if is_outdated(row, wanted.computed):
                self._database.transact(changes.set_computed, row, wanted.computed)
                log.info(
                    "schedule %s: its excluded days or the options of its jobs have changed in the"
                    " code",
                    row.name,
                )

    def current(self, module: str) -> Deployment | None:
        """Return the current deployment of a module, whose schedules fire."""
        return self._database.autocommit(deployments.current, module)

    def list(self) -> DeploymentList:
        """List all deployments, the newest first."""
        return self._database.autocommit(deployments.page)

    def get(self, key: str) -> Deployment:
        """Return the deployment of this key. Raises `DeploymentDoesNotExist`."""
        return self._database.autocommit(_find, key)

    def scale(self, key: str, min_replicas: int) -> Deployment:
        """Set the replicas: zero stops the schedules; a later increase computes their next starts
        anew.
        """
        if min_replicas < 0:
            raise InvalidRequest(f"min_replicas is {min_replicas}, expected zero or more")
        result = self._database.transact(
            with_entry(scale, _change("deployment.scale", key)), key, min_replicas
        )
        self._notify()
        return result

    def end(self, key: str) -> Deployment:
        """End a deployment and its schedules."""
        result = self._database.transact(with_entry(end, _change("deployment.end", key)), key)
        self._notify()
        return result

    def _today(self) -> date:
        return self._database.autocommit(read_clock).date()

    def _notify(self) -> None:
        self._wakeup.send(Hint(HintKind.SCHEDULES))


def _change(action: str, key: str) -> LoggedChange:
    def read(connection: Connection) -> Mapping[str, Any] | None:
        found = deployments.by_key(connection, key)
        if found is None:
            return None
        return {"min_replicas": found.min_replicas, "ended_at": found.ended_at}

    return LoggedChange.of(action, key, read)


def deploy(
    connection: Connection, version: Version, min_replicas: int, *, restore: bool
) -> Deployed:
    """Replace the current version of a module, unless it has the same schema."""
    module, wanted_hash = version.module, schema_hash(version.schema)
    deployments.lock_module(connection, module)
    current = deployments.current(connection, module)
    if current is not None and current.schema_hash == wanted_hash:
        return Deployed(current, changed=False)
    earlier = deployments.with_schema(connection, module, wanted_hash)
    if earlier is not None and not restore:
        log.warning(
            "this version of module %s was replaced or ended; its schedules are left alone", module
        )
        return Deployed(earlier, changed=False)
    if current is not None:
        deployments.end(connection, current.id)
    key = f"dpl-{module.replace('.', '-')[:49]}-{secrets.token_hex(5)}"
    created = deployments.add(connection, key, module, version.schema, wanted_hash, min_replicas)
    if current is not None:
        deployments.set_replaced_by(connection, current.id, created.id)
    # Queues first, because they decide whether jobs of the schedules can start.
    _declare_queues(connection, version)
    present = {row.name: row for row in reading.all_of(connection, module)}
    for row in present.values():
        if row.name not in {definition.name for definition in version.schedules}:
            _remove(connection, row)
    for definition in version.schedules:
        declared = replace(definition, deployment_id=created.id)
        schedule_id = _declare(connection, present.get(definition.name), declared, version.registry)
        if min_replicas == 0:
            _stop(connection, schedule_id)
    check_backend_types(
        connection, [queue.name for queue in version.queues], version.registry.with_backend
    )
    brought = _schedules_of(connection, created)
    for row in brought:
        if row.disabled_reason == DisabledReason.EXHAUSTED:
            log.warning(
                "schedule %s can never fire again: the times of %s are over", row.name, row.trigger
            )
    return Deployed(created, changed=True, schedules=tuple(row.id for row in brought))


def _declare_queues(connection: Connection, version: Version) -> None:
    """Put the declared queues into force, with an audit entry for each one that changes."""
    declared = {queue.name: queue.values for queue in version.queues}
    for change in declared_queues.declare(connection, version.module, declared):
        # These entries tell `horae audit` since when a queue has its limit.
        action = "queue.limit" if "concurrency_limit" in change.after else "queue.declare"
        note = (
            f"declared by module {version.module}"
            if change.name in declared
            else "no longer declared"
        )
        entry = ChangeRequest(BY, action, change.name, note, channel=PYTHON).entry(
            DONE, change.before, change.after
        )
        write(connection, entry)


def scale(connection: Connection, key: str, min_replicas: int) -> Deployment:
    """Set the replicas of a deployment, and stop or start its schedules accordingly."""
    before = _lock(connection, key)
    if before.ended_at is not None:
        raise InvalidRequest(
            f"deployment {key!r} has ended; deploy its module again",
            SentenceCode.REFUSED_DEPLOYMENT_ENDED,
            deployment=key,
        )
    after = deployments.scale(connection, before.id, min_replicas)
    for row in _schedules_of(connection, before):
        if min_replicas == 0:
            _stop(connection, row.id)
        else:
            _activate(connection, row.id)
    return after


def end(connection: Connection, key: str) -> Deployment:
    """End a deployment and its schedules."""
    deployment = _lock(connection, key)
    deployments.end(connection, deployment.id)
    for row in _schedules_of(connection, deployment):
        _remove(connection, row)
    return _find(connection, key)


def _declare(
    connection: Connection, row: StoredSchedule | None, declared: Definition, registry: Registry
) -> int:
    wanted = declared
    if row is not None:
        # The lock keeps out a change at run time between reading and writing.
        row = changes.lock(connection, row.id)
        wanted = redeclare(row, declared, registry)
    kind = registry.get(wanted.job_type)
    check_startable(
        connection, kind, wanted.queue, limited=wanted.limits is not None, scheduled=True
    )
    if row is None:
        return changes.add(connection, wanted).schedule.id
    changes.alter(connection, row, wanted)
    if (
        row.disabled_reason == DisabledReason.EXHAUSTED
        and rules_of(row).trigger != declared.rules.trigger
    ):
        changes.apply(connection, row.id, Resumed())  # the schedule has times again
    _activate(connection, row.id)
    return row.id


def _activate(connection: Connection, schedule_id: int) -> None:
    """Enable a schedule that stopped with its deployment, unless it was paused by hand."""
    row = changes.lock(connection, schedule_id)
    if row.disabled_reason == DisabledReason.DEPLOYMENT_GONE:
        plan_writing.apply_event(connection, row, Activated())


def _stop(connection: Connection, schedule_id: int) -> None:
    if changes.lock(connection, schedule_id).enabled:
        changes.pause(connection, schedule_id, None, DisabledReason.DEPLOYMENT_GONE)


def _remove(connection: Connection, row: StoredSchedule) -> None:
    """End a schedule: running jobs continue, pending ones are cancelled.

    The schedule is locked first, because only then are jobs seen that it fired since it was read.
    """
    changes.pause(connection, row.id, None, DisabledReason.DEPLOYMENT_GONE)
    cancelling.cancel_pending_of(connection, row.id, BY)


def _schedules_of(connection: Connection, deployment: Deployment) -> list[StoredSchedule]:
    return [
        row
        for row in reading.all_of(connection, deployment.module)
        if row.deployment_id == deployment.id
    ]


def _lock(connection: Connection, key: str) -> Deployment:
    """Return the deployment and lock its module."""
    deployments.lock_module(connection, _find(connection, key).module)
    return _find(connection, key)


def _find(connection: Connection, key: str) -> Deployment:
    deployment = deployments.by_key(connection, key)
    if deployment is None:
        raise DeploymentDoesNotExist(key)
    return deployment
