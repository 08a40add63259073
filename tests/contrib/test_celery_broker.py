"""What is sent through the broker of a Celery application, and what its workers keep about it."""

import importlib
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from horae import Horae
from horae.contrib.celery import setup, task_type
from horae.contrib.celery.broker import NO_LIMIT, RUN_JOB, CeleryBackend, queue_of
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.tasks import percentage_in
from horae.contrib.celery.workarounds import forget_ended_timers
from horae.domain.jobs.job import JobId
from horae.errors import ConfigurationError, JobTypeAlreadyRegistered
from horae.storage.engine.database import Database
from horae.types.backends import Message
from tests.harness.applications import url_of
from tests.harness.redis import RedisServer
from tests.runtime.test_dispatching import found_by_doctor


def messages_in(broker: RedisServer, queue: str) -> list[Any]:
    with Redis.from_url(broker.url()) as client:
        return [json.loads(text) for text in reversed(client.lrange(queue, 0, -1))]


@pytest.mark.parametrize("at_a_time", [True, False])
def test_messages_arrive_in_order(
    broker: RedisServer, monkeypatch: pytest.MonkeyPatch, *, at_a_time: bool
) -> None:
    app = celery_module("celery").Celery("sender", broker=broker.url())
    if not at_a_time:  # as before Kombu 5.7
        monkeypatch.delattr("kombu.messaging.Producer.batch", raising=False)
    backend = CeleryBackend(app, "export")
    backend.send(
        "export", [Message(JobId(number), 7.5 if number == 3 else None) for number in range(120)]
    )
    backend.send("export", [Message(JobId(120), None)])
    sent = messages_in(broker, "export")
    assert [json.loads(message["headers"]["argsrepr"].strip("(),")) for message in sent] == list(
        range(121)
    )
    limits = [message["headers"]["timelimit"] for message in sent]
    assert limits == [[7.5 if number == 3 else NO_LIMIT] * 2 for number in range(121)]
    assert backend.depth("export") == 121


@pytest.mark.parametrize(
    "settings",
    [
        {
            "task_routes": {
                "*": {"exchange": "media", "exchange_type": "topic", "routing_key": "video"}
            }
        },
        {"task_routes": {"horae.*": {"queue": "elsewhere"}}},
        {"task_default_exchange": "all", "task_default_exchange_type": "fanout"},
        {"task_create_missing_queues": False},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_messages_arrive_whatever_the_routes_of_other_tasks_are(
    broker: RedisServer, settings: dict[str, Any]
) -> None:
    app = celery_module("celery").Celery("sender", broker=broker.url())
    app.conf.update(settings)
    backend = CeleryBackend(app, "export")
    backend.send("export", [Message(JobId(1), None)])
    assert backend.depth("export") == 1


def test_a_queue_stays_as_the_application_defines_it() -> None:
    kombu = celery_module("kombu")
    own = kombu.Queue("export", kombu.Exchange("media", "topic"), routing_key="export.#")
    app = celery_module("celery").Celery("sender", broker="memory://")
    app.conf.task_queues = [own]
    assert queue_of(app, "export") is own


def test_a_usual_rate_of_tasks_does_not_hold_for_jobs() -> None:
    app = celery_module("celery").Celery("shop", broker="memory://")
    app.conf.task_default_rate_limit = "1/m"
    with closing(Horae("sqlite://")) as horae:
        setup(app, horae)
        assert not app.tasks[RUN_JOB].rate_limit


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"accept_content": ["pickle", "yaml"]},
            "writes messages as .json. .* accept only .pickle., .yaml. .*; add .json. to accept_content",
        ),
        (
            {"task_serializer": "pickle"},
            "writes messages as 'pickle' .* accept only 'json' .*; add 'pickle'",
        ),
        ({"accept_content": []}, "writes messages as 'json' .* accept only none"),
        (
            {"task_serializer": "xml"},
            "task_serializer='xml', and there is no such serializer, .* expected one of json",
        ),
    ],
)
async def test_messages_that_workers_would_reject(
    sqlite_database: Database, settings: dict[str, Any], problem: str
) -> None:
    app = celery_module("celery").Celery("shop", broker="memory://")
    with closing(Horae(url_of(sqlite_database))) as horae:
        horae.job(name="export", backend="celery")(lambda: None)
        setup(app, horae)
        app.conf.update(settings)  # as an application may that reads its settings after that
        with pytest.raises(ConfigurationError, match=problem):
            await horae.node().run()
        [(level, message)] = found_by_doctor(horae)
        assert level == "problem"
        assert re.search(problem, message)


@pytest.mark.parametrize(
    "settings",
    [
        {"accept_content": ["application/json"]},
        {"accept_content": None},
        {"accept_content": ["pickle"], "task_serializer": "pickle"},
        {"accept_content": ["json", "not installed"]},
    ],
)
def test_messages_that_workers_accept(settings: dict[str, Any]) -> None:
    app = celery_module("celery").Celery("shop", broker="memory://")
    app.conf.update(settings)
    CeleryBackend(app, "export").check()


@pytest.mark.parametrize(
    ("meta", "percentage"),
    [
        ({"current": 5, "total": 20}, 25.0),
        ({"progress": 130}, 100.0),
        ({"current": 1, "total": 0}, None),
        ({"percent": 10**400}, None),
        ({"current": 10**300, "total": 10**300}, 100.0),
        ({"percent": float("nan")}, None),
        ({"percent": "5"}, None),
        ("half", None),
        (None, None),
    ],
)
def test_how_far_a_task_says_it_is(meta: Any, percentage: float | None) -> None:
    assert percentage_in(meta) == percentage


def test_a_worker_forgets_the_timers_of_tasks_that_have_ended() -> None:
    hub = celery_module("kombu.asynchronous.hub").Hub()
    called: list[int] = []
    timers = [hub.call_later(0.0, called.append, number) for number in range(1, 10)]
    late = [hub.call_later(3600.0, called.append, number) for number in range(100, 0, -1)]
    for timer in (*timers[::2], *late[1:]):
        timer.cancel()
    forget_ended_timers(hub)
    [forget] = [event.entry for event in hub.timer.queue if event.entry not in (*timers, *late)]
    forget()
    assert {event.entry for event in hub.timer.queue} == {*timers[1::2], late[0], forget}
    for _ in timers:
        hub.fire_timers()
    assert called == [2, 4, 6, 8]


@pytest.mark.parametrize(
    ("arguments", "named", "shown"),
    [
        (("7",), {}, "('7')"),
        (("a\nb",), {}, r"('a\nb')"),
        ((-1,), {}, "(-1)"),
        ((0,), {}, "(0)"),
        ((True,), {}, "(True)"),
        ((2**63,), {}, "(9223372036854775808)"),
        ((10**99,), {}, "(1" + "0" * 59 + "…)"),
        ((1.0,), {}, "(1.0)"),
        (([1],), {}, "([1])"),
        ((None,), {}, "(None)"),
        ((), {}, "()"),
        ((1, 2), {}, "(1, …)"),
        ((), {"job_id": 1}, "(…)"),
    ],
    ids=repr,
)
def test_a_message_that_names_no_job_is_dropped(
    caplog: pytest.LogCaptureFixture, arguments: tuple[Any, ...], named: dict[str, Any], shown: str
) -> None:
    """Anybody who can write to the broker can send one."""
    app = celery_module("celery").Celery("worker", broker="memory://")
    with closing(Horae("sqlite:///nowhere/horae.db")) as horae:
        setup(app, horae)
        app.tasks[RUN_JOB](*arguments, **named)
    expected = f"a message for horae.run_job is dropped: expected the id of a job, got {shown}"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", expected)
    ]


def test_a_task_is_declared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except by a module that is loaded again."""
    with closing(Horae(f"sqlite:///{tmp_path}/horae.db")) as horae:
        setup(celery_module("celery").Celery("once"), horae)
        (tmp_path / "mailing.py").write_text(
            "from horae.contrib.celery import task_type\n"
            "def declare(horae, **options):\n"
            "    task_type(horae, 'shop.mail', **options)\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        mailing = importlib.import_module("mailing")
        mailing.declare(horae)
        with pytest.raises(JobTypeAlreadyRegistered, match=r"declared twice: .*mailing\.py:3"):
            mailing.declare(horae, max_attempts=3)
        with pytest.raises(JobTypeAlreadyRegistered, match=r"'shop\.mail' at .*'shop\.other' at"):
            task_type(horae, "shop.other", name="shop.mail")
        importlib.reload(mailing).declare(horae, max_attempts=3)
        assert horae.registry.get("shop.mail").max_attempts == 3
