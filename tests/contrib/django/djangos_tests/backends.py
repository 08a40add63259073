"""Horae's backend in the place of those that Django's tests are written for."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.db import connection
from typing_extensions import override

from horae import JobError, JobNotCancellable
from horae.contrib.django import horae
from horae.contrib.django.tasks import HoraeBackend
from horae.runtime.bodies import in_event_loop

if TYPE_CHECKING:
    from django_tasks.base import Task, TaskResult


class DummyBackend(HoraeBackend):
    """Has the list of results that Django's dummy backend has, read from the jobs."""

    def clear(self) -> None:
        """Delete all jobs."""
        for job in horae.jobs.list().jobs:
            with suppress(JobNotCancellable):
                horae.jobs.cancel(job.id)
            horae.jobs.delete(job.id)

    @property
    def results(self) -> "list[TaskResult[Any]]":
        """The results of all jobs, the oldest first; also in a coroutine, as a list would be."""
        if not in_event_loop():
            return self._all_results()
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(self._all_results).result()

    def _all_results(self) -> "list[TaskResult[Any]]":
        return [self.get_result(str(job.id)) for job in reversed(horae.jobs.list().jobs)]


class ImmediateBackend(HoraeBackend):
    """Lets a node run each task before `enqueue` returns, unless it is not committed yet."""

    @override
    def enqueue(self, task: "Task[..., Any]", args: Any, kwargs: Any) -> "TaskResult[Any]":
        result = super().enqueue(task, args, kwargs)
        if connection.in_atomic_block:
            return result
        with horae.node(concurrency=1).running(), suppress(JobError):
            horae.jobs.wait(int(result.id), timeout="20s")
        result.refresh()
        return result
