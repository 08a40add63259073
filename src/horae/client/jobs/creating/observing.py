"""The calls that start jobs, as observers see them."""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from horae.client.jobs.creating.contention import TryAgain
from horae.domain.jobs import Job
from horae.types import JobType, Observed, Observer, Starting
from horae.types.options import StartOptions


@contextmanager
def observed(
    observers: Sequence[Observer[Starting]],
    kind: JobType[Any] | None,
    options: StartOptions,
    *,
    count: int | None = 1,
    repeated: Job | None = None,
) -> Generator[Starting]:
    """Let observers see a call that starts jobs of a type, or of several if `kind` is None."""
    if not observers or not isinstance(options, StartOptions):  # others are refused by the caller
        yield Starting()
        return
    delay = options.delay_seconds or 0.0
    if options.run_at is not None:
        delay = options.run_at.timestamp() - time.time()
    starting = Starting(
        type=None if kind is None else kind.type,
        queue=options.queue or (None if kind is None else kind.queue),
        count=count,
        delay=delay,
        given={} if repeated is not None else _mapping(options.meta),
        earlier=None if repeated is None else repeated.meta,
    )
    again: TryAgain | None = None
    with Observed(observers, starting):
        try:
            yield starting
        except TryAgain as error:  # the job is created later, with what the observers have added
            again = error
    if again is not None:
        raise again


def with_meta_of(starting: Starting, options: StartOptions) -> StartOptions:
    """Return the options with what observers have added to `meta`."""
    if not starting.meta:
        return options
    return replace(options, meta={**_mapping(options.meta), **starting.meta})


def _mapping(meta: object) -> Mapping[str, Any]:
    """Return the caller's `meta` as a mapping; what is none is refused when the job is made."""
    return meta if isinstance(meta, Mapping) else {}
