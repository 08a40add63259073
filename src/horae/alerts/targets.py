"""Where notices go: webhooks, e-mail, and pings that stop when something is wrong."""

import hashlib
import io
import json
import re
import smtplib
import ssl
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Any, Final, Literal, Protocol, get_args
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from horae.alerts.checked_http import (
    Allowed,
    BoundedReader,
    NotDelivered,
    check_url,
    send,
    shown_target,
)
from horae.alerts.course import Happening, Notice
from horae.alerts.signing import HEADER, check_secret, sign
from horae.errors import InvalidRequest
from horae.quoting import quoted

TIMEOUT: Final = 10.0
"""Seconds that one delivery may take."""
LARGEST_BODY: Final = 16 * 1024
"""Maximum number of bytes of a webhook; the details of an alert are left out of a longer one."""
Format = Literal["json", "slack"]
_MARKS: Final = {
    Happening.BEGUN: "ALERT",
    Happening.REPEATED: "STILL",
    Happening.OVER: "OVER",
}
_SLACK_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class AlertTarget(Protocol):
    """Takes notices."""

    @property
    def name(self) -> str:
        """How it appears in logs and in the stored state; it contains no secret."""
        ...

    def deliver(self, notice: Notice, source: str, now: datetime) -> None:
        """Deliver one notice. `source`: what is watched. Raises `NotDelivered`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """POSTs each notice to a URL, as JSON of Horae's own or as Slack takes it.

    `secret`: signs each request (see `signing.verify`); `allow_internal`: hosts, addresses and
    networks that may be internal. Raises `InvalidRequest`.
    """

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    format: Format = "json"
    allow_internal: Collection[str] = ()
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Refuse a URL, a secret or a format that cannot be used."""
        check_url(self.url)
        Allowed(self.allow_internal)
        if self.secret is not None:
            check_secret(self.secret)
        if self.format not in get_args(Format):
            raise InvalidRequest(f"format is {quoted(self.format)}, expected 'json' or 'slack'")

    @property
    def name(self) -> str:
        """The host, without the path."""
        return f"webhook {shown_target(self.url)}"

    def deliver(self, notice: Notice, source: str, now: datetime) -> None:
        """POST the notice."""
        if self.format == "slack":
            text = f"*{_MARKS[notice.happening]}* {notice.alert.summary} ({source})"
            # Else a name could mention everybody, or link to a page.
            body = json.dumps({"text": text.translate(_SLACK_ESCAPES)}).encode()
        else:
            values: dict[str, Any] = {"version": 1, "source": source, "sent_at": now.isoformat()}
            values |= notice_as_values(notice)
            body = json.dumps(values).encode()
            if len(body) > LARGEST_BODY:
                values["alert"]["details"] = {}
                body = json.dumps(values).encode()
        headers = {"Content-Type": "application/json"}
        if self.secret is not None:
            headers[HEADER] = sign(self.secret, body, int(now.timestamp()))
        send(
            "POST",
            self.url,
            body=body,
            headers=headers,
            allowed=Allowed(self.allow_internal),
            timeout=self.timeout,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Email:
    """Sends each notice as an e-mail.

    `server`: `smtp://user:password@host:587`, which must offer STARTTLS, or `smtps://…`;
    `insecure` sends without TLS, and so without a password, as to a relay on the same machine.
    Raises `InvalidRequest`.
    """

    to: Sequence[str]
    sender: str
    server: str = field(repr=False)
    insecure: bool = False
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Refuse addresses and servers that cannot be used."""
        if isinstance(self.to, str) or not self.to:
            raise InvalidRequest(f"to is {quoted(self.to)}, expected a list of addresses")
        for address in (*self.to, self.sender):
            bare = parseaddr(address)[1] if address.isprintable() else ""
            if not re.fullmatch(r"[^\s@<>,;]+@[^\s@<>,;]+", bare):
                raise InvalidRequest(f"{quoted(address)} is no e-mail address")
        try:
            parts = urlsplit(self.server)
            _ = parts.port
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            raise InvalidRequest("the server of an e-mail must be smtp://host or smtps://host")
        if self.insecure and parts.password is not None:
            raise InvalidRequest("a password must not be sent without TLS: leave out insecure")

    @property
    def name(self) -> str:
        """The receivers."""
        return f"e-mail to {', '.join(self.to)}"

    def deliver(self, notice: Notice, source: str, now: datetime) -> None:
        """Send the notice."""
        message = EmailMessage()
        subject = " ".join(f"{headline(notice)} [{source}]".split())
        message["Subject"] = subject[:150]
        message["From"], message["To"] = self.sender, ", ".join(self.to)
        message["Date"] = format_datetime(now)
        # The same for each try, so that mail programs show one mail if an answer was lost.
        digest = hashlib.sha256(f"{source} {notice.id}".encode()).hexdigest()[:32]
        message["Message-ID"] = f"<{digest}@{parseaddr(self.sender)[1].rpartition('@')[2]}>"
        message["Auto-Submitted"] = "auto-generated"  # so that no holiday note answers
        message.set_content(_text(notice, source))
        parts = urlsplit(self.server)
        host, context = parts.hostname or "", ssl.create_default_context()
        try:
            if parts.scheme == "smtps":
                server: smtplib.SMTP = _SmtpOverTls(
                    host, parts.port or 465, timeout=self.timeout, context=context
                )
            else:
                server = _Smtp(host, parts.port or 587, timeout=self.timeout)
            with server:
                if parts.scheme == "smtp" and not self.insecure:
                    server.starttls(context=context)
                if parts.username is not None:
                    server.login(unquote(parts.username), unquote(parts.password or ""))
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            raise NotDelivered(f"{type(error).__name__}: {str(error)[:200]}") from error


class _Smtp(smtplib.SMTP):
    """Speaks to a mail server, with one deadline that a trickle of replies cannot move."""

    def __init__(self, host: str, port: int, *, timeout: float, **options: Any) -> None:
        self._end = time.monotonic() + timeout
        super().__init__(host, port, timeout=timeout, **options)

    @override
    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:  # no reply was read on it yet
            self.file = io.BufferedReader(BoundedReader(self.sock, self._end))
        return super().getreply()


class _SmtpOverTls(_Smtp, smtplib.SMTP_SSL):
    """The same over TLS from the first byte on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """GETs a URL while no alert is reported: a dead man's switch.

    Whoever is pinged reports that the pings have stopped, also if the watch itself has. Raises
    `InvalidRequest`.
    """

    url: str = field(repr=False)
    allow_internal: Collection[str] = ()
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Refuse a URL that cannot be used."""
        check_url(self.url)
        Allowed(self.allow_internal)

    @property
    def name(self) -> str:
        """The host, without the path."""
        return f"ping {shown_target(self.url)}"

    def ping(self) -> None:
        """GET the URL. Raises `NotDelivered`."""
        allowed = Allowed(self.allow_internal)
        send("GET", self.url, allowed=allowed, timeout=self.timeout)


def headline(notice: Notice) -> str:
    """Return a notice in one line."""
    return f"{_MARKS[notice.happening]}: {notice.alert.summary}"


def notice_as_values(notice: Notice) -> dict[str, Any]:
    """Return a notice as webhooks and `--json` have it; the fields are documented and stable."""
    alert, is_over = notice.alert, notice.happening is Happening.OVER
    return {
        "id": notice.id,
        "event": notice.happening.value,
        "at": notice.at.isoformat(),
        "alert": {
            "id": alert.id,
            "key": alert.key,
            "rule": alert.rule.value,
            "summary": alert.summary,
            "details": dict(alert.details),
            "since": alert.since.isoformat(),
            "ended": notice.at.isoformat() if is_over else None,
        },
    }


def _text(notice: Notice, source: str) -> str:
    alert = notice.alert
    lines = [
        headline(notice),
        "",
        f"rule: {alert.rule.value}",
        f"since: {alert.since:%Y-%m-%d %H:%M:%S} UTC",
        *(
            [f"over: {notice.at:%Y-%m-%d %H:%M:%S} UTC"]
            if notice.happening is Happening.OVER
            else []
        ),
        *(f"{name}: {value}" for name, value in alert.details.items() if value is not None),
        f"watched: {source}",
    ]
    return "\n".join(lines) + "\n"
