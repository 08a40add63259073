"""What receivers of notices get."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import message_from_string, policy
from typing import Any

import pytest

from horae.alerts import (
    Alert,
    Email,
    Happening,
    NotDelivered,
    Notice,
    Ping,
    Rule,
    Webhook,
    sign,
    verify,
)
from horae.alerts.targets import LARGEST_BODY
from horae.errors import InvalidRequest
from tests.alerts.receiver import Receiver, mail_server, receiver

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "a secret of enough letters"
HERE = ["127.0.0.1"]
MOST_PARTS = 100
"""After these a server that trickles has taken five seconds."""


def notice(happening: Happening = Happening.BEGUN, **given: Any) -> Notice:
    alert = Alert(
        key="queue_late:mail",
        rule=Rule.QUEUE_LATE,
        summary=given.pop("summary", "a job in queue 'mail' has been due for 12 min"),
        details=given.pop("details", {"queue": "mail", "due": 3}),
        since=START,
        last_seen=START,
        notified_at=START,
    )
    return Notice(happening=happening, alert=alert, at=START + timedelta(minutes=1))


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def test_a_webhook_is_signed(server: Receiver) -> None:
    hook = Webhook(url=f"{server.url}/hook", secret=SECRET, allow_internal=HERE)
    hook.deliver(notice(), "shop", START)
    [request] = server.requests
    assert request.headers["Content-Type"] == "application/json"
    now = START.timestamp()
    signature = request.headers["Horae-Signature"]
    assert verify(SECRET, request.body, signature, now=now + 299)
    assert not verify(SECRET, request.body, signature, now=now + 301)
    assert not verify(SECRET, request.body + b" ", signature, now=now)
    assert not verify(SECRET + "x", request.body, signature, now=now)
    assert json.loads(request.body) == {
        "version": 1,
        "source": "shop",
        "sent_at": "2026-03-01T12:00:00+00:00",
        "id": ("queue_late:mail@2026-03-01T12:00:00+00:00/begun/2026-03-01T12:01:00+00:00"),
        "event": "begun",
        "at": "2026-03-01T12:01:00+00:00",
        "alert": {
            "id": "queue_late:mail@2026-03-01T12:00:00+00:00",
            "key": "queue_late:mail",
            "rule": "queue_late",
            "summary": "a job in queue 'mail' has been due for 12 min",
            "details": {"queue": "mail", "due": 3},
            "since": "2026-03-01T12:00:00+00:00",
            "ended": None,
        },
    }


@pytest.mark.parametrize(
    "header", [None, "", "t=1", "v1=00", "t=x,v1=00", "t=99999999999999999999,v1=é", "t=²,v1=00"]
)
def test_other_signatures_are_refused(header: str | None) -> None:
    assert not verify(SECRET, b"{}", header, now=1.0)


def test_a_signature_is_known_from_outside() -> None:
    # As `printf '1.{}' | openssl dgst -sha256 -hmac 'secret'` prints it.
    expected = "t=1,v1=1122767b193110cfec322b6f199b599edbf608ed087f2d27afb0b97d99523908"
    assert sign("secret", b"{}", 1) == expected
    assert verify("secret", b"{}", expected, now=1.0)


def test_slack(server: Receiver) -> None:
    hook = Webhook(url=server.url, format="slack", allow_internal=HERE)
    hook.deliver(notice(Happening.OVER, summary="queue '<!channel>' & more"), "shop", START)
    [request] = server.requests
    assert json.loads(request.body) == {"text": "*OVER* queue '&lt;!channel&gt;' &amp; more (shop)"}


def test_a_body_is_bounded(server: Receiver) -> None:
    hook = Webhook(url=server.url, allow_internal=HERE)
    hook.deliver(notice(details={"names": "x" * LARGEST_BODY}), "shop", START)
    assert json.loads(server.requests[0].body)["alert"]["details"] == {}


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503])
def test_an_answer_that_is_no_success_is_not_delivered(server: Receiver, status: int) -> None:
    server.respond = lambda _: (status, {}, b"secret inside")
    hook = Webhook(url=f"{server.url}/secret-path", allow_internal=HERE)
    with pytest.raises(NotDelivered, match=f"answered {status}") as raised:
        hook.deliver(notice(), "shop", START)
    assert "secret" not in f"{raised.value} {hook!r} {hook.name}"
    with pytest.raises(NotDelivered, match=f"answered {status}"):
        Ping(url=server.url, allow_internal=HERE).ping()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "ftp://example.com"}, "https://"),
        ({"url": "https://example.com", "secret": "short"}, "at least 16"),
        ({"url": "https://example.com", "format": "xml"}, "'json' or 'slack'"),
        ({"url": "https://example.com", "allow_internal": "10.0.0.1"}, "allow_internal"),
    ],
)
def test_webhooks_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Webhook(**given)


def test_an_e_mail() -> None:
    with mail_server() as (port, mails):
        target = Email(
            to=["ops@example.com", "on-call@example.com"],
            sender="Horae <horae@example.com>",
            server=f"smtp://127.0.0.1:{port}",
            insecure=True,
        )
        told = notice(
            summary="queue 'a\r\nBcc: x@example.com' is late", details={"due": 3, "id": None}
        )
        for name in ("shop", "shop", "other"):
            target.deliver(told, name, START)
    message, again, other = (message_from_string(each, policy=policy.default) for each in mails)
    assert message["Message-ID"].endswith("@example.com>")
    assert message["Message-ID"] == again["Message-ID"] != other["Message-ID"]
    assert message["Subject"] == "ALERT: queue 'a Bcc: x@example.com' is late [shop]"
    assert message["To"] == "ops@example.com, on-call@example.com"
    assert (message["Bcc"], message["Auto-Submitted"]) == (None, "auto-generated")
    text = message.get_content()
    assert "rule: queue_late" in text
    assert "due: 3" in text
    assert "id:" not in text
    assert "watched: shop" in text


def test_an_e_mail_is_not_sent_without_tls() -> None:
    with mail_server() as (port, mails):
        target = Email(
            to=["ops@example.com"],
            sender="horae@example.com",
            server=f"smtp://user:word@127.0.0.1:{port}",
        )
        with pytest.raises(NotDelivered, match="STARTTLS") as raised:
            target.deliver(notice(), "shop", START)
    assert mails == []
    assert "word" not in f"{raised.value} {target!r} {target.name}"


@pytest.mark.parametrize("line", [b"220-wait\r\n", b"2"], ids=["lines", "bytes"])
def test_a_mail_server_that_trickles_does_not_outlast_the_time(line: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:

        def trickle() -> int:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # the reader has gone
                for number in range(MOST_PARTS):
                    connection.sendall(line)
                    if ended.wait(0.05):
                        return number
            return MOST_PARTS

        ended = threading.Event()
        sent = threads.submit(trickle)
        target = Email(
            to=["ops@example.com"],
            sender="horae@example.com",
            server=f"smtp://127.0.0.1:{listening.getsockname()[1]}",
            insecure=True,
            timeout=0.3,
        )
        with pytest.raises(NotDelivered):
            target.deliver(notice(), "shop", START)
        ended.set()
        assert sent.result() < MOST_PARTS


def test_a_receiver_that_is_refused() -> None:
    with mail_server(refuses=True) as (port, mails):
        target = Email(
            to=["ops@example.com"],
            sender="horae@example.com",
            server=f"smtp://127.0.0.1:{port}",
            insecure=True,
        )
        with pytest.raises(NotDelivered, match="SMTPRecipientsRefused"):
            target.deliver(notice(), "shop", START)
    assert mails == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"to": "ops@example.com"}, "a list of addresses"),
        ({"to": []}, "a list of addresses"),
        ({"to": ["ops"]}, "no e-mail address"),
        ({"to": ["a@b.example\r\nBcc: c@d.example"]}, "no e-mail address"),
        ({"sender": "nobody"}, "no e-mail address"),
        ({"server": "mail.example.com"}, "smtp://host"),
        ({"server": "smtp://host:x"}, "smtp://host"),
        ({"server": "smtp://a:b@host", "insecure": True}, "without TLS"),
    ],
)
def test_e_mails_are_checked(given: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {
        "to": ["ops@example.com"],
        "sender": "horae@example.com",
        "server": "smtp://host",
    }
    with pytest.raises(InvalidRequest, match=message):
        Email(**(usual | given))
