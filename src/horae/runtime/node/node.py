"""A node: one incarnation of a process that claims and runs jobs and looks after what others left behind.

It begins and ends with its membership: claiming stops first, then bodies get their grace, then what they came to is
settled, and only then the node leaves. A node that finds itself declared dead stops its bodies before anything else
and begins again as a new incarnation.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, Final, Self, TypeAlias

from horae.domain.cluster.liveness import Isolation
from horae.domain.jobs.job import NodeId
from horae.errors import LeaseLost, Unavailable
from horae.forking import begins_anew_after_fork
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.bodies.run import Executor
from horae.runtime.bodies.run_monitor import RunMonitor
from horae.runtime.bodies.runner import Interrupted, OutOfContact, RunEnvironment
from horae.runtime.bodies.verdict import must_stop
from horae.runtime.claims.completion import Completion
from horae.runtime.claims.hook_service import HookService
from horae.runtime.claims.settler import Settler
from horae.runtime.claims.slots import Slots
from horae.runtime.claims.worker import Worker
from horae.runtime.components import Components, NodeOptions
from horae.runtime.controller import Controller
from horae.runtime.executors.loop import LoopExecutor
from horae.runtime.executors.process import ProcessExecutor
from horae.runtime.executors.thread import ThreadExecutor
from horae.runtime.journal.files import Journals
from horae.runtime.liveness.heartbeat import Watcher
from horae.runtime.liveness.membership import Membership, membership_of
from horae.runtime.liveness.node_record import record_of
from horae.runtime.liveness.sweeper import Sweeper
from horae.runtime.node.foreground import run_in_foreground, running_beside
from horae.runtime.node.repeated_service import sustained
from horae.runtime.node.served_types import ServedTypes
from horae.storage.engine.caller_threads import Use
from horae.storage.engine.connections import pooler
from horae.storage.jobs.claims import ClaimScope
from horae.types.hooks import Hooks
from horae.types.job_type import JobType
from horae.types.logging import set_node
from horae.wakeup.channel import Hint, HintKind

Deploy: TypeAlias = Callable[[], Sequence[int]]
AFTER_GRACE: Final = 3.2
LAST_WORDS: Final = 1.2
TOLD_WITHIN: Final = 0.5
LEAVING: Final = 0.5
FILE_EVERY: Final = 1.0
LISTED: Final = 50
"""Seconds: after the grace a node leaves, whatever hangs, with a moment left for hooks; bodies have to stop once they
were told to, and half as many once they were stopped by force; schedules have to show that; to be spent on leaving in
any case; between two looks at a SQLite file. Jobs that a line of the log names.
"""

log = logging.getLogger("horae.runtime")


class Node:
    """Runs jobs until it is told to stop."""

    def __init__(
        self, components: Components, options: NodeOptions, deploy: Deploy = tuple[int, ...], slots: Slots | None = None
    ) -> None:
        """`deploy` is called when the node has joined; `slots`: shared with other nodes of this process."""
        self._components = components
        self._options = options
        self._deploy = deploy
        self._slots = slots or Slots(options.concurrency)
        self._incarnation: Incarnation | None = None
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ready = asyncio.Event()
        self.id: NodeId | None = None

    @property
    def grace(self) -> timedelta:
        """How long bodies may go on after `stop`; the node has ended five seconds later at the latest."""
        return self._options.grace

    def stop(self) -> None:
        """Shut down: no new claims, then the grace, then the end. May be called from any thread."""
        if self._loop is None:
            self._stop.set()
        else:
            _post(self._loop, self._stop.set)

    def run_sync(self) -> None:
        """Live in this thread until `stop`; in the main thread also until SIGTERM or SIGINT (Ctrl-C)."""
        run_in_foreground(self)

    def running(self) -> AbstractContextManager[Self]:
        """Live in a thread of its own for as long as a `with` block lasts; ready when the block begins."""
        return running_beside(self)

    async def run(self) -> None:
        """Live until `stop`, as one incarnation after another if need be."""
        self._loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            incarnation = self._incarnation = Incarnation(self._components, self._options, self._deploy, self._slots)
            self.id = incarnation.id
            await incarnation.run(self._stop, self.ready)
            if incarnation.lost is not None:
                raise incarnation.lost

    def adopt(self, schedule_ids: Collection[int]) -> None:
        """Own schedules that were created here until the next reload. May be called from any thread."""
        if self._incarnation is not None:
            self._incarnation.adopt(schedule_ids)


class Incarnation:
    """One life of a node."""

    def __init__(self, components: Components, options: NodeOptions, deploy: Deploy, slots: Slots) -> None:
        record = record_of(components.registry, options)
        self.id = record.id
        self._components, self._options, self._deploy, self._slots = components, options, deploy, slots
        self._loop = asyncio.get_running_loop()
        self._rng = Random()  # noqa: S311 - spreads rivals, guards nothing
        self._environment = RunEnvironment(components.database, self.id)
        self._journals = Journals(components.database)
        self._reporter = Reporter(components.live, self._environment.journal)
        hooks = Hooks(components.database, components.registry)
        self._hook_service = HookService(components.database, hooks, options.keep.total_seconds())
        self._membership: Membership = membership_of(components.database, record, options.liveness)
        self._died = asyncio.Event()
        self._broken = False
        self.lost: Unavailable | None = None
        """Why there is no database to go on with."""
        self._end_at = 0.0
        begins_anew_after_fork(self)

    async def run(self, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Join, work, leave; also where it is cancelled or something breaks, or others would take it for alive."""
        set_node(self.id)
        listening = ExitStack()
        try:
            await self._work(listening, stop, ready)
            await self._hook_service.finish()
        except BaseException:
            self._worker.abandon()  # nobody is left to write what its bodies come to
            self._broken = True
            raise
        finally:
            listening.close()
            self._hook_service.close()
            await self._leave()

    async def _work(self, listening: ExitStack, stop: asyncio.Event, ready: asyncio.Event) -> None:
        loop = self._loop
        async with asyncio.TaskGroup() as services:
            self._assemble(services)
            await self._components.database.in_service(partial(self._membership.join, self._watcher()))
            await self._components.database.in_service(partial(self._journals.open, self._environment.journal, self.id))
            listening.callback(self._components.wakeup.subscribe(partial(_post, loop, self._on_hint)))
            log.info("node %s runs up to %d jobs at a time", self.id, self._options.concurrency)
            if self._components.database.pooled:
                log.warning("node %s works %s", self.id, pooler.NOTICE)
            sweeping = [
                services.create_task(sustained("the sweeper", self._sweeper.run)),
                services.create_task(sustained("the overseer", self._run_monitor.run)),
                services.create_task(self._watch_file()),
                services.create_task(sustained("the hook service", self._hook_service.run)),
            ]
            settling = services.create_task(sustained("the settler", self._settler.run))
            if self._options.scheduler:
                self._controller.adopt(await self._components.database.in_thread(self._deploy, Use.CHANGE))
            sweeping.append(services.create_task(ServedTypes(self._components, self.id, self._worker).run()))
            working = self._working(services)
            ready.set()
            await _first(stop, self._died)
            listening.close()
            await self._shut_down([*working, settling])
            for task in (*sweeping, *working, settling):
                task.cancel()
            if self.lost is not None:
                settling.cancel()  # there is nothing to write to, and never will be

    def adopt(self, schedule_ids: Collection[int]) -> None:
        """Own schedules that were created here until the next reload."""
        _post(self._loop, self._controller.adopt, schedule_ids)

    def begin_anew(self) -> None:
        """In a child of a fork, which is no node: nothing of this one is used or kept open, and its loop ends."""
        self._membership.abandon()
        with suppress(RuntimeError):  # its loop is closed, or in debug mode another thread's
            self._loop.call_soon(os._exit, 0)  # only if a coroutine has forked and goes on to wait does it run here

    def _working(self, services: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """What takes on new work, by the roles of the node."""
        runs = [sustained("the scheduler", self._controller.run)] if self._options.scheduler else []
        runs += [sustained("the worker", self._worker.run)] if self._options.worker else []
        return [services.create_task(run) for run in runs]

    def _assemble(self, services: asyncio.TaskGroup) -> None:
        components, rng = self._components, self._rng
        self._completion = Completion(services, components, self._hook_service, self._reporter)
        self._settler = Settler(self._environment, self._completion.settled, rng, self._membership.beat_within)
        self._loop_executor = LoopExecutor(asyncio.get_running_loop(), self._environment)
        self._thread_executor = ThreadExecutor(asyncio.get_running_loop(), self._environment)
        self._process_executor = ProcessExecutor(asyncio.get_running_loop(), self._environment)
        self._worker = self._completion.worker = Worker(
            environment=self._environment,
            scope=ClaimScope(node=self.id, types=tuple(components.registry.by_name), queues=self._options.queues),
            registry=components.registry,
            settler=self._settler,
            reporter=self._reporter,
            choose=self._choose,
            slots=self._slots,
            hinted=lambda: components.wakeup.connected,
            rng=rng,
        )
        self._run_monitor = RunMonitor(
            self._worker.running, self._reporter, components.live, components.database, self._completion.expired
        )
        self._controller = self._completion.controller = Controller(
            components.database, self.id, self._completion.decided, rng
        )
        self._settler.way = self._controller.calm
        self._sweeper = Sweeper(
            database=components.database,
            membership=self._membership,
            registry=components.registry,
            live=components.live,
            keep_seconds=self._options.keep.total_seconds(),
            rng=rng,
            on_rescue=self._completion.rescued,
            on_expiry=self._completion.expired,
            on_runs=self._completion.runs,
        )

    def _choose(self, job_type: JobType[Any]) -> Executor:
        if job_type.isolation == "process":
            return self._process_executor
        return self._loop_executor if job_type.is_async else self._thread_executor

    def _on_hint(self, hint: Hint) -> None:
        if hint.kind is HintKind.WORK:
            self._worker.hint()
        elif hint.kind is HintKind.SCHEDULES:
            self._controller.hint(hint.job_ids)
        elif hint.kind is HintKind.CANCEL:
            self._worker.drop(hint.job_ids)
            self._run_monitor.on_hint(hint)
        elif hint.kind is HintKind.NODES:
            self._sweeper.suspect()

    def _watcher(self) -> Watcher:
        loop = self._loop
        return Watcher(
            died=self._hear_of_death,
            suspected=partial(_post, loop, self._sweeper.suspect),
            isolated=self._isolate,
            regained=partial(_post, loop, self._regain),
        )

    def _hear_of_death(self) -> None:
        """On the heartbeat's thread: bodies on threads are told at once, for a body may hold the loop up."""
        self._order_threads(LeaseLost, Isolation.ALL)
        _post(self._loop, self._die)

    def _isolate(self, level: Isolation) -> None:
        """On the heartbeat's thread, too."""
        self._order_threads(OutOfContact, level)
        _post(self._loop, self._worker.isolate, level)

    def _order_threads(self, order: Callable[[], BaseException], level: Isolation) -> None:
        for run in list(self._worker.running.values()):
            if run.executor is self._thread_executor and must_stop(run.claim, level):
                run.stop(order())

    def _regain(self) -> None:
        self._worker.rejoin()
        self._run_monitor.look_again()

    def _die(self) -> None:
        log.error("node %s was taken for dead; its jobs belong to others now", self.id)
        self._worker.abandon()
        self._died.set()

    async def _watch_file(self) -> None:
        """Stop everything where the SQLite file is gone: what a body still did would be lost."""
        while self.lost is None:
            await asyncio.sleep(FILE_EVERY)
            try:
                await self._components.database.in_service(partial(self._components.database.check_file, now=True))
            except Unavailable as error:
                self.lost = error
                log.error("node %s stops its bodies and ends: %s", self.id, error)  # noqa: TRY400 - it says all
                self._worker.abandon()
                self._died.set()

    async def _shut_down(self, ending: Sequence[asyncio.Task[None]]) -> None:
        """`ending`: what ends by itself once it was told to, but for a database that does not answer."""
        grace = 0.0 if self._died.is_set() else self._options.grace.total_seconds()
        self._end_at = self._loop.time() + grace + AFTER_GRACE
        self._controller.stop()
        self._worker.stop()
        *working, settling = ending
        began = self._loop.time()
        if working:
            await asyncio.wait(working, timeout=max(grace, LAST_WORDS))
        await self._bodies_end(max(grace - (self._loop.time() - began), 0.0))
        if self._worker.running:
            self._worker.order_all(Interrupted)
            with suppress(TimeoutError):
                async with asyncio.timeout(TOLD_WITHIN):
                    await self._run_monitor.note_told(list(self._worker.running.values()))
            await self._bodies_end(LAST_WORDS)
        for run in list(self._worker.running.values()):
            run.kill()
        await self._bodies_end(LAST_WORDS / 2)
        self._worker.give_up()
        self._settler.close()
        await asyncio.wait([settling], timeout=self._end_at - LEAVING - self._loop.time())
        self._tell_of_unsettled()
        for executor in (self._loop_executor, self._thread_executor, self._process_executor):
            executor.close()

    def _tell_of_unsettled(self) -> None:
        if unsettled := self._settler.unsettled:
            log.error(
                "node %s stops although the ends of %d jobs could not be written, for the database does not answer; "
                "another node will find these jobs unfinished: %s",
                self.id, len(unsettled), ", ".join(map(str, unsettled[:LISTED])) + (", …" * (len(unsettled) > LISTED)),
            )  # fmt: skip

    async def _bodies_end(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while self._worker.running:
                    self._worker.emptied.clear()
                    await self._worker.emptied.wait()
        except TimeoutError:
            log.warning("%d jobs have not ended within %g s", len(self._worker.running), seconds)

    async def _leave(self) -> None:
        self._membership.stop()
        try:
            async with asyncio.timeout_at(max(self._end_at, self._loop.time() + LEAVING)):
                await self._components.database.in_service(self._reporter.publish)
                await self._components.database.in_service(self._membership.leave)
        except Exception as error:  # noqa: BLE001 - it has stopped all the same
            text = str(error) or "the database does not answer"
            log.warning("node %s could not strike itself off, so others will: %s", self.id, text)
            self._journals.close(self._environment.journal, keep=True)
        else:
            self._journals.close(self._environment.journal, keep=self._broken or bool(self._settler.unsettled))
            log.info("node %s has left", self.id)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING):
                await self._components.database.close_async()


def _post(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Call something on the loop from another thread, unless the loop is gone."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
