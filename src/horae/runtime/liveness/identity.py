"""Identifies a node: one incarnation of a process, even if its pid was used before."""

import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from horae.domain.jobs import NodeId


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a host.

    `host` includes the boot and the pid namespace, so that a pid is unique within it.
    """

    host: str
    pid: int
    born: str


def this_process() -> Process:
    """Return the running process."""
    pid = os.getpid()
    return Process(_host(), pid, _born(pid) or "")


def new_node_id() -> NodeId:
    """Return an id that is unique among all incarnations on all hosts."""
    return NodeId(secrets.token_hex(8))


def is_gone(process: Process) -> bool | None:
    """Return whether that process has ended, or None if this host cannot tell."""
    if process.host != _host():
        return None
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # the process exists, and belongs to another user
    born = _born(process.pid)
    return born is not None and born != process.born


def encode_host(process: Process) -> str:
    """Return the host as a node's row stores it, the readable name first."""
    return f"{process.host}#{process.born}"


def decode_host(host: str, pid: int) -> Process:
    """Return the process that a node's row describes."""
    name, _, born = host.rpartition("#")
    return Process(name, pid, born)


def _host() -> str:
    boot = namespace = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    with suppress(OSError):
        namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    return f"{socket.gethostname()}/{boot}/{namespace}"


def _born(pid: int) -> str | None:
    """Return the kernel's start time of a process; "gone" if it has ended but was not reaped; None
    if unknown.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "gone" if fields[0] in "ZX" else fields[19]
