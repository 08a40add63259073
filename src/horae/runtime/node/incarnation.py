"""One incarnation of a node: assembles its services, runs them, and shuts them down in order."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from random import Random
from typing import Final

from typing_extensions import override

from horae.domain.jobs import BULK_QUEUE
from horae.errors import Unavailable
from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.resource_shortage import lacks_resource
from horae.runtime.backends import Dispatcher
from horae.runtime.bodies import KeptLogs, Reporter, RunEnvironment, RunMonitor, writer_to
from horae.runtime.claims import HeldJobs, Peers, Slots, Worker, Workers
from horae.runtime.components import Components, NodeOptions
from horae.runtime.controller import Controller
from horae.runtime.journal import Journals
from horae.runtime.liveness import Membership, Sweeper, membership_of, record_of
from horae.runtime.node.contact import post, watcher_for
from horae.runtime.node.deploying import Deploy, Deploying
from horae.runtime.node.executors import Executors
from horae.runtime.node.history_writer import HistoryWriter
from horae.runtime.node.schema_watch import SchemaWatch
from horae.runtime.node.served_types import ServedTypes
from horae.runtime.node.shutdown import Shutdown
from horae.runtime.node.waiting_jobs import name_misfits
from horae.runtime.settling import Completion, HookService, Settler
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses
from horae.storage.engine import first_line, first_of
from horae.storage.jobs import ClaimScope
from horae.types.hooks import Hooks
from horae.types.logs import set_node
from horae.wakeup import Hint, HintKind

HINTS_ADVICE: Final = (
    "set HORAE_HINTS_DATABASE to a URL that leads to the server directly, and hints arrive"
)
log = guarded_log("horae.runtime")


class Incarnation(BuiltAnewInChild):
    """A node from its registration to its end."""

    def __init__(
        self, components: Components, options: NodeOptions, deploy: Deploy, slots: Slots
    ) -> None:
        record = record_of(components.registry, options)
        self.id = record.id
        self._components, self._options, self._deploy, self._slots = (
            components,
            options,
            deploy,
            slots,
        )
        self._loop, self._timing = asyncio.get_running_loop(), options.timing
        self._rng = Random()
        self._log_writer = writer_to(components.database)
        self._environment = RunEnvironment(
            components.database,
            self.id,
            rng=self._rng,
            around=components.hooks.around,
            settlements=components.hooks.settlements,
            log_book=KeptLogs(self._log_writer, components.keep_logs),
        )
        self._journals = Journals(components.database, self._timing.journals, options.journal_dir)
        self.signals = Signals()
        self._reporter = Reporter(components.live, self._environment.journal)
        hooks = Hooks(components.database, components.registry)
        self._peers = Peers(
            components.database,
            self.id,
            components.wakeup,
            self.signals,
            self._timing.peers,
            self._rng,
        )
        self._hook_service = HookService(
            components.database,
            hooks,
            options.keep.total_seconds(),
            self._timing.hooks,
            self._peers.pace,
        )
        self._membership: Membership = membership_of(
            components.database, record, options.liveness, self._timing
        )
        self.schema = SchemaWatch(components.database, record.id, self._timing.schema_every)
        self._died = asyncio.Event()
        self._broken = True  # reset once it has ended in order
        self.lost: Unavailable | None = None
        """Why the database is gone for good, if it is."""
        self._end_at = 0.0

    async def run(self, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Register, work and always unregister, so that the node does not seem alive."""
        set_node(self.id)
        listening = ExitStack()
        try:
            await self._work(listening, stop, ready)
            await self._hook_service.finish(
                self._end_at - self._timing.shutdown.leaving - self._loop.time()
            )
            self._broken = False
        finally:
            if self._broken:
                self._worker.abandon()  # nothing is left to write the results of its bodies
            listening.close()
            self._hook_service.close()
            await self._leave()

    async def _work(self, listening: ExitStack, stop: asyncio.Event, ready: asyncio.Event) -> None:
        loop = self._loop
        async with asyncio.TaskGroup() as services:
            self._assemble(services)
            database = self._components.database
            watcher = watcher_for(
                loop, self.signals, self._worker.running, self._executors.threads, database
            )
            await database.in_service(partial(self._membership.join, watcher))
            await database.in_service(
                partial(self._journals.open, self._environment.journal, self.id)
            )
            listening.callback(
                self._components.wakeup.subscribe(partial(post, loop, self._on_hint))
            )
            log.info("node %s %s", self.id, self._options.work)
            if database.pooled:
                self._log_pooler()
            sweeping = self._start(
                services,
                {
                    "the sweeper": self._sweeper.run,
                    "the run monitor": self._run_monitor.run,
                    "the check of the file": self._watch_file,
                    "the check of the schema": self.schema.run,
                    "the refresh of calendars": self._deploying.refresh_calendars,
                    "the view of other nodes": self._peers.run,
                    "the hook service": self._hook_service.run,
                    "the dispatcher": self._dispatcher.run,
                    "the history": HistoryWriter(database, self._timing.history, self._rng).run,
                },
            )
            [settling] = self._start(services, {"the settler": self._settler.run})
            if self._options.scheduler:
                await self._deploying.deploy()
                sweeping += self._start(
                    services, {"the reading of schedules": self._deploying.reread_schedules}
                )
            served_types = ServedTypes(self._components, self.id, self._worker)
            sweeping += self._start(services, {"the registration of job types": served_types.run})
            taking_work: dict[str, Callable[[], Awaitable[None]]] = {}
            if self._options.scheduler:
                taking_work["the scheduler"] = self._controller.run
            if self._options.worker:
                check = partial(name_misfits, self._components)
                sweeping += self._start(services, {"the check of waiting jobs": check})
                self._executors.warm(self._components.registry)
                taking_work["the worker"] = self._worker.run
            working = self._start(services, taking_work)
            ready.set()
            reasons_to_end = [
                services.create_task(event.wait())
                for event in (stop, self._died, self.schema.found)
            ]
            await asyncio.wait(reasons_to_end, return_when=asyncio.FIRST_COMPLETED)
            listening.close()
            await self._shut_down(working, settling)
            for task in (*sweeping, *working, settling, *reasons_to_end):
                task.cancel()
            if self.lost is not None:
                settling.cancel()  # there is no database to write to

    def _log_pooler(self) -> None:
        """Log what the node does differently behind a pooler."""
        seconds = self._timing.worker.poll_without_hints.longest
        hints = (
            "hints do not pass it and arrive another way"
            if self._components.wakeup.listens
            else f"no hints, so the node polls for work every {seconds:g} s; {HINTS_ADVICE}"
        )
        log.warning(
            "node %s is behind a connection pooler: %s; %s",
            self.id,
            self._components.database.without_sessions,
            hints,
        )

    def adopt(self, schedule_ids: Collection[int]) -> None:
        """Own schedules that were created here until the next reload."""
        post(self._loop, self._controller.adopt, schedule_ids)

    @override
    def begin_in_child(self) -> None:
        """Release what belongs to the node and end its loop: a forked child is not a node."""
        self._membership.abandon()
        # The call runs only if a coroutine has forked and awaits something in the child. The loop
        # may be closed or, in debug mode, belong to another thread.
        with suppress(RuntimeError):
            self._loop.call_soon(os._exit, 0)

    def _start(
        self, services: asyncio.TaskGroup, runs: Mapping[str, Callable[[], Awaitable[None]]]
    ) -> list[asyncio.Task[None]]:
        return [
            services.create_task(sustain(name, run, self._timing.restart))
            for name, run in runs.items()
        ]

    def _assemble(self, services: asyncio.TaskGroup) -> None:
        components, signals, timing, rng = self._components, self.signals, self._timing, self._rng
        self._completion = Completion(
            services, components, signals, self._hook_service, self._reporter
        )
        self._settler = Settler(
            self._environment, signals, timing.settler, rng, self._membership.beat_within
        )
        self._held = HeldJobs(self._settler)
        self._executors = Executors(
            self._loop,
            self._environment,
            self._options,
            components.hooks,
            components.registry,
        )
        self._worker = Workers(
            components.registry, self._new_worker, self._slots, self._options.processes
        )
        self._run_monitor = RunMonitor(
            self.id,
            self._worker.running,
            self._reporter,
            components.live,
            components.database,
            signals.expired.send,
            timing.run_monitor,
        )
        self._controller = Controller(components.database, self.id, signals, timing.controller, rng)
        self._deploying = Deploying(components, self._options, self._deploy, self._controller)
        self._sweeper = Sweeper(
            components,
            self._options,
            self._membership,
            self._journals,
            signals,
            rng,
            self._peers.pace,
        )
        self._dispatcher = Dispatcher(components, signals, timing.dispatcher, rng, self._peers.pace)
        signals.node_suspected.connect(self._sweeper.suspect)
        signals.contact_regained.connect(self._run_monitor.on_regained)
        signals.declared_dead.connect(self._end_as_dead)

    def _new_worker(self, types: tuple[str, ...], slots: Slots) -> Worker:
        named = self._options.queues
        queues = None if named is None else (*named, BULK_QUEUE)
        return Worker(
            environment=self._environment,
            scope=ClaimScope(node=self.id, types=types, queues=queues),
            registry=self._components.registry,
            signals=self.signals,
            settler=self._settler,
            reporter=self._reporter,
            choose=self._executors.choose,
            slots=slots,
            wakeup=self._components.wakeup,
            peers=self._peers,
            held=self._held,
            timing=self._timing,
        )

    def _on_hint(self, hint: Hint) -> None:
        if hint.kind is HintKind.WORK:
            self._peers.receive(hint, has_room=self._worker.has_room)
        elif hint.kind is HintKind.ENDED:
            self._peers.receive_ended(hint)
        elif hint.kind is HintKind.SCHEDULES:
            self.signals.schedules_changed.send(hint.job_ids)
        elif hint.kind is HintKind.CANCEL:
            self._worker.drop(hint.job_ids)
            self._run_monitor.on_hint(hint)
        elif hint.kind is HintKind.NODES:
            self.signals.node_suspected.send()

    def _end_as_dead(self) -> None:
        log.error(
            "node %s was declared dead by another node; its jobs belong to others now", self.id
        )
        self._worker.abandon()
        self._died.set()

    async def _watch_file(self) -> None:
        """Stop everything if the SQLite file is gone: what bodies still write would be lost."""
        while self.lost is None:
            await asyncio.sleep(self._timing.file_every)
            try:
                await self._components.database.in_service(
                    partial(self._components.database.check_file, now=True)
                )
            except Unavailable as error:
                self.lost = error
                # The message is complete; a traceback would add nothing.
                log.error("node %s stops its bodies and ends: %s", self.id, error)
                self._worker.abandon()
                self._died.set()

    async def _shut_down(
        self, working: Sequence[asyncio.Task[None]], settling: asyncio.Task[None]
    ) -> None:
        grace = 0.0 if self._died.is_set() else self._options.grace.total_seconds()
        self._end_at = self._loop.time() + grace + self._timing.shutdown.after_grace
        self._controller.stop()
        self._worker.stop()
        self._executors.close_processes()
        timing = self._timing.shutdown
        shutdown = Shutdown(
            self.id, self._worker, self._settler, self._run_monitor, self.signals, timing
        )
        await shutdown.run(working, settling, grace, self._end_at - timing.leaving)
        self._executors.close()

    async def _leave(self) -> None:
        self._membership.stop()
        try:
            async with asyncio.timeout_at(
                max(self._end_at, self._loop.time() + self._timing.shutdown.leaving)
            ):
                await self._components.database.in_service(partial(self._log_writer.close, 0.3))
                await self._components.database.in_service(self._reporter.publish)
                await self._components.database.in_service(self._membership.leave)
        except Exception as error:  # noqa: BLE001 - the node has stopped all the same
            text = first_line(error) or "the database does not answer"
            log.warning(
                "node %s could not unregister; other nodes will remove it: %s", self.id, text
            )
            self._journals.close(self._environment.journal, keep=True)
        else:
            held = bool(self._settler.unsettled) or self._worker.may_hold_unknown_jobs
            self._journals.close(self._environment.journal, keep=self._broken or held)
            log.info("node %s has left", self.id)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.shutdown.leaving):
                await self._components.database.close_async()


async def sustain(name: str, service: Callable[[], Awaitable[None]], pauses: Pauses) -> None:
    """Run a service until it ends; if it fails for lack of a resource, restart it after a pause."""
    warning, pause = ThrottledWarning(), pauses.shortest
    while True:
        try:
            return await service()
        except (OSError, MemoryError, RuntimeError, ExceptionGroup) as error:
            if not lacks_resource(error):
                raise
            warning.warn(
                "%s failed for lack of a resource and is restarted: %s", name, first_of(error)
            )
        await asyncio.sleep(pause)
        pause = pauses.after(pause)
