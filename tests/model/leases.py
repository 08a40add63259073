"""The lease protocol and membership as a model: rows of jobs, nodes with what they hold, and every way they may act.

A node is one incarnation: it is registered, may stall and return, crash, and be declared dead. What it remembers of a
job (`Held`) may be out of date at any time, and only the lease on the row decides. `Job.begins`, `finishes` and `ended`
are not stored anywhere: they record the past for the invariants.

Claims of a job are bounded by `most_claims`, since nodes may claim and hand back for ever.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from tests.model.checker import Step

T = TypeVar("T")


class State(StrEnum):
    """The states of a job."""

    PENDING = "pending"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({State.FINISHED, State.FAILED, State.CANCELLED})


class Life(StrEnum):
    """The life of a node's process. A stalled one does nothing, and may continue as if no time had passed."""

    UNBORN = "unborn"
    LIVE = "live"
    STALLED = "stalled"
    GONE = "gone"


class Phase(StrEnum):
    """How far a node is with a job that it has claimed.

    `COUNTED`: not begun, but others had to assume that it has. The last two are results that are not written yet.
    """

    CLAIMED = "claimed"
    COUNTED = "counted"
    BEGUN = "begun"
    SUCCEEDED = "succeeded"
    RAISED = "raised"


class Job(NamedTuple):
    """The row of a job, and its past: bodies begun for counted attempts, commits of its end, its first final state."""

    state: State = State.PENDING
    lease: int = 0
    node: int | None = None
    attempt: int = 0
    begins: int = 0
    finishes: int = 0
    ended: State | None = None


class Held(NamedTuple):
    """What a node remembers of a claim."""

    lease: int
    phase: Phase


class Node(NamedTuple):
    """A node: its process, its row, and what it holds of each job. What it had begun is also in its journal."""

    life: Life = Life.UNBORN
    registered: bool = False
    held: tuple[Held | None, ...] = ()
    stalls: int = 0


class Cluster(NamedTuple):
    """A state of the model."""

    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards of the protocol; a mutation removes one."""

    settle_by_lease: bool = True
    settle_by_state: bool = True
    rescue_rechecks: bool = True
    cancel_keeps_node: bool = True
    claim_checks_state: bool = True
    claim_raises_lease: bool = True
    hand_back_by_lease: bool = True
    hand_back_unbegun_only: bool = True
    claim_is_no_start: bool = True
    release_by_lease: bool = True
    rescue_of_unlisted: bool = True
    find_lost_claims: bool = True
    attempts_are_limited: bool = True
    journal_of_ended_only: bool = True


GUARDED = Guards()


@dataclass(frozen=True, slots=True)
class LeaseModel:
    """The protocol within bounds. `ended_from_outside`: jobs may be cancelled and pass their limits at any time.

    `wrongly_declared`: also a node that works may be declared dead.
    """

    jobs: int = 1
    nodes: int = 3
    max_attempts: int = 2
    most_claims: int = 3
    most_stalls: int = 1
    ended_from_outside: bool = True
    wrongly_declared: bool = False
    guards: Guards = GUARDED

    def initial(self) -> Cluster:
        """Return pending jobs, and nodes that have not started."""
        return Cluster((Job(),) * self.jobs, (Node(held=(None,) * self.jobs),) * self.nodes)

    def next(self, state: Cluster) -> Iterator[Step[Cluster]]:
        """Yield every step that is possible."""
        for number, node in enumerate(state.nodes):
            yield from self._process_steps(state, number, node)
            if node.life is Life.LIVE:
                for job in range(self.jobs):
                    yield from self._own_steps(state, number, job)
                    yield from self._rescues(state, number, job)
        for at, row in enumerate(state.jobs):
            if self.ended_from_outside and row.state not in ENDED:
                yield self._end_from_outside(state, at, State.CANCELLED)
                yield self._end_from_outside(state, at, State.FAILED)

    def _process_steps(self, state: Cluster, number: int, node: Node) -> Iterator[Step[Cluster]]:
        """A process starts, stalls, continues, crashes, is declared dead, and notices that."""
        match node.life:
            case Life.UNBORN:
                yield from self._birth(state, number, node)
            case Life.LIVE:
                yield from self._interruptions(state, number, node)
            case Life.STALLED:
                yield self._with_node(
                    f"{number} continues", state, number, node._replace(life=Life.LIVE)
                )
                yield self._crash(state, number, node)
            case Life.GONE:
                pass
        if self._may_be_declared_dead(state, number, node):
            yield self._with_node(
                f"{number} is declared dead", state, number, node._replace(registered=False)
            )

    def _birth(self, state: Cluster, number: int, node: Node) -> Iterator[Step[Cluster]]:
        if all(
            earlier.life is not Life.UNBORN for earlier in state.nodes[:number]
        ):  # another order is the same
            born = node._replace(life=Life.LIVE, registered=True)
            yield self._with_node(f"{number} registers", state, number, born)

    def _interruptions(self, state: Cluster, number: int, node: Node) -> Iterator[Step[Cluster]]:
        if node.stalls < self.most_stalls:
            stalled = node._replace(life=Life.STALLED, stalls=node.stalls + 1)
            yield self._with_node(f"{number} stalls", state, number, stalled)._replace(fault=True)
        yield self._crash(state, number, node)
        if not node.registered:
            gone = node._replace(life=Life.GONE)
            yield self._with_node(f"{number} notices its death", state, number, gone)

    def _crash(self, state: Cluster, number: int, node: Node) -> Step[Cluster]:
        return self._with_node(
            f"{number} crashes", state, number, node._replace(life=Life.GONE)
        )._replace(fault=True)

    def _may_be_declared_dead(self, state: Cluster, number: int, node: Node) -> bool:
        if not node.registered or not any(
            each.life is Life.LIVE for at, each in enumerate(state.nodes) if at != number
        ):
            return False
        return node.life in {Life.STALLED, Life.GONE} or self.wrongly_declared

    def _own_steps(self, state: Cluster, number: int, at: int) -> Iterator[Step[Cluster]]:
        """A node claims a job, begins its body, ends it, and writes that."""
        job, held = state.jobs[at], state.nodes[number].held[at]
        if held is None:
            yield from self._claims(state, number, at)
            return
        match held.phase:
            case Phase.CLAIMED | Phase.COUNTED:
                begun = job if held.phase is Phase.COUNTED else job._replace(begins=job.begins + 1)
                yield self._with(
                    f"{number} begins {at}",
                    state,
                    number,
                    at,
                    begun,
                    held._replace(phase=Phase.BEGUN),
                )
                yield from self._hand_back(state, number, at, held)
            case Phase.BEGUN:
                for phase in (Phase.SUCCEEDED, Phase.RAISED):
                    yield self._with(
                        f"{number}'s body of {at} has {phase.value}",
                        state,
                        number,
                        at,
                        job,
                        held._replace(phase=phase),
                    )
                yield from self._requeue(state, number, at, held)
                yield from self._make_way(state, number, at, held)
                if not self.guards.hand_back_unbegun_only:
                    yield from self._hand_back(state, number, at, held)
            case Phase.SUCCEEDED | Phase.RAISED:
                yield self._settle(state, number, at, held)
        if held.phase not in {Phase.CLAIMED, Phase.COUNTED}:
            yield from self._release(state, number, at, held)

    def _claims(self, state: Cluster, number: int, at: int) -> Iterator[Step[Cluster]]:
        job = state.jobs[at]
        if job.node == number and self.guards.find_lost_claims:  # a claim whose reply was lost
            found = self._back(job) if job.state is State.STARTED else job._replace(node=None)
            yield self._with(
                f"{number} hands back {at}, which it does not know", state, number, at, found, None
            )
        free = job.state is State.PENDING or (
            job.state is State.STARTED and not self.guards.claim_checks_state
        )
        if not free or job.lease >= self.most_claims:
            return
        lease = job.lease + 1 if self.guards.claim_raises_lease else max(job.lease, 1)
        claimed = job._replace(
            state=State.STARTED, lease=lease, node=number, attempt=job.attempt + 1
        )
        yield self._with(
            f"{number} claims {at}", state, number, at, claimed, Held(lease, Phase.CLAIMED)
        )
        yield self._with(
            f"{number} claims {at}, and the reply is lost", state, number, at, claimed, None
        )

    def _hand_back(
        self, state: Cluster, number: int, at: int, held: Held
    ) -> Iterator[Step[Cluster]]:
        job = state.jobs[at]
        mine = job.lease == held.lease or not self.guards.hand_back_by_lease
        back = self._back(job) if job.state is State.STARTED and mine else job
        if job.state in ENDED and job.lease == held.lease and job.node == number:
            back = job._replace(node=None)  # ended before its body began: it is only released
        yield self._with(f"{number} hands back {at}", state, number, at, back, None)

    def _make_way(
        self, state: Cluster, number: int, at: int, held: Held
    ) -> Iterator[Step[Cluster]]:
        """A node stops its own body for the next run of a schedule, and settles it as cancelled."""
        job = state.jobs[at]
        if self.ended_from_outside and job.state is State.STARTED and job.lease == held.lease:
            ended = _end(job, State.CANCELLED)._replace(node=None)
            yield self._with(f"{number}'s body of {at} makes way", state, number, at, ended, None)

    def _requeue(self, state: Cluster, number: int, at: int, held: Held) -> Iterator[Step[Cluster]]:
        """An orderly stop: a body that may run again goes back with its attempt uncounted."""
        job = state.jobs[at]
        if self.max_attempts > 1 and job.state is State.STARTED and job.lease == held.lease:
            uncounted = self._back(job)._replace(begins=job.begins - 1)
            yield self._with(
                f"{number} stops its body of {at}, which goes back",
                state,
                number,
                at,
                uncounted,
                None,
            )

    def _settle(self, state: Cluster, number: int, at: int, held: Held) -> Step[Cluster]:
        job = state.jobs[at]
        mine = job.lease == held.lease or not self.guards.settle_by_lease
        right = job.state is State.STARTED or not self.guards.settle_by_state
        after = self._settled(job, held.phase) if mine and right else job
        keeps = not mine or not right  # it still has to be released, if it was ended meanwhile
        remembers = (
            held._replace(phase=Phase.BEGUN)
            if keeps and job.node == number and job.lease == held.lease
            else None
        )
        return self._with(f"{number} settles {at}", state, number, at, after, remembers)

    def _settled(self, job: Job, phase: Phase) -> Job:
        if phase is Phase.SUCCEEDED:
            return _end(job, State.FINISHED)._replace(node=None, finishes=job.finishes + 1)
        return self._failed_attempt(job)

    def _failed_attempt(self, job: Job) -> Job:
        if job.attempt < self.max_attempts or not self.guards.attempts_are_limited:
            return job._replace(state=State.PENDING, node=None)
        return _end(job, State.FAILED)._replace(node=None)

    def _release(self, state: Cluster, number: int, at: int, held: Held) -> Iterator[Step[Cluster]]:
        """A body stops because its job has ended, or belongs to another lease."""
        job = state.jobs[at]
        if job.lease == held.lease and job.state in ENDED and job.node == number:
            yield self._with(
                f"{number} releases {at}", state, number, at, job._replace(node=None), None
            )
        elif job.lease != held.lease or job.state is not State.STARTED:
            after = job if self.guards.release_by_lease else job._replace(node=None)
            yield self._with(f"{number}'s body of {at} stops", state, number, at, after, None)

    def _rescues(self, state: Cluster, number: int, at: int) -> Iterator[Step[Cluster]]:
        """Another node deals with a job of a node that was declared dead."""
        job = state.jobs[at]
        if job.node is None or job.node == number or state.nodes[job.node].registered:
            return
        if not self.guards.rescue_of_unlisted:
            return
        yield self._rescue(state, number, at, job.node)
        if not self.guards.rescue_rechecks:  # as if it had read the row before
            crashed = self._failed_attempt(job)._replace(lease=job.lease)
            yield self._with(
                f"{number} rescues {at} by what it read before", state, None, at, crashed, None
            )

    def _rescue(self, state: Cluster, number: int, at: int, owner: int) -> Step[Cluster]:
        """Decide by the journal of the dead node; as long as its process runs, all that it holds counts as begun."""
        job, node, action = state.jobs[at], state.nodes[owner], f"{number} rescues {at}"
        if job.state in ENDED:
            return self._with(action, state, None, at, job._replace(node=None), None)
        held = node.held[at]
        held = held if held is not None and held.lease == job.lease else None
        begun = held is not None and held.phase not in {Phase.CLAIMED, Phase.COUNTED}
        if begun or not self.guards.claim_is_no_start:
            succeeded = (
                held is not None and held.phase is Phase.SUCCEEDED and node.life is Life.GONE
            )
            after = self._settled(job, Phase.SUCCEEDED) if succeeded else self._failed_attempt(job)
            return self._with(action, state, None, at, after, None)
        if node.life is Life.GONE or not self.guards.journal_of_ended_only:
            return self._with(action, state, None, at, self._back(job), None)
        counted = self._failed_attempt(job._replace(begins=job.begins + 1))
        remembered = None if held is None else held._replace(phase=Phase.COUNTED)
        return self._with(action, state, owner, at, counted, remembered)

    def _end_from_outside(self, state: Cluster, at: int, final: State) -> Step[Cluster]:
        """A caller cancels a job, or it passes a time limit; the node stays until the body has stopped."""
        job = state.jobs[at]
        ended = _end(job, final)
        if not self.guards.cancel_keeps_node:
            ended = ended._replace(node=None)
        word = "is cancelled" if final is State.CANCELLED else "passes its limit"
        return self._with(f"{at} {word}", state, None, at, ended, None)

    def _back(self, job: Job) -> Job:
        return job._replace(state=State.PENDING, node=None, attempt=job.attempt - 1)

    def _with_node(self, action: str, state: Cluster, number: int, node: Node) -> Step[Cluster]:
        return Step(action, _normal(state.jobs, _replaced(state.nodes, number, node)))

    def _with(
        self, action: str, state: Cluster, number: int | None, at: int, job: Job, held: Held | None
    ) -> Step[Cluster]:
        nodes = state.nodes
        if number is not None:
            node = nodes[number]
            nodes = _replaced(nodes, number, node._replace(held=_replaced(node.held, at, held)))
        return Step(action, _normal(_replaced(state.jobs, at, job), nodes))

    def broken(self, state: Cluster) -> str | None:
        """Return which invariant a state violates."""
        for at, job in enumerate(state.jobs):
            for name, holds in INVARIANTS.items():
                if not holds(self, state, at, job):
                    return name
        return None

    def broken_step(self, before: Cluster, after: Cluster) -> str | None:
        """A lease never falls, and a start raises it."""
        for old, new in zip(before.jobs, after.jobs, strict=True):
            if new.lease < old.lease:
                return "the lease falls"
            if (
                new.state is State.STARTED
                and (old.state is not State.STARTED or new.node != old.node)
                and new.lease == old.lease
            ):
                return "a start keeps the lease"
        return None

    def is_done(self, state: Cluster) -> bool:
        """All jobs have ended and are released, or wait only because the bound of claims is reached, or no node is left."""
        if all(node.life is Life.GONE for node in state.nodes):
            return True
        return all(
            job.node is None
            and (
                job.state in ENDED or (job.state is State.PENDING and job.lease >= self.most_claims)
            )
            for job in state.jobs
        )


def _replaced(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _normal(jobs: tuple[Job, ...], nodes: tuple[Node, ...]) -> Cluster:
    """Return the state without what no step and no invariant reads any more, so that equal futures are one state."""
    owners = {job.node for job in jobs}
    return Cluster(
        jobs,
        tuple(
            Node(Life.GONE, held=(None,) * len(jobs))
            if node.life is Life.GONE and number not in owners
            else node
            for number, node in enumerate(nodes)
        ),
    )


def _end(job: Job, final: State) -> Job:
    return job._replace(state=final, ended=job.ended or final)


def _running(state: Cluster, at: int) -> list[int]:
    """List the nodes that run a body of a job, and have not been declared dead."""
    return [
        number
        for number, node in enumerate(state.nodes)
        if node.life is Life.LIVE
        and node.registered
        and (held := node.held[at]) is not None
        and held.phase is Phase.BEGUN
    ]


Invariant = Callable[[LeaseModel, Cluster, int, Job], bool]
INVARIANTS: dict[str, Invariant] = {
    "a job ends once, and stays as it ended": lambda model, state, at, job: (
        job.ended is None or job.state is job.ended
    ),
    "the end of a job commits exactly if it is finished": lambda model, state, at, job: (
        job.finishes == (job.state is State.FINISHED)
    ),
    "a pending job is held by no node, and a started one by one": lambda model, state, at, job: (
        job.node is None
        if job.state is State.PENDING
        else job.state is not State.STARTED or job.node is not None
    ),
    "two nodes that are not declared dead run no body of one job": lambda model, state, at, job: (
        len(_running(state, at)) <= 1
    ),
    "a job that no node holds runs nowhere, except where a death was not noticed": lambda model, state, at, job: (
        job.node is not None or not _running(state, at)
    ),
    "an attempt that counts has begun": lambda model, state, at, job: (
        job.state is not State.PENDING or 0 <= job.attempt <= job.begins
    ),
    "no more bodies begin than attempts are allowed": lambda model, state, at, job: (
        job.begins <= model.max_attempts
    ),
}
