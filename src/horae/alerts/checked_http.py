"""Requests to addresses that were checked.

A name is resolved once, every address of it is checked, and the connection goes to one of these
addresses: a name that leads elsewhere a moment later changes nothing. So whoever may write the URL
of a webhook, or answers at it, cannot reach what only this machine can: loopback, private and
link-local networks, and the metadata of a cloud. Time and redirects are bounded.
Proxies of the environment are not used, as they would connect to addresses that nobody has checked.
"""

import http.client
import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from typing_extensions import override

from horae.errors import HoraeError, InvalidRequest
from horae.quoting import quoted

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_REDIRECTS: Final = 3
IPV6: Final = 6
SUCCESS: Final = range(200, 300)
SAME_METHOD: Final = frozenset({307, 308})
REDIRECTS: Final = frozenset({301, 302, 303, *SAME_METHOD})
DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_USUAL_HEADERS: Final = {"User-Agent": "horae-watch", "Connection": "close"}
# Addresses of IPv6 that contain one of IPv4, to which they lead.
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


class NotDelivered(HoraeError):
    """A target could not be reached, or has refused; the next try may succeed."""


class Allowed:
    """The hosts that may be internal: names, addresses, and networks such as `10.0.0.0/8`.

    Raises `InvalidRequest`.
    """

    def __init__(self, given: Collection[str] = ()) -> None:
        if isinstance(given, str) or not all(isinstance(each, str) for each in given):
            raise InvalidRequest(
                f"allow_internal is {quoted(given)}, expected a list of hosts and networks"
            )
        self._names: set[str] = set()
        self._networks: list[Network] = []
        for each in given:
            try:
                self._networks.append(ipaddress.ip_network(each.strip("[]")))
            except ValueError:
                if "/" in each:
                    raise InvalidRequest(
                        f"allow_internal: {quoted(each)} is no network, such as 10.0.0.0/8"
                    ) from None
                self._names.add(each.lower())

    def permits(self, host: str, address: Address) -> bool:
        """Return whether the address may be connected to, for this name of a host."""
        if host.lower() in self._names:
            return True
        found = reached(address)
        return is_public(address) or any(found in network for network in self._networks)


def reached(address: Address) -> Address:
    """Return the address to which one leads that only wraps it."""
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is None and address.teredo is not None:
            wrapped = address.teredo[1]
        if wrapped is None and (address in _NAT64 or address in _COMPATIBLE):
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        return wrapped or address
    return address


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet, also if it wraps another one."""
    found = reached(address)
    return found.is_global and not found.is_multicast and not found.is_reserved


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL. Raises `InvalidRequest` without it: its path may be secret."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise InvalidRequest(f"the URL of a target cannot be read: {error}") from None
    if parts.scheme not in DEFAULT_PORTS or not host:
        raise InvalidRequest("the URL of a target must begin with https:// or http:// and a host")
    if parts.username is not None or parts.password is not None:
        raise InvalidRequest("the URL of a target must have no user and password")
    if port == 0 or any(character.isspace() or not character.isprintable() for character in url):
        raise InvalidRequest("the URL of a target has a port or a character that cannot be used")
    return parts


def shown_target(url: str) -> str:
    """Return the part of a URL that may be shown and logged: paths of webhooks are secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"


def send(
    method: str,
    url: str,
    *,
    allowed: Allowed,
    timeout: float,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a request, and see it answered with success; the body of the answer is not read.

    Follows redirects whose method stays the same, each checked like the first URL, but never to
    plain HTTP from HTTPS. Raises `NotDelivered` within `timeout` seconds.
    """
    end = time.monotonic() + timeout
    for _ in range(MOST_REDIRECTS + 1):
        parts = check_url(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
        address = resolve(host, port, allowed)
        connection = _Connection(host, port, address, end, tls=parts.scheme == "https")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, path, body, {**_USUAL_HEADERS, **(headers or {})})
            response = connection.getresponse()
            status, location = response.status, response.headers.get("Location")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotDelivered(f"{type(error).__name__}: {str(error)[:200]}") from error
        finally:
            connection.end()
        if status in SUCCESS:
            return
        follows = status in SAME_METHOD or (method == "GET" and status in REDIRECTS)
        if not follows or location is None:
            raise NotDelivered(f"it has answered {status}")
        try:
            url = urljoin(url, location)
            scheme = check_url(url).scheme
        except ValueError as error:
            raise NotDelivered(f"it redirects to a URL that is refused: {error}") from None
        if parts.scheme == "https" and scheme != "https":
            raise NotDelivered("it redirects from https to something else")
    raise NotDelivered(f"it redirects more than {MOST_REDIRECTS} times")


def resolve(host: str, port: int, allowed: Allowed) -> Address:
    """Return an address of the host. Raises `NotDelivered` if one of its addresses is refused."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    except (OSError, UnicodeError, ValueError) as error:
        raise NotDelivered(f"the host {quoted(host)} cannot be resolved: {error}") from error
    for address in addresses:
        if not allowed.permits(host, address):
            raise NotDelivered(
                f"the host {quoted(host)} leads to {address}, which is no public address;"
                " to allow it, name it with --allow-internal (in a program: allow_internal)"
            )
    if not addresses:
        raise NotDelivered(f"the host {quoted(host)} has no address")
    return addresses[0]


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was checked, with one deadline for everything."""

    def __init__(self, host: str, port: int, address: Address, end: float, *, tls: bool) -> None:
        super().__init__(host, port)
        self.default_port = DEFAULT_PORTS["https" if tls else "http"]
        self._address, self._end, self._tls, self._name = address, end, tls, host
        self._socket: socket.socket | None = None

    @override
    def connect(self) -> None:
        """Connect to the address, and check the certificate for the name."""
        family = socket.AF_INET6 if self._address.version == IPV6 else socket.AF_INET
        self._socket = connected = socket.socket(family, socket.SOCK_STREAM)
        connected.settimeout(time_left(self._end))
        connected.connect((str(self._address), self.port))
        if self._tls:
            context = ssl.create_default_context()
            connected.settimeout(time_left(self._end))
            self._socket = connected = context.wrap_socket(connected, server_hostname=self._name)
        self.sock = _BoundedSocket(connected, self._end)

    def end(self) -> None:
        """Close the connection; `close` is called before the answer is read."""
        self.close()
        if self._socket is not None:
            self._socket.close()


class _BoundedSocket:
    """What `http.client` uses of a socket, with a deadline that a trickle of bytes cannot move."""

    def __init__(self, connected: socket.socket, end: float) -> None:
        self._connected, self._end = connected, end

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        self._connected.settimeout(time_left(self._end))
        self._connected.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what the answer is read from."""
        return io.BufferedReader(BoundedReader(self._connected, self._end))

    def close(self) -> None:
        """Do nothing: the answer is still to be read."""


class BoundedReader(io.RawIOBase):
    """Reads from a socket until a moment of the monotonic clock. Raises TimeoutError after that."""

    def __init__(self, connected: socket.socket, end: float) -> None:
        self._connected, self._end = connected, end

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any, /) -> int:
        self._connected.settimeout(time_left(self._end))
        return self._connected.recv_into(buffer)


def time_left(end: float) -> float:
    """Return the seconds until a moment of the monotonic clock. Raises TimeoutError."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left
