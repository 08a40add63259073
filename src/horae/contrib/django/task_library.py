"""Which tasks a project uses: `django.tasks` of Django 6, or those of the package django-tasks."""

from importlib.util import find_spec
from typing import Final

from django.conf import settings

from horae.errors import ConfigurationError

BUILT_IN: Final = "django.tasks"
PACKAGE: Final = "django_tasks"


def task_library() -> str:
    """Return the module whose tasks run as jobs.

    A project that lists the package among its apps uses that one with Django 6 as well. Raises
    `ConfigurationError` if there is none.
    """
    if any(app.partition(".")[0] == PACKAGE for app in settings.INSTALLED_APPS):
        return PACKAGE
    found = next((name for name in (BUILT_IN, PACKAGE) if find_spec(name)), None)
    if found is None:
        raise ConfigurationError(
            "tasks need Django 6, or the package django-tasks: pip install django-tasks, and add"
            " 'django_tasks' to INSTALLED_APPS"
        )
    return found
