"""`horae import celery`: an application's tasks and schedules as code that compiles and registers."""

import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import Backoff, ConfigurationError
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.moving import read_application, written
from horae.contrib.celery.moving.reading import field_of
from horae.domain.cron import CronExpression

SHOP: Final = """
from celery import Celery, Task
from celery.schedules import crontab
from celery.signals import task_prerun, worker_ready

app = Celery("shop", broker="redis://nowhere.invalid/0")
app.conf.update(
    timezone="Europe/Berlin",
    task_soft_time_limit=600,
    task_time_limit=660,
    task_routes={"*.export_*": {"queue": "exports"}},
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
)


class Notifying(Task):
    def on_failure(self, *more, **named): ...


@app.task(shared=False, name="tasks.purge")
def purge(days: int) -> str:
    '''Delete what is "old".'''
    return f"purged {days}"


@app.task(shared=False, bind=True, max_retries=5, default_retry_delay=20, rate_limit="10/m")
def fetch(self, url, *, owner="x"):
    try:
        return url
    except OSError as error:
        raise self.retry(exc=error)


@app.task(
    shared=False, base=Notifying, autoretry_for=(ConnectionError, TimeoutError), retry_backoff=2,
    retry_kwargs={"max_retries": 4}, dont_autoretry_for=(ConnectionRefusedError,), acks_late=True,
)
def export_orders(year: int, columns=(), *more, fmt: str = "csv", job=3, **rest) -> str:
    return f"{year} {columns} {fmt} {job}"


@app.task(shared=False, name="others.purge", priority=3, rate_limit=0.5, expires=3600, time_limit=5)
def purge_all(): ...


@app.task(shared=False, bind=True, autoretry_for=(ConnectionError,))
def pull(self, times: int):
    raise self.retry(countdown=times)


@app.register_task
class Double(app.Task):
    name = "double"

    def run(self, number):
        return 2 * number


def made_within():
    @app.task(shared=False, name="within")
    def hidden(x): ...


made_within()


@task_prerun.connect
def audit(**named): ...


@worker_ready.connect
def greet(**named): ...


app.conf.beat_schedule = {
    "nightly": {"task": "tasks.purge", "schedule": crontab(hour=3, minute=0), "kwargs": {"days": 3}},
    "purge": {"task": "tasks.purge", "schedule": crontab("*/15", "8-17", "mon-fri"), "args": (1,)},
    "first monday": {
        "task": "tasks.purge", "schedule": crontab(0, 6, 1, "1-7"), "args": (1,)
    },
    "rates": {"task": f"{__name__}.fetch", "schedule": 30.0, "args": ("u",),
              "options": {"expires": 10, "queue": "slow"}},
    "tasks.purge": {"task": "tasks.purge", "schedule": 60, "args": (object(),), "relative": True},
    "gone": {"task": "no.such", "schedule": 60},
    "dusk": {"task": "tasks.purge", "schedule": "at dusk"},
}
"""
NAME: Final = "shop_with_celery"
Celery: Final = celery_module("celery").Celery


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a Celery application in the module NAME, which can be imported."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / f"{NAME}.py").write_text(SHOP)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder
    sys.modules.pop(NAME, None)


@pytest.fixture(scope="module")
def code(folder: Path) -> str:
    return code_of(importlib.import_module(NAME).app, f"{NAME}:app")


def imported(name: str, code: str) -> ModuleType:
    spec = importlib.util.spec_from_loader(name, loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(code, f"{name}.py", "exec"), module.__dict__)  # the code that a user would paste
    return module


def code_of(app: Any, name: str = "shop:app") -> str:
    return written(read_application(app, name))


@pytest.fixture(scope="module")
def jobs(code: str) -> ModuleType:
    return imported("jobs_of_shop", code)


def test_each_task_is_a_job_type_with_its_options(jobs: ModuleType) -> None:
    types = {job_type.type: job_type for job_type in jobs.horae.registry}
    fetch = types[f"{NAME}.fetch"]
    assert fetch.max_attempts == 6
    assert fetch.backoff == Backoff(base="20s", cap="20s", factor="constant")
    assert (fetch.soft_time_limit, fetch.grace) == ("10m", "1m")
    assert [limit.numbers.text for limit in fetch.limits] == ["10 per minute, burst 10"]
    export = types[f"{NAME}.export_orders"]
    assert (export.queue, export.max_attempts) == ("exports", 5)
    assert export.retry_on == (ConnectionError, TimeoutError)
    assert export.give_up_on == (ConnectionRefusedError,)
    assert export.backoff == Backoff(base="2s", cap="10m", jitter=1.0)
    rare = types["others.purge"]
    assert [limit.numbers.text for limit in rare.limits] == ["1 per 2 seconds, burst 1"]
    assert (rare.priority, rare.expires) == (-3, "1h")
    # The limit of the task is below the soft one of the application, so it ends the body.
    assert (rare.soft_time_limit, rare.grace) == ("5s", "0s")
    pull = types[f"{NAME}.pull"]
    assert (pull.max_attempts, pull.retry_on) == (4, None)  # what `self.retry` raises is retried
    assert types["tasks.purge"].max_attempts == 1  # it neither retries nor is retried


def test_each_function_calls_the_code_of_its_task(jobs: ModuleType) -> None:
    assert jobs.purge(2) == "purged 2"
    assert jobs.export_orders(2026, columns=["a"]) == "2026 ['a'] csv 3"
    assert jobs.fetch("u", owner_="ada") == "u"
    assert jobs.Double(4) == 8
    assert "executed by workers" not in str(jobs.Double.__doc__)
    with pytest.raises(NotImplementedError, match="within"):
        jobs.hidden(1)


def test_entries_are_schedules(jobs: ModuleType) -> None:
    schedules = {schedule.name: schedule for schedule in jobs.horae.declared}
    assert schedules["nightly"].rules.trigger.text == "0 3 * * *"
    assert schedules["nightly"].rules.trigger.expression.timezone == "Europe/Berlin"
    assert schedules["purge"].rules.trigger.text == "*/15 8-17 * * 1-5"
    assert schedules["rates"].queue == "slow"
    assert schedules["rates"].max_attempts == 6
    assert "tasks.purge (schedule)" in schedules
    assert "dusk" not in schedules
    [excluded] = schedules["first monday"].rules.exclude
    assert "not_for_first_monday" in str(excluded)
    assert not jobs.not_for_first_monday(date(2026, 11, 2))  # a Monday
    assert jobs.not_for_first_monday(date(2026, 11, 1))


def test_what_has_no_counterpart_is_a_comment(code: str) -> None:
    comments = "\n".join(line for line in code.splitlines() if line.startswith("# "))
    for said in (
        "django_celery_beat",
        "*more",
        "**rest",
        "on_failure",
        "acks_late",
        "all nodes together",
        "expires=10",
        "relative=True",
        "no task 'no.such'",
        "beat_schedule['dusk'] is not written",
        "its schedule is of type str",
        "default of columns is not JSON",
        "arguments are not JSON",
        "owner is a name of Horae's",
        "self.retry",
        "0 is Celery's highest priority",
        f"{NAME}.audit at the signal task_prerun. Instead: @horae.around",
        f"{NAME}.greet at the signal worker_ready.",
        "does not count under the limits of fetch",
    ):
        assert said in comments, said


def test_a_task_that_is_named_like_a_type_does_not_hide_it() -> None:
    app = Celery("shop", set_as_current=False)

    def number(value: int) -> None: ...

    number.__name__ = number.__qualname__ = "int"
    app.task(number, shared=False, name="shop.int")
    assert "\ndef shop_int(value: int) -> Any:\n" in code_of(app)


def test_the_command_prints_it(folder: Path) -> None:
    def said(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "horae", "import", "celery", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    printed = said(f"{NAME}:app", "--json")
    assert json.loads(printed.stdout)["code"].startswith('"""The jobs and schedules of'), printed
    refused = said(f"{NAME}:purge")
    assert refused.returncode == 2
    assert "not a Celery application" in refused.stderr


def test_what_is_no_application_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is of type int, not a Celery application"):
        read_application(3, "shop:app")


def test_a_broken_module_of_tasks_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_tasks.py").write_text("import json\nimport missing_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    app = Celery("shop", include=["broken_tasks"], set_as_current=False)
    with pytest.raises(ConfigurationError, match="a module that shop:app includes") as caught:
        read_application(app, "shop:app")
    assert str(caught.value).endswith(
        f"ModuleNotFoundError: No module named 'missing_library' at {tmp_path}/broken_tasks.py:2"
    )


def test_an_empty_application_is_written() -> None:
    app = Celery("empty", set_as_current=False)
    assert list(imported("empty_jobs", code_of(app)).horae.registry) == []


def test_settings_that_hold_for_all_tasks_are_comments() -> None:
    app = Celery("late", set_as_current=False)
    app.conf.update(task_acks_late=True, task_ignore_result=True)
    code = code_of(app)
    assert "# task_acks_late=True: max_attempts=2 or more" in code
    assert "# task_ignore_result=True: results are kept" in code


def test_what_horae_refuses_is_a_comment_and_the_code_registers() -> None:
    app = Celery("odd", set_as_current=False)
    crontab: Any = celery_module("celery.schedules").crontab

    class Shown:
        def __repr__(self) -> str:
            return "two\nlines"

    class Local(Exception): ...

    def work(self: int = 1) -> None:
        """One \x01 line."""

    declared: dict[str, dict[str, Any]] = {
        "line\nbreak": {},
        "x" * 300: {},
        "never": {"expires": 0},
        "negative": {"autoretry_for": (OSError,), "max_retries": -1},
        "local": {"autoretry_for": (Local, OSError)},
        "urgent": {"priority": 10**12},
        "named": {"queue": "a\nb"},
    }
    for name, options in declared.items():
        app.task(shared=False, name=name, **options)(work)
    at = {"task": "never", "schedule": 60}
    app.conf.beat_schedule = {
        "february": {**at, "schedule": crontab(0, 0, "*", 31, 2)},
        "options": {**at, "options": {"expires": Shown(), "queue": "", "a\nb": 1}},
        "named": {**at, "kwargs": {"a b": 1}},
        "new\nline": at,
        7: at,
    }
    code = code_of(app)
    jobs = imported("odd_jobs", code)
    types = {kind.type: kind for kind in jobs.horae.registry}
    assert types["local"].retry_on == (OSError,)
    assert types["negative"].max_attempts == 1
    assert {"7", "named (schedule)", "options"} < {each.name for each in jobs.horae.declared}
    comments = "\n".join(line for line in code.splitlines() if line.startswith("# "))
    for said in ("it can never fire", "expires=two lines", "Local is no name of", "priority is 10"):
        assert said in comments, said


def test_names_that_are_alike_stay_apart() -> None:
    app = Celery("twins", set_as_current=False)

    def date() -> None: ...

    for name in ("a.class", "b.class", "Horae", "a class", "1"):
        app.task(shared=False, name=name)(date)
    jobs = imported("twin_jobs", code_of(app))
    assert sorted(kind.type for kind in jobs.horae.registry) == [
        "1", "Horae", "a class", "a.class", "b.class",
    ]  # fmt: skip


@given(
    minutes=st.sets(st.integers(0, 59), min_size=1), hours=st.sets(st.integers(0, 23), min_size=1)
)
def test_a_field_means_its_values(minutes: set[int], hours: set[int]) -> None:
    cron = CronExpression.parse(
        f"{field_of(minutes, range(60))} {field_of(hours, range(24))} * * *"
    )
    fires = cron.upcoming(
        datetime(2026, 1, 1, tzinfo=UTC), len(minutes) * len(hours), inclusive=True
    )
    assert [(at.hour, at.minute) for at in fires] == [
        (hour, minute) for hour in sorted(hours) for minute in sorted(minutes)
    ]


def test_fields_are_short() -> None:
    assert field_of(range(1, 32), range(1, 32)) == "*"
    assert field_of({1, 4, 7, 10}, range(1, 13)) == "*/3"
    assert field_of({1, 2, 3, 5, 6}, range(7)) == "1-3,5,6"
