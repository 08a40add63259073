"""The methods of `Limits` and `Queues` for coroutines: each runs on a database thread."""

from horae.client.on_threads import OnThreads, on_thread
from horae.client.operations.limits import Limits
from horae.client.operations.queues import Queues
from horae.storage.engine import Use


class AsyncLimits(OnThreads[Limits]):
    """List and change limits by key from coroutines.

    Meanings, options and errors are those of `Limits`.
    """

    list = on_thread(Limits.list)
    set = on_thread(Limits.set, Use.CHANGE)
    reset = on_thread(Limits.reset, Use.CHANGE)


class AsyncQueues(OnThreads[Queues]):
    """List and change queues from coroutines.

    Meanings, options and errors are those of `Queues`.
    """

    list = on_thread(Queues.list)
    pause = on_thread(Queues.pause, Use.CHANGE)
    resume = on_thread(Queues.resume, Use.CHANGE)
    limit = on_thread(Queues.limit, Use.CHANGE)
    limit_by_key = on_thread(Queues.limit_by_key, Use.CHANGE)
    fair = on_thread(Queues.fair, Use.CHANGE)
