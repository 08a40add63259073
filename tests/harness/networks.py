"""Networks of threads and processes: on Linux each has one, and may go to another one if it is root."""

import ctypes
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

OWN = Path("/proc/thread-self/ns/net")
NETWORK, HOST_NAME = 0x40000000, 0x04000000
"""Kinds of namespaces: CLONE_NEWNET and CLONE_NEWUTS."""


def network_of_this_thread() -> str:
    """Return the file of the network, for processes that another one starts; empty where there is none."""
    return f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net" if OWN.exists() else ""


def enter(network: str, host_name: str = "") -> None:
    """Go to a network, unless it is this thread's; with a host name, be another host."""
    if network and not OWN.samefile(network):
        with Path(network).open() as file:
            _call("setns", file.fileno(), NETWORK)
    if host_name:
        _call("unshare", HOST_NAME)
        socket.sethostname(host_name)


@contextmanager
def own_network() -> Generator[None]:
    """Give this thread, and what it starts within the block, a network without any links."""
    with OWN.open() as before:
        _call("unshare", NETWORK)
        try:
            yield
        finally:
            _call("setns", before.fileno(), NETWORK)


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library, which Python has from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
