"""Sentry: an event for each failed attempt, and check-ins for the runs of schedules.

`instrument(horae)` switches it on, for the client that `sentry_sdk.init` has made. Events are sent
once a result is written, by the process that writes it, so an attempt has one event wherever its
body ran, and has one even if its process was killed. Invariants: an event has no secret parameter
and no local variable; whatever the SDK raises is logged, and no job fails by it.
"""

from horae.optional_packages import packages_required

with packages_required({"sentry_sdk"}, "sentry-sdk is not installed: pip install 'horae[sentry]'"):
    from horae.contrib.sentry.instrumentation import instrument, uninstrument

__all__ = ["instrument", "uninstrument"]
