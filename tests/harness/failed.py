"""List the tests that failed last, one a line: `python -m tests.harness.failed`."""

import json
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".pytest_cache" / "v" / "cache" / "lastfailed"


def failed_last(cache: Path) -> list[str]:
    """Return the failed tests of pytest's cache; none if it failed before the first test."""
    return sorted(json.loads(cache.read_text(encoding="utf-8"))) if cache.exists() else []


if __name__ == "__main__":
    print("\n".join(failed_last(CACHE)))  # noqa: T201 - the shell reads it
