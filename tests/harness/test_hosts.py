"""Hosts with a network of their own."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import gethostname

import pytest

from tests.harness.forked import ForkedProcess
from tests.harness.hosts import NamespaceHost, why_no_namespaces
from tests.harness.networks import OWN

PROGRAM = """
import os, socket
print(socket.gethostname(), os.stat("/proc/self/ns/net").st_ino)
"""


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    reason = why_no_namespaces()
    if reason is not None:
        pytest.skip(reason)


def test_a_host_changes_no_address_of_this_machine() -> None:
    """Else browsers of other tests drop their connections (`net::ERR_NETWORK_CHANGED`)."""
    with ThreadPoolExecutor(1) as this_machine:

        def addresses() -> bytes:
            return this_machine.submit(
                subprocess.check_output, ["ip", "-brief", "address"]
            ).result()

        before = addresses()
        with NamespaceHost():
            assert addresses() == before


def test_a_process_is_on_its_host_or_in_the_network_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with NamespaceHost() as host:
        there = f"{host.name} {Path(host.network).stat().st_ino}\n"
        assert printed(tmp_path, network=host.network, host_name=host.name) == there
        assert printed(tmp_path) == f"{gethostname()} {OWN.stat().st_ino}\n"


def printed(folder: Path, network: str = "", host_name: str = "") -> str:
    process = ForkedProcess(
        "program",
        [],
        environment={},
        folder=folder,
        stdout=subprocess.PIPE,
        network=network,
        host_name=host_name,
    )
    return process.communicate(30)[0]
