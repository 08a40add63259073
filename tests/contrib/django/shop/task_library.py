"""The library of tasks that goes with the installed Django: its own from 6 on, django-tasks before."""

from importlib import import_module
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from django_tasks import TaskContext, TaskResultStatus, task, task_backends
    from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django_tasks.signals import task_enqueued, task_finished, task_started
else:
    NAME = "django_tasks" if django.VERSION < (6,) else "django.tasks"
    _tasks = import_module(NAME)
    _exceptions, _signals = import_module(f"{NAME}.exceptions"), import_module(f"{NAME}.signals")
    TaskContext, TaskResultStatus = _tasks.TaskContext, _tasks.TaskResultStatus
    task, task_backends = _tasks.task, _tasks.task_backends
    TaskResultDoesNotExist = _exceptions.TaskResultDoesNotExist
    TaskResultMismatch = _exceptions.TaskResultMismatch
    task_enqueued, task_finished = _signals.task_enqueued, _signals.task_finished
    task_started = _signals.task_started

__all__ = [
    "TaskContext",
    "TaskResultDoesNotExist",
    "TaskResultMismatch",
    "TaskResultStatus",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
