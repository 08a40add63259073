"""What is sent through the broker of a Celery application, and what its workers keep about it."""

import json
from typing import Any

import pytest
from redis import Redis

from horae.contrib.celery.broker import NO_LIMIT, CeleryBackend
from horae.contrib.celery.ended_timers import forget_ended_timers
from horae.contrib.celery.library import celery_module
from horae.domain.jobs.job import JobId
from horae.types.backends import Message
from tests.harness.redis import RedisServer


def messages_in(broker: RedisServer, queue: str) -> list[Any]:
    with Redis.from_url(broker.url()) as client:
        return [json.loads(text) for text in reversed(client.lrange(queue, 0, -1))]


@pytest.mark.parametrize("at_a_time", [True, False])
def test_messages_arrive_in_order(broker: RedisServer, monkeypatch: pytest.MonkeyPatch, *, at_a_time: bool) -> None:
    app = celery_module("celery").Celery("sender", broker=broker.url())
    if not at_a_time:  # as before Kombu 5.7
        monkeypatch.delattr("kombu.messaging.Producer.batch", raising=False)
    backend = CeleryBackend(app, "export")
    backend.send("export", [Message(JobId(number), 7.5 if number == 3 else None) for number in range(120)])
    backend.send("export", [Message(JobId(120), None)])
    sent = messages_in(broker, "export")
    assert [json.loads(message["headers"]["argsrepr"].strip("(),")) for message in sent] == list(range(121))
    limits = [message["headers"]["timelimit"] for message in sent]
    assert limits == [[7.5 if number == 3 else NO_LIMIT] * 2 for number in range(121)]
    assert backend.waiting("export") == 121


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
