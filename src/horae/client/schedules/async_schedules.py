"""The methods of `Schedules` for coroutines: each runs on a database thread."""

from horae.client.on_threads import OnThreads, on_thread
from horae.client.schedules.schedules import Schedules
from horae.storage.engine import Use


class AsyncSchedules(OnThreads[Schedules]):
    """Add, change and read schedules from coroutines.

    Meanings, options and errors are those of `Schedules`.
    """

    add = on_thread(Schedules.add, Use.CHANGE)
    alter = on_thread(Schedules.alter, Use.CHANGE)
    put = on_thread(Schedules.put, Use.CHANGE)
    skip_next = on_thread(Schedules.skip_next, Use.CHANGE)
    undo_skip = on_thread(Schedules.undo_skip, Use.CHANGE)
    backfill = on_thread(Schedules.backfill, Use.CHANGE)
    undo_backfill = on_thread(Schedules.undo_backfill, Use.CHANGE)
    reset = on_thread(Schedules.reset, Use.CHANGE)
    delete = on_thread(Schedules.delete, Use.CHANGE)
    pause = on_thread(Schedules.pause, Use.CHANGE)
    resume = on_thread(Schedules.resume, Use.CHANGE)
    run_now = on_thread(Schedules.run_now, Use.CHANGE)
    get = on_thread(Schedules.get)
    list = on_thread(Schedules.list)
    statistics = on_thread(Schedules.statistics)
    ticks = on_thread(Schedules.ticks)
    errors = on_thread(Schedules.errors)
