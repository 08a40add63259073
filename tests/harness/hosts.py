"""Hosts of nodes that can be cut off: network namespaces, or a proxy where those are not to be had.

A namespace has a network of its own with one link to the server, and packets get lost on it without an error on either
side. A proxy holds bytes back, and passes them on when the cut is over, as TCP would send them again.
"""

import os
import secrets
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from types import TracebackType
from typing import Final, Literal, Self

from sqlalchemy import make_url
from typing_extensions import override

from tests.harness.network import Network
from tests.harness.networks import own_network

Lost = Literal["requests", "answers", "both"]

NOWHERE: Final = "02:00:00:00:00:99"
"""A hardware address that no device has: what is sent to it is lost."""
UPLINK: Final = "uplink"
"""The name that the link to this machine has in a namespace."""
TRUSTED: Final = (
    "local all all trust\nhost all all 127.0.0.1/32 trust\nhost all all {network} trust\n"
)
"""The access file of a server on a link of its own."""


class Host(ABC):
    """Where a node runs, and how it reaches a server whose URL has the address of this machine."""

    network: str = ""
    """The file of its network, for processes that are started there; empty if it is that of the test."""
    name: str = ""
    """Its name, so that nodes take it for another machine."""

    @abstractmethod
    def url(self, direct: str) -> str:
        """Return the URL by which a node there reaches the server."""

    @abstractmethod
    def cut(self, lost: Lost = "both") -> None:
        """Lose what goes to the server, what comes from it, or both."""

    @abstractmethod
    def heal(self) -> None:
        """Lose nothing any more."""

    @contextmanager
    def apart(self, lost: Lost = "both") -> Generator[None]:
        """Cut the host off while the block lasts."""
        self.cut(lost)
        try:
            yield
        finally:
            self.heal()


class ProxyHost(Host):
    """This machine, with a proxy before the server."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @override
    def url(self, direct: str) -> str:
        return make_url(direct).set(port=self._network.port).render_as_string(hide_password=False)

    @override
    def cut(self, lost: Lost = "both") -> None:
        self._network.silence(requests=lost != "answers", answers=lost != "requests")

    @override
    def heal(self) -> None:
        self._network.resume()


class NamespaceHost(Host):
    """A network namespace with a host name of its own, and a link to the server's; inside `with`. Needs root.

    The thread of the test, and so the server that it starts, is in a namespace as well: browsers drop their connections
    when the addresses of this machine change.
    """

    def __init__(self) -> None:
        self.name = f"horae{secrets.token_hex(3)}"
        block = secrets.randbelow(2**14) * 4  # four addresses, of which two are for hosts
        self._network = f"10.231.{block // 256}.{block % 256}/30"
        self.here, self._there = (
            f"10.231.{block // 256}.{block % 256 + number}" for number in (1, 2)
        )
        self.network = f"/run/netns/{self.name}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(own_network())
            ip("link", "set", "lo", "up")
            ip("netns", "add", self.name)
            stack.callback(self._remove)
            ip(
                "link",
                "add",
                self._device,
                "type",
                "veth",
                "peer",
                "name",
                UPLINK,
                "netns",
                self.name,
            )
            ip("addr", "add", f"{self.here}/30", "dev", self._device)
            ip("link", "set", self._device, "up")
            self._ip_there("addr", "add", f"{self._there}/30", "dev", UPLINK)
            self._ip_there("link", "set", UPLINK, "up")
            self._ip_there("link", "set", "lo", "up")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def access_file(self) -> str:
        """Return the access file (`pg_hba.conf`) of a server that this host may use."""
        return TRUSTED.format(network=self._network)

    @override
    def url(self, direct: str) -> str:
        return make_url(direct).set(host=self.here).render_as_string(hide_password=False)

    @override
    def cut(self, lost: Lost = "both") -> None:
        if lost != "answers":
            self._ip_there(
                "neigh", "replace", self.here, "lladdr", NOWHERE, "dev", UPLINK, "nud", "permanent"
            )
        if lost != "requests":
            ip(
                "neigh",
                "replace",
                self._there,
                "lladdr",
                NOWHERE,
                "dev",
                self._device,
                "nud",
                "permanent",
            )

    @override
    def heal(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it was not cut in this direction
            self._ip_there("neigh", "del", self.here, "dev", UPLINK)
        with suppress(subprocess.CalledProcessError):
            ip("neigh", "del", self._there, "dev", self._device)

    @property
    def _device(self) -> str:
        return f"{self.name}v"

    def _ip_there(self, *arguments: str) -> None:
        ip("-n", self.name, *arguments)

    def _remove(self) -> None:
        with suppress(
            subprocess.CalledProcessError
        ):  # goes with the namespace, if no process is left in it
            ip("link", "del", self._device)
        ip("netns", "del", self.name)


def ip(*arguments: str) -> None:
    """Run iproute2's program; raises `CalledProcessError` with what it has printed."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@cache
def why_no_namespaces() -> str | None:
    """Return why network namespaces are not to be had here, or None if they are."""
    missing = [program for program in ("ip", "unshare") if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if os.geteuid() != 0:
        return "only root may make them"
    try:
        with NamespaceHost() as host:
            ip("netns", "exec", host.name, "unshare", "--uts", "true")
    except (subprocess.CalledProcessError, OSError) as error:
        printed = getattr(error, "stderr", b"") or b""
        return printed.decode(errors="replace").strip() or str(error)
    return None
