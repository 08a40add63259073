"""Gathers claimed jobs whose type takes several at a time, until their body is to be called.

A batch begins with jobs that were claimed like any others, in their turn. If that claim has left
jobs, more of the same type and queue are claimed for it alone, by the same statements. It is
complete with as many jobs as the type takes at once, or `within` after the first one was claimed;
then it waits for one slot. So what gathers is bounded, and takes no slot.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from horae.domain.jobs import Claim
from horae.runtime.claims.claimer import Claimer
from horae.storage.jobs import NextWork
from horae.types import Attempt, JobType, Registry

Kind: TypeAlias = tuple[str, str]
"""The type and the queue of the jobs of a batch."""


class Gathering:
    """The batches of one worker that have not begun. Times are on the monotonic clock."""

    def __init__(
        self, registry: Registry, types: Iterable[str], new_claimer: Callable[[Kind], Claimer]
    ) -> None:
        """`types`: those whose jobs the node claims; `new_claimer` claims jobs of one kind only."""
        self._registry, self._new_claimer = registry, new_claimer
        self._claimers: dict[Kind, Claimer] = {}
        self.waiting: dict[Kind, list[Attempt]] = {}
        """The attempts of each kind, those claimed first in front; no list is empty."""
        self.serve(types)

    def serve(self, types: Iterable[str]) -> None:
        """Gather jobs of those of these types that take several at a time."""
        self.types = frozenset(
            name
            for name in types
            if (kind := self._registry.find(name)) is not None and kind.batch is not None
        )
        """The types whose jobs gather."""

    def __iter__(self) -> Iterator[Attempt]:
        """Each job that waits for others."""
        for attempts in self.waiting.values():
            yield from attempts

    async def fill(self, claimed: Sequence[Claim], known: NextWork) -> Sequence[Claim]:
        """Claim more for the batches of jobs that were just claimed; raises database errors.

        `known`: the limits that the claim has observed.
        """
        new = Counter((claim.type, claim.queue) for claim in claimed if claim.type in self.types)
        more: list[Claim] = []
        for kind, number in new.items():
            size = self._registry.get(kind[0]).batch or 1
            lacking = -(number + len(self.waiting.get(kind, ()))) % size
            if lacking:
                claimer = self._claimers.get(kind)
                if claimer is None:
                    claimer = self._claimers[kind] = self._new_claimer(kind)
                claimer.known = known
                taken, _ = await claimer.claim(lacking, lacking)
                more += taken
        return more

    def take_in(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """Let the jobs of these types gather, and return the others."""
        others: list[Attempt] = []
        for attempt in attempts:
            claim = attempt.claim
            if claim.type in self.types:
                self.waiting.setdefault((claim.type, claim.queue), []).append(attempt)
            else:
                others.append(attempt)
        return others

    def take_complete(self, now: float) -> Sequence[Attempt]:
        """Return the jobs of a batch that is complete, and forget them; none if no batch is."""
        for kind, attempts in self.waiting.items():
            job_type: JobType[Any] = attempts[0].job_type
            size = job_type.batch or 1
            if len(attempts) >= size or now >= _complete_at(attempts):
                self._keep(kind, attempts[size:])
                return attempts[:size]
        return ()

    def next_change_at(self, now: float, most_wait: float) -> float:
        """Return when a batch is complete, or a complete one has waited for a slot for too long."""
        moments = [_complete_at(attempts) for attempts in self.waiting.values()]
        return min((at if at > now else at + most_wait for at in moments), default=math.inf)

    def take_stale(self, now: float, most_wait: float) -> list[Attempt]:
        """Return the jobs of batches that have waited for a slot for too long, and forget them."""
        return self.take_where(lambda attempts, _: now >= _complete_at(attempts) + most_wait)

    def take_where(self, is_taken: Callable[[Sequence[Attempt], Attempt], bool]) -> list[Attempt]:
        """Return the jobs for which `is_taken(batch, job)` is true, and forget them."""
        taken: list[Attempt] = []
        for kind, attempts in list(self.waiting.items()):
            chosen = {each for each in attempts if is_taken(attempts, each)}
            if chosen:
                taken += chosen
                self._keep(kind, [each for each in attempts if each not in chosen])
        return taken

    def _keep(self, kind: Kind, attempts: list[Attempt]) -> None:
        if attempts:
            self.waiting[kind] = attempts
        else:
            del self.waiting[kind]


def _complete_at(attempts: Sequence[Attempt]) -> float:
    """Return when a batch is complete, however many jobs it has."""
    job_type: JobType[Any] = attempts[0].job_type
    return attempts[0].began + job_type.gathers_for.total_seconds()
