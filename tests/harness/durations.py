"""What each test file costs, for `pytest --durations-json FILE`.

The CPU time is that of the worker and of all processes below it, such as nodes, browsers and servers. It hardly depends on
what else the machine does, unlike the wall time.
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pytest

TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(kw_only=True, slots=True)
class Cost:
    """What the tests of one file took, in seconds."""

    cases: int = 0
    wall: float = 0
    cpu: float = 0


class Recorder:
    """Adds up costs in a worker, which sends them to the controller; the controller writes them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._costs: dict[str, Cost] = defaultdict(Cost)
        self._cpu_before: float | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Count the case; look at the processes where one file ends and the next begins."""
        if self._cpu_before is None:
            self._cpu_before = cpu_of_processes()
        ran = yield
        cost = self._costs[item.nodeid.split("::")[0]]
        cost.cases += 1
        if nextitem is None or nextitem.path != item.path:
            now = cpu_of_processes()
            cost.cpu += now - self._cpu_before
            self._cpu_before = now
        return ran

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the wall time of a phase. The controller of xdist gets the reports of all workers."""
        self._costs[report.nodeid.split("::")[0]].wall += report.duration

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Add the CPU time that a worker of xdist has sent."""
        for path, cost in getattr(node, "workeroutput", {}).get("durations", {}).items():
            self._costs[path].cases += cost["cases"]
            self._costs[path].cpu += cost["cpu"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the costs to the controller, or write them, most CPU time first."""
        costs = {path: asdict(cost) for path, cost in self._costs.items()}
        workeroutput: dict[str, object] | None = getattr(session.config, "workeroutput", None)
        if workeroutput is not None:
            workeroutput["durations"] = costs
            return
        ordered = sorted(costs.items(), key=lambda each: -each[1]["cpu"])
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(dict(ordered), indent=1), encoding="utf-8")


def cpu_of_processes() -> float:
    """Return the CPU seconds of this process, those below it, and those that they have waited for."""
    used: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent, ticks in processes():
        used[process] = ticks
        children[parent].append(process)
    below, found = [os.getpid()], 0
    while below:
        process = below.pop()
        found += used.get(process, 0)
        below += children[process]
    return found / TICKS


def processes() -> Iterator[tuple[int, int, int]]:
    """Yield the id, the parent and the clock ticks of each process, with those of its ended children."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name of the program, in parentheses, may have spaces.
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        yield int(folder.name), int(fields[1]), sum(int(ticks) for ticks in fields[11:15])
