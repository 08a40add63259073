"""Sentry: an event for each failed attempt, and check-ins for the runs of schedules.

`instrument(horae)` switches it on, for the client that `sentry_sdk.init` has made. Events are sent
once a result is written, by the process that writes it, so an attempt has one event wherever its
body ran, and has one even if its process was killed. Invariants: an event has no secret parameter
and no local variable; whatever the SDK raises is logged, and no job fails by it.
"""

from horae.errors import ConfigurationError

try:
    from horae.contrib.sentry.instrumentation import instrument, uninstrument
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "sentry_sdk":
        raise
    raise ConfigurationError("sentry-sdk is not installed: pip install 'horae[sentry]'") from error

__all__ = ["instrument", "uninstrument"]
