"""Sends messages about jobs through the broker of a Celery application."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from horae.contrib.celery.library import celery_module
from horae.errors import ConfigurationError
from horae.forking import BuiltAnewInChild
from horae.types import Backend, Message

RUN_JOB: Final = "horae.run_job"
"""The name of the Celery task that runs a job."""
NO_LIMIT: Final = 10 * 365 * 24 * 3600.0
"""Seconds of a time limit that is never reached, so that the usual limits of the Celery application
do not apply.
"""
CONNECT_WITHIN: Final = 5.0
"""Seconds in which the broker has to accept a connection."""
T = TypeVar("T")


class CeleryBackend(BuiltAnewInChild):
    """A Celery application whose workers run jobs."""

    def __init__(self, app: Any, usual_destination: str) -> None:
        """`usual_destination`: the Celery queue of jobs whose backend names none."""
        self.app, self.usual_destination = app, usual_destination
        self._connection: Any = None
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise `ConfigurationError` without a broker, or if workers would reject the messages."""
        conf = self.app.conf
        if not (conf.broker_url or conf.broker_write_url or os.environ.get("CELERY_BROKER_URL")):
            raise ConfigurationError(
                f"the Celery application {self.app.main!r} has no broker, so its workers would"
                " receive no jobs; set broker_url, as in Celery('shop',"
                " broker='redis://localhost')"
            )
        serialization = celery_module("kombu.serialization")
        types, used = serialization.registry.name_to_type, conf.task_serializer
        if used not in types:
            known = ", ".join(sorted(types))
            raise ConfigurationError(
                f"the Celery application {self.app.main!r} has task_serializer={used!r}, and there"
                " is no such serializer, or its library is not installed; expected one of"
                f" {known}"
            )
        accepted = conf.accept_content
        if accepted is not None and types[used] not in {
            *serialization.TRUSTED_CONTENT,
            *(types.get(name, name) for name in accepted),
        }:
            named = ", ".join(map(repr, sorted(accepted))) or "none"
            raise ConfigurationError(
                f"the Celery application {self.app.main!r} writes messages as {used!r}"
                f" (task_serializer), and its workers accept only {named} (accept_content), so they"
                f" would reject each message about a job; add {used!r} to accept_content, or set"
                " task_serializer to one that it names"
            )

    def send(self, destination: str, messages: Sequence[Message]) -> None:
        """Send the messages over one connection; raises the errors of the transport."""
        queue = queue_of(self.app, destination)

        def send_all(connection: Any) -> None:
            with (
                self.app.amqp.Producer(connection, auto_declare=False) as producer,
                # Kombu 5.7 and later can send many messages at a time, if the transport can.
                # Few, so that workers begin with the first messages soon.
                producer.batch(max_size=50) if hasattr(producer, "batch") else nullcontext(),
            ):
                for number, message in enumerate(messages):
                    limit = NO_LIMIT if message.time_limit is None else message.time_limit
                    self.app.send_task(
                        RUN_JOB,
                        args=(message.job_id,),
                        queue=queue,
                        # The routes and exchanges of the application do not apply: the message goes
                        # to this queue only.
                        exchange="",
                        routing_key=destination,
                        producer=producer,
                        time_limit=limit,
                        soft_time_limit=limit,
                        ignore_result=True,
                        retry=False,
                        declare=None if number == 0 else (),  # None declares the queue
                    )

        self._with_connection(send_all)

    def depth(self, destination: str) -> int:
        """Return how many messages wait in a queue; raises the errors of the transport."""

        def count(connection: Any) -> int:
            try:
                with connection.channel() as channel:
                    return int(channel.queue_declare(destination, passive=True).message_count)
            except connection.channel_errors as error:
                # Redis has no key for an empty queue.
                if "404" in str(error) or "NOT_FOUND" in str(error):
                    return 0
                raise

        return self._with_connection(count)

    def _with_connection(self, call: Callable[[Any], T]) -> T:
        """Use the one connection, which is opened at the first call and after an error."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None:
                connection = self.app.connection_for_write(connect_timeout=CONNECT_WITHIN)
                if connection.transport.driver_type == "redis":
                    connection.transport_options = {
                        "socket_timeout": 10.0,
                        "socket_connect_timeout": CONNECT_WITHIN,
                        **connection.transport_options,
                    }
                connection.ensure_connection(max_retries=1, timeout=CONNECT_WITHIN)
            try:
                result = call(connection)
                self._connection = connection
            finally:
                if self._connection is None:
                    with suppress(Exception):  # it may be broken, and is gone in any case
                        connection.release()
            return result


def queue_of(app: Any, name: str) -> Any:
    """Return a queue as the Celery application defines it, or would define it if it is missing."""
    queues = app.amqp.queues
    if name in queues or queues.create_missing:
        return queues[name]
    return queues.add(queues.new_missing(name))


if TYPE_CHECKING:
    _conforms: type[Backend] = CeleryBackend
