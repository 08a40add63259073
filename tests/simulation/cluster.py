"""The nodes and callers of a simulation, and what the faults of its plan do to them."""

from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, Final

from horae.client.jobs import AsyncJobs, Jobs
from horae.client.schedules import Deployments, Schedules
from horae.domain.cluster import LivenessLimits
from horae.errors import HoraeError, JobFailed, JobWasCancelled
from horae.runtime.components import Components, NodeOptions
from horae.runtime.node import Node
from horae.runtime.timing import HookTiming, Pauses, RunMonitorTiming, Timing, WorkerTiming
from horae.storage.engine import Database
from horae.storage.queues import queues
from tests.simulation import application, features
from tests.simulation.application import app
from tests.simulation.faults import Fault, Gate, Trap, unanswered
from tests.simulation.invariants import Answers, Changes, Move
from tests.simulation.loop import SimulatedLoop
from tests.simulation.operations import Operation
from tests.simulation.plan import Plan
from tests.simulation.replaced import SimulatedChannel, SimulatedLiveStore
from tests.simulation.world import Clock, Lane, Process, World

LIMITS: Final = LivenessLimits(silence=4.0, margin=1.5, gap=2.0, last_attempts=10.0)
TIMING: Final = Timing(
    run_monitor=RunMonitorTiming(round=0.3, reread_every=7),
    hooks=HookTiming(look_every=4.0),
    worker=WorkerTiming(poll_without_hints=Pauses(0.2, 2.0)),
    schema_every=1000.0,
)
"""As usual, but rounds in which usually nothing happens are rarer, because they take most of the time."""
STORM_TIMING: Final = replace(TIMING, orphaned_after=1.0)
"""In a storm, files are left by many processes that were killed before they registered."""
GRACE: Final = timedelta(seconds=1)
SLOWNESS: Final = 0.2
"""Seconds that a call takes on average while the database is slow."""
REACHED_LATER: Final = 0.3
"""Seconds by which each further node reaches the database later after all of them were cut off."""
NARROW: Final = 2
"""The concurrency limit of the queue `narrow`."""


LONGEST_WAIT: Final = timedelta(seconds=10)
"""For how long a caller waits for the end of a job."""
OVERLAPPING: Final = frozenset(
    {"pause", "pause at statement", "pause at end", "sleep", "server clock"}
)
"""Faults in which others must assume that a node is dead whose bodies run on: a process that stands still cannot stop
them, and a clock that jumps forward makes every heartbeat old."""


STRIKING: Final = frozenset(
    {"pause", "pause at statement", "pause at end", "sleep", "cut", "cut and refused"}
)
"""Faults after which others may rightly take a node for dead."""


class Cluster:
    """The processes of one simulation."""

    def __init__(self, world: World, plan: Plan, url: str) -> None:
        self.world, self.plan, self.url = world, plan, url
        self.live = SimulatedLiveStore()
        self.places: list[NodePlace] = [NodePlace(self, number) for number in range(plan.nodes)]
        self.happened: Counter[str] = Counter()
        self.failovers = 0
        self.problems: list[str] = []
        self.struck: set[str] = set()
        """The processes that stood still or did not reach the database while others did."""
        self.started: list[int] = []
        """The jobs whose creation was confirmed."""
        self.cancelled: list[int] = []
        """The jobs whose cancel was answered with success."""
        self.after: list[tuple[int, int]] = []
        """Jobs that wait for another one, with that one."""
        self.plain: list[int] = []
        """The jobs of `application` among those whose creation was confirmed, which callers change."""
        self.groups: list[int] = []
        self.is_ending = False
        """Whether all nodes have been stopped for good; a node that a crash owes does not start any more."""
        self.changes = Changes()
        self.lives = deque(plan.lives)
        """How the next processes of nodes end."""
        self._drift = Random(f"{plan.seed} clocks")
        self._count = 0

    def new_process(self, name: str, host: str) -> Process:
        """Start a process."""
        self._count += 1
        drift = self._drift
        clock = Clock(
            self.world,
            started=drift.uniform(100.0, 10_000.0),
            rate=1 + drift.uniform(-1e-4, 1e-4),
            wall_offset=drift.choice((0.0, drift.uniform(-60.0, 60.0))),
        )
        process = Process(self.world, name, host, 1000 + self._count, clock)
        self.world.surroundings.processes.append(process)
        self.world.surroundings.processes_by_number[process.pid] = process
        process.released_by_kill.append(partial(application.note_death, process))
        return process

    def components(self, process: Process) -> Components:
        """Open the adapters of a process; called in one of its threads."""
        database = Database(self.url, busy_timeout=30.0)
        return Components(database, app.registry, self.live, SimulatedChannel(process))

    def begin(self) -> None:
        """Start the nodes and plan everything else."""
        for place in self.places:
            place.start()
        self.caller = Caller(self)
        for operation in self.plan.operations:
            self.world.at(operation.at, partial(self.caller.do, operation))
        for fault in self.plan.faults:
            self.world.at(fault.at, partial(self.cause, fault))

    def cause(self, fault: Fault) -> None:
        """Let a fault happen."""
        self.happened[fault.kind] += 1
        self.world.note(f"fault: {fault}")
        places = self.places if fault.node < 0 else [self.places[fault.node]]
        match fault.kind:
            case "server clock":
                self.world.server_offset += fault.seconds
            case "no hints":
                self.world.surroundings.hints_off_until = self.world.now + fault.seconds
            case "live store lost":
                self.live.lose_everything()
            case _:
                for (
                    place
                ) in places:  # what happens to all of them does not end for all at one moment
                    later = REACHED_LATER * place.number if fault.node < 0 else 0.0
                    place.suffer(replace(fault, seconds=fault.seconds + later))

    def strike_those_out_of_reach(self) -> None:
        """A node starts that reaches the database: it may rightly take those for dead that do not."""
        for process in self.world.surroundings.processes:
            if not process.dead and Gate.of(process).cut_until > self.world.now:
                self.struck.add(process.name)

    def settle(self) -> None:
        """End all faults: what is set to happen later does not, and each place has a node."""
        self.lives.clear()
        for place in self.places:
            place.recover()

    def resume_queue(self) -> None:
        """Resume the queue, because a resume of the plan may have come before its pause."""
        self.caller.do(Operation(self.world.now, "resume queue", "default"))

    def pause_schedules(self) -> None:
        """Pause all schedules, so that the work comes to an end."""
        for name in self.plan.schedules:
            self.caller.do(Operation(self.world.now, "pause", name))

    def stop(self) -> None:
        """Stop all nodes in order."""
        self.is_ending = True
        for place in self.places:
            place.stop(again=None)

    def answers(self) -> Answers:
        """Return what callers and bodies know in the end."""
        kinds = {fault.kind for fault in self.plan.faults}
        bodies = self.world.surroundings.bodies
        may_overlap = self.plan.heartbeats and not kinds.isdisjoint(OVERLAPPING)
        stepped = "server clock" in kinds and self.plan.heartbeats
        well = frozenset(
            place.process.name
            for place in self.places
            if place.process and not place.process.dead and not stepped
        )
        return Answers(
            created=self.started,
            cancelled=self.cancelled,
            bodies=bodies,
            may_overlap=may_overlap,
            steady_clock="server clock" not in kinds,
            slept="sleep" in kinds,
            unreadable_journals=frozenset(self.world.surroundings.unreadable_journals),
            well=well - self.struck,
            after=self.after,
            changes=self.changes,
        )

    @property
    def is_stopped(self) -> bool:
        """Whether all nodes have ended."""
        return all(place.process is None or place.process.dead for place in self.places)


class NodePlace:
    """A place where a node runs: after a crash another one starts there, as a new process."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster, self.world, self.number = cluster, cluster.world, number
        self.process: Process | None = None
        self.node: Node | None = None
        self.loop: SimulatedLoop | None = None
        self._incarnations = 0
        self._start_again_in: float | None = None
        """Seconds after which another node starts here when this one has ended in order."""
        self.loops: list[SimulatedLoop] = []

    def start(self) -> None:
        """Start a process with a node, unless one runs or the simulation ends."""
        if self.cluster.is_ending or (self.process is not None and not self.process.dead):
            return
        self._incarnations += 1
        self._start_again_in = None
        self.cluster.strike_those_out_of_reach()
        name = f"n{self.number}.{self._incarnations}"
        host = "one" if self.cluster.plan.one_host else f"host{self.number}"
        self.process = process = self.cluster.new_process(name, host)
        self.node = None
        self.loop = loop = SimulatedLoop(process, partial(self._loop_failed, name))
        self.loops.append(loop)
        loop.call_soon(self._begin, process, loop)
        self.world.note(f"started {name}")
        if self.cluster.lives:
            self._limit_life(process, self.cluster.lives.popleft())

    def _limit_life(self, process: Process, end: Fault) -> None:
        """Let the process that has just started end soon."""
        fault = replace(end, node=self.number)
        if fault.kind in {"crash", "stop"}:
            self.world.at(self.world.now + fault.at, partial(self._end_life, process, fault))
        else:
            self._end_life(process, fault)

    def _end_life(self, process: Process, fault: Fault) -> None:
        if self.process is process and (self.cluster.lives or fault.kind not in {"crash", "stop"}):
            self.cluster.cause(fault)

    def _begin(self, process: Process, loop: SimulatedLoop) -> None:
        loop.create_task(self._run(process))

    async def _run(self, process: Process) -> None:
        try:
            components = self.cluster.components(process)
            process.jobs = jobs_of(components)
            process.aio = AsyncJobs(
                process.jobs, components.registry, components.database, components.wakeup
            )
            deployments = Deployments(components.database, components.registry, components.wakeup)
            options = NodeOptions(
                concurrency=self.cluster.plan.concurrency,
                grace=GRACE,
                liveness=LIMITS,
                timing=STORM_TIMING if self.cluster.plan.lives else TIMING,
                name=f"place{self.number}",
            )
            self.node = node = Node(
                components,
                options,
                partial(self._deploy, deployments),
            )
            await node.run()
        except Exception as error:  # noqa: BLE001 - judged here
            if self.world.ended:
                return
            self.world.note(f"ended by {error!r}")
            if not _is_excused(error, self.world):
                self.cluster.problems.append(f"{process.name} ended by {error!r}")
            self._start_again_in = 0.5
        process.kill()
        if self._start_again_in is not None:
            self.world.at(self.world.now + self._start_again_in, self.start)

    def _deploy(self, deployments: Deployments) -> tuple[int, ...]:
        declared = [
            schedule for schedule in app.declared if schedule.name in self.cluster.plan.schedules
        ]
        return deployments.deploy(app.module, declared, restore=False).schedules

    def _loop_failed(self, name: str, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.world.note(f"loop of {name}: {context.get('message')} {error!r}")
        if error is not None:
            self.cluster.problems.append(
                f"the loop of {name} reports {error!r}: {context.get('message')}"
            )

    def suffer(self, fault: Fault) -> None:
        """Let a fault of this node happen."""
        process = self.process
        if process is None or process.dead:
            return
        if fault.node >= 0 and fault.kind in STRIKING:
            self.cluster.struck.add(process.name)
        trap = self._trap_of(fault)
        if trap is not None:
            Gate.of(process).traps.append(trap)
        else:
            self._strike(fault, process)

    def _trap_of(self, fault: Fault) -> Trap | None:
        """Return the fault as one that waits for a statement or commit, if it is of that kind."""
        match fault.kind:
            case "crash at statement" | "crash at commit":
                on = fault.kind.rpartition(" ")[2]
                return Trap(on, fault.skip, fault.phase, partial(self._crash_within, fault.seconds))
            case "refused" | "late" | "late claim":
                on = "autocommit" if fault.kind == "late claim" else "statement"
                late = None if fault.kind == "refused" else fault.seconds
                return Trap(on, fault.skip, "before", unanswered, late=late)
            case "answer lost":
                return Trap("commit", fault.skip, "after", unanswered)
            case "pause at statement":
                return Trap(
                    "statement", fault.skip, fault.phase, partial(self._pause_within, fault.seconds)
                )
            case "pause at end":
                return Trap("end", fault.skip, "after", partial(self._pause_within, fault.seconds))
            case _:
                return None

    def _strike(self, fault: Fault, process: Process) -> None:
        """Let a fault happen at once."""
        gate = Gate.of(process)
        match fault.kind:
            case "crash":
                self.crash(fault.seconds)
            case "pause" | "sleep":
                process.pause(fault.seconds, asleep=fault.kind == "sleep")
            case "cut" | "cut and refused":
                gate.cut(fault.seconds, fails=fault.kind == "cut and refused")
            case "slow":
                gate.slow_until, gate.slowness = self.world.now + fault.seconds, SLOWNESS
            case "node clock":
                process.clock.wall_offset += fault.seconds
            case "stop":
                self.stop(again=fault.seconds)
            case _:
                raise ValueError(fault.kind)

    def crash(self, again: float) -> None:
        """Kill the process; another one starts some seconds later."""
        if self.process is not None and not self.process.dead:
            self.process.kill()
            self.cluster.failovers += 1
            self.world.at(self.world.now + again, self.start)

    def _crash_within(self, again: float) -> None:
        process = self.process
        if process is not None and self.world.running.process is process:
            self.crash(again)
            process.check()

    def _pause_within(self, seconds: float) -> None:
        if self.process is not None:
            self.process.pause(seconds)
            self.world.wait(0.0)

    def stop(self, again: float | None) -> None:
        """Stop the node in order; another one starts some seconds later, if any."""
        process, node = self.process, self.node
        if process is None or process.dead:
            return
        self._start_again_in = again
        self.cluster.failovers += again is not None
        if node is not None:
            node.stop()
            return
        process.kill()  # it has only just begun
        if again is not None:
            self.world.at(self.world.now + again, self.start)

    def recover(self) -> None:
        """Let no more faults happen to this node, and start one if none runs; a fault that lasts ends by itself."""
        process = self.process
        if process is None or process.dead:
            self.start()
            return
        Gate.of(process).traps.clear()


def _is_excused(error: BaseException, world: World) -> bool:
    """Return whether a node may end with this error: its database was away when it started."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_excused(inner, world) for inner in error.exceptions)
    text = f"{error!r} {error}"
    return (
        "database does not answer" in text
        or "answer was lost" in text
        or "connection was lost" in text
        or "connection is closed" in text
    )


def jobs_of(components: Components) -> Jobs:
    """Return a client of a process."""
    return Jobs(
        components.database,
        components.registry,
        components.live,
        components.wakeup,
        keep=timedelta(days=30),
    )


class Caller:
    """A program that starts and cancels jobs and changes schedules; each call has a thread of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.process = cluster.new_process("caller", "one" if cluster.plan.one_host else "callers")
        self._clients: tuple[Components, Jobs, Schedules] | None = None
        self.open_calls = 0

    def do(self, operation: Operation) -> None:
        """Do something in a new thread."""
        self.open_calls += 1
        Lane(self.process, partial(self._attempt, operation), operation.what).start()

    def clients(self) -> tuple[Components, Jobs, Schedules]:
        """Open the database at the first use."""
        if self._clients is None:
            components = self.cluster.components(self.process)
            schedules = Schedules(
                components.database, components.registry, components.wakeup, lambda _ids: None
            )
            self._clients = (components, jobs_of(components), schedules)
            components.database.transact(queues.limit, "narrow", NARROW)
            if any(operation.name == "shared" for operation in self.cluster.plan.operations):
                components.database.transact(queues.fair, features.FAIR_QUEUE, "owner")
        return self._clients

    def _attempt(self, operation: Operation) -> None:
        try:
            self._act(operation)
        except HoraeError as error:
            self.world.note(f"{operation.what} {operation.name}: {type(error).__name__}")
        except Exception as error:  # noqa: BLE001 - no call may fail in another way
            self.cluster.problems.append(f"{operation.what} {operation.name}: {error!r}")
        finally:
            self.open_calls -= 1

    def _act(self, operation: Operation) -> None:
        components, jobs, schedules = self.clients()
        name = operation.name
        match operation.what:
            case "start":
                self._created([jobs.start(name, owner="someone").id], plain=True)
            case "cancel":
                self._cancel(jobs, operation.number)
            case "run now":
                schedules.run_now(name)
            case "pause":
                schedules.pause(name)
            case "resume":
                schedules.resume(name)
            case (
                "skip" | "undo skip" | "move" | "exclude" | "include" | "backfill" | "undo backfill"
            ):
                _change_start(schedules, operation)
            case "start after":
                self._start_after(jobs, operation)
            case "start group" | "cancel group":
                self._act_on_group(jobs, operation)
            case "retry" | "reschedule" | "delete" | "wait":
                self._change_job(jobs, operation)
            case what if what in features.ACTS:
                self._created(features.ACTS[what](jobs, operation), plain=name in application.KINDS)
            case "pause queue":
                components.database.transact(queues.pause, name, None)
            case _:
                components.database.transact(queues.resume, name)

    def _cancel(self, jobs: Jobs, number: int) -> None:
        if self.cluster.started:
            job_id = self.cluster.started[number % len(self.cluster.started)]
            jobs.cancel(job_id)
            self.cluster.cancelled.append(job_id)
            self.world.note(f"cancelled {job_id}")

    def _start_after(self, jobs: Jobs, operation: Operation) -> None:
        if self.cluster.started:
            before = self.cluster.started[operation.number % len(self.cluster.started)]
            failure: Any = "run" if operation.number % 2 else "cancel"
            job_id = jobs.start(operation.name, after=[before], on_dependency_failure=failure).id
            self.cluster.after.append((job_id, before))
            self._created([job_id])

    def _act_on_group(self, jobs: Jobs, operation: Operation) -> None:
        """Start a group, or cancel one."""
        if operation.what == "start group":
            group = features.start_group(jobs, operation)
            self.cluster.groups.append(group.id)
            self._created([] if group.then_id is None else [group.then_id])
        elif self.cluster.groups:
            group_id = self.cluster.groups[operation.number % len(self.cluster.groups)]
            jobs.cancel_group(group_id)
            self.cluster.changes.cancelled_groups[group_id] = self.world.now
            self.world.note(f"cancelled group {group_id}")

    def _change_job(self, jobs: Jobs, operation: Operation) -> None:
        """Retry, reschedule or delete a job, or wait for its end."""
        if not self.cluster.plain:
            return
        job_id = self.cluster.plain[operation.number % len(self.cluster.plain)]
        changes = self.cluster.changes
        match operation.what:
            case "retry":
                self._created([jobs.retry(job_id).id])
            case "reschedule":
                move = Move(job_id, self.world.now, 0.1 * operation.number)
                changes.moves.append(move)
                jobs.reschedule(job_id, delay=timedelta(seconds=move.delay))
                move.answered = self.world.now
            case "delete":
                changes.deletions.add(job_id)
                jobs.delete(job_id)
                changes.deleted.append(job_id)
            case _:
                with suppress(JobFailed, JobWasCancelled):
                    jobs.wait(job_id, timeout=LONGEST_WAIT)
                changes.awaited.append((job_id, self.world.now))
        self.world.note(f"{operation.what} {job_id}: done")

    def _created(self, job_ids: Any, *, plain: bool = False) -> None:
        self.cluster.started.extend(job_ids)
        if plain:
            self.cluster.plain.extend(job_ids)
        self.world.note(f"created {list(job_ids)}")


def _change_start(schedules: Schedules, operation: Operation) -> None:
    """Change the next start of a schedule, its calendar, or what is run of its past."""
    name, length = operation.name, timedelta(seconds=operation.number)
    view = schedules.get(name)
    match operation.what:
        case "skip":
            schedules.skip_next(name)
        case "undo skip":
            schedules.undo_skip(name)
        case "move":
            schedules.alter(name, next_start=view.read_at + length)
        case "exclude":
            schedules.alter(
                name, exclude=[(view.read_at, view.read_at + length + timedelta(seconds=1))]
            )
        case "include":
            schedules.alter(name, exclude=[])
        case "backfill":
            schedules.backfill(name, view.created_at - length - timedelta(seconds=10), view.read_at)
        case _:
            schedules.undo_backfill(name)
