"""Requests go only to addresses that were checked, and end in time."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from ipaddress import ip_address
from typing import Any

import pytest

from horae.alerts import NotDelivered
from horae.alerts.checked_http import Allowed, check_url, is_public, send, shown_target
from horae.errors import InvalidRequest
from tests.alerts.receiver import Received, Receiver, receiver

HERE = Allowed(["127.0.0.1"])
NOBODY = Allowed()


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def resolving(patch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let names lead to these addresses, one after another; the names that were asked for."""
    asked: list[str] = []
    left = list(answers)

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(0, 0, 0, "", (each, port)) for each in address.split()]

    patch.setattr("horae.alerts.checked_http.socket.getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "198.18.0.1",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
    ],
)
def test_internal_addresses_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_public(ip_address(address))
    resolving(monkeypatch, f"93.184.216.34 {address}")  # one of several is enough
    with pytest.raises(NotDelivered, match="no public address; to allow it"):
        send("GET", "https://hooks.example/x", allowed=NOBODY, timeout=1)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_public_addresses_are_not(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "url", ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://localhost/"]
)
def test_other_ways_to_write_them_are_refused(url: str) -> None:
    with pytest.raises(NotDelivered, match=r"no public address|cannot be resolved"):
        send("GET", url, allowed=NOBODY, timeout=1)


@pytest.mark.parametrize("allowed", ["10.0.0.0/8", "10.1.2.3", "hooks.internal", "HOOKS.internal"])
def test_what_is_allowed(allowed: str) -> None:
    assert Allowed([allowed]).permits("hooks.internal", ip_address("10.1.2.3"))
    assert not Allowed([allowed]).permits("other.internal", ip_address("192.168.0.1"))


def test_what_is_allowed_is_checked() -> None:
    for wrong in (["10.0.0.0/99"], "10.0.0.1", [7]):
        with pytest.raises(InvalidRequest, match="allow_internal"):
            Allowed(wrong)  # type: ignore[arg-type]


def test_the_connection_goes_to_the_address_that_was_checked(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.url.rpartition(":")[2]
    # A name that leads elsewhere at a second look, as an attacker's may, is not looked up again.
    asked = resolving(monkeypatch, "127.0.0.1", "192.0.2.1")
    send("POST", f"http://hooks.example:{port}/a?b=1", allowed=HERE, timeout=5, body=b"{}")
    assert asked == ["hooks.example"]
    [request] = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/a?b=1", b"{}")
    assert request.headers["Host"] == f"hooks.example:{port}"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data/", "leads to 169.254.169.254"),
        ("http://[::1]/", "leads to ::1"),
        ("file:///etc/passwd", "URL that is refused"),
        ("http://user:word@example.com/", "URL that is refused"),
        ("http://exa mple.com/", "URL that is refused"),
        ("http://[bad", "URL that is refused"),
    ],
)
def test_redirects_are_checked(server: Receiver, location: str, reason: str) -> None:
    server.respond = lambda _: (307, {"Location": location}, b"")
    with pytest.raises(NotDelivered, match=reason):
        send("POST", server.url, allowed=HERE, timeout=5, body=b"{}")
    assert len(server.requests) == 1


def test_redirects_are_followed_with_the_same_method(server: Receiver) -> None:
    def respond(request: Received) -> tuple[int, dict[str, str], bytes]:
        return (308, {"Location": "/there"}, b"") if request.path == "/" else (204, {}, b"")

    server.respond = respond
    send("POST", server.url, allowed=HERE, timeout=5, body=b"{}")
    assert [each.body for each in server.requests] == [b"{}", b"{}"]
    server.respond = lambda _: (302, {"Location": "/there"}, b"")
    # A POST would become a GET there, and the notice be lost.
    with pytest.raises(NotDelivered, match="it has answered 302"):
        send("POST", server.url, allowed=HERE, timeout=5, body=b"{}")
    with pytest.raises(NotDelivered, match="more than 3 times"):
        send("GET", server.url, allowed=HERE, timeout=5)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b"", pytest.raises(NotDelivered)),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", pytest.raises(NotDelivered)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", nullcontext()),
    ],
    ids=["status", "header", "body"],
)
def test_a_server_that_trickles_does_not_outlast_the_time(
    first: bytes, expected: AbstractContextManager[object]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # the reader has gone
                connection.sendall(first)
                while not ended.wait(0.02):
                    connection.sendall(b"x")

        ended = threading.Event()
        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        began = time.monotonic()
        with expected:
            send(
                "GET",
                f"http://127.0.0.1:{listening.getsockname()[1]}",
                allowed=HERE,
                timeout=0.3,
            )
        assert time.monotonic() - began < 3
        ended.set()
        thread.join()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(NotDelivered, match="ConnectionRefusedError"):
        send("GET", f"http://127.0.0.1:{port}", allowed=HERE, timeout=1)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "example.com",
        "https://",
        "https://user:sesame@example.com",
        "https://example.com:99999",
        "https://example.com:0",
        "https://exa mple.com",
        "https://example.com/\r\nHost: x",
        "https://[::1",
        "",
    ],
)
def test_urls_are_checked(url: str) -> None:
    with pytest.raises(InvalidRequest, match="the URL of a target") as raised:
        check_url(url)
    assert "sesame" not in str(raised.value)


def test_paths_are_not_shown() -> None:
    assert (
        shown_target("https://hooks.slack.com/services/T0/B0/secret") == "https://hooks.slack.com"
    )
