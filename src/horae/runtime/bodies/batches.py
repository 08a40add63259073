"""Runs the body of a batch: calls it once with several jobs, and ends each of them on its own.

Each job has its parameters loaded, `@horae.around` entered, and its entry in the journal, as if it
were alone. What fails before the body fails this job only, and the body is called without it. What
the body returns is the outcome of each job; what it raises is the outcome of all.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from horae.runtime.bodies.ending import begin, close, finish_returned, stopped_by
from horae.runtime.bodies.environment import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.forked_body import Forks
from horae.runtime.bodies.surroundings import Surroundings
from horae.runtime.bodies.values import load, stored_result, stored_result_of_coroutine
from horae.types import Attempt, JobContext
from horae.types.logs import logged_as


class _Run:
    """One call of a body, and how its jobs end. A job that is started alone is a batch of one."""

    def __init__(self, attempt: Attempt, environment: RunEnvironment) -> None:
        self._attempt, self._environment = attempt, environment
        self._members = (attempt,) if attempt.batch is None else attempt.batch.members
        self._forks = Forks.count
        self.ends: dict[Attempt, FinishedRun] = {}
        self.contexts = {member: JobContext(member) for member in self._members}
        self.around: dict[Attempt, Surroundings] = {}
        for member in self._members:
            member.begin()
        attempt.begin(environment.log_book)

    @property
    def ready(self) -> list[Attempt]:
        """The jobs that have not ended."""
        return [member for member in self._members if member not in self.ends]

    @contextmanager
    def ending(self, members: Sequence[Attempt]) -> Generator[None]:
        """End these jobs, unless they have ended, with what is raised within the block."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - code of the application may even exit
            for member in members:
                if member not in self.ends:
                    self.ends[member] = stopped_by(error, member, self._environment)

    def load(self) -> None:
        """Load the parameters of each job."""
        for member in self.ready:
            with self.ending([member]):
                load(member, self._environment.database)

    def surround(self, member: Attempt) -> Surroundings:
        """Return what surrounds a job; it counts as begun."""
        self._environment.journal.begin(member.claim)
        surroundings = self.around[member] = Surroundings(
            self._environment.around, member, self.contexts[member]
        )
        return surroundings

    def begin(self) -> list[JobContext[Any]]:
        """Record that the body begins, and return what it is called with."""
        for member in self.ready:
            with self.ending([member]):
                if member.order is not None:
                    raise member.order
        for member in self.ready:
            with self.ending([member]):
                begin(member, self._environment)
        called = self.ready
        if called and self._attempt.batch is not None:
            self._attempt.batch.called = called
        return [self.contexts[member] for member in called]

    def finish(self, member: Attempt, text: str | None) -> None:
        """Finish a job with a result as it is stored."""
        self.ends[member] = finish_returned(text, member, self._environment)

    def close(self) -> FinishedRun:
        """Return how the jobs have ended."""
        ends = [
            close(member, self.ends[member], self._forks, self._environment)
            for member in self._members
        ]
        if self._attempt.batch is None:
            return ends[0]
        together = FinishedRun(self._attempt.claim, None, batch=ends)
        return close(self._attempt, together, self._forks, self._environment)


def perform_batch(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run the body of a batch in this thread."""
    run = _Run(attempt, environment)
    outcomes: Iterable[Any] = ()
    with logged_as(attempt, environment.node):
        run.load()
        for member in run.ready if environment.around else ():
            with run.ending([member]):
                run.surround(member).enter()
        contexts, called = run.begin(), run.ready
        with run.ending(called):
            returned = attempt.job_type.run_batch(contexts) if contexts else None
            outcomes = outcomes_in(returned, called)
        for member, outcome in zip(called, outcomes, strict=False):
            with run.ending([member]):
                if isinstance(outcome, BaseException):
                    raise outcome
                member.check_end()
                run.finish(member, stored_result(outcome, member))
        for member, surroundings in reversed(run.around.items()):
            run.ends[member] = surroundings.leave(run.ends[member])
    return run.close()


async def perform_batch_async(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run the coroutine body of a batch in this task."""
    run = _Run(attempt, environment)
    outcomes: Iterable[Any] = ()
    with logged_as(attempt, environment.node):
        with run.ending(run.ready):
            await environment.database.in_thread(run.load)
        for member in run.ready if environment.around else ():
            with run.ending([member]):
                await run.surround(member).enter_async()
        contexts, called = run.begin(), run.ready
        with run.ending(called):
            returned = await attempt.job_type.run_batch(contexts) if contexts else None
            outcomes = outcomes_in(returned, called)
        for member, outcome in zip(called, outcomes, strict=False):
            with run.ending([member]):
                if isinstance(outcome, BaseException):
                    raise outcome
                member.check_end()
                text = await stored_result_of_coroutine(outcome, member, environment.database)
                run.finish(member, text)
        for member, surroundings in reversed(run.around.items()):
            run.ends[member] = await surroundings.leave_async(run.ends[member])
    return run.close()


def outcomes_in(returned: Any, called: Sequence[Attempt]) -> Iterable[Any]:
    """Return the outcome of each job in what its body has returned.

    Raises `TypeError` if it has not returned one for each.
    """
    if returned is None:
        return [None] * len(called)
    if isinstance(returned, Mapping):
        if unknown := returned.keys() - {member.claim.id for member in called}:
            raise TypeError(
                f"the body returned an outcome for {next(iter(unknown))!r}, expected the ids of"
                " its jobs as keys"
            )
        return [returned.get(member.claim.id) for member in called]
    if not isinstance(returned, Sequence) or isinstance(returned, str | bytes):
        raise TypeError(
            f"the body of a batch returned {type(returned).__name__}, expected a list with the"
            " outcome of each job, a mapping from their ids, or None"
        )
    # A sequence of the application's own may raise when it is read, as one that loads rows does.
    outcomes = list(returned)
    if len(outcomes) != len(called):
        raise TypeError(f"the body returned {len(outcomes)} outcomes for {len(called)} jobs")
    return outcomes
