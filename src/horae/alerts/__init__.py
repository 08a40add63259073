"""Alerts: what is wrong with an application, told to webhooks, e-mail addresses and pings.

`horae watch` and `Watch` look at the database again and again. An observation is turned into
problems (`rules`), and these into alerts that begin, are repeated, and are over (`course`), by pure
functions; `watch` does the rest. Invariants: a watch is scheduled by nothing that it watches, and
changes nothing; each notice is delivered at least once, or is logged as dropped; a target that is
slow, or refuses, holds up neither the looks nor other targets; a request goes only to an address
that was checked.
"""

from horae.alerts.checked_http import NotDelivered
from horae.alerts.course import Alert, Happening, Notice
from horae.alerts.rules import AlertThresholds, Rule
from horae.alerts.signing import sign, verify
from horae.alerts.targets import AlertTarget, Email, Ping, Webhook, headline, notice_as_values
from horae.alerts.watch import Pace, Watch

__all__ = [
    "Alert",
    "AlertTarget",
    "AlertThresholds",
    "Email",
    "Happening",
    "NotDelivered",
    "Notice",
    "Pace",
    "Ping",
    "Rule",
    "Watch",
    "Webhook",
    "headline",
    "notice_as_values",
    "sign",
    "verify",
]
