"""The workers of one node: one for all jobs, or another one with its own slots for child processes.

Each claims for its own free slots only, so that jobs of one kind, however many are due, take no
slot of the other.
"""

import asyncio
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from horae.domain.jobs import JobId
from horae.runtime.claims.slots import Slots
from horae.runtime.claims.worker import Worker
from horae.types import Attempt, Registry

NewWorker: TypeAlias = Callable[[tuple[str, ...], Slots], Worker]


class Workers:
    """Act as one worker for the other services of a node."""

    def __init__(
        self, registry: Registry, new_worker: NewWorker, slots: Slots, processes: int | None
    ) -> None:
        """`slots`: the slots of jobs that `processes` does not count."""
        self._registry = registry
        self._has_own_processes = processes is not None
        own = [] if processes is None else [Slots(processes)]
        parts = self._parts(registry.claimable)
        self._workers = [
            new_worker(types, its) for types, its in zip(parts, [slots, *own], strict=True)
        ]
        first, *others = [worker.running for worker in self._workers]
        self.running: Mapping[JobId, Attempt] = ChainMap(first, *others) if others else first

    def _parts(self, types: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the types of each worker."""
        if not self._has_own_processes:
            return [types]
        kinds = [self._registry.get(name).isolation == "process" for name in types]
        return [
            tuple(name for name, kind in zip(types, kinds, strict=True) if kind is wanted)
            for wanted in (False, True)
        ]

    async def run(self) -> None:
        """Claim jobs and start bodies until stopped."""
        async with asyncio.TaskGroup() as group:
            for worker in self._workers:
                group.create_task(worker.run())

    def serve(self, types: tuple[str, ...]) -> None:
        """Claim jobs of these types from now on."""
        for worker, its in zip(self._workers, self._parts(types), strict=True):
            worker.serve(its)

    def stop(self) -> None:
        """Claim no more; `run` hands back the jobs that have not begun, and ends."""
        for worker in self._workers:
            worker.stop()

    @property
    def has_room(self) -> bool:
        """Return whether one of the workers would claim jobs now."""
        return any(worker.has_room for worker in self._workers)

    @property
    def may_hold_unknown_jobs(self) -> bool:
        """Whether a claim without an answer may still take effect."""
        return any(worker.may_hold_unknown_jobs for worker in self._workers)

    def drop(self, job_ids: Collection[JobId]) -> None:
        """Hand back prefetched jobs that are being cancelled; their bodies never begin."""
        for worker in self._workers:
            worker.drop(job_ids)

    def give_up(self) -> None:
        """Settle bodies that ignore every order as interrupted."""
        for worker in self._workers:
            worker.give_up()

    def abandon(self) -> None:
        """Stop everything without settling it."""
        for worker in self._workers:
            worker.abandon()
