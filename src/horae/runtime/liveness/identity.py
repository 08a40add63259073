"""Who a node is: one incarnation of a process on one host, told apart from an earlier one with the same pid."""

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from horae.domain.jobs.job import NodeId


@dataclass(frozen=True, slots=True)
class Process:
    """A process of a host. `host` tells boots and pid namespaces apart, so that a pid means something within it."""

    host: str
    pid: int
    born: str


def this_process() -> Process:
    """The running process."""
    pid = os.getpid()
    return Process(_host(), pid, _born(pid) or "")


def new_node_id() -> NodeId:
    """An id that no other incarnation has, on any host."""
    return NodeId(secrets.token_hex(8))


def is_gone(process: Process) -> bool | None:
    """Whether that process has ended; None where this host cannot tell."""
    if process.host != _host():
        return None
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's, so it is there
    born = _born(process.pid)
    return born is not None and born != process.born


def encoded(process: Process) -> str:
    """The host as a node's row keeps it: readable name first."""
    return f"{process.host}#{process.born}"


def decoded(host: str, pid: int) -> Process:
    """The process of a node's row."""
    name, _, born = host.rpartition("#")
    return Process(name, pid, born)


def _host() -> str:
    return "/".join((socket.gethostname(), _read("/proc/sys/kernel/random/boot_id")[:8], _namespace()))


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115 - Path.readlink would resolve it
    except OSError:
        return ""


def _born(pid: int) -> str | None:
    """When the process began, by the kernel; "gone" if it has ended and was not yet collected; None if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "gone" if fields[0] in "ZX" else fields[19]


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
