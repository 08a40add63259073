"""Ticks as a model: nodes fire a schedule's nominal times from the locked row, or by plans that they made before.

The ring is only a hint: each node may believe at any time that it owns the schedule, or not. Nominal times are 1, 2, …,
and the clock of the database shows how many have come due. A deployment replaces the schedule's definition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.checker import Step


class Plan(NamedTuple):
    """A fire that a node planned in advance. `fresh`: the row still has the version from which it was planned."""

    nominal: int
    deployment: int
    fresh: bool = True


class Decided(NamedTuple):
    """A decision about a nominal time: the job that was created for it, if any, and the deployment that fired it."""

    nominal: int
    job: int | None
    deployment: int


class Schedule(NamedTuple):
    """The row of the schedule. `token`: the job of the executing run; `mark`: the last nominal time that is decided."""

    deployment: int = 0
    enabled: bool = True
    mark: int = 0
    token: int | None = None


class World(NamedTuple):
    """A state of the model. `jobs` tells of each job whether its run is open."""

    clock: int
    schedule: Schedule
    ledger: tuple[Decided, ...]
    jobs: tuple[bool, ...]
    plans: tuple[Plan | None, ...]
    owns: tuple[bool, ...]
    early: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class TickGuards:
    """The guards of the protocol; a mutation removes one."""

    plan_is_checked: bool = True
    only_idle_is_planned: bool = True
    fire_needs_due_time: bool = True
    fire_needs_idle: bool = True
    end_needs_token: bool = True
    deployment_changes_version: bool = True
    pause_is_checked: bool = True
    pause_changes_version: bool = True
    row_is_locked: bool = True


@dataclass(frozen=True, slots=True)
class TickModel:
    """The protocol within bounds: nominal times, nodes and deployments. Pauses are not bounded."""

    ticks: int = 2
    nodes: int = 2
    deployments: int = 1
    guards: TickGuards = TickGuards()

    def initial(self) -> World:
        """Return an idle schedule of which nothing is due."""
        return World(0, Schedule(), (), (), (None,) * self.nodes, (False,) * self.nodes)

    def next(self, world: World) -> Iterator[Step[World]]:
        """Yield every step that is possible."""
        if world.clock < self.ticks:
            yield Step(f"time {world.clock + 1} comes due", world._replace(clock=world.clock + 1))
        for node in range(self.nodes):
            yield from self._node_steps(world, node)
        for job, is_open in enumerate(world.jobs):
            yield self._end(world, job) if is_open else self._end_again(world, job)
        schedule = world.schedule
        if schedule.deployment < self.deployments:
            yield Step("another version is deployed", self._deployed(world))
        word = "paused" if schedule.enabled else "resumed"
        yield Step(f"the schedule is {word}", self._switched(world))._replace(
            fault=schedule.enabled
        )

    def _node_steps(self, world: World, node: int) -> Iterator[Step[World]]:
        schedule, plan = world.schedule, world.plans[node]
        changed = (*world.owns[:node], not world.owns[node], *world.owns[node + 1 :])
        word = "no longer believes" if world.owns[node] else "believes"
        yield Step(f"{node} {word} that it owns the schedule", world._replace(owns=changed))
        if not world.owns[node]:
            return
        idle = schedule.token is None or not self.guards.only_idle_is_planned
        if schedule.enabled and idle and plan is None and schedule.mark < self.ticks:
            made = Plan(schedule.mark + 1, schedule.deployment)
            yield Step(f"{node} plans time {made.nominal}", self._with_plan(world, node, made))
        if plan is not None:
            yield self._fire_plan(world, node, plan)
        yield from self._fire_row(world, node)

    def _fire_plan(self, world: World, node: int, plan: Plan) -> Step[World]:
        """Carry out a plan if the row still has the version that it was made from, and the time is due."""
        guards = self.guards
        due = plan.nominal <= world.clock or not guards.fire_needs_due_time
        valid = plan.fresh or not guards.plan_is_checked
        after = self._with_plan(world, node, None)
        if not due or not valid:
            return Step(f"{node} drops its plan", after)
        return Step(
            f"{node} fires time {plan.nominal} as planned",
            self._fired(after, plan.nominal, plan.deployment),
        )

    def _fire_row(self, world: World, node: int) -> Iterator[Step[World]]:
        """Plan from the locked row and carry that out: idle, enabled and due; of several due times the last one fires."""
        schedule, guards = world.schedule, self.guards
        nominal = max(schedule.mark + 1, world.clock)
        due = nominal <= world.clock or (not guards.fire_needs_due_time and nominal <= self.ticks)
        idle = schedule.token is None or not guards.fire_needs_idle
        if due and idle and (schedule.enabled or not guards.pause_is_checked):
            yield Step(
                f"{node} fires time {nominal}", self._fired(world, nominal, schedule.deployment)
            )
        if due and idle and schedule.enabled and not guards.row_is_locked and self.nodes > 1:
            twice = self._fired(
                self._fired(world, nominal, schedule.deployment), nominal, schedule.deployment
            )
            yield Step(f"two nodes fire time {nominal} from the same row", twice)

    def _fired(self, world: World, nominal: int, deployment: int) -> World:
        schedule, job = world.schedule, len(world.jobs)
        missed = tuple(
            Decided(each, None, deployment) for each in range(schedule.mark + 1, nominal)
        )
        return _changed(world)._replace(
            schedule=schedule._replace(mark=max(schedule.mark, nominal), token=job),
            ledger=(*world.ledger, *missed, Decided(nominal, job, deployment)),
            jobs=(*world.jobs, True),
            early=world.early or nominal > world.clock,
            stale=world.stale or deployment != schedule.deployment or not schedule.enabled,
        )

    def _end(self, world: World, job: int) -> Step[World]:
        """End a run: the schedule is idle again, and what came due meanwhile is skipped, unless it is paused."""
        jobs = (*world.jobs[:job], False, *world.jobs[job + 1 :])
        ended = world._replace(jobs=jobs)
        if world.schedule.token != job and self.guards.end_needs_token:
            return Step(f"run {job} ends, which the schedule does not wait for", ended)
        if world.schedule.enabled:
            return Step(f"run {job} ends", self._passed_over(ended, token=None))
        return Step(
            f"run {job} ends",
            _changed(ended)._replace(schedule=world.schedule._replace(token=None)),
        )

    def _end_again(self, world: World, job: int) -> Step[World]:
        """Report an end that was reported before, because its answer was lost."""
        freed = self._passed_over(world, token=None)
        return Step(
            f"the end of run {job} is reported again",
            world if self.guards.end_needs_token else freed,
        )

    def _passed_over(self, world: World, token: int | None) -> World:
        schedule = world.schedule
        skipped = tuple(
            Decided(nominal, None, schedule.deployment)
            for nominal in range(schedule.mark + 1, world.clock + 1)
        )
        after = schedule._replace(mark=max(schedule.mark, world.clock), token=token)
        return _changed(world)._replace(schedule=after, ledger=(*world.ledger, *skipped))

    def _deployed(self, world: World) -> World:
        """Replace the definition: times that are due are passed over, and a run goes on."""
        after = self._passed_over(world, world.schedule.token)
        plans = after.plans if self.guards.deployment_changes_version else world.plans
        deployed = after.schedule._replace(deployment=world.schedule.deployment + 1)
        return after._replace(schedule=deployed, plans=plans)

    def _switched(self, world: World) -> World:
        """Pause the schedule, or resume it and pass over what is due."""
        schedule = world.schedule
        if schedule.enabled:
            paused = _changed(world) if self.guards.pause_changes_version else world
            return paused._replace(schedule=schedule._replace(enabled=False))
        after = self._passed_over(world, schedule.token)
        return after._replace(schedule=after.schedule._replace(enabled=True))

    def _with_plan(self, world: World, node: int, plan: Plan | None) -> World:
        return world._replace(plans=(*world.plans[:node], plan, *world.plans[node + 1 :]))

    def broken(self, world: World) -> str | None:
        """Return which invariant a state violates."""
        decided = sorted(each.nominal for each in world.ledger)
        if len(set(decided)) < len(decided):
            return "a nominal time has two decisions"
        if decided != list(range(1, world.schedule.mark + 1)):
            return "a nominal time has no decision"
        if sum(world.jobs) > 1:
            return "two runs overlap"
        if any(is_open and job != world.schedule.token for job, is_open in enumerate(world.jobs)):
            return "a run is open, and the schedule does not wait for it"
        if world.early:
            return "a nominal time is fired before it is due"
        return "a paused or replaced definition fires" if world.stale else None

    def broken_step(self, before: World, after: World) -> str | None:
        """A decision never changes."""
        return None if after.ledger[: len(before.ledger)] == before.ledger else "a decision changes"

    def is_done(self, world: World) -> bool:
        """Whether each time has a decision, and no run is open."""
        return world.schedule.mark == self.ticks and not any(world.jobs)


def _changed(world: World) -> World:
    """Give the row a new version: plans that were made from an earlier one are no longer valid."""
    return world._replace(plans=tuple(plan and plan._replace(fresh=False) for plan in world.plans))
