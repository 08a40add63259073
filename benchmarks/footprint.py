"""What Horae costs a process: the memory of an idle node, and the time of the import."""

import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Grounds, Scale
from benchmarks.serving import serving

MEMORY = Budget("at most", 70)
IMPORT = Budget("at most", 0.3)
SETTLING = 5.0
"""Seconds until a node is idle."""
IMPORTS = """
import time
began = time.process_time()
import horae
print(time.process_time() - began)
"""


def footprint(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure a node without and with the web, and `import horae`."""
    figures: list[Figure] = []
    for ground in grounds:
        ground.clear()
        for name, options, budget in (
            ("memory of an idle node", ["--no-api"], MEMORY),
            ("memory of an idle node with the API", [], None),
        ):
            with serving(ground, *options) as served:
                time.sleep(SETTLING)
                node = Samples.of([_resident(served.process.pid)])
                helpers = [_resident(child) for child in _children(served.process.pid)]
            figures.append(Figure(name, ground.name, "MB", node, None, budget))
            if helpers and budget is not None:
                helper = Samples.of([sum(helpers)])
                figures.append(Figure("memory of its heartbeat helper", ground.name, "MB", helper))
    seconds = [_import() for _ in range(scale.rounds)]
    figures.append(Figure("import horae", "-", "s of CPU", Samples.of(seconds), None, IMPORT))
    return figures


def _resident(pid: int) -> float:
    """Return the resident memory of a process, in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    [kilobytes] = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kilobytes) / 1024


def _children(pid: int) -> list[int]:
    """Return the processes that any thread of a process has started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for children in threads for child in children.read_text().split()]


def _import() -> float:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], check=True, capture_output=True, text=True
    )
    return float(done.stdout)
