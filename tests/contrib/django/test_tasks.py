"""Tasks of Django that run as jobs."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from horae import ConfigurationError
from horae.contrib.django import DjangoHorae, task_library
from horae.contrib.django.tasks import HoraeBackend, class_path
from horae.types.documentation import description_of
from tests.contrib.django.shop import tasks
from tests.contrib.django.shop.task_library import (
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from tests.harness.nodes import running_node, until

pytestmark = pytest.mark.one_database


@pytest.fixture
def signals() -> Any:
    """The signals that were sent, as their name and the status of the task."""
    seen = list[tuple[str, str]]()
    named = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    receivers = []
    for name, signal in named.items():

        def note(task_result: Any, name: str = name, **_: Any) -> None:
            seen.append((name, task_result.status))

        signal.connect(note)
        receivers.append((signal, note))
    yield seen
    for signal, note in receivers:
        signal.disconnect(note)


async def ended(result: Any) -> Any:
    await until(lambda: result.refresh() or result.is_finished)
    return result


async def test_a_task_runs_as_a_job(horae: DjangoHorae, signals: Any) -> None:
    result = tasks.add.enqueue(1, second=2)
    assert (result.status, result.args, result.kwargs) == ("READY", [1], {"second": 2})
    [job] = horae.jobs.list().jobs
    assert (job.type, job.priority) == ("tests.contrib.django.shop.tasks.add", 3)
    async with running_node(horae):
        await ended(result)
        assert result.return_value == 3
        assert result.attempts == 1
        moments = [result.enqueued_at, result.started_at, result.finished_at]
        assert None not in moments
        assert moments == sorted(moments)  # type: ignore[type-var]
        later = await tasks.add_later.aenqueue(1, 2)
        assert (await ended(later)).return_value == 3
    assert signals == 2 * [
        ("enqueued", "READY"),
        ("started", "RUNNING"),
        ("finished", "SUCCESSFUL"),
    ]


async def test_a_failure_has_its_class_and_its_traceback(horae: DjangoHorae, signals: Any) -> None:
    result = tasks.fail.enqueue("system")
    async with running_node(horae):
        await ended(result)
    [error] = result.errors
    assert error.exception_class is LookupError
    assert "os.system: no" in error.traceback
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value
    assert signals[-1] == ("finished", "FAILED")


@pytest.mark.parametrize("task", [tasks.leave, tasks.unstorable, tasks.unstorable_later])
async def test_the_signal_tells_how_the_job_ends(
    horae: DjangoHorae, signals: Any, task: Any
) -> None:
    """Also if the task exits, or returns what cannot be stored."""
    result = task.enqueue()
    async with running_node(horae):
        await ended(result)
    assert signals[-1] == ("finished", "FAILED")
    assert result.errors[0].exception_class in (SystemExit, TypeError)


def test_a_task_is_part_of_the_transaction(horae: DjangoHorae) -> None:
    with transaction.atomic():
        result = tasks.echo.enqueue("x")
        assert tasks.echo.get_result(result.id).args == ["x"]
        transaction.set_rollback(True)
    with pytest.raises(TaskResultDoesNotExist):
        tasks.echo.get_result(result.id)
    assert horae.jobs.list().jobs == []


def test_a_task_is_described_by_its_function(horae: DjangoHorae) -> None:
    job_type = horae.registry.get(tasks.echo.module_path)
    assert description_of(job_type) == "Return a value."


def test_a_task_may_be_deferred(horae: DjangoHorae) -> None:
    then = timezone.now() + timedelta(days=1)
    result = tasks.echo.using(run_after=then, priority=-7).enqueue("x")
    [job] = horae.jobs.list().jobs
    assert (job.run_at, job.priority) == (then, -7)
    found = tasks.echo.get_result(result.id)
    assert found.task == tasks.echo.using(run_after=then, priority=-7)
    with pytest.raises(TaskResultMismatch):
        tasks.add.get_result(result.id)


def test_a_result_is_found_although_its_task_may_not_be_so_any_more(horae: DjangoHorae) -> None:
    """The queue is none of the backend's, and no task may have this priority."""
    job = horae.jobs.start(
        tasks.echo.module_path, queue="of-an-older-version", priority=500, args=["x"], kwargs={}
    )
    found = tasks.echo.get_result(str(job.id))
    assert (found.task, found.args) == (tasks.echo, ["x"])


@pytest.mark.parametrize("unknown", ["", "x", "-1", "\u0661", "9" * 40, "12"])
def test_an_unknown_result_does_not_exist(horae: DjangoHorae, unknown: str) -> None:
    del horae
    with pytest.raises(TaskResultDoesNotExist):
        tasks.echo.get_result(unknown)


def test_what_is_no_json_is_refused(horae: DjangoHorae) -> None:
    with pytest.raises(TypeError):
        tasks.echo.enqueue(object())
    assert horae.jobs.list().jobs == []


def test_a_cancelled_task_has_failed(horae: DjangoHorae) -> None:
    result = tasks.echo.enqueue("x")
    horae.jobs.cancel(int(result.id))
    result.refresh()
    assert result.status is TaskResultStatus.FAILED


def test_options_that_tasks_cannot_have_are_named() -> None:
    assert isinstance(task_backends["default"], HoraeBackend)
    with pytest.raises(ConfigurationError, match=r"@horae\.job\(isolation"):
        HoraeBackend("default", {"OPTIONS": {"isolation": "process"}})


@pytest.mark.parametrize(
    ("apps", "installed", "library"),
    [
        (["django_tasks.apps.TasksAppConfig"], ["django.tasks", "django_tasks"], "django_tasks"),
        (["shop"], ["django.tasks", "django_tasks"], "django.tasks"),
        (["shop"], ["django_tasks"], "django_tasks"),
    ],
)
def test_a_project_says_by_its_apps_which_tasks_it_uses(
    apps: list[str], installed: list[str], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_library, "find_spec", lambda name: name in installed)
    monkeypatch.setattr(settings, "INSTALLED_APPS", apps)
    assert task_library.task_library() == library


def test_a_project_without_any_tasks_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_library, "find_spec", lambda _name: None)
    monkeypatch.setattr(settings, "INSTALLED_APPS", ["shop"])
    with pytest.raises(ConfigurationError, match="pip install django-tasks"):
        task_library.task_library()


@pytest.mark.parametrize(
    ("error", "traceback", "path"),
    [
        ("ValueError: no", "Traceback …\nValueError: no\n", "builtins.ValueError"),
        ("E: a\nb.C: d", "Traceback …\nshop.errors.E: a\nb.C: d\n", "shop.errors.E"),
        ("E: no", "Traceback …\nos.system('x').E: no", "builtins.Exception"),
        ("the node has died", "", "builtins.Exception"),
    ],
)
def test_the_class_of_an_error(error: str, traceback: str, path: str) -> None:
    assert class_path(error, traceback) == path
