"""The conditions of a measurement: the machine, the versions, the settings."""

from importlib.metadata import version

from benchmarks.command import machine
from benchmarks.drains import CONCURRENCY
from benchmarks.ground import Grounds, Scale

PACKAGES = ("horae", "sqlalchemy", "psycopg", "pydantic")


def conditions(grounds: Grounds, scale: Scale) -> dict[str, str]:
    """Return the conditions by name."""
    return {
        **machine(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        **{
            ground.name: ", ".join(f"{name} {value}" for name, value in ground.raw.about().items())
            for ground in grounds
        },
        "scale": f"{scale.rounds} rounds, {scale.jobs:,} jobs, concurrency {CONCURRENCY}",
        "figures": "median (lowest-highest); the sides take turns within each round",
    }
