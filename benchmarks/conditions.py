"""The conditions of a measurement: the machine, the versions, the settings."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.drains import CONCURRENCY
from benchmarks.ground import Grounds, Scale

PACKAGES = ("horae", "sqlalchemy", "psycopg", "pydantic")


def conditions(grounds: Grounds, scale: Scale) -> dict[str, str]:
    """Return the conditions by name."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}; load before: {load}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        **{
            ground.name: ", ".join(f"{name} {value}" for name, value in ground.raw.about().items())
            for ground in grounds
        },
        "scale": f"{scale.rounds} rounds, {scale.jobs:,} jobs, concurrency {CONCURRENCY}",
        "figures": "median (lowest-highest); the sides take turns within each round",
    }
