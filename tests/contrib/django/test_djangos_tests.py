"""Django's own tests of its tasks, run against Horae's backend.

They are a part of Django's source distribution, and not of what pip installs, so they run where `DJANGO_SOURCE` names
the folder of one: `pip download --no-deps --no-binary django django`, unpacked.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import django
import pytest

from tests.harness.node_processes import ROOT

SOURCE: Final = os.environ.get("DJANGO_SOURCE")

pytestmark = [
    pytest.mark.skipif(
        django.VERSION < (6,), reason="before Django 6 tasks are in the package django-tasks"
    ),
    pytest.mark.skipif(SOURCE is None, reason="DJANGO_SOURCE names no source of Django"),
]

REPLACED: Final = {
    "django.tasks.backends.dummy": "tests.contrib.django.djangos_tests.backends",
    "django.tasks.backends.immediate": "tests.contrib.django.djangos_tests.backends",
    # A database is behind this backend, and what others commit is seen.
    "SimpleTestCase": "TransactionTestCase",
}
BLOCKS: Final = "it reads a database in a coroutine without `await`, which tests of Django refuse"
NOT_APPLICABLE: Final = {
    "test_tasks.TaskTestCase": {
        "test_get_missing_result": BLOCKS,
        "test_refresh_result": BLOCKS,
    },
    "test_dummy_backend.DummyBackendTestCase": {
        "test_get_missing_result": BLOCKS,
        "test_refresh_result": "its results are in memory, where the test changes them",
        "test_refresh_result_async": "its results are in memory, where the test changes them",
    },
    "test_immediate_backend.ImmediateBackendTestCase": {
        "test_cannot_get_result": "it keeps no results",
        "test_cannot_refresh_result": "it keeps no results",
        "test_cannot_pass_run_after": "it cannot defer tasks",
        "test_complex_return_value": "the task fails as well, with another text",
        "test_throws_keyboard_interrupt": "it runs tasks in the thread that enqueues them",
    },
    "test_immediate_backend.ImmediateBackendTransactionTestCase": {
        "test_doesnt_wait_until_transaction_commit_by_default": "no node sees a task before the commit",
    },
}
"""Why some of them fail: mostly what only the backend has for which they are written."""


def test_djangos_tests_of_its_tasks_pass(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    for path in (Path(SOURCE or "") / "tests" / "tasks").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for before, after in REPLACED.items():
            text = text.replace(before, after)
        (folder / path.name).write_text(text, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "django", "test", "tasks", "--noinput"],
        cwd=tmp_path,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.contrib.django.djangos_tests.settings",
            "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    failed = set(re.findall(r"^(?:ERROR|FAIL): \w+ \(tasks\.([\w.]+)\)", ran.stderr, re.MULTILINE))
    expected = {f"{case}.{test}" for case, tests in NOT_APPLICABLE.items() for test in tests}
    assert failed == expected, ran.stderr
    counted = re.search(r"^Ran (\d+) tests", ran.stderr, re.MULTILINE)
    assert counted is not None, ran.stderr
    assert int(counted[1]) > 70
